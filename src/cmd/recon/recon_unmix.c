/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome recon --unmix: from the images of all wavelengths on to maps of what absorbs. */
#include "recon_parts.h"

#include "file/suffix.h"

#include <string.h>

struct opt_set unmixing_params(struct unmixing *u)
{
	const struct opt opts[] = {
		{ 0, "unmix", .text = &u->names, .value = "NAME,...",
		  .help = "also write maps of what absorbs, as 'isotome unmix --chromophores' does from the "
		          "images: x_HbO2.nii and so on beside x.nii, x_unmix.npy beside x.npy. With "
		          "'nonneg' they have no value below 0. For 'wavelength' all" },
		{ 0 },
	};

	_Static_assert(sizeof u->opts == sizeof opts, "room for the options");
	memcpy(u->opts, opts, sizeof opts);
	return (struct opt_set){ "Unmixing", u->opts };
}

static const char *text_of(const iso_problem *p, const char *name)
{
	const struct opt *o = opt_find(p->sets, name);

	return o && o->text ? *o->text : NULL;
}

/* What the wavelengths of the recording can tell apart, before an image is made of them. */
static int check_names(struct iso_chromophores *of, const struct unmixing *u, const char *data)
{
	iso_recording *r = NULL;
	int st = iso_recording_open(&r, data);

	if (st) return st;
	const struct iso_recording_info *i = iso_recording_info(r);

	if (i->wavelength_nm)
		st = iso_chromophores_create(of, u->names, (int)i->wavelengths, i->wavelength_nm);
	else
		st = iso_fail(ISO_EINPUT, "%s: does not tell its wavelengths, which --unmix needs", data);
	iso_recording_free(r);
	return st;
}

static int check_map(const struct unmixing *u, struct cmd *c, const char *name)
{
	char path[PATH_MAX];
	int st = unmix_map_path(path, u->out, name);

	if (st || (st = cmd_add_output(c, path, name))) return st;
	return cmd_check_array(c, path);
}

int unmixing_check(struct unmixing *u, const iso_problem *p, struct cmd *c, const char *out)
{
	static const char *const blood[] = { "so2", "so2_sd", "thb" };
	struct iso_chromophores of = { .size = sizeof of };
	const char *data = text_of(p, "data"), *wavelength = text_of(p, "wavelength");
	int st;

	if (!u->names) return ISO_OK;
	u->out = out;
	u->nonneg = problem_given(p, "nonneg");
	u->force = c->force;
	if (p->s.follow.on || !wavelength || strcmp(wavelength, "all") != 0 || !data ||
	    !iso_is_recording(data))
		return iso_fail(
			ISO_EARG,
			"--unmix is for a recording of several wavelengths, as IPASC (.hdf5) or MSOT, "
			"with --wavelength all; of other images isotome unmix makes maps");
	if ((st = check_names(&of, u, data))) return st;
	if (iso_has_suffix(out, ".npy")) {
		st = check_map(u, c, "unmix");
	} else {
		for (int j = 0; j < of.n && !st; j++) st = check_map(u, c, of.name[j]);
		for (int k = 0; k < 3 && of.oxygenated >= 0 && of.deoxygenated >= 0 && !st; k++)
			st = check_map(u, c, blood[k]);
		if (!st) st = check_map(u, c, "residual");
	}
	iso_chromophores_free(&of);
	return st;
}

int unmixing_run(const struct unmixing *u, bool quiet)
{
	char *words[8] = { "unmix", (char *)u->out, "--chromophores", (char *)u->names };
	int n = 4;

	if (!u->names || !u->out) return ISO_OK;
	if (u->nonneg) words[n++] = "--nonneg";
	if (u->force) words[n++] = "--force";
	if (quiet) words[n++] = "--quiet";
	return main_unmix(n, words);
}
