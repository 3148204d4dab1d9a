/* SPDX-License-Identifier: BSD-3-Clause */
/* What the studies of all papers share: devices, the numbers that go into results.json, and the page,
   which a template of HTML makes of these numbers and of tables, pictures and curves. */
#ifndef ISO_STUDY_H
#define ISO_STUDY_H

#include "bench/bench.h"
#include "report/markup/svg.h"

#include <math.h>

enum { STUDY_PARTS = 1, STUDY_COUNTS = 2 }; /* --only and --msot; --events and --seeds */
enum study_scale { STUDY_TINY, STUDY_SMALL, STUDY_FULL };

/* The state of every study begins with this. */
struct study {
	struct cmd *c;
	enum study_scale scale;
	iso_ctx *cpu, *cuda; /* cuda: NULL if there is none; one of them is the command's own */
	iso_ctx *fast;       /* CUDA where there is one, else the CPU */
	const char *only;    /* part to run: study, experiment or times; NULL: all */
	const char *msot;    /* file of a recording, whole path; NULL: none */
	double events;       /* of a scan; 0: as the scale has them */
	int64_t seeds;       /* scans to see noise from; 0: as the scale has them */
	json_t *page;        /* what the template shows besides the results */
	bool failed;         /* a value could not be kept */
};

/* A paper as `isotome reproduce` sees it. Its functions get the state; all but the plan work in the
   folder of the outputs. */
struct paper {
	const char *template;     /* of the page; its first line is the title */
	const char *outputs;      /* names of images, a space between; checked before the work */
	size_t bytes;             /* of the state, which begins as zeros */
	int (*plan)(void *state); /* ends in cmd_plan */
	int (*run)(void *state);
	void (*release)(void *state); /* NULL: nothing is kept */
	int takes;                    /* options of its own: STUDY_PARTS, STUDY_COUNTS */
};

extern const struct paper paper_vangendt, paper_bialas, paper_meng, paper_chou, paper_wang, paper_nema,
	paper_priors;

/* Plans and runs from this beginning, then writes report.html and results.json. */
int study_run(const struct paper *p, const struct study *begin);

/* ISO_ECANCEL after a signal: not all contexts hear of it. */
int study_poll(const struct study *s);

/* p = zeroed memory for n items of its type. */
#define STUDY_NEW(p, n) BENCH_ALLOC("reproduce", p, n)

/* Polls, ends the stage before, and begins one of the record's times. */
int study_stage(struct study *s, const char *name);

/* Description of a ring like the clinical one, with few large crystals: `rings`, a literal number, of 10 mm each. */
#define STUDY_SHORT_RING(rings)                                \
	"kind: cylinder\n"                                     \
	"name: short ring\n"                                   \
	"radius_mm: 330\n"                                     \
	"rings: " #rings "\n"                                  \
	"ring_pitch_mm: 10\n"                                  \
	"crystals_per_ring: 144\n"                             \
	"crystal_mm: [14.4, 9.8, 20]\n"                        \
	"interaction_depth_mm: 7\n"                            \
	"min_crystal_distance: 24\n"                           \
	"tof: {fwhm_ps: 390, bin_ps: 83}\n"                    \
	"time: {coincidence_ns: 4.5}\n"                        \
	"energy: {window_kev: [435, 650], resolution: 0.11}\n" \
	"pair_weight: solid-angle\n"

/* The scanner of this description, which goes with the results as scanner.yaml. */
int study_scanner(iso_scanner **scanner, const char *text);

/* A phantom on a grid, from samples^3 points in voxels that a surface crosses; x is made. */
int study_phantom(struct iso_array *x, const struct study *s, const char *name, const double at[3],
                  const struct iso_grid *g, int samples);

/* A x, or A* y, of vectors on the host, data in the operator's order. */
int study_apply(iso_real *to, iso_op *op, bool adjoint, const iso_real *from);

/* ---- numbers: they take over `value`, also when they fail ---- */

/* A key of the results; of the page alone; a row of a list of the page. */
void study_result(struct study *s, const char *key, json_t *value);
void study_show(struct study *s, const char *key, json_t *value);
void study_row(struct study *s, const char *list, json_t *row);

/* ---- pictures and curves: HTML, added to what the page has under that key ---- */

/* A picture with its name below; `alt` says what is seen, `note` may be "". Frees the pixels. */
int study_picture(struct study *s, const char *key, struct iso_pixels *p, const char *name, const char *alt,
                  const char *note);

/* A plane of values: pixel (i, j) from the lower left corner is v[i step_right + j step_up], from
   black at 0 to the last colour at `top`; zoom x zoom pixels each, or `stretch` times as high. */
struct study_plane {
	int64_t right, up, step_right, step_up;
	const iso_real *v;
	double top;
	int64_t zoom, stretch; /* stretch: 0: 1 */
};

int study_draw(struct study *s, const char *key, const struct study_plane *plane, const char *name,
               const char *alt, const char *note);

/* Curves, the first of them dashed, in a chart that begins at 0. */
void study_chart(struct study *s, const char *key, const char *label, const char *x_label,
                 const char *y_label, int n, const struct iso_svg_curve *curve);

/* Text for names and notes, in a buffer of the calling thread; the last four stay valid. The other is
   1.5e6, for counts. */
const char *study_text(const char *fmt, ...) ISO_PRINTF(1, 2);
const char *study_short(double v);

/* Fills in a template, whose tags template.c explains; `inner` is searched before `outer`. */
void template_put(struct iso_text *t, const char *template, const json_t *inner, const json_t *outer);

#endif
