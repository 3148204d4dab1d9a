/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome nema: figures of merit of a scanner after NEMA, as JSON and as a page. */
#include "cmd.h"

#include "file/out.h"
#include "io/format.h"
#include "isotome/nema.h"
#include "report/nema_page.h"
#include "report/page.h"
#include "text/json_file.h"

#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = { "resolution", "sensitivity", "counting", "accuracy",
	                             "quality",    "all",         NULL };

enum kind { RESOLUTION, SENSITIVITY, COUNTING, ACCURACY, QUALITY, ALL };

enum { RECORDS = 64 };

struct nema_settings {
	const char *kind, *out, *title, *spheres, *mouse;
	struct opt_list files;
	struct iso_nema_options o;
};

static const struct opt_usage usage = {
	"nema",
	"Compute figures of merit of a scanner after NEMA NU 2-2018 and NU 4-2008, as JSON and as one HTML "
	"page. "
	"resolution: points, an event file each, become images by filtered back-projection. sensitivity, "
	"counting and "
	"accuracy: a description names the runs. quality: spheres of NU 2 in an image (--spheres), or the "
	"phantom of "
	"NU 4 (--mouse). all: one page of the JSON files of earlier runs. Without -o, Isotome prints JSON "
	"alone.",
	"  isotome nema resolution p10.lmdT p100.lmdT --scanner ring.yaml -o nema.html\n"
	"  isotome nema sensitivity line.yaml -o nema.html\n"
	"  isotome nema sensitivity point.yaml -o nema.html\n"
	"  isotome nema counting series.yaml -o nema.html --json > counting.json\n"
	"  isotome nema accuracy images.yaml -o nema.html\n"
	"  isotome nema quality image.nii --spheres iec.yaml -o nema.html\n"
	"  isotome nema quality mouse.nii --mouse places.yaml -o nema.html\n"
	"  isotome nema all counting.json sensitivity.json -o nema.html\n",
};

/* ---- results ---- */

/* The members of a JSON text become results. */
static int take_results(struct cmd *c, const char *text)
{
	json_t *root = NULL, *value;
	const char *key;
	int st = iso_json_parse(&root, "nema", text, strlen(text));

	json_object_foreach (root, key, value)
		if (!st) st = record_result(&c->record, key, json_incref(value));
	json_decref(root);
	return st;
}

static int take_inputs(struct cmd *c, enum iso_nema_test test, const char *description)
{
	char *names = NULL;
	int st = iso_nema_inputs(&names, test, description);

	if (st || (st = record_input(&c->record, description))) goto done;
	for (char *name = names, *end; !st && (end = strchr(name, '\n')); name = end + 1) {
		*end = '\0';
		st = record_input(&c->record, name);
	}
done:
	iso_nema_free(names);
	return st;
}

static int run_series(struct cmd *c, const struct nema_settings *s, enum iso_nema_test test)
{
	const char *description = test == ISO_NEMA_MOUSE ? s->mouse : s->files.v[0];
	struct iso_nema_options o = s->o;
	char *text = NULL;
	int st;

	if (test == ISO_NEMA_MOUSE) o.image = s->files.v[0];
	if ((st = take_inputs(c, test, description)) ||
	    (o.image && (st = record_input(&c->record, o.image))) ||
	    (o.scanner && (st = record_input(&c->record, o.scanner))))
		return st;
	if (!(st = iso_nema_run(&text, c->ctx, test, description, &o))) st = take_results(c, text);
	iso_nema_free(text);
	return st;
}

static int run_resolution(struct cmd *c, const struct nema_settings *s)
{
	char *text = NULL;
	int st = s->o.scanner ? record_input(&c->record, s->o.scanner) : ISO_OK;

	for (int k = 0; k < s->files.n && !st; k++) st = record_input(&c->record, s->files.v[k]);
	if (!st &&
	    !(st = iso_nema_resolution(&text, c->ctx, s->files.n, (const char *const *)s->files.v, &s->o)))
		st = take_results(c, text);
	iso_nema_free(text);
	return st;
}

/* As `measure nema`. */
static int run_spheres(struct cmd *c, const struct nema_settings *s)
{
	struct iso_nema_result r = { .size = sizeof r };
	struct iso_nema q = { .size = sizeof q };
	struct iso_array x = { 0 };
	double moved[4] = { 0 };
	json_t *list = json_array();
	int st;

	if ((st = iso_nema_read(&q, s->spheres)) || (st = record_input(&c->record, s->spheres)) ||
	    (st = record_input(&c->record, s->files.v[0])) ||
	    (st = iso_read_image(&x, s->files.v[0], ISO_FINITE, NULL)))
		goto done;
	const bool found = q.find;

	if ((st = iso_nema_find(&q, moved, &x)) || (st = iso_measure_nema(&r, &x, &q))) goto done;
	for (int i = 0; i < q.n_spheres; i++)
		json_array_append_new(list, record_pack("{s:f, s:f, s:f, s:f}", "diameter_mm",
		                                        q.sphere[i].diameter, "ratio", q.sphere[i].ratio,
		                                        "contrast_percent", r.sphere[i].contrast,
		                                        "variability_percent", r.sphere[i].variability));
	json_t *quality = record_pack("{s:o, s:o}", "spheres", json_incref(list), "lung_residual_percent",
	                              record_real(r.lung));

	if (found && quality) {
		json_object_set_new(quality, "moved_mm", record_reals(3, moved));
		json_object_set_new(quality, "turned_deg", record_real(moved[3]));
	}
	st = record_result(&c->record, "quality", quality);
done:
	json_decref(list);
	iso_array_free(&x);
	return st;
}

/* ---- pages ---- */

static int write_page(const char *out, const char *title, const json_t *const *records, int n)
{
	struct iso_text page = { 0 };
	int st = iso_nema_page(&page, title, records, n);

	if (!st) st = iso_out_text(out, page.v);
	iso_text_free(&page);
	return st;
}

int nema_page_of(struct cmd *c, const char *out, const char *title, int n, char *const *files)
{
	json_t *records[RECORDS] = { NULL };
	int st = ISO_OK;

	if (n > RECORDS) return iso_fail(ISO_EARG, "%d files, must be at most %d", n, RECORDS);
	for (int k = 0; k < n && !st; k++)
		if (!(st = iso_json_read(&records[k], files[k]))) st = record_input(&c->record, files[k]);
	if (!st) st = write_page(out, title, (const json_t *const *)records, n);
	for (int k = 0; k < n; k++) json_decref(records[k]);
	return st;
}

static int page_of_run(struct cmd *c, const struct nema_settings *s)
{
	json_t *record = NULL;
	int st = cmd_text(c);

	if (st || (st = iso_json_parse(&record, "record", c->text, strlen(c->text)))) return st;
	st = write_page(s->out, s->title, (const json_t *const[]){ record }, 1);
	json_decref(record);
	return st;
}

/* ---- the command ---- */

static int check(const struct cmd *c, const struct nema_settings *s, int kind)
{
	int st;

	if (kind < 0) return iso_fail(ISO_EARG, "'%s' is no figure of nema", s->kind);
	if (kind != RESOLUTION && kind != ALL && s->files.n != 1)
		return iso_fail(ISO_EARG, "nema %s takes one file, not %d", s->kind, s->files.n);
	if (kind == QUALITY && !s->spheres == !s->mouse)
		return iso_fail(ISO_EARG,
		                "nema quality needs either --spheres or --mouse: where the regions are");
	if (kind != QUALITY && (s->spheres || s->mouse))
		return iso_fail(ISO_EARG, "--%s goes with nema quality", s->spheres ? "spheres" : "mouse");
	if (kind != RESOLUTION && (s->o.mouse || s->o.norm || s->o.voxel_mm > 0))
		return iso_fail(ISO_EARG, "--%s goes with nema resolution",
		                s->o.mouse  ? "small-animal"
		                : s->o.norm ? "norm"
		                            : "voxel-mm");
	if (!s->out) return kind == ALL ? iso_fail(ISO_EARG, "nema all needs -o, the page to write") : ISO_OK;
	return (st = iso_page_check(s->out)) ? st : iso_target_check(s->out, c->force);
}

static int run(struct cmd *c, const struct nema_settings *s, int kind)
{
	int st;

	if (kind == ALL) return nema_page_of(c, s->out, s->title, s->files.n, s->files.v);
	st = kind == RESOLUTION    ? run_resolution(c, s)
	     : kind == SENSITIVITY ? run_series(c, s, ISO_NEMA_SENSITIVITY)
	     : kind == COUNTING    ? run_series(c, s, ISO_NEMA_COUNTING)
	     : kind == ACCURACY    ? run_series(c, s, ISO_NEMA_ACCURACY)
	     : s->mouse            ? run_series(c, s, ISO_NEMA_MOUSE)
	                           : run_spheres(c, s);
	if (!st && s->out) st = page_of_run(c, s);
	return st;
}

int main_nema(int argc, char **argv)
{
	struct nema_settings s = { .o.size = sizeof s.o };
	struct cmd c = { .cpu_only = true };
	struct opt own[] = {
		{ 0, "kind", .text = &s.kind, .words = kinds, .value = "FIGURE", .positional = true,
		  .required = true,
		  .help = "resolution, sensitivity, counting (scatter fraction, NECR, time resolution), "
		          "accuracy, "
		          "quality, or all (one page of the JSON of earlier runs)" },
		{ 0, "files", .rest = &s.files, .file = OPT_MAY_READ, .value = "FILE", .positional = true,
		  .required = true,
		  .help = "events of points, a description of runs, an image, or JSON files" },
		{ 'o', "output", .text = &s.out, .file = OPT_WRITES, .value = "FILE", .absent = "no page",
		  .help = "page to write (.html)" },
		{ 0, "scanner", .text = &s.o.scanner, .file = OPT_READS, .value = "FILE",
		  .absent = "that of the description, or of the events' file",
		  .help = "scanner description" },
		{ 0, "standard", .text = &s.o.standard, .file = OPT_READS, .value = "FILE",
		  .absent = "the numbers of Isotome",
		  .help = "numbers of the standards, as in examples/nema/standards.yaml" },
		{ 0, "spheres", .text = &s.spheres, .file = OPT_READS, .value = "FILE",
		  .help = "quality: where spheres and background of NU 2 are, as for 'measure nema'" },
		{ 0, "mouse", .text = &s.mouse, .file = OPT_READS, .value = "FILE",
		  .help = "quality: where the regions of the NU 4 phantom are" },
		{ 0, "small-animal", .flag = &s.o.mouse, .help = "resolution: the radii of NU 4" },
		{ 0, "norm", .text = &s.o.norm, .file = OPT_READS, .value = "FILE",
		  .help = "resolution: efficiencies per crystal (.npy)" },
		{ 0, "voxel-mm", .real = &s.o.voxel_mm, .unit = "mm", .value = "MM", .min = 1e-3, .max = 100,
		  .absent = "half a bin", .help = "resolution: voxels of the images in the plane" },
		{ 0, "angles", .integer = &s.o.angles, .value = "N", .min = 1, .max = 1e6,
		  .absent = "half the crystals of a ring", .help = "angles of the sinograms" },
		{ 0, "bin-mm", .real = &s.o.bin_mm, .unit = "mm", .value = "MM", .min = 1e-3, .max = 100,
		  .absent = "pi R/n of a ring of n crystals", .help = "bins of the sinograms" },
		{ 0, "pitch-mm", .real = &s.o.pitch_mm, .unit = "mm", .value = "MM", .min = 1e-3, .max = 1000,
		  .absent = "that of the rings", .help = "twice the distance of the sinograms' slices" },
		{ 0, "title", .text = &s.title, .value = "TEXT", .absent = "Figures after NEMA",
		  .help = "heading of the page" },
		{ 0, "force", .flag = &c.force, .transient = true, .help = "replace an existing page" },
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own }, cmd_common(&c, CMD_COMPUTES), { 0 } };
	int st = cmd_parse(&c, &usage, sets, argc, argv), kind = -1;

	for (int k = 0; !st && kinds[k]; k++)
		if (strcmp(kinds[k], s.kind) == 0) kind = k;
	if (!st && !s.out) c.json = true;
	if (!st && !(st = check(&c, &s, kind)) && !(st = cmd_begin(&c))) st = run(&c, &s, kind);
	return cmd_end(&c, st);
}
