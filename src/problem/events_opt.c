/* SPDX-License-Identifier: BSD-3-Clause */
/* What every command says about the events that it read. */
#include "events_opt.h"

void events_warn(struct record *record, const char *path, const struct iso_events *e)
{
	if (e->n_bad)
		record_warn(record,
		            "%s: %" PRId64 " of %" PRId64 " events are left out (not "
		            "finite, or both ends in one place)",
		            path, e->n_bad, e->n);
	if (e->n_lines_bad)
		record_warn(record, "%s: %" PRId64 " lines can't be used, the first is line %" PRId64, path,
		            e->n_lines_bad, e->first_line_bad);
	if (e->n_left_out)
		record_note(record, "%s: %" PRId64 " coincidences left out: randoms or scattered", path,
		            e->n_left_out);
}
