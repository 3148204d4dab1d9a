/* SPDX-License-Identifier: BSD-3-Clause */
/* Model strip: two-strip J-PET, whose events are times alone; its events, files, operator and
   simulation. Lengths are mm.

   Threads: operators as in isotome/op.h; a file and a writer belong to one thread. */
#ifndef ISOTOME_STRIP_H
#define ISOTOME_STRIP_H

#include "isotome/memory.h"
#include "isotome/op.h"
#include "isotome/phantom.h"
#include "isotome/ray.h"
#include "isotome/scanner.h"

ISO_BEGIN_C

/* Two strips along z at y = +radius and -radius, |z| <= length / 2; errors of a measured event. */
struct iso_strips {
	double radius, length;    /* mm; radius: half the distance between the strips */
	double sigma_z, sigma_dl; /* mm */
	double sigma_z_growth;    /* sigma_z grows by this share to the ends; 0: constant */
	double gamma;             /* 1/mm^2: coupling of z and dl in the inverse covariance */
};

/* The strips of a scanner of the kind ISO_STRIPS; NULL for another kind. */
const struct iso_strips *iso_scanner_strips(const iso_scanner *s);

/* Hits on the upper and the lower strip, and the path to the upper less that to the lower, mm. */
struct iso_strip_event {
	float z_up, z_down, dl;
};

struct iso_strip_events {
	int64_t n;
	struct iso_strip_event *v;
	int64_t n_bad; /* non-finite: kept, but they are left out */
};

struct iso_strip_options {
	size_t size;     /* size of this struct */
	double mm;       /* of the file's unit of length; 0: 1 */
	bool dl_is_time; /* the third value is t_up - t_down, ps */
	const iso_ctx
		*ctx; /* for a whole file: its threads read, its memory limit applies, and its request to stop
				   ends the call; NULL: one thread; borrowed */
};

/* By suffix: .f32 or .raw (little-endian float32 triples), .txt (a triple a line), .npy (n, 3);
   "-", standard input, and other pipes hold float32 triples, unless they are named .txt.
   `options` may be NULL. */
ISO_CHECKED int iso_strip_events_read(struct iso_strip_events *e, const char *path,
                                      const struct iso_strip_options *o);
ISO_CHECKED int iso_strip_events_write(const char *path, const struct iso_strip_events *e,
                                       const char *sidecar);
void iso_strip_events_free(struct iso_strip_events *e);
ISO_CHECKED int iso_strip_events_write_check(const char *path, bool force); /* as iso_write_check */
bool iso_strip_event_bad(const struct iso_strip_event *e); /* as n_bad counts them; true of NULL */

/* The same piece by piece, in bounded memory. `grows`: others still write to the file, so its end
   is where to wait for more; a pipe ends when its writers are gone, whether or not it `grows`.
   A .npy, whose head counts its rows, can't grow. */
typedef struct iso_strip_file iso_strip_file;

/* `options` may be NULL. */
ISO_CHECKED int iso_strip_file_open(iso_strip_file **f, const char *path, const struct iso_strip_options *o,
                                    bool grows);
void iso_strip_file_close(iso_strip_file *f);
int64_t iso_strip_file_total(const iso_strip_file *f); /* its events; 0: known at its end only */

/* Reads up to `most` available events into block->v, which has room for them. Sets block's n and n_bad. If no
   event is available, it waits for up to wait_s seconds. n = 0 then means that no event came, or, with *end,
   that none will. */
ISO_CHECKED int iso_strip_file_next(struct iso_strip_events *block, bool *end, iso_strip_file *f,
                                    int64_t most, double wait_s);

/* A file that grows by blocks, as iso_event_writer. */
typedef struct iso_strip_writer iso_strip_writer;

/* n: events to come, 0 if not known. Close frees the writer even if it fails. Free gives up, and leaves no
   file. */
ISO_CHECKED int iso_strip_writer_open(iso_strip_writer **w, const char *path, int64_t n);
ISO_CHECKED int iso_strip_writer_append(iso_strip_writer *w, const struct iso_strip_events *block);
ISO_CHECKED int iso_strip_writer_close(iso_strip_writer *w, const char *sidecar);
void iso_strip_writer_free(iso_strip_writer *w);

enum iso_strip_kernel { ISO_STRIP_EQ7, ISO_STRIP_TAN, ISO_STRIP_GAUSS }; /* Bialas 2015 */

/* How CUDA goes about it: the image in shared memory, or the two ways of the paper. */
enum iso_strip_strategy { ISO_STRIP_FAST, ISO_STRIP_WARP, ISO_STRIP_THREAD };

struct iso_strip {
	size_t size; /* size of this struct */
	struct iso_strips strips;
	int64_t ny, nz; /* image (ny, nz), z fastest, centred */
	double pixel;   /* mm */
	enum iso_strip_kernel kernel;
	bool edge; /* ISO_STRIP_TAN: with the ends of the strips */
	enum iso_strip_strategy strategy;
	int n_sub;
	enum iso_subset_rule rule;
	uint64_t seed;
	/* With a context of several ranks (isotome/ranks.h), whose events are those of one list: the number in it of
	   each event here, borrowed while the operator is made, and how many it has. NULL and 0: the events
	   of one rank follow those of the rank before. */
	const int64_t *number;
	int64_t total;
};

/* The CPU adds up so many rows of a subset before their sum becomes integers: the images of several ranks are those
   of one, bit for bit, if no such chunk of rows, counted from the beginning of a subset, is divided between two ranks.
   That holds for one subset and for all at once (ISO_ALL).
   On CUDA any dealing gives the same bits. */
#define ISO_STRIP_CHUNK 1024

/* A[j][l] = P(e_j | pixel l) at its centre, 1/mm^3, inside the 3 sigma ellipse. Copies the events. With
   several ranks each rank gives its own events, which may be none, and has their rows. Images of adjoint and
   em_step, and the statistics of em_step, include the events of all ranks. n_sub and the rule count all events. */
ISO_CHECKED int iso_strip_create(iso_op **op, iso_ctx *ctx, const struct iso_strip *p,
                                 const struct iso_strip_events *e);
void iso_strip_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_strip *p, int64_t n);

/* The grid of a strip image: x is z of the strips, y is y, one plane. */
struct iso_grid iso_strip_grid(const struct iso_strip *p);

/* Sensitivity of each pixel, at its centre or (`corners`) 1/3 centre + 1/6 each corner. */
ISO_CHECKED int iso_strip_sens(iso_real *s, const struct iso_strip *p, bool corners);

/* Direct image: counts each event at its most likely place. `outside` counts events outside the image. */
ISO_CHECKED int iso_strip_direct(iso_real *image, int64_t *outside, const struct iso_strip *p,
                                 const struct iso_strip_events *e);

/* Decays of a phantom of ellipses, isotropic in the plane, kept if both photons hit the strips,
   then blurred; event i depends on (seed, i) alone. first .. first + n - 1 into host memory. */
ISO_CHECKED int iso_strip_simulate(struct iso_strip_event *e, iso_ctx *ctx, const struct iso_strips *strips,
                                   const iso_phantom *ellipses, uint64_t seed, int64_t first, int64_t n);

/* The same, events 0 .. n - 1 piece by piece, in memory that does not grow with n: `emit` sees each
   piece in turn, and stops the simulation by returning a failure. *decays: what the events took. */
typedef int (*iso_strip_emit_fn)(void *arg, const struct iso_strip_events *piece);
ISO_CHECKED int iso_strip_simulate_blocks(int64_t *decays, iso_ctx *ctx, const struct iso_strips *strips,
                                          const iso_phantom *ellipses, uint64_t seed, int64_t n,
                                          iso_strip_emit_fn emit, void *arg);
void iso_strip_simulate_plan(struct iso_plan *plan, const iso_ctx *ctx);

ISO_END_C
#endif
