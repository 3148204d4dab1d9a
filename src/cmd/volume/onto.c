/* SPDX-License-Identifier: BSD-3-Clause */
/* The grid that a volume is put onto, by options. */
#include "onto.h"

#include <string.h>

struct opt_set onto_options(struct onto *o, const char *whose)
{
	const struct opt opts[] = {
		{ 0, "grid", .integer = o->size, .count = 3, .spread = true, .value = "NX,NY,NZ", .min = 1,
		  .max = 1e15, .absent = o->absent[0], .help = "number of voxels" },
		{ 0, "voxel", .real = o->voxel, .count = 3, .spread = true, .value = "DX,DY,DZ", .min = 1e-6,
		  .max = 1e6, .absent = o->absent[1], .help = "size of a voxel, mm" },
		{ 0, "centre", .real = o->centre, .count = 3, .value = "X,Y,Z", .absent = o->absent[2],
		  .help = "centre of the image, mm" },
		{ 0 },
	};

	snprintf(o->absent[0], sizeof o->absent[0], "covers %s", whose);
	snprintf(o->absent[1], sizeof o->absent[1], "%s's own, or its extent over the grid", whose);
	snprintf(o->absent[2], sizeof o->absent[2], "%s's own", whose);
	memcpy(o->opts, opts, sizeof opts);
	return (struct opt_set){ "Image grid", o->opts };
}

static const char *const numbers[] = { "grid", "voxel", "centre", NULL };

bool onto_asked(const struct cmd *c)
{
	return cmd_like_image(c) || cmd_given_of(c, numbers);
}

static int grid_of_image(struct iso_grid *g, struct cmd *c, struct onto *o)
{
	const char *given = cmd_given_of(c, numbers);
	struct iso_array head;
	int st = given ? iso_fail(ISO_EARG, "--like %s says the grid, --%s does too", c->like, given)
	               : iso_peek(&head, c->like);

	if (st || (st = record_input(&c->record, c->like))) return st;
	if (!head.has_grid) return iso_fail(ISO_EINPUT, "%s: holds no voxel size, as .nii does", c->like);
	*g = head.grid;
	memcpy(o->size, g->n, sizeof o->size);
	memcpy(o->voxel, g->voxel, sizeof o->voxel);
	memcpy(o->centre, g->centre, sizeof o->centre);
	for (int i = 0; numbers[i]; i++) opt_find(c->sets, numbers[i])->given = true;
	return record_set(&c->record, "parameters", opt_to_json(c->sets));
}

int onto_grid(struct iso_grid *g, struct cmd *c, struct onto *o, const struct iso_volume *v)
{
	if (cmd_like_image(c)) return grid_of_image(g, c, o);
	int st = iso_volume_grid(g, v);

	return st ? st : cmd_grid_within(g, c, o->size, o->voxel, o->centre);
}

int onto_inputs(struct cmd *c, const struct iso_volume *v)
{
	int st = ISO_OK;

	for (int64_t i = 0; i < v->n_files && !st; i++) st = record_input_file(&c->record, v->file[i]);
	return st;
}
