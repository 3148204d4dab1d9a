/* SPDX-License-Identifier: BSD-3-Clause */
/* GATE 10's HDF5 files as events: the whole table is read when the file is opened. */
#include "gate_table.h"

#include <stdlib.h>

#ifndef ISO_HDF5
int gate_table_read(struct gate_table *t)
{
	return iso_refuse(t->path, "this build has no HDF5, which .hdf5 files need; install the library and "
	                           "build Isotome from source");
}
#endif

static int read_part(const iso_event_file *f, struct iso_events *e, int64_t k, int64_t i, int64_t n,
                     uint8_t *buffer, int64_t size)
{
	const struct gate_table *t = f->layout;

	(void)buffer, (void)size;
	memcpy(e->v + k, t->e.v + i, (size_t)n * sizeof *e->v);
	if (e->time_ms) memcpy(e->time_ms + k, t->e.time_ms + i, (size_t)n * sizeof *e->time_ms);
	return ISO_OK;
}

static int open_table(iso_event_file *f, const char *path, const struct iso_events_options *o)
{
	struct gate_table *t = f->layout = calloc(1, sizeof *t);
	int st = t ? iso_event_file_records(f, path) : iso_fail_memory(path, sizeof *t);

	if (st) return st;
	*t = (struct gate_table){ .path = f->path,
		                  .name = o->tree       ? o->tree
		                          : o->delayeds ? "delay"
		                                        : "Coincidences",
		                  .trues_only = o->trues_only,
		                  .ctx = o->ctx };
	if ((st = gate_table_read(t))) return st;
	f->record = 32;
	f->info.n = t->e.n;
	f->info.has_dt = f->info.has_time = t->e.time_ms;
	f->left_out = t->left_out;
	return t->e.n > 0 ? ISO_OK
	                  : iso_refuse(path, "no coincidences%s",
	                               t->left_out ? " except the ones that trues_only leaves out" : "");
}

static void close_table(iso_event_file *f)
{
	if (f->layout) iso_events_free(&((struct gate_table *)f->layout)->e);
}

const struct iso_event_format iso_table_format = {
	.name = "GATE HDF5",
	.open = open_table,
	.read = read_part,
	.close = close_table,
	.simulated = true,
};

/* HDF5, and the attribute that PyTables, by which pandas writes, gives to its first group. */
bool iso_is_table(const uint8_t *head, int64_t n)
{
	static const char mark[] = "PYTABLES_FORMAT_VERSION";
	bool found = false;

	for (int64_t i = 0; i + (int64_t)sizeof mark <= n && !found; i++)
		found = memcmp(head + i, mark, sizeof mark - 1) == 0;
	return found && memcmp(head, "\x89HDF\r\n\x1a\n", 8) == 0;
}
