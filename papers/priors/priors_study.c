/* SPDX-License-Identifier: BSD-3-Clause */
/* The study in turn: convergence, then lesions. */
#include "priors.h"

#include <string.h>

static const char clinical_ring[] =
#include "embedded/clinical-ring.yaml.h"
	;
static const char template[] =
#include "embedded/priors.html.h"
	;

static const struct priors_scale scales[] = {
	/* in the order of enum study_scale */
	{ { 5e5 }, { .4 }, 1, 20, 400, 8, 1e5, 2, { 40, 32, 12 }, 10, STUDY_SHORT_RING(12) },
	{ { 1e6 }, { .4 }, 1, 20, 200, 32, 1e6, 2, { 80, 80, 32 }, 5, clinical_ring },
	{ { 1e6, 1e7, 1e8 }, { .4, .2, .1 }, 3, 30, 1000, 32, 1e7, 10, { 200, 200, 80 }, 2, clinical_ring },
};

static const char outputs[] = "truth.nii osem.nii rdp.nii bowsher.nii";

static int plan(void *state)
{
	struct priors *p = state;
	struct iso_ray ray = { .size = sizeof ray, .tof_truncate = 3, .tof_fwhm_ps = 390 };
	struct iso_plan lines = { 0 };
	double events;

	p->scale = scales[p->s.scale];
	if (p->s.events > 0) {
		memset(p->scale.events, 0, sizeof p->scale.events);
		p->scale.events[0] = p->scale.lesion_events = p->s.events;
		p->scale.relative[0] = p->s.events < 3e6 ? .4 : p->s.events < 3e7 ? .2 : .1;
	}
	if (p->s.seeds > 0) p->scale.lesion_seeds = p->s.seeds;
	events = p->scale.lesion_events;
	for (int k = 0; k < PRIORS_COUNTS; k++) events = fmax(events, p->scale.events[k]);
	memcpy(ray.grid.n, p->scale.n, sizeof ray.grid.n);
	for (int a = 0; a < 3; a++) ray.grid.voxel[a] = p->scale.voxel;
	ray.n_sub = p->scale.subsets;
	iso_plan_add(&lines, "images, maps and sensitivities", iso_grid_voxels(&ray.grid),
	             12 * sizeof(iso_real), false);
	iso_plan_add(&lines, "events", (int64_t)events, 2 * sizeof(struct iso_event) + 4 * sizeof(iso_real),
	             false);
	iso_ray_plan(&lines, p->s.c->ctx, &ray, (int64_t)events);
	iso_em_plan(&lines, p->s.c->ctx, iso_grid_voxels(&ray.grid), (int64_t)events, 4, 3);
	return cmd_plan(p->s.c, &lines);
}

static int run(void *state)
{
	struct priors *p = state;
	int st = study_scanner(&p->scanner, p->scale.scanner);

	study_show(&p->s, "subsets", json_integer(p->scale.subsets));
	study_show(&p->s, "voxel", record_real(p->scale.voxel));
	study_show(&p->s, "grid",
	           json_string(study_text("%d × %d × %d", (int)p->scale.n[0], (int)p->scale.n[1],
	                                  (int)p->scale.n[2])));
	study_show(&p->s, "lesion_seeds", json_integer(p->scale.lesion_seeds));
	study_show(&p->s, "lesion_events", record_real(p->scale.lesion_events));
	if (!st) st = priors_object_open(p);
	if (!st) st = cmd_write(p->s.c, "truth.nii", &p->truth);
	if (!st) st = priors_converge(p);
	return st ? st : priors_lesions(p);
}

static void release(void *state)
{
	struct priors *p = state;

	priors_object_close(p);
	iso_scanner_free(p->scanner);
}

const struct paper paper_priors = {
	template, outputs, sizeof(struct priors), plan, run, release, STUDY_COUNTS
};
