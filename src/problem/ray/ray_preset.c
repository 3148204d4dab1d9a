/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameter 'preset' of model ray: looks at the data before they are loaded, and gives the parameters that nobody gave
   the values of preset_rule.c. */
#include "model_ray.h"
#include "preset_rule.h"

#include "io/events.h"
#include "scanner/scanner.h"

#include <stdio.h>

static const char *const kinds[] = { "quick", "clinical", "converged", "none",
	                             NULL }; /* as enum preset_kind */

struct opt ray_preset_param(struct settings *s)
{
	return (struct opt){
		0,
		"preset",
		.text = &s->preset,
		.words = kinds,
		.value = "NAME",
		.absent = "quick in the command recon, unless one of 'method', 'iterations', 'subsets', "
			  "'grid', 'voxel', 'filter' and their like is given; else none",
		.help = "method, subsets, voxels and filter chosen from counts and crystals: quick (osem for "
			"a first look), clinical (osem with a point spread function and a narrow filter), "
			"converged (svrg with penalty rdp). What is given besides wins; none chooses nothing"
	};
}

/* ---- what the data tell ---- */

/* What is known of a scan without its events. */
struct look {
	struct preset_scan scan;
	bool panels;
	double duration_s; /* 0: not known */
	char isotope[16];  /* "": not said */
};

static void look_at_scanner(struct look *l, const iso_scanner *s)
{
	struct iso_grid g = { 0 };

	l->panels = iso_scanner_panels(s);
	l->scan.crystal = iso_scanner_crystal_width(s);
	if (iso_scanner_grid(&g, s)) return; /* it has no field of view: load will tell */
	l->scan.across = (double)g.n[0] * g.voxel[0];
	if (!l->panels) l->scan.finest = g.voxel[0];
	l->scan.plane = s->plane_mm;
}

/* Lists in memory, and text, which is read whole. */
static int look_at_list(struct look *l, iso_scanner **s, const struct iso_events *e, const char *path)
{
	int st;

	l->duration_s = e->duration_s;
	snprintf(l->isotope, sizeof l->isotope, "%s", e->isotope);
	l->scan.counts = e->count ? 0 : (double)e->n;
	for (int64_t i = 0; e->count && i < e->n; i++) l->scan.counts += (double)e->count[i];
	if (*s || (st = iso_scanner_around(s, e)) != ISO_EINPUT) return *s ? ISO_OK : st;
	return iso_fail(st, "%s: of no known scanner, and %s; give 'scanner'", path, iso_message());
}

static int look_at_text(struct look *l, iso_scanner **s, const char *path, const struct iso_events_options *o)
{
	struct iso_events e = { 0 };
	int st = iso_events_read(&e, path, o);

	if (!st) st = look_at_list(l, s, &e, path);
	iso_events_free(&e);
	return st;
}

/* Counts of a histogram take a pass through its file. */
static int look_at_file(struct look *l, iso_scanner **s, iso_event_file *f, const char *path)
{
	const struct iso_events_info *i = iso_event_file_info(f);
	struct iso_events_stats stats = { .size = sizeof stats };
	int st = i->has_count ? iso_event_file_stats(&stats, f) : ISO_OK;

	if (st) return st;
	l->duration_s = i->duration_s;
	snprintf(l->isotope, sizeof l->isotope, "%s", i->isotope);
	l->scan.counts = i->has_count ? stats.counts : (double)i->n;
	return *s ? ISO_OK : iso_event_file_own(s, f, path, true);
}

static int look_at_events(struct look *l, iso_scanner **s, iso_event_file **f, iso_problem *p)
{
	const struct ray_problem *ray = p->self;
	const struct iso_events *given = &record_given(p->record, ray->events)->events;
	struct iso_events_options o = ray->read;
	int st;

	o.scanner = *s;
	o.ctx = p->ctx;
	if (given->v) return look_at_list(l, s, given, ray->events);
	if (iso_events_only_whole(ray->events)) return look_at_text(l, s, ray->events, &o);
	st = iso_event_file_open(f, ray->events, &o);
	return st ? st : look_at_file(l, s, *f, ray->events);
}

/* Of the whole time, that of a frame on average. */
static double share_of_frame(const struct frames *f, double duration_s)
{
	double sum = 0;

	if (f->all && f->gating.n == 0) return 1;
	for (int k = 0; k < (f->gating.n > 0 ? 1 : f->n); k++)
		sum += fmin(f->edge_s[k + 1], duration_s) - fmin(f->edge_s[k], duration_s);
	return (duration_s > 0 ? fmin(1, sum / duration_s) : 1) / f->n;
}

static int look(struct look *l, iso_problem *p)
{
	const struct ray_problem *ray = p->self;
	iso_scanner *s = NULL;
	iso_event_file *f = NULL;
	int st = frames_check(p, &p->s.frames);

	if (!st && ray->scanner) st = iso_scanner_read(&s, ray->scanner);
	if (!st) st = look_at_events(l, &s, &f, p);
	if (!st) {
		look_at_scanner(l, s);
		if (ray->duration_s > 0) l->duration_s = ray->duration_s;
		l->scan.counts *= share_of_frame(&p->s.frames, l->duration_s);
	}
	iso_event_file_close(f); /* before the scanner, which may be its own */
	iso_scanner_free(s);
	return st;
}

/* ---- what is chosen ---- */

static void *place_of(const struct opt *o)
{
	return o->text ? (void *)o->text : o->real ? (void *)o->real : (void *)o->integer;
}

static size_t bytes_of(const struct opt *o)
{
	size_t n = o->count ? (size_t)o->count : 1;

	return o->text ? sizeof *o->text : o->real ? n * sizeof *o->real : n * sizeof *o->integer;
}

static int choose(iso_problem *p, const char *name, const char *why, const char *fmt, ...) ISO_PRINTF(4, 5);

/* The value of a parameter that nobody gave. */
static int choose(iso_problem *p, const char *name, const char *why, const char *fmt, ...)
{
	struct opt *o = opt_find(p->sets, name);
	struct preset_choice *c = &p->preset.choice[p->preset.n];
	va_list ap;

	if (o->given) return ISO_OK;
	c->o = o;
	c->why = why;
	memcpy(&c->was, place_of(o), bytes_of(o));
	va_start(ap, fmt);
	iso_vsnprintf(c->text, sizeof c->text, fmt, ap);
	va_end(ap);
	p->preset.n++;
	return opt_take(o, c->text);
}

void problem_forget_preset(iso_problem *p)
{
	struct preset *t = &p->preset;

	for (int i = 0; i < t->n; i++) {
		struct preset_choice *c = &t->choice[i];

		memcpy(place_of(c->o), &c->was, bytes_of(c->o));
		c->o->given = c->o->lone = false;
	}
	t->n = 0;
	t->settled = false;
}

/* Images that lie on the grid of the run settle it. */
static bool has_grid(const iso_problem *p)
{
	static const char *const names[] = { "grid", "sens", "start", "kappa", "bowsher", "kernel", NULL };
	const char *const *n = names;

	while (*n && !problem_given(p, *n)) n++;
	return *n;
}

/* What a method has, where it is that of the preset. */
static int choose_steps(iso_problem *p, const struct preset_values *v)
{
	static const char counts[] = "by counts";
	int st;

	st = choose(p, "iterations", v->strength > 0 ? "the preset's" : counts, "%d", (int)v->iterations);
	if (!st && v->subsets > 0)
		st = choose(p, "subsets", "by counts, of 1000 or more each", "%d", (int)v->subsets);
	if (!st && v->strength > 0) st = choose(p, "penalty", counts, "rdp:rel=%g", v->strength);
	return st;
}

static int choose_voxel(iso_problem *p, const struct preset_values *v)
{
	if (v->height == v->voxel)
		return choose(p, "voxel", "by counts and crystal; the grid is the field of view", "%g",
		              v->voxel);
	return choose(p, "voxel", "by counts, crystal and planes; the grid is the field of view",
	              "%g,%g,%.9g", v->voxel, v->voxel, v->height);
}

static int choose_all(iso_problem *p, const struct preset_values *v, const struct look *l, bool corrects)
{
	bool map = v->strength > 0, other = problem_given(p, "method") && strcmp(p->s.method, v->method) != 0;
	int st = choose(p, "method", "the preset's", "%s", v->method);

	if (!st && !other) st = choose_steps(p, v);
	if (!st && v->voxel > 0 && !has_grid(p)) st = choose_voxel(p, v);
	if (!st && v->psf > 0) st = choose(p, "psf", "by crystal and diameter", "%g", v->psf);
	if (!st && !map && v->filter > 0)
		st = choose(p, "filter", "by counts and crystal", "gaussian:%g", v->filter);
	if (!st && corrects && l->isotope[0] && l->duration_s > 0 && !problem_given(p, "half-life-s"))
		st = choose(p, "isotope", "the events' file says so", "%s", l->isotope);
	return st;
}

int ray_preset(iso_problem *p)
{
	struct ray_problem *ray = p->self;
	struct preset *t = &p->preset;
	struct look l = { 0 };
	int st, kind = p->s.preset ? opt_place(kinds, p->s.preset) : PRESET_NONE;

	if (t->settled || p->like || kind == PRESET_NONE || !ray->events) return ISO_OK;
	ray->p = p;
	ray_gate_files_begin(ray);
	if ((st = look(&l, p))) return st;
	struct preset_values v = preset_rule((enum preset_kind)kind, &l.scan);

	if ((st = choose_all(p, &v, &l, kind != PRESET_QUICK))) {
		problem_forget_preset(p);
		return st;
	}
	t->counts = l.scan.counts;
	t->crystal = l.scan.crystal;
	t->settled = true;
	return ISO_OK;
}

int ray_preset_record(iso_problem *p)
{
	const struct preset *t = &p->preset;
	json_t *chosen = json_array();
	int bad = !chosen;

	for (int i = 0; i < t->n; i++)
		bad |= json_array_append_new(chosen, record_pack("{s:s, s:s, s:s}", "parameter",
		                                                 t->choice[i].o->name, "value",
		                                                 t->choice[i].text, "why", t->choice[i].why));
	if (!t->settled || bad) {
		json_decref(chosen);
		return bad ? iso_fail_memory("record", 1) : ISO_OK;
	}
	return record_result(p->record, "preset",
	                     record_pack("{s:s, s:b, s:f, s:f, s:o}", "name", p->s.preset, "by_default",
	                                 (int)t->by_default, "counts", t->counts, "crystal_mm", t->crystal,
	                                 "chosen", chosen));
}
