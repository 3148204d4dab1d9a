/* SPDX-License-Identifier: BSD-3-Clause */
/* Several lines an event of an object that moves. Lines are laid where the crystals are: the ends go back there, aside, and
   forth again. Then each is an event of its own in a row of several. */
#include "isotome/ray_moved.h"

#include "core/comm.h"
#include "core/size.h"
#include "core/sized.h"
#include "motion/motion.h"
#include "ray.h"
#include "ray_moved_stream.h"

enum { CHUNK = 1 << 14 }; /* events that a thread takes at a time */

static void set_end(float to[3], const double x[3])
{
	for (int a = 0; a < 3; a++) to[a] = (float)x[a];
}

static struct iso_event line_of(const struct iso_event *e, const struct ray_spread *s, int line,
                                const struct iso_pose *z, const struct iso_pose *back)
{
	double p1[3] = { e->p1[0], e->p1[1], e->p1[2] }, p2[3] = { e->p2[0], e->p2[1], e->p2[2] };
	struct iso_event r = *e;

	iso_pose_apply(p1, z, p1);
	iso_pose_apply(p2, z, p2);
	ray_move_ends(p1, p2, s, line);
	iso_pose_apply(p1, back, p1);
	iso_pose_apply(p2, back, p2);
	set_end(r.p1, p1);
	set_end(r.p2, p2);
	return r;
}

/* The lines of events first .. end - 1; events in the order of time ask for neighbouring rows, and often for one pose. Where
   the pose is not known the event stays as it is: it has no line. */
static void lay_lines(struct iso_event *v, const struct iso_events *e, int64_t first, int64_t end,
                      const iso_motion *m, const struct ray_spread *s)
{
	struct motion_rows r = { 0 };
	struct iso_pose z, back = iso_pose_identity();
	bool known = false;

	for (int64_t i = first; i < end; i++) {
		if (i == first || e->time_ms[i] != e->time_ms[i - 1]) {
			double t = e->time_ms[i] / 1000.;

			motion_rows_find(&r, m, t);
			if ((known = motion_within(&z, m, &r, t))) back = iso_pose_inverse(z);
		}
		for (int k = 0; k < s->lines; k++)
			v[i * s->lines + k] = known ? line_of(e->v + i, s, k, &z, &back) : e->v[i];
	}
}

/* The lines of all events; free(lines->v). */
static int lay_all(struct iso_events *lines, iso_ctx *ctx, const struct iso_events *e, const iso_motion *m,
                   const struct ray_spread *s)
{
	struct iso_event *v = size_alloc(e->n + 1, s->lines * (int64_t)sizeof *v);
	int st = v ? ISO_OK : iso_fail_memory("lines of events", e->n * s->lines * (int64_t)sizeof *v);

	*lines = (struct iso_events){ .n = e->n, .v = v };

#pragma omp parallel for num_threads(iso_ctx_threads(ctx)) schedule(dynamic)
	for (int64_t i = 0; i < (st ? 0 : e->n); i += CHUNK)
		if (!iso_stopped(ctx)) lay_lines(v, e, i, e->n - i < CHUNK ? e->n : i + CHUNK, m, s);
	return st ? st : iso_ctx_poll(ctx);
}

static int make_lines(iso_op **op, iso_ctx *ctx, const struct iso_ray *p, const struct iso_events *e,
                      const iso_motion *m, const struct ray_spread *s)
{
	struct iso_events lines;
	int st = iso_comm_agree(ctx, lay_all(&lines, ctx, e, m, s));

	if (!st) st = iso_ray_create_laid(op, ctx, p, &lines);
	free(lines.v);
	return st;
}

int iso_ray_moved_part(iso_op **op, iso_ctx *ctx, const struct iso_ray *p, int subsets,
                       const struct iso_events *e, const iso_motion *m)
{
	struct iso_events lines = { .n = 0 };
	struct ray_spread spread;
	int st = iso_ray_lines(&spread, p->rays, p->spread_mm, p->response, p->scanner);

	if (!st) st = lay_all(&lines, ctx, e, m, &spread);
	if (!st) st = iso_ray_create_part(op, ctx, p, subsets, &lines, true);
	free(lines.v);
	return st;
}

int64_t iso_ray_moved_bytes(const struct iso_ray *p, bool for_a_while)
{
	return (p->rays > 1 ? p->rays - !for_a_while : 0) * (int64_t)sizeof(struct iso_event);
}

int iso_ray_create_moved(iso_op **op, iso_ctx *ctx, const struct iso_ray *p, const struct iso_events *e,
                         const iso_motion *m)
{
	if (!op || !ctx || !p || !e || !m) return iso_fail_null(__func__);
	struct iso_ray full = { 0 };
	struct ray_spread spread;
	int st = iso_sized_take(&full, "iso_ray", sizeof full, p);

	if (!st) st = iso_ray_lines(&spread, full.rays, full.spread_mm, full.response, full.scanner);
	if (!st && !e->time_ms && e->n > 0)
		st = iso_fail(ISO_EARG,
		              "ray: events of an object that moves have no times (time_ms is NULL)");
	if ((st = iso_comm_agree(ctx, st))) return st;
	return spread.lines > 1 ? make_lines(op, ctx, &full, e, m, &spread)
	                        : iso_ray_create(op, ctx, &full, e);
}

void iso_ray_moved_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_ray *p, int64_t n)
{
	if (!plan || !ctx || !p) return;
	struct iso_ray full;

	if (iso_sized_take(&full, "iso_ray", sizeof full, p)) return; /* iso_ray_create_moved will say so */
	iso_ray_plan(plan, ctx, &full, n);
	if (full.rays < 2) return;
	iso_plan_add(plan, "lines of the events, for a while", n * full.rays, sizeof(struct iso_event),
	             false);
	if (!iso_ctx_is_cuda(ctx))
		iso_plan_add(plan, "lines of the events beyond the first", n * (full.rays - 1),
		             sizeof(struct iso_event), false);
}
