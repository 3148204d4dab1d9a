/* SPDX-License-Identifier: BSD-3-Clause */
/* .npy files of records, written as they come: the preamble has its final size from the start, and tells how many records
   there are when all are there. */
#include "npy.h"
#include "core/status.h"

#include <string.h>

enum { LEAD = 1024 };

int iso_npy_records_begin(struct iso_out *o, const char *path)
{
	static const char lead[LEAD];
	int st = iso_out_open(o, path, 0, ISO_OUT_PLAIN);

	return st ? st : iso_out_write(o, lead, LEAD);
}

int iso_npy_records_end(struct iso_out *o, const char *fields, int64_t n)
{
	char lead[LEAD];
	int st, used;

	memset(lead, ' ', LEAD);
	memcpy(lead, "\x93NUMPY\1\0", 8);
	lead[8] = (char)((LEAD - 10) & 255);
	lead[9] = (char)((LEAD - 10) >> 8);
	used = snprintf(lead + 10, LEAD - 10,
	                "{'descr': [%s], 'fortran_order': False, 'shape': (%" PRId64 ",), }", fields, n);
	if (used >= LEAD - 10) return iso_fail(ISO_EARG, "%s: preamble of %d bytes", o->path, used);
	lead[10 + used] = ' ';
	lead[LEAD - 1] = '\n';
	if ((st = iso_write_at(o->path, o->fd, lead, LEAD, 0))) return st;
	return iso_out_close(o);
}
