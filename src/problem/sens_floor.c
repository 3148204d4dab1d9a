/* SPDX-License-Identifier: BSD-3-Clause */
/* Voxels that hardly any line crosses. One count in such a voxel is divided by next to nothing and outshines the whole
   image, so these voxels are treated as those of sensitivity 0: they get no activity.

   The rule, with f of 'sens-floor', S the sensitivity with the PSF, and planes across z: a voxel
   is cut where

     S < f min(M, L),    M: median of the S > 0 of its plane, L: the greatest S of the voxel and its 8 neighbours there
     S < f/100 max M     over all planes

   M belongs to the plane, so that the end planes of a scanner stay: the outermost of n rings sees 1/n of what the centre
   sees, but all voxels of that plane do. L keeps what S falls to slowly: the centre of a thick object, with attenuation
   in S. The second line is for planes that a few lines touch.

   Lines end in points, the crystals, and S is ragged between them: that is where model ray has its speckles, and why its
   default is above 0. Models strip and srm have crystals and strips of finite size, and an S that falls smoothly to 0 at the
   edges, where images have no speckles: their default is 0. */
#include "problem.h"

#include "core/size.h"

#include <math.h>
#include <string.h>

#define FAR .01 /* of the best plane: what the second line of the rule takes in place of M */

/* The value of rank k of v, which is put in another order (Hoare's selection). */
static iso_real select_rank(iso_real *v, int64_t n, int64_t k)
{
	int64_t lo = 0, hi = n - 1;

	while (lo < hi) {
		iso_real pivot = v[lo + (hi - lo) / 2];
		int64_t i = lo, j = hi;

		while (i <= j) {
			while (v[i] < pivot) i++;
			while (v[j] > pivot) j--;
			if (i > j) break;
			iso_real swap = v[i];

			v[i++] = v[j];
			v[j--] = swap;
		}
		if (k <= j)
			hi = j;
		else if (k >= i)
			lo = i;
		else
			break;
	}
	return v[k];
}

/* Of the values above 0; 0: there are none. `work`: n values. */
static iso_real median_seen(iso_real *work, const iso_real *s, int64_t n)
{
	int64_t seen = 0;

	for (int64_t i = 0; i < n; i++)
		if (s[i] > 0) work[seen++] = s[i];
	return seen > 0 ? select_rank(work, seen, seen / 2) : 0;
}

/* The greatest value of the voxel (x, y) and its neighbours in a plane of nx x ny. */
static iso_real greatest_near(const iso_real *s, int64_t nx, int64_t ny, int64_t x, int64_t y)
{
	iso_real most = 0;

	for (int64_t j = y > 0 ? y - 1 : 0; j <= y + 1 && j < ny; j++)
		for (int64_t i = x > 0 ? x - 1 : 0; i <= x + 1 && i < nx; i++)
			most = s[j * nx + i] > most ? s[j * nx + i] : most;
	return most;
}

static void cut_plane(struct sens_floor *f, const iso_real *s, const int64_t n[3], int64_t z, double median,
                      double least)
{
	int64_t first = z * n[0] * n[1];
	const iso_real *plane = s + first;

	for (int64_t i = 0; i < n[0] * n[1]; i++) {
		if (!(plane[i] > 0)) continue;
		bool few = plane[i] < f->share * median &&
		           plane[i] < f->share * greatest_near(plane, n[0], n[1], i % n[0], i / n[0]);

		f->unseen[first + i] = few || plane[i] < least;
		f->cut += f->unseen[first + i];
		f->seen++;
	}
}

int sens_floor_find(struct sens_floor *f, const iso_real *s, const struct iso_grid *g)
{
	const int64_t *n = g->n;
	int64_t plane = n[0] * n[1], voxels = plane * n[2];
	iso_real *work = size_alloc(plane, sizeof *work);
	double *median = size_alloc(n[2], sizeof *median), best = 0;

	f->unseen = size_alloc(voxels, 1);
	for (int64_t z = 0; work && median && z < n[2]; z++) {
		median[z] = (double)median_seen(work, s + z * plane, plane);
		best = fmax(best, median[z]);
	}
	for (int64_t z = 0; work && median && f->unseen && z < n[2]; z++)
		cut_plane(f, s, n, z, median[z], f->share * FAR * best);
	bool bad = !work || !median || !f->unseen;

	free(work);
	free(median);
	return bad ? iso_fail_memory("voxels that hardly any line crosses", voxels) : ISO_OK;
}

void sens_floor_clear(const struct sens_floor *f, iso_real *images, int64_t n, int64_t voxels)
{
	for (int64_t i = 0; f->cut > 0 && i < n * voxels; i++)
		if (f->unseen[i % voxels]) images[i] = 0;
}

void sens_floor_free(struct sens_floor *f)
{
	free(f->unseen);
	*f = (struct sens_floor){ 0 };
}

void sens_floor_plan(struct iso_plan *plan, const struct settings *s, const struct iso_grid *g)
{
	if (!(s->sens_floor > 0)) return;
	iso_plan_add(plan, "voxels that hardly any line crosses", iso_grid_voxels(g), 1, false);
	iso_plan_add(plan, "a plane of the sensitivity", g->n[0] * g->n[1], sizeof(iso_real), false);
}

static int tell(const struct recon *r)
{
	const struct sens_floor *f = &r->floor;

	if (f->cut > 0)
		record_tell(r->record, ISO_NEWS,
		            "%" PRId64 " of %" PRId64 " voxels (%.2g %%) get no activity, because hardly any "
		            "line crosses them; 'sens-floor' 0 keeps them",
		            f->cut, f->seen, 100. * (double)f->cut / (double)f->seen);
	return record_result(r->record, "sens_floor",
	                     record_pack("{s:f, s:I, s:I}", "floor", f->share, "voxels_cut",
	                                 (json_int_t)f->cut, "voxels_seen", (json_int_t)f->seen));
}

int recon_floor(struct recon *r, struct iso_array *s)
{
	struct sens_floor *f = &r->floor;
	iso_real *weight = r->weight.v;
	int st;

	sens_floor_free(f);
	f->share = r->s->sens_floor;
	if (!(f->share > 0)) return ISO_OK;
	if ((st = sens_floor_find(f, weight ? weight : s->v, &r->grid))) return st;
	sens_floor_clear(f, s->v, 1, s->n);
	if (weight) sens_floor_clear(f, weight, 1, s->n);
	return tell(r);
}
