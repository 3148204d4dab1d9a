/* SPDX-License-Identifier: BSD-3-Clause */
/* Passes over pairs on CUDA against those on the host. */
#include "test.h"

#include "commission/norm/norm_pairs.h"
#include "core/philox.h"

#include <unistd.h>

static const char closed[] =
	"kind: cylinder\nradius_mm: 80\nrings: 5\nring_pitch_mm: 6\ncrystals_per_ring: 50\n"
	"crystal_mm: [9.5, 6, 10]\nmin_crystal_distance: 7\n";
static const char short_of_rings[] =
	"kind: cylinder\nradius_mm: 80\nrings: 6\nring_pitch_mm: 6\ncrystals_per_ring: 33\n"
	"crystal_mm: [9.5, 6, 10]\nmin_crystal_distance: 3\nmax_ring_difference: 2\n";

struct bench {
	iso_scanner *s;
	struct norm_rows rows;
	struct norm_classes classes;
	struct norm_scan scan[2];
	double *rate;
	double *eps, t[1], z[1];
};

static double draw(int64_t i, int of)
{
	const struct philox d = philox_draw(5, (uint64_t)i, (uint64_t)of);

	return philox_unit_double(d.w[0], d.w[1]);
}

static float *values(int64_t n, int of, double low, double high)
{
	float *v = calloc((size_t)n, sizeof *v);

	for (int64_t i = 0; i < n; i++) v[i] = (float)(low + (high - low) * draw(i, of));
	return v;
}

/* Two scans: one of a source that moves, with rates; one of a source of unknown scale, with randoms of each pair. One pair
   in five is not used, and two crystals are dead. */
static void begin(struct bench *b, const char *text)
{
	char path[] = "/tmp/isotome-norm-XXXXXX.yaml";
	const int fd = mkstemps(path, 5);

	memset(b, 0, sizeof *b);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	OK(iso_scanner_read(&b->s, path));
	unlink(path);
	OK(norm_rows_create(&b->rows, b->s));
	OK(norm_classes_create(&b->classes, b->s, false, false, true));
	const int64_t n = b->rows.n, pairs = b->rows.first[n];

	b->t[0] = 1.5;
	b->z[0] = .5;
	b->eps = calloc((size_t)n, sizeof *b->eps);
	b->rate = calloc((size_t)n, sizeof *b->rate);
	for (int64_t a = 0; a < n; a++) {
		b->eps[a] = a == 3 || a == n - 1 ? 0 : .5 + draw(a, 1);
		b->rate[a] = .1 + draw(a, 2);
	}
	for (int s = 0; s < 2; s++) {
		b->scan[s].q = values(pairs, 10 + s, .1, 2);
		for (int64_t i = 0; i < pairs; i++)
			if (draw(i, 12 + s) < .2) b->scan[s].q[i] = 0;
	}
	b->scan[0].rate = b->rate;
	b->scan[0].shifts = 4;
	for (int c = 0; c < 4; c++) b->scan[0].slope[c] = values(pairs, 20 + c, -1, 1);
	b->scan[1].r = values(pairs, 30, 0, 1);
	b->scan[1].shifts = 1;
}

static void end(struct bench *b)
{
	for (int c = 0; c < 4; c++) free(b->scan[0].slope[c]);
	free(b->scan[0].q);
	free(b->scan[1].q);
	free((void *)b->scan[1].r);
	free(b->eps);
	free(b->rate);
	norm_classes_free(&b->classes);
	norm_rows_free(&b->rows);
	iso_scanner_free(b->s);
}

static struct norm_fit fit_of(struct bench *b, iso_ctx *ctx, int scans)
{
	return (struct norm_fit){ .ctx = ctx,
		                  .rows = &b->rows,
		                  .classes = &b->classes,
		                  .scan = b->scan,
		                  .scans = scans,
		                  .eps = b->eps,
		                  .t = b->t,
		                  .z = b->z };
}

static void same_sums(struct norm_fit *host, struct norm_fit *device, enum norm_sum what)
{
	const int64_t n = norm_parameters(host);
	double *v = calloc((size_t)n, sizeof *v), *one = calloc((size_t)n, sizeof *one);
	double *two = calloc((size_t)n, sizeof *two), most = 0, worst = 0, total[2];

	for (int64_t p = 0; p < n; p++) v[p] = draw(p, 40) - .5;
	norm_pairs_sum(one, &total[0], host, what, v);
	norm_pairs_sum(two, &total[1], device, what, v);
	OK(device->status);
	for (int64_t p = 0; p < n; p++) most = larger(most, fabs(one[p]));
	for (int64_t p = 0; p < n; p++) {
		const double size = what == NORM_PRODUCT ? most : fabs(one[p]);

		worst = larger(worst, fabs(one[p] - two[p]) / larger(size, 1e-30));
	}
	BELOW(worst, 1e-5);
	NEAR(total[1], total[0], 1e-5 * fabs(total[0]) + (what == NORM_PRODUCT ? 1e-5 * most : 0));
	free(v);
	free(one);
	free(two);
}

static void compare(iso_ctx *ctx, const char *text, int scans)
{
	static const enum norm_sum all[] = { NORM_EXPECTED, NORM_FISHER, NORM_PRODUCT, NORM_USED };
	iso_ctx *host = cpu(2);
	struct bench b;

	begin(&b, text);
	struct norm_fit one = fit_of(&b, host, scans), two = fit_of(&b, ctx, scans);

	OK(norm_sums_create(&one));
	OK(norm_sums_create(&two));
	for (int i = 0; i < N_OF(all); i++) same_sums(&one, &two, all[i]);
	for (int64_t i = 0; i < b.rows.first[b.rows.n]; i++) b.scan[0].q[i] *= 2; /* a source that moved */
	norm_sums_stale(&two, false);
	same_sums(&one, &two, NORM_PRODUCT);
	norm_sums_free(&one);
	norm_sums_free(&two);
	end(&b);
	iso_ctx_free(host);
}

static void check_sums(iso_ctx *ctx)
{
	compare(ctx, closed, 1);
	compare(ctx, closed, 2);
	compare(ctx, short_of_rings, 2);
}

CUDA_TEST(cuda_sums, check_sums)

static void refused(void **state)
{
	struct norm_classes with;
	struct bench b;

	(void)state;
	begin(&b, closed);
	OK(norm_device_check(&b.rows, &b.classes));
	OK(norm_classes_create(&with, b.s, true, false, true));
	REFUSED(norm_device_check(&b.rows, &with), ISO_EARG,
	        "factors of pairs and free detectors are fitted on the CPU");
	norm_classes_free(&with);
	b.rows.per_ring = NORM_DEVICE_RING + 1;
	REFUSED(norm_device_check(&b.rows, &b.classes), ISO_EARG, "at most 4096");
	b.rows.per_ring = b.s->pairs.per_ring;
	assert_int_equal(norm_device_bytes(&b.rows, 0),
	                 4 * 250 * 5 * 37); /* 50 - 2 * 7 + 1 partners a ring */
	end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused),
		cmocka_unit_test(cuda_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
