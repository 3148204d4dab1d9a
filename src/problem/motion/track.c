/* SPDX-License-Identifier: BSD-3-Clause */
/* The motion of a head from its events: frames become images, which are registered to a reference; then, a round later,
   to the mean of all frames, moved to where the reference lies. */
#include "track.h"

#include "core/progress.h"
#include "core/room.h"
#include "core/size.h"
#include "core/sized.h"
#include "io/events.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define KEPT_BYTES ((int64_t)1 << 30) /* images of frames; those beyond are made again each round */
#define MOST_FRAMES 1000000
#define VOXEL_MM 4
#define RADIUS_MM 70. /* what a rotation by 1 rad is worth: a head's radius */
#define JUMP_MM 30
#define DEVIATIONS 6
#define LEAST_DROP \
	.05 /* of a correlation: frames that are moved, and so smoothed, correlate better with a mean of such */

struct track {
	iso_ctx *ctx;
	struct iso_track p; /* with the defaults */
	struct track_images images;
	struct track_mu mu;
	struct track_cutter cutter;
	iso_register *reference;
	struct iso_tracked found;
	struct track_frame *cut; /* of each frame in `found` */
	iso_real **kept;         /* image of each frame, or NULL */
	int64_t room, kept_bytes;
	iso_real *x, *y; /* work */
	double *sum;
	struct iso_clock clock;
	int64_t events; /* of all rounds so far */
};

/* ---- frames and their images ---- */

static int grow(struct track *t)
{
	int64_t room = t->room ? 2 * t->room : 64;
	struct iso_tracked_frame *frame = realloc(t->found.frame, (size_t)room * sizeof *frame);

	if (frame) t->found.frame = frame;
	struct track_frame *cut = frame ? realloc(t->cut, (size_t)room * sizeof *cut) : NULL;

	if (cut) t->cut = cut;
	iso_real **kept = cut ? realloc(t->kept, (size_t)room * sizeof *kept) : NULL;

	if (!kept) return iso_fail_memory("motion", room * (int64_t)(sizeof *frame + sizeof *cut));
	t->kept = kept;
	t->room = room;
	return ISO_OK;
}

/* The frames of the whole list, known before the first image. */
static int cut_frames(struct track *t)
{
	int st = ISO_OK;

	while (!st && track_cutter_more(&t->cutter)) {
		int64_t k = t->found.n;

		if (k >= MOST_FRAMES)
			return iso_fail(ISO_EARG, "motion: there are more than %d frames of %g s",
			                MOST_FRAMES, t->p.frame_s);
		if (k >= t->room && (st = grow(t))) return st;
		if ((st = track_cutter_next(&t->cut[k], &t->cutter)) || (st = iso_ctx_poll(t->ctx)))
			return st;
		t->kept[k] = NULL;
		t->found.frame[k] = (struct iso_tracked_frame){ .from_s = 1e-3 * (double)t->cut[k].from_ms,
			                                        .to_s = 1e-3 * (double)t->cut[k].to_ms,
			                                        .events = t->cut[k].n,
			                                        .correlation = NAN,
			                                        .pose = iso_pose_identity() };
		t->found.n++;
	}
	return st;
}

/* Kept if there is room. *x belongs to the track, and stays until the next image. */
static int image_of(const iso_real **x, struct track *t, int64_t k)
{
	int64_t bytes = iso_grid_voxels(&t->found.grid) * (int64_t)sizeof **x;
	int st = ISO_OK;

	if (!t->kept[k]) {
		if ((st = track_image(t->x, &t->images, &t->cut[k], track_mu_sens(&t->mu, &t->images, k))))
			return st;
		bool fits =
			t->kept_bytes + bytes <= KEPT_BYTES && iso_memory_check(t->ctx, "frames", bytes) == 0;

		if (fits && (t->p.rounds > 1 || k < t->p.reference_frames))
			t->kept[k] = malloc((size_t)bytes);
		if (t->kept[k]) memcpy(t->kept[k], t->x, (size_t)bytes);
		t->kept_bytes += t->kept[k] ? bytes : 0;
	}
	*x = t->kept[k] ? t->kept[k] : t->x;
	return ISO_OK;
}

/* ---- references ---- */

static int set_reference(struct track *t, const iso_real *x)
{
	iso_register *r = NULL;
	int st = iso_register_create(&r, t->ctx, &t->found.grid, x);

	if (st) return st;
	iso_register_free(t->reference);
	t->reference = r;
	return ISO_OK;
}

/* The mean of the first frames as they are, or of all that are known, moved. */
static int mean_reference(struct track *t, int64_t frames, bool moved)
{
	int64_t n = iso_grid_voxels(&t->found.grid);
	int st = ISO_OK;

	memset(t->sum, 0, (size_t)n * sizeof *t->sum);
	for (int64_t k = 0; k < frames && !st; k++) {
		const iso_real *x = NULL;

		if (t->cut[k].n < 1 || (moved && !t->found.frame[k].known)) continue;
		st = image_of(&x, t, k);
		if (!st && moved) {
			st = iso_register_resample(t->y, t->ctx, &t->found.grid, x, &t->found.frame[k].pose);
			x = t->y;
		}
		for (int64_t i = 0; i < n && !st; i++) t->sum[i] += (double)x[i];
		if (!st) st = iso_ctx_poll(t->ctx);
	}
	for (int64_t i = 0; i < n && !st; i++) t->y[i] = (iso_real)(t->sum[i] / (double)frames);
	return st ? st : set_reference(t, t->y);
}

/* An image of the user's, smoothed as the frames are. */
static int given_reference(struct track *t, const struct iso_array *a)
{
	struct iso_volume v = { .v = a->v };

	for (int k = 0; k < 3; k++) {
		v.dim[k] = a->grid.n[k];
		v.affine[k][k] = a->grid.voxel[k];
		v.affine[k][3] = a->grid.centre[k] - .5 * (double)(v.dim[k] - 1) * a->grid.voxel[k];
	}
	int st = iso_volume_resample(t->y, NULL, t->ctx, &t->found.grid, &v, t->p.smooth_mm);

	return st ? st : set_reference(t, t->y);
}

static int first_reference(struct track *t)
{
	int64_t n = t->p.reference_frames < t->found.n ? t->p.reference_frames : t->found.n;

	return t->p.reference ? given_reference(t, t->p.reference) : mean_reference(t, n, false);
}

/* ---- which frames are known ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, int64_t n)
{
	qsort(v, (size_t)n, sizeof *v, by_value);
	return n % 2 ? v[n / 2] : .5 * (v[n / 2 - 1] + v[n / 2]);
}

/* Frames below are outliers. -1: there is nothing to compare. */
static int least_correlation(double *least, const struct track *t)
{
	double *v = size_alloc(t->found.n, sizeof *v), middle;
	int64_t n = 0;

	if (!v) return iso_fail_memory("motion", t->found.n * (int64_t)sizeof *v);
	for (int64_t k = 0; k < t->found.n; k++)
		if (isfinite(t->found.frame[k].correlation)) v[n++] = t->found.frame[k].correlation;
	*least = -1;
	if (n > 0) {
		middle = median(v, n);
		for (int64_t i = 0; i < n; i++) v[i] = fabs(v[i] - middle);
		*least = middle - fmax(DEVIATIONS * median(v, n), LEAST_DROP);
	}
	free(v);
	return ISO_OK;
}

/* How far the object goes between two poses: its centre by the translation, its rim by the rotation. */
static double way(const struct track *t, const struct iso_pose *a, const struct iso_pose *b)
{
	double p[3], q[3], d = 0, trace = 0;

	iso_pose_apply(p, a, t->found.grid.centre);
	iso_pose_apply(q, b, t->found.grid.centre);
	for (int i = 0; i < 3; i++) {
		d += (p[i] - q[i]) * (p[i] - q[i]);
		for (int j = 0; j < 3; j++) trace += a->m[4 * i + j] * b->m[4 * i + j];
	}
	return sqrt(d) + RADIUS_MM * acos(fmin(1, fmax(-1, .5 * (trace - 1))));
}

/* Whether frame k is far from the nearest frame that has a pose, in one direction of time; *any: there is one. */
static bool far_from(bool *any, const struct track *t, int64_t k, int64_t step)
{
	for (int64_t i = k + step; i >= 0 && i < t->found.n; i += step) {
		const struct iso_tracked_frame *f = &t->found.frame[i];

		if (!isfinite(f->correlation)) continue;
		*any = true;
		return way(t, &f->pose, &t->found.frame[k].pose) > JUMP_MM;
	}
	return true;
}

static int judge(struct track *t)
{
	struct iso_tracked *r = &t->found;
	double least = -1;
	int st = least_correlation(&least, t);

	r->outliers = r->empty = 0;
	for (int64_t k = 0; k < r->n && !st; k++) {
		struct iso_tracked_frame *f = &r->frame[k];
		bool any = false, before = far_from(&any, t, k, -1), after = far_from(&any, t, k, 1);

		f->known = f->correlation >= least && !(any && before && after);
		r->empty += f->events < 1;
		r->outliers += f->events > 0 && !f->known;
	}
	return st;
}

/* ---- rounds ---- */

/* The search begins where this frame was a round ago, else at the last pose or at the reference, whichever fits better. */
static int register_frame(struct track *t, int64_t k, struct iso_pose *last, bool again)
{
	struct iso_tracked_frame *f = &t->found.frame[k];
	struct iso_pose start[2] = { f->pose, *last };
	struct iso_registered r = { .size = sizeof r };
	const iso_real *x = NULL;
	int st = image_of(&x, t, k);

	if (!st) st = iso_register_find(&r, t->reference, x, start, again && f->known ? 1 : 2);
	if (st) return st;
	f->steps = r.steps;
	f->correlation = r.correlation;
	f->pose = r.pose;
	if (r.ended) *last = r.pose;
	return ISO_OK;
}

/* With a map, each round has images of its own: the map lies where the round before has found the head. */
static int attenuate(struct track *t)
{
	for (int64_t k = 0; k < t->found.n; k++) {
		free(t->kept[k]);
		t->kept[k] = NULL;
	}
	t->kept_bytes = 0;
	return track_mu_find(&t->mu, &t->images, &t->p, &t->found);
}

static int round_of(struct track *t, int number)
{
	struct iso_pose last = iso_pose_identity();
	int64_t all = iso_event_file_info(t->images.file)->n * t->p.rounds;
	int st = t->p.mu ? attenuate(t) : ISO_OK;

	if (!st) st = number == 1 ? first_reference(t) : mean_reference(t, t->found.n, true);
	for (int64_t k = 0; k < t->found.n && !st; k++) {
		char note[80];

		if (t->cut[k].n > 0) st = register_frame(t, k, &last, number > 1);
		t->events += t->cut[k].n;
		snprintf(note, sizeof note, "round %d, frame %" PRId64 " of %" PRId64, number, k + 1,
		         t->found.n);
		iso_clock_step(&t->clock, t->events < all ? t->events : all, note);
		if (!st) st = iso_ctx_poll(t->ctx);
	}
	return st ? st : judge(t);
}

static int run(struct track *t)
{
	int64_t n = iso_grid_voxels(&t->found.grid);
	struct iso_room room = iso_room_of(NULL, "motion");
	int st;

	ISO_HOST(&room, t->x, n);
	ISO_HOST(&room, t->y, n);
	ISO_HOST(&room, t->sum, n);
	if (!(st = room.status)) st = cut_frames(t);
	t->clock = iso_clock_start_of(t->ctx, "motion", "events", 0,
	                              iso_event_file_info(t->images.file)->n * t->p.rounds);
	for (int k = 1; k <= t->p.rounds && !st; k++) st = round_of(t, k);
	t->found.tof_fwhm_ps = t->images.ray.tof_fwhm_ps;
	iso_room_free(&room);
	return st;
}

/* ---- parameters ---- */

static int check(const struct iso_track *p)
{
	if (!(p->frame_s >= .01 && p->frame_s <= 1e6))
		return iso_fail(ISO_EARG, "motion: 'frame_s' is %g s, must be 0.01 to 1e6", p->frame_s);
	if (p->events < 0)
		return iso_fail(ISO_EARG, "motion: 'events' is %" PRId64 ", must be at least -1", p->events);
	if (p->reference_frames < 1 || p->rounds < 1 || p->rounds > 20)
		return iso_fail(ISO_EARG,
		                "motion: %d frames of the reference and %d rounds, must be at least 1, and "
		                "at most 20 rounds",
		                p->reference_frames, p->rounds);
	if (p->iterations < 1 || p->iterations > 1000)
		return iso_fail(ISO_EARG, "motion: 'iterations' is %d, must be 1 to 1000", p->iterations);
	if (!(p->smooth_mm >= 0 && p->smooth_mm <= 100))
		return iso_fail(ISO_EARG, "motion: 'smooth_mm' is %g, must be 0 to 100", p->smooth_mm);
	if (p->reference && (!p->reference->has_grid || !p->reference->v))
		return iso_fail(ISO_EARG, "motion: the reference has no grid or no values");
	if (p->mu && (!p->mu->has_grid || !p->mu->v))
		return iso_fail(ISO_EARG, "motion: 'mu' has no grid or no values");
	int st = p->reference ? iso_grid_check(&p->reference->grid) : ISO_OK;

	return !st && p->mu ? iso_grid_check(&p->mu->grid) : st;
}

static int settle(struct track *t, const struct iso_track *given, const iso_event_file *f)
{
	struct iso_track *p = &t->p;
	int st = iso_sized_take(p, "iso_track", sizeof *p, given);

	if (st) return st;
	if (p->frame_s == 0) p->frame_s = 1;
	p->events = p->events == 0 ? 400000 : p->events == -1 ? 0 : p->events < -1 ? p->events : p->events;
	if (p->reference_frames == 0) p->reference_frames = 2;
	if (p->rounds == 0) p->rounds = 2;
	if (p->iterations == 0) p->iterations = 4;
	if (p->smooth_mm == 0) p->smooth_mm = 6;
	if ((st = check(p))) return st;
	if (!p->scanner) p->scanner = iso_event_file_scanner(f);
	if (!p->scanner)
		return iso_fail(ISO_EARG, "%s: does not say what scanner it is of; give 'scanner'", f->path);
	for (int a = 0; a < 3; a++)
		if (p->grid.voxel[a] == 0) p->grid.voxel[a] = VOXEL_MM;
	if ((p->grid.n[0] == 0 || p->grid.n[1] == 0 || p->grid.n[2] == 0) &&
	    (st = iso_scanner_grid(&p->grid, p->scanner)))
		return st;
	t->found.grid = p->grid;
	return iso_grid_check(&p->grid);
}

int iso_track_plan(struct iso_plan *plan, iso_ctx *ctx, const iso_event_file *f, const struct iso_track *p)
{
	if (!plan || !ctx || !f || !p) return iso_fail_null(__func__);
	const struct iso_events_info *i = iso_event_file_info(f);
	struct track t = { .ctx = ctx };
	int st = settle(&t, p, f);

	if (st) return st;
	struct iso_ray_sens sens = track_sens(t.p.scanner, &t.p.grid);
	struct iso_ray ray = { .size = sizeof ray, .grid = t.p.grid, .n_sub = 1 };
	double whole = i->duration_s > t.p.frame_s ? i->duration_s : t.p.frame_s;
	int64_t a_frame = (int64_t)((double)i->n * t.p.frame_s / whole), n = iso_grid_voxels(&t.p.grid);
	int64_t frames, kept;

	if (a_frame < t.p.events) a_frame = t.p.events;
	if (a_frame > i->n || a_frame < 1) a_frame = i->n;
	frames = i->n / (a_frame > 0 ? a_frame : 1) + 1;
	kept = KEPT_BYTES / (n * (int64_t)sizeof(iso_real));
	iso_plan_add(plan, "events of a frame", a_frame, sizeof(struct iso_event) + 4, false);
	iso_plan_add(plan, "sensitivity, reference and a frame", n, 9 * sizeof(iso_real) + 8, false);
	iso_plan_add(plan, "images of frames", frames < kept ? frames : kept, n * (int64_t)sizeof(iso_real),
	             false);
	if (t.p.mu) {
		sens.mu = t.p.mu;
		iso_plan_add(plan, "sensitivities with attenuation",
		             2 + (frames < TRACK_POSES ? frames : TRACK_POSES), n * (int64_t)sizeof(iso_real),
		             false);
	}
	iso_ray_sens_plan(plan, ctx, &sens);
	iso_ray_plan(plan, ctx, &ray, a_frame);
	iso_em_plan(plan, ctx, n, a_frame, 1, 0);
	return ISO_OK;
}

static void track_free(struct track *t)
{
	for (int64_t k = 0; k < t->found.n; k++) free(t->kept[k]);
	free(t->kept);
	free(t->cut);
	track_cutter_end(&t->cutter);
	track_images_end(&t->images);
	track_mu_free(&t->mu);
	iso_register_free(t->reference);
}

int iso_track_events(struct iso_tracked *found, iso_ctx *ctx, const iso_event_file *f,
                     const struct iso_track *p)
{
	if (!found || !ctx || !f || !p) return iso_fail_null(__func__);
	struct track t = { .ctx = ctx, .images = { .ctx = ctx, .file = f }, .found.size = sizeof t.found };
	int st = settle(&t, p, f);

	if (!st && !(st = track_cutter_begin(&t.cutter, f, t.p.frame_s, t.p.events)) &&
	    !(st = track_images_begin(&t.images, &t.p, t.p.scanner)))
		st = run(&t);
	if (!st) st = iso_sized_put(found, "iso_tracked", sizeof t.found, &t.found);
	track_free(&t);
	if (st) free(t.found.frame);
	return st;
}

void iso_tracked_free(struct iso_tracked *found)
{
	if (!found) return;
	free(found->frame);
	found->frame = NULL;
	found->n = 0;
}

int iso_tracked_poses(iso_poses **p, const struct iso_tracked *found)
{
	if (!p || !found || (found->n > 0 && !found->frame)) return iso_fail_null(__func__);
	double(*rows)[13] = size_alloc(found->n, sizeof *rows);

	if (!rows) return iso_fail_memory("motion", found->n * (int64_t)sizeof *rows);
	for (int64_t k = 0; k < found->n; k++) {
		const struct iso_tracked_frame *f = &found->frame[k];

		rows[k][0] = .5 * (f->from_s + f->to_s);
		for (int i = 0; i < 12; i++) rows[k][1 + i] = f->known ? f->pose.m[i] : NAN;
	}
	int st = iso_poses_create(p, rows[0], found->n, 13, NULL, "motion");

	free(rows);
	return st;
}
