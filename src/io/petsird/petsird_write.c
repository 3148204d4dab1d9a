/* SPDX-License-Identifier: BSD-3-Clause */
/* Events as PETSIRD 0.12: header, then blocks of events of one time each.

   Every ring of a cylinder is a module, and its crystals are the module's elements: detection bins are numbers of crystals.
   A table of module pairs says which rings are in coincidence, and one of element pairs which crystals are. Times of
   flight are stored by bin, of a tenth of the resolution.

   A file begins with its schema, which names records and fields as PETSIRD 0.12 does: that is part of the format. */
#include "petsird.h"

#include "core/status.h"
#include "file/out.h"
#include "io/events.h"
#include "io/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	BLOCK = 1 << 15,   /* events of a time block, at most */
	BLOCK_MS = 100,    /* and its length */
	EVENT_BYTES = 15,  /* three varints, at most */
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
	double wide_ps, first_ps; /* of TOF bins; 0: there is one bin alone */
	int64_t bins;
	uint32_t at_ms; /* of the block that is filled */
	int64_t n;      /* events in it */
	int64_t used;   /* bytes of them */
	uint8_t event[BLOCK * EVENT_BYTES];
};

/* ---- numbers ---- */

/* 7 bits a byte, lowest first. */
static int64_t varint(uint8_t *to, uint64_t v)
{
	int64_t n = 0;

	for (; v > 127; v >>= 7) to[n++] = (uint8_t)(v | 128);
	to[n++] = (uint8_t)v;
	return n;
}

/* Writes to a file until something fails. */
struct pen {
	struct iso_out *out;
	int st;
};

static void put_bytes(struct pen *p, const void *v, int64_t n)
{
	if (!p->st) p->st = iso_out_write(p->out, v, n);
}

static void put_count(struct pen *p, uint64_t v)
{
	uint8_t bytes[10];

	put_bytes(p, bytes, varint(bytes, v));
}

static void put_zeros(struct pen *p, int n)
{
	for (int i = 0; i < n; i++) put_count(p, 0);
}

static void put_text(struct pen *p, const char *text)
{
	put_count(p, strlen(text));
	put_bytes(p, text, (int64_t)strlen(text));
}

static void put_floats(struct pen *p, const double *v, int n)
{
	for (int i = 0; i < n; i++) put_bytes(p, &(float){ (float)v[i] }, sizeof(float));
}

/* ---- the scanner ---- */

/* Turned by c and s round z, then moved. */
static void put_transform(struct pen *p, double c, double s, double z)
{
	put_floats(p, (const double[]){ c, -s, 0, 0, s, c, 0, 0, 0, 0, 1, z }, 12);
}

/* A box round (radius, 0, 0): depth along x, tangential along y, axial along z. */
static void put_box(struct pen *p, const iso_scanner *s)
{
	const double *size = s->crystal_mm;

	for (int i = 0; i < 8; i++) {
		double half[3] = { i & 1 ? .5 : -.5, i & 2 ? .5 : -.5, i & 4 ? .5 : -.5 };

		put_floats(p,
		           (const double[]){ s->radius + half[0] * (size[2] > 0 ? size[2] : FACE_MM),
		                             half[1] * (size[0] > 0 ? size[0] : FACE_MM),
		                             half[2] * (size[1] > 0 ? size[1] : FACE_MM) },
		           3);
	}
	put_count(p, 0); /* material */
}

static void put_geometry(struct pen *p, const iso_scanner *s)
{
	const int64_t rings = s->pairs.rings, columns = s->pairs.per_ring;

	put_count(p, 1); /* kinds of modules */
	put_box(p, s);
	put_count(p, (uint64_t)columns);
	for (int64_t c = 0; c < columns; c++) {
		double turn = atan2(s->pos[3 * c + 1], s->pos[3 * c]);

		put_transform(p, cos(turn), sin(turn), 0);
	}
	put_count(p, 0); /* parts of a module that detect nothing */
	put_count(p, (uint64_t)rings);
	for (int64_t r = 0; r < rings; r++) put_transform(p, 1, 0, s->pos[3 * r * columns + 2]);
	put_count(p, 0); /* volumes that detect nothing */
}

/* Lists of lists by kinds of modules, of which there is one. */
static void put_pair(struct pen *p)
{
	put_count(p, 1);
	put_count(p, 1);
}

static void put_bins(struct pen *p, const iso_scanner *s, const struct layout *l)
{
	double window[2] = { s->energy_kev[0], s->energy_kev[1] };

	put_pair(p);
	put_count(p, (uint64_t)l->bins + 1);
	for (int64_t i = 0; i <= l->bins; i++)
		put_floats(p, (const double[]){ (l->first_ps + (double)i * l->wide_ps) * ISO_MM_PER_PS }, 1);
	put_pair(p);
	put_floats(p, (const double[]){ s->tof_fwhm_ps * ISO_MM_PER_PS }, 1);
	if (!(window[1] > 0))
		for (int i = 0; i < 2; i++) window[i] = EDGES_KEV[i];
	put_count(p, 1);
	put_count(p, 2);
	put_floats(p, window, 2);
	put_count(p, 1);
	put_floats(p, &s->energy_resolution, 1);
}

/* Modules i and j <= i: 0, the table that follows, or -1, which is 1 as a varint with sign: not in coincidence. */
static void put_efficiencies(struct pen *p, const struct iso_pairs *q)
{
	put_text(p, "1 for all pairs that are in coincidence");
	put_floats(p, (const double[]){ 1 }, 1);
	put_count(p, 0); /* of single detection bins */
	put_pair(p);
	put_count(p, (uint64_t)q->rings);
	for (int64_t i = 0; i < q->rings; i++) {
		put_count(p, (uint64_t)i + 1);
		for (int64_t j = 0; j <= i; j++) put_count(p, i - j > q->max_ring_difference);
	}
	put_pair(p);
	put_count(p, 1);
	put_count(p, (uint64_t)q->per_ring);
	for (int64_t i = 0; i < q->per_ring; i++) {
		put_count(p, (uint64_t)q->per_ring);
		for (int64_t j = 0; j < q->per_ring; j++) {
			int64_t apart = llabs(i - j);

			if (apart > q->per_ring - apart) apart = q->per_ring - apart;
			put_floats(p, (const double[]){ apart >= q->min_distance }, 1);
		}
	}
	put_count(p, 0); /* number of that table */
}

static void put_schema(struct pen *p)
{
	char *text = NULL;

	if (!p->st) p->st = petsird_schema(&text);
	if (!p->st) put_text(p, text);
	free(text);
}

static void put_header(struct pen *p, const iso_scanner *s, const struct layout *l)
{
	put_bytes(p, "yardl\1\0\0\0", 9);
	put_schema(p);
	put_text(p, s->name);
	put_geometry(p, s);
	put_zeros(p, 2);     /* materials; alignment of the gantry */
	put_text(p, "NONE"); /* collimator */
	put_bins(p, s, l);
	put_zeros(p, 3); /* histograms of singles: level, units, edges */
	put_count(p, 0); /* single events: none */
	put_count(p, 2); /* prompts: multiples are left out, which is 1 as a varint with sign */
	put_zeros(p, 3); /* delayeds, triples, quadruples: none */
	put_efficiencies(p, &s->pairs);
	put_count(p, 0); /* examination */
}

/* ---- the events ---- */

int petsird_create(iso_event_writer *w, const char *path, int64_t bytes)
{
	const iso_scanner *s = w->scanner;
	struct layout *l;
	int st;

	if (!s || s->kind != ISO_CYLINDER)
		return iso_fail(ISO_EARG, "%s: PETSIRD files are written of scanners of kind cylinder%s",
		                path, s ? "" : ", and none was given");
	if (!(w->layout = l = calloc(1, sizeof *l))) return iso_fail_memory(path, sizeof *l);
	double half = hypot(s->radius, s->pos[2]); /* of the longest line; crystal 0 is at an end */
	double reach = half / ISO_MM_PER_PS + BEYOND_FWHM * s->tof_fwhm_ps;

	l->wide_ps = s->tof_fwhm_ps > 0 ? s->tof_fwhm_ps / BINS_PER_FWHM : 2 * reach;
	l->bins =
		s->tof_fwhm_ps > 0 ? 2 * (int64_t)ceil(reach / l->wide_ps) + 1 : 1; /* the middle one is 0 */
	l->first_ps = -.5 * (double)l->bins * l->wide_ps;
	if ((st = iso_out_open(&w->out, path, bytes, ISO_OUT_PLAIN))) return st;
	struct pen p = { &w->out, ISO_OK };

	put_header(&p, s, l);
	return p.st;
}

static int end_block(iso_event_writer *w)
{
	struct layout *l = w->layout;
	struct pen p = { &w->out, ISO_OK };

	if (l->n == 0) return ISO_OK;
	put_count(&p, 1); /* blocks that follow in the stream */
	put_count(&p, 0); /* the first kind of block: events */
	put_count(&p, l->at_ms);
	put_count(&p, (uint64_t)l->at_ms + BLOCK_MS);
	put_count(&p, 0); /* single events */
	put_pair(&p);
	put_count(&p, (uint64_t)l->n);
	put_bytes(&p, l->event, l->used);
	put_zeros(&p, 3); /* delayed, triple, quadruple events */
	l->n = l->used = 0;
	return p.st;
}

static int add_event(iso_event_writer *w, const struct iso_events *e, int64_t i)
{
	struct layout *l = w->layout;
	uint32_t c[2], time = e->time_ms ? e->time_ms[i] / BLOCK_MS * BLOCK_MS : 0;
	int st = ISO_OK;

	if (iso_event_bad(&e->v[i]) || !isfinite(e->v[i].dt_ps))
		return ISO_OK; /* has no crystals to be stored */
	for (int end = 0; end < 2; end++) {
		const float *v = end ? e->v[i].p2 : e->v[i].p1;
		double place[3] = { v[0], v[1], v[2] }, distance;

		c[end] = e->crystal ? e->crystal[2 * i + end]
		                    : (uint32_t)iso_scanner_nearest(w->scanner, place, &distance);
		if (c[end] >= w->scanner->n)
			return iso_fail(
				ISO_EARG, "%s: event %" PRId64 ": crystal %u, scanner %s has %" PRId64,
				w->out.path, w->n + i, (unsigned)c[end], w->scanner->name, w->scanner->n);
	}
	double tof = floor(((double)e->v[i].dt_ps - l->first_ps) / l->wide_ps);

	if ((l->n == BLOCK || time != l->at_ms) && (st = end_block(w))) return st;
	l->at_ms = time;
	l->n++;
	l->used += varint(l->event + l->used, c[0]);
	l->used += varint(l->event + l->used, c[1]);
	l->used += varint(l->event + l->used, (uint64_t)fmin(fmax(tof, 0), (double)(l->bins - 1)));
	return ISO_OK;
}

int petsird_append(iso_event_writer *w, const struct iso_events *e)
{
	int st = e->mult || e->add
	                 ? iso_fail(ISO_EARG, "%s: PETSIRD has no place for factors of single events",
	                            w->out.path)
	                 : ISO_OK;

	for (int64_t i = 0; i < e->n && !st; i++) st = add_event(w, e, i);
	return st;
}

int petsird_finish(iso_event_writer *w, const char *sidecar)
{
	struct pen p = { &w->out, end_block(w) };

	put_count(&p, 0); /* the end of the stream */
	return p.st ? p.st : iso_target_finish(&w->out, sidecar);
}
