/* SPDX-License-Identifier: BSD-3-Clause */
/* Events in memory: what is wrong with one, their arrays made, copied and freed. */
#include "arrays.h"
#include "core/size.h"

#include <math.h>
#include <string.h>

bool iso_event_bad(const struct iso_event *e)
{
	if (!e) return true;

	bool finite = isfinite(e->dt_ps);

	for (int i = 0; i < 3; i++) finite = finite && isfinite(e->p1[i]) && isfinite(e->p2[i]);
	return !finite || (e->p1[0] == e->p2[0] && e->p1[1] == e->p2[1] && e->p1[2] == e->p2[2]);
}

/* The arrays of events, and what an event has in each. */
static const struct {
	size_t at;
	int64_t item;
} arrays[ISO_EVENT_ARRAYS] = {
	{ offsetof(struct iso_events, v), sizeof(struct iso_event) },
	{ offsetof(struct iso_events, time_ms), sizeof(uint32_t) },
	{ offsetof(struct iso_events, count), sizeof(iso_real) },
	{ offsetof(struct iso_events, mult), sizeof(iso_real) },
	{ offsetof(struct iso_events, add), sizeof(iso_real) },
	{ offsetof(struct iso_events, crystal), 2 * sizeof(uint32_t) },
	{ offsetof(struct iso_events, fwhm_ps), sizeof(iso_real) },
};

static void *array(const struct iso_events *e, int k)
{
	void *p;

	memcpy(&p, (const char *)e + arrays[k].at, sizeof p);
	return p;
}

bool iso_event_arrays_make(struct iso_events *e, int64_t n, struct iso_event_arrays w)
{
	bool good = true;

	for (int k = 0; k < ISO_EVENT_ARRAYS; k++) {
		void *p = w.wanted[k] ? size_alloc(n, arrays[k].item) : NULL;

		memcpy((char *)e + arrays[k].at, &p, sizeof p);
		good = good && (p || !w.wanted[k]);
	}
	if (!good) iso_events_free(e);
	return good;
}

void iso_events_free(struct iso_events *e)
{
	if (!e) return;
	for (int k = 0; k < ISO_EVENT_ARRAYS; k++) free(array(e, k));
	*e = (struct iso_events){ 0 };
}

/* to[0 .. n-1] = from[first ...], in all arrays that there are. */
static void copy_arrays(struct iso_events *to, const struct iso_events *from, int64_t first, int64_t n)
{
	for (int k = 0; k < ISO_EVENT_ARRAYS; k++)
		if (array(from, k))
			memcpy(array(to, k), (const char *)array(from, k) + first * arrays[k].item,
			       (size_t)(n * arrays[k].item));
}

struct iso_events iso_events_from(const struct iso_events *e, int64_t at)
{
	struct iso_events r = *e;

	for (int k = 0; k < ISO_EVENT_ARRAYS; k++) {
		char *p = array(e, k) ? (char *)array(e, k) + at * arrays[k].item : NULL;

		memcpy((char *)&r + arrays[k].at, &p, sizeof p);
	}
	return r;
}

int iso_events_share(struct iso_events *to, const struct iso_events *from, const struct iso_deal *d)
{
	struct iso_events e = *from;
	struct iso_event_arrays w;

	for (int k = 0; k < ISO_EVENT_ARRAYS; k++) w.wanted[k] = array(from, k);
	e.n = iso_deal_count(d);
	if (!iso_event_arrays_make(&e, e.n, w)) return iso_fail_memory("events", e.n * (int64_t)sizeof *e.v);
	for (int64_t j = 0; j < e.n; j += d->chunk) {
		struct iso_events part = iso_events_from(&e, j);

		copy_arrays(&part, from, iso_deal_number(d, j), e.n - j < d->chunk ? e.n - j : d->chunk);
	}
	*to = e;
	return ISO_OK;
}

int iso_events_copy(struct iso_events *to, const struct iso_events *from)
{
	return iso_events_share(to, from, &(struct iso_deal){ from->n, from->n + !from->n, 0, 1 });
}

int iso_events_append(struct iso_events *e, const struct iso_events *more)
{
	struct iso_events all = *e;
	struct iso_event_arrays w;

	for (int k = 0; k < ISO_EVENT_ARRAYS; k++) {
		w.wanted[k] = array(e, k);
		if (!array(e, k) != !array(more, k))
			return iso_fail(ISO_EINPUT, "the two do not have the same values of each event");
	}
	all.n = e->n + more->n;
	if (!iso_event_arrays_make(&all, all.n, w))
		return iso_fail_memory("events", all.n * (int64_t)sizeof *all.v);
	struct iso_events part = iso_events_from(&all, e->n);

	copy_arrays(&all, e, 0, e->n);
	copy_arrays(&part, more, 0, more->n);
	all.n_bad = e->n_bad + more->n_bad;
	iso_events_free(e);
	*e = all;
	return ISO_OK;
}

int64_t iso_event_arrays_bytes(struct iso_event_arrays w)
{
	int64_t bytes = 0;

	for (int k = 0; k < ISO_EVENT_ARRAYS; k++) bytes += w.wanted[k] * arrays[k].item;
	return bytes;
}

void iso_strip_events_free(struct iso_strip_events *e)
{
	if (!e) return;
	free(e->v);
	*e = (struct iso_strip_events){ 0 };
}

int iso_strip_events_copy(struct iso_strip_events *to, const struct iso_strip_events *from)
{
	struct iso_strip_event *v = size_alloc(from->n, sizeof *v);

	if (!v) return iso_fail_memory("events", from->n * (int64_t)sizeof *v);
	memcpy(v, from->v, (size_t)from->n * sizeof *v);
	*to = *from;
	to->v = v;
	return ISO_OK;
}
