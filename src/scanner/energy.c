/* SPDX-License-Identifier: BSD-3-Clause */
/* Which energies the crystals of a ring count: a window and a resolution, or a table of efficiencies. */
#include "core/size.h"
#include "file/in.h"
#include "scanner.h"

#include <limits.h>

enum { FILE_MIB = 1, ROWS_LEAST = 2 };

/* Two numbers of a line, keV and efficiency; false: it holds anything else. */
static bool read_row(double row[2], const char *line, size_t length)
{
	for (int c = 0; c < 2; c++) {
		while (length > 0 && strchr(" \t,\r", *line)) line++, length--;
		size_t n = 0;

		while (n < length && !strchr(" \t,\r", line[n])) n++;
		if (!iso_number(&row[c], line, n)) return false;
		line += n;
		length -= n;
	}
	while (length > 0 && strchr(" \t\r", *line)) line++, length--;
	return length == 0;
}

static bool is_empty(const char *line, size_t length)
{
	for (size_t i = 0; i < length && line[i] != '#'; i++)
		if (!strchr(" \t\r", line[i])) return false;
	return true;
}

static int64_t count_lines(const char *text)
{
	int64_t n = 1;

	for (const char *p = text; (p = strchr(p, '\n')); p++) n++;
	return n;
}

/* s->efficiency from the rows of a text, which grow in energy. */
static int take_rows(iso_scanner *s, const char *path, const char *text)
{
	int64_t most = count_lines(text), line = 1;

	if (!(s->efficiency = size_alloc(most, 2 * sizeof *s->efficiency)))
		return iso_fail_memory(path, most * 2 * (int64_t)sizeof *s->efficiency);
	for (const char *p = text; *p; line++) {
		size_t length = strcspn(p, "\n");
		double *row = s->efficiency + 2 * s->efficiencies_kev;

		if (!is_empty(p, length)) {
			if (!read_row(row, p, length) || !(row[0] >= 0 && row[1] >= 0 && row[1] <= 1))
				return iso_refuse(path,
				                  "line %" PRId64 " must be an energy in keV and an "
				                  "efficiency from 0 to 1",
				                  line);
			if (s->efficiencies_kev > 0 && !(row[0] > row[-2]))
				return iso_refuse(path,
				                  "line %" PRId64 ": %g keV comes after %g keV, energies "
				                  "must grow",
				                  line, row[0], row[-2]);
			s->efficiencies_kev++;
		}
		p += length;
		p += *p == '\n';
	}
	if (s->efficiencies_kev < ROWS_LEAST)
		return iso_refuse(path, "%" PRId64 " efficiencies, at least %d are needed",
		                  s->efficiencies_kev, ROWS_LEAST);
	return ISO_OK;
}

static int read_table(iso_scanner *s, const struct conf_node *root, const char *name)
{
	char path[PATH_MAX], *text = NULL;
	size_t size = 0;
	int st = iso_conf_file(path, sizeof path, root, name);

	if (!st) st = iso_text_read(&text, &size, path, FILE_MIB, "a table of efficiencies");
	if (!st) st = take_rows(s, path, text);
	free(text);
	return st;
}

int iso_scanner_read_energy(iso_scanner *s, const struct conf_node *root, const struct conf_node *energy)
{
	const char *table = NULL;
	const struct conf_key keys[] = {
		/* Least and greatest energy that counts: for scatter. */
		{ "window_kev", CONF_REALS, s->energy_kev, 2, 0, 1e5, true },
		/* FWHM of an energy at 511 keV, as a share of it. */
		{ "resolution", CONF_REAL, &s->energy_resolution, 1, 1e-3, .999, true },
		/* A text beside the description, lines of keV and efficiency, window included: in place of what
		   window and resolution make. Default: none. */
		{ "efficiency_file", CONF_TEXT, &table, 1, 0, 0, false },
		/* With `detector`: a pulse below does not exist. Default 0. */
		{ "trigger_kev", CONF_REAL, &s->trigger_kev, 1, 0, 1e5, false },
		/* With `detector`: singles in this window are of prompt photons, and never in pairs. Default: none. */
		{ "prompt_kev", CONF_REALS, s->prompt_kev, 2, 0, 1e5, false },
		{ .name = NULL },
	};
	int st;

	if (!energy) return ISO_OK;
	if ((st = iso_conf_keys(energy, keys))) return st;
	if (!(s->energy_kev[0] < s->energy_kev[1]))
		return iso_conf_fail(energy, "window_kev is [%g, %g], the first must be below the second",
		                     s->energy_kev[0], s->energy_kev[1]);
	if (s->prompt_kev[1] > 0 && !(s->prompt_kev[0] < s->prompt_kev[1]))
		return iso_conf_fail(energy, "prompt_kev is [%g, %g], the first must be below the second",
		                     s->prompt_kev[0], s->prompt_kev[1]);
	return table ? read_table(s, root, table) : ISO_OK;
}
