/* SPDX-License-Identifier: BSD-3-Clause */
/* The spherical Radon transform brick by brick: every point belongs to one brick, which finds it;
   sums over bricks are those of the operator; and CUDA, which works so, against the CPU. */
#include "oat_vectors.h"

#include "core/op.h"
#include "model/sradon/sradon.h"
#include "model/sradon/sradon_brick.h"

struct setting {
	int64_t n[3];
	double offset[3];       /* of the image from the middle, mm */
	struct iso_rings rings; /* radius, rings, views, angles */
	double dt_us, first_us;
	int64_t samples;
	double step;  /* voxels */
	double above; /* 4 transducers in a plane so far above the image, instead of the rings; mm */
};

/* Voxels of 0.3 mm, 1.54 mm/us. */
static const struct setting settings[] = {
	{ { 40, 36, 50 }, { 0, 0, 0 }, { 40, 2, 3, .4, 1.1, .2, 2.1 }, .1, 18, 150, 1, 0 },
	{ { 40, 36, 50 }, { 0, 0, 0 }, { 12.2, 2, 3, .5, 1.3, .2, 2.1 }, .15, -.2, 110, 1, 0 }, /* near */
	{ { 33, 17, 16 }, { 0, 0, 0 }, { 60, 2, 2, 1e-6, M_PI / 2 - 1e-6, 0, M_PI / 2 }, .05, 34, 140, 1, 0 },
	{ { 50, 3, 20 }, { 1, -2, .5 }, { 14, 2, 2, .8, .9, .1, 3 }, .04, .1, 500, 1, 0 },
	{ { 150, 4, 40 }, { 0, 0, 0 }, { 30, 2, 1, .9, .8, .4, 1 }, .2, 4, 150, 1, 0 }, /* wide rings */
	{ { 1, 1, 1 }, { 0, 0, 0 }, { 5, 1, 5, 1, 1, .1, 1.2 }, .02, 2.5, 60, 1, 0 },
	{ { 40, 36, 50 }, { 0, 0, 0 }, { 40, 2, 3, .4, 1.1, .2, 2.1 }, .1, 18, 150, 1.6, 0 },
	{ { 40, 36, 20 }, { 0, 0, 0 }, { 40, 2, 2, .4, 1.1, .2, 2.1 }, .3, 18, 50, .4, 0 },
	{ { 70, 66, 20 }, { 0, 0, 0 }, { .rings = 1, .views = 4 }, .15, -.1, 90, 1, 3 },
	{ { 90, 80, 1 }, { .2, 0, 0 }, { .rings = 1, .views = 4 }, .15, .05, 100, 1, .3 },
};

/* Off the middle by thirds of the image, to all sides. */
static void planar(struct iso_transducers *t, const struct setting *s)
{
	points(t, 4);
	for (int i = 0; i < 4; i++) {
		t->pos[3 * i] = s->offset[0] + .1 * (double)s->n[0] * (i % 2 ? 1 : -.9);
		t->pos[3 * i + 1] = s->offset[1] + .1 * (double)s->n[1] * (i / 2 ? 1 : -.9);
		t->pos[3 * i + 2] = s->offset[2] + .15 * (double)s->n[2] + s->above;
	}
}

static struct iso_transducers transducers(const struct setting *s)
{
	struct iso_transducers t = {
		.speed = 1.54, .dt_us = s->dt_us, .first_us = s->first_us, .samples = s->samples, .gamma = 1
	};

	if (s->above > 0)
		planar(&t, s);
	else
		OK(iso_transducers_rings(&t, &s->rings));
	return t;
}

static iso_op *integrals(iso_ctx *ctx, const struct setting *s, enum iso_sradon_sampling sampling,
                         enum iso_sradon_adjoint adjoint)
{
	struct iso_transducers t = transducers(s);
	struct iso_sradon q = { .size = sizeof q,
		                .t = &t,
		                .grid = { { s->n[0], s->n[1], s->n[2] },
		                          { .3, .3, .3 },
		                          { s->offset[0], s->offset[1], s->offset[2] } },
		                .sampling = sampling,
		                .adjoint = adjoint,
		                .step = s->step };
	iso_op *op = NULL;

	OK(iso_sradon_integrals(&op, ctx, &q));
	iso_transducers_free(&t);
	return op;
}

static iso_real *noise(int64_t n, uint64_t seed)
{
	iso_real *v = calloc((size_t)n, sizeof *v);

	assert_non_null(v);
	for (int64_t i = 0; i < n; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		v[i] = (iso_real)((double)(seed >> 33) / 0x1p30 - 1);
	}
	return v;
}

/* One transducer and sample: its rings, and how often each point was found, ring after ring. */
struct shell {
	const struct sradon *s;
	struct sradon_axes axes;
	double rho;
	float top;
	int n;
	struct sradon_row *row;
	int *start, *found; /* of a ring's first point; of each point */
};

static struct shell shell_of(const struct sradon *s, int64_t q, int64_t k)
{
	struct shell h = { .s = s, .axes = sradon_axes(&s->p, &s->frame[q]), .rho = sradon_radius(&s->p, k) };
	bool table = s->p.sampling == ISO_SRADON_MIDPOINT;
	double top = h.rho > 0 ? sradon_theta_max(&s->p, s->frame[q].distance, h.rho) : -1;

	h.top = (float)top;
	h.n = table ? (int)(s->start[k + 1] - s->start[k]) : sradon_n_rings(&s->p, h.rho, top);
	h.row = calloc((size_t)h.n + 1, sizeof *h.row);
	h.start = calloc((size_t)h.n + 1, sizeof *h.start);
	for (int i = 0; i < h.n; i++) {
		struct sradon_ring r = table ? s->ring[s->start[k] + i]
		                             : sradon_ring(&s->p, h.rho, sradon_theta(&s->p, h.rho, top, i));

		h.row[i] = sradon_row(&s->p, h.rho, &r);
		h.start[i + 1] = h.start[i] + r.n;
	}
	h.found = calloc((size_t)h.start[h.n] + 1, sizeof *h.found);
	return h;
}

static void free_shell(struct shell *h)
{
	free(h->row);
	free(h->start);
	free(h->found);
}

struct sums {
	const iso_real *x;     /* image to be summed */
	double g;              /* the sum over the shell */
	double y, *to, *parts; /* sample to be given, its image, parts without the weight */
	int64_t looked, owned; /* points */
};

static void cell_of(int cell[3], float high[3], const struct shell *h, int i, int j)
{
	const struct sradon_row *w = &h->row[i];
	float c[3], at[2][3], middle = (float)(j / 2 * 2) + .5f + (float)sradon_shift(&h->s->p);

	sradon_row_centre(c, &h->axes, w);
	sradon_pair(at, c, w->half_cos, w->half_sin, h->axes.ex, h->axes.ey, middle, w->turn, w->turn_low);
	for (int a = 0; a < 3; a++) cell[a] = sradon_cell(at[j % 2][a], &high[a]);
}

static void visit(struct sums *s, const struct sradon_params *p, const int cell[3], const float high[3],
                  double weight)
{
	for (int k = 0; k < 8; k++) {
		int64_t i[3];
		double part = 1;
		bool inside = true;

		for (int a = 0; a < 3; a++) {
			i[a] = cell[a] - 1 + (k >> a & 1);
			part *= k >> a & 1 ? high[a] : 1 - high[a];
			inside = inside && i[a] >= 0 && i[a] < p->n[a];
		}
		int64_t n = (i[2] * p->n[1] + i[1]) * p->n[0] + i[0];

		if (inside) {
			s->g += weight * part * s->x[n];
			s->to[n] += weight * part * s->y;
			s->parts[n] += part;
		}
	}
}

/* What a block does with a shell, in plain loops. */
static void brick_of_shell(struct sums *to, struct shell *h, const struct sradon_brick *b,
                           const struct sradon_sight *s)
{
	const struct sradon_params *p = &h->s->p;
	int first, last, cell[3];
	float high[3];

	sradon_sight_rings(s, p, (float)(h->rho / p->ds), h->top, h->n, &first, &last);
	for (int i = first; i <= last; i++) {
		const struct sradon_row *w = &h->row[i];
		struct sradon_arc arc = sradon_pairs(sradon_arc(s, w, (float)sradon_shift(p)), w->n);
		int pairs = (w->n + 1) / 2;

		for (int m = 0; m < 2 * arc.n; m++) {
			int pair = arc.first + m / 2, j = 2 * (pair < pairs ? pair : pair - pairs) + m % 2;

			if (j >= w->n) continue;
			to->looked++;
			cell_of(cell, high, h, i, j);
			if (!sradon_owns(b, cell)) continue;
			to->owned++;
			h->found[h->start[i] + j]++;
			visit(to, p, cell, high, w->weight);
		}
	}
}

static void check_found(const struct shell *h)
{
	const struct sradon_params *p = &h->s->p;
	int cell[3];
	float high[3];

	for (int i = 0; i < h->n; i++)
		for (int j = 0; j < h->row[i].n; j++) {
			bool inside = true;

			cell_of(cell, high, h, i, j);
			for (int a = 0; a < 3; a++) inside = inside && cell[a] >= 0 && cell[a] <= p->n[a];
			if (h->found[h->start[i] + j] != inside)
				fail_msg("point %d of ring %d, radius %g, was found %d times, not %d", j, i,
				         h->rho, h->found[h->start[i] + j], inside);
		}
}

static int64_t bricks_of(const struct sradon_params *p, int edge)
{
	return (int64_t)sradon_bricks(p, edge, 0) * sradon_bricks(p, edge, 1) * sradon_bricks(p, edge, 2);
}

static void transducer(struct sums *to, const struct sradon *s, int edge, int64_t q, double *g,
                       const iso_real *y)
{
	const struct sradon_params *p = &s->p;
	int64_t bricks = bricks_of(p, edge);

	for (int64_t k = 0; k < p->samples; k++) {
		struct shell h = shell_of(s, q, k);

		to->g = 0;
		to->y = y[k];
		for (int64_t b = 0; b < bricks; b++) {
			struct sradon_brick brick = sradon_brick(p, edge, b);
			struct sradon_sight sight = sradon_sight(p, &h.axes, &brick);

			if (k >= sight.first && k <= sight.last) brick_of_shell(to, &h, &brick, &sight);
		}
		check_found(&h);
		g[k] = to->g;
		free_shell(&h);
	}
}

static void check_setting(iso_ctx *ctx, const struct setting *set, enum iso_sradon_sampling sampling,
                          int edge)
{
	iso_op *op = integrals(ctx, set, sampling, ISO_SRADON_SCATTER);
	const struct sradon *s = op->data;
	int64_t voxels = op->n_in, data = op->n_out;
	iso_real *x = noise(voxels, 1), *y = noise(data, 2), *back = calloc((size_t)voxels, sizeof *x);
	iso_real *fore = calloc((size_t)data, sizeof *y);
	double *g = calloc((size_t)data, sizeof *g);
	struct sums to = { .x = x,
		           .to = calloc((size_t)voxels, sizeof(double)),
		           .parts = calloc((size_t)voxels, sizeof(double)) };

	for (int64_t q = 0; q < s->p.n_trans; q++) {
		memset(to.parts, 0, (size_t)voxels * sizeof *to.parts);
		transducer(&to, s, edge, q, g + q * s->p.samples, y + q * s->p.samples);
		for (int64_t n = 0; n < voxels; n++) BELOW(to.parts[n], .5 * sradon_load(&s->p));
	}
	for (int64_t j = 0; j < data; j++) fore[j] = (iso_real)g[j];
	for (int64_t n = 0; n < voxels; n++) back[n] = (iso_real)to.to[n];
	BELOW(compare(op, false, x, fore), 1e-5);
	BELOW(compare(op, true, y, back), 1e-5);
	assert_true(to.owned > 0 && (edge > 16 || to.looked < 5 * to.owned));
	free(x);
	free(y);
	free(back);
	free(fore);
	free(g);
	free(to.to);
	free(to.parts);
	iso_op_free(op);
}

/* All points of rings of up to a thousand or so, without and with half a step of shift. */
static void sines(void **state)
{
	double worst = 0;

	(void)state;
	for (int n = 1; n < 1200; n += 1 + n / 40)
		for (int j = 0; j < 2 * n; j++) {
			float turn = (float)(1. / n), low = (float)(1. / n - turn), si, co;
			double phi = 2 * M_PI * (.5 * j / n);

			sradon_sincos(.5f * (float)j, turn, low, &si, &co);
			worst = fmax(worst, fmax(fabs(si - sin(phi)), fabs(co - cos(phi))));
		}
	BELOW(worst, 1.2e-7);
}

static void found_once(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		for (int edge = 16; edge <= 32; edge += 16) {
			check_setting(ctx, &settings[i], ISO_SRADON_MIDPOINT, edge);
			check_setting(ctx, &settings[i], ISO_SRADON_ALG4, edge);
		}
	iso_ctx_free(ctx);
}

/* ---- on a GPU ---- */

/* Several groups of transducers, whose traces differ in size. */
static const struct setting many = {
	{ 40, 36, 50 }, { 0, 0, 0 }, { 30, 5, 20, .3, .6, .2, .31 }, .1, 11, 160, 1, 0,
};

/* Enough of everything for the large bricks. */
static const struct setting large = {
	{ 130, 100, 70 }, { 0, 0, 0 }, { 40, 12, 24, .2, .24, .1, .26 }, .4, 8.4, 90, 1, 0,
};

static iso_real *apply(iso_ctx *ctx, const struct setting *set, enum iso_sradon_sampling sampling,
                       enum iso_sradon_adjoint way, bool adjoint, const iso_real *in, int64_t *n)
{
	iso_op *op = integrals(ctx, set, sampling, way);
	int64_t n_from = adjoint ? op->n_out : op->n_in;
	iso_real *from = to_device(ctx, n_from, in);

	*n = adjoint ? op->n_in : op->n_out;
	iso_real *to = to_device(ctx, *n, NULL);

	OK((adjoint ? iso_adjoint : iso_forward)(to, op, ISO_ALL, from));
	iso_real *got = to_host(ctx, *n, to);

	device_free(ctx, from);
	device_free(ctx, to);
	iso_op_free(op);
	return got;
}

static void against_cpu(iso_ctx *ctx, const struct setting *set, enum iso_sradon_sampling sampling,
                        enum iso_sradon_adjoint way, bool adjoint)
{
	int64_t data = set->rings.rings * set->rings.views * set->samples, n;
	int64_t n_from = adjoint ? data : set->n[0] * set->n[1] * set->n[2];
	iso_real *in = noise(n_from, 3);
	iso_ctx *host = cpu(2);

	for (int64_t j = 0; adjoint && j < n_from; j++)
		in[j] *= (iso_real)exp(-.1 * (double)(j / set->samples % 50));
	iso_real *want = apply(host, set, sampling, ISO_SRADON_SCATTER, adjoint, in, &n);
	iso_real *got = apply(ctx, set, sampling, way, adjoint, in, &n);
	iso_real *again = apply(ctx, set, sampling, way, adjoint, in, &n);

	BELOW(relative_difference(n, got, want), 1e-5);
	assert_memory_equal(got, again, (size_t)n * sizeof *got);
	free(in);
	free(want);
	free(got);
	free(again);
	iso_ctx_free(host);
}

static void check_cuda(iso_ctx *ctx)
{
	const size_t n = sizeof settings / sizeof *settings;

	for (size_t i = 0; i < n + 2; i++)
		for (int sampling = ISO_SRADON_MIDPOINT; sampling <= ISO_SRADON_ALG4; sampling++) {
			const struct setting *s = i < n ? &settings[i] : i == n ? &many : &large;

			against_cpu(ctx, s, sampling, ISO_SRADON_AUTO, false);
			against_cpu(ctx, s, sampling, ISO_SRADON_AUTO, true);
			against_cpu(ctx, s, sampling, ISO_SRADON_GATHER, true);
		}
}

/* No samples but zeros, no voxels but zeros. */
static void check_zeros(iso_ctx *ctx)
{
	for (int adjoint = 0; adjoint < 2; adjoint++) {
		int64_t n = adjoint ? 6 * 150 : 40 * 36 * 50;
		iso_real *zeros = calloc((size_t)n, sizeof *zeros);
		iso_real *got =
			apply(ctx, &settings[0], ISO_SRADON_MIDPOINT, ISO_SRADON_AUTO, adjoint, zeros, &n);

		for (int64_t i = 0; i < n; i++) assert_true(got[i] == 0);
		free(zeros);
		free(got);
	}
}

CUDA_TEST(cuda_bricks, check_cuda)
CUDA_TEST(cuda_zeros, check_zeros)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sines),
		cmocka_unit_test(found_once),
		cmocka_unit_test(cuda_bricks),
		cmocka_unit_test(cuda_zeros),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
