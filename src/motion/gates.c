/* SPDX-License-Identifier: BSD-3-Clause */
/* Gate tables: made, asked, read and written. */
#include "columns.h"
#include "core/size.h"
#include "file/out.h"

#include <math.h>
#include <string.h>

struct iso_gates {
	int64_t n;
	int count;
	struct iso_gate_row *row;
};

/* ---- making and asking ---- */

static int check_row(const struct iso_gate_row *row, int64_t i, const char *name, const char *unit,
                     int64_t number)
{
	const struct iso_gate_row r = row[i];

	if (!isfinite(r.from_s) || !isfinite(r.to_s) || !(r.from_s < r.to_s))
		return iso_refuse(name, "%s %" PRId64 ": from %.17g to %.17g s, must be finite and rise",
		                  unit, number, r.from_s, r.to_s);
	if (i > 0 && r.from_s < row[i - 1].to_s)
		return iso_refuse(name,
		                  "%s %" PRId64
		                  ": begins at %.17g s, before the row ahead of it ends, at %.17g s",
		                  unit, number, r.from_s, row[i - 1].to_s);
	if (r.gate < 0 || r.gate >= INT32_MAX)
		return iso_refuse(name, "%s %" PRId64 ": gate %" PRId64 ", must be 0 or above", unit, number,
		                  r.gate);
	return ISO_OK;
}

/* `line`: of each row in a file; NULL: rows count from 0. */
static int make(iso_gates **to, const struct iso_gate_row *row, int64_t n, const char *name,
                const int64_t *line)
{
	int64_t most = 0;
	int st = n < 1 ? iso_refuse(name, "no row of gates") : ISO_OK;

	for (int64_t i = 0; i < n && !st; i++) {
		st = check_row(row, i, name, line ? "line" : "row", line ? line[i] : i);
		most = row[i].gate > most ? row[i].gate : most;
	}
	if (st) return st;
	iso_gates *g = size_alloc(1, sizeof *g);

	if (g) g->row = size_alloc(n, sizeof *g->row);
	if (!g || !g->row) {
		iso_gates_free(g);
		return iso_fail_memory("gates", n * (int64_t)sizeof *row);
	}
	memcpy(g->row, row, (size_t)n * sizeof *row);
	g->n = n;
	g->count = (int)most + 1;
	*to = g;
	return ISO_OK;
}

int iso_gates_create(iso_gates **g, const struct iso_gate_row *row, int64_t n, const char *name)
{
	if (!g || !row || !name) return iso_fail_null(__func__);
	return make(g, row, n, name, NULL);
}

void iso_gates_free(iso_gates *g)
{
	if (!g) return;
	free(g->row);
	free(g);
}

int64_t iso_gates_rows(const iso_gates *g)
{
	return g ? g->n : 0;
}

struct iso_gate_row iso_gates_row(const iso_gates *g, int64_t row)
{
	return g && row >= 0 && row < g->n ? g->row[row] : (struct iso_gate_row){ 0 };
}

int iso_gates_count(const iso_gates *g)
{
	return g ? g->count : 0;
}

int iso_gates_at(const iso_gates *g, double time_s)
{
	int64_t first = 0, end = g ? g->n : 0;

	while (first < end) { /* the first row that ends after it */
		const int64_t middle = first + (end - first) / 2;

		if (g->row[middle].to_s <= time_s)
			first = middle + 1;
		else
			end = middle;
	}
	return g && first < g->n && g->row[first].from_s <= time_s ? (int)g->row[first].gate : -1;
}

double iso_gates_time(const iso_gates *g, int gate)
{
	double sum = 0;

	for (int64_t i = 0; g && i < g->n; i++)
		if (g->row[i].gate == gate) sum += g->row[i].to_s - g->row[i].from_s;
	return sum;
}

/* ---- files ---- */

static const char *const names[] = { "from_s", "to_s", "gate" };

/* at[i] = the column of names[i]. Without a line of names they stand in this order. */
static int find_columns(int at[3], const struct columns *c, const char *path)
{
	for (int i = 0; i < 3; i++) {
		at[i] = c->name[0][0] ? -1 : i;
		for (int k = 0; k < c->n_columns && c->name[0][0]; k++)
			if (strcmp(c->name[k], names[i]) == 0) at[i] = k;
		if (at[i] < 0 || at[i] >= c->n_columns)
			return iso_refuse(path, "no column '%s'; a gate table has from_s,to_s,gate",
			                  names[i]);
	}
	return ISO_OK;
}

int iso_gates_read(iso_gates **g, const char *path)
{
	if (!g || !path) return iso_fail_null(__func__);
	struct columns c = { 0 };
	struct iso_gate_row *row = NULL;
	int at[3], st = columns_read(&c, path);

	if (st || (st = find_columns(at, &c, path))) goto done;
	if (!(row = size_alloc(c.n, sizeof *row))) st = iso_fail_memory(path, c.n * (int64_t)sizeof *row);
	for (int64_t i = 0; i < c.n && !st; i++) {
		const double *v = c.v + i * c.n_columns, gate = v[at[2]];

		if (!(gate >= 0 && gate < 1e6 && gate == floor(gate)))
			st = iso_refuse(path, "line %" PRId64 ": gate %g, must be a whole number from 0",
			                c.line[i], gate);
		else
			row[i] = (struct iso_gate_row){ v[at[0]], v[at[1]], (int64_t)gate };
	}
	if (!st) st = make(g, row, c.n, path, c.line);
done:
	free(row);
	columns_free(&c);
	return st;
}

/* An output that `write` fills line by line. */
static int write_lines(const char *path, bool force, int (*write)(struct iso_out *o, const void *what),
                       const void *what)
{
	struct iso_out o = { 0 };
	int st = iso_out_check(path, NULL, force);

	if (!st) st = iso_out_open(&o, path, 0, ISO_OUT_PLAIN);
	if (!st) st = write(&o, what);
	if (!st) st = iso_out_close(&o);
	if (!st) st = iso_out_commit(&o);
	iso_out_free(&o);
	return st;
}

static int write_gates(struct iso_out *o, const void *what)
{
	const iso_gates *g = what;
	int st = iso_out_print(o, "from_s,to_s,gate\n");

	for (int64_t i = 0; i < g->n && !st; i++)
		st = iso_out_print(o, "%.17g,%.17g,%" PRId64 "\n", g->row[i].from_s, g->row[i].to_s,
		                   g->row[i].gate);
	return st;
}

int iso_gates_write(const char *path, const iso_gates *g, bool force)
{
	return path && g ? write_lines(path, force, write_gates, g) : iso_fail_null(__func__);
}

static int write_trace(struct iso_out *o, const void *what)
{
	const struct iso_trace *t = what;
	int st = iso_out_print(o, t->value ? "time_s,signal\n" : "time_s\n");

	for (int64_t i = 0; i < t->n && !st; i++)
		st = t->value ? iso_out_print(o, "%.17g,%.17g\n", t->time_s[i], t->value[i])
		              : iso_out_print(o, "%.17g\n", t->time_s[i]);
	return st;
}

int iso_trace_write(const char *path, const struct iso_trace *t, bool force)
{
	return path && t ? write_lines(path, force, write_trace, t) : iso_fail_null(__func__);
}
