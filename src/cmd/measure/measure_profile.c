/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome measure profile: values along a line, as a table. */
#include "measure.h"

#include "core/size.h"
#include "io/format.h"

#define MAX_SAMPLES 1e6

struct profile_settings {
	const char *in, *out;
	struct iso_profile p;
};

struct row {
	double distance, x, y, z, value; /* mm from the beginning; mm */
};

enum { COLUMNS = sizeof(struct row) / sizeof(double) };

static const struct fact facts[] = {
	COLUMN("distance_mm", struct row, distance, "distance mm", 12, 6),
	COLUMN("x_mm", struct row, x, "x mm", 12, 6),
	COLUMN("y_mm", struct row, y, "y mm", 12, 6),
	COLUMN("z_mm", struct row, z, "z mm", 12, 6),
	COLUMN("value", struct row, value, "value", 14, 7),
	{ 0 },
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

static void make_rows(struct row *row, const struct iso_profile *p, const double *value)
{
	for (int64_t i = 0; i < p->samples; i++) {
		double t = (double)i / (double)(p->samples - 1), at[3];

		for (int a = 0; a < 3; a++) at[a] = p->from[a] + t * (p->to[a] - p->from[a]);
		row[i] = (struct row){ t * length(p), at[0], at[1], at[2], value[i] };
	}
}

static int write_csv(const char *path, const struct row *row, int64_t n)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int st;

	if (!f) return iso_fail_memory("profile", n * COLUMNS * 16);
	fputs("distance_mm,x_mm,y_mm,z_mm,value\n", f);
	for (int64_t i = 0; i < n; i++)
		fprintf(f, "%.9g,%.9g,%.9g,%.9g,%.9g\n", row[i].distance, row[i].x, row[i].y, row[i].z,
		        row[i].value);
	st = fclose(f) == 0 && text ? iso_out_text(path, text) : iso_fail_memory("profile", n * COLUMNS * 16);
	free(text);
	return st;
}

static int write_array(struct cmd *c, const char *path, const struct row *row, int64_t n)
{
	struct iso_array a = { 0 };
	int st = iso_array_create(&a, 2, (int64_t[]){ n, COLUMNS });

	if (st) return st;
	for (int64_t i = 0; i < a.n; i++) a.v[i] = (iso_real)((const double *)row)[i];
	st = cmd_write(c, path, &a);
	iso_array_free(&a);
	return st;
}

static bool is_csv(const char *path)
{
	return iso_has_suffix(path, ".csv");
}

/* Two of the columns, each as a list. */
static int record_columns(struct measure *m, const struct row *row, int64_t n)
{
	json_t *distance = json_array(), *value = json_array();

	for (int64_t i = 0; i < n; i++) {
		json_array_append_new(distance, record_real(row[i].distance));
		json_array_append_new(value, record_real(row[i].value));
	}
	int st = record_result(&m->c.record, "distance_mm", distance);
	int other = record_result(&m->c.record, "value", value);

	return st ? st : other;
}

static int put(struct measure *m, const char *out, const struct row *row, int64_t n)
{
	int st = !out ? ISO_OK : is_csv(out) ? write_csv(out, row, n) : write_array(&m->c, out, row, n);

	if (st || (st = record_columns(m, row, n))) return st;
	if (!out && !m->c.json) facts_table(facts, row, n, sizeof *row);
	m->figure = measure_largest(&row[0].value, n, sizeof *row);
	return ISO_OK;
}

static int run(struct measure *m, struct profile_settings *s)
{
	double *value;
	struct row *row;
	int64_t n;
	int st = ISO_OK;

	if (s->out)
		st = is_csv(s->out) ? iso_target_check(s->out, m->c.force) : cmd_check_output(&m->c, s->out);
	if (st || (st = measure_read(m, s->in, NULL))) return st;
	if (s->p.samples == 0) s->p.samples = default_samples(&s->p, &m->x[0].grid);
	n = s->p.samples;
	if (!(row = size_alloc(n, sizeof *row + sizeof *value)))
		return iso_fail_memory("profile", n * (int64_t)(sizeof *row + sizeof *value));
	value = (double *)(row + n);
	if (!(st = iso_measure_profile(value, &m->x[0], &s->p))) {
		make_rows(row, &s->p, value);
		st = put(m, s->out, row, n);
	}
	free(row);
	return st;
}

static const struct opt_usage usage = {
	"measure",
	"Print the values of an image along a line, trilinear between the voxel centres. The columns are "
	"distance from the beginning, x, y, z in mm, value. With -o the table goes to a file: .csv, or an "
	"array of these columns (.npy, .raw).",
	"  isotome measure profile image.nii --from -50,0,0 --to 50,0,0\n"
	"  isotome measure profile image.nii --from 0,0,-80 --to 0,0,80 --width 10 -o axial.csv\n"
};

int measure_profile(struct measure *m)
{
	struct profile_settings s = { 0 };
	struct opt own[] = {
		measure_word(m, "values along a line"),
		CMD_ARGUMENT("image", s.in, OPT_MAY_READ, "IMAGE", "image with a voxel size"),
		{ 0, "from", .real = s.p.from, .count = 3, .value = "X,Y,Z", .required = true,
		  .help = "where the line begins, mm" },
		{ 0, "to", .real = s.p.to, .count = 3, .value = "X,Y,Z", .required = true,
		  .help = "where the line ends, mm" },
		{ 0, "samples", .integer = &s.p.samples, .value = "N", .min = 2, .max = MAX_SAMPLES,
		  .absent = "one per voxel, by its smallest edge",
		  .help = "number of values, ends included" },
		{ 0, "width", .real = &s.p.width, .value = "MM", .min = 0, .max = 1e5,
		  .help = "take the mean over a disc of this diameter across the line" },
		{ 'o', "output", .text = &s.out, .file = OPT_WRITES, .value = "FILE",
		  .help = "write the table to this file (.csv, .npy, .raw)" },
		measure_below(m, "largest value", "the largest value must be below X"),
		{ 0 },
	};
	int st = measure_parse(m, &usage, own);

	return measure_end(m, st ? st : run(m, &s));
}
