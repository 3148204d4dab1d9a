/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ray on CUDA. The EM step of plain rays goes through bricks (ray_brick.cu); everything else,
   in any projector and with any number of lines, takes one warp an event, its lanes along the
   slices of the main axis, weights computed again on the way back. */
#include "ray_brick.cuh"

#include "core/em.cuh"
#include "core/progress.h"

#include <stdlib.h>

#define WARPS (ISO_THREADS / ISO_WARP)	/* of a block */
#define BLOCKS 2048			/* fixed, so that sums over blocks have a fixed order */
#define MOST_PACKS 4096			/* subsets beyond are too small to be worth ordering */
#define MOST_COUNT 256			/* of a row: its terms leave small ones enough bits */

/* Data of the operator. */
struct ray_cuda {
	struct ray_model m;	/* first: the functions that both backends share see it alone */
	struct ray_pack *pack;	/* one a subset; NULL: the model is not for bricks */
};

struct ray_cuda_work {
	struct iso_fixed_cuda acc;
	struct em_sums sums;
	struct ray_brick_work brick;
};

/* Warps take events in turn: for (j = this warp's first; j < end; j += all warps) */
#define WARP_LOOP(j, rows)                                                                   \
	for (int64_t j = (rows).first + blockIdx.x * (int64_t)WARPS + threadIdx.x / ISO_WARP; \
	     j < (rows).first + (rows).n; j += (int64_t)gridDim.x * WARPS)

/* ---- one warp an event ---- */

/* Sum of weight x image over this lane's slices of one line. */
static __device__ float sum_of_lane(const struct ray_model *m, const struct ray *r, const iso_real *x)
{
	struct ray_piece piece[RAY_PIECES];
	float q = 0;

	for (int k = r->k0 + threadIdx.x % ISO_WARP; k < r->k1; k += ISO_WARP) {
		int n = ray_pieces(piece, m->projector, r, &m->tof, k);

		for (int i = 0; i < n; i++)
			q += piece[i].w * x[piece[i].voxel];
	}
	return q;
}

/* The row of an event times the image, in every lane. */
static __device__ float row_sum(const struct ray_model *m, const struct iso_event *e,
				const iso_real *x)
{
	float q = 0;

	for (int line = 0; line < m->spread.lines; line++) {
		struct ray r = ray_of_event(m, e, line);

		q += sum_of_lane(m, &r, x);
	}
	return iso_warp_sum(q) / m->spread.lines;
}

/* acc += factor * weight (* x, if given) along one line. */
static __device__ void add_line(struct iso_fixed_cuda acc, const struct ray_model *m,
				const struct ray *r, const iso_real *x, double factor)
{
	struct ray_piece piece[RAY_PIECES];

	for (int k = r->k0 + threadIdx.x % ISO_WARP; k < r->k1; k += ISO_WARP) {
		int n = ray_pieces(piece, m->projector, r, &m->tof, k);

		for (int i = 0; i < n; i++) {
			float term = piece[i].w * (x ? x[piece[i].voxel] : 1);

			if (term != 0)
				iso_fixed_add(acc, piece[i].voxel, term * factor);
		}
	}
}

static __device__ void row_add(struct iso_fixed_cuda acc, const struct ray_model *m,
			       const struct iso_event *e, const iso_real *x, double factor)
{
	for (int line = 0; line < m->spread.lines; line++) {
		struct ray r = ray_of_event(m, e, line);

		add_line(acc, m, &r, x, factor / m->spread.lines);
	}
}

static __global__ void forward(struct ray_model m, struct iso_rows rows, iso_real *y,
			       const iso_real *x)
{
	WARP_LOOP(j, rows) {
		float q = row_sum(&m, m.e + j, x);

		if (threadIdx.x % ISO_WARP == 0)
			y[j] = q;
	}
}

static __global__ void adjoint(struct ray_model m, struct iso_rows rows, struct iso_fixed_cuda acc,
			       const iso_real *y)
{
	WARP_LOOP(j, rows)
		row_add(acc, &m, m.e + j, NULL, y[j] * acc.scale);
}

/* ---- the data side of an EM step ---- */

/* acc = x A*(y / (A x + a)), one warp an event. */
static __global__ void em_rows(struct ray_model m, struct iso_rows rows, struct iso_fixed_cuda acc,
			       const iso_real *x, struct iso_em_data d, struct iso_em_stat *stat)
{
	struct iso_em_stat s = ISO_ZERO, not_counted = ISO_ZERO;

	WARP_LOOP(j, rows) {
		double ax = row_sum(&m, m.e + j, x);
		double send = em_respond(threadIdx.x % ISO_WARP ? &not_counted : &s, &d, j, ax);

		if (send > 0)
			row_add(acc, &m, m.e + j, x, send * acc.scale);
	}
	em_leave_sums(stat, s);
}

/* Between the two passes through the bricks: from sums along rays to what they send back. */
static __global__ void em_slots(struct ray_pack p, struct ray_brick_work w, double sum_scale,
				struct iso_em_data d, double acc_scale, struct iso_em_stat *stat)
{
	struct iso_em_stat s = ISO_ZERO;
	double up = ray_brick_up(*w.limit), unit = 1 / (sum_scale * up), out = acc_scale / up;

	ISO_GRID_LOOP(i, p.slots) {
		if (p.row[i] == RAY_NO_ROW)
			continue;
		double ax = (double)(long long)w.sum[i] * unit * p.factor[i];

		w.send[i] = (float)(em_respond(&s, &d, p.rows.first + p.row[i], ax) * p.factor[i] * out);
	}
	em_leave_sums(stat, s);
}

/* ---- functions of the operator ---- */

static int ray_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct ray_cuda *c = (const struct ray_cuda *)op->data;

	forward<<<BLOCKS, ISO_THREADS, 0, iso_stream(op->ctx)>>>(c->m, iso_op_rows(op, sub), y, x);
	return iso_cuda_launched("ray forward");
}

static int ray_adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct ray_cuda *c = (const struct ray_cuda *)op->data;
	struct ray_cuda_work *w = (struct ray_cuda_work *)op->work;
	struct iso_rows rows = iso_op_rows(op, sub);
	double total = 0;
	int st = op->ctx->vec->asum(op->ctx, rows.n, &total, y + rows.first);

	if (st)
		return st;
	if (!isfinite(total))
		return iso_fail(ISO_EARG, "ray: a value to back project is not finite");
	if ((st = iso_fixed_begin(&w->acc, op->ctx,
				  total * iso_ray_largest_weight(&c->m.grid, &c->m.tof))))
		return st;
	adjoint<<<BLOCKS, ISO_THREADS, 0, iso_stream(op->ctx)>>>(c->m, rows, w->acc, y);
	if ((st = iso_cuda_launched("ray adjoint")))
		return st;
	return iso_fixed_end(x, &w->acc, op->ctx);
}

static int step_by_rows(const iso_op *op, int sub, const iso_real *x, const struct iso_em_data *d)
{
	const struct ray_cuda *c = (const struct ray_cuda *)op->data;
	struct ray_cuda_work *w = (struct ray_cuda_work *)op->work;
	struct iso_rows rows = iso_op_rows(op, sub);
	double bound = (double)rows.n;	/* x w / q <= 1 for every event */
	int st = d->y ? op->ctx->vec->asum(op->ctx, rows.n, &bound, d->y + rows.first) : ISO_OK;

	if (st || (st = iso_fixed_begin(&w->acc, op->ctx, bound)))
		return st;
	em_rows<<<BLOCKS, ISO_THREADS, 0, iso_stream(op->ctx)>>>(c->m, rows, w->acc, x, *d, w->sums.stat);
	return iso_cuda_launched("ray em step");
}

/* One subset: forward, response, back. */
static int step_of_pack(const iso_op *op, const struct ray_pack *p, const iso_real *x,
			const struct iso_em_data *d)
{
	const struct ray_cuda *c = (const struct ray_cuda *)op->data;
	struct ray_cuda_work *w = (struct ray_cuda_work *)op->work;
	int st = iso_ray_brick_forward(&w->brick, op->ctx, &c->m, p, x);

	if (st)
		return st;
	em_slots<<<BLOCKS, ISO_THREADS, 0, iso_stream(op->ctx)>>>(
		*p, w->brick, iso_ray_brick_scale(&c->m.grid), *d, w->acc.scale, w->sums.stat);
	if ((st = iso_cuda_launched("ray response")))
		return st;
	return iso_ray_brick_back(&w->brick, op->ctx, &c->m, p, x, w->acc.v);
}

static int step_by_packs(const iso_op *op, int sub, const iso_real *x, const struct iso_em_data *d,
			 double most)
{
	const struct ray_cuda *c = (const struct ray_cuda *)op->data;
	struct ray_cuda_work *w = (struct ray_cuda_work *)op->work;
	int first = sub == ISO_ALL ? 0 : sub, last = sub == ISO_ALL ? op->n_sub - 1 : sub;
	int st = iso_fixed_begin(&w->acc, op->ctx, 0);

	w->acc.scale = ldexp(1, RAY_BRICK_BITS - (most > 1 ? ilogb(most) + 1 : 0));
	if (!st)
		st = iso_ray_brick_limit(&w->brick, op->ctx, op->n_in, x);
	for (int s = first; s <= last && !st; s++)
		st = step_of_pack(op, c->pack + s, x, d);
	return st;
}

/* The largest count of a subset; 1 for list mode. */
static int largest_count(const iso_op *op, int sub, const struct iso_em_data *d, double *most)
{
	struct ray_cuda_work *w = (struct ray_cuda_work *)op->work;
	struct iso_rows rows = iso_op_rows(op, sub);
	float value = 1;
	int st = ISO_OK;

	if (d->y && !(st = iso_ray_brick_limit(&w->brick, op->ctx, rows.n, d->y + rows.first)))
		st = op->ctx->vec->download(op->ctx, &value, w->brick.limit, sizeof value);
	*most = value;
	return st;
}

static int take_step(const iso_op *op, int sub, const iso_real *x, const struct iso_em_data *d)
{
	const struct ray_cuda *c = (const struct ray_cuda *)op->data;
	double most;
	int st;

	if (!c->pack)
		return step_by_rows(op, sub, x, d);
	if ((st = largest_count(op, sub, d, &most)))
		return st;
	return most <= MOST_COUNT ? step_by_packs(op, sub, x, d, most) : step_by_rows(op, sub, x, d);
}

static int ray_em_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x,
		       const struct iso_em_data *d, struct iso_em_stat *s)
{
	struct ray_cuda_work *w = (struct ray_cuda_work *)op->work;
	int st = em_sums_clear(&w->sums, op->ctx);

	if (st || (st = take_step(op, sub, x, d)) || (st = iso_fixed_end(acc, &w->acc, op->ctx)))
		return st;
	return em_sums_get(s, &w->sums, op->ctx);
}

/* ---- memory ---- */

static void ray_close(iso_op *op)
{
	struct ray_cuda_work *w = (struct ray_cuda_work *)op->work;

	iso_ray_brick_close(&w->brick);
	cudaFree(w->acc.v);
	em_sums_close(&w->sums);
	free(w);
}

static int64_t most_slots(const iso_op *op)
{
	const struct ray_cuda *c = (const struct ray_cuda *)op->data;
	int64_t most = 0;

	for (int s = 0; c->pack && s < op->n_sub; s++)
		most = c->pack[s].slots > most ? c->pack[s].slots : most;
	return most;
}

static int ray_open(iso_op *op)
{
	struct ray_cuda_work *w = (struct ray_cuda_work *)calloc(1, sizeof *w);
	const struct iso_vec *v = op->ctx->vec;
	int st;

	if (!w)
		return iso_fail_memory("ray", sizeof *w);
	op->work = w;	/* from here ray_close cleans up */
	w->acc.n = op->n_in;
	if ((st = v->alloc(op->ctx, (void **)&w->acc.v, op->n_in * (int64_t)sizeof *w->acc.v)))
		return st;
	if ((st = em_sums_open(&w->sums, op->ctx, BLOCKS)))
		return st;
	return iso_ray_brick_open(&w->brick, op->ctx, most_slots(op));
}

static void ray_free(iso_op *op)
{
	struct ray_cuda *c = (struct ray_cuda *)op->data;

	for (int s = 0; c->pack && s < op->n_sub; s++)
		iso_ray_pack_free(c->pack + s);
	free(c->pack);
	cudaFree(c->m.e);
	free(c);
}

static const struct iso_op_fn ray_fn_cuda = {
	ray_forward, ray_adjoint, ray_em_step, iso_ray_rows, iso_ray_file_row, ray_open, ray_close,
	ray_free, NULL,
};

/* ---- from the host's model ---- */

static int make_packs(iso_op *op, struct ray_cuda *c)
{
	struct ray_packer *k = NULL;
	int st;

	if (!iso_ray_brick_serves(&c->m) || op->n_sub > MOST_PACKS)
		return ISO_OK;
	c->pack = (struct ray_pack *)calloc((size_t)op->n_sub, sizeof *c->pack);
	if (!c->pack)
		return iso_fail_memory("ray", op->n_sub * (int64_t)sizeof *c->pack);
	st = iso_ray_packer_create(&k, op->ctx, iso_op_rows(op, 0).n);
	double began = iso_now_s();

	for (int s = 0; s < op->n_sub && !st; s++) {
		struct iso_rows rows = iso_op_rows(op, s);

		if (!(st = iso_ray_pack_create(c->pack + s, op->ctx, &c->m, rows.n)))
			st = iso_ray_pack_fill(c->pack + s, k, op->ctx, &c->m, c->m.e + rows.first, rows);
	}
	if (!st)
		st = iso_cuda_check("order", cudaStreamSynchronize(iso_stream(op->ctx)));
	c->m.ordering_s = iso_now_s() - began;
	iso_ray_packer_free(k);
	return st;
}

/* The events move to the device; the host's copy goes. */
extern "C" int iso_ray_to_cuda(iso_op *op)
{
	struct ray_model *m = (struct ray_model *)op->data;
	struct ray_cuda *c = (struct ray_cuda *)calloc(1, sizeof *c);
	int64_t bytes = m->n * (int64_t)sizeof *m->e;
	void *e = NULL;
	int st = c ? op->ctx->vec->alloc(op->ctx, &e, bytes) : iso_fail_memory("ray", sizeof *c);

	if (st || (st = op->ctx->vec->upload(op->ctx, e, m->e, bytes))) {
		cudaFree(e);
		free(c);
		return st;
	}
	free(m->e);
	c->m = *m;
	c->m.e = (struct iso_event *)e;
	free(m);
	op->data = c;	/* from here ray_free cleans up */
	op->fn = &ray_fn_cuda;
	return make_packs(op, c);
}
