/* SPDX-License-Identifier: BSD-3-Clause */
/* EM steps of several subsets at once: their packs share each launch, and the host waits once for all of them. */
#include "ray_steps.cuh"

#include <stdlib.h>

#define RESPOND_BLOCKS 256 /* of a pack */

/* A pack in hand, for the response. */
struct reply {
	struct ray_pack pack;
	struct ray_brick_work w;
	struct ray_sum sum;
};

struct ray_steps {
	iso_ctx *ctx;
	struct iso_room room;
	int images, packs; /* there is room for, as below */
	int64_t voxels, slots;
	struct iso_fixed_cuda acc; /* images, one behind the other */
	unsigned long long *sum;   /* of all slots of the packs in hand */
	float *send;
	float *limit;           /* an image */
	struct em_tally *tally; /* an image */
	struct ray_brick_jobs jobs;
	struct reply *reply; /* a pack, on the device */
};

/* ---- the response ---- */

/* A pack a row of blocks. */
static __global__ void respond_all_slots(const struct reply *all, double sum_scale, struct iso_em_data d)
{
	const struct reply *r = all + blockIdx.y;

	respond_in_slots(r->pack, r->w, sum_scale, d, r->sum, em_response());
}

static __global__ void respond_all_rows(const struct reply *all, double sum_scale, struct iso_em_data d)
{
	const struct reply *r = all + blockIdx.y;

	respond_in_rows(r->pack, r->w, sum_scale, d, r->sum, em_response());
}

static int respond(const struct ray_steps *w, const struct ray_model *m, int packs, int lines,
                   const struct iso_em_data *d)
{
	auto kernel = lines == 1 ? respond_all_slots : respond_all_rows;

	kernel<<<dim3(RESPOND_BLOCKS, packs), ISO_THREADS, 0, iso_stream(w->ctx)>>>(
		w->reply, iso_ray_brick_scale(&m->grid), *d);
	return iso_cuda_launched("ray response, several packs");
}

/* ---- work space ---- */

void iso_ray_steps_free(struct ray_steps *w)
{
	if (!w) return;
	iso_room_free(&w->room);
	free(w);
}

static int open(struct ray_steps *w, int images, int packs, int64_t slots)
{
	struct iso_room *room = &w->room;

	iso_room_free(room);
	*room = iso_room_of(w->ctx, "ray, several subsets");
	w->images = images;
	w->packs = packs;
	w->slots = slots;
	iso_fixed_open(&w->acc, room, images * w->voxels);
	ISO_DEVICE(room, w->sum, slots + 1);
	ISO_DEVICE(room, w->send, slots + 1);
	ISO_DEVICE(room, w->limit, images);
	ISO_DEVICE(room, w->tally, images);
	ISO_DEVICE(room, w->reply, packs);
	return iso_ray_brick_jobs_open(&w->jobs, room, packs);
}

static int make_room(struct ray_steps **own, const iso_op *op, const struct ray_model *m, int images,
                     int packs, int64_t slots)
{
	struct ray_steps *w = *own;
	int st;

	if (!w) {
		if (!(w = (struct ray_steps *)calloc(1, sizeof *w))) return iso_fail_memory("ray", sizeof *w);
		w->ctx = op->ctx;
		w->voxels = ray_voxels(&m->grid);
		*own = w;
	}
	if (images <= w->images && packs <= w->packs && slots <= w->slots) return ISO_OK;
	images = images > w->images ? images : w->images;
	packs = packs > w->packs ? packs : w->packs;
	if ((st = open(w, images, packs, slots > w->slots ? slots : w->slots))) {
		iso_ray_steps_free(w);
		*own = NULL;
	}
	return st;
}

/* ---- a step ---- */

static double scale_of(const struct ray_counts *c)
{
	return iso_ray_brick_unit(c->most > 0 ? c->most : 1);
}

/* Jobs and replies of the packs, subset after subset. */
static int set(struct ray_steps *w, const struct ray_model *m, const struct ray_packs *packs,
               const struct ray_subsets *all)
{
	struct iso_room room = iso_room_of(w->ctx, "ray, several subsets"); /* for a while */
	const int first = packs->first[all->first], n = packs->first[all->first + all->n] - first;
	struct ray_brick_job *job;
	struct reply *reply;
	int64_t slot = 0;
	int st;

	ISO_HOST(&room, job, n);
	ISO_HOST(&room, reply, n);
	if ((st = room.status)) goto done;
	for (int s = 0, k = 0; s < all->n; s++)
		for (; k < packs->first[all->first + s + 1] - first; k++) {
			struct reply *r = reply + k;

			r->pack = packs->pack[first + k];
			r->w.sum = w->sum + slot;
			r->w.send = w->send + slot;
			r->w.limit = w->limit + s;
			r->sum.acc.scale = scale_of(all->counts + s);
			r->sum.scales = em_scales(all->counts[s].sum);
			r->sum.tally = w->tally + s;
			job[k] = { packs->pack + first + k, r->w, all->x + s * w->voxels,
				   w->acc.v + s * w->voxels };
			slot += r->pack.slots;
		}
	st = iso_ray_brick_jobs_set(&w->jobs, w->ctx, m, n, job);
	if (!st) st = w->ctx->vec->upload(w->ctx, w->reply, reply, n * (int64_t)sizeof *reply);
	if (!st)
		st = iso_cuda_check("clear", cudaMemsetAsync(w->sum, 0, (size_t)slot * sizeof *w->sum,
		                                             iso_stream(w->ctx)));
done:
	iso_room_free(&room);
	return st;
}

static int begin(const struct ray_steps *w, int images)
{
	cudaStream_t stream = iso_stream(w->ctx);
	cudaError_t e = cudaMemsetAsync(w->acc.v, 0, (size_t)(images * w->voxels) * sizeof *w->acc.v, stream);

	if (!e) e = cudaMemsetAsync(w->tally, 0, (size_t)images * sizeof *w->tally, stream);
	return iso_cuda_check("clear", e);
}

/* The sums of this rank to those of all, and to the images. */
static int end(const struct ray_steps *w, const struct ray_subsets *all, int st)
{
	struct iso_room room = iso_room_of(w->ctx, "ray, several subsets");
	const int64_t words = all->n * (int64_t)(sizeof(struct em_tally) / sizeof(int64_t));
	struct iso_fixed_cuda acc = { all->n * w->voxels, w->acc.v, 1 };
	struct em_tally *tally;

	ISO_HOST(&room, tally, all->n);
	if (!st) st = room.status;
	if ((st = iso_fixed_sum(&acc, w->ctx, st)) ||
	    (st = iso_comm_sum_device(w->ctx, st, (int64_t *)w->tally, words)))
		goto done;
	for (int s = 0, same; s < all->n && !st; s += same) {
		for (same = 1;
		     s + same < all->n && scale_of(all->counts + s + same) == scale_of(all->counts + s);)
			same++;
		acc = { same * w->voxels, w->acc.v + s * w->voxels, scale_of(all->counts + s) };
		st = iso_fixed_end(all->acc + s * w->voxels, &acc, w->ctx);
	}
	if (!st) st = w->ctx->vec->download(w->ctx, tally, w->tally, all->n * (int64_t)sizeof *tally);
	for (int s = 0; s < all->n && !st; s++)
		all->stat[s] = ratio_stat(tally + s, em_scales(all->counts[s].sum)).em;
done:
	iso_room_free(&room);
	return st;
}

/* Slots of all packs. */
static int64_t slots_of(const struct ray_packs *packs, const struct ray_subsets *all)
{
	int64_t slots = 0;

	for (int k = packs->first[all->first]; k < packs->first[all->first + all->n]; k++)
		slots += packs->pack[k].slots;
	return slots;
}

int iso_ray_steps(struct ray_steps **own, const iso_op *op, const struct ray_model *m,
                  const struct ray_packs *packs, const struct ray_subsets *all)
{
	const int n = packs->first[all->first + all->n] - packs->first[all->first];
	int st = iso_comm_agree(op->ctx, make_room(own, op, m, all->n, n, slots_of(packs, all)));
	struct ray_steps *w = *own;

	if (st) return st;
	st = begin(w, all->n);
	if (!st && n > 0 && !(st = set(w, m, packs, all)) &&
	    !(st = iso_ray_brick_limits(w->limit, w->ctx, all->n, w->voxels, all->x)) &&
	    !(st = iso_ray_brick_jobs_forward(&w->jobs, w->ctx)) &&
	    !(st = respond(w, m, n, m->spread.lines, all->data)))
		st = iso_ray_brick_jobs_back(&w->jobs, w->ctx);
	return end(w, all, st);
}
