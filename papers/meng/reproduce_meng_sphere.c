/* SPDX-License-Identifier: BSD-3-Clause */
/* Table VI of Meng 2019: the noise of one sphere against its counts, by matrices of more and more
   pairs and of two cuts, and the floor that counts do not remove. */
#include "reproduce_meng.h"

#include <math.h>
#include <stdlib.h>

const double meng_counts[MENG_ACTIVITIES] = { 3.0e5, 7.4e5, 1.5e6, 3.0e6, 7.4e6 };
const double meng_pstd[MENG_ACTIVITIES] = { 6.88, 5.07, 4.56, 3.92, 3.70 };

/* Two cuts of the same counts differ in nothing else; more pairs also change the share that a cut
   can keep. The last one serves all other experiments. */
static const struct {
	const char *name;
	int pairs, cut;
} levels[MENG_LEVELS] = {
	{ "Few pairs", 0, 0 },           { "Working, less cut", 1, 0 }, { "Working", 1, 1 },
	{ "Reference, less cut", 2, 0 }, { "Reference", 2, 1 },
};

static const struct {
	const char *name;
	int a, b;
} steps[MENG_STEPS] = {
	{ "Working instead of reference pairs, cut", 2, 4 },
	{ "Working instead of reference pairs, less cut", 1, 3 },
	{ "Less cut, working pairs", 1, 2 },
	{ "Less cut, reference pairs", 3, 4 },
};

/* ---- the fit ---- */

/* y[i][s] = f^2 + c / N_i by least squares of the relative errors: those of activity i in units of
   scale[i]. The standard error is from what is left over. */
static struct meng_fit fit(const struct meng *m, const double y[MENG_ACTIVITIES][MENG_SCANS],
                           const double scale[MENG_ACTIVITIES])
{
	double w = 0, u = 0, uu = 0, p = 0, up = 0, left = 0;
	int scans = m->scale->scans;
	struct meng_fit f;

	for (int i = 0; i < MENG_ACTIVITIES; i++)
		for (int s = 0; s < scans; s++) {
			double weight = 1 / (scale[i] * scale[i]), x = 1 / m->counts[i];

			w += weight;
			u += weight * x;
			uu += weight * x * x;
			p += weight * y[i][s];
			up += weight * x * y[i][s];
		}
	f.slope = (w * up - u * p) / (w * uu - u * u);
	f.floor2 = (p - f.slope * u) / w;
	for (int i = 0; i < MENG_ACTIVITIES; i++)
		for (int s = 0; s < scans; s++) {
			double off = (y[i][s] - f.floor2 - f.slope / m->counts[i]) / scale[i];

			left += off * off;
		}
	f.error = sqrt(left / (MENG_ACTIVITIES * scans - 2) * uu / (w * uu - u * u));
	return f;
}

/* Mean, and standard deviation of a sample. */
static void spread(double *mean, double *sd, const double *v, int n)
{
	double sum = 0, off = 0;

	for (int s = 0; s < n; s++) sum += v[s];
	*mean = sum / n;
	for (int s = 0; s < n; s++) off += (v[s] - *mean) * (v[s] - *mean);
	*sd = n > 1 ? sqrt(off / (n - 1)) : NAN;
}

static double mean_square(const struct meng *m, int level, int i)
{
	double sum = 0;

	for (int s = 0; s < m->scale->scans; s++)
		sum += m->level[level].pstd[i][s] * m->level[level].pstd[i][s];
	return sum / m->scale->scans;
}

static void fit_level(struct meng *m, int level)
{
	struct meng_level *l = &m->level[level];
	double square[MENG_ACTIVITIES][MENG_SCANS], scale[MENG_ACTIVITIES];

	for (int i = 0; i < MENG_ACTIVITIES; i++) {
		spread(&l->mean[i], &l->sd[i], l->pstd[i], m->scale->scans);
		scale[i] = mean_square(m, level, i);
		for (int s = 0; s < m->scale->scans; s++) square[i][s] = l->pstd[i][s] * l->pstd[i][s];
	}
	l->fit = fit(m, square, scale);
}

/* Both matrices see the same scans: what these have in common does not blur the difference. */
static void fit_step(struct meng *m, int k)
{
	const struct meng_level *a = &m->level[steps[k].a], *b = &m->level[steps[k].b];
	double square[MENG_ACTIVITIES][MENG_SCANS], scale[MENG_ACTIVITIES];

	for (int i = 0; i < MENG_ACTIVITIES; i++) {
		scale[i] = mean_square(m, steps[k].a, i) + mean_square(m, steps[k].b, i);
		for (int s = 0; s < m->scale->scans; s++)
			square[i][s] = a->pstd[i][s] * a->pstd[i][s] - b->pstd[i][s] * b->pstd[i][s];
	}
	m->step[k] = (struct meng_step){ steps[k].name, a, b, fit(m, square, scale) };
}

double meng_floor(const struct meng_fit *f)
{
	return f->floor2 > 0 ? sqrt(f->floor2) : 0;
}

double meng_floor_error(const struct meng_fit *f)
{
	return sqrt(fmax(f->floor2, 0) + f->error) - meng_floor(f);
}

/* ---- scans and images ---- */

static int one_image(struct meng *m, int level, int i, int s, const iso_real *y)
{
	const bool shown = level == MENG_LEVELS - 1 && s == 0;
	const struct dual_recon r = { .iterations = 10 };
	struct iso_array x = { 0 };
	int st;

	if ((st = dual_recon(&x, NULL, &m->mlem, &r, y))) goto done;
	if ((st = dual_pstd(&m->level[level].pstd[i][s], &x, 1, MENG_SLICES, (const double[]){ 0, 0, 0 }, 6)))
		goto done;
	if (shown && (st = dual_draw(&m->sphere[i], &x, 1, MENG_SLICES, 0))) goto done;
	if (shown && i == MENG_ACTIVITIES - 1) st = cmd_write(m->d.c, "sphere.nii", &x);
done:
	iso_array_free(&x);
	return st ? st : dual_poll(&m->d);
}

/* The old projector goes before the next matrix comes. */
static int one_level(struct meng *m, int l, iso_real *y[MENG_ACTIVITIES][MENG_SCANS])
{
	const struct dual_way way = meng_mlem(m->d.fast, ISO_SRM_CORRELATION);
	struct record *rec = &m->d.c->record;
	int st;

	m->level[l].name = levels[l].name;
	record_stage(rec, "matrices");
	dual_model_close(&m->mlem);
	if ((st = dual_simulate(&m->d, m->scale->pairs[levels[l].pairs], m->scale->share[levels[l].cut])))
		return st;
	iso_srm_info(&m->level[l].info, m->d.srm);
	record_stage(rec, "projectors of table VI");
	if ((st = dual_model_open(&m->mlem, &m->d, &way))) return st;
	record_stage(rec, "images of table VI");
	for (int i = 0; i < MENG_ACTIVITIES && !st; i++)
		for (int s = 0; s < m->scale->scans && !st; s++) st = one_image(m, l, i, s, y[i][s]);
	if (!st) fit_level(m, l);
	return st;
}

int meng_table_6(struct meng *m)
{
	iso_real *y[MENG_ACTIVITIES][MENG_SCANS] = { 0 };
	int st = ISO_OK;

	record_stage(&m->d.c->record, "scans of table VI");
	for (int i = 0; i < MENG_ACTIVITIES; i++) {
		m->counts[i] = meng_counts_here(m, meng_counts[i]);
		for (int s = 0; s < m->scale->scans && !st; s++)
			st = meng_scan(&y[i][s], m, "sphere", NULL, m->counts[i], 100 * s + i);
	}
	for (int l = 0; l < MENG_LEVELS && !st; l++) st = one_level(m, l, y);
	for (int k = 0; k < MENG_STEPS && !st; k++) fit_step(m, k);
	for (int i = 0; i < MENG_ACTIVITIES; i++)
		for (int s = 0; s < MENG_SCANS; s++) free(y[i][s]);
	return st;
}
