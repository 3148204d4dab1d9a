/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of imaging models. */
#include "model.h"

#include "text/json_file.h"
#include "text/nearest.h"
#include "core/status.h"
#include "io/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct model *const models[] = { &model_ray, &model_strip,  &model_srm,
	                                      &model_ubp, &model_svoxel, &model_sradon };

enum { N_MODELS = sizeof models / sizeof models[0] };

/* Ends with NULL. */
static const char *const *names(void)
{
	static const char *name[N_MODELS + 1];

	for (int i = 0; i < N_MODELS; i++) name[i] = models[i]->name;
	return name;
}

static const struct model *find(const char *name)
{
	for (int i = 0; name && i < N_MODELS; i++)
		if (strcmp(name, models[i]->name) == 0) return models[i];
	return NULL;
}

/* The model of the record that --like names, the first of all if there is none: parsing will tell
   why. */
static int of_record(const struct model **m, int argc, char **argv)
{
	int st = ISO_OK;

	*m = NULL;
	for (int i = 1; i < argc && !*m && st != ISO_ENOMEM; i++) {
		const char *path = strncmp(argv[i], "--like=", 7) == 0 ? argv[i] + 7
		                   : strcmp(argv[i], "--like") == 0    ? argv[i + 1]
		                                                       : NULL;
		json_t *root = NULL;

		if (path && !(st = iso_json_read(&root, path)))
			*m = find(json_string_value(
				json_object_get(json_object_get(root, "parameters"), "model")));
		json_decref(root);
	}
	*m = *m ? *m : models[0];
	return st == ISO_ENOMEM ? st : ISO_OK;
}

int model_pick(const struct model **m, int argc, char **argv)
{
	if (argc < 2 || argv[1][0] == '-') return of_record(m, argc, argv);
	if ((*m = find(argv[1]))) return ISO_OK;
	const char *near = iso_nearest(argv[1], N_MODELS, names());

	return iso_fail(ISO_EARG, "'%s' is not a model; the first word names it: %s", argv[1],
	                near ? near : models[0]->name);
}

struct opt model_positional(const char **name)
{
	return (struct opt){ 0,
		             "model",
		             .text = name,
		             .words = names(),
		             .value = "MODEL",
		             .positional = true,
		             .required = true,
		             .help = "imaging model: ray (list-mode PET), strip (two-strip J-PET), srm "
		                     "(dual-head PET by its system matrix); optoacoustics: ubp (filtered "
		                     "back-projection), svoxel (spectra), sradon (traces)" };
}

struct opt model_psf_option(double fwhm[3])
{
	return (struct opt){ 0,
		             "psf",
		             .real = fwhm,
		             .count = 3,
		             .spread = true,
		             .value = "X,Y,Z",
		             .min = 0,
		             .max = 1e5,
		             .absent = "none",
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

	if (!model_has_psf(fwhm)) return ISO_OK;
	st = iso_psf_create(&psf, iso_op_ctx(*op), g, fwhm);
	if (!st) st = iso_chain_create(&chain, *op, psf);
	iso_op_free(psf);
	if (st) return st;
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

int64_t model_images(const struct model *m)
{
	return m->images ? m->images() : 1;
}

int model_series(struct iso_array *series, const struct iso_grid *g, int64_t n, const char *unit)
{
	int64_t dim[4] = { n, g->n[2], g->n[1], g->n[0] };
	int st = iso_array_create(series, 4, dim);

	if (st) return st;
	series->has_grid = true;
	series->grid = *g;
	snprintf(series->unit, sizeof series->unit, "%s", unit);
	return ISO_OK;
}

int model_write(const struct model *m, struct cmd *c, const char *path, const struct iso_array *image)
{
	struct iso_array a = *image;

	if (m->flat && a.n_dim == 3 && iso_has_suffix(path, ".npy")) {
		a.n_dim = 2;
		memmove(a.dim, a.dim + 1, 2 * sizeof *a.dim);
		a.has_grid = false;
	}
	return cmd_write(c, path, &a);
}
