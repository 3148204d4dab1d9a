/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums over pairs and over counts. The rows of pairs are cut into parts of about as many pairs, whose number does not
   depend on the threads or ranks; each part has sums of its own, and these are added in their order. */
#include "norm_pairs.h"

#include "core/comm.h"
#include "core/size.h"

#include <string.h>

enum { PARTS = 64, LANES = 16 };

struct norm_room {
	struct iso_room room;
	int64_t n;     /* parameters */
	int64_t width; /* longest run */
	double *sum;   /* (PARTS, n + 2): sums, their total, and the logarithms */
	double *line;  /* (PARTS, 3, width): mu, r and the term of each pair of a run */
	struct norm_run *run;
	int64_t runs;
	struct norm_line own[PARTS];
	const struct norm_device_fn *fn; /* of CUDA; NULL: the host makes the passes */
	struct norm_device *device;
	bool stale, stale_slopes; /* on the device */
};

int64_t norm_at_shift(const struct norm_fit *f, int scan)
{
	int64_t at = f->rows->n + f->classes->n_t + f->classes->n_z;

	for (int i = 0; i < scan; i++) at += f->scan[i].shifts;
	return at;
}

int64_t norm_parameters(const struct norm_fit *f)
{
	return norm_at_shift(f, f->scans);
}

/* ---- on a device ---- */

int64_t norm_device_bytes(const struct norm_rows *rows, int shifts)
{
	return rows->n * rows->rings * (rows->per_ring - 2 * rows->min_distance + 1) * (1 + shifts) *
	       (int64_t)sizeof(float);
}

int norm_device_check(const struct norm_rows *rows, const struct norm_classes *classes)
{
	if (rows->share > 0)
		return iso_fail(ISO_EARG, "norm: a share of the pairs is fitted on the CPU alone");
	if (rows->rings == 0 || classes->transaxial || classes->axial)
		return iso_fail(ISO_EARG,
		                "norm: on CUDA a fit has efficiencies of the crystals of rings alone; "
		                "factors of pairs and free detectors are fitted on the CPU");
	if (rows->per_ring > NORM_DEVICE_RING)
		return iso_fail(ISO_EARG, "norm: %" PRId64 " crystals round the ring, on CUDA at most %d",
		                rows->per_ring, NORM_DEVICE_RING);
	return ISO_OK;
}

static int open_device(struct norm_fit *f)
{
	void *fn = NULL;

	if (!f->scan->q) return iso_fail(ISO_EARG, "norm: without tables it runs on the CPU alone");
	int st = norm_device_check(f->rows, f->classes);

	if (st || (st = iso_cuda_symbol(&fn, NORM_DEVICE_CUDA))) return st;
	f->room->fn = fn;
	norm_sums_stale(f, true);
	return f->room->fn->create(&f->room->device, f->ctx, f);
}

void norm_sums_stale(struct norm_fit *f, bool slopes)
{
	f->room->stale = true;
	f->room->stale_slopes = f->room->stale_slopes || slopes;
}

static void sum_on_device(double *to, double *total, struct norm_fit *f, enum norm_sum what, const double *v)
{
	struct norm_room *w = f->room;

	if (w->stale && !f->status) f->status = w->fn->load(w->device, f, w->stale_slopes);
	w->stale = w->stale_slopes = false;
	if (!f->status) f->status = w->fn->sum(to, total, w->device, f, what, v);
	if (!f->status) return;
	memset(to, 0, (size_t)w->n * sizeof *to);
	*total = 0;
}

/* ---- work space ---- */

int norm_sums_create(struct norm_fit *f)
{
	struct norm_room *w = calloc(1, sizeof *w);

	if (!w) return iso_fail_memory("norm", sizeof *w);
	w->room = iso_room_of(NULL, "norm");
	w->n = norm_parameters(f);
	w->width = f->rows->rings > 0 ? f->rows->per_ring : f->rows->n;
	w->runs = norm_rows_most(f->rows);
	ISO_HOST(&w->room, w->sum, PARTS * (w->n + 2));
	ISO_HOST(&w->room, w->line, PARTS * 3 * w->width);
	ISO_HOST(&w->room, w->run, PARTS * w->runs);
	for (int i = 0; i < PARTS && !w->room.status; i++)
		norm_line_create(w->own + i, &w->room, f->rows, f->scan);
	f->room = w;
	return w->room.status || f->on_host || !iso_ctx_is_cuda(f->ctx) ? w->room.status : open_device(f);
}

void norm_sums_free(struct norm_fit *f)
{
	if (!f->room) return;
	if (f->room->fn) f->room->fn->free(f->room->device);
	iso_room_free(&f->room->room);
	free(f->room);
	f->room = NULL;
}

int norm_line_create(struct norm_line *line, struct iso_room *room, const struct norm_rows *rows,
                     const struct norm_scan *s)
{
	const int64_t n = norm_rows_longest(rows);

	if (!s->q) ISO_HOST(room, line->q, n);
	if (!s->y.few) return room->status;
	ISO_HOST(room, line->b, n);
	ISO_HOST(room, line->y, n);
	ISO_HOST(room, line->run, norm_rows_most(rows));
	return room->status;
}

void norm_row_terms(double *mu, double *r, const struct norm_fit *f, const struct norm_scan *s, int64_t a,
                    const struct norm_run *run, const float *q)
{
	const double *eps = f->eps + run->b;
	const int32_t *k = norm_classes_t(f->classes, a, run->b);
	const double one = f->eps[a] * f->z[norm_classes_z(f->classes, a, run->b)];

	if (f->classes->transaxial)
		for (int64_t j = 0; j < run->n; j++) mu[j] = one * eps[j] * f->t[k[j]] * (double)q[j];
	else
		for (int64_t j = 0; j < run->n; j++) mu[j] = one * eps[j] * f->t[0] * (double)q[j];
	if (s->r)
		for (int64_t j = 0; j < run->n; j++) r[j] = (double)s->r[run->pair + j];
	else if (s->rate)
		for (int64_t j = 0; j < run->n; j++) r[j] = s->rate[a] * s->rate[run->b + j];
	else
		memset(r, 0, (size_t)run->n * sizeof *r);
}

/* ---- a run of pairs ---- */

struct part {
	double *sum, *total;
	double *mu, *r, *x;
	struct norm_run *run;
	const struct norm_line *line;
};

static struct part part_of(const struct norm_fit *f, int64_t i)
{
	struct norm_room *w = f->room;
	double *sum = w->sum + i * (w->n + 2), *line = w->line + i * 3 * w->width;

	memset(sum, 0, (size_t)(w->n + 2) * sizeof *sum);
	return (struct part){
		sum, sum + w->n, line, line + w->width, line + 2 * w->width, w->run + i * w->runs, w->own + i
	};
}

/* v of all that a pair touches. */
static void add_directions(struct part *p, const struct norm_fit *f, int scan, int64_t a,
                           const struct norm_run *run, const double *v)
{
	const struct norm_scan *s = f->scan + scan;
	const int32_t *k = norm_classes_t(f->classes, a, run->b);
	const double *vb = v + run->b, *vt = v + norm_at_t(f), *vs = v + norm_at_shift(f, scan);
	const double own = v[a] + v[norm_at_z(f) + norm_classes_z(f->classes, a, run->b)];

	if (s->shifts == 0 && !f->classes->transaxial) {
		for (int64_t j = 0; j < run->n; j++) p->x[j] *= own + vb[j] + vt[0];
		return;
	}
	for (int64_t j = 0; j < run->n; j++) {
		double d = own + vb[j] + vt[k[j]];

		for (int c = 0; c < s->shifts; c++) d += vs[c] * norm_slope(s, c, run->pair + j);
		p->x[j] *= d;
	}
}

static void weigh(struct part *p, const struct norm_fit *f, int scan, int64_t a, const struct norm_run *run,
                  const float *q, enum norm_sum what, const double *v)
{
	const double *mu = p->mu, *r = p->r;
	double *x = p->x;

	norm_row_terms(p->mu, p->r, f, f->scan + scan, a, run, q);
	if (what == NORM_EXPECTED)
		memcpy(x, mu, (size_t)run->n * sizeof *x);
	else if (what == NORM_USED)
		for (int64_t j = 0; j < run->n; j++) x[j] = mu[j] > 0;
	else
		for (int64_t j = 0; j < run->n; j++) x[j] = mu[j] > 0 ? mu[j] * mu[j] / (mu[j] + r[j]) : 0;
	if (what == NORM_PRODUCT) add_directions(p, f, scan, a, run, v);
}

/* By LANES sums side by side, which the processor adds up at once. */
static double sum_of(const double *x, int64_t n)
{
	double lane[LANES] = { 0 }, sum = 0;
	int64_t j = 0;

	for (; j + LANES <= n; j += LANES)
		for (int l = 0; l < LANES; l++) lane[l] += x[j + l];
	for (; j < n; j++) sum += x[j];
	for (int l = 0; l < LANES; l++) sum += lane[l];
	return sum;
}

/* To the two crystals, the two classes and the shifts of the scan. */
static void spread(struct part *p, const struct norm_fit *f, int scan, int64_t a, const struct norm_run *run,
                   bool square)
{
	const struct norm_scan *s = f->scan + scan;
	const int32_t *k = norm_classes_t(f->classes, a, run->b);
	double *b = p->sum + run->b, *t = p->sum + norm_at_t(f), *shift = p->sum + norm_at_shift(f, scan);
	const double sum = sum_of(p->x, run->n);

	for (int64_t j = 0; j < run->n; j++) b[j] += p->x[j];
	if (f->classes->transaxial)
		for (int64_t j = 0; j < run->n; j++) t[k[j]] += p->x[j];
	p->sum[a] += sum;
	if (f->classes->axial) p->sum[norm_at_z(f) + norm_classes_z(f->classes, a, run->b)] += sum;
	*p->total += sum;
	for (int c = 0; c < s->shifts; c++)
		for (int64_t j = 0; j < run->n; j++) {
			const double d = norm_slope(s, c, run->pair + j);

			shift[c] += p->x[j] * (square ? d * d : d);
		}
}

/* The parts of all ranks, each of which made its share of them. */
static void add_parts(double *to, double *total, double *log, struct norm_fit *f)
{
	const struct norm_room *w = f->room;

	f->status = iso_comm_gather_shares(f->ctx, f->status, w->sum, PARTS,
	                                   (w->n + 2) * (int64_t)sizeof *w->sum);
	memset(to, 0, (size_t)w->n * sizeof *to);
	*total = 0;
	if (log) *log = 0;
	for (int i = 0; i < PARTS && !f->status; i++) {
		const double *sum = w->sum + i * (w->n + 2);

		for (int64_t p = 0; p < w->n; p++) to[p] += sum[p];
		*total += sum[w->n];
		if (log) *log += sum[w->n + 1];
	}
}

static void add_row(struct part *p, const struct norm_fit *f, int64_t a, enum norm_sum what, const double *v)
{
	const int64_t runs = norm_rows_runs(p->run, f->rows, a), first = f->rows->first[a];
	const float *made = f->scan->q ? NULL : norm_row_q(p->line, f->scan, f->rows, a);

	for (int64_t k = 0; k < runs; k++)
		for (int scan = 0; scan < f->scans; scan++) {
			const int64_t at = p->run[k].pair;
			const float *q = made ? made + (at - first) : f->scan[scan].q + at;
			const struct norm_run used = norm_run_used(p->run[k], q);

			if (used.n == 0) continue;
			weigh(p, f, scan, a, &used, q + (used.pair - at), what, v);
			spread(p, f, scan, a, &used, what == NORM_FISHER);
		}
}

void norm_pairs_sum(double *to, double *total, struct norm_fit *f, enum norm_sum what, const double *v)
{
	if (f->room->device) {
		sum_on_device(to, total, f, what, v);
		return;
	}
	const struct iso_rows own = iso_share(f->ctx, PARTS);

#pragma omp parallel for schedule(dynamic) num_threads(iso_ctx_threads(f->ctx))
	for (int64_t i = own.first; i < own.first + own.n; i++) {
		struct part p = part_of(f, i);

		for (int64_t a = norm_rows_of_part(f->rows, i, PARTS);
		     a < norm_rows_of_part(f->rows, i + 1, PARTS); a++)
			if (f->eps[a] > 0) add_row(&p, f, a, what, v);
	}
	add_parts(to, total, NULL, f);
}

/* ---- counts ---- */

/* A pair with counts. */
struct counted {
	int64_t pair, k, l;
	double q, mu, r;
};

static struct counted counted(const struct norm_fit *f, const struct norm_scan *s, int64_t a, int64_t b,
                              const float *q)
{
	struct counted c = { norm_rows_pair(f->rows, a, b),
		             *norm_classes_t(f->classes, a, b),
		             norm_classes_z(f->classes, a, b),
		             0,
		             0,
		             0 };

	c.q = (double)q[c.pair - f->rows->first[a]];
	c.mu = f->eps[a] * f->eps[b] * f->t[c.k] * f->z[c.l] * c.q;
	c.r = norm_randoms(s, a, b, c.pair);
	return c;
}

static void add_counts(struct part *p, const struct norm_fit *f, int scan, int64_t a, bool over_randoms)
{
	const struct norm_scan *s = f->scan + scan;
	double *shift = p->sum + norm_at_shift(f, scan);
	const struct norm_counted of = norm_counts_row(p->line, &s->y, f->rows, a);
	const float *q = of.n > 0 ? norm_row_q(p->line, s, f->rows, a) : NULL;

	for (int64_t i = 0; i < of.n; i++) {
		const int64_t b = of.b[i];
		const struct counted c = counted(f, s, a, b, q);
		const double y = (double)of.y[i];

		if (!(c.q > 0) || !(c.mu + c.r > 0)) continue;
		const double x = !over_randoms ? y * c.mu / (c.mu + c.r)
		                 : c.r > 0     ? y * c.mu / c.r
		                               : HUGE_VAL;

		p->total[1] += y * log(c.mu + c.r);
		if (!(c.mu > 0)) continue;
		p->sum[a] += x;
		p->sum[b] += x;
		p->sum[norm_at_t(f) + c.k] += x;
		p->sum[norm_at_z(f) + c.l] += x;
		*p->total += y;
		for (int j = 0; j < s->shifts; j++) shift[j] += x * norm_slope(s, j, c.pair);
	}
}

void norm_counts_sum(double *to, double *log, struct norm_fit *f, bool over_randoms)
{
	const struct iso_rows own = iso_share(f->ctx, PARTS);
	double total;

#pragma omp parallel for schedule(dynamic) num_threads(iso_ctx_threads(f->ctx))
	for (int64_t i = own.first; i < own.first + own.n; i++) {
		struct part p = part_of(f, i);

		for (int64_t a = norm_rows_of_part(f->rows, i, PARTS);
		     a < norm_rows_of_part(f->rows, i + 1, PARTS); a++)
			for (int scan = 0; scan < f->scans; scan++) add_counts(&p, f, scan, a, over_randoms);
	}
	add_parts(to, &total, log, f);
}

static double counts_of_row(const struct norm_line *line, const struct norm_fit *f, const struct norm_scan *s,
                            int64_t a, bool used)
{
	const struct norm_counted y = norm_counts_row(line, &s->y, f->rows, a);
	const float *q = y.n > 0 ? norm_row_q(line, s, f->rows, a) : NULL;
	double sum = 0;

	for (int64_t i = 0; i < y.n; i++) {
		const bool is = q[norm_rows_pair(f->rows, a, y.b[i]) - f->rows->first[a]] > 0;

		if (used ? is && f->eps[a] > 0 && f->eps[y.b[i]] > 0 : !is) sum += (double)y.y[i];
	}
	return sum;
}

double norm_counts_on(const struct norm_fit *f, bool used)
{
	double part[PARTS] = { 0 }, sum = 0;

#pragma omp parallel for schedule(dynamic) num_threads(iso_ctx_threads(f->ctx))
	for (int i = 0; i < PARTS; i++)
		for (int scan = 0; scan < f->scans; scan++)
			for (int64_t a = norm_rows_of_part(f->rows, i, PARTS);
			     a < norm_rows_of_part(f->rows, i + 1, PARTS); a++)
				part[i] += counts_of_row(f->room->own + i, f, f->scan + scan, a, used);
	for (int i = 0; i < PARTS; i++) sum += part[i];
	return sum;
}

static double randoms_of_row(struct norm_run *run, const struct norm_line *line, const struct norm_fit *f,
                             const struct norm_scan *s, int64_t a, bool living)
{
	const int64_t runs = norm_rows_runs(run, f->rows, a);
	const float *q = norm_row_q(line, s, f->rows, a);
	double sum = 0;

	for (int64_t k = 0; k < runs; k++)
		for (int64_t j = 0; j < run[k].n; j++) {
			const int64_t b = run[k].b + j, pair = run[k].pair + j;

			if (q[pair - f->rows->first[a]] > 0 && (!living || f->eps[b] > 0))
				sum += norm_randoms(s, a, b, pair);
		}
	return sum;
}

double norm_randoms_sum(const struct norm_fit *f, bool living)
{
	const struct norm_room *w = f->room;
	double part[PARTS] = { 0 }, sum = 0;

#pragma omp parallel for schedule(dynamic) num_threads(iso_ctx_threads(f->ctx))
	for (int i = 0; i < PARTS; i++)
		for (int scan = 0; scan < f->scans; scan++) {
			const struct norm_scan *s = f->scan + scan;
			const int64_t end = s->r || s->rate ? norm_rows_of_part(f->rows, i + 1, PARTS) : 0;

			for (int64_t a = norm_rows_of_part(f->rows, i, PARTS); a < end; a++)
				if (!living || f->eps[a] > 0)
					part[i] += randoms_of_row(w->run + i * w->runs, w->own + i, f, s, a,
					                          living);
		}
	for (int i = 0; i < PARTS; i++) sum += part[i];
	return sum;
}
