/* SPDX-License-Identifier: BSD-3-Clause */
/* CASToR tables of crystals: a text header (.hscan), and 6 float32 a crystal in the .lut beside it:
   the crystal's middle in mm and a unit vector away from the axis. Tables that CASToR makes of a .geom end in .ghscan and
   .glut. */
#include "castor_table.h"
#include "file/in.h"
#include "core/size.h"
#include "file/suffix.h"

#include <limits.h>

enum { ROW = 6 };

/* Crystals of each layer; without the key there is one. */
static int get_layers(struct castor_table *t, const struct iso_keys *k)
{
	const char *key = iso_keys_find(k, "number of crystals in layer(s)")
	                          ? "number of crystals in layer(s)"
	                          : "number of crystals in layer";
	double crystals[CASTOR_LAYERS], sum = 0;
	int st = iso_keys_reals(crystals, &t->layers, CASTOR_LAYERS, k, key);

	if (st) return st;
	if (t->layers == 0) crystals[t->layers++] = (double)t->n;
	for (int i = 0; i < t->layers; i++) {
		if (!(crystals[i] >= 1 && crystals[i] <= SCANNER_MAX) || crystals[i] != floor(crystals[i]))
			return iso_fail(ISO_EINPUT,
			                "%s: a layer of %g crystals, must be a whole number from 1 on",
			                k->path, crystals[i]);
		t->crystals[i] = (int64_t)crystals[i];
		sum += crystals[i];
	}
	if (sum != (double)t->n)
		return iso_fail(ISO_EINPUT,
		                "%s: layers of %.0f crystals in all, 'number of elements' says %" PRId64,
		                k->path, sum, t->n);
	return ISO_OK;
}

/* Sizes and depths as far as they are said; a size of 0 or less says nothing. */
static int get_sizes(struct castor_table *t, const struct iso_keys *k)
{
	const char *key[] = { iso_keys_find(k, "crystals size trans") ? "crystals size trans"
		                                                      : "crystals size transaxial",
		              "crystals size axial", "crystals size depth", "mean depth of interaction" };

	for (int c = 0; c < 4; c++) {
		double v[CASTOR_LAYERS];
		int n, st = iso_keys_reals(v, &n, CASTOR_LAYERS, k, key[c]);

		if (st) return st;
		for (; c == 3 && n == 1 && n < t->layers; n++)
			v[n] = v[0]; /* one depth is that of all layers */
		for (int i = 0; i < t->layers; i++) {
			if (c == 3)
				t->depth[i] = i < n ? v[i] : -1;
			else
				t->size[i][c] = i < n && v[i] > 0 ? v[i] : 0;
		}
	}
	return ISO_OK;
}

/* Number i of a table of float32, or of float64, as CASToR writes where it was built with these. */
static double number_at(const void *rows, int64_t i, bool wide)
{
	return wide ? ((const double *)rows)[i] : (double)((const float *)rows)[i];
}

static int read_lut(iso_scanner *s, const struct castor_table *t, const char *lut)
{
	int64_t size = 0, want = t->n * ROW * (int64_t)sizeof(float);
	void *rows = NULL;
	FILE *f = NULL;
	int st = iso_regular_fopen(&f, &size, lut);
	bool wide = size == 2 * want;

	if (st) return st;
	if (size != want && !wide)
		st = iso_fail(ISO_EINPUT,
		              "%s: %" PRId64 " bytes, expected %" PRId64 ", 24 for each of %" PRId64
		              " crystals",
		              lut, size, want, t->n);
	else if (!(rows = size_alloc(size, 1)))
		st = iso_fail_memory(lut, size);
	else if (fread(rows, 1, (size_t)size, f) != (size_t)size)
		st = iso_fail(ISO_EIO, "%s: can't read %" PRId64 " bytes", lut, size);
	if (!st) st = iso_castor_table_room(s, t, lut);
	for (int64_t i = 0; i < t->n && !st; i++)
		for (int a = 0; a < 3; a++) {
			s->pos[3 * i + a] = number_at(rows, ROW * i + a, wide);
			s->face[i].outward[a] = (float)number_at(rows, ROW * i + 3 + a, wide);
		}
	free(rows);
	fclose(f);
	return st;
}

int iso_hscan_partner(char *out, size_t size, const char *path)
{
	return iso_suffix_partner(out, size, path, iso_has_suffix(path, ".ghscan") ? ".glut" : ".lut");
}

int iso_scanner_read_hscan(iso_scanner *s, const char *path)
{
	struct iso_keys keys = { 0 };
	struct castor_table t = { 0 };
	char lut[PATH_MAX];
	int st = iso_keys_read(&keys, path);

	if (st) return st;
	if (!(st = iso_hscan_partner(lut, sizeof lut, path)) && !(st = iso_castor_table_head(s, &t, &keys)) &&
	    !(st = get_layers(&t, &keys)) && !(st = get_sizes(&t, &keys)) && !(st = read_lut(s, &t, lut)))
		st = iso_castor_table_finish(s, &t, lut);
	iso_keys_free(&keys);
	return st;
}
