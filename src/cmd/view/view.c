/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome view: a picture of an image. */
#include "cmd/cmd.h"

#include "io/format.h"
#include "view_page.h"

#include <math.h>

struct view_settings {
	const char *image, *out;
	const char *kind, *at, *axis, *labels;
	struct iso_picture picture;
	struct view_page page;
};

static const struct opt_usage usage = {
	"view",
	"Draw an image as PNG: three orthogonal slices, a montage of slices, or maximum-intensity "
	"projections, with colour bar and scale bar. Axes run to the right and upwards, so left is left. An "
	"array (ny,nx) or (nz,ny,nx) without a grid is drawn with square voxels. If the output ends in "
	".html, Isotome writes a page that lets you move through the image, with linked slices, profiles and "
	"regions. The page needs nothing but a browser.",
	"  isotome view image.nii -o image.png\n"
	"  isotome view image.nii -o hot.png --at max --crosshair --percent 0,99.9\n"
	"  isotome view image.nii -o slices.png --kind montage --every 4 --map inverted-grey\n"
	"  isotome view image.nii -o mip.png --kind mip --linear --title 'Ten minutes'\n"
	"  isotome view image.nii --overlay ct.nii -o image.html\n",
};

/* Kinds and labels in the order of enum iso_picture_kind and iso_picture_labels. */
static const char *const kinds[] = { "slices", "montage", "mip", NULL };
static const char *const places[] = { "centre", "max", "object", NULL };
static const enum iso_picture_at place_at[] = { ISO_AT_CENTRE, ISO_AT_MAX, ISO_AT_OBJECT };
static const char *const labels[] = { "anatomy", "axes", "none", NULL };
static const char *const axes[] = { "x", "y", "z", NULL };

static int take_at(struct view_settings *s)
{
	const struct opt point = { 0, "at", .real = s->picture.point, .count = 3,
		                   .value = "X,Y,Z, object, centre or max" };
	int place = opt_place(places, s->at ? s->at : "object"), st;

	s->picture.at = place < 0 ? ISO_AT_POINT : place_at[place];
	if (place >= 0) return ISO_OK;
	st = opt_value_parse(&point, s->at);
	return st ? iso_fail(st, "--at %s", iso_message()) : ISO_OK;
}

/* Options that say nothing in this kind of picture are mistakes. */
static int check_kind(const struct cmd *c, const struct view_settings *s)
{
	static const char *const montage[] = { "axis", "every", "columns", NULL };
	const char *given = cmd_given_of(c, montage);
	bool is_montage = s->picture.kind == ISO_MONTAGE;

	if (given && !is_montage)
		return iso_fail(ISO_EARG, "--%s is for --kind montage, not %s", given, s->kind);
	if (is_montage && (s->at || s->picture.crosshair))
		return iso_fail(ISO_EARG, "--%s is for --kind slices or mip, not montage",
		                s->at ? "at" : "crosshair");
	return ISO_OK;
}

/* Percentiles and window are two ways to say one thing; both are pairs that rise. */
static int check_window(const struct cmd *c, const struct view_settings *s)
{
	const struct {
		const char *name;
		const double *pair;
	} given[] = { { "window", s->picture.window }, { "percent", s->picture.percent } };

	if (cmd_given(c, "window") && cmd_given(c, "percent"))
		return iso_fail(ISO_EARG, "--window and --percent exclude each other");
	for (int i = 0; i < 2; i++)
		if (cmd_given(c, given[i].name) && !(given[i].pair[0] < given[i].pair[1]))
			return iso_fail(ISO_EARG, "--%s is %g,%g: the second must be greater", given[i].name,
			                given[i].pair[0], given[i].pair[1]);
	return ISO_OK;
}

static int take_words(const struct cmd *c, struct view_settings *s)
{
	int st;

	s->picture.size = sizeof s->picture;
	s->picture.kind = (enum iso_picture_kind)opt_place(kinds, s->kind);
	s->picture.labels = (enum iso_picture_labels)opt_place(labels, s->labels);
	s->picture.axis = s->axis[0];
	if ((st = check_kind(c, s)) || (st = check_window(c, s))) return st;
	return take_at(s);
}

/* Who chose the window. */
static const char *window_by(const struct cmd *c)
{
	return cmd_given(c, "window") ? "window" : cmd_given(c, "percent") ? "percent" : "object";
}

static int note(struct cmd *c, const struct view_settings *s, const struct iso_array *a,
                const struct iso_pixels *p, const struct iso_picture_info *info)
{
	if (!a->has_grid) record_warn(&c->record, "%s has no voxel size; drawn with square voxels", s->image);
	if (info->not_finite > 0)
		record_warn(&c->record,
		            "%s: %" PRId64 " voxels are NaN or infinite; those shown are drawn in magenta",
		            s->image, info->not_finite);
	return record_result(
		&c->record, "picture",
		record_pack("{s:[I,I], s:[f,f], s:s, s:s, s:f, s:f, s:I, s:[I,I,I], s:[f,f,f], s:f, s:I}",
	                    "pixels", (json_int_t)p->width, (json_int_t)p->height, "window", info->window[0],
	                    info->window[1], "window_by", window_by(c), "map", info->map, "min", info->min,
	                    "max", info->max, "not_finite", (json_int_t)info->not_finite, "voxel",
	                    (json_int_t)info->voxel[0], (json_int_t)info->voxel[1],
	                    (json_int_t)info->voxel[2], "point", info->point[0], info->point[1],
	                    info->point[2], a->has_grid ? "pixels_per_mm" : "pixels_per_voxel",
	                    info->pixels_per_mm, "panels", (json_int_t)info->panels));
}

static int run(struct cmd *c, const struct view_settings *s)
{
	struct iso_array a = { 0 };
	struct iso_pixels p = { 0 };
	struct iso_picture_info info = { .size = sizeof info };
	int st;

	record_stage(&c->record, "read");
	if ((st = record_input(&c->record, s->image)) ||
	    (st = record_read(&c->record, &a, s->image, ISO_ANY | ISO_OBLIQUE)) ||
	    (st = view_tell_tilt(c, s->image)))
		goto done;
	record_stage(&c->record, "draw");
	if (!(st = iso_picture_render(&p, &info, &a, &s->picture)) && !(st = note(c, s, &a, &p, &info)))
		st = cmd_write_picture(c, s->out, &p);
done:
	iso_array_free(&a);
	iso_pixels_free(&p);
	return st;
}

/* An option that only a picture has, if one was given; a record of a page has those that have a default, with it. */
static const char *drawn_alone(const struct cmd *c, const struct view_settings *s)
{
	static const char *const drawn[] = { "axis", "every", "columns", "zoom", NULL };
	const struct iso_picture *p = &s->picture;

	return p->kind != ISO_SLICES ? "kind"
	       : p->linear           ? "linear"
	       : p->radiological     ? "radiological"
	       : p->crosshair        ? "crosshair"
	                             : cmd_given_of(c, drawn);
}

static int check_output(const struct cmd *c, const struct view_settings *s)
{
	const char *given = drawn_alone(c, s);

	if (view_is_page(s->out) && given)
		return iso_fail(ISO_EARG, "--%s is for a picture (.png), not for a page", given);
	if (!view_is_page(s->out) && s->page.overlay)
		return iso_fail(ISO_EARG, "--overlay is for a page (.html), not for a picture");
	if (!s->page.overlay && (s->page.overlay_map || s->page.opacity > 0))
		return iso_fail(ISO_EARG, "--overlay-%s goes with --overlay",
		                s->page.overlay_map ? "map" : "opacity");
	return cmd_check(c, s->out, view_is_page(s->out) ? iso_target_check : iso_picture_write_check);
}

static int run_page(struct cmd *c, struct view_settings *s)
{
	s->page.image = s->image;
	s->page.out = s->out;
	s->page.at_given = s->at;
	s->page.window_given = cmd_given(c, "window");
	s->page.frame_given = cmd_given(c, "frame");
	s->page.percent_given = cmd_given(c, "percent");
	return view_page(c, &s->page, &s->picture);
}

int main_view(int argc, char **argv)
{
	struct view_settings s = { .kind = "slices", .axis = "z", .labels = "anatomy" };
	struct iso_picture *p = &s.picture;
	struct opt own[] = {
		CMD_ARGUMENT("image", s.image, OPT_MAY_READ, "IMAGE",
		             "image or array of 2 to 4 axes (.nii, .nii.gz, .hv, .v, .npy, .raw)"),
		CMD_OUTPUT(s.out, "picture (.png) or page (.html)"),
		{ 0, "overlay", .text = &s.page.overlay, .file = OPT_MAY_READ, .value = "FILE",
		  .help = "page: show a second image over the first, such as CT, mu or the truth, on any "
		          "grid" },
		{ 0, "overlay-map", .text = &s.page.overlay_map, .words = iso_picture_maps(), .value = "MAP",
		  .absent = "grey", .help = "page: colour map of the second image" },
		{ 0, "overlay-opacity", .real = &s.page.opacity, .value = "SHARE", .min = .01, .max = 1,
		  .absent = "0.4", .help = "page: opacity of the second image, at most 1" },
		{ 0, "kind", .text = &s.kind, .words = kinds, .value = "KIND", .help = "what is shown" },
		{ 0, "at", .text = &s.at, .value = "POINT", .absent = "object",
		  .help = "point where slices cross: X,Y,Z in mm (indices if the image has no grid), object, "
		          "centre or max. object is the centre of mass of the upper half of the smoothed "
		          "image. centre is that of the grid. max is the hottest place of the image, "
		          "slightly smoothed" },
		{ 0, "frame", .integer = &p->frame, .value = "K", .min = 0, .max = INFINITY,
		  .absent = "0; page: the frame with the widest window",
		  .help = "number of the image in an array of 4 axes, from 0" },
		{ 0, "axis", .text = &s.axis, .words = axes, .value = "AXIS", .absent = "z",
		  .help = "axis across which the slices of a montage lie" },
		{ 0, "every", .integer = &p->every, .value = "K", .min = 1, .max = INFINITY,
		  .absent = "as many as show at most 24 slices", .help = "montage: one slice in K" },
		{ 0, "columns", .integer = &p->columns, .value = "N", .min = 1, .max = INFINITY,
		  .absent = "as many as fill the picture", .help = "montage: slices in a row" },
		{ 0 },
	};
	struct opt looks[] = {
		{ 0, "window", .real = p->window, .count = 2, .value = "LO,HI",
		  .absent = "0 to a high percentile of what is inside the object, as docs/viewer.md tells; "
		            "symmetric if values below 0 mean something",
		  .help = "values of the first and the last colour" },
		{ 0, "percent", .real = p->percent, .count = 2, .value = "LO,HI", .min = 0, .max = 100,
		  .absent = "see --window",
		  .help = "the window as percentiles of all voxels. 0,100 goes from the least to the "
		          "greatest value" },
		{ 0, "map", .text = &p->map, .words = iso_picture_maps(), .value = "MAP",
		  .absent = "ember, or blue-red for a symmetric window", .help = "colour map" },
		{ 0, "zoom", .real = &p->zoom, .value = "PIXELS", .min = 1e-3, .max = 1e3,
		  .absent = "a picture of about 1000 pixels",
		  .help = "pixels along the shortest edge of a voxel" },
		{ 0, "linear", .flag = &p->linear,
		  .help = "interpolate between voxels, instead of flat boxes" },
		{ 0, "radiological", .flag = &p->radiological,
		  .help = "mirror x: the patient's right is on the left" },
		{ 0, "labels", .text = &s.labels, .words = labels, .value = "LABELS",
		  .help = "letters at the edges. anatomy: R L A P S I at the ends of +x -x +y -y +z -z. "
		          "axes: the names of the axes. none: no letters" },
		{ 0, "crosshair", .flag = &p->crosshair, .help = "mark where slices cross" },
		{ 0, "title", .text = &p->title, .value = "TEXT", .help = "text above the picture" },
		{ 0 },
	};
	struct cmd c = { 0 };
	struct opt_set sets[] = { { NULL, own }, { "Looks", looks }, cmd_common(&c, CMD_WRITES), { 0 } };
	int st = cmd_parse(&c, &usage, sets, argc, argv);

	if (!st && !(st = take_words(&c, &s)) && !(st = check_output(&c, &s)))
		st = view_is_page(s.out) ? run_page(&c, &s) : run(&c, &s);
	return cmd_end(&c, st);
}
