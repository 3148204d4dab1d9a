/* SPDX-License-Identifier: BSD-3-Clause */
/* Model sradon on the command line: traces by integrals over spheres (Wang 2013, PLS-Int). */
#include "sound.h"

#include "core/plan.h"
#include "core/size.h"
#include "core/status.h"

#include <string.h>

#define DEFAULTS                                          \
	{                                                 \
		.sampling = "midpoint", .adjoint = "auto" \
	}

static struct {
	const char *sampling, *adjoint;
	struct iso_sradon model;
} sradon = DEFAULTS;

static const char *const samplings[] = { "midpoint", "alg4", NULL };         /* as the enum */
static const char *const adjoints[] = { "auto", "gather", "scatter", NULL }; /* as the enum */

static struct opt opts[] = {
	SOUND_OPTIONS,
	{ 0, "data", .text = &sound.data, .file = OPT_READS, .value = "FILE", .help = SOUND_DATA },
	{ 0, "sampling", .text = &sradon.sampling, .words = samplings, .value = "NAME",
	  .help = "of the spheres: midpoint (patches of exact area), or alg4 (the paper's)" },
	{ 0, "adjoint", .text = &sradon.adjoint, .words = adjoints, .value = "NAME",
	  .help = "gather (voxel by voxel) or scatter (sample by sample): the same image; auto is the "
	          "faster on the device" },
	{ 0 },
};

static int load(struct cmd *c, const struct opt_set *sets, int need, const struct iso_grid *image)
{
	struct iso_sradon *p = &sradon.model;
	int st = sound_load(c, sets, need, image);

	if (st) return st;
	*p = (struct iso_sradon){ .size = sizeof(struct iso_sradon), .t = sound.t, .grid = sound.grid };
	p->sampling = (enum iso_sradon_sampling)opt_place(samplings, sradon.sampling);
	p->adjoint = (enum iso_sradon_adjoint)opt_place(adjoints, sradon.adjoint);
	return ISO_OK;
}

static void unload(void)
{
	sound_unload(opts);
	sradon = (typeof(sradon))DEFAULTS;
}

static void plan(struct iso_plan *lines, const struct cmd *c, const struct model_subsets *s)
{
	(void)s;
	iso_sradon_plan(lines, c->ctx, &sradon.model);
}

static int op(iso_op **made, struct cmd *c, const struct model_subsets *s)
{
	(void)s; /* one subset */
	return iso_sradon_create(made, c->ctx, &sradon.model);
}

static int data(struct model_data *d, struct cmd *c)
{
	(void)c;
	if (!sound.y.v) return ISO_OK;
	d->y = size_alloc(sound_rows(), sizeof *d->y);
	if (!d->y) return iso_fail_memory("traces", sound_rows() * (int64_t)sizeof *d->y);
	memcpy(d->y, sound.y.v, (size_t)sound_rows() * sizeof *d->y);
	return ISO_OK;
}

const struct model model_sradon = {
	.name = "sradon",
	.title = "Model sradon",
	.opts = opts,
	.row_name = "samples",
	.method = "cg",
	.load = load,
	.unload = unload,
	SOUND_FUNCTIONS,
	.rows = sound_rows,
	.shape = sound_shape,
	.plan = plan,
	.op = op,
	.data = data,
};
