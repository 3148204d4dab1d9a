/* SPDX-License-Identifier: BSD-3-Clause */
/* GATE ASCII coincidences: a line each, the columns of one single and then of the other:

	run, event, source, source x y z, time (s), energy, x y z (mm), volume numbers (6, or 3 for
	ecat), Compton in phantom, in detector, Rayleigh in phantom, in detector, axial position,
	angle

   A mask of 36 switches, one a column but one for all volume numbers of a single, says which are
   there. Axes are right-handed, as here. */
#include "base/number.h"
#include "core/size.h"
#include "core/status.h"
#include "events.h"
#include "file/in.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 1 << 20, LINE_MOST = 1 << 16, COLUMNS_MOST = 64 };

/* Those columns of a single that are looked at, by their place in the mask. */
enum field { RUN, EVENT, TIME = 6, X = 8, Y, Z, VOLUMES, COMPTON, RAYLEIGH = 14, FIELDS = 18 };

struct gate {
	const char *path;
	const struct iso_events_options *o;
	bool on[2 * FIELDS]; /* the mask */
	bool masked;
	int columns;               /* of a line; 0: none was seen yet */
	int at[2][FIELDS];         /* column of each field; -1: not there */
	bool needed[COLUMNS_MOST]; /* columns that are read as numbers, */
	bool whole[COLUMNS_MOST];  /* and of them those that count something */
	int64_t line, room, lines; /* lines: that are not blank */
	char why[160];             /* about the first bad line */
	struct iso_events e;
};

/* ---- which column is what ---- */

static bool has(const struct gate *g, enum field f)
{
	return g->on[f] && g->on[FIELDS + f];
}

/* ISO_EARG also if a column is off that can't be done without. */
static int get_mask(struct gate *g)
{
	const char *text = g->o->gate_mask;
	int n = 0;

	for (int i = 0; i < 2 * FIELDS; i++) g->on[i] = true;
	g->masked = text;
	for (; text && *text; text++) {
		if (strchr(" ,\t", *text)) continue;
		if ((*text != '0' && *text != '1') || n == 2 * FIELDS) break;
		g->on[n++] = *text == '1';
	}
	if (text && (*text || n != 2 * FIELDS))
		return iso_fail(ISO_EARG,
		                "gate_mask must be 36 switches 0 or 1, as in GATE's setCoincidenceMask");
	if (!has(g, X) || !has(g, Y) || !has(g, Z))
		return iso_fail(ISO_EARG, "gate_mask leaves out x, y or z of the detection");
	if (g->o->trues_only && (!has(g, EVENT) || !has(g, COMPTON) || !has(g, RAYLEIGH)))
		return iso_fail(ISO_EARG, "trues_only needs the event number, and Compton and Rayleigh in "
		                          "the phantom; gate_mask leaves one out");
	return ISO_OK;
}

/* Volume numbers of a single in a line of n columns; 0: n does not fit. */
static int volumes(const struct gate *g, int n)
{
	int groups = g->on[VOLUMES] + g->on[FIELDS + VOLUMES], fixed = -groups;

	for (int i = 0; i < 2 * FIELDS; i++) fixed += g->on[i];
	if (groups == 0) return n == fixed ? 1 : 0;
	if ((n - fixed) % groups != 0 || n - fixed < groups) return 0;

	int each = (n - fixed) / groups;

	return g->masked ? (each <= 6 ? each : 0) : each == 3 || each == 6 ? each : 0;
}

static void place_columns(struct gate *g, int n)
{
	static const enum field numbers[] = { RUN, EVENT, COMPTON, RAYLEIGH, TIME, X, Y, Z };
	const size_t n_whole = 4; /* the first of them */
	int each = volumes(g, n), column = 0;

	g->columns = n;
	for (int s = 0; s < 2; s++)
		for (int f = 0; f < FIELDS; f++) {
			bool on = g->on[s * FIELDS + f];

			g->at[s][f] = on ? column : -1;
			column += on ? (f == VOLUMES ? each : 1) : 0;
		}
	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
			if (g->at[s][numbers[i]] >= 0) {
				g->needed[g->at[s][numbers[i]]] = true;
				g->whole[g->at[s][numbers[i]]] = i < n_whole;
			}
}

/* ---- one line ---- */

struct words {
	const char *at[COLUMNS_MOST];
	int length[COLUMNS_MOST];
	int n; /* also those beyond the most */
};

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

size_t iso_next_word(const char **p, const char *end)
{
	const char *stop;

	while (*p < end && blank(**p)) ++*p;
	for (stop = *p; stop < end && !blank(*stop);) stop++;
	return (size_t)(stop - *p);
}

static void split(struct words *w, const char *p, const char *end)
{
	w->n = 0;
	for (size_t length; (length = iso_next_word(&p, end)) > 0; p += length, w->n++)
		if (w->n < COLUMNS_MOST) {
			w->at[w->n] = p;
			w->length[w->n] = (int)length;
		}
}

static void bad_line(struct gate *g, const char *why)
{
	if (g->e.n_lines_bad++ == 0) {
		g->e.first_line_bad = g->line;
		snprintf(g->why, sizeof g->why, "%s", why);
	}
}

static bool get_numbers(struct gate *g, double *v, const struct words *w)
{
	char why[96];

	for (int i = 0; i < g->columns; i++) {
		bool good = !g->needed[i] || iso_number(&v[i], w->at[i], (size_t)w->length[i]);

		if (good && (!g->whole[i] || v[i] == floor(v[i]))) continue;
		snprintf(why, sizeof why, "column %d is '%.*s', not a %snumber", i + 1,
		         w->length[i] < 30 ? w->length[i] : 30, w->at[i], g->whole[i] ? "whole " : "");
		bad_line(g, why);
		return false;
	}
	return true;
}

static double field(const struct gate *g, const double *v, int single, enum field f)
{
	return g->at[single][f] < 0 ? 0 : v[g->at[single][f]];
}

/* Both photons of one decay, and neither scattered in the phantom. */
static bool is_true(const struct gate *g, const double *v)
{
	bool same = field(g, v, 0, EVENT) == field(g, v, 1, EVENT);

	if (has(g, RUN)) same = same && field(g, v, 0, RUN) == field(g, v, 1, RUN);
	for (int s = 0; s < 2; s++)
		same = same && field(g, v, s, COMPTON) == 0 && field(g, v, s, RAYLEIGH) == 0;
	return same;
}

static bool grow(void *array, int64_t n, int64_t item)
{
	void **p = array, *more;
	int64_t bytes;

	if (!size_mul(&bytes, n, item) || !(more = realloc(*p, (size_t)bytes))) return false;
	*p = more;
	return true;
}

static int make_room(struct gate *g)
{
	int64_t room = g->room ? 2 * g->room : 4096;
	int64_t one = (int64_t)sizeof *g->e.v + (has(g, TIME) ? (int64_t)sizeof *g->e.time_ms : 0);
	int st;

	if (g->e.n < g->room) return ISO_OK;
	if (g->o->ctx && (st = iso_memory_check(g->o->ctx, g->path, (room - g->room) * one))) return st;
	if (!grow(&g->e.v, room, sizeof *g->e.v) ||
	    (has(g, TIME) && !grow(&g->e.time_ms, room, sizeof *g->e.time_ms)))
		return iso_fail_memory(g->path, room * (int64_t)sizeof *g->e.v);
	g->room = room;
	return ISO_OK;
}

static int add_event(struct gate *g, const double *v)
{
	double t1 = field(g, v, 0, TIME), t2 = field(g, v, 1, TIME), dt = (t1 - t2) * 1e12;
	struct iso_event e = { .dt_ps = has(g, TIME) ? (float)dt : 0 };
	int st = make_room(g);

	if (st) return st;
	if (has(g, TIME) && !(t1 >= 0 && t1 * 1e3 < 4294967296.)) {
		bad_line(g, "its time is negative, or later than 49 days");
		return ISO_OK;
	}
	for (int a = 0; a < 3; a++) {
		e.p1[a] = (float)field(g, v, 0, X + a);
		e.p2[a] = (float)field(g, v, 1, X + a);
	}
	if (g->o->swap_dt) e.dt_ps = 0 - e.dt_ps;
	g->e.n_bad += iso_event_bad(&e);
	if (g->e.time_ms) g->e.time_ms[g->e.n] = (uint32_t)(t1 * 1e3);
	g->e.v[g->e.n++] = e;
	return ISO_OK;
}

static int add_line(struct gate *g, const char *p, const char *end)
{
	struct words w;
	double v[COLUMNS_MOST];
	char why[96];

	g->line++;
	split(&w, p, end);
	if (w.n == 0) return ISO_OK;
	g->lines++;
	if (g->columns == 0 && w.n <= COLUMNS_MOST && volumes(g, w.n) > 0) place_columns(g, w.n);
	if (w.n != g->columns) {
		snprintf(why, sizeof why, "%d columns, expected %s", w.n,
		         g->masked ? "those of gate_mask" : "46, or 40 for ecat");
		bad_line(g, why);
		return ISO_OK;
	}
	if (!get_numbers(g, v, &w)) return ISO_OK;
	if (g->o->trues_only && !is_true(g, v)) {
		g->e.n_left_out++;
		return ISO_OK;
	}
	return add_event(g, v);
}

/* ---- the file ---- */

/* Whole lines of buffer[0..n-1]; *rest: bytes of a last line that goes on. */
static int add_lines(struct gate *g, const char *buffer, int64_t n, int64_t *rest)
{
	const char *p = buffer, *end = buffer + n, *stop;
	int st = ISO_OK;

	while (!st && (stop = memchr(p, '\n', (size_t)(end - p)))) {
		st = add_line(g, p, stop);
		p = stop + 1;
	}
	*rest = end - p;
	if (!st && *rest > LINE_MOST)
		st = iso_fail(ISO_EINPUT,
		              "%s:%" PRId64 ": a line longer than %d bytes, not GATE coincidences", g->path,
		              g->line + 1, LINE_MOST);
	return st;
}

/* The lines of the first `most` bytes, without what may be the beginning of one. */
static int read_lines(struct gate *g, int64_t most)
{
	char *buffer;
	struct iso_in in;
	int64_t kept = 0;
	int st;

	if ((st = get_mask(g)) || (st = iso_in_open(&in, g->path, false))) return st;
	most = most < in.size ? most : in.size;
	buffer = malloc(LINE_MOST + BLOCK);
	if (!buffer) st = iso_fail_memory(g->path, LINE_MOST + BLOCK);
	while (!st && in.at < most) {
		int64_t left = most - in.at, n = left < BLOCK ? left : BLOCK, whole = kept + n;

		if ((st = iso_in_read(&in, buffer + kept, n))) break;
		st = add_lines(g, buffer, whole, &kept);
		memmove(buffer, buffer + whole - kept, (size_t)kept);
	}
	if (!st && kept > 0 && in.at == in.size) /* a last line without its end */
		st = add_line(g, buffer, buffer + kept);
	free(buffer);
	iso_in_close(&in);
	return st;
}

/* A few lines may be damaged; if most are, the file is none of these. */
static int read_gate(struct iso_events *e, const char *path, const struct iso_events_options *o)
{
	struct gate g = { .path = path, .o = o };
	int st = read_lines(&g, INT64_MAX);

	if (!st && g.e.n_lines_bad > g.lines / 2)
		st = iso_fail(ISO_EINPUT,
		              "%s:%" PRId64 ": %s; %" PRId64 " of %" PRId64 " lines can't be used", path,
		              g.e.first_line_bad, g.why, g.e.n_lines_bad, g.lines);
	else if (!st && g.e.n == 0)
		st = iso_refuse(path, "no coincidences%s",
		                g.e.n_left_out ? " but those that trues_only leaves out" : "");
	if (st)
		iso_events_free(&g.e);
	else
		*e = g.e;
	return st;
}

int iso_is_gate(bool *found, const char *path, const struct iso_events_options *o)
{
	struct gate g = { .path = path, .o = o };
	int st = read_lines(&g, LINE_MOST);

	*found = g.e.n + g.e.n_left_out > 0;
	iso_events_free(&g.e);
	return st == ISO_ENOMEM ? st : ISO_OK;
}

const struct iso_event_format iso_gate_format = { .name = "GATE text", .read_all = read_gate };
