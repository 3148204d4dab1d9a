/* SPDX-License-Identifier: BSD-3-Clause */
/* A description file tried as everything that one can be: a scanner, a phantom of shapes, and the
   places in an image quality phantom. */
#ifndef DESCRIPTION_H
#define DESCRIPTION_H

#include "fuzz.h"

#include "scanner/scanner.h"

/* A scanner may ask for 240 MB in a line; here it is refused them, which tries that way too. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:max_allocation_size_mb=64";
}

/* Four detectors for the key `positions`. */
static inline void put_positions(void)
{
	static const char dict[] = "{'descr': '|i1', 'fortran_order': False, 'shape': (4, 3), }";
	static bool done;
	char file[140];

	if (done) return;
	memset(file, ' ', sizeof file);
	memcpy(file, "\x93NUMPY\1\0v\0", 10); /* v: 118 bytes of header */
	memcpy(file + 10, dict, sizeof dict - 1);
	memcpy(file + 128, "\1\0\0\0\1\0\0\0\1\1\1\1", 12);
	fuzz_file("x.npy", file, sizeof file);
	done = true;
}

static inline void try_pair(const iso_scanner *s, int64_t i)
{
	int64_t n = iso_scanner_crystals(s), a = -1, b = -1;

	iso_scanner_pair(&a, &b, s, i);
	MUST(a >= 0 && a < n && b >= 0 && b < n && a != b);
}

/* Strips and transducers have no crystals; of transducers the speed of sound may be missing. */
static inline void try_no_crystals(const iso_scanner *s)
{
	const struct iso_transducers *t = iso_scanner_transducers(s);

	MUST(iso_scanner_pairs(s) == 0 && (t || iso_scanner_strips(s)));
	MUST(!t || iso_transducers_check_file(t) == ISO_OK);
}

static inline void try_scanner(const char *path)
{
	iso_scanner *s = NULL;
	double distance = -1;
	int st = iso_scanner_read(&s, path);

	fuzz_status(st);
	if (st) return;

	int64_t n = iso_scanner_crystals(s), pairs = iso_scanner_pairs(s);
	const double *p = iso_scanner_positions(s);

	if (n == 0)
		try_no_crystals(s);
	else
		MUST(n >= 2 && pairs >= 1);
	for (int64_t i = 0; i < 3 * n; i++) MUST(isfinite(p[i]));
	for (int64_t i = 0; i < n; i += 1 + n / 7) {
		MUST(iso_scanner_nearest(&distance, s, p + 3 * i) < n);
		MUST(isfinite(distance));
		try_pair(s, i % pairs);
		try_pair(s, pairs - 1 - i % pairs);
	}
	iso_scanner_free(s);
}

static inline void try_phantom(const char *path)
{
	const double at[3] = { 0 };
	iso_phantom *p = NULL;
	struct iso_grid g;
	int st = iso_phantom_create(&p, path, at);

	fuzz_status(st);
	if (st) return;
	iso_phantom_grid(&g, p);
	MUST(iso_grid_check(&g) == ISO_OK);
	iso_phantom_free(p);
}

static inline void try_nema(const char *path)
{
	struct iso_nema q = { .size = sizeof q };
	int st = iso_nema_read(&q, path);

	fuzz_status(st);
	MUST(st || (q.n_spheres >= 1 && q.n_spheres <= 16 && q.n_background >= 1 && q.n_background <= 64 &&
	            q.n_slices >= 1 && q.n_slices <= 16));
}

static inline void try_description(const char *name, const uint8_t *data, size_t size)
{
	const char *path;

	put_positions();
	path = fuzz_file(name, data, size);
	try_scanner(path);
	try_phantom(path);
	try_nema(path);
}

#endif
