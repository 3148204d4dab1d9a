/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome recon in parts: options and checks in recon.c, the one of --sens in recon_sens.c, the work
   in recon_run.c. */
#ifndef ISO_RECON_H
#define ISO_RECON_H

#include "frames.h"

#include <limits.h>

/* Options of --follow, for models that have it: follow.c. */
struct follow {
	bool on;
	int64_t block;
	double every_s, idle_s;
	const char *picture;
	struct opt opts[6];
	char path[PATH_MAX]; /* of the picture, where none is given */
};

/* Options of --method cg: recon_cg.c. */
struct least_squares {
	const char *penalty, *curve, *weigh;
	double tolerance, mu, tv;
	bool nonneg;
	struct opt opts[6];
};

struct settings {
	const char *model, *method, *out, *sens, *start, *rule, *filter_text;
	int64_t iterations, subsets, seed, filter_every, save_every;
	double psf[3];
	double checkpoint_minutes, stop_after;
	bool resume, deterministic;
	double began_s;
	struct model_subsets by;  /* subsets, rule and seed */
	struct iso_filter filter; /* meaningful if filter_text */
	struct frames frames;
	struct follow follow;
	struct least_squares squares;
};

/* OUTPUT.ckpt: the work under way. OUTPUT.frames: the finished images of a series. */
int recon_checkpoint(char *path, size_t size, const struct settings *s);
int recon_frames_path(char *path, size_t size, const struct settings *s);

/* x.nii after iteration 5: x_it005.nii; of frame 0 of a series x_f01_it005.nii, of
   100 frames or more x_f000001_it005.nii. */
int recon_iteration_path(char *path, size_t size, const struct settings *s, int k, int iteration);

/* Parameters that do not change the image, ends with NULL: all others decide whether a checkpoint
   belongs to a run. */
extern const char *const recon_not_in_key[];

/* Warns where the sensitivity image was made with other corrections than the run has. */
int recon_compare_sens(struct record *run, const char *path);
/* ISO_EARG if one of the options is given: it does not go with `with`. */
int recon_refuse(const struct cmd *c, const struct opt_set *sets, const char *const *names, const char *with);

/* ISO_EINPUT where voxels are not finite; a warning where all are 0. `k`: number of the image, from
   1, where there are several; else 0. */
int recon_check_image(struct cmd *c, const struct iso_array *x, int64_t k);

bool recon_is_direct(const struct settings *s); /* --method direct or fbp */

int recon_run(struct cmd *c, const struct opt_set *sets, const struct model *m, struct settings *s);

#endif
