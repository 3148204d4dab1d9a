/* SPDX-License-Identifier: BSD-3-Clause */
/* Scatter of the source of a norm. It takes the place of the source at which it was made; h is smooth, and does not follow
   the steps of the fit. */
#include "norm_scatter.h"

#include "core/size.h"

#include <string.h>

enum { BLOCK = 1 << 16, VOXELS = 48, SUB = 4 };
#define LEAST_VOXEL 1.
#define MARGIN 2.  /* voxels beside the source, of either end of an axis */
#define LITTLE .05 /* of the expected counts: less is not estimated again */

/* ---- the source as an image ---- */

/* Half of the box around a source that does not lean. */
static void half_box(double half[3], const struct source *s)
{
	const double flat = hypot(s->half[0], s->half[1]);

	for (int a = 0; a < 3; a++)
		half[a] = s->kind == SOURCE_PLANE ? (a < 2 ? flat : s->half[2])
		          : a == s->axis          ? .5 * s->length
		                                  : s->orbit + s->radius;
}

static struct iso_grid grid_of(const struct norm_q *q, const double shift[NORM_SHIFTS])
{
	const double lean[3] = { fabs(sin(shift[2])), fabs(sin(shift[3])), 0 };
	struct iso_grid g = { 0 };
	double half[3];

	half_box(half, q->shape);
	for (int a = 0; a < 3; a++) {
		const double wide =
			half[a] + lean[a] * half[2] + (a == 2 ? (lean[0] + lean[1]) * half[0] : 0);

		g.voxel[a] = fmax(LEAST_VOXEL, 2 * wide / VOXELS);
		g.n[a] = (int64_t)ceil(2 * wide / g.voxel[a] + 2 * MARGIN);
		g.centre[a] = q->shape->centre[a] + (a < 2 ? shift[a] : 0);
	}
	return g;
}

/* Mean density of a voxel. */
static double voxel_mean(const struct norm_q *q, const double shift[NORM_SHIFTS], const struct iso_grid *g,
                         const int64_t at[3])
{
	double sum = 0;

	for (int k = 0; k < SUB * SUB * SUB; k++) {
		const int part[3] = { k % SUB, k / SUB % SUB, k / SUB / SUB };
		double p[3];

		for (int a = 0; a < 3; a++)
			p[a] = g->centre[a] +
			       ((double)at[a] + (part[a] + .5) / SUB - .5 * (double)g->n[a]) * g->voxel[a];
		norm_q_to_source(p, q, shift);
		sum += source_density(q->shape, p);
	}
	return sum / (SUB * SUB * SUB);
}

static int paint_shape(struct iso_array *image, const struct norm_q *q, const double shift[NORM_SHIFTS],
                       const iso_ctx *ctx)
{
	const struct iso_grid g = grid_of(q, shift);
	const int st = iso_array_on_grid(image, &g);

	if (st) return st;
#pragma omp parallel for num_threads(iso_ctx_threads(ctx))
	for (int64_t z = 0; z < g.n[2]; z++)
		for (int64_t y = 0; y < g.n[1]; y++)
			for (int64_t x = 0; x < g.n[0]; x++)
				image->v[(z * g.n[1] + y) * g.n[0] + x] =
					(iso_real)voxel_mean(q, shift, &g, (const int64_t[]){ x, y, z });
	return ISO_OK;
}

static int paint_image(struct iso_array *image, const struct norm_q *q, const double shift[NORM_SHIFTS])
{
	const int st = iso_array_on_grid(image, &q->image->grid);

	if (!st) norm_q_move_image(image->v, q->image, shift);
	return st;
}

/* ---- the estimate ---- */

int norm_scatter_estimate(struct norm_q *q, const double shift[NORM_SHIFTS], iso_ctx *ctx)
{
	struct iso_array image = { 0 };
	struct iso_scatter p = *q->scatter;
	int st;

	if (q->table && q->scattered < LITTLE) return ISO_OK;
	st = q->shape ? paint_shape(&image, q, shift, ctx) : paint_image(&image, q, shift);
	p.scanner = q->rows->s;
	p.image = &image;
	p.mu = q->mu;
	p.tof_fwhm_ps = 0;
	if (!st) {
		iso_scatter_free(q->table);
		q->table = NULL;
		st = iso_scatter_create(&q->table, ctx, &p);
		memcpy(q->scattered_at, shift, sizeof q->scattered_at);
	}
	iso_array_free(&image);
	return st;
}

/* ---- h of pairs ---- */

struct lines {
	struct iso_room room;
	struct norm_run *run;
	struct iso_events e;
	iso_real *h;
	double *weight; /* h is of pairs weighted by solid angle; others count 1/W times as much */
	int64_t most;
};

static int make_lines(struct lines *l, const struct norm_rows *r)
{
	*l = (struct lines){ .room = iso_room_of(NULL, "norm"), .most = BLOCK };
	for (int64_t a = 0; a < r->n; a++)
		if (r->first[a + 1] - r->first[a] > l->most) l->most = r->first[a + 1] - r->first[a];
	ISO_HOST(&l->room, l->run, norm_rows_most(r));
	ISO_HOST(&l->room, l->e.v, l->most);
	ISO_HOST(&l->room, l->h, l->most);
	ISO_HOST(&l->room, l->weight, l->most);
	return l->room.status;
}

static void add_line(struct lines *l, const struct norm_q *q, int64_t a, int64_t b, bool used)
{
	const double *p1 = q->rows->s->pos + 3 * a, *p2 = q->rows->s->pos + 3 * b;
	struct iso_event *e = l->e.v + l->e.n;

	for (int c = 0; c < 3; c++) {
		e->p1[c] = used ? (float)p1[c] : NAN; /* a bad event has h = 0 */
		e->p2[c] = (float)p2[c];
	}
	l->weight[l->e.n++] = q->weigh ? 1 : 1 / pairs_solid_angle(p1, p2);
}

/* Rows from *row on, as many as fit. */
static void take_rows(struct lines *l, const struct norm_q *q, const float *used, int64_t *row)
{
	const struct norm_rows *r = q->rows;
	const int64_t first = r->first[*row];

	l->e.n = 0;
	for (; *row < r->n && r->first[*row + 1] - first <= l->most; (*row)++) {
		const int64_t runs = norm_rows_runs(l->run, r, *row);

		for (int64_t k = 0; k < runs; k++)
			for (int64_t j = 0; j < l->run[k].n; j++)
				add_line(l, q, *row, l->run[k].b + j, used[l->run[k].pair + j] > 0);
	}
}

int norm_scatter_fill(struct norm_q *q, const float *used, iso_ctx *ctx)
{
	const int64_t n = q->rows->first[q->rows->n];
	double scattered = 0, all = 0;
	struct lines l;
	int st = make_lines(&l, q->rows);

	for (int64_t row = 0; row < q->rows->n && !st;) {
		float *h = q->h + q->rows->first[row];

		take_rows(&l, q, used, &row);
		if (l.e.n == 0) continue;
		st = iso_scatter_at(l.h, ctx, q->table, &l.e, 0);
		for (int64_t i = 0; i < l.e.n && !st; i++) h[i] = (float)((double)l.h[i] * l.weight[i]);
		if (!st) st = iso_ctx_poll(ctx);
	}
	for (int64_t i = 0; i < n && !st; i++) {
		scattered += q->factor * q->scale * (double)q->h[i];
		all += (double)used[i] + q->factor * q->scale * (double)q->h[i];
	}
	q->scattered = all > 0 ? scattered / all : 0;
	iso_room_free(&l.room);
	return st;
}

double norm_scattered(const struct norm_fit *f, const struct norm_scan *s, const struct norm_q *q)
{
	struct norm_run *run = size_alloc(norm_rows_most(f->rows), sizeof *run);
	double *mu = size_alloc(f->rows->n, sizeof *mu), *r = size_alloc(f->rows->n, sizeof *r), sum = 0;

	for (int64_t a = 0; a < f->rows->n && q->h && run && mu && r; a++) {
		const int64_t runs = f->eps[a] > 0 ? norm_rows_runs(run, f->rows, a) : 0;

		for (int64_t k = 0; k < runs; k++) {
			norm_row_terms(mu, r, f, s, a, run + k, s->q + run[k].pair);
			for (int64_t j = 0; j < run[k].n; j++)
				if (mu[j] > 0)
					sum += mu[j] * q->factor * q->scale * (double)q->h[run[k].pair + j] /
					       (double)s->q[run[k].pair + j];
		}
	}
	free(run);
	free(mu);
	free(r);
	return sum;
}
