/* SPDX-License-Identifier: BSD-3-Clause */
/* Sorted lists of (key, count) in 2 to 3 bytes an element: steps between keys, then the count, both
   as groups of 7 bits, lowest first, the top bit of a byte saying that more follow. */
#include "srm_matrix.h"

#include <stdlib.h>

enum {
	GROUP = 7,
	MOST = 10, /* bits a byte; bytes of a 64-bit number */
	LONG = 1 << 16,
	PIECES = 4, /* a list worth several threads, and how many */
};

void iso_srm_list_free(struct srm_list *l)
{
	free(l->v);
	*l = (struct srm_list){ 0 };
}

/* Room for so many bytes more, and a step and a count behind them. */
static int reserve(struct srm_list *l, int64_t bytes)
{
	int64_t least = l->bytes + bytes + 2 * MOST, room = l->room < 256 ? 512 : l->room + l->room / 2;
	uint8_t *v;

	if (least <= l->room) return ISO_OK;
	room = room < least ? least : room;
	v = realloc(l->v, (size_t)room);
	if (!v) return iso_fail_memory("srm: counts", room);
	l->v = v;
	l->room = room;
	return ISO_OK;
}

static void put(struct srm_list *l, uint64_t v)
{
	while (v >> GROUP) {
		l->v[l->bytes++] = (uint8_t)(v | 1 << GROUP);
		v >>= GROUP;
	}
	l->v[l->bytes++] = (uint8_t)v;
}

int iso_srm_list_push(struct srm_list *l, uint64_t key, uint64_t count)
{
	int st = reserve(l, 0);

	if (st) return st;
	put(l, l->n ? key - l->last : key);
	put(l, count);
	l->last = key;
	l->n++;
	return ISO_OK;
}

/* False at the end, or where the bytes are no number of 64 bits. */
static bool get(uint64_t *v, struct srm_cursor *c)
{
	*v = 0;
	for (int shift = 0; c->at < c->end && shift < 64; shift += GROUP) {
		uint64_t byte = *c->at++;

		if (shift == 63 && byte > 1) return false;
		*v |= (byte & ((1 << GROUP) - 1)) << shift;
		if (!(byte >> GROUP)) return true;
	}
	return false;
}

struct srm_cursor iso_srm_list_begin(const struct srm_list *l)
{
	return (struct srm_cursor){ .at = l->v, .end = l->v ? l->v + l->bytes : NULL };
}

bool iso_srm_list_next(struct srm_cursor *c)
{
	uint64_t step;

	if (!get(&step, c) || !get(&c->count, c)) return false;
	c->key += step;
	return true;
}

int iso_srm_list_check(const struct srm_list *l, uint64_t limit, const char *who)
{
	struct srm_cursor c = iso_srm_list_begin(l);
	uint64_t before = 0;
	int64_t n = 0;

	for (; n < l->n && iso_srm_list_next(&c); n++) {
		if (c.key >= limit || (n > 0 && c.key <= before) || c.count == 0) break;
		before = c.key;
	}
	if (n < l->n || c.at != c.end)
		return iso_fail(ISO_EINPUT, "%s: its counts are damaged at element %" PRId64 " of %" PRId64,
		                who, n, l->n);
	return ISO_OK;
}

static int append(struct srm_list *l, const uint64_t *key, const uint32_t *count, int64_t n)
{
	int st = ISO_OK;

	for (int64_t i = 0, next; i < n && !st; i = next) {
		for (next = i + 1; !count && next < n && key[next] == key[i];) next++;
		st = iso_srm_list_push(l, key[i], count ? count[i] : (uint64_t)(next - i));
	}
	return st;
}

/* Bytes after bytes; `piece` was packed as what follows the last key of l. */
static int append_packed(struct srm_list *l, const struct srm_list *piece)
{
	int st = reserve(l, piece->bytes);

	if (st) return st;
	if (piece->bytes > 0) memcpy(l->v + l->bytes, piece->v, (size_t)piece->bytes);
	l->bytes += piece->bytes;
	l->n += piece->n;
	l->last = piece->last;
	return ISO_OK;
}

/* Long lists in pieces, side by side: a piece knows the key before its first. */
static int append_pieces(struct srm_list *l, const uint64_t *key, const uint32_t *count, int64_t n)
{
	struct srm_list piece[PIECES] = { { 0 } };
	int st[PIECES], bad = ISO_OK;

#pragma omp parallel for num_threads(PIECES)
	for (int p = 0; p < PIECES; p++) {
		int64_t from = n * p / PIECES, to = n * (p + 1) / PIECES;

		piece[p].last = from > 0 ? key[from - 1] : l->last;
		piece[p].n = from > 0 || l->n > 0;
		st[p] = append(&piece[p], key + from, count + from, to - from);
		piece[p].n = to - from;
	}
	for (int p = 0; p < PIECES; p++) {
		bad = bad ? bad : st[p] ? iso_fail_memory("srm: counts", n) : ISO_OK;
		if (!bad) bad = append_packed(l, &piece[p]);
		iso_srm_list_free(&piece[p]);
	}
	return bad;
}

int iso_srm_list_from(struct srm_list *l, const uint64_t *key, const uint32_t *count, int64_t n)
{
	return count && n >= LONG ? append_pieces(l, key, count, n) : append(l, key, count, n);
}

/* Both in step; what is left of either follows. */
int iso_srm_list_add(struct srm_list *sum, const struct srm_list *x, const struct srm_list *y)
{
	struct srm_cursor a = iso_srm_list_begin(x), b = iso_srm_list_begin(y);

	if (x->n == 0 || y->n == 0) return append_packed(sum, x->n ? x : y);
	bool in_a = iso_srm_list_next(&a), in_b = iso_srm_list_next(&b);
	int st = ISO_OK;

	while (!st && (in_a || in_b)) {
		bool take_a = in_a && (!in_b || a.key <= b.key);
		bool take_b = in_b && (!in_a || b.key <= a.key);

		st = iso_srm_list_push(sum, take_a ? a.key : b.key,
		                       (take_a ? a.count : 0) + (take_b ? b.count : 0));
		if (take_a) in_a = iso_srm_list_next(&a);
		if (take_b) in_b = iso_srm_list_next(&b);
	}
	if (st) iso_srm_list_free(sum);
	return st;
}

int iso_srm_counts_add(struct srm_counts *to, const struct srm_counts *more)
{
	struct srm_list sum = { 0 };
	int st = iso_srm_list_add(&sum, &to->list, &more->list);

	if (st) return st;
	iso_srm_list_free(&to->list);
	*to = (struct srm_counts){ sum, to->recorded + more->recorded };
	return ISO_OK;
}

/* Radix sort, 8 bits a pass, from the lowest; a pass in which all have the same bits is left out. */
void iso_srm_sort(uint64_t *v, uint64_t *spare, int64_t n, int bits)
{
	uint64_t *from = v, *to = spare, *other;

	for (int shift = 0; shift < bits; shift += 8) {
		uint64_t mask = bits - shift < 8 ? ((uint64_t)1 << (bits - shift)) - 1 : 255;
		int64_t start[257] = { 0 };

		for (int64_t i = 0; i < n; i++) start[(from[i] >> shift & mask) + 1]++;
		if (n == 0 || start[(from[0] >> shift & mask) + 1] == n) continue;
		for (int d = 0; d < 256; d++) start[d + 1] += start[d];
		for (int64_t i = 0; i < n; i++) to[start[from[i] >> shift & mask]++] = from[i];
		other = from;
		from = to;
		to = other;
	}
	if (from != v) memcpy(v, from, (size_t)n * sizeof *v);
}
