/* SPDX-License-Identifier: BSD-3-Clause */
/* A PETSIRD file: its schema, a NUL byte, what follows the schema in the file. The target puts the head before it, so
   that the schema may change its length; where it is empty, one that is right takes its place. */
#include "events.h"
#include "io/events.h"
#include "petsird_schema.h"
#include "scanner/scanner.h"

static size_t put_varint(uint8_t *to, size_t v)
{
	size_t n = 0;

	for (; v > 127; v >>= 7) to[n++] = (uint8_t)(v & 127) | 128;
	to[n++] = (uint8_t)v;
	return n;
}

static const char *put_file(const char *schema, size_t length, const uint8_t *rest, size_t size)
{
	static uint8_t file[1 << 21];
	size_t n = 9;

	memcpy(file, "yardl\1\0\0\0", n);
	n += put_varint(file + n, length);
	MUST(n + length + size <= sizeof file);
	memcpy(file + n, schema, length);
	memcpy(file + n + length, rest, size);
	return fuzz_file("x.petsird", file, n + length + size);
}

/* What the sensitivity asks of the scanner. */
static void check_efficiencies(const char *path)
{
	iso_event_file *f = NULL;

	if (iso_event_file_open(&f, path, NULL)) return;
	const struct iso_scanner *s = iso_event_file_scanner(f);
	int64_t n = s->n < 40 ? s->n : 40;

	for (int64_t a = 0; s->efficiencies && a < n; a++)
		for (int64_t b = 0; b < n; b++) {
			double v = efficiency_of_crystals(s->efficiencies, a, b);

			MUST(v >= 0 && v <= s->efficiencies->most * (1 + 1e-6));
			MUST(v == 0 || a == b || iso_scanner_in_coincidence(s, a, b));
		}
	iso_event_file_close(f);
}

/* Where bed and gantry are, by its own blocks. */
static void check_movement(const char *path)
{
	struct iso_events_options o = { .size = sizeof o, .moving = true };
	iso_event_file *f = NULL;

	if (iso_event_file_open(&f, path, &o)) return;
	for (int kind = ISO_POSES_BED; kind <= ISO_POSES_GANTRY; kind++) {
		struct iso_poses_options how = { .size = sizeof how, .kind = (enum iso_pose_kind)kind };
		iso_poses *p = NULL;

		if (iso_event_file_poses(&p, f, &how) || !p) continue;
		struct iso_pose at;

		for (int64_t k = 0; k < iso_poses_rows(p); k++)
			MUST(iso_poses_row(&at, p, k) && isfinite(at.m[0]));
		iso_poses_free(p);
	}
	iso_event_file_close(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct iso_events_options late = { .size = sizeof late, .delayeds = true };
	const uint8_t *nul = size ? memchr(data, 0, size) : NULL;

	if (!nul || size > 1 << 20) return 0;
	size_t length = (size_t)(nul - data), rest = size - length - 1;
	const char *path = length ? put_file((const char *)data, length, nul + 1, rest)
	                          : put_file(petsird_schema, strlen(petsird_schema), nul + 1, rest);

	fuzz_events(path, NULL, true);
	fuzz_events(path, &late, false);
	check_efficiencies(path);
	check_movement(path);
	return 0;
}
