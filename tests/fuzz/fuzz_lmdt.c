/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a .lmdT file. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct iso_events e = { 0 };
	int64_t bad = 0;
	int st = iso_events_read(&e, fuzz_file("x.lmdT", data, size), NULL);

	fuzz_status(st);
	MUST(st || (e.n > 0 && e.n == (int64_t)size / 28));
	for (int64_t i = 0; i < e.n; i++) bad += iso_event_bad(&e.v[i]);
	MUST(bad == e.n_bad && (st || bad < e.n));
	iso_events_free(&e);
	return 0;
}
