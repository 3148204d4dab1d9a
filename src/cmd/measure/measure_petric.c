/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome measure petric: how far an image is from a converged one, by the figures of PETRIC. */
#include "measure.h"

#include <string.h>

enum { REGIONS = 64 };

/* What PETRIC calls converged. */
#define MOST_RMSE .01
#define MOST_AEM .005

struct region {
	char name[256];
	double aem;
};

struct masks {
	const char *whole, *background, *regions;
	int n;
	struct iso_array array[2 + REGIONS]; /* whole, background, the regions */
	struct region region[REGIONS];
};

static const struct fact petric_facts[] = {
	COLUMN("norm", struct iso_petric, norm, "mean of the reference in the background", 0, 7),
	COLUMN("rmse_whole", struct iso_petric, rmse_whole, "RMSE_W", 0, 7),
	COLUMN("rmse_background", struct iso_petric, rmse_background, "RMSE_Bg", 0, 7),
	{ 0 },
};

static const struct fact region_facts[] = {
	COLUMN("region", struct region, name, "region", -40, 0),
	COLUMN("aem", struct region, aem, "AEM", 14, 7),
	{ 0 },
};

static int read_mask(struct measure *m, struct masks *s, const char *path, size_t length)
{
	char one[PATH_MAX];
	int st;

	if (s->n == 2 + REGIONS) return iso_fail(ISO_EARG, "--regions: more than %d files", REGIONS);
	if (length >= sizeof one) return iso_fail(ISO_EARG, "--regions: a name is too long");
	memcpy(one, path, length);
	one[length] = '\0';
	if ((st = record_input(&m->c.record, one))) return st;
	if ((st = iso_read_image(&s->array[s->n], one, ISO_FINITE, &m->x[0].grid))) return st;
	if (s->n >= 2) snprintf(s->region[s->n - 2].name, sizeof s->region[0].name, "%.255s", one);
	s->n++;
	return ISO_OK;
}

static int read_all(struct measure *m, struct masks *s, const char *image, const char *reference)
{
	int st;

	if ((st = measure_read(m, reference, NULL)) || (st = measure_read(m, image, &m->x[0].grid)))
		return st;
	if ((st = read_mask(m, s, s->whole, strlen(s->whole)))) return st;
	if ((st = read_mask(m, s, s->background, strlen(s->background)))) return st;
	for (const char *at = s->regions; at && *at && !st;) {
		size_t length = strcspn(at, ",");

		st = read_mask(m, s, at, length);
		at += length + (at[length] == ',');
	}
	return st;
}

/* The figures; m->figure is the largest, each over what is converged. */
static int measure_all(struct measure *m, struct masks *s)
{
	const iso_real *region[REGIONS];
	double aem[REGIONS];
	struct iso_petric p = { .size = sizeof p };
	int n = s->n - 2, st;

	for (int k = 0; k < n; k++) region[k] = s->array[2 + k].v;
	st = iso_measure_petric(&p, aem, m->x[0].n, m->x[1].v, m->x[0].v, s->array[0].v, s->array[1].v, n,
	                        region);
	if (st) return st;
	m->figure = fmax(p.rmse_whole, p.rmse_background) / MOST_RMSE;
	for (int k = 0; k < n; k++) {
		s->region[k].aem = aem[k];
		m->figure = fmax(m->figure, aem[k] / MOST_AEM);
	}
	if ((st = measure_put(m, petric_facts, &p, 40))) return st;
	if (n > 0 && (st = measure_put_rows(m, "regions", region_facts, s->region, n, sizeof s->region[0])))
		return st;
	if (!m->c.json)
		printf("%s\n",
		       m->figure < 1 ? "converged: all are below 0.01, 0.01, 0.005" : "not converged");
	return record_result(&m->c.record, "over_threshold", record_real(m->figure));
}

static const struct opt_usage petric_usage = {
	"measure",
	"Say how far an image is from a converged one, by the figures of PETRIC (SyneRBI 2024): the root "
	"mean squared error in the whole object and in the background, and the error of the mean in regions "
	"of interest. All are divided by the mean of the converged image in the background. An image counts "
	"as converged below 0.01, 0.01 and 0.005. A mask is an image; voxels that are not 0 count.",
	"  isotome measure petric x.nii reference.nii --whole object.nii --background liver.nii \\\n"
	"      --regions lesion1.nii,lesion2.nii --below 1\n"
};

int measure_petric(struct measure *m)
{
	struct masks s = { 0 };
	const char *image = NULL, *reference = NULL;
	struct opt own[] = {
		measure_word(m, "how far an image is from a converged one"),
		CMD_ARGUMENT("image", image, OPT_MAY_READ, "IMAGE", "image"),
		CMD_ARGUMENT("reference", reference, OPT_MAY_READ, "REFERENCE", "converged image"),
		{ 0, "whole", .text = &s.whole, .file = OPT_MAY_READ, .value = "FILE", .required = true,
		  .help = "mask of the whole object" },
		{ 0, "background", .text = &s.background, .file = OPT_MAY_READ, .value = "FILE",
		  .required = true, .help = "mask of a uniform background" },
		{ 0, "regions", .text = &s.regions, .file = OPT_MAY_READ, .value = "FILE[,FILE...]",
		  .help = "masks of regions of interest" },
		measure_below(
			m, "the largest figure over what counts as converged",
			"the largest figure, over 0.01, 0.01 or 0.005, must be below X: 1 is converged"),
		{ 0 },
	};
	int st = measure_parse(m, &petric_usage, own);

	if (!st && !(st = read_all(m, &s, image, reference))) st = measure_all(m, &s);
	for (int i = 0; i < s.n; i++) iso_array_free(&s.array[i]);
	return measure_end(m, st);
}
