/* SPDX-License-Identifier: BSD-3-Clause */
/* Strip events: triples z_up, z_down, dl (mm; or t_up - t_down in ps in place of dl), as

	.f32, .raw	float32, little-endian, nothing else; pipes too
	.npy		rows of an array (n, 3) of any type of number
	.txt		a triple a line; blank lines, and what follows a #, do not count

   All are read through one buffer, so a pipe and a file that still grows are read like any other:
   what is there by whole events, the rest of the buffer waits for its other half. */
#include "strip_file.h"
#include "core/size.h"
#include "core/sized.h"
#include "file/npy.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NEAREST_MM 1e-6f /* no strip is a nanometre long */

enum { SURE = 100 }; /* events that tell whether values are absurd */

_Static_assert(sizeof(struct iso_strip_event) == 12, "a record is an event");

enum iso_strip_format iso_strip_format(const char *path)
{
	const struct iso_kind *k = iso_kind_as(path, ISO_STRIPS_FILE);

	return k ? k->strips : ISO_STRIP_UNKNOWN;
}

bool iso_strip_event_bad(const struct iso_strip_event *e)
{
	return !e || !isfinite(e->z_up) || !isfinite(e->z_down) || !isfinite(e->dl);
}

/* ---- opening ---- */

static int find_format(iso_strip_file *f)
{
	const struct iso_feed *in = &f->in;

	f->format = iso_strip_format(in->path);
	if (f->format == ISO_STRIP_UNKNOWN && (in->pipe || in->standard)) f->format = ISO_STRIP_FLOATS;
	if (f->format == ISO_STRIP_UNKNOWN)
		return iso_kind_unknown(ISO_EINPUT, in->path, ISO_STRIPS_FILE, false);
	if (f->format == ISO_STRIP_NPY && (in->pipe || in->grows))
		return iso_refuse(in->path, "the head of a .npy counts its rows: a pipe, or a file that "
		                            "grows, must be .f32 or .txt");
	return ISO_OK;
}

/* Whole events, as long as nobody adds to the file. */
static int open_floats(iso_strip_file *f)
{
	int record = f->record = sizeof(struct iso_strip_event);

	if (f->in.pipe || f->in.grows) return ISO_OK;
	if (f->in.size == 0) return iso_fail(ISO_EINPUT, "%s is empty", f->in.path);
	if (f->in.size % record != 0)
		return iso_refuse(f->in.path,
		                  "%" PRId64 " bytes are not a whole number of %d-byte events: %d left over",
		                  f->in.size, record, (int)(f->in.size % record));
	f->total = f->in.size / record;
	return ISO_OK;
}

/* Leaves the file at its first row. */
static int open_npy(iso_strip_file *f)
{
	struct iso_npy h;
	struct iso_in in;
	int st = iso_npy_open(&h, &in, f->in.path, false);

	if (st) return st;
	f->first = in.at;
	iso_in_close(&in);
	if (h.n_dim != 2 || h.dim[1] != 3)
		return iso_refuse(f->in.path, "strip events need an array (n, 3) of z_up, z_down, dl in mm");
	if ((st = iso_npy_rows(&h, f->in.path))) return st;
	if (lseek(f->in.fd, f->first, SEEK_SET) < 0)
		return iso_fail(ISO_EIO, "%s: %s", f->in.path, strerror(errno));
	f->element = h.element;
	f->record = 3 * h.element.size;
	f->total = h.dim[0];
	return ISO_OK;
}

int iso_strip_file_open(iso_strip_file **f, const char *path, const struct iso_strip_options *o, bool grows)
{
	if (!f || !path) return iso_fail_null(__func__);
	struct iso_strip_options full = { .size = sizeof full };
	iso_strip_file *r;
	int st = o ? iso_sized_take(&full, "iso_strip_options", sizeof full, o) : ISO_OK;

	if (st) return st;
	if (full.mm == 0) full.mm = 1;
	if (!(full.mm >= 1e-9 && full.mm <= 1e9))
		return iso_fail(ISO_EARG, "%s: the unit of length is %g mm, must be 1e-9 to 1e9", path,
		                full.mm);
	r = calloc(1, sizeof *r);
	if (!r) return iso_fail_memory(path, sizeof *r);
	r->ctx = full.ctx;
	r->mm = full.mm;
	r->dl = full.dl_is_time ? ISO_C_MM_PER_PS : full.mm;
	if (!(st = iso_feed_open(&r->in, path, grows)) && !(st = find_format(r)) &&
	    r->format != ISO_STRIP_TEXT)
		st = (r->format == ISO_STRIP_NPY ? open_npy : open_floats)(r);
	if (st)
		iso_strip_file_close(r);
	else
		*f = r;
	return st;
}

int64_t iso_strip_file_total(const iso_strip_file *f)
{
	return f ? f->total : 0;
}

void iso_strip_file_close(iso_strip_file *f)
{
	if (!f) return;
	iso_feed_close(&f->in);
	free(f);
}

/* ---- events ---- */

static void add_event(struct iso_strip_events *block, iso_strip_file *f, const double v[3])
{
	struct iso_strip_event *e = &block->v[block->n++];

	*e = strip_event_of(f, v);
	strip_count(&f->seen, e);
}

int iso_strip_ends_within(const iso_strip_file *f, int64_t event, int64_t bytes)
{
	return iso_refuse(f->in.path,
	                  "ends within event %" PRId64 ": %" PRId64 " of its %" PRId64 " bytes are there",
	                  event, bytes, f->record);
}

static int take_records(struct iso_strip_events *block, iso_strip_file *f, int64_t most)
{
	for (; block->n < most && f->in.have - f->in.at >= f->record; f->in.at += f->record) {
		double v[3];

		strip_record(v, f, f->in.buffer + f->in.at);
		add_event(block, f, v);
	}
	if (f->in.ended && block->n == 0 && f->in.have > f->in.at)
		return iso_strip_ends_within(f, f->n + block->n, f->in.have - f->in.at);
	return ISO_OK;
}

/* Also nan and inf, of either sign: an event that is left out. */
static bool get_number(double *v, const char *word, size_t length)
{
	static const char *const odd[] = { "nan", "inf", "infinity" };
	size_t sign = length > 0 && (*word == '-' || *word == '+');

	for (int i = 0; i < 3; i++)
		if (length - sign == strlen(odd[i]) && iso_same_letters(word + sign, odd[i], length - sign)) {
			*v = NAN;
			return true;
		}
	return iso_number(v, word, length);
}

int iso_strip_triple(double v[3], struct iso_complaint *wrong, const char *p, const char *end)
{
	const char *hash = memchr(p, '#', (size_t)(end - p));
	int n = 0;

	wrong->text[0] = '\0';
	for (size_t length; (length = iso_next_word(&p, hash ? hash : end)) > 0; p += length, n++)
		if (n < 3 && !get_number(&v[n], p, length)) {
			snprintf(wrong->text, sizeof wrong->text, "'%.*s' is not a number",
			         length < 30 ? (int)length : 30, p);
			return 0;
		}
	if (n == 0 || n == 3) return n;
	snprintf(wrong->text, sizeof wrong->text, "%d numbers, expected 3: z_up z_down dl", n);
	return 0;
}

int iso_strip_complain(const char *path, int64_t line, const struct iso_complaint *wrong)
{
	return iso_fail(ISO_EINPUT, "%s:%" PRId64 ": %s", path, line, wrong->text);
}

static int take_line(struct iso_strip_events *block, iso_strip_file *f, const char *p, const char *end)
{
	struct iso_complaint wrong;
	double v[3];

	f->line++;
	if (iso_strip_triple(v, &wrong, p, end)) add_event(block, f, v);
	return wrong.text[0] ? iso_strip_complain(f->in.path, f->line, &wrong) : ISO_OK;
}

/* Whole lines, and the last one of an ended file whatever its end. */
static int take_lines(struct iso_strip_events *block, iso_strip_file *f, int64_t most)
{
	int st = ISO_OK;

	while (!st && block->n < most && f->in.at < f->in.have) {
		const char *p = (const char *)f->in.buffer + f->in.at;
		size_t left = (size_t)(f->in.have - f->in.at);
		const char *stop = memchr(p, '\n', left), *end = stop ? stop : p + left;

		if (end - p > STRIP_LINE)
			return iso_fail(ISO_EINPUT,
			                "%s:%" PRId64 ": a line longer than %d bytes, not strip events",
			                f->in.path, f->line + 1, STRIP_LINE);
		if (!stop && !f->in.ended) break;
		f->in.at += end - p + (stop ? 1 : 0);
		st = take_line(block, f, p, end);
	}
	return st;
}

int iso_strip_check(const iso_strip_file *f)
{
	int64_t good = f->n - f->seen.bad;
	float most;

	memcpy(&most, &f->seen.most, sizeof most);
	if (good < (f->in.ended ? 1 : SURE)) return ISO_OK;
	if (f->seen.far <= good / 2 && !(most > 0 && most < NEAREST_MM)) return ISO_OK;
	return iso_refuse(f->in.path,
	                  "does not look like strip events (z_up, z_down, dl in mm): values up to %g mm; "
	                  "wrong byte order or unit?",
	                  (double)most);
}

int iso_strip_file_next(struct iso_strip_events *block, bool *end, iso_strip_file *f, int64_t most,
                        double wait_s)
{
	if (!block || !end || !f) return iso_fail_null(__func__);
	double stop = iso_now_s() + wait_s;
	int64_t got = 1, bad = f->seen.bad;
	int st = ISO_OK;

	if (most < 1 || !(wait_s >= 0))
		return iso_fail(ISO_EARG,
		                "%s: at most %" PRId64 " events within %g s, must be at least 1 and 0",
		                f->in.path, most, wait_s);
	block->n = block->n_bad = 0;
	for (bool late = false; !st; late = iso_now_s() >= stop) {
		st = (f->format == ISO_STRIP_TEXT ? take_lines : take_records)(block, f, most);
		if (st || block->n == most || f->in.ended || (got == 0 && (block->n > 0 || late))) break;
		st = iso_feed_fill(&f->in, block->n > 0 ? 0 : fmax(0, stop - iso_now_s()), &got);
	}
	f->n += block->n;
	block->n_bad = f->seen.bad - bad;
	*end = f->in.ended && block->n == 0;
	return st ? st : iso_strip_check(f);
}
