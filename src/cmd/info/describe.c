/* SPDX-License-Identifier: BSD-3-Clause */
/* What a file holds: arrays, events, scanners, phantoms, records. */
#include "describe.h"
#include "problem/strip/strip_opt.h"

#include "cmd/cmd.h"
#include "algo/checkpoint.h"
#include "io/kinds.h"
#include "text/conf.h"
#include "text/json_file.h"
#include "text/json_memory.h"
#include "io/format.h"
#include "physics/material_kern.h"
#include "scanner/scanner.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static json_t *range(double low, double high)
{
	return low <= high ? record_pack("[f,f]", low, high) : json_null();
}

static void set(json_t *o, const char *key, json_t *value)
{
	json_object_set_new(o, key, value);
}

static void warn(json_t *o, json_t *text)
{
	json_array_append_new(json_object_get(o, "warnings"), text);
}

/* ---- arrays and images ---- */

struct tally {
	double min, max, sum; /* of the finite values */
	int64_t finite, nan, inf, negative, zero;
};

static void tally_value(struct tally *t, double v)
{
	if (isnan(v)) {
		t->nan++;
	} else if (isinf(v)) {
		t->inf++;
	} else {
		t->finite++;
		t->min = fmin(t->min, v);
		t->max = fmax(t->max, v);
		t->sum += v;
		t->negative += v < 0;
		t->zero += v == 0;
	}
}

static struct tally tally(const struct iso_array *a)
{
	struct tally t = { .min = INFINITY, .max = -INFINITY };

	for (int64_t i = 0; i < a->n; i++) tally_value(&t, a->v[i]);
	return t;
}

static void describe_values(json_t *o, const struct iso_array *a)
{
	struct tally t = tally(a);

	set(o, "min", record_real(t.min));
	set(o, "max", record_real(t.max));
	set(o, "mean", record_real(t.sum / (double)t.finite));
	set(o, "sum", record_real(t.sum));
	set(o, "nan", json_integer(t.nan));
	set(o, "infinite", json_integer(t.inf));
	set(o, "negative", json_integer(t.negative));
	set(o, "zero", json_integer(t.zero));
	if (a->n == 0) warn(o, json_string("no values"));
	if (t.nan + t.inf > 0) warn(o, json_sprintf("%" PRId64 " values are NaN or infinite", t.nan + t.inf));
	if (t.negative > 0) warn(o, json_sprintf("%" PRId64 " values are negative", t.negative));
	if (a->n > 0 && t.zero == a->n) warn(o, json_string("all values are 0"));
}

static json_t *extent(const struct iso_grid *g, int axis)
{
	double half = .5 * (double)g->n[axis] * g->voxel[axis];

	return range(g->centre[axis] - half, g->centre[axis] + half);
}

static void describe_grid(json_t *o, const struct iso_grid *g)
{
	set(o, "grid", cmd_grid_json(g));
	set(o, "extent_mm",
	    json_pack("{s:o, s:o, s:o}", "x", extent(g, 0), "y", extent(g, 1), "z", extent(g, 2)));
}

static int describe_array(json_t *o, const char *path)
{
	struct iso_array a = { 0 };
	json_t *shape = json_array();
	int st = cmd_read(NULL, &a, path, ISO_ANY | ISO_PAIRS);

	for (int i = 0; i < a.n_dim; i++) json_array_append_new(shape, json_integer(a.dim[i]));
	set(o, "kind", json_string(a.has_grid ? "image" : a.pairs ? "array of complex pairs" : "array"));
	set(o, "shape", shape);
	if (a.has_grid)
		describe_grid(o, &a.grid);
	else
		warn(o, json_string("no grid: the file does not say where its values lie"));
	set(o, "unit", a.unit[0] ? record_string(a.unit) : json_null());
	if (!a.unit[0]) warn(o, json_string("no unit"));
	describe_values(o, &a);
	if (!st && !a.pairs && a.n_dim == 2 && (a.dim[1] == 6 || a.dim[1] == 7)) st = describe_rows(o, path);
	iso_array_free(&a);
	return st;
}

/* ---- scanners, phantoms, records ---- */

static void describe_detectors(json_t *o, const iso_scanner *s)
{
	const double *p = iso_scanner_positions(s);
	double r_low = INFINITY, r_high = -INFINITY, z_low = INFINITY, z_high = -INFINITY;

	for (int64_t i = 0; i < iso_scanner_crystals(s); i++, p += 3) {
		double r = hypot(p[0], p[1]);

		r_low = fmin(r_low, r);
		r_high = fmax(r_high, r);
		z_low = fmin(z_low, p[2]);
		z_high = fmax(z_high, p[2]);
	}
	set(o, "radius_mm", range(r_low, r_high));
	set(o, "z_mm", range(z_low, z_high));
}

static void describe_pairs(json_t *o, const iso_scanner *s)
{
	const struct iso_pairs *p = &s->pairs;

	if (s->kind == ISO_CYLINDER) {
		set(o, "rings", json_integer(p->rings));
		set(o, "crystals_per_ring", json_integer(p->per_ring));
		set(o, "min_crystal_distance", json_integer(p->min_distance));
		set(o, "max_ring_difference", json_integer(p->max_ring_difference));
	} else {
		set(o, "min_angle_degrees", record_real(p->min_angle * 180 / M_PI));
	}
	set(o, p->min_angle > 0 ? "pairs_at_most" : "pairs", json_integer(p->n));
	set(o, "pair_weight", json_string(s->solid_angle ? "solid-angle" : "uniform"));
}

static json_t *positive(double v)
{
	return v > 0 ? record_real(v) : json_null();
}

/* What the description does not say is null. */
static void describe_response(json_t *o, const iso_scanner *s)
{
	const double *size = iso_scanner_crystal_mm(s);

	set(o, "crystal_mm", size ? record_pack("[f,f,f]", size[0], size[1], size[2]) : json_null());
	set(o, "tof_fwhm_ps", record_real(s->tof_fwhm_ps));
	set(o, "tof_bin_ps", positive(s->tof_bin_ps));
	set(o, "coincidence_ns", positive(s->coincidence_ns));
}

static void describe_strips(json_t *o, const struct iso_strips *s)
{
	set(o, "radius_mm", record_real(s->radius));
	set(o, "length_mm", record_real(s->length));
	set(o, "sigma_z_mm", record_real(s->sigma_z));
	set(o, "sigma_dl_mm", record_real(s->sigma_dl));
	set(o, "sigma_z_growth", record_real(s->sigma_z_growth));
	set(o, "gamma_per_mm2", record_real(s->gamma));
}

/* With mu at 511 keV where there are cross sections of its elements. */
static int describe_material(json_t *o, const struct iso_panels *p)
{
	json_t *material = record_pack("{s:s, s:f}", "formula", p->formula, "density", p->density);
	struct iso_material m;
	float mu[3];
	int st = iso_material_make(&m, p->formula, p->density);

	if (st) {
		warn(o, json_string(iso_message()));
	} else {
		material_mu(mu, &m, 511);
		set(material, "photo_per_mm", record_real(mu[0]));
		set(material, "compton_per_mm", record_real(mu[1] - mu[0]));
		set(material, "rayleigh_per_mm", record_real(mu[2] - mu[1]));
		set(material, "mu_511_per_mm", record_real(mu[2]));
		set(material, "length_mm", record_real(1 / mu[2]));
		set(material, "source", json_string(iso_material_source()->name));
	}
	set(o, "material", material);
	return st == ISO_ENOMEM ? st : ISO_OK;
}

/* Directions: crystal offsets from the upper to the lower head; with layers, of each two. */
static void describe_lors(json_t *o, const struct iso_panels *p)
{
	int64_t x = p->crystals[0], z = p->crystals[1];

	set(o, "lors", json_integer(iso_panels_lors(p)));
	set(o, "directions",
	    json_pack("{s:I, s:I, s:i}", "signed", (json_int_t)((2 * x - 1) * (2 * z - 1)), "unsigned",
	              (json_int_t)(x * z), "pairs of layers", p->layers * p->layers));
}

static int describe_panels(json_t *o, const struct iso_panels *p)
{
	static const char *const readout[] = { "head", "block", "crystal" };
	struct iso_grid g;
	int st;

	set(o, "crystals_per_head", json_pack("[i,i]", p->crystals[0], p->crystals[1]));
	set(o, "pitch_mm", record_pack("[f,f]", p->pitch[0], p->pitch[1]));
	set(o, "crystal_mm", record_pack("[f,f,f]", p->crystal[0], p->crystal[1], p->crystal[2]));
	set(o, "gap_mm", record_real(p->gap));
	set(o, "layers", json_integer(p->layers));
	set(o, "block", p->block ? json_integer(p->block) : json_null());
	set(o, "readout", json_string(readout[p->readout]));
	set(o, "energy_resolution", record_real(p->resolution));
	set(o, "window_kev", range(p->window[0], p->window[1]));
	set(o, "time_fwhm_ns", positive(p->time_fwhm));
	set(o, "coincidence_ns", positive(p->coincidence));
	st = describe_material(o, p);
	describe_lors(o, p);
	iso_panels_grid(&g, p);
	describe_grid(o, &g);
	return st;
}

static int describe_scanner(json_t *o, const char *path)
{
	static const char *const kind[] = { [ISO_CYLINDER] = "cylinder",
		                            [ISO_DETECTORS] = "detectors",
		                            [ISO_STRIPS] = "strips",
		                            [ISO_PANELS] = "panels",
		                            [ISO_TRANSDUCERS] = "transducers" };
	iso_scanner *s = NULL;
	int st = iso_scanner_read(&s, path);

	if (st) return st;
	set(o, "kind", json_string("scanner"));
	set(o, "name", record_string(iso_scanner_name(s)));
	set(o, "scanner", json_string(kind[iso_scanner_kind(s)]));
	if (iso_scanner_strips(s)) {
		describe_strips(o, iso_scanner_strips(s));
	} else if (iso_scanner_panels(s)) {
		st = describe_panels(o, iso_scanner_panels(s));
	} else if (iso_scanner_transducers(s)) {
		describe_transducers(o, iso_scanner_transducers(s));
	} else {
		set(o, "crystals", json_integer(iso_scanner_crystals(s)));
		describe_pairs(o, s);
		describe_detectors(o, s);
		describe_response(o, s);
	}
	iso_scanner_free(s);
	return st;
}

int describe_phantom(json_t *o, const char *path)
{
	const double at[3] = { 0 };
	iso_phantom *p = NULL;
	struct iso_grid g;
	int st = iso_phantom_create(&p, path, at);

	if (st) return st;
	set(o, "kind", json_string("phantom"));
	iso_phantom_grid(p, &g);
	describe_grid(o, &g);
	iso_phantom_free(p);
	return ISO_OK;
}

static void describe_record(json_t *o, const json_t *root)
{
	static const char *const keys[] = {
		"isotome", "command",           "started", "device",   "inputs",
		"times_s", "peak_memory_bytes", "results", "warnings",
	};

	set(o, "kind", json_string("record of a run"));
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		json_object_set(o, keys[i], json_object_get(root, keys[i]));
}

static int describe_checkpoint(json_t *o, const char *path)
{
	char *header = NULL;
	int st = iso_checkpoint_info(&header, path);
	json_t *root = NULL;

	if (!st) st = iso_json_parse(&root, path, header, strlen(header));
	free(header);
	if (st) return st;
	set(o, "kind", json_string("checkpoint"));
	json_object_update(o, root);
	json_decref(root);
	return ISO_OK;
}

/* Descriptions tell their kind by a key. */
static int describe_description(json_t *o, const char *path)
{
	struct conf_node *root = NULL;
	int st = iso_conf_read(&root, path);

	if (st) return st;
	bool scanner = iso_conf_find(root, "kind"), phantom = iso_conf_find(root, "shapes");

	iso_conf_free(root);
	if (scanner) return describe_scanner(o, path);
	if (phantom) return describe_phantom(o, path);
	if (iso_has_suffix(path, ".json")) return describe_array(o, path);
	return iso_fail(ISO_EINPUT, "%s: neither a scanner (key kind) nor a phantom (key shapes)", path);
}

/* A record first, which may be larger than a description. */
static int describe_json(json_t *o, const char *path)
{
	json_t *root = NULL;
	int st = iso_json_read(&root, path);
	bool record = json_object_get(root, "verb") && json_object_get(root, "parameters") &&
	              !json_object_get(root, "kind") && !json_object_get(root, "shapes");

	if (record) describe_record(o, root);
	json_decref(root);
	return record || st == ISO_ENOMEM ? st : describe_description(o, path);
}

/* ---- by suffix ---- */

static int (*const by_content[])(json_t *o, const char *path) = {
	[ISO_ARRAY_FILE] = describe_array,
	[ISO_STRIPS_FILE] = strip_describe,
	[ISO_RECORDING_FILE] = describe_recording,
	[ISO_MATRIX_FILE] = describe_srm,
	[ISO_DESCRIPTION_FILE] = describe_description,
	[ISO_JSON_FILE] = describe_json,
	[ISO_SCANNER_FILE] = describe_scanner,
	[ISO_CHECKPOINT_FILE] = describe_checkpoint,
};

static int describe_kind(json_t *o, const char *path, const struct iso_events_options *how)
{
	const struct iso_kind *k = iso_kind_of(path);

	if (!k) return iso_kind_none(path);
	return k->content == ISO_EVENTS_FILE ? describe_events(o, path, how)
	                                     : by_content[k->content](o, path);
}

static int no_memory(const char *path)
{
	return iso_fail(ISO_ENOMEM, "%s: no memory to describe it", path);
}

int describe(json_t **out, const char *path, const struct iso_events_options *how)
{
	json_t *o;
	struct stat info;
	int st;

	if (stat(path, &info) != 0) return iso_fail(ISO_EINPUT, "%s: %s", path, strerror(errno));
	o = json_pack("{s:o*, s:s, s:I, s:[]}", "file", record_string(path), "kind", "", "bytes",
	              (json_int_t)info.st_size, "warnings");
	if (!o) return no_memory(path);
	st = describe_kind(o, path, how);
	if (!st && iso_json_failures() > 0) st = no_memory(path);
	if (st)
		json_decref(o);
	else
		*out = o;
	return st;
}
