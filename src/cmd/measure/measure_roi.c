/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome measure roi: statistics of regions. */
#include "measure.h"

#include "core/status.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

enum { MAX_REGIONS = 64, MAX_TEXT = 256 };

static const struct opt_usage usage = {
	"measure",
	"Statistics of the voxels whose centre lies in a region: number, volume, mean, "
	"standard deviation (also in per cent of the mean, PSTD), least, largest, sum. Places "
	"in mm. An option may name several regions with '/' between, each with NAME= in front "
	"if it has a name.",
	"  isotome measure roi image.nii --sphere 57.2,0,0,18\n"
	"  isotome measure roi image.nii --sphere hot=57,0,0,5/cold=0,0,0,15 --box 0,9,-9,9,0,0\n"
	"  isotome measure roi image.nii --cylinder 0,0,0,80,40,z --mask body.nii --json\n",
};

struct region {
	char name[MAX_TEXT];
	struct iso_roi roi;
	struct iso_roi_stats stats;
};

struct regions {
	int n;
	struct region v[MAX_REGIONS];
};

/* What is written of a region of each kind. */
static const struct form {
	const char *option, *value;
	int count;
} forms[] = {
	[ISO_ROI_SPHERE] = { "sphere", "X,Y,Z,R", 4 },
	[ISO_ROI_CYLINDER] = { "cylinder", "X,Y,Z,R,LENGTH[,AXIS]", 5 },
	[ISO_ROI_BOX] = { "box", "X0,X1,Y0,Y1,Z0,Z1", 6 },
	[ISO_ROI_MASK] = { "mask", "FILE", 0 },
};

/* ---- from text ---- */

/* ",x", ",y" or ",z" at the end of a cylinder, which is cut off; z if there is none. */
static int take_axis(char *text)
{
	size_t length = strlen(text);
	const char *axes = "xyz", *axis;

	if (length < 2 || text[length - 2] != ',' || !(axis = strchr(axes, text[length - 1]))) return 2;
	text[length - 2] = '\0';
	return (int)(axis - axes);
}

static void place(struct iso_roi *r, const double v[6])
{
	for (int a = 0; a < 3; a++) {
		r->centre[a] = v[a];
		r->low[a] = v[2 * a];
		r->high[a] = v[2 * a + 1];
	}
	r->radius = v[3];
	r->length = v[4];
}

/* One region, "[NAME=]numbers", in a text that may be changed. */
static int parse_region(struct region *r, enum iso_roi_kind kind, char *text, int number)
{
	const struct form *f = &forms[kind];
	double v[6] = { 0 };
	struct opt numbers = { .real = v, .count = f->count, .value = f->value };
	char *equals = strchr(text, '=');

	r->roi.kind = kind;
	if (equals) {
		*equals = '\0';
		snprintf(r->name, sizeof r->name, "%s", iso_utf8_clean(text));
		text = equals + 1;
	} else {
		snprintf(r->name, sizeof r->name, "%s %d", f->option, number);
	}
	if (kind == ISO_ROI_CYLINDER) r->roi.axis = take_axis(text);
	if (opt_value_parse(&numbers, text)) return iso_fail(ISO_EARG, "--%s %s", f->option, iso_message());
	place(&r->roi, v);
	return ISO_OK;
}

static int parse_regions(struct regions *all, enum iso_roi_kind kind, const char *list)
{
	int number = 1, st = ISO_OK;

	while (list && !st) {
		size_t length = strcspn(list, "/");
		char text[MAX_TEXT];

		if (length >= sizeof text || all->n == MAX_REGIONS)
			return iso_fail(ISO_EARG,
			                "--%s is too long; at most %d regions, of %d "
			                "letters each",
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
				                "--%s is given twice; it takes several "
				                "regions as A/B",
				                name);
		}
	return ISO_OK;
}

/* ---- out ---- */

static json_t *to_json(const struct region *r)
{
	const struct iso_roi_stats *s = &r->stats;

	return json_pack("{s:o*, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
	                 record_string(r->name), "shape", forms[r->roi.kind].option, "voxels",
	                 (json_int_t)s->voxels, "volume_mm3", record_real(s->volume), "mean",
	                 record_real(s->mean), "std", record_real(s->std), "pstd_percent",
	                 record_real(s->pstd), "min", record_real(s->min), "max", record_real(s->max), "sum",
	                 record_real(s->sum));
}

static int record_regions(struct measure *m, const struct regions *all)
{
	json_t *list = json_array();

	for (int i = 0; i < all->n; i++) json_array_append_new(list, to_json(&all->v[i]));
	return record_result(&m->c.record, "regions", list);
}

static void print_regions(const struct regions *all)
{
	printf("%-16s %9s %12s %12s %12s %8s %12s %12s %12s\n", "region", "voxels", "volume mm3", "mean",
	       "std", "PSTD %", "min", "max", "sum");
	for (int i = 0; i < all->n; i++) {
		const struct iso_roi_stats *s = &all->v[i].stats;

		printf("%-16s %9" PRId64 " %12.6g %12.6g %12.6g %8.4g %12.6g %12.6g %12.6g\n", all->v[i].name,
		       s->voxels, s->volume, s->mean, s->std, s->pstd, s->min, s->max, s->sum);
	}
}

static double largest_pstd(const struct regions *all)
{
	double largest = 0;

	for (int i = 0; i < all->n; i++)
		if (!(all->v[i].stats.pstd <= largest)) /* NaN stays */
			largest = all->v[i].stats.pstd;
	return largest;
}

/* ---- the command ---- */

static int add_mask(struct regions *all, struct iso_array *mask, struct measure *m, const char *path,
                    const struct iso_grid *g)
{
	struct region *r = &all->v[all->n];
	int st;

	if (!path) return ISO_OK;
	if (all->n == MAX_REGIONS) return iso_fail(ISO_EARG, "more than %d regions", MAX_REGIONS);
	if ((st = record_input(&m->c.record, path)) || (st = iso_read_image(mask, path, ISO_FINITE, g)))
		return st;
	*r = (struct region){ .name = "mask", .roi = { .kind = ISO_ROI_MASK, .mask = mask } };
	all->n++;
	return ISO_OK;
}

static int measure_all(struct regions *all, struct measure *m, const char *in, const char *mask_path)
{
	struct iso_array x = { 0 }, mask = { 0 };
	int st;

	if ((st = measure_read(&x, m, in))) goto done;
	if ((st = add_mask(all, &mask, m, mask_path, &x.grid))) goto done;
	for (int i = 0; i < all->n; i++) {
		if (!(st = iso_measure_roi(&all->v[i].stats, &x, &all->v[i].roi))) continue;
		st = iso_fail(st, "region '%s': %s", all->v[i].name, iso_message());
		goto done;
	}
done:
	iso_array_free(&x);
	iso_array_free(&mask);
	return st;
}

int measure_roi(int argc, char **argv)
{
	struct measure m = MEASURE_BEGIN;
	const char *in = NULL, *text[4] = { 0 };
	struct opt own[] = {
		measure_kind(&m, "roi", "statistics of regions"),
		{ 0, "image", .text = &in, .value = "IMAGE", .positional = true, .required = true,
		  .help = "image with a voxel size" },
		{ 0, "sphere", .text = &text[ISO_ROI_SPHERE], .value = forms[ISO_ROI_SPHERE].value,
		  .help = "centre and radius" },
		{ 0, "cylinder", .text = &text[ISO_ROI_CYLINDER], .value = forms[ISO_ROI_CYLINDER].value,
		  .help = "centre, radius, length, and the axis (x, y or z) if it is not z" },
		{ 0, "box", .text = &text[ISO_ROI_BOX], .value = forms[ISO_ROI_BOX].value,
		  .help = "from and to, along each axis" },
		{ 0, "mask", .text = &text[ISO_ROI_MASK], .value = forms[ISO_ROI_MASK].value,
		  .help = "image of the same grid: voxels that are not 0" },
		measure_below(&m, "the largest PSTD must be below X"),
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own }, cmd_common(&m.c, 0), { 0 } };
	struct regions all = { 0 };
	int st;

	if ((st = refuse_repeats(argc, argv))) goto done;
	if ((st = cmd_parse(&m.c, &usage, sets, argc, argv))) goto done;
	for (int kind = ISO_ROI_SPHERE; kind <= ISO_ROI_BOX; kind++)
		if ((st = parse_regions(&all, (enum iso_roi_kind)kind, text[kind]))) goto done;
	if (all.n == 0 && !text[ISO_ROI_MASK]) {
		st = iso_fail(ISO_EARG, "no region; give --sphere, --cylinder, --box or --mask");
		goto done;
	}
	if ((st = measure_all(&all, &m, in, text[ISO_ROI_MASK]))) goto done;
	if ((st = record_regions(&m, &all))) goto done;
	if (!m.c.json) print_regions(&all);
	st = measure_end(&m, "largest PSTD in per cent", largest_pstd(&all));
done:
	cmd_end(&m.c);
	return st;
}
