/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of a list of events by time and number, and the image of a frame. */
#include "track.h"

#include "core/size.h"
#include "core/status.h"
#include "io/events.h"
#include "problem/recon.h"

#include <math.h>
#include <string.h>

enum { SCAN = 1 << 14 }; /* events whose times are read at a time */

#define PAIRS_FEW 1e6 /* crystal pairs that are sooner traced one by one than by rings */
#define PAIRS_MOST 2e7
#define FLOOR .2 /* as 'sens-floor' of model ray */

/* ---- where frames end ---- */

int track_cutter_begin(struct track_cutter *c, const iso_event_file *f, double frame_s, int64_t events)
{
	const struct iso_events_info *i = iso_event_file_info(f);
	int st;

	*c = (struct track_cutter){ .file = f, .least_ms = llround(1e3 * frame_s), .least_events = events };
	if (!i->has_time)
		return iso_fail(ISO_EARG, "%s: motion needs the times of events, which %s does not have",
		                f->path, i->format);
	if (i->has_count)
		return iso_fail(ISO_EARG, "%s: is a histogram; motion needs a list of events with times",
		                f->path);
	if (i->n < 1) return iso_fail(ISO_EINPUT, "%s: has no events", f->path);
	if ((st = iso_event_file_block(&c->scan, f, i->n < SCAN ? i->n : SCAN))) return st;
	if ((st = iso_event_file_read(&c->scan, f, 0, 1))) return st;
	c->from_ms = c->scan.time_ms[0];
	return ISO_OK;
}

void track_cutter_end(struct track_cutter *c)
{
	iso_events_free(&c->scan);
}

bool track_cutter_more(const struct track_cutter *c)
{
	return c->next < iso_event_file_info(c->file)->n;
}

static int time_of(int64_t *ms, struct track_cutter *c, int64_t event)
{
	int64_t left = iso_event_file_info(c->file)->n - event;
	int st = ISO_OK;

	if (event < c->scanned || event >= c->scanned + c->scan.n) {
		st = iso_event_file_read(&c->scan, c->file, event, left < SCAN ? left : SCAN);
		c->scanned = event;
	}
	if (!st) *ms = c->scan.time_ms[event - c->scanned];
	return st;
}

/* The first event from `at` on that is not before `end_ms`, nor of the ms of the event before `at`; *last_ms: of the
   event before it. */
static int find_end(int64_t *end, int64_t *last_ms, struct track_cutter *c, int64_t at, int64_t end_ms)
{
	int64_t n = iso_event_file_info(c->file)->n, ms = -1, enough_ms = -1;
	int st = ISO_OK;

	if (at > c->next && (st = time_of(&enough_ms, c, at - 1))) return st;
	*last_ms = enough_ms;
	for (; at < n; at++, *last_ms = ms) {
		if ((st = time_of(&ms, c, at))) return st;
		if (ms >= end_ms && ms > enough_ms) break;
	}
	*end = at;
	return ISO_OK;
}

/* A rest of less than half as many events joins the frame before it. */
int track_cutter_next(struct track_frame *f, struct track_cutter *c)
{
	int64_t n = iso_event_file_info(c->file)->n, end, last_ms;
	int64_t enough = c->least_events < n - c->next ? c->next + c->least_events : n;
	int st = find_end(&end, &last_ms, c, enough, c->from_ms + c->least_ms);

	if (st) return st;
	if (n - end < (end - c->next) / 2 && end < n) {
		end = n;
		if ((st = time_of(&last_ms, c, n - 1))) return st;
	}
	*f = (struct track_frame){ c->next, end - c->next, c->from_ms, c->from_ms + c->least_ms };
	if (last_ms >= f->to_ms || end == n) f->to_ms = last_ms + 1;
	c->next = end;
	c->from_ms = f->to_ms;
	return ISO_OK;
}

/* ---- the image of a frame ---- */

struct iso_ray_sens track_sens(const iso_scanner *s, const struct iso_grid *g)
{
	struct iso_ray_sens p = { .size = sizeof p, .grid = *g, .scanner = s, .rays = 1, .seed = 1 };
	double pairs = (double)iso_scanner_pairs(s);

	if (pairs <= PAIRS_FEW || !iso_ray_sens_by_rings(&p)) p.share = fmin(1, PAIRS_MOST / pairs);
	return p;
}

static int make_sens(struct track_images *t, const iso_scanner *s)
{
	struct sens_floor floor = { .share = FLOOR };
	struct iso_ray_sens p = track_sens(s, &t->ray.grid);
	int64_t n = iso_grid_voxels(&t->ray.grid);
	double error;
	int st;

	if (!(t->sens = size_alloc(2 * n, sizeof *t->sens)))
		return iso_fail_memory("motion", 2 * n * (int64_t)sizeof *t->sens);
	t->start = t->sens + n;
	st = iso_ray_sens(t->sens, &error, t->ctx, &p);
	if (!st && !(st = sens_floor_find(&floor, t->sens, &p.grid))) sens_floor_clear(&floor, t->sens, 1, n);
	for (int64_t i = 0; i < n && !st; i++) t->start[i] = t->sens[i] > 0;
	sens_floor_free(&floor);
	return st;
}

int track_images_begin(struct track_images *t, const struct iso_track *p, const iso_scanner *s)
{
	const struct iso_events_info *i = iso_event_file_info(t->file);

	t->ray = (struct iso_ray){ .size = sizeof t->ray, .grid = p->grid, .n_sub = 1 };
	if (p->tof_fwhm_ps >= 0 && i->has_dt) {
		double of_file = i->tof_fwhm_ps > 0 ? i->tof_fwhm_ps : iso_scanner_tof_fwhm_ps(s);

		t->ray.tof_fwhm_ps = p->tof_fwhm_ps > 0 ? p->tof_fwhm_ps : of_file;
	}
	if (t->ray.tof_fwhm_ps > 0) {
		t->ray.tof_truncate = 3;
		t->ray.tof_bin_ps = i->tof_bin_ps;
		t->ray.tof_centred = i->tof_bin_ps > 0;
	}
	t->iterations = p->iterations;
	t->filter = (struct iso_filter){ .kind = ISO_GAUSSIAN,
		                         .fwhm = { p->smooth_mm, p->smooth_mm, p->smooth_mm } };
	return make_sens(t, s);
}

void track_images_end(struct track_images *t)
{
	iso_events_free(&t->events);
	free(t->sens);
}

/* The events of a frame, whose times must not fall. */
static int read_frame(struct track_images *t, const struct track_frame *f)
{
	int st = ISO_OK;

	if (f->n > t->room) {
		iso_events_free(&t->events);
		t->room = f->n + f->n / 8;
		if ((st = iso_event_file_block(&t->events, t->file, t->room))) t->room = 0;
	}
	if (st || (st = iso_event_file_read(&t->events, t->file, f->first, f->n))) return st;
	const uint32_t *ms = t->events.time_ms;
	int64_t before = f->from_ms;

	for (int64_t i = 0; i < f->n; before = ms[i++])
		if (ms[i] < before || ms[i] >= f->to_ms)
			return iso_fail(ISO_EINPUT,
			                "%s: event %" PRId64
			                " is of %.3f s, after one of %.3f s; motion needs "
			                "events in the order of their times",
			                t->file->path, f->first + i, 1e-3 * ms[i], 1e-3 * (double)before);
	return ISO_OK;
}

/* The scanner's resolution is no use for a file whose times are all 0. */
static void check_times(struct track_images *t)
{
	for (int64_t i = 0; i < t->events.n; i++)
		if (t->events.v[i].dt_ps != 0) return;
	t->ray.tof_fwhm_ps = t->ray.tof_truncate = t->ray.tof_bin_ps = 0;
}

static int run_em(iso_real *x, struct track_images *t, const iso_real *sens)
{
	const struct iso_grid *g = &t->ray.grid;
	iso_em_state *state = NULL;
	iso_op *op = NULL;
	int st = iso_ray_create(&op, t->ctx, &t->ray, &t->events);
	struct iso_em em = { .size = sizeof em,
		             .op = op,
		             .sens = { 1, 1, sens },
		             .iterations = t->iterations,
		             .filter = &t->filter,
		             .filter_every = t->iterations,
		             .grid = *g };

	if (t->filter.fwhm[0] <= 0) em.filter = NULL;
	if (!st) st = iso_em_create(&state, &em, t->start);
	while (!st && !iso_em_finished(state)) st = iso_em_step(state);
	if (!st) st = iso_em_image(x, state);
	iso_em_free(state);
	iso_op_free(op);
	return st;
}

int track_image(iso_real *x, struct track_images *t, const struct track_frame *f, const iso_real *sens)
{
	int st;

	memset(x, 0, (size_t)iso_grid_voxels(&t->ray.grid) * sizeof *x);
	if (f->n < 1) return ISO_OK;
	if ((st = read_frame(t, f))) return st;
	if (f->first == 0) check_times(t);
	return run_em(x, t, sens);
}
