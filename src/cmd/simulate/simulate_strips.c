/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome simulate for two strips: events of a phantom of ellipses, block by block to the file. */
#include "simulate.h"

#include "core/progress.h"
#include "io/format.h"
#include "physics/strip_simulate.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 21 }; /* events in memory at a time: 24 MiB */

/* Strips measure neither crystals nor attenuation; nothing given is ignored. */
static int check_options(const struct opt_set *sets)
{
	static const char *const other[] = {
		"mu",      "norm",       "tof-fwhm-ps", "randoms",     "scatters", "delayed",
		"singles", "duration-s", "isotope",     "half-life-s", "noise",
	};

	for (size_t i = 0; i < sizeof other / sizeof *other; i++)
		if (simulate_asks(opt_find(sets, other[i])))
			return iso_fail(ISO_EARG, "--%s is not for a scanner of kind strips", other[i]);
	return ISO_OK;
}

static int check_phantom(const char *path)
{
	static const char *const image[] = { ".nii", ".nii.gz", ".npy", ".raw" };

	for (size_t i = 0; i < sizeof image / sizeof *image; i++)
		if (iso_has_suffix(path, image[i]))
			return iso_fail(ISO_EARG,
			                "%s: two strips see ellipses, not images: give the name "
			                "ellipses, or a file of them (.txt, .yaml)",
			                path);
	return ISO_OK;
}

static int plan(struct cmd *c)
{
	struct iso_plan p = { 0 };

	iso_plan_add(&p, "events", BLOCK, sizeof(struct iso_strip_event), false);
	if (iso_ctx_is_cuda(c->ctx))
		iso_plan_add(&p, "events on the device", BLOCK, sizeof(struct iso_strip_event), true);
	return cmd_plan(c, &p);
}

struct work {
	iso_scanner *scanner;
	iso_phantom *phantom;
	struct iso_strip_events block;
	iso_strip_writer *writer;
	int64_t decays;
};

static int prepare(struct work *w, struct cmd *c, const struct simulate_strips *p)
{
	int st;

	if ((st = iso_scanner_read(&w->scanner, p->scanner)) || (st = record_input(&c->record, p->scanner)) ||
	    (st = iso_phantom_create(&w->phantom, p->phantom, NULL)))
		return st;
	if (strpbrk(p->phantom, "./") && (st = record_input(&c->record, p->phantom))) return st;
	if ((st = plan(c))) return st;
	w->block.v = malloc(BLOCK * sizeof *w->block.v);
	if (!w->block.v) return iso_fail_memory("events", BLOCK * (int64_t)sizeof *w->block.v);
	return iso_strip_writer_open(&w->writer, p->out, p->n);
}

static int make_events(struct work *w, struct cmd *c, const struct simulate_strips *p)
{
	struct iso_clock clock = iso_clock_start(c->ctx, "simulate", 0, p->n);
	int st = ISO_OK;

	for (int64_t i = 0; i < p->n && !st; i += BLOCK) {
		int64_t decays = 0;

		w->block.n = p->n - i < BLOCK ? p->n - i : BLOCK;
		st = iso_strip_simulate_counted(w->block.v, &decays, c->ctx, iso_scanner_strips(w->scanner),
		                                w->phantom, p->seed, i, w->block.n);
		if (!st) st = iso_strip_writer_append(w->writer, &w->block);
		w->decays += decays;
		if (!st) iso_clock_step(&clock, i + w->block.n, NULL);
	}
	return st;
}

static int finish(struct work *w, struct cmd *c, int64_t n)
{
	char *text = NULL;
	int st = record_result(
		&c->record, "events",
		json_pack("{s:I, s:I}", "events", (json_int_t)n, "decays", (json_int_t)w->decays));

	if (!st) st = record_text(&c->record, &text);
	if (!st) {
		st = iso_strip_writer_close(w->writer, text);
		w->writer = NULL;
	}
	free(text);
	return st;
}

int simulate_strips(struct cmd *c, const struct opt_set *sets, const struct simulate_strips *p)
{
	struct work w = { 0 };
	int st;

	if ((st = check_options(sets)) || (st = check_phantom(p->phantom)) ||
	    (st = cmd_check_strip_events(c, p->out)))
		return st;
	c->cpu_only = false;
	if ((st = cmd_begin(c)) || (st = prepare(&w, c, p))) goto done;
	record_stage(&c->record, "simulate");
	st = make_events(&w, c, p);
	record_stage(&c->record, NULL);
	if (st || (st = finish(&w, c, p->n))) goto done;
	st = cmd_report(c);
done:
	iso_strip_writer_free(w.writer);
	iso_strip_events_free(&w.block);
	iso_phantom_free(w.phantom);
	iso_scanner_free(w.scanner);
	return st;
}
