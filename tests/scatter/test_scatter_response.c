/* SPDX-License-Identifier: BSD-3-Clause */
/* Scatter with the response of crystals: a table of response that has the numbers of an ideal surface gives the scatter of that
   surface, by formula and by Monte Carlo, on both devices; and one that sees more at low energies gives more. */
#include "response_table.h"

#include "scatter/scene.h"
#include "scatter/table.h"

enum { ACROSS = 16, PLANES = 10 };
#define VOXEL 8.

static const char ring_text[] =
	"kind: cylinder\nradius_mm: 150\nrings: 8\nring_pitch_mm: 12\ncrystals_per_ring: 96\n"
	"block: {crystals: 8, rings: 8}\ncrystal_mm: [9, 11, 20]\nmin_crystal_distance: 19\n"
	"energy: {window_kev: [400, 650], resolution: 0.12}\n";

struct world {
	iso_ctx *ctx;
	iso_scanner *ring;
	struct iso_array f, mu;
	iso_response *r;
	struct iso_scatter p;
};

static void fill(struct world *w)
{
	const struct iso_grid g = { .n = { ACROSS, ACROSS, PLANES }, .voxel = { VOXEL, VOXEL, VOXEL } };

	OK(iso_array_on_grid(&w->f, &g));
	OK(iso_array_on_grid(&w->mu, &g));
	for (int64_t i = 0; i < w->f.n; i++) {
		double x = ((double)(i % ACROSS) - 7.5) * VOXEL,
		       y = ((double)(i / ACROSS % ACROSS) - 7.5) * VOXEL;

		w->mu.v[i] = (iso_real)(hypot(x, y) < 50 ? .0096 : 0);
		w->f.v[i] = (iso_real)(hypot(x - 10, y) < 30 ? 3 : 0);
	}
}

/* D = D_0 e(E) cos phi cos theta `more` + (1 - e) times, relative to 511 keV. */
static void respond(struct world *w, double more)
{
	struct scene s = { .rho = 0 };

	w->r = made_response(w->ring, 500);
	OK(scene_ring(&s, &w->p));
	int64_t crystals = response_crystals_of(&w->r->shape);

	for (int64_t d = 0; d < RESPONSE_DIRECTIONS; d++) {
		double phi = (double)(d / RESPONSE_THETAS) * RESPONSE_PHI_STEP,
		       theta = (double)(d % RESPONSE_THETAS) * RESPONSE_THETA_STEP;

		for (int64_t k = 0; k < crystals; k++)
			w->r->d[d * crystals + k] = (float)(80 * cos(phi) * cos(theta));
		for (int e = 0; e < RESPONSE_ENERGIES; e++) {
			double kev = e < RESPONSE_ENERGIES - 1 ? 300 + 10 * e : 510.99895;
			double seen = scene_efficiency(&s, kev) / s.eps0;

			w->r->d_energy[e * RESPONSE_DIRECTIONS + d] =
				(float)(80 * cos(phi) * cos(theta) * seen *
			                (e < RESPONSE_ENERGIES - 1 ? more : 1));
		}
	}
	OK(response_finish(w->r));
	scene_free(&s);
}

static struct world begin(iso_ctx *ctx, enum iso_scatter_method method, double tof)
{
	struct world w = { .ctx = ctx };

	w.ring = scanner_of_text(ring_text);
	fill(&w);
	w.p = (struct iso_scatter){ .size = sizeof w.p,
		                    .method = method,
		                    .scanner = w.ring,
		                    .tof_fwhm_ps = tof,
		                    .histories = sized(60000, 20000),
		                    .detectors = 24,
		                    .ring_step_mm = 30,
		                    .seed = 5 };
	return w;
}

static void end(struct world *w)
{
	iso_response_free(w->r);
	iso_scanner_free(w->ring);
	iso_array_free(&w->f);
	iso_array_free(&w->mu);
}

/* |with - without| / |without| of the whole tables, and the ratio of their sums. */
static double compare(double *ratio, struct world *w, double more)
{
	iso_scatter_table *without = NULL, *with = NULL;
	double d = 0, s = 0, sum[2] = { 0 };

	w->p.image = &w->f;
	w->p.mu = &w->mu;
	OK(iso_scatter_create(&without, w->ctx, &w->p));
	respond(w, more);
	w->p.response = w->r;
	OK(iso_scatter_create(&with, w->ctx, &w->p));
	assert_int_equal(with->grid.cells, without->grid.cells);
	for (int64_t i = 0; i < table_rows(&with->grid) * with->grid.cells; i++) {
		double a = (double)with->h[i], b = (double)without->h[i];

		d += (a - b) * (a - b);
		s += b * b;
		sum[0] += a;
		sum[1] += b;
	}
	*ratio = sum[0] / sum[1];
	iso_scatter_free(with);
	iso_scatter_free(without);
	return sqrt(d / s);
}

static void check_formula(iso_ctx *ctx)
{
	for (int tof = 0; tof < 2; tof++) {
		struct world w = begin(ctx, ISO_SCATTER_SSS, tof ? 400 : 0);
		double ratio;

		BELOW(compare(&ratio, &w, 1), 5e-3);
		NEAR(ratio, 1, 3e-3);
		end(&w);
	}
}

static void check_monte_carlo(iso_ctx *ctx)
{
	struct world w = begin(ctx, ISO_SCATTER_SSS_MC, 0);
	double ratio;

	BELOW(compare(&ratio, &w, 1), 1e-2);
	NEAR(ratio, 1, 5e-3);
	end(&w);
}

static void formula(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_formula(ctx);
	iso_ctx_free(ctx);
}

static void monte_carlo(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_monte_carlo(ctx);
	iso_ctx_free(ctx);
}

/* Half of the photons below 511 keV more: half of the scatter more, where one photon of a pair has scattered. */
static void more(void **state)
{
	iso_ctx *ctx = cpu(2);
	struct world w = begin(ctx, ISO_SCATTER_SSS, 0);
	double ratio;

	(void)state;
	compare(&ratio, &w, 1.5);
	NEAR(ratio, 1.5, .02);
	end(&w);
	iso_ctx_free(ctx);
}

static void refused(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct world w = begin(ctx, ISO_SCATTER_SSS, 0), other = begin(ctx, ISO_SCATTER_SSS, 0);
	iso_scatter_table *t = NULL;

	(void)state;
	w.p.image = &w.f;
	w.p.mu = &w.mu;
	respond(&w, 1);
	w.p.response = w.r;
	memcpy(w.r->info.scanner, "0123456789abcdef", 17);
	REFUSED(iso_scatter_create(&t, ctx, &w.p), ISO_EINPUT, "made for a scanner with hash");
	other.p.image = &other.f;
	other.p.mu = &other.mu;
	respond(&other, 0);
	other.p.response = other.r;
	REFUSED(iso_scatter_create(&t, ctx, &other.p), ISO_EINPUT, "no energies below 511 keV");
	end(&w);
	end(&other);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_formula, check_formula)
CUDA_TEST(cuda_monte_carlo, check_monte_carlo)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formula), cmocka_unit_test(monte_carlo),  cmocka_unit_test(more),
		cmocka_unit_test(refused), cmocka_unit_test(cuda_formula), cmocka_unit_test(cuda_monte_carlo),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
