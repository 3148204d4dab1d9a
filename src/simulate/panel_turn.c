/* SPDX-License-Identifier: BSD-3-Clause */
/* Panels and an object that move: spans of time, times of decays, poses. */
#include "panel_turn.h"

#include "core/philox.h"
#include "core/size.h"

#include <math.h>

#define TIME_DRAW (PANEL_STREAMS + 18)
#define POISSON_HISTORY ((1ull << 62) + 64) /* beyond those of decays and of other numbers */

/* ---- spans ---- */

static int append_span(struct iso_panel_turn *t, const iso_poses *gantry, int64_t row, double duration_s)
{
	const int64_t rows = gantry ? iso_poses_rows(gantry) : 1;
	const double from = gantry ? iso_poses_time(gantry, row) : 0,
		     to = row + 1 < rows ? iso_poses_time(gantry, row + 1) : duration_s;
	struct iso_pose known;

	if (row > 0 && row + 1 == rows && from == duration_s) return ISO_OK; /* ends the row before */
	if (!(from >= 0 && from < duration_s))
		return iso_fail(ISO_EARG,
		                "simulate: row %" PRId64
		                " of the gantry begins at %g s, must be from 0 to the end of the scan, %g s",
		                row + 1, from, duration_s);
	if (!gantry || iso_poses_row(&known, gantry, row))
		t->span[t->n++] = (struct panel_span){ .from_s = from, .to_s = to };
	return ISO_OK;
}

static int make_spans(struct iso_panel_turn *t, const iso_poses *gantry, double duration_s)
{
	const int64_t rows = gantry ? iso_poses_rows(gantry) : 1;
	int st = ISO_OK;

	if (rows > INT16_MAX)
		return iso_fail(ISO_EARG, "simulate: %" PRId64 " rows of the gantry, must be at most %d",
		                rows, INT16_MAX);
	if (!(t->span = size_alloc(rows + 1, sizeof *t->span)))
		return iso_fail_memory("spans of the gantry", rows * (int64_t)sizeof *t->span);
	for (int64_t k = 0; k < rows && !st; k++) st = append_span(t, gantry, k, duration_s);
	return st || t->n > 0 ? st : iso_fail(ISO_EINPUT, "simulate: no row of the gantry is known");
}

int iso_panel_turn_create(struct iso_panel_turn **out, const struct iso_panel_simulate *p)
{
	struct iso_panel_turn *t = calloc(1, sizeof *t);
	int st = t ? ISO_OK : iso_fail_memory("simulate", sizeof *t);

	if (!st && !(p->duration_s > 0))
		st = iso_fail(ISO_EARG, "simulate: poses need the duration of the scan");
	if (!st) t->half_life_s = p->half_life_s;
	if (!st) t->seed = p->transport.seed;
	if (!st) st = iso_motion_create(&t->motion, p->motion);
	if (!st) st = make_spans(t, p->motion->gantry, p->duration_s);
	if (st)
		iso_panel_turn_free(t);
	else
		*out = t;
	return st;
}

void iso_panel_turn_free(struct iso_panel_turn *t)
{
	if (!t) return;
	iso_motion_free(t->motion);
	free(t->span);
	free(t);
}

/* The integral of exp(-kt), s. */
static double weight(const struct iso_panel_turn *t, const struct panel_span *s)
{
	return (s->to_s - s->from_s) * iso_decay_mean(t->half_life_s, s->from_s, s->to_s);
}

void iso_panel_turn_deal(struct iso_panel_turn *t, double mean, bool by_chance)
{
	double all = 0;
	int64_t first = 0;

	for (int k = 0; k < t->n; k++) all += weight(t, t->span + k);
	for (int k = 0; k < t->n; k++) {
		const double own = mean * weight(t, t->span + k) / all;

		t->span[k].first = first;
		first += by_chance ? iso_poisson(own, t->seed, POISSON_HISTORY + (uint64_t)k) : llround(own);
	}
	t->span[t->n].first = first;
}

/* ---- times and poses ---- */

/* Place (i + u)/n of n decays in a span, u uniform in (0, 1), and from that the time: 1 - exp(-k (t - from)) over the same of
   the span's end. */
int iso_panel_turn_when(uint32_t *ms, const struct iso_panel_turn *t, int64_t decay)
{
	int low = 0, high = t->n;

	while (high - low > 1) {
		const int middle = (low + high) / 2;

		if (t->span[middle].first <= decay)
			low = middle;
		else
			high = middle;
	}
	const struct panel_span *s = t->span + low;
	const struct philox w = philox_draw(t->seed, (uint64_t)decay, TIME_DRAW);
	const double u = ((double)(decay - s->first) + philox_unit_double(w.w[0], w.w[1])) /
	                 (double)(s[1].first - s->first);
	const double length = s->to_s - s->from_s, k = t->half_life_s > 0 ? M_LN2 / t->half_life_s : 0;
	const double since = k > 0 ? -log1p(u * expm1(-k * length)) / k : u * length;
	const double ms_of = floor(1e3 * fmin(s->from_s + since, s->to_s));
	const double least = ceil(1e3 * s->from_s - 1e-6), most = fmax(least, ceil(1e3 * s->to_s - 1e-6) - 1);

	*ms = (uint32_t)fmin(fmax(ms_of, least),
	                     most); /* within the span, whose edges need not be whole ms */
	return low;
}

bool iso_panel_turn_at(struct panel_pose *to, const struct iso_panel_turn *t, uint32_t ms)
{
	struct iso_pose z;

	if (!iso_motion_at(&z, t->motion, 1e-3 * (double)ms)) return false;
	for (int i = 0; i < 12; i++) to->m[i] = (float)z.m[i];
	return true;
}

/* ---- what may lie between the heads ---- */

static int check_at(const struct iso_pose *z, const struct iso_array *a, const char *what, double gap,
                    double time_s)
{
	const struct iso_grid *g = &a->grid;
	double x[3];

	for (int64_t i = 0; i < a->n; i++) {
		const int64_t k[3] = { i % g->n[0], i / g->n[0] % g->n[1], i / g->n[0] / g->n[1] };

		if (!(a->v[i] > 0)) continue;
		for (int d = 0; d < 3; d++)
			x[d] = g->centre[d] + ((double)k[d] - .5 * (double)(g->n[d] - 1)) * g->voxel[d];
		iso_pose_apply(x, z, x);
		if (fabs(x[1]) > .5 * gap)
			return iso_fail(
				ISO_EINPUT,
				"simulate: at %g s %s lies at %.4g mm from the middle of the heads: it "
				"reaches the heads, which are %.4g mm apart",
				time_s, what, fabs(x[1]), gap);
	}
	return ISO_OK;
}

int iso_panel_turn_check(const struct iso_panel_turn *t, const struct iso_array *a, const char *what,
                         double gap)
{
	const int times = t->n <= 64 ? 16 : 2;
	int st = ISO_OK;

	for (int k = 0; k < t->n && a && !st; k++)
		for (int i = 0; i < times && !st; i++) {
			const double time_s =
				t->span[k].from_s + (t->span[k].to_s - t->span[k].from_s) * i / times;
			struct iso_pose z;

			if (iso_motion_at(&z, t->motion, time_s)) st = check_at(&z, a, what, gap, time_s);
		}
	return st;
}
