/* SPDX-License-Identifier: BSD-3-Clause */
/* The scans of isotome norm of a ring: their words, and the files that these name. */
#include "norm_scans.h"

#include "commission/norm/norm_delayed.h"
#include "core/size.h"
#include "io/format.h"
#include "problem/inputs.h"
#include "scanner/scanner.h"

#include <string.h>

/* What the words of a scan name. */
struct norm_files {
	struct iso_array image, mu, singles;
	struct iso_events events;
	iso_event_file *file;
	double *rate;
};

bool norm_is_shape(const char *source)
{
	static const char *const shapes[] = { "cylinder:", "plane:", "orbit:" };

	for (int i = 0; i < 3; i++)
		if (strncmp(source, shapes[i], strlen(shapes[i])) == 0) return true;
	return false;
}

/* ---- words ---- */

/* Numbers, and the letter of an axis, go on with the shape before them. */
static bool goes_on(const char *word, size_t n)
{
	double v;

	return iso_number(&v, word, n) || (n == 1 && strchr("xyz", word[0]));
}

/* The source that a list begins with, and where the next begins; NULL: there is none. */
static const char *next_source(char to[PATH_MAX], const char *list)
{
	if (!norm_is_shape(list)) return opt_next_file(to, list);
	size_t n = strcspn(list, ",");

	while (list[n] && goes_on(list + n + 1, strcspn(list + n + 1, ",")))
		n += 1 + strcspn(list + n + 1, ",");
	snprintf(to, PATH_MAX, "%.*s", (int)n, list);
	return list[n] ? list + n + 1 : NULL;
}

/* Words of a list, `at` bytes into the words of each scan. Returns how many. */
static int take_list(struct norm_words *w, size_t at, const char *list,
                     const char *(*next)(char[PATH_MAX], const char *))
{
	int n = 0;

	for (; list && n < NORM_SCANS; n++) list = next((char *)(w + n) + at, list);
	return list ? NORM_SCANS + 1 : n;
}

/* One word for all scans, or a word for each. */
static int share_list(struct norm_inputs *in, size_t at, const char *list, const char *option)
{
	const int n = take_list(in->words, at, list, opt_next_file);

	if (n > 1 && n != in->scans)
		return iso_fail(ISO_EARG, "--%s names %d files, expected one, or one for each of %d scans",
		                option, n, in->scans);
	for (int i = 1; i < in->scans && n == 1; i++)
		memcpy((char *)(in->words + i) + at, (char *)in->words + at, PATH_MAX);
	return ISO_OK;
}

int norm_scans_split(struct norm_inputs *in, const struct norm_ring *s)
{
	int st;

	if (!(in->words = calloc(NORM_SCANS, sizeof *in->words)))
		return iso_fail_memory("norm", NORM_SCANS * (int64_t)sizeof *in->words);
	in->scans = take_list(in->words, offsetof(struct norm_words, events), s->events, opt_next_file);
	const int sources = take_list(in->words, offsetof(struct norm_words, source), s->source, next_source);

	if (in->scans > NORM_SCANS) return iso_fail(ISO_EARG, "norm: more than %d scans", NORM_SCANS);
	if (sources != in->scans)
		return iso_fail(ISO_EARG,
		                "--source names %d sources, expected one for each of %d files of events",
		                sources, in->scans);
	if ((st = share_list(in, offsetof(struct norm_words, mu), s->mu, "mu")) ||
	    (st = share_list(in, offsetof(struct norm_words, delayed), s->delayed, "delayed")) ||
	    (st = share_list(in, offsetof(struct norm_words, singles), s->singles, "singles")))
		return st;
	if (!(in->files = calloc((size_t)in->scans, sizeof *in->files)) ||
	    !(in->scan = calloc((size_t)in->scans, sizeof *in->scan)))
		return iso_fail_memory("norm", in->scans * (int64_t)sizeof *in->files);
	for (int i = 0; i < in->scans; i++) {
		in->scan[i].size = sizeof in->scan[i];
		in->scan[i].scatter = s->scatter ? &in->scatter : NULL;
	}
	return ISO_OK;
}

/* ---- files ---- */

/* A file that serves all scans is an input of the run once. */
static int note(struct cmd *c, const struct norm_inputs *in, int i, size_t at)
{
	const char *path = (const char *)(in->words + i) + at;

	if (i > 0 && strcmp(path, (const char *)in->words + at) == 0) return ISO_OK;
	return record_input(&c->record, path);
}

static int read_source(struct cmd *c, struct norm_inputs *in, int i)
{
	const char *source = in->words[i].source;
	struct norm_files *f = in->files + i;
	int st;

	if (norm_is_shape(source)) {
		in->scan[i].shape = source;
		return ISO_OK;
	}
	if ((st = record_read_image(&c->record, &f->image, source, ISO_NONNEGATIVE, NULL))) return st;
	if (!f->image.has_grid)
		return iso_fail(ISO_EINPUT, "%s: has no grid; a source is an image in mm (.nii), or a shape",
		                source);
	in->scan[i].image = &f->image;
	return note(c, in, i, offsetof(struct norm_words, source));
}

static int read_mu(struct cmd *c, struct norm_inputs *in, int i)
{
	struct norm_files *f = in->files + i;
	int st;

	if (!*in->words[i].mu) return ISO_OK;
	if ((st = record_read_mu(&c->record, &f->mu, in->words[i].mu,
	                         f->image.has_grid ? &f->image.grid : NULL)))
		return st;
	in->scan[i].mu = &f->mu;
	return note(c, in, i, offsetof(struct norm_words, mu));
}

static int open_events(struct cmd *c, struct norm_inputs *in, const struct iso_events_options *o, int i)
{
	struct norm_files *f = in->files + i;
	const int st = iso_event_file_open(&f->file, in->words[i].events, o);

	if (st) return st;
	f->events.duration_s = iso_event_file_info(f->file)->duration_s;
	in->scan[i].file = f->file;
	return note(c, in, i, offsetof(struct norm_words, events));
}

static int read_events(struct cmd *c, struct norm_inputs *in, const struct norm_ring *s, int i)
{
	struct iso_events_options o = s->read;
	struct norm_files *f = in->files + i;
	int st;

	o.scanner = in->scanner;
	o.ctx = c->ctx;
	if (in->in_pieces) return open_events(c, in, &o, i);
	if ((st = iso_events_read(&f->events, in->words[i].events, &o)) ||
	    (st = note(c, in, i, offsetof(struct norm_words, events))))
		return st;
	events_warn(&c->record, in->words[i].events, &f->events);
	in->scan[i].events = &f->events;
	return ISO_OK;
}

/* ---- randoms ---- */

static int check_crystals(const struct norm_inputs *in, const struct iso_array *a, const char *path)
{
	if (a->n == in->scanner->n) return ISO_OK;
	return iso_fail(ISO_EINPUT,
	                "%s: %" PRId64 " values, expected one for each of the %" PRId64 " crystals", path,
	                a->n, in->scanner->n);
}

static double duration(const struct norm_inputs *in, const struct norm_ring *s, int i)
{
	return s->duration_s > 0 ? s->duration_s : in->files[i].events.duration_s;
}

static int read_singles(struct cmd *c, struct norm_inputs *in, const struct norm_ring *s, int i)
{
	const double window =
		s->coincidence_ns > 0 ? s->coincidence_ns : iso_scanner_coincidence_ns(in->scanner);
	struct norm_files *f = in->files + i;
	const char *path = in->words[i].singles;
	int st = record_read(&c->record, &f->singles, path, ISO_NONNEGATIVE);

	if (st || (st = note(c, in, i, offsetof(struct norm_words, singles))) ||
	    (st = check_crystals(in, &f->singles, path)))
		return st;
	if (!(window > 0))
		return iso_fail(ISO_EARG, "--singles needs the coincidence window: --coincidence-ns");
	if (!(duration(in, s, i) > 0))
		return iso_fail(ISO_EARG, "--singles needs how long the scan took: --duration-s");
	return iso_randoms_from_singles(f->rate, in->scanner, f->singles.v, duration(in, s, i), window);
}

/* Rates by the delayeds of a file, whole or in pieces. */
static int rates_of(struct cmd *c, struct norm_inputs *in, int i, const char *path, int64_t *bad, int64_t *n,
                    const struct iso_events_options *o)
{
	struct iso_events late = { 0 };
	iso_event_file *f = NULL;
	double *rate = in->files[i].rate;
	int st = in->in_pieces ? iso_event_file_open(&f, path, o) : iso_events_read(&late, path, o);

	if (!st && strcmp(path, in->words[i].events) != 0)
		st = note(c, in, i, offsetof(struct norm_words, delayed));
	if (!st)
		st = f ? iso_norm_delayed(rate, bad, n, c->ctx, in->scanner, f)
		       : iso_randoms_from_delayed(rate, bad, c->ctx, in->scanner, &late);
	if (!f) *n = late.n;
	iso_event_file_close(f);
	iso_events_free(&late);
	return st;
}

static int read_delayed(struct cmd *c, struct norm_inputs *in, const struct norm_ring *s, int i, bool own)
{
	struct iso_events_options o = s->read;
	const char *path = own ? in->words[i].events : in->words[i].delayed;
	int64_t bad = 0, n = 0;
	int st;

	o.scanner = in->scanner;
	o.ctx = c->ctx;
	o.delayeds = true;
	o.trues_only = false;
	if (!(st = rates_of(c, in, i, path, &bad, &n, &o)) && bad * 100 > n)
		record_warn(&c->record,
		            "%s: %" PRId64 " of %" PRId64 " delayed events lie on no pair of crystals", path,
		            bad, n);
	return st;
}

/* Delayeds in the file of the events, where nobody says otherwise. */
static int own_delayeds(bool *found, const struct norm_inputs *in, const struct norm_ring *s, int i)
{
	struct iso_events_options o = s->read;
	iso_event_file *f = NULL;
	int st;

	o.scanner = in->scanner;
	*found = false;
	if (iso_events_only_whole(in->words[i].events)) return ISO_OK;
	if (!(st = iso_event_file_open(&f, in->words[i].events, &o)))
		*found = iso_event_file_info(f)->delayeds > 0;
	iso_event_file_close(f);
	return st;
}

static int read_randoms(struct cmd *c, struct norm_inputs *in, const struct norm_ring *s, int i)
{
	const struct norm_words *w = in->words + i;
	struct norm_files *f = in->files + i;
	bool own = false;
	int st = *w->delayed || *w->singles ? ISO_OK : own_delayeds(&own, in, s, i);

	if (st || (!own && !*w->singles && !*w->delayed) || strcmp(w->delayed, "none") == 0) return st;
	if (!(f->rate = size_alloc(in->scanner->n, sizeof *f->rate)))
		return iso_fail_memory("randoms", in->scanner->n * 8);
	in->scan[i].rate = f->rate;
	return *w->singles ? read_singles(c, in, s, i) : read_delayed(c, in, s, i, own);
}

/* ---- short memory ---- */

static int64_t bytes_of(const char *path, const struct iso_events_options *o)
{
	iso_event_file *f = NULL;
	int64_t n = 0;

	if (*path && !iso_events_only_whole(path) && iso_event_file_open(&f, path, o) == ISO_OK)
		n = iso_event_file_info(f)->n;
	iso_event_file_close(f);
	return n * (int64_t)(sizeof(struct iso_event) + 2 * sizeof(uint32_t));
}

int64_t norm_scans_bytes(const struct norm_inputs *in, const struct norm_ring *s)
{
	struct iso_events_options o = s->read;
	int64_t bytes = 0;

	o.scanner = in->scanner;
	for (int i = 0; i < in->scans; i++) {
		const char *late = in->words[i].delayed;

		bytes += bytes_of(in->words[i].events, &o);
		if (strcmp(late, "none") != 0) bytes += bytes_of(late, &o);
	}
	return bytes;
}

bool norm_scans_in_pieces(const struct norm_inputs *in)
{
	for (int i = 0; i < in->scans; i++) {
		const char *late = in->words[i].delayed;

		if (iso_events_only_whole(in->words[i].events)) return false;
		if (*late && strcmp(late, "none") != 0 && iso_events_only_whole(late)) return false;
	}
	return true;
}

/* ---- all ---- */

static int read_mask(struct cmd *c, struct norm_inputs *in, const char *path)
{
	int st = record_read(&c->record, &in->mask, path, ISO_NONNEGATIVE);

	if (st || (st = record_input(&c->record, path))) return st;
	return check_crystals(in, &in->mask, path);
}

int norm_scans_read(struct cmd *c, struct norm_inputs *in, const struct norm_ring *s)
{
	bool known = true;
	int st = s->mask ? read_mask(c, in, s->mask) : ISO_OK;

	for (int i = 0; i < in->scans && !st; i++) {
		if ((st = read_source(c, in, i)) || (st = read_mu(c, in, i)) ||
		    (st = read_events(c, in, s, i)))
			break;
		known = known && duration(in, s, i) > 0;
		in->duration_s += duration(in, s, i);
		st = read_randoms(c, in, s, i);
	}
	if (!known) in->duration_s = 0;
	return st;
}

void norm_scans_free(struct norm_inputs *in)
{
	for (int i = 0; i < in->scans && in->files; i++) {
		iso_array_free(&in->files[i].image);
		iso_array_free(&in->files[i].mu);
		iso_array_free(&in->files[i].singles);
		iso_events_free(&in->files[i].events);
		iso_event_file_close(in->files[i].file);
		free(in->files[i].rate);
	}
	iso_array_free(&in->mask);
	iso_scanner_free(in->scanner);
	free(in->files);
	free(in->scan);
	free(in->words);
}
