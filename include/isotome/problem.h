/* SPDX-License-Identifier: BSD-3-Clause */
/* Problems: a model with its data and parameters, from files or arrays to the image and its record.

	iso_problem *p = NULL;

	iso_problem_open(&p, ctx, "scan.Cdh");
	iso_problem_recon(NULL, "x.nii", p);
	iso_problem_free(p);

   or with more parameters:

	iso_problem_create(&p, ctx, "ray");
	iso_problem_set(p, "events", "scan.Cdh");
	iso_problem_set(p, "grid", "128,128,64");
	iso_problem_set_real(p, "voxel", 2);
	iso_problem_recon(NULL, "x.nii", p);
	iso_problem_free(p);

   Each parameter has the name that `isotome recon MODEL --help` lists with two dashes before it. Values are
   text, as on the command line ("2,2,4", "true"). They are checked when they are set. Messages put
   the names of parameters in quotes: 'events'.

   Thread rule: a problem serves one thread at a time. Several threads may use several problems at once, of one
   context or of several. Within one context, one problem computes at a time. A NULL problem,
   name or destination is ISO_EARG, unless a comment says otherwise. */
#ifndef ISOTOME_PROBLEM_H
#define ISOTOME_PROBLEM_H

#include "isotome/array.h"
#include "isotome/events.h"
#include "isotome/live.h"
#include "isotome/memory.h"
#include "isotome/op.h"
#include "isotome/srm.h"
#include "isotome/strip.h"
#include "isotome/sound_stream.h"

ISO_BEGIN_C

typedef struct iso_problem iso_problem;

/* Name of model k ("ray"), NULL beyond the last. */
const char *iso_problem_model(int k);

/* What model k is for, in a few words; NULL beyond the last. */
const char *iso_problem_model_about(int k);

/* Whether a model has a parameter of this name. Takes no memory. */
bool iso_problem_knows(const char *name);

/* Creates a problem of this model, with all parameters at their defaults. The context must outlive it. */
ISO_CHECKED int iso_problem_create(iso_problem **p, iso_ctx *ctx, const char *model);
void iso_problem_free(iso_problem *p); /* NULL: nothing */

/* Finds the model for a file of data, and the parameter of the model that takes the file. List-mode events and
   histograms give "ray" and "events". Strip events give "strip" and "events". A recording of transducers gives
   "ubp" and "data". A system matrix gives "srm" and "srm". Both texts stay valid. ISO_EINPUT for any other
   file, and for rows of three numbers in a .npy, because two models read such rows. */
ISO_CHECKED int iso_problem_model_of(const char **model, const char **parameter, const char *path);

/* Creates a problem with this file and its model, and all other parameters at their defaults. */
ISO_CHECKED int iso_problem_open(iso_problem **p, iso_ctx *ctx, const char *path);

/* ---- parameters ---- */

enum iso_param_type { ISO_PARAM_FLAG, ISO_PARAM_INTEGER, ISO_PARAM_REAL, ISO_PARAM_TEXT };

enum iso_param_file {
	ISO_PARAM_NO_FILE,
	ISO_PARAM_READS,  /* the text names a file to read */
	ISO_PARAM_WRITES, /* a file to write */
	ISO_PARAM_PLACE,  /* a folder to write to */
};

/* What may take the place of a file in memory, and by which function. */
enum iso_param_takes {
	ISO_TAKES_NOTHING,
	ISO_TAKES_ARRAY,        /* iso_problem_set_array */
	ISO_TAKES_EVENTS,       /* iso_problem_set_events */
	ISO_TAKES_STRIP_EVENTS, /* iso_problem_set_strip_events */
	ISO_TAKES_MATRIX,       /* iso_problem_set_srm */
};

/* One parameter; all texts belong to the problem. */
struct iso_param {
	size_t size; /* sizeof(struct iso_param), set by the caller */
	const char *name;
	const char *group; /* "Model ray", "Least squares": parameters of one group stand together */
	enum iso_param_type type;
	int count;                /* numbers in a comma separated list; 0: one number */
	bool spread;              /* one number may stand for all of the list */
	double min, max;          /* range of each number, if min < max */
	const char *const *words; /* what a text may be, ends with NULL; NULL: anything */
	const char *unit;         /* unit of each number: "mm"; NULL: none */
	const char *absent;       /* the default in words; NULL: see `value` */
	const char *value_name;   /* "FILE", "MM" */
	const char *help;
	enum iso_param_file file;
	const char
		*value; /* present value, as iso_problem_set takes it, valid until the next call; "": none */
	enum iso_param_takes takes;
	bool or_number; /* a number may stand in place of the file */
};

/* Parameter k of the problem, from 0. ISO_EARG beyond the last, without a message. */
ISO_CHECKED int iso_problem_param(struct iso_param *param, iso_problem *p, int k);

/* ISO_EARG, with the nearest name or the range, if the name or value is none. ISO_EINPUT if the value names a file
   that can't be read; the parameter keeps its value then. The value is copied. If the data were loaded, the
   problem lets them go, and the next call loads them again. */
ISO_CHECKED int iso_problem_set(iso_problem *p, const char *name, const char *value);

/* The same from numbers, which no text rounds: one, a list ("grid", "voxel"), or a flag. */
ISO_CHECKED int iso_problem_set_int(iso_problem *p, const char *name, int64_t value);
ISO_CHECKED int iso_problem_set_real(iso_problem *p, const char *name, double value);
ISO_CHECKED int iso_problem_set_reals(iso_problem *p, const char *name, const double *value, int n);
ISO_CHECKED int iso_problem_set_flag(iso_problem *p, const char *name, bool value);

/* Sets an array in place of the file that a parameter names ("mu", "norm", "sens", "start", "data" ...). The
   values are copied. `device`: v is memory of the context's device. ISO_EARG if `takes` of the parameter is
   another kind. */
ISO_CHECKED int iso_problem_set_array(iso_problem *p, const char *name, const struct iso_array *a,
                                      bool device);

/* The same for list-mode events ("events", "delayed" of model ray), and of strips ("events"). */
ISO_CHECKED int iso_problem_set_events(iso_problem *p, const char *name, const struct iso_events *e);
ISO_CHECKED int iso_problem_set_strip_events(iso_problem *p, const struct iso_strip_events *e);

/* Sets a system matrix with its table in place of the file of 'srm' (model srm). The matrix is borrowed: it
   must outlive the problem and must not change. */
ISO_CHECKED int iso_problem_set_srm(iso_problem *p, const iso_srm *m);

/* Sets every parameter that was not set from the record of an earlier run, a JSON file. Names of outputs are
   not taken. */
ISO_CHECKED int iso_problem_like(iso_problem *p, const char *record);

/* ---- messages ---- */

enum iso_message_kind {
	ISO_WARNING, /* the record keeps it too */
	ISO_NEWS,    /* what a user should know while it runs */
	ISO_DETAIL,  /* for those who look closely */
};

typedef void (*iso_message_fn)(void *arg, enum iso_message_kind kind, const char *text);

/* Sets the function that gets messages, on the calling thread; NULL: none. The context reports progress. */
void iso_problem_set_message(iso_problem *p, iso_message_fn fn, void *arg);

/* ---- work: each function loads the data that it needs ---- */

/* Checks that the parameters go together, as iso_problem_load does first. No data are read, except what 'preset' looks at. */
ISO_CHECKED int iso_problem_check(iso_problem *p);

/* Reads and checks all that the parameters name. */
ISO_CHECKED int iso_problem_load(iso_problem *p);

/* Bytes that iso_problem_recon will take, from sizes alone; data are not read. */
ISO_CHECKED int iso_problem_plan(struct iso_plan *plan, iso_problem *p);

/* The grid of the image: as set, or as the data suggest. */
ISO_CHECKED int iso_problem_grid(struct iso_grid *g, iso_problem *p);

/* Rows of the data: events, LORs, samples; 0 on failure. */
int64_t iso_problem_rows(iso_problem *p);

/* Number of rows of this rank, as in its operator and in iso_problem_data; 0 on failure. With several ranks,
   models ray and strip have a part of the rows. In all other cases, and for events that stay on disk, these are
   all rows. */
int64_t iso_problem_own_rows(iso_problem *p);

/* The rows in the file's order as an array: its axes into dim, and their number; 0 on failure. Events, (rows); LORs of
   panels, (Ncx, Ncz, Ncx, Ncz), with layers (L, L, ...) before; traces, (transducers, samples); spectra, (transducers,
   lines, 2). */
int iso_problem_shape(int64_t dim[8], iso_problem *p);

/* The operator of all rows in the problem's subsets, behind its PSF; free with iso_op_free. The problem
   must outlive the operator. */
ISO_CHECKED int iso_problem_op(iso_op **op, iso_problem *p);

/* Vectors of the rows of this rank in the file's order, in host memory: counts y, mean additive term r,
   factors m. Free each with free(). A vector is NULL if the problem has none (y NULL: each row counts 1). */
ISO_CHECKED int iso_problem_data(iso_real **y, iso_real **r, iso_real **m, iso_problem *p);

/* The sensitivity image, with attenuation and efficiencies, behind the PSF. That of a scanner's crystal pairs comes from the
   user's cache where an earlier call kept it there; parameter 'cache' names another folder, or none. Voxels that 'sens-floor'
   leaves without activity are in it. */
ISO_CHECKED int iso_problem_sens(struct iso_array *s, iso_problem *p);

/* y = m A x + r, and x = A* (m y): rows in the file's order. */
ISO_CHECKED int iso_problem_project(struct iso_array *y, iso_problem *p, const struct iso_array *x);
ISO_CHECKED int iso_problem_backproject(struct iso_array *x, iso_problem *p, const struct iso_array *y);

/* Model ray with 'mu': the scatter that an image in counts/mm of chord makes, as 'scatter' (absent: sss+mc) says, in
   expected counts. r: one value an event in the file's order, with time of flight per mm of the line or per bin, as
   'additive' takes it; NULL: not wanted, and 'events' are not needed. `table`: a file of the estimate (iso_scatter_write);
   NULL: not wanted. */
ISO_CHECKED int iso_problem_scatter(struct iso_array *r, const char *table, iso_problem *p,
                                    const struct iso_array *image);

/* Reconstructs the image into `x`, which is 4-D (frames first) if there are several frames, into the file
   `path` with the record beside it, or into both. Either may be NULL. Checkpoints and images between iterations
   are written only beside `path`. An existing file, record or checkpoint is refused unless 'force' is true;
   'resume' continues a checkpoint. */
ISO_CHECKED int iso_problem_recon(struct iso_array *x, const char *path, iso_problem *p);

/* The image after an iteration. It belongs to the library, and is valid during the call. */
struct iso_iteration {
	size_t size;           /* sizeof(struct iso_iteration) of the library */
	int iteration;         /* done, of this frame */
	int iterations;        /* at most */
	int64_t frame, frames; /* which of several, from 0, and how many; 0 of 1 */
	double objective; /* log-likelihood (of subsets: the sum of theirs) or cost, as of struct iso_run */
	const struct iso_array *image; /* on the host */
};

/* ISO_OK: go on. ISO_ENOUGH: the image is good enough, iso_problem_recon ends with it, and with the frames before it;
   a 'filter' without 'filter-every' is applied to it; its record has "stopped_by_caller". ISO_ECANCEL or another
   failure: iso_problem_recon fails with that, the latter with iso_message() as the function left it, and leaves a
   checkpoint if it writes to a file. Must not call functions of the problem. */
typedef int (*iso_iteration_fn)(void *arg, const struct iso_iteration *step);

/* Sets the function that iso_problem_recon calls with the image of each iteration, on the calling thread;
   NULL: none, which costs nothing. Methods without iterations, 'follow' and frames without events do not call
   it. With several ranks each rank calls its own function, if it has one; if one of them asks to end, all ranks
   end. */
void iso_problem_set_each(iso_problem *p, iso_iteration_fn fn, void *arg);

/* Sets the live page that iso_problem_recon fills; NULL: none. The page must outlive the call, and has the
   context of the problem. A reader of the page can save a checkpoint if the run writes checkpoints, and with
   'follow' the image. With several ranks only the first has a page. */
void iso_problem_set_live(iso_problem *p, iso_live *live);

/* What a stream of frames has besides the parameters of its problem. */
struct iso_stream_options {
	size_t size;            /* sizeof(struct iso_stream_options) */
	int batch;              /* frames worked on together; 0: 1 */
	enum iso_sample sample; /* numbers of a frame */
	bool warm;              /* as in struct iso_sound_stream_setup */
	int wavelengths;        /* that take turns; 0: 1 */
};

/* A stream of frames (isotome/sound_stream.h) of model svoxel, with the problem's scanner, grid and lines, 'penalty',
   'nonneg' and 'iterations' (50 if not given). The data are not read. The stream outlives the problem. */
ISO_CHECKED int iso_problem_stream(iso_sound_stream **s, iso_problem *p, const struct iso_stream_options *o);

/* Writes an array with the record of the problem beside it. */
ISO_CHECKED int iso_problem_write(const char *path, iso_problem *p, const struct iso_array *a);

/* The record of the work so far, as JSON text; free it with free(). If there was a run with the present
   parameters, this is the record of the last run. */
ISO_CHECKED int iso_problem_record(char **text, iso_problem *p);

ISO_END_C

#endif
