/* SPDX-License-Identifier: BSD-3-Clause */
/* CASToR tables of crystals: a text header (.hscan), and 6 float32 a crystal in the .lut beside it:
   the crystal's middle in mm and a unit vector away from the axis.

   The ends of lines lie `mean depth of interaction` below the inner face, where that is not
   negative, else in the middle. CASToR's axes are left-handed: z is mirrored. */
#include "text/keys.h"
#include "file/in.h"
#include "core/size.h"
#include "file/suffix.h"
#include "scanner.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 16, ROW = 6 };

struct table {
	const char *lut;
	int64_t n;
	int layers;
	double crystals[LAYERS]; /* of each layer; crystals are numbered layer by layer */
	double shift[LAYERS];    /* from the middle, outwards, mm */
};

static int get_layers(struct table *t, const struct iso_keys *k)
{
	const char *key = iso_keys_find(k, "number of crystals in layer(s)")
	                          ? "number of crystals in layer(s)"
	                          : "number of crystals in layer";
	double depth[LAYERS], size[LAYERS], sum = 0;
	int n_depth, n_size, st;

	if ((st = iso_keys_reals(t->crystals, &t->layers, LAYERS, k, key)) ||
	    (st = iso_keys_reals(depth, &n_depth, LAYERS, k, "mean depth of interaction")) ||
	    (st = iso_keys_reals(size, &n_size, LAYERS, k, "crystals size depth")))
		return st;
	if (t->layers == 0) t->crystals[t->layers++] = (double)t->n;
	for (int i = 0; i < t->layers; i++) {
		if (i < n_depth && depth[i] >= 0 && i < n_size) t->shift[i] = depth[i] - size[i] / 2;
		if (fabs(t->shift[i]) > 1e4)
			return iso_fail(ISO_EINPUT,
			                "%s: mean depth of interaction %g mm in crystals of %g mm", k->path,
			                depth[i], size[i]);
		if (!(t->crystals[i] >= 1) || t->crystals[i] != floor(t->crystals[i]))
			return iso_fail(ISO_EINPUT,
			                "%s: a layer of %g crystals, must be a whole number from 1 on",
			                k->path, t->crystals[i]);
		sum += t->crystals[i];
	}
	if (sum != (double)t->n)
		return iso_fail(ISO_EINPUT,
		                "%s: layers of %.0f crystals in all, 'number of elements' says %" PRId64,
		                k->path, sum, t->n);
	return ISO_OK;
}

static int get_header(iso_scanner *s, struct table *t, const struct iso_keys *k)
{
	const char *modality, *name = iso_keys_find(k, "scanner name");
	double angle = 0;
	int st = iso_keys_need(&modality, k, "modality");

	if (st || (st = iso_keys_int(&t->n, k, "number of elements", 2, SCANNER_MAX)) ||
	    (st = iso_keys_real(&angle, k, "min angle difference", -1, 180)))
		return st;
	if (!iso_same_word(modality, "PET"))
		return iso_fail(ISO_EINPUT, "%s: modality is '%.60s', must be PET", k->path, modality);
	if (t->n == 0) return iso_fail(ISO_EINPUT, "%s: key 'number of elements' is missing", k->path);
	iso_scanner_set_name(s, name ? name : k->path, strlen(name ? name : k->path));
	s->pairs.min_angle = fmax(angle, 0) * M_PI / 180;
	s->pairs.cos_min_angle = cos(s->pairs.min_angle);
	return get_layers(t, k);
}

static int read_lut(iso_scanner *s, const struct table *t)
{
	int64_t size = 0, want = t->n * ROW * (int64_t)sizeof(float);
	double next = t->crystals[0];
	int layer = 0;
	float *rows = NULL;
	FILE *f = NULL;
	int st = iso_regular_fopen(&f, &size, t->lut);

	if (st) return st;
	s->n = t->n;
	if (size != want)
		st = iso_fail(ISO_EINPUT,
		              "%s: %" PRId64 " bytes, expected %" PRId64 ", 24 for each of %" PRId64
		              " crystals",
		              t->lut, size, want, t->n);
	else if (!(s->pos = size_alloc(s->n, 3 * sizeof *s->pos)) ||
	         !(rows = size_alloc(s->n, ROW * sizeof *rows)))
		st = iso_fail_memory(t->lut, want * 2);
	else if (fread(rows, 1, (size_t)want, f) != (size_t)want)
		st = iso_fail(ISO_EIO, "%s: can't read %" PRId64 " bytes", t->lut, want);
	for (int64_t i = 0; i < s->n && !st; i++) {
		const float *row = rows + ROW * i;
		double *p = s->pos + 3 * i;

		while ((double)i >= next && layer + 1 < t->layers) next += t->crystals[++layer];
		for (int a = 0; a < 3 && !st; a++) {
			p[a] = (double)row[a] + t->shift[layer] * (double)row[3 + a];
			if (!(fabs(p[a]) <= 1e5))
				st = iso_fail(ISO_EINPUT,
				              "%s: crystal %" PRId64 " is at %g mm, not a place in a scanner",
				              t->lut, i, p[a]);
		}
		p[2] = 0 - p[2];
	}
	free(rows);
	fclose(f);
	return st;
}

int iso_scanner_read_hscan(iso_scanner *s, const char *path)
{
	struct iso_keys keys = { 0 };
	char lut[PATH_MAX];
	struct table t = { .lut = lut };
	int st = iso_keys_read(&keys, path);

	if (st) return st;
	s->kind = ISO_DETECTORS;
	if (!(st = iso_suffix_partner(lut, sizeof lut, path, ".lut"))) st = get_header(s, &t, &keys);
	if (!st) st = read_lut(s, &t);
	if (!st) st = iso_detectors_finish(s);
	iso_keys_free(&keys);
	return st;
}
