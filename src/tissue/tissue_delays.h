/* SPDX-License-Identifier: BSD-3-Clause */
/* Delays through tissue, for the models that hear by them. */
#ifndef ISO_SOUND_DELAYS_H
#define ISO_SOUND_DELAYS_H

#include "sound_kern.h"

#include "core/room.h"

/* Nodes of a grid of step h; an axis of one node is left alone. */
struct sound_nodes {
	int64_t n[3];
	double h, first[3];
};

static inline int64_t sound_nodes_all(const struct sound_nodes *g)
{
	return g->n[0] * g->n[1] * g->n[2];
}

/* What a table is made on: its own nodes, and those of the medium, which hold them. */
struct sound_medium {
	struct sound_nodes table, whole;
	int64_t skip[3]; /* nodes of the whole before the table's first */
	double *slow;    /* 1/c at the whole's nodes */
};

struct iso_delays {
	int refs;
	struct iso_room room;
	struct sound m;
	struct sound_medium medium; /* of tables: what they are made of */
	struct iso_grid grid;
	int64_t n; /* transducers */
	double *pos;
	struct iso_delays_info info;
};

/* One owner more; NULL stays NULL. */
iso_delays *iso_delays_keep(const iso_delays *d);

/* ISO_EARG unless they are of these transducers, or of more that begin with them, and of this grid. */
int iso_delays_fit(const iso_delays *d, const struct iso_transducers *t, const struct iso_grid *g,
                   const char *who);

/* sound_row.c: `late` of n voxels from `first` on, ds apart along x, us; and where `loud` is not NULL the amplitude times
   the distance. At most SOUND_ROW voxels. */
enum { SOUND_ROW = 128 };
void iso_sound_row(iso_real *late, iso_real *loud, const struct sound *m, int64_t q, const double apex[3],
                   const double s[3], const double first[3], double ds, int n);

/* delay_bounds.c: those of a shape's delays */
void iso_sound_bounds(struct iso_delays *d);

/* ---- tables ---- */

/* eikonal.c: delays less d s0, s0 the slowness at s, at all nodes; `work` has iso_eikonal_work values. Returns s0. */
int64_t iso_eikonal_work(const struct sound_nodes *g);
double iso_eikonal(double *u, double *work, const struct sound_nodes *g, const double *slow, double water,
                   const double s[3]);

/* slowness.c: at nodes, between them, and what the medium adds to a straight way from s to r, us */
void iso_sound_slow(double *slow, const struct sound *m, const struct sound_nodes *g, int threads);
double iso_sound_between(const double *slow, const struct sound_nodes *g, double water, const double x[3]);
double iso_sound_along(const struct sound_medium *w, double water, const double s[3], const double r[3]);

/* delay_table.c: tables of m for these transducers, or their step where it is 0. */
int iso_sound_tables(struct iso_delays *d, const struct iso_transducers *t, double step);
struct sound_nodes iso_sound_nodes(const struct iso_grid *g, const double *plane, double h);

#endif
