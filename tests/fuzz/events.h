/* SPDX-License-Identifier: BSD-3-Clause */
/* Events that a reader accepted: what must hold of them, read whole and piece by piece. */
#ifndef EVENTS_H
#define EVENTS_H

#include "fuzz.h"

static inline void check_values(const struct iso_events *e)
{
	int64_t bad = 0;

	for (int64_t i = 0; i < e->n; i++) {
		bad += iso_event_bad(&e->v[i]);
		MUST(!e->count || (e->count[i] >= 0 && isfinite(e->count[i])));
		MUST(!e->mult || (e->mult[i] >= 0 && isfinite(e->mult[i])));
		MUST(!e->add || (e->add[i] >= 0 && isfinite(e->add[i])));
	}
	MUST(bad == e->n_bad);
	MUST(e->tof_fwhm_ps >= 0 && isfinite(e->tof_fwhm_ps));
	MUST(e->tof_bin_ps >= 0 && isfinite(e->tof_bin_ps));
}

static inline void check_crystals(const struct iso_events *e, const iso_scanner *s)
{
	for (int64_t i = 0; e->crystal && s && i < 2 * e->n; i++)
		MUST(e->crystal[i] < iso_scanner_crystals(s));
}

/* The last two thirds of the file are those of the whole. */
static inline void check_pieces(const struct iso_events *e, const char *path,
                                const struct iso_events_options *o)
{
	int64_t first = e->n / 3, n = e->n - first;
	struct iso_events part = { 0 };
	iso_event_file *f = NULL;

	MUST(iso_event_file_open(&f, path, o) == ISO_OK);
	MUST(iso_event_file_info(f)->n == e->n);
	MUST(iso_event_file_block(&part, f, n) == ISO_OK);
	MUST(iso_event_file_read(&part, f, first, n) == ISO_OK);
	MUST(memcmp(part.v, e->v + first, (size_t)n * sizeof *e->v) == 0);
	iso_events_free(&part);
	iso_event_file_close(f);
}

static inline void fuzz_events(const char *path, const struct iso_events_options *o, bool pieces)
{
	struct iso_events e = { 0 };
	int st = iso_events_read(&e, path, o);

	/* Arguments that are refused for files of another kind. */
	if (st != ISO_EARG || !o || !(o->gate_mask || o->trues_only)) fuzz_status(st);
	if (st) return;
	MUST(e.n > 0 && e.n_bad < e.n);
	check_values(&e);
	check_crystals(&e, o ? o->scanner : NULL);
	if (pieces) check_pieces(&e, path, o);
	iso_events_free(&e);
}

#endif
