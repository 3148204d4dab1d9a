/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows of model svoxel on CUDA: every voxel of a brick, walked as the kernel walks it, has its first
   bin inside of the window, whatever the geometry; and windows are not much longer than that. */
#include "test.h"

#include "core/philox.h"
#include "model/svoxel/svoxel.h"

#include <limits.h>

enum { PROBLEMS = 400 };

/* A problem with one transducer. */
struct scene {
	struct svoxel p;
	double pos[3], ex[3], ey[3], side[2];
	struct philox w; /* random words, and how many are used */
	uint64_t number, used;
};

static double draw(struct scene *s, double low, double high)
{
	if (s->used % 4 == 0) s->w = philox_draw(7, s->number, s->used / 4);
	return low + (high - low) * philox_unit(s->w.w[s->used++ % 4]);
}

/* Small and large numbers alike. */
static double draw_scale(struct scene *s, double low, double high)
{
	return exp(draw(s, log(low), log(high)));
}

/* Outside of the image along one axis at least, however near. */
static void place(struct scene *s)
{
	int out = (int)draw(s, 0, 3);
	double normal[3], size = 0;

	for (int a = 0; a < 3; a++) {
		double half = .5 * (double)(s->p.n[a] - 1) * s->p.ds, far = draw_scale(s, .02, 60);

		normal[a] = draw(s, -1, 1);
		size += normal[a] * normal[a];
		s->pos[a] = s->p.first[a] + half + (a == out ? half + far : draw(s, -1, 1) * (half + far));
	}
	for (int a = 0; a < 3; a++) normal[a] /= sqrt(size);
	iso_transducer_frame(s->ex, s->ey, normal);
}

static void begin(struct scene *s, uint64_t number, enum iso_sir sir)
{
	*s = (struct scene){ .number = number };
	s->p = (struct svoxel){ .n_trans = 1,
		                .pos = s->pos,
		                .ex = s->ex,
		                .ey = s->ey,
		                .side = s->side,
		                .sir = sir,
		                .points = 1 };
	for (int a = 0; a < 3; a++) {
		s->p.n[a] = 1 + (int64_t)draw(s, 0, 19);
		s->p.first[a] = draw(s, -20, 20);
	}
	s->p.ds = draw_scale(s, .05, 3);
	s->p.bins_per_mm = draw_scale(s, 2, 40);
	s->p.least = draw(s, .001, .02);
	s->p.taps.width = 4 + (int)draw(s, 0, 5);
	s->side[0] = draw_scale(s, .1, 8);
	s->side[1] = draw_scale(s, .1, 8);
	place(s);
}

/* Half the delays across, bins. */
static void across(iso_real h[2], const struct svoxel *p, const struct svoxel_view *v, const iso_real o[3],
                   iso_real d)
{
	iso_real x = v->x, y = v->y;

	for (int a = 0; a < 3; a++) {
		x += o[a] * v->ex[a];
		y += o[a] * v->ey[a];
	}
	h[0] = iso_fmax((x < 0 ? -x : x) * v->side_x / d, (iso_real)p->least) / 2;
	h[1] = iso_fmax((y < 0 ? -y : y) * v->side_y / d, (iso_real)p->least) / 2;
}

/* First bin of a voxel at offset o, from the view's on, and if `moved` from the corner's; corner -1 is a point. */
static int first_of(const struct svoxel *p, const struct svoxel_view *v, int corner, bool moved,
                    const iso_real o[3])
{
	const iso_real none[3] = { 0, 0, 0 };
	iso_real sx = corner & 1 ? 1 : -1, sy = corner & 2 ? 1 : -1, excess = 0, d, s, h[2], middle[2];

	for (int a = 0; a < 3; a++) excess += o[a] * (o[a] + v->r2[a]);
	iso_real u = svoxel_delay(v, (iso_real)p->bins_per_mm, excess, &d);

	if (corner >= 0) {
		across(middle, p, v, none, v->d);
		across(h, p, v, o, d);
		u += sx * h[0] + sy * h[1];
		if (moved) u -= iso_floor(sx * middle[0] + sy * middle[1]);
	}
	return svoxel_first(u, &s);
}

struct range {
	int low, high;
};

/* Of the first bins of all voxels of the brick that begins at `start`. */
static struct range hear(const struct svoxel *p, const int64_t start[3], int edge, int corner, bool moved)
{
	struct range r = { INT_MAX, INT_MIN };
	int n[3];
	double from[3];

	for (int a = 0; a < 3; a++) {
		n[a] = p->n[a] - start[a] < edge ? (int)(p->n[a] - start[a]) : edge;
		from[a] = p->first[a] + ((double)start[a] + (n[a] - 1) / 2.) * p->ds;
	}
	struct svoxel_view v = svoxel_view(p, 0, p->pos, from);

	for (int i = 0; i < n[0] * n[1] * n[2]; i++) {
		const int at[3] = { i % n[0], i / n[0] % n[1], i / n[0] / n[1] };
		iso_real o[3];

		for (int a = 0; a < 3; a++)
			o[a] = (iso_real)p->ds * ((iso_real)at[a] - (iso_real).5 * (iso_real)(n[a] - 1));
		int first = first_of(p, &v, corner, moved, o);

		r.low = first < r.low ? first : r.low;
		r.high = first > r.high ? first : r.high;
	}
	return r;
}

static void walk(struct scene *s, int edge)
{
	const struct svoxel_window windows[2] = { iso_svoxel_window_all(&s->p, edge, edge, edge),
		                                  iso_svoxel_window(&s->p, edge, edge, edge) };
	int64_t start[3];
	bool rect = s->p.sir == ISO_SIR_RECT;

	for (int a = 0; a < 3; a++) start[a] = (int64_t)draw(s, 0, (double)s->p.n[a]) / edge * edge;
	for (int corner = rect ? 0 : -1; corner < (rect ? 4 : 0); corner++)
		for (int moved = 0; moved < 2; moved++) {
			struct range r = hear(&s->p, start, edge, corner, moved);

			assert_true(windows[moved].before + r.low >= 0);
			assert_true(windows[moved].before + r.high < windows[moved].rows);
		}
}

static void inside(void **state)
{
	static const int edges[] = { 1, 2, 4, 6, 8 };

	(void)state;
	for (int i = 0; i < 2 * PROBLEMS; i++) {
		struct scene s;

		begin(&s, (uint64_t)i, i % 2 ? ISO_SIR_RECT : ISO_SIR_POINT);
		for (int k = 0; k < N_OF(edges); k++) walk(&s, edges[k]);
	}
}

/* Along a diagonal of the brick all of the window is used, but for fractions. */
static void tight(void **state)
{
	const int64_t start[3] = { 0, 0, 0 };
	struct scene s;

	(void)state;
	begin(&s, 0, ISO_SIR_POINT);
	for (int a = 0; a < 3; a++) {
		s.p.n[a] = 6;
		s.pos[a] = s.p.first[a] + 40;
	}
	s.p.ds = .14;
	s.p.bins_per_mm = 13;
	struct svoxel_window w = iso_svoxel_window(&s.p, 6, 6, 6);
	struct range r = hear(&s.p, start, 6, -1, false);

	assert_in_range(w.rows - (r.high - r.low + 1), 0, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inside),
		cmocka_unit_test(tight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
