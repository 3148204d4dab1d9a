/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as the record beside an image, of which a calibration or a PET-BIDS data set is made, and as a
   calibration. */
#define _GNU_SOURCE /* nftw */
#include "fuzz.h"

#include <ftw.h>

static int drop(const char *path, const struct stat *s, int type, struct FTW *at)
{
	(void)s;
	(void)type;
	(void)at;
	return remove(path);
}

/* ISO_EARG: what the record lacks is asked of the caller. */
static void told(int st)
{
	if (st != ISO_EARG) fuzz_status(st);
	MUST(st == ISO_OK || !strpbrk(iso_message(), "\n\r\033"));
}

static void calibrate(const char *image, const char *at)
{
	const struct iso_calibrate p = {
		.size = sizeof p, .image = image, .roi = "box:-9,9,-9,9,-9,9", .concentration = 5, .at = at
	};
	iso_calibration *c = NULL;
	int st = iso_calibrate(&c, &p);

	told(st);
	MUST(st || (iso_calibration_k(c) > 0 && iso_calibration_error(c) >= 0));
	iso_calibration_free(c);
}

static void read_calibration(const char *path)
{
	iso_calibration *c = NULL;
	int st = iso_calibration_read(&c, path);

	fuzz_status(st);
	MUST(st || (isfinite(iso_calibration_k(c)) && iso_calibration_scanner(c)));
	iso_calibration_free(c);
}

static void put(const char *image, bool says)
{
	const char *value[64];
	char folder[FUZZ_PATH + 16], path[4096];
	struct iso_bids p = { .size = sizeof p,
		              .image = image,
		              .folder = folder,
		              .subject = "01",
		              .value = says ? value : NULL };

	for (int k = 0; iso_bids_key(k); k++) value[k] = "1";
	snprintf(folder, sizeof folder, "%s/study", fuzz_folder);
	told(iso_bids_write(path, sizeof path, &p));
	nftw(folder, drop, 9, FTW_DEPTH | FTW_PHYS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char image[FUZZ_PATH + 16];
	const struct iso_grid g = { { 3, 4, 5 }, { 5, 4, 3 }, { 0 } };
	struct iso_array x = { 0 };

	if (!image[0]) {
		fuzz_enter();
		snprintf(image, sizeof image, "%s/x.nii", fuzz_folder);
		MUST(iso_array_on_grid(&x, &g) == ISO_OK);
		for (int64_t i = 0; i < x.n; i++) x.v[i] = (iso_real)(1 + i % 3);
		MUST(iso_write(image, &x, NULL) == ISO_OK);
		iso_array_free(&x);
	}
	read_calibration(fuzz_file("x.json", data, size));
	calibrate(image, NULL);
	calibrate(image, "09:15");
	put(image, false);
	put(image, true);
	return 0;
}
