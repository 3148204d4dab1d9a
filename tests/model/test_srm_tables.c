/* SPDX-License-Identifier: BSD-3-Clause */
/* Seed rows and seed columns: walked as CUDA walks them, with the arithmetic it uses, they give the
   projections of the operator on the CPU; also built in double. */
#include "srm_problem.h"

#include "model/srm/matrix/srm_matrix.h"
#include "bench/srm/srm_seed_lists.h"

#define CLOSE TOLERANCE(2e-6, 1e-13) /* of the greatest value */

static const struct problem problems[] = {
	{ { 4, 5 }, { 2, 2 }, 4, 1, 1, ISO_MOD, .98 },    { { 4, 5 }, { 4, 4 }, 3, 1, 3, ISO_MOD, .98 },
	{ { 3, 4 }, { 3, 2 }, 5, 1, 2, ISO_MOD, .98 }, /* voxels that are their own mirror images */
	{ { 5, 3 }, { 1, 3 }, 5, 2, 4, ISO_RANDOM, .98 }, { { 3, 3 }, { 2, 3 }, 4, 2, 1, ISO_MOD, .98 },
	{ { 1, 1 }, { 2, 2 }, 2, 1, 1, ISO_MOD, .98 },
};

struct scene {
	iso_ctx *ctx;
	iso_srm *srm;
	iso_op *op;
	const struct srm_op *m;
	struct iso_room room;       /* of lists */
	iso_real *x, *y, *ax, *aty; /* given, and as the CPU projects them */
	double *got;
};

static struct scene begin(const struct problem *p)
{
	struct scene s = { .ctx = cpu(2) };
	size_t in, out;

	s.op = row_operator(&s.srm, s.ctx, p);
	((struct srm_op *)s.op->data)->srm = s.srm; /* as while the operator is made */
	s.m = s.op->data;
	s.room = iso_room_of(s.ctx, "lists");
	in = (size_t)s.op->n_in;
	out = (size_t)s.op->n_out;
	s.x = calloc(in, sizeof *s.x);
	s.aty = calloc(in, sizeof *s.aty);
	s.y = calloc(out, sizeof *s.y);
	s.ax = calloc(out, sizeof *s.ax);
	s.got = calloc(in > out ? in : out, sizeof *s.got);
	random_values(s.op->n_in, s.x, 1);
	random_values(s.op->n_out, s.y, 2);
	return s;
}

static void end(struct scene *s)
{
	iso_room_free(&s->room);
	iso_op_free(s->op);
	iso_srm_free(s->srm);
	iso_ctx_free(s->ctx);
	free(s->x);
	free(s->y);
	free(s->ax);
	free(s->aty);
	free(s->got);
}

/* Values first ... first + n - 1 are the CPU's, all others were not touched. */
static void compare(struct scene *s, int64_t all, struct iso_rows part, const iso_real *want)
{
	double most = 0;

	for (int64_t i = 0; i < part.n; i++)
		if (fabs((double)want[part.first + i]) > most) most = fabs((double)want[part.first + i]);
	for (int64_t i = 0; i < all; i++) {
		bool inside = i >= part.first && i < part.first + part.n;

		NEAR(s->got[i], inside ? (double)want[i] : 0, CLOSE * most);
	}
	memset(s->got, 0, (size_t)all * sizeof *s->got);
}

/* What the subset's rows must be, forward and back. */
static void project(struct scene *s, int sub)
{
	OK(iso_forward(s->ax, s->op, sub, s->x));
	OK(iso_adjoint(s->aty, s->op, sub, s->y));
}

static struct iso_rows voxels(const struct scene *s)
{
	return (struct iso_rows){ 0, s->op->n_in };
}

/* ---- rows ---- */

/* One block of srm_row.cu: got += w x for the rows of the LOR, or w y for the voxels. */
static void walk_lor(struct scene *s, const struct srm_seed_rows *r, const struct srm_seed *seed, int shift,
                     bool back)
{
	const struct srm_shape *shape = &s->m->shape;
	struct srm_image_size size = srm_image_size(shape);
	int nz = shape->nc[1] - seed->dz, ux = shift / nz, uz = shift % nz;

	for (int64_t e = seed->element; e < seed[1].element; e++) {
		int x = r->place[e].i + shape->d[0] * ux, z = r->place[e].k + shape->d[1] * uz;

		for (int g = 0; g < 4; g++) {
			int64_t row = srm_mirror_row(shape, seed, ux, uz, g);

			if (row < 0 || x < 0 || z < 0 || x >= size.nx || z >= size.nz) continue;
			int voxel = srm_mirror_voxel(size, x, r->place[e].y, z, g);

			if (back)
				s->got[voxel] += (double)r->w[e] * (double)s->y[row];
			else
				s->got[row] += (double)r->w[e] * (double)s->x[voxel];
		}
	}
}

static void walk_rows(struct scene *s, const struct srm_seed_rows *r, int from, int to, bool back)
{
	int64_t first = r->of_subset[from], last = r->of_subset[to];

	for (int64_t lor = r->seed[first].lor; lor < r->seed[last].lor; lor++) {
		const struct srm_seed *seed = &r->seed[srm_seed_of(r->seed, first, last, lor)];

		assert_true(seed->lor <= lor && lor < seed[1].lor);
		walk_lor(s, r, seed, (int)(lor - seed->lor), back);
	}
}

static void rows_project(void **state)
{
	(void)state;
	for (int i = 0; i < N_OF(problems); i++) {
		struct scene s = begin(&problems[i]);
		struct srm_seed_rows r;

		OK(iso_srm_seed_rows(&r, &s.room, s.m));
		for (int sub = -1; sub < problems[i].n_sub; sub++) {
			int from = sub < 0 ? 0 : sub, to = sub < 0 ? problems[i].n_sub : sub + 1;

			project(&s, sub < 0 ? ISO_ALL : sub);
			walk_rows(&s, &r, from, to, false);
			compare(&s, s.op->n_out, iso_op_rows(s.op, sub < 0 ? ISO_ALL : sub), s.ax);
			walk_rows(&s, &r, from, to, true);
			compare(&s, s.op->n_in, voxels(&s), s.aty);
		}
		end(&s);
	}
}

/* Neighbours of a list are neighbours in the image, x fastest, and each place comes once. */
static void rows_are_sorted(void **state)
{
	struct scene s = begin(&problems[1]);
	struct srm_seed_rows r;
	double most = 0;

	(void)state;
	OK(iso_srm_seed_rows(&r, &s.room, s.m));
	assert_int_equal(r.n, 20);
	for (int64_t j = 0; j < r.n; j++)
		for (int64_t e = r.seed[j].element + 1; e < r.seed[j + 1].element; e++) {
			const struct srm_place *a = &r.place[e - 1], *b = a + 1;

			assert_true(a->k < b->k ||
			            (a->k == b->k && (a->y < b->y || (a->y == b->y && a->i < b->i))));
			most = fmax(most, (double)r.w[e]);
		}
	assert_true(r.most >= most && most > 0);
	end(&s);
}

/* ---- columns ---- */

/* One block of srm_column.cu, with the LORs in the natural order. */
static void walk_voxel(struct scene *s, const struct srm_seed_columns *c, const struct srm_octant *o,
                       int from, int to, bool back)
{
	const struct srm_shape *shape = &s->m->shape;
	int top = shape->nc[0] - 1, face = shape->nc[0] * shape->nc[1];
	struct srm_image_size size = srm_image_size(shape);
	struct srm_parts p, greatest = srm_lor_parts(shape, top, shape->nc[1] - 1, top, shape->nc[1] - 1);

	for (int ab = 0; ab < shape->layers * shape->layers; ab++) {
		const int64_t *list = c->ptr + (o->column * shape->layers * shape->layers + ab) * c->n_sub;

		for (int64_t e = list[from]; e < list[to]; e++) {
			struct iso_srm_pair q = c->pair[e];

			if (!srm_octant_lor(&p, shape, o, q.ux, q.uz, q.lx, q.lz)) continue;
			for (int g = 0; g < 8; g++) {
				int64_t lor = (int64_t)ab * face * face + srm_mirror_lor(p, greatest, g & 3);
				int64_t row =
					srm_row_of(shape, c->first, g & 4 ? srm_exchanged(shape, lor) : lor);
				int voxel = srm_mirror_voxel(size, o->x, o->y, o->z, g);

				if (srm_is_repeated(size, o->x, o->y, o->z, g)) continue;
				if (back)
					s->got[voxel] += (double)c->w[e] * (double)s->y[row];
				else
					s->got[row] += (double)c->w[e] * (double)s->x[voxel];
			}
		}
	}
}

static void walk_columns(struct scene *s, const struct srm_seed_columns *c, int from, int to, bool back)
{
	struct srm_octant o;

	for (int64_t i = 0; i < srm_octants(&s->m->shape); i++)
		if (srm_octant(&o, &s->m->shape, c->phases, i)) {
			assert_true(o.column >= 0 && o.column < c->n);
			walk_voxel(s, c, &o, from, to, back);
		}
}

static void columns_project_with(bool folded)
{
	for (int i = 0; i < N_OF(problems); i++) {
		struct scene s = begin(&problems[i]);
		struct srm_seed_columns c;

		OK(iso_srm_seed_columns(&c, &s.room, s.m, folded));
		for (int sub = -1; sub < problems[i].n_sub; sub++) {
			int from = sub < 0 ? 0 : sub, to = sub < 0 ? problems[i].n_sub : sub + 1;

			project(&s, sub < 0 ? ISO_ALL : sub);
			walk_columns(&s, &c, from, to, false);
			compare(&s, s.op->n_out, iso_op_rows(s.op, sub < 0 ? ISO_ALL : sub), s.ax);
			walk_columns(&s, &c, from, to, true);
			compare(&s, s.op->n_in, voxels(&s), s.aty);
		}
		end(&s);
	}
}

static void columns_project(void **state)
{
	(void)state;
	columns_project_with(false);
}

static void folded_columns_project(void **state)
{
	(void)state;
	columns_project_with(true);
}

/* ---- the natural order ---- */

static void rows_of_lors(void **state)
{
	(void)state;
	for (int i = 0; i < N_OF(problems); i++) {
		struct scene s = begin(&problems[i]);
		const struct srm_shape *shape = &s.m->shape;
		struct srm_seed_columns c;

		OK(iso_srm_seed_columns(&c, &s.room, s.m, true));
		for (int64_t row = 0; row < s.op->n_out; row++) {
			int64_t lor = s.op->fn->file_row(s.op, row);

			assert_int_equal(srm_row_of(shape, c.first, lor), row);
			assert_int_equal(srm_exchanged(shape, srm_exchanged(shape, lor)), lor);
		}
		end(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_project),    cmocka_unit_test(rows_are_sorted),
		cmocka_unit_test(columns_project), cmocka_unit_test(folded_columns_project),
		cmocka_unit_test(rows_of_lors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
