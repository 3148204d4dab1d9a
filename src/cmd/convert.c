/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome convert: arrays, images and events from one format to another, by suffix. */
#include "cmd.h"

#include "io/format.h"

#include <stdlib.h>

#define COLUMNS 7	/* x1 y1 z1 x2 y2 z2 dt, dt = t2 - t1 as in lmdT */

struct settings {
	const char *from, *to;
	double voxel[3], centre[3];
};

static const struct opt_usage usage = {
	"convert",
	"Write a file in another format; the suffixes say which. Arrays and images: .npy, .nii, "
	".nii.gz, .raw (described by FILE.raw.json). Events: .lmdT, or an array (n,7) of x1 y1 z1 "
	"x2 y2 z2 in mm and t2 - t1 in ps.",
	"  isotome convert image.nii image.npy\n"
	"  isotome convert image.npy image.nii.gz --voxel 2,2,4\n"
	"  isotome convert scan.lmdT scan.npy\n",
};

/* A grid from the options, where given, over that of the file. */
static int place(struct iso_array *a, const struct opt_set *sets, const struct settings *s)
{
	bool voxel = opt_find(sets, "voxel")->given, centre = opt_find(sets, "centre")->given;

	if (!voxel && !centre)
		return ISO_OK;
	if (a->n_dim != 3)
		return iso_fail(ISO_EARG, "%s has %d dimensions; --voxel and --centre place "
				"an image of 3", s->from, a->n_dim);
	if (!voxel && !a->has_grid)
		return iso_fail(ISO_EARG, "%s has no voxel size; --centre needs --voxel", s->from);
	for (int i = 0; i < 3; i++) {
		a->grid.n[i] = a->dim[2 - i];
		if (voxel)
			a->grid.voxel[i] = s->voxel[i];
		if (centre || !a->has_grid)
			a->grid.centre[i] = s->centre[i];
	}
	a->has_grid = true;
	return iso_grid_check(&a->grid);
}

static int convert_array(struct cmd *c, const struct opt_set *sets, const struct settings *s)
{
	struct iso_array a = { 0 };
	int st;

	if ((st = cmd_read(&a, s->from, ISO_ANY))) goto done;
	if ((st = place(&a, sets, s))) goto done;
	if (!a.has_grid && (iso_has_suffix(s->to, ".nii") || iso_has_suffix(s->to, ".nii.gz")))
		record_warn(&c->record, "%s has no voxel size; %s says 1 mm (--voxel sets it)",
			    s->from, s->to);
	st = cmd_write(c, s->to, &a);
done:
	iso_array_free(&a);
	return st;
}

static void event_to_row(iso_real *row, const struct iso_event *e)
{
	for (int i = 0; i < 3; i++) {
		row[i] = e->p1[i];
		row[3 + i] = e->p2[i];
	}
	row[6] = -e->dt_ps;
}

static void row_to_event(struct iso_event *e, const iso_real *row)
{
	for (int i = 0; i < 3; i++) {
		e->p1[i] = (float)row[i];
		e->p2[i] = (float)row[3 + i];
	}
	e->dt_ps = -(float)row[6];
}

static int events_to_array(struct cmd *c, const struct settings *s)
{
	struct iso_events e = { 0 };
	struct iso_array a = { 0 };
	int st;

	if ((st = iso_events_read(&e, s->from, NULL))) goto done;
	if (e.n == 0) {
		st = iso_fail(ISO_EINPUT, "%s: holds no events", s->from);
		goto done;
	}
	if ((st = iso_array_create(&a, 2, (int64_t[]){ e.n, COLUMNS }))) goto done;
	for (int64_t i = 0; i < e.n; i++)
		event_to_row(a.v + i * COLUMNS, &e.v[i]);
	st = cmd_write(c, s->to, &a);
done:
	iso_events_free(&e);
	iso_array_free(&a);
	return st;
}

static int rows_to_events(struct iso_events *e, const struct iso_array *a, const char *from)
{
	if (a->n_dim != 2 || a->dim[1] != COLUMNS)
		return iso_fail(ISO_EINPUT, "%s: events need an array (n, %d) of x1 y1 z1 x2 y2 "
				"z2 dt", from, COLUMNS);
	e->n = a->dim[0];
	e->v = calloc(e->n > 0 ? (size_t)e->n : 1, sizeof *e->v);
	if (!e->v)
		return iso_fail_memory("events", e->n * (int64_t)sizeof *e->v);
	for (int64_t i = 0; i < e->n; i++) {
		row_to_event(&e->v[i], a->v + i * COLUMNS);
		e->n_bad += iso_event_bad(&e->v[i]);
	}
	return ISO_OK;
}

static int array_to_events(struct cmd *c, const struct settings *s)
{
	struct iso_events e = { 0 };
	struct iso_array a = { 0 };
	int st;

	if ((st = cmd_read(&a, s->from, ISO_ANY))) goto done;
	if ((st = rows_to_events(&e, &a, s->from))) goto done;
	st = cmd_write_events(c, s->to, &e);
done:
	iso_events_free(&e);
	iso_array_free(&a);
	return st;
}

static int copy_events(struct cmd *c, const struct settings *s)
{
	struct iso_events e = { 0 };
	int st = iso_events_read(&e, s->from, NULL);

	if (!st)
		st = cmd_write_events(c, s->to, &e);
	iso_events_free(&e);
	return st;
}

static int convert(struct cmd *c, const struct opt_set *sets, const struct settings *s)
{
	bool grid = opt_find(sets, "voxel")->given || opt_find(sets, "centre")->given;
	bool from = cmd_is_events(s->from), to = cmd_is_events(s->to);

	if (grid && (from || to))
		return iso_fail(ISO_EARG, "--voxel and --centre are for images, not events");
	if (from && to)
		return copy_events(c, s);
	if (from)
		return events_to_array(c, s);
	return to ? array_to_events(c, s) : convert_array(c, sets, s);
}

int main_convert(int argc, char **argv)
{
	struct settings s = { 0 };
	struct opt own[] = {
		{ 0, "from", .text = &s.from, .value = "FROM", .positional = true,
		  .required = true, .help = "file to read" },
		{ 0, "to", .text = &s.to, .value = "TO", .positional = true,
		  .required = true, .help = "file to write" },
		{ 0, "voxel", .real = s.voxel, .count = 3, .spread = true, .value = "DX,DY,DZ",
		  .min = 1e-6, .max = 1e6, .absent = "the file's own",
		  .help = "size of a voxel, mm" },
		{ 0, "centre", .real = s.centre, .count = 3, .value = "X,Y,Z",
		  .absent = "the file's own, or 0,0,0", .help = "centre of the image, mm" },
		{ 0 },
	};
	struct cmd c = { 0 };
	struct opt_set sets[] = { { NULL, own }, cmd_common(&c, CMD_WRITES), { 0 } };
	int st;

	if ((st = cmd_parse(&c, &usage, sets, argc, argv))) goto done;
	if ((st = cmd_check_output(&c, s.to))) goto done;
	if ((st = record_input(&c.record, s.from))) goto done;
	if ((st = convert(&c, sets, &s))) goto done;
	st = cmd_report(&c);
done:
	cmd_end(&c);
	return st;
}
