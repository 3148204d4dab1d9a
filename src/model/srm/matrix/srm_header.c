/* SPDX-License-Identifier: BSD-3-Clause */
/* What the text of a system matrix's file says, and back. */
#include "srm_matrix.h"

#include <jansson.h>
#include <stdlib.h>

enum { RANGES = 4096 }; /* of pairs, at most: each is compared with each */

static const char *const readouts[] = { "head", "block", "crystal", NULL };

/* ---- writing ---- */

/* The keys of a scanner description. */
static json_t *scanner_json(const struct iso_panels *p)
{
	return json_pack("{s:s, s:[i,i], s:[f,f], s:[f,f,f], s:f, s:i, s:i, s:{s:s, s:f}, s:{s:f, s:[f,f]}, "
	                 "s:{s:f, s:f}, s:s, s:[i,i], s:i, s:f}",
	                 "kind", "panels", "crystals", p->crystals[0], p->crystals[1], "pitch_mm",
	                 p->pitch[0], p->pitch[1], "crystal_mm", p->crystal[0], p->crystal[1], p->crystal[2],
	                 "gap_mm", p->gap, "layers", p->layers, "block", p->block, "material", "formula",
	                 p->formula, "density", p->density, "energy", "resolution", p->resolution,
	                 "window_kev", p->window[0], p->window[1], "time", "fwhm_ns", p->time_fwhm,
	                 "coincidence_ns", p->coincidence, "readout", readouts[p->readout],
	                 "voxels_per_pitch", p->per_pitch[0], p->per_pitch[1], "planes", p->planes,
	                 "plane_mm", p->plane);
}

static json_t *physics_json(const iso_srm *m)
{
	const struct iso_transport_options *t = &m->options.transport;

	return json_pack("{s:b, s:b, s:b, s:b, s:b, s:s?, s:i}", "centroid", t->centroid, "first_layer",
	                 t->first_layer, "no_rayleigh", t->no_rayleigh, "no_reentry", t->no_reentry,
	                 "acollinearity", t->acollinearity, "positron", t->positron, "outcomes",
	                 m->options.outcomes);
}

static json_t *pairs_json(const iso_srm *m)
{
	json_t *list = json_array();
	int bad = 0;

	for (int i = 0; i < m->n_range; i++)
		bad |= json_array_append_new(
			list, json_pack("{s:I, s:I, s:I}", "seed", (json_int_t)m->range[i].seed, "first",
		                        (json_int_t)m->range[i].first, "n", (json_int_t)m->range[i].n));
	if (!bad) return list;
	json_decref(list);
	return NULL;
}

json_t *iso_srm_header(const iso_srm *m, const char *command)
{
	const struct iso_srm_bound *b = &m->bound;

	return json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:b, s:I, s:o, s:o, s:o, s:{s:f, s:f, s:f, s:i, s:f, s:f}, "
		"s:{s:f, s:f, s:f, s:I}}",
		"format", "isotome system matrix", "version", iso_version(), "command",
		command ? command : "", "source", iso_srm_sources[m->source], "symmetry",
		iso_srm_symmetries[m->options.symmetry], "swap", m->shape.swap, "seed",
		(json_int_t)m->options.seed, "scanner", scanner_json(&m->panels), "physics", physics_json(m),
		"pairs", pairs_json(m), "bound", "share", b->share, "min_weight", b->min_weight, "per_column",
		b->per_column, "max_offset", b->max_offset, "least_weight", m->least_weight, "kept", m->kept,
		"noise", "core_counts", m->noise.core_counts, "core_elements", m->noise.core_elements, "once",
		m->noise.once, "usable_elements", (json_int_t)m->noise.usable_elements);
}

/* ---- reading ---- */

static int word(int *which, const char *const *words, const char *text)
{
	for (int i = 0; words[i]; i++)
		if (strcmp(words[i], text) == 0) {
			*which = i;
			return 0;
		}
	return -1;
}

static int read_scanner(struct iso_panels *p, json_t *o)
{
	const char *formula, *readout;
	int which, bad;

	bad = json_unpack(o,
	                  "{s:[i,i], s:[F,F], s:[F,F,F], s:F, s:i, s:i, s:{s:s, s:F}, s:{s:F, s:[F,F]}, "
	                  "s:{s:F, s:F}, s:s, s:[i,i], s:i, s:F}",
	                  "crystals", &p->crystals[0], &p->crystals[1], "pitch_mm", &p->pitch[0],
	                  &p->pitch[1], "crystal_mm", &p->crystal[0], &p->crystal[1], &p->crystal[2],
	                  "gap_mm", &p->gap, "layers", &p->layers, "block", &p->block, "material", "formula",
	                  &formula, "density", &p->density, "energy", "resolution", &p->resolution,
	                  "window_kev", &p->window[0], &p->window[1], "time", "fwhm_ns", &p->time_fwhm,
	                  "coincidence_ns", &p->coincidence, "readout", &readout, "voxels_per_pitch",
	                  &p->per_pitch[0], &p->per_pitch[1], "planes", &p->planes, "plane_mm", &p->plane);
	if (bad || strlen(formula) >= sizeof p->formula || word(&which, readouts, readout)) return -1;
	strcpy(p->formula, formula);
	p->readout = (enum iso_readout)which;
	return 0;
}

/* The name of the isotope stays in the tree: iso_srm_make takes a name of its own. */
static int read_physics(struct iso_srm_options *o, json_t *physics)
{
	struct iso_transport_options *t = &o->transport;
	json_t *positron;
	int flag[5];

	if (json_unpack(physics, "{s:b, s:b, s:b, s:b, s:b, s:o, s:i}", "centroid", &flag[0], "first_layer",
	                &flag[1], "no_rayleigh", &flag[2], "no_reentry", &flag[3], "acollinearity", &flag[4],
	                "positron", &positron, "outcomes", &o->outcomes))
		return -1;
	t->positron = json_string_value(positron); /* NULL: none */
	t->centroid = flag[0];
	t->first_layer = flag[1];
	t->no_rayleigh = flag[2];
	t->no_reentry = flag[3];
	t->acollinearity = flag[4];
	return 0;
}

static int read_pairs(iso_srm *m, json_t *list)
{
	json_t *item;
	size_t i;

	if (json_array_size(list) > RANGES)
		return iso_fail(ISO_EINPUT, "more than %d ranges of pairs", RANGES);
	json_array_foreach (list, i, item) {
		json_int_t seed, first, n;

		if (json_unpack(item, "{s:I, s:I, s:I}", "seed", &seed, "first", &first, "n", &n) ||
		    first < 0 || n < 1 || n > (json_int_t)1 << 52 || first > (json_int_t)1 << 52)
			return iso_fail(ISO_EINPUT, "its pairs are damaged");
		int st = iso_srm_add_range(m, (struct srm_range){ (uint64_t)seed, first, n });

		if (st) return st;
	}
	return ISO_OK;
}

static int read_bound(iso_srm *m, json_t *root)
{
	json_int_t usable;
	int bad;

	bad = json_unpack(root, "{s:{s:F, s:F, s:F, s:i, s:F, s:F}, s:{s:F, s:F, s:F, s:I}}", "bound",
	                  "share", &m->bound.share, "min_weight", &m->bound.min_weight, "per_column",
	                  &m->bound.per_column, "max_offset", &m->bound.max_offset, "least_weight",
	                  &m->least_weight, "kept", &m->kept, "noise", "core_counts", &m->noise.core_counts,
	                  "core_elements", &m->noise.core_elements, "once", &m->noise.once, "usable_elements",
	                  &usable);
	m->noise.usable_elements = bad ? 0 : usable;
	return bad;
}

/* Source and symmetry by name, and the seed. */
static int read_words(struct iso_srm_options *o, int *source, json_t *root)
{
	const char *from, *symmetry;
	json_int_t seed;
	int which;

	if (json_unpack(root, "{s:s, s:s, s:I}", "source", &from, "symmetry", &symmetry, "seed", &seed) ||
	    word(source, iso_srm_sources, from) || word(&which, iso_srm_symmetries, symmetry))
		return -1;
	o->symmetry = (enum iso_srm_symmetry)which;
	o->seed = (uint64_t)seed;
	return 0;
}

/* A failure of another function, with the name of the file before it. */
static int in_file(int st, const char *path)
{
	return iso_fail(st == ISO_EARG ? ISO_EINPUT : st, "%s: %s", path, iso_message());
}

int iso_srm_from_header(iso_srm **out, json_t *root, const char *path, int64_t columns)
{
	struct iso_srm_options o = { .size = sizeof o };
	struct iso_panels p = { 0 };
	const char *command;
	int swap, source, st;
	iso_srm *m = NULL;

	if (json_unpack(root, "{s:s, s:b}", "command", &command, "swap", &swap) ||
	    read_words(&o, &source, root) || read_scanner(&p, json_object_get(root, "scanner")) ||
	    read_physics(&o, json_object_get(root, "physics")))
		return iso_fail(ISO_EINPUT, "%s: its text lacks what a system matrix says", path);
	/* before memory is taken, which a damaged scanner could make large */
	if (ceil(.5 * p.planes) * ceil(.5 * p.per_pitch[0]) * ceil(.5 * p.per_pitch[1]) != (double)columns)
		return iso_fail(ISO_EINPUT, "%s: its sensitivity does not fit its scanner", path);
	if ((st = iso_srm_make(&m, &p, &o, (enum srm_source)source))) return in_file(st, path);
	if (!(m->command = strdup(command)))
		st = iso_fail_memory(path, (int64_t)strlen(command));
	else if ((st = read_pairs(m, json_object_get(root, "pairs"))))
		st = in_file(st, path);
	else if (read_bound(m, root) || m->shape.swap != swap)
		st = iso_fail(ISO_EINPUT, "%s: its text contradicts itself", path);
	return iso_srm_hand_out(out, m, st);
}
