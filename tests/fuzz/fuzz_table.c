/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of GATE 10 whose columns are there or not, of any type and name, as the input's bytes choose. The HDF5 library
   makes them, so whatever falls is not it, and may fall in this process. */
#include "events.h"

#ifdef ISO_HDF5
#	include "io/gate_table.h"
#	include "ipasc.h"

enum { MEMBERS = 8, WIDTH = 16, ROWS_MOST = 4, ROW_BYTES = MEMBERS * WIDTH * 8 };

static const char *const names[] = {
	"PostPosition_X1",  "PostPosition_Y1",
	"PostPosition_Z1",  "PostPosition_X2",
	"PostPosition_Y2",  "PostPosition_Z2",
	"GlobalTime1",      "GlobalTime2",
	"EventID1",         "EventID2",
	"comptonPhantom1",  "comptonPhantom2",
	"RayleighPhantom1", "RayleighPhantom2",
	"globalPosX1",      "time1",
	"values_block_",    "",
};
enum { NAMES = sizeof names / sizeof *names };

/* The names of a block's n columns from name `from` on, as pickled text; some of the inputs' own bytes. */
static void put_kind(hid_t set, const char *block, struct choice *c, int from, int n)
{
	hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR), a;
	char text[1024] = "(lp0\n", name[64];
	int how = take(c);

	for (int i = 0; i < n + (how == 1) - (how == 2); i++)
		snprintf(text + strlen(text), 64, "%sV%s\np%d\n", i ? "a" : "", names[(from + i) % NAMES],
		         i + 1);
	for (int i = 0; how > 200 && i < how - 200; i++) text[i] = (char)take(c);
	strcat(text, "a.");
	snprintf(name, sizeof name, "%.40s_kind", block);
	H5Tset_size(type, how == 3 ? H5T_VARIABLE : sizeof text);
	a = how == 4 ? -1 : H5Acreate2(set, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
	if (a >= 0) H5Awrite(a, type, how == 3 ? (const void *)&(const char *){ text } : text);
	if (a >= 0) H5Aclose(a);
	H5Sclose(space);
	H5Tclose(type);
}

struct member {
	char name[32];
	int from, n;
	bool block;
};

static hid_t member_type(struct member *m, struct choice *c, int i)
{
	const hid_t one[] = { H5T_IEEE_F64LE, H5T_STD_I32LE, H5T_IEEE_F32BE,
		              H5T_STD_U8LE,   H5T_STD_I64LE, H5T_C_S1 };
	hid_t type = one[take(c) % 6];
	int kind = take(c) % 4;

	*m = (struct member){ .from = take(c) % NAMES, .n = 1, .block = kind < 2 };
	if (m->block) {
		m->n = take(c) % WIDTH + 1;
		snprintf(m->name, sizeof m->name, "values_block_%d", i);
	} else {
		snprintf(m->name, sizeof m->name, "%s", kind == 2 ? names[m->from] : "index");
	}
	return m->block ? H5Tarray_create2(type, kind ? 1 : 1 + take(c) % 2, (hsize_t[]){ (hsize_t)m->n, 1 })
	                : H5Tcopy(type);
}

static void make_table(const char *path, struct choice *c)
{
	static uint8_t data[ROWS_MOST * ROW_BYTES];
	hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
	      row = H5Tcreate(H5T_COMPOUND, ROW_BYTES), set;
	struct member member[MEMBERS];
	hsize_t dim[2] = { (hsize_t)(take(c) % (ROWS_MOST + 1)), 1 };
	int n = take(c) % (MEMBERS + 1), rank = take(c) == 1 ? 2 : 1;

	for (int i = 0; i < n; i++) {
		hid_t type = member_type(&member[i], c, i);

		H5Tinsert(row, member[i].name, (size_t)i * WIDTH * 8, type);
		H5Tclose(type);
	}
	for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)take(c);
	put(file, "/Coincidences/table", n ? row : H5T_IEEE_F64LE, rank, dim, data);
	set = H5Dopen2(file, "/Coincidences/table", H5P_DEFAULT);
	for (int i = 0; i < n && set >= 0; i++)
		if (member[i].block) put_kind(set, member[i].name, c, member[i].from, member[i].n);
	if (set >= 0) H5Dclose(set);
	H5Tclose(row);
	H5Fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct choice c = { data, data + size };
	char path[FUZZ_PATH + 16];
	struct gate_table t = { .path = path, .name = "Coincidences", .trues_only = size % 2 };
	int st;

	fuzz_enter();
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	snprintf(path, sizeof path, "%s/x.hdf5", fuzz_folder);
	make_table(path, &c);
	st = gate_table_read_here(&t);
	fuzz_status(st);
	MUST(st || (t.e.n + t.left_out <= ROWS_MOST && (t.e.n == 0 || t.e.v)));
	for (int64_t i = 0; i < t.e.n && !st; i++) MUST(!isinf(t.e.v[i].dt_ps) || t.e.time_ms);
	iso_events_free(&t.e);
	return 0;
}
#else
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	(void)data, (void)size;
	fuzz_events("x.hdf5", NULL, false);
	return 0;
}
#endif
