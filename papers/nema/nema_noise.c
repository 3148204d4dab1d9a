/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether an estimate of the scatter makes images noisier than its true expectation does: the variance of each voxel
   over scans of other seeds, by both. */
#include "nema.h"

#include <stdlib.h>

#define FIRST_SEED 100
#define WITHIN .8 /* of the object's half length: planes that are looked at */

struct noise {
	struct nema *n;
	const struct nema_object *o;
	iso_scatter_table *t; /* of the first scan */
	double trues;         /* of the first scan */
	double *sum[2], *squares[2];
};

/* Both images of one scan, with time of flight, in units of its background. */
static int add_scan(struct noise *d, uint64_t seed)
{
	struct nema_scan s;
	struct iso_array x = { 0 };
	int st = nema_scan_open(&s, d->n, d->o, d->n->scale.noise_events, seed);

	if (!st && !d->t) {
		d->trues = (double)s.trues.n;
		st = nema_expected(&d->t, d->n, &s, true);
	}
	for (int k = 0; k < 2 && !st; k++) {
		const struct nema_recon r = { k ? NEMA_KNOWN : NEMA_ESTIMATED, true, d->t,
			                      (double)s.trues.n / d->trues };

		if ((st = nema_recon(&x, NULL, d->n, &s, &r))) break;
		for (int64_t i = 0; i < x.n; i++) {
			double v = (double)x.v[i] / s.unit;

			d->sum[k][i] += v;
			d->squares[k][i] += v * v;
		}
		iso_array_free(&x);
	}
	iso_array_free(&x);
	nema_scan_close(&s);
	return st;
}

/* Mean over the voxels of the background of their variance over the scans. */
static double variance(const struct noise *d, int k, double seeds)
{
	const struct iso_array *truth = &d->o->truth;
	const int64_t plane = truth->grid.n[0] * truth->grid.n[1];
	double all = 0;
	int64_t voxels = 0;

	for (int64_t i = 0; i < truth->n; i++) {
		double z = fabs((double)(2 * (i / plane) + 1 - truth->grid.n[2]) / (double)truth->grid.n[2]);

		if (truth->v[i] != 1 || z > WITHIN) continue;
		all += (d->squares[k][i] - d->sum[k][i] * d->sum[k][i] / seeds) / (seeds - 1);
		voxels++;
	}
	return all / (double)voxels;
}

static void tell(const struct noise *d, int64_t seeds)
{
	const double estimated = variance(d, 0, (double)seeds), known = variance(d, 1, (double)seeds);

	study_result(&d->n->s, "noise",
	             record_pack("{s:I, s:I, s:f, s:f, s:f, s:f}", "seeds", (json_int_t)seeds, "first_seed",
	                         (json_int_t)FIRST_SEED, "events", d->n->scale.noise_events,
	                         "deviation_estimated", sqrt(estimated), "deviation_known", sqrt(known),
	                         "variance_ratio", estimated / known));
}

int nema_noise(struct nema *n, const struct nema_object *o)
{
	struct noise d = { .n = n, .o = o };
	struct iso_clock clock = iso_clock_start(n->s.c->ctx, "noise", 0, n->scale.seeds);
	int st = ISO_OK;

	for (int k = 0; k < 2 && !st; k++)
		if (!(st = STUDY_NEW(d.sum[k], o->truth.n))) st = STUDY_NEW(d.squares[k], o->truth.n);
	for (int64_t i = 0; i < n->scale.seeds && !st; i++) {
		st = add_scan(&d, (uint64_t)(FIRST_SEED + i));
		iso_clock_step(&clock, i + 1, NULL);
	}
	if (!st) tell(&d, n->scale.seeds);
	for (int k = 0; k < 2; k++) {
		free(d.sum[k]);
		free(d.squares[k]);
	}
	iso_scatter_free(d.t);
	return st;
}
