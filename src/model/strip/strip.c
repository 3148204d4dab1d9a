/* SPDX-License-Identifier: BSD-3-Clause */
/* Model strip: from what the user asks for to the operator, and the images that need no loop over
   ellipses. The loops are in strip_cpu.c and strip.cu. */
#include "strip.h"
#include "core/comm.h"
#include "core/size.h"
#include "core/sized.h"
#include "scanner/scanner.h"

#define SMALLEST_PIXEL 1e-3 /* of sigma_z or sigma_dl: an ellipse has 10^7 pixels then */

struct iso_rows iso_strip_rows(const iso_op *op, int sub)
{
	return order_rows(&((const struct strip_model *)op->data)->order, sub);
}

int64_t iso_strip_file_row(const iso_op *op, int64_t row)
{
	return order_event(&((const struct strip_model *)op->data)->order, row);
}

struct iso_grid iso_strip_grid(const struct iso_strip *p)
{
	if (!p) return (struct iso_grid){ 0 };
	return (struct iso_grid){ { p->nz, p->ny, 1 }, { p->pixel, p->pixel, p->pixel }, { 0, 0, 0 } };
}

static int check_image(const struct iso_strip *p)
{
	struct iso_grid g = iso_strip_grid(p);
	double least = SMALLEST_PIXEL * fmin(p->strips.sigma_z, p->strips.sigma_dl);
	int st = iso_strips_check(&p->strips);

	if (st || (st = iso_grid_check(&g))) return st;
	if (iso_grid_voxels(&g) > INT32_MAX / 2)
		return iso_fail(ISO_EARG, "strip: the image has %" PRId64 " pixels, at most %d are possible",
		                iso_grid_voxels(&g), INT32_MAX / 2);
	if (p->pixel < least)
		return iso_fail(ISO_EARG,
		                "strip: pixels are %g mm, must be at least %g, %g of a hit's errors",
		                p->pixel, least, SMALLEST_PIXEL);
	return ISO_OK;
}

static int check(const struct iso_strip *p, int64_t n)
{
	if (n < 1) return iso_fail(ISO_EARG, "strip: there are no events");
	if (p->n_sub < 1 || p->n_sub > n)
		return iso_fail(ISO_EARG,
		                "strip: %d subsets of %" PRId64 " events; must be 1 to the number of events",
		                p->n_sub, n);
	if (p->kernel != ISO_STRIP_EQ7 && p->kernel != ISO_STRIP_TAN && p->kernel != ISO_STRIP_GAUSS)
		return iso_fail(ISO_EARG, "strip: there is no kernel %d", (int)p->kernel);
	if (p->edge && p->kernel != ISO_STRIP_TAN)
		return iso_fail(ISO_EARG, "strip: only the kernel tan knows the ends of the strips");
	if (p->strategy != ISO_STRIP_FAST && p->strategy != ISO_STRIP_WARP && p->strategy != ISO_STRIP_THREAD)
		return iso_fail(ISO_EARG, "strip: there is no strategy %d", (int)p->strategy);
	if (p->rule != ISO_INTERLEAVED && p->rule != ISO_BLOCKS && p->rule != ISO_RANDOM)
		return iso_fail(ISO_EARG, "strip: there is no subset rule %d", (int)p->rule);
	return check_image(p);
}

static void set_model(struct strip_model *m, const struct iso_strip *p, int64_t n)
{
	const struct strip_inverse middle = strip_inverse(&p->strips, 0, 0);

	m->p = (struct strip_params){
		p->strips, (int)p->ny, (int)p->nz, p->pixel, p->kernel, p->edge, middle
	};
	m->strategy = p->strategy;
	m->order = (struct iso_order){ .n = n, .n_sub = p->n_sub, .rule = p->rule, .seed = p->seed };
	m->n = n;
}

_Static_assert(ISO_STRIP_CHUNK == ORDER_CHUNK, "what the header says");

static int make_model(struct strip_model **out, struct iso_room *room, const struct iso_strip *p,
                      const struct order_list *l, const struct iso_strip_events *e)
{
	const struct iso_strip_event bad = { NAN, NAN, NAN };
	const iso_ctx *ctx = room->ctx;
	struct iso_strip_event *v;
	struct strip_model *m;
	int st = check(p, l->total);

	if (st) return st;
	ISO_HOST(room, m, 1);
	if (!ISO_HOST(room, v, e->n)) return room->status;
	set_model(m, p, l->total);
	m->n = e->n;
	m->e = v;
	if (l->part && (st = iso_order_part(&m->order, room, ctx, e->n, p->number, l->before, NULL)))
		return st;
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t i = 0; i < e->n; i++) {
		if (iso_stopped(ctx)) continue;
		v[i] = e->v[order_event(&m->order, i)];
		if (!isfinite(v[i].z_up) || !isfinite(v[i].z_down) || !isfinite(v[i].dl)) v[i] = bad;
	}
	*out = m;
	return iso_ctx_poll(ctx);
}

static int make(iso_op **op, iso_ctx *ctx, const struct iso_strip *p, const struct order_list *l,
                const struct iso_strip_events *e)
{
	struct iso_room room = { .ctx = ctx, .what = "strip events" };
	struct strip_model *m = NULL;
	int st = make_model(&m, &room, p, l, e);

	if (st) {
		iso_room_free(&room);
		return st;
	}
	st = iso_op_create_in(op, ctx, &iso_strip_cpu_fn, p->ny * p->nz, e->n, p->n_sub, &room, m);
	if (!st) (*op)->rows_split = iso_ranks(ctx) > 1;
	return st;
}

int iso_strip_create(iso_op **op, iso_ctx *ctx, const struct iso_strip *p, const struct iso_strip_events *e)
{
	if (!op || !ctx || !p || !e) return iso_fail_null(__func__);
	struct iso_strip full = { 0 };
	struct order_list l;
	iso_op *made = NULL;
	int st = iso_sized_take(&full, "iso_strip", sizeof full, p);

	st = iso_order_ranks(&l, ctx, st, "strip", e->n, full.number, full.total);
	if (!st) st = make(&made, ctx, &full, &l, e);
	return iso_op_agree(op, made, ctx, st);
}

void iso_strip_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_strip *p, int64_t n)
{
	struct strip_model m = { .n = n };
	struct iso_strip full;
	bool cuda = iso_ctx_is_cuda(ctx);

	iso_plan_add(plan, "events, in order of subsets", n, sizeof(struct iso_strip_event), cuda);
	if (iso_sized_take(&full, "iso_strip", sizeof full, p) || check(p = &full, n))
		return; /* iso_strip_create will say what is wrong */
	set_model(&m, p, n);
	if (cuda)
		iso_plan_add(plan, "fixed-point image", p->ny * p->nz, sizeof(int64_t), true);
	else
		iso_strip_cpu_plan(plan, ctx, &m);
}

static double at(int64_t i, int64_t n, double pixel)
{
	return ((double)i - .5 * (double)(n - 1)) * pixel;
}

/* A corner on the strip itself, |y| = R, or at its end is not to fall beyond it by rounding. */
static double corner(double v, double end, double pixel)
{
	return fabs(fabs(v) - end) < 1e-9 * pixel ? copysign(end, v) : v;
}

int iso_strip_sens(iso_real *s, const struct iso_strip *p, bool corners)
{
	if (!s || !p) return iso_fail_null(__func__);
	struct iso_strip full;
	int st = iso_sized_take(&full, "iso_strip", sizeof full, p);

	if (st || (st = check_image(p = &full))) return st;
	for (int64_t i = 0; i < p->ny * p->nz; i++) {
		double y = at(i / p->nz, p->ny, p->pixel), z = at(i % p->nz, p->nz, p->pixel);
		double v = strips_sens(&p->strips, y, z), sum = 0;

		for (int c = 0; corners && c < 4; c++)
			sum += strips_sens(
				&p->strips,
				corner(y + (c & 1 ? .5 : -.5) * p->pixel, p->strips.radius, p->pixel),
				corner(z + (c & 2 ? .5 : -.5) * p->pixel, p->strips.length / 2, p->pixel));
		s[i] = (iso_real)(corners ? v / 3 + sum / 6 : v);
	}
	return ISO_OK;
}

/* A pixel owns its lower border. */
int iso_strip_direct(iso_real *image, int64_t *outside, const struct iso_strip *p,
                     const struct iso_strip_events *e)
{
	if (!image || !outside || !p || !e) return iso_fail_null(__func__);
	struct iso_strip full;
	int st = iso_sized_take(&full, "iso_strip", sizeof full, p);
	int64_t *count, missed = 0;

	if (st || (st = check_image(p = &full))) return st;
	count = size_alloc(p->ny * p->nz, sizeof *count);
	if (!count) return iso_fail_memory("direct image", p->ny * p->nz * (int64_t)sizeof *count);
	for (int64_t i = 0; i < e->n; i++) {
		const struct iso_strip_event *v = e->v + i;
		struct strip_origin o = strip_origin(p->strips.radius, v->z_up, v->z_down, v->dl);
		double iy = floor(o.y / p->pixel + .5 * (double)p->ny);
		double iz = floor(o.z / p->pixel + .5 * (double)p->nz);

		if (iy >= 0 && iy < (double)p->ny && iz >= 0 && iz < (double)p->nz)
			count[(int64_t)iy * p->nz + (int64_t)iz]++;
		else
			missed++;
	}
	for (int64_t i = 0; i < p->ny * p->nz; i++) image[i] = (iso_real)count[i];
	*outside = missed;
	free(count);
	return ISO_OK;
}
