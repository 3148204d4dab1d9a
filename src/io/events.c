/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of events, read whole or block by block. */
#include "file/in.h"
#include "core/size.h"
#include "core/sized.h"
#include "core/turn.h"
#include "file/suffix.h"
#include "kinds.h"

#include <math.h>
#include <omp.h>
#include <unistd.h>

enum {
	BUFFER = ISO_EVENT_BUFFER,
	SAMPLE = 4096, /* events looked at when a file is opened; */
	PLACES = 16,   /* in a sample of the whole file: its places, */
	EACH = 4096,   /* and events at each */
};

/* Of a file that is there. */
static const struct iso_event_format *format_to_read(const char *path)
{
	const struct iso_kind *k = iso_kind_to_read(path, ISO_EVENTS_FILE);

	return k ? k->events : NULL;
}

int iso_events_in_text(bool *found, const char *path, const struct iso_events_options *o)
{
	const struct iso_event_format *f = format_to_read(path);

	*found = f && !f->masked;
	return f && f->masked ? iso_is_gate(found, path, o) : ISO_OK;
}

/* ---- what formats share ---- */

int iso_event_file_records(iso_event_file *f, const char *path)
{
	int st;

	f->path = strdup(path);
	if (!f->path) return iso_fail_memory("file name", (int64_t)strlen(path));
	st = iso_regular_open(&f->fd, &f->size, path);
	if (!st && f->size == 0) st = iso_fail(ISO_EINPUT, "%s is empty", path);
	return st;
}

int iso_event_place(const iso_event_file *f, struct iso_events *e, int64_t k, int64_t i, double a, double b)
{
	double n = (double)f->crystals, c[2] = { a, b };

	for (int j = 0; j < 2; j++) {
		if (!(c[j] >= 0 && c[j] < n && c[j] == floor(c[j])))
			return iso_refuse(f->path,
			                  "event %" PRId64
			                  ": crystal %.10g, scanner %s has crystals 0 to %.0f",
			                  i, c[j], iso_scanner_name(f->scanner), n - 1);
		memcpy(j ? e->v[k].p2 : e->v[k].p1, f->place + 3 * (int64_t)c[j], 3 * sizeof *f->place);
		if (e->crystal) e->crystal[2 * k + j] = (uint32_t)c[j];
	}
	return ISO_OK;
}

static int make_places(iso_event_file *f)
{
	int64_t n = f->crystals = f->scanner ? iso_scanner_crystals(f->scanner) : 0;

	if (n == 0) return ISO_OK;
	if (!(f->place = size_alloc(3 * n, sizeof *f->place)))
		return iso_fail_memory("crystals", 3 * n * (int64_t)sizeof *f->place);
	for (int64_t i = 0; i < 3 * n; i++) f->place[i] = (float)iso_scanner_positions(f->scanner)[i];
	return ISO_OK;
}

/* ---- what is known of events ---- */

#define FARTHEST_MM 1e5f /* no scanner is 100 m wide, */
#define NEAREST_MM 1e-6f /* none a nanometre: bytes in another order, or another format */

struct tally {
	int64_t bad, far; /* not usable; an end beyond FARTHEST_MM */
	float most;       /* largest finite coordinate, mm */
};

static float largest_end(const struct iso_event *e)
{
	float reach = 0;

	for (int a = 0; a < 6; a++) {
		float v = fabsf((a < 3 ? e->p1 : e->p2)[a % 3]);

		reach = v > reach && v < INFINITY ? v : reach;
	}
	return reach;
}

/* Of any events. */
static struct tally count_each(const struct iso_event *v, int64_t n)
{
	struct tally t = { 0 };

	for (int64_t i = 0; i < n; i++) {
		const struct iso_event *e = v + i;
		uint32_t size = 0;
		float reach;

		for (int a = 0; a < 6; a++) {
			uint32_t s = event_size((a < 3 ? e->p1 : e->p2)[a % 3]);

			size = s > size ? s : size;
		}
		bool finite = size < EVENT_INFINITE && event_size(e->dt_ps) < EVENT_INFINITE;

		memcpy(&reach, &size, sizeof reach);
		if (size >= EVENT_INFINITE) reach = largest_end(e);
		t.bad += !finite || (e->p1[0] == e->p2[0] && e->p1[1] == e->p2[1] && e->p1[2] == e->p2[2]);
		t.far += reach > FARTHEST_MM;
		t.most = reach > t.most ? reach : t.most;
	}
	return t;
}

enum { COLUMNS = 7, TOGETHER = 8 }; /* of an event; events whose columns vectors take at once */

/* The largest sizes of the ends' coordinates, and of the times, of n events, a multiple of TOGETHER. */
static void largest_sizes(uint32_t *end, uint32_t *time, const struct iso_event *v, int64_t n)
{
	uint32_t most[COLUMNS * TOGETHER] = { 0 }, now[COLUMNS * TOGETHER];

	_Static_assert(sizeof now == TOGETHER * sizeof *v, "an event is its columns");
	for (int64_t i = 0; i < n; i += TOGETHER) {
		memcpy(now, v + i, sizeof now);
		for (int k = 0; k < COLUMNS * TOGETHER; k++) {
			uint32_t size = now[k] & EVENT_SIZE;

			most[k] = size > most[k] ? size : most[k];
		}
	}
	*end = *time = 0;
	for (int k = 0; k < COLUMNS * TOGETHER; k++) {
		uint32_t *of = k % COLUMNS < COLUMNS - 1 ? end : time;

		*of = most[k] > *of ? most[k] : *of;
	}
}

/* Where all are finite and near, as in every good file, only equal ends are left to look for. */
static struct tally count_events(const struct iso_event *v, int64_t n)
{
	int64_t whole = n / TOGETHER * TOGETHER;
	struct tally t = count_each(v + whole, n - whole);
	uint32_t end, time;
	float reach;

	largest_sizes(&end, &time, v, whole);
	memcpy(&reach, &end, sizeof reach);
	if (end >= EVENT_INFINITE || time >= EVENT_INFINITE || reach > FARTHEST_MM) return count_each(v, n);
	for (const struct iso_event *e = v; e < v + whole; e++)
		t.bad += (e->p1[0] == e->p2[0]) & (e->p1[1] == e->p2[1]) & (e->p1[2] == e->p2[2]);
	t.most = reach > t.most ? reach : t.most;
	return t;
}

static int check_ends(const struct tally *t, int64_t n, const iso_event_file *f)
{
	if (!f->format->has_ends) return ISO_OK;
	if (t->far > n / 2 || (t->most > 0 && t->most < NEAREST_MM))
		return iso_refuse(f->path,
		                  "does not look like %s (little-endian float32, mm): coordinates up to %g "
		                  "mm; wrong byte order?",
		                  f->format->name, (double)t->most);
	return ISO_OK;
}

/* ---- parts of a file, by several threads ---- */

/* Events first ... end - 1, as far as they lie in the records r0 ... r1 - 1 of `buffer`. */
static int decode(const iso_event_file *f, struct iso_events *e, int64_t first, int64_t end, uint8_t *buffer,
                  int64_t r0, int64_t r1, struct tally *t)
{
	int64_t low = r0 * f->per_record, high = r1 * f->per_record;

	low = low > first ? low : first;
	high = high < end ? high : end;
	struct iso_event *v = e->v + (low - first);
	int64_t n = high - low;
	int st;

	if (f->format->read)
		st = f->format->read(f, e, low - first, low, n, buffer, BUFFER);
	else
		st = f->format->decode(f, e, low - first, buffer + (low / f->per_record - r0) * f->record,
		                       low, n);
	for (int64_t i = 0; f->swap_dt && i < n && !st; i++) v[i].dt_ps = 0 - v[i].dt_ps;
	if (!st) *t = count_events(v, n);
	return st;
}

/* The same from the file. */
static int read_part(const iso_event_file *f, struct iso_events *e, int64_t first, int64_t end,
                     uint8_t *buffer, int64_t r0, int64_t r1, struct tally *t)
{
	if (f->format->read) return decode(f, e, first, end, buffer, r0, r1, t);
	int64_t at = f->first + r0 * f->record, bytes = (r1 - r0) * f->record;
	int64_t got = iso_read_at(f->fd, buffer, bytes, at);

	if (got < 0) return iso_fail_errno(f->path, "read");
	if (got < bytes)
		return iso_fail(ISO_EINPUT,
		                "%s ends after %" PRId64 " bytes, it was longer when it was opened", f->path,
		                at + got);
	return decode(f, e, first, end, buffer, r0, r1, t);
}

/* *least = the lesser of it and v, whatever other threads do. */
static void lower(int64_t *least, int64_t v)
{
	int64_t now = __atomic_load_n(least, __ATOMIC_RELAXED);

	while (v < now &&
	       !__atomic_compare_exchange_n(least, &now, v, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* Whom to tell about the parts of a whole file; NULL: nobody. */
struct whole {
	struct iso_hasher *hasher; /* of the records, in the order of the file */
	struct iso_clock *clock;   /* of the events */
};

/* Events first ... first + n - 1, in parts. The message of a failure is of the thread that it happens in: so the first part that fails is
   read again by the caller's. */
static int read_events(struct iso_events *block, const iso_event_file *f, int64_t first, int64_t n,
                       struct tally *t, struct whole whole)
{
	int64_t per = f->record < BUFFER ? BUFFER / f->record : 1;
	int64_t begin = first / f->per_record, last = (first + n + f->per_record - 1) / f->per_record;
	int64_t parts = (last - begin + per - 1) / per, failed = parts, bad = 0, far = 0;
	int most = f->ctx ? iso_ctx_threads(f->ctx) : 1,
	    threads = parts < most ? (int)(parts + !parts) : most;
	uint8_t *buffer = size_alloc(per * threads, f->record);
	struct iso_turn turn = { 0 };
	float reach = 0;
	bool no_memory = false;

	if (!buffer) return iso_fail_memory(f->path, per * threads * f->record);
#pragma omp parallel num_threads(threads) reduction(+ : bad, far) reduction(max : reach) reduction(|| : no_memory)
	for (int64_t i; (i = iso_turn_take(&turn, parts)) >= 0;) {
		int64_t r = begin + i * per, end = last - r < per ? last : r + per;
		uint8_t *own = buffer + omp_get_thread_num() * per * f->record;
		struct tally part = { 0 };
		bool asked = iso_stop_asked(f->ctx);
		int got = asked ? ISO_ECANCEL : read_part(f, block, first, first + n, own, r, end, &part);

		if (got) {
			no_memory = no_memory || got == ISO_ENOMEM;
			lower(&failed, i);
			iso_turn_end(&turn);
		}
		bad += part.bad;
		far += part.far;
		reach = part.most > reach ? part.most : reach;
		if (whole.clock) iso_clock_add(whole.clock, (end - r) * f->per_record);
		if (!whole.hasher) continue;
		if (!iso_turn_wait(&turn, i)) break;
		iso_hasher_add(whole.hasher, own, (end - r) * f->record);
		iso_turn_pass(&turn);
	}
	*t = (struct tally){ bad, far, reach };
	int st = iso_stop_check(f->ctx, f->path);

	if (!st && failed < parts) {
		int64_t r = begin + failed * per, end = last - r < per ? last : r + per;

		st = read_part(f, block, first, first + n, buffer, r, end, t);
		if (!st && no_memory) st = iso_fail(ISO_ENOMEM, "%s: no memory to read it", f->path);
		if (!st) /* parts behind it were left out */
			st = iso_fail(ISO_EIO, "%s: can't read: it failed once, or changed meanwhile",
			              f->path);
	}
	free(buffer);
	return st;
}

/* ---- opening ---- */

static int check_sample(const iso_event_file *f)
{
	int64_t n = f->info.n < SAMPLE ? f->info.n : SAMPLE;
	struct iso_events e = { 0 };
	struct tally t = { 0 };
	int st = iso_event_file_block(&e, f, n);

	if (!st) st = read_events(&e, f, 0, n, &t, (struct whole){ 0 });
	if (!st) st = check_ends(&t, n, f);
	iso_events_free(&e);
	return st;
}

/* ISO_EARG if one is of another format. */
static int check_options(const struct iso_events_options *o, const struct iso_event_format *m,
                         const char *path)
{
	if (o->gate_mask && !m->masked)
		return iso_fail(ISO_EARG, "%s: gate_mask is for GATE text, not for %s", path, m->name);
	if (o->trues_only && !m->masked && !m->simulated)
		return iso_fail(ISO_EARG, "%s: trues_only is for files of GATE, not for %s", path, m->name);
	if (o->tree && !m->simulated)
		return iso_fail(ISO_EARG, "%s: 'tree' is for GATE's ROOT and HDF5 files, not for %s", path,
		                m->name);
	return ISO_OK;
}

/* The format of a file, and all options. */
static int begin(const struct iso_event_format **m, struct iso_events_options *full, const char *path,
                 const struct iso_events_options *o)
{
	int st;

	*full = (struct iso_events_options){ .size = sizeof *full };
	if (o && (st = iso_sized_take(full, "iso_events_options", sizeof *full, o))) return st;
	*m = format_to_read(path);
	return *m ? check_options(full, *m, path)
	          : iso_kind_unknown(ISO_EINPUT, path, ISO_EVENTS_FILE, false);
}

int iso_event_file_open(iso_event_file **f, const char *path, const struct iso_events_options *o)
{
	if (!f || !path) return iso_fail_null(__func__);
	const struct iso_event_format *m;
	struct iso_events_options full;
	iso_event_file *r;
	int st = begin(&m, &full, path, o);

	if (st) return st;
	if (!m->open)
		return iso_refuse(path, "%s can't be read piece by piece; convert it first, to .lmdT or .Cdh",
		                  m->name);
	r = calloc(1, sizeof *r);
	if (!r) return iso_fail_memory(path, sizeof *r);
	*r = (iso_event_file){
		.format = m, .fd = -1, .per_record = 1, .swap_dt = full.swap_dt, .ctx = full.ctx
	};
	r->info.format = m->name;
	st = m->open(r, path, &full);
	r->info.size = sizeof r->info;
	r->info.bytes = m->read ? r->size : r->info.n / r->per_record * r->record;
	if (!st) st = make_places(r);
	if (!st && m->has_ends) st = check_sample(r);
	if (st)
		iso_event_file_close(r);
	else
		*f = r;
	return st;
}

void iso_event_file_close(iso_event_file *f)
{
	if (!f) return;
	if (f->fd >= 0) close(f->fd);
	if (f->format->close) f->format->close(f);
	if (!f->lent) iso_scanner_free(f->own);
	free(f->place);
	free(f->layout);
	free(f->path);
	free(f);
}

const struct iso_events_info *iso_event_file_info(const iso_event_file *f)
{
	return f ? &f->info : NULL;
}

int iso_event_file_poses(iso_poses **p, const iso_event_file *f, const struct iso_poses_options *o)
{
	*p = NULL;
	return f->format->poses ? f->format->poses(p, f, o) : ISO_OK;
}

const iso_scanner *iso_event_file_scanner(const iso_event_file *f)
{
	return f ? f->scanner : NULL;
}

/* ---- reading ---- */

static struct iso_event_arrays arrays_of(const struct iso_events_info *i)
{
	return (struct iso_event_arrays){ { true, i->has_time, i->has_count,
		                            i->attenuation || i->normalisation || i->multiplicity,
		                            i->scatter || i->randoms, i->has_crystal, i->has_fwhm } };
}

int64_t iso_event_bytes(const struct iso_events_info *i)
{
	return iso_event_arrays_bytes(arrays_of(i));
}

int iso_event_file_block(struct iso_events *block, const iso_event_file *f, int64_t n)
{
	if (!block || !f) return iso_fail_null(__func__);
	const struct iso_events_info *i = &f->info;
	struct iso_events e = { .tof_fwhm_ps = i->tof_fwhm_ps,
		                .tof_bin_ps = i->tof_bin_ps,
		                .start_s = i->start_s,
		                .duration_s = i->duration_s,
		                .calibration = i->calibration,
		                .lists_all = i->lists_all,
		                .attenuated = i->attenuation,

		                .n_left_out = f->left_out };

	memcpy(e.isotope, i->isotope, sizeof e.isotope);
	if (!iso_event_arrays_make(&e, n, arrays_of(i)))
		return iso_fail(ISO_ENOMEM, "%s: no memory for %" PRId64 " events", f->path, n);
	*block = e;
	return ISO_OK;
}

int iso_event_file_read(struct iso_events *block, const iso_event_file *f, int64_t first, int64_t n)
{
	if (!block || !f) return iso_fail_null(__func__);
	struct tally t = { 0 };
	int st;

	if (first < 0 || n < 0 || first > f->info.n - n)
		return iso_fail(ISO_EARG,
		                "%s: %" PRId64 " events from number %" PRId64
		                " on asked for, it has %" PRId64,
		                f->path, n, first, f->info.n);
	st = read_events(block, f, first, n, &t, (struct whole){ 0 });
	block->n = n;
	block->n_bad = t.bad;
	return st;
}

int iso_event_file_sample(struct iso_events *e, const iso_event_file *f)
{
	int64_t n = f->info.n, size = n < PLACES * EACH ? n : PLACES * EACH;
	int64_t each = (size + PLACES - 1) / PLACES;
	int st = iso_event_file_block(e, f, size);

	for (int64_t at = 0; at < size && !st; at += each) {
		int64_t m = size - at < each ? size - at : each;
		struct iso_events part = iso_events_from(e, at);

		/* the first piece at the beginning of the file, the last at its end */
		int64_t first = size == n ? at : at / each * ((n - each) / (PLACES - 1));

		st = iso_event_file_read(&part, f, first, m);
		e->n += m;
		e->n_bad += part.n_bad;
	}
	if (!st && e->n_bad == e->n)
		st = iso_fail(ISO_EINPUT,
		              "%s: none of the %" PRId64
		              " events looked at is usable: not finite, or both ends the same",
		              f->path, e->n);
	return st;
}

static int none_usable(const char *path, int64_t n)
{
	return iso_refuse(path, "none of its %" PRId64 " events is usable: not finite, or both ends the same",
	                  n);
}

/* `r` to the caller if all is well: some events must be usable. */
static int hand_over(struct iso_events *e, struct iso_events *r, int st, int64_t n, const char *path)
{
	if (!st && r->n_bad == n) st = none_usable(path, n);
	if (st)
		iso_events_free(r);
	else
		*e = *r;
	return st;
}

static int read_all_records(struct iso_events *e, struct iso_hash *hash, const iso_event_file *f,
                            const char *path)
{
	struct iso_hasher hasher = { 0 };
	struct tally t = { 0 };
	int64_t n = f->info.n;
	struct iso_clock clock = iso_clock_brief(f->ctx, "read", "events", n, iso_base_name(path));
	int st = f->ctx ? iso_memory_check(f->ctx, path, n * iso_event_bytes(&f->info)) : ISO_OK;

	if (hash && !f->format->read) iso_hasher_begin(&hasher, f->size);
	if (!st) st = iso_hasher_head(&hasher, f->path, f->fd, f->first);
	if (!st && !(st = iso_event_file_block(e, f, n)) &&
	    !(st = read_events(e, f, 0, n, &t, (struct whole){ hasher.state ? &hasher : NULL, &clock }))) {
		iso_clock_end(&clock);
		e->n = n;
		e->n_bad = t.bad;
		st = check_ends(&t, n, f);
	}
	if (hash) iso_hasher_end(hash, &hasher, f->path, f->size);
	return st;
}

static int read_records(struct iso_events *e, struct iso_hash *hash, const char *path,
                        const struct iso_events_options *o)
{
	iso_event_file *f = NULL;
	char apart[EVENTS_APART];
	int st = iso_event_file_open(&f, path, o);

	if (!st && !o->scanner_differs &&
	    !iso_event_file_of_scanner(apart, f, path, o->scanner,
	                               o->scanner ? iso_scanner_name(o->scanner) : ""))
		st = iso_fail(ISO_EARG, "%s; 'scanner-differs' takes it all the same", apart);
	if (!st) st = read_all_records(e, hash, f, path);
	iso_event_file_close(f);
	return st;
}

int iso_event_file_read_hashed(struct iso_events *e, struct iso_hash *hash, const iso_event_file *f,
                               const char *path)
{
	struct iso_events r = { 0 };
	int st = read_all_records(&r, hash, f, path);

	return hand_over(e, &r, st, r.n, path);
}

int iso_events_read_hashed(struct iso_events *e, struct iso_hash *hash, const char *path,
                           const struct iso_events_options *o)
{
	const struct iso_event_format *m;
	struct iso_events_options full;
	struct iso_events r = { 0 };
	int st = begin(&m, &full, path, o);

	if (!st) st = (m->read_all ? m->read_all : read_records)(&r, hash, path, &full);
	return hand_over(e, &r, st, r.n, path);
}

/* ---- by several ranks ---- */

/* Of the ranks that failed the one whose chunk stands first in the file speaks for all, as one process would;
   `chunk`: where this one did. */
static int first_failure(iso_ctx *ctx, int st, int64_t chunk)
{
	double first = st ? -(double)chunk : -INFINITY, mine = first;
	int told = iso_comm_max(ctx, ISO_OK, &first, 1);

	return told ? told : iso_comm_agree(ctx, first > mine ? ISO_OK : st);
}

/* The tallies of all ranks. */
static int sum_tally(struct tally *t, iso_ctx *ctx)
{
	int64_t n[2] = { t->bad, t->far };
	double most = t->most;
	int st = iso_comm_sum(ctx, ISO_OK, n, 2);

	if (!st) st = iso_comm_max(ctx, ISO_OK, &most, 1);
	*t = (struct tally){ n[0], n[1], (float)most };
	return st;
}

/* The chunks of this rank, into e, which has room for them; *failed: the one that could not be read. */
static int read_chunks(struct iso_events *e, const iso_event_file *f, const struct iso_deal *d,
                       struct tally *t, int64_t *failed)
{
	struct iso_clock clock =
		iso_clock_brief(f->ctx, "read", "events", iso_deal_count(d), iso_base_name(f->path));
	int st = ISO_OK;

	for (int64_t c = d->rank; c < iso_deal_chunks(d) && !st; c += d->ranks) {
		struct iso_rows r = iso_deal_chunk(d, c);
		struct iso_events part = iso_events_from(e, e->n);
		struct tally of = { 0 };

		st = read_events(&part, f, r.first, r.n, &of, (struct whole){ .clock = &clock });
		*failed = c;
		*t = (struct tally){ t->bad + of.bad, t->far + of.far, fmaxf(t->most, of.most) };
		e->n += r.n;
	}
	if (!st) iso_clock_end(&clock);
	return st;
}

/* st: of opening f. */
static int share_records(struct iso_events *e, struct iso_deal *d, const iso_event_file *f, int st,
                         const char *path, iso_ctx *ctx)
{
	struct tally t = { 0 };
	int64_t failed = 0;

	if (!st) {
		*d = iso_deal_of(ctx, f->info.n);
		st = iso_memory_check(ctx, path, iso_deal_count(d) * iso_event_bytes(&f->info));
	}
	if (!st && !(st = iso_event_file_block(e, f, iso_deal_count(d))))
		st = read_chunks(e, f, d, &t, &failed);
	if (!(st = first_failure(ctx, st, failed)) && !(st = sum_tally(&t, ctx))) {
		e->n_bad = t.bad;
		st = check_ends(&t, d->n, f);
	}
	return st;
}

static int read_share(struct iso_events *e, struct iso_deal *d, const char *path,
                      const struct iso_events_options *o, iso_ctx *ctx)
{
	iso_event_file *f = NULL;
	int st = iso_event_file_open(&f, path, o);

	st = share_records(e, d, f, st, path, ctx);
	iso_event_file_close(f);
	return st;
}

int iso_event_file_read_share(struct iso_events *e, struct iso_deal *d, const iso_event_file *f,
                              const char *path, iso_ctx *ctx)
{
	struct iso_events r = { 0 };
	int st = share_records(&r, d, f, ISO_OK, path, ctx);

	return hand_over(e, &r, st, d->n, path);
}

static int read_and_share(struct iso_events *e, struct iso_deal *d, const char *path,
                          const struct iso_events_options *o, iso_ctx *ctx)
{
	struct iso_events all = { 0 };
	int st = iso_events_read(&all, path, o);

	if (!st) {
		*d = iso_deal_of(ctx, all.n);
		st = iso_events_share(e, &all, d);
	}
	iso_events_free(&all);
	return iso_comm_agree(ctx, st);
}

int iso_events_read_share(struct iso_events *e, struct iso_deal *d, const char *path,
                          const struct iso_events_options *o, iso_ctx *ctx)
{
	struct iso_events r = { 0 };
	int st = (iso_events_only_whole(path) ? read_and_share : read_share)(&r, d, path, o, ctx);

	return hand_over(e, &r, st, d->n, path);
}

int iso_events_read(struct iso_events *e, const char *path, const struct iso_events_options *o)
{
	return e && path ? iso_events_read_hashed(e, NULL, path, o) : iso_fail_null(__func__);
}

int iso_events_crystals(struct iso_events *e, double *most, const iso_scanner *s)
{
	if (!e || !s || !most) return iso_fail_null(__func__);
	bool there = e->crystal;

	*most = 0;
	if (!there && iso_scanner_crystals(s) == 0)
		return iso_fail(ISO_EARG, "events: scanner %s has no crystals", iso_scanner_name(s));
	if (!there && !(e->crystal = size_alloc(e->n, 2 * sizeof *e->crystal)))
		return iso_fail_memory("crystal numbers", e->n * 2 * (int64_t)sizeof *e->crystal);
	for (int64_t i = 0; i < 2 * e->n && !there; i++) {
		const float *end = i % 2 ? e->v[i / 2].p2 : e->v[i / 2].p1;
		double p[3] = { end[0], end[1], end[2] }, distance;

		e->crystal[i] = (uint32_t)iso_scanner_nearest(&distance, s, p);
		if (!iso_event_bad(&e->v[i / 2])) *most = fmax(*most, distance);
	}
	return ISO_OK;
}
