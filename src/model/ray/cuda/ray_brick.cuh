/* SPDX-License-Identifier: BSD-3-Clause */
/* Rays in the order and shape that the fast CUDA passes want.

   Floor of an EM step: each voxel visit is one read and one addition, and in L2 both cost most when
   they come alone. So the image is cut into bricks that fit shared memory, and every brick meets
   all rays that cross it; both passes (forward, then back once the sums are known) stay on the chip
   and touch the image once a brick. For that, rays are ordered once by main axis, direction and
   position (ray_pack.cu), so that neighbours in memory are neighbours in space: 32 of them make a
   packet, whose hull tells in one test that a brick meets none of them. So the rays of each brick
   are found, also once (ray_list.cu), and the passes (ray_brick.cu) only follow them. */
#ifndef ISO_RAY_BRICK_CUH
#define ISO_RAY_BRICK_CUH

#include "core/cuda.cuh"
#include "core/loop/fixed.cuh"
#include "model/ray/ray.h"

#define RAY_PACKET 32 /* rays, one a lane */
#define RAY_NO_RAY 0xffffffffu
#define NOWHERE 1e9f /* voxels */

/* A ray along its main axis, lines rounded once from double: b = b0 + bx x, c = c0 + cx x, and for
   TOF u = u0 + ux x. No ray: x0 > x1. */
struct __align__(16) ray_line
{
	float x0, x1, b0, bx, c0, cx, u0, ux;
};

/* Where a packet's rays are: extremes of b and c at x = x_lo and x_hi, between which all of them
   lie. Between the two, extremes are bounded by straight lines. */
struct __align__(16) ray_hull
{
	float x_lo, x_hi, enter_hi, leave_lo; /* least and greatest x0, x1; greatest x0, least x1 */
	float b_lo[2], b_hi[2], c_lo[2], c_hi[2];
};

/* Rays of one main axis, and where they are in the pack. */
struct ray_bundle {
	int n;               /* rays */
	int packet, packets; /* first, and how many */
};

/* How a stretch is weighed in the inner loop. */
enum ray_rule {
	RAY_RULE_LENGTH,
	RAY_RULE_MIDDLE, /* TOF by the middle of the stretch, and the second derivative there */
	RAY_RULE_ERF,    /* TOF by differences of erf, for voxels that are long against sigma */
	RAY_RULE_BIN,    /* TOF in bins, by a table of the share of a bin */
};

/* T(u) = the integral of p from |u| to the edge, beyond which p is 0; p(u): the share of annihilations
   at u that is measured in the bin around u = 0. In cell k, k + d = (edge - |u|) per_u with 0 <= d < 1,
   T is the cubic c.x + c.y d + c.z d^2 + c.w d^3. p has kinks where a side of the bin meets the cut of
   the Gaussian: cells end there. */
struct ray_bins {
	float4 *cell; /* device memory */
	int cells;
	float edge, per_u;
	float total; /* 2 T(0) */
};

#define RAY_MOST_CELLS 1024 /* 16 KiB of shared memory */

/* Where a ray's weights and samples begin and end: x of the TOF window, x of the grid. */
struct __align__(16) ray_reach
{
	float x0, x1, g0, g1;
};

	/* ---- bricks, and the rays that cross them ---- */

#define RAY_SLICES_THIN 8 /* of a brick along the main axis */
#define RAY_SLICES_THICK 16
#define RAY_GROUP_SLICES RAY_SLICES_THIN /* of a brick that holds RAY_GROUP images */
#define RAY_NO_SLOT 0xffffffffu
#define RAY_MARK 0x80000000u /* on a slot: the ray leaves the brick neither along b nor c */

enum ray_crossing { RAY_ABSENT, RAY_SOMEWHERE, RAY_INSIDE };

/* Bricks over the grid, for the rays of a bundle. */
struct ray_bricks {
	int axis; /* the main axis */
	int n[3]; /* grid along k, b, c */
	long long stride[3];
	int slabs, nb, nc;   /* bricks along k, b, c */
	int wb, wc;          /* voxels of a brick along b, c */
	int packet, packets; /* of the bundle */
	int first;           /* number of its first brick */
};

struct ray_wall {
	struct ray_bricks b[3];
	int n, bricks;     /* bundles that have rays; bricks of all */
	int slices, words; /* of a brick; voxels of the largest one, with halo */
};

/* Chunks first .. first + n, in their order, of a brick. */
struct ray_unit {
	int brick, first, n;
};

/* Chunks of at most 32 rays, one a lane, brick after brick: a whole packet, as its number with RAY_MARK, or the number of a
   part, rays whose slots are base.x + off, or base.y + off where off has the bit RAY_OFF_Y. Device memory, of the pack's room
   or of the finder, which keeps it until it is used again. */
#define RAY_OFF_Y 0x8000u
#define RAY_NO_OFF 0xffffu

struct ray_parts {
	uint2 *base;
	uint16_t *off; /* RAY_PACKET a part; RAY_NO_OFF: no ray */
};

struct ray_lists {
	struct ray_wall wall;
	const unsigned *order;
	struct ray_parts part;
	struct ray_unit *unit;
	int units;
	int64_t entries, parts; /* of `order`, `part` */
};

/* Work space to find the rays of bricks, which grows as it must. */
struct ray_finder {
	struct iso_room *room;
	struct ray_hull *hull; /* of the packets in hand */
	int64_t entries,
		parts; /* there is room for: chunks of all bricks, and those that are not whole packets */
	unsigned *key[2], *id[2];
	struct ray_parts part;
	int64_t *used; /* entries, parts */
	void *temp;
	int64_t temp_bytes, units;
	struct ray_unit *unit;
};

/* ---- packs ---- */

#define RAY_BUNDLES 4 /* main axes x, y, z, and the rays that miss */

/* Where each bundle begins: among the sorted rays, and among the slots. */
struct ray_places {
	int64_t sorted[RAY_BUNDLES + 1], slot[RAY_BUNDLES + 1];
};

/* Ordered rays of a range of rows: `lines` rays a row. Slots of a bundle begin at a packet; the rays
   that miss the grid stand behind all others, without packets. */
struct ray_pack {
	int64_t slots;
	struct iso_rows rows;
	int lines;
	enum ray_rule rule;
	struct ray_bundle bundle[3];
	/* device memory, one entry a slot */
	struct ray_line *line;
	struct ray_reach *reach; /* Joseph alone, where a line spans whole slices */
	float *factor;           /* of all weights of a ray: mm per unit of x, or TOF's */
	unsigned *ray;           /* (row - rows.first) lines + line; RAY_NO_RAY: an empty slot */
	unsigned *slot;          /* of each ray; only if lines > 1 */
	struct ray_bins bins;
	struct ray_lists lists;
	/* how its slots were filled; sorted: numbers of the rays, of the packer until it is used again */
	struct ray_places at;
	const unsigned *sorted;
};

/* Finds the rays of every brick, for a pack that is filled otherwise, whose hulls the finder has. images: that a brick holds, 1 or
   RAY_GROUP. keep: the lists that they leave, and no more, in this room; NULL: in the finder, until it is used again. */
int iso_ray_lists_fill(struct ray_pack *p, struct ray_finder *f, iso_ctx *ctx, const struct ray_model *m,
                       int images, struct iso_room *keep);

/* The hulls of a pack that has been filled. */
int iso_ray_pack_hulls(const struct ray_pack *p, struct ray_hull *hull, iso_ctx *ctx);

/* Work space to order up to `most` rays, made once. */
struct ray_packer;
int iso_ray_packer_create(struct ray_packer **p, struct iso_room *room, int64_t most);

/* Slots that n rays may need. */
int64_t iso_ray_pack_slots(int64_t n);
/* Arrays for n rows of a model, without lists. */
int iso_ray_pack_create(struct ray_pack *p, struct iso_room *room, const struct ray_model *m, int64_t n);

/* Orders rays of the events e[0 .. rows.n), device memory, rows rows.first and on. keep: as of iso_ray_lists_fill, with
   the packer for the finder. */
int iso_ray_pack_fill(struct ray_pack *p, struct ray_packer *k, iso_ctx *ctx, const struct ray_model *m,
                      const struct iso_event *e, struct iso_rows rows, struct iso_room *keep);

/* Fills the slots of a pack whose rays were sorted before, and whose lists there are. */
int iso_ray_pack_again(struct ray_pack *p, struct ray_packer *k, iso_ctx *ctx, const struct ray_model *m,
                       const struct iso_event *e);

/* Cells of the table of bins; 0: the times of the model are not in bins. */
int iso_ray_bin_cells(const struct ray_tof *t);
int iso_ray_bins_create(struct ray_bins *b, struct iso_room *room, const struct ray_model *m);

/* May the fast passes serve the model? */
bool iso_ray_brick_serves(const struct ray_model *m);

/* Sums along rays, and the factor that each ray sends back, one a slot. */
struct ray_brick_work {
	unsigned long long *sum; /* fixed point */
	float *send;
	float *limit;   /* greatest magnitude in x, on the device */
	float *limit_u; /* the same in u, of a step of ratios */
	int *queue;     /* next unit of work: forward, back */
};

/* What becomes of terms whose magnitude exceeds `limit`, in units of the sums: they are cut to it, and *count (device
   memory) grows. */
struct ray_brick_cut {
	double limit;
	int64_t *count;
};

int iso_ray_brick_open(struct ray_brick_work *w, struct iso_room *room, int64_t slots);

/* The greatest magnitude of n values, for the scale of the sums. Once for each image. */
int iso_ray_brick_limit(struct ray_brick_work *w, iso_ctx *ctx, int64_t n, const float *x);
int iso_ray_brick_limit_u(struct ray_brick_work *w, iso_ctx *ctx, int64_t n, const float *u);

/* w->sum[slot] = the ray's line integral of x, over its factor, times iso_ray_brick_scale(grid) and
   ray_brick_up(greatest x). */
int iso_ray_brick_forward(struct ray_brick_work *w, iso_ctx *ctx, const struct ray_model *m,
                          const struct ray_pack *p, const float *x);

/* acc[v] += w x[v] up send over all rays: w the weight of voxel v over the ray's factor, up =
   ray_brick_up(greatest x), send of the ray. Each term is rounded to an integer in [0, 2^32). x NULL: x up is 1
   everywhere. */
int iso_ray_brick_back(struct ray_brick_work *w, iso_ctx *ctx, const struct ray_model *m,
                       const struct ray_pack *p, const float *x, unsigned long long *acc);

/* The same for what rays send of either sign, and with the image u: up = ray_brick_up(greatest u). */
int iso_ray_brick_back_signed(struct ray_brick_work *w, iso_ctx *ctx, const struct ray_model *m,
                              const struct ray_pack *p, const float *u, unsigned long long *acc,
                              struct ray_brick_cut cut);

/* Passes of several packs of one model in one launch, each with sums and answers of its own. */
struct ray_brick_job {
	const struct ray_pack *pack;
	struct ray_brick_work w; /* its sum, send and limit; sums are cleared by the caller */
	const float *x;
	unsigned long long *acc;
};

struct ray_brick_jobs {
	int n, units;
	enum ray_rule rule;
	int slices, words; /* of bricks */
	float cut;         /* of TOF */
	struct ray_bins bins;
	bool joseph;
	void *all;       /* the jobs on the device, */
	int *first_unit; /* n + 1 */
	int *queue;      /* forward, back */
};

/* Room for so many. */
int iso_ray_brick_jobs_open(struct ray_brick_jobs *j, struct iso_room *room, int most);
int iso_ray_brick_jobs_set(struct ray_brick_jobs *j, iso_ctx *ctx, const struct ray_model *m, int n,
                           const struct ray_brick_job *job);
int iso_ray_brick_jobs_forward(const struct ray_brick_jobs *j, iso_ctx *ctx);
int iso_ray_brick_jobs_back(const struct ray_brick_jobs *j, iso_ctx *ctx);

/* limit[i] = the greatest magnitude of n values from x + i n on. */
int iso_ray_brick_limits(float *limit, iso_ctx *ctx, int images, int64_t n, const float *x);

/* Bits after the binary point of a term of the EM step. A term is at most 1; one of 1/1000 has 18 bits. */
#define RAY_BRICK_BITS 28

/* What the terms of an EM step are multiplied by; most: the largest count. x w / q <= 1 for every count. */
double iso_ray_brick_unit(double most);

/* Scale of ray_brick_work.sum for images with values below 2: the sum along the longest ray is below 2^62. */
double iso_ray_brick_scale(const struct ray_grid *g);

/* The power of two that brings an image's values below 2, so that no sum or ratio leaves float's
   range, however small or large the image is. */
static __device__ inline float ray_brick_up(float largest)
{
	return largest > 0 ? ldexpf(1, max(-126, min(126, -ilogbf(largest)))) : 1;
}

#endif
