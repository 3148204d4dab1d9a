/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of two strips against the strips: places along them, and differences of the two ways. */
#include "check.h"

#include "problem/strip/model_strip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIGMAS 4
#define BEYOND .05 /* share of events off the strips, or off the lines between them */
#define BEYOND_MOST .5
#define STILL .3 /* of sigma_dl, the least median of |dl|: a Gaussian has 0.67 */
#define FEW 20   /* events that tell nothing of their unit */

struct some_hits {
	int n;
	struct iso_strip_event v[CHECK_EVENTS];
};

/* Some events, spread over the file, as integers, which ranks can add; every rank has the same. */
static int some_of(struct some_hits *some, struct strip *strip)
{
	enum { WORDS = 4 };
	int64_t n = strip->n < CHECK_EVENTS ? strip->n : CHECK_EVENTS, step = n > 0 ? strip->n / n : 1;
	int64_t word[WORDS * CHECK_EVENTS] = { 0 };
	int st = ISO_OK;

	some->n = 0;
	for (int64_t j = 0; j < strip->e.n && strip->e.v; j += strip->number ? 1 : step) {
		int64_t number = strip->number ? strip->number[j] : j;
		uint32_t bits[3];

		if (number % step || number / step >= n) continue;
		memcpy(bits, strip->e.v + j, sizeof bits);
		for (int k = 0; k < 3; k++) word[WORDS * (number / step) + k] = bits[k];
		word[WORDS * (number / step) + 3] = 1;
	}
	if (strip->number) st = iso_comm_sum(strip->p->ctx, ISO_OK, word, WORDS * CHECK_EVENTS);
	for (int64_t i = 0; i < n && !st; i++) {
		uint32_t bits[3];

		for (int k = 0; k < 3; k++) bits[k] = (uint32_t)word[WORDS * i + k];
		memcpy(some->v + some->n, bits, sizeof bits);
		some->n += word[WORDS * i + 3] && !iso_strip_event_bad(some->v + some->n);
	}
	return st;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double farthest_hit(const struct iso_strip_event *e)
{
	return fmax(fabs((double)e->z_up), fabs((double)e->z_down));
}

/* Hits lie on the strips, and not all of them in the middle. */
int check_strip_events(struct look *l)
{
	struct strip *strip = l->p->self;
	const struct iso_strips *s = &strip->model.strips;
	double size[CHECK_EVENTS], off = .5 * s->length + SIGMAS * s->sigma_z * (1 + s->sigma_z_growth);
	struct some_hits some;
	int beyond = 0, st = some_of(&some, strip);
	char unit[160];

	if (st || some.n < FEW) return st;
	l->looked = true;
	for (int i = 0; i < some.n; i++) {
		size[i] = farthest_hit(some.v + i);
		beyond += size[i] > off;
	}
	qsort(size, (size_t)some.n, sizeof *size, by_size);
	double times = size[some.n / 2] / (.25 * s->length);

	if (strip_in_the_middle(unit, some.n, size[some.n - 1], .5 * s->length))
		check_refuse(l, "%s: %s", strip->events, unit);
	else if (beyond > BEYOND_MOST * some.n)
		check_refuse(l,
		             "%s: %d of %d events looked at have a hit off the strips, which end %g mm from "
		             "the middle: half of them beyond %.4g mm, about %.2g times too far; "
		             "'event-unit-mm' is %g",
		             strip->events, beyond, some.n, .5 * s->length, size[some.n / 2], times,
		             strip->read.mm);
	else if (beyond > BEYOND * some.n)
		check_doubt(l,
		            "%s: %d of %d events looked at have a hit more than %d sigma_z beyond the ends "
		            "of the strips: are these the strips of %s",
		            strip->events, beyond, some.n, SIGMAS, strip->scanner);
	return ISO_OK;
}

/* The two ways of one line differ by its length at most, and are known to sigma_dl. */
int check_path_differences(struct look *l)
{
	struct strip *strip = l->p->self;
	const struct iso_strips *s = &strip->model.strips;
	double size[CHECK_EVENTS];
	struct some_hits some;
	int beyond = 0, st = some_of(&some, strip);

	if (st || some.n < FEW) return st;
	l->looked = true;
	for (int i = 0; i < some.n; i++) {
		double length = hypot(2 * s->radius, (double)some.v[i].z_up - (double)some.v[i].z_down);

		size[i] = fabs((double)some.v[i].dl);
		beyond += size[i] > length + SIGMAS * s->sigma_dl;
	}
	qsort(size, (size_t)some.n, sizeof *size, by_size);
	double median = size[some.n / 2];

	if (median < STILL * s->sigma_dl)
		check_refuse(l,
		             "%s: half of the |dl| are below %.3g mm, which a resolution of %g mm (sigma_dl) "
		             "alone makes larger: is dl in %s%s",
		             strip->events, median, s->sigma_dl,
		             median < .02 * s->sigma_dl ? "m, or its time in ns" : "cm",
		             strip->read.dl_is_time ? " ('dl-is-time' takes ps)" : " (mm are expected)");
	else if (beyond > BEYOND_MOST * some.n)
		check_refuse(l,
		             "%s: %d of %d values of dl looked at, half of them above %.4g mm, are longer "
		             "than the line from strip to strip: is dl in %s",
		             strip->events, beyond, some.n, median,
		             strip->read.dl_is_time ? "fs ('dl-is-time' takes ps)"
		                                    : "micrometres, or a time (mm are expected)");
	else if (beyond > BEYOND * some.n)
		check_doubt(l,
		            "%s: %d of %d values of dl looked at are longer than the line from strip to "
		            "strip, by more than %d sigma_dl",
		            strip->events, beyond, some.n, SIGMAS);
	return ISO_OK;
}
