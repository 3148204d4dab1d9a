/* SPDX-License-Identifier: BSD-3-Clause */
/* Decays by the alias method (Walker 1977; table after Vose 1991): every slot holds the same share of the
   activity and parts it among two voxels, so a draw takes one look whatever the image.

   Directions that no point of a voxel could be seen in are never drawn: a photon from distance r off the axis
   travels at least radius - r across, so with slope s = tan(tilt) it climbs at least s (radius - r), and
   there is room for half - |z| if both photons must stay inside, for half + |z| if one must. The isotropic
   sin(tilt), uniform in -1..1, is uniform up to that bound, and the voxel's activity is weighted with it. */
#include "emission.h"
#include "core/size.h"
#include "core/status.h"

int iso_check_values(const iso_real *v, int64_t n, const char *what)
{
	for (int64_t i = 0; v && i < n; i++)
		if (!(v[i] >= 0) || !isfinite(v[i]))
			return iso_fail(ISO_EINPUT, "%s %" PRId64 " is %g, must be 0 or above", what, i,
			                (double)v[i]);
	return ISO_OK;
}

/* The bound of a voxel from its nearest and farthest corner; 0: it can't be seen. */
static double steepest(const struct iso_grid *g, const int64_t at[3], double radius, double half,
                       enum iso_emission_rule rule)
{
	double nearest[3], farthest[3];

	if (rule == ISO_ALL_DECAYS) return 1;
	for (int a = 0; a < 3; a++) {
		double c = fabs(g->centre[a] + ((double)at[a] - .5 * (double)(g->n[a] - 1)) * g->voxel[a]);

		nearest[a] = fmax(0, c - .5 * g->voxel[a]);
		farthest[a] = c + .5 * g->voxel[a];
	}
	double room = rule == ISO_BOTH_PHOTONS ? half - nearest[2] : half + farthest[2];
	double path = radius - hypot(farthest[0], farthest[1]);

	if (!(room > 0) || !(hypot(nearest[0], nearest[1]) < radius)) return 0;
	return path > 0 ? room / hypot(room, path) : 1;
}

/* Weights into weight[], bounds into the slots; the sum of weights, and that of activity. */
static int weigh(struct iso_emission *e, double *weight, double *sum, const iso_real *v, double radius,
                 double half, enum iso_emission_rule rule)
{
	const struct iso_grid *g = &e->grid;
	double all = 0;
	int64_t at[3], i = 0;
	int st = iso_check_values(v, (int64_t)e->n, "simulate: activity of voxel");

	if (st) return st;
	for (at[2] = 0; at[2] < g->n[2]; at[2]++)
		for (at[1] = 0; at[1] < g->n[1]; at[1]++)
			for (at[0] = 0; at[0] < g->n[0]; at[0]++, i++) {
				double bound = v[i] > 0 ? steepest(g, at, radius, half, rule) : 0;

				if (bound > 0) /* rounded upwards, so that it stays one */
					e->slot[i].most[0] = fminf(1, nextafterf((float)bound, 2));
				weight[i] = (double)v[i] * (double)e->slot[i].most[0];
				all += (double)v[i];
				*sum += weight[i];
			}
	if (!(all > 0)) return iso_fail(ISO_EINPUT, "simulate: the image holds no activity");
	if (!(*sum > 0))
		return iso_fail(ISO_EINPUT,
		                "simulate: no activity lies inside the ring of radius %g mm and length %g mm",
		                radius, 2 * half);
	e->share = *sum / all;
	return ISO_OK;
}

/* Slots short of the mean are filled up from one that has more, until none is left. `stack` holds
   the short ones from below and the others from above. */
static void fill(struct iso_emission_slot *slot, double *weight, uint32_t *stack, int64_t n, double sum)
{
	int64_t shorts = 0, longs = n;

	for (int64_t i = 0; i < n; i++) {
		weight[i] *= (double)n / sum;
		slot[i].keep = 1;
		slot[i].other = (uint32_t)i;
		stack[weight[i] < 1 ? shorts++ : --longs] = (uint32_t)i;
	}
	while (shorts > 0 && longs < n) {
		uint32_t s = stack[--shorts], l = stack[longs];

		slot[s].keep = (float)weight[s];
		slot[s].other = l;
		weight[l] -= 1 - weight[s];
		if (weight[l] < 1) {
			longs++;
			stack[shorts++] = l;
		}
	}
	for (int64_t i = 0; i < n; i++) slot[i].most[1] = slot[slot[i].other].most[0];
}

int iso_emission_create(struct iso_emission *e, const struct iso_array *activity, double radius, double half,
                        enum iso_emission_rule rule)
{
	const struct iso_grid *g = &activity->grid;
	int64_t n = activity->n;
	struct iso_emission made = { .grid = *g, .n = (uint64_t)n };

	if (n > UINT32_MAX)
		return iso_fail(ISO_EINPUT, "simulate: an image of %" PRId64 " voxels, must be at most %u", n,
		                UINT32_MAX);
	for (int a = 0; a < 3; a++) made.low[a] = g->centre[a] - .5 * (double)g->n[a] * g->voxel[a];
	made.slot = size_alloc(n, sizeof *made.slot);
	double *weight = size_alloc(n, sizeof *weight), sum = 0;
	uint32_t *stack = size_alloc(n, sizeof *stack);
	int st = made.slot && weight && stack
	                 ? weigh(&made, weight, &sum, activity->v, radius, half, rule)
	                 : iso_fail_memory("simulate", n * (int64_t)(sizeof *made.slot + 12));

	if (!st) fill(made.slot, weight, stack, n, sum);
	free(weight);
	free(stack);
	if (st)
		free(made.slot);
	else
		*e = made;
	return st;
}

void iso_emission_free(struct iso_emission *e)
{
	free(e->slot);
	*e = (struct iso_emission){ 0 };
}
