/* SPDX-License-Identifier: BSD-3-Clause */
/* Packing: blocks of voxels, codes, zlib. */
#include "pack.h"

#include "core/progress.h"
#include "core/size.h"

#include <limits.h>
#include <math.h>
#include <string.h>
#include <zlib.h>

#define LEVEL 6
#define PIECE 65536 /* voxels, or bytes, between two words about them */

/* Codes to try, the finest first: their bits, and the highest code that a value may have. Fewer codes of 16
   bits take less room, as their upper bytes have less to say. */
static const struct fineness {
	int bits, top;
} finest[] = { { 16, 65534 }, { 16, 4095 }, { 16, 1023 }, { 8, 254 } };
enum { FINENESSES = sizeof finest / sizeof *finest };

/* What is to be coded: the image, or the means of its blocks. */
struct source {
	struct iso_grid grid;
	const iso_real *v;
	int64_t frames;
	struct iso_clock *clock; /* counts voxels that have codes */
	bool whole, not_finite;  /* all finite values are whole numbers; some are not finite */
	double widest;           /* difference of the greatest and the least value of a frame */
	double min, max;
};

/* ---- blocks ---- */

static int64_t blocks_along(const struct iso_grid *g, const int64_t block[3], int axis)
{
	return (g->n[axis] + block[axis] - 1) / block[axis];
}

static double blocks_of(const struct iso_grid *g, const int64_t block[3])
{
	return (double)blocks_along(g, block, 0) * (double)blocks_along(g, block, 1) *
	       (double)blocks_along(g, block, 2);
}

/* Makes blocks wider, where they are shortest, until at most `most` are left. */
static void widen(int64_t block[3], const struct iso_grid *g, double most)
{
	while (blocks_of(g, block) > most) {
		int shortest = -1;

		for (int a = 0; a < 3; a++)
			if (blocks_along(g, block, a) > 1 &&
			    (shortest < 0 ||
			     (double)block[a] * g->voxel[a] < (double)block[shortest] * g->voxel[shortest]))
				shortest = a;
		if (shortest < 0) return;
		block[shortest]++;
	}
}

/* The grid of the blocks: its first voxel begins where the image's first does. */
static struct iso_grid grid_of_blocks(const struct iso_grid *g, const int64_t block[3])
{
	struct iso_grid r;

	for (int a = 0; a < 3; a++) {
		r.n[a] = blocks_along(g, block, a);
		r.voxel[a] = (double)block[a] * g->voxel[a];
		r.centre[a] =
			g->centre[a] + ((double)r.n[a] * r.voxel[a] - (double)g->n[a] * g->voxel[a]) / 2;
	}
	return r;
}

static iso_real mean_of_block(const iso_real *v, const struct iso_grid *g, const int64_t block[3],
                              const int64_t at[3])
{
	double sum = 0;
	int64_t end[3], used = 0;

	for (int a = 0; a < 3; a++) {
		end[a] = (at[a] + 1) * block[a];
		if (end[a] > g->n[a]) end[a] = g->n[a];
	}
	for (int64_t z = at[2] * block[2]; z < end[2]; z++)
		for (int64_t y = at[1] * block[1]; y < end[1]; y++)
			for (int64_t x = at[0] * block[0]; x < end[0]; x++, used++)
				sum += v[(z * g->n[1] + y) * g->n[0] + x];
	return (iso_real)(sum / (double)used);
}

static void average(iso_real *to, const struct source *image, const struct iso_grid *small,
                    const int64_t block[3])
{
	int64_t step = iso_grid_voxels(&image->grid), at[3];

	for (int64_t t = 0; t < image->frames; t++)
		for (at[2] = 0; at[2] < small->n[2]; at[2]++) {
			for (at[1] = 0; at[1] < small->n[1]; at[1]++)
				for (at[0] = 0; at[0] < small->n[0]; at[0]++)
					*to++ = mean_of_block(image->v + t * step, &image->grid, block, at);
			iso_clock_add(image->clock, 0);
		}
}

/* ---- codes ---- */

static struct iso_range range_of(const struct source *s, int64_t frame)
{
	const struct iso_shown shown = { s->v + frame * iso_grid_voxels(&s->grid), s->grid, false };

	return iso_shown_range(&shown);
}

static void survey(struct source *s)
{
	int64_t n = s->frames * iso_grid_voxels(&s->grid);

	s->whole = true;
	s->not_finite = false;
	s->widest = 0;
	for (int64_t i = 0; i < n; i++) {
		bool finite = isfinite(s->v[i]);

		s->not_finite |= !finite;
		s->whole &= !finite || s->v[i] == rint(s->v[i]);
	}
	for (int64_t t = 0; t < s->frames; t++) {
		struct iso_range r = range_of(s, t);

		s->widest = fmax(s->widest, r.max - r.min);
		s->min = t ? fmin(s->min, r.min) : r.min;
		s->max = t ? fmax(s->max, r.max) : r.max;
	}
}

/* 0 has a code wherever it is a value: it comes back as 0. */
static void choose_scale(struct iso_pack_frame *f, struct iso_range r, bool whole, int top)
{
	f->offset = r.min;
	f->scale = 1;
	if (r.min == r.max || (whole && r.max - r.min <= top)) return;
	if (r.min < 0 && r.max >= 0) {
		f->scale = r.max / (top - 1) - r.min / (top - 1);
		f->offset = -f->scale * ceil(-r.min / f->scale);
	} else
		f->scale = r.max / top - r.min / top;
}

static unsigned code_of(const struct iso_pack_frame *f, double v, struct fineness k)
{
	if (!isfinite(v)) return (1u << k.bits) - 1;
	return (unsigned)fmin(fmax(rint(v / f->scale - f->offset / f->scale), 0), k.top);
}

/* struct iso_pack_frame says how. */
static void put_codes(unsigned char *to, const struct source *s, int64_t frame, struct iso_pack_frame *f,
                      struct fineness k)
{
	int64_t n = iso_grid_voxels(&s->grid);
	const iso_real *v = s->v + frame * n;
	unsigned before = 0, sign = 1u << (k.bits - 1), mask = 2 * sign - 1;

	for (int64_t i = 0; i < n; i++) {
		unsigned code = code_of(f, v[i], k), d = (code - before) & mask;
		unsigned folded = d & sign ? (2 * (mask - d) + 1) & mask : 2 * d;

		if (k.bits == 16) to[n + i] = (unsigned char)(folded & 255);
		to[i] = (unsigned char)(k.bits == 16 ? folded >> 8 : folded);
		before = code;
		if (i % PIECE == 0) iso_clock_add(s->clock, n - i < PIECE ? n - i : PIECE);
	}
}

/* ---- zlib ---- */

/* n bytes, piece by piece; *got: room, and what was used of it. */
static int deflate_all(unsigned char *room, size_t *got, const unsigned char *raw, size_t n,
                       struct iso_clock *clock)
{
	z_stream z = { .next_out = room };
	int st = deflateInit(&z, LEVEL);

	if (st != Z_OK) return st;
	for (size_t at = 0; at < n && st == Z_OK; at += PIECE) {
		size_t m = n - at < PIECE ? n - at : PIECE, used = (size_t)(z.next_out - room);

		z.next_in = (unsigned char *)(uintptr_t)(raw + at);
		z.avail_in = (uInt)m;
		z.avail_out = *got - used < UINT_MAX ? (uInt)(*got - used) : UINT_MAX;
		st = deflate(&z, at + m < n ? Z_NO_FLUSH : Z_FINISH);
		iso_clock_add(clock, 0);
	}
	*got = (size_t)(z.next_out - room);
	deflateEnd(&z);
	return st == Z_STREAM_END ? Z_OK : st;
}

static int compress_frame(struct iso_pack_frame *f, const unsigned char *raw, size_t n, unsigned char *room,
                          size_t room_size, struct iso_clock *clock)
{
	size_t got = room_size;

	if (deflate_all(room, &got, raw, n, clock) != Z_OK) return iso_fail_memory("report", (int64_t)n);
	if (!(f->bytes = malloc(got))) return iso_fail_memory("report", (int64_t)got);
	memcpy(f->bytes, room, got);
	f->n = got;
	return ISO_OK;
}

static void drop_frames(struct iso_pack *p)
{
	for (int64_t t = 0; p->frame && t < p->frames; t++) {
		free(p->frame[t].bytes);
		p->frame[t] = (struct iso_pack_frame){ 0 };
	}
}

/* All frames in codes of one fineness; *total stops growing where it is beyond `most`. */
static int pack_frames(struct iso_pack *p, size_t *total, const struct source *s, struct fineness k,
                       size_t most)
{
	int64_t n = iso_grid_voxels(&s->grid), raw_size = n * (k.bits / 8);
	size_t room_size = compressBound((uLong)raw_size);
	unsigned char *raw = size_alloc(raw_size, 1), *room = size_alloc((int64_t)room_size, 1);
	int st = raw && room ? ISO_OK : iso_fail_memory("report", raw_size + (int64_t)room_size);

	drop_frames(p);
	*total = 0;
	p->bits = k.bits;
	p->exact = s->widest == 0 || (s->whole && s->widest <= k.top);
	p->not_finite = s->not_finite;
	p->min = s->min;
	p->max = s->max;
	for (int64_t t = 0; !st && t < p->frames && *total <= most; t++) {
		struct iso_pack_frame *f = &p->frame[t];

		choose_scale(f, range_of(s, t), s->whole, k.top);
		put_codes(raw, s, t, f, k);
		st = compress_frame(f, raw, (size_t)raw_size, room, room_size, s->clock);
		*total += f->n;
	}
	free(raw);
	free(room);
	return st;
}

/* In the finest codes that fit; *total of the coarsest if none does. Whole numbers that 8 bits hold need no
   more. */
static int pack_source(struct iso_pack *p, size_t *total, struct source *s, size_t most)
{
	int st = ISO_OK, coarsest = FINENESSES - 1;

	survey(s);
	*total = most + 1;
	for (int k = s->whole && s->widest <= finest[coarsest].top ? coarsest : 0;
	     !st && *total > most && k < FINENESSES; k++)
		st = pack_frames(p, total, s, finest[k], most);
	return st;
}

/* How many times too much; frames that were not packed any more are taken to be like those before. */
static double excess(const struct iso_pack *p, size_t total, size_t most)
{
	int64_t packed = 0;

	while (packed < p->frames && p->frame[packed].bytes) packed++;
	return (double)total / (double)packed * (double)p->frames / (double)most;
}

static int pack_image(struct iso_pack *p, const struct source *image, size_t most)
{
	double left = ISO_PACK_VOXELS / (double)image->frames;
	size_t total = most + 1;
	int st = ISO_OK;

	while (total > most) {
		struct source s = *image;
		iso_real *means = NULL;

		widen(p->block, &image->grid, left);
		p->grid = s.grid = grid_of_blocks(&image->grid, p->block);
		if (p->block[0] * p->block[1] * p->block[2] > 1) {
			int64_t n = iso_grid_voxels(&s.grid) * s.frames;

			s.v = means = size_alloc(n, sizeof *means);
			if (!means) return iso_fail_memory("report", n * (int64_t)sizeof *means);
			average(means, image, &s.grid, p->block);
		}
		st = pack_source(p, &total, &s, most);
		free(means);
		if (st || iso_grid_voxels(&s.grid) == 1) break; /* one voxel: there is nothing less */
		left = .95 * blocks_of(&image->grid, p->block) / excess(p, total, most);
	}
	return st;
}

int iso_pack_make(struct iso_pack *p, const struct iso_shown *first, int64_t frames, size_t most)
{
	struct iso_clock clock = iso_clock_brief(NULL, "pack", "voxels", 0, NULL);
	const struct source image = { .grid = first->grid, .v = first->v, .frames = frames, .clock = &clock };
	int st;

	*p = (struct iso_pack){ .block = { 1, 1, 1 }, .frames = frames };
	p->frame = size_alloc(frames, sizeof *p->frame);
	if (!p->frame) return iso_fail_memory("report", frames * (int64_t)sizeof *p->frame);
	st = pack_image(p, &image, most);
	iso_clock_end(&clock);
	if (st) iso_pack_free(p);
	return st;
}

void iso_pack_free(struct iso_pack *p)
{
	drop_frames(p);
	free(p->frame);
	*p = (struct iso_pack){ 0 };
}
