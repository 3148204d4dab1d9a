/* SPDX-License-Identifier: BSD-3-Clause */
/* The last line of a command on a terminal: what it wrote, where, how large, how long that took, and what to type next. */
#include "cmd.h"

#include "base/utf8.h"
#include "file/suffix.h"
#include "io/kinds.h"

#include <stdlib.h>

enum wrote {
	WROTE_IMAGE,
	WROTE_ARRAY,
	WROTE_EVENTS,
	WROTE_STRIPS,
	WROTE_TRACES,
	WROTE_MATRIX,
	WROTE_PAGE,
	WROTE_OTHER
};

/* By what was written: a word for what the next command does, and that command. {file}: the output; {stem}: without
   its suffix; {scanner}: the scanner of this run, without which the second command is told. */
static const struct next {
	const char *word, *line, *without_scanner;
} next[] = {
	[WROTE_IMAGE] = { "look", "isotome view {file} -o {stem}.html", NULL },
	[WROTE_ARRAY] = { "see", "isotome info {file}", NULL },
	[WROTE_EVENTS] = { "next", "isotome recon ray --events {file} --scanner {scanner} -o {stem}.nii",
	                   "isotome info {file}" },
	[WROTE_STRIPS] = { "next", "isotome recon strip --events {file} --scanner {scanner} -o {stem}.nii",
	                   "isotome info {file}" },
	[WROTE_TRACES] = { "next", "isotome recon {file} -o {stem}.nii", NULL },
	[WROTE_MATRIX] = { "next", "isotome recon srm --srm {file} --data COUNTS.npy -o {stem}.nii", NULL },
	[WROTE_PAGE] = { "open", "xdg-open {file}", NULL },
	[WROTE_OTHER] = { NULL, NULL, NULL },
};

#define TEXT (2 * PATH_MAX + 256)

ISO_PRINTF(3, 4) static void append(char *text, size_t size, const char *fmt, ...)
{
	size_t used = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	iso_vsnprintf(text + used, size - used, fmt, ap);
	va_end(ap);
}

/* ---- what ---- */

/* Rows of seven are events. "172 x 172 x 127 voxels of 4 mm", "12 x 79 x 62 x 49 voxels of 2 x 2 x 4 mm", "1440 x 1022 values" */
static enum wrote tell_array(char *text, size_t size, const char *path)
{
	struct iso_array a;

	if (iso_peek(&a, path)) return WROTE_OTHER;
	const double *v = a.grid.voxel;

	if (!a.has_grid && a.n_dim == 2 && a.dim[1] == 7 && iso_has_suffix(path, ".npy")) {
		append(text, size, "%" PRId64 " events", a.dim[0]);
		return WROTE_EVENTS;
	}
	if (a.has_grid)
		for (int i = 0; i < a.n_dim - 3; i++) append(text, size, "%" PRId64 " x ", a.dim[i]);
	for (int i = 0; i < (a.has_grid ? 3 : a.n_dim); i++)
		append(text, size, "%s%" PRId64, i ? " x " : "", a.has_grid ? a.grid.n[i] : a.dim[i]);
	if (!a.has_grid)
		append(text, size, " values");
	else if (v[0] == v[1] && v[1] == v[2])
		append(text, size, " voxels of %.4g mm", v[0]);
	else
		append(text, size, " voxels of %.4g x %.4g x %.4g mm", v[0], v[1], v[2]);
	return a.has_grid ? WROTE_IMAGE : WROTE_ARRAY;
}

static enum wrote tell_events(char *text, size_t size, const char *path)
{
	const struct iso_events_options how = { .size = sizeof how };
	iso_event_file *f = NULL;

	if (iso_event_file_open(&f, path, &how) == ISO_OK)
		append(text, size, "%" PRId64 " events", iso_event_file_info(f)->n);
	iso_event_file_close(f);
	return WROTE_EVENTS;
}

/* Width and height stand in the first chunk of a PNG, as numbers of four bytes, the highest first. */
static enum wrote tell_page(char *text, size_t size, const char *path)
{
	uint8_t head[24];
	FILE *f = iso_has_suffix(path, ".png") ? fopen(path, "rb") : NULL;

	if (f && fread(head, 1, sizeof head, f) == sizeof head)
		append(text, size, "%d x %d pixels", head[18] << 8 | head[19], head[22] << 8 | head[23]);
	if (f) fclose(f);
	return WROTE_PAGE;
}

static enum wrote tell(char *text, size_t size, const char *path)
{
	const struct iso_kind *k = iso_kind_found(path);

	if (iso_has_suffix(path, ".png") || iso_has_suffix(path, ".html")) return tell_page(text, size, path);
	switch (k ? k->content : ISO_CHECKPOINT_FILE) {
	case ISO_ARRAY_FILE:
		return tell_array(text, size, path);
	case ISO_EVENTS_FILE:
		return tell_events(text, size, path);
	case ISO_STRIPS_FILE:
		return WROTE_STRIPS;
	case ISO_RECORDING_FILE:
		return WROTE_TRACES;
	case ISO_MATRIX_FILE:
		return WROTE_MATRIX;
	default:
		return WROTE_OTHER;
	}
}

/* ---- how large, how long ---- */

/* "512 B", "15 MB" */
static void append_bytes(char *text, size_t size, int64_t bytes)
{
	static const char *const unit[] = { "B", "kB", "MB", "GB", "TB" };
	double v = (double)bytes;
	int k = 0;

	for (; v >= 999.5 && k < 4; k++) v /= 1e3;
	append(text, size, v < 9.95 && k > 0 ? "%.1f %s" : "%.0f %s", v, unit[k]);
}

/* "0.03 s", "8.8 s", "48 s", "2 min 05 s" */
static void append_time(char *text, size_t size, double s)
{
	int64_t whole = (int64_t)(s + .5);

	if (whole >= 60)
		append(text, size, "%" PRId64 " min %02d s", whole / 60, (int)(whole % 60));
	else
		append(text, size, s < .095 ? "%.2f s" : s < 9.95 ? "%.1f s" : "%.0f s", s);
}

/* ---- what to type next ---- */

/* As a word of a shell. */
static void append_word(char *text, size_t size, const char *word)
{
	char *one[] = { (char *)word, NULL }, *quoted = command_line(1, one);
	const char *own = quoted ? strchr(quoted, ' ') : NULL; /* "isotome WORD" */

	append(text, size, "%s", own ? own + 1 : word);
	free(quoted);
}

/* The name without its suffix, of two parts where it has two: scan.nii.gz. */
static void append_stem(char *text, size_t size, const char *path)
{
	char stem[PATH_MAX];
	const char *base = iso_base_name(path), *dot = strrchr(base, '.');

	if (iso_has_suffix(path, ".nii.gz")) dot = path + strlen(path) - strlen(".nii.gz");
	snprintf(stem, sizeof stem, "%.*s", (int)((dot && dot > base ? dot : path + strlen(path)) - path),
	         path);
	append_word(text, size, stem);
}

static void append_line(char *text, size_t size, const char *line, const char *path, const char *scanner)
{
	while (*line) {
		size_t plain = strcspn(line, "{");

		append(text, size, "%.*s", (int)plain, line);
		line += plain;
		if (!*line) return;
		if (strncmp(line, "{file}", 6) == 0)
			append_word(text, size, path);
		else if (strncmp(line, "{stem}", 6) == 0)
			append_stem(text, size, path);
		else
			append_word(text, size, scanner);
		line += strcspn(line, "}") + 1;
	}
}

/* The scanner that this run was given as a file; NULL: none. */
static const char *scanner_of(const struct cmd *c)
{
	const struct opt *o = opt_find(c->sets, "scanner");

	return o && o->text ? *o->text : NULL;
}

/* ---- the lines ---- */

/* Of one output; time and next command stand behind the last. */
static void tell_output(const struct cmd *c, const char *path, bool last)
{
	const char *scanner = scanner_of(c);
	char text[2 * TEXT] = "", what[256] = "", line[TEXT] = "";
	int64_t bytes;

	if (record_bytes_of(&bytes, path)) return;
	const struct next *n = &next[tell(what, sizeof what, path)];
	const bool aimless = n->without_scanner && !scanner;

	append(text, sizeof text, "%s  %s%s", path, what, *what ? ", " : "");
	append_bytes(text, sizeof text, bytes);
	if (last) {
		append(text, sizeof text, ", in ");
		append_time(text, sizeof text, iso_now_s() - c->began_s);
	}
	if (last && n->line)
		append_line(line, sizeof line, aimless ? n->without_scanner : n->line, path, scanner);
	iso_utf8_clean(text);
	if (*line) {
		bool fits = strlen(text) + strlen(line) + 10 < (size_t)term_width();

		append(text, sizeof text, "%s%s: %s", fits ? "   " : "\n   ", aimless ? "see" : n->word,
		       iso_utf8_clean(line));
	}
	fprintf(stderr, "%s\n", text);
}

void cmd_tell_wrote(const struct cmd *c)
{
	const struct opt *o, *main = NULL;

	if (!c->term.is_tty || c->term.quiet || c->dry_run || !c->sets) return;
	for (int k = 0; (o = opt_at(c->sets, k)); k++) /* "output", or the only file that convert writes */
		if (o->file == OPT_WRITES && o->text && *o->text && (!main || o->required)) main = o;
	for (int k = 0; (o = opt_at(c->sets, k)); k++)
		if (o->file == OPT_WRITES && o->text && *o->text && o != main)
			tell_output(c, *o->text, false);
	if (main) tell_output(c, *main->text, true);
}
