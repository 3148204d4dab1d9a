/* SPDX-License-Identifier: BSD-3-Clause */
/* Reconstruction in parts: its parameters and their checks in recon_settings.c; the work in recon_em.c,
   recon_cg.c, recon_direct.c and strip/strip_follow.c; whether a sensitivity image suits in recon_sens.c. */
#ifndef ISO_RECON_H
#define ISO_RECON_H

#include "frames.h"

#include <limits.h>

/* Parameters of 'follow', for models that have it: strip/strip_follow.c. */
struct follow {
	bool on;
	int64_t block;
	double every_s, idle_s;
	const char *picture;
	struct opt opts[6];
	char path[PATH_MAX]; /* of the picture, where none is given */
};

/* Parameters of 'method' cg: recon_cg.c. */
struct least_squares {
	const char *penalty, *curve, *weigh;
	double tolerance, mu, tv;
	const char *kind; /* name of the penalty */
	bool nonneg;
	struct opt opts[6];
	char help[400]; /* of parameter penalty */
};

struct settings {
	const char *method, *sens, *start, *rule, *filter_text;
	const char *out; /* file, NULL: the image goes to the caller alone */
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
	struct model_stream no_stream; /* of models that can't */
	struct opt own[14], stream[4], stop[4];
};

/* recon_settings.c */
/* Defaults, and the tables of parameters. */
void settings_begin(struct settings *s, const struct model *m, struct model_stream *stream);
int settings_check(iso_problem *problem); /* before anything is read */
void settings_free(struct settings *s);

bool recon_is_direct(const struct settings *s); /* 'method' direct or fbp */
bool recon_is_cg(const struct settings *s);

/* OUTPUT.ckpt: the work under way. OUTPUT.frames: the finished images of a series. "" without output. */
int recon_checkpoint(char *path, size_t size, const struct settings *s);
int recon_frames_path(char *path, size_t size, const struct settings *s);

/* x.nii after iteration 5: x_it005.nii; of frame 0 of a series x_f01_it005.nii, of
   100 frames or more x_f000001_it005.nii. */
int recon_iteration_path(char *path, size_t size, const struct settings *s, int k, int iteration);

/* Whether the image after this iteration is to be written: for iso_em and its like. */
bool recon_saves(const struct settings *s, int iteration);

/* Hash of all that decides whether a checkpoint belongs to the run of frame k. */
int recon_key(iso_problem *problem, uint64_t *key, int k);

/* Minutes that 'stop-after' leaves, from the creation of the problem on; 0: no end. */
double recon_minutes_left(const struct settings *s);

/* A checkpoint that 'resume' does not want is removed; one that it wants and is not there is told of, in frame 0. */
void recon_begin_checkpoint(iso_problem *problem, const char *checkpoint, int k);

/* Warns where the sensitivity image was made with other corrections than the run has. */
int recon_compare_sens(struct record *run, const char *path);

/* ISO_EINPUT where voxels are not finite; a warning where all are 0. `k`: number of the image, from
   1, where there are several; else 0. */
int recon_check_image(iso_problem *problem, const struct iso_array *x, int64_t k);

/* An image of the problem: from 'start', or of this value. */
int recon_start(iso_problem *problem, struct iso_array *x, iso_real value, enum iso_values allowed);

/* ReconMethod* of the record, in the words of BIDS-PET: two parameters, and a list of their values, which is
   taken over. */
int recon_describe(iso_problem *problem, const char *first, const char *second, json_t *values);

/* The kinds of reconstruction; the image goes to `to`, to settings.out, or both. */
int recon_em(iso_problem *problem, struct iso_array *to);
int recon_cg(iso_problem *problem, struct iso_array *to);
int recon_direct(iso_problem *problem, struct iso_array *to);
int recon_follow(iso_problem *problem, struct iso_array *to);

/* strip/strip_follow.c, recon_cg.c: their parameters, and what does not go with them. */
struct opt_set follow_params(struct follow *f);
int follow_check(iso_problem *problem);
int follow_name_picture(struct settings *s); /* that of the output, where none is given */
struct opt_set cg_params(struct least_squares *q);
int cg_check(iso_problem *problem);

#endif
