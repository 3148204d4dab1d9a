/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulating the voxels of a system matrix, in rounds over all of them: after each round every
   voxel has the same pairs behind it, and the matrix is whole. */
#include "srm_seed.h"
#include "core/comm.h"
#include "core/size.h"
#include "physics/transport.h"

#include <omp.h>

enum {
	PART = 1 << 15,       /* pairs that a thread takes at a time */
	ROUND_CPU = 1 << 18,  /* pairs of a voxel in a round: some seconds of work, */
	ROUND_CUDA = 1 << 26, /* on a device less than one; counts stay below 2^32 */
};

struct srm_seed iso_srm_seed(const iso_srm *m, int number, int image)
{
	const struct srm_shape *s = &m->shape;
	const struct srm_class *k = &m->class_of[number];
	struct srm_column c = srm_column_image(s, k->column, image);
	double x = m->panels.pitch[0] / s->d[0], z = m->panels.pitch[1] / s->d[1];
	double y = m->panels.plane;

	return (struct srm_seed){
		.shape = *s,
		.stays = k->stays,
		.image = image,
		.middle = { s->reach[0] + 1, s->reach[1] + 1 },
		.low = { (float)((c.p[0] - .5 * s->d[0]) * x), (float)((c.y - .5 * s->planes) * y),
		         (float)((c.p[1] - .5 * s->d[1]) * z) },
		.size = { (float)x, (float)y, (float)z },
		.outcomes = m->options.outcomes,
		.stream = (uint32_t)(number * SRM_SWAP + image),
	};
}

/* ---- CPU ---- */

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

void iso_srm_find_voxel(int *number, int *image, const iso_srm *m, int64_t i)
{
	int g[SRM_SWAP], n;

	for (*number = 0; i >= (n = iso_srm_voxels(g, m, *number)); i -= n) ++*number;
	*image = g[i];
}

/* What a thread makes of pairs of one voxel. */
struct part {
	uint64_t *key, *spare;
	struct srm_counts counts;
};

/* Part number i of the round. */
static int run_part(const struct srm_round *r, struct part *p, int64_t i)
{
	uint64_t numbers = srm_numbers(r->m->shape.reach, r->m->shape.layers);
	int bits = 0, number, image, st;
	int64_t parts = (r->n + PART - 1) / PART, from = i % parts * PART, keys = 0;

	iso_srm_find_voxel(&number, &image, r->m, i / parts);
	struct srm_seed s = iso_srm_seed(r->m, number, image);

	p->counts.recorded = 0;
	for (int64_t k = from; k < smaller(from + PART, r->n); k++)
		keys += (s.outcomes > 1 ? srm_pair_outcomes : srm_pair)(p->key + keys, &p->counts.recorded,
		                                                        &s, r->t, (uint64_t)(r->first + k));
	while (bits < 64 && (numbers - 1) >> bits) bits++;
	iso_srm_sort(p->key, p->spare, keys, bits);
	if (!(st = iso_srm_list_from(&p->counts.list, p->key, NULL, keys))) {
#pragma omp critical(srm_fresh)
		st = iso_srm_counts_add(&r->fresh[number], &p->counts);
	}
	iso_srm_list_free(&p->counts.list);
	return st;
}

int iso_srm_round(const struct srm_round *r)
{
	int64_t voxels = iso_srm_all_voxels(r->m), parts = voxels * ((r->n + PART - 1) / PART), ended = 0;
	struct iso_rows mine = iso_share(r->ctx, parts);
	int64_t keys = (int64_t)PART * r->m->options.outcomes * r->m->options.outcomes;
	bool full = false;

#pragma omp parallel num_threads(r->ctx->threads) reduction(|| : full)
	{
		struct part p = { .key = malloc((size_t)(2 * keys) * sizeof *p.key) };

		p.spare = p.key + keys;
		full = !p.key;
#pragma omp for schedule(dynamic)
		for (int64_t i = mine.first; i < mine.first + mine.n; i++) {
			int64_t behind;

			if (iso_stopped(r->ctx) || full) continue;
			full = run_part(r, &p, i) != ISO_OK;
#pragma omp atomic capture
			behind = ++ended;
			if (omp_get_thread_num() == 0)
				iso_clock_step(r->clock, r->done + voxels * r->n * behind / mine.n, NULL);
		}
		free(p.key);
	}
	return full ? iso_fail_memory("srm: counts", keys * 16) : iso_ctx_poll(r->ctx);
}

/* ---- ranks ---- */

/* What a rank tells of a class: its list lies behind those of the classes before it. */
struct told {
	int64_t bytes, n;
	uint64_t last, recorded;
};

/* Where the lists of ranks begin, of `told` by rank and class, and where the last one ends. */
static void place_lists(int64_t *first, const struct told *told, int classes, int ranks)
{
	first[0] = 0;
	for (int r = 0; r < ranks; r++) {
		first[r + 1] = first[r];
		for (int i = 0; i < classes; i++) first[r + 1] += told[r * classes + i].bytes;
	}
}

/* This rank's lists, one behind the other, and none any more. */
static void pack_lists(uint8_t *to, struct srm_counts *fresh, int classes)
{
	for (int i = 0; i < classes; i++) {
		struct srm_list *l = &fresh[i].list;

		if (l->bytes > 0) memcpy(to, l->v, (size_t)l->bytes);
		to += l->bytes;
		iso_srm_list_free(l);
		fresh[i].recorded = 0;
	}
}

/* Counts are whole numbers, and a list has one way to be written: any order of adding gives the same bytes. */
static int add_lists(struct srm_counts *fresh, const uint8_t *from, const struct told *told, int classes,
                     int ranks)
{
	int st = ISO_OK;

	for (int64_t i = 0; i < (int64_t)classes * ranks && !st; from += told[i++].bytes) {
		struct srm_counts more = { { (uint8_t *)from, told[i].bytes, told[i].bytes, told[i].n,
			                     told[i].last },
			                   told[i].recorded };

		st = iso_srm_counts_add(&fresh[i % classes], &more);
	}
	return st;
}

/* Every rank gets the fresh counts of all. */
static int share_counts(struct srm_counts *fresh, iso_ctx *ctx, int classes, int st)
{
	int ranks = iso_ranks(ctx), rank = iso_rank(ctx);
	struct iso_room room = { .ctx = ctx, .what = "srm: counts of all ranks" };
	struct told *told;
	int64_t *first;
	uint8_t *all;

	if (ranks == 1) return st;
	ISO_HOST(&room, told, (int64_t)ranks * classes);
	ISO_HOST(&room, first, ranks + 1);
	if (!st) st = room.status;
	for (int i = 0; i < classes && !st; i++) {
		const struct srm_list *l = &fresh[i].list;

		told[rank * classes + i] = (struct told){ l->bytes, l->n, l->last, fresh[i].recorded };
	}
	for (int r = 0; r <= ranks && !st; r++) first[r] = r * classes * (int64_t)sizeof *told;
	st = st ? iso_comm_agree(ctx, st) : iso_comm_gather_host(ctx, st, told, first);
	if (st) goto done;
	place_lists(first, told, classes, ranks);
	ISO_HOST(&room, all, first[ranks] + 1);
	if (!(st = room.status)) pack_lists(all + first[rank], fresh, classes);
	st = st ? iso_comm_agree(ctx, st) : iso_comm_gather_host(ctx, st, all, first);
	if (!st) st = add_lists(fresh, all, told, classes, ranks);
done:
	iso_room_free(&room);
	return st;
}

/* ---- rounds ---- */

/* Heads as struct srm_seed wants them. */
static int make_transport(struct transport *t, struct transport_table *table, const iso_srm *m)
{
	struct iso_panels p = m->panels;
	struct iso_transport_options o = m->options.transport;

	for (int i = 0; i < 2; i++) {
		p.crystals[i] = 2 * m->shape.reach[i] + 3;
		o.extended[i] = 0;
	}
	o.seed = m->options.seed;
	return iso_transport_make(t, table, &p, &o);
}

static int one_round(iso_srm *m, srm_round_fn run, struct srm_round *r)
{
	int st = ISO_OK;

	r->fresh = size_alloc(m->n_class, sizeof *r->fresh);
	if (!r->fresh) return iso_fail_memory("srm: counts", m->n_class * (int64_t)sizeof *r->fresh);
	st = share_counts(r->fresh, r->ctx, m->n_class, run(r));
	if (!st && !(st = iso_srm_take(m, r->fresh, r->ctx->threads)))
		st = iso_srm_add_range(m, (struct srm_range){ m->options.seed, r->first, r->n });
	for (int i = 0; i < m->n_class; i++) iso_srm_list_free(&r->fresh[i].list);
	free(r->fresh);
	return st;
}

/* n pairs of every voxel, from r.first on. */
static int run_rounds(iso_srm *m, srm_round_fn run, struct srm_round r, int64_t n)
{
	int64_t most =
		(run == iso_srm_round ? ROUND_CPU : ROUND_CUDA) / (m->options.outcomes * m->options.outcomes);
	int64_t voxels = iso_srm_all_voxels(m), end = r.first + n;
	struct iso_clock clock = iso_clock_start_of(r.ctx, "srm", "pairs", 0, voxels * n);
	int st = ISO_OK;

	r.clock = &clock;
	for (; r.first < end && !st; r.first += r.n) {
		r.n = smaller(most, end - r.first);
		st = one_round(m, run, &r);
		r.done += voxels * r.n;
	}
	if (!st) iso_clock_step(&clock, voxels * n, NULL);
	return st;
}

/* Counts grow with the pairs, once there are some: never more than twice what is there at a time,
   since the core of a small sample is not that of a large one. */
static int run_until(iso_srm *m, srm_round_fn run, struct srm_round r, int64_t n, double counts)
{
	int64_t end = r.first + n;
	struct srm_noise noise;
	int st = ISO_OK;

	for (int64_t next = smaller(n, ROUND_CPU); next > 0;) {
		if ((st = run_rounds(m, run, r, next)) || (st = iso_srm_measure(&noise, m, r.ctx))) break;
		r.first += next;
		double pairs = (double)m->pairs;
		double more = pairs * (noise.core_counts > 0 ? counts / noise.core_counts - 1 : 2);

		next = more > 0 ? (int64_t)fmin(fmin(ceil(more), 2 * pairs), (double)(end - r.first)) : 0;
	}
	return st;
}

/* Distinct elements grow as the 0.6th power of the pairs (MENG: 19,100 of 2e5, 319,000 of 2e7); three
   times those of MENG, and 3 bytes each. */
void iso_srm_plan(struct iso_plan *plan, const iso_ctx *ctx, const iso_srm *m, int64_t pairs)
{
	if (!plan || !m) return;

	double cells = (double)srm_numbers(m->shape.reach, m->shape.layers);
	double keys = fmin(40 * pow((double)pairs, .6), cells);
	int outcomes = m->options.outcomes * m->options.outcomes;

	iso_plan_add(plan, "counts of all voxels, about", (int64_t)(keys * m->n_class), 3, false);
	iso_plan_add(plan, "table, about", (int64_t)(.2 * keys * (double)m->n_column), 32, false);
	if (iso_ctx_is_cuda(ctx))
		iso_plan_add(plan, "histogram of a voxel", (int64_t)cells, sizeof(uint32_t), true);
	else
		iso_plan_add(plan, "keys of the threads", (int64_t)PART * outcomes * ctx->threads,
		             2 * sizeof(uint64_t), false);
}

static int check_simulate(const iso_srm *m, int64_t first, int64_t n, double until_counts)
{
	if (!m->has_counts)
		return iso_fail(
			ISO_EARG,
			"srm: a matrix without counts (final, analytic, imported) can't be continued");
	if (first < 0 || n < 1 || first > INT64_MAX - n || n > (int64_t)1 << 50)
		return iso_fail(ISO_EARG,
		                "srm: %" PRId64 " pairs from %" PRId64 ", must be at least 1 from 0 or above",
		                n, first);
	if (!(until_counts >= 0))
		return iso_fail(ISO_EARG, "srm: %g counts an element, must be 0 or above", until_counts);
	return iso_srm_check_range(m, (struct srm_range){ m->options.seed, first, n });
}

int iso_srm_simulate(iso_srm *m, iso_ctx *ctx, int64_t first, int64_t n, double until_counts)
{
	if (!m || !ctx) return iso_fail_null(__func__);
	struct iso_room room = { .ctx = ctx, .what = "srm: tables of the material" };
	struct transport_table *table;
	struct transport t, here;
	struct srm_round r = { .ctx = ctx, .m = m, .t = &here, .first = first };
	srm_round_fn run = iso_srm_round;
	void *cuda = NULL;
	int st = check_simulate(m, first, n, until_counts);

	if (st) return st;
	if (!ISO_HOST(&room, table, 1)) return iso_comm_agree(ctx, room.status);
	if ((st = make_transport(&t, table, m))) goto done;
	if (iso_ctx_is_cuda(ctx)) {
		if ((st = iso_cuda_symbol(&cuda, "iso_srm_round_cuda"))) goto done;
		run = (srm_round_fn)cuda;
	}
	if ((st = iso_transport_move(&here, &room, &t))) goto done;
	st = until_counts > 0 ? run_until(m, run, r, n, until_counts) : run_rounds(m, run, r, n);
done:
	iso_room_free(&room);
	return st ? iso_comm_agree(ctx, st) : ISO_OK;
}
