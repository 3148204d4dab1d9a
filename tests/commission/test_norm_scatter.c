/* SPDX-License-Identifier: BSD-3-Clause */
/* Scatter in the expected counts of a norm: that of an image of the same source, at the place where the source is. */
#include "test.h"

#include "commission/norm/norm_scatter.h"

#include <unistd.h>

static const char ring[] =
	"kind: cylinder\nradius_mm: 80\nrings: 4\nring_pitch_mm: 6\ncrystals_per_ring: 48\n"
	"crystal_mm: [9.5, 6, 10]\nmin_crystal_distance: 8\n"
	"energy: {window_kev: [435, 650], resolution: 0.11}\n";

enum { SIDE = 48 };
#define VOXEL 2.
#define RADIUS 30.
#define HALF 15.
#define WATER .0096

struct bench {
	iso_ctx *ctx;
	iso_scanner *s;
	struct norm_rows rows;
	struct source shape;
	struct norm_q q;
	struct norm_scan scan;
	struct iso_room room;
	struct iso_array mu;
	struct iso_scatter p;
};

/* A cylinder of `value` about (x, 0, 0), by 4 x 4 x 4 points a voxel. */
static void cylinder(struct iso_array *a, double x, double value)
{
	const struct iso_grid g = { .n = { SIDE, SIDE, SIDE / 2 }, .voxel = { VOXEL, VOXEL, VOXEL } };

	OK(iso_array_on_grid(a, &g));
	for (int64_t i = 0; i < a->n; i++) {
		const int64_t at[3] = { i % SIDE, i / SIDE % SIDE, i / SIDE / SIDE };
		int in = 0;

		for (int k = 0; k < 64; k++) {
			const int part[3] = { k % 4, k / 4 % 4, k / 16 };
			double p[3];

			for (int c = 0; c < 3; c++)
				p[c] = VOXEL * ((double)at[c] + (part[c] + .5) / 4 - .5 * (double)g.n[c]);
			in += hypot(p[0] - x, p[1]) <= RADIUS && fabs(p[2]) <= HALF;
		}
		a->v[i] = (iso_real)(value * in / 64);
	}
}

static void begin(struct bench *b, double factor)
{
	char path[] = "/tmp/isotome-norm-XXXXXX.yaml";
	const double face[2] = { 9.5, 6 };
	const int fd = mkstemps(path, 5);

	memset(b, 0, sizeof *b);
	b->ctx = cpu(2);
	b->room = iso_room_of(NULL, "test");
	assert_int_equal(write(fd, ring, strlen(ring)), strlen(ring));
	close(fd);
	OK(iso_scanner_read(&b->s, path));
	unlink(path);
	OK(norm_rows_create(&b->rows, b->s));
	OK(source_parse(&b->shape, "cylinder:0,0,0,30,30"));
	cylinder(&b->mu, 0, WATER);
	b->p = (struct iso_scatter){ .size = sizeof b->p, .method = ISO_SCATTER_SSS };
	b->q = (struct norm_q){ .rows = &b->rows,
		                .shape = &b->shape,
		                .mu = &b->mu,
		                .factor = factor,
		                .weigh = true,
		                .places = 2 };
	b->scan.shifts = 2;
	OK(iso_ray_spread(&b->q.spread, 5, face));
}

static void end(struct bench *b)
{
	norm_q_free(&b->q);
	iso_room_free(&b->room);
	iso_array_free(&b->mu);
	norm_rows_free(&b->rows);
	iso_scanner_free(b->s);
	iso_ctx_free(b->ctx);
}

/* h of all pairs by a table of this image. */
static void expected(double *h, struct bench *b, struct iso_array *image)
{
	struct iso_events e = { .n = b->rows.first[b->rows.n] };
	struct norm_run *run = calloc((size_t)norm_rows_most(&b->rows), sizeof *run);
	iso_real *value = calloc((size_t)e.n, sizeof *value);
	iso_scatter_table *t;
	struct iso_scatter p = b->p;

	e.v = calloc((size_t)e.n, sizeof *e.v);
	for (int64_t a = 0; a < b->rows.n; a++) {
		const int64_t runs = norm_rows_runs(run, &b->rows, a);

		for (int64_t k = 0; k < runs; k++)
			for (int64_t j = 0; j < run[k].n; j++)
				for (int c = 0; c < 3; c++) {
					e.v[run[k].pair + j].p1[c] = (float)b->s->pos[3 * a + c];
					e.v[run[k].pair + j].p2[c] = (float)b->s->pos[3 * (run[k].b + j) + c];
				}
	}
	p.scanner = b->s;
	p.image = image;
	p.mu = &b->mu;
	OK(iso_scatter_create(&t, b->ctx, &p));
	OK(iso_scatter_at(value, b->ctx, t, &e, 0));
	for (int64_t i = 0; i < e.n; i++) h[i] = (double)value[i];
	iso_scatter_free(t);
	free(value);
	free(e.v);
	free(run);
}

/* Largest and mean difference of q with scatter less q without, and `times` h, over the mean of that. */
static void compare(const struct norm_scan *with, const struct norm_scan *without, const double *h,
                    double times, int64_t n)
{
	double sum = 0, worst = 0, mean = 0;
	int64_t used = 0;

	for (int64_t i = 0; i < n; i++) {
		if (!(without->q[i] > 0)) {
			assert_true(with->q[i] == 0);
			continue;
		}
		const double off = (double)with->q[i] - (double)without->q[i] - times * h[i];

		sum += times * h[i];
		worst = larger(worst, fabs(off));
		mean += off;
		used++;
	}
	assert_true(used > n / 4);
	BELOW(fabs(mean) / sum, .01); /* voxels of other sizes */
	BELOW(worst * (double)used / sum, .03);
}

static void of_the_source(void **state)
{
	struct iso_array image = { 0 };
	struct norm_scan plain = { .shifts = 2 };
	struct norm_q without;
	struct bench b;

	(void)state;
	begin(&b, 3);
	const int64_t n = b.rows.first[b.rows.n];
	double *h = calloc((size_t)n, sizeof *h);

	without = b.q;
	OK(norm_q_create(&without, &plain, &b.room));
	OK(norm_q_make(&plain, false, b.ctx));
	b.q.scatter = &b.p;
	OK(norm_q_create(&b.q, &b.scan, &b.room));
	OK(norm_q_make(&b.scan, true, b.ctx));
	cylinder(&image, 0, 1);
	expected(h, &b, &image);
	compare(&b.scan, &plain, h, 3, n);
	assert_true(b.q.scattered > .05 && b.q.scattered < .3);

	/* Scatter does not follow the steps of a fit, so that it is not in the slopes. */
	OK(norm_q_make(&plain, true, b.ctx));
	for (int64_t i = 0; i < n; i++)
		NEAR(b.scan.slope[0][i], plain.slope[0][i], 1e-4 * (1 + fabs((double)plain.slope[0][i])));

	/* Where pairs are chosen anew, the source is where it was found. */
	b.scan.shift[0] = plain.shift[0] = 6;
	b.q.chosen = without.chosen = false;
	OK(norm_q_make(&b.scan, false, b.ctx));
	OK(norm_q_make(&plain, false, b.ctx));
	iso_array_free(&image);
	cylinder(&image, 6, 1);
	expected(h, &b, &image);
	compare(&b.scan, &plain, h, 3, n);
	iso_array_free(&image);
	free(h);
	end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_the_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
