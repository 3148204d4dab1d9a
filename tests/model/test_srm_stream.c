/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams of taps: walked as the kernels of the correlation on CUDA walk them, they give the
   projections of the operator on the CPU. */
#include "bench/srm/strategies.h" /* of srm_problem.h */
#include "srm_problem.h"

#include "model/srm/matrix/srm_matrix.h"
#include "model/srm/tensor/srm_single.h"
#include "model/srm/tensor/srm_stream.h"

#define CLOSE TOLERANCE(2e-6, 2e-6) /* of the greatest value: weights are float in either build */

static const struct problem problems[] = {
	{ { 4, 5 }, { 2, 2 }, 4, 1, 1, ISO_MOD, .98 },
	{ { 12, 9 }, { 4, 4 }, 3, 1, 1, ISO_GROUPS, .999 },
	{ { 9, 30 }, { 2, 4 }, 5, 1, 3, ISO_GROUPS, .98 }, /* several tiles along z */
	{ { 40, 3 }, { 1, 1 }, 4, 1, 2, ISO_MOD, 1 },      /* long rows of tiles, taps far outside */
	{ { 5, 4 }, { 5, 3 }, 4, 1, 2, ISO_RANDOM, .98 },  /* more phases than lanes */
	{ { 5, 3 }, { 1, 3 }, 5, 2, 4, ISO_RANDOM, .98 },
	{ { 9, 30 }, { 3, 6 }, 4, 1, 40, ISO_RANDOM, .98 }, /* so many that directions go singly */
	{ { 1, 1 }, { 2, 2 }, 2, 1, 1, ISO_MOD, 1 },
};

struct scene {
	iso_ctx *ctx;
	iso_srm *srm;
	iso_op *op;
	const struct srm_op *m;
	struct stream_taps taps;
	struct iso_room room;
	struct stream_layout layout;
	iso_real *x, *y, *want;     /* want: of the CPU */
	double *image, *data, *got; /* padded; and in the operator's order */
	double close;               /* of the greatest value */
};

/* Takes the operator and its matrix over. */
static struct scene begin_with(iso_ctx *ctx, iso_srm *srm, iso_op *op)
{
	struct scene s = { .ctx = ctx, .srm = srm, .op = op, .m = op->data, .close = CLOSE };

	((struct srm_op *)op->data)->srm = srm; /* as while the operator is made */
	s.room = iso_room_of(ctx, "streams");
	OK(iso_stream_taps(&s.taps, &s.room, s.m));
	OK(iso_stream_layout(&s.layout, &s.room, s.m));

	size_t in = (size_t)s.op->n_in, out = (size_t)s.op->n_out, most = in > out ? in : out;

	s.x = calloc(in, sizeof *s.x);
	s.y = calloc(out, sizeof *s.y);
	s.want = calloc(most, sizeof *s.want);
	s.got = calloc(most, sizeof *s.got);
	s.image = calloc((size_t)s.layout.image, sizeof *s.image);
	s.data = calloc((size_t)s.layout.data, sizeof *s.data);
	random_values(s.op->n_in, s.x, 1);
	random_values(s.op->n_out, s.y, 2);
	return s;
}

static struct scene begin(const struct problem *p)
{
	iso_ctx *ctx = cpu(2);
	iso_srm *srm = NULL;
	iso_op *op = row_operator(&srm, ctx, p);

	return begin_with(ctx, srm, op);
}

static void end(struct scene *s)
{
	iso_stream_taps_free(&s->taps);
	iso_room_free(&s->room);
	iso_op_free(s->op);
	iso_srm_free(s->srm);
	iso_ctx_free(s->ctx);
	free(s->x);
	free(s->y);
	free(s->want);
	free(s->got);
	free(s->image);
	free(s->data);
}

/* ---- padded memory, as pad_image and pad_data fill it ---- */

static void pad_image(struct scene *s)
{
	const struct srm_shape *h = &s->m->shape;
	int nx = h->nc[0] * h->d[0];

	for (int64_t i = 0; i < s->op->n_in; i++) {
		int ix = (int)(i % nx), y = (int)(i / nx % h->planes), iz = (int)(i / nx / h->planes);

		s->image[stream_voxel(s->layout.plane, y, ix, iz)] = (double)s->x[i];
	}
}

static void pad_data(struct scene *s)
{
	for (int j = 0; j < s->m->n_direction; j++) {
		const struct srm_direction *d = &s->m->direction[j];

		for (int i = 0; i < d->nx * d->nz; i++)
			s->data[s->layout.direction[j] + (int64_t)(i / d->nz) * s->layout.row_data +
			        i % d->nz] = (double)s->y[d->first + i];
	}
}

/* ---- a stream ---- */

static struct {
	const double *v;
	int64_t size;
	int row, step;
	const struct stream_weights *weight; /* all rows */
} in;

/* The bits of a half: sign, power of 2, and what follows its first bit. */
static double half_value(unsigned bits)
{
	int power = (int)(bits >> 10 & 31);
	double v = power ? ldexp(1024 + (bits & 1023), power - 25) : ldexp(bits & 1023, -24);

	return bits >> 15 ? -v : v;
}

/* The weight of tap k of lane j. */
static double weight_of(const struct stream_weights *w, int j, int k)
{
	return half_value(w->v[j % 8 * 4 + k % 4][k / 4] >> (j < 8 ? 0 : 16) & 0xffff);
}

/* The rows in two portions, neither of which ends where a piece does. */
static void open_weights(const struct srm_stream *t)
{
	int64_t first = t->n_row / 3;
	struct stream_weights *w = calloc((size_t)t->n_row + 1, sizeof *w);

	iso_stream_rows(w, t, 0, first, 2);
	iso_stream_rows(w + first, t, first, t->n_row - first, 3);
	in.weight = w;
}

static void close_weights(void)
{
	free((void *)in.weight);
}

/* What a row of a step's taps adds to the lanes at column z of row x, if it reaches the place. Whatever a
   warp reads must be in memory. */
static void add_row(double acc[STREAM_LANES], const struct stream_weights *w, const struct stream_offsets *o,
                    int x, int z, double times)
{
	for (int k = 0; k < STREAM_TAPS; k++) {
		int64_t at = o->v[k % 4][k / 4] + (int64_t)x * in.row + z * in.step;

		assert_true(at >= 0 && at < in.size);
		for (int j = 0; j < STREAM_LANES && times > 0; j++)
			acc[j] += times * weight_of(w, j, k) * in.v[at];
	}
}

/* Step `i` of a range: its rows, and what is left of the weights in as many rows again. */
static void add_step(double acc[STREAM_LANES], const struct srm_stream *t, const struct stream_range *g,
                     int i, int x, int z, bool reached)
{
	int rows = stream_rows(g->kind), all = rows * (1 + stream_pairs(g->kind));

	assert_true(g->row + (i + 1) * all <= t->n_row && g->first + i < t->n_step);
	for (int k = 0; k < all; k++)
		add_row(acc, &in.weight[g->row + i * all + k], &t->offset[g->first + i], x + k % rows, z,
		        !reached   ? 0
		        : k < rows ? t->unit
		                   : t->unit / STREAM_REST);
}

static void add_place(struct scene *s, const struct srm_stream *t, const struct stream_block *b, int x, int z)
{
	int cx = x / STREAM_CELL_X, cz = z / STREAM_CELL_Z;
	double acc[STREAM_LANES] = { 0 };

	for (const struct stream_range *g = &t->range[b->range]; g->kind >= 0; g++)
		for (int i = 0; i < g->n; i++) {
			uint64_t at_x = t->reach[g->first + i].x, at_z = t->reach[g->first + i].z;

			if (at_z >> cz & 1 && at_x >> cx / STREAM_CELLS * STREAM_CELLS & 3)
				add_step(acc, t, g, i, b->x0 + x, b->z0 + z, at_x >> cx & 1);
		}
	for (int j = 0; j < STREAM_LANES; j++) {
		const struct stream_out *o = &t->out[b->out + j];
		int ox = b->x0 + x - o->x0, oz = b->z0 + z - o->z0;

		if (ox >= 0 && oz >= 0 && ox < o->nx && oz < o->nz)
			s->got[o->base + (int64_t)ox * o->row + (int64_t)oz * o->step] += acc[j];
	}
}

/* All places of a warp, cell by cell. */
static void add_block(struct scene *s, const struct srm_stream *t, const struct stream_block *b)
{
	int across = (b->nz + STREAM_CELL_Z - 1) / STREAM_CELL_Z;

	assert_true(b->slice >= 0 && b->slice < t->slices);
	for (int i = 0; i < STREAM_CELLS; i++) {
		int x = (b->warp / across * STREAM_CELLS + i) * STREAM_CELL_X;
		int z = b->warp % across * STREAM_CELL_Z;

		for (int k = 0; k < STREAM_CELL_X * STREAM_CELL_Z; k++)
			add_place(s, t, b, x + k / STREAM_CELL_Z, z + k % STREAM_CELL_Z);
	}
}

static void walk(struct scene *s, const struct srm_stream *t, int sub)
{
	for (int64_t i = t->block_of[sub]; i < t->block_of[sub + 1]; i++) add_block(s, t, &t->block[i]);
}

static void compare(struct scene *s, int64_t n, struct iso_rows part)
{
	double most = 0;

	for (int64_t i = 0; i < part.n; i++)
		if (fabs((double)s->want[part.first + i]) > most)
			most = fabs((double)s->want[part.first + i]);
	for (int64_t i = 0; i < n; i++) {
		bool inside = i >= part.first && i < part.first + part.n;

		NEAR(s->got[i], inside ? (double)s->want[i] : 0, s->close * most);
	}
	memset(s->got, 0, (size_t)n * sizeof *s->got);
}

/* A forward stream against the operator. */
static void walk_forward(struct scene *s, const struct srm_stream *t)
{
	pad_image(s);
	open_weights(t);
	in.v = s->image;
	in.size = s->layout.image;
	in.row = s->layout.row_image;
	in.step = s->m->shape.d[1];
	for (int sub = 0; sub < s->m->n_sub; sub++) {
		OK(iso_forward(s->want, s->op, sub, s->x));
		walk(s, t, sub);
		compare(s, s->op->n_out, iso_op_rows(s->op, sub));
	}
}

static void forward(void **state)
{
	(void)state;
	for (int k = 0; k < N_OF(problems); k++) {
		struct scene s = begin(&problems[k]);
		struct srm_stream t;
		int64_t useful = 0;

		OK(iso_stream_forward(&t, &s.room, s.m, &s.taps, &s.layout));
		walk_forward(&s, &t);
		close_weights();
		for (int j = 0; j < s.m->n_direction; j++) {
			const struct srm_direction *d = &s.m->direction[j];
			const struct iso_srm_rows *r = &s.taps.rows[d->a * s.m->shape.layers + d->b];

			for (int y = 0; y < s.m->shape.planes; y++)
				useful += (r->ptr[y * r->directions + d->number + 1] -
				           r->ptr[y * r->directions + d->number]) *
				          d->nx * d->nz;
		}
		assert_int_equal(t.useful, useful);
		assert_true(t.done >= t.useful);
		end(&s);
	}
}

static void adjoint(void **state)
{
	(void)state;
	for (int k = 0; k < N_OF(problems); k++) {
		struct scene s = begin(&problems[k]);
		struct srm_stream t;

		OK(iso_stream_adjoint(&t, &s.room, s.m, &s.taps, &s.layout));
		pad_data(&s);
		open_weights(&t);
		in.v = s.data;
		in.size = s.layout.data;
		in.row = s.layout.row_data;
		in.step = 1;
		for (int sub = 0; sub < s.m->n_sub; sub++) {
			OK(iso_adjoint(s.want, s.op, sub, s.y));
			walk(&s, &t, sub);
			compare(&s, s.op->n_in, (struct iso_rows){ 0, s.op->n_in });
		}
		close_weights();
		end(&s);
	}
}

/* ---- single directions ---- */

/* As pad_quads fills it. */
static void pad_quads(double *to, const struct scene *s, struct single_image m)
{
	const struct srm_shape *h = &s->m->shape;
	int nx = h->nc[0] * h->d[0];

	for (int64_t i = 0; i < s->op->n_in; i++)
		to[single_voxel(m, (int)(i / nx % h->planes), (int)(i % nx), (int)(i / nx / h->planes))] =
			(double)s->x[i];
}

/* What a strip adds to place (x, z) of a direction, which is place j of its thread along z. */
static double strip_sum(const double *image, const struct single_image *m, const struct single_strip *t,
                        const struct single_quad *q, int x, int z)
{
	int64_t at = t->at + (int64_t)x * SINGLE_Z * m->part + z / SINGLE_Z;
	int j = z % SINGLE_Z, part = t->part;
	double sum = 0;

	for (int c = 0; c < t->columns + SINGLE_Z - 1; c++) {
		for (int r = 0; r < t->rows; r++)
			assert_in_range(at + (int64_t)r * SINGLE_Z * m->part, 0, m->quads - 1);
		for (int r = 0; r < t->rows && c >= j && c - j < t->columns; r++) {
			const double *v = image + (at + (int64_t)r * SINGLE_Z * m->part) * SINGLE_QUAD;
			const float *w = q[(c - j) * t->rows + r].w;

			if (t->mask >> ((c - j) * SINGLE_ROWS + r) & 1)
				sum += w[0] * v[0] + w[1] * v[1] + w[2] * v[2] + w[3] * v[3];
		}
		at += single_next(*m, part);
		part = (part + 1) % SINGLE_Z;
	}
	return sum;
}

static void add_single(struct scene *s, const struct srm_single *t, const struct single_block *b,
                       const double *image)
{
	int across = (b->nz + SINGLE_Z - 1) / SINGLE_Z, threads = single_threads(b->nx, b->nz);

	assert_true(b->slice >= 0 && b->slice < t->slices && b->strip + b->n <= t->n_strip);
	for (int i = 0; i < SINGLE_THREADS * SINGLE_X * SINGLE_Z; i++) {
		int thread = b->warp * SINGLE_THREADS + i / (SINGLE_X * SINGLE_Z);
		int x = thread / across * SINGLE_X + i % SINGLE_X;
		int z = thread % across * SINGLE_Z + i / SINGLE_X % SINGLE_Z;
		const struct single_quad *q = &t->quad[b->quad];
		double sum = 0;

		if (thread >= threads) continue;
		for (int k = 0; k < b->n; k++) {
			const struct single_strip *strip = &t->strip[b->strip + k];

			sum += strip_sum(image, &t->image, strip, q, x, z);
			q += strip->rows * strip->columns;
		}
		if (x < b->nx && z < b->nz) s->got[b->row + (int64_t)x * b->nz + z] += sum;
	}
}

static void single(void **state)
{
	(void)state;
	for (int k = 0; k < N_OF(problems); k++) {
		struct scene s = begin(&problems[k]);
		struct srm_single t;

		OK(iso_single_make(&t, &s.room, s.m, s.taps.rows));

		double *image = calloc((size_t)(t.image.quads * SINGLE_QUAD), sizeof *image);

		pad_quads(image, &s, t.image);
		for (int sub = 0; sub < s.m->n_sub; sub++) {
			OK(iso_forward(s.want, s.op, sub, s.x));
			for (int64_t i = t.block_of[sub]; i < t.block_of[sub + 1]; i++)
				add_single(&s, &t, &t.block[i], image);
			compare(&s, s.op->n_out, iso_op_rows(s.op, sub));
		}
		assert_int_equal(iso_single_wanted(s.m), problems[k].n_sub == 40);
		free(image);
		end(&s);
	}
}

/* ---- weights as halves ---- */

#define PAIRS 1000000

/* A matrix of counts, some of more than a half's 11 bits. */
static iso_op *counted(iso_srm **srm, iso_ctx *ctx)
{
	const struct iso_panels panels = {
		.crystals = { 3, 4 },
		.pitch = { 6, 6 },
		.crystal = { 6, 6, 20 },
		.gap = 8,
		.layers = 1,
		.formula = "Lu1.8Y0.2SiO5",
		.density = 7.1,
		.resolution = .2,
		.window = { 250, 750 },
		.per_pitch = { 2, 2 },
		.planes = 2,
		.plane = 4,
	};
	struct iso_srm_model model = { .size = sizeof model, .n_sub = 1 };
	iso_op *op = NULL;

	OK(iso_srm_create(srm, &panels,
	                  &(struct iso_srm_options){ .size = sizeof(struct iso_srm_options), .seed = 5 }));
	OK(iso_srm_simulate(*srm, ctx, 0, PAIRS, 0));
	OK(iso_srm_threshold(*srm, ctx, &(struct iso_srm_bound){ .share = 1 }));
	model.srm = *srm;
	OK(srm_strategy_create(&op, ctx, &model, SRM_ROW));
	return op;
}

/* What rounding changes: of counts above 2^11 all but 11 bits, and nearly nothing of a row's sum. */
static int compare_rows(const struct iso_srm_rows *exact, const struct iso_srm_rows *rounded)
{
	int changed = 0;

	for (int64_t k = 0; k < exact->n; k++) {
		double left = 0, last = 0;

		for (int64_t i = exact->ptr[k]; i < exact->ptr[k + 1]; i++) {
			double count = (double)exact->w[i] * PAIRS; /* a mean over up to 16 images */
			double difference = (double)(rounded->w[i] - exact->w[i]) * PAIRS;

			assert_true(fabs(difference) <= count * (16 * count > 2048 ? 0x1p-10 : 1e-6));
			changed += fabs(difference) > 1e-6 * count;
			left += difference;
			last = count > last ? count : last;
		}
		assert_true(fabs(left) <= last * 0x1p-11);
	}
	return changed;
}

static void counts_are_rounded(void **state)
{
	iso_ctx *ctx = cpu(2);
	iso_srm *srm = NULL;
	iso_op *op = counted(&srm, ctx);
	struct scene s = begin_with(ctx, srm, op);
	struct iso_srm_rows exact;
	struct srm_stream t;

	(void)state;
	OK(iso_srm_taps(&exact, ctx, srm, &(struct iso_srm_order){ 0, 0, false, false }));
	assert_true(compare_rows(&exact, s.taps.rows) > 10);
	OK(iso_stream_forward(&t, &s.room, s.m, &s.taps, &s.layout));
	for (int64_t i = 0; i < t.n_range; i++)
		assert_true(t.range[i].kind < STREAM_RUN); /* no rests of weights */
	s.close = 0x1p-11;
	walk_forward(&s, &t);
	close_weights();
	iso_srm_rows_free(&exact);
	end(&s);
}

/* Any number of threads makes the same streams; and a stream again, from the same taps, after another. */
static void same_bits(void **state)
{
	struct scene s = begin(&problems[1]);
	iso_ctx *one = cpu(1);
	struct iso_room alone = iso_room_of(one, "streams");
	struct stream_taps taps;
	struct srm_stream a, b;

	(void)state;
	OK(iso_stream_adjoint(&a, &s.room, s.m, &s.taps, &s.layout));
	open_weights(&a);
	OK(iso_stream_taps(&taps, &alone, s.m));

	const struct stream_weights *of_two = in.weight;

	for (int k = 0; k < 2; k++) {
		OK(iso_stream_forward(&b, &alone, s.m, &taps, &s.layout));
		OK(iso_stream_adjoint(&b, &alone, s.m, &taps, &s.layout));
		assert_int_equal(a.n_step, b.n_step);
		assert_int_equal(a.n_row, b.n_row);
		open_weights(&b);
		assert_memory_equal(of_two, in.weight, (size_t)a.n_row * sizeof *of_two);
		assert_memory_equal(a.offset, b.offset, (size_t)a.n_step * sizeof *a.offset);
		assert_memory_equal(a.reach, b.reach, (size_t)a.n_step * sizeof *a.reach);
		assert_memory_equal(a.block, b.block, (size_t)a.block_of[1] * sizeof *a.block);
		close_weights();
	}
	free((void *)of_two);
	iso_stream_taps_free(&taps);
	iso_room_free(&alone);
	iso_ctx_free(one);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forward),   cmocka_unit_test(adjoint),
		cmocka_unit_test(single),    cmocka_unit_test(counts_are_rounded),
		cmocka_unit_test(same_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
