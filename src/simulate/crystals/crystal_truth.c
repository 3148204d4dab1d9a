/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of what events are: a structured array of NumPy, whose preamble is filled in at the end. */
#include "crystal_truth.h"
#include "core/size.h"

#include <stdio.h>
#include <stdlib.h>

enum { LEAD = 576 }; /* bytes of the preamble, a multiple of 64 */

#pragma pack(push, 1)
struct row {
	uint64_t decay[2];
	uint8_t kind, object_compton, object_rayleigh, crystal_scatter, first;
	float energy[2], emission[3], annihilation[3];
};
#pragma pack(pop)

static const char fields[] =
	"[('decay1', '<u8'), ('decay2', '<u8'), ('kind', 'u1'), ('object_compton', 'u1'), "
	"('object_rayleigh', 'u1'), ('crystal_scatter', 'u1'), ('first', 'u1'), "
	"('energy1', '<f4'), ('energy2', '<f4'), ('emission', '<f4', (3,)), "
	"('annihilation', '<f4', (3,))]";

int iso_crystal_truth_open(struct iso_crystal_truth *t, const char *path)
{
	static const char lead[LEAD];
	int st = iso_out_open(&t->out, path, 0, ISO_OUT_PLAIN);

	t->n = 0;
	t->open = !st;
	return st ? st : iso_out_write(&t->out, lead, LEAD);
}

int iso_crystal_truth_add(void *truth, const struct crystal_event *e, int64_t n)
{
	struct iso_crystal_truth *t = truth;
	struct row *row = size_alloc(n, sizeof *row);
	int st;

	if (!row) return iso_fail_memory("truth", n * (int64_t)sizeof *row);
	for (int64_t i = 0; i < n; i++) {
		row[i] = (struct row){ .decay = { e[i].decay, e[i].decay },
			               .kind = e[i].kind,
			               .object_compton = e[i].object_compton,
			               .object_rayleigh = e[i].object_rayleigh,
			               .crystal_scatter = e[i].crystal_compton,
			               .first = e[i].first,
			               .energy = { e[i].kev[0], e[i].kev[1] } };
		memcpy(row[i].emission, e[i].at, sizeof row->emission);
		memcpy(row[i].annihilation, e[i].at, sizeof row->annihilation);
	}
	st = iso_out_write(&t->out, row, n * (int64_t)sizeof *row);
	t->n += n;
	free(row);
	return st;
}

int iso_crystal_truth_close(struct iso_crystal_truth *t)
{
	char lead[LEAD + 1];
	int n = snprintf(lead + 10, LEAD - 9,
	                 "{'descr': %s, 'fortran_order': False, 'shape': (%" PRId64 ",), }", fields, t->n);
	int st;

	memcpy(lead, "\x93NUMPY\x01\x00", 8);
	lead[8] = (char)((LEAD - 10) & 255);
	lead[9] = (char)((LEAD - 10) >> 8);
	memset(lead + 10 + n, ' ', (size_t)(LEAD - 10 - n));
	lead[LEAD - 1] = '\n';
	if ((st = iso_write_at(t->out.path, t->out.fd, lead, LEAD, 0)) || (st = iso_out_close(&t->out)))
		return st;
	return iso_out_commit(&t->out);
}

void iso_crystal_truth_free(struct iso_crystal_truth *t)
{
	if (t->open) iso_out_free(&t->out);
	t->open = false;
}
