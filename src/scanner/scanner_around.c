/* SPDX-License-Identifier: BSD-3-Clause */
/* A cylinder through the ends of events, for files that hold no scanner. */
#include "scanner.h"
#include "core/size.h"
#include "isotome/events.h"

enum {
	ENDS_MOST = 1 << 17,     /* ends whose radii are sorted */
	SECTORS = 8,             /* of a turn, each of which must have ends */
	CRYSTALS_MOST = 1 << 20, /* else they become larger */
};
#define CRYSTAL_SHARE (1. / 30) /* of the radius, */
#define CRYSTAL_LEAST_MM 1.     /* but not below, */
#define CRYSTAL_MOST_MM 4.      /* and not above */
#define FARTHEST_MM 1e5         /* no scanner is 100 m wide */
#define SPREAD_MOST .5 /* of the median radius: between the tenths of ends nearest to z and farthest */
#define ASIDE_MOST .25 /* of the length of all ends: how far their middle lies from z = 0 */

/* What the ends of the good events have. */
struct ends {
	int64_t n;      /* of those whose radius was taken */
	double *radius; /* mm, from the z axis */
	double z[2];    /* least and greatest, mm */
	bool in_sector[SECTORS];
};

static void add_end(struct ends *d, const float p[3], bool taken)
{
	double turn = atan2((double)p[1], (double)p[0]) / (2 * M_PI) + .5;

	d->z[0] = fmin(d->z[0], (double)p[2]);
	d->z[1] = fmax(d->z[1], (double)p[2]);
	d->in_sector[scanner_cell(turn * SECTORS, SECTORS)] = true;
	if (taken) d->radius[d->n++] = hypot((double)p[0], (double)p[1]);
}

static int compare(const void *a, const void *b)
{
	double p = *(const double *)a, q = *(const double *)b;

	return (p > q) - (p < q);
}

static int gather(struct ends *d, const struct iso_events *e)
{
	int64_t step = e->n / (ENDS_MOST / 2) + 1, room = 2 * (e->n / step + 1);

	*d = (struct ends){ .z = { INFINITY, -INFINITY } };
	if (!(d->radius = size_alloc(room, sizeof *d->radius)))
		return iso_fail_memory("a scanner around events", room * (int64_t)sizeof *d->radius);
	for (int64_t i = 0; i < e->n; i++) {
		if (iso_event_bad(&e->v[i])) continue;
		add_end(d, e->v[i].p1, i % step == 0);
		add_end(d, e->v[i].p2, i % step == 0);
	}
	qsort(d->radius, (size_t)d->n, sizeof *d->radius, compare);
	return ISO_OK;
}

/* ISO_EINPUT unless they lie on a cylinder around z whose middle is at 0. */
static int check(const struct ends *d)
{
	double low, middle, high, aside, length = d->z[1] - d->z[0];

	if (d->n == 0) return iso_fail(ISO_EINPUT, "no events to see a scanner by");
	low = d->radius[d->n / 10];
	middle = d->radius[d->n / 2];
	high = d->radius[d->n - 1 - d->n / 10];
	aside = fabs(d->z[0] + d->z[1]) / 2;
	if (!(middle >= CRYSTAL_LEAST_MM && high <= FARTHEST_MM && high - low <= SPREAD_MOST * middle))
		return iso_fail(ISO_EINPUT,
		                "ends lie %.4g to %.4g mm from the z axis, on no cylinder around it", low,
		                high);
	for (int i = 0; i < SECTORS; i++)
		if (!d->in_sector[i])
			return iso_fail(ISO_EINPUT, "ends lie not all round the z axis, on no cylinder");
	if ((aside > ASIDE_MOST * length && aside > CRYSTAL_MOST_MM) || length > FARTHEST_MM)
		return iso_fail(ISO_EINPUT, "ends lie at z = %.4g to %.4g mm, not around 0", d->z[0],
		                d->z[1]);
	return ISO_OK;
}

static int make(iso_scanner *s, const struct ends *d)
{
	struct iso_pairs *p = &s->pairs;
	double half = fmax(fabs(d->z[0]), fabs(d->z[1])), size;
	char text[160];

	s->kind = ISO_CYLINDER;
	s->assumed = true;
	s->radius = d->radius[d->n / 2];
	size = fmin(fmax(CRYSTAL_SHARE * s->radius, CRYSTAL_LEAST_MM), CRYSTAL_MOST_MM);
	while (2 * M_PI * s->radius / size * (2 * half / size + 1) > CRYSTALS_MOST) size *= 2;
	s->ring_pitch = size;
	p->rings = (int64_t)fmax(ceil(2 * half / size), 1);
	p->per_ring = 2 * (int64_t)ceil(M_PI * s->radius / size);
	p->min_distance = 1;
	p->max_ring_difference = p->rings;
	s->block = p->per_ring;
	iso_snprintf(text, sizeof text, "cylinder of radius %.4g mm, length %.4g mm, crystals %.2g mm",
	             s->radius, (double)p->rings * size, size);
	iso_scanner_set_name(s, text, strlen(text));
	return iso_cylinder_finish(s);
}

int iso_scanner_around(iso_scanner **s, const struct iso_events *e)
{
	iso_scanner *scanner = calloc(1, sizeof *scanner);
	struct ends d = { 0 };
	int st = scanner ? gather(&d, e) : iso_fail_memory("scanner", sizeof *scanner);

	if (!st) st = check(&d);
	if (!st) st = make(scanner, &d);
	free(d.radius);
	if (st)
		iso_scanner_free(scanner);
	else
		*s = scanner;
	return st;
}
