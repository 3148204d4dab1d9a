/* SPDX-License-Identifier: BSD-3-Clause */
/* IPASC files whose fields are there or not, of any kind and size, as the input's bytes choose. The
   HDF5 library makes them, so whatever falls is not it, and may fall in this process. */
#include "fuzz.h"

#include "io/recording.h"

#ifdef ISO_HDF5
#	include "ipasc.h"

static void use(const iso_recording *r)
{
	const struct iso_recording_info *i = iso_recording_info(r);
	iso_real *y = malloc((size_t)(i->t.n * i->t.samples) * sizeof *y);

	MUST(y && i->frames > 0 && i->wavelengths > 0 && i->t.pos && i->t.dt_us > 0);
	for (int64_t k = 0; k < i->frames * i->wavelengths && k < 4; k++)
		MUST(iso_ipasc_read_here(y, r,
		                         &(struct iso_traces_part){ k % i->wavelengths, k / i->wavelengths, 0,
		                                                    i->t.n }) == ISO_OK);
	free(y);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct choice c = { data, data + size };
	iso_recording *r = calloc(1, sizeof *r);
	char path[FUZZ_PATH + 16];
	int st;

	fuzz_enter();
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	snprintf(path, sizeof path, "%s/x.hdf5", fuzz_folder);
	make_ipasc(path, &c, size % 2);
	MUST(r && (r->path = strdup(path)));
	st = iso_ipasc_open_here(r);
	fuzz_status(st);
	if (!st) use(r);
	iso_recording_free(r);
	return 0;
}
#else
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	iso_recording *r = NULL;

	(void)data, (void)size;
	fuzz_status(iso_recording_open(&r, "x.hdf5"));
	return 0;
}
#endif
