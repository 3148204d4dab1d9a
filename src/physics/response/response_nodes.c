/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes: means of equal shares of the offsets of a crystal. A place with few counts takes those of its neighbours in the block as
   well: for u of the same column, which are as far from the block's sides along t; for v of the same row. */
#include "response.h"

/* A share ends where the sum of counts reaches its limit; within a bin counts are even. */
void response_shares(double *node, int p, const double *counts, int n, double first, double bin)
{
	double all = 0, below = 0, moment = 0;
	int share = 0;

	for (int i = 0; i < n; i++) all += counts[i];
	for (int k = 0; k < p; k++) node[k] = 0;
	if (!(all > 0)) return;
	const double size = all / p;
	double left = size; /* of the share in hand */

	for (int i = 0; i < n && share < p; i++) {
		double from = 0; /* of the bin, as a share of it */

		below = counts[i];
		while (share < p && below > 0) {
			double take = below < left || share == p - 1 ? below : left, width = take / counts[i];

			moment += take * (first + bin * (i + from + width / 2));
			from += width;
			below -= take;
			left -= take;
			if (share < p - 1 && !(left > size * 1e-12)) {
				node[share++] = moment / size;
				moment = 0;
				left = size;
			}
		}
	}
	if (share < p) node[share] = moment / size;
}

/* sum += the histogram of u (axis 0) or v (1) of a crystal of a block. Along the normal, phi or theta 0, the mirror image of the
   block is the same crystal seen from the other side: both count, so that angles of either sign meet there. */
static double add_place(double *sum, const iso_response *r, int axis, int64_t direction, int64_t it,
                        int64_t iz, int64_t layer)
{
	const struct response_shape *s = &r->shape;
	const uint32_t *all = r->hist[axis] + direction * response_places_of(s) * RESPONSE_BINS;
	const int turns_t = direction / RESPONSE_THETAS == 0, turns_z = direction % RESPONSE_THETAS == 0;
	double counts = 0;

	for (int t = 0; t <= turns_t; t++)
		for (int z = 0; z <= turns_z; z++) {
			int64_t x = t ? s->block[0] - 1 - it : it, y = z ? s->block[1] - 1 - iz : iz;
			const uint32_t *h = all + ((y * s->block[0] + x) * s->layers + layer) * RESPONSE_BINS;
			const bool turned = axis ? z : t;

			for (int i = 0; i < RESPONSE_BINS; i++) {
				sum[i] += h[turned ? RESPONSE_BINS - 1 - i : i];
				counts += h[i];
			}
		}
	return counts;
}

/* The same of crystals `from` to `end` of the other axis. */
static double gather(double *sum, const iso_response *r, int axis, int64_t direction, const int32_t at[2],
                     int32_t layer, int32_t from, int32_t end)
{
	double counts = 0;

	memset(sum, 0, RESPONSE_BINS * sizeof *sum);
	for (int32_t k = from; k < end; k++)
		counts += add_place(sum, r, axis, direction, axis ? k : at[0], axis ? at[1] : k, layer);
	return counts;
}

/* Of the whole block. */
static void gather_all(double *sum, const iso_response *r, int axis, int64_t direction)
{
	const struct response_shape *s = &r->shape;
	int64_t places = response_places_of(s);

	memset(sum, 0, RESPONSE_BINS * sizeof *sum);
	for (int64_t k = 0; k < places; k++)
		add_place(sum, r, axis, direction, k / s->layers % s->block[0], k / s->layers / s->block[0],
		          k % s->layers);
}

/* Whether others were joined. */
static bool histogram(double *sum, const iso_response *r, int axis, int64_t direction, const int32_t at[2],
                      int32_t layer)
{
	int32_t n = r->shape.block[!axis], i = at[!axis];

	for (int32_t by = 0; by < n; by++) {
		int32_t from = i > by ? i - by : 0, end = i + by < n ? i + by + 1 : n;

		if (gather(sum, r, axis, direction, at, layer, from, end) >= RESPONSE_FEW) return by > 0;
	}
	gather_all(sum, r, axis, direction);
	return true;
}

/* Places of direction i. */
static int64_t fill_direction(iso_response *r, int64_t direction)
{
	const struct response_shape *s = &r->shape;
	double sum[RESPONSE_BINS], node[2 * RESPONSE_TABLES + 1];
	int64_t places = response_places_of(s), joined = 0;

	for (int64_t place = 0; place < places; place++)
		for (int axis = 0; axis < 2; axis++) {
			int32_t layer = (int32_t)(place % s->layers);
			int64_t column = place / s->layers;
			int32_t at[2] = { (int32_t)(column % s->block[0]), (int32_t)(column / s->block[0]) };

			joined += histogram(sum, r, axis, direction, at, layer);
			for (int t = 0; t < RESPONSE_TABLES; t++) {
				int p = 2 * t + 3;
				float *to = r->node[t] + ((direction * places + place) * 2 + axis) * p;

				response_shares(node, p, sum, RESPONSE_BINS,
				                -RESPONSE_BIN_MM * RESPONSE_BINS / 2, RESPONSE_BIN_MM);
				for (int k = 0; k < p; k++) to[k] = (float)node[k];
			}
		}
	return joined;
}

int response_nodes_fill(iso_response *r, int64_t *joined)
{
	int64_t n = 0;

	for (int64_t i = 0; i < RESPONSE_DIRECTIONS; i++) n += fill_direction(r, i);
	*joined = n;
	return ISO_OK;
}
