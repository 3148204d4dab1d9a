/* SPDX-License-Identifier: BSD-3-Clause */
/* Model strip as a problem: its events, from a file, a pipe or memory; of several ranks, those of this one. */
#include "model_strip.h"

#include "core/loop/order.h"
#include "core/size.h"
#include "io/kinds.h"

#include <sys/stat.h>
#include <unistd.h>

void strip_count(struct strip *strip, struct strip_count *c, const struct iso_strip_events *e)
{
	double half = strip->model.strips.length / 2;

	c->n += e->n;
	c->bad += e->n_bad;
	int64_t outside = 0;
	double farthest = c->farthest, reach = c->reach;

#pragma omp parallel for num_threads(iso_ctx_threads(strip->p->ctx)) reduction(+ : outside) reduction(max : farthest, reach)
	for (int64_t j = 0; j < e->n; j++) {
		double z = fmax(fabs((double)e->v[j].z_up), fabs((double)e->v[j].z_down)), over = z - half;

		outside += over > 0;
		if (over > farthest && isfinite(over)) farthest = over;
		if (z > reach && isfinite(z)) reach = z;
	}
	c->outside += outside;
	c->farthest = farthest;
	c->reach = reach;
	c->half = half;
}

bool strip_is_regular(const char *path)
{
	struct stat file;

	return (strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &file) : stat(path, &file)) == 0 &&
	       S_ISREG(file.st_mode);
}

/* Subsets of the reconstruction that this is for. */
static struct model_subsets subsets(const struct strip *strip)
{
	struct model_subsets s = strip->p->s.by;

	if (s.n < 1) s = (struct model_subsets){ .n = 1 };
	return s;
}

/* Where 'dry-run' finds out how many events there are without reading them. A pipe can't be opened
   twice: what writes it would be gone. */
static int count_events(struct strip *strip)
{
	iso_strip_file *f = NULL;
	int st = iso_strip_file_open(&f, strip->events, &strip->read, false);

	if (!st) {
		strip->n = iso_strip_file_total(f);
		struct iso_deal d =
			iso_deal_by(strip->p->ctx, strip->n, (int64_t)ISO_STRIP_CHUNK * subsets(strip).n);

		strip->e.n = iso_deal_count(&d);
	}
	iso_strip_file_close(f);
	return st;
}

void strip_warn(struct record *record, const char *from, const struct strip_count *c)
{
	if (c->bad)
		record_warn_share(record, (double)c->bad, (double)c->n,
		                  "%s%" PRId64 " of %" PRId64
		                  " events hold values that are not finite; they are left out",
		                  from, c->bad, c->n);
	if (c->outside)
		record_warn_share(
			record, (double)c->outside, (double)c->n,
			"%s%" PRId64 " of %" PRId64
			" events have a hit beyond the ends of the strips, by up to %.3g mm; they are kept",
			from, c->outside, c->n, c->farthest);
}

bool strip_in_the_middle(char text[160], int64_t n, double reach, double half)
{
	if (n < STRIP_TELLING || reach >= STRIP_MIDDLE * half) return false;
	bool metres = reach < .01 * STRIP_MIDDLE * half;

	iso_snprintf(text, 160,
	             "all hits lie within %.3g mm of the middle of strips of %g mm; in another unit? "
	             "'event-unit-mm' is %d for %s",
	             reach, 2 * half, metres ? 1000 : 10, metres ? "metres" : "cm");
	return true;
}

/* Which of them are finite is found here: the caller need not have counted. */
static int copy_given(struct iso_strip_events *e, const struct iso_strip_events *given, struct strip *strip)
{
	int st = iso_strip_events_copy(e, given);
	int64_t bad = 0;

	if (st) return st;
#pragma omp parallel for num_threads(iso_ctx_threads(strip->p->ctx)) reduction(+ : bad)
	for (int64_t j = 0; j < e->n; j++) bad += iso_strip_event_bad(e->v + j);
	e->n_bad = bad;
	if (bad < e->n) return ISO_OK;
	return iso_refuse(strip->events, "none of its %" PRId64 " events is usable: not finite", e->n);
}

/* ---- the events of one rank of several ---- */

/* Chunks of rows go to ranks in turn; their events may lie anywhere in the file, so each rank had read it whole. */
static int take_rows(struct strip *strip, const struct iso_strip_events *all)
{
	struct model_subsets s = subsets(strip);
	const struct iso_order o = { .n = all->n, .n_sub = s.n, .rule = s.rule, .seed = s.seed };
	const iso_ctx *ctx = strip->p->ctx;
	int64_t n = 0;

	strip->e.v = size_alloc(all->n / iso_ranks(ctx) + (int64_t)s.n * ISO_STRIP_CHUNK, sizeof *strip->e.v);
	strip->number =
		size_alloc(all->n / iso_ranks(ctx) + (int64_t)s.n * ISO_STRIP_CHUNK, sizeof *strip->number);
	if (!strip->e.v || !strip->number)
		return iso_fail_memory("events", all->n / iso_ranks(ctx) * (int64_t)sizeof *strip->number);
	for (int sub = 0; sub < s.n; sub++) {
		struct iso_rows rows = order_rows(&o, sub);

		for (int64_t i = 0; i < rows.n && !iso_stopped(ctx); i++)
			if (i / ISO_STRIP_CHUNK % iso_ranks(ctx) == iso_rank(ctx))
				strip->number[n++] = order_event(&o, rows.first + i);
	}
	for (int64_t j = 0; j < n; j++) strip->e.v[j] = all->v[strip->number[j]];
	strip->e.n = n;
	strip->e.n_bad = all->n_bad;
	return iso_ctx_poll(ctx);
}

/* Of a file whose chunks have whole chunks of rows of all subsets. */
static int take_numbers(struct strip *strip, const struct iso_deal *d)
{
	strip->n = d->n;
	if (!(strip->number = size_alloc(strip->e.n, sizeof *strip->number)))
		return iso_fail_memory("numbers of events", strip->e.n * (int64_t)sizeof *strip->number);
	for (int64_t j = 0; j < strip->e.n; j++) strip->number[j] = iso_deal_number(d, j);
	return ISO_OK;
}

static int share_events(struct strip *strip, const struct iso_strip_events *given)
{
	struct model_subsets s = subsets(strip);
	bool deals = s.n == 1 || s.rule == ISO_INTERLEAVED, from_file = !given->v;
	struct iso_deal d = { .chunk = (int64_t)ISO_STRIP_CHUNK * s.n };
	struct iso_strip_events all = { 0 };
	iso_ctx *ctx = strip->p->ctx;
	int st;

	if (from_file && !strip_is_regular(strip->events))
		return iso_refuse(strip->events, "a pipe has one reader: several ranks need a file");
	if (deals && from_file)
		st = iso_strip_events_read_share(&strip->e, &d, strip->events, &strip->read, ctx);
	else
		st = from_file ? iso_strip_events_read(&all, strip->events, &strip->read)
		               : copy_given(&all, given, strip);
	if (!st && deals && !from_file) {
		d = iso_deal_by(ctx, all.n, d.chunk);
		st = iso_strip_events_share(&strip->e, &all, &d);
	}
	strip->n = all.n;
	if (!st) st = deals ? take_numbers(strip, &d) : take_rows(strip, &all);
	iso_strip_events_free(&all);
	return st;
}

/* What is counted of the events of all ranks. */
static int count_all(struct strip *strip, struct strip_count *c)
{
	iso_ctx *ctx = strip->p->ctx;
	int st;

	strip_count(strip, c, &strip->e);
	if (!strip->number) return ISO_OK;
	c->n = strip->n;
	if ((st = iso_comm_sum(ctx, ISO_OK, &c->outside, 1))) return st;
	return iso_comm_max(ctx, ISO_OK, &c->farthest, 1);
}

int strip_load_events(struct strip *strip)
{
	struct iso_strip_events *e = &strip->e;
	struct strip_count count = { 0 };
	struct iso_hash hash;
	char from[PATH_MAX];
	int st;

	if (!strip->events) return iso_fail(ISO_EARG, "'events' is missing");
	const struct iso_strip_events *given = &record_given(strip->p->record, strip->events)->strips;
	bool regular = strip_is_regular(strip->events);

	strip->read.ctx = strip->p->ctx;
	if (strip->p->record->read.dry_run && regular && ((st = count_events(strip)) || strip->n > 0))
		return st;
	bool several = iso_ranks(strip->p->ctx) > 1;

	st = several    ? share_events(strip, given)
	     : given->v ? copy_given(e, given, strip)
	                : iso_strip_events_read_hashed(e, &hash, strip->events, &strip->read);
	if (!several) strip->n = e->n;
	if (!st && !given->v && !several) record_hashed(strip->p->record, &hash);
	const struct iso_strip_events *whole = several ? given : e;

	if (!st)
		st = regular && strcmp(strip->events, "-") != 0
		             ? record_input(strip->p->record, strip->events)
		             : record_piped(strip->p->record, strip->events, whole->v,
		                            whole->n * (int64_t)sizeof *e->v);
	if (st) return st;
	if ((st = count_all(strip, &count))) return st;
	snprintf(from, sizeof from, "%s: ", strip->events);
	strip_warn(strip->p->record, from, &count);
	return ISO_OK;
}
