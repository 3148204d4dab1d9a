/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome simulate for two strips: events of a phantom of ellipses, block by block to the file. */
#include "simulate.h"

#include "io/kinds.h"

#include <math.h>

struct work {
	iso_scanner *scanner;
	iso_phantom *phantom;
	iso_strip_writer *writer;
	int64_t n, decays;
};

static int prepare(struct work *w, struct cmd *c, const struct simulate *s)
{
	struct iso_plan plan = { 0 };
	int st;

	if ((st = cmd_scanner(c, &w->scanner, s->scanner)) ||
	    (st = simulate_phantom(c, &w->phantom, s->image)))
		return st;
	iso_strip_simulate_plan(&plan, c->ctx);
	if ((st = cmd_plan(c, &plan))) return st;
	w->n = llround(s->counts);
	return iso_strip_writer_open(&w->writer, s->out, w->n);
}

static int append(void *writer, const struct iso_strip_events *piece)
{
	return iso_strip_writer_append(writer, piece);
}

int simulate_strips(struct cmd *c, const struct simulate *s)
{
	struct work w = { 0 };
	int st;

	if (iso_kind_is(s->image, ISO_ARRAY_FILE))
		return iso_fail(ISO_EARG,
		                "%s: two strips see ellipses, not images: give the name "
		                "ellipses, or a file of them (.txt, .yaml)",
		                s->image);
	if ((st = cmd_check(c, s->out, iso_strip_events_write_check))) return st;
	c->cpu_only = false;
	if ((st = cmd_begin(c)) || (st = prepare(&w, c, s))) goto done;
	record_stage(&c->record, "simulate");
	st = iso_strip_simulate_blocks(&w.decays, c->ctx, iso_scanner_strips(w.scanner), w.phantom,
	                               (uint64_t)s->seed, w.n, append, w.writer);
	record_stage(&c->record, NULL);
	if (st) goto done;
	st = record_result(
		&c->record, "events",
		json_pack("{s:I, s:I}", "events", (json_int_t)w.n, "decays", (json_int_t)w.decays));
	if (st || (st = cmd_text(c))) goto done;
	st = iso_strip_writer_close(w.writer, c->text);
	w.writer = NULL;
done:
	iso_strip_writer_free(w.writer);
	iso_phantom_free(w.phantom);
	iso_scanner_free(w.scanner);
	return st;
}
