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

static double total(const uint32_t *h)
{
	double sum = 0;

	for (int i = 0; i < RESPONSE_BINS; i++) sum += h[i];
	return sum;
}

static void add(double *sum, const uint32_t *h)
{
	for (int i = 0; i < RESPONSE_BINS; i++) sum[i] += h[i];
}

/* Histogram of u (axis 0) or v (1) of a crystal of a block, from column `from` of the other axis to `end`. */
static double gather(double *sum, const iso_response *r, int axis, int64_t direction, const int32_t at[2],
                     int32_t layer, int32_t from, int32_t end)
{
	const struct response_shape *s = &r->shape;
	const uint32_t *h = r->hist[axis] + direction * response_places_of(s) * RESPONSE_BINS;
	double counts = 0;

	memset(sum, 0, RESPONSE_BINS * sizeof *sum);
	for (int32_t k = from; k < end; k++) {
		int64_t it = axis ? k : at[0], iz = axis ? at[1] : k;
		const uint32_t *one = h + ((iz * s->block[0] + it) * s->layers + layer) * RESPONSE_BINS;

		add(sum, one);
		counts += total(one);
	}
	return counts;
}

/* Of the whole block. */
static void gather_all(double *sum, const iso_response *r, int axis, int64_t direction)
{
	int64_t places = response_places_of(&r->shape);

	memset(sum, 0, RESPONSE_BINS * sizeof *sum);
	for (int64_t k = 0; k < places; k++)
		add(sum, r->hist[axis] + (direction * places + k) * RESPONSE_BINS);
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
