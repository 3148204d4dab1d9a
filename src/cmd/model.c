/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of imaging models. */
#include "model.h"

#include "core/nearest.h"
#include "core/status.h"
#include "io/format.h"

#include <stdlib.h>
#include <string.h>

static const struct model *const models[] = { &model_ray, &model_strip };

enum { N_MODELS = sizeof models / sizeof models[0] };

/* Ends with NULL. */
static const char *const *names(void)
{
	static const char *name[N_MODELS + 1];

	for (int i = 0; i < N_MODELS; i++)
		name[i] = models[i]->name;
	return name;
}

int model_pick(const struct model **m, int argc, char **argv)
{
	if (argc < 2 || argv[1][0] == '-') {
		*m = models[0];
		return ISO_OK;
	}
	for (int i = 0; i < N_MODELS; i++)
		if (strcmp(argv[1], models[i]->name) == 0) {
			*m = models[i];
			return ISO_OK;
		}
	const char *near = iso_nearest(argv[1], N_MODELS, names());

	return iso_fail(ISO_EARG, "'%s' is not a model; the first word names it: %s", argv[1],
			near ? near : models[0]->name);
}

struct opt model_positional(const char **name)
{
	return (struct opt){ 0, "model", .text = name, .words = names(), .value = "MODEL",
			     .positional = true, .required = true,
			     .help = "imaging model: ray (list-mode PET), strip (two-strip J-PET)" };
}

struct opt model_psf_option(double fwhm[3])
{
	return (struct opt){ 0, "psf", .real = fwhm, .count = 3, .spread = true, .value = "X,Y,Z",
			     .min = 0, .max = 1e5, .absent = "none",
			     .help = "point spread function of the image: FWHM in mm, one for all axes or "
				     "one each" };
}

bool model_has_psf(const double fwhm[3])
{
	return fwhm[0] > 0 || fwhm[1] > 0 || fwhm[2] > 0;
}

int model_add_psf(iso_op **op, const struct iso_grid *g, const double fwhm[3])
{
	iso_op *psf = NULL, *chain = NULL;
	int st;

	if (!model_has_psf(fwhm))
		return ISO_OK;
	st = iso_psf_create(&psf, iso_op_ctx(*op), g, fwhm);
	if (!st)
		st = iso_chain_create(&chain, *op, psf);
	iso_op_free(psf);
	if (st)
		return st;
	iso_op_free(*op);
	*op = chain;
	return ISO_OK;
}

void model_data_free(struct model_data *d)
{
	free(d->y);
	free(d->add);
	free(d->mult);
	*d = (struct model_data){ 0 };
}

int model_write(const struct model *m, struct cmd *c, const char *path,
		const struct iso_array *image)
{
	struct iso_array a = *image;

	if (m->flat && a.n_dim == 3 && iso_has_suffix(path, ".npy")) {
		a.n_dim = 2;
		memmove(a.dim, a.dim + 1, 2 * sizeof *a.dim);
		a.has_grid = false;
	}
	return cmd_write(c, path, &a);
}
