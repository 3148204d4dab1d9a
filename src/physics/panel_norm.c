/* SPDX-License-Identifier: BSD-3-Clause */
/* Efficiencies of crystals from the fan sums of a flat source.

   Counts y of LOR (u, l) are Poisson with the mean m_ul = c_u c_l f_d e_ul: efficiencies c of its two
   crystals, the expected counts e of an ideal scanner and, if asked for, a factor f of the unsigned direction
   d = |l - u|. At the greatest likelihood each factor makes its own sum of m that of y,
     c_u = sum_l y_ul / sum_l c_l f_d e_ul,
   and alike for c_l and f_d. Each such step is the best one for the other factors held, so that the
   likelihood never falls (iterative proportional fitting). The factors of one set do not meet in a LOR: no
   step swings, unlike that of a single set of crystals (randoms.c). Where e is counted as well, the sums are
   still right: no LOR is left out because a simulation missed it.

   A scale can pass between c_u, c_l and f: at the end both heads have the same mean, and f is 1 on average. n
   = c_u c_l f_d does not depend on that. */
#include "core/ctx.h"
#include "core/progress.h"
#include "core/size.h"
#include "core/sized.h"

#include <math.h>

#define TOLERANCE 1e-7 /* largest relative change of a factor in the last step */
#define MOST_ITERATIONS 2000
#define STRAY_MOST .01 /* of the counts */
#define MISFIT_FROM .1 /* mean counts of a LOR in the chi-square: fewer hardly tell */

struct fit {
	iso_ctx *ctx;
	const iso_real *y, *e;
	int layers, x, z;         /* crystals of a layer */
	int64_t head, directions; /* crystals of a head; directions 0: f = 1 */
	double *factor;           /* upper crystals, lower ones, directions */
	double *count, *sum;      /* of y and of m / factor, in the same order */
	double *expected;         /* sums of e */
	struct iso_clock clock;   /* counts LORs summed */
};

/* ---- sums over the LORs of a crystal or a direction ----

   Each takes an array v of LORs times the factors but its own. Every sum is of one thread, in one
   order: the same bits for every number of threads. */

/* LOR of upper crystal (ux, uz), layer a, and lower crystal (lx, 0), layer b. */
static int64_t lor(const struct fit *f, int ab, int ux, int uz, int lx)
{
	return ((((int64_t)ab * f->x + ux) * f->z + uz) * f->x + lx) * f->z;
}

/* Factors of |dx|, at dz = 0; NULL: all are 1. */
static const double *direction_row(const struct fit *f, int ab, int dx)
{
	if (f->directions == 0) return NULL;
	return f->factor + 2 * f->head + ((int64_t)ab * f->x + abs(dx)) * f->z;
}

static void upper_sums(double *sum, const struct fit *f, const iso_real *v)
{
#pragma omp parallel for num_threads(f->ctx->threads)
	for (int64_t u = 0; u < f->head; u++) {
		int a = (int)(u / f->z / f->x), ux = (int)(u / f->z % f->x), uz = (int)(u % f->z);

		sum[u] = 0;
		for (int row = 0; row < f->layers * f->x; row++) {
			int ab = a * f->layers + row / f->x, lx = row % f->x;
			const double *c = f->factor + f->head + (int64_t)row * f->z;
			const double *d = direction_row(f, ab, lx - ux);
			int64_t i = lor(f, ab, ux, uz, lx);
			double part = 0;

			for (int lz = 0; lz < f->z; lz++)
				part += (double)v[i + lz] * c[lz] * (d ? d[abs(lz - uz)] : 1);
			sum[u] += part;
		}
	}
}

static void lower_sums(double *all, const struct fit *f, const iso_real *v)
{
#pragma omp parallel for num_threads(f->ctx->threads)
	for (int64_t row = 0; row < (int64_t)f->layers * f->x; row++) {
		int b = (int)(row / f->x), lx = (int)(row % f->x);
		double *sum = all + row * f->z;

		for (int lz = 0; lz < f->z; lz++) sum[lz] = 0;
		for (int64_t u = 0; u < f->head; u++) {
			int ab = (int)(u / f->z / f->x) * f->layers + b;
			int ux = (int)(u / f->z % f->x), uz = (int)(u % f->z);
			const double c = f->factor[u], *d = direction_row(f, ab, lx - ux);
			int64_t i = lor(f, ab, ux, uz, lx);

			for (int lz = 0; lz < f->z; lz++)
				sum[lz] += (double)v[i + lz] * c * (d ? d[abs(lz - uz)] : 1);
		}
	}
}

static const double *lower_row(const struct fit *f, int b, int lx)
{
	return f->factor + f->head + ((int64_t)b * f->x + lx) * f->z;
}

static void add_to_direction(double *sum, const struct fit *f, const iso_real *v, int ab, int ux, int lx)
{
	const double *upper = f->factor + ((int64_t)(ab / f->layers) * f->x + ux) * f->z;
	const double *lower = lower_row(f, ab % f->layers, lx);

	for (int uz = 0; uz < f->z; uz++)
		for (int lz = 0; lz < f->z; lz++)
			sum[abs(lz - uz)] += (double)v[lor(f, ab, ux, uz, lx) + lz] * upper[uz] * lower[lz];
}

static void direction_sums(double *sum, const struct fit *f, const iso_real *v)
{
#pragma omp parallel for num_threads(f->ctx->threads) schedule(dynamic, 1)
	for (int64_t row = 0; row < f->directions / f->z; row++) {
		int ab = (int)(row / f->x), dx = (int)(row % f->x);

		for (int dz = 0; dz < f->z; dz++) sum[row * f->z + dz] = 0;
		for (int ux = 0; ux < f->x; ux++) {
			if (ux + dx < f->x) add_to_direction(sum + row * f->z, f, v, ab, ux, ux + dx);
			if (dx > 0 && ux >= dx) add_to_direction(sum + row * f->z, f, v, ab, ux, ux - dx);
		}
	}
}

static void (*const sums[])(double *sum, const struct fit *f, const iso_real *v) = { upper_sums, lower_sums,
	                                                                             direction_sums };

static void sum_set(double *sum, struct fit *f, int k, const iso_real *v)
{
	sums[k](sum, f, v);
	iso_clock_add(&f->clock, f->head * f->head);
}

/* Where set number k of the factors begins. */
static int64_t first(const struct fit *f, int k)
{
	return k < 3 ? k * f->head : 2 * f->head + f->directions;
}

static int sets(const struct fit *f)
{
	return f->directions > 0 ? 3 : 2;
}

/* ---- the fit ---- */

/* The best factors of a set; the largest relative change. No counts, or none expected: 0. */
static double step(struct fit *f, int k)
{
	double worst = 0;

	sum_set(f->sum + first(f, k), f, k, f->e);
	for (int64_t i = first(f, k); i < first(f, k + 1); i++) {
		double now = f->sum[i] > 0 ? f->count[i] / f->sum[i] : 0;

		if (now > 0) worst = fmax(worst, fabs(f->factor[i] / now - 1));
		f->factor[i] = now;
	}
	return worst;
}

static int solve(struct fit *f, int *iterations)
{
	double worst = 1;
	int st;

	for (*iterations = 0; *iterations < MOST_ITERATIONS && worst > TOLERANCE; ++*iterations) {
		if ((st = iso_ctx_poll(f->ctx))) return st;
		worst = 0;
		for (int k = 0; k < sets(f); k++) worst = fmax(worst, step(f, k));
	}
	if (!(worst <= TOLERANCE))
		return iso_fail(ISO_EINPUT,
		                "norm: the last of %d steps changed efficiencies by %.1g: too few counts?",
		                MOST_ITERATIONS, worst);
	return ISO_OK;
}

static double mean_of_living(const double *v, int64_t n)
{
	double sum = 0, living = 0; /* there is one: there are counts */

	for (int64_t i = 0; i < n; i++) {
		sum += v[i];
		living += v[i] > 0;
	}
	return sum / living;
}

static void scale_set(struct fit *f, int k, double by)
{
	for (int64_t i = first(f, k); i < first(f, k + 1); i++) f->factor[i] *= by;
}

/* The sums of the last step weigh the directions: counts over counts expected without f. */
static void share_scale(struct fit *f)
{
	double upper = mean_of_living(f->factor, f->head), counts = 0, without = 0;
	double lower = mean_of_living(f->factor + f->head, f->head);

	for (int64_t i = first(f, 2); i < first(f, 3); i++) {
		counts += f->count[i];
		without += f->factor[i] > 0 ? f->sum[i] : 0;
	}
	double mean = f->directions > 0 ? counts / without : 1;

	scale_set(f, 0, sqrt(mean * lower / upper));
	scale_set(f, 1, sqrt(mean * upper / lower));
	if (f->directions > 0) scale_set(f, 2, 1 / mean);
}

/* n, and the chi-square over LORs that expect enough. y is read before n is written in its place. */
static void fill(iso_real *n, const struct fit *f, struct iso_norm_figures *r)
{
	int64_t face = (int64_t)f->x * f->z, rows = f->layers * f->layers * face * f->x, found = 0;
	double chi = 0, free_factors = 1 - sets(f); /* less the scales that pass between the sets */

	for (int64_t k = 0; k < rows; k++) {
		int ab = (int)(k / f->x / face), lx = (int)(k % f->x);
		int ux = (int)(k / f->x / f->z % f->x), uz = (int)(k / f->x % f->z);
		const double c = f->factor[ab / f->layers * face + (int64_t)ux * f->z + uz];
		const double *lower = lower_row(f, ab % f->layers, lx), *d = direction_row(f, ab, lx - ux);

		for (int lz = 0; lz < f->z; lz++) {
			int64_t i = k * f->z + lz;
			double y = (double)f->y[i], m;

			n[i] = (iso_real)(c * lower[lz] * (d ? d[abs(lz - uz)] : 1));
			m = (double)n[i] * (double)f->e[i];
			if (!(m >= MISFIT_FROM)) continue;
			chi += (y - m) * (y - m) / m;
			found++;
		}
	}
	for (int64_t i = 0; i < first(f, sets(f)); i++) free_factors += f->factor[i] > 0;
	r->misfit = (double)found > free_factors ? chi / ((double)found - free_factors) : 0;
}

/* ---- what comes in, and what is told ---- */

static int check_values(const struct fit *f, struct iso_norm_figures *r)
{
	for (int64_t i = 0; i < f->head * f->head; i++) {
		double y = (double)f->y[i], e = (double)f->e[i];

		if (!(y >= 0) || !isfinite(y) || !(e >= 0) || !isfinite(e))
			return iso_fail(ISO_EINPUT,
			                "norm: LOR %" PRId64
			                " has %g counts, %g expected, must be 0 or above",
			                i, y, e);
		r->counts += y;
		r->expected += e;
	}
	if (!(r->counts > 0)) return iso_fail(ISO_EINPUT, "norm: there are no counts");
	return ISO_OK;
}

static int check_stray(const struct fit *f, struct iso_norm_figures *r, bool per_lor)
{
	for (int64_t i = 0; per_lor && i < f->head * f->head; i++)
		r->stray += f->e[i] > 0 ? 0 : (double)f->y[i];
	for (int64_t i = 0; !per_lor && i < 2 * f->head; i++)
		r->stray += f->expected[i] > 0 ? 0 : f->count[i];
	if (r->stray > STRAY_MOST * r->counts)
		return iso_fail(
			ISO_EINPUT,
			"norm: %.3g of %.3g counts lie in %s where none are expected, at most %g %% may",
			r->stray, r->counts, per_lor ? "LORs" : "crystals", 100 * STRAY_MOST);
	return ISO_OK;
}

/* A ratio n of LOR i comes from n e counts, whether or not n lies where y was. */
static void tell(struct iso_norm_figures *r, const struct fit *f, const iso_real *n, bool per_lor)
{
	double living = 0, sum = 0, square = 0, inverse = 0;

	r->fewest = r->least = INFINITY;
	for (int64_t i = 0; i < 2 * f->head; i++) {
		bool unseen = !(f->expected[i] > 0), dead = unseen || !(f->count[i] > 0);

		r->dead[i >= f->head] += dead;
		r->unseen[i >= f->head] += unseen;
		r->few += !dead && f->count[i] < ISO_NORM_FEW;
		r->fewest = dead ? r->fewest : fmin(r->fewest, f->count[i]);
	}
	for (int64_t i = 0; i < f->head * f->head; i++) r->dead_lors += !(n[i] > 0);
	for (int64_t i = 0; i < (per_lor ? f->head * f->head : 2 * f->head); i++) {
		double v = per_lor ? (double)n[i] : f->factor[i];

		if (!(v > 0)) continue;
		r->least = v < r->least ? v : r->least;
		r->most = v > r->most ? v : r->most;
		living++;
		sum += v;
		square += v * v;
		inverse += 1 / (per_lor ? v * (double)f->e[i] : f->count[i]);
	}
	r->mean = sum / living;
	r->spread = sqrt(fmax(square / living - r->mean * r->mean, 0)) / r->mean;
	r->noise = sqrt(inverse / living);
}

/* n becomes 1 on average over the living LORs, weighted by e. */
static void make_relative(iso_real *n, struct fit *f, struct iso_norm_figures *r, bool per_lor)
{
	double weighted = 0, all = 0, by;

	for (int64_t i = 0; i < f->head * f->head; i++) {
		weighted += (double)n[i] * (double)f->e[i];
		all += n[i] > 0 ? (double)f->e[i] : 0;
	}
	by = all / weighted;
	for (int64_t i = 0; i < f->head * f->head; i++) n[i] = (iso_real)((double)n[i] * by);
	by = per_lor ? by : sqrt(by);
	for (int k = 0; k < 2 && !per_lor; k++) scale_set(f, k, by);
	r->mean *= by;
	r->least *= by;
	r->most *= by;
}

/* A crystal or direction whose expected counts are 0 gets the factor 0, and LORs that have such a factor add
   to no count. So the counts of the upper crystals, of the lower ones and of the directions have one sum;
   with different sums the steps of the fit would not converge. */
static int make_fit(struct fit *f)
{
	int64_t n = 2 * f->head + f->directions;

	f->factor = size_alloc(4 * n, sizeof *f->factor);
	if (!f->factor) return iso_fail_memory("norm", 4 * n * (int64_t)sizeof *f->factor);
	f->count = f->factor + n;
	f->sum = f->count + n;
	f->expected = f->sum + n;
	for (int64_t i = 0; i < n; i++) f->factor[i] = 1;
	for (int k = 0; k < sets(f); k++) sum_set(f->expected + first(f, k), f, k, f->e);
	for (int64_t i = 0; i < n; i++) f->factor[i] = f->expected[i] > 0;
	for (int k = 0; k < sets(f); k++) sum_set(f->count + first(f, k), f, k, f->y);
	return ISO_OK;
}

int iso_panel_norm(iso_real *n, double *efficiency, struct iso_norm_figures *figures, iso_ctx *ctx,
                   const struct iso_panels *p, const iso_real *y, const iso_real *e,
                   const struct iso_norm_options *options)
{
	if (!n || !figures || !ctx || !p || !y || !e || !options) return iso_fail_null(__func__);
	struct iso_norm_options own, *o = &own;
	struct fit f = {
		.ctx = ctx, .y = y, .e = e, .layers = p->layers, .x = p->crystals[0], .z = p->crystals[1]
	};
	struct iso_norm_figures r = { 0 };
	int st = iso_sized_take(o, "iso_norm_options", sizeof *o, options);

	if (st || (st = iso_sized_clear(figures, "iso_norm_figures", sizeof r))) return st;
	f.head = (int64_t)f.layers * f.x * f.z;
	f.directions = o->directions ? f.layers * f.head : 0;
	if (o->per_lor && (efficiency || o->directions))
		return iso_fail(ISO_EARG, "norm: ratios per LOR have no %s",
		                efficiency ? "efficiencies of crystals" : "factor for directions");
	f.clock = iso_clock_brief(ctx, "efficiencies", "LORs", 0, NULL); /* steps are not known before */
	if ((st = check_values(&f, &r)) || (st = make_fit(&f)) || (st = check_stray(&f, &r, o->per_lor)))
		goto done;
	for (int64_t i = 0; o->per_lor && i < f.head * f.head; i++) n[i] = e[i] > 0 ? y[i] / e[i] : 0;
	if (!o->per_lor) {
		if ((st = solve(&f, &r.iterations))) goto done;
		share_scale(&f);
		fill(n, &f, &r);
	}
	tell(&r, &f, n, o->per_lor);
	if (o->relative) make_relative(n, &f, &r, o->per_lor);
	for (int64_t i = 0; efficiency && i < 2 * f.head; i++) efficiency[i] = f.factor[i];
	iso_sized_give(figures, sizeof r, &r);
done:
	iso_clock_end(&f.clock);
	free(f.factor);
	return st;
}
