/* SPDX-License-Identifier: BSD-3-Clause */
/* The page, and the record, of the experiments of Meng 2019. */
#include "reproduce_meng.h"

#include "cmd/measure/measure.h"
#include "report/page.h"
#include "report/value.h"
#include "papers/reproduce_page.h"

#include <math.h>
#include <stdio.h>

/* The same fit to the paper's Table VI. */
static const double paper_floor = 3.51, paper_floor_error = .07, paper_slope = 1.05e7;
static const double paper_tbr[DUAL_STRATEGIES] = { 4.98, 4.97, 4.95, 4.95 };    /* CPU, row, ... */
static const double paper_diff[DUAL_STRATEGIES] = { NAN, .55, .34, .006 };      /* Derenzo */
static const double paper_forward[DUAL_STRATEGIES] = { 182.0, 1.4, 34.6, 1.4 }; /* Table IV, s */
static const double paper_back[DUAL_STRATEGIES] = { 159.3, 9.2, 1.6, 1.6 };

/* ---- the matrix ---- */

static void put_level(struct iso_text *t, const struct iso_srm_info *i, const char *name)
{
	char pairs[PAGE_COUNT];

	iso_text_add(t,
	             "<tr><th scope='row'>%s</th><td>%s</td><td>%.4g</td><td>%.1f\u202f%%</td>"
	             "<td>%.0f</td><td>%.4g</td><td>%.4g</td><td>%.4g</td></tr>\n",
	             name, page_count(pairs, (double)i->pairs), i->core_counts, 100 * i->kept,
	             (double)i->elements / (double)i->columns, i->bytes_full / 0x1p30, i->bytes_row / 0x1p20,
	             i->bytes_column / 0x1p20);
}

static void put_matrix(struct iso_text *t, const struct meng *m)
{
	static const char *const heads[] = {
		"Matrix",           "Pairs a voxel",     "Counts an element, core",
		"Sensitivity kept", "Elements a column", "Full, GB",
		"Rows, MB",         "Columns, MB",
	};

	iso_text_add(t,
	             "<section>\n<h2>Table I: the system matrix</h2>\n<p>By photon transport in %d "
	             "voxels, cut at the weight that keeps %.0f\u202f%% of the sensitivity, or %.0f\u202f%% "
	             "(less cut), as far as weights of whole counts allow; made in ",
	             m->level[0].info.voxels, 100 * m->scale->share[1], 100 * m->scale->share[0]);
	page_time(t, m->d.matrix_s);
	iso_text_add(t, ". Sizes at 8 bytes an element. Here: %s.</p>\n", m->scale->what);
	page_table_open(t, 8, heads);
	for (int l = 0; l < MENG_LEVELS; l++) put_level(t, &m->level[l].info, m->level[l].name);
	iso_text_add(t, "<tr><th scope='row'>In the paper</th><td>\u2013</td><td>\u2013</td><td>\u2013"
	                "</td><td>\u2013</td><td>139</td><td>227</td><td>345</td></tr>\n");
	page_table_close(t);
	iso_text_add(t, "</section>\n");
}

/* ---- Table VI ---- */

static void put_curves(struct iso_text *t, const struct meng *m)
{
	double x[MENG_ACTIVITIES], paper_x[MENG_ACTIVITIES];
	struct iso_svg_curve curve[MENG_LEVELS + 1];
	const struct iso_svg_chart chart = {
		.label = "PSTD against the number of events",
		.x_label = "log10 of the events",
		.y_label = "PSTD, %",
		.n = MENG_LEVELS + 1,
		.curve = curve,
		.from_zero = true,
	};

	for (int i = 0; i < MENG_ACTIVITIES; i++) {
		x[i] = log10(m->counts[i]);
		paper_x[i] = log10(meng_counts[i]);
	}
	curve[0] = (struct iso_svg_curve){ "Paper", 0, MENG_ACTIVITIES, paper_x, meng_pstd };
	for (int l = 0; l < MENG_LEVELS; l++)
		curve[l + 1] = (struct iso_svg_curve){ m->level[l].name, l + 1, MENG_ACTIVITIES, x,
			                               m->level[l].mean };
	iso_text_add(t, "<figure class='chart wide'>");
	iso_svg_chart(t, &chart);
	iso_text_add(t, "</figure>\n");
}

static void put_with_error(struct iso_text *t, double v, double error, const char *unit)
{
	iso_text_add(t, "<td>%s%.2f", v < 0 ? "\u2212" : "", fabs(v));
	if (!isnan(error)) iso_text_add(t, "\u00a0\u00b1\u00a0%.2f", error);
	iso_text_add(t, "%s</td>", unit);
}

static void put_pstd_rows(struct iso_text *t, const struct meng *m)
{
	char c[PAGE_COUNT];

	for (int l = 0; l < MENG_LEVELS; l++) {
		const struct meng_level *k = &m->level[l];

		iso_text_add(t, "<tr><th scope='row'>%s</th>", k->name);
		for (int i = 0; i < MENG_ACTIVITIES; i++) put_with_error(t, k->mean[i], k->sd[i], "");
		put_with_error(t, meng_floor(&k->fit), meng_floor_error(&k->fit), "\u202f%");
		iso_text_add(t, "<td>%s</td></tr>\n", page_count(c, k->fit.slope));
	}
	iso_text_add(t, "<tr><th scope='row'>In the paper, at 3.0e5 7.4e5 1.5e6 3.0e6 7.4e6</th>");
	for (int i = 0; i < MENG_ACTIVITIES; i++) put_with_error(t, meng_pstd[i], NAN, "");
	put_with_error(t, paper_floor, paper_floor_error, "\u202f%");
	iso_text_add(t, "<td>%s</td></tr>\n", page_count(c, paper_slope));
}

static void put_steps(struct iso_text *t, const struct meng *m)
{
	static const char *const heads[] = { "What changes", "Sensitivity kept", "Adds to f\u00b2, %\u00b2" };

	page_table_open(t, 3, heads);
	for (int k = 0; k < MENG_STEPS; k++) {
		iso_text_add(t, "<tr><th scope='row'>%s</th><td>%.1f instead of %.1f\u202f%%</td>",
		             m->step[k].name, 100 * m->step[k].a->info.kept, 100 * m->step[k].b->info.kept);
		put_with_error(t, m->step[k].fit.floor2, m->step[k].fit.error, "");
		iso_text_add(t, "</tr>\n");
	}
	page_table_close(t);
}

/* Beyond two standard errors. */
static const char *says(const struct meng_step *k)
{
	return k->fit.floor2 > 2 * k->fit.error    ? "raises the floor"
	       : k->fit.floor2 < -2 * k->fit.error ? "lowers the floor"
	                                           : "leaves the floor where it is, as far as can be told";
}

/* The paper's size of a matrix can be had by few pairs, all kept, or by many pairs and a cut. */
static void put_verdict(struct iso_text *t, const struct meng *m)
{
	const struct meng_level *first = &m->level[0], *end = &m->level[MENG_LEVELS - 1];
	const struct meng_fit *few = &first->fit, *last = &end->fit;

	iso_text_add(
		t,
		"<p>Fewer pairs behind the matrix that is cut: this %s; behind the one that is "
		"less cut: this %s. Where the shares kept differ, so does the cut: weights of whole counts "
		"can\u2019t be cut at any share. The weaker cut itself %s (working pairs) and %s "
		"(reference pairs); the elements that it keeps besides have the fewest counts.</p>\n",
		says(&m->step[0]), says(&m->step[1]), says(&m->step[2]), says(&m->step[3]));
	if (m->scale->factor != 1) {
		iso_text_add(t,
		             "<p>Another scanner and other counts than the paper\u2019s: its %.1f\u202f%% "
		             "can\u2019t be judged at this scale.</p>\n",
		             paper_floor);
		return;
	}
	iso_text_add(t,
	             "<p>The paper tells neither its number of pairs nor a cut. A full matrix of about "
	             "its 139 GB comes of few pairs, all kept (%.0f GB), or of many pairs and a cut (%.0f "
	             "GB): they "
	             "leave %.2f \u00b1 %.2f and %.2f \u00b1 %.2f\u202f%%, not %.1f. ",
	             first->info.bytes_full / 0x1p30, end->info.bytes_full / 0x1p30, meng_floor(few),
	             meng_floor_error(few), meng_floor(last), meng_floor_error(last), paper_floor);
	iso_text_add(t,
	             "Its c is %.2g times that of the last matrix: its sphere, region or slices, which "
	             "it does not give, may be others. A floor that grows as the noise does would be "
	             "%.2f\u202f%%.</p>\n",
	             paper_slope / last->slope, meng_floor(last) * sqrt(paper_slope / last->slope));
}

static int put_table_6(struct iso_text *t, const struct meng *m)
{
	char head[MENG_ACTIVITIES][PAGE_COUNT + 8], c[PAGE_COUNT], note[32];
	const char *heads[MENG_ACTIVITIES + 3] = { "PSTD, %" };
	int st = ISO_OK;

	for (int i = 0; i < MENG_ACTIVITIES; i++) {
		snprintf(head[i], sizeof head[i], "%s events", page_count(c, m->counts[i]));
		heads[i + 1] = head[i];
	}
	heads[MENG_ACTIVITIES + 1] = "Floor f";
	heads[MENG_ACTIVITIES + 2] = "c, %\u00b2";
	iso_text_add(
		t,
		"<section>\n<h2>Table VI: one sphere, more and more events</h2>\n<p>Radius 10 "
		"mm, MLEM with 10 iterations, a disc of 6 mm in the mean of the slices within 2.5 mm of "
		"the middle (the paper gives neither radius nor region). %d scan%s of each number of "
		"events%s, the same for every matrix. The last columns fit PSTD\u00b2 = f\u00b2 + c/N to "
		"all of them: f is the floor that more counts do not remove, 0 where the fit found none, "
		"\u00b1 its standard error.</p>\n",
		m->scale->scans, m->scale->scans > 1 ? "s" : "",
		m->scale->scans > 1 ? ": their mean \u00b1 standard deviation" : "");
	page_table_open(t, MENG_ACTIVITIES + 3, heads);
	put_pstd_rows(t, m);
	page_table_close(t);
	put_curves(t, m);
	iso_text_add(t, "<p>From one matrix to another in the same scans, whose chances cancel:</p>\n");
	put_steps(t, m);
	put_verdict(t, m);
	iso_text_add(t, "<div class='row' style='--n:5'>\n");
	for (int i = 0; i < MENG_ACTIVITIES && !st; i++) {
		snprintf(note, sizeof note, "PSTD %.2f\u202f%%", m->level[MENG_LEVELS - 1].pstd[i][0]);
		st = page_picture(t, &m->sphere[i], head[i], "slice across y", note);
	}
	iso_text_add(t, "</div>\n<p>By the last matrix, the first scan of each.</p>\n</section>\n");
	return st;
}

/* ---- two spheres ---- */

static int put_spheres(struct iso_text *t, const struct meng *m)
{
	static const char *const heads[] = { "Phantom", "Events", "PSTD, region I, %", "region II, %",
		                             "plane YoZ, %" };
	static const char *const names[MENG_SPHERES] = { "As printed: centres 20 mm apart",
		                                         "Surfaces 20 mm apart" };
	char events[PAGE_COUNT];
	int st = ISO_OK;

	iso_text_add(
		t,
		"<section>\n<h2>Figures 8 to 10: two spheres</h2>\n<p>Radii 10 and 15 mm, MLEM "
		"with 10 iterations. Region I is a disc of 6 mm in the large sphere, II one of 5 mm in the "
		"small, in the mean of the slices within 2.5 mm of the middle; YoZ is region I across x "
		"instead of y. Spheres whose centres are 20 mm apart, as printed, overlap.</p>\n");
	page_table_open(t, 5, heads);
	for (int k = 0; k < MENG_SPHERES; k++) {
		iso_text_add(t, "<tr><th scope='row'>%s</th><td>%s</td>", names[k],
		             page_count(events, m->spheres[k].counts));
		for (int i = 0; i < MENG_REGIONS; i++) page_number_cell(t, m->spheres[k].pstd[i], 4);
		iso_text_add(t, "</tr>\n");
	}
	iso_text_add(t, "<tr><th scope='row'>In the paper</th><td>6.3e6</td><td>3.045 \u00b1 0.005</td>"
	                "<td>2.414 \u00b1 0.021</td><td>4.0625 \u00b1 0.0013</td></tr>\n");
	page_table_close(t);
	iso_text_add(t, "<div class='row' style='--n:2'>\n");
	for (int k = 0; k < MENG_SPHERES && !st; k++)
		st = page_picture(t, &m->spheres[k].pixels, names[k], "slice across y", "across y");
	for (int k = 0; k < MENG_SPHERES && !st; k++)
		st = page_picture(t, &m->spheres[k].side, names[k], "slice across x",
		                  "across x: the plane YoZ, the upper head above");
	iso_text_add(t, "</div>\n</section>\n");
	return st;
}

/* ---- Derenzo ---- */

static void put_rods(struct iso_text *t, const struct iso_rods *r)
{
	static const char *const heads[] = {
		"Rods",        "Number",           "FWHM, median, mm", "quartiles",
		"of profiles", "FWTM, median, mm", "quartiles",        "of profiles",
		"Valley/peak", "Resolved",         "In the paper",
	};

	page_table_open(t, 11, heads);
	for (int i = 0; i < r->n; i++) {
		const struct iso_rods_size *s = &r->size[i];

		iso_text_add(t, "<tr><th scope='row'>%g mm</th><td>%d</td>", s->diameter, s->rods);
		for (int k = 0; k < 2; k++) {
			const struct iso_quartiles *q = k ? &s->fwtm : &s->fwhm;

			page_number_cell(t, q->median, 3);
			if (q->n > 0)
				iso_text_add(t, "<td>%.3g\u2013%.3g</td>", q->low, q->high);
			else
				iso_text_add(t, "<td>\u2013</td>");
			iso_text_add(t, "<td>%d of %d</td>", q->n, s->profiles);
		}
		iso_text_add(t,
		             "<td>%.2f<small>peak/valley %.3g</small></td>"
		             "<td>%s<small>%.0f\u202f%% of %d pairs</small></td><td>%s</td></tr>\n",
		             s->valley, 1 / s->valley, s->valley < ISO_RODS_VALLEY ? "yes" : "no",
		             100 * s->resolved, s->pairs, s->diameter > 1.1 ? "yes" : "no");
	}
	page_table_close(t);
}

static int put_derenzo(struct iso_text *t, const struct meng *m)
{
	const struct iso_svg_curve curve[] = {
		{ "Phantom", 0, m->derenzo.samples, m->derenzo.place, m->derenzo.truth },
		{ "Image", 1, m->derenzo.samples, m->derenzo.place, m->derenzo.profile },
	};
	const struct iso_svg_chart chart = {
		.label = "Profile along z through rods",
		.x_label = "z, mm",
		.y_label = "over its mean",
		.n = 2,
		.curve = curve,
		.from_zero = true,
	};
	struct iso_pixels boxes = { 0 };
	char events[PAGE_COUNT];
	int st;

	iso_text_add(
		t,
		"<section>\n<h2>Figures 11 and 12: the Derenzo phantom</h2>\n<p>Rods along y, "
		"spaced by two diameters; %s simulated events (the paper measured 1.4e7 in its prototype), "
		"MLEM with %d iterations (the paper: 100), mean of the slices within 2.5 mm of the middle. "
		"Rods count as resolved where the value halfway between two of them (the valley) is below "
		"0.735 of theirs, in the mean of all pairs. Widths are of two profiles a rod; one that does "
		"not fall to a half or a tenth before the next rod counts as none. Rods may come out "
		"narrower than they are: after tens of iterations without smoothing their middles "
		"overshoot.</p>\n",
		page_count(events, m->derenzo.counts), m->scale->derenzo_iterations);
	put_rods(t, &m->derenzo.rods);
	if ((st = measure_rods_boxes(&boxes, &m->derenzo.rods))) goto done;
	iso_text_add(t, "<div class='row' style='--n:2'>\n");
	if ((st = page_picture(t, &m->derenzo.pixels, "Derenzo", "slice across y", ""))) goto done;
	iso_text_add(t, "</div>\n<div class='row' style='--n:1'>\n");
	if ((st = page_picture(t, &boxes, "Widths of rods, mm", "boxes and whiskers",
	                       "quartiles and "
	                       "extremes for each diameter, at a half and at a tenth of the height")))
		goto done;
	iso_text_add(t, "</div>\n<figure class='chart wide'>");
	iso_svg_chart(t, &chart);
	iso_text_add(t, "</figure>\n<p>Profile along z at x = \u22125.54 mm, in the same mean of "
	                "slices, through rods of 1.6 mm.</p>\n</section>\n");
done:
	iso_pixels_free(&boxes);
	return st;
}

/* ---- point ---- */

static int put_point(struct iso_text *t, const struct meng *m)
{
	static const char *const heads[] = { "", "FWHM, mm", "Time an iteration", "In the paper" };
	static const char *const names[] = { "MLEM, 10 iterations", "OSEM, 10 subsets, 1 iteration" };
	static const char *const paper[] = { "3.0 s", "6.8 s" };
	char events[PAGE_COUNT];
	int st = ISO_OK;

	iso_text_add(t,
	             "<section>\n<h2>OSEM against MLEM: a point source</h2>\n<p>%s events; the "
	             "images differ by %.3g\u202f%% (sum of |differences|). The paper sees no obvious "
	             "difference. Its OSEM recomputes the sensitivity of each subset; here that is kept. An "
	             "iteration of OSEM is an update with each of its 10 subsets.</p>\n",
	             page_count(events, m->point.counts), m->point.diff);
	page_table_open(t, 4, heads);
	for (int k = 0; k < 2; k++) {
		iso_text_add(t, "<tr><th scope='row'>%s</th>", names[k]);
		page_number_cell(t, m->point.fwhm[k], 3);
		page_time_cell(t, m->point.seconds[k]);
		iso_text_add(t, "<td>%s</td></tr>\n", paper[k]);
	}
	page_table_close(t);
	iso_text_add(t, "<div class='row' style='--n:2'>\n");
	for (int k = 0; k < 2 && !st; k++)
		st = page_picture(t, &m->point.pixels[k], names[k], "slice across y", "");
	iso_text_add(t, "</div>\n</section>\n");
	return st;
}

/* ---- mouse, Tables III, IV, V ---- */

static void put_way(struct iso_text *t, const struct meng_way *w, const char *device, const char *strategy)
{
	double total = w->times.forward + w->times.back;

	iso_text_add(t, "<tr><th scope='row'>%s, <code>%s</code></th>", device, strategy);
	page_number_cell(t, w->tbr, 4);
	page_number_cell(t, w->diff, 3);
	page_time_cell(t, w->times.forward);
	page_time_cell(t, w->times.back);
	page_time_cell(t, total);
	page_time_cell(t, w->seconds);
	iso_text_add(t, "</tr>\n");
}

static void put_paper_ways(struct iso_text *t)
{
	static const char *const names[DUAL_STRATEGIES] = { "Xeon E5-2630 v3", "Quadro K4200, LOR",
		                                            "Quadro K4200, voxel",
		                                            "Quadro K4200, LOR and voxel" };

	for (int i = 0; i < DUAL_STRATEGIES; i++) {
		iso_text_add(t, "<tr><th scope='row'>In the paper: %s</th><td>%.2f</td>", names[i],
		             paper_tbr[i]);
		page_number_cell(t, paper_diff[i], 3);
		page_time_cell(t, paper_forward[i]);
		page_time_cell(t, paper_back[i]);
		page_time_cell(t, paper_forward[i] + paper_back[i]);
		iso_text_add(t, "<td>\u2013</td></tr>\n");
	}
}

/* Strategies of a device, fastest first by both projections. */
static void put_order(struct iso_text *t, const struct meng_way *w)
{
	bool told[DUAL_STRATEGIES] = { false };

	for (int n = 0; n < DUAL_STRATEGIES; n++) {
		int best = -1;

		for (int k = 0; k < DUAL_STRATEGIES; k++)
			if (!told[k] && (best < 0 || w[k].times.forward + w[k].times.back <
			                                     w[best].times.forward + w[best].times.back))
				best = k;
		told[best] = true;
		iso_text_add(t, "%s<code>%s</code>", n ? ", " : "", dual_strategies[best]);
	}
}

static void put_orders(struct iso_text *t, const struct meng *m)
{
	iso_text_add(t, "<p>Fastest first, on the CPU: ");
	put_order(t, m->way);
	if (m->d.devices.cuda) {
		iso_text_add(t, "; on CUDA: ");
		put_order(t, m->way + DUAL_STRATEGIES);
	}
	iso_text_add(t,
	             ". The paper: <code>combined</code>, <code>row</code>, <code>column</code> on its "
	             "GPU, where <code>row</code> back and <code>column</code> forward add by atomics. Here "
	             "only CUDA has threads that add to one place; on the CPU each owns a plane or a "
	             "direction. <code>correlation</code> is not in the paper.</p>\n");
}

static void put_variants(struct iso_text *t, const struct dual_ladder *l)
{
	if (isnan(l->one_thread)) return;
	iso_text_add(t, "<p>On CUDA, forward projection LOR by LOR with one thread a LOR takes ");
	page_time(t, l->one_thread);
	iso_text_add(t, ", with 128 ");
	page_time(t, l->step[ISO_SRM_SHARED]);
	iso_text_add(t, "; back projection with the columns of all phases ");
	page_time(t, l->columns[0]);
	iso_text_add(t, ", with the folded ones ");
	page_time(t, l->columns[1]);
	iso_text_add(t, " (the paper: 3.0 s an iteration with 16 columns a plane, 3.8 s with 4).</p>\n");
}

static int put_mouse(struct iso_text *t, const struct meng *m)
{
	static const char *const heads[] = {
		"Strategy", "TBR", "diff%", "Forward", "Back", "Both", "MLEM iteration",
	};
	char events[PAGE_COUNT];
	int st;

	iso_text_add(
		t,
		"<section>\n<h2>Tables III and IV: a mouse, by every strategy</h2>\n<p>A mouse "
		"of ellipsoids whose tumour has five times the activity of muscle, %s events (the paper: a "
		"mouse, 8.5e7), MLEM with 10 iterations. TBR is tumour over muscle, diff%% is against "
		"<code>combined</code> on the CPU, whose sums are in double (the paper\u2019s is of a "
		"region of its Derenzo image, against its CPU). Times are medians of %d after "
		"a warm-up; where that takes more than a second, it is the time.</p>\n",
		page_count(events, m->mouse_counts), m->scale->repeats);
	page_table_open(t, 7, heads);
	for (int k = 0; k < MENG_WAYS; k++)
		put_way(t, &m->way[k], k < DUAL_STRATEGIES ? "CPU" : "CUDA",
		        dual_strategies[k % DUAL_STRATEGIES]);
	put_paper_ways(t);
	page_table_close(t);
	put_orders(t, m);
	put_variants(t, &m->ladder);
	iso_text_add(t, "<p>Table V of the paper compares three GPUs (3.0, 1.9 and 5.6 s an iteration "
	                "on Quadro K4200, GTX 1060 and GTX 750 Ti). ");
	iso_text_add(t, m->d.devices.cuda ? "Only the GPU named above was at hand." : "No GPU was at hand.");
	iso_text_add(t, "</p>\n<div class='row' style='--n:2'>\n");
	st = page_picture(t, &m->mouse, "Mouse", "coronal slice, nose to the right", "");
	iso_text_add(t, "</div>\n</section>\n");
	return st;
}

int meng_page(struct iso_text *t, const struct meng *m)
{
	int st;

	iso_page_open(t, "Isotome reproduces", "Meng et al. 2019: dual-head PET on a GPU");
	page_machine(t, m->scale->name, &m->d.devices);
	put_matrix(t, m);
	if ((st = put_table_6(t, m)) || (st = put_spheres(t, m)) || (st = put_derenzo(t, m)) ||
	    (st = put_point(t, m)) || (st = put_mouse(t, m)))
		return st;
	iso_page_close(t, "reproduce");
	return t->failed ? iso_fail_memory("reproduce", (int64_t)t->n) : ISO_OK;
}

/* ---- the record ---- */

/* A list for each activity. */
static json_t *scans_json(const struct meng *m, const struct meng_level *l)
{
	json_t *list = json_array();

	for (int i = 0; i < MENG_ACTIVITIES; i++)
		json_array_append_new(list, record_reals(m->scale->scans, l->pstd[i]));
	return list;
}

static json_t *level_json(const struct meng *m, const struct meng_level *l)
{
	return record_pack("{s:s, s:I, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:o}", "matrix", l->name, "pairs",
	                   (json_int_t)l->info.pairs, "kept_share", l->info.kept, "core_counts",
	                   l->info.core_counts, "pstd_percent", record_reals(MENG_ACTIVITIES, l->mean),
	                   "pstd_deviation_percent", record_reals(MENG_ACTIVITIES, l->sd),
	                   "pstd_of_scans_percent", scans_json(m, l), "floor_percent",
	                   record_real(meng_floor(&l->fit)), "floor_error_percent",
	                   record_real(meng_floor_error(&l->fit)), "slope", record_real(l->fit.slope));
}

static int record_table_6(const struct meng *m)
{
	json_t *rows = json_array(), *steps = json_array();

	for (int l = 0; l < MENG_LEVELS; l++) json_array_append_new(rows, level_json(m, &m->level[l]));
	for (int k = 0; k < MENG_STEPS; k++)
		json_array_append_new(steps,
		                      json_pack("{s:s, s:o, s:o}", "step", m->step[k].name,
		                                "floor_squared_percent2", record_real(m->step[k].fit.floor2),
		                                "error_percent2", record_real(m->step[k].fit.error)));
	return record_result(&m->d.c->record, "table_6",
	                     record_pack("{s:o, s:i, s:o, s:o, s:o, s:f}", "events",
	                                 record_reals(MENG_ACTIVITIES, m->counts), "scans", m->scale->scans,
	                                 "matrices", rows, "steps", steps, "paper_pstd_percent",
	                                 record_reals(MENG_ACTIVITIES, meng_pstd), "paper_floor_percent",
	                                 paper_floor));
}

static int record_ways(const struct meng *m)
{
	json_t *rows = json_array();

	for (int k = 0; k < MENG_WAYS; k++) {
		const struct meng_way *w = &m->way[k];

		json_array_append_new(
			rows, json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "device",
		                        k < DUAL_STRATEGIES ? "cpu" : "cuda", "strategy",
		                        dual_strategies[k % DUAL_STRATEGIES], "tbr", record_real(w->tbr),
		                        "diff_percent", record_real(w->diff), "forward_s",
		                        record_real(w->times.forward), "back_s", record_real(w->times.back),
		                        "iteration_s", record_real(w->seconds)));
	}
	return record_result(&m->d.c->record, "tables_3_and_4", rows);
}

int meng_record(const struct meng *m)
{
	struct record *r = &m->d.c->record;
	int st;

	if ((st = record_table_6(m)) || (st = record_ways(m))) return st;
	if ((st = record_result(r, "derenzo",
	                        record_pack("{s:f, s:i, s:o}", "events", m->derenzo.counts, "iterations",
	                                    m->scale->derenzo_iterations, "rods",
	                                    measure_rods_json(&m->derenzo.rods)))))
		return st;
	if ((st = record_result(r, "point",
	                        record_pack("{s:f, s:o, s:o, s:o}", "events", m->point.counts, "fwhm_mm",
	                                    record_reals(2, m->point.fwhm), "iteration_s",
	                                    record_reals(2, m->point.seconds), "diff_percent",
	                                    record_real(m->point.diff)))))
		return st;
	return record_result(r, "two_spheres_pstd_percent",
	                     json_pack("{s:o, s:o}", "union", record_reals(MENG_REGIONS, m->spheres[0].pstd),
	                               "apart", record_reals(MENG_REGIONS, m->spheres[1].pstd)));
}
