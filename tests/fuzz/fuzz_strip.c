/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a file of strip events, whole and in pieces, or as a phantom of ellipses: the first
   byte says which. */
#include "fuzz.h"

/* Which bits make a value no number is left open. */
static bool same_event(const struct iso_strip_event *a, const struct iso_strip_event *b)
{
	return iso_strip_event_bad(a) ? iso_strip_event_bad(b) : memcmp(a, b, sizeof *a) == 0;
}

/* Blocks of five from a file that may grow: the same events, as far as its last one is whole. */
static void check_pieces(const struct iso_strip_events *e, const char *path)
{
	struct iso_strip_event room[5];
	struct iso_strip_events b = { .v = room };
	iso_strip_file *f = NULL;
	int64_t n = 0;
	bool end;

	MUST(iso_strip_file_open(&f, path, NULL, true) == ISO_OK);
	do {
		MUST(iso_strip_file_next(&b, &end, f, 5, 0) == ISO_OK);
		MUST(!end && b.n <= 5 && n + b.n <= e->n);
		for (int64_t i = 0; i < b.n; i++, n++) MUST(same_event(&room[i], &e->v[n]));
	} while (b.n > 0);
	MUST(n >= e->n - 1);
	iso_strip_file_close(f);
}

static void try_events(const char *path, bool pieces)
{
	struct iso_strip_events e = { 0 };
	int64_t bad = 0;
	int st = iso_strip_events_read(&e, path, NULL);

	fuzz_status(st);
	for (int64_t i = 0; i < e.n; i++) bad += iso_strip_event_bad(&e.v[i]);
	MUST(bad == e.n_bad && (st || bad < e.n));
	if (!st && pieces) check_pieces(&e, path);
	iso_strip_events_free(&e);
}

static void try_ellipses(const char *path)
{
	struct iso_ellipse e;
	iso_phantom *p = NULL;
	struct iso_grid g;
	int st = iso_phantom_create(&p, path, NULL);

	fuzz_status(st);
	if (st) return;
	iso_phantom_grid(&g, p);
	MUST(iso_grid_check(&g) == ISO_OK && g.n[2] == 1);
	for (int i = 0; i < iso_phantom_shapes(p); i++)
		MUST(iso_phantom_ellipse(&e, p, i) == ISO_OK && e.rho >= 0 &&
		     (e.kind == ISO_FLAT_POINT ? e.a == 0 && e.b == 0 : e.a > 0 && e.b > 0));
	iso_phantom_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int kind = size ? data[0] : 0;

	data += size > 0;
	size -= size > 0;
	if (kind == 't')
		try_events(fuzz_file("x.txt", data, size), true);
	else if (kind == 'n')
		try_events(fuzz_file("x.npy", data, size), false);
	else if (kind == 'e')
		try_ellipses(fuzz_file("x.txt", data, size));
	else
		try_events(fuzz_file("x.f32", data, size), true);
	return 0;
}
