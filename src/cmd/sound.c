/* SPDX-License-Identifier: BSD-3-Clause */
/* Transducers, grid and traces from the command line. */
#include "sound.h"

#include "core/status.h"

struct sound sound;

static int load_scanner(struct cmd *c)
{
	int st;

	if (!sound.scanner)
		return iso_fail(ISO_EARG, "--scanner is missing: the place of the transducers");
	if ((st = iso_scanner_read(&sound.s, sound.scanner)) ||
	    (st = record_input(&c->record, sound.scanner)))
		return st;
	if (!(sound.t = iso_scanner_transducers(sound.s)))
		return iso_fail(ISO_EINPUT, "%s: a scanner of another kind, expected kind: transducers",
				sound.scanner);
	return ISO_OK;
}

static int load_grid(const struct opt_set *sets, const struct iso_grid *image)
{
	bool size = opt_find(sets, "grid")->given, voxel = opt_find(sets, "voxel")->given;
	int st;

	if (image && !size && !voxel && !opt_find(sets, "centre")->given) {
		sound.grid = *image;
		return ISO_OK;
	}
	if (!size || !voxel)
		return iso_fail(ISO_EARG, "--%s is missing", size ? "voxel" : "grid");
	for (int a = 0; a < 3; a++) {
		sound.grid.n[a] = sound.size[a];
		sound.grid.voxel[a] = sound.voxel[0];
		sound.grid.centre[a] = sound.centre[a];
	}
	if ((st = iso_grid_check(&sound.grid))) return st;
	if (image && !iso_grid_same(&sound.grid, image))
		return iso_fail(ISO_EARG, "--grid, --voxel, --centre are not those of the image; leave them "
				"out to take the image's");
	return ISO_OK;
}

static int load_data(struct cmd *c)
{
	int st = iso_read(&sound.y, sound.data, ISO_FINITE);

	return st ? st : record_input(&c->record, sound.data);
}

/* A record that ends too early is heard in part: the image fades where it was not. */
static int check_hearing(struct cmd *c)
{
	struct iso_hearing h;
	int st = iso_transducers_hear(&h, sound.t, &sound.grid);

	if (!st && h.covered < 1)
		record_warn(&c->record, "sound of the image arrives from %.4g to %.4g us after the laser pulse; "
			    "the record holds %.3g %% of that", h.nearest, h.farthest, 100 * h.covered);
	return st;
}

int sound_load(struct cmd *c, const struct opt_set *sets, int need, const struct iso_grid *image)
{
	int st;

	if (need & MODEL_NEEDS_COUNTS && !sound.data)
		return iso_fail(ISO_EARG, "--data is missing: the traces");
	if ((st = load_scanner(c))) return st;
	if ((st = load_grid(sets, image))) return st;
	if ((st = check_hearing(c))) return st;
	return need & MODEL_NEEDS_COUNTS ? load_data(c) : ISO_OK;
}

void sound_unload(struct opt *opts)
{
	iso_array_free(&sound.y);
	iso_scanner_free(sound.s);
	sound = (struct sound){ 0 };
	for (struct opt *o = opts; o->name; o++)
		o->given = false;
}

struct iso_grid sound_grid(void)
{
	return sound.grid;
}

const char *sound_unit(void)
{
	return "absorbed energy";
}

int64_t sound_rows(void)
{
	return sound.t->n * sound.t->samples;
}

int sound_shape(int64_t dim[8])
{
	dim[0] = sound.t->n;
	dim[1] = sound.t->samples;
	return 2;
}

int sound_select(struct cmd *c, const struct model_frame *f)
{
	(void)c;
	return f->all ? ISO_OK : iso_fail(ISO_EARG, "traces are of one laser pulse: --frames, --from-s and "
					  "--to-s do not go with them");
}

int sound_sens(struct iso_array *s, struct cmd *c)
{
	(void)s;
	(void)c;
	return iso_fail(ISO_EARG, "an optoacoustic model has no sensitivity image");
}
