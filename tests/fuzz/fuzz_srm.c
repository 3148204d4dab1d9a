/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a system matrix: as they are, and with length and checksums put right, which no
   mutation would hit upon. What can be read can be put into every order. */
#define _GNU_SOURCE /* memmem */
#include "srm_repair.h"

static void use(const iso_srm *m)
{
	struct iso_srm_order o = { 0 };
	struct iso_srm_columns c = { 0 };
	struct iso_srm_rows r = { 0 };
	struct iso_srm_info info = { .size = sizeof info };
	iso_ctx *ctx = NULL;

	MUST(iso_srm_info(&info, m) == ISO_OK);
	if (info.panels.crystals[0] * info.panels.crystals[1] > 64 || info.panels.planes > 64 ||
	    info.panels.per_pitch[0] * info.panels.per_pitch[1] > 64)
		return;
	MUST(iso_ctx_create(&ctx, "cpu", 1) == ISO_OK);
	MUST(iso_srm_columns(&c, ctx, m, &o) == ISO_OK);
	MUST(iso_srm_taps(&r, ctx, m, &o) == ISO_OK);
	MUST(c.ptr[c.n] == r.ptr[r.n]);
	iso_srm_columns_free(&c);
	iso_srm_rows_free(&r);
	iso_ctx_free(ctx);
}

static void try_file(const void *data, size_t size)
{
	iso_srm *m = NULL;
	int st = iso_srm_read(&m, fuzz_file("x.srm", data, size), true);

	fuzz_status(st);
	if (!st) use(m);
	iso_srm_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;

	try_file(data, size);
	if (size < HEAD) return 0;
	copy = malloc(size);
	MUST(copy);
	memcpy(copy, data, size);
	repair_srm(copy, size);
	try_file(copy, size);
	free(copy);
	return 0;
}
