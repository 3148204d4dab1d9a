/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of a source rewritten once, subset by subset with their data, into a file that has no
   name: whatever ends the program, nothing of it is left. */
#define _GNU_SOURCE /* O_TMPFILE, mkostemp, fallocate */
#include "ray_reader.h"
#include "core/size.h"
#include "core/sized.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
	PIECE = 1 << 17, /* events rewritten at a time */
	COLUMNS = 6,     /* events, counts, factors, additive terms, TOF resolutions, times */
	FILES = 8, /* that chunks of rows are dealt to: the system lets one thread at a time write to a file */
	CHUNK = 1 << 18,    /* rows */
	MOST_PARTS = 64,    /* of a piece, that are sorted at the same time */
	KEPT_OF_DISK = 20,  /* a file that nobody asked for leaves 1/20 of its disk free */
	TMPFS = 0x01021994, /* of statfs: file systems that are memory themselves */
	RAMFS = (int)0x858458f6,
};

struct iso_ray_scratch {
	int fd[FILES];
	char *folder;        /* for messages */
	int64_t rows;        /* that a file has room for */
	int64_t at[COLUMNS]; /* byte where the column begins, in each file */
	int64_t read;        /* bytes so far, by any thread */
	int threads;         /* that read */
	struct iso_ray_source source;
};

/* ---- columns ---- */

static const int64_t item[COLUMNS] = { sizeof(struct iso_event), sizeof(iso_real), sizeof(iso_real),
	                               sizeof(iso_real),         sizeof(iso_real), sizeof(uint32_t) };

/* Arrays of a block, NULL where it has none. */
static void columns_of(void *v[COLUMNS], const struct iso_events *b)
{
	v[0] = b->v;
	v[1] = b->count;
	v[2] = b->mult;
	v[3] = b->add;
	v[4] = b->fwhm_ps;
	v[5] = b->time_ms;
}

static void place_columns(iso_ray_scratch *s)
{
	const bool has[COLUMNS] = { true,
		                    s->source.has_count,
		                    s->source.has_mult,
		                    s->source.has_add,
		                    s->source.has_fwhm,
		                    s->source.has_times };
	int64_t end = 0, chunks = (s->source.n + CHUNK - 1) / CHUNK;

	s->rows = (chunks + FILES - 1) / FILES * CHUNK;
	if (s->rows > s->source.n) s->rows = s->source.n;
	for (int c = 0; c < COLUMNS; c++) {
		s->at[c] = end;
		end += has[c] ? s->rows * item[c] : 0;
	}
}

/* ---- the file ---- */

static int failed(const char *folder, const char *what, int why)
{
	return iso_fail(ISO_EIO, "%s: can't %s the scratch file: %s", folder, what, strerror(why));
}

/* Writes bytes to a file, or with `reads` reads them; 0, or errno of the failure. */
static int move_bytes(int fd, char *data, int64_t bytes, int64_t at, bool reads)
{
	while (bytes > 0) {
		ssize_t m = reads ? pread(fd, data, (size_t)bytes, at) : pwrite(fd, data, (size_t)bytes, at);

		if (m == 0) return EIO;
		if (m < 0 && errno != EINTR) return errno;
		m = m < 0 ? 0 : m;
		data += m;
		bytes -= m;
		at += m;
	}
	return 0;
}

/* The same of n items from row `first` of a column on. */
static int move(const iso_ray_scratch *s, int column, void *v, int64_t first, int64_t n, bool reads)
{
	int why = 0;

	for (int64_t i = 0, m; i < n && !why; i += m) {
		int64_t chunk = (first + i) / CHUNK, in_chunk = (first + i) % CHUNK;
		int64_t row = chunk / FILES * CHUNK + in_chunk;

		m = n - i < CHUNK - in_chunk ? n - i : CHUNK - in_chunk;
		why = move_bytes(s->fd[chunk % FILES], (char *)v + i * item[column], m * item[column],
		                 s->at[column] + row * item[column], reads);
	}
	return why;
}

/* Where the file system knows no files without a name, it has one for a moment. */
static int open_nameless(const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char path[PATH_MAX];

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
	if (snprintf(path, sizeof path, "%s/.isotome-XXXXXX", folder) >= (int)sizeof path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0) unlink(path);
	return fd;
}

/* Room for all of it now, rather than a full disk later; some file systems can't tell. */
static bool allocated(int fd, int64_t bytes)
{
	return fallocate(fd, 0, 0, bytes) == 0 || errno == EOPNOTSUPP || errno == ENOSYS;
}

/* As many files as the chunks need; `bytes` of all together. */
static int open_files(iso_ray_scratch *s, int64_t bytes)
{
	int64_t each = s->rows * iso_ray_source_bytes(&s->source);

	for (int k = 0; k < FILES && (k == 0 || (int64_t)k * CHUNK < s->source.n); k++) {
		s->fd[k] = open_nameless(s->folder);
		if (s->fd[k] < 0) return failed(s->folder, "make", errno);
		if (!allocated(s->fd[k], each))
			return iso_fail(ISO_EIO, "%s: no room for the scratch file, %s: %s", s->folder,
			                iso_bytes(bytes), strerror(errno));
	}
	return ISO_OK;
}

static int read_scratch(void *arg, struct iso_events *b, int64_t first, int64_t n)
{
	iso_ray_scratch *s = arg;
	void *v[COLUMNS];
	int why = 0;

	columns_of(v, b);
#pragma omp parallel for collapse(2) schedule(dynamic) num_threads(s->threads) reduction(max : why)
	for (int c = 0; c < COLUMNS; c++)
		for (int64_t i = 0; i < n; i += CHUNK) {
			int64_t m = v[c] ? (n - i < CHUNK ? n - i : CHUNK) : 0;
			int e = m ? move(s, c, (char *)v[c] + i * item[c], first + i, m, true) : 0;

			why = e > why ? e : why;
			__atomic_add_fetch(&s->read, m * item[c], __ATOMIC_RELAXED);
		}
	return why ? failed(s->folder, "read", why) : ISO_OK;
}

/* ---- rewriting ---- */

struct rewriting {
	const iso_ray_scratch *s;
	iso_ctx *ctx;
	struct iso_order order;
	struct ray_share from; /* the source, in its order */
	struct iso_ray_reader *reader;
	struct iso_events sorted; /* a piece, subset by subset */
	int *sub;                 /* of each event of the piece */
	int64_t piece;            /* events of one, at most */
	int parts;                /* of a piece */
	int64_t *place;           /* of each subset and part: place in `sorted` of its next event; one more */
	int64_t *at;              /* row that each subset's next event takes */
	struct iso_room room;
};

static int64_t piece_of(const struct iso_ray_source *s)
{
	return s->n < PIECE ? s->n : PIECE;
}

void iso_ray_scratch_plan(struct iso_plan *plan, const struct iso_ray_source *s)
{
	iso_plan_add(plan, "scratch, sorted in pieces", piece_of(s),
	             3 * iso_ray_source_bytes(s) + (int64_t)sizeof(int), false);
}

/* As many parts as leave each more events than there are subsets. */
static int count_parts(const struct rewriting *w)
{
	int64_t most = w->piece / w->order.n_sub,
		parts = w->ctx->threads < MOST_PARTS ? w->ctx->threads : MOST_PARTS;

	return (int)(parts < most ? parts : most > 1 ? most : 1);
}

static int allocate(struct rewriting *w)
{
	struct iso_order all = { .n = w->order.n, .n_sub = 1, .rule = ISO_BLOCKS };
	int n_sub = w->order.n_sub, st = iso_ray_share(&w->from, &w->room, w->ctx, &w->from.s, &all);

	w->parts = count_parts(w);
	if (st) return st;
	ISO_HOST(&w->room, w->sub, w->piece);
	ISO_HOST(&w->room, w->at, n_sub);
	ISO_HOST(&w->room, w->place, (int64_t)n_sub * w->parts + 1);
	if (w->room.status) return w->room.status;
	for (int sub = 0; sub < n_sub; sub++) w->at[sub] = order_rows(&w->order, sub).first;
	if ((st = iso_ray_source_block(&w->sorted, &w->s->source, w->piece))) return st;
	return iso_ray_reader_create(&w->reader, &w->from, w->piece);
}

static void copy_event(struct iso_events *to, int64_t k, const struct iso_events *from, int64_t j)
{
	to->v[k] = from->v[j];
	if (to->count) to->count[k] = from->count[j];
	if (to->mult) to->mult[k] = from->mult[j];
	if (to->add) to->add[k] = from->add[j];
	if (to->fwhm_ps) to->fwhm_ps[k] = from->fwhm_ps[j];
	if (to->time_ms) to->time_ms[k] = from->time_ms[j];
}

/* A counting sort by subset; in each, events stay in the order of the source. */
static void sort_piece(struct rewriting *w, const struct iso_events *piece, int64_t first)
{
	int64_t n = piece->n, cells = (int64_t)w->order.n_sub * w->parts;

	memset(w->place, 0, (size_t)(cells + 1) * sizeof *w->place);
#pragma omp parallel for num_threads(w->parts)
	for (int t = 0; t < w->parts; t++)
		for (int64_t j = n * t / w->parts; j < n * (t + 1) / w->parts; j++) {
			w->sub[j] = order_subset(&w->order, order_row(&w->order, first + j));
			w->place[(int64_t)w->sub[j] * w->parts + t + 1]++;
		}
	for (int64_t c = 0; c < cells; c++) w->place[c + 1] += w->place[c];
#pragma omp parallel for num_threads(w->parts)
	for (int t = 0; t < w->parts; t++)
		for (int64_t j = n * t / w->parts; j < n * (t + 1) / w->parts; j++)
			copy_event(&w->sorted, w->place[(int64_t)w->sub[j] * w->parts + t]++, piece, j);
}

/* After the sort the place of a subset's last part is where the next subset begins. */
static int64_t end_of(const struct rewriting *w, int sub)
{
	return sub < 0 ? 0 : w->place[(int64_t)(sub + 1) * w->parts - 1];
}

static int write_piece(struct rewriting *w)
{
	int n_sub = w->order.n_sub, why = 0;
	void *v[COLUMNS];

	columns_of(v, &w->sorted);
#pragma omp parallel for schedule(dynamic) collapse(2) num_threads(w->parts) reduction(max : why)
	for (int sub = 0; sub < n_sub; sub++)
		for (int c = 0; c < COLUMNS; c++) {
			int64_t begin = end_of(w, sub - 1);
			int e = v[c] ? move(w->s, c, (char *)v[c] + begin * item[c], w->at[sub],
			                    end_of(w, sub) - begin, false)
			             : 0;

			why = e > why ? e : why;
		}
	for (int sub = 0; sub < n_sub; sub++) w->at[sub] += end_of(w, sub) - end_of(w, sub - 1);
	return why ? failed(w->s->folder, "write", why) : ISO_OK;
}

static int rewrite_piece(struct rewriting *w, int64_t first)
{
	const struct iso_ray_source *from = &w->from.s;
	struct iso_events *piece;
	int st = iso_ray_reader_next(w->reader, w->ctx, &piece);

	if (!st && from->finish) st = from->finish(from->arg, piece);
	if (!st) sort_piece(w, piece, first);
	iso_ray_reader_done(w->reader);
	return st ? st : write_piece(w);
}

static int rewrite(const iso_ray_scratch *s, iso_ctx *ctx, const struct iso_ray *p,
                   const struct iso_ray_source *from)
{
	struct rewriting w = { .s = s,
		               .ctx = ctx,
		               .from.s = *from,
		               .piece = piece_of(from),
		               .order = { .n = from->n, .n_sub = p->n_sub, .rule = p->rule, .seed = p->seed },
		               .room = { .what = "scratch" } };
	struct iso_clock clock = iso_clock_start_of(ctx, "scratch", "events", 0, from->n);
	int st = allocate(&w);

	if (!st) st = iso_ray_reader_start(w.reader, 0, 0);
	for (int64_t i = 0; i < from->n && !st; i += w.piece)
		if (!(st = iso_ctx_poll(ctx)) && !(st = rewrite_piece(&w, i)))
			iso_clock_step(&clock, i + w.piece < from->n ? i + w.piece : from->n, NULL);
	if (w.reader) iso_ray_reader_stop(w.reader);
	iso_ray_reader_free(w.reader);
	iso_events_free(&w.sorted);
	iso_room_free(&w.room);
	return st;
}

int iso_ray_scratch_create(iso_ray_scratch **out, iso_ctx *ctx, const struct iso_ray *p,
                           const struct iso_ray_source *from, const char *folder)
{
	if (!out || !ctx || !p || !from || !folder) return iso_fail_null(__func__);
	struct iso_ray_source source;
	struct iso_ray ray;
	iso_ray_scratch *s;
	int64_t bytes;
	int st = iso_sized_take(&ray, "iso_ray", sizeof ray, p);

	if (st || (st = iso_sized_take(&source, "iso_ray_source", sizeof source, from))) return st;
	p = &ray;
	from = &source;
	if ((st = iso_ray_check(p, from->n))) return st;
	if (iso_ranks(ctx) > 1)
		return iso_fail(ISO_EARG, "scratch: it is for one process, there are %d ranks",
		                iso_ranks(ctx));
	if (!size_mul(&bytes, from->n, iso_ray_source_bytes(from)))
		return iso_fail(ISO_EARG, "scratch: %" PRId64 " events are more than a file holds", from->n);
	s = size_alloc(1, sizeof *s);
	if (!s) return iso_fail_memory("scratch", sizeof *s);
	for (int k = 0; k < FILES; k++) s->fd[k] = -1;
	/* where the CPU computes, its threads have other work */
	s->threads = !iso_ctx_is_cuda(ctx) ? 1 : ctx->threads < FILES ? ctx->threads : FILES;
	s->source = *from;
	s->source.read = read_scratch;
	s->source.finish = NULL;
	s->source.has_times =
		from->has_times && p->rays > 1; /* lines of events that moved are laid by their times */
	s->source.arg = s;
	place_columns(s);
	s->folder = strdup(folder);
	st = s->folder ? open_files(s, bytes) : iso_fail_memory("scratch", (int64_t)strlen(folder));
	if (!st) st = rewrite(s, ctx, p, from);
	if (st)
		iso_ray_scratch_free(s);
	else
		*out = s;
	return st;
}

const struct iso_ray_source *iso_ray_scratch_source(const iso_ray_scratch *s)
{
	return s ? &s->source : NULL;
}

void iso_ray_scratch_free(iso_ray_scratch *s)
{
	if (!s) return;
	for (int k = 0; k < FILES; k++)
		if (s->fd[k] >= 0) close(s->fd[k]);
	free(s->folder);
	free(s);
}

/* ---- where ---- */

/* Free bytes of the disk that hold files of others as well; tmpfs has none: its files are memory. */
static int64_t room_of(const char *folder)
{
	struct statvfs v;
	struct statfs f;

	if (statfs(folder, &f) != 0 || statvfs(folder, &v) != 0) return 0;
	if ((int)f.f_type == TMPFS || (int)f.f_type == RAMFS) return 0;
	if (v.f_blocks == 0) return INT64_MAX; /* it does not tell */
	return ((int64_t)v.f_bavail - (int64_t)v.f_blocks / KEPT_OF_DISK) * (int64_t)v.f_frsize;
}

bool iso_ray_scratch_fits(const char *folder, int64_t bytes)
{
	if (room_of(folder) < bytes) return false;
	int fd = open_nameless(folder);
	bool fits = fd >= 0 && allocated(fd, bytes);

	if (fd >= 0) close(fd);
	return fits;
}

int64_t iso_ray_scratch_bytes_read(const iso_ray_scratch *s)
{
	return s ? __atomic_load_n(&s->read, __ATOMIC_RELAXED) : 0;
}

bool iso_ray_scratch_is(const struct iso_ray_source *s)
{
	return s->read == read_scratch;
}
