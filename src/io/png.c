/* SPDX-License-Identifier: BSD-3-Clause */
/* Pixels as a PNG file that is whole or not there. */
#include "core/size.h"
#include "core/status.h"
#include "format.h"

static int check_suffix(const char *path)
{
	return iso_has_suffix(path, ".png") ? ISO_OK
	                                    : iso_fail(ISO_EARG, "%s: pictures are written as .png", path);
}

int iso_picture_write_check(const char *path, bool force)
{
	if (!path) return iso_fail_null(__func__);
	int st = check_suffix(path);

	return st ? st : iso_target_check(path, force);
}

int iso_picture_write(const char *path, const struct iso_pixels *pixels, const char *sidecar)
{
	if (!path || !pixels) return iso_fail_null(__func__);
	struct iso_out o = { 0 };
	void *bytes = NULL;
	size_t n = 0;
	int st;

	if (!(st = check_suffix(path)) && !(st = iso_png_encode(&bytes, &n, pixels)) &&
	    !(st = iso_out_open(&o, path, (int64_t)n, ISO_OUT_PLAIN)) &&
	    !(st = iso_out_write(&o, bytes, (int64_t)n)))
		st = iso_target_finish(&o, sidecar);
	iso_out_free(&o);
	free(bytes);
	return st;
}
