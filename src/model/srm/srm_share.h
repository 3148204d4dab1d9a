/* SPDX-License-Identifier: BSD-3-Clause */
/* How the work of an operator is dealt to ranks (core/comm.h), by results: forward, a rank computes the rows of whole
   directions of each subset, back, whole planes of the image, each value in the order in which one rank alone
   would. Then all get all. */
#ifndef ISO_SRM_SHARE_H
#define ISO_SRM_SHARE_H

#include "core/comm.h"
#include "srm_op.h"

/* On CUDA: where the rows of a direction lie in the data, and in the order of ranks. */
struct srm_row_move {
	int64_t row, packed;
	int n;
};

struct srm_share {
	int rank, ranks;
	int *order;                /* n_direction: directions in the order of ranks, subset by subset */
	int *direction;            /* n_sub (ranks + 1): those of subset k that rank r has begin at place
	                   [k (ranks + 1) + r] of `order`, and end where the next rank's begin */
	int64_t *row;              /* the same places in bytes of the rows before them, in that order */
	bool *mine;                /* n_direction: this rank computes its rows */
	int *plane;                /* Ny: planes in the order of ranks */
	int *planes;               /* ranks + 1: places in `plane` */
	int64_t *voxel;            /* the same in bytes of the planes before them */
	double *work;              /* of what is dealt, while it is */
	struct srm_row_move *move; /* on CUDA with several ranks, on the device: of each place of `order`, */
	int *plane_there;          /* and a copy of `plane` */
};

ISO_BEGIN_C

/* Into m->share, in arrays of the room: LORs and planes are dealt evenly. */
void iso_srm_share_make(struct srm_op *m, struct iso_room *room);

/* By work: taps times places. Directions in the order of share->order, in groups of which none is cut: group g has the
   places start[g] to before start[g + 1], and subset k the groups group[k] to before group[k + 1]; both NULL:
   in their own order, singly. `taps`: of all planes, or of the first half. */
void iso_srm_share_directions(const struct srm_op *m, const struct iso_srm_rows *taps, const int *start,
                              const int64_t *group);

/* `pairs`: a plane beside its mirror image, which has the same taps. */
void iso_srm_share_planes(const struct srm_op *m, const struct iso_srm_rows *taps, bool pairs);

/* This rank's places in share->order of a subset, and in share->plane. */
static inline struct iso_rows srm_my_directions(const struct srm_op *m, int sub)
{
	const int *first = m->share->direction + sub * (m->share->ranks + 1) + m->share->rank;

	return (struct iso_rows){ first[0], first[1] - first[0] };
}

static inline struct iso_rows srm_my_planes(const struct srm_op *m)
{
	const int *first = m->share->planes + m->share->rank;

	return (struct iso_rows){ first[0], first[1] - first[0] };
}

/* The other ranks' rows of a subset (or of all), planes of the image. Collective: `st` as in core/comm.h. On the
   host `order` must be that of the rows. */
int iso_srm_gather_rows(const iso_op *op, int sub, iso_real *y, int st);
int iso_srm_gather_planes(const iso_op *op, iso_real *x, int st);

/* The same on CUDA (srm_share.cu), with memory of iso_srm_share_packed words; after all is dealt, iso_srm_share_move
   takes the tables there. */
int iso_srm_gather_rows_cuda(const iso_op *op, int sub, float *packed, float *y, int st);
int iso_srm_gather_planes_cuda(const iso_op *op, float *packed, float *x, int st);
int64_t iso_srm_share_packed(const iso_op *op);
int iso_srm_share_move(const struct srm_op *m, struct iso_room *room);

ISO_END_C
#endif
