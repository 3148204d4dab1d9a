/* SPDX-License-Identifier: BSD-3-Clause */
/* The object and the ring of an estimate of scatter, from a caller's images and scanner. */
#include "base/constants.h"
#include "core/size.h"
#include "physics/seen.h"
#include "physics/water.h"
#include "scene.h"

enum { SECTORS = 8 };         /* of a turn, each of which must have crystals */
#define NEAR_CYLINDER .1      /* of the median radius: a crystal farther from it is off the cylinder */
#define OFF_CYLINDER_MOST .01 /* share of the crystals that may be */
#define MU_MOST .05           /* 1/mm; bone has 0.02 */
#define BODY .1               /* density from which a voxel is of the body */
#define EMPTY .05             /* density up to which a voxel holds no matter */
#define REACH_MM 9.     /* from matter: activity up to there may be of it, by the resolution of the scan */
#define ACTIVE_PLANE .2 /* of the mean activity of the body: of a plane that goes on beyond the image */
#define EXTEND_MM 100.  /* that the map goes on */
#define UNSEEN 1e-6     /* e below which a photon counts as not seen */

/* ---- energies ---- */

double scene_efficiency(const struct scene *s, double kev)
{
	const struct seen seen = { { s->window[0], s->window[1] },
		                   s->resolution,
		                   s->table ? s->scanner : NULL };

	return iso_seen(&seen, kev);
}

static int take_energies(struct scene *s, const struct iso_scatter *p)
{
	struct seen seen;
	int st = iso_seen_make(&seen, "scatter", p->scanner, p->window_kev, p->resolution);

	if (st) return st;
	memcpy(s->window, seen.window, sizeof s->window);
	s->resolution = seen.resolution;
	s->table = seen.table;
	s->eps0 = scene_efficiency(s, WATER_E0);
	for (int k = 0; k < SCENE_ENERGIES; k++) {
		s->e[k] = (float)(scene_efficiency(s, k) / s->eps0);
		s->water[k] = (float)water_mu(k > 0 ? k : 1);
		s->compton[k] = (float)water_compton(k > 0 ? k : 1);
	}
	while (s->least_kev < WATER_E0 - 1 && s->e[(int)s->least_kev + 1] < UNSEEN) s->least_kev++;
	return ISO_OK;
}

/* ---- the ring ---- */

static int compare(const void *a, const void *b)
{
	double p = *(const double *)a, q = *(const double *)b;

	return (p > q) - (p < q);
}

/* Radius and length of the cylinder near which free detectors lie. */
static int around_detectors(struct scene *s, const iso_scanner *c)
{
	double *radius = size_alloc(c->n, sizeof *radius), low = INFINITY, high = -INFINITY;
	bool in_sector[SECTORS] = { false };
	int64_t off = 0, sectors = 0;

	if (!radius) return iso_fail_memory("radii of crystals", c->n * (int64_t)sizeof *radius);
	for (int64_t i = 0; i < c->n; i++) {
		const double *at = c->pos + 3 * i;
		double turn = atan2(at[1], at[0]) / (2 * M_PI) + .5;

		radius[i] = hypot(at[0], at[1]);
		low = fmin(low, at[2]);
		high = fmax(high, at[2]);
		in_sector[scanner_cell(turn * SECTORS, SECTORS)] = true;
	}
	qsort(radius, (size_t)c->n, sizeof *radius, compare);
	s->rho = radius[c->n / 2];
	for (int64_t i = 0; i < c->n; i++) off += fabs(radius[i] - s->rho) > NEAR_CYLINDER * s->rho;
	for (int i = 0; i < SECTORS; i++) sectors += in_sector[i];
	free(radius);
	if (!(s->rho > 0) || (double)off > OFF_CYLINDER_MOST * (double)c->n || sectors < SECTORS)
		return iso_fail(ISO_EARG,
		                "scatter: the crystals of scanner %s lie on no cylinder around z: %" PRId64
		                " of %" PRId64
		                " are off the median radius of %.4g mm by a tenth or more, %" PRId64
		                " of %d sectors have crystals",
		                c->name, off, c->n, s->rho, sectors, SECTORS);
	s->middle = (low + high) / 2;
	s->reach = (high - low) / 2;
	s->half = s->reach + c->crystal_mm[1] / 2;
	return ISO_OK;
}

static int take_ring(struct scene *s, const struct iso_scatter *p)
{
	const iso_scanner *c = p->scanner;

	s->scanner = c;
	if (c->kind != ISO_CYLINDER && c->kind != ISO_DETECTORS)
		return iso_fail(
			ISO_EARG,
			"scatter: scanner %s has no crystals on a cylinder: scatter is estimated for rings",
			c->name);
	s->min_angle = iso_scanner_min_angle(c);
	s->line_angle = s->min_angle;
	s->most_z = c->pairs.max_axial;
	if (!(p->tof_fwhm_ps >= 0 && p->tof_fwhm_ps < 1e5))
		return iso_fail(ISO_EARG, "scatter: TOF resolution is %g ps, must be 0 to 1e5",
		                p->tof_fwhm_ps);
	s->sigma = ISO_C_MM_PER_PS * p->tof_fwhm_ps / 2 / ISO_FWHM_PER_SIGMA;
	if (c->kind == ISO_DETECTORS) return around_detectors(s, c);
	s->rho = c->radius;
	if (c->pairs.max_ring_difference < c->pairs.rings - 1)
		s->most_z = iso_cylinder_length(c) * (double)(c->pairs.max_ring_difference + 1) /
		                    (double)c->pairs.rings +
		            c->ring_gap;
	s->half = iso_cylinder_length(c) / 2;
	s->reach = s->half - c->ring_pitch / 2;
	return ISO_OK;
}

/* ---- image and map ---- */

static int64_t voxels(const struct scene_volume *v)
{
	return (int64_t)v->n[0] * v->n[1] * v->n[2];
}

static int volume_room(struct scene_volume *v)
{
	v->v = size_alloc(voxels(v), sizeof *v->v);
	return v->v ? ISO_OK : iso_fail_memory("scatter: image or map", voxels(v) * (int64_t)sizeof *v->v);
}

/* v = the array times `scale`; its values are finite and not negative. */
static int take_volume(struct scene_volume *v, const struct iso_array *a, double scale, double middle,
                       const char *what)
{
	int st;

	if (!a->v || !a->has_grid || a->n_dim != 3)
		return iso_fail(ISO_EARG, "scatter: %s must be an image on a grid", what);
	if ((st = iso_grid_check(&a->grid))) return st;
	if (a->n != iso_grid_voxels(&a->grid) || a->n >= INT32_MAX)
		return iso_fail(ISO_EARG, "scatter: %s has %" PRId64 " values, its grid %" PRId64 " voxels",
		                what, a->n, iso_grid_voxels(&a->grid));
	for (int k = 0; k < 3; k++) {
		v->n[k] = (int32_t)a->grid.n[k];
		v->voxel[k] = (float)a->grid.voxel[k];
		v->low[k] = (float)(a->grid.centre[k] - (double)a->grid.n[k] * a->grid.voxel[k] / 2 -
		                    (k == 2 ? middle : 0));
	}
	if ((st = volume_room(v))) return st;
	for (int64_t i = 0; i < a->n; i++) {
		if (!(a->v[i] >= 0 && isfinite(a->v[i])))
			return iso_fail(ISO_EINPUT,
			                "scatter: voxel %" PRId64
			                " of %s is %g, must be finite and not negative",
			                i, what, (double)a->v[i]);
		v->v[i] = (float)((double)a->v[i] * scale);
	}
	return ISO_OK;
}

int scene_average(struct scene_volume *to, const struct scene_volume *from, const int k[3])
{
	double part = 1. / ((double)k[0] * k[1] * k[2]);
	int st;

	for (int a = 0; a < 3; a++) {
		to->n[a] = (from->n[a] + k[a] - 1) / k[a];
		to->voxel[a] = from->voxel[a] * (float)k[a];
		to->low[a] = from->low[a];
	}
	if ((st = volume_room(to))) return st;
	for (int32_t z = 0; z < from->n[2]; z++)
		for (int32_t y = 0; y < from->n[1]; y++) {
			const float *row = from->v + ((int64_t)z * from->n[1] + y) * from->n[0];
			float *sum = to->v + ((int64_t)(z / k[2]) * to->n[1] + y / k[1]) * to->n[0];

			for (int32_t x = 0; x < from->n[0]; x++)
				sum[x / k[0]] += (float)((double)row[x] * part);
		}
	return ISO_OK;
}

static int average_down(struct scene_volume *to, const struct scene_volume *from)
{
	int k[3];

	for (int a = 0; a < 3; a++)
		k[a] = (int)fmax(1, floor(SCENE_VOXEL_MM / (double)from->voxel[a] + 1e-3));
	return scene_average(to, from, k);
}

/* v with `before` and `after` more planes, copies of the first and of the last. */
static int add_planes(struct scene_volume *v, int32_t before, int32_t after)
{
	struct scene_volume long_one = *v;
	int64_t plane = (int64_t)v->n[0] * v->n[1];
	int st;

	long_one.n[2] += before + after;
	long_one.low[2] -= (float)before * v->voxel[2];
	if (voxels(&long_one) >= INT32_MAX) return iso_fail(ISO_EARG, "scatter: extended image is too large");
	if ((st = volume_room(&long_one))) return st;
	for (int32_t z = 0; z < long_one.n[2]; z++) {
		int32_t from = z < before ? 0 : z - before < v->n[2] ? z - before : v->n[2] - 1;

		memcpy(long_one.v + z * plane, v->v + from * plane, (size_t)plane * sizeof *v->v);
	}
	free(v->v);
	*v = long_one;
	return ISO_OK;
}

static float high_end(const struct scene_volume *v, int axis)
{
	return v->low[axis] + (float)v->n[axis] * v->voxel[axis];
}

static double plane_sum(const struct scene_volume *v, int32_t z)
{
	int64_t plane = (int64_t)v->n[0] * v->n[1];
	double sum = 0;

	for (int64_t i = 0; i < plane; i++) sum += (double)v->v[z * plane + i];
	return sum;
}

/* The map goes on for EXTEND_MM where it ends with matter, the image over the map where it ends with activity. */
static int extend(struct scene_volume *q, struct scene_volume *f, const bool active[2])
{
	int32_t more = (int32_t)ceil(EXTEND_MM / (double)q->voxel[2]);
	int st = add_planes(q, plane_sum(q, 0) > 0 ? more : 0, plane_sum(q, q->n[2] - 1) > 0 ? more : 0);
	double below = fmax(0, (double)(f->low[2] - q->low[2])),
	       above = fmax(0, (double)(high_end(q, 2) - high_end(f, 2)));

	if (st) return st;
	return add_planes(f, active[0] ? (int32_t)ceil(below / (double)f->voxel[2]) : 0,
	                  active[1] ? (int32_t)ceil(above / (double)f->voxel[2]) : 0);
}

/* ---- what the checks see ---- */

static void voxel_centre(float at[3], const struct scene_volume *v, int64_t i)
{
	int64_t of[3] = { i % v->n[0], i / v->n[0] % v->n[1], i / v->n[0] / v->n[1] };

	for (int a = 0; a < 3; a++) at[a] = v->low[a] + ((float)of[a] + .5f) * v->voxel[a];
}

static int check_matter(const struct scene *s, const struct scene_volume *q)
{
	double most = 0, sum = 0;

	for (int64_t i = 0; i < voxels(q); i++) {
		float at[3];

		most = fmax(most, (double)q->v[i]);
		sum += (double)q->v[i];
		if (q->v[i] <= (float)EMPTY) continue;
		voxel_centre(at, q, i);
		if (hypot((double)at[0], (double)at[1]) > s->rho)
			return iso_fail(ISO_EARG,
			                "scatter: the map has matter %.4g mm from the axis, at z = %.4g mm: "
			                "the object reaches the ring of radius %.4g mm",
			                hypot((double)at[0], (double)at[1]), (double)at[2] + s->middle,
			                s->rho);
	}
	most *= water_mu(WATER_E0);
	if (!(sum > 0)) return iso_fail(ISO_EARG, "scatter: the attenuation map is 0 everywhere");
	if (most > MU_MOST)
		return iso_fail(ISO_EARG,
		                "scatter: the attenuation map goes up to %.3g, must be 1/mm and at most %g: "
		                "is it 1/cm?",
		                most, MU_MOST);
	return ISO_OK;
}

/* Matter in the border layer of each side of the map, and in the layer behind it. The square of a round body's width
   grows in proportion to the depth: a body that ends at the border has three times as much of it in the second layer,
   one that is cut has more than half in the first. */
static bool is_cut(const struct scene_volume *q)
{
	for (int side = 0; side < 4; side++) {
		int axis = side / 2, other = 1 - axis;
		double square[2] = { 0, 0 };

		if (q->n[axis] < 4) continue;
		for (int layer = 0; layer < 2; layer++)
			for (int32_t z = 0; z < q->n[2]; z++) {
				double width = 0;

				for (int32_t i = 0; i < q->n[other]; i++) {
					int32_t at[2];

					at[axis] = side % 2 ? q->n[axis] - 1 - layer : layer;
					at[other] = i;
					width += q->v[((int64_t)z * q->n[1] + at[1]) * q->n[0] + at[0]] >
					         (float)BODY;
				}
				square[layer] += width * width;
			}
		if (square[0] > 0 && 2 * square[0] > square[1]) return true;
	}
	return false;
}

/* Whether there is no matter at a place, nor within REACH_MM of it, as seen in 26 directions. */
static bool is_away(const struct scene_volume *q, const float at[3])
{
	if (scene_at(q, at[0], at[1], at[2]) > (float)EMPTY) return false;
	for (int k = 0; k < 27; k++) {
		const int to[3] = { k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1 };
		double length = sqrt(to[0] * to[0] + to[1] * to[1] + to[2] * to[2]);
		float step = length > 0 ? (float)(REACH_MM / length) : 0;

		if (scene_at(q, at[0] + step * (float)to[0], at[1] + step * (float)to[1],
		             at[2] + step * (float)to[2]) > (float)EMPTY)
			return false;
	}
	return true;
}

static int check_activity(struct scene *s, const struct scene_volume *q, const struct scene_volume *f,
                          bool active[2])
{
	double sum = 0, outside = 0, body = 0, plane[2] = { 0, 0 };
	int64_t in_body = 0, in_plane[2] = { 0, 0 }, size = (int64_t)f->n[0] * f->n[1];

	for (int64_t i = 0; i < voxels(f); i++) {
		float at[3];
		double v = (double)f->v[i];

		voxel_centre(at, f, i);
		float density = scene_at(q, at[0], at[1], at[2]);

		sum += v;
		if (v > 0 && is_away(q, at)) outside += v;
		if (density <= (float)BODY) continue;
		body += v;
		in_body++;
		for (int end = 0; end < 2; end++)
			if (i / size == (end ? f->n[2] - 1 : 0)) {
				plane[end] += v;
				in_plane[end]++;
			}
	}
	if (!(sum > 0)) return iso_fail(ISO_EARG, "scatter: the image is 0 everywhere");
	s->found.outside_matter = outside / sum;
	for (int end = 0; end < 2; end++)
		active[end] = in_plane[end] > 0 &&
		              plane[end] / (double)in_plane[end] > ACTIVE_PLANE * body / (double)in_body;
	s->found.ends_active = active[0] || active[1];
	return ISO_OK;
}

static int check_overlap(const struct scene_volume *q, const struct scene_volume *f)
{
	for (int a = 0; a < 3; a++)
		if (q->low[a] >= high_end(f, a) || f->low[a] >= high_end(q, a))
			return iso_fail(ISO_EARG,
			                "scatter: the image, %c = %.4g to %.4g mm, and the attenuation map, "
			                "%.4g to %.4g mm, do not overlap",
			                "xyz"[a], (double)f -> low[a], (double)high_end(f, a),
			                (double)q -> low[a], (double)high_end(q, a));
	return ISO_OK;
}

static int take_object(struct scene *s, const struct iso_scatter *p)
{
	struct scene_volume f = { 0 };
	bool active[2] = { false, false };
	int st;

	if ((st = take_volume(&s->fine, p->mu, 1 / water_mu(WATER_E0), s->middle, "the attenuation map")) ||
	    (st = take_volume(&f, p->image, 1, s->middle, "the image")) ||
	    (st = check_overlap(&s->fine, &f)) || (st = check_matter(s, &s->fine)) ||
	    (st = check_activity(s, &s->fine, &f, active)))
		goto done;
	s->found.cut = is_cut(&s->fine);
	if (p->extend && (st = extend(&s->fine, &f, active))) goto done;
	if (!(st = average_down(&s->q, &s->fine))) st = average_down(&s->f, &f);
done:
	free(f.v);
	return st;
}

static int check_numbers(const struct iso_scatter *p)
{
	if ((unsigned)p->method > ISO_SCATTER_MC)
		return iso_fail(ISO_EARG, "scatter: there is no method %d", p->method);
	if (!(p->block_mm >= 0 && p->block_mm < 1e4))
		return iso_fail(ISO_EARG, "scatter: blocks of %g mm, must be 0 to 1e4", p->block_mm);
	if (p->detectors != 0 && !(p->detectors >= 8 && p->detectors <= 720))
		return iso_fail(ISO_EARG, "scatter: %" PRId64 " sample detectors a ring, must be 8 to 720",
		                p->detectors);
	if (!(p->ring_step_mm >= 0 && p->ring_step_mm < 1e4))
		return iso_fail(ISO_EARG, "scatter: sample rings every %g mm, must be 0 to 1e4",
		                p->ring_step_mm);
	if (!(p->error >= 0 && p->error < 1))
		return iso_fail(ISO_EARG, "scatter: error is %g, must be from 0 to below 1", p->error);
	if (!(p->beyond_mm >= 0 && p->beyond_mm < 1e4))
		return iso_fail(ISO_EARG,
		                "scatter: sample rings up to %g mm beyond the scanner's, must be 0 to 1e4",
		                p->beyond_mm);
	if (p->histories < 0)
		return iso_fail(ISO_EARG, "scatter: %" PRId64 " histories, must not be negative",
		                p->histories);
	return ISO_OK;
}

/* Lines that were moved by up to `mm`: those s from the axis end 2 acos(s / rho) apart. */
static void go_beyond(struct scene *s, double mm)
{
	s->reach += mm;
	if (s->most_z > 0) s->most_z += 2 * mm;
	if (s->min_angle > 0) s->line_angle = 2 * acos(fmin(1, cos(s->min_angle / 2) + mm / s->rho));
}

int scene_ring(struct scene *s, const struct iso_scatter *p)
{
	int st;

	if (!p->scanner) return iso_fail(ISO_EARG, "scatter: no scanner");
	if ((st = check_numbers(p)) || (st = take_ring(s, p))) return st;
	if (p->beyond_mm > 0) go_beyond(s, p->beyond_mm);
	if ((st = take_energies(s, p))) return st;
	s->response = p->response;
	return s->response ? scene_respond(s) : ISO_OK;
}

int scene_create(struct scene *s, const struct iso_scatter *p)
{
	int st;

	*s = (struct scene){ .found = { .size = sizeof s->found } };
	if (!p->image) return iso_fail(ISO_EARG, "scatter: no image of the activity");
	if (!p->mu) return iso_fail(ISO_EARG, "scatter: no attenuation map: 'mu' must name one");
	if ((st = scene_ring(s, p))) return st;
	return take_object(s, p);
}

void scene_free(struct scene *s)
{
	free(s->q.v);
	free(s->f.v);
	free(s->fine.v);
	free(s->w);
	for (int t = 0; t < SCENE_TILTS; t++) free(s->tilt[t]);
	*s = (struct scene){ 0 };
}
