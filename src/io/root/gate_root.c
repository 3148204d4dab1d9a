/* SPDX-License-Identifier: BSD-3-Clause */
/* GATE coincidences in a ROOT tree: columns of numbers, each in baskets of its own, of which blocks of events are made. */
#include "root_file.h"
#include "core/size.h"
#include "file/suffix.h"
#include "io/gate_columns.h"

#include <omp.h>
#include <stdio.h>

enum {
	CHUNK = 1024,     /* entries that become events at a time */
	PART = 1 << 16,   /* entries of a part of the file that a thread takes */
	KEPT = 1 << 26,   /* bytes of unpacked baskets that are kept, besides two of each column */
	SOME_BITS = 4096, /* entries from one count of trues to the next */
	NAMES_MOST = 200, /* bytes of the list of trees in a message */
};

struct layout {
	struct root_file file;
	struct root_tree tree;
	struct root_cache cache;
	bool cached; /* the cache began */
	struct gate_columns gate;
	/* of trues_only; NULL: every entry is an event */
	uint64_t *chosen; /* a bit an entry */
	int64_t *before;  /* events before entry 0, SOME_BITS, 2 SOME_BITS, ... */
};

/* ---- columns ---- */

/* A column at the entries of a basket. */
struct cursor {
	const struct root_branch *branch;
	struct root_basket *basket; /* NULL: none is held */
	int64_t first, end;         /* entries of the basket */
};

/* Some columns that a thread goes along, side by side. */
struct cursors {
	struct layout *l;
	uint8_t *buffer;
	int64_t size; /* bytes of the buffer */
	int n;
	struct cursor at[GATE_COLUMNS];
};

static void begin(struct cursors *c, struct layout *l, int from, int to, uint8_t *buffer, int64_t size)
{
	*c = (struct cursors){ .l = l, .buffer = buffer, .size = size };
	for (int i = from; i < to; i++)
		if (l->gate.column[i]) c->at[c->n++].branch = l->gate.column[i];
}

static void let_go(struct cursors *c)
{
	for (int i = 0; i < c->n; i++) {
		if (c->at[i].basket) root_basket_put(&c->l->cache, c->at[i].basket);
		c->at[i].basket = NULL;
	}
}

static int take(struct cursors *c, struct cursor *a, int64_t entry, bool wait)
{
	int st = root_basket_get(&a->basket, &c->l->cache, a->branch, entry, wait, c->buffer, c->size);

	if (a->basket) {
		a->first = a->branch->first[a->basket->number];
		a->end = a->branch->first[a->basket->number + 1];
	}
	return st;
}

/* All columns to this entry. Threads begin with columns that depend on the entry, and leave those that another is
   unpacking for last: so those of neighbouring parts unpack different columns of large baskets, and share them. */
static int move_to(struct cursors *c, int64_t entry)
{
	int st = ISO_OK, start = (int)(entry / PART % c->n);

	for (int i = 0; i < c->n; i++) {
		struct cursor *a = &c->at[i];

		if (!a->basket || (entry >= a->first && entry < a->end)) continue;
		root_basket_put(&c->l->cache, a->basket);
		a->basket = NULL;
	}
	for (int wait = 0; wait < 2; wait++)
		for (int i = 0; i < c->n && !st; i++) {
			struct cursor *a = &c->at[(start + i) % c->n];

			if (!a->basket) st = take(c, a, entry, wait);
		}
	return st;
}

/* How many entries from this on, to which the columns were moved, all columns have, up to `most`. */
static int64_t together(const struct cursors *c, int64_t entry, int64_t most)
{
	int64_t n = most < CHUNK ? most : CHUNK;

	for (int i = 0; i < c->n; i++)
		if (c->at[i].end - entry < n) n = c->at[i].end - entry;
	return n;
}

static const uint8_t *bytes_at(const struct cursor *a, int64_t entry)
{
	return a->basket->data + (entry - a->first) * a->branch->size;
}

static float get_float(const uint8_t *p)
{
	uint32_t bits;
	float v;

	memcpy(&bits, p, sizeof bits);
	bits = __builtin_bswap32(bits);
	memcpy(&v, &bits, sizeof v);
	return v;
}

static double get_double(const uint8_t *p)
{
	uint64_t bits;
	double v;

	memcpy(&bits, p, sizeof bits);
	bits = __builtin_bswap64(bits);
	memcpy(&v, &bits, sizeof v);
	return v;
}

/* dst[0], dst[stride], ... = n numbers of a column of reals. */
static void get_reals(float *dst, int64_t stride, const struct cursor *a, int64_t entry, int64_t n)
{
	const uint8_t *p = bytes_at(a, entry);

	if (a->branch->type == 'f')
		for (int64_t j = 0; j < n; j++) dst[j * stride] = get_float(p + 4 * j);
	else
		for (int64_t j = 0; j < n; j++) dst[j * stride] = (float)get_double(p + 8 * j);
}

static void get_times(double *dst, const struct cursor *a, int64_t entry, int64_t n)
{
	const uint8_t *p = bytes_at(a, entry);

	if (a->branch->type == 'f')
		for (int64_t j = 0; j < n; j++) dst[j] = (double)get_float(p + 4 * j);
	else
		for (int64_t j = 0; j < n; j++) dst[j] = get_double(p + 8 * j);
}

/* Number j of a column of integers, with its sign if it has one: columns may be of different sizes. */
static int64_t get_integer(const struct cursor *a, int64_t entry, int64_t j)
{
	struct root_bytes b = { .p = bytes_at(a, entry + j), .n = a->branch->size };
	uint64_t bits = root_number(&b, a->branch->size), sign = 1ull << (8 * a->branch->size - 1);

	return (int64_t)(a->branch->type == 'i' ? (bits ^ sign) - sign : bits);
}

/* ---- which entries are events ---- */

/* Bits of entries first ... end - 1: first is a multiple of 64. Both photons of one decay, and neither scattered. */
static int choose(struct layout *l, int64_t first, int64_t end, uint8_t *buffer, int64_t size)
{
	struct cursors c;
	int64_t n;
	int st = ISO_OK;

	begin(&c, l, GATE_READ, GATE_COLUMNS, buffer, size);
	for (int64_t entry = first; entry < end && !(st = move_to(&c, entry)); entry += n) {
		n = together(&c, entry, end - entry);
		for (int64_t j = 0; j < n; j++) {
			bool one = get_integer(&c.at[0], entry, j) == get_integer(&c.at[1], entry, j);

			for (int i = 2; i < c.n; i++) one = one && get_integer(&c.at[i], entry, j) == 0;
			l->chosen[(entry + j) / 64] |= (uint64_t)one << (entry + j) % 64;
		}
	}
	let_go(&c);
	return st;
}

static bool is_chosen(const struct layout *l, int64_t entry)
{
	return l->chosen[entry / 64] >> entry % 64 & 1;
}

/* Counts of events; returns that of all. */
static int64_t count_chosen(struct layout *l)
{
	int64_t words = (l->tree.entries + 63) / 64, n = 0;

	for (int64_t w = 0; w < words; w++) {
		if (w % (SOME_BITS / 64) == 0) l->before[w / (SOME_BITS / 64)] = n;
		n += __builtin_popcountll(l->chosen[w]);
	}
	return n;
}

/* The bits of part i of the entries. */
static int choose_part(struct layout *l, int64_t i, uint8_t *buffer)
{
	int64_t end = (i + 1) * PART;

	return choose(l, i * PART, end < l->tree.entries ? end : l->tree.entries, buffer, ISO_EVENT_BUFFER);
}

/* All bits, by threads; messages are of the thread that fails, so that a part that failed is tried again by ours. */
static int choose_all(struct layout *l, const iso_ctx *ctx)
{
	int64_t parts = (l->tree.entries + PART - 1) / PART, failed = parts;
	int threads = ctx ? iso_ctx_threads(ctx) : 1, st;
	uint8_t *buffer = size_alloc(threads, ISO_EVENT_BUFFER);
	bool no_memory = false;

	if (!buffer) return iso_fail_memory(l->file.path, (int64_t)threads * ISO_EVENT_BUFFER);
	struct iso_clock clock =
		iso_clock_brief(ctx, "choose", "events", l->tree.entries, iso_base_name(l->file.path));

#pragma omp parallel for num_threads(threads) schedule(dynamic) reduction(min                    \
                                                                          : failed) reduction(|| \
                                                                                              : no_memory)
	for (int64_t i = 0; i < parts; i++) {
		if (failed < parts || iso_stop_asked(ctx)) continue;
		int got = choose_part(l, i, buffer + omp_get_thread_num() * (int64_t)ISO_EVENT_BUFFER);

		no_memory = no_memory || got == ISO_ENOMEM;
		if (got) failed = i;
		iso_clock_add(&clock, i < parts - 1 ? PART : l->tree.entries - i * PART);
	}
	if (!(st = iso_stop_check(ctx, l->file.path))) iso_clock_end(&clock);
	if (!st && failed < parts && !(st = choose_part(l, failed, buffer)))
		st = no_memory ? iso_fail(ISO_ENOMEM, "%s: no memory to read it", l->file.path)
		               : iso_fail(ISO_EIO, "%s: can't read: it failed once, or changed meanwhile",
		                          l->file.path);
	free(buffer);
	return st;
}

static int choose_trues(iso_event_file *f, struct layout *l)
{
	int64_t entries = l->tree.entries, words = entries / 64 + 1, counts = entries / SOME_BITS + 1;
	int st;

	l->chosen = size_alloc(words, sizeof *l->chosen);
	l->before = size_alloc(counts, sizeof *l->before);
	if (!l->chosen || !l->before) return iso_fail_memory(f->path, (words + counts) * 8);
	if ((st = choose_all(l, f->ctx))) return st;
	f->info.n = count_chosen(l);
	f->left_out = entries - f->info.n;
	return f->info.n > 0
	               ? ISO_OK
	               : iso_refuse(f->path, "no coincidences except the ones that trues_only leaves out");
}

/* The entry of event i. */
static int64_t entry_of(const struct layout *l, int64_t i)
{
	int64_t low = 0, high = (l->tree.entries + SOME_BITS - 1) / SOME_BITS, entry, n;

	while (high - low > 1) {
		int64_t middle = low + (high - low) / 2;

		if (l->before[middle] <= i)
			low = middle;
		else
			high = middle;
	}
	n = l->before[low];
	for (entry = low * SOME_BITS;; entry++)
		if (is_chosen(l, entry) && n++ == i) return entry;
}

/* ---- reading ---- */

/* Events of n entries, up to CHUNK, to which the columns were moved; ms: NULL if there are no times. */
static void make_events(struct iso_event *v, uint32_t *ms, const struct cursors *c, int64_t entry, int64_t n)
{
	enum { STRIDE = sizeof *v / sizeof(float) };
	double t1[CHUNK], t2[CHUNK];

	for (int a = 0; a < 3; a++) {
		get_reals(&v->p1[a], STRIDE, &c->at[a], entry, n);
		get_reals(&v->p2[a], STRIDE, &c->at[3 + a], entry, n);
	}
	if (!ms) {
		for (int64_t j = 0; j < n; j++) v[j].dt_ps = 0;
		return;
	}
	get_times(t1, &c->at[GATE_T1], entry, n);
	get_times(t2, &c->at[GATE_T2], entry, n);
	for (int64_t j = 0; j < n; j++) gate_times(&v[j], &ms[j], &c->l->gate, t1[j], t2[j]);
}

/* Where events go. */
struct target {
	struct iso_event *v;
	uint32_t *ms; /* NULL: no times */
	int64_t n;    /* still wanted */
};

static void put_all(struct target *to, const struct cursors *c, int64_t entry, int64_t n)
{
	make_events(to->v, to->ms, c, entry, n);
	to->v += n;
	if (to->ms) to->ms += n;
	to->n -= n;
}

static void put_chosen(struct target *to, const struct cursors *c, int64_t entry, int64_t n)
{
	struct iso_event v[CHUNK];
	uint32_t ms[CHUNK];

	make_events(v, to->ms ? ms : NULL, c, entry, n);
	for (int64_t j = 0; j < n && to->n > 0; j++) {
		if (!is_chosen(c->l, entry + j)) continue;
		*to->v++ = v[j];
		if (to->ms) *to->ms++ = ms[j];
		to->n--;
	}
}

static int read_part(const iso_event_file *f, struct iso_events *e, int64_t k, int64_t i, int64_t n,
                     uint8_t *buffer, int64_t size)
{
	struct layout *l = f->layout;
	struct target to = { e->v + k, e->time_ms ? e->time_ms + k : NULL, n };
	int64_t entry = l->chosen && n > 0 ? entry_of(l, i) : i, step;
	struct cursors c;
	int st = ISO_OK;

	begin(&c, l, 0, GATE_READ, buffer, size);
	for (; to.n > 0 && !(st = move_to(&c, entry)); entry += step) {
		step = together(&c, entry, l->chosen ? l->tree.entries - entry : to.n);
		(l->chosen ? put_chosen : put_all)(&to, &c, entry, step);
	}
	let_go(&c);
	return st;
}

/* ---- opening ---- */

static const void *find_branch(const void *tree, const char *name)
{
	return root_tree_find(tree, name);
}

static bool is_tree(const struct root_key *k)
{
	return strcmp(k->class, "TTree") == 0;
}

/* The names of the trees, each once; "none". */
static void list_trees(char list[NAMES_MOST], const struct root_key *keys, int64_t n)
{
	size_t used = 0;

	snprintf(list, NAMES_MOST, "none");
	for (int64_t i = 0; i < n; i++) {
		bool again = !is_tree(&keys[i]);

		for (int64_t j = 0; j < i; j++)
			again = again || (is_tree(&keys[j]) && strcmp(keys[j].name, keys[i].name) == 0);
		if (again || used >= NAMES_MOST) continue;
		used += (size_t)snprintf(list + used, NAMES_MOST - used, "%s%s", used ? ", " : "",
		                         keys[i].name);
	}
}

/* The key of the tree of that name with the highest cycle. */
static int find_tree(const struct root_key **k, const struct root_key *keys, int64_t n, const char *name,
                     const char *path)
{
	char list[NAMES_MOST];

	*k = NULL;
	for (int64_t i = 0; i < n; i++) {
		if (strcmp(keys[i].name, name) != 0) continue;
		if (strstr(keys[i].class, "RNTuple"))
			return iso_refuse(
				path, "%s is an RNTuple, a newer format than the TTree that is read", name);
		if (is_tree(&keys[i]) && (!*k || keys[i].cycle > (*k)->cycle)) *k = &keys[i];
	}
	if (*k) return ISO_OK;
	list_trees(list, keys, n);
	return iso_refuse(path, "has no tree %s; its trees: %s ('tree' names another)", name, list);
}

static int read_tree(struct layout *l, const struct iso_events_options *o)
{
	const char *name = o->tree ? o->tree : o->delayeds ? "delay" : "Coincidences";
	struct root_key *keys = NULL;
	const struct root_key *k;
	char where[ROOT_NAME + 8];
	int64_t n = 0;
	int st = root_keys(&keys, &n, &l->file);

	if (!st && !(st = find_tree(&k, keys, n, name, l->file.path)) &&
	    !(st = root_tree_read(&l->tree, &l->file, k))) {
		snprintf(where, sizeof where, "tree %s", k->name);
		st = gate_columns_find(&l->gate, l->file.path, where, o->trues_only, find_branch, &l->tree);
	}
	free(keys);
	return st;
}

/* ISO_EINPUT unless ends and times are reals, and the others integers. */
static int check_types(const struct layout *l)
{
	for (int i = 0; i < GATE_COLUMNS; i++) {
		const struct root_branch *b = l->gate.column[i];
		bool real = i < GATE_READ;

		if (b && !(real ? b->type == 'f' || b->type == 'd' : b->type == 'i' || b->type == 'u'))
			return iso_refuse(l->file.path, "branch %s is no column of %s", b->name,
			                  real ? "floats or doubles" : "integers");
	}
	return ISO_OK;
}

/* Bytes of baskets to keep: two of the largest of each column, and some. */
static int64_t to_keep(const struct layout *l)
{
	int64_t keep = KEPT;

	for (int i = 0; i < GATE_COLUMNS; i++) {
		const struct root_branch *b = l->gate.column[i];
		int64_t most = 0;

		for (int64_t k = 0; b && k < b->baskets; k++)
			if (b->first[k + 1] - b->first[k] > most) most = b->first[k + 1] - b->first[k];
		keep += b ? 2 * most * b->size : 0;
	}
	return keep;
}

static int open_root(iso_event_file *f, const char *path, const struct iso_events_options *o)
{
	struct layout *l = f->layout = calloc(1, sizeof *l);
	int st = l ? iso_event_file_records(f, path) : iso_fail_memory(path, sizeof *l);

	if (st) return st;
	l->file = (struct root_file){ f->path, f->fd, f->size };
	if ((st = read_tree(l, o)) || (st = check_types(l))) return st;
	if (l->tree.entries == 0) return iso_refuse(path, "no coincidences");
	if ((st = root_cache_begin(&l->cache, &l->file, to_keep(l)))) return st;
	l->cached = true;
	f->record = ISO_EVENT_BUFFER / PART;
	f->info.n = l->tree.entries;
	f->info.has_dt = f->info.has_time = l->gate.column[GATE_T1];
	return o->trues_only ? choose_trues(f, l) : ISO_OK;
}

static void close_root(iso_event_file *f)
{
	struct layout *l = f->layout;

	if (!l) return;
	if (l->cached) root_cache_end(&l->cache);
	root_tree_free(&l->tree);
	free(l->chosen);
	free(l->before);
}

const struct iso_event_format iso_root_format = {
	.name = "GATE ROOT",
	.open = open_root,
	.read = read_part,
	.close = close_root,
	.simulated = true,
};

bool iso_is_root(const uint8_t *head, int64_t n)
{
	return n >= 4 && memcmp(head, "root", 4) == 0;
}
