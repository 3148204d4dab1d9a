/* SPDX-License-Identifier: BSD-3-Clause */
/* The likelihood of triples: one pass gives its value, its gradient, and what each voxel's data tell. */
#include "triples_cuda.h"
#include "core/sized.h"

#include <omp.h>

static bool own_sigma(const struct likelihood *l)
{
	return l->t->sigma != NULL;
}

static int64_t longest(const struct iso_triples *t)
{
	int64_t most = 1;

	for (int64_t j = 0; j < t->n; j++)
		if (t->start[j + 1] - t->start[j] > most) most = t->start[j + 1] - t->start[j];
	return most;
}

/* What loops on the host need: images of parts, and room for a row. */
static int open_loops(struct likelihood *l, struct iso_room *room)
{
	const int threads = l->t->room.ctx->threads;
	const int64_t row = longest(l->t);

	ISO_HOST(room, l->scratch, threads);
	if (parts_open(&l->parts, room, l->t->n, l->t->voxels * SUMS)) return room->status;
	ISO_HOST(room, l->logs, l->parts.n);
	for (int i = 0; i < threads && !room->status; i++) {
		ISO_HOST(room, l->scratch[i].d, row);
		if (l->table) ISO_HOST(room, l->scratch[i].curve, 2 * (int64_t)l->table->nodes);
	}
	return room->status;
}

int likelihood_open(struct likelihood *l, struct iso_room *room, const struct iso_triples *t, bool table,
                    bool on_host)
{
	struct emg_table *made;
	int st = ISO_OK;

	*l = (struct likelihood){ .t = t, .room = room, .on_host = on_host || !t->cuda };
	mixture_of(&l->x, &t->model);
	l->inside = mixture_fixed_inside(&l->x, l->x.m.sigma);
	ISO_HOST(room, l->fixed, t->n);
	if (own_sigma(l)) ISO_HOST(room, l->own, t->n);
	ISO_HOST(room, l->state, t->voxels);
	ISO_HOST(room, l->sums, t->voxels * SUMS);
	if (table && !own_sigma(l) && ISO_HOST(room, made, 1) && !emg_table_make(made, room, &l->x))
		l->table = made;
	if (l->on_host) st = open_loops(l, room);
	if (st || room->status) return room->status;
#pragma omp parallel for num_threads(t->room.ctx->threads)
	for (int64_t j = 0; j < t->n; j++) {
		l->fixed[j] = mixture_fixed(&l->x, t->t[j], triple_sigma(t, j));
		if (l->own) l->own[j] = mixture_fixed_inside(&l->x, t->sigma[j]);
	}
	return ISO_OK;
}

static double project(const struct iso_triples *t, int64_t j, const double *image)
{
	const struct triple_row row = triple_row(t, j);
	double sum = 0;

	for (int64_t i = 0; i < row.n; i++) sum += (double)row.w[i] * image[row.voxel[i]];
	return sum;
}

/* From the file's order. */
static int likelihood_given(struct likelihood *l, struct iso_room *room, const double *density)
{
	if (!ISO_HOST(room, l->background, l->t->n)) return room->status;
	for (int64_t j = 0; j < l->t->n; j++) {
		const double b = density[l->t->file[j]];

		l->background[j] = b;
		if (!(b >= 0) || !isfinite(b))
			return iso_fail(ISO_EINPUT,
			                "lifetime: background of triple %" PRId64
			                " is %g, must be 0 or above",
			                l->t->file[j], b);
	}
	return ISO_OK;
}

int likelihood_background(struct likelihood *l, struct iso_room *room, const struct iso_lifetime *p,
                          const double *f)
{
	const struct iso_triples *t = l->t;
	const double *image = p->randoms.image ? p->randoms.image : f;
	double counts = 0;

	if (p->randoms.density) return likelihood_given(l, room, p->randoms.density);
	if (!(p->randoms.number > 0)) return ISO_OK;
	for (int64_t v = 0; v < t->voxels; v++) counts += image[v] * (double)p->sens[v];
	if (!(counts > 0)) return iso_fail(ISO_EINPUT, "lifetime: the image of random triples is empty");
	if (!ISO_HOST(room, l->background, t->n)) return room->status;
	const double scale = p->randoms.number / counts / (l->x.hi - l->x.lo);

#pragma omp parallel for num_threads(t->room.ctx->threads)
	for (int64_t j = 0; j < t->n; j++) l->background[j] = scale * project(t, j, image);
	return ISO_OK;
}

struct scratch *likelihood_scratch(const struct likelihood *l)
{
	return l->scratch + omp_get_thread_num();
}

/* ---- a triple ---- */

static void set_state(struct likelihood *l, const double *f, const double *rate, const double *w)
{
	const struct emg_table *e = l->table;

#pragma omp parallel for num_threads(l->t->room.ctx->threads)
	for (int64_t v = 0; v < l->t->voxels; v++) {
		struct voxel_state *s = l->state + v;

		*s = (struct voxel_state){ .f = f[v], .rate = rate[v], .w = l->x.single ? 1 : w[v] };
		s->in = mixture_inside(&l->x, &l->inside, s->rate, s->w, l->x.m.sigma);
		if (e) s->at = fmin(fmax((log(s->rate) - e->u) / e->du, 0), e->nodes - 1);
	}
}

/* The table at one time: four rows of nodes make two. */
static void take_curve(double *restrict curve, const struct emg_table *e, double t)
{
	const struct emg_place p = emg_place(e, t);
	const int n = 2 * e->nodes;
	const double *restrict low = e->v + p.bin * 2 * n, *restrict high = low + 2 * n;

	for (int k = 0; k < n; k++)
		curve[k] = p.low * low[k] + p.high * high[k] + p.slope_low * low[n + k] +
		           p.slope_high * high[n + k];
}

/* A value by interpolation may lie a rounding error below 0. */
static void by_table(struct density *d, const struct likelihood *l, const struct scratch *s, int64_t j)
{
	const struct triple_row row = triple_row(l->t, j);
	const struct emg_table *e = l->table;

	take_curve(s->curve, e, l->t->t[j]);
	for (int64_t i = 0; i < row.n; i++) {
		const struct voxel_state *v = l->state + row.voxel[i];
		const int k = v->at < e->nodes - 2 ? (int)v->at : e->nodes - 2;
		double o, by_u;

		emg_between(&o, &by_u, v->at - k, e->du, s->curve + k, s->curve + e->nodes + k);
		d[i] = mixture_density(&l->x, l->fixed + j, &v->in, v->w, fmax(o, 0), by_u / v->rate);
	}
}

static void by_formula(struct density *d, const struct likelihood *l, int64_t j)
{
	const struct triple_row row = triple_row(l->t, j);
	const double t = l->t->t[j], sigma = triple_sigma(l->t, j);

	for (int64_t i = 0; i < row.n; i++) {
		const struct voxel_state *v = l->state + row.voxel[i];
		const double o = emg(t, v->rate, sigma);
		const struct inside in =
			l->own ? mixture_inside(&l->x, l->own + j, v->rate, v->w, sigma) : v->in;

		d[i] = mixture_density(&l->x, l->fixed + j, &in, v->w, o, emg_by_rate(o, t, v->rate, sigma));
	}
}

double likelihood_row(const struct likelihood *l, struct scratch *s, int64_t j)
{
	const struct triple_row row = triple_row(l->t, j);
	double q = l->background ? l->background[j] : 0;

	if (l->table)
		by_table(s->d, l, s, j);
	else
		by_formula(s->d, l, j);
	for (int64_t i = 0; i < row.n; i++) q += (double)row.w[i] * l->state[row.voxel[i]].f * s->d[i].h;
	return q;
}

/* ---- a pass ---- */

static void add_row(double *to, const struct likelihood *l, const struct scratch *s, int64_t j, double q)
{
	const struct triple_row row = triple_row(l->t, j);

	for (int64_t i = 0; i < row.n; i++) {
		double *sum = to + (int64_t)row.voxel[i] * SUMS;
		const double part = (double)row.w[i] * l->state[row.voxel[i]].f / q;
		const double rate = part * s->d[i].by_rate, w = part * s->d[i].by_w;

		sum[SUM_COUNTS] += part * s->d[i].h;
		sum[SUM_RATE] += rate;
		sum[SUM_W] += w;
		sum[SUM_RATE_RATE] += rate * rate;
		sum[SUM_RATE_W] += rate * w;
		sum[SUM_W_W] += w * w;
	}
}

static double pass(struct likelihood *l)
{
	const struct iso_triples *t = l->t;
	const iso_ctx *ctx = t->room.ctx;
	int64_t without = 0;
	double sum = 0;

	parts_clear(&l->parts, ctx);
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic) reduction(+ : without)
	for (int part = 0; part < l->parts.n; part++) {
		const struct iso_rows rows = parts_rows(&l->parts, t->n, part);
		struct scratch *s = likelihood_scratch(l);

		l->logs[part] = 0;
		for (int64_t j = rows.first; j < rows.first + rows.n; j++) {
			const double q = likelihood_row(l, s, j);

			if (l->q) l->q[t->file[j]] = q;
			without += !(q > 0);
			if (!(q > 0)) continue;
			l->logs[part] += log(q);
			add_row(l->parts.v + part * l->parts.values, l, s, j, q);
		}
	}
	parts_sum(l->sums, &l->parts, ctx);
	l->without = without;
	for (int part = 0; part < l->parts.n; part++) sum += l->logs[part];
	return sum;
}

int likelihood_at(double *loglik, struct likelihood *l, const double *f, const double *rate, const double *w)
{
	set_state(l, f, rate, w);
	if (!l->on_host) return l->t->fn->pass(loglik, l);
	*loglik = pass(l);
	return ISO_OK;
}

/* ---- for callers ---- */

static void give(double *to, const struct likelihood *l, int which)
{
	for (int64_t v = 0; v < l->t->voxels && to; v++) to[v] = l->sums[v * SUMS + which];
}

static int check_images(const struct iso_triples *t, const double *f, const double *rate, const double *w,
                        double most)
{
	for (int64_t v = 0; v < t->voxels; v++)
		if (!(f[v] >= 0) || !isfinite(f[v]) || !(rate[v] > 0) || !isfinite(rate[v]) || !(w[v] > 0) ||
		    !(w[v] <= most))
			return iso_fail(ISO_EINPUT,
			                "lifetime: voxel %" PRId64
			                ": activity %g, rate %g, w %g; must be 0 or above, "
			                "above 0, above 0 to %g",
			                v, f[v], rate[v], w[v], most);
	return ISO_OK;
}

int iso_lifetime_likelihood_at(struct iso_lifetime_likelihood *to, const iso_triples *t,
                               const double *activity, const double *rate, const double *w,
                               const double *background)
{
	if (!to || !t || !activity || !rate || !w) return iso_fail_null(__func__);
	if (t->n < 1) return iso_fail(ISO_EARG, "lifetime: there are no triples");
	struct iso_room work = iso_room_of(t->room.ctx, "likelihood of triples");
	struct iso_lifetime_likelihood full = { 0 };
	struct likelihood l;
	int st = iso_sized_take(&full, "iso_lifetime_likelihood", sizeof full, to);

	if (!st) st = likelihood_open(&l, &work, t, false, false);
	if (!st) st = check_images(t, activity, rate, w, l.x.single ? 1 : 1 / l.x.k);
	if (!st && background) st = likelihood_given(&l, &work, background);
	l.q = full.q;
	if (!st) st = likelihood_at(&full.loglik, &l, activity, rate, w);
	if (!st) {
		give(full.counts, &l, SUM_COUNTS);
		give(full.by_rate, &l, SUM_RATE);
		give(full.by_w, &l, SUM_W);
		give(full.info_rate, &l, SUM_RATE_RATE);
		give(full.info_rate_w, &l, SUM_RATE_W);
		give(full.info_w, &l, SUM_W_W);
		to->loglik = full.loglik;
	}
	iso_room_free(&work);
	return st;
}
