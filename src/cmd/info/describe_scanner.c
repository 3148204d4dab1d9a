/* SPDX-License-Identifier: BSD-3-Clause */
/* What a description holds: scanners by their kind, and phantoms. */
#include "describe.h"
#include "io/format.h"

#include "cmd/cmd.h"
#include "isotome/crystals.h"
#include "physics/material.h"
#include "scanner/barrel.h"

static const struct fact cylinder[] = {
	FACT("rings", struct iso_pairs, rings),
	FACT("crystals_per_ring", struct iso_pairs, per_ring),
	FACT("min_crystal_distance", struct iso_pairs, min_distance),
	FACT("max_ring_difference", struct iso_pairs, max_ring_difference),
	{ 0 },
};

void describe_extent(json_t *o, const iso_scanner *s)
{
	double range[2][2] = { { INFINITY, -INFINITY }, { INFINITY, -INFINITY } }; /* of the radius, of z */
	const double *p = iso_scanner_positions(s);

	for (int64_t i = 0; i < iso_scanner_crystals(s); i++, p += 3)
		for (int k = 0; k < 2; k++) {
			double at = k ? p[2] : hypot(p[0], p[1]);

			range[k][0] = fmin(range[k][0], at);
			range[k][1] = fmax(range[k][1], at);
		}
	for (int k = 0; k < 2; k++)
		set(o, k ? "z_mm" : "radius_mm",
		    range[k][0] <= range[k][1] ? record_reals(2, range[k]) : json_null());
}

void describe_field(json_t *o, const iso_scanner *s)
{
	struct iso_grid g = { 0 };

	set(o, "field_of_view", iso_scanner_grid(&g, s) == ISO_OK ? cmd_grid_json(&g) : json_null());
}

static void describe_crystals(json_t *o, const iso_scanner *s)
{
	const struct iso_pairs *p = &s->pairs;
	const double *size = iso_scanner_crystal_mm(s);

	set(o, "crystals", json_integer(iso_scanner_crystals(s)));
	if (s->kind == ISO_CYLINDER)
		facts_set(o, cylinder, p);
	else
		set(o, "min_angle_degrees", record_real(p->min_angle * 180 / M_PI));
	if (s->note[0]) facts_warn(o, "%s", s->note);
	set(o, p->min_angle > 0 ? "pairs_at_most" : "pairs", json_integer(p->n));
	set(o, "pair_weight", json_string(s->solid_angle ? "solid-angle" : "uniform"));
	describe_extent(o, s);
	set(o, "crystal_mm", size ? record_reals(3, size) : json_null());
	set(o, "tof_fwhm_ps", s->tof_fwhm_ps > 0 ? record_real(s->tof_fwhm_ps) : json_null());
	set(o, "tof_bin_ps", s->tof_bin_ps > 0 ? record_real(s->tof_bin_ps) : json_null());
	set(o, "coincidence_ns", s->coincidence_ns > 0 ? record_real(s->coincidence_ns) : json_null());
	set(o, "window_kev", s->energy_kev[1] > 0 ? record_reals(2, s->energy_kev) : json_null());
	set(o, "energy_resolution",
	    s->energy_resolution > 0 ? record_real(s->energy_resolution) : json_null());
	describe_field(o, s);
}

static const struct fact strips[] = {
	FACT("radius_mm", struct iso_strips, radius),
	FACT("length_mm", struct iso_strips, length),
	FACT("sigma_z_mm", struct iso_strips, sigma_z),
	FACT("sigma_dl_mm", struct iso_strips, sigma_dl),
	FACT("sigma_z_growth", struct iso_strips, sigma_z_growth),
	FACT("gamma_per_mm2", struct iso_strips, gamma),
	{ 0 },
};

const char *const describe_readouts[] = { "head", "block", "crystal" };

static const struct fact panels[] = {
	FACT("crystals_per_head", struct iso_panels, crystals),
	FACT("pitch_mm", struct iso_panels, pitch),
	FACT("crystal_mm", struct iso_panels, crystal),
	FACT("gap_mm", struct iso_panels, gap),
	FACT("layers", struct iso_panels, layers),
	FACT_OR_NULL("block", struct iso_panels, block),
	FACT_AS("readout", FACT_ENUM, struct iso_panels, readout, .words = describe_readouts),
	FACT("energy_resolution", struct iso_panels, resolution),
	FACT_OR_NULL("window_kev", struct iso_panels, window),
	FACT_OR_NULL("time_fwhm_ns", struct iso_panels, time_fwhm),
	FACT_OR_NULL("coincidence_ns", struct iso_panels, coincidence),
	{ 0 },
};

/* With mu at 511 keV where there are cross sections of its elements. */
static int describe_material(json_t *o, const struct iso_panels *p)
{
	json_t *material = record_pack("{s:s, s:f}", "formula", p->formula, "density", p->density);
	struct iso_material m;
	float mu[3];
	int st = iso_material_make(&m, p->formula, p->density);

	if (st) {
		facts_warn(o, "%s", iso_message());
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
static int describe_panels(json_t *o, const struct iso_panels *p)
{
	int64_t x = p->crystals[0], z = p->crystals[1];
	struct iso_grid g;
	int st;

	facts_set(o, panels, p);
	st = describe_material(o, p);
	set(o, "lors", json_integer(iso_panels_lors(p)));
	set(o, "directions",
	    json_pack("{s:I, s:I, s:i}", "signed", (json_int_t)((2 * x - 1) * (2 * z - 1)), "unsigned",
	              (json_int_t)(x * z), "pairs of layers", p->layers * p->layers));
	iso_panels_grid(&g, p);
	facts_grid(o, &g);
	return st;
}

static void describe_barrel(json_t *o, const iso_scanner *s)
{
	const struct iso_barrel *b = &s->barrel;
	double length[2] = { INFINITY, 0 }, radius[2] = { INFINITY, 0 }, sigma_z, sigma_dl;

	for (int64_t i = 0; i < b->n; i++) {
		double r = hypot(b->strip[i].x, b->strip[i].y);

		length[0] = fmin(length[0], b->strip[i].length);
		length[1] = fmax(length[1], b->strip[i].length);
		radius[0] = fmin(radius[0], r);
		radius[1] = fmax(radius[1], r);
	}
	iso_barrel_sigma(&sigma_z, &sigma_dl, b);
	set(o, "strips", json_integer(b->n));
	set(o, "first_number", json_integer(b->first));
	set(o, "pairs", json_integer(iso_barrel_pairs(b)));
	set(o, "least_pair_distance_mm", record_real(b->least_distance));
	set(o, "radius_mm", record_reals(2, radius));
	set(o, "inner_radius_mm", record_real(iso_barrel_inner(b)));
	set(o, "length_mm", length[0] < length[1] ? record_reals(2, length) : record_real(length[0]));
	set(o, "sigma_z_mm", record_real(sigma_z));
	set(o, "sigma_dl_mm", record_real(sigma_dl));
	set(o, "light_attenuation_mm",
	    b->light_attenuation > 0 ? record_real(b->light_attenuation) : json_null());
	set(o, "mu_per_mm", record_real(b->mu));
	set(o, "shadow", json_string(b->shadow ? "line" : "none"));
	set(o, "coincidence_ns", s->coincidence_ns > 0 ? record_real(s->coincidence_ns) : json_null());
	describe_field(o, s);
}

enum { CENTRE_DECAYS = 100000 };

/* Crystals that photons can be followed through: what they are made of, how much of the sphere they cover from the centre,
   and the share of decays there that gives a coincidence. */
static int describe_detector(json_t *o, const iso_scanner *s)
{
	const struct iso_modules *m = s->modules;
	static const char *const readouts[] = { "module", "block", "crystal" };
	struct iso_crystals_point p = { .size = sizeof p, .scanner = s, .n = CENTRE_DECAYS, .seed = 1 };
	struct iso_crystals_made made = { .size = sizeof made };
	struct iso_material material;
	iso_ctx *ctx = NULL;
	float mu[3];
	int st;

	if (!m || s->kind == ISO_PANELS) return ISO_OK;
	if ((st = iso_material_make(&material, m->material.formula, m->material.density)) ||
	    (st = iso_ctx_create(&ctx, "cpu", 0)) || (st = iso_crystals_count(&made, NULL, ctx, &p))) {
		iso_ctx_free(ctx);
		facts_warn(o, "%s", iso_message());
		return st == ISO_ENOMEM ? st : ISO_OK;
	}
	iso_ctx_free(ctx);
	material_mu(mu, &material, 511);
	double share = (double)made.pairs / CENTRE_DECAYS;

	set(o, "detector",
	    record_pack("{s:s, s:f, s:f, s:s, s:i, s:f, s:f, s:f}", "formula", m->material.formula, "density",
	                m->material.density, "mu_511_per_mm", (double)mu[2], "readout", readouts[m->readout],
	                "modules", (int)m->count, "coverage", .5 * (double)made.met / CENTRE_DECAYS,
	                "recorded_at_centre", share, "error", sqrt(share * (1 - share) / CENTRE_DECAYS)));
	if (s->kind == ISO_CYLINDER)
		set(o, "off_by_mm_at_most",
		    record_real(m->ring[0].radius * (1 - cos(M_PI / m->ring[0].count))));
	return ISO_OK;
}

int describe_scanner(json_t *o, const char *path)
{
	static const char *const kind[] = {
		[ISO_CYLINDER] = "cylinder", [ISO_DETECTORS] = "detectors",     [ISO_STRIPS] = "strips",
		[ISO_PANELS] = "panels",     [ISO_TRANSDUCERS] = "transducers", [ISO_BARREL] = "barrel"
	};
	iso_scanner *s = NULL;
	int st = iso_scanner_read(&s, path);

	if (st) return st;
	set(o, "kind", json_string("scanner"));
	set(o, "name", record_string(iso_scanner_name(s)));
	set(o, "scanner",
	    json_string(s->kind == ISO_DETECTORS && s->modules ? "modules" : kind[iso_scanner_kind(s)]));
	if (s->kind == ISO_STRIPS)
		facts_set(o, strips, &s->strips);
	else if (s->kind == ISO_PANELS)
		st = describe_panels(o, &s->panels);
	else if (s->kind == ISO_TRANSDUCERS)
		describe_transducers(o, &s->transducers, iso_scanner_faces(s));
	else if (s->kind == ISO_BARREL)
		describe_barrel(o, s);
	else {
		describe_crystals(o, s);
		st = describe_detector(o, s);
	}
	if (s->tissue.shape[0])
		json_object_set_new(o, "tissue",
		                    record_pack("{s:s, s:f}", "region", s->tissue.shape, "speed_mm_per_us",
		                                s->tissue.speed));
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
	set(o, "shapes", json_integer(iso_phantom_shapes(p)));
	set(o, "additive", json_boolean(iso_phantom_adds(p)));
	iso_phantom_grid(&g, p);
	facts_grid(o, &g);
	if ((double)g.n[0] * g.voxel[0] < DESCRIBE_LITTLE_MM && iso_has_suffix(path, ".txt"))
		facts_warn(o,
		           "less than %g mm wide; in metres? A line 'unit_mm 1000' before the shapes says so",
		           DESCRIBE_LITTLE_MM);
	iso_phantom_free(p);
	return ISO_OK;
}
