/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of model ray: read, compared with the scanner, chosen by their time. */
#include "model_ray.h"

#include "problem/inputs.h"

#include "core/ctx.h"
#include "core/size.h"
#include "io/events.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FAR_MM 30   /* end points farther than this from every crystal are of another scanner */
#define ON_BIN 1e-3 /* times this near to the centre of a bin, in bins, lie on it */

enum { PIECE = 1 << 20 }; /* events between two looks at the request to stop */

/* End points far from every crystal: the wrong scanner, or the wrong unit. */
static void warn_if_far(struct ray *ray)
{
	int64_t far = 0, looked = 0, step = ray->e.n / 1000 + 1;
	double worst = 0;

	for (int64_t i = 0; i < ray->e.n; i += step) {
		const struct iso_event *e = ray->e.v + i;
		double p[3] = { e->p1[0], e->p1[1], e->p1[2] }, d = 0;

		if (iso_event_bad(e)) continue;
		iso_scanner_nearest(ray->s, p, &d);
		looked++;
		far += d > FAR_MM;
		worst = fmax(worst, d);
	}
	if (far)
		record_warn(
			ray->p->record,
			"%s: %" PRId64 " of %" PRId64
			" end points looked at lie more than %d mm from every crystal of %s, up to %.0f mm",
			ray->events, far, looked, FAR_MM, iso_scanner_name(ray->s), worst);
}

/* Decay and shares of a frame count on a scan from 0 to its duration. */
static void warn_if_late(struct ray *ray)
{
	uint32_t last = 0;

#pragma omp parallel for num_threads(iso_ctx_threads(ray->p->ctx)) reduction(max : last)
	for (int64_t i = 0; i < (ray->e.time_ms ? ray->e.n : 0); i++)
		last = ray->e.time_ms[i] > last ? ray->e.time_ms[i] : last;
	if (ray->e.duration_s > 0 && last > 1e3 * ray->e.duration_s)
		record_warn(
			ray->p->record,
			"%s: has events up to %g s, though the scan took %g s; 'duration-s' says otherwise",
			ray->events, 1e-3 * last, ray->e.duration_s);
}

/* From the file: all of it, a sample where it stays on disk or the run is dry. */
static int load_file(struct ray *ray, int need)
{
	int st;

	if (need & MODEL_MAY_STREAM && (st = ray_disk_open(ray))) return st;
	if (ray->p->record->dry_run && !ray->disk && (st = ray_sample(ray))) return st;
	if (!ray->disk && !ray->dry &&
	    ((st = ray_read_events(ray, &ray->e, ray->events, &ray->read)) || (st = ray_disk_turn(ray))))
		return st;
	return record_input(ray->p->record, ray->events);
}

int ray_read_events(struct ray *ray, struct iso_events *e, const char *path,
                    const struct iso_events_options *o)
{
	struct iso_hash hash;
	int st = iso_events_read_hashed(e, &hash, path, o);

	if (st) return st;
	record_hashed(ray->p->record, &hash);
	return ISO_OK;
}

/* Which of them are usable is found here: the caller need not have counted. */
int ray_given_events(struct ray *ray, struct iso_events *e, const char *path)
{
	int st = iso_events_copy(e, &record_given(ray->p->record, path)->events);
	int64_t bad = 0;

	if (st) return st;
#pragma omp parallel for num_threads(iso_ctx_threads(ray->p->ctx)) reduction(+ : bad)
	for (int64_t i = 0; i < e->n; i++) bad += iso_event_bad(e->v + i);
	e->n_bad = bad;
	if (bad == e->n)
		return iso_refuse(
			path, "none of its %" PRId64 " events is usable: not finite, or both ends the same",
			e->n);
	return record_piped(ray->p->record, path, e->v, e->n * (int64_t)sizeof *e->v);
}

int ray_load_events(struct ray *ray, int need)
{
	static const struct model_frame whole = { true, .factor = 1, .share = 1, .share_randoms = 1,
		                                  .pile_up = 1 };
	int st;

	if (!ray->events) return iso_fail(ISO_EARG, "'events' is missing");
	ray->read.scanner = ray->s;
	ray->read.ctx = ray->p->ctx;
	if (record_given(ray->p->record, ray->events)->events.v) {
		st = ray_given_events(ray, &ray->e, ray->events);
	} else {
		st = load_file(ray, need);
	}
	if (st || (st = iso_ctx_poll(ray->p->ctx))) return st;
	if (!ray->disk && !ray->dry) {
		ray->n = ray->e.n;
		events_warn(ray->p->record, ray->events, &ray->e);
	}
	if (ray->s) warn_if_far(ray);
	if (problem_given(ray->p, "duration-s")) ray->e.duration_s = ray->duration_s;
	ray->p->found.duration_s = ray->e.duration_s;
	ray->p->found.on_disk = ray->disk;
	warn_if_late(ray);
	return ray_select(ray->p, &whole);
}

/* ---- time of flight ---- */

/* Whether every time is the centre of a bin of this width. False also where the run was asked to stop: whoever
   comes next looks. */
static bool times_are_centres(struct ray *ray, double bin_ps)
{
	bool all = true;

	for (int64_t first = 0; first < ray->e.n && all; first += PIECE) {
		int64_t end = ray->e.n - first < PIECE ? ray->e.n : first + PIECE;

		if (iso_stopped(ray->p->ctx)) return false;
#pragma omp parallel for num_threads(iso_ctx_threads(ray->p->ctx)) reduction(&& : all)
		for (int64_t i = first; i < end; i++) {
			double t = ray->e.v[i].dt_ps / bin_ps;

			all = all && (fabs(t - round(t)) <= ON_BIN || iso_event_bad(ray->e.v + i));
		}
	}
	return all;
}

static void warn_of_override(struct ray *ray, const char *name, double given, double of_file)
{
	if (of_file > 0 && of_file != given)
		record_warn(ray->p->record, "%s: says %g ps; '%s' %g takes its place", ray->events, of_file,
		            name, given);
}

/* The width in force: the option's, the file's, or the scanner's if the times are binned so. */
static void load_bin(struct ray *ray)
{
	double of_scanner = ray->s ? iso_scanner_tof_bin_ps(ray->s) : 0;
	bool given = problem_given(ray->p, "tof-bin-ps");

	if (given) warn_of_override(ray, "tof-bin-ps", ray->tof_bin_ps, ray->e.tof_bin_ps);
	if (given || ray->e.tof_bin_ps > 0)
		ray->bin = given ? ray->tof_bin_ps : ray->e.tof_bin_ps;
	else if (of_scanner > 0 && times_are_centres(ray, of_scanner))
		ray->bin = of_scanner;
}

/* The resolution in force: the option's, else the file's, else the scanner's if the events carry times. */
int ray_load_tof(struct ray *ray)
{
	bool given = problem_given(ray->p, "tof-fwhm-ps"), of_file = !given && ray->e.tof_fwhm_ps > 0;
	bool times = of_file;

	if (given) warn_of_override(ray, "tof-fwhm-ps", ray->tof_fwhm_ps, ray->e.tof_fwhm_ps);
	ray->tof = given     ? ray->tof_fwhm_ps
	           : of_file ? ray->e.tof_fwhm_ps
	           : ray->s  ? iso_scanner_tof_fwhm_ps(ray->s)
	                     : 0;
	for (int64_t i = 0; i < ray->e.n && !times; i++) times = ray->e.v[i].dt_ps != 0;
	if (iso_stopped(ray->p->ctx)) return iso_ctx_poll(ray->p->ctx);
	if (ray->tof > 0 && !times && given)
		return iso_fail(ISO_EINPUT, "%s: all time differences are 0; 'tof-fwhm-ps' %g can't be used",
		                ray->events, ray->tof);
	if (ray->tof > 0 && !times) {
		record_warn(ray->p->record,
		            "%s: all time differences are 0: the scanner's time of flight is not used",
		            ray->events);
		ray->tof = 0;
	}
	if (ray->tof > 0)
		load_bin(ray);
	else if (ray->tof_bin_ps > 0)
		return iso_fail(ISO_EARG,
		                "'tof-bin-ps' is %g, but no time of flight is used: 'tof-fwhm-ps' gives its "
		                "resolution",
		                ray->tof_bin_ps);
	int st = record_result(ray->p->record, "tof_fwhm_ps", record_real(ray->tof));

	return st ? st : record_result(ray->p->record, "tof_bin_ps", record_real(ray->bin));
}

/* ---- frames ---- */

/* dst[j] = src[number[j]], items of `size` bytes; nothing where there is no src. */
static int gather(void *dst, const void *src, size_t size, int64_t n, const int64_t *number,
                  const iso_ctx *ctx)
{
	void *v = NULL;

	if (src && n > 0 && !(v = size_alloc(n, (int64_t)size)))
		return iso_fail_memory("events of a frame", n * (int64_t)size);
#pragma omp parallel for num_threads(iso_ctx_threads(ctx))
	for (int64_t j = 0; j < (v ? n : 0); j++)
		if (!iso_stopped(ctx))
			memcpy((char *)v + (size_t)j * size, (const char *)src + (size_t)number[j] * size,
			       size);
	*(void **)dst = v;
	return iso_ctx_poll(ctx);
}

static int gather_all(struct iso_events *part, const struct iso_events *e, const int64_t *number,
                      const iso_ctx *ctx)
{
	int64_t n = part->n;
	int st;

	part->v = NULL;
	part->time_ms = part->crystal = NULL;
	part->count = part->mult = part->add = NULL;
	if ((st = gather(&part->v, e->v, sizeof *e->v, n, number, ctx))) return st;
	if ((st = gather(&part->time_ms, e->time_ms, sizeof *e->time_ms, n, number, ctx))) return st;
	if ((st = gather(&part->count, e->count, sizeof *e->count, n, number, ctx))) return st;
	if ((st = gather(&part->mult, e->mult, sizeof *e->mult, n, number, ctx))) return st;
	if ((st = gather(&part->add, e->add, sizeof *e->add, n, number, ctx))) return st;
	return gather(&part->crystal, e->crystal, 2 * sizeof *e->crystal, n, number, ctx);
}

static bool in_order(const struct iso_events *e, const iso_ctx *ctx)
{
	bool rises = true;

#pragma omp parallel for num_threads(iso_ctx_threads(ctx)) reduction(&& : rises)
	for (int64_t i = 1; i < e->n; i++) rises = rises && e->time_ms[i] >= e->time_ms[i - 1];
	return rises;
}

static int compare_numbers(const void *a, const void *b)
{
	int64_t p = *(const int64_t *)a, q = *(const int64_t *)b;

	return (p > q) - (p < q);
}

enum { DIGIT = 11 }; /* bits of a time that one pass of the sort looks at */

/* dst = the numbers in src by one digit of their times, those of equal digits as they were; not all of them
   where the run was asked to stop. */
static void sort_by_digit(int64_t *dst, const int64_t *src, const struct iso_events *e, int shift,
                          const iso_ctx *ctx)
{
	int64_t first[(1 << DIGIT) + 1] = { 0 };

	for (int64_t i = 0; i < e->n; i++) first[(e->time_ms[i] >> shift & ((1 << DIGIT) - 1)) + 1]++;
	for (int k = 0; k < 1 << DIGIT; k++) first[k + 1] += first[k];
	for (int64_t i = 0; i < e->n && !iso_stopped(ctx); i++)
		dst[first[e->time_ms[src[i]] >> shift & ((1 << DIGIT) - 1)]++] = src[i];
}

/* The numbers of events by time, where that is not their order: those of a frame are then one stretch
   of them. */
static int sort_times(struct ray_times *t, const struct iso_events *e, const iso_ctx *ctx)
{
	int64_t *a, *b, *c;

	if (t->known || in_order(e, ctx)) {
		t->known = true;
		return ISO_OK;
	}
	a = size_alloc(e->n, sizeof *a);
	b = size_alloc(e->n, sizeof *b);
	if (!a || !b) {
		free(a);
		free(b);
		return iso_fail_memory("order of events", 2 * e->n * (int64_t)sizeof *a);
	}
	for (int64_t i = 0; i < e->n; i++) a[i] = i;
	for (int shift = 0; shift < 32 && !iso_stopped(ctx); shift += DIGIT, c = a, a = b, b = c)
		sort_by_digit(b, a, e, shift, ctx);
	free(b);
	if (iso_stopped(ctx))
		free(a);
	else
		*t = (struct ray_times){ true, a };
	return iso_ctx_poll(ctx);
}

/* How many events are earlier than this time. */
static int64_t count_before(const struct iso_events *e, const int64_t *by_time, double time_s)
{
	int64_t low = 0, high = e->n;

	while (low < high) {
		int64_t middle = low + (high - low) / 2;

		if (e->time_ms[by_time ? by_time[middle] : middle] >= 1e3 * time_s)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

int ray_between(struct iso_events *part, int64_t **number, const struct iso_events *e, struct ray_times *t,
                const struct model_frame *f, const iso_ctx *ctx)
{
	struct iso_events r = *e;
	int64_t *chosen, first, bad = 0;
	int st = sort_times(t, e, ctx);

	if (st) return st;
	first = count_before(e, t->number, f->from_s);
	r.n = count_before(e, t->number, f->to_s) - first;
	if (!(chosen = size_alloc(r.n + 1, sizeof *chosen))) /* never of no size */
		return iso_fail_memory("events of a frame", r.n * (int64_t)sizeof *chosen);
	for (int64_t j = 0; j < r.n; j++) chosen[j] = t->number ? t->number[first + j] : first + j;
	if (t->number) qsort(chosen, (size_t)r.n, sizeof *chosen, compare_numbers);
#pragma omp parallel for num_threads(iso_ctx_threads(ctx)) reduction(+ : bad)
	for (int64_t j = 0; j < r.n; j++)
		if (!iso_stopped(ctx)) bad += iso_event_bad(e->v + chosen[j]);
	r.n_bad = bad;
	if ((st = gather_all(&r, e, chosen, ctx))) {
		iso_events_free(&r);
		free(chosen);
		return st;
	}
	*part = r;
	*number = chosen;
	return ISO_OK;
}

void ray_unselect(struct ray *ray)
{
	if (ray->number) iso_events_free(&ray->now);
	free(ray->number);
	ray->number = NULL;
	ray->now = (struct iso_events){ 0 };
}

int ray_select(iso_problem *problem, const struct model_frame *f)
{
	struct ray *ray = problem->self;
	int st = ISO_OK;

	ray_unselect(ray);
	ray->frame = *f;
	if (!f->all && (ray->e.count || !ray->e.time_ms))
		return iso_fail(ISO_EINPUT, "%s: %s; 'from-s', 'to-s' and 'frames' can't be used",
		                ray->events,
		                ray->e.count ? "a histogram, with counts of the whole scan"
		                             : "holds no times of its events");
	if (ray->disk) return ray_disk_select(ray, f);
	if (f->all)
		ray->now = ray->e;
	else
		st = ray_between(&ray->now, &ray->number, &ray->e, &ray->times, f, problem->ctx);
	problem->found.rows = ray->dry ? ray->n : ray->now.n;
	return st;
}
