/* SPDX-License-Identifier: BSD-3-Clause */
/* GATE ASCII coincidences: a line each, the columns of one single and then of the other:

	run, event, source, source x y z, time (s), energy, x y z (mm), volume numbers (6, or 3 for
	ecat), Compton in phantom, in detector, Rayleigh in phantom, in detector, axial position,
	angle

   A mask of switches, one a column but one for all volume numbers of a single, says which are there: 18 for
   both singles, as GATE's setCoincidenceMask has them, or 36. Axes are right-handed, as here. */
#include "event_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINE_MOST = 1 << 16, COLUMNS_MOST = 64 };

/* Those columns of a single that are looked at, by their place in the mask. */
enum field { RUN, EVENT, TIME = 6, X = 8, Y, Z, VOLUMES, COMPTON, RAYLEIGH = 14, FIELDS = 18 };

struct gate {
	struct event_text text;
	const struct iso_events_options *o;
	bool on[2 * FIELDS]; /* the mask */
	bool masked;
	int columns;                 /* of a line; 0: none was seen yet */
	int at[2][FIELDS];           /* column of each field; -1: not there */
	int need[2 * FIELDS], needs; /* columns that are read as numbers, from left to right, and how many */
	bool whole[2 * FIELDS];      /* which of them count something */
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
	if (text && (*text || (n != FIELDS && n != 2 * FIELDS)))
		return iso_fail(ISO_EARG,
		                "gate_mask must be 18 switches 0 or 1, as in GATE's setCoincidenceMask, "
		                "or 36, of which the second 18 are of the second single");
	if (n == FIELDS) memcpy(g->on + FIELDS, g->on, FIELDS * sizeof *g->on);
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
	static const struct {
		enum field field;
		bool whole;
	} numbers[] = { { RUN, true }, { EVENT, true }, { TIME, false },   { X, false },
		        { Y, false },  { Z, false },    { COMPTON, true }, { RAYLEIGH, true } };
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
			if (g->at[s][numbers[i].field] >= 0) {
				g->need[g->needs] = g->at[s][numbers[i].field];
				g->whole[g->needs++] = numbers[i].whole;
			}
}

/* ---- one line ---- */

/* Words from `begin` up to `end`, each. */
struct words {
	const char *begin[COLUMNS_MOST + 1], *end[COLUMNS_MOST + 1];
	int n; /* also those beyond the most */
};

static bool blank(char c)
{
	return c <= ' ' && (c == ' ' || c == '\t' || c == '\r');
}

size_t iso_next_word(const char **p, const char *end)
{
	const char *stop;

	while (*p < end && blank(**p)) ++*p;
	for (stop = *p; stop < end && !blank(*stop);) stop++;
	return (size_t)(stop - *p);
}

/* Bit i: p[i] is blank. The product moves the lowest bit of each of eight bytes to a bit of the highest byte:
   bit 8 i times 2^(7 (8 - i)) is bit 56 + i. */
static uint64_t blanks(const char p[64])
{
	uint8_t is[64];
	uint64_t bits = 0, eight;

	for (int i = 0; i < 64; i++) is[i] = (p[i] == ' ') | (p[i] == '\t') | (p[i] == '\r'); /* vectorises */
	for (int i = 0; i < 64; i += 8) {
		memcpy(&eight, is + i, sizeof eight);
		bits |= (eight * 0x0102040810204080u >> 56) << i;
	}
	return bits;
}

/* at[n ...] = p + each bit that is set, up to the most; returns how many there are then. */
static int list(const char *at[COLUMNS_MOST + 1], int n, const char *p, uint64_t bits)
{
	for (; bits; bits &= bits - 1, n++)
		at[n < COLUMNS_MOST ? n : COLUMNS_MOST] = p + __builtin_ctzll(bits);
	return n;
}

/* 64 bytes at a time: of them a word begins where a blank ends, and ends where one begins. Columns are many and
   short, so that a look at each byte would be a wrong guess of the processor at the ends of each. */
static void split(struct words *w, const char *p, const char *end)
{
	uint64_t before = 1; /* the byte before is blank */
	int ended = 0;

	w->n = 0;
	for (; p < end; p += 64) {
		uint64_t blank = blanks(p) | (end - p < 64 ? ~(uint64_t)0 << (end - p) : 0);
		uint64_t after = blank << 1 | before;

		w->n = list(w->begin, w->n, p, ~blank & after);
		ended = list(w->end, ended, p, blank & ~after);
		before = blank >> 63;
	}
	if (ended < w->n && ended < COLUMNS_MOST) w->end[ended] = end;
}

static bool get_numbers(struct event_part *b, const struct gate *g, int64_t number, double *v,
                        const struct words *w)
{
	for (int k = 0; k < g->needs; k++) {
		int i = g->need[k], length = (int)(w->end[i] - w->begin[i]);

		if (iso_number(&v[i], w->begin[i], (size_t)length) && (!g->whole[k] || v[i] == floor(v[i])))
			continue;
		if (event_part_bad(b, number))
			snprintf(b->why, sizeof b->why, "column %d is '%.*s', not a %snumber", i + 1,
			         length < 30 ? length : 30, w->begin[i], g->whole[k] ? "whole " : "");
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

static bool add_event(struct event_part *b, const struct gate *g, int64_t number, const double *v)
{
	double t1 = field(g, v, 0, TIME), t2 = field(g, v, 1, TIME), dt = (t1 - t2) * 1e12;
	struct iso_event e = { .dt_ps = has(g, TIME) ? (float)dt : 0 };

	for (int a = 0; a < 3; a++) {
		e.p1[a] = (float)field(g, v, 0, X + a);
		e.p2[a] = (float)field(g, v, 1, X + a);
	}
	if (g->o->swap_dt) e.dt_ps = 0 - e.dt_ps;
	return event_part_add(b, &g->text, number, &e, t1 * 1e3);
}

static bool add_line(void *part, const void *arg, int64_t number, const char *p, const char *end)
{
	const struct gate *g = arg;
	struct event_part *b = part;
	double v[COLUMNS_MOST];
	struct words w;

	split(&w, p, end);
	if (w.n == 0) return true;
	b->lines++;
	if (w.n != g->columns) {
		if (event_part_bad(b, number))
			snprintf(b->why, sizeof b->why, "%d columns, expected %s", w.n,
			         g->masked ? "those of gate_mask" : "46, or 40 for ecat");
		return true;
	}
	if (!get_numbers(b, g, number, v, &w)) return true;
	if (!g->o->trues_only || is_true(g, v)) return add_event(b, g, number, v);
	b->e.n_left_out++;
	return true;
}

/* ---- the file ---- */

enum { FOUND = 1 };

/* The first line whose columns fit says what all lines must have. */
static bool look_at_line(void *part, const void *arg, int64_t number, const char *p, const char *end)
{
	const struct gate *g = arg;
	int *columns = part;
	struct words w;

	(void)number;
	split(&w, p, end);
	if (w.n <= COLUMNS_MOST && volumes(g, w.n) > 0) *columns = w.n;
	return *columns == 0;
}

static int take_columns(void *arg, void *part, int64_t before)
{
	int n = *(int *)part;

	(void)before;
	if (n) place_columns(arg, n);
	return n ? FOUND : ISO_OK;
}

/* The lines of the first `bytes` of the file, without what may be the beginning of one; 0: all. */
static int read_lines(struct gate *g, struct iso_hash *hash, int64_t bytes)
{
	struct iso_lines look = { .path = g->text.path,
		                  .what = "GATE coincidences",
		                  .ctx = g->o->ctx,
		                  .threads = 1,
		                  .longest = LINE_MOST,
		                  .first = bytes,
		                  .part = sizeof(int),
		                  .line = look_at_line,
		                  .take = take_columns,
		                  .arg = g };
	struct iso_lines add = look;
	int st;

	add.threads = 0;
	add.part = sizeof(struct event_part);
	add.line = add_line;
	add.take = event_text_take;
	add.release = event_part_release;
	if ((st = get_mask(g))) return st;
	g->text.times = has(g, TIME);
	st = iso_lines_read(&look, NULL);
	return st == FOUND || st == ISO_OK ? iso_lines_read(&add, hash) : st;
}

static int read_gate(struct iso_events *e, struct iso_hash *hash, const char *path,
                     const struct iso_events_options *o)
{
	struct gate g = { .text = { .path = path, .ctx = o->ctx }, .o = o };

	return event_text_end(e, &g.text, read_lines(&g, hash, 0));
}

int iso_is_gate(bool *found, const char *path, const struct iso_events_options *o)
{
	struct gate g = { .text = { .path = path, .ctx = o->ctx }, .o = o };
	int st = read_lines(&g, NULL, LINE_MOST);

	*found = g.text.e.n + g.text.e.n_left_out > 0;
	iso_events_free(&g.text.e);
	return st == ISO_ENOMEM ? st : ISO_OK;
}

const struct iso_event_format iso_gate_format = { .name = "GATE text",
	                                          .read_all = read_gate,
	                                          .masked = true };
