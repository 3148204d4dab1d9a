/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a checkpoint: as they are, and with the hash at their end put right, which no
   mutation would hit upon. */
#include "fuzz.h"

#include "algo/checkpoint.h"

#include <xxhash.h>

static void try_file(const void *data, size_t size)
{
	iso_real x[4];
	double loglik[2];
	int64_t done[1];
	const struct iso_item item[] = {
		{ "x", ISO_ITEM_REAL, 4, x },
		{ "loglik", ISO_ITEM_DOUBLE, 2, loglik },
		{ "done", ISO_ITEM_INT64, 1, done },
	};

	const char *path = fuzz_file("x.ckpt", data, size);
	char *header = NULL;

	fuzz_status(iso_checkpoint_read(path, 9, 3, item));
	fuzz_status(iso_checkpoint_info(&header, path));
	free(header);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;
	uint64_t hash;

	try_file(data, size);
	if (size < sizeof hash) return 0;
	copy = malloc(size);
	MUST(copy);
	memcpy(copy, data, size);
	hash = XXH64(copy, size - sizeof hash, 0);
	memcpy(copy + size - sizeof hash, &hash, sizeof hash);
	try_file(copy, size);
	free(copy);
	return 0;
}
