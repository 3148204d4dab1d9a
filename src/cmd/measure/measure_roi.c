/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome measure roi and isotome measure tbr: statistics of regions, tumour to background. */
#include "measure.h"

#include "base/utf8.h"

#include <string.h>

enum { MAX_REGIONS = 64, MAX_TEXT = 256 };

struct region {
	char name[MAX_TEXT];
	const char *shape;
	struct iso_roi roi;
	struct iso_roi_stats stats;
};

struct regions {
	const char *in, *text[4]; /* as given, by kind */
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

static int add_mask(struct regions *all, struct measure *m, const char *path)
{
	struct region *r = &all->v[all->n];
	int st;

	if (!path) return ISO_OK;
	if (all->n == MAX_REGIONS) return iso_fail(ISO_EARG, "more than %d regions", MAX_REGIONS);
	if ((st = measure_read(m, path, &m->x[0].grid))) return st;
	*r = (struct region){
		"mask", forms[ISO_ROI_MASK].option, { .kind = ISO_ROI_MASK, .mask = &m->x[1] }, { 0 }
	};
	all->n++;
	return ISO_OK;
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
	return measure_put_rows(m, "regions", facts, all->v, all->n, sizeof *all->v);
}

static const struct opt_usage roi_usage = {
	"measure",
	"Print statistics of the voxels whose centre lies in a region: number, volume, mean, standard "
	"deviation (also in per cent of the mean, PSTD), least, largest, sum. Positions are in mm. An option "
	"may name several regions, separated by '/', each with NAME= in front if it has a name.",
	"  isotome measure roi image.nii --sphere 57.2,0,0,18\n"
	"  isotome measure roi image.nii --sphere hot=57,0,0,5/cold=0,0,0,15 --box 0,9,-9,9,0,0\n"
	"  isotome measure roi image.nii --cylinder 0,0,0,80,40,z --mask body.nii --json\n"
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
