/* SPDX-License-Identifier: BSD-3-Clause */
/* One reconstruction, as `isotome recon ray` makes it. */
#include "nema.h"

#include <stdlib.h>
#include <string.h>

const char *const nema_files[NEMA_FORMS] = { "trues", "none", "estimated", "known" };
const char *const nema_names[NEMA_FORMS] = { "Trues alone", "All events, no correction",
	                                     "All events, --scatter sss+mc", "All events, scatter known" };

/* The expected scatter of each event, in counts: per mm, or without time of flight in all. */
static int add_known(iso_problem *p, const struct nema *n, const struct nema_scan *s,
                     const struct nema_recon *r)
{
	struct iso_array h = { 0 };
	int st = iso_array_create(&h, 1, &s->e.n);

	if (!st) st = iso_scatter_at(h.v, n->s.fast, r->t, &s->e, 0);
	for (int64_t j = 0; j < h.n && !st; j++) h.v[j] *= (iso_real)r->times;
	if (!st) st = iso_problem_set_array(p, "additive", &h, false);
	iso_array_free(&h);
	return st;
}

static int set_all(iso_problem *p, const struct nema *n, const struct nema_scan *s,
                   const struct nema_recon *r)
{
	const struct iso_grid *g = &s->o->truth.grid;
	const char *const set[][2] = {
		{ "scanner", "scanner.yaml" },
		{ "grid", study_text("%d,%d,%d", (int)g->n[0], (int)g->n[1], (int)g->n[2]) },
		{ "voxel", study_text("%g", n->scale.voxel) },
		{ "method", "osem" },
		{ "iterations", study_text("%d", n->scale.iterations) },
		{ "subsets", study_text("%d", n->scale.subsets) },
	};
	int st = ISO_OK;

	for (int i = 0; i < 6 && !st; i++) st = iso_problem_set(p, set[i][0], set[i][1]);
	if (!st) st = iso_problem_set_events(p, "events", r->form == NEMA_TRUES ? &s->trues : &s->e);
	if (!st) st = iso_problem_set_array(p, "mu", &s->o->mu, false);
	if (!st) st = iso_problem_set_array(p, "sens", &s->o->sens, false);
	if (!st && !r->tof) st = iso_problem_set(p, "tof-fwhm-ps", "0");
	if (!st && r->form == NEMA_ESTIMATED) st = iso_problem_set(p, "scatter", "sss+mc");
	if (!st && r->form == NEMA_ESTIMATED)
		st = iso_problem_set(p, "scatter-error", study_text("%g", n->scale.error));
	if (!st && r->form == NEMA_KNOWN) st = add_known(p, n, s, r);
	return st;
}

/* "scatter" of the results. */
static int tell(json_t **told, iso_problem *p)
{
	char *text = NULL;
	int st = iso_problem_record(&text, p);

	if (st) return st;
	json_t *root = json_loads(text, 0, NULL);

	*told = json_incref(json_object_get(json_object_get(root, "results"), "scatter"));
	json_decref(root);
	free(text);
	return ISO_OK;
}

int nema_recon(struct iso_array *x, json_t **told, const struct nema *n, const struct nema_scan *s,
               const struct nema_recon *r)
{
	iso_problem *p = NULL;
	int st = iso_problem_create(&p, n->s.fast, "ray");

	if (!st) st = set_all(p, n, s, r);
	if (!st) st = iso_problem_recon(x, NULL, p);
	if (!st && told && r->form == NEMA_ESTIMATED) st = tell(told, p);
	iso_problem_free(p);
	return st ? st : study_poll(&n->s);
}
