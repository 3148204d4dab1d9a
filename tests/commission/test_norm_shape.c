/* SPDX-License-Identifier: BSD-3-Clause */
/* Chords of many pairs at once against those of one line, and q near the place where it was made. */
#include "test.h"

#include "commission/norm/norm_shape.h"

#include <unistd.h>

static const char ring[] =
	"kind: cylinder\nradius_mm: 80\nrings: 3\nring_pitch_mm: 6\ncrystals_per_ring: 48\n"
	"crystal_mm: [9.5, 6, 10]\nmin_crystal_distance: 8\n";

enum { LINES = 5 };

struct bench {
	iso_ctx *ctx;
	iso_scanner *s;
	struct norm_rows rows;
	struct source shape;
	struct norm_q q;
	struct norm_scan scan;
	struct iso_room room;
};

static void begin(struct bench *b, const char *shape)
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
	OK(source_parse(&b->shape, shape));
	b->q = (struct norm_q){
		.rows = &b->rows, .shape = &b->shape, .factor = 2, .weigh = true, .places = 4
	};
	OK(iso_ray_spread(&b->q.spread, LINES, face));
}

static void end(struct bench *b)
{
	norm_q_free(&b->q);
	iso_room_free(&b->room);
	norm_rows_free(&b->rows);
	iso_scanner_free(b->s);
	iso_ctx_free(b->ctx);
}

static double plain_chord(const struct bench *b, const double *shift, int64_t a, int64_t c, int line)
{
	double p1[3], p2[3];

	norm_q_ends(p1, p2, &b->q, a, c, line);
	norm_q_to_source(p1, &b->q, shift);
	norm_q_to_source(p2, &b->q, shift);
	return source_integral(&b->shape, p1, p2);
}

static void same_chords(const char *shape)
{
	static const double shift[NORM_SHIFTS] = { 1.5, -.7, .02, -.03 };
	struct norm_shape m;
	struct bench b;
	int64_t met = 0;

	begin(&b, shape);
	OK(norm_shape_create(&m, &b.room, &b.q, shift, b.ctx));
	for (int64_t a = 0; a < 48; a += 5)
		for (int ring_of_b = 0; ring_of_b < 3; ring_of_b++) {
			const int64_t first = 48 * ring_of_b + (a + 8) % 48,
				      n = first % 48 < 17 ? 31 : 48 - first % 48;

			norm_shape_run(&m, 1, a, first, n);
			for (int64_t j = 0; j < n; j++) {
				double sum = 0, lines = 0;

				for (int l = 0; l < LINES; l++) {
					const double chord = plain_chord(&b, shift, a, first + j, l);

					NEAR(norm_shape_chord(&m, a, first + j, l), chord, 1e-9);
					sum += chord;
					lines += chord > 0;
				}
				NEAR(m.sum[m.width + j], sum, 1e-8);
				assert_true(m.met[m.width + j] == lines);
				NEAR(m.weight[m.width + j],
				     pairs_solid_angle(b.s->pos + 3 * a, b.s->pos + 3 * (first + j)), 1e-12);
				met += lines > 0;
			}
		}
	assert_true(met > 100);
	end(&b);
}

static void any_shape(void **state)
{
	(void)state;
	same_chords("cylinder:3,-2,1,30,10");
	same_chords("cylinder:3,-2,1,4,90,x");
	same_chords("cylinder:3,-2,1,4,90,y");
	same_chords("plane:3,-2,1,70,9,12,20");
	same_chords("orbit:20,6,14");
}

/* Lines that lie in the end of a cylinder, or in a side of a box, belong to it; lines outside do not. */
static void on_edges(void **state)
{
	static const double none[NORM_SHIFTS] = { 0 };
	struct norm_shape m;
	struct bench b;

	(void)state;
	begin(&b, "cylinder:0,0,0,30,12"); /* its ends at +-6, where the rings are */
	OK(iso_ray_spread(&b.q.spread, 1, b.s->crystal_mm));
	OK(norm_shape_create(&m, &b.room, &b.q, none, b.ctx));
	NEAR(norm_shape_chord(&m, 0, 24, 0), 60, 1e-9);
	NEAR(norm_shape_chord(&m, 96, 120, 0), 60, 1e-9);
	b.shape.length = 11.9;
	assert_true(norm_shape_chord(&m, 0, 24, 0) == 0);
	end(&b);
}

/* q follows small steps of the place by its slopes, and any change of its scale. */
static void moves(void **state)
{
	struct norm_scan exact = { .shifts = 5 };
	struct norm_q there;
	struct bench b;
	double off = 0, change = 0;

	(void)state;
	begin(&b, "cylinder:3,-2,1,30,60");
	const int64_t n = b.rows.first[b.rows.n];

	b.scan.shifts = 5;
	there = b.q;
	OK(norm_q_create(&b.q, &b.scan, &b.room));
	OK(norm_q_create(&there, &exact, &b.room));
	OK(norm_q_make(&b.scan, true, b.ctx));
	OK(norm_q_make(&exact, false, b.ctx));
	for (int c = 0; c < 5; c++)
		exact.shift[c] = b.scan.shift[c] = (double[]){ .04, -.03, 2e-4, 1e-4, .3 }[c];
	float *before = calloc((size_t)n, sizeof *before);

	memcpy(before, b.scan.q, (size_t)n * sizeof *before);
	OK(norm_q_move(&b.scan, b.ctx));
	OK(norm_q_make(&exact, false, b.ctx));
	for (int64_t i = 0; i < n; i++) {
		assert_true((before[i] > 0) == (b.scan.q[i] > 0));
		off += fabs((double)b.scan.q[i] - (double)exact.q[i]);
		change += fabs((double)exact.q[i] - exp(.3) * (double)before[i]);
	}
	assert_true(change > 0);
	BELOW(off / change, .1);
	free(before);
	end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_shape),
		cmocka_unit_test(on_edges),
		cmocka_unit_test(moves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
