/* SPDX-License-Identifier: BSD-3-Clause */
/* Events as PETSIRD 0.12: header, then blocks of events of one time each.

   Every ring of a cylinder is a module, and its crystals are the module's elements: detection bins are numbers of crystals.
   A table of module pairs says which rings are in coincidence, and one of element pairs which crystals are. Times of
   flight are stored by bin, of a tenth of the resolution.

   The first block begins with the scan and the last ends with it; blocks without events fill what is left. If nobody
   knows how long the scan took, all blocks have the length 0. Events without times are one block.

   A file begins with its schema, which names records and fields as PETSIRD 0.12 does: that is part of the format. */
#include "petsird_pen.h"

#include "file/out.h"
#include "io/events.h"
#include "io/format.h"

#include <stdlib.h>
#include <unistd.h>

enum {
	HELD = 1 << 18,    /* bytes of events that are written at once */
	BLOCK_MS = 100,    /* length of a time block */
	EVENT_BYTES = 15,  /* three varints, at most */
	COUNT_BYTES = 6,   /* of the number of events of a block, which is known at its end */
	BINS_PER_FWHM = 10 /* of time of flight */
};
#define EDGES_KEV       \
	(float[])       \
	{               \
		0, 1022 \
	}              /* of a scanner without a window */
#define FACE_MM 1.     /* of crystals whose sizes are not known */
#define BEYOND_FWHM 3. /* of time of flight: what the bins reach beyond the diameter, in resolutions */

struct layout {
	struct iso_pair_factors factors;
	double fwhm_ps;           /* 0: there is one TOF bin alone */
	double wide_ps, first_ps; /* of TOF bins */
	int64_t bins;
	double begin_ms, end_ms; /* of the scan; the same: its length is not known */
	double reached_ms;       /* end of the blocks that are written */
	bool open;               /* a block is; */
	uint32_t at_ms;          /* its time, from the scan's beginning, */
	int64_t n, count_at;     /* events in it, and where in the file their number stands */
	int64_t clamped, late;   /* events beyond the TOF bins, and beyond the end of the scan, */
	int64_t apart;           /* and of crystals that are not in coincidence */
	char lost[128];          /* what the format has no place for */
	int64_t used;            /* bytes of events that are held */
	uint8_t event[HELD];
};

/* ---- the scanner ---- */

/* Turned by c and s round z, then moved. */
static void put_transform(struct pen *p, double c, double s, double z)
{
	pen_floats(p, (const double[]){ c, -s, 0, 0, s, c, 0, 0, 0, 0, 1, z }, 12);
}

/* A box round (radius, 0, 0): depth along x, tangential along y, axial along z. */
static void put_box(struct pen *p, const iso_scanner *s)
{
	const double *size = s->crystal_mm;

	for (int i = 0; i < 8; i++) {
		double half[3] = { i & 1 ? .5 : -.5, i & 2 ? .5 : -.5, i & 4 ? .5 : -.5 };

		pen_floats(p,
		           (const double[]){ s->radius + half[0] * (size[2] > 0 ? size[2] : FACE_MM),
		                             half[1] * (size[0] > 0 ? size[0] : FACE_MM),
		                             half[2] * (size[1] > 0 ? size[1] : FACE_MM) },
		           3);
	}
	pen_count(p, 0); /* material */
}

static void put_geometry(struct pen *p, const iso_scanner *s)
{
	const int64_t rings = s->pairs.rings, columns = s->pairs.per_ring;

	pen_count(p, 1); /* kinds of modules */
	put_box(p, s);
	pen_count(p, (uint64_t)columns);
	for (int64_t c = 0; c < columns; c++) {
		double turn = atan2(s->pos[3 * c + 1], s->pos[3 * c]);

		put_transform(p, cos(turn), sin(turn), 0);
	}
	pen_count(p, 0); /* parts of a module that detect nothing */
	pen_count(p, (uint64_t)rings);
	for (int64_t r = 0; r < rings; r++) put_transform(p, 1, 0, s->pos[3 * r * columns + 2]);
	pen_count(p, 0); /* volumes that detect nothing */
}

static void put_bins(struct pen *p, const iso_scanner *s, const struct layout *l)
{
	double window[2] = { s->energy_kev[0], s->energy_kev[1] };

	pen_pair(p);
	pen_count(p, (uint64_t)l->bins + 1);
	for (int64_t i = 0; i <= l->bins; i++)
		pen_floats(p, (const double[]){ (l->first_ps + (double)i * l->wide_ps) * ISO_MM_PER_PS }, 1);
	pen_pair(p);
	pen_floats(p, (const double[]){ l->fwhm_ps * ISO_MM_PER_PS }, 1);
	if (!(window[1] > 0))
		for (int i = 0; i < 2; i++) window[i] = EDGES_KEV[i];
	pen_count(p, 1);
	pen_count(p, 2);
	pen_floats(p, window, 2);
	pen_count(p, 1);
	pen_floats(p, &s->energy_resolution, 1);
}

static void put_schema(struct pen *p)
{
	char *text = NULL;

	if (!p->st) p->st = petsird_schema(&text);
	if (!p->st) pen_text(p, text);
	free(text);
}

static void put_header(struct pen *p, const iso_scanner *s, const struct layout *l)
{
	pen_bytes(p, "yardl\1\0\0\0", 9);
	put_schema(p);
	pen_text(p, s->name);
	put_geometry(p, s);
	pen_zeros(p, 2);     /* materials; alignment of the gantry */
	pen_text(p, "NONE"); /* collimator */
	put_bins(p, s, l);
	pen_zeros(p, 3); /* histograms of singles: level, units, edges */
	pen_count(p, 0); /* single events: none */
	pen_count(p, 2); /* prompts: multiples are left out, which is 1 as a pen_varint with sign */
	pen_zeros(p, 3); /* delayeds, triples, quadruples: none */
	petsird_put_efficiencies(p, s, &l->factors);
	pen_count(p, 0); /* examination */
}

/* ---- before the events ---- */

void petsird_set_factors(iso_event_writer *w, const struct iso_pair_factors *f)
{
	((struct layout *)w->layout)->factors = *f;
}

int petsird_create(iso_event_writer *w, const char *path, int64_t bytes)
{
	const iso_scanner *s = w->scanner;

	if (!s || s->kind != ISO_CYLINDER)
		return iso_fail(ISO_EARG, "%s: PETSIRD files are written of scanners of kind cylinder%s",
		                path, s ? "" : ", and none was given");
	if (!(w->layout = calloc(1, sizeof(struct layout))))
		return iso_fail_memory(path, sizeof(struct layout));
	return iso_out_open(&w->out, path, bytes, ISO_OUT_PLAIN);
}

static bool has_tof(const struct iso_event *v)
{
	return v->dt_ps != 0 && isfinite(v->dt_ps);
}

static int set_bins(iso_event_writer *w, const struct iso_events *e)
{
	const iso_scanner *s = w->scanner;
	struct layout *l = w->layout;
	bool tof = e->tof_fwhm_ps > 0;

	for (int64_t i = 0; i < e->n && !tof; i++) tof = has_tof(&e->v[i]);
	if (tof) l->fwhm_ps = e->tof_fwhm_ps > 0 ? e->tof_fwhm_ps : s->tof_fwhm_ps;
	if (tof && !(l->fwhm_ps > 0))
		return iso_fail(ISO_EARG,
		                "%s: events with times of flight of unknown resolution; scanner %s must say "
		                "it (tof: {fwhm_ps: ...})",
		                w->out.path, s->name);
	double half = hypot(s->radius, s->pos[2]); /* of the longest line; crystal 0 is at an end */
	double reach = half / ISO_MM_PER_PS + BEYOND_FWHM * l->fwhm_ps;

	l->wide_ps = tof ? l->fwhm_ps / BINS_PER_FWHM : 2 * reach;
	l->bins = tof ? 2 * (int64_t)ceil(reach / l->wide_ps) + 1 : 1; /* the middle one is 0 */
	l->first_ps = -.5 * (double)l->bins * l->wide_ps;
	return ISO_OK;
}

static void lose(struct layout *l, const char *what, const char *value)
{
	size_t n = strlen(l->lost);

	iso_snprintf(l->lost + n, sizeof l->lost - n, "%s%s %s", n ? ", " : "no place for ", what, value);
}

/* Times are whole ms from 0 on; a scan that begins before is said to begin at 0. */
static int set_scan(iso_event_writer *w, const struct iso_events *e)
{
	struct layout *l = w->layout;
	double long_ms = e->duration_s > 0 ? fmax(1, round(1e3 * e->duration_s)) : 0;
	double begin_ms = round(1e3 * e->start_s);
	char value[32];

	if (long_ms > UINT32_MAX)
		return iso_fail(ISO_EARG, "%s: a scan of %g s; PETSIRD has times of up to %u s", w->out.path,
		                e->duration_s, UINT32_MAX / 1000);
	if (begin_ms >= 0 && begin_ms + long_ms <= UINT32_MAX)
		l->begin_ms = begin_ms;
	else {
		iso_snprintf(value, sizeof value, "%g s", e->start_s);
		lose(l, "a start at", value);
	}
	l->reached_ms = l->begin_ms;
	l->end_ms = l->begin_ms + long_ms;
	if (e->isotope[0]) lose(l, "the isotope", e->isotope);
	if (e->calibration > 0 && e->calibration != 1) {
		iso_snprintf(value, sizeof value, "%g", e->calibration);
		lose(l, "the calibration factor", value);
	}
	return ISO_OK;
}

int petsird_begin(iso_event_writer *w, const struct iso_events *e)
{
	struct pen p = { &w->out, set_bins(w, e) };

	if (!p.st) p.st = set_scan(w, e);
	if (!p.st) put_header(&p, w->scanner, w->layout);
	return p.st;
}

/* ---- blocks of events ---- */

/* All of a block that stands before its number of events. */
static void put_block(struct pen *p, double from_ms, double to_ms)
{
	pen_count(p, 1); /* blocks that follow in the stream */
	pen_count(p, 0); /* the first kind of block: events */
	pen_count(p, (uint64_t)from_ms);
	pen_count(p, (uint64_t)to_ms);
	pen_count(p, 0); /* single events */
	pen_pair(p);
}

/* It has no events: the time until to_ms. */
static void put_pause(struct pen *p, double from_ms, double to_ms)
{
	put_block(p, from_ms, to_ms);
	pen_zeros(p, 4); /* prompts; delayed, triple, quadruple events */
}

/* A pen_varint of as many bytes for every number. */
static void fixed_count(uint8_t to[COUNT_BYTES], int64_t v)
{
	for (int i = 0; i < COUNT_BYTES; i++)
		to[i] = (uint8_t)((v >> 7 * i & 127) | (i < COUNT_BYTES - 1 ? 128 : 0));
}

static int flush(iso_event_writer *w)
{
	struct layout *l = w->layout;
	int64_t n = l->used;

	l->used = 0;
	return n ? iso_out_write(&w->out, l->event, n) : ISO_OK;
}

static int end_block(iso_event_writer *w)
{
	struct layout *l = w->layout;
	struct pen p = { &w->out, ISO_OK };
	uint8_t count[COUNT_BYTES];

	if (!l->open) return ISO_OK;
	l->open = false;
	fixed_count(count, l->n);
	p.st = flush(w);
	if (!p.st) p.st = iso_write_at(w->out.path, w->out.fd, count, sizeof count, l->count_at);
	pen_zeros(&p, 3); /* delayed, triple, quadruple events */
	return p.st;
}

/* A block of events of this time after the scan's beginning; `timed`: they have times. */
static int begin_block(iso_event_writer *w, uint32_t time_ms, bool timed)
{
	struct layout *l = w->layout;
	struct pen p = { &w->out, end_block(w) };
	bool known = l->end_ms > l->begin_ms;
	double from = l->begin_ms + time_ms, to = from;

	if (!p.st && from > UINT32_MAX - BLOCK_MS)
		return iso_fail(ISO_EARG, "%s: an event at %g s; PETSIRD has times of up to %u s",
		                w->out.path, 1e-3 * from, UINT32_MAX / 1000);
	if (known)
		to = timed ? fmax(from, fmin(from + BLOCK_MS, l->end_ms)) : l->end_ms;
	else if (timed)
		from = to = from + BLOCK_MS / 2;
	if (l->reached_ms <= l->begin_ms && from > l->begin_ms)
		put_pause(&p, l->begin_ms, known ? fmin(from, l->end_ms) : l->begin_ms);
	put_block(&p, from, to);
	l->count_at = lseek(w->out.fd, 0, SEEK_CUR);
	pen_bytes(&p, (const uint8_t[COUNT_BYTES]){ 0 }, COUNT_BYTES);
	l->reached_ms = fmax(l->reached_ms, to);
	l->at_ms = time_ms;
	l->open = true;
	l->n = 0;
	return p.st;
}

/* ---- the events ---- */

static int find_crystals(uint32_t c[2], const iso_event_writer *w, const struct iso_events *e, int64_t i)
{
	for (int end = 0; end < 2; end++) {
		const float *v = end ? e->v[i].p2 : e->v[i].p1;
		double place[3] = { v[0], v[1], v[2] }, distance;

		c[end] = e->crystal ? e->crystal[2 * i + end]
		                    : (uint32_t)iso_scanner_nearest(&distance, w->scanner, place);
		if (c[end] >= w->scanner->n)
			return iso_fail(
				ISO_EARG, "%s: event %" PRId64 ": crystal %u, scanner %s has %" PRId64,
				w->out.path, w->n + i, (unsigned)c[end], w->scanner->name, w->scanner->n);
	}
	return ISO_OK;
}

static int add_event(iso_event_writer *w, const struct iso_events *e, int64_t i)
{
	struct layout *l = w->layout;
	uint32_t c[2] = { 0 }, time = e->time_ms ? e->time_ms[i] / BLOCK_MS * BLOCK_MS : 0;
	int st;

	if (iso_event_bad(&e->v[i]) || !isfinite(e->v[i].dt_ps))
		return ISO_OK; /* has no crystals to be stored */
	if (!(l->fwhm_ps > 0) && has_tof(&e->v[i]))
		return iso_fail(ISO_EARG, "%s: a block with other values than the first one", w->out.path);
	if ((st = find_crystals(c, w, e, i))) return st;
	double tof = floor(((double)e->v[i].dt_ps - l->first_ps) / l->wide_ps);
	double bin = fmin(fmax(tof, 0), (double)(l->bins - 1));

	if ((!l->open || time != l->at_ms) && (st = begin_block(w, time, e->time_ms))) return st;
	if (l->used > HELD - EVENT_BYTES && (st = flush(w))) return st;
	l->clamped += bin != tof;
	l->apart += !iso_scanner_in_coincidence(w->scanner, c[0], c[1]);
	l->late += e->time_ms && l->end_ms > l->begin_ms && e->time_ms[i] > l->end_ms - l->begin_ms;
	l->n++;
	l->used += pen_varint(l->event + l->used, c[0]);
	l->used += pen_varint(l->event + l->used, c[1]);
	l->used += pen_varint(l->event + l->used, (uint64_t)bin);
	return ISO_OK;
}

/* What the file says otherwise than the events so far. */
static void set_warning(iso_event_writer *w)
{
	const struct layout *l = w->layout;
	const struct {
		int64_t n;
		const char *words;
	} told[] = {
		{ l->clamped, "have times of flight beyond the scanner; they are in the last bins" },
		{ l->late, "are later than the end of the scan" },
		{ l->apart, "are of crystals that the scanner does not have in coincidence" },
	};
	size_t n = (size_t)iso_snprintf(w->warning, sizeof w->warning, "%s", l->lost);

	for (size_t i = 0; i < sizeof told / sizeof *told; i++)
		if (told[i].n && n < sizeof w->warning)
			n += (size_t)iso_snprintf(w->warning + n, sizeof w->warning - n,
			                          "%s%" PRId64 " events %s", n ? "; " : "", told[i].n,
			                          told[i].words);
}

int petsird_append(iso_event_writer *w, const struct iso_events *e)
{
	int st = e->mult || e->add
	                 ? iso_fail(ISO_EARG, "%s: PETSIRD has no place for factors of single events",
	                            w->out.path)
	                 : ISO_OK;

	for (int64_t i = 0; i < e->n && !st; i++) st = add_event(w, e, i);
	set_warning(w);
	return st;
}

int petsird_finish(iso_event_writer *w, const char *sidecar)
{
	const struct layout *l = w->layout;
	struct pen p = { &w->out, end_block(w) };

	if (l->reached_ms < l->end_ms) put_pause(&p, l->reached_ms, l->end_ms);
	pen_count(&p, 0); /* the end of the stream */
	return p.st ? p.st : iso_target_finish(&w->out, sidecar);
}
