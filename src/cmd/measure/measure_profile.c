/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome measure profile: values along a line, as a table. */
#include "measure.h"

#include "core/size.h"
#include "core/status.h"
#include "io/format.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_SAMPLES 1e6

enum { COLUMNS = 5 }; /* distance from the beginning, x, y, z in mm, value */

static const struct opt_usage usage = {
	"measure",
	"Values of an image along a line, trilinear between the voxel centres. Columns: "
	"distance from the beginning, x, y, z in mm, value. On stdout, or with -o in a file: "
	".csv, or an array of these columns (.npy, .raw).",
	"  isotome measure profile image.nii --from -50,0,0 --to 50,0,0\n"
	"  isotome measure profile image.nii --from 0,0,-80 --to 0,0,80 --width 10 -o axial.csv\n",
};

struct settings {
	const char *in, *out;
	struct iso_profile p;
};

static double length(const struct iso_profile *p)
{
	return hypot(hypot(p->to[0] - p->from[0], p->to[1] - p->from[1]), p->to[2] - p->from[2]);
}

/* One a voxel, of the smallest edge. */
static int64_t default_samples(const struct iso_profile *p, const struct iso_grid *g)
{
	double edge = fmin(g->voxel[0], fmin(g->voxel[1], g->voxel[2]));

	return (int64_t)fmin(fmax(ceil(length(p) / edge - 1e-6) + 1, 2), MAX_SAMPLES);
}

/* Columns of sample i. */
static void row(double r[COLUMNS], const struct iso_profile *p, const double *value, int64_t i)
{
	double t = (double)i / (double)(p->samples - 1);

	r[0] = t * length(p);
	for (int a = 0; a < 3; a++) r[1 + a] = p->from[a] + t * (p->to[a] - p->from[a]);
	r[4] = value[i];
}

static void print_csv(FILE *f, const struct iso_profile *p, const double *value)
{
	double r[COLUMNS];

	fputs("distance_mm,x_mm,y_mm,z_mm,value\n", f);
	for (int64_t i = 0; i < p->samples; i++) {
		row(r, p, value, i);
		fprintf(f, "%.9g,%.9g,%.9g,%.9g,%.9g\n", r[0], r[1], r[2], r[3], r[4]);
	}
}

static void print_text(const struct iso_profile *p, const double *value)
{
	double r[COLUMNS];

	printf("%12s %12s %12s %12s %14s\n", "distance mm", "x mm", "y mm", "z mm", "value");
	for (int64_t i = 0; i < p->samples; i++) {
		row(r, p, value, i);
		printf("%12.6g %12.6g %12.6g %12.6g %14.7g\n", r[0], r[1], r[2], r[3], r[4]);
	}
}

static int write_csv(const char *path, const struct iso_profile *p, const double *value)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int st;

	if (!f) return iso_fail_memory("profile", p->samples * COLUMNS * 16);
	print_csv(f, p, value);
	st = fclose(f) == 0 && text ? iso_out_text(path, text)
	                            : iso_fail_memory("profile", p->samples * COLUMNS * 16);
	free(text);
	return st;
}

static int write_array(struct cmd *c, const char *path, const struct iso_profile *p, const double *value)
{
	struct iso_array a = { 0 };
	double r[COLUMNS];
	int st = iso_array_create(&a, 2, (int64_t[]){ p->samples, COLUMNS });

	if (st) return st;
	for (int64_t i = 0; i < p->samples; i++) {
		row(r, p, value, i);
		for (int k = 0; k < COLUMNS; k++) a.v[i * COLUMNS + k] = (iso_real)r[k];
	}
	st = cmd_write(c, path, &a);
	iso_array_free(&a);
	return st;
}

static bool is_csv(const char *path)
{
	return iso_has_suffix(path, ".csv");
}

static int record_values(struct measure *m, const struct iso_profile *p, const double *value)
{
	json_t *distance = json_array(), *values = json_array();
	double r[COLUMNS];

	for (int64_t i = 0; i < p->samples; i++) {
		row(r, p, value, i);
		json_array_append_new(distance, record_real(r[0]));
		json_array_append_new(values, record_real(r[4]));
	}
	int st = record_result(&m->c.record, "distance_mm", distance);
	int other = record_result(&m->c.record, "value", values);

	return st ? st : other;
}

static int put(struct measure *m, const struct settings *s, const double *value)
{
	int st = ISO_OK;

	if (s->out && is_csv(s->out))
		st = write_csv(s->out, &s->p, value);
	else if (s->out)
		st = write_array(&m->c, s->out, &s->p, value);
	if (st || (st = record_values(m, &s->p, value))) return st;
	if (!s->out && !m->c.json) print_text(&s->p, value);
	return ISO_OK;
}

static double largest(int64_t n, const double *value)
{
	double top = value[0];

	for (int64_t i = 1; i < n; i++) top = value[i] > top ? value[i] : top;
	return top;
}

static int run(struct measure *m, struct settings *s)
{
	struct iso_array x = { 0 };
	double *value = NULL;
	int st;

	if ((st = measure_read(&x, m, s->in))) goto done;
	if (s->p.samples == 0) s->p.samples = default_samples(&s->p, &x.grid);
	value = size_alloc(s->p.samples, sizeof *value);
	if (!value) {
		st = iso_fail_memory("profile", s->p.samples * (int64_t)sizeof *value);
		goto done;
	}
	if ((st = iso_measure_profile(value, &x, &s->p))) goto done;
	if ((st = put(m, s, value))) goto done;
	st = measure_end(m, "largest value", largest(s->p.samples, value));
done:
	free(value);
	iso_array_free(&x);
	return st;
}

int measure_profile(int argc, char **argv)
{
	struct measure m = MEASURE_BEGIN;
	struct settings s = { 0 };
	struct opt own[] = {
		measure_kind(&m, "profile", "values along a line"),
		{ 0, "image", .text = &s.in, .file = OPT_MAY_READ, .value = "IMAGE", .positional = true,
		  .required = true, .help = "image with a voxel size" },
		{ 0, "from", .real = s.p.from, .count = 3, .value = "X,Y,Z", .required = true,
		  .help = "where it begins, mm" },
		{ 0, "to", .real = s.p.to, .count = 3, .value = "X,Y,Z", .required = true,
		  .help = "where it ends, mm" },
		{ 0, "samples", .integer = &s.p.samples, .value = "N", .min = 2, .max = MAX_SAMPLES,
		  .absent = "one a voxel, of the smallest edge", .help = "values, ends included" },
		{ 0, "width", .real = &s.p.width, .value = "MM", .min = 0, .max = 1e5,
		  .help = "mean over a disc of this diameter across the line" },
		{ 'o', "output", .text = &s.out, .file = OPT_WRITES, .value = "FILE",
		  .help = "write the table there (.csv, .npy, .raw)" },
		measure_below(&m, "the largest value must be below X"),
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own }, cmd_common(&m.c, CMD_WRITES), { 0 } };
	int st;

	if ((st = cmd_parse(&m.c, &usage, sets, argc, argv))) goto done;
	if (s.out && is_csv(s.out))
		st = iso_target_check(s.out, m.c.force);
	else if (s.out)
		st = cmd_check_output(&m.c, s.out);
	if (!st) st = run(&m, &s);
done:
	cmd_end(&m.c);
	return st;
}
