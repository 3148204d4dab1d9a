/* SPDX-License-Identifier: BSD-3-Clause */
/* emg over times of the window and rates of their range, for cubic pieces with exact slopes: within 1e-6 of its largest
   value. One table serves all voxels and all iterations. */
#include "density.h"

enum { STEPS = 5 }; /* of a sigma */

#define NODES_APART .05

/* E by u = log(rate) is rate dE/drate; by t, rate (phi - E). */
static void set_node(double *at, int64_t n, double t, double u, double sigma)
{
	const double rate = exp(u), e = emg(t, rate, sigma), by_u = rate * emg_by_rate(e, t, rate, sigma);
	const double phi = emg_normal(t, sigma);

	at[0] = e;
	at[n] = by_u;
	at[2 * n] = rate * (phi - e);
	at[3 * n] = rate * (phi - e - by_u);
}

int emg_table_make(struct emg_table *e, struct iso_room *room, const struct mixture *x)
{
	const double low = log(RATE_LEAST), high = log(RATE_MOST);

	e->nodes = (int)ceil((high - low) / NODES_APART) + 1;
	e->u = low;
	e->du = (high - low) / (e->nodes - 1);
	e->bins = (int64_t)ceil((x->hi - x->lo) / x->m.sigma * STEPS) + 1;
	if (e->bins < 2) e->bins = 2;
	e->first = x->lo;
	e->step = (x->hi - x->lo) / (double)(e->bins - 1);
	if (!ISO_HOST(room, e->v, e->bins * 4 * e->nodes)) return room->status;
#pragma omp parallel for num_threads(room->ctx->threads)
	for (int64_t b = 0; b < e->bins; b++)
		for (int k = 0; k < e->nodes; k++)
			set_node(e->v + b * 4 * e->nodes + k, e->nodes, e->first + (double)b * e->step,
			         e->u + k * e->du, x->m.sigma);
	return ISO_OK;
}
