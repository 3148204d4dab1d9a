/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiments of Van Gendt 2021 in turn. */
#include "vangendt.h"

static const char template[] =
#include "embedded/vangendt.html.h"
	;

static const struct vangendt_scale scales[] = {
	/* in the order of enum study_scale */
	{ 2000, 20000, 2e5, 2, .05, 16 },
	{ 1e5, 3e6, 2e7, 3, 3, 4 },
	{ 1e6, 1e7, 5e8, 3, 15, 4 },
};

static const char *const outputs[] = {
	"truth.nii",        "mu.nii",  "baseline.nii", "sensitivity.nii", "osem.nii", "attenuation.nii",
	"precorrected.nii", "tof.nii", "median.nii",   "all.nii",         NULL,
};

json_t *vangendt_cell_json(const struct vangendt_cell *c)
{
	if (isnan(c->seconds)) return json_pack("{s:n, s:s}", "seconds", "not_measured", c->why);
	return record_pack("{s:f, s:i}", "seconds", c->seconds, "iterations_run", c->ran);
}

json_t *vangendt_cell_shown(const struct vangendt_cell *c, int asked)
{
	return record_pack("[f,o,s]", c->seconds, c->ran < asked ? json_integer(c->ran) : json_null(),
	                   c->why);
}

/* The paper's image: 133 x 86 x 580 voxels of 4 mm, or as many larger ones as fill it. */
static struct iso_grid body_grid(double voxel)
{
	struct iso_grid g = { { 0 }, { voxel, voxel, voxel }, { 0 } };
	const double extent[3] = { 133 * 4., 86 * 4., 580 * 4. };

	for (int a = 0; a < 3; a++) g.n[a] = (int64_t)ceil(extent[a] / voxel);
	return g;
}

/* The memory of Table 3. */
static int plan(void *state)
{
	struct vangendt *v = state;
	struct cmd *c = v->s.c;
	struct iso_plan lines = { 0 };
	struct iso_ray ray = {
		.size = sizeof ray, .n_sub = 1, .tof_truncate = 3, .tof_fwhm_ps = VANGENDT_TOF_FWHM_PS
	};
	int64_t events, voxels;

	v->scale = &scales[v->s.scale];
	v->grid = ray.grid = body_grid(v->scale->body_voxel);
	events = (int64_t)v->scale->body_events;
	voxels = iso_grid_voxels(&v->grid);
	iso_plan_add(&lines, "images and sensitivities", voxels, 7 * sizeof(iso_real), false);
	iso_plan_add(&lines, "events and factors", events, 2 * sizeof(struct iso_event) + sizeof(iso_real),
	             false);
	iso_ray_plan(&lines, c->ctx, &ray, events);
	iso_em_plan(&lines, c->ctx, voxels, events, 1, 1);
	return cmd_plan(c, &lines);
}

static int run(void *state)
{
	struct vangendt *v = state;
	int st;

	if ((st = iso_ctx_create(&v->one, "cpu", 1))) return st;
	study_stage(&v->s, "table 2");
	if ((st = vangendt_ladder(v))) return st;
	study_stage(&v->s, "table 3");
	return vangendt_body(v);
}

static void release(void *state)
{
	iso_ctx_free(((struct vangendt *)state)->one);
}

const struct paper paper_vangendt = { "vangendt2021",
	                              "Van Gendt et al. 2021: list-mode PET on GPUs",
	                              outputs,
	                              template,
	                              sizeof(struct vangendt),
	                              plan,
	                              run,
	                              release,
	                              false };
