/* SPDX-License-Identifier: BSD-3-Clause */
/* Several images through one traversal of the rays. Images stand in packs of four: at each voxel a pack is one vector, which a
   ray reads, multiplies and adds to at once. Each image has the bits of a step of its own: its sums take the same terms in
   the same order, and its fixed point has the scale of its own counts. */
#include "ray_many.h"

#include "core/loop/em_sum.h"
#include "core/loop/fixed.h"
#include "core/loop/four.h"
#include "core/size.h"

#include <omp.h>
#include <string.h>

#define AHEAD 4 /* events */

enum { PACK = 4, LINE = 16 }; /* images of a vector; a line of the cache has at most so many values */

typedef iso_real pack_real __attribute__((vector_size(PACK * sizeof(iso_real))));
typedef double pack_double __attribute__((vector_size(PACK * sizeof(double))));
typedef int64_t pack_long __attribute__((vector_size(PACK * sizeof(int64_t))));

/* The same values as doubles. Vectors go by pointers: as arguments they would be another interface on each machine. gcc 12 makes
   two halves, through memory, where the machine has one instruction. */
static inline void widen(pack_double *to, const pack_real *v)
{
#if defined(__AVX__) && !defined(ISO_DOUBLE)
	*to = (pack_double)_mm256_cvtps_pd((__m128)*v);
#else
	*to = __builtin_convertvector(*v, pack_double);
#endif
}

struct ray_many {
	int images, packs;
	int most; /* images there is room for */
	int64_t voxels;
	struct iso_fixed acc;    /* of voxel i, pack p: sums from first + (i packs + p) PACK on */
	int64_t first;           /* so that no pack lies on two lines of the cache */
	iso_real *all, *x;       /* room for as many values; the images in it, as the sums from `first` on */
	struct em_scales *scale; /* of an image, as all below */
	double *fixed;
	struct em_tally *tally;
	iso_ctx *ctx;
	struct iso_room room;
};

/* The data of a chunk's events. */
struct many_chunk {
	iso_real add[ORDER_CHUNK], mult[ORDER_CHUNK];
	iso_real *count; /* ORDER_CHUNK of each image, one behind the other */
};

void iso_ray_many_free(struct ray_many *m)
{
	if (!m) return;
	iso_fixed_free(&m->acc);
	iso_room_free(&m->room);
	free(m);
}

/* Items of `size` bytes from p on to the next line of the cache. */
static int64_t to_line(const void *p, size_t size)
{
	enum { BYTES = 64 };

	return (int64_t)((BYTES - (uintptr_t)p % BYTES) % BYTES / size);
}

/* Values of so many packs of n voxels, with the places before the first. */
static int64_t padded(int64_t n, int packs)
{
	return (n * packs * PACK + LINE - 1) / LINE * LINE + LINE;
}

static int create(struct ray_many **out, iso_ctx *ctx, const struct ray_model *model, int images)
{
	struct ray_many *m = size_alloc(1, sizeof *m);
	int lanes = (images + PACK - 1) / PACK * PACK;
	int64_t n = ray_voxels(&model->grid), all = 0;
	int st = ISO_OK;

	if (!m) return iso_fail_memory("ray", sizeof *m);
	*m = (struct ray_many){ .most = lanes, .voxels = n, .ctx = ctx };
	m->room = iso_room_of(NULL, "ray, several images");
	if (!size_mul(&all, n, lanes)) st = iso_fail_memory("ray", n);
	all = padded(n, lanes / PACK);
	if (!st) st = iso_fixed_create(&m->acc, ctx, all, iso_ray_additions(model) * lanes);
	if (!st) {
		m->first = to_line(m->acc.v, sizeof *m->acc.v);
		ISO_HOST(&m->room, m->all, all);
		m->x = m->all ? m->all + to_line(m->all, sizeof *m->all) : NULL;
		ISO_HOST(&m->room, m->scale, lanes);
		ISO_HOST(&m->room, m->fixed, lanes);
		ISO_HOST(&m->room, m->tally, lanes);
		st = m->room.status;
	}
	if (st)
		iso_ray_many_free(m);
	else
		*out = m;
	return st;
}

/* Sums of so many images: those of an earlier step where there is room. */
static int reserve(struct ray_many **own, const iso_op *op, int images)
{
	int st = ISO_OK;

	if (*own && (*own)->most < images) {
		iso_ray_many_free(*own);
		*own = NULL;
	}
	if (!*own) st = create(own, op->ctx, op->data, images);
	if (st) return st;
	(*own)->images = images;
	(*own)->packs = (images + PACK - 1) / PACK;
	(*own)->acc.n = padded((*own)->voxels, (*own)->packs);
	return ISO_OK;
}

/* ---- an event ---- */

/* chain += w x of a pack of one voxel. */
static inline void add_term(pack_double *chain, const iso_real *x, iso_real w)
{
	pack_double t;
	pack_real v;

	memcpy(&v, x, sizeof v);
	v *= w;
	widen(&t, &v);
	*chain += t;
}

/* The same, where products are doubles, as sum_along has them. */
static inline void add_exact(pack_double *chain, const iso_real *x, iso_real w)
{
	pack_double t;
	pack_real v;

	memcpy(&v, x, sizeof v);
	widen(&t, &v);
	*chain += (double)w * t;
}

/* Sums w x of a pack along the list; x: the pack's first voxel, `apart` values from voxel to voxel. */
static inline void sum_pack(double sum[PACK], const struct ray_list *l, const iso_real *restrict x,
                            int64_t apart)
{
	const int *restrict voxel = l->voxel;
	const iso_real *restrict w = l->w;
	const int n = (l->n + 3) / 4 * 4;
	pack_double a = { 0 };

#ifdef ISO_DOUBLE
	for (int i = 0; i < n; i++) add_term(&a, x + apart * voxel[i], w[i]);
#else
	pack_double b = { 0 }, c = { 0 }, d = { 0 };

	for (int i = 0; i < n; i += 4) {
		add_term(&a, x + apart * voxel[i], w[i]);
		add_term(&b, x + apart * voxel[i + 1], w[i + 1]);
		add_term(&c, x + apart * voxel[i + 2], w[i + 2]);
		add_term(&d, x + apart * voxel[i + 3], w[i + 3]);
	}
	a = (a + c) + (b + d);
#endif
	memcpy(sum, &a, sizeof a);
}

/* The same sums with the products of add_exact. */
static inline void project_pack(double sum[PACK], const struct ray_list *l, const iso_real *restrict x,
                                int64_t apart)
{
	const int *restrict voxel = l->voxel;
	const iso_real *restrict w = l->w;
	pack_double a = { 0 };

#ifdef ISO_DOUBLE
	for (int i = 0; i < l->n; i++) add_exact(&a, x + apart * voxel[i], w[i]);
#else
	pack_double b = { 0 }, c = { 0 }, d = { 0 };

	for (int i = 0; i < l->n; i += 4) {
		add_exact(&a, x + apart * voxel[i], w[i]);
		add_exact(&b, x + apart * voxel[i + 1], w[i + 1]);
		add_exact(&c, x + apart * voxel[i + 2], w[i + 2]);
		add_exact(&d, x + apart * voxel[i + 3], w[i + 3]);
	}
	a = (a + c) + (b + d);
#endif
	memcpy(sum, &a, sizeof a);
}

#define ROUND 0x1.8p52 /* as ray_along.h has it */

/* v += factor w x, where no product reaches 2^51. */
static inline void add_small(int64_t *restrict v, const struct ray_list *l, const iso_real *restrict x,
                             int64_t apart, const double factor[PACK])
{
	const int *restrict voxel = l->voxel;
	const iso_real *restrict w = l->w;
	const int n = l->n;
	pack_double f, round = { ROUND, ROUND, ROUND, ROUND };

	memcpy(&f, factor, sizeof f);
	for (int i = 0; i < n; i++) {
		int64_t at = apart * voxel[i];
		pack_double term;
		pack_real t;
		pack_long to;

		memcpy(&t, x + at, sizeof t);
		memcpy(&to, v + at, sizeof to);
		t *= w[i];
		widen(&term, &t);
		to += (pack_long)(term * f + round) - (pack_long)round;
		memcpy(v + at, &to, sizeof to);
	}
}

/* The same for any factor, and for sums that threads share. */
static void add_large(const struct iso_fixed *acc, int64_t *v, const struct ray_list *l, const iso_real *x,
                      int64_t apart, const double factor[PACK])
{
	for (int i = 0; i < l->n; i++)
		for (int e = 0; e < PACK; e++) {
			int64_t at = apart * l->voxel[i] + e;
			iso_real term = l->w[i] * x[at];
			int64_t part = llrint((double)term * factor[e]);

			if (acc->atomic)
				__atomic_fetch_add(v + at, part, __ATOMIC_RELAXED);
			else
				v[at] += part;
		}
}

/* What the row sends back for image e, from the sum along it: em_respond without the logarithm. */
static double respond(struct em_tally *t, struct em_scales scale, double count, double add, bool traced,
                      double ax)
{
	struct iso_em_stat row = { 0 };
	double q = ax + add;
	bool used = traced && q > 0;

	row.used = used;
	row.skipped = !used;
	row.lost = used ? 0 : count;
	row.counts = used && ax > 0 ? count : 0;
	t->used += row.used;
	t->skipped += row.skipped;
	if (count > 0) {
		t->counts += llrint(row.counts * scale.counts);
		t->lost += llrint(row.lost * scale.counts);
	}
	return used && ax > 0 ? count / q : 0;
}

/* Pack p of an event that is traced; counts: of its images. */
static void add_event(const struct ray_many *m, const struct ray_list *l, int p, int64_t *v,
                      const double count[PACK], double add, bool traced, struct em_tally *tally)
{
	const int64_t apart = (int64_t)m->packs * PACK;
	const iso_real *x = m->x + p * PACK;
	double sum[PACK] = { 0 }, factor[PACK] = { 0 }, most = 0;

	if (l->n > 0) sum_pack(sum, l, x, apart);
	for (int e = 0; e < PACK && p * PACK + e < m->images; e++) {
		int k = p * PACK + e;

		factor[e] = respond(tally + k, m->scale[k], count[e], add, traced, sum[e]) * m->fixed[k];
		most = fmax(most, sum[e] * factor[e]);
	}
	if (!(most > 0)) return;
	if (m->acc.atomic || !(most < 0x1p50))
		add_large(&m->acc, v + p * PACK, l, x, apart, factor);
	else
		add_small(v + p * PACK, l, x, apart, factor);
}

/* ---- a step ---- */

static void add_chunk(const struct ray_many *m, const iso_op *op, struct iso_rows rows, struct ray_list *l,
                      const iso_real *y, const struct iso_em_data *d, struct many_chunk *c,
                      struct em_tally *tally)
{
	const struct ray_model *model = op->data;
	const int64_t each = ray_stored(model), *row = model->row + rows.first;
	const struct iso_event *e = model->e + each * rows.first;
	int64_t *v = iso_fixed_of(&m->acc, omp_get_thread_num()) + m->first;

	/* asked for one after the other, they come as fast as they can */
	for (int k = 0; k < m->images; k++)
		for (int64_t i = 0; i < rows.n; i++)
			c->count[k * ORDER_CHUNK + i] = y[k * op->n_out + row[i]];
	for (int64_t i = 0; i < rows.n; i++) {
		c->add[i] = d->add ? d->add[row[i]] : 0;
		c->mult[i] = d->mult ? d->mult[row[i]] : 1;
	}
	for (int64_t i = 0; !iso_stopped(op->ctx) && i < rows.n; i++) {
		bool traced = c->mult[i] > 0;

		__builtin_prefetch(e + each * (i + AHEAD));
		l->n = 0;
		if (traced) iso_ray_trace(l, model, e + each * i);
		for (int p = 0; p < m->packs; p++) {
			double count[PACK] = { 0 };

			for (int k = 0; k < PACK && p * PACK + k < m->images; k++)
				count[k] = c->count[(p * PACK + k) * ORDER_CHUNK + i];
			add_event(m, l, p, v, count, c->add[i], traced, tally);
		}
	}
}

static void add_rows(struct ray_many *m, const iso_op *op, char *lists, int64_t list_bytes, int sub,
                     const iso_real *y, const struct iso_em_data *d, struct em_tally *tallies,
                     iso_real *counts)
{
	const struct ray_model *model = op->data;
	struct iso_rows r = iso_op_rows(op, sub);

	iso_op_counts(op, "update", "events", r.n);
#pragma omp parallel num_threads(op->ctx->threads)
	{
		int t = omp_get_thread_num();
		struct ray_list l = iso_ray_list(lists + t * list_bytes, &model->grid, &model->spread);
		struct many_chunk data = { .count = counts + (int64_t)t * m->images * ORDER_CHUNK };

#pragma omp for schedule(dynamic)
		for (int64_t c = 0; c < order_chunks(r); c++) {
			add_chunk(m, op, order_chunk(r, c), &l, y, d, &data, tallies + t * m->images);
			iso_op_count(op, order_chunk(r, c).n);
		}
	}
	for (int t = 0; t < op->ctx->threads; t++)
		for (int e = 0; e < m->images; e++) em_tally_add(m->tally + e, tallies + t * m->images + e);
}

/* Sums are 0; each image has a scale of its own. */
static void begin_sums(struct ray_many *m)
{
	iso_fixed_begin(&m->acc, m->ctx, 1);
	m->acc.scale = 1;
}

static void pack_images(struct ray_many *m, const iso_real *x)
{
	const int64_t lanes = (int64_t)m->packs * PACK;

#pragma omp parallel for num_threads(m->ctx->threads)
	for (int64_t i = 0; i < m->voxels; i++)
		for (int e = 0; e < lanes; e++)
			m->x[i * lanes + e] = e < m->images ? x[e * m->voxels + i] : 0;
}

/* The sums, over their scales, which are powers of two, to the images; m->all holds them in between. */
static void end_sums(iso_real *acc, struct ray_many *m)
{
	const int64_t lanes = (int64_t)m->packs * PACK;

	iso_fixed_end(m->all, &m->acc, m->ctx);
#pragma omp parallel for num_threads(m->ctx->threads)
	for (int64_t i = 0; i < m->voxels; i++)
		for (int e = 0; e < m->images; e++)
			acc[e * m->voxels + i] =
				(iso_real)(m->all[m->first + i * lanes + e] * (1 / m->fixed[e]));
}

/* Scales from the counts of each image's rows, of all ranks; sums are 0; the images in packs. */
static int begin(struct ray_many *m, const iso_op *op, int sub, const iso_real *x, const iso_real *y)
{
	struct iso_rows r = iso_op_rows(op, sub);
	int st = ISO_OK;

	for (int e = 0; e < m->images; e++) {
		double sum = 0;

		if (!st) st = m->ctx->vec->asum(m->ctx, r.n, &sum, y + e * op->n_out + r.first);
		if ((st = iso_comm_sum_real(m->ctx, st, &sum, 1))) return st;
		m->scale[e] = em_scales(sum);
		m->fixed[e] = iso_fixed_scale(sum);
		m->tally[e] = (struct em_tally){ 0 };
	}
	begin_sums(m);
	pack_images(m, x);
	return ISO_OK;
}

/* The images' sums, of all ranks, and the statistics. */
static int end(iso_real *acc, struct iso_em_stat *s, struct ray_many *m, int st)
{
	st = iso_fixed_sum(&m->acc, m->ctx, st);
	for (int e = 0; e < m->images; e++)
		if ((st = iso_em_tally_sum(m->tally + e, m->ctx, st))) return st;
	end_sums(acc, m);
	for (int e = 0; e < m->images; e++) s[e] = em_tally_stat(m->tally + e, m->scale[e]);
	return ISO_OK;
}

int iso_ray_many_step(struct ray_many **own, const iso_op *op, char *lists, int64_t list_bytes, int sub,
                      int images, iso_real *acc, const iso_real *x, const iso_real *y,
                      const struct iso_em_data *d, struct iso_em_stat *s)
{
	struct iso_room room = iso_room_of(NULL, "ray, several images");
	struct em_tally *tallies;
	iso_real *counts;
	int st = ISO_OK;

	ISO_HOST(&room, tallies, (int64_t)images * op->ctx->threads);
	ISO_HOST(&room, counts, (int64_t)images * ORDER_CHUNK * op->ctx->threads);
	st = room.status;
	if (!st) st = reserve(own, op, images);
	if (!(st = iso_comm_agree(op->ctx, st)) && !(st = begin(*own, op, sub, x, y))) {
		add_rows(*own, op, lists, list_bytes, sub, y, d, tallies, counts);
		st = end(acc, s, *own, iso_ctx_poll(op->ctx));
	}
	iso_room_free(&room);
	return st;
}

/* ---- y = A x and x = A* y of several images ---- */

/* Rows of one chunk: y[k] of image k, each op->n_out values behind the one before. */
static void project_chunk(const struct ray_many *m, const iso_op *op, struct iso_rows rows,
                          struct ray_list *l, iso_real *y)
{
	const struct ray_model *model = op->data;
	const int64_t each = ray_stored(model), apart = (int64_t)m->packs * PACK;

	for (int64_t i = rows.first; !iso_stopped(op->ctx) && i < rows.first + rows.n; i++) {
		iso_ray_trace(l, model, model->e + each * i);
		for (int p = 0; p < m->packs; p++) {
			double sum[PACK];

			project_pack(sum, l, m->x + p * PACK, apart);
			for (int e = 0; e < PACK && p * PACK + e < m->images; e++)
				y[(p * PACK + e) * op->n_out + model->row[i]] = (iso_real)sum[e];
		}
	}
}

int iso_ray_many_forward(struct ray_many **own, const iso_op *op, char *lists, int64_t list_bytes, int sub,
                         int images, iso_real *y, const iso_real *x)
{
	const struct ray_model *model = op->data;
	struct iso_rows r = iso_op_rows(op, sub);
	int st = reserve(own, op, images);

	if ((st = iso_comm_agree(op->ctx, st))) return st;
	pack_images(*own, x);
	iso_op_counts(op, "project", "events", r.n);
#pragma omp parallel for num_threads(op->ctx->threads) schedule(dynamic)
	for (int64_t c = 0; c < order_chunks(r); c++) {
		struct ray_list l =
			iso_ray_list(lists + omp_get_thread_num() * list_bytes, &model->grid, &model->spread);

		project_chunk(*own, op, order_chunk(r, c), &l, y);
		iso_op_count(op, order_chunk(r, c).n);
	}
	return iso_ctx_poll(op->ctx);
}

/* v += factor w of a pack along the list, where no product reaches 2^51. */
static inline void return_small(int64_t *restrict v, const struct ray_list *l, int64_t apart,
                                const double factor[PACK])
{
	const int *restrict voxel = l->voxel;
	const iso_real *restrict w = l->w;
	const int n = l->n;
	pack_double f, round = { ROUND, ROUND, ROUND, ROUND };

	memcpy(&f, factor, sizeof f);
	for (int i = 0; i < n; i++) {
		int64_t at = apart * voxel[i];
		pack_long to;

		memcpy(&to, v + at, sizeof to);
		to += (pack_long)((double)w[i] * f + round) - (pack_long)round;
		memcpy(v + at, &to, sizeof to);
	}
}

/* The same for any factor, and for sums that threads share. */
static void return_large(const struct iso_fixed *acc, int64_t *v, const struct ray_list *l, int64_t apart,
                         const double factor[PACK])
{
	for (int i = 0; i < l->n; i++)
		for (int e = 0; e < PACK; e++) {
			int64_t at = apart * l->voxel[i] + e, part = llrint((double)l->w[i] * factor[e]);

			if (acc->atomic)
				__atomic_fetch_add(v + at, part, __ATOMIC_RELAXED);
			else
				v[at] += part;
		}
}

/* Rows of one chunk; value: ORDER_CHUNK of each image, one behind the other; most: no weight exceeds it. */
static void return_chunk(const struct ray_many *m, const iso_op *op, struct iso_rows rows, struct ray_list *l,
                         const iso_real *y, iso_real *value, double most)
{
	const struct ray_model *model = op->data;
	const int64_t each = ray_stored(model), apart = (int64_t)m->packs * PACK;
	const int64_t *row = model->row + rows.first;
	int64_t *v = iso_fixed_of(&m->acc, omp_get_thread_num()) + m->first;

	for (int k = 0; k < m->images; k++)
		for (int64_t i = 0; i < rows.n; i++) value[k * ORDER_CHUNK + i] = y[k * op->n_out + row[i]];
	for (int64_t i = 0; !iso_stopped(op->ctx) && i < rows.n; i++) {
		iso_ray_trace(l, model, model->e + each * (rows.first + i));
		for (int p = 0; p < m->packs; p++) {
			double factor[PACK] = { 0 }, largest = 0;

			for (int e = 0; e < PACK && p * PACK + e < m->images; e++) {
				int k = p * PACK + e;

				factor[e] = value[k * ORDER_CHUNK + i] * m->fixed[k];
				largest = fmax(largest, fabs(factor[e]));
			}
			if (m->acc.atomic || !(most * largest < 0x1p50))
				return_large(&m->acc, v + p * PACK, l, apart, factor);
			else if (largest > 0)
				return_small(v + p * PACK, l, apart, factor);
		}
	}
}

/* Scales from the sum of each image's values, of all ranks. */
static int begin_return(struct ray_many *m, const iso_op *op, int sub, const iso_real *y, double most)
{
	struct iso_rows r = iso_op_rows(op, sub);
	int st = ISO_OK;

	for (int e = 0; e < m->images; e++) {
		double total = 0;

		if (!st) st = m->ctx->vec->asum(m->ctx, r.n, &total, y + e * op->n_out + r.first);
		if ((st = iso_comm_sum_real(m->ctx, st, &total, 1))) return st;
		if (!isfinite(total)) return iso_fail(ISO_EARG, "ray: a value to back project is not finite");
		m->fixed[e] = iso_fixed_scale(total * most);
	}
	begin_sums(m);
	return ISO_OK;
}

int iso_ray_many_adjoint(struct ray_many **own, const iso_op *op, char *lists, int64_t list_bytes, int sub,
                         int images, iso_real *x, const iso_real *y)
{
	const struct ray_model *model = op->data;
	const double most = iso_ray_largest_weight(&model->grid, &model->tof);
	struct iso_rows r = iso_op_rows(op, sub);
	struct iso_room room = iso_room_of(NULL, "ray, several images");
	iso_real *values =
		iso_room_host(&room, (int64_t)images * op->ctx->threads, ORDER_CHUNK * sizeof *values);
	int st = room.status;

	if (!st) st = reserve(own, op, images);
	if (!(st = iso_comm_agree(op->ctx, st)) && !(st = begin_return(*own, op, sub, y, most))) {
		iso_op_counts(op, "backproject", "events", r.n);
#pragma omp parallel for num_threads(op->ctx->threads) schedule(dynamic)
		for (int64_t c = 0; c < order_chunks(r); c++) {
			int t = omp_get_thread_num();
			struct ray_list l =
				iso_ray_list(lists + t * list_bytes, &model->grid, &model->spread);

			return_chunk(*own, op, order_chunk(r, c), &l, y,
			             values + (int64_t)t * images * ORDER_CHUNK, most);
			iso_op_count(op, order_chunk(r, c).n);
		}
		if (!(st = iso_fixed_sum(&(*own)->acc, op->ctx, iso_ctx_poll(op->ctx)))) end_sums(x, *own);
	}
	iso_room_free(&room);
	return st;
}
