/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of PETSIRD files: prompts, or delayed coincidences, of the stream of time blocks.

   Events have no fixed size. Opening goes through the file once, and notes where every CELL events lie; threads
   then read any of them. The schema of an event is turned into a list of steps before that. Where all steps are
   varints, as in all versions so far, events are stepped over by counting bytes without a top bit.

   The time of an event is the middle of its time block, counted from the start of the first block. */
#include "petsird.h"

#include "core/size.h"
#include "file/in.h"
#include "file/suffix.h"
#include "io/events.h"
#include "io/kinds.h"
#include "scanner/scanner.h"

enum {
	CELL = 4096,      /* events of a cell, at most */
	RUN = 64,         /* bytes that are stepped over at once */
	STEPS = 8,        /* of an event */
	EVENT_BYTES = 60, /* of an event, at most: a cell fits the buffer of a thread, 2^18 bytes */
	NOMINAL = 8,      /* bytes of an event that parts of a file are reckoned with */
};

enum { BIN1, BIN2, TOF, UNUSED, WHATS };

struct step {
	enum yardl_kind kind;
	int what;
};

/* Events in a row, of one time block and one pair of kinds of modules. */
struct cell {
	int64_t at, bytes; /* in the file */
	int64_t first;     /* number of its first event */
	uint32_t time_ms;
	uint16_t n;
	uint8_t t1, t2;
};

/* How an event is read. */
struct recipe {
	int type; /* of the schema; -1: not known yet */
	struct step step[STEPS];
	int steps;
	bool varints; /* all steps are */
};

struct scan {
	struct petsird p;
	bool delayeds;               /* are wanted, not prompts */
	struct recipe wanted, other; /* of those that are wanted, and of those that are counted */
	int64_t n, others, cells, room;
	struct cell *cell;
	struct iso_clock clock;   /* of the file's bytes, */
	int64_t told;             /* of which it has heard so far */
	double start_ms, stop_ms; /* of the time block that is read; */
	double first_ms, last_ms; /* of all blocks of events, */
	double longest_ms;        /* and the longest of them; 0: how long the scan took is not known */
	double full_ms;           /* the first one that has events; negative: none yet; */
	bool timed;               /* there are others, of other times */
	int64_t beyond;           /* events of kinds of modules that there are not */
	const iso_ctx *ctx;       /* whose request to stop ends it; NULL: none */
	bool moving;              /* bed and gantry may move, */
	struct petsird_moves moves[ISO_POSES_GANTRY + 1]; /* by what moves */
};

/* ---- an event as steps ---- */

static void add_step(struct recipe *r, struct yardl *y, int type, int what)
{
	enum yardl_kind k = y->type[type].kind;

	if (r->steps == STEPS || (k != YARDL_BYTE && k != YARDL_UNSIGNED && k != YARDL_SIGNED &&
	                          k != YARDL_FLOAT32 && k != YARDL_FLOAT64)) {
		if (!y->status)
			y->status = iso_refuse(y->path,
			                       "schema: an event whose part '%s' is no number: PETSIRD 0.6 "
			                       "or later was expected",
			                       y->type[type].name);
		return;
	}
	r->varints = r->varints && (k == YARDL_UNSIGNED || k == YARDL_SIGNED);
	r->step[r->steps++] = (struct step){ k, what };
}

static void compile_event(struct recipe *r, struct yardl *y, int event)
{
	int bins = yardl_need(y, event, "detectionBins"), tof = yardl_need(y, event, "tofIdx");

	*r = (struct recipe){ .type = event, .varints = true };
	if (y->status) return;
	if (y->type[bins].kind != YARDL_VECTOR || y->type[bins].length != 2) {
		y->status = iso_refuse(y->path, "schema: 'detectionBins' are not a vector of 2");
		return;
	}
	for (int i = y->type[event].part; i < y->type[event].part + y->type[event].parts; i++) {
		if (i != bins) {
			add_step(r, y, i, i == tof ? TOF : UNUSED);
			continue;
		}
		add_step(r, y, y->type[bins].part, BIN1);
		add_step(r, y, y->type[bins].part, BIN2);
	}
}

static const uint8_t *take_varint(uint64_t *v, const uint8_t *p, const uint8_t *end)
{
	uint64_t r = 0;

	for (int shift = 0; p < end && shift < 64; shift += 7) {
		uint8_t b = *p++;

		r |= (uint64_t)(b & 127) << shift;
		if (b < 128) {
			*v = r;
			return p;
		}
	}
	return NULL;
}

/* One event; NULL: it goes beyond the end. */
static const uint8_t *take_event(const struct recipe *r, uint64_t v[WHATS], const uint8_t *p,
                                 const uint8_t *end)
{
	for (int i = 0; i < r->steps && p; i++) {
		const struct step *t = &r->step[i];
		int wide = t->kind == YARDL_FLOAT64 ? 8 : t->kind == YARDL_FLOAT32 ? 4 : 1;
		uint64_t *to = &v[t->what];

		if (t->kind == YARDL_UNSIGNED || t->kind == YARDL_SIGNED) {
			if (!(p = take_varint(to, p, end))) return NULL;
			if (t->kind == YARDL_SIGNED) *to = *to >> 1 ^ (0 - (*to & 1));
		} else {
			if (end - p < wide) return NULL;
			*to = wide == 1 ? *p : UINT64_MAX; /* a bin that is no whole number is out of range */
			p += wide;
		}
	}
	return p;
}

/* ---- going through the file ---- */

/* Past n varints, whose bytes without a top bit are counted. */
static void skip_varints(struct yardl *y, int64_t n)
{
	while (n > 0 && !y->status) {
		int64_t there = yardl_fill(y, 1);
		const uint8_t *p = y->buffer + y->pos, *end = p + there;

		for (; n >= RUN && end - p >= RUN; p += RUN) {
			uint8_t ends = 0;

			for (int i = 0; i < RUN; i++) ends = (uint8_t)(ends + (p[i] < 128));
			n -= ends;
		}
		while (n > 0 && p < end) n -= *p++ < 128;
		y->pos = p - y->buffer;
		if (there == 0 && !y->status)
			y->status = iso_refuse(y->path, "cut short inside a list of events");
	}
}

static void skip_events(struct yardl *y, const struct recipe *r, int64_t n)
{
	if (r->varints)
		skip_varints(y, n * r->steps);
	else
		for (int64_t i = 0; i < n && !y->status; i++) yardl_skip(y, r->type);
}

/* How far the file is counted. */
static void tell_place(struct scan *s)
{
	int64_t at = yardl_tell(&s->p.y);

	iso_clock_add(&s->clock, at - s->told);
	s->told = at;
}

static void add_cell(struct scan *s, int n, int t1, int t2)
{
	struct yardl *y = &s->p.y;
	int64_t at = yardl_tell(y);

	if (iso_stop_asked(s->ctx)) y->status = iso_stop_check(s->ctx, y->path);
	if (y->status) return;
	if (s->cells == s->room) {
		int64_t room = 2 * s->room + 64;
		struct cell *more = realloc(s->cell, (size_t)room * sizeof *more);

		if (!more) {
			y->status = iso_fail_memory(y->path, room * (int64_t)sizeof *more);
			return;
		}
		s->cell = more;
		s->room = room;
	}
	skip_events(y, &s->wanted, n);
	if (y->status) return;
	uint32_t time_ms = (uint32_t)((s->start_ms + s->stop_ms) / 2);
	struct cell c = { at, yardl_tell(y) - at, s->n, time_ms, (uint16_t)n, (uint8_t)t1, (uint8_t)t2 };

	if (c.bytes > (int64_t)n * EVENT_BYTES) {
		y->status = iso_refuse(y->path, "events of more than %d bytes before byte %" PRId64,
		                       EVENT_BYTES, yardl_tell(y));
		return;
	}
	s->cell[s->cells++] = c;
	s->n += n;
	tell_place(s);
}

/* Where some kinds of modules have TOF bins, those with events must. */
static void need_tof(struct scan *s, int k, int l)
{
	if (s->p.tof[k][l].bins == 0 && s->p.tof[0][0].bins > 0 && !s->p.y.status)
		s->p.y.status = iso_refuse(
			s->p.y.path, "events of modules of kinds %d and %d, of which tofBinEdges has no bins",
			k, l);
}

/* n events of kinds k and l that are wanted. */
static void add_events(struct scan *s, int64_t n, int k, int l)
{
	if (n > 0) need_tof(s, k, l);
	for (int64_t i = 0; i < n && !s->p.y.status; i += CELL)
		add_cell(s, (int)(n - i < CELL ? n - i : CELL), k, l);
}

/* Times are known where events are of several time blocks. */
static void heed_time(struct scan *s)
{
	if (s->full_ms < 0) s->full_ms = s->start_ms;
	s->timed = s->timed || s->start_ms != s->full_ms;
}

/* Lists by kinds of modules. Rows and columns beyond the kinds, which one version of the project's own generator
   writes, are left out. */
static void read_lists(struct scan *s, int type, struct recipe *r)
{
	struct yardl *y = &s->p.y;
	int row, list, event, found = yardl_case(y, type);
	int64_t rows = found < 0 ? 0 : yardl_items(y, found, &row);

	for (int64_t i = 0; i < rows && !y->status; i++) {
		int64_t columns = yardl_items(y, row, &list);

		for (int64_t j = 0; j < columns && !y->status; j++) {
			int64_t n = yardl_items(y, list, &event);
			bool known = i < s->p.kinds && j < s->p.kinds, wanted = r == &s->wanted;

			if (n > 0 && r->type != event) compile_event(r, y, event);
			if (n > 0) heed_time(s);
			if (known && wanted)
				add_events(s, n, (int)i, (int)j);
			else
				skip_events(y, r, n);
			s->beyond += known ? 0 : n;
			s->others += known && !wanted ? n : 0;
		}
	}
}

static void read_prompts(struct yardl *y, int type, void *arg)
{
	struct scan *s = arg;

	(void)y;
	read_lists(s, type, s->delayeds ? &s->other : &s->wanted);
}

static void read_delayeds(struct yardl *y, int type, void *arg)
{
	struct scan *s = arg;

	(void)y;
	read_lists(s, type, s->delayeds ? &s->wanted : &s->other);
}

static void read_start(struct yardl *y, int type, void *arg)
{
	((struct scan *)arg)->start_ms = yardl_number(y, type);
}

static void read_stop(struct yardl *y, int type, void *arg)
{
	((struct scan *)arg)->stop_ms = yardl_number(y, type);
}

static void read_interval(struct yardl *y, int type, void *arg)
{
	static const struct yardl_use uses[] = { { "start", read_start, false },
		                                 { "stop", read_stop, false },
		                                 { 0 } };

	struct scan *s = arg;

	yardl_record(y, type, uses, s);
	if (!y->status && !(s->start_ms >= 0 && s->start_ms <= s->stop_ms && s->stop_ms <= UINT32_MAX))
		y->status = iso_refuse(y->path, "a time block from %g to %g ms before byte %" PRId64,
		                       s->start_ms, s->stop_ms, yardl_tell(y));
	s->first_ms = fmin(s->first_ms, s->start_ms);
	s->last_ms = fmax(s->last_ms, s->stop_ms);
	s->longest_ms = fmax(s->longest_ms, s->stop_ms - s->start_ms);
}

static void read_event_block(struct yardl *y, int type, struct scan *s)
{
	static const struct yardl_use uses[] = { { "timeInterval", read_interval, false },
		                                 { "promptEvents", read_prompts, false },
		                                 { "delayedEvents", read_delayeds, false },
		                                 { 0 } };

	yardl_record(y, type, uses, s);
}

static void read_movement(struct scan *s, int type, enum iso_pose_kind kind)
{
	struct yardl *y = &s->p.y;

	petsird_read_moves(&s->moves[kind], y, type);
	if (!y->status && s->moves[kind].move && !s->moving)
		y->status = iso_refuse(y->path,
		                       "bed or gantry moves before byte %" PRId64
		                       ": only model ray takes scans with movement",
		                       yardl_tell(y));
}

static void read_time_block(struct scan *s, int type)
{
	struct yardl *y = &s->p.y;
	int found = yardl_case(y, type);

	if (found < 0) return;
	const char *name = y->type[found].name;

	if (strcmp(name, "EventTimeBlock") == 0)
		read_event_block(y, found, s);
	else if (strcmp(name, "BedMovementTimeBlock") == 0)
		read_movement(s, found, ISO_POSES_BED);
	else if (strcmp(name, "GantryMovementTimeBlock") == 0)
		read_movement(s, found, ISO_POSES_GANTRY);
	else
		yardl_skip(y, found);
}

static void read_stream(struct scan *s)
{
	struct yardl *y = &s->p.y;
	int stream = y->type[0].part + 1;
	uint64_t n;

	if (y->type[stream].kind != YARDL_STREAM)
		y->status = iso_refuse(y->path, "schema: 'timeBlocks' is no stream");
	if (!y->status && !y->type[y->type[stream].part].least) /* blocks of no bytes would have no end */
		y->status = iso_refuse(y->path, "schema: 'timeBlocks' has nothing in it");
	s->clock = iso_clock_brief(s->ctx, "count", "bytes", y->size, iso_base_name(y->path));
	while (!y->status && (n = yardl_varint(y)) > 0)
		for (; n > 0 && !y->status; n--) {
			read_time_block(s, y->type[stream].part);
			tell_place(s);
		}
	if (!y->status) iso_clock_end(&s->clock);
	if (!y->status && yardl_tell(y) != y->size)
		y->status = iso_refuse(y->path, "%" PRId64 " bytes after the end of its time blocks",
		                       y->size - yardl_tell(y));
}

/* ---- opening ---- */

/* It takes places and efficiencies over. */
static int make_scanner(iso_event_file *f, struct petsird *p)
{
	const struct petsird_tof *tof = &p->tof[0][0];
	iso_scanner *s = calloc(1, sizeof *s);
	bool windows = false;

	if (!s) return iso_fail_memory(f->path, sizeof *s);
	f->own = s;
	s->kind = ISO_DETECTORS;
	memcpy(s->energy_kev, p->energy_kev, sizeof s->energy_kev);
	s->energy_resolution = p->energy_resolution;
	s->n = p->crystals;
	s->pos = p->place;
	p->place = NULL;
	s->pairs.cos_min_angle = 1;
	iso_scanner_set_name(s, p->name, strlen(p->name));
	if (tof->bins > 1) {
		s->tof_fwhm_ps = tof->fwhm_ps;
		s->tof_bin_ps = f->info.tof_bin_ps;
	}
	if (tof->bins > 0) s->coincidence_ns = 1e-3 * (tof->edge_ps[1] - tof->edge_ps[0]) / 2;
	for (int k = 0; k < p->kinds; k++) windows = windows || p->kind[k].windows > 1;
	if (p->normalised || windows) {
		s->efficiencies = p->efficiencies;
		p->efficiencies = NULL;
	}
	return iso_detectors_finish(s);
}

static bool same_tof(const struct petsird_tof *a, const struct petsird_tof *b)
{
	return a->bins == b->bins && fabs(a->fwhm_ps - b->fwhm_ps) <= 1e-3 * b->fwhm_ps &&
	       (a->bins == 0 ||
	        (fabs(a->edge_ps[0] - b->edge_ps[0]) < .1 && fabs(a->edge_ps[1] - b->edge_ps[1]) < .1));
}

static void add_note(struct iso_events_info *i, const char *text)
{
	size_t n = strlen(i->ignored);

	snprintf(i->ignored + n, sizeof i->ignored - n, "%s%s", n ? "; " : "", text);
}

static void set_notes(struct iso_events_info *i, const struct scan *s)
{
	const struct petsird_tof *tof = &s->p.tof[0][0];
	bool others = false;

	for (int k = 0; k < s->p.kinds; k++)
		for (int l = 0; l <= k; l++) others = others || !same_tof(&s->p.tof[k][l], tof);
	if (s->beyond) add_note(i, "events of kinds of modules that the scanner does not have");
	if (tof->bins > 1 && !tof->even)
		add_note(i, "widths of TOF bins, which differ: times are their middles");
	if (others)
		add_note(i, "TOF of other kinds of modules: FWHM and width of bins are those of the first");
	if (s->p.aligned) add_note(i, "gantryAlignment");
}

static void set_info(iso_event_file *f, const struct scan *s)
{
	const struct petsird_tof *tof = &s->p.tof[0][0];
	struct iso_events_info *i = &f->info;

	i->n = s->n;
	i->has_dt = tof->bins > 1;
	i->has_time = s->timed;
	i->has_crystal = true;
	i->normalisation = s->p.factors;
	i->tof_fwhm_ps = i->has_dt ? tof->fwhm_ps : 0;
	if (i->has_dt && tof->even) i->tof_bin_ps = (tof->edge_ps[1] - tof->edge_ps[0]) / (double)tof->bins;
	i->start_s = 1e-3 * s->first_ms;
	i->duration_s = s->longest_ms > 0 ? 1e-3 * (s->last_ms - s->first_ms) : 0;
	i->delayeds = s->delayeds ? 0 : s->others;
	set_notes(i, s);
	snprintf(i->assumed, sizeof i->assumed, "axes are right-handed%s%s",
	         s->moves[ISO_POSES_BED].move ? "; its bed moves, by transforms to where the bed is" : "",
	         s->moves[ISO_POSES_GANTRY].move ? "; its gantry moves" : "");
	f->record = NOMINAL;
}

/* The caller's scanner in place of the file's, if it can be. */
static int choose_scanner(iso_event_file *f, const iso_scanner *given)
{
	int64_t n = iso_scanner_crystals(f->own);

	f->scanner = given ? given : f->own;
	if (iso_scanner_crystals(f->scanner) == n) return ISO_OK;
	return iso_refuse(f->path, "has %" PRId64 " crystals, scanner %s %" PRId64, n,
	                  iso_scanner_name(given), iso_scanner_crystals(given));
}

static int open_petsird(iso_event_file *f, const char *path, const struct iso_events_options *o)
{
	struct scan *s = f->layout = calloc(1, sizeof *s);
	int st;

	if (!s) return iso_fail_memory(path, sizeof *s);
	s->wanted.type = s->other.type = -1;
	s->delayeds = o->delayeds;
	s->ctx = o->ctx;
	s->moving = o->moving;
	s->first_ms = INFINITY;
	s->full_ms = -1;
	if ((st = iso_event_file_records(f, path)) || (st = yardl_open(&s->p.y, f->path, f->fd, f->size)) ||
	    (st = petsird_read_header(&s->p)))
		return st;
	read_stream(s);
	if ((st = s->p.y.status)) return st;
	if (s->n == 0) return iso_refuse(path, "no %s", s->delayeds ? "delayed coincidences" : "prompts");
	set_info(f, s);
	return (st = make_scanner(f, &s->p)) ? st : choose_scanner(f, o->scanner);
}

static void close_petsird(iso_event_file *f)
{
	struct scan *s = f->layout;

	if (!s) return;
	petsird_free(&s->p);
	free(s->cell);
	for (int kind = 0; kind <= ISO_POSES_GANTRY; kind++) free(s->moves[kind].v);
}

static int poses_of_petsird(iso_poses **p, const iso_event_file *f, const struct iso_poses_options *o)
{
	const struct scan *s = f->layout;

	return petsird_poses(p, &s->moves[o->kind], s->first_ms, o, f->path);
}

/* ---- reading ---- */

/* A detection bin; `window` is that of its energy. */
static struct efficiency_end find_end(const struct iso_module_kind *k, int kind, uint32_t bin,
                                      uint32_t *window)
{
	uint32_t windows = (uint32_t)k->windows, elements = (uint32_t)k->elements, crystal = bin / windows;

	*window = bin % windows;
	return (struct efficiency_end){ kind, crystal / elements, crystal % elements };
}

/* Efficiency of two bins. Tables are of the pair whose higher one comes first. */
static double factor(const struct iso_efficiencies *e, const struct cell *c, uint32_t bin1, uint32_t bin2)
{
	bool turned = c->t1 != c->t2 ? c->t1 < c->t2 : bin1 < bin2;
	int k = turned ? c->t2 : c->t1, l = turned ? c->t1 : c->t2;
	uint32_t i, j;
	struct efficiency_end a = find_end(&e->kind[k], k, turned ? bin2 : bin1, &i);
	struct efficiency_end b = find_end(&e->kind[l], l, turned ? bin1 : bin2, &j);
	int32_t group = efficiency_group(e, &a, &b);

	return group == EFFICIENCY_APART ? 0 : efficiency_of_bins(e, &a, &b, group, i, j);
}

/* What all events of a cell share. */
struct cell_view {
	uint32_t bins[2], windows[2], first[2]; /* of detection bins, energy windows, first crystal */
	const struct petsird_tof *tof;
	uint32_t time_ms;
	bool tables; /* say which pairs are in coincidence, or their efficiencies */
};

static struct cell_view view_cell(const struct scan *s, const struct cell *c)
{
	const struct iso_module_kind *m[2] = { &s->p.kind[c->t1], &s->p.kind[c->t2] };
	struct cell_view w = { .tof = &s->p.tof[c->t1][c->t2],
		               .time_ms = c->time_ms - (uint32_t)s->first_ms,
		               .tables = s->p.normalised };

	for (int j = 0; j < 2; j++) {
		w.bins[j] = (uint32_t)(m[j]->modules * m[j]->elements * m[j]->windows);
		w.windows[j] = (uint32_t)m[j]->windows;
		w.first[j] = (uint32_t)m[j]->first;
	}
	return w;
}

static int out_of_range(const iso_event_file *f, int64_t i, const uint64_t v[WHATS],
                        const struct cell_view *w)
{
	for (int j = 0; j < 2; j++)
		if (v[j] >= w->bins[j])
			return iso_refuse(f->path,
			                  "event %" PRId64 ": detection bin %" PRIu64 ", there are %" PRIu32,
			                  i, v[j], w->bins[j]);
	return iso_refuse(f->path, "event %" PRId64 ": TOF bin %" PRIu64 ", there are %" PRId64, i, v[TOF],
	                  w->tof->bins);
}

/* Event i of the file to place k; false: a number is out of range. */
static bool take_values(const iso_event_file *f, struct iso_events *e, int64_t k, const struct cell *c,
                        const struct cell_view *w, const uint64_t v[WHATS])
{
	struct iso_event *to = e->v + k;
	bool tof = w->tof->bins > 0;

	if (v[BIN1] >= w->bins[0] || v[BIN2] >= w->bins[1] || (tof && v[TOF] >= (uint64_t)w->tof->bins))
		return false;
	uint32_t a = w->first[0] + (uint32_t)v[BIN1] / w->windows[0];
	uint32_t b = w->first[1] + (uint32_t)v[BIN2] / w->windows[1];

	memcpy(to->p1, f->place + 3 * (int64_t)a, sizeof to->p1);
	memcpy(to->p2, f->place + 3 * (int64_t)b, sizeof to->p2);
	to->dt_ps = tof ? w->tof->dt_ps[v[TOF]] : 0;
	if (e->crystal) {
		e->crystal[2 * k] = a;
		e->crystal[2 * k + 1] = b;
	}
	if (e->time_ms) e->time_ms[k] = w->time_ms;
	if (!w->tables) return true;
	double m = factor(f->own->efficiencies, c, (uint32_t)v[BIN1], (uint32_t)v[BIN2]);

	if (e->mult)
		e->mult[k] = (iso_real)m;
	else if (m == 0) /* not in coincidence: a bad event, which projects to 0 */
		memcpy(to->p2, to->p1, sizeof to->p2);
	return true;
}

/* Events i ... end - 1, as far as cell c has them, whose bytes begin at p. */
static int read_cell(const iso_event_file *f, struct iso_events *e, int64_t k, int64_t i, int64_t end,
                     const struct cell *c, const uint8_t *p)
{
	const uint8_t *stop = p + c->bytes;
	const struct recipe *r = &((const struct scan *)f->layout)->wanted;
	struct cell_view w = view_cell(f->layout, c);
	uint64_t v[WHATS] = { 0 };

	for (int64_t j = c->first; j < c->first + c->n && j < end; j++) {
		if (!(p = take_event(r, v, p, stop)))
			return iso_refuse(f->path, "event %" PRId64 " is cut short: the file changed", j);
		if (j >= i && !take_values(f, e, k + j - i, c, &w, v)) return out_of_range(f, j, v, &w);
	}
	return ISO_OK;
}

/* The cell that has event i. */
static const struct cell *find_cell(const struct scan *s, int64_t i)
{
	int64_t low = 0, high = s->cells;

	while (high - low > 1) {
		int64_t middle = low + (high - low) / 2;

		if (s->cell[middle].first <= i)
			low = middle;
		else
			high = middle;
	}
	return s->cell + low;
}

/* Events i ... i + n - 1 to the places of e from k on, by as few reads as `size` bytes of buffer allow. */
static int read_petsird(const iso_event_file *f, struct iso_events *e, int64_t k, int64_t i, int64_t n,
                        uint8_t *buffer, int64_t size)
{
	const struct scan *s = f->layout;
	const struct cell *c = find_cell(s, i), *last = s->cell + s->cells;
	int64_t end = i + n;
	int st = ISO_OK;

	while (c < last && c->first < end && !st) {
		const struct cell *to = c + 1;

		while (to < last && to->first < end && to->at + to->bytes - c->at <= size) to++;
		int64_t from = c->at, bytes = to[-1].at + to[-1].bytes - from;

		if (iso_read_at(f->fd, buffer, bytes, from) < bytes)
			return iso_refuse(f->path,
			                  "ends before byte %" PRId64 ", it was longer when it was opened",
			                  from + bytes);
		for (; c < to && !st; c++) {
			int64_t skip = i > c->first ? i : c->first;

			st = read_cell(f, e, k + skip - i, skip, end, c, buffer + (c->at - from));
		}
	}
	return st;
}

bool iso_is_petsird(const uint8_t *head, int64_t n)
{
	return n >= 5 && memcmp(head, "yardl", 5) == 0;
}

const struct iso_event_format iso_petsird_format = {
	.name = "PETSIRD",
	.keeps_crystals = true,
	.open = open_petsird,
	.read = read_petsird,
	.poses = poses_of_petsird,
	.close = close_petsird,
	.record = NOMINAL,
	.create = petsird_create,
	.factors = petsird_set_factors,
	.begin = petsird_begin,
	.append = petsird_append,
	.finish = petsird_finish,
};
