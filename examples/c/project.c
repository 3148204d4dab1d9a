/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads an image, makes the operator of line integrals along crystal pairs of a scanner, tests that its
   adjoint is one, and writes the line integrals of the image:

	project image.nii small-animal.yaml sums.npy */
#include <isotome.h>

#include <stdio.h>

#define LINES 20000

static struct iso_event line[LINES];

/* LINES of the scanner's pairs, evenly picked. */
static void pick_lines(const iso_scanner *s)
{
	const double *at = iso_scanner_positions(s);
	int64_t step = iso_scanner_pairs(s) / LINES, a, b;

	for (int64_t i = 0; i < LINES; i++) {
		iso_scanner_pair(&a, &b, s, i * step);
		for (int k = 0; k < 3; k++) {
			line[i].p1[k] = (float)at[3 * a + k];
			line[i].p2[k] = (float)at[3 * b + k];
		}
	}
}

static int run(iso_ctx *ctx, const char *image_file, const char *scanner_file, const char *sums_file)
{
	struct iso_events events = { .n = LINES, .v = line };
	struct iso_array image = { 0 }, sums = { 0 }, ordered = { 0 };
	const int64_t rows = LINES;
	iso_scanner *scanner = NULL;
	iso_op *op = NULL;
	double error, sum = 0;
	int st;

	if ((st = iso_read_image(&image, image_file, ISO_FINITE, NULL))) goto done;
	if ((st = iso_scanner_read(&scanner, scanner_file))) goto done;
	pick_lines(scanner);

	struct iso_ray rays = { .size = sizeof rays, .grid = image.grid, .n_sub = 1 };
	if ((st = iso_ray_create(&op, ctx, &rays, &events))) goto done;
	if ((st = iso_test_adjoint(&error, op, ISO_ALL, 1))) goto done;
	if ((st = iso_array_create(&sums, 1, &rows)) || (st = iso_array_create(&ordered, 1, &rows)))
		goto done;

	/* The context is of the CPU: its vectors are plain arrays. The operator orders its rows as it
	   likes; sums are in the order of the lines again. */
	if ((st = iso_forward(ordered.v, op, ISO_ALL, image.v))) goto done;
	iso_op_unsort(sums.v, op, ordered.v);
	for (int64_t i = 0; i < sums.n; i++) sum += sums.v[i];
	printf("adjoint to %.0e, mean of %d line integrals %.3f\n", error, LINES, sum / LINES);
	st = iso_write(sums_file, &sums, NULL);
done:
	iso_op_free(op);
	iso_array_free(&image);
	iso_array_free(&sums);
	iso_array_free(&ordered);
	iso_scanner_free(scanner);
	return st;
}

int main(int argc, char **argv)
{
	iso_ctx *ctx = NULL;
	int st;

	if (argc != 4) {
		fprintf(stderr, "usage: project IMAGE SCANNER SUMS\n");
		return 2;
	}
	st = iso_ctx_create(&ctx, "cpu", 0);
	if (!st) st = run(ctx, argv[1], argv[2], argv[3]);
	if (st) fprintf(stderr, "project: %s\n", iso_message());
	iso_ctx_free(ctx);
	return st ? 1 : 0;
}
