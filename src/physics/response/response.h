/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of a crystal's response as its makers and users inside the library see it. */
#ifndef ISO_RESPONSE_TABLE_H
#define ISO_RESPONSE_TABLE_H

#include "core/ctx.h"
#include "core/room.h"
#include "isotome/response.h"
#include "response_kern.h"

enum {
	RESPONSE_BINS = 160,    /* of an offset: 0.25 mm over +-20 mm */
	RESPONSE_FEW = 400,     /* counts of a place: with fewer it is joined with others */
	RESPONSE_ENERGIES = 23, /* 300, 310 .. 510, 511 keV */
	RESPONSE_TABLES = 3,    /* of p = 3, 5, 7 nodes */
	RESPONSE_MOST = 1 << 20 /* crystals of a module, places of a block: at most */
};
#define RESPONSE_BIN_MM .25

/* Crystals of a block, blocks of a module, along t and z; layers. */
struct response_shape {
	int32_t block[2], blocks[2], layers;
};

struct iso_response {
	struct response_shape shape;
	struct iso_response_info info;
	struct iso_room room;
	/* as the file has them */
	float *d;          /* (direction, crystal): smoothed, mm^2 */
	uint32_t *count;   /* the same: records, not smoothed */
	float *d_energy;   /* (energy, direction): of the mean crystal, mm^2 */
	uint32_t *hist[2]; /* u, v: (direction, place, RESPONSE_BINS) */
	uint32_t *beyond;  /* (direction, place): records farther than 20 mm */
	/* made of them */
	float *mean;                  /* (direction): d of the mean crystal, mm^2 */
	float *area;                  /* d over D_0 */
	float *node[RESPONSE_TABLES]; /* (direction, place, 2, p): mm */
};

static inline int64_t response_crystals_of(const struct response_shape *s)
{
	return (int64_t)s->block[0] * s->blocks[0] * s->block[1] * s->blocks[1] * s->layers;
}

static inline int64_t response_places_of(const struct response_shape *s)
{
	return (int64_t)s->block[0] * s->block[1] * s->layers;
}

/* A table of zeros: ISO_EINPUT unless sizes are positive and not too large. */
int response_create(iso_response **r, const struct response_shape *s);

/* After d, count, d_energy, hist and beyond are filled: mean, area, nodes, and what is told of them. */
int response_finish(iso_response *r);

/* d of the counts: crystal by crystal a polynomial of total degree 4 in the two angles, by weighted least squares; mm2: effective
   area of one count in each direction. Its chi^2 over the degrees of freedom, of all crystals. */
void response_smooth(float *d, double *chi2, const uint32_t *count, const double *mm2, int64_t crystals);

/* Means of p equal shares of a histogram of n bins from `first` on, even within bins; zeros where it is empty. */
void response_shares(double *node, int p, const double *counts, int n, double first, double bin);

/* Nodes of all places and directions; how many histograms were joined. */
int response_nodes_fill(iso_response *r, int64_t *joined);

/* Keys of the scanner's crystals; ISO_EINPUT where its description does not say them. */
int response_crystals(struct response_crystals *c, struct response_shape *shape, char hash[17],
                      const iso_scanner *s);

/* The view for p = 3, 5 or 7, of host memory that the table owns; ISO_EINPUT unless it fits the scanner. */
int response_view(struct response_view *v, const iso_response *r, const iso_scanner *s, int p);

/* Values of `node` and of `area` of a view. */
static inline int64_t response_view_nodes(const struct response_view *v)
{
	return (int64_t)RESPONSE_DIRECTIONS * v->at.block[0] * v->at.block[1] * v->at.layers * 2 * v->p;
}

static inline int64_t response_view_areas(const struct response_view *v)
{
	return (int64_t)RESPONSE_DIRECTIONS * v->at.block[0] * v->at.blocks[0] * v->at.block[1] *
	       v->at.blocks[1] * v->at.layers;
}

/* The view's arrays onto the device of the room. */
static inline void response_send(struct iso_room *room, struct response_view *v)
{
	if (v->p == 0) return;
	ISO_UPLOAD(room, v->node, v->node, response_view_nodes(v));
	ISO_UPLOAD(room, v->area, v->area, response_view_areas(v));
}

/* As HDF5, of a build that has it: into `temp`, with `path` for messages; and from a file. */
int response_write_h5(const char *temp, const char *path, const iso_response *r);
int response_read_h5(iso_response **r, const char *path);

#endif
