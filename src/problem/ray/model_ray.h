/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ray as a problem, as its parts see it: events in ray_events.c, factors and additive term in
   ray_factors.c, events that stay on disk in ray_disk.c, what is taken where nobody says in ray_defaults.c, parameters
   and operator in model_ray.c. */
#ifndef ISO_MODEL_RAY_H
#define ISO_MODEL_RAY_H

#include "core/plan.h"
#include "problem/problem.h"
#include "core/loop/deal.h"
#include "file/cache.h"
#include "ray_gates.h"
#include "ray_motion.h"
#include "ray_scatter.h"
#include "ray_seen.h"

#include "isotome/ray_moved.h"
#include "isotome/timing.h"

/* Numbers of events in the order of time; NULL: they are in that order. */
struct ray_times {
	bool known;
	int64_t *number;
};

struct ray_problem {
	struct model_stream stream; /* first: see struct model */
	iso_problem *p;             /* whose self this is, from load on */
	/* parameters */
	const char *events, *scanner, *mu, *norm, *additive, *delayed, *singles, *projector, *cache,
		*times_file, *window, *response_file;
	int64_t size[3], rays, response_lines, sens_seed;
	double voxel[3], centre[3];
	double tof_fwhm_ps, tof_bin_ps, tof_truncate, share, duration_s, coincidence_ns;
	bool scanner_differs, precorrected, norm_inverse, additive_over_m, no_cache;
	struct iso_events_options read; /* how to read events */
	char events_help[700];          /* of the parameter, with the formats that there are */
	struct ray_scatter scatter;
	struct ray_motion motion;
	struct ray_gates gates;
	/* what they name */
	struct iso_grid grid;
	bool field; /* the grid is the scanner's field of view: outside its circle there is no image */
	struct iso_events e;  /* the file, or, where it is streamed or the run is dry, a
						   sample of it */
	int64_t n;            /* events of the file */
	iso_event_file *file; /* 'events', once ray_file was asked for it */
	/* several ranks, each of which has its share of the file in `e` */
	bool dealt;
	struct iso_deal deal;
	int64_t *in_file; /* number in the file of each of `e`; NULL: not dealt, event j is number j */
	struct ray_times times, late_times; /* of `e` and of `late` */
	iso_scanner *s;
	struct iso_array mu_map, factors, add; /* factors: 'norm'; add: 'additive' FILE */
	double add_constant;                   /* 'additive' R */
	struct iso_events late;                /* 'delayed' */
	const char *late_file;                 /* 'delayed', or 'events' that hold both; NULL */
	double *rate;                          /* 'singles', 'delayed' without times: per crystal */
	double tof, bin;                       /* in force, ps */
	iso_times *offsets;                    /* 'times'; NULL: none */
	iso_response *response;                /* 'response'; NULL: none */
	int64_t lines;                         /* of an event: 'rays', or 'response-lines' */
	struct response_view *weights;         /* that the scanner weighs pairs by */
	bool tof_each, of_crystals;            /* each event has a resolution; that of its two crystals */
	bool needs_add, needs_sens;            /* the additive term, the sensitivity are asked for */
	bool guessed;                          /* that the device holds the events */
	struct iso_plan_lack lack;             /* of memory for all events */
	struct ray_disk *disk;                 /* NULL: the events are in memory, */
	bool straight;                         /* from their file to the device, which holds all of them */
	bool dry;                              /* or would be if the run were not dry */
	/* the frame in force: `now` are its events, which are `e` where all are taken; number[j] is that of
	   event j in the file, in_frame[j] that in the frame, of all ranks; NULL: j */
	struct model_frame frame;
	struct iso_events now;
	const int64_t *number, *in_frame;
	int64_t *own_number, *own_in_frame; /* of a frame; NULL: those of `e` serve, or there are none */
	double unit, randoms;               /* of the file's additive term, of rate_a rate_b */
	double share_randoms; /* of rate_a rate_b, in the frame: counts of the pair at all times */
};

/* Events whose factors are wanted; number[j] is the place of event j in `norm` and `add`, which
   hold what 'norm' and 'additive' say of each event. NULL: place j, not said. */
struct ray_part {
	const struct iso_events *e;
	const int64_t *number;
	const iso_real *norm, *add;
};

/* model_ray.c */
struct iso_ray ray_parameters(struct ray_problem *ray, const struct model_subsets *s);
/* The operator over the events of the frame in force; on CUDA it is told why it is slow, if it is. */
int ray_make_op(struct ray_problem *ray, iso_op **op, const struct iso_ray *p);
/* An operator over n events, those of `e` over and over: to be timed. */
int ray_sample_op(struct ray_problem *ray, iso_op **op, iso_ctx *alone, int64_t n);
bool ray_draws_pairs(struct ray_problem *ray); /* for the sensitivity of its scanner: some of all */
void ray_plan_inputs(struct ray_problem *ray, struct iso_plan *plan,
                     bool cuda); /* that record_read did not count */

/* ray_response.c */
/* After the scanner: the table that 'response' names, by which lines lie and pairs weigh. */
int ray_response_load(struct ray_problem *ray);
void ray_response_free(struct ray_problem *ray);

/* ray_sens_cache.c */
/* iso_ray_sens of p, from the user's cache where the image is there, and into it where not; `from`: the file it came from,
   "": it was computed. Collective. */
int ray_sens_cached(struct ray_problem *ray, iso_real *s, double *error, const struct iso_ray_sens *p,
                    char from[PATH_MAX]);
/* The key of that image: it differs where a bit of the image may. */
int ray_sens_key(char key[ISO_CACHE_KEY], const iso_ctx *ctx, const struct iso_ray_sens *p);

/* ray_defaults.c */
/* Where 'scanner' names none: the scanner that the events' file brings; `needed`: else the one that the ends of its
   events suggest, with a warning. `s` stays NULL where there is none. */
int ray_find_scanner(struct ray_problem *ray, bool needed);
/* What 'grid' and 'voxel' do not say, from the scanner's field of view. */
int ray_field_of_view(struct ray_problem *ray);
/* Where the grid is that: S is 0 in its corners, near and behind the crystals, where few lines see much noise. */
void ray_clear_corners(const struct ray_problem *ray, iso_real *s);

/* ray_preset.c: see struct model; and what was chosen, into the record */
int ray_preset(iso_problem *problem);
struct opt ray_preset_param(struct settings *s);
int ray_preset_record(iso_problem *problem);

/* ray_events.c */
/* The file of events, opened when it is first asked for and closed with the rest: opening counts the events of some
   formats, which takes a pass through the file. NULL without a failure: there is none, or text, which is read whole;
   `pieces`: text is refused. */
int ray_file(struct ray_problem *ray, iso_event_file **f, bool pieces);
/* From a file of this scanner, with its hash for the record_input that follows. */
int ray_read_events(struct ray_problem *ray, struct iso_events *e, const char *path,
                    const struct iso_events_options *o);
/* A copy of what was set in place of the file, which must be there; n_bad is counted. */
int ray_given_events(struct ray_problem *ray, struct iso_events *e, const char *path);
int ray_load_events(struct ray_problem *ray, int need);
int ray_read_one(struct ray_problem *ray); /* all of 'events' into ray->e, told of and recorded */

/* What the file of events, if there is one, says besides them: pairs that are none, what is not used. Formats that are
   read whole say nothing. */
int ray_heed_file(struct ray_problem *ray);
int ray_load_tof(struct ray_problem *ray); /* of events that were read: what is in force */
/* FWHM in ps: the option's, else the events', else the scanner's; 0: no time of flight. */
double ray_tof_width(const struct ray_problem *ray);
int ray_select(iso_problem *problem, const struct model_frame *f);
void ray_unselect(struct ray_problem *ray);
void ray_forget_events(struct ray_problem *ray);
/* Of n events of the file, those that this rank has or would have. */
int64_t ray_events_here(const struct ray_problem *ray, int64_t n);
/* The events of `e` between two times, and their places in `e`; free both. The first call finds the order of their times. */
int ray_between(struct iso_events *part, int64_t **place, const struct iso_events *e, struct ray_times *t,
                const struct model_frame *f, const iso_ctx *ctx);

/* Events `chosen` of `e`, n of them, and `chosen`, which is taken over, as their places. */
int ray_take(struct iso_events *part, int64_t **place, const struct iso_events *e, int64_t *chosen, int64_t n,
             const iso_ctx *ctx);

/* ray_times.c */
struct opt ray_times_param(const char **path);
int ray_times_read(struct ray_problem *ray);  /* after the scanner */
int ray_times_begin(struct ray_problem *ray); /* after the bins of times; corrects events in memory */
int ray_times_correct(struct ray_problem *ray, struct iso_events *e); /* before their lines are moved */
void ray_times_end(struct ray_problem *ray);

/* ray_resolution.c */
/* Whether the events' own resolutions hold; after ray_load_tof. */
int ray_resolution_of_events(struct ray_problem *ray);
/* Else whether those of the crystals do, by 'times'; after the bins of times are settled. */
int ray_resolution_of_crystals(struct ray_problem *ray);
/* Event j of crystals a, b gets theirs, if they are in force; a < 0: a bad event. */
void ray_resolution_set(const struct ray_problem *ray, struct iso_events *e, int64_t j, int64_t a, int64_t b);

/* ray_factors.c */
int ray_load_factors(struct ray_problem *ray);
int ray_load_additive(struct ray_problem *ray);
int ray_data(iso_problem *problem, struct model_data *d);
/* The same with the scatter in force, which may be none. */
int ray_make_data(struct ray_problem *ray, struct model_data *d);
/* The randoms of all pairs, as far as crystals have rates: of the whole scan; after ray_prepare_data, in the frame. */
int ray_rates_sum(struct ray_problem *ray, double *sum);
int ray_randoms_sum(struct ray_problem *ray, double *sum);
/* In three steps, for events in memory or a block of them: what holds for all of a frame; counts, m
   without attenuation and r (NULL: not wanted); attenuation into m, or into the counts. */
int ray_prepare_data(struct ray_problem *ray);
int ray_fill(struct ray_problem *ray, const struct ray_part *p, iso_real *count, iso_real *mult,
             iso_real *add);
int ray_attenuate(struct ray_problem *ray, const struct iso_events *e, iso_real *count, iso_real *mult,
                  iso_real *add);
/* Values of 'norm' or 'additive' that streamed events read as they go: first ... first + n - 1. */
int ray_values(struct ray_problem *ray, iso_real *v, const char *path, int64_t first, int64_t n);
bool ray_has_additive(struct ray_problem *ray);
bool ray_norm_per_crystal(struct ray_problem *ray);
bool ray_norm_of_pairs(
	const struct ray_problem *ray); /* and it has factors of pairs, which the scanner holds */
bool ray_factors_per_event(struct ray_problem *ray); /* of 'norm' or the events' file */
bool ray_factors_not_in_sens(struct ray_problem *ray);

/* ray_bins.c: histograms that list all lines, whose sensitivity is the back-projection of their factors */
/* Whether the events' file says that it is one, where it is not loaded yet. */
int ray_lists_all(struct ray_problem *ray, bool *all);
/* Of each subset of `op`, an image each; of all, streamed ones too. */
int ray_bins_of_subsets(iso_problem *problem, iso_real *parts, iso_op *op);
int ray_bins_sens(struct ray_problem *ray, struct iso_array *s);
void ray_bins_plan(struct ray_problem *ray, struct iso_plan *plan);

bool ray_attenuated_by_file(struct ray_problem *ray); /* its factors hold the attenuation, and are in force */

/* ray_fbp.c: 'method' fbp, see struct model */
int ray_fbp(iso_problem *problem, struct iso_array *x);
int ray_fbp_check(iso_problem *problem);
void ray_fbp_plan(struct ray_problem *ray, struct iso_plan *plan);

/* ray_scale.c: see struct model */
json_t *ray_scale(iso_problem *problem);
int ray_calibration(iso_problem *problem, double *k);

enum { RAY_SAMPLE_CPU = 1 << 16, RAY_SAMPLE_CUDA = 1 << 20 }; /* events that tell how long all take */

/* ray_way.c */
int ray_way(iso_problem *problem, const struct iso_plan *plan); /* see struct model */
/* A scratch file in a folder that the user names. */
bool ray_scratch_asked(const struct ray_problem *ray);
/* Whether the method does not take events from a disk. */
bool ray_wants_memory(const struct settings *s);
/* Whether a scratch file saves more reading than it costs; `attenuates`: every pass traces the attenuation. */
bool ray_scratch_pays(const struct ray_problem *ray, const struct iso_ray *p, bool attenuates, bool once);
/* A folder with room for so many bytes: of the image, of TMPDIR, /var/tmp; false, and "": none has. */
bool ray_scratch_place(char place[PATH_MAX], const struct ray_problem *ray, int64_t bytes);

/* ray_disk.c */
/* m events of the frame from its number `first` on, to a block with room: lines, counts, m without attenuation, and r
   without scatter. Not while an operator reads. */
int ray_disk_block(struct ray_problem *ray, struct iso_events *block, int64_t first, int64_t m);
/* Place `at` of a block, as a block. */
struct iso_events ray_from_place(const struct iso_events *e, int64_t at);
/* The factors of m events from number `first` of the file on, to `block`, with their lines. */
int ray_disk_factors(struct ray_problem *ray, struct iso_events *block, int64_t first, int64_t m);
/* Streams if it is asked for, or if the file could be and does not fit; then `e` is a sample. */
int ray_disk_open(struct ray_problem *ray);
/* With the events read and the device open: streams after all where the device does not hold them. */
int ray_disk_turn(struct ray_problem *ray);
/* For 'dry-run': a sample, and the number of events; of text, which must be read to count, nothing. */
int ray_sample(struct ray_problem *ray);
void ray_disk_close(struct ray_problem *ray);
int ray_disk_select(struct ray_problem *ray, const struct model_frame *f);
void ray_disk_plan(struct ray_problem *ray, struct iso_plan *plan, const struct model_subsets *s);
int ray_disk_op(struct ray_problem *ray, iso_op **op, const struct model_subsets *s);
int ray_disk_describe(iso_problem *problem);

/* Why there is no scratch file: it would not pay, or there is one; or what is lacking. */
enum ray_without { RAY_NEEDS_NONE, RAY_NO_MEMORY, RAY_NO_DISK };

/* What was planned of events that stay on disk. */
struct ray_planned {
	double kept; /* share of the events that memory keeps: that of the device where there is one, */
	double held; /* and that the host holds for a device, in so many bytes */
	double held_bytes;
	double left;       /* share that every pass reads */
	const char *place; /* folder of the scratch file; "": none */
	enum ray_without without;
	int64_t bytes;   /* that such a file takes, or would take */
	bool attenuates; /* every pass over the file traces the attenuation */
};

struct ray_planned ray_disk_planned(struct ray_problem *ray, const struct model_subsets *s);
/* Seconds that reading all events takes, from a stretch of the file. */
int ray_disk_time(struct ray_problem *ray, double *seconds);

#endif
