/* SPDX-License-Identifier: BSD-3-Clause */
/* Scatter of model ray: parameters and the term itself in ray_scatter.c, the rounds that make it in ray_rounds.c, with
   their coarse images in ray_coarse.c and the counts that they balance in ray_counts.c, lines of crystal pairs and of
   events that they look at in ray_pairs.c, poses of an object that moves in ray_scatter_poses.c, estimates at lines in
   ray_scatter_lines.c, the scale that tails want in ray_tail.c, what a report shows of it in
   ray_seen.h. */
#ifndef ISO_RAY_SCATTER_H
#define ISO_RAY_SCATTER_H

#include "problem/model.h"

#include "isotome/scatter.h"

struct ray_problem;

/* An estimate, made with the object where a few pieces of the frame have it. */
struct ray_scatter_pose {
	iso_scatter_table *table;
	double weight;             /* of these pieces: of all together the share of time with a known pose */
	struct iso_pose z;         /* of the object */
	struct iso_pose beside[2]; /* of the maps that do not move with it */
};

struct ray_scatter {
	/* parameters */
	const char *method, *scale, *save;
	int64_t rounds, seed;
	double error, window_kev[2], resolution, poses_mm;
	bool extend;
	/* what they say */
	bool fit;     /* 'scatter-scale' fit, or */
	bool anyway;  /* fit-anyway */
	double times; /* 'scatter-scale' as a number; 1 with fit */
	/* the estimates in force: one where nothing moves */
	struct ray_scatter_pose *pose;
	int64_t poses, pieces;
	double *from_s;   /* beginning of each piece of the frame, */
	int64_t *pose_of; /* and its pose */
	double beyond_mm; /* farthest way of a piece from its pose: sample rings reach so far beyond the scanner's */
	double radius_mm;         /* of the clusters of pieces */
	iso_scatter_table *table; /* that of the first pose; NULL: not made yet, r has no scatter */
	double by; /* expected counts over m h / (alpha W): count balance and scale, over the unit of the image */
	double eta; /* mean efficiency of pairs, where only events and the sensitivity have theirs; else 1 */
	json_t *told;          /* of the frame under way, for its record; NULL: nothing yet */
	struct ray_seen *seen; /* of that frame: histograms of prompts; NULL: not kept */
};

/* ---- ray_scatter.c ---- */

enum { RAY_SCATTER_PARAMS = 10 };

void ray_scatter_params(struct opt *table, struct ray_scatter *s);

/* Whether 'scatter' is given. */
bool ray_scatter_on(const struct ray_problem *ray);

/* In load: ISO_EARG or ISO_EINPUT where the parameters, the scanner or the map can't be used. */
int ray_scatter_check(struct ray_problem *ray);
void ray_scatter_forget(struct ray_problem *ray); /* the estimate, and what was told */

/* What is to be estimated from an image; NULL: a plan that has none. */
struct iso_scatter ray_scatter_parameters(struct ray_problem *ray, const struct iso_array *image);

/* r[j] += by m_j h_j / W_j of the events, m without attenuation: expected scattered counts, per mm of the line or per bin
   with time of flight. Of an object that moves the events need times. */
int ray_scatter_add(struct ray_problem *ray, const struct iso_events *e, const iso_real *mult, iso_real *r);

double ray_met(const struct ray_problem *ray, const struct iso_event *e); /* W */

/* Warnings of an estimate, once it is the last. */
void ray_scatter_warn(struct ray_problem *ray, const struct iso_scatter_info *i);

/* What is told of a table: an object. */
json_t *ray_scatter_json(const struct ray_problem *ray, const struct iso_scatter_info *i);

void ray_scatter_plan(struct ray_problem *ray, struct iso_plan *plan);
/* See struct model. */
int ray_scatter_of_image(iso_problem *problem, const struct iso_array *image, iso_real *r, const char *table);
int ray_scatter_save(iso_problem *problem);           /* 'scatter-save', where it is given */
json_t *ray_scatter_told(const iso_problem *problem); /* of the frame; NULL: nothing */

/* ---- ray_scatter_poses.c ---- */

bool ray_scatter_moves(const struct ray_problem *ray); /* the object, or a map beside it */

/* The poses of the frame in force, without estimates. */
int ray_scatter_poses_make(struct ray_problem *ray);
void ray_scatter_poses_free(struct ray_scatter *s);
/* `one`: of a single estimate. */
void ray_scatter_poses_plan(struct ray_problem *ray, struct iso_plan *plan, const struct iso_plan *one);
int64_t ray_scatter_pose_at(const struct ray_scatter *s, uint32_t time_ms);

/* The tables of all poses from an image in counts/mm, in place of those in force. */
int ray_scatter_estimate(struct ray_problem *ray, const struct iso_array *image);

/* ---- ray_scatter_lines.c ---- */

/* h of events in the object's axes, by the estimates of their poses, and W of their lines there. */
int ray_scatter_moved_at(iso_real *h, iso_real *w, struct ray_problem *ray, const struct iso_events *e,
                         double bin_ps);

/* ---- ray_rounds.c ---- */

/* The estimate of the frame in force, from coarse reconstructions of it. `sens`: without PSF and the frame's factor; no
   values: the rows list all lines. k: number of the frame. */
int ray_rounds(iso_problem *problem, const struct iso_array *sens, int64_t k);

/* ---- ray_coarse.c ---- */

/* The grid of the rounds: voxels of block[] of those of g. */
struct iso_grid ray_coarse_grid(const struct iso_grid *g, int64_t block[3]);

/* S of a coarse voxel is the sum of S of those in it, times the factor; where some of it lies outside the grid, as if that
   saw as much. */
int ray_coarse_sens(struct iso_array *to, const struct iso_array *s, const int64_t block[3], double factor);

/* Before an estimate: a Gaussian of 10 mm within matter, and one within what lies away from it; each keeps what is even, up
   to the surface, and the sum. What lies near matter, up to 9 mm from it, goes to it first: decays are in matter, and it
   is the resolution of the scan that has some of them beside it, where they would scatter less, and least into the
   tails. */
int ray_coarse_smooth(iso_real *f, struct ray_problem *ray, const struct iso_grid *grid);

/* ---- ray_counts.c ---- */

struct ray_counts {
	double all, net; /* J, J - R */
	bool net_known;  /* else R is not known over all pairs: net is what the first image explains */
};

/* Of the frame in force; and the mean efficiency of pairs, where only events have theirs. */
int ray_count(struct ray_counts *c, struct ray_problem *ray);

/* Scattered counts of the frame that the table in force expects. */
int ray_scatter_sum(double *sum, struct ray_problem *ray);

/* ---- ray_pairs.c ---- */

/* Lines between crystals of the scanner, drawn evenly. */
struct ray_pairs {
	struct iso_events e; /* without times */
	double times;        /* pairs of the scanner that each stands for */
	double *eta;         /* expected scattered counts over h: efficiencies, and g */
	double *randoms;     /* expected randoms; NULL: there are none, or they are not known by pairs */
	bool *counted;       /* the pair is in coincidence */
};

int ray_pairs_draw(struct ray_pairs *p, struct ray_problem *ray, int64_t n, uint64_t seed);
/* Some of those n: places first ... first + n - 1 of `part`. */
int ray_pairs_part(struct ray_pairs *p, struct ray_problem *ray, int64_t n, uint64_t seed,
                   struct iso_rows part);
void ray_pairs_free(struct ray_pairs *p);

/* Expected scattered counts of each, of all u, by the tables in force with by = 1; by that of pose c, without its weight
   (ray_scatter_lines.c). */
int ray_pairs_scatter(iso_real *r, const struct ray_pairs *p, struct ray_problem *ray);
int ray_pairs_scatter_of(iso_real *r, const struct ray_pairs *p, struct ray_problem *ray, int64_t c);

/* Attenuation of each by pose c: by this map of the object, and by those that do not move with it. */
int ray_pairs_attenuation(iso_real *alpha, const struct ray_pairs *p, struct ray_problem *ray,
                          const struct iso_array *mu, int64_t c);

/* Some events of the frame: y counts (NULL: 1 each), m without attenuation, r without scatter. */
struct ray_some {
	struct iso_events
		e; /* lines and times of flight; time_ms where scatter of an object that moves needs it */
	const iso_real *count, *mult, *add;
};

/* All events of the frame that this rank has, block by block. */
int ray_each(struct ray_problem *ray,
             int (*block)(void *arg, struct ray_problem *ray, const struct ray_some *some), void *arg);

/* ---- ray_tail.c ---- */

/* k that lines beside the object want, by maximum likelihood. */
struct ray_tail {
	double k, error;  /* error: standard, of k */
	double counts;    /* of lines beside the object */
	double scattered; /* share of these that is scatter, by k */
	bool known;       /* enough of them: k is of use */
	bool contradicts; /* the absolute estimate: that is kept */
};

int ray_tail_fit(struct ray_tail *t, struct ray_problem *ray, const struct ray_pairs *pairs);

#endif
