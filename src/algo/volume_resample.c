/* SPDX-License-Identifier: BSD-3-Clause */
/* A volume of any orientation on a grid: a Gaussian along the volume's axes, then linear interpolation. */
#include "core/ctx.h"
#include "core/progress.h"
#include "core/size.h"

#include <math.h>
#include <string.h>

static double length(const struct iso_volume *v, int axis)
{
	return sqrt(v->affine[0][axis] * v->affine[0][axis] + v->affine[1][axis] * v->affine[1][axis] +
	            v->affine[2][axis] * v->affine[2][axis]);
}

static int check(const struct iso_volume *v)
{
	int64_t n;

	for (int a = 0; a < 3; a++)
		if (v->dim[a] < 1)
			return iso_fail(ISO_EARG, "volume: axis %d has size %" PRId64 ", must be at least 1",
			                a, v->dim[a]);
	if (!size_product(&n, 3, v->dim)) return iso_fail(ISO_EARG, "volume: more voxels than 64 bits count");
	for (int i = 0; i < 12; i++)
		if (!isfinite(v->affine[i / 4][i % 4]))
			return iso_fail(ISO_EARG, "volume: voxel size or position is not finite");
	return ISO_OK;
}

/* to[a][r]: voxels along the volume's axis a for each mm along r. ISO_EARG: axes that lie in a plane. */
static int invert(double to[3][3], const struct iso_volume *v)
{
	double det = 0, size = length(v, 0) * length(v, 1) * length(v, 2);

	for (int a = 0; a < 3; a++) {
		int b = (a + 1) % 3, c = (a + 2) % 3;

		for (int r = 0; r < 3; r++) {
			int s = (r + 1) % 3, t = (r + 2) % 3;

			to[a][r] = v->affine[s][b] * v->affine[t][c] - v->affine[t][b] * v->affine[s][c];
		}
	}
	for (int r = 0; r < 3; r++) det += to[0][r] * v->affine[r][0];
	if (!(fabs(det) > 1e-6 * size))
		return iso_fail(ISO_EARG, "volume: its three axes lie in a plane, or a voxel has no size");
	for (int i = 0; i < 9; i++) to[i / 3][i % 3] /= det;
	return ISO_OK;
}

/* Full widths along the volume's axes: what the grid's voxels are wider than the volume's, and `smooth`. */
static void widths(double fwhm[3], const struct iso_grid *g, const struct iso_volume *v, double smooth)
{
	for (int a = 0; a < 3; a++) {
		double own = length(v, a), target = 0;

		for (int r = 0; r < 3; r++) target += pow(v->affine[r][a] / own * g->voxel[r], 2);
		fwhm[a] = sqrt(fmax(0, target - own * own) + smooth * smooth);
		if (fwhm[a] < 1e-3 * own || v->dim[a] == 1) fwhm[a] = 0;
	}
}

/* What the volume is smoothed with, along its own axes; false: nothing. */
static bool smoothing(struct iso_filter *f, struct iso_grid *own, const struct iso_grid *g,
                      const struct iso_volume *v, double smooth)
{
	*f = (struct iso_filter){ .kind = ISO_GAUSSIAN };
	*own = (struct iso_grid){ { v->dim[0], v->dim[1], v->dim[2] },
		                  { length(v, 0), length(v, 1), length(v, 2) },
		                  { 0 } };
	widths(f->fwhm, g, v, smooth);
	return f->fwhm[0] > 0 || f->fwhm[1] > 0 || f->fwhm[2] > 0;
}

/* *soft = the volume after the Gaussian; NULL where there is none to apply. */
static int soften(iso_real **soft, iso_ctx *ctx, const struct iso_grid *to, const struct iso_volume *v,
                  double smooth)
{
	struct iso_filter f;
	struct iso_grid g;
	int64_t n;
	int st;

	*soft = NULL;
	if (!smoothing(&f, &g, to, v, smooth)) return ISO_OK;
	n = iso_grid_voxels(&g);
	if ((st = iso_memory_check(ctx, "resample", n * (int64_t)sizeof **soft))) return st;
	if (!(*soft = size_alloc(n, sizeof **soft)))
		return iso_fail_memory("resample", n * (int64_t)sizeof **soft);
	memcpy(*soft, v->v, (size_t)n * sizeof **soft);
	return iso_filter_host(*soft, ctx, &f, &g);
}

/* Along one axis at `at` voxels: the lower voxel and the upper one's share; false: beyond the outer faces. */
static bool between(int64_t *low, double *share, double at, int64_t n)
{
	if (!(at >= -.5 - 1e-6 && at <= (double)n - .5 + 1e-6)) return false;
	at = fmin(fmax(at, 0), (double)(n - 1));
	*low = at >= (double)(n - 1) && n > 1 ? n - 2 : (int64_t)at;
	*share = at - (double)*low;
	return true;
}

/* The value at `at` voxels along the three axes. */
static bool value_at(double *value, const int64_t dim[3], const iso_real *v, const double at[3])
{
	int64_t low[3], step[3] = { 1, dim[0], dim[0] * dim[1] }, base = 0;
	double share[3], sum = 0;

	for (int a = 0; a < 3; a++) {
		if (!between(&low[a], &share[a], at[a], dim[a])) return false;
		base += low[a] * step[a];
	}
	for (int corner = 0; corner < 8; corner++) {
		double w = 1;
		int64_t i = base;

		for (int a = 0; a < 3; a++) {
			bool up = corner >> a & 1;

			w *= up ? share[a] : 1 - share[a];
			i += up && share[a] > 0 ? step[a] : 0;
		}
		if (w > 0) sum += w * (double)v[i];
	}
	*value = sum;
	return true;
}

/* A row of the grid along x; returns how many of its voxels lie outside. */
static int64_t fill_row(iso_real *x, const struct iso_grid *g, int64_t row, const struct iso_volume *v,
                        const iso_real *values, double to[3][3])
{
	const int64_t index[3] = { 0, row % g->n[1], row / g->n[1] };
	int64_t outside = 0;

	for (int64_t i = 0; i < g->n[0]; i++) {
		double at[3] = { 0 }, value = 0;

		for (int r = 0; r < 3; r++) {
			double k = (double)(r == 0 ? i : index[r]) - .5 * (double)(g->n[r] - 1);
			double d = g->centre[r] + k * g->voxel[r] - v->affine[r][3];

			for (int a = 0; a < 3; a++) at[a] += to[a][r] * d;
		}
		outside += !value_at(&value, v->dim, values, at);
		x[i] = (iso_real)value;
	}
	return outside;
}

int iso_volume_resample(iso_real *x, int64_t *outside, iso_ctx *ctx, const struct iso_grid *g,
                        const struct iso_volume *v, double smooth)
{
	if (!x || !ctx || !g || !v) return iso_fail_null(__func__);
	double to[3][3];
	iso_real *soft = NULL;
	int64_t out = 0;
	int st;

	if (!v->v) return iso_fail(ISO_EARG, "volume: has no values");
	if (!(smooth >= 0 && smooth < 1e6)) return iso_fail(ISO_EARG, "resample: smoothing by %g mm", smooth);
	if ((st = iso_grid_check(g)) || (st = check(v)) || (st = invert(to, v))) return st;
	st = soften(&soft, ctx, g, v, smooth);
	if (!st) {
		struct iso_clock clock = iso_clock_brief(ctx, "resample", "voxels", iso_grid_voxels(g), NULL);

#pragma omp parallel for num_threads(ctx->threads) reduction(+ : out)
		for (int64_t row = 0; row < g->n[1] * g->n[2]; row++) {
			if (!iso_stopped(ctx))
				out += fill_row(x + row * g->n[0], g, row, v, soft ? soft : v->v, to);
			iso_clock_add(&clock, g->n[0]);
		}
		iso_clock_end(&clock);
		st = iso_ctx_poll(ctx);
	}
	free(soft);
	if (!st && outside) *outside = out;
	return st;
}

void iso_volume_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_grid *g,
                     const struct iso_volume *v, double smooth)
{
	if (!plan || !g || !v) return;

	struct iso_filter f;
	struct iso_grid own;

	if (!smoothing(&f, &own, g, v, smooth)) return;
	iso_plan_add(plan, "volume after smoothing", iso_grid_voxels(&own), sizeof(iso_real), false);
	iso_filter_plan(plan, ctx, &f, &own);
}

int iso_volume_grid(struct iso_grid *g, const struct iso_volume *v)
{
	if (!g || !v) return iso_fail_null(__func__);
	struct iso_grid r = { 0 };
	int st = check(v);

	if (st) return st;
	for (int r3 = 0; r3 < 3; r3++) {
		double extent = 0, longest = 0;

		r.centre[r3] = v->affine[r3][3];
		for (int a = 0; a < 3; a++) {
			r.centre[r3] += .5 * (double)(v->dim[a] - 1) * v->affine[r3][a];
			extent += (double)v->dim[a] * fabs(v->affine[r3][a]);
			if (fabs(v->affine[r3][a]) > longest) {
				longest = fabs(v->affine[r3][a]);
				r.voxel[r3] = length(v, a); /* of the axis nearest to this one */
			}
		}
		if (!(r.voxel[r3] > 0) || !(extent / r.voxel[r3] < 1e9))
			return iso_fail(ISO_EARG,
			                "volume: its three axes lie in a plane, or a voxel has no size");
		r.n[r3] = (int64_t)fmax(1, ceil(extent / r.voxel[r3] - 1e-3));
	}
	if ((st = iso_grid_check(&r))) return st;
	*g = r;
	return ISO_OK;
}
