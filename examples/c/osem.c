/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulates a scan of two hot balls in a warm one, reconstructs it by OSEM, writes both images:

	osem small-animal.yaml truth.nii image.nii */
#include <isotome.h>

#include <stdio.h>

#define COUNTS 500000
#define ITERATIONS 3
#define SUBSETS 8
#define SHARE 2e-3 /* of the crystal pairs, drawn for the sensitivity: enough for an example */

/* Activity at a point, mm from the middle of the ring. */
static float activity(double x, double y, double z)
{
	double r = x * x + y * y + z * z, left = (x + 12) * (x + 12) + y * y + z * z,
	       right = (x - 12) * (x - 12) + y * y + z * z;

	return left < 5 * 5 ? 8 : right < 4 * 4 ? 8 : r < 27 * 27 ? 1 : 0;
}

static void paint(struct iso_array *a)
{
	const struct iso_grid *g = &a->grid;

	for (int64_t k = 0; k < g->n[2]; k++)
		for (int64_t j = 0; j < g->n[1]; j++)
			for (int64_t i = 0; i < g->n[0]; i++)
				a->v[(k * g->n[1] + j) * g->n[0] + i] =
					activity((i - (g->n[0] - 1) / 2.) * g->voxel[0],
				                 (j - (g->n[1] - 1) / 2.) * g->voxel[1],
				                 (k - (g->n[2] - 1) / 2.) * g->voxel[2]);
}

static int run(iso_ctx *ctx, const char *scanner_file, const char *truth_file, const char *image_file)
{
	const struct iso_grid grid = { .n = { 32, 32, 32 }, .voxel = { 2, 2, 2 } };
	struct iso_array truth = { 0 }, sens = { 0 }, image = { 0 };
	struct iso_events events = { 0 };
	struct iso_simulated drawn = { .size = sizeof drawn };
	struct iso_em_result done = { .size = sizeof done };
	struct iso_rmse error = { .size = sizeof error };
	iso_scanner *scanner = NULL;
	iso_op *op = NULL;
	double noise;
	int st;

	if ((st = iso_scanner_read(&scanner, scanner_file))) goto done;
	if ((st = iso_array_on_grid(&truth, &grid)) || (st = iso_array_on_grid(&sens, &grid)) ||
	    (st = iso_array_on_grid(&image, &grid)))
		goto done;
	paint(&truth);

	struct iso_simulate scan = {
		.size = sizeof scan, .scanner = scanner, .activity = &truth, .counts = COUNTS, .seed = 1
	};
	if ((st = iso_simulate(&events, &drawn, ctx, &scan))) goto done;

	struct iso_ray_sens seen = {
		.size = sizeof seen, .grid = grid, .scanner = scanner, .share = SHARE, .seed = 1
	};
	if ((st = iso_ray_sens(sens.v, &noise, ctx, &seen))) goto done;

	struct iso_ray rays = { .size = sizeof rays, .grid = grid, .n_sub = SUBSETS };
	if ((st = iso_ray_create(&op, ctx, &rays, &events))) goto done;

	const struct iso_filter smooth = { .kind = ISO_GAUSSIAN, .fwhm = { 3, 3, 3 } };
	struct iso_em em = { .size = sizeof em,
		             .op = op,
		             .sens = { 1, SUBSETS, sens.v },
		             .iterations = ITERATIONS,
		             .filter = &smooth,
		             .filter_every = ITERATIONS,
		             .grid = grid };
	for (int64_t i = 0; i < image.n; i++) image.v[i] = 1;
	if ((st = iso_em_run(image.v, &done, &em, NULL))) goto done;

	if ((st = iso_measure_rmse(&error, image.n, image.v, truth.v, truth.v, ISO_SCALE_FIT))) goto done;
	printf("%s: %lld events, %d updates, error %.0f %% of the mean\n", iso_ctx_device(ctx),
	       (long long)events.n, done.n, 100 * error.nrmse);
	if ((st = iso_write(truth_file, &truth, NULL))) goto done;
	st = iso_write(image_file, &image, NULL);
done:
	iso_op_free(op);
	iso_em_result_free(&done);
	iso_events_free(&events);
	iso_array_free(&truth);
	iso_array_free(&sens);
	iso_array_free(&image);
	iso_scanner_free(scanner);
	return st;
}

int main(int argc, char **argv)
{
	iso_ctx *ctx = NULL;
	int st;

	if (argc != 4) {
		fprintf(stderr, "usage: osem SCANNER TRUTH IMAGE\n");
		return 2;
	}
	st = iso_ctx_create(&ctx, "auto", 0);
	if (!st) st = run(ctx, argv[1], argv[2], argv[3]);
	if (st) fprintf(stderr, "osem: %s\n", iso_message());
	iso_ctx_free(ctx);
	return st ? 1 : 0;
}
