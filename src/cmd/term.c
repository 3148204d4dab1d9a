/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress and remarks on stderr: one line rewritten on a terminal, a few plain ones elsewhere. */
#include "term.h"

#include "core/progress.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define REDRAW_S .1  /* least time between two drawings of the line */
#define PLAIN_S 60.  /* and between two plain lines, but for those that begin and end a stage */
#define LASTING_S 1. /* of a brief stage that plain lines tell of */
#define FEW_PARTS 10 /* up to here, each part has lines of its own */
#define MANY 100000  /* from here on, steps are a percentage only */

void term_open(struct term *t, const char *command)
{
	const char *kind = getenv("TERM");

	*t = (struct term){ .command = command, .now_s = iso_now_s };
	t->is_tty = isatty(STDERR_FILENO) && kind && strcmp(kind, "dumb") != 0;
}

int term_width(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

static const char *duration(double s, char *text, size_t size)
{
	int64_t whole = s < 1e9 ? (int64_t)(s + .5) : 1000000000;
	int h = (int)(whole / 3600), min = (int)(whole / 60 % 60), sec = (int)(whole % 60);

	if (h)
		snprintf(text, size, "%d h %02d min", h, min);
	else if (min)
		snprintf(text, size, "%d min %02d s", min, sec);
	else
		snprintf(text, size, "%d s", sec);
	return text;
}

__attribute__((format(printf, 3, 4))) static void append(char *line, size_t size, const char *fmt, ...)
{
	size_t used = strlen(line);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line + used, size - used, fmt, ap);
	va_end(ap);
}

/* "  480 MB/s", "  1.25 M events/s"; nothing where there is no rate. */
static void append_rate(char *line, size_t size, const struct iso_progress *p)
{
	static const char *const prefix[] = { "", "k", "M", "G", "T" };
	bool bytes = p->unit && strcmp(p->unit, "bytes") == 0;
	double v = p->per_s;
	int k = 0;

	if (!p->unit || !(v > 0)) return;
	for (; v >= 999.5 && k < 4; k++) v /= 1e3;
	append(line, size, "  %.3g %s%s%s/s", v, prefix[k], bytes ? "B" : k ? " " : "", bytes ? "" : p->unit);
}

/* "frame 2/3  recon  12/40  30 %  1.2 s/it  left 34 s  logL -1.234e5"; "read  30 %  480 MB/s  left 3 s  scan.lmdT".
   Steps that count nothing and have a note are iterations. */
static void format(char *line, size_t size, const struct term *t, const struct iso_progress *p)
{
	bool running = p->left_s >= 0 && p->done < p->total, iterates = p->note && !p->unit;
	double each = running ? p->left_s / (double)(p->total - p->done) : 0;
	char time[32];

	line[0] = '\0';
	if (t && t->kind) append(line, size, "%s %" PRId64 "/%" PRId64 "  ", t->kind, t->part, t->parts);
	append(line, size, "%s", p->stage);
	if (p->total > 0 && p->total < MANY && !p->unit && !p->brief)
		append(line, size, "  %" PRId64 "/%" PRId64, p->done, p->total);
	if (p->total > 0) append(line, size, "  %.0f %%", 100. * (double)p->done / (double)p->total);
	if (iterates && each >= .1)
		append(line, size, "  %.1f s/it", each);
	else if (iterates && running)
		append(line, size, "  %.1f ms/it", 1e3 * each);
	append_rate(line, size, p);
	if (p->total == 0 && p->elapsed_s > 0)
		append(line, size, "  %s", duration(p->elapsed_s, time, sizeof time));
	if (running)
		append(line, size, "  left %s", duration(p->left_s, time, sizeof time));
	else if (p->done == p->total && p->total > 0)
		append(line, size, "  took %s", duration(p->elapsed_s, time, sizeof time));
	if (p->note) append(line, size, "  %s", p->note);
}

void term_clear(struct term *t)
{
	if (t->drawn) fputs("\r\033[K", stderr);
	t->drawn = false;
}

static void show(struct term *t, const char *text)
{
	if (t->is_tty)
		fprintf(stderr, "\r%.*s\033[K", term_width() - 1, text);
	else
		fprintf(stderr, "%s\n", text);
	t->drawn = t->is_tty;
	t->told_s = t->now_s();
}

/* What was last heard. */
static void show_last(struct term *t)
{
	show(t, t->last);
	t->told = true;
}

/* The last that was heard of a stage which ended before its last step. */
static void end_stage(struct term *t)
{
	if (t->open && !t->told && !t->is_tty && !t->quiet) show_last(t);
	t->open = false;
}

/* Hundreds of parts are one piece of work to whoever reads the log. */
static bool is_middle_part(const struct term *t)
{
	return t->parts > FEW_PARTS && t->part > 1 && t->part < t->parts;
}

void term_part(struct term *t, const char *kind, int64_t k, int64_t n)
{
	t->kind = kind;
	t->part = k;
	t->parts = n;
}

static bool is_told_again(const struct term *t, const struct iso_progress *p)
{
	return !t->open && p->elapsed_s > 0 && p->done == t->done &&
	       strncmp(t->stage, p->stage, sizeof t->stage - 1) == 0;
}

static bool is_due(const struct term *t)
{
	return t->now_s() - t->told_s >= (t->is_tty ? REDRAW_S : PLAIN_S);
}

/* A brief stage within another stands behind it; a log need not hear of it. */
static void interlude(struct term *t, const struct iso_progress *p)
{
	char text[2 * sizeof t->last], part[sizeof t->last];

	if (!t->is_tty || !is_due(t)) return;
	format(part, sizeof part, NULL, p);
	snprintf(text, sizeof text, "%s  |  %s", t->last, iso_utf8_clean(part));
	show(t, text);
}

void term_stage(struct term *t, const char *name)
{
	if (!t->quiet && t->is_tty && !t->open) show(t, name);
}

void term_progress(void *arg, const struct iso_progress *p)
{
	struct term *t = arg;
	bool begins = p->elapsed_s == 0 || !t->open, ends = p->done == p->total && p->total > 0;

	if (t->quiet || is_told_again(t, p) || (p->brief && !t->is_tty && p->elapsed_s < LASTING_S)) return;
	if (p->brief && t->open && !t->brief) {
		interlude(t, p);
		return;
	}
	if (begins) end_stage(t);
	format(t->last, sizeof t->last, t, p);
	iso_utf8_clean(t->last);
	snprintf(t->stage, sizeof t->stage, "%s", p->stage);
	t->done = p->done;
	t->open = !ends;
	t->brief = p->brief;
	t->told = false;
	begins = begins && (t->is_tty || p->total > 0);
	if (((begins || ends) && (t->is_tty || !is_middle_part(t))) || is_due(t)) show_last(t);
}

void term_close(struct term *t)
{
	term_clear(t);
	end_stage(t);
}

void term_put(FILE *f, const char *text)
{
	int n;

	for (; *text; text += n ? n : 1)
		if ((n = iso_utf8_printable(text)))
			fwrite(text, 1, (size_t)n, f);
		else
			fputc('?', f);
}

static void line(struct term *t, const char *fmt, va_list ap)
{
	char text[1024];

	vsnprintf(text, sizeof text, fmt, ap);
	term_clear(t);
	fprintf(stderr, "isotome %s: %s\n", t->command, iso_utf8_clean(text));
}

void term_say(struct term *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (!t->quiet) line(t, fmt, ap);
	va_end(ap);
}

void term_note(struct term *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (!t->quiet && t->verbose) line(t, fmt, ap);
	va_end(ap);
}

void term_line(struct term *t, const char *about, const char *text)
{
	if (t->quiet) return;
	term_clear(t);
	fprintf(stderr, "isotome %s: %s: ", t->command, about);
	term_put(stderr, text);
	fputc('\n', stderr);
}

void term_warning(struct term *t, const char *text)
{
	if (t->quiet) return;
	term_clear(t);
	fprintf(stderr, "isotome %s: warning: ", t->command);
	term_put(stderr, text);
	fputc('\n', stderr);
}
