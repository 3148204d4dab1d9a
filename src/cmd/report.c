/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome report: images and how they were made, as one HTML page. */
#include "cmd.h"

#include "file/out.h"
#include "io/format.h"
#include "report/page.h"

#include <math.h>
#include <string.h>

struct report_settings {
	struct opt_list images;
	const char *out, *truth, *title, *overlay, *viewer, *spheres;
	double line[6]; /* from, to */
	bool nema;
};

static const struct opt_usage usage = {
	"report",
	"Show images on one HTML page: slices, profile, likelihood, times, parameters, and the commands that "
	"made them, from the records beside the images. The page needs no other file and no network. In a "
	"browser with scripts you can go through the slices, change the window, read values, and draw lines "
	"and regions.",
	"  isotome report image.nii -o report.html\n"
	"  isotome report plain.nii tof.nii --truth truth.nii --title 'With and without TOF' \\\n"
	"      -o report.html\n"
	"  isotome report image.nii --overlay ct.nii --profile-from -100,0,0 --profile-to 100,0,0 \\\n"
	"      -o report.html\n"
	"  isotome report --nema counting.json sensitivity.json -o nema.html\n",
};

static const char *const switches[] = { "on", "off", NULL };

static int check(const struct cmd *c, const struct report_settings *s)
{
	static const char *const of_images[] = { "truth", "spheres", "overlay", "profile-from", NULL };
	const char *with = cmd_given_of(c, of_images);

	if (s->nema && with)
		return iso_fail(ISO_EARG, "--%s is for images, and does not go with --nema", with);
	if (cmd_given(c, "profile-from") != cmd_given(c, "profile-to"))
		return iso_fail(ISO_EARG, "--profile-from and --profile-to go together");
	if (s->overlay && strcmp(s->viewer, "off") == 0)
		return iso_fail(ISO_EARG, "--overlay is for the viewer, which --viewer off leaves out");
	int st = iso_page_check(s->out);

	return st ? st : iso_target_check(s->out, c->force);
}

/* null: the spheres of the image could not be measured. */
static json_t *nema_json(const struct iso_report_image *m, int n)
{
	enum { MOST = sizeof m->nema.sphere / sizeof *m->nema.sphere };
	double contrast[MOST], variability[MOST];

	for (int i = 0; i < n; i++) {
		contrast[i] = m->nema.sphere[i].contrast;
		variability[i] = m->nema.sphere[i].variability;
	}
	if (m->no_nema[0]) return json_null();
	return record_pack("{s:o, s:o, s:f}", "contrast_percent", record_reals(n, contrast),
	                   "variability_percent", record_reals(n, variability), "lung_residual_percent",
	                   m->nema.lung);
}

/* For --json: files, errors against the truth, and what was measured of spheres. */
static int record_images(struct cmd *c, const struct iso_report *r, const char *spheres)
{
	json_t *errors = json_array(), *nema = json_array();
	int st = ISO_OK;

	for (int i = 0; !st && i < r->n; i++) {
		const struct iso_rmse *e = &r->image[i].error;

		st = record_input(&c->record, r->image[i].path);
		json_array_append_new(errors,
		                      e->n && isfinite(e->nrmse) ? record_real(e->nrmse) : json_null());
	}
	for (int i = 0; r->has_spheres && i < r->n; i++)
		json_array_append_new(nema, nema_json(&r->image[i], r->spheres.n_spheres));
	if (!st && r->has_truth) st = record_input(&c->record, r->truth.path);
	if (!st && r->has_overlay) st = record_input(&c->record, r->overlay.path);
	if (!st && spheres) st = record_input(&c->record, spheres);
	if (record_result(&c->record, "nrmse", errors)) st = ISO_ENOMEM;
	return record_result(&c->record, "nema", nema) ? ISO_ENOMEM : st;
}

static int run(struct cmd *c, const struct report_settings *s)
{
	const struct iso_report_options o = { .title = s->title,
		                              .overlay = s->overlay,
		                              .spheres = s->spheres,
		                              .profile = cmd_given(c, "profile-from") ? s->line : NULL,
		                              .plain = strcmp(s->viewer, "off") == 0 };
	struct iso_text page = { 0 };
	struct iso_report r;
	int st;

	term_stage(&c->term, "read");
	if (s->nema) return nema_page_of(c, s->out, s->title, s->images.n, s->images.v);
	st = iso_report_read(&r, s->images.n, (const char *const *)s->images.v, s->truth);
	if (st) return st;
	st = iso_report_set(&r, &o);
	term_stage(&c->term, "draw");
	if (!st && !(st = iso_report_page(&page, &r))) st = iso_out_text(s->out, page.v);
	if (!st && c->json) st = record_images(c, &r, s->spheres);
	iso_text_free(&page);
	iso_report_free(&r);
	return st;
}

int main_report(int argc, char **argv)
{
	struct report_settings s = { .viewer = "on" };
	struct cmd c = { 0 };
	struct opt own[] = {
		{ 0, "images", .rest = &s.images, .file = OPT_MAY_READ, .value = "IMAGE", .positional = true,
		  .required = true, .help = "images to show side by side, with the records beside them" },
		CMD_OUTPUT(s.out, "page to write (.html)"),
		{ 0, "truth", .text = &s.truth, .file = OPT_MAY_READ, .value = "FILE",
		  .help = "the true image, on the same grid and any scale" },
		{ 0, "spheres", .text = &s.spheres, .file = OPT_MAY_READ, .value = "FILE",
		  .absent = "those of the phantom 'spheres', if the scan was of it",
		  .help = "positions of spheres and background, for contrast and noise as in 'measure "
		          "nema'" },
		{ 0, "overlay", .text = &s.overlay, .file = OPT_MAY_READ, .value = "FILE",
		  .help = "image to lay over the first in the viewer, such as CT or mu, on any grid" },
		{ 0, "viewer", .text = &s.viewer, .words = switches, .value = "on|off",
		  .help = "on, or off for only the page to be printed, without the images' values and "
		          "without a script" },
		{ 0, "nema", .flag = &s.nema,
		  .help = "the files are JSON of 'isotome nema': one page of their figures" },
		{ 0, "title", .text = &s.title, .value = "TEXT", .absent = "names of the images",
		  .help = "heading of the page" },
		{ 0, "profile-from", .real = s.line, .count = 3, .value = "X,Y,Z",
		  .absent = "along x, through the signal", .help = "where the profile begins, mm" },
		{ 0, "profile-to", .real = s.line + 3, .count = 3, .value = "X,Y,Z",
		  .absent = "along x, through the signal", .help = "where the profile ends, mm" },
		{ 0, "force", .flag = &c.force, .transient = true, .help = "replace an existing page" },
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own }, cmd_common(&c, 0), { 0 } };
	int st = cmd_parse(&c, &usage, sets, argc, argv);

	if (!st && !(st = check(&c, &s))) st = run(&c, &s);
	return cmd_end(&c, st);
}
