/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ray: line integrals along the LORs of list-mode events, with time of flight, attenuation,
   sensitivity, and events that do not fit memory. Lengths are mm, times ps, mu 1/mm.

   Threads: operators as in isotome/op.h; the functions of a source are called as it says. */
#ifndef ISOTOME_RAY_H
#define ISOTOME_RAY_H

#include "isotome/array.h"
#include "isotome/events.h"
#include "isotome/memory.h"
#include "isotome/motion.h"
#include "isotome/op.h"
#include "isotome/response.h"

ISO_BEGIN_C

enum iso_projector {
	ISO_SLICE,  /* exact chords through box voxels */
	ISO_JOSEPH, /* one bilinear sample a slice: smooth inside */
};

/* Which events make a subset; each rule depends on the event's number alone. */
enum iso_subset_rule {
	ISO_INTERLEAVED, /* subset b holds events b, b + n_sub, ... */
	ISO_BLOCKS,      /* consecutive events: blocks of time */
	ISO_RANDOM,      /* dealt at random, by seed */
	ISO_MOD,         /* model srm: direction (|dx| Ncz + |dz|) mod n_sub */
	ISO_GROUPS,      /* model srm: blocks of 4 x 4 neighbouring |dx|, |dz|, dealt evenly */
};

struct iso_ray {
	size_t size; /* size of this struct */
	struct iso_grid grid;
	enum iso_projector projector;
	int n_sub;
	enum iso_subset_rule rule;
	uint64_t seed;       /* of ISO_RANDOM */
	double tof_fwhm_ps;  /* 0: no time of flight */
	double tof_truncate; /* in sigma; 0: none */
	double tof_bin_ps;   /* width of a bin; 0: times are not binned */
	bool tof_centred;    /* times are the centres of bins; else they are rounded to multiples
				   of the width */
	int rays;            /* lines per event, spread over its two crystals; 0 or 1: one;
				   at most 64 */
	double spread_mm[2]; /* crystal faces: across (around z), and along z */
	/* With a context of several ranks (isotome/ranks.h), whose events are those of one list: the number in it of
	   each event here, borrowed while the operator is made, and how many it has. NULL and 0: the events
	   of one rank follow those of the rank before. */
	const int64_t *number;
	int64_t total;
	/* Parts of the events, such as gates: part[j], from 0, is that of event j here, borrowed while the operator is
	   made. Each subset is then cut into `parts` ranges of rows, and the operator has n_sub * parts subsets, of which
	   s * parts + p is part p of subset s; some may have no events. 0 and NULL: there are no parts. */
	int parts;
	const int32_t *part;
	/* Each event has a TOF resolution of its own, `fwhm_ps` of the events; tof_fwhm_ps is that of the scanner as a whole.
	   Rows are cut at tof_truncate of their own sigma. An event of tof_fwhm_ps has the row that it has without this, on the
	   CPU to the bit, on CUDA to 1e-4 of its greatest weight. Not with times in bins. */
	bool tof_each;
	/* The lines of an event lie where the crystals of `scanner` record photons, by its table of response: `rays` is then 1, 9, 25 or
	   49, and spread_mm is not looked at. Both are borrowed as long as the operator lives. NULL: none. */
	const iso_response *response;
	const iso_scanner *scanner;
};

/* Counts of a line, at most, that the fast EM step of CUDA serves: the terms of others keep enough bits. */
#define ISO_RAY_MOST_COUNT 256

/* A x = chord lengths times x (with TOF: the Gaussian's share of each chord), one row an event.
   Copies the events. With several ranks each rank gives its own events, which may be none, and has their rows.
   Images of adjoint and em_step, and the statistics of em_step, include the events of all ranks. n_sub and the
   rule count all events. */
ISO_CHECKED int iso_ray_create(iso_op **op, iso_ctx *ctx, const struct iso_ray *p,
                               const struct iso_events *e);
/* Seconds that ordering the events took, once, when the operator was made. */
double iso_ray_ordering_s(const iso_op *op);
/* On CUDA events go through bricks of voxels in the fastest memory, for which they are ordered. NULL, or the
   reason, in words, why those of this operator are traced one by one, many times slower: among others,
   that the device has no memory to order them. */
const char *iso_ray_plain(const iso_op *op);
void iso_ray_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_ray *p, int64_t n);

/* Where events come from that need not fit memory. A block is filled in v and, where the source has
   them, count, mult, add and fwhm_ps, whose meaning is that of struct iso_events; all have room. */
struct iso_ray_source {
	size_t size; /* size of this struct */
	int64_t n;   /* events in all */
	bool has_count, has_mult, has_add;
	/* Events first ... first + n - 1, into places 0 ... n - 1 of the block. Called on another
	   thread than the caller's, one call at a time. */
	int (*read)(void *arg, struct iso_events *block, int64_t first, int64_t n);
	/* The same events (some of them, where a subset was picked out), on the caller's thread, which
	   may compute on the context: attenuation. NULL: nothing is left to do. */
	int (*finish)(void *arg, struct iso_events *block);
	void *arg;
	bool has_times; /* `finish` needs the events' times: blocks have room for time_ms */
	bool has_fwhm;  /* blocks get fwhm_ps: as tof_each of the operator says */
};

/* The operator of iso_ray_create over all events of the source, `block` of them at a time, read
   ahead by a thread. It has em_step alone, and its data vectors are the source's: give none. Blocks
   are kept for the next pass as long as device (or host) memory has room for one more. Where
   subsets are not of consecutive events (ISO_BLOCKS), a pass over one reads the whole source. Where
   the source has counts, the first step begins with a pass that adds them up. Neither the blocks
   nor what is kept of them changes a bit of the result, which is that of iso_ray_create. The
   source's arg must outlive the operator. With several ranks each gives the same source of all events, and reads
   some of them; p->number is not looked at. */
ISO_CHECKED int iso_ray_stream_create(iso_op **op, iso_ctx *ctx, const struct iso_ray *p,
                                      const struct iso_ray_source *s, int64_t block);
void iso_ray_stream_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_ray *p,
                         const struct iso_ray_source *s, int64_t block);

/* A size of block, a power of 2, that leaves most of so many bytes to blocks that are kept. */
int64_t iso_ray_stream_block(const iso_ctx *ctx, const struct iso_ray *p, const struct iso_ray_source *s,
                             int64_t host, int64_t device);

/* Number of blocks of all subsets together, and how many are kept. */
void iso_ray_stream_state(int64_t *blocks, int64_t *kept, const iso_op *op);

/* A source rewritten once, subset by subset and finished, into a nameless file in `folder`: for
   iso_ray_stream_create with the same subsets by rule ISO_BLOCKS. `from` is read here, and not
   again. Free it after the operator. For one rank. */
typedef struct iso_ray_scratch iso_ray_scratch;
ISO_CHECKED int iso_ray_scratch_create(iso_ray_scratch **scratch, iso_ctx *ctx, const struct iso_ray *p,
                                       const struct iso_ray_source *from, const char *folder);
const struct iso_ray_source *iso_ray_scratch_source(const iso_ray_scratch *scratch);
void iso_ray_scratch_free(iso_ray_scratch *scratch);

/* Attenuation factors exp(-sum of chord x mu) of the events, file order. */
ISO_CHECKED int iso_ray_attenuation(iso_real *alpha, iso_ctx *ctx, const struct iso_array *mu,
                                    const struct iso_events *e);

/* Sensitivity: sum over the scanner's pairs of weight x efficiencies x attenuation x chord. Efficiencies are
   `eff` of the crystals times the efficiencies of pairs in the scanner's file. */
struct iso_ray_sens {
	size_t size; /* size of this struct */
	struct iso_grid grid;
	enum iso_projector projector; /* as that of the events; attenuation is by exact chords */
	int rays;                     /* the same; attenuation is along each line by itself */
	double spread_mm[2];
	const iso_scanner *scanner;
	const struct iso_array *mu; /* NULL: no attenuation; any grid */
	const iso_real *eff;        /* per crystal; NULL: 1 */
	/* 1: all pairs, one by one; less: this share, drawn at random; 0: all pairs of a cylinder by its equal
	   rings, where iso_ray_sens_by_rings allows it. The result equals that of all pairs to 1e-4, with eff and mu
	   to about 0.3 %. With more than 2e8 lines (CUDA: 1e9) several rings are taken as one, and the error is
	   about 1 %. */
	double share;
	uint64_t seed;
	/* For a scanner that came with efficiencies of pairs: use them only to know which pairs are in coincidence.
	   False: the sensitivity includes them, times eff. */
	bool coincidence_alone;
	/* As that of the events. Pairs then weigh D_a D_b (2 rho)^2 / (L^2 D_0^2), whatever the scanner's pair_weight says; share is
	   above 0. With a share below 1 each drawn pair has one of its lines, drawn at random. NULL: none. */
	const iso_response *response;
};

/* Whether share 0 can be asked for: the rings are equal, and, for ISO_JOSEPH, no line crosses more slices than
   columns of voxels. False for NULL, and for parameters that iso_ray_sens refuses. */
bool iso_ray_sens_by_rings(const struct iso_ray_sens *p);

/* `error`: relative standard error of the image as a whole, 0 with all pairs. Each update of an EM
   method divides by the image and so adds that error, voxel by voxel, to its own. s on the host. */
ISO_CHECKED int iso_ray_sens(iso_real *s, double *error, iso_ctx *ctx, const struct iso_ray_sens *p);
/* The values of mu and eff are not looked at. */
void iso_ray_sens_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_ray_sens *p);

/* ---- sensitivity of an object that moves ---- */

/* A map that does not move with the object: what stays with the scanner, the table top. */
struct iso_ray_beside {
	const struct iso_array *mu; /* NULL: none */
	/* Of each piece: a point x of the map's axes is at crystal place c = at x; NULL: the map lies in the scanner's axes */
	const struct iso_pose *at;
};

enum iso_ray_moved_way {
	ISO_RAY_MOVED_ALL,   /* all pairs at all pieces */
	ISO_RAY_MOVED_RINGS, /* translations on a cylinder: by the equal rings, on a grid that moves */
	ISO_RAY_MOVED_LINES, /* each pair at some of the pieces, spread evenly over neighbouring pairs */
};

/* Sensitivity of a scan in pieces, each with a pose of the object and a weight: the sum over pieces and pairs of weight x
   pair weight x efficiencies x attenuation x chord of the moved line. */
struct iso_ray_sens_moved {
	size_t size;              /* size of this struct */
	struct iso_ray_sens sens; /* sens.mu moves with the object; sens.share 0 is 1 */
	const struct iso_piece *piece;
	int64_t n; /* pieces, at least 1 */
	struct iso_ray_beside beside[2];
	/* All pairs at all pieces are taken up to so many lines; 0: never; < 0: 2e8 (CUDA: 3e9) */
	int64_t budget;
	double error; /* by lines: wanted relative error of a voxel, about; 0: 0.005 */
	double most; /* by lines: take about this many lines at most, even if the error is then larger; 0: any number */
};

struct iso_ray_moved_info {
	size_t size; /* size of this struct */
	enum iso_ray_moved_way way;
	double lines;   /* median number of lines that cross a voxel; 0: not counted */
	int64_t pieces; /* by lines: that each pair is at; else all of them */
	double error;   /* by lines: relative error of a voxel, about; else 0 */
};

/* s on the host; info may be NULL. The result has the same bits for any number of threads and ranks. Collective. */
ISO_CHECKED int iso_ray_sens_moved(iso_real *s, struct iso_ray_moved_info *info, iso_ctx *ctx,
                                   const struct iso_ray_sens_moved *p);

ISO_END_C
#endif
