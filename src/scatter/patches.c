/* SPDX-License-Identifier: BSD-3-Clause */
/* Counting coincidences between patches of the ring. */
#include "patches.h"
#include "core/comm.h"
#include "core/progress.h"

#include <stdlib.h>

#define SLAB_MM 40.

/* Histories between two looks at the cancel flag, of each thread and on CUDA, and of one thread's turn. */
enum { PIECE = 1 << 17, CUDA_PIECE = 1 << 28, TURN = 4096 };

/* ---- setting up ---- */

static struct photon_volume volume(const struct scene_volume *v)
{
	return (struct photon_volume){ { v->n[0], v->n[1], v->n[2] },
		                       { v->voxel[0], v->voxel[1], v->voxel[2] },
		                       { v->low[0], v->low[1], v->low[2] },
		                       v->v };
}

static double activity(const struct scene_volume *f)
{
	int64_t n = (int64_t)f->n[0] * f->n[1] * f->n[2];
	double sum = 0;

	for (int64_t i = 0; i < n; i++) sum += (double)f->v[i];
	return sum * (double)f->voxel[0] * (double)f->voxel[1] * (double)f->voxel[2];
}

/* Whether all of two sectors, each of 15 degrees, is min_angle apart. */
static bool apart(int32_t a, int32_t b, double min_angle)
{
	int32_t d = abs(a - b);

	if (d > PATCH_SECTORS / 2) d = PATCH_SECTORS - d;
	return d == PATCH_SECTORS / 2 || (d > 1 && (d - 1) * 2 * M_PI / PATCH_SECTORS >= min_angle - 1e-6);
}

/* Numbers pairs a < b in order. */
static int32_t number_pairs(int32_t *pair, int32_t patches, double min_angle)
{
	int32_t n = 0;

	for (int32_t a = 0; a < patches; a++) {
		pair[a * (int64_t)patches + a] = -1;
		for (int32_t b = a + 1; b < patches; b++) {
			bool is = apart(a % PATCH_SECTORS, b % PATCH_SECTORS, min_angle);

			pair[a * (int64_t)patches + b] = pair[b * (int64_t)patches + a] = is ? n++ : -1;
		}
	}
	return n;
}

int32_t iso_patch_slabs(double half)
{
	return (int32_t)fmax(1, ceil(2 * half / SLAB_MM - 1e-6));
}

int32_t iso_patch_cells(double reach, double sigma)
{
	return 2 * (int32_t)ceil(reach / sigma - .5) + 1;
}

int iso_patch_tally_make(struct patch_tally *t, struct iso_room *room, const struct scene *s,
                         double min_angle, double reach, uint64_t seed)
{
	const struct photon_setting setting = { .density = volume(&s->q),
		                                .activity = volume(&s->f),
		                                .rho = s->rho,
		                                .half = s->half,
		                                .least_kev = s->least_kev,
		                                .water = s->water,
		                                .compton = s->compton,
		                                .seed = seed };
	struct patches *p = &t->patches;
	int st;

	*t = (struct patch_tally){ 0 };
	p->slabs = iso_patch_slabs(s->half);
	p->half = (float)s->half;
	p->slabs_per_mm = (float)(p->slabs / (2 * s->half));
	p->cells = 1;
	if (s->sigma > 0) {
		p->cells = iso_patch_cells(reach, s->sigma);
		p->sigma = (float)s->sigma;
		p->cells_per_mm = (float)(1 / s->sigma);
	}
	int64_t n = patch_count(p);
	double area = 2 * M_PI * s->rho / PATCH_SECTORS * 2 * s->half / p->slabs,
	       width = s->sigma > 0 ? s->sigma : 1;

	t->per_weight = activity(&s->f) * 2 * M_PI * 4 * s->rho * s->rho / (area * area * width);
	if ((st = iso_photon_make(&t->world, room, &setting))) return st;
	if (!ISO_HOST(room, t->pair, n * n)) return room->status;
	p->pairs = number_pairs(t->pair, (int32_t)n, min_angle);
	ISO_UPLOAD(room, p->pair, t->pair, n * n);
	ISO_UPLOAD(room, p->e, s->e, PATCH_ENERGIES);
	ISO_UPLOAD(room, p->w, s->w, SCENE_TENS * (SCENE_SLANTS + 1) * (SCENE_SLANTS + 1));
	ISO_DEVICE(room, t->sum, PATCH_SUMS * (int64_t)p->pairs * p->cells);
	ISO_HOST(room, t->all, PATCH_SUMS * (int64_t)p->pairs * p->cells);
	return room->status;
}

/* ---- counting ---- */

/* Draws of MANY histories side by side. */
enum { MANY = 16 };

struct draws {
	uint32_t w[4][MANY];
};

/* philox_draw of histories first on: the loops over them become vectors. */
static void draw_many(struct draws *d, uint64_t seed, uint64_t first, uint32_t draw)
{
	uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);

	for (int i = 0; i < MANY; i++) {
		d->w[0][i] = (uint32_t)(first + (uint64_t)i);
		d->w[1][i] = (uint32_t)((first + (uint64_t)i) >> 32);
		d->w[2][i] = draw;
		d->w[3][i] = 0;
	}
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < MANY; i++) {
			struct philox c = { { d->w[0][i], d->w[1][i], d->w[2][i], d->w[3][i] } };

			c = philox_round(c, k0, k1);
			for (int k = 0; k < 4; k++) d->w[k][i] = c.w[k];
		}
		k0 += 0x9E3779B9u;
		k1 += 0xBB67AE85u;
	}
}

static struct philox draw_of(const struct draws *d, int i)
{
	return (struct philox){ { d->w[0][i], d->w[1][i], d->w[2][i], d->w[3][i] } };
}

/* One history: followed, weighed, counted. */
static void count_one(const struct patch_tally *t, const struct photon_decay *d)
{
	int64_t size = (int64_t)t->patches.pairs * t->patches.cells;
	struct patch_count c;
	struct photon_end e[2];

	if (!photon_follow(e, &t->world, d, 0, 0) || !photon_follow(e + 1, &t->world, d, 1, 0) ||
	    !patch_place(&c, &t->patches, e, t->world.seed, d->history))
		return;
	__atomic_fetch_add(t->sum + c.sum * size + c.at, c.weight, __ATOMIC_RELAXED);
	if (c.weight_square)
		__atomic_fetch_add(t->sum + c.square * size + c.at, c.weight_square, __ATOMIC_RELAXED);
}

/* At most MANY histories. */
static void count_many(const struct patch_tally *t, uint64_t first, int64_t n)
{
	struct photon_decay d[MANY];
	struct draws place, line;

	draw_many(&place, t->world.seed, first, PHOTON_PLACE);
	draw_many(&line, t->world.seed, first, PHOTON_LINE);
	for (int64_t i = 0; i < n; i++)
		photon_decay_by(d + i, &t->world, first + (uint64_t)i, draw_of(&place, (int)i),
		                draw_of(&line, (int)i));
	for (int64_t i = 0; i < n; i++) count_one(t, d + i);
}

int iso_patch_count(iso_ctx *ctx, const struct patch_tally *t, int64_t first, int64_t n)
{
#pragma omp parallel for schedule(dynamic) num_threads(ctx->threads)
	for (int64_t turn = 0; turn < n; turn += TURN) {
		int64_t end = n - turn < TURN ? n : turn + TURN;

		for (int64_t i = turn; i < end; i += MANY)
			count_many(t, (uint64_t)(first + i), end - i < MANY ? end - i : MANY);
	}
	return ISO_OK;
}

int iso_patch_tally_run(struct patch_tally *t, iso_ctx *ctx, int64_t histories)
{
	int64_t piece = iso_ctx_is_cuda(ctx) ? CUDA_PIECE : (int64_t)PIECE * ctx->threads;
	int64_t n = PATCH_SUMS * (int64_t)t->patches.pairs * t->patches.cells;
	struct iso_rows mine = iso_share(ctx, histories);
	struct iso_clock clock = iso_clock_start_of(ctx, "decays", "decays", 0, mine.n);
	void *cuda = NULL;
	int st = iso_ctx_is_cuda(ctx) ? iso_cuda_symbol(&cuda, "iso_patch_count_cuda") : ISO_OK;

	for (int64_t i = 0; i < mine.n && !st; i += piece) {
		int64_t m = mine.n - i < piece ? mine.n - i : piece, first = t->histories + mine.first + i;

		st = (cuda ? (__typeof__(&iso_patch_count))cuda : iso_patch_count)(ctx, t, first, m);
		if (!st && !(st = iso_ctx_poll(ctx))) iso_clock_step(&clock, i + m, NULL);
	}
	if (!st) st = ctx->vec->download(ctx, t->all, t->sum, n * (int64_t)sizeof *t->all);
	st = iso_comm_sum(ctx, st, t->all, n);
	if (!st) t->histories += histories;
	return st;
}
