/* SPDX-License-Identifier: BSD-3-Clause */
/* From a source straight to the device: pieces are read ahead by a thread, completed, and placed by the device. */
#include "ray_load.h"

#include "core/plan.h"
#include "ray_reader.h"

bool iso_ray_load_fits(iso_ctx *ctx, const struct iso_ray *p, const struct iso_ray_source *s)
{
	struct iso_plan plan = { 0 };
	int64_t host, device, left;

	/* it places events alone */
	if (!iso_ctx_is_cuda(ctx) || iso_ranks(ctx) > 1 || p->tof_each) return false;
	if (iso_ctx_device_left(ctx, &left) != ISO_OK) return false;
	iso_ray_plan(&plan, ctx, p, s->n);
	iso_plan_add(&plan, "data", s->n, iso_ray_source_bytes(s) - (int64_t)sizeof(struct iso_event), true);
	iso_plan_total(&host, &device, &plan);
	iso_plan_free(&plan);
	return device <= left - left / 20;
}

/* All pieces of the source, in its order. */
static int read_all(struct ray_loaded *l, iso_ctx *ctx, struct iso_ray_reader *r, int64_t n,
                    int (*complete)(const void *arg, struct iso_events *block), const void *arg)
{
	struct iso_clock clock = iso_clock_start_of(ctx, "load", "events", 0, n);
	int st = iso_ray_reader_start(r, 0, 0);

	for (int64_t at = 0; at < n && !st;) {
		struct iso_events *e;

		if ((st = iso_ctx_poll(ctx)) || (st = iso_ray_reader_next(r, ctx, &e))) break;
		int64_t m = e->n;

		if (!(st = complete(arg, e))) st = l->fn->add(l->load, e, at);
		iso_ray_reader_done(r);
		iso_clock_step(&clock, at += m, NULL);
	}
	iso_ray_reader_stop(r);
	return st;
}

int iso_ray_load(struct ray_loaded *l, iso_ctx *ctx, const struct iso_ray *p, const struct iso_ray_source *s,
                 int64_t block, int (*complete)(const void *arg, struct iso_events *block), const void *arg)
{
	enum { BLOCK = 1 << 22 };
	const struct iso_order as_is = { .n = s->n, .n_sub = 1, .rule = ISO_BLOCKS };
	struct iso_room room = { .what = "ray stream" };
	struct iso_ray_reader *r = NULL;
	const struct iso_events *slot;
	struct ray_model m = { .n = s->n };
	struct ray_share share;
	void *fn = NULL;
	int st = iso_cuda_symbol(&fn, ISO_RAY_LOAD_CUDA);

	if (block > BLOCK) block = BLOCK; /* larger ones are no faster, and take time to be pinned */
	if (block > s->n) block = s->n;
	*l = (struct ray_loaded){ .fn = fn };
	if (!st && !(st = iso_ray_model(&m, p, s->n))) st = iso_ray_share(&share, &room, ctx, s, &as_is);
	if (!st && !(st = l->fn->create(&l->load, ctx, &m, s))) st = iso_ray_reader_create(&r, &share, block);
	for (int i = 0; !st && (slot = iso_ray_reader_slot(r, i)); i++) st = l->fn->pin(l->load, slot, block);
	if (!st) st = read_all(l, ctx, r, s->n, complete, arg);
	if (l->load) l->fn->unpin(l->load);
	iso_ray_reader_free(r);
	iso_room_free(&room);
	if (!st) st = iso_ray_create_loaded(&l->op, ctx, p, s->n, l->load);
	if (st)
		iso_ray_loaded_free(l);
	else
		l->data = l->fn->data(l->load);
	return st;
}

void iso_ray_loaded_free(struct ray_loaded *l)
{
	iso_op_free(l->op);
	if (l->load) l->fn->free(l->load);
	*l = (struct ray_loaded){ 0 };
}
