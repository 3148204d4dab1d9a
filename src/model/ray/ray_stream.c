/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ray over events that do not fit memory: the EM step goes through the rows of a subset in
   blocks, each an operator of its own, which all add to the same integers. So neither the size of
   the blocks nor what is kept of them shows in the image. */
#include "ray_load.h"
#include "ray_moved_stream.h"
#include "ray_reader.h"
#include "core/size.h"
#include "core/sized.h"

/* One block: on the device, or ordered in the host's memory. */
struct part {
	iso_op *op;
	iso_real *y, *add, *mult;
	struct ray_held *held;
	void *memory; /* that holds it */
};

/* Data of the operator. */
struct stream {
	const iso_ctx *ctx;      /* the operator's */
	struct iso_ray asked, p; /* of all events, and of a block: one subset */
	struct ray_share share;
	struct iso_room room;   /* of the share */
	struct ray_model whole; /* without events; n: the events of a block */
	const struct ray_sum_fn *sum;
	int64_t block, blocks; /* events of each; of all subsets together, of this rank */
	int64_t kept, held;    /* by the handle that was called last */
	bool ahead;            /* the next subset may be read between steps */
	bool passes; /* blocks that a device does not keep go through a ray_pass, which knows no resolution of single events */
	const iso_motion
		*motion; /* of events with several lines each; NULL: these are laid where the events lie */
};

struct stream_work {
	struct iso_ray_reader *reader; /* NULL: not yet, or every block is kept */
	struct part *part;             /* subset after subset; in each the parts that are kept come first */
	int64_t *first;                /* place of each subset's first in `part` */
	int64_t kept;
	bool full;    /* there is no room to keep another */
	int64_t held; /* by the host, which leaves so many bytes to others */
	int64_t host_spare;
	bool host_full;                    /* it has no room to hold another */
	struct ray_counts *counts;         /* of each subset; NULL: not yet known */
	void *sum;                         /* what all blocks add to */
	const struct ray_pass_fn *pass_fn; /* of a device, for blocks that are not kept */
	struct ray_pass *pass;
	bool asked;               /* whether the device has room for all events */
	struct ray_loaded loaded; /* if it has: then there are no blocks */
};

/* ---- one block ---- */

static void part_free(iso_ctx *ctx, struct part *b, const struct ray_pass_fn *fn)
{
	if (b->held) fn->let_go(b->held);
	free(b->memory);
	iso_op_free(b->op);
	ctx->vec->free(ctx, b->y);
	ctx->vec->free(ctx, b->add);
	ctx->vec->free(ctx, b->mult);
	*b = (struct part){ 0 };
}

static int check_values(const char *what, const iso_ctx *ctx, int64_t n, const iso_real *v)
{
	enum { THREADS = 4 }; /* as many as memory keeps busy; the others read the next block */
	int64_t bad = n;

	if (!v) return ISO_OK;
#pragma omp parallel for num_threads(ctx->threads < THREADS ? ctx->threads : THREADS) reduction(min : bad)
	for (int64_t j = 0; j < n; j++)
		if (!(v[j] >= 0) || !isfinite(v[j])) bad = j < bad ? j : bad;
	if (bad == n) return ISO_OK;
	return iso_fail(ISO_EINPUT, "ray stream: %s of an event is %g, must be finite and not negative", what,
	                (double)v[bad]);
}

/* From r to r/m. */
static int divide_additive(const iso_ctx *ctx, struct iso_events *b)
{
	int64_t n = b->add && b->mult ? b->n : 0, bad = n;

	if (n == 0) return ISO_OK;
#pragma omp parallel for num_threads(ctx->threads) reduction(min : bad)
	for (int64_t j = 0; j < n; j++) {
		iso_real ratio = b->mult[j] > 0 ? b->add[j] / b->mult[j] : 0;

		if (!isfinite(ratio))
			bad = j < bad ? j : bad;
		else
			b->add[j] = ratio;
	}
	if (bad == n) return ISO_OK;
	return iso_fail(ISO_EINPUT,
	                "ray stream: additive term %g over factor %g of an event is too large to hold",
	                (double)b->add[bad], (double)b->mult[bad]);
}

static int complete(const void *arg, struct iso_events *b)
{
	const struct stream *t = arg;
	int st;

	if (t->share.s.finish && (st = t->share.s.finish(t->share.s.arg, b))) return st;
	if ((st = check_values("count", t->ctx, b->n, b->count))) return st;
	if ((st = check_values("factor", t->ctx, b->n, b->mult))) return st;
	if ((st = check_values("additive term", t->ctx, b->n, b->add))) return st;
	return divide_additive(t->ctx, b);
}

static int upload(iso_ctx *ctx, iso_real **dst, const iso_real *src, int64_t n)
{
	int st = src ? iso_vec_alloc(ctx, dst, n) : ISO_OK;

	return st || !src ? st : ctx->vec->upload(ctx, *dst, src, n * (int64_t)sizeof *src);
}

static int make_part(struct part *b, const iso_op *op, struct iso_events *e)
{
	const struct stream *t = op->data;
	int st;

	if ((st = complete(t, e))) return st;
	if ((st = upload(op->ctx, &b->y, e->count, e->n))) return st;
	if ((st = upload(op->ctx, &b->add, e->add, e->n))) return st;
	if ((st = upload(op->ctx, &b->mult, e->mult, e->n))) return st;
	return t->motion ? iso_ray_moved_part(&b->op, op->ctx, &t->p, op->n_sub, e, t->motion)
	                 : iso_ray_create_part(&b->op, op->ctx, &t->p, op->n_sub, e, false);
}

static int read_part(struct part *b, const iso_op *op)
{
	struct stream_work *w = op->work;
	struct iso_events *e;
	int st = iso_ray_reader_next(w->reader, op->ctx, &e);

	if (!st) st = make_part(b, op, e);
	iso_ray_reader_done(w->reader);
	return st;
}

/* What one block sends back, added to the sums. */
static int add_part(const iso_op *op, const struct part *b, const struct ray_step *p)
{
	const struct stream *t = op->data;
	struct stream_work *w = op->work;
	struct iso_em_data d = { b->y, b->add, b->mult };
	int st;

	if ((st = iso_op_wake(b->op))) return st;
	st = t->sum->add(w->sum, b->op, ISO_ALL, p, &d);
	iso_op_rest(b->op);
	return st;
}

/* ---- counts ---- */

/* Adds the counts of events first ... of this rank to those of their subsets. The order is
   not that of memory, but whole counts add up exactly, and so do floats below 2^29 times the least
   of them; beyond, scales being powers of two, only a sum within rounding of one could differ. */
static void count_block(const struct ray_share *h, struct ray_counts *c, int64_t first,
                        const struct iso_events *e)
{
	const struct iso_order *o = &h->order;

	for (int64_t j = 0; j < e->n; j++) {
		struct ray_counts *s =
			c + order_subset(o, order_row(o, iso_deal_number(&h->deal, first + j)));

		s->sum += e->count[j];
		s->most = fmax(s->most, e->count[j]);
	}
}

/* One pass through the source, in its order, before the first step: scales must be known before
   anything is added. */
static int count_source(const iso_op *op, struct ray_counts *c)
{
	const struct stream *t = op->data;
	struct iso_order all = { .n = t->share.order.n, .n_sub = 1, .rule = ISO_BLOCKS };
	int64_t n = iso_deal_count(&t->share.deal);
	struct iso_clock clock = iso_clock_start_of(op->ctx, "counts", "events", 0, n);
	struct iso_room room = { .what = "ray stream" };
	struct iso_ray_reader *r = NULL;
	struct ray_share share;
	struct iso_events *e;
	int st = iso_ray_share(&share, &room, op->ctx, &t->share.s, &all);

	if (!st) st = iso_ray_reader_create(&r, &share, t->whole.n);
	if (!st) st = iso_ray_reader_start(r, 0, 0);
	for (int64_t at = 0; at < n && !st; at += t->whole.n) {
		if ((st = iso_ctx_poll(op->ctx)) || (st = iso_ray_reader_next(r, op->ctx, &e))) break;
		if (!(st = complete(t, e))) count_block(&t->share, c, at, e);
		iso_clock_step(&clock, at + e->n, NULL);
		iso_ray_reader_done(r);
	}
	if (r) iso_ray_reader_stop(r);
	iso_ray_reader_free(r);
	iso_room_free(&room);
	return st;
}

/* Of all ranks. */
static int add_counts(iso_ctx *ctx, struct ray_counts *c, int n_sub, int st)
{
	struct iso_room room = { .what = "ray stream" };
	double *sum, *most;

	if (iso_ranks(ctx) == 1) return st;
	ISO_HOST(&room, sum, n_sub);
	if (!ISO_HOST(&room, most, n_sub) && !st) st = room.status;
	for (int sub = 0; sub < n_sub && !st; sub++) {
		sum[sub] = c[sub].sum;
		most[sub] = c[sub].most;
	}
	st = iso_comm_sum_real(ctx, st, sum, n_sub);
	st = iso_comm_max(ctx, st, most, n_sub);
	for (int sub = 0; sub < n_sub && !st; sub++)
		c[sub] = (struct ray_counts){ .sum = sum[sub], .most = most[sub] };
	iso_room_free(&room);
	return st;
}

/* Sum and largest of each subset's counts, which are 1 where the source has none. */
static int find_counts(const iso_op *op)
{
	const struct stream *t = op->data;
	struct stream_work *w = op->work;
	struct ray_counts *c = size_alloc(op->n_sub, sizeof *c);
	int st = c ? ISO_OK : iso_fail_memory("ray stream", op->n_sub * (int64_t)sizeof *c);

	for (int sub = 0; sub < op->n_sub && !st && !t->share.s.has_count; sub++)
		c[sub] = (struct ray_counts){ .sum = (double)order_share(&t->share.order, sub).n, .most = 1 };
	if (t->share.s.has_count) st = add_counts(op->ctx, c, op->n_sub, st ? st : count_source(op, c));
	for (int sub = 0; sub < op->n_sub && !st; sub++)
		c[sub].rows = (double)order_share(&t->share.order, sub).n;
	if (st)
		free(c);
	else
		w->counts = c;
	return st;
}

/* ---- what is kept ---- */

/* What a block takes. */
static void block_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_ray *p,
                       const struct iso_ray_source *s, int64_t block)
{
	struct iso_deal deal = iso_deal_of(ctx, s->n);
	struct iso_order o = {
		.n = iso_deal_count(&deal), .n_sub = p->n_sub, .rule = p->rule, .seed = p->seed
	};
	struct iso_ray one = *p;
	int64_t most = order_share(&o, 0).n, n = most < block ? most : block;
	bool cuda = iso_ctx_is_cuda(ctx);

	one.n_sub = 1;
	iso_ray_reader_plan(plan, s, &o, block);
	iso_ray_part_plan(plan, ctx, &one, n);
	if (cuda)
		iso_plan_add(plan, "events on their way, of two blocks", 2 * n,
		             (int64_t)sizeof(struct iso_event) + iso_ray_held_bytes(p), true);
	if (cuda) iso_plan_add(plan, "ends of events", RAY_ENDS, RAY_END_BYTES, true);
	iso_plan_add(plan, "data of a block", (1 + cuda) * n,
	             iso_ray_source_bytes(s) - (int64_t)sizeof(struct iso_event), cuda);
}

static void need(const iso_ctx *ctx, const struct iso_ray *p, const struct iso_ray_source *s, int64_t block,
                 int64_t *host, int64_t *device)
{
	struct iso_plan plan = { 0 };

	block_plan(&plan, ctx, p, s, block);
	iso_plan_total(host, device, &plan);
	iso_plan_free(&plan);
}

/* Whether what is left, beside the blocks kept so far, holds the next one and all that goes with
   it; on a device, also one more, which is decided before the first of them is made. Plans are from sizes alone: a device's
   is taken half as large again. */
static int find_room(const iso_op *op, bool *room)
{
	const struct stream *t = op->data;
	struct iso_ray p = t->p;
	int64_t host, device, left = 0;
	int st = ISO_OK;

	p.n_sub = op->n_sub;
	p.rule = t->share.order.rule;
	need(op->ctx, &p, &t->share.s, t->block, &host, &device);
	device += t->whole.n * (iso_ray_event_bytes(op->ctx, &p) + iso_ray_source_bytes(&t->share.s) -
	                        (int64_t)sizeof(struct iso_event));
	if (t->motion) host += t->whole.n * (iso_ray_moved_bytes(&p, false) + iso_ray_moved_bytes(&p, true));
	*room = host <= iso_ctx_host_left(op->ctx);
	if (*room && op->ctx->cuda && !(st = iso_ctx_device_left(op->ctx, &left)))
		*room = device <= left / iso_ranks_of_device(op->ctx) / 3 * 2;
	return st;
}

/* Looks for room to keep another block, until there is none. */
static int look_for_room(const iso_op *op)
{
	struct stream_work *w = op->work;
	bool room = false;
	int st = w->full ? ISO_OK : find_room(op, &room);

	w->full = !room;
	return st;
}

/* Keeps a block that was used for the first time, or not. Once one is not, none after it is. For a device that was
   decided before: what it does not keep, it orders and uses in another way. */
static int keep(const iso_op *op, struct part *b)
{
	struct stream *t = op->data;
	struct stream_work *w = op->work;
	int st = op->ctx->cuda ? ISO_OK : look_for_room(op);

	if (w->full)
		part_free(op->ctx, b, w->pass_fn);
	else
		t->kept = ++w->kept;
	return st;
}

/* ---- all at once ---- */

/* Where the device has room for all events, they are read once, before the first step. If there was less room than
   planned, there are blocks after all. */
static int load(const iso_op *op)
{
	struct stream *t = op->data;
	struct stream_work *w = op->work;
	int st;

	if (w->asked || w->kept) return ISO_OK;
	w->asked = true;
	if (!iso_ray_load_fits(op->ctx, &t->asked, &t->share.s)) return ISO_OK;
	st = iso_ray_load(&w->loaded, op->ctx, &t->asked, &t->share.s, t->whole.n, complete, t);
	if (!st) t->kept = t->blocks;
	return st == ISO_ENOMEM ? ISO_OK : st;
}

static int step_loaded(const struct ray_loaded *l, int sub, iso_real *acc, const struct ray_step *p,
                       struct iso_ratio_stat *s)
{
	const struct iso_op_fn *fn = l->op->fn;

	*s = (struct iso_ratio_stat){ 0 };
	if (!p->u) return fn->em_step(l->op, sub, acc, p->x, &l->data, &s->em);
	return fn->ratio_step(l->op, sub, acc, p->ratio.rho, p->ratio.keep, p->x, p->u, &l->data, s);
}

/* ---- blocks that the device does not keep ---- */

/* Memory whose pages are there: one thread alone would wait for them as long as for the events. */
static void *take_pages(const iso_ctx *ctx, int64_t bytes)
{
	enum { PAGE = 1 << 12 }; /* no machine's are smaller */
	char *p = size_alloc(bytes, 1);

#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t i = 0; i < (p ? bytes : 0); i += PAGE) ((volatile char *)p)[i] = 0;
	return p;
}

static int open_pass(const iso_op *op)
{
	const struct stream *t = op->data;
	struct stream_work *w = op->work;
	struct ray_model m = t->whole;
	const struct iso_events *slot;
	void *fn = NULL;
	int st = iso_cuda_symbol(&fn, ISO_RAY_PASS_CUDA);

	m.order = (struct iso_order){ .n = m.n, .n_sub = 1, .rule = ISO_BLOCKS };
	w->pass_fn = fn;
	if (!st) st = w->pass_fn->create(&w->pass, op->ctx, &m, &t->share.s);
	for (int i = 0; !st && (slot = iso_ray_reader_slot(w->reader, i)); i++)
		st = w->pass_fn->pin(w->pass, slot, m.n);
	return st;
}

int iso_ray_send_s(double *seconds, iso_ctx *ctx, double bytes)
{
	const struct ray_pass_fn *fn;
	double per_s = 0;
	void *found = NULL;
	int st = iso_cuda_symbol(&found, ISO_RAY_PASS_CUDA);

	fn = found;
	if (!st) st = fn->link(&per_s, ctx);
	*seconds = per_s > 0 ? bytes / per_s : 0;
	return st;
}

/* Blocks that the host holds for the pass mean nothing without it. */
static void close_pass(const iso_op *op)
{
	struct stream *t = op->data;
	struct stream_work *w = op->work;

	if (!w->pass) return;
	w->pass_fn->free(w->pass);
	w->pass = NULL;
	for (int64_t i = 0; i < t->blocks; i++)
		if (w->part[i].held) part_free(op->ctx, w->part + i, w->pass_fn);
	t->held = w->held = 0;
	w->host_full = false;
}

/* The step of block k of a subset: its ratios stand in the order of the blocks. */
static struct ray_step step_of_block(const iso_op *op, int sub, int64_t k, const struct ray_step *p)
{
	const struct stream *t = op->data;
	struct ray_step block = *p;

	if (p->u) block.ratio.rho += iso_op_rows(op, sub).first + k * t->block;
	return block;
}

/* The block that was read and added last stays in the host's memory, ordered, if that has room. Once one does not, none
   after it does. */
static int hold(const iso_op *op, struct part *b)
{
	enum { SPARE = 16 }; /* of what was left before the first, for others */
	struct stream *t = op->data;
	struct stream_work *w = op->work;
	int64_t bytes, left = iso_ctx_host_left(op->ctx);
	int st;

	if (w->host_full) return ISO_OK;
	if (w->held == 0) w->host_spare = left / SPARE;
	if ((st = w->pass_fn->held_bytes(&bytes, w->pass))) return st;
	if (bytes <= left - w->host_spare && (b->memory = take_pages(op->ctx, bytes)))
		st = w->pass_fn->hold(w->pass, &b->held, b->memory);
	if (b->held) {
		t->held = ++w->held;
		return ISO_OK;
	}
	w->host_full = true;
	free(b->memory);
	b->memory = NULL;
	return st;
}

/* Block k of a subset, to the device: held, or read. Those before it may be held. */
static int send_block(const iso_op *op, int sub, int64_t k)
{
	const struct stream *t = op->data;
	struct stream_work *w = op->work;
	const struct part *b = w->part + w->first[sub] + k;
	struct iso_events *e;
	int st = iso_ctx_poll(op->ctx);

	if (st || b->held) return st ? st : w->pass_fn->send_held(w->pass, b->held);
	if ((st = iso_ray_reader_start(w->reader, sub, k)) ||
	    (st = iso_ray_reader_next(w->reader, op->ctx, &e)) || (st = complete(t, e)))
		return st;
	return w->pass_fn->send(w->pass, e);
}

/* Blocks first ... of a subset, none of which the device keeps. While it is at one, the next is sent, and the one after
   that is read. */
static int pass_blocks(const iso_op *op, int sub, int64_t first, int64_t blocks, const struct ray_step *p)
{
	struct stream_work *w = op->work;
	struct part *part = w->part + w->first[sub];
	int st = w->pass ? ISO_OK : open_pass(op);

	for (int64_t k = first; k <= blocks && !st; k++) {
		bool reads = k < blocks && !part[k].held;

		if (k < blocks && (st = send_block(op, sub, k))) break;
		if (k > first) {
			struct ray_step before = step_of_block(op, sub, k - 1, p);

			st = w->pass_fn->add(w->pass, w->sum, &before);
			if (!st && !part[k - 1].held) st = hold(op, part + k - 1);
		}
		if (!reads) continue;
		st = st ? st : w->pass_fn->wait(w->pass);
		iso_ray_reader_done(w->reader);
	}
	if (st) close_pass(op); /* which may have been left amid a block */
	return st;
}

/* ---- the operator ---- */

static int prepare(const iso_op *op)
{
	const struct stream *t = op->data;
	struct stream_work *w = op->work;
	int st = w->sum ? ISO_OK : t->sum->create(&w->sum, op->ctx, &t->whole);

	st = iso_comm_agree(op->ctx, st);
	if (!st && !w->counts) st = find_counts(op);
	if (!st && !w->reader && w->kept < t->blocks)
		st = iso_ray_reader_create(&w->reader, &t->share, t->block);
	return iso_comm_agree(op->ctx, st);
}

/* Blocks of a subset that are not read again: the first on the device, then those that the host holds. */
struct here {
	int64_t kept, all;
};

static struct here here_of(const iso_op *op, int sub, int64_t blocks)
{
	const struct stream_work *w = op->work;
	const struct part *part = w->part + w->first[sub];
	struct here h = { 0 };

	while (h.kept < blocks && part[h.kept].op) h.kept++;
	h.all = h.kept;
	while (h.all < blocks && part[h.all].held) h.all++;
	return h;
}

/* A block that is not kept: read, used, and perhaps kept from now on. */
static int pass_new(const iso_op *op, struct part *b, const struct ray_step *p)
{
	int st = read_part(b, op);

	if (!st) st = add_part(op, b, p);
	if (!st) return keep(op, b);
	part_free(op->ctx, b, NULL);
	return st;
}

/* After a subset comes the one behind it, as a rule: its first blocks are read while the image is updated. Another
   subset is read anew. */
static int read_on(const iso_op *op, int sub)
{
	const struct stream *t = op->data;
	struct stream_work *w = op->work;

	iso_ray_reader_stop(w->reader);
	for (int k = 1; k <= op->n_sub && t->ahead; k++) {
		int next = (sub + k) % op->n_sub;
		int64_t blocks = iso_ray_blocks(&t->share, next, t->block),
			here = here_of(op, next, blocks).all;

		if (here < blocks) return iso_ray_reader_start(w->reader, next, here);
	}
	return ISO_OK;
}

/* The blocks of a subset, kept or not. */
static int pass(const iso_op *op, int sub, const struct ray_step *p)
{
	const struct stream *t = op->data;
	struct stream_work *w = op->work;
	int64_t blocks = iso_ray_blocks(&t->share, sub, t->block), k = 0;
	struct here here = here_of(op, sub, blocks);
	int st = here.all < blocks ? iso_ray_reader_start(w->reader, sub, here.all) : ISO_OK;

	for (; k < blocks && !st; k++) {
		struct part *b = w->part + w->first[sub] + k;
		struct ray_step now = step_of_block(op, sub, k, p);

		if (k >= here.kept && op->ctx->cuda && ((st = look_for_room(op)) || (w->full && t->passes)))
			break;
		if (!(st = iso_ctx_poll(op->ctx)))
			st = k < here.kept ? add_part(op, b, &now) : pass_new(op, b, &now);
	}
	if (k < blocks && !st) st = pass_blocks(op, sub, k, blocks, p);
	if (w->reader && st) iso_ray_reader_stop(w->reader);
	return st || !w->reader ? st : read_on(op, sub);
}

static int stream_step(const iso_op *op, int sub, iso_real *acc, const struct ray_step *p,
                       const struct iso_em_data *d, struct iso_ratio_stat *s)
{
	const struct stream *t = op->data;
	struct stream_work *w = op->work;
	int begin = sub == ISO_ALL ? 0 : sub, end = sub == ISO_ALL ? op->n_sub : sub + 1, st;
	struct ray_counts c = { 0 };

	if (d->y || d->add || d->mult)
		return iso_fail(ISO_EARG, "ray stream: data vectors are given; the source has them");
	if ((st = load(op))) return st;
	if (w->loaded.op) return step_loaded(&w->loaded, sub, acc, p, s);
	if ((st = prepare(op))) return st;
	for (int b = begin; b < end; b++) {
		c.sum += w->counts[b].sum;
		c.most = fmax(c.most, w->counts[b].most);
		c.rows += w->counts[b].rows;
	}
	st = t->sum->begin(w->sum, &c, p);
	for (int b = begin; b < end && !st; b++) st = pass(op, b, p);
	st = t->sum->end(acc, s, w->sum, st);
	if (w->kept == t->blocks) {
		close_pass(op);
		iso_ray_reader_free(w->reader);
		w->reader = NULL;
	}
	return st;
}

static int stream_em_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x,
                          const struct iso_em_data *d, struct iso_em_stat *s)
{
	struct ray_step p = { .x = x };
	struct iso_ratio_stat all;
	int st = stream_step(op, sub, acc, &p, d, &all);

	if (!st) *s = all.em;
	return st;
}

static int stream_ratio_step(const iso_op *op, int sub, iso_real *z, iso_real *rho, bool keep,
                             const iso_real *x, const iso_real *u, const struct iso_em_data *d,
                             struct iso_ratio_stat *s)
{
	struct ray_step p = { x, u, { rho, keep } };

	return stream_step(op, sub, z, &p, d, s);
}

static struct iso_rows stream_rows(const iso_op *op, int sub)
{
	return order_share(&((const struct stream *)op->data)->share.order, sub);
}

static void stream_close(iso_op *op)
{
	const struct stream *t = op->data;
	struct stream_work *w = op->work;

	iso_ray_loaded_free(&w->loaded);
	close_pass(op); /* before the memory that it pinned goes */
	for (int64_t i = 0; w->part && i < t->blocks; i++) part_free(op->ctx, w->part + i, w->pass_fn);
	iso_ray_reader_free(w->reader);
	t->sum->free(w->sum);
	free(w->counts);
}

/* Blocks and images are made by the first step: a handle that nobody calls takes no memory. */
static int stream_open(iso_op *op)
{
	const struct stream *t = op->data;
	struct stream_work *w = op->work;
	int64_t n = 0;

	ISO_HOST(&op->room, w->part, t->blocks);
	ISO_HOST(&op->room, w->first, op->n_sub);
	for (int sub = 0; sub < op->n_sub && !op->room.status; sub++) {
		w->first[sub] = n;
		n += iso_ray_blocks(&t->share, sub, t->block);
	}
	return op->room.status;
}

static void stream_free(iso_op *op)
{
	iso_room_free(&((struct stream *)op->data)->room);
}

static const struct iso_op_fn stream_fn = {
	.em_step = stream_em_step,
	.ratio_step = stream_ratio_step,
	.rows = stream_rows,
	.open = stream_open,
	.close = stream_close,
	.free = stream_free,
	.work = sizeof(struct stream_work),
	.cannot = "ray stream: events that are streamed have an EM step, but no forward or back projection",
};

/* Both structs at their full size, and pointers to them. */
static int take(struct iso_ray *ray, const struct iso_ray **p, struct iso_ray_source *source,
                const struct iso_ray_source **s)
{
	int st = iso_sized_take(ray, "iso_ray", sizeof *ray, *p);

	if (!st) st = iso_sized_take(source, "iso_ray_source", sizeof *source, *s);
	*p = ray;
	*s = source;
	return st;
}

static int make_stream(iso_op **op, iso_ctx *ctx, const struct iso_ray *p, const struct iso_ray_source *s,
                       int64_t block, const iso_motion *m)
{
	struct ray_model whole = { 0 };
	const struct ray_sum_fn *sum;
	struct iso_ray ray;
	struct iso_ray_source source;
	struct stream *t;
	int st;

	if ((st = take(&ray, &p, &source, &s)) || (st = iso_ray_check(p, s->n)) ||
	    (st = iso_ray_model(&whole, p, s->n)) || (st = iso_ray_sum(&sum, ctx)))
		return st;
	if (p->tof_each != s->has_fwhm)
		return iso_fail(ISO_EARG, "ray stream: has_fwhm of the source and tof_each differ");
	if (block < 1)
		return iso_fail(ISO_EARG, "ray stream: blocks of %" PRId64 " events, must be at least 1",
		                block);
	int64_t longest = order_share(&whole.order, 0).n;

	if (!(t = size_alloc(1, sizeof *t))) return iso_fail_memory("ray stream", sizeof *t);
	*t = (struct stream){ .ctx = ctx,
		              .asked = *p,
		              .p = *p,
		              .whole = whole,
		              .sum = sum,
		              .block = block,
		              .passes = !p->tof_each,
		              .motion = p->rays > 1 ? m : NULL,
		              .room.what = "ray stream" };
	t->whole.n = longest < block ? longest : block;
	t->p.n_sub = 1;
	t->p.rule = ISO_BLOCKS;
	t->ahead = iso_ray_scratch_is(s);
	if ((st = iso_comm_agree(ctx, iso_ray_share(&t->share, &t->room, ctx, s, &whole.order)))) {
		iso_room_free(&t->room);
		free(t);
		return st;
	}
	for (int sub = 0; sub < p->n_sub; sub++) t->blocks += iso_ray_blocks(&t->share, sub, block);
	return iso_op_create(op, ctx, &stream_fn, iso_grid_voxels(&p->grid), s->n, p->n_sub, t);
}

int iso_ray_stream_create(iso_op **op, iso_ctx *ctx, const struct iso_ray *p, const struct iso_ray_source *s,
                          int64_t block)
{
	if (!op || !ctx || !p || !s) return iso_fail_null(__func__);
	return iso_ray_moved_stream(op, ctx, p, s, block, NULL);
}

int iso_ray_moved_stream(iso_op **op, iso_ctx *ctx, const struct iso_ray *p, const struct iso_ray_source *s,
                         int64_t block, const iso_motion *m)
{
	iso_op *made = NULL;
	int st = make_stream(&made, ctx, p, s, block, m);

	return iso_op_agree(op, made, ctx, st);
}

void iso_ray_stream_state(int64_t *blocks, int64_t *kept, const iso_op *op)
{
	if (!blocks || !kept || !op) return;

	const struct stream *t = op->data;

	*blocks = t->blocks;
	*kept = t->kept + t->held;
}

void iso_ray_stream_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_ray *p,
                         const struct iso_ray_source *s, int64_t block)
{
	if (!plan || !ctx || !p || !s) return;

	struct iso_ray_source source;
	struct iso_ray ray;

	if (take(&ray, &p, &source, &s)) return; /* iso_ray_stream_create will say so */
	block_plan(plan, ctx, p, s, block);
	iso_ray_sum_plan(plan, ctx, p, s->n);
}

#define LEAST_BLOCK (1 << 12)
#define MOST_BLOCK (1 << 24)

/* What grows with the block takes at most a third of what the images leave. */
static bool block_fits(int64_t need_block, int64_t need_least, int64_t have)
{
	return need_block - need_least <= (have - need_least) / 3;
}

int64_t iso_ray_stream_block(const iso_ctx *ctx, const struct iso_ray *p, const struct iso_ray_source *s,
                             int64_t host, int64_t device)
{
	if (!ctx || !p || !s) return 0;

	int64_t least_host, least_device, block = LEAST_BLOCK;
	int64_t sum_host, sum_device;
	struct iso_plan sum = { 0 };
	struct iso_ray_source source;
	struct iso_ray ray;

	if (take(&ray, &p, &source, &s)) return block; /* iso_ray_stream_create will say so */
	iso_ray_sum_plan(&sum, ctx, p, s->n);
	iso_plan_total(&sum_host, &sum_device, &sum);
	iso_plan_free(&sum);
	host -= sum_host;
	device -= sum_device;
	need(ctx, p, s, block, &least_host, &least_device);
	for (; block < MOST_BLOCK; block *= 2) {
		int64_t h, d;

		need(ctx, p, s, 2 * block, &h, &d);
		if (!block_fits(h, least_host, host) || !block_fits(d, least_device, device)) break;
	}
	return block;
}
