/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of another program as a system matrix: any bytes that begin as a .npy does, or else a .npy made
   of them, each byte a number. What was imported serves as a matrix. */
#include "fixtures.h"

enum { COLUMNS = 8, MOST_ROWS = 40 };

/* Each byte a number: whole ones for places, a share for the weight. */
static void put_rows(const uint8_t *data, size_t size)
{
	static const char dict[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 8), }";
	int n = size / COLUMNS < MOST_ROWS ? (int)(size / COLUMNS) : MOST_ROWS;
	float v[MOST_ROWS * COLUMNS];
	char file[128 + sizeof v];

	for (int i = 0; i < n * COLUMNS; i++)
		v[i] = i % COLUMNS == COLUMNS - 1 ? (float)data[i] / 255 : (float)(int8_t)data[i];
	memset(file, ' ', 128);
	memcpy(file, "\x93NUMPY\1\0v\0", 10); /* v: 118 bytes of header */
	file[10 + snprintf(file + 10, 118, dict, n)] = ' ';
	memcpy(file + 128, v, sizeof *v * (size_t)(n * COLUMNS));
	put_file("i.npy", file, 128 + sizeof *v * (size_t)(n * COLUMNS));
}

static void try_import(void)
{
	if (isotome("srm panels.yaml --import i.npy -o i.srm --export j.npy --memory-limit 0.05") != 0)
		return;
	MUST(isotome("info i.srm") == 0);
	isotome("recon srm --srm i.srm --data lors.npy --iterations 2 -o i.nii --memory-limit 0.05");
	isotome("srm panels.yaml --import j.npy -o k.srm --share 1 --memory-limit 0.05");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	make_fixtures();
	command_enter();
	if (size && data[0] == 0x93)
		put_file("i.npy", data, size);
	else
		put_rows(data, size);
	try_import();
	command_back();
	return 0;
}
