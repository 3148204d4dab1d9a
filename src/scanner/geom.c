/* SPDX-License-Identifier: BSD-3-Clause */
/* CASToR geometries (.geom): rings of rsectors of modules of submodules of crystals, in layers.

   An rsector is flat, and there are A of them around the axis. Levels 0 to 3 are crystals in a submodule, submodules
   in a module, modules in an rsector, and, along the axis, rsectors. With size_0 the crystal's,

	size_l+1 = n_l size_l + (n_l - 1) gap_l
	place    = sum of i_l (size_l + gap_l) + size_0 / 2 - (size of all) / 2

   each way. With dir = 1 (CW) or -1, X = dir place_t, Y = radius + depth / 2, Z = place_a + shift of the rsector,

	angle = first + ia span / A,  x = X cos + dir Y sin,  y = -dir X sin + Y cos,  outwards: (dir sin, cos, 0)

   Crystals are numbered layer by layer, in a layer along the axis, on a ring rsector by rsector, and in it along t. */
#define _GNU_SOURCE /* strcasestr */
#include "castor_table.h"
#include "file/suffix.h"

#include <ctype.h>
#include <stdio.h>

enum { TRANSAXIAL, AXIAL, LEVELS = 4, SHIFTS = 256, COUNT_MOST = 1000000 };

struct way {
	int64_t n[LEVELS], all;
	double size[LEVELS + 1], gap[LEVELS];
};

struct layer {
	double radius, first, span; /* mm, degrees */
	int64_t rsectors;           /* around the axis */
	struct way way[2];
};

struct geom {
	const struct iso_keys *k;
	iso_scanner *s;
	struct castor_table t;
	struct layer layer[CASTOR_LAYERS];
	double shift[SHIFTS]; /* mm along the axis, of rsectors in turn */
	int shifts;
	double dir;
};

/* ---- keys ---- */

/* The line of a key: its own, else the first that begins with it, else, as CASToR does, the first that has it
   somewhere, which the scanner's note tells. `number of rsectors` is not taken from `number of rsectors axial`. */
static struct iso_keys_line *find_line(struct geom *g, const char *key)
{
	const struct iso_keys *k = g->k;
	size_t n = strlen(key);

	for (int pass = 0; pass < 3; pass++)
		for (int i = 0; i < k->n; i++) {
			const char *name = k->v[i].key, *at = strcasestr(name, key);

			if (!at || (pass == 0 && (at != name || name[n])) || (pass == 1 && at != name))
				continue;
			if (at[n] == ' ' && isalpha((unsigned char)at[n + 1])) continue;
			if (pass == 2)
				iso_castor_note(g->s, "key '%.40s' is taken from '%.60s', as CASToR does",
				                key, name);
			k->v[i].used = true;
			return &k->v[i];
		}
	return NULL;
}

static int bad_line(const struct geom *g, const struct iso_keys_line *l, const char *what)
{
	return iso_fail(ISO_EINPUT, "%s:%d: %.60s is '%.60s', must be %s", g->k->path, l->line, l->key,
	                l->value, what);
}

/* The longest part of a word, from its start, that is a number: CASToR's own files have "72.5.". */
static bool leading_number(double *v, const char *p, size_t length)
{
	for (length = length < 60 ? length : 60; length > 0; length--)
		if (iso_number(v, p, length)) return true;
	return false;
}

/* n numbers, with commas between them. More are read past, as CASToR does. False: the line has fewer. */
static bool numbers(double *v, int n, const struct iso_keys_line *l)
{
	const char *p = l->value;

	for (int i = 0; i < n; i++) {
		p += strspn(p, " \t");
		size_t length = strcspn(p, ",");

		if (!leading_number(&v[i], p, length)) return false;
		p += length;
		p += *p == ',';
	}
	return true;
}

/* A number a layer, in [min, max]; where the key is not there, `absent`, or a failure if that is NAN. */
static int per_layer(double v[CASTOR_LAYERS], struct geom *g, const char *key, double absent, double min,
                     double max)
{
	const struct iso_keys_line *l = find_line(g, key);
	char what[100];

	for (int i = 0; i < g->t.layers; i++) v[i] = absent;
	if (!l) return isnan(absent) ? iso_refuse(g->k->path, "key '%s' is missing", key) : ISO_OK;
	bool good = numbers(v, g->t.layers, l);

	for (int i = 0; i < g->t.layers && good; i++) good = v[i] >= min && v[i] <= max;
	iso_snprintf(what, sizeof what, "%d number%s in [%g, %g], one a layer", g->t.layers,
	             g->t.layers == 1 ? "" : "s", min, max);
	return good ? ISO_OK : bad_line(g, l, what);
}

static int per_layer_int(double v[CASTOR_LAYERS], struct geom *g, const char *key, double absent)
{
	int st = per_layer(v, g, key, absent, 1, COUNT_MOST);

	for (int i = 0; i < g->t.layers && !st; i++)
		if (v[i] != floor(v[i])) st = bad_line(g, find_line(g, key), "whole numbers");
	return st;
}

/* ---- the geometry ---- */

static const char *const way_name[] = { "transaxial", "axial" };

/* Numbers and gaps of a level. Where every layer has one thing of it, its gap is between nothing and not looked for. */
static int get_level(struct geom *g, int level, int way)
{
	static const char *const things[] = { "crystals", "submodules", "modules", "rsectors" };
	static const char *const thing[] = { "crystal", "submodule", "module", "rsector" };
	double n[CASTOR_LAYERS], gap[CASTOR_LAYERS] = { 0 };
	bool several = false;
	char key[60];
	int st;

	snprintf(key, sizeof key, "number of %s %s", things[level], way_name[way]);
	if ((st = per_layer_int(n, g, key, level == 0 ? NAN : 1))) return st;
	for (int i = 0; i < g->t.layers; i++) several = several || n[i] > 1;
	snprintf(key, sizeof key, "%s gap %s", thing[level], way_name[way]);
	iso_keys_find(g->k, key); /* it has its use, also where it is between nothing */
	if (several && (st = per_layer(gap, g, key, 0, -1e4, 1e4))) return st;
	for (int i = 0; i < g->t.layers; i++) {
		g->layer[i].way[way].n[level] = (int64_t)n[i];
		g->layer[i].way[way].gap[level] = gap[i];
	}
	return ISO_OK;
}

static int get_ways(struct geom *g)
{
	const char *size[] = { iso_keys_find(g->k, "crystals size trans") ? "crystals size trans"
		                                                          : "crystals size transaxial",
		               "crystals size axial", "crystals size depth" };
	double v[CASTOR_LAYERS];
	int st = ISO_OK;

	for (int c = 0; c < 3 && !st; c++) {
		st = per_layer(v, g, size[c], NAN, 1e-6, 1e4);
		for (int i = 0; i < g->t.layers && !st; i++) {
			g->t.size[i][c] = v[i];
			if (c < 2) g->layer[i].way[c].size[0] = v[i];
		}
	}
	for (int i = 0; i < g->t.layers; i++) g->layer[i].way[TRANSAXIAL].n[3] = 1;
	for (int level = 0; level < LEVELS; level++)
		for (int way = 0; way < 2 && !st; way++)
			if (level < 3 || way == AXIAL) st = get_level(g, level, way);
	return st;
}

/* One number stands for all layers. */
static int get_depths(struct geom *g)
{
	static const char key[] = "mean depth of interaction";
	const struct iso_keys_line *l = find_line(g, key);

	if (!l || strchr(l->value, ',')) return per_layer(g->t.depth, g, key, -1, -1e4, 1e4);
	if (!numbers(g->t.depth, 1, l) || fabs(g->t.depth[0]) > 1e4)
		return bad_line(g, l, "a number of mm up to 10000");
	for (int i = 1; i < g->t.layers; i++) g->t.depth[i] = g->t.depth[0];
	return ISO_OK;
}

static int get_rings(struct geom *g)
{
	double radius[CASTOR_LAYERS], n[CASTOR_LAYERS], first[CASTOR_LAYERS], span[CASTOR_LAYERS];
	int st;

	if ((st = per_layer(radius, g, "scanner radius", NAN, 1e-3, 1e5)) ||
	    (st = per_layer_int(n, g, "number of rsectors", NAN)) ||
	    (st = per_layer(first, g, "rsectors first angle", 0, -1e4, 1e4)) ||
	    (st = per_layer(span, g, "rsectors angular span", 360, -360, 360)) || (st = get_depths(g)))
		return st;
	for (int i = 0; i < g->t.layers; i++) {
		g->layer[i].radius = radius[i];
		g->layer[i].rsectors = (int64_t)n[i];
		g->layer[i].first = first[i];
		g->layer[i].span = span[i];
	}
	return ISO_OK;
}

/* "nbZShift: 0", as some files have it, is no shift, whatever ZShift says. */
static int get_shifts(struct geom *g)
{
	const struct iso_keys_line *l = find_line(g, "rsectors ZShift");
	bool said = iso_keys_find(g->k, "rsectors nbZShift");
	int64_t n = 0;
	int st = iso_keys_int(&n, g->k, "rsectors nbZShift", 0, SHIFTS);

	g->shifts = st || n < 1 ? 1 : (int)n;
	if (st || (!l && n < 2) || (said && n == 0)) return st;
	if (!l || n < 1)
		return iso_refuse(g->k->path, "key 'rsectors %s' is missing", l ? "nbZShift" : "ZShift");
	bool good = numbers(g->shift, g->shifts, l);

	for (int i = 0; i < g->shifts && good; i++) good = fabs(g->shift[i]) <= 1e4;
	return good ? ISO_OK
	            : bad_line(g, l, "as many numbers of mm as 'rsectors nbZShift' says, up to 10000");
}

static int get_direction(struct geom *g)
{
	const char *word = iso_keys_find(g->k, "rotation direction");

	g->dir = word && iso_same_word(word, "CCW") ? -1 : 1;
	if (word && g->dir > 0 && !iso_same_word(word, "CW"))
		return iso_refuse(g->k->path, "rotation direction is '%.60s', must be CW or CCW", word);
	return ISO_OK;
}

/* Sizes of levels, and numbers of crystals: in floating point first, where no product is too large. */
static int count(struct geom *g)
{
	double all = 0;

	for (int i = 0; i < g->t.layers; i++) {
		double crystals = (double)g->layer[i].rsectors;

		for (int w = 0; w < 2; w++) {
			struct way *way = &g->layer[i].way[w];

			way->all = 1;
			for (int l = 0; l < LEVELS; l++) {
				crystals *= (double)way->n[l];
				if (crystals > SCANNER_MAX)
					return iso_refuse(g->k->path, "more than %d crystals in layer %d",
					                  SCANNER_MAX, i);
				way->all *= way->n[l];
				way->size[l + 1] = (double)way->n[l] * way->size[l] +
				                   (double)(way->n[l] - 1) * way->gap[l];
			}
		}
		g->t.crystals[i] = (int64_t)crystals;
		all += crystals;
	}
	if (all != (double)g->t.n)
		return iso_refuse(g->k->path,
		                  "its layers have %.0f crystals in all, 'number of elements' says %" PRId64,
		                  all, g->t.n);
	return ISO_OK;
}

/* A misspelt key of a gap would be a gap of 0: what has no use is told. */
static void tell_unused(struct geom *g)
{
	static const char *const other[] = { "voxels number transaxial", "voxels number axial",
		                             "field of view transaxial", "field of view axial",
		                             "description" };
	char keys[120];

	for (size_t i = 0; i < sizeof other / sizeof *other; i++) iso_keys_find(g->k, other[i]);
	iso_keys_unused(keys, sizeof keys, g->k);
	if (keys[0]) iso_castor_note(g->s, "keys that are not used: %s", keys);
}

static int get_geom(struct geom *g)
{
	int64_t layers = 0;
	int st = iso_castor_table_head(g->s, &g->t, g->k);

	if (st || (st = iso_keys_int(&layers, g->k, "number of layers", 1, CASTOR_LAYERS))) return st;
	if (layers == 0) return iso_refuse(g->k->path, "key 'number of layers' is missing");
	g->t.layers = (int)layers;
	if ((st = get_rings(g)) || (st = get_ways(g)) || (st = get_shifts(g)) || (st = get_direction(g)))
		return st;
	tell_unused(g);
	return count(g);
}

/* ---- the crystals ---- */

/* Crystal i of so many along one way, from the middle. */
static double place(const struct way *w, int64_t i)
{
	double at = (w->size[0] - w->size[LEVELS]) / 2;

	for (int l = 0; l < LEVELS; i /= w->n[l++]) at += (double)(i % w->n[l]) * (w->size[l] + w->gap[l]);
	return at;
}

static void place_crystal(const struct geom *g, int layer, int64_t i, double p[3], float outward[3])
{
	const struct layer *l = &g->layer[layer];
	int64_t across = l->way[TRANSAXIAL].all, rsector = i / across % l->rsectors;
	double angle = (l->first + (double)rsector * l->span / (double)l->rsectors) * M_PI / 180;
	double x = g->dir * place(&l->way[TRANSAXIAL], i % across), y = l->radius + g->t.size[layer][2] / 2;

	p[0] = x * cos(angle) + g->dir * y * sin(angle);
	p[1] = y * cos(angle) - g->dir * x * sin(angle);
	p[2] = place(&l->way[AXIAL], i / across / l->rsectors) + g->shift[rsector % g->shifts];
	outward[0] = (float)(g->dir * sin(angle));
	outward[1] = (float)cos(angle);
	outward[2] = 0;
}

static void place_all(const struct geom *g)
{
	iso_scanner *s = g->s;
	int64_t k = 0;

	for (int layer = 0; layer < g->t.layers; layer++)
		for (int64_t i = 0; i < g->t.crystals[layer]; i++, k++)
			place_crystal(g, layer, i, s->pos + 3 * k, s->face[k].outward);
}

int iso_scanner_read_geom(iso_scanner *s, const char *path)
{
	struct iso_keys keys = { 0 };
	struct geom g = { .k = &keys, .s = s };
	int st = iso_keys_read(&keys, path);

	if (st) return st;
	if (!(st = get_geom(&g)) && !(st = iso_castor_table_room(s, &g.t, path))) {
		place_all(&g);
		st = iso_castor_table_finish(s, &g.t, path);
	}
	iso_keys_free(&keys);
	return st;
}
