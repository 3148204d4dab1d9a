/* SPDX-License-Identifier: BSD-3-Clause */
/* What a system matrix holds: geometry, physics, pairs, elements, noise, what the bound lost, sizes. */
#include "describe.h"

#include "cmd/cmd.h"

static const struct fact panels[] = {
	FACT("crystals", struct iso_panels, crystals), FACT("layers", struct iso_panels, layers),
	FACT("pitch_mm", struct iso_panels, pitch),    FACT("crystal_mm", struct iso_panels, crystal),
	FACT("gap_mm", struct iso_panels, gap),        { 0 },
};

static void put_geometry(json_t *o, const struct iso_panels *p)
{
	struct iso_grid g;

	iso_panels_grid(&g, p);
	facts_set(o, panels, p);
	set(o, "grid", cmd_grid_json(&g));
	set(o, "lors", json_integer(iso_panels_lors(p)));
	set(o, "material", record_pack("{s:s, s:f}", "formula", p->formula, "density", p->density));
	set(o, "energy",
	    record_pack("{s:f, s:[f,f]}", "resolution", p->resolution, "window_kev", p->window[0],
	                p->window[1]));
	set(o, "readout", json_string(describe_readouts[p->readout]));
}

/* Of photon transport. */
static void put_simulated(json_t *o, const iso_srm *m, const struct iso_srm_info *i)
{
	const struct iso_transport_options *t = &i->options.transport;
	json_t *runs = json_array();

	set(o, "physics",
	    json_pack("{s:b, s:b, s:b, s:b, s:b, s:s?, s:i}", "rayleigh", !t->no_rayleigh, "reentry",
	              !t->no_reentry, "acollinearity", t->acollinearity, "centroid", t->centroid,
	              "first_layer", t->first_layer, "positron", t->positron, "outcomes",
	              i->options.outcomes));
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
	set(o, "noise",
	    record_pack("{s:f, s:f, s:f}", "core_counts", i->core_counts, "core_elements_a_column",
	                i->core_elements, "hit_once", i->once));
	if (i->core_counts < 5)
		facts_warn(o,
		           "%.3g counts an element in the core: images will show the noise of the "
		           "matrix; 20 to 40 are a good aim",
		           i->core_counts);
}

static const struct fact bound[] = {
	FACT("share", struct iso_srm_bound, share),
	FACT("min_weight", struct iso_srm_bound, min_weight),
	FACT("per_column", struct iso_srm_bound, per_column),
	FACT("max_offset", struct iso_srm_bound, max_offset),
	{ 0 },
};

static const struct fact kept[] = {
	FACT("usable_elements", struct iso_srm_info, usable_elements),
	FACT_PART("bound", struct iso_srm_info, bound, bound),
	FACT("least_weight", struct iso_srm_info, least_weight),
	FACT("recorded", struct iso_srm_info, recorded),
	FACT("usable", struct iso_srm_info, usable),
	FACT("kept_share", struct iso_srm_info, kept),
	{ 0 },
};

static void put_table(json_t *o, const struct iso_srm_info *i)
{
	set(o, "columns", json_integer(i->columns));
	set(o, "elements", json_integer(i->elements));
	set(o, "elements_a_column", record_real((double)i->elements / (double)i->columns));
	facts_set(o, kept, i);
	set(o, "lost_share",
	    record_pack("{s:f, s:f, s:f}", "scanner", i->lost, "least", i->lost_least, "most", i->lost_most));
	set(o, "storage_bytes",
	    record_pack("{s:f, s:f, s:f, s:f}", "full", i->bytes_full, "row", i->bytes_row, "column",
	                i->bytes_column, "tap", i->bytes_tap));
}

int describe_srm(json_t *o, const char *path)
{
	struct iso_srm_info i = { .size = sizeof i };
	iso_srm *m = NULL;
	int st = iso_srm_read(&m, path, true);

	if (st || (st = iso_srm_info(&i, m))) return st;
	set(o, "kind", json_string("system matrix"));
	set(o, "source", json_string(i.source));
	put_geometry(o, &i.panels);
	if (i.pairs > 0) put_simulated(o, m, &i);
	put_table(o, &i);
	set(o, "has_counts", json_boolean(i.has_counts));
	set(o, "command", record_string(i.command));
	iso_srm_free(m);
	return ISO_OK;
}
