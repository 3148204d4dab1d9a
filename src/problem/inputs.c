/* SPDX-License-Identifier: BSD-3-Clause */
/* What every command says about the events that it read; files of strip events described and converted. */
#include "inputs.h"

#include "io/events.h"
#include "scanner/scanner.h"

#include <stdlib.h>

enum { BLOCK = 1 << 18 }; /* events in memory at a time */

#define WAIT_S 1. /* for a pipe, between two looks */

void events_warn(struct record *record, const char *path, const struct iso_events *e)
{
	if (e->n_bad)
		record_warn_share(record, (double)e->n_bad, (double)e->n,
		                  "%s: %" PRId64 " of %" PRId64
		                  " events are left out (not finite, or both ends in one place)",
		                  path, e->n_bad, e->n);
	if (e->n_lines_bad)
		record_warn_share(record, (double)e->n_lines_bad, (double)(e->n + e->n_lines_bad),
		                  "%s: %" PRId64 " lines can't be used, the first is line %" PRId64, path,
		                  e->n_lines_bad, e->first_line_bad);
	if (e->n_left_out)
		record_tell(record, ISO_DETAIL, "%s: %" PRId64 " coincidences left out: randoms or scattered",
		            path, e->n_left_out);
}

/* ---- parameters that say otherwise ---- */

#define HALF_LIVES .006 /* by so much, of themselves, published half lives differ: physics/isotope.c */

/* The unit of the last place that is written of a number: 1 of 600, 0.1 of 599.6. */
static double last_place(double v)
{
	double place = 1;

	while (place > 1e-9 && fabs(v / place - round(v / place)) > 1e-6) place /= 10;
	return place;
}

void input_overridden(struct record *record, const char *path, const char *name, double given, double of_file,
                      const char *unit)
{
	double digits = .5 * fmax(last_place(given), last_place(of_file));

	if (of_file == 0 || fabs(given - of_file) <= fmin(digits * (1 + 1e-9), .01 * fabs(of_file))) return;
	record_warn(record, "%s: says %g %s; '%s' %g takes its place", path, of_file, unit, name, given);
}

void input_decay_overridden(struct record *record, const char *path, const char *isotope, double half_life_s,
                            const char *of_file)
{
	const char *known = iso_isotope(of_file), *asked = isotope ? iso_isotope(isotope) : NULL;
	double own_s = 0;

	if (!of_file[0] || (!isotope && !(half_life_s > 0))) return;
	if (known && iso_half_life(&own_s, known)) return;
	if (isotope && (!known || !asked || strcmp(known, asked) != 0))
		record_warn(record, "%s: says %s; 'isotope' %s takes its place", path, of_file, isotope);
	else if (!isotope && known && fabs(half_life_s - own_s) > HALF_LIVES * own_s)
		record_warn(record, "%s: says %s, whose half-life is %g s; 'half-life-s' %g takes its place",
		            path, of_file, own_s, half_life_s);
}

/* ---- a scanner in place of the file's ---- */

int input_scanner(struct record *record, const iso_event_file *f, const char *path, const iso_scanner *given,
                  const char *name, bool differs)
{
	char apart[EVENTS_APART], words[PATH_MAX + 32];

	iso_snprintf(words, sizeof words, differs ? "%s, which is taken," : "%s", name);
	if (iso_event_file_of_scanner(apart, f, path, given, words)) return ISO_OK;
	if (!differs) return iso_fail(ISO_EARG, "%s; 'scanner-differs' takes it all the same", apart);
	record_warn(record, "%s", apart);
	return ISO_OK;
}

/* ---- strip events ---- */

/* A pass through a file. */
struct pass {
	int64_t n, bad;
	iso_strip_writer *w;    /* convert */
	double low[3], high[3]; /* info: z_up, z_down, dl, mm */
};

/* Each block in turn; `see` stops it by a failure. */
static int each_block(struct pass *p, const char *path, const struct iso_strip_options *o,
                      int (*see)(struct pass *p, const struct iso_strip_events *block))
{
	struct iso_strip_events block = { .v = malloc(BLOCK * sizeof *block.v) };
	iso_strip_file *f = NULL;
	bool end = false;
	int st = block.v ? iso_strip_file_open(&f, path, o, false)
	                 : iso_fail_memory(path, BLOCK * (int64_t)sizeof *block.v);

	while (!st && !end && !(st = iso_strip_file_next(&block, &end, f, BLOCK, WAIT_S))) {
		if (block.n > 0) st = see(p, &block);
		p->n += block.n;
		p->bad += block.n_bad;
	}
	if (!st && p->bad == p->n)
		st = iso_fail(ISO_EINPUT, "%s: none of its %" PRId64 " events is usable", path, p->n);
	iso_strip_file_close(f);
	iso_strip_events_free(&block);
	return st;
}

static int append(struct pass *p, const struct iso_strip_events *block)
{
	return iso_strip_writer_append(p->w, block);
}

int strip_convert(struct record *record, const char *from, const char *to, const struct iso_strip_options *o)
{
	struct pass p = { 0 };
	char *text = NULL;
	int st;

	if ((st = iso_strip_writer_open(&p.w, to, 0))) goto done;
	if ((st = each_block(&p, from, o, append))) goto done;
	if (p.bad)
		record_warn_share(record, (double)p.bad, (double)p.n,
		                  "%s: %" PRId64 " of %" PRId64 " events are left out (not finite)", from,
		                  p.bad, p.n);
	if ((st = record_text(record, &text))) goto done;
	st = iso_strip_writer_close(p.w, text);
	p.w = NULL;
done:
	free(text);
	iso_strip_writer_free(p.w);
	return st;
}

static int see_range(struct pass *p, const struct iso_strip_events *block)
{
	for (int64_t i = 0; i < block->n; i++) {
		const struct iso_strip_event *e = &block->v[i];
		const double v[3] = { e->z_up, e->z_down, e->dl };

		for (int k = 0; k < 3 && !iso_strip_event_bad(e); k++) {
			p->low[k] = fmin(p->low[k], v[k]);
			p->high[k] = fmax(p->high[k], v[k]);
		}
	}
	return ISO_OK;
}

int strip_describe(json_t *o, const char *path)
{
	static const char *const name[] = { "z_up_mm", "z_down_mm", "dl_mm" };
	struct pass p = { .low = { INFINITY, INFINITY, INFINITY },
		          .high = { -INFINITY, -INFINITY, -INFINITY } };
	int st = each_block(&p, path, NULL, see_range);

	if (st) return st;
	json_object_set_new(o, "kind", json_string("strip events"));
	json_object_set_new(o, "events", json_integer(p.n));
	json_object_set_new(o, "bad", json_integer(p.bad));
	for (int k = 0; k < 3; k++)
		json_object_set_new(o, name[k], record_pack("[f,f]", p.low[k], p.high[k]));
	if (p.bad)
		json_array_append_new(json_object_get(o, "warnings"),
		                      json_sprintf("%" PRId64 " events are not finite", p.bad));
	return ISO_OK;
}

double record_part_share(const json_t *record)
{
	const json_t *part = json_object_get(json_object_get(record, "results"), "part");
	double share = json_number_value(json_object_get(part, "share"));

	return share > 0 && share < 1 ? share : 0;
}
