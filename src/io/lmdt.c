/* SPDX-License-Identifier: BSD-3-Clause */
/* lmdT list-mode files: no header; per event x1 y1 z1 x2 y2 z2 (mm) and t2 - t1 (ps), float32. */
#include "core/size.h"
#include "core/status.h"
#include "io/format.h"
#include "io/in.h"

#include <math.h>
#include <string.h>

enum { RECORD = 28, BLOCK = 4096 };

_Static_assert(sizeof(struct iso_event) == RECORD, "a record is read in place");

bool iso_event_bad(const struct iso_event *e)
{
	bool finite = isfinite(e->dt_ps);

	for (int i = 0; i < 3; i++)
		finite = finite && isfinite(e->p1[i]) && isfinite(e->p2[i]);
	return !finite || (e->p1[0] == e->p2[0] && e->p1[1] == e->p2[1] && e->p1[2] == e->p2[2]);
}

/* The file's t2 - t1 to t1 - t2, or back; 0 stays +0. */
static void negate_dt(struct iso_event *v, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		v[i].dt_ps = 0 - v[i].dt_ps;
}

/* Largest finite coordinate, mm. */
static float reach(const struct iso_event *e)
{
	float most = 0;

	for (int i = 0; i < 3; i++) {
		most = isfinite(e->p1[i]) ? fmaxf(most, fabsf(e->p1[i])) : most;
		most = isfinite(e->p2[i]) ? fmaxf(most, fabsf(e->p2[i])) : most;
	}
	return most;
}

/* No scanner is 100 m wide, none a nanometre: bytes in another order, or another format. */
static int check_events(struct iso_events *e, const char *path)
{
	int64_t far = 0;
	float most = 0;

	for (int64_t i = 0; i < e->n; i++) {
		float r = reach(&e->v[i]);

		far += r > 1e5f;
		most = fmaxf(most, r);
		e->n_bad += iso_event_bad(&e->v[i]);
	}
	if (far > e->n / 2 || (most > 0 && most < 1e-6f))
		return iso_fail(ISO_EINPUT, "%s: does not look like lmdT (little-endian float32, "
				"mm): coordinates up to %g mm; wrong byte order?", path,
				(double)most);
	if (e->n_bad == e->n)
		return iso_fail(ISO_EINPUT, "%s: none of its %" PRId64 " events is usable: not "
				"finite, or both ends the same", path, e->n);
	return ISO_OK;
}

static int read_events(struct iso_events *e, struct iso_in *in, bool swap_dt)
{
	struct iso_events r = { .n = in->size / RECORD };
	int st;

	if (in->size % RECORD != 0)
		return iso_fail(ISO_EINPUT, "%s: %" PRId64 " bytes are not a whole number of "
				"%d-byte events: %d left over", in->path, in->size, RECORD,
				(int)(in->size % RECORD));
	r.v = size_alloc(r.n, RECORD);
	if (!r.v)
		return iso_fail_memory(in->path, in->size);
	st = iso_in_read(in, r.v, in->size);
	if (!st)
		st = check_events(&r, in->path);
	if (st) {
		iso_events_free(&r);
		return st;
	}
	if (!swap_dt)
		negate_dt(r.v, r.n);
	*e = r;
	return ISO_OK;
}

static int check_suffix(int code, const char *path)
{
	if (iso_has_suffix(path, ".lmdT"))
		return ISO_OK;
	return iso_fail(code, "%s: unknown suffix for events; known is .lmdT", path);
}

int iso_events_read(struct iso_events *e, const char *path, const struct iso_events_options *o)
{
	struct iso_in in;
	int st = check_suffix(ISO_EINPUT, path);

	if (!st)
		st = iso_in_open(&in, path, false);
	if (st)
		return st;
	st = read_events(e, &in, o && o->swap_dt);
	iso_in_close(&in);
	return st;
}

static int write_events(struct iso_out *o, const struct iso_events *e)
{
	struct iso_event block[BLOCK];
	int st = ISO_OK;

	for (int64_t i = 0; i < e->n && !st; i += BLOCK) {
		int64_t n = e->n - i < BLOCK ? e->n - i : BLOCK;

		memcpy(block, e->v + i, (size_t)n * RECORD);
		negate_dt(block, n);
		st = iso_out_write(o, block, n * RECORD);
	}
	return st;
}

int iso_events_write_check(const char *path, bool force)
{
	int st = check_suffix(ISO_EARG, path);

	return st ? st : iso_target_check(path, force);
}

int iso_events_write(const char *path, const struct iso_events *e, const char *sidecar)
{
	struct iso_out o = { 0 };
	int64_t bytes;
	int st = check_suffix(ISO_EARG, path);

	if (st)
		return st;
	if (e->n < 1 || !size_mul(&bytes, e->n, RECORD))
		return iso_fail(ISO_EARG, "%s: %" PRId64 " events to write, must be at least 1",
				path, e->n);
	if ((st = iso_out_open(&o, path, bytes, false))) goto done;
	if ((st = write_events(&o, e))) goto done;
	st = iso_target_finish(&o, sidecar);
done:
	iso_out_free(&o);
	return st;
}

void iso_events_free(struct iso_events *e)
{
	free(e->v);
	free(e->time_ms);
	free(e->count);
	free(e->mult);
	free(e->add);
	free(e->crystal);
	*e = (struct iso_events){ 0 };
}
