/* SPDX-License-Identifier: BSD-3-Clause */
/* Two frames of a list-mode scan, with attenuation, randoms from delayed events, and a point spread
   function; the image is NIfTI, with the record of how it was made beside it:

	list_mode scan.Cdh scanner.yaml mu.nii delayed.Cdh image.nii

   It is the image of

	isotome recon ray --events scan.Cdh --scanner scanner.yaml --mu mu.nii --delayed delayed.Cdh \
	    --frames 0,5,10 --isotope F-18 --psf 3 --grid 32 --voxel 2 --method osem --subsets 4 \
	    --iterations 2 --sens-share 2e-3 -o image.nii

   to the bit. */
#include <isotome.h>

#include <stdio.h>

static void tell(void *arg, enum iso_message_kind kind, const char *text)
{
	(void)arg;
	if (kind == ISO_WARNING) fprintf(stderr, "warning: %s\n", text);
}

static int reconstruct(iso_ctx *ctx, char **file)
{
	const char *const set[][2] = {
		{ "events", file[1] },  { "scanner", file[2] },   { "mu", file[3] },  { "delayed", file[4] },
		{ "frames", "0,5,10" }, { "isotope", "F-18" },    { "psf", "3" },     { "grid", "32" },
		{ "voxel", "2" },       { "method", "osem" },     { "subsets", "4" }, { "iterations", "2" },
		{ "force", "true" },    { "sens-share", "2e-3" },
	};
	iso_problem *p = NULL;
	int st = iso_problem_create(&p, ctx, "ray");

	if (!st) iso_problem_set_message(p, tell, NULL);
	for (size_t i = 0; !st && i < sizeof set / sizeof *set; i++)
		st = iso_problem_set(p, set[i][0], set[i][1]);
	if (!st) st = iso_problem_recon(NULL, file[5], p);
	iso_problem_free(p);
	return st;
}

int main(int argc, char **argv)
{
	iso_ctx *ctx = NULL;

	if (argc != 6) {
		fprintf(stderr, "usage: %s EVENTS SCANNER MU DELAYED IMAGE\n", argv[0]);
		return 2;
	}
	int st = iso_ctx_create(&ctx, "cpu", 0);

	if (!st) st = reconstruct(ctx, argv);
	if (st) fprintf(stderr, "%s\n", iso_message());
	iso_ctx_free(ctx);
	return st ? 1 : 0;
}
