/* SPDX-License-Identifier: BSD-3-Clause */
/* Model barrel: barrels of long strips, such as J-PET of 24 modules. The strips, their events and files, the operator, its
   sensitivity, simulation. Lengths are mm.

   Threads: a barrel is not written after its scanner was read; operators as in isotome/op.h. */
#ifndef ISOTOME_BARREL_H
#define ISOTOME_BARREL_H

#include "isotome/memory.h"
#include "isotome/op.h"
#include "isotome/ray.h"
#include "isotome/scanner.h"

ISO_BEGIN_C

/* ---- strips ---- */

/* A box along z. */
struct iso_barrel_strip {
	double x, y, z;              /* its middle, mm */
	double angle;                /* rad from x towards y: where its depth points */
	double width, depth, length; /* mm; width: across the depth */
};

/* All strips of a scanner, by their numbers, and the errors of a measured event. */
struct iso_barrel {
	int64_t n;
	const struct iso_barrel_strip *strip; /* (n) */
	int64_t first;                        /* number of the first strip in files: 0 or 1 */
	double mu;                            /* attenuation by the strips at 511 keV, 1/mm */
	double least_distance;                /* mm across the axis between the two strips of a pair */
	bool shadow;                          /* strips between those of a pair take photons */
	/* Four times, at both ends of both strips: */
	double end_sigma_ps;      /* error of one time; 0: what follows holds instead */
	double light_speed;       /* along a strip, mm/ps */
	double light_attenuation; /* length, mm; 0: the errors are the same everywhere */
	/* or places and time as such: */
	double sigma_z;     /* mm */
	double crt_fwhm_ps; /* resolution of t_a - t_b */
};

/* The strips of a scanner of the kind ISO_BARREL, valid as long as the scanner; NULL for another kind. */
const struct iso_barrel *iso_scanner_barrel(const iso_scanner *s);

/* Whether strips i and j, from 0, form a pair; and how many pairs there are. */
bool iso_barrel_pair(const struct iso_barrel *b, int64_t i, int64_t j);
int64_t iso_barrel_pairs(const struct iso_barrel *b);

/* From the axis to the nearest point of any strip, mm. */
double iso_barrel_inner(const struct iso_barrel *b);

/* For an event with both hits in the middle of the strips: the error of a place along a strip, and that of the difference of the
   two ways, mm. */
void iso_barrel_sigma(double *z, double *dl, const struct iso_barrel *b);

/* ---- events ---- */

/* Strips of the two hits, from 0; measured places along them; the way to a less the way to b, mm. */
struct iso_barrel_event {
	int32_t a, b; /* a = -1: the event is left out */
	iso_real z_a, z_b, dl;
};

struct iso_barrel_events {
	int64_t n;
	struct iso_barrel_event *v;
	/* events with a = -1, by what was wrong with them: */
	int64_t unknown;    /* a strip that the barrel does not have */
	int64_t no_pair;    /* one strip twice, or strips too near */
	int64_t not_finite; /* a value */
	int64_t far;        /* a hit beyond the end of its strip by more than five times its error */
	int64_t beyond;     /* kept: a hit beyond the end of its strip by less */
	/* lines of a text that are no events: */
	int64_t bad_lines, first_bad; /* how many, and the number of the first, from 1 */
	int64_t not_true;             /* lines left out because their type is not 1 */
	bool exact; /* the places are those of a simulation, which may be exact: options.smear makes them measured ones */
};

struct iso_barrel_options {
	size_t size;     /* size of this struct */
	double mm;       /* the file's unit of length; 0: 1 */
	bool swap_dt;    /* times are t_b - t_a */
	bool trues_only; /* GOJA: leave out events that scattered, and accidental ones */
	bool smear;      /* GOJA: add errors of the scanner, by `seed` */
	uint64_t seed;
};

/* By suffix: .npy, rows a, b, z_a, z_b (mm), t_a - t_b (ps) or records; .bin5, two uint32 and three float32 a record, of
   the same; any other: text, the 19 columns of GOJA or the 5 of j-pet-mlem. "-", standard input, and pipes hold what a .bin5 has.
   iso_barrel_events_check has seen the events. `o` may be NULL. */
ISO_CHECKED int iso_barrel_events_read(struct iso_barrel_events *e, const char *path,
                                       const struct iso_barrel *b, const struct iso_barrel_options *o);

/* The same of .bin5, pipes and "-", piece by piece, in bounded memory. `grows`: others still write to the file, so its end
   is where to wait for more; a pipe ends when its writers are gone. The barrel is borrowed. `o` may be NULL. */
typedef struct iso_barrel_file iso_barrel_file;
ISO_CHECKED int iso_barrel_file_open(iso_barrel_file **f, const char *path, const struct iso_barrel *b,
                                     const struct iso_barrel_options *o, bool grows);
void iso_barrel_file_close(iso_barrel_file *f);

/* Reads up to `most` available events into block->v, which has room for them. Sets n of the block, and what
   iso_barrel_events_check counts. If no event is available, it waits for up to wait_s seconds. n = 0 then means that no event
   came, or, with *end, that none will. */
ISO_CHECKED int iso_barrel_file_next(struct iso_barrel_events *block, bool *end, iso_barrel_file *f,
                                     int64_t most, double wait_s);

/* A file that grows by blocks, .npy or .bin5, as iso_event_writer. */
typedef struct iso_barrel_writer iso_barrel_writer;

/* Close frees the writer even if it fails. Free gives up, and leaves no file. */
ISO_CHECKED int iso_barrel_writer_open(iso_barrel_writer **w, const char *path, const struct iso_barrel *b);
/* Before each block, of a .npy: lifetimes of its events, ns. Rows then have the time in the scan, 0, and this behind them. */
ISO_CHECKED int iso_barrel_writer_lifetimes(iso_barrel_writer *w, const double *time_ns);
ISO_CHECKED int iso_barrel_writer_append(iso_barrel_writer *w, const struct iso_barrel_events *block);
ISO_CHECKED int iso_barrel_writer_close(iso_barrel_writer *w, const char *sidecar);
void iso_barrel_writer_free(iso_barrel_writer *w);
ISO_CHECKED int iso_barrel_write_check(const char *path, bool force); /* as iso_write_check */

/* Events first .. first + n - 1 of a simulated scan: emissions of `activity`, photons that the strips in their way take, `mu`
   (1/mm) in between, errors of the scanner. Event i depends on (seed, i) alone. *decays: what the events took. `mu` may be
   NULL. */
ISO_CHECKED int iso_barrel_simulate(struct iso_barrel_event *e, int64_t *decays, iso_ctx *ctx,
                                    const struct iso_barrel *b, const struct iso_array *activity,
                                    const struct iso_array *mu, uint64_t seed, int64_t first, int64_t n);

/* The same, and where each was emitted: x, y, z of n events, mm. */
ISO_CHECKED int iso_barrel_simulate_places(struct iso_barrel_event *e, float *place, int64_t *decays,
                                           iso_ctx *ctx, const struct iso_barrel *b,
                                           const struct iso_array *activity, const struct iso_array *mu,
                                           uint64_t seed, int64_t first, int64_t n);

/* Gives back what was read or simulated, and leaves zeros. */
void iso_barrel_events_free(struct iso_barrel_events *e);

/* Leaves out the events that are none of this barrel, and counts them. */
void iso_barrel_events_check(struct iso_barrel_events *e, const struct iso_barrel *b);

/* alpha[j] = exp(- integral of mu, 1/mm) between the hits of event j, 1 for events that are left out. */
ISO_CHECKED int iso_barrel_attenuation(iso_real *alpha, iso_ctx *ctx, const struct iso_barrel *b,
                                       const struct iso_array *mu, const struct iso_barrel_events *e);

/* ---- the model ---- */

/* Hits at their mean place in the depth of the strips with its spread in each direction; in the middle of the depth, with
   that of a box; on the axis of the strips. */
enum iso_barrel_kernel { ISO_BARREL_MOMENT, ISO_BARREL_DEPTH, ISO_BARREL_THIN };

struct iso_barrel_model {
	size_t size;                     /* size of this struct */
	const struct iso_barrel *barrel; /* copied */
	struct iso_grid grid;            /* voxels are square across the axis */
	enum iso_barrel_kernel kernel;
	bool no_edge;     /* leave out that hits lie on strips that end */
	double sigma_cut; /* an event reaches so many standard deviations far, 1 to 6; 0: 3 */
	int n_sub;
	enum iso_subset_rule rule;
	uint64_t seed;
};

/* A[j][v] = P(event j | emission at the centre of voxel v), 1/mm^3. Copies the events. With several ranks, each has all events
   and makes a share of the results. */
ISO_CHECKED int iso_barrel_create(iso_op **op, iso_ctx *ctx, const struct iso_barrel_model *p,
                                  const struct iso_barrel_events *e);
void iso_barrel_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_barrel_model *p, int64_t n);

/* The chance that an emission in a voxel is an event, n_sub, rule and seed apart. `mu`: attenuation, 1/mm; NULL: none. */
ISO_CHECKED int iso_barrel_sens(iso_real *s, iso_ctx *ctx, const struct iso_barrel_model *p,
                                const struct iso_array *mu);

/* Counts each event at its most likely place. `outside` counts events outside the image. */
ISO_CHECKED int iso_barrel_direct(iso_real *image, int64_t *outside, const struct iso_barrel_model *p,
                                  const struct iso_barrel_events *e);

ISO_END_C
#endif
