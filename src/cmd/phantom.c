/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome phantom: a test image from a built-in name or a file of shapes. */
#include "cmd.h"
#include "image/raster_kern.h"

struct phantom_settings {
	const char *name, *out, *mu;
	bool list;
	int64_t size[3];
	double voxel[3], centre[3], at[3];
	int64_t samples;
};

static const struct opt_usage usage = {
	"phantom",
	"Make a test image, and its attenuation map, from a built-in phantom or from shapes in a file.",
	"  isotome phantom --list\n"
	"  isotome phantom spheres -o spheres.nii --mu spheres_mu.nii\n"
	"  isotome phantom point --at 10,0,-5 --grid 64 --voxel 1 -o point.nii\n",
};

static int print_names(void)
{
	for (const char *const *name = iso_phantom_names(); *name; name++) puts(*name);
	return CMD_DONE;
}

static int64_t voxels_at_a_time(const struct iso_grid *g)
{
	int64_t all = iso_grid_voxels(g), slice = g->n[0] * g->n[1];

	return all < RASTER_PIECE ? all : slice > RASTER_PIECE ? slice : RASTER_PIECE;
}

static int make(struct cmd *c, const struct phantom_settings *s, const iso_phantom *p,
                const struct iso_grid *g)
{
	struct iso_array activity = { 0 }, mu = { 0 };
	struct iso_plan plan = { 0 };
	char image[96];
	int st;

	if ((st = iso_write_check_grid(s->out, g)) || (s->mu && (st = iso_write_check_grid(s->mu, g))))
		return st;
	snprintf(image, sizeof image, "image of %" PRId64 " x %" PRId64 " x %" PRId64 " voxels", g->n[0],
	         g->n[1], g->n[2]);
	iso_plan_add(&plan, image, iso_grid_voxels(g), sizeof(iso_real), false);
	if (s->mu) iso_plan_add(&plan, "attenuation", iso_grid_voxels(g), sizeof(iso_real), false);
	if (iso_ctx_is_cuda(c->ctx))
		iso_plan_add(&plan, "voxels on the device", voxels_at_a_time(g), sizeof(iso_real), true);
	if ((st = cmd_plan(c, &plan)) || (st = iso_array_on_grid(&activity, g)) ||
	    (s->mu && (st = iso_array_on_grid(&mu, g))))
		goto done;
	strcpy(activity.unit, "a.u.");
	strcpy(mu.unit, "1/mm");
	record_stage(&c->record, "raster");
	if ((st = iso_phantom_raster(activity.v, mu.v, c->ctx, p, g, (int)s->samples))) goto done;
	record_stage(&c->record, NULL);
	st = cmd_write(c, s->out, &activity);
	if (!st && s->mu) st = cmd_write(c, s->mu, &mu);
done:
	iso_array_free(&activity);
	iso_array_free(&mu);
	return st;
}

static int run(struct cmd *c, const struct phantom_settings *s)
{
	iso_phantom *p = NULL;
	struct iso_grid g;
	int st;

	if ((st = iso_phantom_create(&p, s->name, s->at))) goto done;
	if (opt_place(iso_phantom_names(), s->name) < 0 && (st = record_input(&c->record, s->name)))
		goto done;
	iso_phantom_grid(&g, p);
	if (!(st = cmd_grid_within(&g, c, s->size, s->voxel, s->centre)) &&
	    !(st = record_result(&c->record, "grid", cmd_grid_json(&g))))
		st = make(c, s, p, &g);
done:
	iso_phantom_free(p);
	return st;
}

int main_phantom(int argc, char **argv)
{
	struct phantom_settings s = { .samples = 5 };
	struct opt own[] = {
		CMD_ARGUMENT("phantom", s.name, OPT_MAY_READ, "NAME|FILE",
		             "built-in phantom (see --list), or a file of shapes"),
		CMD_OUTPUT(s.out, "image of the activity (.nii, .nii.gz, .hv, .npy, .raw)"),
		{ 0, "mu", .text = &s.mu, .file = OPT_WRITES, .value = "FILE",
		  .help = "also write the attenuation as an image, in 1/mm" },
		{ 0, "list", .flag = &s.list, .alone = true, .transient = true,
		  .help = "print the names of the built-in phantoms" },
		{ 0, "at", .real = s.at, .count = 3, .value = "X,Y,Z",
		  .help = "position of the phantom 'point', mm" },
		{ 0 },
	};
	struct opt grid[] = {
		{ 0, "grid", .integer = s.size, .count = 3, .spread = true, .value = "NX,NY,NZ", .min = 1,
		  .max = 1e15, .absent = "covers the phantom", .help = "number of voxels" },
		{ 0, "voxel", .real = s.voxel, .count = 3, .spread = true, .value = "DX,DY,DZ", .min = 1e-6,
		  .max = 1e6, .absent = "the phantom's own, or its extent over the grid",
		  .help = "size of a voxel, mm" },
		{ 0, "centre", .real = s.centre, .count = 3, .value = "X,Y,Z", .absent = "the phantom's own",
		  .help = "centre of the image, mm" },
		{ 0, "samples", .integer = &s.samples, .value = "N", .min = 1, .max = 64,
		  .help = "points along each axis of a voxel that a surface crosses" },
		{ 0 },
	};
	struct cmd c = { .cpu_first = true };
	struct opt_set sets[] = {
		{ NULL, own }, { "Image grid", grid }, cmd_common(&c, CMD_COMPUTES | CMD_WRITES), { 0 }
	};
	int st = cmd_parse(&c, &usage, sets, argc, argv);

	if (!st && s.list) st = print_names();
	if (!st && !(st = cmd_check_array(&c, s.out)) && !(st = cmd_check_array(&c, s.mu)) &&
	    !(st = cmd_begin(&c)))
		st = run(&c, &s);
	return cmd_end(&c, st);
}
