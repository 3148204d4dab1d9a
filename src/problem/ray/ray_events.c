/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of model ray: read, and chosen by their time. */
#include "model_ray.h"

#include "problem/inputs.h"

#include "core/size.h"
#include "io/events.h"
#include "scanner/scanner.h"

#define ON_BIN 1e-3 /* times this near to the centre of a bin, in bins, lie on it */

enum { PIECE = 1 << 20 }; /* events between two looks at the request to stop */

/* Sums and greatest over the events of all ranks, from those of this rank; nothing where each has them all. */
static int of_all(const struct ray_problem *ray, int64_t *sum, int n, double *greatest)
{
	iso_ctx *ctx = ray->p->ctx;
	int st = ray->dealt && n > 0 ? iso_comm_sum(ctx, ISO_OK, sum, n) : ISO_OK;

	return ray->dealt ? iso_comm_max(ctx, st, greatest, 1) : st;
}

/* Decay and shares of a frame count on a scan from 0 to its duration. */
static int warn_if_late(struct ray_problem *ray)
{
	uint32_t last = 0;
	double latest;
	int st;

#pragma omp parallel for num_threads(iso_ctx_threads(ray->p->ctx)) reduction(max : last)
	for (int64_t i = 0; i < (ray->e.time_ms ? ray->e.n : 0); i++)
		last = ray->e.time_ms[i] > last ? ray->e.time_ms[i] : last;
	latest = last;
	if ((st = of_all(ray, NULL, 0, &latest))) return st;
	if (ray->e.duration_s > 0 && latest > 1e3 * ray->e.duration_s)
		record_warn(
			ray->p->record,
			"%s: has events up to %g s, though the scan took %g s; 'duration-s' says otherwise",
			ray->events, 1e-3 * latest, ray->e.duration_s);
	return ISO_OK;
}

/* What the file says besides events. */
static void heed_info(struct ray_problem *ray, const struct iso_events_info *i)
{
	if (i->ignored[0]) record_warn(ray->p->record, "%s: not used: %s", ray->events, i->ignored);
	if (i->warning[0]) record_warn(ray->p->record, "%s: %s", ray->events, i->warning);
	if (i->assumed[0])
		record_tell(ray->p->record, ISO_NEWS, "%s: it is assumed that %s", ray->events, i->assumed);
	if (i->isotope[0] && !problem_given(ray->p, "isotope") && !problem_given(ray->p, "half-life-s"))
		record_tell(ray->p->record, ISO_DETAIL,
		            "%s: isotope %s; decay is corrected for with 'isotope'", ray->events, i->isotope);
	if (i->calibration > 0 && !problem_given(ray->p, "calibration"))
		record_warn(ray->p->record,
		            "%s: has a calibration factor, %g; 'calibration' events makes an image in Bq/ml "
		            "with it",
		            ray->events, i->calibration);
	if (!(i->max_axial_mm > 0 && ray->s)) return;
	if (iso_scanner_kind(ray->s) == ISO_DETECTORS)
		iso_scanner_limit_axial(ray->s, i->max_axial_mm);
	else
		record_warn(ray->p->record,
		            "%s: its greatest axial difference, %g mm, is not used: that of %s holds",
		            ray->events, i->max_axial_mm, iso_scanner_name(ray->s));
}

int ray_file(struct ray_problem *ray, iso_event_file **f, bool pieces)
{
	int st = ISO_OK;

	*f = NULL;
	ray->read.scanner = ray->s;
	ray->read.ctx = ray->p->ctx;
	if (!ray->events || record_given(ray->p->record, ray->events)->events.v ||
	    (!pieces && iso_events_only_whole(ray->events)))
		return ISO_OK;
	if (!ray->file) st = iso_event_file_open(&ray->file, ray->events, &ray->read);
	*f = ray->file;
	return st;
}

int ray_heed_file(struct ray_problem *ray)
{
	iso_event_file *f;
	int st = ray_file(ray, &f, false);

	if (!f) return st;
	if (ray->scanner &&
	    (st = input_scanner(ray->p->record, f, ray->events, ray->s, ray->scanner, ray->scanner_differs)))
		return st;
	heed_info(ray, iso_event_file_info(f));
	const char *assumed = iso_event_file_info(f)->assumed;
	const iso_scanner *s = iso_event_file_scanner(f);

	if (assumed[0] && (st = record_result(ray->p->record, "assumed", record_string(assumed)))) return st;
	if (s && s != ray->s && iso_scanner_note(s)[0])
		record_warn(ray->p->record, "%s: %s", iso_scanner_name(s), iso_scanner_note(s));
	return ISO_OK;
}

/* ---- reading ---- */

/* Numbers of the events that the deal gave this rank. */
static int take_numbers(struct ray_problem *ray)
{
	ray->dealt = true;
	ray->n = ray->deal.n;
	if (!(ray->in_file = size_alloc(ray->e.n, sizeof *ray->in_file)))
		return iso_fail_memory("numbers of events", ray->e.n * (int64_t)sizeof *ray->in_file);
	for (int64_t j = 0; j < ray->e.n; j++) ray->in_file[j] = iso_deal_number(&ray->deal, j);
	return ISO_OK;
}

void ray_forget_events(struct ray_problem *ray)
{
	iso_events_free(&ray->e);
	free(ray->in_file);
	ray->in_file = NULL;
	ray->dealt = false;
}

/* NULL: text. */
static int read_whole(struct ray_problem *ray, const iso_event_file *f)
{
	struct iso_hash hash;
	int st = f ? iso_event_file_read_hashed(&ray->e, &hash, f, ray->events)
	           : iso_events_read_hashed(&ray->e, &hash, ray->events, &ray->read);

	if (!st) record_hashed(ray->p->record, &hash);
	return st;
}

/* All events of the file, or this rank's; there the hash is of a sample, which record_input reads. */
static int read_whole_or_share(struct ray_problem *ray)
{
	iso_ctx *ctx = ray->p->ctx;
	iso_event_file *f;
	int st = ray_file(ray, &f, false);

	if (st) return st;
	if (iso_ranks(ctx) == 1) return read_whole(ray, f);
	st = f ? iso_event_file_read_share(&ray->e, &ray->deal, f, ray->events, ctx)
	       : iso_events_read_share(&ray->e, &ray->deal, ray->events, &ray->read, ctx);
	return st ? st : take_numbers(ray);
}

/* What the caller gave every rank whole. */
static int take_given(struct ray_problem *ray)
{
	struct iso_events all = { 0 };
	int st = ray_given_events(ray, &all, ray->events);

	if (!st) {
		ray->deal = iso_deal_of(ray->p->ctx, all.n);
		st = iso_events_share(&ray->e, &all, &ray->deal);
	}
	iso_events_free(&all);
	return st ? st : take_numbers(ray);
}

/* From the file: all of it, a sample where it stays on disk or the run is dry. */
static int load_file(struct ray_problem *ray, int need)
{
	int st;

	if (need & MODEL_MAY_STREAM && (st = ray_disk_open(ray))) return st;
	if (ray->p->record->read.dry_run && !ray->disk && (st = ray_sample(ray))) return st;
	if (!ray->disk && !ray->dry && ((st = read_whole_or_share(ray)) || (st = ray_disk_turn(ray))))
		return st;
	if ((st = record_input(ray->p->record, ray->events))) return st;
	return ray->disk || ray->dry ? ISO_OK : ray_gate_files_read(ray);
}

int ray_read_one(struct ray_problem *ray)
{
	iso_event_file *f;
	int st = ray_heed_file(ray);

	if (!st && !(st = ray_file(ray, &f, false))) st = read_whole(ray, f);
	return st ? st : record_input(ray->p->record, ray->events);
}

int ray_read_events(struct ray_problem *ray, struct iso_events *e, const char *path,
                    const struct iso_events_options *o)
{
	struct iso_hash hash;
	iso_event_file *f = NULL;
	int st;

	if (iso_events_only_whole(path))
		st = iso_events_read_hashed(e, &hash, path, o);
	else if (!(st = iso_event_file_open(&f, path, o)) &&
	         ((ray->events && strcmp(path, ray->events) == 0) || /* told already */
	          !(st = input_scanner(ray->p->record, f, path, ray->s,
	                               ray->scanner ? ray->scanner : iso_scanner_name(ray->s),
	                               ray->scanner_differs))))
		st = iso_event_file_read_hashed(e, &hash, f, path);
	iso_event_file_close(f);
	if (!st) record_hashed(ray->p->record, &hash);
	return st;
}

/* Which of them are usable is found here: the caller need not have counted. */
int ray_given_events(struct ray_problem *ray, struct iso_events *e, const char *path)
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

/* What the parameters say of the scan holds, whatever the file says. */
static void heed_times(struct ray_problem *ray)
{
	const struct frames *f = &ray->p->s.frames;

	input_decay_overridden(ray->p->record, ray->events, f->isotope, f->half_life_option_s,
	                       ray->e.isotope);
	if (!problem_given(ray->p, "duration-s")) return;
	input_overridden(ray->p->record, ray->events, "duration-s", ray->duration_s, ray->e.duration_s, "s");
	ray->e.duration_s = ray->duration_s;
}

/* A part of a list, by `isotome convert`, says so in the record beside it. */
static int heed_part(struct ray_problem *ray)
{
	double *part = &ray->p->s.frames.part;
	json_t *root = NULL;
	int st = ISO_OK;

	*part = 0;
	if (record_given(ray->p->record, ray->events)->events.v || strcmp(ray->events, "-") == 0)
		return ISO_OK;
	if ((st = record_sidecar(&root, ray->events))) return st;
	*part = record_part_share(root);
	json_decref(root);
	if (*part == 0) return ISO_OK;
	record_tell(
		ray->p->record, ISO_NEWS,
		"%s: has %.4g of the events of its scan, as its record says; the image is that of the whole "
		"activity",
		ray->events, *part);
	return record_result(ray->p->record, "part_of_scan", record_real(*part));
}

int ray_load_events(struct ray_problem *ray, int need)
{
	static const struct model_frame whole = { true,       .factor = 1,        .units = 1,
		                                  .share = 1, .share_randoms = 1, .pile_up = 1 };
	int st;

	if (!ray->events) return iso_fail(ISO_EARG, "'events' is missing");
	if ((st = ray_heed_file(ray)) || (st = heed_part(ray))) return st;
	if (!record_given(ray->p->record, ray->events)->events.v)
		st = load_file(ray, need);
	else if (iso_ranks(ray->p->ctx) > 1)
		st = take_given(ray);
	else
		st = ray_given_events(ray, &ray->e, ray->events);
	if (st || (st = iso_ctx_poll(ray->p->ctx))) return st;
	if (!ray->disk && !ray->dry) {
		struct iso_events of_file = ray->e;

		of_file.n = ray->n = ray->dealt ? ray->n : ray->e.n;
		events_warn(ray->p->record, ray->events, &of_file);
	}
	heed_times(ray);
	if ((st = ray_motion_times(ray)) || (st = ray_gates_load(ray))) return st;
	ray->p->found.duration_s = ray->e.duration_s;
	ray->p->found.on_disk = ray->disk;
	ray->p->found.counted = ray->e.count || ray->precorrected;
	return (st = warn_if_late(ray)) ? st : ray_select(ray->p, &whole);
}

/* ---- time of flight ---- */

/* Whether every time of this rank's events is the centre of a bin of this width. False also where the run was asked to
   stop: whoever comes next looks. */
static bool times_are_centres(struct ray_problem *ray, double bin_ps)
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

/* The width in force: the option's, the file's, or the scanner's if the times are binned so. */
static int load_bin(struct ray_problem *ray)
{
	double of_scanner = ray->s ? iso_scanner_tof_bin_ps(ray->s) : 0, others;
	bool given = problem_given(ray->p, "tof-bin-ps");
	int st = ISO_OK;

	if (given)
		input_overridden(ray->p->record, ray->events, "tof-bin-ps", ray->tof_bin_ps,
		                 ray->e.tof_bin_ps, "ps");
	if (given || ray->e.tof_bin_ps > 0)
		ray->bin = given ? ray->tof_bin_ps : ray->e.tof_bin_ps;
	else if (of_scanner > 0) {
		others = !times_are_centres(ray, of_scanner);
		st = of_all(ray, NULL, 0, &others);
		if (others == 0) ray->bin = of_scanner;
	}
	return st;
}

/* What the events say of their resolution, if they were read or not; 0: nothing. */
static double tof_of_events(const struct ray_problem *ray)
{
	if (ray->e.tof_fwhm_ps > 0 || !ray->events) return ray->e.tof_fwhm_ps;
	return ray->file ? iso_event_file_info(ray->file)->tof_fwhm_ps
	                 : record_given(ray->p->record, ray->events)->events.tof_fwhm_ps;
}

double ray_tof_width(const struct ray_problem *ray)
{
	double of_events = tof_of_events(ray);

	if (problem_given(ray->p, "tof-fwhm-ps")) return ray->tof_fwhm_ps;
	if (of_events > 0) return of_events;
	return ray->s ? iso_scanner_tof_fwhm_ps(ray->s) : 0;
}

/* ray_tof_width; where nobody says it, and each event has its own, that of the first event of the file. */
static int first_width(double *fwhm, const struct ray_problem *ray)
{
	double first = ray->e.fwhm_ps && ray->e.n > 0 && (!ray->in_file || ray->in_file[0] == 0)
	                       ? (double)ray->e.fwhm_ps[0]
	                       : 0;

	*fwhm = ray_tof_width(ray);
	if (*fwhm > 0) return ISO_OK;
	*fwhm = first;
	return of_all(ray, NULL, 0, fwhm);
}

/* The scanner's resolution needs events that carry times. */
int ray_load_tof(struct ray_problem *ray)
{
	bool given = problem_given(ray->p, "tof-fwhm-ps"), times = !given && ray->e.tof_fwhm_ps > 0;
	double any;
	int st = ISO_OK;

	if (given)
		input_overridden(ray->p->record, ray->events, "tof-fwhm-ps", ray->tof_fwhm_ps,
		                 ray->e.tof_fwhm_ps, "ps");
	if ((st = first_width(&ray->tof, ray))) return st;
	for (int64_t i = 0; i < ray->e.n && !times; i++) times = ray->e.v[i].dt_ps != 0;
	if (iso_stopped(ray->p->ctx)) return iso_ctx_poll(ray->p->ctx);
	any = times;
	if ((st = of_all(ray, NULL, 0, &any))) return st;
	times = any > 0;
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
		st = load_bin(ray);
	else if (ray->tof_bin_ps > 0)
		return iso_fail(ISO_EARG,
		                "'tof-bin-ps' is %g, but no time of flight is used: 'tof-fwhm-ps' gives its "
		                "resolution",
		                ray->tof_bin_ps);
	if (!st) st = record_result(ray->p->record, "tof_fwhm_ps", record_real(ray->tof));
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
	part->count = part->mult = part->add = part->fwhm_ps = NULL;
	if ((st = gather(&part->v, e->v, sizeof *e->v, n, number, ctx))) return st;
	if ((st = gather(&part->time_ms, e->time_ms, sizeof *e->time_ms, n, number, ctx))) return st;
	if ((st = gather(&part->count, e->count, sizeof *e->count, n, number, ctx))) return st;
	if ((st = gather(&part->mult, e->mult, sizeof *e->mult, n, number, ctx))) return st;
	if ((st = gather(&part->add, e->add, sizeof *e->add, n, number, ctx))) return st;
	if ((st = gather(&part->fwhm_ps, e->fwhm_ps, sizeof *e->fwhm_ps, n, number, ctx))) return st;
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

enum {
	DIGIT = 11,                       /* bits of a time that one pass of the sort looks at, */
	PASSES = (32 + DIGIT - 1) / DIGIT /* and how many there are */
};

/* dst = the numbers in src by one digit of their times, those of equal digits as they were; not all of them
   where the run was asked to stop. */
static void sort_by_digit(int64_t *dst, const int64_t *src, const struct iso_events *e, int shift,
                          const iso_ctx *ctx, struct iso_clock *clock)
{
	int64_t first[(1 << DIGIT) + 1] = { 0 };

	for (int64_t i = 0; i < e->n; i++) first[(e->time_ms[i] >> shift & ((1 << DIGIT) - 1)) + 1]++;
	for (int k = 0; k < 1 << DIGIT; k++) first[k + 1] += first[k];
	for (int64_t at = 0; at < e->n; at += PIECE) {
		int64_t end = e->n - at < PIECE ? e->n : at + PIECE;

		for (int64_t i = at; i < end && !iso_stopped(ctx); i++)
			dst[first[e->time_ms[src[i]] >> shift & ((1 << DIGIT) - 1)]++] = src[i];
		iso_clock_add(clock, end - at);
	}
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
	struct iso_clock clock = iso_clock_brief(ctx, "order", "events", PASSES * e->n, "by time");

	iso_clock_count(&clock, "events", 1. / PASSES);
	for (int64_t i = 0; i < e->n; i++) a[i] = i;
	for (int shift = 0; shift < 32 && !iso_stopped(ctx); shift += DIGIT, c = a, a = b, b = c)
		sort_by_digit(b, a, e, shift, ctx, &clock);
	iso_clock_end(&clock);
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

int ray_take(struct iso_events *part, int64_t **place, const struct iso_events *e, int64_t *chosen, int64_t n,
             const iso_ctx *ctx)
{
	struct iso_events r = *e;
	int64_t bad = 0;
	int st;

	r.n = n;
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
	*place = chosen;
	return ISO_OK;
}

int ray_between(struct iso_events *part, int64_t **place, const struct iso_events *e, struct ray_times *t,
                const struct model_frame *f, const iso_ctx *ctx)
{
	int64_t *chosen, first, n;
	int st = sort_times(t, e, ctx);

	if (st) return st;
	first = count_before(e, t->number, f->from_s);
	n = count_before(e, t->number, f->to_s) - first;
	if (!(chosen = size_alloc(n + 1, sizeof *chosen))) /* never of no size */
		return iso_fail_memory("events of a frame", n * (int64_t)sizeof *chosen);
	for (int64_t j = 0; j < n; j++) chosen[j] = t->number ? t->number[first + j] : first + j;
	if (t->number) qsort(chosen, (size_t)n, sizeof *chosen, compare_numbers);
	return ray_take(part, place, e, chosen, n, ctx);
}

void ray_unselect(struct ray_problem *ray)
{
	if (ray->own_number) iso_events_free(&ray->now);
	free(ray->own_number);
	free(ray->own_in_frame);
	ray->own_number = ray->own_in_frame = NULL;
	ray->number = ray->in_frame = NULL;
	ray->now = (struct iso_events){ 0 };
}

/* Of events that are dealt: their numbers in the file, and in the frame, which other ranks have events of; *rows:
   all of the frame. Chunks of the file are counted, as those before an event tell how many are before it. */
static int number_frame(struct ray_problem *ray, int64_t *rows)
{
	int64_t chunks = iso_deal_chunks(&ray->deal), n = ray->now.n, *number = ray->own_number, *place;
	int64_t *before = size_alloc(chunks + 1, sizeof *before);
	int st;

	ray->own_in_frame = place = size_alloc(n, sizeof *place);
	st = before && place ? ISO_OK
	                     : iso_fail_memory("events of a frame", (chunks + n) * (int64_t)sizeof *place);
	for (int64_t j = 0; j < n && !st; j++) {
		number[j] = ray->in_file[number[j]];
		place[j] = before[number[j] / ray->deal.chunk + 1]++;
	}
	st = iso_comm_sum(ray->p->ctx, st, before, chunks + 1);
	for (int64_t c = 0; c < chunks && !st; c++) before[c + 1] += before[c];
	for (int64_t j = 0; j < n && !st; j++) place[j] += before[number[j] / ray->deal.chunk];
	if (!st) *rows = before[chunks];
	ray->in_frame = place;
	free(before);
	return st;
}

/* Of the events of `now`, while own_number is their places in `e`. */
static int take_gates(struct ray_problem *ray)
{
	struct ray_gates *g = &ray->gates;

	free(g->now);
	if (!(g->now = size_alloc(ray->now.n + 1, sizeof *g->now)))
		return iso_fail_memory("gates of events", ray->now.n * (int64_t)sizeof *g->now);
	for (int64_t j = 0; j < ray->now.n; j++) g->now[j] = g->of[ray->own_number[j]];
	return ISO_OK;
}

/* `now` and its numbers; *rows: of all ranks. */
static int take_frame(struct ray_problem *ray, const struct model_frame *f, int64_t *rows)
{
	int st = ISO_OK;

	if (f->all && !ray_fielded(ray)) {
		ray->now = ray->e;
		ray->number = ray->in_frame = ray->in_file;
		*rows = ray->n;
		return ISO_OK;
	}
	st = f->gate > 0 || ray_fielded(ray)
	             ? ray_gates_pick(&ray->now, &ray->own_number, ray, &ray->e, ray->gates.of)
	             : ray_between(&ray->now, &ray->own_number, &ray->e, &ray->times, f, ray->p->ctx);
	*rows = ray->now.n;
	if (!st && ray_fielded(ray)) st = take_gates(ray);
	if (ray->dealt) st = st ? iso_comm_agree(ray->p->ctx, st) : number_frame(ray, rows);
	ray->number = ray->own_number;
	return st;
}

/* A dry run has a sample alone. */
int64_t ray_events_here(const struct ray_problem *ray, int64_t n)
{
	struct iso_deal d = iso_deal_of(ray->p->ctx, n);

	return iso_deal_count(&d);
}

int ray_select(iso_problem *problem, const struct model_frame *f)
{
	struct ray_problem *ray = problem->self;
	int st = ISO_OK;

	ray_unselect(ray);
	ray->frame = *f;
	ray_gates_select(ray);
	ray_motion_select(ray);
	if (!f->all && !(f->gate > 0 && ray->p->s.frames.all) && (ray->e.count || !ray->e.time_ms))
		return iso_fail(ISO_EINPUT, "%s: %s; 'from-s', 'to-s' and 'frames' can't be used",
		                ray->events,
		                ray->e.count ? "a histogram, with counts of the whole scan"
		                             : "holds no times of its events");
	if (ray->disk) return ray_disk_select(ray, f);
	if (ray->dry && ray_fielded(ray))
		ray->now = (struct iso_events){ 0 };
	else
		st = take_frame(ray, f, &problem->found.rows);
	if (ray->dry) problem->found.rows = ray->n;
	problem->found.elsewhere =
		problem->found.rows - (ray->dry ? ray_events_here(ray, ray->n) : ray->now.n);
	problem->found.number = ray->in_frame;
	problem->found.in_file = ray->number;
	return st;
}
