/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ray on the CPU: each event is traced once into a short list of voxels and weights, which
   serves the forward sum and the way back. */
#include "ray.h"
#include "core/fixed.h"
#include "core/plan.h"
#include "core/size.h"
#include "core/vec.h"

#include <omp.h>

#define CHUNK 1024	/* events between two looks at the cancel flag; sums are kept per chunk */

struct ray_work {
	struct iso_fixed acc;
	struct ray_piece *piece;	/* `longest` for each thread */
	int64_t longest;
	struct iso_em_stat *stat;	/* one per chunk */
};

int iso_ray_grid(struct ray_grid *r, const struct iso_grid *g)
{
	int st = iso_grid_check(g);

	if (st)
		return st;
	if (iso_grid_voxels(g) > INT32_MAX)
		return iso_fail(ISO_EARG, "ray: the grid has %" PRId64 " voxels, at most %d are "
				"possible", iso_grid_voxels(g), INT32_MAX);
	for (int a = 0; a < 3; a++) {
		r->n[a] = (int)g->n[a];
		r->voxel[a] = g->voxel[a];
		r->low[a] = g->centre[a] - .5 * (double)g->n[a] * g->voxel[a];
		r->stride[a] = a == 0 ? 1 : r->stride[a - 1] * g->n[a - 1];
	}
	return ISO_OK;
}

double iso_ray_largest_weight(const struct ray_grid *g, const struct ray_tof *tof)
{
	if (tof && tof->sigma > 0)
		return 2 * tof->norm;
	return sqrt(g->voxel[0] * g->voxel[0] + g->voxel[1] * g->voxel[1] +
		    g->voxel[2] * g->voxel[2]);
}

/* Subset b holds events b, b + n_sub, ...; the first n % n_sub subsets have one more. */
struct iso_rows iso_ray_rows(const iso_op *op, int sub)
{
	int64_t each = op->n_out / op->n_sub, more = op->n_out % op->n_sub;
	struct iso_rows r = { sub * each + (sub < more ? sub : more), each + (sub < more) };

	return r;
}

int64_t iso_ray_file_row(const iso_op *op, int64_t row)
{
	int64_t each = op->n_out / op->n_sub, more = op->n_out % op->n_sub;
	int64_t long_rows = more * (each + 1);

	if (row < long_rows)
		return row / (each + 1) + row % (each + 1) * op->n_sub;
	return more + (row - long_rows) / each + (row - long_rows) % each * op->n_sub;
}

/* Voxels and weights along the ray of an event; how many. */
static int trace(struct ray_piece *piece, const struct ray_model *m, const struct iso_event *e)
{
	struct ray r = ray_of_event(m, e);
	int n = 0;

	for (int k = r.k0; k < r.k1; k++) {
		struct ray_piece p[3];

		ray_slice(p, &r, m->tof.norm, k);
		for (int i = 0; i < 3; i++) {
			piece[n] = p[i];
			n += p[i].w > 0;
		}
	}
	return n;
}

static struct ray_piece *thread_pieces(const iso_op *op)
{
	struct ray_work *w = op->work;

	return w->piece + omp_get_thread_num() * w->longest;
}

static double sum_along(int n, const struct ray_piece *piece, const iso_real *x)
{
	double q = 0;

	for (int i = 0; i < n; i++)
		q += (double)piece[i].w * x[piece[i].voxel];
	return q;
}

/* acc += factor * weight along the ray. */
static void add_along(const struct iso_fixed *acc, int n, const struct ray_piece *piece,
		      double factor)
{
	int thread = omp_get_thread_num();

	for (int i = 0; i < n; i++)
		iso_fixed_add(acc, thread, piece[i].voxel, piece[i].w * factor);
}

/* Events of one subset in chunks that the data alone decide. */
#define CHUNKS(rows) (((rows).n + CHUNK - 1) / CHUNK)

static struct iso_rows chunk_rows(struct iso_rows r, int64_t chunk)
{
	int64_t first = r.first + chunk * CHUNK, left = r.first + r.n - first;
	struct iso_rows c = { first, left < CHUNK ? left : CHUNK };

	return c;
}

static int ray_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct ray_model *m = op->data;
	struct iso_rows r = iso_op_rows(op, sub);

#pragma omp parallel for num_threads(op->ctx->threads) schedule(dynamic)
	for (int64_t c = 0; c < CHUNKS(r); c++) {
		struct ray_piece *piece = thread_pieces(op);
		struct iso_rows rows = chunk_rows(r, c);

		for (int64_t j = rows.first; !op->ctx->cancel && j < rows.first + rows.n; j++)
			y[j] = (iso_real)sum_along(trace(piece, m, m->e + j), piece, x);
	}
	return iso_ctx_poll(op->ctx);
}

static int ray_adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct ray_model *m = op->data;
	struct ray_work *w = op->work;
	struct iso_rows r = iso_op_rows(op, sub);
	double total = 0;
	int st = op->ctx->vec->asum(op->ctx, r.n, &total, y + r.first);

	if (st)
		return st;
	if (!isfinite(total))
		return iso_fail(ISO_EARG, "ray: a value to back project is not finite");
	iso_fixed_begin(&w->acc, op->ctx, total * iso_ray_largest_weight(&m->grid, &m->tof));
#pragma omp parallel for num_threads(op->ctx->threads) schedule(dynamic)
	for (int64_t c = 0; c < CHUNKS(r); c++) {
		struct ray_piece *piece = thread_pieces(op);
		struct iso_rows rows = chunk_rows(r, c);

		for (int64_t j = rows.first; !op->ctx->cancel && j < rows.first + rows.n; j++)
			add_along(&w->acc, trace(piece, m, m->e + j), piece, y[j] * w->acc.scale);
	}
	st = iso_ctx_poll(op->ctx);
	return st ? st : iso_fixed_end(x, &w->acc, op->ctx);
}

/* Event j of acc = x A*(y / (A x + a)): the weights become terms w x of the forward sum, and the
   same terms, over that sum, go back. */
static void em_event(const iso_op *op, int64_t j, const iso_real *x, const struct iso_em_data *d,
		     struct iso_em_stat *s)
{
	const struct ray_model *m = op->data;
	struct ray_work *w = op->work;
	struct ray_piece *piece = thread_pieces(op);
	double mult = d->mult ? d->mult[j] : 1, count = d->y ? d->y[j] : 1, ax = 0;
	int n = mult > 0 ? trace(piece, m, m->e + j) : 0;

	for (int i = 0; i < n; i++)
		ax += piece[i].w *= x[piece[i].voxel];
	double q = ax + (d->add ? d->add[j] : 0);

	if (!(mult > 0) || !(q > 0)) {
		s->skipped++;
		return;
	}
	s->used++;
	s->counts += ax > 0 ? count : 0;
	s->loglik += count * log(mult * q);
	if (ax > 0)
		add_along(&w->acc, n, piece, count / q * w->acc.scale);
}

static struct iso_em_stat sum_stats(int64_t n, const struct iso_em_stat *part)
{
	struct iso_em_stat s = { 0 };

	for (int64_t i = 0; i < n; i++) {
		s.loglik += part[i].loglik;
		s.counts += part[i].counts;
		s.used += part[i].used;
		s.skipped += part[i].skipped;
	}
	return s;
}

static int ray_em_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x,
		       const struct iso_em_data *d, struct iso_em_stat *s)
{
	struct ray_work *w = op->work;
	struct iso_rows r = iso_op_rows(op, sub);
	double bound = (double)r.n;	/* x w / q <= 1 for every event */
	int st = d->y ? op->ctx->vec->asum(op->ctx, r.n, &bound, d->y + r.first) : ISO_OK;

	if (st)
		return st;
	iso_fixed_begin(&w->acc, op->ctx, bound);
#pragma omp parallel for num_threads(op->ctx->threads) schedule(dynamic)
	for (int64_t c = 0; c < CHUNKS(r); c++) {
		struct iso_rows rows = chunk_rows(r, c);
		struct iso_em_stat part = { 0 };

		for (int64_t j = rows.first; !op->ctx->cancel && j < rows.first + rows.n; j++)
			em_event(op, j, x, d, &part);
		w->stat[c] = part;
	}
	if ((st = iso_ctx_poll(op->ctx)))
		return st;
	*s = sum_stats(CHUNKS(r), w->stat);
	return iso_fixed_end(acc, &w->acc, op->ctx);
}

/* Three pieces a slice, along the longest axis, and one written and not kept. */
static int64_t longest_list(const struct ray_grid *g)
{
	int n = g->n[0] > g->n[1] ? g->n[0] : g->n[1];

	return 3 * (int64_t)(n > g->n[2] ? n : g->n[2]) + 1;
}

static void ray_close(iso_op *op)
{
	struct ray_work *w = op->work;

	iso_fixed_free(&w->acc);
	free(w->piece);
	free(w->stat);
	free(w);
}

static int ray_open(iso_op *op)
{
	const struct ray_model *m = op->data;
	struct ray_work *w = size_alloc(1, sizeof *w);
	int64_t chunks = op->n_out / CHUNK + 1;

	if (!w)
		return iso_fail_memory("ray", sizeof *w);
	op->work = w;	/* from here ray_close cleans up */
	w->longest = longest_list(&m->grid);
	w->piece = size_alloc(w->longest * op->ctx->threads, sizeof *w->piece);
	w->stat = size_alloc(chunks, sizeof *w->stat);
	if (!w->piece || !w->stat)
		return iso_fail_memory("ray", chunks * (int64_t)sizeof *w->stat);
	return iso_fixed_create(&w->acc, op->ctx, op->n_in);
}

static void ray_free(iso_op *op)
{
	struct ray_model *m = op->data;

	free(m->e);
	free(m);
}

static const struct iso_op_fn ray_fn = {
	.forward = ray_forward,
	.adjoint = ray_adjoint,
	.em_step = ray_em_step,
	.rows = iso_ray_rows,
	.file_row = iso_ray_file_row,
	.open = ray_open,
	.close = ray_close,
	.free = ray_free,
	.to_cuda = "iso_ray_to_cuda",
};

/* sigma = FWHM c / 2 / (2 sqrt(2 ln 2)) mm; cut at k sigma and rescaled by 1 / erf(k / sqrt 2). */
static int set_tof(struct ray_tof *t, double fwhm_ps, double k)
{
	if (!(fwhm_ps >= 0) || !isfinite(fwhm_ps))
		return iso_fail(ISO_EARG, "ray: TOF resolution is %g ps, must be 0 (none) or above",
				fwhm_ps);
	if (!(k >= 0) || !isfinite(k))
		return iso_fail(ISO_EARG, "ray: TOF truncation is %g sigma, must be 0 (none) or above",
				k);
	if (fwhm_ps == 0)
		return ISO_OK;
	t->sigma = fwhm_ps * RAY_C_MM_PER_PS / 2 / (2 * sqrt(2 * log(2)));
	t->half = k > 0 ? k * t->sigma : INFINITY;
	t->norm = (iso_real)(.5 / (k > 0 ? erf(k / RAY_SQRT2) : 1));
	return ISO_OK;
}

static int check(const struct iso_ray *p, const struct iso_events *e)
{
	if (e->n < 1)
		return iso_fail(ISO_EARG, "ray: there are no events");
	if (p->n_sub < 1 || p->n_sub > e->n)
		return iso_fail(ISO_EARG, "ray: %d subsets of %" PRId64 " events; must be 1 to the "
				"number of events", p->n_sub, e->n);
	return ISO_OK;
}

int iso_ray_create(iso_op **op, iso_ctx *ctx, const struct iso_ray *p, const struct iso_events *e)
{
	struct ray_model m = { .n = e->n };
	struct ray_model *data;
	iso_op order = { .n_out = e->n, .n_sub = p->n_sub };	/* for file_row alone */
	int st;

	if ((st = check(p, e)) || (st = iso_ray_grid(&m.grid, &p->grid)) ||
	    (st = set_tof(&m.tof, p->tof_fwhm_ps, p->tof_truncate)))
		return st;
	m.e = size_alloc(e->n, sizeof *m.e);
	data = size_alloc(1, sizeof *data);
	if (!m.e || !data) {
		free(m.e);
		free(data);
		return iso_fail_memory("ray events", e->n * (int64_t)sizeof *m.e);
	}
	for (int64_t i = 0; i < e->n; i++) {
		const struct iso_event *v = e->v + iso_ray_file_row(&order, i);

		if (!iso_event_bad(v))	/* else both ends stay at 0: no ray */
			m.e[i] = *v;
	}
	*data = m;
	return iso_op_create(op, ctx, &ray_fn, iso_grid_voxels(&p->grid), e->n, p->n_sub, data);
}

void iso_ray_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_ray *p, int64_t n)
{
	bool cuda = iso_ctx_is_cuda(ctx);
	int64_t voxels = iso_grid_voxels(&p->grid);

	iso_plan_add(plan, "events, in order of subsets", n, sizeof(struct iso_event), cuda);
	iso_plan_add(plan, "fixed-point image", voxels,
		     (int64_t)sizeof(int64_t) * (cuda ? 1 : iso_fixed_copies(ctx, voxels)), cuda);
}

int iso_ray_attenuation(iso_real *alpha, iso_ctx *ctx, const struct iso_array *mu,
			const struct iso_events *e)
{
	struct iso_ray p = { .grid = mu->grid, .n_sub = 1 };
	const struct iso_vec *v = ctx->vec;
	iso_real *x = NULL, *y = NULL;
	iso_op *op = NULL;
	int st;

	if ((st = iso_ray_create(&op, ctx, &p, e))) goto done;
	if ((st = iso_vec_alloc(ctx, &x, mu->n))) goto done;
	if ((st = iso_vec_alloc(ctx, &y, e->n))) goto done;
	if ((st = v->upload(ctx, x, mu->v, mu->n * (int64_t)sizeof *x))) goto done;
	if ((st = iso_forward(op, ISO_ALL, y, x))) goto done;
	if ((st = v->download(ctx, alpha, y, e->n * (int64_t)sizeof *y))) goto done;
	for (int64_t j = 0; j < e->n; j++)
		alpha[j] = (iso_real)exp(-(double)alpha[j]);
done:
	v->free(ctx, x);
	v->free(ctx, y);
	iso_op_free(op);
	return st;
}
