/* SPDX-License-Identifier: BSD-3-Clause */
/* Pieces of a stream: the steps of one rectangle of places, from its taps to the ranges of
   its warps. For srm_stream*.c and srm_single.c alone. */
#ifndef ISO_SRM_STREAM_PIECE_H
#define ISO_SRM_STREAM_PIECE_H

#include "srm_stream_board.h"

#include <stdlib.h>

enum {
	STREAM_QUAD = 4,        /* taps that a warp reads at a time */
	STREAM_MOST_CELLS = 64, /* of a rectangle along an axis: bits of a reach */
	STREAM_PLANES = 256,    /* phases along x, at most */
};

/* ---- memory ---- */

/* An array that grows. */
struct pool {
	char *v;
	int64_t n, room, size;
};

/* The arrays of a stream, and of a piece. */
enum { BLOCK, RANGE, OUT, REACH, OFFSET, WEIGHT, POOLS };

extern const int64_t iso_pool_size[POOLS]; /* bytes of an item */

/* What a thread's finished pieces lie in: memory in large parts, of which none moves. */
struct store {
	struct store_part *last, *spare; /* parts in use, and those of streams before */
	int64_t left;                    /* bytes at the end of the last part */
};

/* NULL: no memory. Aligned to 16 bytes. */
void *iso_store_take(struct store *s, int64_t bytes);
void iso_store_empty(struct store *s); /* nothing of it is in use any more */
void iso_store_free(struct store *s);

/* ---- a piece ---- */

/* Places from x0, z0 to before x1, z1. */
struct box {
	int x0, x1, z0, z1;
};

static inline struct box box_join(struct box a, struct box b)
{
	return (struct box){ a.x0 < b.x0 ? a.x0 : b.x0, a.x1 > b.x1 ? a.x1 : b.x1, a.z0 < b.z0 ? a.z0 : b.z0,
		             a.z1 > b.z1 ? a.z1 : b.z1 };
}

static inline int up(int a, int d)
{
	return (a + d - 1) / d;
}

/* A step in the making. It reaches cells, counted from the rectangle's first; where it does, each of its taps
   must read from its own plane or from the zeros around it: those cells are `allowed`. */
struct step {
	int n; /* runs */
	struct box reach, allowed;
	struct stream_offsets offset;
	int64_t row; /* its first row of weights, among those of its kind */
};

/* The piece that a thread makes; its arrays serve one piece after the other. */
struct piece {
	const struct pieces *of;
	int y;      /* plane at work */
	bool lower; /* of the lower half: counted from lower crystals */
	const struct strip *member;
	int n;                           /* forward: its directions */
	const struct srm_direction *bin; /* adjoint: directions that share a board */
	int phase;                       /* adjoint: the first of the lanes' */
	struct board board;              /* taps not yet in a step */
	struct pool pool[POOLS];         /* BLOCK, RANGE and OUT */
	struct {
		struct pool pool[POOLS]; /* REACH, OFFSET and WEIGHT of its steps */
		struct step step;        /* in the making */
	} kind[STREAM_KINDS];
	int64_t first[STREAM_KINDS + 1]; /* step of a kind */
	struct box places;               /* the rectangle of outputs */
	int64_t products;                /* rows of taps by cells that they reach */
	int64_t useful;
	bool full; /* out of memory */
};

/* A finished piece. Blocks and ranges count from its own first. */
struct made {
	void *v[POOLS];
	int64_t n[POOLS];
	int64_t products, useful;
};

void iso_piece_add(struct piece *p, struct pool *to, const void *item);

/* ---- taps ---- */

/* A tap of a lane, one a lane and place of the board; w: its weight, if the board has those. */
static inline void piece_put(struct piece *p, int plane, int x, int z, int lane, uint16_t half,
                             const iso_real *w)
{
	int32_t at = board_at(&p->board, plane, x, z);

	p->board.place[at].half[lane] = half;
	if (p->board.weighs) p->board.weights[at].w[lane] = (float)*w;
}

/* How the taps of a plane of the board read: one at row x and column z reads from word base + x stride + z on
   for place (0, 0), and the inside of the image or the data at the nx x nz places from
   (x0 - x, z0 - floor(z / per)) on; around it are zeros, `margin` columns of them. */
struct source {
	int64_t base;
	int stride, margin;
	int x0, nx, z0, nz, per;
};

typedef struct source (*source_fn)(const struct piece *p, int plane);

/* The taps of the board become steps, and the board is empty. */
void iso_piece_steps(struct piece *p, source_fn source);

/* No taps are left: the warps and their ranges. */
void iso_piece_end(struct piece *p, int slice);

int iso_piece_warps(const struct box *places);

/* ---- pieces of a stream ---- */

/* Where a voxel lies along an axis: its crystal's cell, and its place in that. */
struct voxel_place {
	int16_t cell, phase;
};

/* Of the voxels -n d ... n d - 1, n crystals of d voxels; in an array of the room, NULL: see its status. */
struct voxel_place *iso_voxel_places(struct iso_room *room, int n, int d);

/* Pieces of all subsets: number first[sub] ... first[sub + 1] - 1 belong to subset sub. */
struct pieces {
	bool (*open)(struct board *s, const struct pieces *k);
	void (*make)(struct piece *p, int64_t number);
	struct iso_room *room;
	const struct srm_op *m;
	const struct stream_taps *taps;
	const struct stream_layout *l;
	int64_t *first; /* n_sub + 1 */
	int slices;
	struct voxel_place *x, *z; /* of voxel i or k, from -Nc D on */
	struct strip *strip;       /* forward: directions in the order of groups, and each group's first */
	int *start, *group;        /* and those of this rank */
	int quires;                /* adjoint: of phases */
	struct iso_rows planes;    /* adjoint: this rank's */
};

/* Pieces one after the other, by one thread; false: no memory. */
bool iso_piece_open(struct piece *p, const struct pieces *k);
bool iso_piece_make(struct made *to, struct store *in, struct piece *p, int64_t number);
void iso_piece_close(struct piece *p);

/* Memory and tables; all pieces, if there was memory. */
int iso_stream_begin(struct srm_stream *s, struct pieces *k);
int iso_stream_make(struct srm_stream *s, struct pieces *k);

/* Whether most of the directions first ... end - 1, a subset's, have their neighbour along z among them. */
bool iso_stream_neighbours(const struct srm_op *m, int first, int end);

/* Slices, at most `most`, so that a subset has warps enough. */
int iso_stream_slices(double warps, int most);

#endif
