/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of response as files: HDF5, where the library was built with it. */
#include "file/out.h"
#include "file/suffix.h"
#include "io/format.h"
#include "physics/response/response.h"

#ifdef ISO_HDF5
#	define WRITE response_write_h5
#	define READ response_read_h5
#else
#	define WRITE NULL
#	define READ NULL
#endif

static int no_hdf5(const char *path)
{
	return iso_fail(ISO_EARG, "%s: this build has no HDF5, which tables of response need", path);
}

static int check_name(const char *path)
{
	if (iso_has_suffix(path, ".h5") || iso_has_suffix(path, ".hdf5")) return ISO_OK;
	return iso_fail(ISO_EARG, "%s: a table of response is written as .h5", path);
}

int iso_response_write(const char *path, const iso_response *r, const char *sidecar)
{
	int (*const write)(const char *temp, const char *path, const iso_response *r) = WRITE;
	struct iso_out o = { 0 };
	int st;

	if (!path || !r) return iso_fail_null(__func__);
	if ((st = check_name(path))) return st;
	if (!write) return no_hdf5(path);
	st = iso_out_open(&o, path, 0, ISO_OUT_PLAIN);
	if (!st && !(st = write(o.temp, path, r))) st = iso_target_finish(&o, sidecar);
	iso_out_free(&o);
	return st;
}

int iso_response_write_check(const char *path, bool force)
{
	int st;

	if (!path) return iso_fail_null(__func__);
	return (st = check_name(path)) ? st : iso_target_check(path, force);
}

int iso_response_read(iso_response **r, const char *path)
{
	int (*const read)(iso_response * *r, const char *path) = READ;
	iso_response *got = NULL;
	int st;

	if (!r || !path) return iso_fail_null(__func__);
	if (!read) return no_hdf5(path);
	if (!(st = read(&got, path))) st = response_finish(got);
	if (st)
		iso_response_free(got);
	else
		*r = got;
	return st;
}
