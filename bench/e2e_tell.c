/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of `bench end-to-end` as a table of commas, and drawn as seconds against events. */
#include "e2e.h"

#include "file/out.h"
#include "file/suffix.h"
#include "io/format.h"
#include "report/markup/svg.h"

#include <math.h>
#include <string.h>

#define MOST_POINTS 32
#define MOST_CURVES 16

static const char *text(const json_t *row, const char *key)
{
	const char *t = json_string_value(json_object_get(row, key));

	return t ? t : "";
}

static double number(const json_t *row, const char *key)
{
	return json_number_value(json_object_get(row, key));
}

int e2e_check(const struct cmd *c, const char *table, const char *plot)
{
	int st = table ? iso_target_check(table, c->force) : ISO_OK;

	if (!st && table && !iso_has_suffix(table, ".csv"))
		st = iso_fail(ISO_EARG, "--table %s: must end in .csv", table);
	if (!st && plot) st = iso_target_check(plot, c->force);
	if (!st && plot && !iso_has_suffix(plot, ".svg"))
		st = iso_fail(ISO_EARG, "--plot %s: must end in .svg", plot);
	return st;
}

/* ---- the table ---- */

static void put_table(struct iso_text *t, const json_t *rows)
{
	static const char *const words[] = { "case", "stage", "limit" };
	static const char *const numbers[] = {
		"events",       "median_s",    "least_s", "first_s",
		"events_per_s", "bytes_per_s", "limit_s", "fraction_of_limit"
	};
	const json_t *row;
	size_t i;

	for (int k = 0; k < 3; k++) iso_text_add(t, "%s,", words[k]);
	for (int k = 0; k < 8; k++) iso_text_add(t, "%s%s", numbers[k], k < 7 ? "," : "\n");
	json_array_foreach (rows, i, row) {
		for (int k = 0; k < 3; k++) iso_text_add(t, "%s,", text(row, words[k]));
		for (int k = 0; k < 8; k++) {
			if (!json_is_null(json_object_get(row, numbers[k])))
				iso_text_add(t, "%.9g", number(row, numbers[k]));
			iso_text_add(t, "%s", k < 7 ? "," : "\n");
		}
	}
}

/* ---- walls beside floors, for people ---- */

static void print_wall(const json_t *row)
{
	double wall_s = number(row, "median_s"), floor_s = 0;
	static const char *const floors[] = { "floor_file_s", "floor_link_s", "floor_kernel_s" };

	printf("%-8s %10.3g %10s %-8s %9.3f %8.1f %10s", text(row, "case"), number(row, "events"),
	       iso_bytes((int64_t)number(row, "file_bytes")), text(row, "way"), wall_s,
	       number(row, "ns_per_event"), iso_bytes((int64_t)number(row, "peak_bytes")));
	for (int k = 0; k < 3; k++) {
		printf(" %8.3f", number(row, floors[k]));
		floor_s += number(row, floors[k]);
	}
	printf(" %6.2f\n", floor_s > 0 ? wall_s / floor_s : 0);
}

void e2e_print(const struct cmd *c, double made_s)
{
	const json_t *rows = json_object_get(json_object_get(c->record.root, "results"), "rows"), *row;
	size_t i;

	if (c->json) return;
	printf("\nfiles made in %.3g s; floors in seconds: file and link once, kernel in all iterations\n",
	       made_s);
	printf("%-8s %10s %10s %-8s %9s %8s %10s %8s %8s %8s %6s\n", "case", "events", "file", "way",
	       "wall s", "ns/event", "memory", "file", "link", "kernel", "x");
	json_array_foreach (rows, i, row)
		if (strcmp(text(row, "stage"), "wall") == 0) print_wall(row);
}

/* ---- the drawing ---- */

struct curves {
	bool per_event; /* ns of each event, else seconds */
	int n;
	struct iso_svg_curve v[MOST_CURVES];
	double x[MOST_CURVES][MOST_POINTS], y[MOST_CURVES][MOST_POINTS];
};

/* `key` of all rows of a case and stage; a curve needs two points. Whether there is one. */
static bool add_curve(struct curves *c, const json_t *rows, const char *which, const char *stage,
                      const char *key)
{
	struct iso_svg_curve *v = &c->v[c->n];
	const json_t *row;
	int n = 0;
	size_t i;

	if (c->n == MOST_CURVES) return false;
	json_array_foreach (rows, i, row)
		if (n < MOST_POINTS && strcmp(text(row, "case"), which) == 0 &&
		    strcmp(text(row, "stage"), stage) == 0 && number(row, key) > 0) {
			c->x[c->n][n] = number(row, "events");
			c->y[c->n][n++] = number(row, key) * (c->per_event ? 1e9 / number(row, "events") : 1);
		}
	if (n < 2) return false;
	*v = (struct iso_svg_curve){ stage, 1 + c->n % ISO_SVG_COLOURS, n, c->x[c->n], c->y[c->n] };
	c->n++;
	return true;
}

static bool has_curve(const struct curves *c, const char *name)
{
	for (int k = 0; k < c->n; k++)
		if (strcmp(c->v[k].name, name) == 0) return true;
	return false;
}

/* Of one case: the wall, its stages, and, dashed, the least that the machine allows. */
static void add_stages(struct curves *c, const json_t *rows, const char *which)
{
	const json_t *row;
	size_t i;

	add_curve(c, rows, which, "wall", "median_s");
	json_array_foreach (rows, i, row)
		if (strcmp(text(row, "case"), which) == 0 && !has_curve(c, text(row, "stage")))
			add_curve(c, rows, which, text(row, "stage"), "median_s");
	if (c->n > 0 && add_curve(c, rows, which, "wall", "limit_s")) {
		c->v[c->n - 1].name = "limit of the wall";
		c->v[c->n - 1].colour = 0;
	}
}

static void add_walls(struct curves *c, const json_t *rows)
{
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row)
		if (!has_curve(c, text(row, "case")) &&
		    add_curve(c, rows, text(row, "case"), "wall", "median_s"))
			c->v[c->n - 1].name = text(row, "case");
}

/* The first case by stages; what an event costs in each; then, if there are several, all by their walls. */
static int put_plot(struct iso_text *t, const json_t *rows)
{
	enum { STAGES, EVENTS, WALLS, CHARTS };
	struct curves *c;
	int st = BENCH_NEW(c, CHARTS);

	if (st) return st;
	c[EVENTS].per_event = true;
	add_walls(&c[EVENTS], rows);
	add_walls(&c[WALLS], rows);
	if (c[WALLS].n > 0) add_stages(&c[STAGES], rows, c[WALLS].v[0].name);
	char of_first[96];

	snprintf(of_first, sizeof of_first, "seconds of '%s', wall and stages",
	         c[WALLS].n ? c[WALLS].v[0].name : "");
	const struct iso_svg_chart chart[CHARTS] = {
		{ of_first, "events", of_first, c[STAGES].n, c[STAGES].v, ISO_SVG_LOG },
		{ "Nanoseconds an event", "events", "nanoseconds an event, wall", c[EVENTS].n, c[EVENTS].v,
		  ISO_SVG_LOG },
		{ "Seconds of each case", "events", "seconds of each case, wall", c[WALLS].n, c[WALLS].v,
		  ISO_SVG_LOG },
	};

	iso_svg_file(t, c[WALLS].n > 1 ? CHARTS : WALLS, chart);
	free(c);
	return t->failed ? iso_fail_memory("plot", 1) : ISO_OK;
}

/* ---- files ---- */

static int write_table(const json_t *rows, const char *path)
{
	struct iso_text t = { 0 };
	int st;

	put_table(&t, rows);
	st = t.failed ? iso_fail_memory(path, 1) : iso_out_text(path, t.v);
	iso_text_free(&t);
	return st;
}

/* Where time ran out, there may be nothing to draw. */
static int write_plot(struct cmd *c, const json_t *rows, const char *path)
{
	struct iso_text t = { 0 };
	int st = put_plot(&t, rows);

	if (!st && t.n)
		st = iso_out_text(path, t.v);
	else if (!st)
		record_warn(&c->record, "%s: not drawn: no case was run with two numbers of events", path);
	iso_text_free(&t);
	return st;
}

int e2e_write(struct cmd *c, const char *table, const char *plot)
{
	const json_t *rows = json_object_get(json_object_get(c->record.root, "results"), "rows");
	int st = table ? write_table(rows, table) : ISO_OK;

	return st || !plot ? st : write_plot(c, rows, plot);
}
