/* SPDX-License-Identifier: BSD-3-Clause */
/* Isotome: from tomography measurements to images.

   Conventions (docs/conventions.md has them all):
   - lengths are mm, time differences ps; any other unit is in the name;
   - images are (nz, ny, nx), x fastest, and voxel i has its centre at
     centre + (i - (n-1)/2) * voxel;
   - destination before source, as in memcpy;
   - every function that can fail returns ISO_OK (0) or a negative code, and leaves one line
     about it in iso_message(). A result leaves through the first argument, on success only. */
#ifndef ISOTOME_H
#define ISOTOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Storage of images and data. The tests also build the CPU library in double. */
#ifdef ISO_DOUBLE
typedef double iso_real;
#else
typedef float iso_real;
#endif

const char *iso_version(void);

/* ---- status ------------------------------------------------------------------------- */

enum iso_status {
	ISO_OK = 0,
	ISO_EARG = -1,    /* an argument or option is wrong */
	ISO_EINPUT = -2,  /* an input file is missing, damaged, or holds values not allowed */
	ISO_EIO = -3,     /* the system failed to read or write */
	ISO_ENOMEM = -4,  /* it does not fit the memory of host or device */
	ISO_EDEVICE = -5, /* the device is not there, or failed */
	ISO_EBUSY = -6,   /* an operator was called while it served another caller */
	ISO_ECANCEL = -7, /* iso_ctx_cancel was called */
};

/* Message of the last failure on this thread: one line, who, what it got, what it wanted. */
const char *iso_message(void);

/* ---- context ------------------------------------------------------------------------ */

typedef struct iso_ctx iso_ctx;

/* device: "cpu", "cuda", "cuda:N", or "auto" (CUDA where there is one, else CPU).
   threads: CPU threads, 0 for all cores. */
int iso_ctx_create(iso_ctx **ctx, const char *device, int threads);
void iso_ctx_free(iso_ctx *ctx);

bool iso_ctx_is_cuda(const iso_ctx *ctx);
const char *iso_ctx_device(const iso_ctx *ctx);      /* "cpu", "cuda:0" */
const char *iso_ctx_device_name(const iso_ctx *ctx); /* "2 threads", "NVIDIA H200" */
int iso_ctx_threads(const iso_ctx *ctx);

/* Work on the caller's cudaStream_t from now on; it must outlive the context. */
int iso_ctx_set_stream(iso_ctx *ctx, void *stream);

/* Host memory the context may plan for; 0 (the default) is what the machine has free. */
void iso_ctx_set_memory_limit(iso_ctx *ctx, int64_t bytes);

/* Ask long calls to stop with ISO_ECANCEL; safe in a signal handler. It holds for good: what goes
   on needs a new context. */
void iso_ctx_cancel(iso_ctx *ctx);
bool iso_ctx_cancelled(const iso_ctx *ctx);

/* Progress of a long call: `done` of `total` steps of `stage`, `left_s` seconds to go (negative:
   not known yet), `note` one line about the step, or NULL. Called on the calling thread, first as
   the stage begins, with elapsed_s 0. */
struct iso_progress {
	const char *stage;
	int64_t done, total;
	double elapsed_s, left_s;
	const char *note;
};
typedef void (*iso_progress_fn)(void *arg, const struct iso_progress *p);
void iso_ctx_set_progress(iso_ctx *ctx, iso_progress_fn fn, void *arg);

/* ---- memory plans ------------------------------------------------------------------- */

/* What a call will allocate, from sizes alone. */
struct iso_plan {
	struct iso_plan_line {
		const char *what;
		int64_t host, device; /* bytes */
	} line[32];
	int n;
};

/* ISO_ENOMEM, naming the sizes, if the plan exceeds the limit or what is free. */
int iso_plan_check(const struct iso_plan *plan, const iso_ctx *ctx);

/* ISO_ENOMEM, naming `what` and the sizes, if `bytes` more on the host exceed what is left of the
   limit: what the process has come to hold since the context was made counts, but for 4 MiB. Without
   a limit, or with NULL for the context: if they exceed what the machine has free. */
int iso_memory_check(const iso_ctx *ctx, const char *what, int64_t bytes);

/* ---- grids -------------------------------------------------------------------------- */

/* A box of voxels; index 0, 1, 2 is x, y, z. */
struct iso_grid {
	int64_t n[3];
	double voxel[3];  /* mm */
	double centre[3]; /* mm */
};

/* Sizes at least 1, voxels positive and finite, centre finite, voxel count within 64 bits. */
int iso_grid_check(const struct iso_grid *g);
int64_t iso_grid_voxels(const struct iso_grid *g);
bool iso_grid_same(const struct iso_grid *a, const struct iso_grid *b); /* to 1e-4 of a voxel */

/* ---- vectors: what algorithms need, one table per device ------------------------------ */

struct iso_vec {
	int (*alloc)(iso_ctx *ctx, void **p, int64_t bytes); /* zeroed */
	void (*free)(iso_ctx *ctx, void *p);
	int (*upload)(iso_ctx *ctx, void *dst, const void *host, int64_t bytes);
	int (*download)(iso_ctx *ctx, void *host, const void *src, int64_t bytes);
	int (*copy)(iso_ctx *ctx, int64_t n, iso_real *y, const iso_real *x);
	int (*fill)(iso_ctx *ctx, int64_t n, iso_real *x, double value);
	int (*axpy)(iso_ctx *ctx, int64_t n, iso_real *y, double a, const iso_real *x); /* y += a x */
	int (*mul)(iso_ctx *ctx, int64_t n, iso_real *z, const iso_real *x, const iso_real *y);
	/* z = x / y, 0 where y <= 0 */
	int (*div)(iso_ctx *ctx, int64_t n, iso_real *z, const iso_real *x, const iso_real *y);
	/* EM update: x = acc / (scale * sens); x stays where sens <= 0 */
	int (*update)(iso_ctx *ctx, int64_t n, iso_real *x, const iso_real *acc, const iso_real *sens,
	              double scale);
	int (*dot)(iso_ctx *ctx, int64_t n, double *r, const iso_real *x, const iso_real *y);
	int (*asum)(iso_ctx *ctx, int64_t n, double *r, const iso_real *x); /* sum of |x| */
	/* uniform in (0,1), the same numbers on every device: Philox, counter i, key seed */
	int (*uniform)(iso_ctx *ctx, int64_t n, iso_real *x, uint64_t seed);
};

const struct iso_vec *iso_ctx_vec(const iso_ctx *ctx);

/* ---- operators ---------------------------------------------------------------------- */

/* y = A x, x = A* y, with the rows (data) of A in n_sub subsets, each one contiguous range.
   Vectors live on the context's device. An operator serves one caller at a time (ISO_EBUSY). */
typedef struct iso_op iso_op;

#define ISO_ALL (-1) /* every subset */

struct iso_rows {
	int64_t first, n;
};

iso_ctx *iso_op_ctx(const iso_op *op);
int64_t iso_op_n_in(const iso_op *op);
int64_t iso_op_n_out(const iso_op *op);
int iso_op_n_sub(const iso_op *op);
struct iso_rows iso_op_rows(const iso_op *op, int sub);

/* Both overwrite their destination. y is the whole data vector, in the operator's order; forward
   writes and adjoint reads the rows of `sub` only. */
int iso_forward(iso_op *op, int sub, iso_real *y, const iso_real *x);
int iso_adjoint(iso_op *op, int sub, iso_real *x, const iso_real *y);

/* The data side of EM, vectors of n_out in the operator's order; each may be NULL. */
struct iso_em_data {
	const iso_real *y;    /* counts; NULL: all ones (list mode) */
	const iso_real *add;  /* additive term over the multiplicative factor, r/m; NULL: 0 */
	const iso_real *mult; /* multiplicative factor m; NULL: 1. Rows with m = 0 are skipped;
				   otherwise m enters the log-likelihood alone */
};

struct iso_em_stat {
	double loglik;         /* sum of y log(m (Ax + add)) over the rows used */
	double counts;         /* sum of y over the rows used whose ray meets activity */
	double lost;           /* sum of y over the rows skipped */
	int64_t used, skipped; /* rows; skipped: m = 0, or Ax + add = 0 */
};

/* acc = x * A_sub*( y / (A_sub x + add) ) in one pass over the data. */
int iso_em_step(iso_op *op, int sub, iso_real *acc, const iso_real *x, const struct iso_em_data *data,
                struct iso_em_stat *stat);

/* Data vectors on the host: from the file's order to the operator's, and back. */
void iso_op_sort(const iso_op *op, iso_real *dst, const iso_real *src);
void iso_op_unsort(const iso_op *op, iso_real *dst, const iso_real *src);

/* A second handle on the same tables, with work space of its own. */
int iso_op_clone(iso_op **clone, iso_op *op);
void iso_op_free(iso_op *op);

/* y = d * x, element by element; copies d, n values on the host. */
int iso_diag_create(iso_op **op, iso_ctx *ctx, int64_t n, const iso_real *d);

/* y = outer(inner(x)); keeps both. Subsets are the outer operator's. */
int iso_chain_create(iso_op **op, iso_op *outer, iso_op *inner);

/* Least squares in which rows count by weights, one for each of n equal runs of rows: `op` becomes
   sqrt(w) op, and data on the host sqrt(w) y. Weights are taken over their mean. ISO_EARG for an
   operator that orders its rows. */
int iso_weigh_rows(iso_op **op, int64_t n, const double *weight);
int iso_weigh_data(iso_real *y, int64_t rows, int64_t n, const double *weight);

/* |<Ax, y> - <x, A*y>| / (|Ax| |y|) for zero-mean Gaussian x and y. */
int iso_test_adjoint(double *err, iso_op *op, int sub, uint64_t seed);

/* ---- arrays and files --------------------------------------------------------------- */

/* An array in host memory, with the grid it lives on if the file says so. */
struct iso_array {
	int n_dim;
	int64_t dim[8]; /* slowest first: (nz, ny, nx) */
	int64_t n;      /* product of dim */
	iso_real *v;
	bool has_grid;
	bool pairs;           /* of complex numbers: the last axis, of 2 */
	struct iso_grid grid; /* meaningful if has_grid */
	char unit[32];        /* "" if not known */
};

int iso_array_create(struct iso_array *a, int n_dim, const int64_t *dim); /* zeroed */
int iso_array_on_grid(struct iso_array *a, const struct iso_grid *g);     /* zeroed image */
void iso_array_free(struct iso_array *a);

/* Values that a reader refuses, each with the position of the first. */
enum iso_values {
	ISO_FINITE = 0,      /* NaN and infinity are refused */
	ISO_NONNEGATIVE = 1, /* and negative values: counts, sensitivity, mu, normalisation */
	ISO_ANY = 2,         /* nothing is refused */
	ISO_PAIRS = 4,       /* added to one of them: complex numbers are taken, as pairs */
};

/* By suffix: .npy, .nii, .nii.gz, .raw (described by FILE.raw.json) or that .json itself. */
int iso_read(struct iso_array *a, const char *path, enum iso_values allowed);

/* The same of its head alone: sizes, grid and unit; v is NULL. Complex numbers are refused. */
int iso_peek(struct iso_array *a, const char *path);

/* iso_read, if its values fit: ISO_ENOMEM of iso_memory_check before any memory is taken. */
int iso_read_within(struct iso_array *a, const iso_ctx *ctx, const char *path, enum iso_values allowed);

/* An image that must fit `want` (NULL: any grid); another is refused by its head. A file without a grid, such as .npy, is taken
   to lie on `want` if the sizes agree. */
int iso_read_image(struct iso_array *a, const char *path, enum iso_values allowed,
                   const struct iso_grid *want);

/* Nothing stands under `path` unless it is whole. An existing file is replaced. `sidecar`: JSON text for
   the file beside it (iso_sidecar_path), or NULL: both change at once, or none does. If the process is
   killed meanwhile, the next call that reads or writes a file of this folder finishes it. */
int iso_write(const char *path, const struct iso_array *a, const char *sidecar);

/* Where the sidecar of an output goes: x.nii(.gz) -> x.json, all others FILE.json. */
int iso_sidecar_path(char *out, size_t size, const char *path);

/* Before hours of work: ISO_EARG if `path` exists (unless `force`) or has no known suffix for an
   array, ISO_EIO if its folder can't be written. */
int iso_write_check(const char *path, bool force);

/* The same for what the format can hold: ISO_EARG if an axis of the grid is too long for it. */
int iso_write_check_grid(const char *path, const struct iso_grid *g);
int iso_write_check_series(const char *path, int64_t n); /* n images, as axis 0 */

typedef struct iso_scanner iso_scanner;

/* ---- list-mode events --------------------------------------------------------------- */

struct iso_event {
	float p1[3], p2[3]; /* ends of the LOR, mm */
	float dt_ps;        /* t1 - t2: positive means nearer to p2 */
};

/* A list of events, or a histogram: LORs with counts. */
struct iso_events {
	int64_t n;
	struct iso_event *v;
	int64_t n_bad; /* non-finite or p1 = p2: kept, but they project to 0 */

	/* What some formats say besides, one value an event; NULL: not said. */
	uint32_t *time_ms; /* since the start of the scan */
	iso_real *count;   /* of a histogram's LOR; NULL: each event counts 1 */
	iso_real *mult;    /* attenuation x normalisation: expected counts over line integral */
	iso_real *add;     /* expected randoms and scatter, in counts (with TOF: per mm, or, if
				   tof_bin_ps is not 0, per bin) */
	uint32_t *crystal; /* (n, 2): numbers of the two crystals */

	/* Of the whole file; 0: not said. */
	double tof_fwhm_ps, tof_bin_ps; /* bin: times are centres of bins of this width */
	double start_s, duration_s;
	char isotope[16]; /* "F-18"; "": not said */

	/* Of a text file: lines that it could not use, the number of the first (from 1), and those
	   that trues_only left out. */
	int64_t n_lines_bad, first_line_bad, n_left_out;
};

/* How to read a file that does not say it all; all zero is a good start. */
struct iso_events_options {
	const iso_scanner *scanner; /* for files of crystal numbers; borrowed */
	const char *gate_mask;      /* GATE ASCII: its 36 column switches, "1 1 0 ..."; NULL: none
					   is off */
	bool trues_only;            /* GATE ASCII: both photons of one decay, neither scattered */
	bool swap_dt;               /* the file's times have the other sign */
	const iso_ctx *ctx;         /* whose memory limit holds, by iso_memory_check; NULL: none;
					   borrowed */
};

/* By suffix: .lmdT (stores t2 - t1: negated on the way in and out), .Cdh (CASToR list mode or
   histogram), .dat or .txt (GATE ASCII coincidences), .npy of (n, 7) or (n, 6) end points or
   (n, 2) or (n, 3) crystal numbers and t1 - t2. `options` may be NULL. docs/formats.md says what
   each holds. */
int iso_events_read(struct iso_events *e, const char *path, const struct iso_events_options *o);
void iso_events_free(struct iso_events *e);
bool iso_event_bad(const struct iso_event *e);

/* .lmdT, .npy (n, 7), or .Cdh, which keeps all but counts but needs a scanner (NULL: none) and
   writes it beside, as .hscan and .lut. Histograms are refused. */
int iso_events_write(const char *path, const struct iso_events *e, const char *sidecar);
int iso_events_write_with(const char *path, const struct iso_events *e, const iso_scanner *s,
                          const char *sidecar);
int iso_events_write_check(const char *path, bool force); /* as iso_write_check */

/* Fills e->crystal, unless it is there, with the crystals nearest to the ends; *most: the farthest
   that the end of a good event lies from its crystal, mm. */
int iso_events_crystals(struct iso_events *e, const iso_scanner *s, double *most);

/* ---- files of events, piece by piece ---- */

typedef struct iso_event_file iso_event_file;

struct iso_events_info {
	const char *format; /* "lmdT", "CASToR list mode", ... */
	int64_t n;          /* events; with the TOF bins of a histogram, one each */
	int64_t bytes;      /* of the records */
	bool has_dt, has_time, has_count, has_crystal;
	bool attenuation, normalisation;                     /* either: there is mult */
	bool scatter, randoms;                               /* either: there is add */
	double tof_fwhm_ps, tof_bin_ps, start_s, duration_s; /* as in struct iso_events */
	char isotope[16];
	char ignored[80]; /* what the file holds besides, in words; "": nothing */
};

/* All of iso_events_read but text, which must be converted first. A scanner that the options give
   must outlive the file. */
int iso_event_file_open(iso_event_file **f, const char *path, const struct iso_events_options *o);
void iso_event_file_close(iso_event_file *f);
const struct iso_events_info *iso_event_file_info(const iso_event_file *f);
const iso_scanner *iso_event_file_scanner(const iso_event_file *f); /* NULL: not needed */

/* Room for n events of this file, with the arrays that it fills; free with iso_events_free. */
int iso_event_file_block(struct iso_events *block, const iso_event_file *f, int64_t n);

/* Events first ... first + n - 1 into a block with room for them; sets its n and n_bad. Threads
   may read one file at the same time, each into a block of its own. */
int iso_event_file_read(struct iso_events *block, const iso_event_file *f, int64_t first, int64_t n);

typedef struct iso_event_writer iso_event_writer;

/* A file that grows by blocks; nothing stands under `path` before it is closed. By suffix, as
   iso_events_write_with; n: events to come, checked against the free space, 0 if not known. All
   blocks have the arrays of the first. */
int iso_event_writer_open(iso_event_writer **w, const char *path, const iso_scanner *s, int64_t n);
int iso_event_writer_append(iso_event_writer *w, const struct iso_events *block);
int iso_event_writer_close(iso_event_writer *w, const char *sidecar); /* frees, also if it fails */
void iso_event_writer_free(iso_event_writer *w);                      /* gives up: no file is left */

/* ---- scanners ----------------------------------------------------------------------- */

enum iso_scanner_kind { ISO_CYLINDER, ISO_DETECTORS, ISO_STRIPS, ISO_PANELS, ISO_TRANSDUCERS };

/* From a YAML or JSON description, or a CASToR .hscan with its .lut beside it. */
int iso_scanner_read(iso_scanner **s, const char *path);
void iso_scanner_free(iso_scanner *s);

enum iso_scanner_kind iso_scanner_kind(const iso_scanner *s);
const char *iso_scanner_name(const iso_scanner *s);
int64_t iso_scanner_crystals(const iso_scanner *s);
const double *iso_scanner_positions(const iso_scanner *s);  /* (crystals, 3), mm */
double iso_scanner_tof_fwhm_ps(const iso_scanner *s);       /* 0: no time of flight */
double iso_scanner_tof_bin_ps(const iso_scanner *s);        /* 0: times are not binned */
double iso_scanner_coincidence_ns(const iso_scanner *s);    /* tau of |t1 - t2| <= tau; 0: not said */
const double *iso_scanner_crystal_mm(const iso_scanner *s); /* tangential, axial, depth; NULL:
								   not said */
int64_t iso_scanner_pairs(const iso_scanner *s);            /* crystal pairs in coincidence */

/* Crystals a and b of pair number i, 0 <= i < iso_scanner_pairs. */
void iso_scanner_pair(const iso_scanner *s, int64_t i, int64_t *a, int64_t *b);

/* Nearest crystal to a point, and its distance. */
int64_t iso_scanner_nearest(const iso_scanner *s, const double p[3], double *distance);

/* Weight of a pair besides efficiencies: 1, or the solid angle that the two faces share
   (description key pair_weight). */
double iso_scanner_pair_weight(const iso_scanner *s, const double p1[3], const double p2[3]);

/* ---- phantoms ----------------------------------------------------------------------- */

typedef struct iso_phantom iso_phantom;

/* A built-in name (iso_phantom_names) or a file of shapes: YAML, JSON, or .txt, whose lines
   `ellipse x y a b phi rho` (mm, degrees) go from the topmost down. `at`: for `point`, its place. */
int iso_phantom_create(iso_phantom **p, const char *name_or_file, const double at[3]);
void iso_phantom_free(iso_phantom *p);
const char *const *iso_phantom_names(void); /* ends with NULL */

/* The grid that suits it when the user names none. */
void iso_phantom_grid(const iso_phantom *p, struct iso_grid *g);

/* Mean activity, and mean attenuation in 1/mm, over each voxel, from samples^3 points in voxels
   that a surface crosses. Either image may be NULL. */
int iso_phantom_raster(iso_real *activity, iso_real *mu, iso_ctx *ctx, const iso_phantom *p,
                       const struct iso_grid *g, int samples);

/* An ellipse of the plane: x is z of the strips; half axis a turned by phi from x towards y. */
struct iso_ellipse {
	double x, y, a, b; /* mm */
	double cos_phi, sin_phi;
	double rho; /* activity per area */
};

/* Shapes of the phantom, and number i from the top, which must be an ellipse (ISO_EARG). */
int iso_phantom_shapes(const iso_phantom *p);
int iso_phantom_ellipse(struct iso_ellipse *e, const iso_phantom *p, int i);

/* ---- pictures ----------------------------------------------------------------------- */

enum iso_picture_kind {
	ISO_SLICES,  /* coronal, sagittal and transverse through one point */
	ISO_MONTAGE, /* slices across one axis, row by row */
	ISO_MIP,     /* the greatest values along y, x and z */
};

enum iso_picture_at {
	ISO_AT_CENTRE, /* of the grid */
	ISO_AT_MAX,    /* greatest value, once smoothed by (1 2 1)/4 along each axis */
	ISO_AT_POINT,
};

enum iso_picture_labels {
	ISO_LABEL_ANATOMY, /* R L A P S I: the ends of +x -x +y -y +z -z */
	ISO_LABEL_AXES,    /* +x +y +z; also where the array has no grid */
	ISO_LABEL_NONE,
};

/* How to show an array (ny, nx), (nz, ny, nx) or (nt, nz, ny, nx); all zero is a good start.
   Axes run to the right and upwards, so left is left; `radiological` turns x round. Both axes of
   every panel have one scale, whatever the shape of the voxels. */
struct iso_picture {
	enum iso_picture_kind kind;
	int64_t frame;          /* t, from 0 */
	enum iso_picture_at at; /* slices: where they cross */
	double point[3];        /* mm (indices without a grid), for ISO_AT_POINT */
	char axis;              /* montage: 'x', 'y' or 'z'; 0: z */
	int64_t every, columns; /* montage: one slice in so many, so many in a row;
					   0: at most 24 slices, and what fills the picture */
	double window[2];       /* values of the first and last colour; both 0: */
	double percent[2];      /* from these percentiles; both 0: from 0 to the greatest,
					   or symmetric about 0 if there are negative values */
	const char *map;        /* see iso_picture_maps; NULL: ember, or blue-red for a
					   window symmetric about 0 */
	double zoom;            /* pixels along the shortest edge of a voxel;
					   0: for a picture about 1000 pixels wide or high */
	bool linear;            /* interpolate between voxels, instead of flat boxes */
	bool radiological, crosshair;
	enum iso_picture_labels labels;
	const char *title; /* UTF-8; NULL: none */
};

struct iso_picture_info {
	double window[2];
	const char *map;
	double min, max;      /* of the finite values of the frame */
	int64_t not_finite;   /* voxels of the frame; those shown are drawn in magenta */
	int64_t voxel[3];     /* x, y, z where slices cross, */
	double point[3];      /* and its centre: mm, or indices without a grid */
	double pixels_per_mm; /* or per voxel, without a grid */
	int64_t panels;
};

/* Red, green and blue of each pixel, 8 bits each, rows from the top. */
struct iso_pixels {
	int64_t width, height;
	unsigned char *rgb;
};

/* At most 100 million pixels. `info` may be NULL. */
int iso_picture_render(struct iso_pixels *pixels, struct iso_picture_info *info, const struct iso_array *a,
                       const struct iso_picture *p);
void iso_pixels_free(struct iso_pixels *pixels);
const char *const *iso_picture_maps(void); /* names, ends with NULL */

/* As PNG; as iso_write and iso_write_check otherwise. */
int iso_picture_write(const char *path, const struct iso_pixels *pixels, const char *sidecar);
int iso_picture_write_check(const char *path, bool force);

/* ---- model ray: line integrals of list-mode events -------------------------------------- */

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
};

/* A x = chord lengths times x (with TOF: the Gaussian's share of each chord), one row an event.
   Copies the events. */
int iso_ray_create(iso_op **op, iso_ctx *ctx, const struct iso_ray *p, const struct iso_events *e);
/* Seconds that ordering the events took, once, when the operator was made. */
double iso_ray_ordering_s(const iso_op *op);
void iso_ray_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_ray *p, int64_t n);

/* Where events come from that need not fit memory. A block is filled in v and, where the source has
   them, count, mult and add, whose meaning is that of struct iso_events; all have room. */
struct iso_ray_source {
	int64_t n; /* events in all */
	bool has_count, has_mult, has_add;
	/* Events first ... first + n - 1, into places 0 ... n - 1 of the block. Called on another
	   thread than the caller's, one call at a time. */
	int (*read)(void *arg, struct iso_events *block, int64_t first, int64_t n);
	/* The same events (some of them, where a subset was picked out), on the caller's thread, which
	   may compute on the context: attenuation. NULL: nothing is left to do. */
	int (*finish)(void *arg, struct iso_events *block);
	void *arg;
};

/* The operator of iso_ray_create over all events of the source, `block` of them at a time, read
   ahead by a thread. It has em_step alone, and its data vectors are the source's: give none. Blocks
   are kept for the next pass as long as device (or host) memory has room for one more. Where
   subsets are not of consecutive events (ISO_BLOCKS), a pass over one reads the whole source. Where
   the source has counts, the first step begins with a pass that adds them up. Neither the blocks
   nor what is kept of them changes a bit of the result, which is that of iso_ray_create. The
   source's arg must outlive the operator. */
int iso_ray_stream_create(iso_op **op, iso_ctx *ctx, const struct iso_ray *p, const struct iso_ray_source *s,
                          int64_t block);
void iso_ray_stream_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_ray *p,
                         const struct iso_ray_source *s, int64_t block);

/* A size of block, a power of 2, that leaves most of so many bytes to blocks that are kept. */
int64_t iso_ray_stream_block(const iso_ctx *ctx, const struct iso_ray *p, const struct iso_ray_source *s,
                             int64_t host, int64_t device);

/* Blocks of all subsets together, and how many are kept by now. */
void iso_ray_stream_state(const iso_op *op, int64_t *blocks, int64_t *kept);

/* A source rewritten once, subset by subset and finished, into a nameless file in `folder`: for
   iso_ray_stream_create with the same subsets by rule ISO_BLOCKS. `from` is read here, on this
   thread, and not again. Free it after the operator. */
typedef struct iso_ray_scratch iso_ray_scratch;
int iso_ray_scratch_create(iso_ray_scratch **scratch, iso_ctx *ctx, const struct iso_ray *p,
                           const struct iso_ray_source *from, const char *folder);
const struct iso_ray_source *iso_ray_scratch_source(const iso_ray_scratch *scratch);
void iso_ray_scratch_free(iso_ray_scratch *scratch);

/* Attenuation factors exp(-sum of chord x mu) of the events, file order. */
int iso_ray_attenuation(iso_real *alpha, iso_ctx *ctx, const struct iso_array *mu,
                        const struct iso_events *e);

/* Sensitivity: sum over the scanner's pairs of weight x efficiencies x attenuation x chord. */
struct iso_ray_sens {
	struct iso_grid grid;
	enum iso_projector projector; /* as that of the events; attenuation is by exact chords */
	int rays;                     /* the same; attenuation is along each line by itself */
	double spread_mm[2];
	const iso_scanner *scanner;
	const struct iso_array *mu; /* NULL: no attenuation; any grid */
	const iso_real *eff;        /* per crystal; NULL: 1 */
	double share;               /* 1: all pairs; less: this share, drawn at random */
	uint64_t seed;
};

/* `error`: relative standard error of the image as a whole, 0 with all pairs; that of a plain
   draw, so a bound for ours, which is stratified. s on the host. */
int iso_ray_sens(iso_real *s, double *error, iso_ctx *ctx, const struct iso_ray_sens *p);

/* ---- two panels: dual-head PET -------------------------------------------------------- */

/* Deposits that are summed before the energy window: of a head, a block, or a crystal. */
enum iso_readout { ISO_READ_HEAD, ISO_READ_BLOCK, ISO_READ_CRYSTAL };

/* Two alike heads that face each other: y is normal to them, the upper one at +y; x and z lie in
   the head. A crystal is centred in its pitch cell. Layer 0 faces the object. */
struct iso_panels {
	int crystals[2];   /* x, z of each head */
	double pitch[2];   /* mm: x, z */
	double crystal[3]; /* mm: x, z, and the depth of the whole head, shared by the layers */
	double gap;        /* mm, face to face */
	int layers;
	int block;                     /* crystals an axis of a readout block */
	char formula[64];              /* of the crystal */
	double density;                /* g/cm^3 */
	double resolution;             /* FWHM at 511 keV, as a share of it */
	double window[2];              /* keV */
	double time_fwhm, coincidence; /* ns */
	enum iso_readout readout;
	int per_pitch[2]; /* voxels: x, z */
	int planes;       /* of voxels, along y; the stack is centred */
	double plane;     /* mm: thickness of one */
};

/* Of a scanner of the kind ISO_PANELS; NULL: of another kind. */
const struct iso_panels *iso_scanner_panels(const iso_scanner *s);

/* Its image: crystals * per_pitch voxels in x and z, `planes` in y. */
void iso_panels_grid(struct iso_grid *g, const struct iso_panels *p);

/* LORs: layers^2 crystals^4, index ((((a L + b) Ncx + ux) Ncz + uz) Ncx + lx) Ncz + lz, upper
   crystal first; a, b are the layers of the upper and the lower one. */
int64_t iso_panels_lors(const struct iso_panels *p);

/* Photon transport between two panels, for matrices and simulated scans; all zero is the default. */
struct iso_transport_options {
	int extended[2];  /* crystals an axis, x and z, of larger heads; 0: the scanner's */
	bool centroid;    /* a hit's crystal holds the mean of the deposits, weighted by energy;
				   else it has the largest */
	bool first_layer; /* a hit's layer is that of the first interaction */
	bool no_rayleigh, no_reentry;
	bool acollinearity;   /* 0.5 degrees FWHM */
	const char *positron; /* with the range in water of F-18, C-11, O-15 or Ga-68; NULL: none */
	uint64_t seed;
};

/* ---- model srm: the system matrix of two panels ----------------------------------------- */

/* h(u, l; v): the probability that a pair of photons from voxel v is recorded by the upper crystal
   u and the lower crystal l. Kept for the voxels of one pitch cell, folded by symmetry. */
typedef struct iso_srm iso_srm;

/* What is simulated: one voxel for all its images by head exchange, mirrors and axis swap; without
   the swap; or every voxel of the cell. AUTO: the swap where it holds. */
enum iso_srm_symmetry { ISO_SRM_AUTO, ISO_SRM_ALL, ISO_SRM_MIRROR, ISO_SRM_NONE };

struct iso_srm_options {
	enum iso_srm_symmetry symmetry;
	uint64_t seed;
	int outcomes;                           /* of each photon, all combined; 0 or 1: one */
	struct iso_transport_options transport; /* `extended` and `seed` are set here */
};

/* A matrix of no pairs yet. ISO_EARG: the swap where it does not hold, readout by block, which a
   shift by one crystal changes, or more crystals than positions of 4 bytes can tell apart. */
int iso_srm_create(iso_srm **m, const struct iso_panels *p, const struct iso_srm_options *o);
void iso_srm_free(iso_srm *m);

/* Pairs first ... first + n - 1 of each simulated voxel, in rounds over all of them. With
   until_counts > 0 it goes on by itself, up to n pairs, until the core has so many counts an
   element. After a failure or ISO_ECANCEL the matrix has the rounds that were whole. */
int iso_srm_simulate(iso_srm *m, iso_ctx *ctx, int64_t first, int64_t n, double until_counts);

/* What so many pairs a voxel will take; the size of the counts is an estimate. */
void iso_srm_plan(struct iso_plan *plan, const iso_ctx *ctx, const iso_srm *m, int64_t pairs);

/* Adds the counts of another run of the same scanner, physics and symmetry: other random numbers
   (another seed, or other pairs). The sum has the bits of one long run. */
int iso_srm_add(iso_srm *m, const iso_srm *other);

/* Without noise: the solid angle that two crystals share, seen from the points of a voxel, times
   the probability that both layers stop a photon of 511 keV. */
int iso_srm_analytic(iso_srm **m, iso_ctx *ctx, const struct iso_panels *p);

/* From rows (plane, phase x, phase z, ux, uz, lx, lz, weight), crystals counted from the voxel's
   own cell; with layers > 1 the layers of u and l stand before the weight. A folded column is the
   mean of its images that have rows. What fits no place in the scanner is dropped. */
int iso_srm_import(iso_srm **m, const struct iso_panels *p, const struct iso_array *rows);

/* The folded table as such rows; free with iso_array_free. */
int iso_srm_export(struct iso_array *rows, const iso_srm *m);

/* One bound on the weight for the whole table; exactly one of the first three is above 0. */
struct iso_srm_bound {
	double share; /* of the scanner's sensitivity that is kept, up to 1 */
	double min_weight;
	double per_column; /* elements, mean over the folded columns */
	int max_offset;    /* crystals |l - u| an axis; 0: any */
};

/* Makes the table anew from all that was counted. ISO_EARG if there is nothing to make it from. */
int iso_srm_threshold(iso_srm *m, iso_ctx *ctx, const struct iso_srm_bound *b);

/* A matrix as a file. Without its counts (`final`) it can't be continued, added to or thresholded
   again. `command`: one line for the header, or NULL; `sidecar` as in iso_write. */
int iso_srm_write(const char *path, const iso_srm *m, bool final, const char *command, const char *sidecar);
int iso_srm_write_check(const char *path, bool force); /* as iso_write_check */

/* Checksums are verified. Without `counts` only the table is read. */
int iso_srm_read(iso_srm **m, const char *path, bool counts);
/* The same, if it fits: as iso_read_within. */
int iso_srm_read_within(iso_srm **m, const iso_ctx *ctx, const char *path, bool counts);

/* Its columns without their elements: for plans of memory and iso_srm_info (without bytes_full,
   bytes_row and bytes_tap), and for nothing else. */
int iso_srm_peek(iso_srm **m, const char *path);

struct iso_srm_info {
	struct iso_panels panels;
	const char *source; /* "transport", "analytic", "import" */
	struct iso_srm_options options;
	bool swap;
	int voxels, classes;       /* simulated voxels, and classes of columns they stand for */
	int64_t pairs;             /* of each simulated voxel */
	int runs;                  /* ranges of pairs: see iso_srm_run */
	int64_t columns, elements; /* of the folded table */
	struct iso_srm_bound bound;
	double least_weight;          /* kept */
	double recorded, usable;      /* probability, mean over columns: of a coincidence in heads
					   without end, and of one that fits the scanner */
	double kept, lost;            /* share of the scanner's sensitivity */
	double lost_least, lost_most; /* of a column */
	double core_counts;           /* mean counts of the elements that hold half of `usable` */
	double core_elements;         /* of them, a column */
	double once;                  /* share of the usable elements that were hit once */
	int64_t usable_elements;
	/* Storages of Table I of Meng 2019, bytes at 8 an element: every voxel; rows of unsigned
	   directions; columns of all phases and half the planes; and rows of half the planes, which
	   their central symmetry allows */
	double bytes_full, bytes_row, bytes_column, bytes_tap;
	bool has_counts;
	const char *command; /* "" if not known */
};

void iso_srm_info(struct iso_srm_info *info, const iso_srm *m);

/* The number after the last pair that a matrix has of its own seed. */
int64_t iso_srm_next(const iso_srm *m);

/* Range number i of pairs. */
void iso_srm_run(uint64_t *seed, int64_t *first, int64_t *n, const iso_srm *m, int i);

/* Per folded column (y, px, pz), the last fastest: recorded, usable and kept probability at the
   middle of large heads, and the share of the sensitivity of its voxels that was lost. */
const double *iso_srm_column_sens(const iso_srm *m);

/* ---- the table in the orders of the projectors: each element of each order once ---- */

struct iso_srm_pair {
	int16_t ux, uz, lx, lz; /* from the voxel's own cell */
};

/* Column (y Dx + px) Dz + pz holds places ptr[column] ... ptr[column + 1] - 1; all planes, or
   those up to the middle one. */
struct iso_srm_columns {
	int64_t n; /* columns */
	int64_t *ptr;
	struct iso_srm_pair *pair;
	iso_real *w;
};

struct iso_srm_voxel {
	int16_t y, i, k; /* i, k from the first voxel of the upper crystal's cell */
};

/* Rows of the upper crystal (0, 0) and the lower one d. Signed: direction number
   (dx + Ncx-1)(2 Ncz-1) + dz + Ncz-1; unsigned, the mirrors being left out: dx Ncz + dz. Rows:
   elements of direction number j are ptr[j] ..., by (y, phase, position). Taps: those of plane y
   and direction j are ptr[y n_directions + j] ..., by (phase, position). */
struct iso_srm_rows {
	int64_t n, directions; /* lists, and directions */
	int64_t *ptr;
	struct iso_srm_voxel *voxel;
	iso_real *w;
};

struct iso_srm_order {
	int a, b;         /* layers of the upper and the lower crystal */
	bool half;        /* planes 0 ... (Ny-1)/2 only */
	bool is_unsigned; /* directions dx, dz >= 0 only */
};

int iso_srm_columns(struct iso_srm_columns *c, iso_ctx *ctx, const iso_srm *m, const struct iso_srm_order *o);
int iso_srm_rows(struct iso_srm_rows *r, iso_ctx *ctx, const iso_srm *m, const struct iso_srm_order *o);
int iso_srm_taps(struct iso_srm_rows *r, iso_ctx *ctx, const iso_srm *m, const struct iso_srm_order *o);
void iso_srm_columns_free(struct iso_srm_columns *c);
void iso_srm_rows_free(struct iso_srm_rows *r);

/* How the matrix meets image and data. All are the same sums; on CUDA, ISO_SRM_CORRELATION rounds
   weights that were counted to 11 bits, within their own error. */
enum iso_srm_strategy {
	ISO_SRM_CORRELATION, /* shifted copies of a row: a correlation of phase planes */
	ISO_SRM_ROW,         /* LOR by LOR, forward and back (Chou 2012) */
	ISO_SRM_COLUMN,      /* voxel by voxel, forward and back */
	ISO_SRM_COMBINED,    /* LOR by LOR forward, voxel by voxel back (Meng 2019) */
};

struct iso_srm_model {
	const iso_srm *srm; /* has a table; need not outlive the call */
	enum iso_srm_strategy strategy;
	int n_sub;
	enum iso_subset_rule rule; /* ISO_MOD, ISO_RANDOM or ISO_GROUPS: sets of unsigned
					   directions, with all their shifts and mirrors */
	uint64_t seed;             /* of ISO_RANDOM */
	const int *deal;           /* subset of each unsigned direction |dx| Ncz + |dz|, instead of a
				   rule; NULL: by the rule */
};

/* A x: expected counts of each LOR, in the order of iso_panels_lors, from an image on the grid of
   iso_panels_grid. ISO_EARG: more subsets than directions. */
int iso_srm_op_create(iso_op **op, iso_ctx *ctx, const struct iso_srm_model *p);
void iso_srm_op_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_srm_model *p);

/* Attenuation of each LOR: exp(-sum of chord x mu) between the middles of its crystals. */
int iso_panels_attenuation(iso_real *alpha, iso_ctx *ctx, const struct iso_panels *p,
                           const struct iso_array *mu);

/* Mean randoms of each LOR from its delayed coincidences d, as a product of crystal rates (the most
   likely one), for each pair of layers: (sum over l of d_ul) (sum over u of d_ul) / sum of d. */
int iso_panels_randoms(iso_real *r, const struct iso_panels *p, const iso_real *delayed);

/* ---- transducers: optoacoustic tomography ------------------------------------------------ */

/* Times are us, frequencies MHz, speeds mm/us. Transducer q hears sample k at first_us + k dt_us
   after the laser pulse; traces are arrays (n, samples). Local axes ex, ey, normal are
   right-handed, the normal points at the object. */
struct iso_transducers {
	int64_t n;
	double *pos, *normal, *ex, *ey; /* (n, 3); mm, and unit vectors */
	double *aperture;               /* (n, 2), mm along ex and ey: flat rectangles; NULL: points */
	double *area;                   /* (n), mm^2 of the surface that each stands for; NULL: not said */
	double centre[3];               /* of the sphere that they lie on */
	double radius;                  /* of it; where it was not given, the mean distance from the centre */
	double spread;                  /* (greatest - least distance from the centre) / radius */
	bool rings;                     /* made from rings and views: q = ring * views + view */
	double speed;                   /* of sound, mm/us; of a file that does not say it, 0 */
	double dt_us, first_us;
	int64_t samples;
	double gamma; /* Grueneisen parameter: initial pressure = gamma * absorbed energy */
	int64_t n_eir;
	double *eir; /* impulse response, dt h(k dt), from delay 0; NULL: none */
};

/* Of a scanner of the kind ISO_TRANSDUCERS; NULL: of another kind. */
const struct iso_transducers *iso_scanner_transducers(const iso_scanner *s);

/* Rings of equal views on a sphere about the origin: ring r at polar angle first + r step. */
struct iso_rings {
	double radius;
	int64_t rings, views;
	double polar_first, polar_step;     /* rad, from +z */
	double azimuth_first, azimuth_step; /* rad, from +x towards +y */
};

/* Fills n, pos, axes, area (radius^2 dtheta dphi sin theta), sphere; the rest stays as it is. */
int iso_transducers_rings(struct iso_transducers *t, const struct iso_rings *r);
void iso_transducers_free(struct iso_transducers *t); /* its arrays, whoever filled them */

/* In-plane axes of a unit normal: ex is minus the global z made orthogonal to it (x where they
   are parallel), ey = normal x ex. */
void iso_transducer_frame(double ex[3], double ey[3], const double normal[3]);

/* ISO_EARG unless sizes, speed, sampling and gamma are positive and the geometry is finite. */
int iso_transducers_check(const struct iso_transducers *t);

/* Delays between the voxel centres of a grid and the transducers, us. */
struct iso_hearing {
	double nearest, farthest;
	double covered; /* share of [nearest, farthest] that the record holds */
	int64_t away;   /* transducers whose normals point away from the grid's centre */
};

/* ISO_EINPUT, with the reason, if a transducer lies inside the grid's box, or if the record holds
   nothing of it. */
int iso_transducers_hear(struct iso_hearing *h, const struct iso_transducers *t, const struct iso_grid *g);

/* ISO_EINPUT unless the array is (n, samples). */
int iso_traces_check(const struct iso_array *y, const struct iso_transducers *t);

/* ---- recordings: traces with their transducers in one file ------------------------------- */

/* IPASC (.hdf5, .h5) or iThera MSOT (.msot with .bin): traces of one array of transducers for some
   wavelengths and frames. The traces stay in the file until they are read. */
typedef struct iso_recording iso_recording;

struct iso_recording_info {
	struct iso_transducers t; /* speed 0: not said; gamma is 1, as no file says it */
	int64_t wavelengths, frames;
	double *wavelength_nm; /* (wavelengths); NULL: not said */
	bool has_field;
	double field[6];       /* of view, mm: x from, to, y from, to, z from, to */
	int n_warnings;        /* what was read otherwise than the file has it */
	char warning[10][200]; /* room for one of each kind */
};

bool iso_is_recording(const char *path); /* by suffix */
int iso_recording_open(iso_recording **r, const char *path);
/* Of an array (n, samples) or (frames, wavelengths, n, samples); borrows array and transducers. The
   array may also begin at the laser pulse where the transducers' record begins later, as what
   iso_recording_write wrote does: the samples between are then left out. */
int iso_recording_of(iso_recording **r, const struct iso_transducers *t, const struct iso_array *y);
void iso_recording_free(iso_recording *r);

const struct iso_recording_info *iso_recording_info(const iso_recording *r);

/* A file whose transducers t are described elsewhere: what is read from now on is t's record,
   (t->n, t->samples), with samples left out as above. ISO_EINPUT where sizes do not fit. */
int iso_recording_fit(iso_recording *r, const struct iso_transducers *t);

/* Traces (n, samples) of a wavelength and a frame, each from 0; all values are finite. */
int iso_recording_read(iso_real *y, const iso_recording *r, int64_t wavelength, int64_t frame);
/* The same of the transducers first ... first + n - 1 alone. */
int iso_recording_read_some(iso_real *y, const iso_recording *r, int64_t wavelength, int64_t frame,
                            int64_t first, int64_t n);

/* As IPASC, by suffix. Its traces begin at the laser pulse: those that begin later have zeros put
   before them. It has no place for areas, impulse response and Grueneisen parameter. */
int iso_recording_write(const char *path, const iso_recording *r, const char *sidecar);
int iso_recording_write_check(const char *path, bool force);

/* Speed of sound in water, mm/us, from 0 to 95 C at the pressure of air: Marczak 1997. */
double iso_water_speed(double celsius);

/* What an array is taken to see where no file says it: a cube of 5/8 of its radius round its
   centre; where all transducers lie in a plane across an axis, a square in it. From and to of each
   axis. */
void iso_transducers_field(double field[6], const struct iso_transducers *t);

/* The rest of a grid: g->n or voxel of 0 were not said. It covers a field of view (NULL: that of a
   planar array), with 256 voxels on the longest side of a plane; the plane of a planar array, or a
   field of no width, is one voxel thick. ISO_EARG, with what is missing, where that says too
   little. */
int iso_transducers_grid(struct iso_grid *g, const struct iso_transducers *t, const double *field);

/* ---- model ubp: filtered back-projection of traces -------------------------------------- */

enum iso_ubp_weights {
	ISO_UBP_SPHERE,      /* exact on a sphere round the object: Wang 2013, eq. (27) */
	ISO_UBP_SOLID_ANGLE, /* any surface: each transducer by the solid angle of its patch */
};

struct iso_ubp {
	const struct iso_transducers *transducers; /* what is needed of it is copied */
	struct iso_grid grid;
	enum iso_ubp_weights weights;
};

/* The adjoint of this operator makes the image (absorbed energy density) of traces (n, samples);
   forward is refused. Without areas every transducer has the same; with ISO_UBP_SPHERE they
   share that of the sphere. */
int iso_ubp_create(iso_op **op, iso_ctx *ctx, const struct iso_ubp *p);
void iso_ubp_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_ubp *p);

/* Divides host traces by the impulse response, under a Hann window that falls to 0 at cutoff_mhz:
   eq. (32)-(33); without a response the window alone. nfft 0: the smallest power of 2 that keeps
   the ends apart. ISO_EINPUT where the response passes nothing below the cut-off. */
int iso_traces_deconvolve(iso_real *y, iso_ctx *ctx, const struct iso_transducers *t, double cutoff_mhz,
                          int64_t nfft);

/* Leaves of host traces what lies between two frequencies, each of which passes by half: smooth
   edges, see deconvolve.c. low_mhz 0: no lower edge. */
int iso_traces_band(iso_real *y, iso_ctx *ctx, const struct iso_transducers *t, double low_mhz,
                    double high_mhz);

/* ---- spheres that are heard: analytic optoacoustic data ------------------------------------ */

struct iso_sphere {
	double centre[3], radius; /* mm */
	double value;             /* absorbed energy density */
};

/* Their sum, smoothed by a Gaussian of this FWHM (mm; 0: not at all). */
struct iso_spheres {
	int n;
	const struct iso_sphere *v;
	double fwhm;
};

/* Value at each voxel centre; ctx may be NULL. */
int iso_spheres_raster(iso_real *x, iso_ctx *ctx, const struct iso_spheres *s, const struct iso_grid *g);

/* Pressure traces (n, samples) in host memory, in closed form; the mean over the apertures where
   there are any. ISO_EINPUT if a transducer lies in a sphere. */
int iso_spheres_pressure(iso_real *y, iso_ctx *ctx, const struct iso_spheres *s,
                         const struct iso_transducers *t);

/* The spheres of a phantom into v, with room for iso_phantom_shapes; ISO_EARG if it has another
   shape, or two overlap. */
int iso_phantom_spheres(struct iso_sphere *v, double *fwhm, const iso_phantom *p);

/* Convolves every row of host traces with the impulse response, if there is one. */
int iso_traces_eir(iso_real *y, iso_ctx *ctx, const struct iso_transducers *t);

/* Adds Gaussian noise of width sigma; value i depends on the seed and i alone. */
void iso_traces_noise(iso_real *y, int64_t n, double sigma, uint64_t seed);
/* ---- model svoxel: spherical voxels, frequency domain ----------------------------------- */

/* What a transducer hears of a voxel: at its centre; over its flat rectangle in the far field; or
   by the integral over the rectangle (slow: 256 points a transducer). */
enum iso_sir { ISO_SIR_POINT, ISO_SIR_RECT, ISO_SIR_NEAR };

/* By a fast transform over the delays, or term by term (the reference, slow). */
enum iso_svoxel_transform { ISO_SVOXEL_NUFFT, ISO_SVOXEL_DIRECT };

struct iso_svoxel {
	const struct iso_transducers *t; /* copied; its impulse response is part of the model */
	struct iso_grid grid;            /* voxels must be cubes */
	int64_t first_line, lines;       /* line l is at (first_line + l) df_mhz + offset_mhz */
	double df_mhz;
	double offset_mhz; /* from 0 to below df_mhz */
	const double *eir; /* (lines, 2): spectrum of the impulse response, instead of t->eir */
	enum iso_sir sir;
	enum iso_svoxel_transform transform;
	int width; /* of the fast transform's kernel, 4 to 8 bins: each more is a digit;
				   0: 7, or 8 for ISO_SIR_RECT */
};

/* Lines 1 ... of the record padded to twice its length, up to fmax_mhz (0: 5) or half the sampling
   rate. Sets first_line, lines, df_mhz and offset_mhz. */
int iso_svoxel_lines(struct iso_svoxel *p, double fmax_mhz);

/* The same for any lines f0 + l df, l = 0 ... lines - 1: f0 need be no multiple of df, nor 1/df as
   long as the delays. */
int iso_svoxel_lines_at(struct iso_svoxel *p, double f0_mhz, double df_mhz, int64_t lines);
double iso_svoxel_line_mhz(const struct iso_svoxel *p, int64_t l);

/* Spectra (transducers, lines, 2) of an image of absorbed energy (Wang 2013, 17 to 19): complex
   numbers as pairs, the inner product is the real part. */
int iso_svoxel_create(iso_op **op, iso_ctx *ctx, const struct iso_svoxel *p);
void iso_svoxel_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_svoxel *p);

/* The data: spectra of traces (transducers, samples), dt included, phases from the laser pulse. */
int iso_svoxel_spectra(iso_real *u, iso_ctx *ctx, const struct iso_svoxel *p, const iso_real *traces);

/* ---- model sradon: spherical means, time domain ------------------------------------------ */

/* Where the sphere of a sample is sampled: patches of exact area; or Wang 2013, algorithm 4. */
enum iso_sradon_sampling { ISO_SRADON_MIDPOINT, ISO_SRADON_ALG4 };

/* The adjoint: from the samples into the image; or for each voxel from the samples around it, the
   same sum. Auto is what is faster on the device. */
enum iso_sradon_adjoint { ISO_SRADON_AUTO, ISO_SRADON_GATHER, ISO_SRADON_SCATTER };

struct iso_sradon {
	const struct iso_transducers *t; /* copied */
	struct iso_grid grid;            /* voxels must be cubes */
	enum iso_sradon_sampling sampling;
	enum iso_sradon_adjoint adjoint;
};

/* Traces (transducers, samples) of an image of absorbed energy: He D G (Wang 2013, 11 to 14). */
int iso_sradon_create(iso_op **op, iso_ctx *ctx, const struct iso_sradon *p);
void iso_sradon_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_sradon *p);

/* The parts: G, integrals over spheres; D, gamma / (4 pi c^2) d/dt (g/t); He, the response. */
int iso_sradon_integrals(iso_op **op, iso_ctx *ctx, const struct iso_sradon *p);
int iso_sradon_derivative(iso_op **op, iso_ctx *ctx, const struct iso_transducers *t);
int iso_sradon_response(iso_op **op, iso_ctx *ctx, const struct iso_transducers *t);

/* ---- model strip: two-strip J-PET, events of times alone -------------------------------- */

/* Two strips along z at y = +radius and -radius, |z| <= length / 2; errors of a measured event. */
struct iso_strips {
	double radius, length;    /* mm; radius: half the distance between the strips */
	double sigma_z, sigma_dl; /* mm */
	double sigma_z_growth;    /* sigma_z grows by this share to the ends; 0: constant */
	double gamma;             /* 1/mm^2: coupling of z and dl in the inverse covariance */
};

/* Of a scanner of the kind ISO_STRIPS; NULL: of another kind. */
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
	double mm;          /* of the file's unit of length; 0: 1 */
	bool dl_is_time;    /* the third value is t_up - t_down, ps */
	const iso_ctx *ctx; /* whose memory limit holds, by iso_memory_check; NULL: none;
				   borrowed */
};

/* By suffix: .f32 or .raw (little-endian float32 triples), .txt (a triple a line), .npy (n, 3);
   "-", standard input, and other pipes hold float32 triples, unless they are named .txt.
   `options` may be NULL. */
int iso_strip_events_read(struct iso_strip_events *e, const char *path, const struct iso_strip_options *o);
int iso_strip_events_write(const char *path, const struct iso_strip_events *e, const char *sidecar);
void iso_strip_events_free(struct iso_strip_events *e);
int iso_strip_events_write_check(const char *path, bool force); /* as iso_write_check */
bool iso_strip_event_bad(const struct iso_strip_event *e);

/* The same piece by piece, in bounded memory. `grows`: others still write to the file, so its end
   is where to wait for more; a pipe ends when its writers are gone, whether or not it `grows`.
   A .npy, whose head counts its rows, can't grow. */
typedef struct iso_strip_file iso_strip_file;

int iso_strip_file_open(iso_strip_file **f, const char *path, const struct iso_strip_options *o, bool grows);
void iso_strip_file_close(iso_strip_file *f);
int64_t iso_strip_file_total(const iso_strip_file *f); /* its events; 0: known at its end only */

/* Up to `most` events, those that are there, into block->v, which has room for them; sets block's
   n and n_bad. With none there it waits for up to wait_s seconds; n = 0 then means that none came,
   or, with *end, that none will. */
int iso_strip_file_next(struct iso_strip_events *block, bool *end, iso_strip_file *f, int64_t most,
                        double wait_s);

/* A file that grows by blocks, as iso_event_writer. */
typedef struct iso_strip_writer iso_strip_writer;

int iso_strip_writer_open(iso_strip_writer **w, const char *path, int64_t n);
int iso_strip_writer_append(iso_strip_writer *w, const struct iso_strip_events *block);
int iso_strip_writer_close(iso_strip_writer *w, const char *sidecar);
void iso_strip_writer_free(iso_strip_writer *w);

enum iso_strip_kernel { ISO_STRIP_EQ7, ISO_STRIP_TAN, ISO_STRIP_GAUSS }; /* Bialas 2015 */

/* How CUDA goes about it: the image in shared memory, or the two ways of the paper. */
enum iso_strip_strategy { ISO_STRIP_FAST, ISO_STRIP_WARP, ISO_STRIP_THREAD };

struct iso_strip {
	struct iso_strips strips;
	int64_t ny, nz; /* image (ny, nz), z fastest, centred */
	double pixel;   /* mm */
	enum iso_strip_kernel kernel;
	bool edge; /* ISO_STRIP_TAN: with the ends of the strips */
	enum iso_strip_strategy strategy;
	int n_sub;
	enum iso_subset_rule rule;
	uint64_t seed;
};

/* A[j][l] = P(e_j | pixel l) at its centre, 1/mm^3, inside the 3 sigma ellipse. Copies the events. */
int iso_strip_create(iso_op **op, iso_ctx *ctx, const struct iso_strip *p, const struct iso_strip_events *e);
void iso_strip_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_strip *p, int64_t n);

/* The grid of a strip image: x is z of the strips, y is y, one plane. */
struct iso_grid iso_strip_grid(const struct iso_strip *p);

/* Sensitivity of each pixel, at its centre or (`corners`) 1/3 centre + 1/6 each corner. */
int iso_strip_sens(iso_real *s, const struct iso_strip *p, bool corners);

/* Direct image: each event where it most likely came from; `outside` counts those elsewhere. */
int iso_strip_direct(iso_real *image, int64_t *outside, const struct iso_strip *p,
                     const struct iso_strip_events *e);

/* Decays of a phantom of ellipses, isotropic in the plane, kept if both photons hit the strips,
   then blurred; event i depends on (seed, i) alone. first .. first + n - 1 into host memory. */
int iso_strip_simulate(struct iso_strip_event *e, iso_ctx *ctx, const struct iso_strips *strips,
                       const iso_phantom *ellipses, uint64_t seed, int64_t first, int64_t n);

/* ---- algorithm: expectation maximisation ------------------------------------------------ */

/* Sensitivity images: one for all subsets (each then takes 1/n_sub of it), or one per subset. */
struct iso_sens {
	int n_images, n_sub;
	const iso_real *image; /* n_images images, one after the other */
};

/* Image and scale for a subset. */
const iso_real *iso_sens_get(const struct iso_sens *s, int64_t n, int sub, double *scale);

struct iso_filter;

struct iso_em {
	iso_op *op;
	struct iso_em_data data; /* host, file order; add is r, not r/m */
	struct iso_sens sens;    /* host */
	int iterations;
	const char *checkpoint;    /* file, or NULL */
	double checkpoint_minutes; /* least time between two writings */
	double stop_after_minutes; /* then checkpoint and ISO_ECANCEL; 0: never */
	uint64_t key;              /* of inputs and options: a checkpoint of another key is refused */
	bool resume;
	/* After each iteration, with the image on the host; NULL: not wanted. */
	int (*each)(void *arg, int iteration, const iso_real *x);
	void *arg;
	bool (*wants)(void *arg, int iteration); /* NULL: every iteration */
	const struct iso_filter *filter;         /* NULL: none; else after every filter_every-th */
	int filter_every;                        /* iteration, on `grid` */
	struct iso_grid grid;
};

struct iso_em_result {
	int64_t used, skipped; /* events in the last iteration */
	double lost;           /* counts of those skipped */
	int resumed_from;      /* updates found in the checkpoint, 0 if none */
	int unsaved;           /* checkpoints on the way that could not be written */
	int n;                 /* updates: iterations x subsets */
	double *loglik;        /* of each update, before it; free with iso_em_result_free */
};

/* MLEM, or OSEM if the operator has subsets. x, on the host, is the start and the result. */
int iso_em_run(iso_real *x, struct iso_em_result *r, const struct iso_em *p);
void iso_em_result_free(struct iso_em_result *r);

/* For n voxels, n_data rows, n_images sensitivity images; which data vectors there will be. */
void iso_em_plan(struct iso_plan *plan, const iso_ctx *ctx, int64_t n, int64_t n_data, int n_images,
                 int n_vectors);

/* ---- algorithm: penalised least squares by conjugate gradients ------------------------- */

/* Quadratic smoothness, its own adjoint: <x, L x> is the sum of (x_n - x_m)^2 over neighbours. */
int iso_smoothness_create(iso_op **op, iso_ctx *ctx, const struct iso_grid *g);

struct iso_cg {
	iso_op *op;
	const iso_real *y; /* data, host, file order */
	iso_op *penalty;   /* NULL: none, and mu is 0 */
	double mu;
	int iterations;
	double tolerance; /* stop where |gradient| falls below this share of the first */
	/* as in struct iso_em: */
	const char *checkpoint;
	double checkpoint_minutes, stop_after_minutes;
	uint64_t key;
	bool resume;
	int (*each)(void *arg, int iteration, const iso_real *x);
	void *arg;
	bool (*wants)(void *arg, int iteration);
};

struct iso_cg_result {
	int n; /* iterations done */
	int resumed_from, unsaved;
	double *cost;     /* |y - A x|^2 + mu <x, L x>: n + 1, at the start and after each */
	double *gradient; /* |gradient| over that at the start: n + 1 */
};

/* x, on the host, is the start and the result. */
int iso_cg_run(iso_real *x, struct iso_cg_result *r, const struct iso_cg *p);
void iso_cg_result_free(struct iso_cg_result *r);
void iso_cg_plan(struct iso_plan *plan, const iso_ctx *ctx, int64_t n, int64_t n_data, bool penalty);

/* ---- algorithm: least squares with total variation and a sign ---------------------------- */

struct iso_fista {
	iso_op *op;
	const iso_real *y; /* data, host, file order */
	struct iso_grid grid;
	iso_op *penalty; /* as in struct iso_cg */
	double mu;
	double tv;   /* times the sum of |gradient| over the voxels; 0: none */
	bool nonneg; /* no voxel below 0 */
	int iterations;
	int tv_steps; /* inside an iteration; 20 do */
	/* as in struct iso_em: */
	const char *checkpoint;
	double checkpoint_minutes, stop_after_minutes;
	uint64_t key;
	bool resume;
	int (*each)(void *arg, int iteration, const iso_real *x);
	void *arg;
	bool (*wants)(void *arg, int iteration);
};

/* x, on the host, is the start and the result. The cost of r does not rise; its `gradient` is the
   change of the image over its size, 0 where a step was not taken. */
int iso_fista_run(iso_real *x, struct iso_cg_result *r, const struct iso_fista *p);
void iso_fista_plan(struct iso_plan *plan, const iso_ctx *ctx, int64_t n, int64_t n_data, bool penalty,
                    bool tv);

/* ---- filters ------------------------------------------------------------------------ */

enum iso_filter_kind { ISO_GAUSSIAN, ISO_MEDIAN };

struct iso_filter {
	enum iso_filter_kind kind;
	double fwhm[3]; /* Gaussian: mm along x, y, z; 0 leaves the axis alone */
	int size;       /* median: edge of the cube, 3, 5, 7 or 9 voxels */
};

/* "gaussian:MM", "gaussian:X,Y,Z" or "median:N". */
int iso_filter_parse(struct iso_filter *f, const char *text);

/* y = filtered x, two images on `g` in memory of the context's device. Beyond the border the edge
   voxel goes on; the Gaussian ends at 3 sigma. */
int iso_filter_apply(iso_real *y, iso_ctx *ctx, const struct iso_filter *f, const struct iso_grid *g,
                     const iso_real *x);
void iso_filter_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_filter *f,
                     const struct iso_grid *g);

/* Image-space point spread function as an operator, its own adjoint: a Gaussian of `fwhm` mm along
   x, y, z, that ends at 3 sigma; 0 beyond the border. Chain it behind a model. */
int iso_psf_create(iso_op **op, iso_ctx *ctx, const struct iso_grid *g, const double fwhm[3]);
void iso_psf_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_grid *g); /* and the
						   images of the chain */

/* ---- decay -------------------------------------------------------------------------- */

/* Of a positron emitter by name, such as F-18. */
int iso_half_life(double *half_life_s, const char *isotope);
const char *iso_isotope(const char *isotope); /* "F-18" of f-18; NULL: not known */

/* Mean of exp(-ln 2 t / half_life) over from <= t <= to; a half-life of 0 stands for none: 1. */
double iso_decay_mean(double half_life_s, double from_s, double to_s);

/* ---- randoms ------------------------------------------------------------------------ */

/* Expected randoms of a pair of crystals a, b are rate[a] x rate[b] (rate: one value per crystal).
   From delayed coincidences, by maximum likelihood over the scanner's pairs (each fan sum is met);
   `bad` counts those that lie on no pair. */
int iso_randoms_from_delayed(double *rate, int64_t *bad, iso_ctx *ctx, const iso_scanner *s,
                             const struct iso_events *delayed);

/* From singles per crystal (counts over duration_s): 2 tau s_a s_b duration. */
int iso_randoms_from_singles(double *rate, const iso_scanner *s, const iso_real *singles, double duration_s,
                             double coincidence_ns);

/* ---- measures ----------------------------------------------------------------------- */

/* Of arrays in host memory; images have 3 axes and a grid. Places are mm. */

enum iso_roi_kind { ISO_ROI_SPHERE, ISO_ROI_CYLINDER, ISO_ROI_BOX, ISO_ROI_MASK };

/* The voxels whose centre lies inside, or on the surface (to 1e-4 of a voxel). */
struct iso_roi {
	enum iso_roi_kind kind;
	double centre[3]; /* sphere and cylinder */
	double radius, length;
	int axis;                     /* of the cylinder: 0, 1, 2 */
	double low[3], high[3];       /* box */
	const struct iso_array *mask; /* on the image's grid: voxels that are not 0 */
};

struct iso_roi_stats {
	int64_t voxels;
	double volume;    /* mm^3 */
	double mean, std; /* std over all voxels: divided by their number */
	double pstd;      /* 100 std / mean; NaN where the mean is 0 */
	double min, max, sum;
};

int iso_measure_roi(struct iso_roi_stats *s, const struct iso_array *x, const struct iso_roi *r);

/* Mean of the tumour over mean of the background; ISO_EINPUT where that is 0. */
int iso_measure_tbr(double *tbr, const struct iso_array *x, const struct iso_roi *tumour,
                    const struct iso_roi *background);

struct iso_profile {
	double from[3], to[3]; /* inside the image */
	int64_t samples;       /* at least 2, ends included */
	double width;          /* mm: mean over a disc of this diameter across the line; 0: none */
};

/* `samples` values, trilinear between voxel centres. */
int iso_measure_profile(double *value, const struct iso_array *x, const struct iso_profile *p);

struct iso_fwhm {
	double at[3];
	double window;     /* length of the profiles, mm; 0: 20 voxels. The peak lies in the
				   middle half of that box around `at` */
	double background; /* taken off first */
};

/* Profiles along the axes through the highest voxel: the top is the parabola's through the three
   highest points, the widths are between straight lines from voxel to voxel (NEMA NU 2). NaN
   where there is no peak, or the profile ends above that height. */
struct iso_width {
	double centre, height; /* of the top: mm; less the background */
	double fwhm, fwtm;     /* at half, at a tenth of the height: mm */
};

int iso_measure_fwhm(struct iso_width w[3], const struct iso_array *x, const struct iso_fwhm *p);

/* Of n values, straight lines between the ordered ones; NaN where n is 0. */
struct iso_quartiles {
	int n;
	double least, low, median, high, most;
};

/* Sorts the values; those that are not finite are left out. */
struct iso_quartiles iso_measure_quartiles(int n, double *value);

/* The rods of one diameter in an image. */
struct iso_rods_size {
	double diameter;                 /* mm */
	int rods, pairs;                 /* pairs: of rods at most 2.1 diameters from centre to centre */
	int profiles;                    /* two a rod, along the axes across it */
	struct iso_quartiles fwhm, fwtm; /* mm, of the profiles that fall so far between the rod
						   and its neighbours */
	double valley;                   /* value halfway between two neighbours over the mean of theirs: mean
				   over the pairs; NaN: no pair, or no activity */
	double resolved;                 /* share of the pairs whose valley is below ISO_RODS_VALLEY */
};

#define ISO_RODS_VALLEY .735 /* of the peak: the criterion of Rayleigh */

struct iso_rods {
	int n;
	struct iso_rods_size size[16]; /* rising diameters */
};

/* Of the phantom's cylinders with activity, all along one axis, in the mean of the slices within
   slab / 2 of their middle; 0: half their length. Profiles go through the voxels, interpolated
   across; widths as iso_measure_fwhm takes them, no background taken off. */
int iso_measure_rods(struct iso_rods *r, const struct iso_array *x, const iso_phantom *p, double slab);

/* Boxes from quartile to quartile with the median, whiskers to the ends, a label below each. */
struct iso_boxplot {
	int n;
	const struct iso_quartiles *box;
	const char *const *label; /* UTF-8 */
	const char *title;
};

int iso_boxplot_render(struct iso_pixels *pixels, const struct iso_boxplot *b);

struct iso_diff {
	double max_abs, mean; /* max |a - b|, mean of a - b */
	double l2;            /* |a - b| / |b|, root of the sum of squares */
	double percent;       /* 100 sum |a - b| / sum |b| */
};

/* Infinite where b is 0 and a is not. */
void iso_measure_diff(struct iso_diff *d, int64_t n, const iso_real *a, const iso_real *b);

/* n sum x^2 / (sum |x|)^2: greater where the object stands out of its background more sharply,
   whatever the scale. ISO_EINPUT where all is 0. */
int iso_measure_sharpness(double *sharpness, const struct iso_array *x);

/* Images of unknown scale: k a is compared, with k = 1, sum ref / sum a, or the k that makes the
   error smallest. */
enum iso_scale { ISO_SCALE_NONE, ISO_SCALE_SUM, ISO_SCALE_FIT };

struct iso_rmse {
	int64_t n; /* values compared */
	double scale, rmse;
	double nrmse; /* rmse / mean of ref; infinite where that is 0 */
};

/* Where mask, unless NULL, is not 0. */
int iso_measure_rmse(struct iso_rmse *r, int64_t n, const iso_real *a, const iso_real *ref,
                     const iso_real *mask, enum iso_scale scale);

/* Image quality after NEMA NU 2: where the spheres and the discs of background are. */
struct iso_nema {
	int n_spheres, n_background, n_slices;
	struct iso_nema_sphere {
		double centre[3], diameter;
		double ratio; /* true activity over that of the background; not 1 */
	} sphere[16];
	double background[64][2]; /* x, y of the discs, in every slice */
	double slice[16];         /* z */
	bool has_lung;
	double lung[2], lung_diameter; /* a disc where no activity is, in every slice */
};

struct iso_nema_result {
	struct iso_nema_figures {
		double mean, background; /* C_H and C_B */
		double contrast;         /* recovery, per cent */
		double variability;      /* of the background, per cent */
	} sphere[16];
	double lung; /* residual, per cent of the background; NaN if there is no lung */
};

/* From a YAML or JSON description; NULL: those of the phantom `spheres`. */
int iso_nema_read(struct iso_nema *n, const char *path);
int iso_measure_nema(struct iso_nema_result *r, const struct iso_array *x, const struct iso_nema *n);

/* ---- simulation --------------------------------------------------------------------- */

struct iso_simulate {
	const iso_scanner *scanner;
	const struct iso_array *activity; /* any scale: decays per volume */
	const struct iso_array *mu;       /* NULL: no attenuation */
	const iso_real *eff;              /* efficiency per crystal, any scale; NULL: all alike */
	double counts;                    /* expected prompts */
	bool exact_counts;                /* exactly that many instead of a Poisson number */
	double randoms, scatters;         /* shares of the prompts */
	bool delayed;                     /* delayed coincidences instead of prompts: as many as the
					   prompts have randoms, independent of them */
	double tof_fwhm_ps;               /* 0: dt is written as 0 */
	double duration_s;                /* 0: events have no times */
	double half_life_s;               /* of the activity over the scan; 0: it does not decay */
	const char *isotope;              /* for the events to tell; NULL: not said */
	uint64_t seed;
};

struct iso_simulated {
	int64_t trues, scatters, randoms;
	double decays;              /* that gave the trues and scatters, and all that no crystal saw */
	double window_ps;           /* randoms are uniform over |dt| <= window */
	double randoms_per_pair;    /* expected, for --additive without TOF; with efficiencies, of
					   a pair of efficiency 1: others have eff_a eff_b times that */
	double randoms_per_pair_mm; /* and with unbinned TOF */
};

/* Emission points from the image, isotropic directions, photons binned into crystals; events have
   crystal numbers, and with a duration their times, in order. The same seed gives the same events
   for every number of threads. */
int iso_simulate(struct iso_events *e, struct iso_simulated *info, iso_ctx *ctx,
                 const struct iso_simulate *p);

/* The same list piece by piece, in memory that does not grow with it: `emit` sees each piece in
   turn, on the calling thread, and stops the simulation by returning a failure. */
typedef int (*iso_emit_fn)(void *arg, const struct iso_events *piece);
int iso_simulate_blocks(struct iso_simulated *info, iso_ctx *ctx, const struct iso_simulate *p,
                        iso_emit_fn emit, void *arg);

/* Singles per crystal over the scan that give these randoms within window_ps, Poisson numbers. */
int iso_simulate_singles(iso_real *singles, const struct iso_simulate *p);

/* Decays in an ideal ring, for benchmarks: a uniform cylinder of radius 150 mm along the whole
   ring has 70 %, each of three lines along z, 60 mm off the axis and 120 degrees apart, 10 %. */
struct iso_ring {
	double radius, length; /* mm; radius at least 160 */
	double tof_fwhm_ps;    /* 0: exact times */
	uint64_t seed;
};

/* Events first to first + n - 1 with both ends on the ring, into host memory. Event i depends on
   the seed and i alone: any split gives the same events. */
int iso_ring_events(struct iso_event *e, iso_ctx *ctx, const struct iso_ring *p, int64_t first, int64_t n);

#ifdef __cplusplus
}
#endif
#include "isotome/problem.h"

#endif
