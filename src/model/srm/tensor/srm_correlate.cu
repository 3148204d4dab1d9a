/* SPDX-License-Identifier: BSD-3-Clause */
/* The shift-correlation projector on CUDA: streams of small matrices (srm_stream.h), along which warps walk
   on the tensor cores (srm_walk.cuh), with numbers as halves (srm_halves.cuh). Directions of subsets that do
   not hold their neighbours are projected one by one instead, in float (srm_single.h). */
#include "model/srm/srm_share.h"
#include "srm_single.cuh"
#include "srm_walk.cuh"

#include <math.h>
#include <string.h>

/* Where a direction's rows and its padded plane lie. */
struct direction_place {
	int64_t row, plane;
	int nx, nz;
};

struct correlate_cuda {
	struct stream_layout layout;
	struct srm_stream forward, adjoint; /* of their arrays, block_of alone is there */
	struct device_stream on_forward, on_adjoint;
	bool alone;               /* forward by single directions, not by a stream */
	struct srm_single single; /* blocks, strips and quads on the device */
	struct direction_place *place;
	float row_most; /* no row's weights sum up to more */
};

struct correlate_work {
	struct srm_step_work step;
	unsigned *image, *data;       /* padded, pairs of halves */
	float4 *quads;                /* the image of single directions */
	struct survey *survey;        /* of what they hold */
	float *slices;                /* partial sums */
	const struct iso_em_data *em; /* of the EM step at work, or NULL */
};

struct parts {
	const struct srm_op *m;
	const struct correlate_cuda *c;
	struct correlate_work *w;
	cudaStream_t stream;
};

static struct parts parts_of(const iso_op *op)
{
	const struct srm_op *m = (const struct srm_op *)op->data;

	return { m, (const struct correlate_cuda *)m->device, (struct correlate_work *)op->work,
		 iso_stream(op->ctx) };
}

/* ---- to padded memory, and back from slices ---- */

static __global__ void pad_image(unsigned *to, const float *x, struct srm_shape s, struct stream_image plane,
                                 const struct survey *survey, struct layer l)
{
	int scale = scale_of(survey->greatest);

	srm_turn(
		x, s, [](float) {},
		[&](int y, int ix, int iz, float v) {
			to[stream_voxel(plane, y, ix, iz)] = halves_of(within(l, v), scale);
		});
}

static __global__ void pad_data(unsigned *to, const float *y, const struct direction_place *place, int row,
                                const struct survey *survey, struct layer l)
{
	int scale = scale_of(survey->greatest);
	struct direction_place d = place[blockIdx.x];

	for (int i = threadIdx.x; i < d.nx * d.nz; i += blockDim.x)
		to[d.plane + (int64_t)(i / d.nz) * row + i % d.nz] =
			halves_of(within(l, y[d.row + i]), scale);
}

static __global__ void add_slices(float *out, const float *in, int slices, int64_t n, bool more)
{
	ISO_GRID_LOOP (i, n) {
		float sum = more ? out[i] : 0;

		for (int k = 0; k < slices; k++) sum += in[k * n + i];
		out[i] = sum;
	}
}

/* ---- the operator ---- */

static void launch(const struct parts &h, const struct srm_stream *s, const struct device_stream *on, int sub,
                   float *out, int64_t n, const unsigned *in)
{
	int64_t first = s->block_of[sub], blocks = s->block_of[sub + 1] - first;
	auto kernel = on->row == 128    ? correlate<128>
	              : on->row == 1024 ? correlate<1024>
	              : on->row == 1536 ? correlate<1536>
	                                : correlate<0>;

	if (blocks > 0)
		kernel<<<(unsigned)blocks, ISO_WARP, 0, h.stream>>>(*on, first, out, n, in, h.w->survey);
}

/* An image is exact enough down to where its halves end; in the layers of an EM step each voxel is good to
   2^-19 of itself. Of data, quotients of the EM step, few may be great, which must not cost all others. */
static const struct rule image_rule = { 36, 255, 100 }, em_image_rule = { 20, 255, ~0u },
			 data_rule = { 24, 30, 100 };

static int clear_survey(const struct parts &h)
{
	return iso_cuda_check("srm scale", cudaMemsetAsync(h.w->survey, 0, sizeof *h.w->survey, h.stream));
}

/* What a survey found. */
static int take_survey(struct survey *found, const iso_op *op)
{
	int st = op->ctx->vec->download(op->ctx, found, parts_of(op).w->survey, sizeof *found);

	if (st || !found->infinite) return st;
	return iso_fail(ISO_EARG, "srm: a value to project or to back project is not finite");
}

/* The layer below `below`; the last one takes all that is left. */
static int next_layer(struct layer *l, const iso_op *op, const float *v, int64_t n, struct rule r,
                      unsigned below)
{
	struct parts h = parts_of(op);
	struct survey found;
	int st = clear_survey(h);

	if (st) return st;
	find_greatest<<<iso_blocks(n), ISO_THREADS, 0, h.stream>>>(h.w->survey, v, n, below);
	count_small<<<iso_blocks(n), ISO_THREADS, 0, h.stream>>>(h.w->survey, v, n, below, r);
	if ((st = iso_cuda_launched("srm scale")) || (st = take_survey(&found, op))) return st;
	bool more = (uint64_t)found.small * r.share > found.some || found.lost > found.some >> 20;

	l->from = more ? found.greatest - r.badly * POWER_OF_2 : 0;
	l->below = below;
	return ISO_OK;
}

/* Rows with counts whose mean is below `least`. */
static __global__ void count_faint(struct survey *s, struct iso_rows rows, const float *ax,
                                   struct iso_em_data d, float least)
{
	unsigned n = 0;

	ISO_GRID_LOOP (i, rows.n) {
		int64_t row = rows.first + i;

		n += (!d.y || d.y[row] > 0) && (!d.mult || d.mult[row] != 0) &&
		     ax[row] + (d.add ? d.add[row] : 0) < least;
	}
	n = iso_warp_sum(n);
	if (threadIdx.x % ISO_WARP == 0) atomicAdd(&s->small, n);
}

/* Whether voxels below `from` matter to an EM step: to a row with counts, whose mean is less than 2^power
   times what any row has of voxels of that size. */
static int more_wanted(bool *wanted, const iso_op *op, int sub, const float *y, unsigned from, int power)
{
	struct parts h = parts_of(op);
	struct iso_rows rows = iso_op_rows(op, sub);
	struct survey found;
	float size;
	int st;

	*wanted = from > 0;
	if (!h.w->em || !*wanted) return ISO_OK;
	memcpy(&size, &from, sizeof size);
	if ((st = clear_survey(h))) return st;
	count_faint<<<iso_blocks(rows.n), ISO_THREADS, 0, h.stream>>>(h.w->survey, rows, y, *h.w->em,
	                                                              ldexpf(size * h.c->row_most, power));
	if ((st = iso_cuda_launched("srm layers")) || (st = take_survey(&found, op))) return st;
	*wanted = found.small > 0;
	return ISO_OK;
}

/* Adds layer l of the image, or with `more` false puts it; the survey is that of the layer. The slices have room
   for the rows of a subset alone. */
static int forward_layer(const iso_op *op, int sub, iso_real *y, const iso_real *x, struct layer l, bool more)
{
	struct parts h = parts_of(op);
	struct srm_subsets s = srm_subsets(op->n_sub, sub);

	pad_image<<<srm_squares(&h.m->shape), ISO_THREADS, 0, h.stream>>>(h.w->image, x, h.m->shape,
	                                                                  h.c->layout.plane, h.w->survey, l);
	for (int k = s.first; k < s.end; k++) {
		struct iso_rows rows = iso_op_rows(op, k);

		launch(h, &h.c->forward, &h.c->on_forward, k, h.w->slices - rows.first, rows.n, h.w->image);
		add_slices<<<iso_blocks(rows.n), ISO_THREADS, 0, h.stream>>>(
			y + rows.first, h.w->slices, h.c->forward.slices, rows.n, more);
	}
	return iso_srm_gather_rows_cuda(op, sub, h.w->step.packed, y, iso_cuda_launched("srm forward"));
}

/* Layer by layer, from the greatest values down; in an EM step it ends where the layers that are left would
   add less than 2^-20 of itself to any row with counts. */
static int forward_layers(const iso_op *op, int sub, iso_real *y, const iso_real *x, struct rule r)
{
	struct layer l = { INFINITE, 0 };
	bool wanted = true;
	int st = ISO_OK;

	for (bool more = false; wanted && !st; more = true)
		if (!(st = next_layer(&l, op, x, op->n_in, r, l.from)) &&
		    !(st = forward_layer(op, sub, y, x, l, more)))
			st = more_wanted(&wanted, op, sub, y, l.from, 20);
	return st;
}

/* At first all of the image at once, which leaves out up to 2^-39 of the greatest of each voxel: that is
   2^-13 of a row whose voxels have 2^-26 of the greatest, and counts from fainter ones are rare. Only where
   there are any, the image goes in layers. */
static int em_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	struct layer l, all = { 0, INFINITE };
	bool wanted;
	int st = next_layer(&l, op, x, op->n_in, em_image_rule, INFINITE);

	if (st || (st = forward_layer(op, sub, y, x, all, false)) ||
	    (st = more_wanted(&wanted, op, sub, y, l.from, -6)) || !wanted)
		return st;
	return forward_layers(op, sub, y, x, em_image_rule);
}

/* Float holds all sizes: no layers. */
static int forward_alone(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	struct parts h = parts_of(op);
	const struct srm_single *s = &h.c->single;
	struct srm_subsets subs = srm_subsets(op->n_sub, sub);
	struct survey found;
	int st = clear_survey(h);

	if (st) return st;
	pad_quads<<<srm_squares(&h.m->shape), ISO_THREADS, 0, h.stream>>>(
		(float *)h.w->quads, &h.w->survey->infinite, x, h.m->shape, s->image);
	for (int k = subs.first; k < subs.end; k++) {
		int64_t first = s->block_of[k], blocks = s->block_of[k + 1] - first;
		struct single_walk walk = { s->block + first, (const uint4 *)s->strip,
			                    (const float4 *)s->quad, s->image };
		struct iso_rows rows = iso_op_rows(op, k);

		if (blocks > 0)
			single_forward<<<(unsigned)blocks, ISO_WARP, 0, h.stream>>>(walk, h.w->slices, rows,
			                                                            h.w->quads);
		add_slices<<<iso_blocks(rows.n), ISO_THREADS, 0, h.stream>>>(y + rows.first, h.w->slices,
		                                                             s->slices, rows.n, false);
	}
	st = iso_cuda_launched("srm forward");
	if (!st) st = take_survey(&found, op);
	return iso_srm_gather_rows_cuda(op, sub, h.w->step.packed, y, st);
}

static int forward_any(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	if (parts_of(op).c->alone) return forward_alone(op, sub, y, x);
	if (parts_of(op).w->em) return em_forward(op, sub, y, x);
	return forward_layers(op, sub, y, x, image_rule);
}

/* The other ranks wait for this one's rows: they must hear of what went wrong before. */
static int forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	int st = forward_any(op, sub, y, x);

	return st ? iso_comm_agree(op->ctx, st) : ISO_OK;
}

static int adjoint_of(const iso_op *op, int sub, iso_real *x, const iso_real *y, bool more)
{
	struct parts h = parts_of(op);
	struct iso_rows rows = iso_op_rows(op, sub);
	unsigned directions = (unsigned)(h.m->sub[sub + 1] - h.m->sub[sub]);
	struct layer l = { INFINITE, 0 };
	int st = ISO_OK;

	for (; l.from > 0 && !st; more = true) {
		if ((st = next_layer(&l, op, y + rows.first, rows.n, data_rule, l.from))) break;
		pad_data<<<directions, 128, 0, h.stream>>>(h.w->data, y, h.c->place + h.m->sub[sub],
		                                           h.c->layout.row_data, h.w->survey, l);
		launch(h, &h.c->adjoint, &h.c->on_adjoint, sub, h.w->slices, op->n_in, h.w->data);
		add_slices<<<iso_blocks(op->n_in), ISO_THREADS, 0, h.stream>>>(
			x, h.w->slices, h.c->adjoint.slices, op->n_in, more);
		st = iso_cuda_launched("srm adjoint");
	}
	return st;
}

static int adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	struct srm_subsets s = srm_subsets(op->n_sub, sub);
	int st = ISO_OK;

	for (int k = s.first; k < s.end && !st; k++) st = adjoint_of(op, k, x, y, k > s.first);
	return iso_srm_gather_planes_cuda(op, parts_of(op).w->step.packed, x, st);
}

static int em_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x, const struct iso_em_data *d,
                   struct iso_em_stat *stat)
{
	struct correlate_work *w = parts_of(op).w;
	int st;

	w->em = d;
	st = iso_srm_step(op, sub, acc, x, d, stat);
	w->em = NULL;
	return st;
}

static int ratio_step(const iso_op *op, int sub, iso_real *z, iso_real *rho, bool keep, const iso_real *x,
                      const iso_real *u, const struct iso_em_data *d, struct iso_ratio_stat *stat)
{
	struct correlate_work *w = parts_of(op).w;
	int st;

	w->em = d;
	st = iso_srm_ratio_step(op, sub, z, rho, keep, x, u, d, stat);
	w->em = NULL;
	return st;
}

/* ---- memory ---- */

static int open_work(iso_op *op)
{
	struct parts h = parts_of(op);
	int slices = h.c->alone ? h.c->single.slices : h.c->forward.slices;
	int64_t most = h.c->adjoint.slices * op->n_in;

	for (int k = 0; k < op->n_sub; k++) most = max(most, slices * iso_op_rows(op, k).n);
	iso_srm_step_open(op);
	if (h.c->alone)
		ISO_DEVICE(&op->room, h.w->quads, h.c->single.image.quads);
	else
		ISO_DEVICE(&op->room, h.w->image, h.c->layout.image);
	ISO_DEVICE(&op->room, h.w->data, h.c->layout.data);
	ISO_DEVICE(&op->room, h.w->survey, 1);
	ISO_DEVICE(&op->room, h.w->slices, most);
	return op->room.status;
}

#define STAGE 16384 /* rows of weights, 4 MiB, that travel at a time */

/* Two buffers that the device reads by itself: one is filled while the other is under way. */
struct stages {
	struct stream_weights *v[2];
	cudaEvent_t sent[2];
};

static int open_stages(struct stages *s)
{
	cudaError_t e = cudaSuccess;

	for (int i = 0; i < 2 && e == cudaSuccess; i++)
		if ((e = cudaMallocHost((void **)&s->v[i], STAGE * sizeof *s->v[i])) == cudaSuccess)
			e = cudaEventCreateWithFlags(&s->sent[i], cudaEventDisableTiming);
	return iso_cuda_check("srm weights", e);
}

static void close_stages(struct stages *s)
{
	for (int i = 0; i < 2; i++) {
		if (s->sent[i]) cudaEventDestroy(s->sent[i]);
		cudaFreeHost(s->v[i]);
	}
}

static int put_weights(struct iso_room *room, struct device_stream *d, const struct srm_stream *s,
                       const struct stages *stages)
{
	iso_ctx *ctx = room->ctx;
	cudaError_t e = cudaSuccess;

	d->unit = (float)s->unit;
	if (!ISO_DEVICE(room, d->weight, s->n_row * ISO_WARP)) return room->status;
	for (int64_t i = 0; i < s->n_row && e == cudaSuccess; i += STAGE) {
		int64_t n = min((int64_t)STAGE, s->n_row - i);
		struct stream_weights *v = stages->v[i / STAGE % 2];
		cudaEvent_t sent = stages->sent[i / STAGE % 2];

		if ((e = cudaEventSynchronize(sent)) != cudaSuccess) break;
		iso_stream_rows(v, s, i, n, ctx->threads);
		e = cudaMemcpyAsync(d->weight + i * ISO_WARP, v, (size_t)n * sizeof *v,
		                    cudaMemcpyHostToDevice, iso_stream(ctx));
		if (e == cudaSuccess) e = cudaEventRecord(sent, iso_stream(ctx));
	}
	if (e == cudaSuccess) e = cudaStreamSynchronize(iso_stream(ctx));
	return iso_cuda_check("srm weights", e);
}

/* Of the stream stays on the host what says which blocks a subset has. */
static int put_stream(struct iso_room *room, struct device_stream *d, struct srm_stream *s,
                      const struct stages *stages)
{
	d->block = ISO_MOVE(room, s->block, s->block_of[s->n_sub]);
	d->range = ISO_MOVE(room, s->range, s->n_range);
	d->out = ISO_MOVE(room, s->out, s->n_out);
	d->reach = (const unsigned *)ISO_MOVE(room, s->reach, s->n_step);
	d->offset = (const int2 *)ISO_MOVE(room, s->offset, s->n_step);
	int st = room->status ? room->status : put_weights(room, d, s, stages);

	iso_room_drop(room, s->part);
	return st;
}

static int put_places(struct iso_room *room, struct correlate_cuda *c, const struct srm_op *m)
{
	if (!ISO_HOST(room, c->place, m->n_direction)) return room->status;
	for (int j = 0; j < m->n_direction; j++) {
		const struct srm_direction *d = &m->direction[j];

		c->place[j] = (struct direction_place){ d->first, c->layout.direction[j], d->nx, d->nz };
	}
	ISO_MOVE(room, c->place, m->n_direction);
	return room->status;
}

static int make_both(struct iso_room *room, struct correlate_cuda *c, const struct srm_op *m,
                     const struct stream_taps *taps, struct stages *stages)
{
	int st;

	c->row_most = taps->row_most;
	c->on_forward.row = c->layout.row_image;
	c->on_forward.step = m->shape.d[1];
	c->on_adjoint.row = c->layout.row_data;
	c->on_adjoint.step = 1;
	c->alone = iso_single_wanted(m);
	if (c->alone)
		st = single_upload(&c->single, room, m, taps->rows);
	else if (!(st = iso_stream_forward(&c->forward, room, m, taps, &c->layout)))
		st = put_stream(room, &c->on_forward, &c->forward, stages);
	if (!st && !(st = iso_stream_adjoint(&c->adjoint, room, m, taps, &c->layout)))
		st = put_stream(room, &c->on_adjoint, &c->adjoint, stages);
	return st;
}

static int make_streams(struct iso_room *room, struct correlate_cuda *c, const struct srm_op *m)
{
	struct iso_room taken = iso_room_of(room->ctx, "srm: rows");
	struct stream_taps taps;
	struct stages stages = {};
	int st = iso_stream_taps(&taps, &taken, m);

	if (!st && !(st = open_stages(&stages))) st = make_both(room, c, m, &taps, &stages);
	close_stages(&stages);
	iso_stream_taps_free(&taps);
	iso_room_free(&taken);
	return st;
}

static const struct iso_op_fn correlate_fn = { forward,
	                                       adjoint,
	                                       em_step,
	                                       ratio_step,
	                                       iso_srm_op_rows,
	                                       iso_srm_op_file_row,
	                                       open_work,
	                                       NULL,
	                                       NULL,
	                                       NULL,
	                                       sizeof(struct correlate_work),
	                                       NULL,
	                                       NULL,
	                                       NULL };

int iso_srm_correlate_cuda(iso_op *op)
{
	struct srm_op *m = (struct srm_op *)op->data;
	struct correlate_cuda *c;
	int st;

	if (!ISO_HOST(m->room, c, 1)) return m->room->status;
	m->device = c;
	op->fn = &correlate_fn;
	if ((st = iso_stream_layout(&c->layout, m->room, m)) || (st = make_streams(m->room, c, m)) ||
	    (st = iso_srm_share_move(m, m->room)))
		return st;
	return put_places(m->room, c, m);
}
