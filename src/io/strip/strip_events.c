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
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NEAREST_MM 1e-6f /* no strip is a nanometre long */
#define NAP_S .01        /* between two looks at a file that grows */

enum {
	BUFFER = 1 << 20,
	SURE = 100, /* events that tell whether values are absurd */
};

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

static int open_path(iso_strip_file *f)
{
	struct stat s;

	f->standard = strcmp(f->path, "-") == 0;
	if (!f->standard) iso_commit_repair(f->path);
	/* O_NONBLOCK: or a pipe without a writer would hold us up */
	f->fd = f->standard ? STDIN_FILENO : open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (f->fd < 0) return iso_refuse(f->path, "%s", strerror(errno));
	if (fstat(f->fd, &s)) return iso_fail(ISO_EIO, "%s: %s", f->path, strerror(errno));
	if (S_ISDIR(s.st_mode)) return iso_fail(ISO_EINPUT, "%s is a folder, a file was expected", f->path);
	f->pipe = !S_ISREG(s.st_mode);
	f->size = s.st_size;
	f->format = iso_strip_format(f->path);
	if (f->format == ISO_STRIP_UNKNOWN && (f->pipe || f->standard)) f->format = ISO_STRIP_FLOATS;
	if (f->format == ISO_STRIP_UNKNOWN)
		return iso_kind_unknown(ISO_EINPUT, f->path, ISO_STRIPS_FILE, false);
	if (f->format == ISO_STRIP_NPY && (f->pipe || f->grows))
		return iso_refuse(f->path, "the head of a .npy counts its rows: a pipe, or a file that "
		                           "grows, must be .f32 or .txt");
	return ISO_OK;
}

/* Whole events, as long as nobody adds to the file. */
static int open_floats(iso_strip_file *f)
{
	int record = f->record = sizeof(struct iso_strip_event);

	if (f->pipe || f->grows) return ISO_OK;
	if (f->size == 0) return iso_fail(ISO_EINPUT, "%s is empty", f->path);
	if (f->size % record != 0)
		return iso_refuse(f->path,
		                  "%" PRId64 " bytes are not a whole number of %d-byte events: %d left over",
		                  f->size, record, (int)(f->size % record));
	f->total = f->size / record;
	return ISO_OK;
}

/* Leaves the file at its first row. */
static int open_npy(iso_strip_file *f)
{
	struct iso_npy h;
	struct iso_in in;
	int st = iso_npy_open(&h, &in, f->path, false);

	if (st) return st;
	f->first = in.at;
	iso_in_close(&in);
	if (h.n_dim != 2 || h.dim[1] != 3)
		return iso_refuse(f->path, "strip events need an array (n, 3) of z_up, z_down, dl in mm");
	if ((st = iso_npy_rows(&h, f->path))) return st;
	if (lseek(f->fd, f->first, SEEK_SET) < 0)
		return iso_fail(ISO_EIO, "%s: %s", f->path, strerror(errno));
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
	*r = (iso_strip_file){ .fd = -1, .grows = grows, .path = strdup(path), .buffer = malloc(BUFFER) };
	r->ctx = full.ctx;
	r->mm = full.mm;
	r->dl = full.dl_is_time ? ISO_C_MM_PER_PS : full.mm;
	if (!r->path || !r->buffer)
		st = iso_fail_memory(path, BUFFER);
	else if (!(st = open_path(r)) && r->format != ISO_STRIP_TEXT)
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
	if (!f->standard && f->fd >= 0) close(f->fd);
	free(f->buffer);
	free(f->path);
	free(f);
}

/* ---- bytes ---- */

/* Reads once, behind what the buffer still holds, after at most about wait_s seconds; *got = 0 at the end,
   and f->ended is set at an end for good. */
static int fill(iso_strip_file *f, double wait_s, int64_t *got)
{
	struct timespec nap = { 0, (long)(1e9 * fmin(wait_s, NAP_S)) };
	struct pollfd p = { f->fd, POLLIN, 0 };
	struct stat s;
	int ready = f->pipe ? poll(&p, 1, wait_s < 1e6 ? (int)ceil(wait_s * 1e3) : 1000000000) : 1;
	ssize_t n;

	*got = 0;
	if (ready < 0 && errno != EINTR) return iso_fail_errno(f->path, "wait");
	if (ready <= 0) return ISO_OK;
	memmove(f->buffer, f->buffer + f->at, (size_t)(f->have - f->at));
	f->have -= f->at;
	f->at = 0;
	do n = read(f->fd, f->buffer + f->have, (size_t)(BUFFER - f->have));
	while (n < 0 && errno == EINTR);
	if (n < 0) return iso_fail_errno(f->path, "read");
	f->have += n;
	*got = n;
	f->ended = n == 0 && (f->pipe || !f->grows);
	if (n > 0 || f->ended) return ISO_OK;
	/* a file cut down while we read it would never grow past our place */
	if (fstat(f->fd, &s) || s.st_size < lseek(f->fd, 0, SEEK_CUR))
		return iso_refuse(f->path, "became shorter while it was read");
	if (nap.tv_nsec > 0) nanosleep(&nap, NULL);
	return ISO_OK;
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
	return iso_refuse(f->path,
	                  "ends within event %" PRId64 ": %" PRId64 " of its %" PRId64 " bytes are there",
	                  event, bytes, f->record);
}

static int take_records(struct iso_strip_events *block, iso_strip_file *f, int64_t most)
{
	for (; block->n < most && f->have - f->at >= f->record; f->at += f->record) {
		double v[3];

		strip_record(v, f, f->buffer + f->at);
		add_event(block, f, v);
	}
	if (f->ended && block->n == 0 && f->have > f->at)
		return iso_strip_ends_within(f, f->n + block->n, f->have - f->at);
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
	return wrong.text[0] ? iso_strip_complain(f->path, f->line, &wrong) : ISO_OK;
}

/* Whole lines, and the last one of an ended file whatever its end. */
static int take_lines(struct iso_strip_events *block, iso_strip_file *f, int64_t most)
{
	int st = ISO_OK;

	while (!st && block->n < most && f->at < f->have) {
		const char *p = (const char *)f->buffer + f->at;
		size_t left = (size_t)(f->have - f->at);
		const char *stop = memchr(p, '\n', left), *end = stop ? stop : p + left;

		if (end - p > STRIP_LINE)
			return iso_fail(ISO_EINPUT,
			                "%s:%" PRId64 ": a line longer than %d bytes, not strip events",
			                f->path, f->line + 1, STRIP_LINE);
		if (!stop && !f->ended) break;
		f->at += end - p + (stop ? 1 : 0);
		st = take_line(block, f, p, end);
	}
	return st;
}

int iso_strip_check(const iso_strip_file *f)
{
	int64_t good = f->n - f->seen.bad;
	float most;

	memcpy(&most, &f->seen.most, sizeof most);
	if (good < (f->ended ? 1 : SURE)) return ISO_OK;
	if (f->seen.far <= good / 2 && !(most > 0 && most < NEAREST_MM)) return ISO_OK;
	return iso_refuse(f->path,
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
		                f->path, most, wait_s);
	block->n = block->n_bad = 0;
	for (bool late = false; !st; late = iso_now_s() >= stop) {
		st = (f->format == ISO_STRIP_TEXT ? take_lines : take_records)(block, f, most);
		if (st || block->n == most || f->ended || (got == 0 && (block->n > 0 || late))) break;
		st = fill(f, block->n > 0 ? 0 : fmax(0, stop - iso_now_s()), &got);
	}
	f->n += block->n;
	block->n_bad = f->seen.bad - bad;
	*end = f->ended && block->n == 0;
	return st ? st : iso_strip_check(f);
}
