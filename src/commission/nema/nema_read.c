/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptions of runs and phantoms, and the numbers of the standards. */
#include "nema_read.h"

#include "base/fail.h"
#include "base/number.h"
#include "core/size.h"
#include "isotome/physics.h"
#include "text/moment.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char own_numbers[] =
#include "embedded/standards.yaml.h"
	;

static const char *const phantoms[] = { "nu2", "mouse", "rat", "monkey", NULL };

/* The inside of a struct conf_key. */
#define MM(key, dst, must) key, CONF_REAL, dst, 1, 1e-6, 1e5, must

/* ---- the standards' numbers ---- */

static int read_phantom(struct nema_phantom *p, const struct conf_node *n, const char *name)
{
	const struct conf_key keys[] = {
		/* The cylinder. */
		{ MM("diameter_mm", &p->diameter_mm, false) },
		/* Distance of the line source from the axis. */
		{ "offset_mm", CONF_REAL, &p->offset_mm, 1, 0, 1e5, false },
		/* By which the activity is divided. */
		{ MM("volume_ml", &p->volume_ml, true) },
		/* Bins farther from the axis count nothing. */
		{ MM("cut_mm", &p->cut_mm, true) },
		/* Half of the strip about the line. */
		{ MM("strip_mm", &p->strip_mm, true) },
		{ .name = NULL },
	};

	snprintf(p->name, sizeof p->name, "%s", name);
	return iso_conf_keys(n, keys);
}

static int read_counting(struct nema_standard *s, const struct conf_node *n)
{
	const struct conf_key keys[] = {
		/* Slices of the middle of longer scanners. */
		{ MM("length_mm", &s->length_mm, true) },
		/* At which the time resolution is stated. */
		{ MM("tof_kbq_per_ml", &s->tof_kbq_per_ml, true) },
		/* Events this near to the line. */
		{ MM("tof_reach_mm", &s->tof_reach_mm, true) },
		/* Half of the strip. */
		{ MM("tof_strip_mm", &s->tof_strip_mm, true) },
		{ .name = NULL },
	};

	return iso_conf_keys(n, keys);
}

static int list_size(const struct conf_node *map, const char *name)
{
	const struct conf_node *n = iso_conf_find(map, name);

	return n && n->type == CONF_LIST && n->n_child <= NEMA_LIST ? n->n_child : 1;
}

static int read_resolution(struct nema_standard *s, const struct conf_node *n)
{
	s->n_radii[0] = list_size(n, "radii_mm");
	s->n_radii[1] = list_size(n, "mouse_radii_mm");
	const struct conf_key keys[] = {
		/* Distances of the points from the axis. */
		{ "radii_mm", CONF_REALS, s->radii_mm[0], s->n_radii[0], 0, 1e5, true },
		/* The same of NU 4. */
		{ "mouse_radii_mm", CONF_REALS, s->radii_mm[1], s->n_radii[1], 0, 1e5, true },
		/* Profiles are sums over a window of so many FWHM. */
		{ "window_fwhm", CONF_REAL, &s->window_fwhm, 1, 0, 100, true },
		/* Fewer give a warning. */
		{ "least_events", CONF_INT, &s->least_events, 1, 0, 1e15, true },
		/* Samples a FWHM. */
		{ "least_samples", CONF_REAL, &s->least_samples[0], 1, 0, 100, true },
		/* The same of NU 4. */
		{ "mouse_least_samples", CONF_REAL, &s->least_samples[1], 1, 0, 100, true },
		{ .name = NULL },
	};

	return iso_conf_keys(n, keys);
}

static int read_accuracy(struct nema_standard *s, const struct conf_node *n)
{
	const struct conf_key keys[] = {
		/* Diameter of the disc about the axis. */
		{ MM("disc_mm", &s->disc_mm, true) },
		/* Share of the axial field of view. */
		{ "axial_share", CONF_REAL, &s->axial_share, 1, 1e-3, 1, true },
		/* Most length of these slices. */
		{ MM("length_mm", &s->accuracy_length_mm, true) },
		/* Acquisitions that the expected rate comes from. */
		{ "lowest", CONF_INT, &s->lowest, 1, 1, 128, true },
		{ .name = NULL },
	};

	return iso_conf_keys(n, keys);
}

static int read_mouse_quality(struct nema_standard *s, const struct conf_node *n)
{
	const struct conf_key keys[] = {
		/* Diameter and length of the uniform region. */
		{ "uniform_mm", CONF_REALS, s->uniform_mm, 2, 1e-6, 1e5, true },
		/* Length of the rods that is averaged. */
		{ MM("rods_length_mm", &s->rods_length_mm, true) },
		/* Diameter and length of the cold regions. */
		{ "cold_mm", CONF_REALS, s->cold_mm, 2, 1e-6, 1e5, true },
		{ .name = NULL },
	};

	return iso_conf_keys(n, keys);
}

static int read_point(struct nema_standard *s, const struct conf_node *n)
{
	s->n_point_lengths = list_size(n, "lengths_mm");
	const struct conf_key keys[] = {
		/* Rows keep the bins this near to their largest. */
		{ MM("window_mm", &s->point_window_mm, true) },
		/* Positrons a decay. */
		{ "branching", CONF_REAL, &s->point_branching, 1, 1e-6, 1, true },
		/* Middle lengths whose mean is stated. */
		{ "lengths_mm", CONF_REALS, s->point_lengths_mm, s->n_point_lengths, 1e-6, 1e5, true },
		{ .name = NULL },
	};

	return iso_conf_keys(n, keys);
}

static int read_standard(struct nema_standard *s, const struct conf_node *root)
{
	const struct conf_node *part[5] = { 0 }, *phantom[NEMA_PHANTOMS] = { 0 };
	const struct conf_key keys[] = {
		/* Cylinders with a line source. */
		{ "nu2", CONF_NODE, &phantom[0], 1, 0, 0, true },
		/* The same, of NU 4. */
		{ "mouse", CONF_NODE, &phantom[1], 1, 0, 0, true },
		/* The same, of NU 4. */
		{ "rat", CONF_NODE, &phantom[2], 1, 0, 0, true },
		/* The same, of NU 4. */
		{ "monkey", CONF_NODE, &phantom[3], 1, 0, 0, true },
		/* Scatter fraction, NECR, time resolution. */
		{ "counting", CONF_NODE, &part[0], 1, 0, 0, true },
		/* Points. */
		{ "resolution", CONF_NODE, &part[1], 1, 0, 0, true },
		/* Count losses and randoms. */
		{ "accuracy", CONF_NODE, &part[2], 1, 0, 0, true },
		/* Regions of NU 4. */
		{ "mouse_quality", CONF_NODE, &part[3], 1, 0, 0, true },
		/* Sensitivity of NU 4. */
		{ "point", CONF_NODE, &part[4], 1, 0, 0, true },
		{ .name = NULL },
	};
	int st = iso_conf_keys(root, keys);

	for (int k = 0; k < NEMA_PHANTOMS && !st; k++)
		st = read_phantom(&s->phantom[k], phantom[k], phantoms[k]);
	if (st || (st = read_counting(s, part[0])) || (st = read_resolution(s, part[1])) ||
	    (st = read_accuracy(s, part[2])) || (st = read_mouse_quality(s, part[3])))
		return st;
	return read_point(s, part[4]);
}

int iso_nema_standard_read(struct nema_standard *s, const char *path)
{
	struct conf_node *root = NULL;
	int st = path ? iso_conf_read(&root, path)
	              : iso_conf_parse(&root, "standards.yaml", own_numbers, sizeof own_numbers - 1);

	*s = (struct nema_standard){ 0 };
	if (!st) st = read_standard(s, root);
	iso_conf_free(root);
	return st;
}

/* ---- runs ---- */

/* A time as s, or an ISO time: both kinds in one description make no clock. */
struct clock {
	bool known, dated;
};

static int read_time(double *s, struct clock *clock, const struct conf_node *map, const char *name)
{
	const struct conf_node *n = iso_conf_find(map, name);
	struct moment m = { 0 };

	if (!n) return ISO_OK;
	bool number = n->type == CONF_SCALAR && iso_number(s, n->text, strlen(n->text));

	if (n->type != CONF_SCALAR || (!number && moment_parse(&m, n->text)))
		return iso_conf_fail(n, "%s must be a time such as 2026-11-19T09:30:00, or seconds", name);
	if (!number) *s = m.s;
	if (clock->known && clock->dated == number)
		return iso_conf_fail(n, "%s: all times must be of one kind, seconds or dates", name);
	*clock = (struct clock){ true, !number };
	return ISO_OK;
}

static int read_file(char to[PATH_MAX], const struct conf_node *root, const char *name)
{
	return name ? iso_conf_file(to, PATH_MAX, root, name) : ISO_OK;
}

/* `frames`: from:step:to becomes runs of the same file. */
static int spread_frames(struct nema_series *s, const char *text, const struct conf_node *at)
{
	struct nema_run first = s->run[s->n - 1];
	char list[64];
	double v[3];
	size_t n = strlen(text);

	if (n < sizeof list) {
		memcpy(list, text, n + 1);
		for (char *p = list; *p; p++) *p = *p == ':' ? ',' : *p;
	}
	if (n >= sizeof list || iso_numbers(v, 3, list) != 3 || !(v[1] > 0) || !(v[2] > v[0]) || v[0] < 0 ||
	    (v[2] - v[0]) / v[1] > NEMA_RUNS)
		return iso_conf_fail(at,
		                     "frames is '%s', must be FROM:LENGTH:TO in seconds, at most %d frames",
		                     text, NEMA_RUNS);
	s->n--;
	for (double t = v[0]; t + v[1] <= v[2] * (1 + 1e-12) && s->n < NEMA_RUNS; t += v[1]) {
		struct nema_run *r = &s->run[s->n++];

		*r = first;
		r->timed = true;
		r->from_s = t;
		r->to_s = t + v[1];
		r->start_s = first.start_s + t;
		r->duration_s = v[1];
	}
	return ISO_OK;
}

/* The first run tells whether a line or a point is measured. */
static int choose_source(struct nema_series *s, const struct nema_run *r, const struct conf_node *n)
{
	bool point = isfinite(r->z_mm);

	if (point == isfinite(r->wall_mm))
		return iso_conf_fail(
			n, "the run needs either wall_mm, of a line in sleeves, or z_mm, of a point");
	if (s->n > 1 && point != s->point) return iso_conf_fail(n, "all runs must have wall_mm, or all z_mm");
	s->point = point;
	return ISO_OK;
}

/* Events that the scanner counts without any source. */
static int read_empty(struct nema_series *s, const struct conf_node *n, const struct conf_node *root)
{
	const char *events = NULL, *delayed = NULL;
	struct nema_run *r = &s->empty;
	const struct conf_key keys[] = {
		/* Its events. */
		{ "events", CONF_TEXT, &events, 1, 0, 0, true },
		/* As of a run. */
		{ "delayed", CONF_TEXT, &delayed, 1, 0, 0, false },
		/* How long it took. */
		{ "duration_s", CONF_REAL, &r->duration_s, 1, 1e-6, 1e9, true },
		{ .name = NULL },
	};
	int st;

	if (!n) return ISO_OK;
	if (!s->point) return iso_conf_fail(n, "background goes with sensitivity of a point, runs with z_mm");
	if ((st = iso_conf_keys(n, keys)) || (st = read_file(r->events, root, events))) return st;
	r->no_delayed = delayed && strcmp(delayed, "none") == 0;
	return read_file(r->delayed, root, r->no_delayed ? NULL : delayed);
}

static int read_run(struct nema_series *s, struct clock *clock, const struct conf_node *n,
                    const struct conf_node *root, enum nema_of of)
{
	const char *events = NULL, *delayed = NULL, *image = NULL, *frames = NULL, *truth = NULL;
	struct nema_run *r = &s->run[s->n++];
	int st;

	*r = (struct nema_run){ .wall_mm = NAN, .z_mm = NAN };
	const struct conf_key keys[] = {
		/* Its events. */
		{ "events", CONF_TEXT, &events, 1, 0, 0, of != NEMA_OF_ACCURACY },
		/* Events of the delayed window; `none`: take no randoms off. Default: those in the file of the events. */
		{ "delayed", CONF_TEXT, &delayed, 1, 0, 0, false },
		/* What each event is, from simulate --truth. */
		{ "truth", CONF_TEXT, &truth, 1, 0, 0, false },
		/* The image; for accuracy. */
		{ "image", CONF_TEXT, &image, 1, 0, 0, of == NEMA_OF_ACCURACY },
		/* When it began: an ISO time, or s. */
		{ "start", CONF_NODE, NULL, 1, 0, 0, false },
		/* How long it took. */
		{ "duration_s", CONF_REAL, &r->duration_s, 1, 1e-6, 1e9, false },
		/* FROM:LENGTH:TO in s: many runs of one file. */
		{ "frames", CONF_TEXT, &frames, 1, 0, 0, false },
		/* Thickness of all sleeves; for sensitivity of a line, NU 2. */
		{ "wall_mm", CONF_REAL, &r->wall_mm, 1, 0, 1e3, false },
		/* Where the point stands; for sensitivity of a point, NU 4. */
		{ "z_mm", CONF_REAL, &r->z_mm, 1, -1e4, 1e4, false },
		/* Distance of the line from the axis; for sensitivity. */
		{ "offset_mm", CONF_REAL, &r->offset_mm, 1, 0, 1e4, false },
		{ .name = NULL },
	};
	if ((st = iso_conf_keys(n, keys)) || (st = read_time(&r->start_s, clock, n, "start"))) return st;
	r->no_delayed = delayed && strcmp(delayed, "none") == 0;
	if ((st = read_file(r->events, root, events)) || (st = read_file(r->image, root, image)) ||
	    (st = read_file(r->truth, root, truth)) ||
	    (st = read_file(r->delayed, root, r->no_delayed ? NULL : delayed)))
		return st;
	if (of == NEMA_OF_SENSITIVITY && (st = choose_source(s, r, n))) return st;
	if (frames) return spread_frames(s, frames, n);
	return r->duration_s > 0 ? ISO_OK : iso_conf_fail(n, "the run has no duration_s");
}

static int read_runs(struct nema_series *s, struct clock *clock, const struct conf_node *runs,
                     const struct conf_node *root, enum nema_of of)
{
	int st = ISO_OK;

	if (runs->type != CONF_LIST || runs->n_child < 1 || runs->n_child > NEMA_RUNS)
		return iso_conf_fail(runs, "runs must be a list of 1 to %d", NEMA_RUNS);
	s->run = size_alloc(NEMA_RUNS, sizeof *s->run);
	if (!s->run) return iso_fail_memory("runs", NEMA_RUNS * (int64_t)sizeof *s->run);
	for (const struct conf_node *n = runs->child; n && !st && s->n < NEMA_RUNS; n = n->next) {
		if (runs->n_child > 1 && n->type == CONF_MAP && !iso_conf_find(n, "start"))
			return iso_conf_fail(n, "the run has no start, from which its activity follows");
		st = read_run(s, clock, n, root, of);
	}
	return st;
}

/* A name, or a map of one's own. */
static int choose_phantom(struct nema_series *s, const struct conf_node *n, const struct nema_standard *q)
{
	if (!n) {
		s->phantom = q->phantom[0];
		return ISO_OK;
	}
	if (n->type == CONF_MAP) return read_phantom(&s->phantom, n, "own");
	for (int k = 0; k < NEMA_PHANTOMS && n->type == CONF_SCALAR; k++)
		if (strcmp(n->text, phantoms[k]) == 0) {
			s->phantom = q->phantom[k];
			return ISO_OK;
		}
	return iso_conf_fail(n, "phantom must be nu2, mouse, rat, monkey, or a map with volume_ml, cut_mm, "
	                        "strip_mm");
}

/* Numbers of runs, from 1; without it the run of least activity. */
static int choose_low(struct nema_series *s, const struct conf_node *list)
{
	int least = 0;

	for (const struct conf_node *n = list ? list->child : NULL; n; n = n->next) {
		double v = 0;

		if (n->type != CONF_SCALAR || !iso_number(&v, n->text, strlen(n->text)) || v != floor(v) ||
		    v < 1 || v > s->n)
			return iso_conf_fail(n, "low must be a list of numbers of runs, 1 to %d", s->n);
		s->n_low += !s->low[(int)v - 1];
		s->low[(int)v - 1] = true;
	}
	for (int j = 1; j < s->n; j++)
		if (iso_nema_activity(s, &s->run[j]) < iso_nema_activity(s, &s->run[least])) least = j;
	if (s->n_low > 0) return ISO_OK;
	s->low[least] = true;
	s->n_low = 1;
	return ISO_OK;
}

static int read_series(struct nema_series *s, const struct conf_node *root, enum nema_of of,
                       const struct nema_standard *q)
{
	const struct conf_node *runs = NULL, *phantom = NULL, *low = NULL, *empty = NULL;
	const char *scanner = NULL, *isotope = NULL;
	struct clock clock = { 0 };
	const struct conf_key keys[] = {
		/* Its description. Default: that in the file of the first run. */
		{ "scanner", CONF_TEXT, &scanner, 1, 0, 0, false },
		/* Such as F-18. */
		{ "isotope", CONF_TEXT, &isotope, 1, 0, 0, false },
		/* In place of the isotope. */
		{ "half_life_s", CONF_REAL, &s->half_life_s, 1, 1e-3, 1e18, false },
		/* At the time activity_at. */
		{ "activity_mbq", CONF_REAL, &s->activity_mbq, 1, 1e-12, 1e9, true },
		/* An ISO time, or s on the clock of `start`. */
		{ "activity_at", CONF_NODE, NULL, 1, 0, 0, false },
		/* nu2, mouse, rat, monkey, or a map. */
		{ "phantom", CONF_NODE, &phantom, 1, 0, 0, false },
		/* Numbers of the runs of low activity, the first is 1. */
		{ "low", CONF_NODE, &low, 1, 0, 0, false },
		/* A run without any source; for sensitivity of a point. */
		{ "background", CONF_NODE, &empty, 1, 0, 0, false },
		/* The acquisitions. */
		{ "runs", CONF_NODE, &runs, 1, 0, 0, true },
		{ .name = NULL },
	};
	int st;

	if ((st = iso_conf_keys(root, keys)) ||
	    (st = read_time(&s->activity_at_s, &clock, root, "activity_at")))
		return st;
	if (!isotope && !(s->half_life_s > 0))
		return iso_conf_fail(root, "the half life is missing: give isotope or half_life_s");
	if (isotope) snprintf(s->isotope, sizeof s->isotope, "%s", isotope);
	if (isotope && !(s->half_life_s > 0) && (st = iso_half_life(&s->half_life_s, isotope))) return st;
	if ((st = read_file(s->scanner, root, scanner)) || (st = choose_phantom(s, phantom, q)) ||
	    (st = read_runs(s, &clock, runs, root, of)) || (st = read_empty(s, empty, root)))
		return st;
	return choose_low(s, low);
}

int iso_nema_series_read(struct nema_series *s, const char *path, enum nema_of of,
                         const struct nema_standard *standard)
{
	struct conf_node *root = NULL;
	int st = iso_conf_read(&root, path);

	*s = (struct nema_series){ 0 };
	if (!st && (st = read_series(s, root, of, standard))) iso_nema_series_free(s);
	iso_conf_free(root);
	return st;
}

void iso_nema_series_free(struct nema_series *s)
{
	free(s->run);
	s->run = NULL;
}

double iso_nema_activity(const struct nema_series *s, const struct nema_run *r)
{
	double from = r->start_s - s->activity_at_s;

	return s->activity_mbq * iso_decay_mean(s->half_life_s, from, from + r->duration_s);
}

/* ---- places of the NU 4 phantom ---- */

static int read_uniform(struct nema_mouse *q, const struct conf_node *n)
{
	const struct conf_key keys[] = {
		/* Middle of the uniform region. */
		{ "centre_mm", CONF_REALS, q->uniform, 3, -1e5, 1e5, true },
		{ .name = NULL },
	};

	return iso_conf_keys(n, keys);
}

static int read_rod(struct nema_mouse *q, const struct conf_node *n)
{
	double *rod = q->rod[q->n_rods++];
	const struct conf_key keys[] = {
		/* x, y of the rod. */
		{ "centre_mm", CONF_REALS, rod, 2, -1e5, 1e5, true },
		/* The rod. */
		{ MM("diameter_mm", rod + 2, true) },
		{ .name = NULL },
	};

	return iso_conf_keys(n, keys);
}

static int read_chamber(struct nema_mouse *q, const struct conf_node *n)
{
	const char *name = NULL;
	double *place = q->cold[q->n_cold];
	const struct conf_key keys[] = {
		/* x, y of the chamber. */
		{ "centre_mm", CONF_REALS, place, 2, -1e5, 1e5, true },
		/* Such as water. */
		{ "name", CONF_TEXT, &name, 1, 0, 0, true },
		{ .name = NULL },
	};
	int st = iso_conf_keys(n, keys);

	if (!st) snprintf(q->cold_name[q->n_cold++], sizeof q->cold_name[0], "%s", name);
	return st;
}

/* z_mm and a list of places. */
static int read_places(struct nema_mouse *q, double *z, const struct conf_node *map, int most,
                       int (*read)(struct nema_mouse *q, const struct conf_node *n))
{
	const struct conf_node *list = NULL;
	const struct conf_key keys[] = {
		/* Middle of the region along z. */
		{ "z_mm", CONF_REAL, z, 1, -1e5, 1e5, true },
		/* The places. */
		{ "list", CONF_NODE, &list, 1, 0, 0, true },
		{ .name = NULL },
	};
	int st = iso_conf_keys(map, keys);

	if (st) return st;
	if (list->type != CONF_LIST || list->n_child < 1 || list->n_child > most)
		return iso_conf_fail(list, "list must have 1 to %d places", most);
	for (const struct conf_node *n = list->child; n && !st; n = n->next) st = read(q, n);
	return st;
}

/* The phantom of NU 4: rods of 5 to 1 mm at 7 mm from the axis, 72 degrees apart; cold chambers at +-7.5 mm. */
static void usual_places(struct nema_mouse *q, double turn)
{
	*q = (struct nema_mouse){
		.uniform = { 0, 0, 2.5 }, .rods_z = -15, .cold_z = 17.5, .n_rods = 5, .n_cold = 2
	};
	for (int i = 0; i < 5; i++) {
		double t = (72. * i) * M_PI / 180 + turn;

		q->rod[i][0] = 7 * cos(t);
		q->rod[i][1] = 7 * sin(t);
		q->rod[i][2] = 5 - i;
	}
	for (int i = 0; i < 2; i++) {
		q->cold[i][0] = (i ? -7.5 : 7.5) * cos(turn);
		q->cold[i][1] = (i ? -7.5 : 7.5) * sin(turn);
		snprintf(q->cold_name[i], sizeof q->cold_name[i], "%s", i ? "air" : "water");
	}
}

static int read_mouse(struct nema_mouse *q, const struct conf_node *root)
{
	const struct conf_node *uniform = NULL, *rods = NULL, *cold = NULL;
	double turn = 0;
	const struct conf_key keys[] = {
		/* The uniform region. */
		{ "uniform", CONF_NODE, &uniform, 1, 0, 0, false },
		/* The rods. */
		{ "rods", CONF_NODE, &rods, 1, 0, 0, false },
		/* The cold chambers. */
		{ "cold", CONF_NODE, &cold, 1, 0, 0, false },
		/* Turns the usual places about z. */
		{ "angle_deg", CONF_REAL, &turn, 1, -360, 360, false },
		{ .name = NULL },
	};
	int st = iso_conf_keys(root, keys);

	usual_places(q, turn * M_PI / 180);
	if (!st && uniform) st = read_uniform(q, uniform);
	if (!st && rods) {
		q->n_rods = 0;
		st = read_places(q, &q->rods_z, rods, NEMA_RODS, read_rod);
	}
	if (!st && cold) {
		q->n_cold = 0;
		st = read_places(q, &q->cold_z, cold, NEMA_COLD, read_chamber);
	}
	return st;
}

int iso_nema_mouse_read(struct nema_mouse *q, const char *path, const struct nema_standard *standard)
{
	struct conf_node *root = NULL;
	int st = iso_conf_read(&root, path);

	if (!st) st = read_mouse(q, root);
	memcpy(q->uniform_mm, standard->uniform_mm, sizeof q->uniform_mm);
	memcpy(q->cold_mm, standard->cold_mm, sizeof q->cold_mm);
	q->rods_mm = standard->rods_length_mm;
	iso_conf_free(root);
	return st;
}
