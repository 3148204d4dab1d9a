/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome measure roi and isotome measure tbr: statistics of regions, tumour to background. */
#include "measure.h"

#include "base/utf8.h"
#include "core/size.h"

#include <string.h>

enum { MAX_REGIONS = 64, MAX_TEXT = 256 };

struct region {
	char name[MAX_TEXT];
	const char *shape;
	struct iso_roi roi;
	struct iso_roi_stats stats;
	struct iso_interval over; /* replicates */
};

struct regions {
	const char *in, *text[4]; /* as given, by kind */
	const char *replicates;   /* a 4-D image, or NULL */
	int n;
	struct region v[MAX_REGIONS];
};

/* What is written of a region of each kind; iso_roi_parse reads it behind "OPTION:". */
static const struct form {
	const char *option, *value;
} forms[] = {
	[ISO_ROI_SPHERE] = { "sphere", "X,Y,Z,R" },
	[ISO_ROI_CYLINDER] = { "cylinder", "X,Y,Z,R,LENGTH[,AXIS]" },
	[ISO_ROI_BOX] = { "box", "X0,X1,Y0,Y1,Z0,Z1" },
	[ISO_ROI_MASK] = { "mask", "FILE" },
};

/* ---- from text ---- */

/* One region, "[NAME=]numbers", in a text that may be changed. */
static int parse_region(struct region *r, enum iso_roi_kind kind, char *text, int number)
{
	const struct form *f = &forms[kind];
	char *equals = strchr(text, '='), shape[MAX_TEXT + 16];

	r->shape = f->option;
	if (equals) {
		*equals = '\0';
		snprintf(r->name, sizeof r->name, "%s", iso_utf8_clean(text));
		text = equals + 1;
	} else {
		snprintf(r->name, sizeof r->name, "%s %d", f->option, number);
	}
	if (!text[0]) return iso_fail(ISO_EARG, "--%s is empty, must be %s", f->option, f->value);
	snprintf(shape, sizeof shape, "%s:%s", f->option, text);
	return iso_roi_parse(&r->roi, shape)
	               ? iso_fail(ISO_EARG, "--%s is '%s', must be %s", f->option, text, f->value)
	               : ISO_OK;
}

static int parse_regions(struct regions *all, enum iso_roi_kind kind, const char *list)
{
	int number = 1, st = ISO_OK;

	while (list && !st) {
		size_t length = strcspn(list, "/");
		char text[MAX_TEXT];

		if (length >= sizeof text || all->n == MAX_REGIONS)
			return iso_fail(ISO_EARG, "--%s is too long; at most %d regions, of %d letters each",
			                forms[kind].option, MAX_REGIONS, MAX_TEXT - 1);
		memcpy(text, list, length);
		text[length] = '\0';
		st = parse_region(&all->v[all->n++], kind, text, number++);
		list = list[length] ? list + length + 1 : NULL;
	}
	return st;
}

/* The last of several would win, and the others be lost without a word. */
static int refuse_repeats(int argc, char **argv)
{
	int given[4] = { 0 };

	for (int i = 1; i < argc; i++)
		for (int k = 0; k < 4; k++) {
			const char *name = forms[k].option;
			size_t length = strlen(name);
			const char *word = strncmp(argv[i], "--", 2) == 0 ? argv[i] + 2 : "";

			if (strncmp(word, name, length) || (word[length] && word[length] != '=')) continue;
			if (given[k]++)
				return iso_fail(ISO_EARG,
				                "--%s is given twice; it takes several regions as A/B", name);
		}
	return ISO_OK;
}

/* ---- roi ---- */

static const struct fact facts[] = {
	COLUMN("name", struct region, name, "region", -16, 0),
	FACT("shape", struct region, shape),
	COLUMN("voxels", struct region, stats.voxels, "voxels", 9, 0),
	COLUMN("volume_mm3", struct region, stats.volume, "volume mm3", 12, 6),
	COLUMN("mean", struct region, stats.mean, "mean", 12, 6),
	COLUMN("std", struct region, stats.std, "std", 12, 6),
	COLUMN("pstd_percent", struct region, stats.pstd, "PSTD %", 8, 4),
	COLUMN("min", struct region, stats.min, "min", 12, 6),
	COLUMN("max", struct region, stats.max, "max", 12, 6),
	COLUMN("sum", struct region, stats.sum, "sum", 12, 6),
	{ 0 },
};

/* The same where there are replicates. */
static const struct fact facts_over[] = {
	COLUMN("name", struct region, name, "region", -16, 0),
	FACT("shape", struct region, shape),
	COLUMN("voxels", struct region, stats.voxels, "voxels", 9, 0),
	FACT("volume_mm3", struct region, stats.volume),
	COLUMN("mean", struct region, stats.mean, "mean", 12, 6),
	COLUMN("sd", struct region, over.sd, "sd", 12, 4),
	COLUMN("low", struct region, over.low, "low 95 %", 12, 6),
	COLUMN("high", struct region, over.high, "high 95 %", 12, 6),
	COLUMN("shift", struct region, over.shift, "shift/sd", 9, 2),
	FACT("mean_of_replicates", struct region, over.mean),
	FACT("std", struct region, stats.std),
	FACT("pstd_percent", struct region, stats.pstd),
	FACT("min", struct region, stats.min),
	FACT("max", struct region, stats.max),
	FACT("sum", struct region, stats.sum),
	{ 0 },
};

static int add_mask(struct regions *all, struct measure *m, const char *path)
{
	struct region *r = &all->v[all->n];
	int st;

	if (!path) return ISO_OK;
	if (all->n == MAX_REGIONS) return iso_fail(ISO_EARG, "more than %d regions", MAX_REGIONS);
	if ((st = measure_read(m, path, &m->x[0].grid))) return st;
	*r = (struct region){ .name = "mask",
		              .shape = forms[ISO_ROI_MASK].option,
		              .roi = { .kind = ISO_ROI_MASK, .mask = &m->x[1] } };
	all->n++;
	return ISO_OK;
}

/* ---- over replicates ---- */

/* A row of the table: the means of all regions in one replicate. */
static int measure_all(double *row, const struct regions *all, const struct iso_array *x)
{
	int st = ISO_OK;

	for (int i = 0; i < all->n && !st; i++) {
		struct iso_roi_stats s = { .size = sizeof s };

		st = iso_measure_roi(&s, x, &all->v[i].roi);
		row[i] = s.mean;
	}
	return st;
}

static int check_series(const struct iso_array *a, const struct iso_array *x, const char *path)
{
	bool same = a->n_dim == 4 && a->dim[0] >= 2;

	for (int k = 0; k < 3 && same; k++) same = a->dim[k + 1] == x->dim[k];
	if (same && a->has_grid) same = iso_grid_same(&a->grid, &x->grid);
	return same ? ISO_OK
	            : iso_fail(ISO_EINPUT,
	                       "%s: must be a 4-D image of 2 replicates or more on the grid of the image",
	                       path);
}

/* v and the covariance, n regions squared, from a file of replicates. */
static int measure_series(struct iso_interval *v, double *covariance, const struct regions *all,
                          const struct iso_array *x, struct iso_array *a)
{
	double *table = size_alloc(a->dim[0] * all->n, sizeof *table), value[MAX_REGIONS];
	struct iso_array one = *x;
	int st = table ? ISO_OK : iso_fail_memory("replicates of regions", a->dim[0] * all->n);

	for (int i = 0; i < all->n; i++) value[i] = all->v[i].stats.mean;
	for (int64_t r = 0; r < a->dim[0] && !st; r++) {
		one.v = a->v + r * x->n;
		st = measure_all(table + r * all->n, all, &one);
	}
	if (!st) st = iso_intervals(v, covariance, a->dim[0], all->n, table, value);
	free(table);
	return st;
}

static int put_covariance(struct measure *m, const double *covariance, int n)
{
	json_t *rows = json_array();

	for (int i = 0; i < n; i++) json_array_append_new(rows, record_reals(n, covariance + i * n));
	return record_result(&m->c.record, "covariance", rows);
}

static int over_replicates(struct measure *m, struct regions *all)
{
	double covariance[MAX_REGIONS * MAX_REGIONS];
	struct iso_interval v[MAX_REGIONS];
	struct iso_array a = { 0 };
	int st = record_input(&m->c.record, all->replicates);

	if (!st) st = iso_read(&a, all->replicates, ISO_FINITE);
	if (!st) st = check_series(&a, &m->x[0], all->replicates);
	if (!st) st = measure_series(v, covariance, all, &m->x[0], &a);
	for (int i = 0; i < all->n && !st; i++) all->v[i].over = v[i];
	iso_array_free(&a);
	return st ? st : put_covariance(m, covariance, all->n);
}

static int run_roi(struct measure *m, struct regions *all)
{
	int st;

	for (int kind = ISO_ROI_SPHERE; kind <= ISO_ROI_BOX; kind++)
		if ((st = parse_regions(all, (enum iso_roi_kind)kind, all->text[kind]))) return st;
	if (all->n == 0 && !all->text[ISO_ROI_MASK])
		return iso_fail(ISO_EARG, "no region; give --sphere, --cylinder, --box or --mask");
	if ((st = measure_read(m, all->in, NULL)) || (st = add_mask(all, m, all->text[ISO_ROI_MASK])))
		return st;
	for (int i = 0; i < all->n; i++) {
		struct region *r = &all->v[i];

		r->stats.size = sizeof r->stats;
		if ((st = iso_measure_roi(&r->stats, &m->x[0], &r->roi)))
			return iso_fail(st, "region '%s': %s", r->name, iso_message());
	}
	m->figure = measure_largest(&all->v[0].stats.pstd, all->n, sizeof *all->v);
	if (all->replicates && (st = over_replicates(m, all))) return st;
	return measure_put_rows(m, "regions", all->replicates ? facts_over : facts, all->v, all->n,
	                        sizeof *all->v);
}

static const struct opt_usage roi_usage = {
	"measure",
	"Print statistics of the voxels whose centre lies in a region: number, volume, mean, standard "
	"deviation (also in per cent of the mean, PSTD), least, largest, sum. Positions are in mm. An option "
	"may name several regions, separated by '/', each with NAME= in front if it has a name. --replicates "
	"adds "
	"the standard deviation and the 95 % interval of each mean, and with --json the covariance.",
	"  isotome measure roi image.nii --sphere 57.2,0,0,18\n"
	"  isotome measure roi image.nii --sphere hot=57,0,0,5/cold=0,0,0,15 --box 0,9,-9,9,0,0\n"
	"  isotome measure roi image.nii --cylinder 0,0,0,80,40,z --mask body.nii --json\n"
	"  isotome measure roi image.nii --replicates replicates.nii --sphere hot=57,0,0,5\n"
};

int measure_roi(struct measure *m)
{
	struct regions all = { 0 };
	struct opt own[] = {
		measure_word(m, "statistics of regions"),
		CMD_ARGUMENT("image", all.in, OPT_NO_FILE, "IMAGE", "image with a voxel size"),
		{ 0, "sphere", .text = &all.text[ISO_ROI_SPHERE], .value = forms[ISO_ROI_SPHERE].value,
		  .help = "centre and radius" },
		{ 0, "cylinder", .text = &all.text[ISO_ROI_CYLINDER], .value = forms[ISO_ROI_CYLINDER].value,
		  .help = "centre, radius, length, and the axis (x, y or z; z if left out)" },
		{ 0, "box", .text = &all.text[ISO_ROI_BOX], .value = forms[ISO_ROI_BOX].value,
		  .help = "from and to, along each axis" },
		{ 0, "mask", .text = &all.text[ISO_ROI_MASK], .value = forms[ISO_ROI_MASK].value,
		  .help = "image on the same grid; voxels that are not 0 count" },
		{ 0, "replicates", .text = &all.replicates, .file = OPT_READS, .takes = ISO_TAKES_ARRAY,
		  .value = "FILE", .help = "4-D image of replicates ('isotome recon --replicates-save')" },
		measure_below(m, "largest PSTD in per cent", "the largest PSTD must be below X"),
		{ 0 },
	};
	int st = refuse_repeats(m->argc, m->argv);

	if (!st) st = measure_parse(m, &roi_usage, own);
	return measure_end(m, st ? st : run_roi(m, &all));
}

/* ---- tbr ---- */

struct tumour {
	const char *in, *other;
	double tumour[4], background[4];
	double tbr, other_tbr, percent;
};

static const struct fact one_facts[] = { COLUMN("tbr", struct tumour, tbr, "TBR", 0, 7), { 0 } };
static const struct fact two_facts[] = {
	COLUMN("other_tbr", struct tumour, other_tbr, "other", 0, 7),
	COLUMN("diff_percent", struct tumour, percent, "diff%", 0, 7),
	{ 0 },
};

static struct iso_roi sphere(const double v[4])
{
	return (struct iso_roi){ ISO_ROI_SPHERE, { v[0], v[1], v[2] }, .radius = v[3] };
}

static int ratio(double *tbr, struct measure *m, const struct tumour *s, const char *path)
{
	struct iso_roi tumour = sphere(s->tumour), background = sphere(s->background);
	int st = measure_read(m, path, NULL);

	return st ? st : iso_measure_tbr(tbr, &m->x[m->n - 1], &tumour, &background);
}

static int run_tbr(struct measure *m, struct tumour *s)
{
	int st;

	if ((st = ratio(&s->tbr, m, s, s->in)) || (s->other && (st = ratio(&s->other_tbr, m, s, s->other))))
		return st;
	s->percent = 100 * fabs(s->tbr - s->other_tbr) / s->tbr;
	m->figure = s->other ? s->percent : s->tbr;
	if (s->other) m->figure_name = "difference in per cent";
	st = measure_put(m, one_facts, s, 7);
	return st || !s->other ? st : measure_put(m, two_facts, s, 7);
}

static const struct opt_usage tbr_usage = {
	"measure",
	"Compute the ratio of the mean of a tumour to the mean of the background (TBR; Meng 2019, eq. 9), "
	"each a sphere. With a second image, also print its ratio, and the difference of the two in per cent "
	"of the first (eq. 10). Put the reference first.",
	"  isotome measure tbr image.nii --tumour 10,0,12,2.5 --background 0,-6,-2,2\n"
	"  isotome measure tbr cpu.nii cuda.nii --tumour 10,0,12,2.5 --background 0,-6,-2,2 --below 0.1\n"
};

int measure_tbr(struct measure *m)
{
	struct tumour s = { 0 };
	struct opt own[] = {
		measure_word(m, "tumour to background"),
		CMD_ARGUMENT("image", s.in, OPT_NO_FILE, "IMAGE", "image with a voxel size"),
		{ 0, "other", .text = &s.other, .value = "OTHER", .positional = true,
		  .help = "second image, to compare with the first" },
		{ 0, "tumour", .real = s.tumour, .count = 4, .value = "X,Y,Z,R", .required = true,
		  .help = "centre and radius, mm" },
		{ 0, "background", .real = s.background, .count = 4, .value = "X,Y,Z,R", .required = true,
		  .help = "centre and radius, mm" },
		measure_below(m, "TBR", "the difference, or with one image the ratio, must be below X"),
		{ 0 },
	};
	int st = measure_parse(m, &tbr_usage, own);

	return measure_end(m, st ? st : run_tbr(m, &s));
}
