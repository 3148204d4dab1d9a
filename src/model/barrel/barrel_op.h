/* SPDX-License-Identifier: BSD-3-Clause */
/* Model barrel as both backends see it. Inside, images have z fastest, so that a column of voxels is one piece. */
#ifndef ISO_BARREL_OP_H
#define ISO_BARREL_OP_H

#include "core/op.h"
#include "core/loop/order.h"
#include "barrel_kern.h"

/* A strip between those of a pair. */
struct barrel_shade {
	int32_t strip;
	float chord, y; /* way through it, and where its middle lies in the frame of the pair, mm */
};

struct barrel_tables;

/* Data of the operator; on CUDA the arrays are device memory. */
struct barrel_model {
	struct barrel_params p; /* place: n_strips of the room */
	int64_t n_strips;
	struct iso_order order;
	int64_t n;
	struct iso_barrel_event *e;   /* in the operator's order */
	float *factor;                /* of each: what strips in the shadow of others leave; NULL: 1 */
	int64_t most_columns;         /* that any event visits */
	struct barrel_tables *tables; /* on CUDA */
};

/* From what a caller asks for, without places of strips. */
void iso_barrel_params(struct barrel_params *p, const struct iso_barrel_model *m);

/* Those, of the room. */
int iso_barrel_places(struct barrel_place **to, struct iso_room *room, const struct iso_barrel *b);
int iso_barrel_model_check(const struct iso_barrel_model *m);

/* Strips that the line between those of a pair goes through, at most `most`; returns how many there are. */
int iso_barrel_shades(struct barrel_shade *to, int most, const struct iso_barrel *b, int64_t i, int64_t j);

/* exp(-mu s X) of an event, X through those of the strips whose length the line meets. */
double iso_barrel_shadow(const struct iso_barrel *b, const struct barrel_shade *shade, int n, double mean_z,
                         double tilt);

enum { BARREL_SHADES = 64 };

/* (nz, ny, nx), x fastest, to (ny, nx, nz), and back. */
void iso_barrel_turn(iso_real *to, const iso_real *from, const struct barrel_params *p, int threads);
void iso_barrel_turn_back(iso_real *to, const iso_real *from, const struct barrel_params *p, int threads);

ISO_C struct iso_rows iso_barrel_rows(const iso_op *op, int sub);
ISO_C int64_t iso_barrel_file_row(const iso_op *op, int64_t row);

extern const struct iso_op_fn iso_barrel_cpu_fn;
void iso_barrel_cpu_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct barrel_model *m);

#endif
