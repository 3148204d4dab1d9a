/* SPDX-License-Identifier: BSD-3-Clause */
/* Table VI of Meng 2019: the noise of one sphere against its counts, by matrices of more and more
   pairs and of two cuts, and the floor that counts do not remove. */
#include "meng.h"

#include <stdlib.h>

enum {
	LEVELS = 5, /* matrices: few pairs; then working and reference, each less cut and cut */
	STEPS = 4,  /* from one matrix to another, seen in the same scans */
};

static const double paper_counts[MENG_ACTIVITIES] = { 3.0e5, 7.4e5, 1.5e6, 3.0e6, 7.4e6 };
static const double paper_pstd[MENG_ACTIVITIES] = { 6.88, 5.07, 4.56, 3.92, 3.70 };

/* The same fit to the paper's Table VI. */
static const double paper_floor = 3.51, paper_slope = 1.05e7;

/* Two cuts of the same counts differ in nothing else; more pairs also change the share that a cut
   can keep. The last one serves all other experiments. */
static const struct {
	const char *name;
	int pairs, cut;
} levels[LEVELS] = {
	{ "Few pairs", 0, 0 },           { "Working, less cut", 1, 0 }, { "Working", 1, 1 },
	{ "Reference, less cut", 2, 0 }, { "Reference", 2, 1 },
};

static const struct {
	const char *name;
	int a, b;
} steps[STEPS] = {
	{ "Working instead of reference pairs, cut", 2, 4 },
	{ "Working instead of reference pairs, less cut", 1, 3 },
	{ "Less cut, working pairs", 1, 2 },
	{ "Less cut, reference pairs", 3, 4 },
};

/* PSTD^2 = floor2 + slope / counts, in per cent squared; error: the standard error of floor2. */
struct fit {
	double floor2, error, slope;
};

struct level {
	struct iso_srm_info info;
	double pstd[MENG_ACTIVITIES][MENG_SCANS], mean[MENG_ACTIVITIES], sd[MENG_ACTIVITIES];
	struct fit fit;
};

struct table {
	struct meng *m;
	double counts[MENG_ACTIVITIES];
	struct level level[LEVELS];
	struct fit step[STEPS]; /* of the differences of PSTD^2, a less b, in the same scans */
};

/* ---- the fit ---- */

/* y[i][s] = f^2 + c / N_i by least squares of the relative errors: those of activity i in units of
   scale[i]. The standard error is from what is left over. */
static struct fit fit(const struct table *t, const double y[MENG_ACTIVITIES][MENG_SCANS],
                      const double scale[MENG_ACTIVITIES])
{
	double w = 0, u = 0, uu = 0, p = 0, up = 0, left = 0;
	int scans = t->m->scale->scans;
	struct fit f;

	for (int i = 0; i < MENG_ACTIVITIES; i++)
		for (int s = 0; s < scans; s++) {
			double weight = 1 / (scale[i] * scale[i]), x = 1 / t->counts[i];

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
			double off = (y[i][s] - f.floor2 - f.slope / t->counts[i]) / scale[i];

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

static double mean_square(const struct table *t, int level, int i)
{
	const double *pstd = t->level[level].pstd[i];
	double sum = 0;

	for (int s = 0; s < t->m->scale->scans; s++) sum += pstd[s] * pstd[s];
	return sum / t->m->scale->scans;
}

/* Of level a, or, with b >= 0, of the difference of two. Both matrices see the same scans: what these
   have in common does not blur the difference. */
static struct fit fit_levels(const struct table *t, int a, int b)
{
	double square[MENG_ACTIVITIES][MENG_SCANS], scale[MENG_ACTIVITIES];

	for (int i = 0; i < MENG_ACTIVITIES; i++) {
		scale[i] = mean_square(t, a, i) + (b < 0 ? 0 : mean_square(t, b, i));
		for (int s = 0; s < t->m->scale->scans; s++) {
			double x = t->level[a].pstd[i][s], y = b < 0 ? 0 : t->level[b].pstd[i][s];

			square[i][s] = x * x - y * y;
		}
	}
	return fit(t, square, scale);
}

/* The floor, 0 where the fit found none, and how far it rises with floor2 a standard error above. */
static double floor_of(const struct fit *f)
{
	return f->floor2 > 0 ? sqrt(f->floor2) : 0;
}

static double floor_error(const struct fit *f)
{
	return sqrt(fmax(f->floor2, 0) + f->error) - floor_of(f);
}

/* ---- scans and images ---- */

static int one_image(struct table *t, int level, int i, int s, const iso_real *y)
{
	struct meng *m = t->m;
	const bool shown = level == LEVELS - 1 && s == 0;
	double *pstd = &t->level[level].pstd[i][s];
	struct dual_view view = { "sphere", .alt = "slice across y" };
	struct iso_array x = { 0 };
	int st;

	if ((st = dual_recon(&x, NULL, &m->d.model, 10, y, NULL))) goto done;
	if ((st = dual_pstd(pstd, &x, 1, (const double[]){ 0, 0, 0 }, 6))) goto done;
	view.name = study_text("%s events", study_short(t->counts[i]));
	view.note = study_text("PSTD %.2f\u202f%%", *pstd);
	if (shown && (st = dual_draw(&m->d, &x, &view))) goto done;
	if (shown && i == MENG_ACTIVITIES - 1) st = cmd_write(m->d.s.c, "sphere.nii", &x);
done:
	iso_array_free(&x);
	return st ? st : study_poll(&m->d.s);
}

/* The old projector goes before the next matrix comes. */
static int one_level(struct table *t, int l, iso_real *y[MENG_ACTIVITIES][MENG_SCANS])
{
	struct meng *m = t->m;
	struct level *level = &t->level[l];
	int st;

	dual_model_close(&m->d.model);
	if ((st = study_stage(&m->d.s, "matrices"))) return st;
	if ((st = dual_simulate(&m->d, m->scale->pairs[levels[l].pairs], m->scale->share[levels[l].cut])))
		return st;
	level->info.size = sizeof level->info;
	if ((st = iso_srm_info(&level->info, m->d.srm))) return st;
	if ((st = study_stage(&m->d.s, "projectors of table VI"))) return st;
	if ((st = dual_model_open(&m->d.model, &m->d, m->d.s.fast, SRM_CORRELATION, 1))) return st;
	st = study_stage(&m->d.s, "images of table VI");
	for (int i = 0; i < MENG_ACTIVITIES && !st; i++) {
		for (int s = 0; s < m->scale->scans && !st; s++) st = one_image(t, l, i, s, y[i][s]);
		spread(&level->mean[i], &level->sd[i], level->pstd[i], m->scale->scans);
	}
	if (!st) level->fit = fit_levels(t, l, -1);
	return st;
}

/* ---- what is told of them ---- */

static void tell_level(const struct table *t, json_t *rows, int l)
{
	const struct level *k = &t->level[l];
	const struct iso_srm_info *i = &k->info;
	json_t *scans = json_array(), *cells = json_array(), *row;

	for (int a = 0; a < MENG_ACTIVITIES; a++) {
		json_array_append_new(scans, record_reals(t->m->scale->scans, k->pstd[a]));
		json_array_append_new(cells, record_pack("[f,f]", k->mean[a], k->sd[a]));
	}
	row = record_pack("{s:s, s:I, s:f, s:f, s:o, s:o, s:o, s:f, s:f, s:f}", "matrix", levels[l].name,
	                  "pairs", (json_int_t)i->pairs, "kept_share", i->kept, "core_counts", i->core_counts,
	                  "pstd_percent", record_reals(MENG_ACTIVITIES, k->mean), "pstd_deviation_percent",
	                  record_reals(MENG_ACTIVITIES, k->sd), "pstd_of_scans_percent", scans,
	                  "floor_percent", floor_of(&k->fit), "floor_error_percent", floor_error(&k->fit),
	                  "slope", k->fit.slope);
	json_array_append(rows, row);
	study_row(&t->m->d.s, "levels",
	          record_pack("[o,o,f,f,f,f]", row, cells, (double)i->elements / (double)i->columns,
	                      i->bytes_full / 0x1p30, i->bytes_row / 0x1p20, i->bytes_column / 0x1p20));
}

/* It says something beyond two standard errors. */
static void tell_step(const struct table *t, json_t *rows, int k)
{
	const struct fit *f = &t->step[k];
	const char *says = f->floor2 > 2 * f->error ? "raises the floor"
	                   : f->floor2 < -2 * f->error
	                           ? "lowers the floor"
	                           : "leaves the floor where it is, as far as can be told";
	json_t *row = record_pack("{s:s, s:f, s:f}", "step", steps[k].name, "floor_squared_percent2",
	                          f->floor2, "error_percent2", f->error);

	json_array_append(rows, row);
	study_row(&t->m->d.s, "steps",
	          record_pack("[o,f,f,s]", row, t->level[steps[k].a].info.kept,
	                      t->level[steps[k].b].info.kept, says));
}

static void draw_curves(const struct table *t)
{
	double x[MENG_ACTIVITIES], paper_x[MENG_ACTIVITIES];
	struct iso_svg_curve curve[LEVELS + 1] = { { "Paper", 0, MENG_ACTIVITIES, paper_x, paper_pstd } };

	for (int i = 0; i < MENG_ACTIVITIES; i++) {
		x[i] = log10(t->counts[i]);
		paper_x[i] = log10(paper_counts[i]);
	}
	for (int l = 0; l < LEVELS; l++)
		curve[l + 1] =
			(struct iso_svg_curve){ levels[l].name, l + 1, MENG_ACTIVITIES, x, t->level[l].mean };
	study_chart(&t->m->d.s, "noise_chart", "PSTD against the number of events", "log10 of the events",
	            "PSTD, %", LEVELS + 1, curve);
}

static void tell(const struct table *t)
{
	const struct level *last = &t->level[LEVELS - 1];
	const double ratio = paper_slope / last->fit.slope;
	json_t *rows = json_array(), *changes = json_array();
	struct meng *m = t->m;

	for (int l = 0; l < LEVELS; l++) tell_level(t, rows, l);
	for (int k = 0; k < STEPS; k++) tell_step(t, changes, k);
	draw_curves(t);
	if (m->scale->factor == 1) /* its size can be had by few pairs, all kept, or by many and a cut */
		study_show(&m->d.s, "verdict",
		           record_pack("[f,f,f,f]", t->level[0].info.bytes_full / 0x1p30,
		                       last->info.bytes_full / 0x1p30, ratio,
		                       floor_of(&last->fit) * sqrt(ratio)));
	study_result(&m->d.s, "table_6",
	             record_pack("{s:o, s:i, s:o, s:o, s:o, s:f}", "events",
	                         record_reals(MENG_ACTIVITIES, t->counts), "scans", m->scale->scans,
	                         "matrices", rows, "steps", changes, "paper_pstd_percent",
	                         record_reals(MENG_ACTIVITIES, paper_pstd), "paper_floor_percent",
	                         paper_floor));
	study_show(&m->d.s, "matrix",
	           record_pack("{s:i, s:o, s:f, s:b}", "voxels", t->level[0].info.voxels, "share",
	                       record_reals(2, m->scale->share), "seconds", m->d.matrix_s, "several",
	                       m->scale->scans > 1));
}

int meng_table_6(struct meng *m)
{
	iso_real *y[MENG_ACTIVITIES][MENG_SCANS] = { 0 };
	struct table t = { .m = m };
	int st = study_stage(&m->d.s, "scans of table VI");

	for (int i = 0; i < MENG_ACTIVITIES; i++) {
		t.counts[i] = meng_counts_here(m, paper_counts[i]);
		for (int s = 0; s < m->scale->scans && !st; s++) {
			const uint64_t seed = MENG_SEED + 100 * (uint64_t)s + (uint64_t)i;

			st = dual_scan(&y[i][s], NULL, &m->d,
			               &(struct dual_scan){ "sphere", NULL, t.counts[i], 0, seed });
		}
	}
	for (int l = 0; l < LEVELS && !st; l++) st = one_level(&t, l, y);
	for (int k = 0; k < STEPS && !st; k++) t.step[k] = fit_levels(&t, steps[k].a, steps[k].b);
	if (!st) tell(&t);
	for (int i = 0; i < MENG_ACTIVITIES; i++)
		for (int s = 0; s < MENG_SCANS; s++) free(y[i][s]);
	return st;
}
