/* SPDX-License-Identifier: BSD-3-Clause */
/* What one thread makes of a stream: the steps of one rectangle of places, from its taps to the ranges of
   its warps. For srm_stream*.c and srm_single.c alone. */
#ifndef ISO_SRM_STREAM_PIECE_H
#define ISO_SRM_STREAM_PIECE_H

#include "srm_stream.h"

#include <stdlib.h>

enum {
	STREAM_QUAD = 4,        /* taps that a warp reads at a time */
	STREAM_MOST_CELLS = 64, /* of a rectangle along an axis: bits of a reach */
};

/* ---- arrays that grow ---- */

struct pool {
	char *v;
	int64_t n, room, size;
};

bool iso_pool_append(struct pool *p, const void *items, int64_t n);

/* The pools of a stream, and of a piece. */
enum { BLOCK, RANGE, OUT, REACH, OFFSET, WEIGHT, POOLS };

void iso_pools_open(struct pool pool[POOLS]);

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

/* Weight w of a lane at a key. */
struct tap {
	uint64_t key;
	int lane;
	float w;
};

/* A step in the making. It reaches cells, counted from the rectangle's first; where it does, each of its taps
   must read from its own plane or from the zeros around it: those cells are `allowed`. */
struct step {
	int n; /* runs */
	struct box reach, allowed;
	struct stream_offsets offset;
	struct stream_weights weight[2 * STREAM_RUN];
};

struct piece {
	const struct pieces *of;
	int y;      /* plane at work */
	bool lower; /* of the lower half: counted from lower crystals */
	const struct strip *member;
	int n;                           /* forward: its directions */
	const struct srm_direction *bin; /* adjoint: directions whose taps are sorted together */
	int phase;                       /* adjoint: the first of the lanes' */
	struct pool pool[POOLS];
	struct pool tap; /* not yet in a step */
	uint64_t *sorted;
	int64_t room;
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

static inline void piece_add(struct piece *p, struct pool *to, const void *item)
{
	p->full |= !iso_pool_append(to, item, 1);
}

/* ---- weights as halves (srm_stream.c) ---- */

/* What a half holds of a weight; and whether the rest is no more than the rounding of a float. */
float iso_half_of(float w, double unit);
bool iso_half_holds(float w, double unit);

/* Of the weights of all tables. */
double iso_half_unit(const struct srm_op *m, const struct iso_srm_rows *taps);

/* ---- taps ---- */

/* The order of taps: plane by plane (phases px, or directions), column by column, along x. */
enum { Z_BITS = 16, X_BITS = 16, KEY_BITS = 40, PLANES = 1 << (KEY_BITS - Z_BITS - X_BITS) };

static inline uint64_t key_of(int plane, int x, int z)
{
	return ((((uint64_t)plane << Z_BITS) + (uint64_t)(z + (1 << (Z_BITS - 1)))) << X_BITS) +
	       (uint64_t)(x + (1 << (X_BITS - 1)));
}

static inline int key_x(uint64_t key)
{
	return (int)(key & ((1 << X_BITS) - 1)) - (1 << (X_BITS - 1));
}

static inline int key_z(uint64_t key)
{
	return (int)(key >> X_BITS & ((1 << Z_BITS) - 1)) - (1 << (Z_BITS - 1));
}

static inline int key_plane(uint64_t key)
{
	return (int)(key >> (X_BITS + Z_BITS));
}

/* Places that read the inside of a plane, and where the reading begins for place (0, 0). */
struct source {
	struct box inside;
	int32_t offset;
	int stride; /* words to the next row of places */
	int margin; /* columns of zeros beside it */
};

typedef struct source (*where_fn)(const struct piece *p, uint64_t key);

/* The piece's taps become steps. */
void iso_piece_steps(struct piece *p, where_fn where);

/* No taps are left: the warps and their ranges. */
void iso_piece_end(struct piece *p, int slice);

int iso_piece_warps(const struct box *places);

/* ---- pieces of a stream ---- */

/* Pieces of all subsets: number first[sub] ... first[sub + 1] - 1 belong to subset sub. */
struct pieces {
	void (*make)(struct piece *p, int64_t number);
	struct iso_room *room;
	const struct srm_op *m;
	const struct iso_srm_rows *taps;
	const struct stream_layout *l;
	int64_t *first; /* n_sub + 1 */
	double unit;    /* as of a stream */
	int slices;
	struct strip *strip; /* forward: directions in the order of groups, and each group's first */
	int *start;
	int quires; /* adjoint: of phases */
};

void iso_piece_make(struct piece *p, const struct pieces *k, int64_t number);

/* Memory and the unit of weights; all pieces, if there was memory. */
int iso_stream_begin(struct srm_stream *s, struct pieces *k);
int iso_stream_make(struct srm_stream *s, struct pieces *k);

/* Whether most of the directions first ... end - 1, a subset's, have their neighbour along z among them. */
bool iso_stream_neighbours(const struct srm_op *m, int first, int end);

/* Slices, at most `most`, so that a subset has warps enough. */
int iso_stream_slices(double warps, int most);

#endif
