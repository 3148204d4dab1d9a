/* SPDX-License-Identifier: BSD-3-Clause */
/* A table of scatter as a file: HDF5, where the library was built with it. */
#include "file/out.h"
#include "file/suffix.h"
#include "table.h"

#ifdef ISO_HDF5
#	define WRITE table_write_h5
#else
#	define WRITE NULL
#endif

int iso_scatter_write(const char *path, const iso_scatter_table *t)
{
	int (*const write)(const char *temp, const char *path, const iso_scatter_table *t) = WRITE;
	struct iso_out o = { 0 };

	if (!path || !t) return iso_fail_null(__func__);
	if (!iso_has_suffix(path, ".h5") && !iso_has_suffix(path, ".hdf5"))
		return iso_fail(ISO_EARG, "%s: a table of scatter is written as .h5", path);
	if (!write) return iso_fail(ISO_EARG, "%s: this build has no HDF5, which .h5 files need", path);
	int64_t rows = table_rows(&t->grid);
	int st = iso_out_open(&o, path,
	                      rows * (t->grid.cells * (int64_t)sizeof *t->h + 2 * (int64_t)sizeof(int64_t)),
	                      ISO_OUT_PLAIN);

	if (!st && !(st = write(o.temp, path, t)) && !(st = iso_out_close(&o))) st = iso_out_commit(&o);
	iso_out_free(&o);
	return st;
}
