/* SPDX-License-Identifier: BSD-3-Clause */
/* What each pair of crystals would count of a source with efficiencies 1:
   q = weight x attenuation x integral of the source, the mean over lines between the two faces, + scatter. */
#ifndef ISO_NORM_Q_H
#define ISO_NORM_Q_H

#include "norm_fit.h"
#include "commission/source.h"

#include "isotome/array.h"
#include "isotome/scatter.h"
#include "model/ray/ray.h"

/* Events of a scan, those on pairs that the source misses, randoms that are expected there, and where their lines pass nearest. */
struct norm_missed {
	double all, counts, randoms, near[3];
};

struct norm_shape;

struct norm_q {
	const struct norm_rows *rows;
	const struct source *shape;    /* NULL: */
	const struct iso_array *image; /* counts/mm, on its grid */
	const struct iso_array *mu;    /* 1/mm; NULL: none */
	struct ray_spread spread;      /* lines of a pair */
	double factor;                 /* of the source */
	int places;    /* shifts that move the source: x, y, then two tilts; one more is ln of its scale */
	double scale;  /* by the shifts; set while q is made */
	bool weigh;    /* by the solid angle of the faces, on a cylinder */
	bool chosen;   /* which pairs are used; they have q > 0 from then on */
	float *alpha;  /* attenuation of each pair; NULL without mu */
	double least;  /* no used pair has a smaller q: a place may leave its lines outside */
	int64_t edges; /* pairs that the source meets, but not all their lines */
	struct norm_missed missed; /* where pairs were chosen last */
	float *from;               /* q of each pair where it was made, at these shifts: */
	double made_at[NORM_SHIFTS];
	double chosen_at[NORM_SHIFTS];    /* where its pairs were chosen, and slopes made */
	double scattered_at[NORM_SHIFTS]; /* where its scatter was estimated */
	/* scatter (norm_scatter.h): what the caller says of it; NULL: none */
	const struct iso_scatter *scatter;
	iso_scatter_table *table; /* of the source at its last place, freed with norm_q_free */
	float *h;                 /* of each pair, of a source of factor 1 */
	double scattered;         /* share of the counts expected of efficiencies 1 */
	struct norm_shape
		*by_row; /* without tables: q of a row is made when it is wanted, from this; else NULL */
};

/* Tables of the scan: q, a slope of each shift, attenuation. The scan's `make` then fills them, and `move` follows the steps
   of a fit. */
int norm_q_create(struct norm_q *q, struct norm_scan *s, struct iso_room *room);

/* No tables: q of each row when it is wanted, of a shape at its given place without attenuation and scatter. */
int norm_q_create_rows(struct norm_q *q, struct norm_scan *s, struct iso_room *room, const iso_ctx *ctx);
void norm_q_free(struct norm_q *q);

/* The function `make` of the scan: chooses the pairs if they are not chosen yet. */
int norm_q_make(struct norm_scan *s, bool slopes, iso_ctx *ctx);

/* The function `move`: linear in the place. */
int norm_q_move(struct norm_scan *s, iso_ctx *ctx);

/* q, its slopes and its scatter as they were made at these shifts, for shifts `now`. */
int norm_q_restore(struct norm_scan *s, const double *now, const double *made_at, const double *chosen_at,
                   const double *scattered_at, iso_ctx *ctx);

/* A place in the frame of the source before it was moved by these shifts. */
void norm_q_to_source(double p[3], const struct norm_q *q, const double shift[NORM_SHIFTS]);

/* The ends of a line between the faces of two crystals. */
void norm_q_ends(double p1[3], double p2[3], const struct norm_q *q, int64_t a, int64_t b, int line);

/* An image moved by shift[0], shift[1], linear between voxels. */
void norm_q_move_image(iso_real *to, const struct iso_array *image, const double *shift);

#endif
