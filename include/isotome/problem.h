/* SPDX-License-Identifier: BSD-3-Clause */
/* Problems: a model with its data and parameters, from files or arrays to the image and its record.

	iso_problem *p = NULL;

	iso_problem_open(&p, ctx, "scan.Cdh");
	iso_problem_recon(p, NULL, "x.nii");
	iso_problem_free(p);

   or with all that is to be said:

	iso_problem_create(&p, ctx, "ray");
	iso_problem_set(p, "events", "scan.Cdh");
	iso_problem_set(p, "grid", "128,128,64");
	iso_problem_set(p, "voxel", "2");
	iso_problem_recon(p, NULL, "x.nii");
	iso_problem_free(p);

   Each parameter has a name, the one that `isotome recon MODEL --help` lists with two dashes before it;
   values are text, as on the command line ("2,2,4", "true"), and checked as they are set. Messages put
   the names of parameters in quotes: 'events'.

   Thread rule: a problem serves one thread at a time. Several problems, of one context or of several,
   may be used by several threads at once; of one context, one of them computes at a time. A NULL problem,
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

ISO_BEGIN_C

typedef struct iso_problem iso_problem;

/* Name of model k ("ray"), NULL beyond the last. */
const char *iso_problem_model(int k);

/* A problem of that model, with all parameters at their defaults. The context must stay. */
int iso_problem_create(iso_problem **p, iso_ctx *ctx, const char *model);
void iso_problem_free(iso_problem *p); /* NULL: nothing */

/* The model that a file of data is of, and its parameter that takes the file, by what the file holds: list-mode events
   or a histogram "ray" and "events", strip events "strip" and "events", a recording of transducers "ubp" and "data", a
   system matrix "srm" and "srm". Both texts stay. ISO_EINPUT for any other file, and for rows of three numbers in a
   .npy, which two models have. */
int iso_problem_model_of(const char **model, const char **parameter, const char *path);

/* A problem of that model with that file, and all else at the defaults. */
int iso_problem_open(iso_problem **p, iso_ctx *ctx, const char *path);

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
	const char *group; /* "Model ray", "Least squares": those of one group stand together */
	enum iso_param_type type;
	int count;                /* numbers in a comma separated list; 0: one number */
	bool spread;              /* one number may stand for all of the list */
	double min, max;          /* of each number, where min < max */
	const char *const *words; /* what a text may be, ends with NULL; NULL: anything */
	const char *unit;         /* of each number: "mm"; NULL: none */
	const char *absent;       /* what holds when not set, in words; NULL: `value` */
	const char *value_name;   /* "FILE", "MM" */
	const char *help;
	enum iso_param_file file;
	char value[256]; /* now, as iso_problem_set takes it; "": none */
	enum iso_param_takes takes;
};

/* Parameter k of the problem, from 0; ISO_EARG beyond the last, of which there is no message. */
int iso_problem_param(const iso_problem *p, int k, struct iso_param *param);

/* ISO_EARG, with the nearest name or the range, if the name or value is none. The value is copied. After
   the data were loaded they are let go: the next call loads them anew. */
int iso_problem_set(iso_problem *p, const char *name, const char *value);

/* An array in place of the file that a parameter names ("mu", "norm", "sens", "start", "data" ...): its
   values are copied, so it need not stay. `device`: v is memory of the context's device. ISO_EARG where `takes` of
   the parameter is another kind. */
int iso_problem_set_array(iso_problem *p, const char *name, const struct iso_array *a, bool device);

/* The same for list-mode events ("events", "delayed" of model ray), and of strips ("events"). */
int iso_problem_set_events(iso_problem *p, const char *name, const struct iso_events *e);
int iso_problem_set_strip_events(iso_problem *p, const struct iso_strip_events *e);

/* A system matrix that has its table in place of the file of 'srm' (model srm): borrowed, it must outlive the
   problem and stay as it is. */
int iso_problem_set_srm(iso_problem *p, const iso_srm *m);

/* Sets what was not set from the record of an earlier run, a JSON file; but not what is written. */
int iso_problem_like(iso_problem *p, const char *record);

/* ---- messages ---- */

enum iso_message_kind {
	ISO_WARNING, /* the record keeps it too */
	ISO_NEWS,    /* what a user should know while it runs */
	ISO_DETAIL,  /* for those who look closely */
};

typedef void (*iso_message_fn)(void *arg, enum iso_message_kind kind, const char *text);

/* Whom to tell, on the thread that called; NULL: nobody. Progress is the context's. */
void iso_problem_set_message(iso_problem *p, iso_message_fn fn, void *arg);

/* ---- work: each loads what it needs and has not been loaded ---- */

/* Reads and checks all that the parameters name. */
int iso_problem_load(iso_problem *p);

/* Bytes that iso_problem_recon will take, from sizes alone; data are not read. */
int iso_problem_plan(iso_problem *p, struct iso_plan *plan);

/* The grid of the image: as set, or what the data suggest. */
int iso_problem_grid(iso_problem *p, struct iso_grid *g);

/* Rows of the data: events, LORs, samples; 0 on failure. */
int64_t iso_problem_rows(iso_problem *p);

/* Of them, those of this rank, which its operator has and iso_problem_data: of ray and strip over several ranks some,
   else all; 0 on failure. Of events that stay on disk, which neither of the two takes: all. */
int64_t iso_problem_own_rows(iso_problem *p);

/* The rows in the file's order as an array: its axes into dim, and their number; 0 on failure. Events, (rows); LORs of
   panels, (Ncx, Ncz, Ncx, Ncz), with layers (L, L, ...) before; traces, (transducers, samples); spectra, (transducers,
   lines, 2). */
int iso_problem_shape(iso_problem *p, int64_t dim[8]);

/* The operator of all rows in the problem's subsets, behind its PSF; free with iso_op_free. The problem
   must outlive the operator. */
int iso_problem_op(iso_problem *p, iso_op **op);

/* Vectors of the rows of this rank in the file's order, host memory, each to be freed with free(): counts y, mean
   additive term r, factors m; NULL where there are none (y: each row counts 1). */
int iso_problem_data(iso_problem *p, iso_real **y, iso_real **r, iso_real **m);

/* The sensitivity image, with attenuation and efficiencies, behind the PSF. That of a scanner's crystal pairs comes from the
   user's cache where an earlier call kept it there; parameter 'cache' names another folder, or none. Voxels that 'sens-floor'
   leaves without activity are in it. */
int iso_problem_sens(iso_problem *p, struct iso_array *s);

/* y = m A x + r, and x = A* (m y): rows in the file's order. */
int iso_problem_project(iso_problem *p, struct iso_array *y, const struct iso_array *x);
int iso_problem_backproject(iso_problem *p, struct iso_array *x, const struct iso_array *y);

/* Model ray with 'mu': the scatter that an image in counts/mm of chord makes, as 'scatter' (absent: sss+mc) says, in
   expected counts. r: one value an event in the file's order, with time of flight per mm of the line or per bin, as
   'additive' takes it; NULL: not wanted, and 'events' are not needed. `table`: a file of the estimate (iso_scatter_write);
   NULL: not wanted. */
int iso_problem_scatter(iso_problem *p, const struct iso_array *image, struct iso_array *r,
                        const char *table);

/* The image: into `x`, which is 4-D (frames first) where there are several; into the file `path` with
   the record beside it; or both. The other may be NULL. Checkpoints and images between iterations are
   written beside `path` alone. An existing file, record or checkpoint is refused unless 'force' is
   true; 'resume' continues a checkpoint. */
int iso_problem_recon(iso_problem *p, struct iso_array *x, const char *path);

/* The image after an iteration; all of it is the library's, and stays for the time of the call. */
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
   checkpoint, where it writes to a file. Must not call functions of the problem. */
typedef int (*iso_iteration_fn)(void *arg, const struct iso_iteration *step);

/* Whom iso_problem_recon shows the image of each iteration, on the thread that called; NULL: nobody, which costs
   nothing. Methods without iterations, 'follow' and frames without events show none. Of several ranks each shows it to
   its own function, where it has one; what one of them wants holds for all. */
void iso_problem_set_each(iso_problem *p, iso_iteration_fn fn, void *arg);

/* The live page that iso_problem_recon fills from now on; NULL: none. It must stay for the time of the call, and its
   context is that of the problem. The page may save a checkpoint where one would be written, and with 'follow' the
   image. Of several ranks one, the first, has a page. */
void iso_problem_set_live(iso_problem *p, iso_live *live);

/* Writes an array with the record of the problem beside it. */
int iso_problem_write(iso_problem *p, const char *path, const struct iso_array *a);

/* The record of what was done so far, JSON text to be freed with free(): of the last run, once there was one with the
   parameters as they are. */
int iso_problem_record(iso_problem *p, char **text);

ISO_END_C

#endif
