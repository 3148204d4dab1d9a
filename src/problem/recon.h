/* SPDX-License-Identifier: BSD-3-Clause */
/* Reconstruction in parts: its parameters and their checks in recon_settings.c, times in frames.c; what
   all methods share in recon_run.c; the run in recon_em.c and recon_squares.c; methods in method.h. */
#ifndef ISO_RECON_H
#define ISO_RECON_H

#include "gate_frames.h"
#include "model.h"

#include "isotome/rates.h"

#include <limits.h>

enum { FRAMES_MOST = 100000 };

/* The times of a scan: a window or frames, decay and dead time. Zero, but for `to_s`, which is INFINITY. */
struct frames {
	/* options */
	double from_s, to_s, half_life_option_s;
	const char *list, *live_list, *isotope, *rates_file;
	struct opt opts[9];
	/* what they say */
	bool series; /* 'frames', 'gates': a 4-D image */
	bool all;    /* no time is asked for: every event counts */
	int n;
	double *edge_s;             /* n + 1; of gates 2 */
	double *live;               /* n */
	struct gating gating;       /* an image a gate; else none */
	struct iso_rates dead_time; /* 'rates', once it is read; size 0: not */
	double half_life_s;         /* 0: no decay */
	double duration_s;          /* of the scan; 0: not known */
	double part;                /* share of the scan's events that the file has; 0: all of them */
};

/* What makes Bq/ml or SUV of an image: units.c. */
struct units {
	/* parameters */
	const char *calibration, *started_at, *injected_at;
	double branching_option, weight_kg, dose_mbq, residual_mbq;
	bool suv;
	struct opt opts[9];
	/* what they say */
	iso_calibration *file; /* NULL: none was read */
	double k;         /* of the scanner; 0: the image stays in counts/mm, or the events' file will tell */
	double branching; /* of the isotope */
	double suv_factor; /* SUV of 1 Bq/ml; without 'suv' 1 */
};

/* Parameters of 'follow', for models that have it: follow_events.c, sound/sound_follow.c. */
struct follow {
	bool on;
	int64_t block; /* events */
	double every_s, idle_s;
	const char *picture;
	/* of sound */
	int64_t batch; /* 0: not given */
	bool warm, keep;
	const char *sample_type, *wavelengths, *lag;
	struct opt opts[12];
	char path[PATH_MAX]; /* of the picture, where none is given */
};

/* Parameters of 'method' cg and nncg: method/method_cg.c. */
struct least_squares {
	const char *weigh;
	double mu, tv;
	double relative;  /* mu over the largest eigenvalue of A* A; with 0 mu is given */
	const char *kind; /* name of the penalty */
	bool nonneg;
	const char *precondition;
	struct opt opts[4];
};

enum {
	MAP_FEATURES = 8, /* files of 'kernel' */
	MAP_SUBSETS = 32, /* where none are asked for: at most, and at least 4 */
};

/* Parameters of penalties, of penalised likelihood and of kernel EM: settings_map.c. The first three are also those of
   least squares. */
struct penalties {
	const char *text, *curve;
	double tolerance;
	const char *kappa, *unseen, *bowsher, *kernel;
	double step, relax;
	struct opt opts[10];
	char help[1100]; /* of parameter penalty */
	/* what they say: */
	struct iso_prior_spec prior; /* kind and parameters, of which 0 was not given; no grid, no images */
	bool has_strength;
	double beta, relative; /* one of them, the other 0 */
	int anatomy;           /* bytes of `bowsher` that are the file's name */
	int neighbours;        /* the number behind it; 0: not said */
	int n_features, k, radius;
	double sigma;
	struct {
		const char *at; /* a name, not ended by '\0' */
		int length;
	} feature[MAP_FEATURES];
};

/* Parameters of 'replicates': dynamic/replicates.c. */
struct replicates {
	int64_t n, seed, batch;    /* n: 0: none; batch: 0: not given */
	const char *save, *labels; /* files, or NULL */
	bool fisher;
	struct opt opts[7];
};

enum { KINETIC_MAPS = 8 };

/* Parameters of 'kinetics': kinetics/kinetics_params.c. */
struct kinetics {
	const char *model, *input, *decay, *unit, *basis; /* model NULL: none */
	double zero_s, delay_s, plasma_ratio;
	bool unitless;
	int64_t inner;
	struct opt opts[12];
	/* what they say: */
	const char *map[KINETIC_MAPS]; /* names; NULL: there are fewer */
	struct iso_basis_spec *spec;   /* the words of `model`; NULL before they were checked */
	double *beta;                  /* of the penalty, one a coefficient; NULL: `penalties` has one */
	int n_beta;
};

enum { METHOD_WORDS = 24 };

/* What the help says of methods and of defaults that depend on them: method.c. */
struct method_words {
	const char *names[METHOD_WORDS]; /* ends with NULL */
	char about[1500];
	char iterations[240], subsets[160], tolerance[80], start[160];
	char passes[400]; /* help of 'iterations' */
};

struct method;

struct settings {
	const char *preset;       /* NULL: none */
	const struct method *how; /* row of 'method', or of 'follow', once the settings were checked */
	struct method_words words;
	const char *method, *sens, *start, *rule, *filter_text;
	const char *out; /* file, NULL: the image goes to the caller alone */
	/* OUTPUT.ckpt: the work under way. OUTPUT.frames: the finished images of a series. OUTPUT.rounds: coarse images
	   before it. "" without output. */
	char checkpoint[PATH_MAX], kept[PATH_MAX], rounds[PATH_MAX];
	char replicated[PATH_MAX]; /* OUTPUT.replicates: the finished images of replicates */
	int64_t iterations, subsets, seed, filter_every, save_every;
	double psf[3];
	double checkpoint_minutes, stop_after;
	double sens_floor; /* 0: none */
	bool resume;
	double began_s;            /* the run: when iso_problem_recon was called */
	struct record_since since; /* the same, in what the process had done by then */
	struct model_subsets by;   /* subsets, rule and seed */
	struct iso_filter filter;  /* meaningful if filter_text */
	struct frames frames;
	struct units units;
	struct follow follow;
	struct least_squares squares;
	struct penalties penalties;
	struct replicates replicates;
	struct kinetics kinetics;
	struct model_stream no_stream; /* of models that can't */
	struct opt own[16], stream[4], stop[4];
};

/* recon_settings.c */
/* Defaults, and the tables of parameters. */
void settings_begin(struct settings *s, const struct model *m, struct model_stream *stream);
int settings_out(struct settings *s, const char *out); /* the output, and the files beside it */
int settings_check(iso_problem *problem);              /* before anything is read */

/* settings_map.c */
struct opt_set map_params(struct penalties *p, const struct model *m, const struct method_words *w);

/* penalty_text.c: the text of 'penalty' */
void penalty_help(char *to, size_t size, const struct model *m);
int penalty_parse(struct penalties *p); /* without a text: ISO_OK */
int penalty_check(const struct penalties *p);
int penalty_check_sharp(const struct penalties *p,
                        const char *method); /* total variation without smoothing, or none */
void penalty_record(json_t *o, const struct penalties *p,
                    const struct iso_map_result *of); /* as they were used */
/* The first parameter that is too large for an image of this mean, and its value; NULL: none is. */
const struct iso_prior_parameter *penalty_large(double *value, const struct penalties *p,
                                                const struct iso_map_result *of, double mean);
const char *recon_penalty_name(const struct settings *s); /* "rdp" */

/* x.nii after iteration 5: x_it005.nii; of frame 0 of a series x_f01_it005.nii, of
   100 frames or more x_f000001_it005.nii. */
int recon_iteration_path(char path[PATH_MAX], const struct settings *s, int k, int iteration);

/* frames.c */
struct opt_set frames_params(struct frames *f);

/* After parsing; before the data are read. frames_free frees what it made, also where it failed. */
int frames_check(const iso_problem *problem, struct frames *f);
void frames_free(struct frames *f);

/* Once the data have said how long the scan took (0: they have not). Warns of frames beyond its end. */
int frames_settle(iso_problem *problem, struct frames *f, double duration_s);

/* Frame k, as far as the scan went; of gates, the time that all of them share. */
double frames_begin_s(const struct frames *f, int k);
double frames_end_s(const struct frames *f, int k);
const char *frames_word(const struct frames *f); /* "frame", "gate" */
struct model_frame frames_get(const struct frames *f, int k);

/* 'rates': the file, when it is first wanted; and the live share of frame k by the events in it. */
int frames_read_rates(iso_problem *problem, struct frames *f);
int frames_find_live(iso_problem *problem, struct frames *f, int k, int64_t events);

/* units.c */
struct opt_set units_params(struct units *u);
int units_check(iso_problem *problem); /* after frames_check; before the data are read */
void units_free(struct units *u);

/* Once frames are settled: K, the unit of the image, and what its scale depends on, for the record. */
int units_settle(iso_problem *problem);
/* counts/mm in frame k for an image value of 1: T b / K for Bq/ml; 1 without calibration. */
double units_of_frame(const iso_problem *problem, int k);

/* method/method_cg.c: its parameters. */
struct opt_set cg_params(struct least_squares *q);

/* sens_floor.c: voxels that hardly any line crosses, by the rule that stands there. */
struct sens_floor {
	double share;          /* f of the rule; 0: no voxel is cut */
	unsigned char *unseen; /* 1: the voxel is cut; NULL: none is */
	int64_t cut, seen;     /* voxels: those, and all that have a sensitivity */
};

int sens_floor_find(struct sens_floor *f, const iso_real *s, const struct iso_grid *g);
void sens_floor_clear(const struct sens_floor *f, iso_real *images, int64_t n,
                      int64_t voxels); /* n images, 0 in voxels that are cut */
void sens_floor_free(struct sens_floor *f);
void sens_floor_plan(struct iso_plan *plan, const struct settings *s, const struct iso_grid *g);

/* recon_run.c */
/* A reconstruction under way. */
struct recon {
	iso_problem *problem;
	const struct model *m;
	const struct settings *s;
	struct record *record;
	iso_ctx *ctx;
	struct iso_grid grid;
	int64_t n, k;               /* images to make, and the one under way */
	bool series;                /* they are one 4-D image */
	struct iso_array x, images; /* the one under way, with the unit of all; those of a series */
	struct iso_array weight;    /* EM runs on weight x image; no values: on the image */
	struct sens_floor floor;    /* of the sensitivity */
	struct model_data data;
	iso_op *op;
	iso_op *kernel;         /* of 'method' kem: EM runs on alpha, the image is K alpha; else NULL */
	iso_op *penalty;        /* of least squares; else NULL */
	json_t *results;        /* a list, of the images behind us */
	bool shown;             /* images between iterations, to the caller of one of the ranks */
	double objective;       /* of the iteration behind us */
	struct iso_watch watch; /* for the live page */
};

struct recon recon_of(iso_problem *problem, int64_t n, bool series);

/* sens_floor.c: r->floor, of the sensitivity `s` that updates divide by, or of the weight where EM runs on weight x image;
   both become 0 in voxels that are cut. Told and recorded. */
int recon_floor(struct recon *r, struct iso_array *s);

void recon_free(struct recon *r);

/* The file's name that is the first `length` bytes of a text; and an image on the grid, an input of the record. */
int recon_path(char path[PATH_MAX], const char *text, int length);
int recon_read_image(struct recon *r, struct iso_array *a, const char *path, enum iso_values allowed);

/* An image of the problem, with its unit: from 'start', or of this value. */
int recon_start(iso_problem *problem, struct iso_array *x, iso_real value, enum iso_values allowed);
int recon_series(struct recon *r); /* room for the images of a series: (n, nz, ny, nx) */

/* How iso_em_run and its like are to run, on the image under way; the stage "reconstruct" begins. A
   checkpoint that 'resume' does not want is removed; one that it wants and is not there is told of, in
   frame 0. */
int recon_run(struct recon *r, struct iso_run *run, bool checkpoints);

/* Whose request to stop may end the writing of the image; NULL: nobody's, because the work of the iterations
   would be lost. And the status of that writing, with a message that names the file to go on from. */
const iso_ctx *recon_stop(const struct recon *r);
int recon_stopped(const struct recon *r, int st, const char *from);

/* What replicates of the run gave: dynamic/replicates.c. */
struct replicated;
struct covariances;

struct opt_set replicates_params(struct replicates *s);
int replicates_check(const iso_problem *problem); /* after the method was chosen; before data are read */
int replicates_files(iso_problem *problem, struct iso_names *names); /* as problem_check_files */
void replicates_plan(const struct recon *r, struct iso_plan *plan, int64_t rows);

int fisher_check(const iso_problem *problem); /* as replicates_check */
void fisher_plan(const struct recon *r, struct iso_plan *plan, int64_t rows);
/* 'fisher': the label image, before the iterations; `made` is to be freed also after a failure. */
int fisher_begin(struct covariances **made, struct recon *r);
/* After the run of a method that converges, at its image r->x: files, and what the record says. prior: of the run; of: what the
   run used and found. */
int fisher_run(struct covariances *made, const struct iso_prior_spec *prior, const struct iso_map_result *of,
               const iso_real *sens);
void fisher_free(struct covariances *made);

/* The label image, before the iterations; `made` is to be freed also after a failure. */
int replicates_begin(struct replicated **made, struct recon *r);
/* After the image itself, r->x: its replicates, from the same start. `sens`: as the run had it. */
int replicates_run(struct replicated *made, struct recon *r, const iso_real *start,
                   const struct iso_sens *sens);
int replicates_write(struct replicated *made, struct recon *r); /* files, before the image's own */
void replicates_free(struct replicated *made);

/* x.nii, "_sd": x_sd.nii; with a suffix that instead of its own. */
int recon_beside(char path[PATH_MAX], const struct settings *s, const char *what, const char *suffix);

/* Images of the coefficients of basis curves: kinetics/. */
struct opt_set kinetics_params(struct kinetics *k);
int kinetics_check(iso_problem *problem); /* after frames_check */
void kinetics_free(struct kinetics *k);
int kinetics_files(iso_problem *problem, struct iso_names *names); /* as problem_check_files */
void kinetics_plan(const struct recon *r, struct iso_plan *plan, int64_t rows);

/* What a run of them needs of whoever has the sensitivity. */
struct kinetic_host {
	int (*sens)(void *arg, struct iso_array *s); /* borrowed: the sensitivity, with PSF; after `select` */
	int (*rounds)(void *arg, int64_t bin); /* for the scatter of the bin that is selected; NULL: none */
	void *arg;
};
int kinetics_check_times(const struct frames *f, double duration_s); /* once the scan's duration is known */
int kinetics_run(struct recon *r, struct iso_array *to, const struct kinetic_host *host);

/* recon_sens.c: warns where the sensitivity image was made with other corrections than the run has. */
int recon_compare_sens(struct record *run, const char *path);

/* Hash of all that decides whether a checkpoint belongs to the run of frame k. */
int recon_key(iso_problem *problem, uint64_t *key, int64_t k);

/* The caller of iso_problem_recon has seen enough, of the image under way: those behind it are not made. `iteration`: how
   many of it were done. */
int recon_stopped_early(struct recon *r, int iteration);

/* The image behind what EM runs on, which may be itself; 0 where the weight is, K alpha of kernel EM. */
int recon_unweigh(const struct recon *r, iso_real *image, const iso_real *x);

/* The image under way: ISO_EINPUT where voxels are not finite; a warning where all are 0. */
int recon_check_image(struct recon *r);
void recon_keep_image(struct recon *r); /* into the series, where there is room */

/* What was made into `to`, where not NULL. */
void recon_give(struct recon *r, struct iso_array *to);

/* What was made of several data into file and record, and to the caller. */
int recon_finish(struct recon *r, struct iso_array *to);

/* ReconMethod* of the record, in the words of BIDS-PET: two parameters, and a list of their values, which is
   taken over. */
int recon_describe(struct recon *r, const char *first, const char *second, json_t *values);

/* recon_run.c: parameters in which the same run may differ, ends with NULL: they change neither the image nor which files
   are written. */
extern const char *const *const recon_may_differ;

/* recon_complete.c: where 'resume' finds the image at `path`, once the data are read. *complete: it is of this very run,
   whose checkpoints are removed; then the image is in `to`, where not NULL, and the record is the one beside it.
   ISO_EARG: it is of another run, and 'force' is not given. Collective. */
int recon_complete(iso_problem *problem, bool *complete, struct iso_array *to, const char *path);

/* Reconstruction from counts, frame by frame, and by least squares, image by image; the method's functions do the updates.
   The image goes to `to`, to settings.out, or both. */
int recon_em(iso_problem *problem, struct iso_array *to);
int recon_squares(iso_problem *problem, struct iso_array *to);

#endif
