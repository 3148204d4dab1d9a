/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome simulate for a barrel of strips: events of an image or a phantom, block by block to the file. */
#include "simulate.h"

#include "core/size.h"
#include "file/suffix.h"
#include "io/kinds.h"

#include <math.h>
#include <stdlib.h>

enum {
	SAMPLES = 5,
	BLOCK = 1 << 18
}; /* an axis, in voxels that a phantom's surface crosses; events at a time */

struct work {
	struct cmd *c;
	const struct simulate *s;
	iso_scanner *scanner;
	const struct iso_barrel *barrel;
	struct iso_array image, mu;
	struct iso_barrel_events block;
	struct simulate_lifetimes lifetimes;
	float *place; /* of a block; NULL: no lifetimes are wanted */
	double *time;
	iso_barrel_writer *writer;
	int64_t n, decays;
};

static int read_image(struct work *w)
{
	const char *name = w->s->image;
	iso_phantom *phantom = NULL;
	struct iso_grid g = { 0 };
	int st;

	if (iso_kind_is(name, ISO_ARRAY_FILE)) {
		if ((st = iso_scanner_grid(&g, w->scanner)) || (st = record_input(&w->c->record, name)))
			return st;
		return record_read_map(&w->c->record, &w->image, name, &g);
	}
	if ((st = simulate_phantom(w->c, &phantom, name))) return st;
	iso_phantom_grid(&g, phantom);
	if (!(st = iso_array_on_grid(&w->image, &g)))
		st = iso_phantom_raster(w->image.v, NULL, w->c->ctx, phantom, &g, SAMPLES);
	iso_phantom_free(phantom);
	return st;
}

static int prepare_lifetimes(struct work *w)
{
	const struct simulate *s = w->s;

	if (!s->lifetime.maps)
		return s->lifetime.random > 0
		               ? iso_fail(ISO_EARG,
		                          "--random-triples is of triples: --lifetime TAU,W is missing")
		               : ISO_OK;
	if (!iso_has_suffix(s->out, ".npy"))
		return iso_fail(ISO_EARG, "%s: events with lifetimes are written as .npy", s->out);
	w->place = size_alloc(BLOCK, 3 * sizeof *w->place);
	w->time = size_alloc(BLOCK, sizeof *w->time);
	if (!w->place || !w->time)
		return iso_fail_memory("events", BLOCK * (int64_t)(3 * sizeof *w->place + sizeof *w->time));
	return simulate_lifetime_read(&w->lifetimes, w->c, &s->lifetime, &w->image.grid);
}

static int prepare(struct work *w)
{
	const struct simulate *s = w->s;
	struct iso_plan plan;
	int st;

	if ((st = cmd_scanner(w->c, &w->scanner, s->scanner))) return st;
	w->barrel = iso_scanner_barrel(w->scanner);
	if ((st = read_image(w)) ||
	    (s->mu && (st = record_read_mu(&w->c->record, &w->mu, s->mu, &w->image.grid))))
		return st;
	plan = cmd_plan_begin(w->c);
	iso_plan_add(&plan, "shares of voxels", w->image.n, sizeof(double), false);
	iso_plan_add(&plan, "events", BLOCK, 2 * sizeof(struct iso_barrel_event) + 3 * sizeof(int64_t),
	             false);
	if ((st = cmd_plan(w->c, &plan))) return st;
	w->n = llround(s->counts);
	if (!(w->block.v = size_alloc(BLOCK, sizeof *w->block.v)))
		return iso_fail_memory("events", BLOCK * (int64_t)sizeof *w->block.v);
	if ((st = prepare_lifetimes(w))) return st;
	return iso_barrel_writer_open(&w->writer, s->out, w->barrel);
}

/* The next block, with lifetimes where they are wanted. */
static int simulate_block(struct work *w, int64_t *decays, int64_t first)
{
	const uint64_t seed = (uint64_t)w->s->seed;
	const struct iso_array *mu = w->s->mu ? &w->mu : NULL;
	int st;

	if (!w->place)
		return iso_barrel_simulate(w->block.v, decays, w->c->ctx, w->barrel, &w->image, mu, seed,
		                           first, w->block.n);
	if ((st = iso_barrel_simulate_places(w->block.v, w->place, decays, w->c->ctx, w->barrel, &w->image,
	                                     mu, seed, first, w->block.n)) ||
	    (st = simulate_lifetime_draw(w->time, &w->lifetimes, w->place, seed, first, w->block.n)))
		return st;
	return iso_barrel_writer_lifetimes(w->writer, w->time);
}

static int run(struct work *w)
{
	int st = ISO_OK;

	for (int64_t i = 0; i < w->n && !st; i += BLOCK) {
		int64_t decays = 0;

		w->block.n = w->n - i < BLOCK ? w->n - i : BLOCK;
		st = simulate_block(w, &decays, i);
		if (!st) st = iso_barrel_writer_append(w->writer, &w->block);
		w->decays += decays;
	}
	return st;
}

int simulate_barrel(struct cmd *c, const struct simulate *s)
{
	struct work w = { .c = c, .s = s };
	int st;

	if ((st = cmd_check(c, s->out, iso_barrel_write_check))) return st;
	if ((st = cmd_begin(c)) || (st = prepare(&w))) goto done;
	record_stage(&c->record, "simulate");
	st = run(&w);
	record_stage(&c->record, NULL);
	if (st) goto done;
	st = record_result(
		&c->record, "events",
		json_pack("{s:I, s:I}", "events", (json_int_t)w.n, "decays", (json_int_t)w.decays));
	if (st || (st = cmd_text(c))) goto done;
	st = iso_barrel_writer_close(w.writer, c->text);
	w.writer = NULL;
done:
	iso_barrel_writer_free(w.writer);
	iso_barrel_events_free(&w.block);
	iso_array_free(&w.image);
	iso_array_free(&w.mu);
	simulate_lifetime_free(&w.lifetimes);
	free(w.place);
	free(w.time);
	iso_scanner_free(w.scanner);
	return st;
}
