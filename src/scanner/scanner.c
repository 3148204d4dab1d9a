/* SPDX-License-Identifier: BSD-3-Clause */
/* Scanners of every kind: read from a description, asked for crystals and pairs. */
#include "isotome/events.h"
#include "scanner.h"
#include "file/suffix.h"

#include <stdlib.h>

/* Both in the order of enum iso_scanner_kind. */
static const char *const kind_name[] = { "cylinder",    "detectors", "strips",  "panels",
	                                 "transducers", "barrel",    "modules", NULL };
static const struct iso_scanner_fn *const kind_fn[] = { &iso_cylinder_fn, &iso_detectors_fn,   &iso_strips_fn,
	                                                &iso_panels_fn,   &iso_transducers_fn, &iso_barrel_fn,
	                                                &iso_modules_fn };
enum { MODULES_KIND = ISO_BARREL + 1 }; /* a word alone: free detectors to the rest of the library */

static int read_times(iso_scanner *s, const struct conf_node *root)
{
	static const char *const dead_words[] = { "non-paralysable", "paralysable", NULL };
	const struct conf_node *tof = iso_conf_find(root, "tof"), *time = iso_conf_find(root, "time");
	const struct conf_key tof_keys[] = {
		/* Resolution of t1 - t2, FWHM. */
		{ "fwhm_ps", CONF_REAL, &s->tof_fwhm_ps, 1, 1e-3, 1e6, true },
		/* Width of a bin of t1 - t2; times are its centres. Default: not binned. */
		{ "bin_ps", CONF_REAL, &s->tof_bin_ps, 1, 1e-3, 1e6, false },
		{ .name = NULL },
	};
	const struct conf_key time_keys[] = {
		/* Photons up to this far apart are a pair: for randoms. */
		{ "coincidence_ns", CONF_REAL, &s->coincidence_ns, 1, 1e-3, 1e6, true },
		/* Resolution of the time of a single, FWHM. Default: that of `tof` over the root of 2. */
		{ "single_fwhm_ps", CONF_REAL, &s->single_fwhm_ps, 1, 1e-3, 1e6, false },
		/* Dead time of a readout unit after a pulse. Default 0. */
		{ "dead_ns", CONF_REAL, &s->dead_ns, 1, 0, 1e9, false },
		/* non-paralysable, or paralysable: pulses that are lost prolong it. Default non-paralysable. */
		{ .name = "dead", .kind = CONF_NODE },
		/* Pulses of a unit within this time of the first are one. Default 0. */
		{ "pileup_ns", CONF_REAL, &s->pileup_ns, 1, 0, 1e9, false },
		/* Of the delayed window. Default: 10 times coincidence_ns, and 100. */
		{ "delay_ns", CONF_REAL, &s->delay_ns, 1, 0, 1e9, false },
		/* Panels: resolution of a time, FWHM. */
		{ s->kind == ISO_PANELS ? "fwhm_ns" : NULL, CONF_REAL, &s->panels.time_fwhm, 1, 1e-3, 1e6,
		  false },
		{ .name = NULL },
	};
	int paralysable = 0, st = tof ? iso_conf_keys(tof, tof_keys) : ISO_OK;

	if (st || !time || s->kind == ISO_BARREL) return st;
	if (!(st = iso_conf_keys(time, time_keys)))
		st = iso_conf_word(&paralysable, time, "dead", dead_words);
	s->paralysable = paralysable == 1;
	return st;
}

void iso_scanner_set_name(iso_scanner *s, const char *text, size_t length)
{
	if (length > sizeof s->name - 1) length = sizeof s->name - 1;
	memcpy(s->name, text, length);
	s->name[length] = '\0';
	for (char *c = s->name; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
}

/* The key `name`, or the file's name without folder and suffix. */
static int read_name(iso_scanner *s, const struct conf_node *root)
{
	const struct conf_node *name = iso_conf_find(root, "name");
	const char *slash = strrchr(root->file, '/'), *base = slash ? slash + 1 : root->file;
	const char *dot = strrchr(base, '.');

	if (name && (name->type != CONF_SCALAR || strlen(name->text) >= sizeof s->name))
		return iso_conf_fail(name, "name must be a text of at most %zu bytes", sizeof s->name - 1);
	if (name) base = name->text;
	iso_scanner_set_name(s, base, dot && !name ? (size_t)(dot - base) : strlen(base));
	return ISO_OK;
}

static int read_description(iso_scanner *s, const char *path)
{
	struct conf_node *root = NULL;
	int kind = -1, st = iso_conf_read(&root, path);

	if (st || (st = iso_conf_word(&kind, root, "kind", kind_name))) goto done;
	s->kind = kind == MODULES_KIND ? ISO_DETECTORS : (enum iso_scanner_kind)kind;
	if (!(st = read_name(s, root)) && !(st = read_times(s, root))) st = kind_fn[kind]->read(s, root);
done:
	iso_conf_free(root);
	return st;
}

static const struct {
	const char *suffix;
	int (*read)(iso_scanner *s, const char *path);
} castor[] = { { ".hscan", iso_scanner_read_hscan },
	       { ".ghscan", iso_scanner_read_hscan },
	       { ".geom", iso_scanner_read_geom } };
enum { CASTOR_KINDS = sizeof castor / sizeof *castor };

bool iso_scanner_is_castor(const char *path)
{
	for (int i = 0; i < CASTOR_KINDS; i++)
		if (iso_has_suffix(path, castor[i].suffix)) return true;
	return false;
}

int iso_scanner_read(iso_scanner **s, const char *path)
{
	if (!s || !path) return iso_fail_null(__func__);
	iso_scanner *scanner = calloc(1, sizeof *scanner);

	if (!scanner) return iso_fail_memory("scanner", sizeof *scanner);
	int (*read)(iso_scanner * s, const char *path) = read_description;

	for (int i = 0; i < CASTOR_KINDS; i++)
		if (iso_has_suffix(path, castor[i].suffix)) read = castor[i].read;
	int st = read(scanner, path);

	if (st)
		iso_scanner_free(scanner);
	else
		*s = scanner;
	return st;
}

void iso_efficiencies_free(struct iso_efficiencies *e)
{
	if (!e) return;
	free((void *)e->bin);
	free((void *)e->group);
	free((void *)e->value);
	free((void *)e->t);
	free((void *)e->z);
	free(e);
}

void iso_scanner_free(iso_scanner *s)
{
	if (!s) return;
	free(s->pos);
	free(s->tree);
	free(s->face);
	free(s->efficiency);
	free(s->modules);
	iso_efficiencies_free(s->efficiencies);
	iso_transducers_free(&s->transducers);
	free(s->faces.focus);
	free((void *)s->barrel.strip);
	free(s);
}

enum iso_scanner_kind iso_scanner_kind(const iso_scanner *s)
{
	return s ? s->kind : 0;
}

const char *iso_scanner_name(const iso_scanner *s)
{
	return s ? s->name : NULL;
}

const char *iso_scanner_note(const iso_scanner *s)
{
	return s ? s->note : NULL;
}

bool iso_scanner_assumed(const iso_scanner *s)
{
	return s && s->assumed;
}

int64_t iso_scanner_crystals(const iso_scanner *s)
{
	return s ? s->n : 0;
}

const double *iso_scanner_positions(const iso_scanner *s)
{
	return s ? s->pos : NULL;
}

double iso_scanner_tof_fwhm_ps(const iso_scanner *s)
{
	return s ? s->tof_fwhm_ps : 0;
}

double iso_scanner_tof_bin_ps(const iso_scanner *s)
{
	return s ? s->tof_bin_ps : 0;
}

double iso_scanner_coincidence_ns(const iso_scanner *s)
{
	return s ? s->coincidence_ns : 0;
}

const struct iso_strips *iso_scanner_strips(const iso_scanner *s)
{
	return s && s->kind == ISO_STRIPS ? &s->strips : NULL;
}

const struct iso_barrel *iso_scanner_barrel(const iso_scanner *s)
{
	return s && s->kind == ISO_BARREL ? &s->barrel : NULL;
}

const double *iso_scanner_crystal_mm(const iso_scanner *s)
{
	return s && s->crystal_mm[0] > 0 ? s->crystal_mm : NULL;
}

int64_t iso_scanner_pairs(const iso_scanner *s)
{
	return s ? s->pairs.n : 0;
}

void iso_scanner_pair(int64_t *a, int64_t *b, const iso_scanner *s, int64_t i)
{
	if (!a || !b || !s) return;
	pairs_get(&s->pairs, i, a, b);
}

int64_t iso_scanner_nearest(double *distance, const iso_scanner *s, const double p[3])
{
	if (!distance || !s || !p) return -1;
	if (s->n == 0 || !isfinite(p[0]) || !isfinite(p[1]) || !isfinite(p[2])) {
		*distance = INFINITY; /* from any crystal */
		return 0;
	}
	int64_t id = kind_fn[s->kind]->nearest(s, p);
	const double *c = s->pos + 3 * id;

	*distance = hypot(hypot(p[0] - c[0], p[1] - c[1]), p[2] - c[2]);
	return id;
}

/* Half a crystal less than the least distance on a ring, so that rounding leaves none out. */
double iso_scanner_min_angle(const iso_scanner *s)
{
	if (s->kind != ISO_CYLINDER) return s->pairs.min_angle;
	return ((double)s->pairs.min_distance - .5) * 2 * M_PI / (double)s->pairs.per_ring;
}

/* Places are rounded to float: a micrometre more leaves no pair out that lies at the limit. */
void iso_scanner_limit_axial(iso_scanner *s, double mm)
{
	s->pairs.max_axial = mm > 0 ? mm + 1e-3 : 0;
}

int64_t iso_scanner_windows(const iso_scanner *s, int64_t a, int64_t b)
{
	const struct iso_efficiencies *e = s->efficiencies;

	return e && e->per_ring == 0 ? e->kind[efficiency_find(e, a).kind].windows *
	                                       e->kind[efficiency_find(e, b).kind].windows
	                             : 1;
}

bool iso_scanner_in_coincidence(const iso_scanner *s, int64_t a, int64_t b)
{
	if (a < 0 || a >= s->n || b < 0 || b >= s->n || a == b) return false;
	return kind_fn[s->kind]->in_coincidence(s, a, b);
}

static inline double weight_of_ends(const iso_scanner *s, const double p1[3], const double p2[3])
{
	if (!pairs_counted(&s->pairs, p1, p2)) return 0;
	if (s->weigh) return s->weigh(s->response, p1, p2);
	return s->solid_angle ? pairs_solid_angle(p1, p2) : 1;
}

bool iso_scanner_weighs(const iso_scanner *s)
{
	return s->weigh || s->solid_angle;
}

double iso_scanner_met(const iso_scanner *s, const double p1[3], const double p2[3])
{
	return s->weigh ? s->weigh(s->response, p1, p2) : pairs_solid_angle(p1, p2);
}

double iso_scanner_pair_weight(const iso_scanner *s, const double p1[3], const double p2[3])
{
	return s && p1 && p2 ? weight_of_ends(s, p1, p2) : 0;
}

void scanner_pair_weights(iso_real *w, const iso_scanner *s, const struct iso_event *e, int64_t n,
                          double unit)
{
	for (int64_t j = 0; j < n; j++) {
		const float *a = e[j].p1, *b = e[j].p2;
		const double p1[3] = { a[0], a[1], a[2] }, p2[3] = { b[0], b[1], b[2] };

		w[j] = (iso_real)(weight_of_ends(s, p1, p2) * unit);
	}
}
