/* SPDX-License-Identifier: BSD-3-Clause */
/* What a system matrix holds: geometry, physics, pairs, elements, noise, what the bound lost, sizes. */
#include "describe.h"

#include "cmd/cmd.h"

static void set(json_t *o, const char *key, json_t *value)
{
	json_object_set_new(o, key, value);
}

static void put_geometry(json_t *o, const struct iso_panels *p)
{
	static const char *const readout[] = { "head", "block", "crystal" };
	struct iso_grid g;

	iso_panels_grid(&g, p);
	set(o, "crystals", json_pack("[i,i]", p->crystals[0], p->crystals[1]));
	set(o, "layers", json_integer(p->layers));
	set(o, "pitch_mm", record_pack("[f,f]", p->pitch[0], p->pitch[1]));
	set(o, "crystal_mm", record_pack("[f,f,f]", p->crystal[0], p->crystal[1], p->crystal[2]));
	set(o, "gap_mm", record_real(p->gap));
	set(o, "grid", cmd_grid_json(&g));
	set(o, "lors", json_integer(iso_panels_lors(p)));
	set(o, "material",
	    record_pack("{s:o, s:f}", "formula", record_string(p->formula), "density", p->density));
	set(o, "energy",
	    record_pack("{s:f, s:[f,f]}", "resolution", p->resolution, "window_kev", p->window[0],
	                p->window[1]));
	set(o, "readout", json_string(readout[p->readout]));
}

static void put_physics(json_t *o, const struct iso_srm_info *i)
{
	const struct iso_transport_options *t = &i->options.transport;

	set(o, "physics",
	    json_pack("{s:b, s:b, s:b, s:b, s:b, s:s?, s:i}", "rayleigh", !t->no_rayleigh, "reentry",
	              !t->no_reentry, "acollinearity", t->acollinearity, "centroid", t->centroid,
	              "first_layer", t->first_layer, "positron", t->positron, "outcomes",
	              i->options.outcomes));
}

static void put_pairs(json_t *o, const iso_srm *m, const struct iso_srm_info *i)
{
	json_t *runs = json_array();

	for (int k = 0; k < i->runs; k++) {
		uint64_t seed;
		int64_t first, n;

		iso_srm_run(&seed, &first, &n, m, k);
		json_array_append_new(runs, json_pack("{s:I, s:I, s:I}", "seed", (json_int_t)seed, "first",
		                                      (json_int_t)first, "n", (json_int_t)n));
	}
	set(o, "symmetry",
	    json_string(i->options.symmetry == ISO_SRM_NONE ? "none"
	                : i->swap                           ? "all"
	                                                    : "mirror"));
	set(o, "voxels_simulated", json_integer(i->voxels));
	set(o, "pairs_a_voxel", json_integer(i->pairs));
	set(o, "pairs", json_integer(i->pairs * i->voxels));
	set(o, "runs", runs);
}

static void put_table(json_t *o, const struct iso_srm_info *i)
{
	set(o, "columns", json_integer(i->columns));
	set(o, "elements", json_integer(i->elements));
	set(o, "elements_a_column", record_real((double)i->elements / (double)i->columns));
	set(o, "usable_elements", json_integer(i->usable_elements));
	set(o, "bound",
	    record_pack("{s:f, s:f, s:f, s:i}", "share", i->bound.share, "min_weight", i->bound.min_weight,
	                "per_column", i->bound.per_column, "max_offset", i->bound.max_offset));
	set(o, "least_weight", record_real(i->least_weight));
	set(o, "recorded", record_real(i->recorded));
	set(o, "usable", record_real(i->usable));
	set(o, "kept_share", record_real(i->kept));
	set(o, "lost_share",
	    record_pack("{s:f, s:f, s:f}", "scanner", i->lost, "least", i->lost_least, "most", i->lost_most));
	set(o, "storage_bytes",
	    record_pack("{s:f, s:f, s:f, s:f}", "full", i->bytes_full, "row", i->bytes_row, "column",
	                i->bytes_column, "tap", i->bytes_tap));
}

static void put_noise(json_t *o, const struct iso_srm_info *i)
{
	set(o, "noise",
	    record_pack("{s:f, s:f, s:f}", "core_counts", i->core_counts, "core_elements_a_column",
	                i->core_elements, "hit_once", i->once));
	if (i->core_counts < 5)
		json_array_append_new(
			json_object_get(o, "warnings"),
			json_sprintf("%.3g counts an element in the core: images will show the noise of the "
		                     "matrix; 20 to 40 are a good aim",
		                     i->core_counts));
}

int describe_srm(json_t *o, const char *path)
{
	struct iso_srm_info i;
	iso_srm *m = NULL;
	int st = iso_srm_read(&m, path, true);

	if (st) return st;
	iso_srm_info(&i, m);
	set(o, "kind", json_string("system matrix"));
	set(o, "source", json_string(i.source));
	put_geometry(o, &i.panels);
	if (i.pairs > 0) {
		put_physics(o, &i);
		put_pairs(o, m, &i);
		put_noise(o, &i);
	}
	put_table(o, &i);
	set(o, "has_counts", json_boolean(i.has_counts));
	set(o, "command", record_string(i.command));
	iso_srm_free(m);
	return ISO_OK;
}
