/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome measure: picks the kind of measure; what all kinds share. */
#include "measure.h"

#include <assert.h>
#include <string.h>

static const struct opt_usage usage = {
	"measure",
	"Compute figures of an image, or of two images that are compared, as text or with --json. 'isotome "
	"measure KIND --help' explains a kind. With --below X the exit code is 1 unless the figure that the "
	"kind names is below X. The figures are printed in any case.",
	"  isotome measure roi image.nii --sphere 57.2,0,0,18\n"
	"  isotome measure profile image.nii --from -50,0,0 --to 50,0,0 -o profile.csv\n"
	"  isotome measure fwhm point.nii --at 10,0,0 --below 5\n"
	"  isotome measure diff a.nii b.nii\n"
	"  isotome measure rmse image.nii truth.nii --scale fit --below 0.1\n"
	"  isotome measure nema image.nii --like-phantom spheres\n"
	"  isotome measure rods image.nii --phantom derenzo-meng\n"
	"  isotome measure petric x.nii reference.nii --whole object.nii --background liver.nii\n"
	"  isotome measure tbr image.nii --tumour 10,0,12,2.5 --background 0,-6,-2,2\n",
};

static const struct {
	const char *name;
	int (*run)(struct measure *m);
} kinds[] = {
	{ "roi", measure_roi },   { "profile", measure_profile }, { "fwhm", measure_fwhm },
	{ "diff", measure_diff }, { "rmse", measure_rmse },       { "nema", measure_nema },
	{ "rods", measure_rods }, { "tbr", measure_tbr },         { "petric", measure_petric },
};

enum { KINDS = sizeof kinds / sizeof *kinds };

struct opt measure_word(struct measure *m, const char *what)
{
	return (struct opt)CMD_ARGUMENT("kind", m->kind, OPT_NO_FILE, m->name, what);
}

struct opt measure_below(struct measure *m, const char *figure, const char *must)
{
	m->figure_name = figure;
	return (struct opt){
		0, "below", .real = &m->below, .value = "X", .absent = "no limit", .help = must
	};
}

int measure_read(struct measure *m, const char *path, const struct iso_grid *want)
{
	int st = record_input(&m->c.record, path);

	assert(m->n < MEASURE_IMAGES);
	return st ? st : iso_read_image(&m->x[m->n++], path, ISO_FINITE, want);
}

int measure_put(struct measure *m, const struct fact *f, const void *v, int width)
{
	json_t *all = facts_json(f, v), *value;
	const char *key;
	int st = ISO_OK;

	json_object_foreach (all, key, value)
		if (!st) st = record_result(&m->c.record, key, json_incref(value));
	json_decref(all);
	if (!st && !m->c.json) facts_lines(f, v, width);
	return st;
}

int measure_put_rows(struct measure *m, const char *key, const struct fact *f, const void *v, int64_t n,
                     size_t stride)
{
	int st = record_result(&m->c.record, key, facts_list(f, v, n, stride));

	if (!st && !m->c.json) facts_table(f, v, n, stride);
	return st;
}

double measure_largest(const double *v, int64_t n, size_t stride)
{
	double top = *v;

	for (int64_t i = 0; i < n && !isnan(top); i++) {
		if (!(*v <= top)) top = *v;
		v = (const double *)(const void *)((const char *)v + stride);
	}
	return top;
}

int measure_parse(struct measure *m, const struct opt_usage *u, struct opt *own)
{
	int which = 0;

	for (const struct opt *o = own; o->name; o++)
		if (o->file == OPT_WRITES) which = CMD_WRITES;
	m->sets[0] = (struct opt_set){ NULL, own };
	m->sets[1] = cmd_common(&m->c, which);
	return cmd_parse(&m->c, u, m->sets, m->argc, m->argv);
}

int measure_end(struct measure *m, int st)
{
	for (int i = 0; i < m->n; i++) iso_array_free(&m->x[i]);
	st = cmd_end(&m->c, st);
	if (st || isnan(m->below) || m->figure < m->below) return st;
	return iso_fail(CMD_NOT_BELOW, "%s is %.7g, not below %.7g", m->figure_name, m->figure, m->below);
}

/* No kind, or not as the first word: the help, or what is wrong. */
static int without_kind(int argc, char **argv)
{
	const char *kind = NULL, *names[KINDS + 1] = { 0 };
	struct opt_list rest = { 0 };
	struct opt own[] = {
		{ 0, "kind", .text = &kind, .words = names, .value = "KIND", .positional = true,
		  .required = true,
		  .help = "roi (statistics of regions), profile (along a line), fwhm (widths of a peak), "
		          "diff (difference of two arrays), rmse (error of an image), nema (image quality "
		          "after NEMA NU 2), rods (of a Derenzo phantom), tbr (tumour to background), petric "
		          "(distance from a converged image)" },
		{ 0, "arguments", .rest = &rest, .file = OPT_MAY_READ, .value = "FILE", .positional = true,
		  .help = "arguments of the kind" },
		{ 0 },
	};
	struct cmd c = { 0 };
	struct opt_set sets[] = { { NULL, own }, cmd_common(&c, 0), { 0 } };
	int st;

	for (int i = 0; i < KINDS; i++) names[i] = kinds[i].name;
	st = cmd_parse(&c, &usage, sets, argc, argv);
	if (!st) st = iso_fail(ISO_EARG, "'%s' must be the first word after 'measure'", kind);
	return cmd_end(&c, st);
}

int main_measure(int argc, char **argv)
{
	struct measure m = { .argc = argc, .argv = argv, .below = NAN };

	for (int i = 0; argc > 1 && i < KINDS; i++) {
		m.name = kinds[i].name;
		if (strcmp(argv[1], m.name) == 0) return kinds[i].run(&m);
	}
	return without_kind(argc, argv);
}
