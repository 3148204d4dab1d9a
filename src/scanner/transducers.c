/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays of ultrasound transducers: where they are, how they are turned, what they can hear.

   After Wang 2013, section II; a sphere of rings and views, or points anywhere. */
#include "scanner.h"
#include "core/size.h"
#include "core/sized.h"

#define FARTHEST 1e6 /* mm, of a coordinate */
#define FLAT 1e-3    /* of the radius, and of a unit normal: a plane but for rounding */
#define SIDE .625    /* of the radius: 25 mm in a small-animal ring of 40.5 mm */

enum { VOXELS = 256, VOXELS_MOST = 1000000 };

/* ---- geometry ---- */

static double length(const double v[3])
{
	return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

static void cross(double c[3], const double a[3], const double b[3])
{
	c[0] = a[1] * b[2] - a[2] * b[1];
	c[1] = a[2] * b[0] - a[0] * b[2];
	c[2] = a[0] * b[1] - a[1] * b[0];
}

/* v = n_z n - z, whose z component is n_z^2 - 1 = -(n_x^2 + n_y^2) without cancellation. */
void iso_transducer_frame(double ex[3], double ey[3], const double n[3])
{
	if (!ex || !ey || !n) return;

	double v[3] = { n[2] * n[0], n[2] * n[1], -(n[0] * n[0] + n[1] * n[1]) }, l = length(v);

	for (int a = 0; a < 3; a++) ex[a] = l > 1e-6 ? v[a] / l : a == 0;
	cross(ey, n, ex);
}

void iso_transducers_free(struct iso_transducers *t)
{
	if (!t) return;

	double **const all[] = { &t->pos, &t->normal, &t->ex, &t->ey, &t->aperture, &t->area, &t->eir };

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		free(*all[i]);
		*all[i] = NULL;
	}
}

static int alloc(double **v, int64_t n, int columns)
{
	*v = size_alloc(n, columns * (int64_t)sizeof **v);
	return *v ? ISO_OK : iso_fail_memory("transducers", n * columns * (int64_t)sizeof **v);
}

/* ---- points anywhere ---- */

/* Unit length; absent ones point from the transducer to the centre. */
static int set_normal(struct iso_transducers *t, int64_t q, bool given, const char *who)
{
	double *n = t->normal + 3 * q, l;

	for (int a = 0; a < 3 && !given; a++) n[a] = t->centre[a] - t->pos[3 * q + a];
	l = length(n);
	if (!(l > 1e-9) || !isfinite(l))
		return iso_fail(ISO_EINPUT,
		                given ? "%s: normal %" PRId64 " has length %g"
		                      : "%s: transducer %" PRId64
		                        " is %g mm from the centre: it has no normal",
		                who, q, l);
	for (int a = 0; a < 3; a++) n[a] /= l;
	return ISO_OK;
}

/* The part of a given ex across the normal; it must not be along it. */
static int set_axes(struct iso_transducers *t, int64_t q, bool given, const char *who)
{
	const double *n = t->normal + 3 * q;
	double *ex = t->ex + 3 * q, *ey = t->ey + 3 * q;

	if (!given) {
		iso_transducer_frame(ex, ey, n);
		return ISO_OK;
	}
	double along = ex[0] * n[0] + ex[1] * n[1] + ex[2] * n[2], whole = length(ex), across;

	for (int a = 0; a < 3; a++) ex[a] -= along * n[a];
	if (!((across = length(ex)) > 1e-3 * whole))
		return iso_fail(ISO_EINPUT,
		                "%s: axis %" PRId64
		                " is parallel to its normal, must lie in the transducer's face",
		                who, q);
	for (int a = 0; a < 3; a++) ex[a] /= across;
	cross(ey, n, ex);
	return ISO_OK;
}

int iso_transducers_finish(struct iso_transducers *t, const char *who)
{
	double least = INFINITY, most = 0, sum = 0; /* distances from the centre */
	bool normals = t->normal, axes = t->ex;
	int st;

	if ((!normals && (st = alloc(&t->normal, t->n, 3))) || (!axes && (st = alloc(&t->ex, t->n, 3))) ||
	    (st = alloc(&t->ey, t->n, 3)))
		return st;
	for (int64_t q = 0; q < t->n; q++) {
		const double *p = t->pos + 3 * q, *c = t->centre;
		double l = length((const double[]){ p[0] - c[0], p[1] - c[1], p[2] - c[2] });

		if ((st = set_normal(t, q, normals, who)) || (st = set_axes(t, q, axes, who))) return st;
		least = fmin(least, l);
		most = fmax(most, l);
		sum += l;
	}
	if (!(t->radius > 0)) t->radius = sum / (double)t->n;
	t->spread = (most - least) / t->radius;
	return ISO_OK;
}

/* ---- rings and views ---- */

int iso_transducers_rings(struct iso_transducers *t, const struct iso_rings *r)
{
	if (!t || !r) return iso_fail_null(__func__);
	double last = r->polar_first + (double)(r->rings - 1) * r->polar_step;
	struct iso_transducers made = *t;
	int64_t n;
	int st;

	if (r->rings < 1 || r->views < 1 || !size_mul(&n, r->rings, r->views) || n > TRANSDUCERS_MAX)
		return iso_fail(ISO_EARG,
		                "transducers: %" PRId64 " rings of %" PRId64 " views, must be 1 to %d in all",
		                r->rings, r->views, TRANSDUCERS_MAX);
	if (!(r->radius > 0) || !isfinite(r->radius))
		return iso_fail(ISO_EARG, "transducers: radius is %g mm, must be above 0", r->radius);
	if (!(r->polar_first >= 0 && last <= M_PI + 1e-9 && r->polar_step > 0) ||
	    !isfinite(r->azimuth_first) || !(r->azimuth_step > 0) || !isfinite(r->azimuth_step))
		return iso_fail(ISO_EARG,
		                "transducers: rings from %g to %g rad, views every %g; must rise in [0, pi]",
		                r->polar_first, last, r->azimuth_step);
	made.n = n;
	made.pos = made.normal = made.ex = made.ey = made.area = NULL;
	made.rings = true;
	made.radius = r->radius;
	made.spread = made.centre[0] = made.centre[1] = made.centre[2] = 0;
	if ((st = alloc(&made.pos, made.n, 3)) || (st = alloc(&made.normal, made.n, 3)) ||
	    (st = alloc(&made.ex, made.n, 3)) || (st = alloc(&made.ey, made.n, 3)) ||
	    (st = alloc(&made.area, made.n, 1))) {
		made.aperture = made.eir = NULL; /* the caller's */
		iso_transducers_free(&made);
		return st;
	}
	for (int64_t q = 0; q < made.n; q++) {
		double th = r->polar_first + (double)(q / r->views) * r->polar_step;
		double ph = r->azimuth_first + (double)(q % r->views) * r->azimuth_step;
		double out[3] = { sin(th) * cos(ph), sin(th) * sin(ph), cos(th) };

		for (int a = 0; a < 3; a++) {
			made.pos[3 * q + a] = r->radius * out[a];
			made.normal[3 * q + a] = -out[a];
		}
		iso_transducer_frame(made.ex + 3 * q, made.ey + 3 * q, made.normal + 3 * q);
		made.area[q] = r->radius * r->radius * r->polar_step * r->azimuth_step * sin(th);
	}
	*t = made;
	return ISO_OK;
}

/* ---- checks ---- */

static bool sane_points(const struct iso_transducers *t)
{
	for (int64_t i = 0; i < 3 * t->n; i++)
		if (!(fabs(t->pos[i]) <= FARTHEST) || !isfinite(t->normal[i] + t->ex[i] + t->ey[i]))
			return false;
	for (int64_t i = 0; t->aperture && i < 2 * t->n; i++)
		if (!(t->aperture[i] >= 0) || !isfinite(t->aperture[i])) return false;
	for (int64_t i = 0; t->area && i < t->n; i++)
		if (!(t->area[i] >= 0) || !isfinite(t->area[i])) return false;
	return true;
}

static bool positive(double v)
{
	return v > 0 && isfinite(v);
}

int iso_transducers_check(const struct iso_transducers *t)
{
	if (!t) return iso_fail_null(__func__);
	if (t->n < 1 || t->n > TRANSDUCERS_MAX || t->samples < 2 || t->samples > INT32_MAX)
		return iso_fail(ISO_EARG,
		                "transducers: %" PRId64 " transducers of %" PRId64
		                " samples; must be 1 to %d, of at least 2",
		                t->n, t->samples, TRANSDUCERS_MAX);
	if (!positive(t->speed))
		return iso_fail(ISO_EARG, "transducers: the speed of sound is %g mm/us, must be above 0",
		                t->speed);
	if (!positive(t->dt_us) || !isfinite(t->first_us))
		return iso_fail(ISO_EARG,
		                "transducers: samples every %g us from %g us; the step must be above 0",
		                t->dt_us, t->first_us);
	if (!positive(t->gamma))
		return iso_fail(ISO_EARG, "transducers: Grueneisen parameter %g, must be above 0", t->gamma);
	if (!t->pos || !t->normal || !t->ex || !t->ey || !sane_points(t))
		return iso_fail(ISO_EARG,
		                "transducers: positions must be within %g mm, axes, apertures and areas "
		                "finite, sizes not negative",
		                FARTHEST);
	return ISO_OK;
}

int iso_transducers_check_file(const struct iso_transducers *t)
{
	struct iso_transducers with_speed = *t;

	if (t->speed == 0) with_speed.speed = 1;
	return iso_transducers_check(&with_speed);
}

int iso_transducers_hear(struct iso_hearing *hearing, const struct iso_transducers *t,
                         const struct iso_grid *g)
{
	if (!hearing || !t || !g) return iso_fail_null(__func__);
	struct iso_hearing got = { 0 }, *h = &got;
	double least = INFINITY, most = 0, last = t->first_us + (double)(t->samples - 1) * t->dt_us;
	int st = iso_sized_clear(hearing, "iso_hearing", sizeof got);

	if (st || (st = iso_grid_check(g)) || (st = iso_transducers_check(t))) return st;
	for (int64_t q = 0; q < t->n; q++) {
		const double *p = t->pos + 3 * q;
		double near[3], far[3], towards = 0; /* the nearest and farthest voxel centres; the grid's */
		bool inside = true;

		for (int a = 0; a < 3; a++) {
			double half = .5 * (double)(g->n[a] - 1) * g->voxel[a], d = fabs(p[a] - g->centre[a]);

			near[a] = fmax(0, d - half);
			far[a] = d + half;
			towards += (g->centre[a] - p[a]) * t->normal[3 * q + a];
			inside = inside && d < .5 * (double)g->n[a] * g->voxel[a];
		}
		if (inside)
			return iso_fail(ISO_EINPUT,
			                "transducers: number %" PRId64
			                " at (%g, %g, %g) mm lies inside the image",
			                q, p[0], p[1], p[2]);
		least = fmin(least, length(near));
		most = fmax(most, length(far));
		h->away += towards < 0;
	}
	h->nearest = least / t->speed;
	h->farthest = most / t->speed;
	iso_sized_give(hearing, sizeof got, h);
	if (last <= h->nearest || t->first_us >= h->farthest)
		return iso_fail(
			ISO_EINPUT,
			"transducers: the record holds %g to %g us, but the image is heard from %g to %g us",
			t->first_us, last, h->nearest, h->farthest);
	double heard = h->farthest - h->nearest;

	h->covered = heard > 0 ? (fmin(last, h->farthest) - fmax(t->first_us, h->nearest)) / heard : 1;
	iso_sized_give(hearing, sizeof got, h);
	return ISO_OK;
}

int iso_traces_check(const struct iso_array *y, const struct iso_transducers *t)
{
	if (!y || !t) return iso_fail_null(__func__);
	if (y->n_dim != 2)
		return iso_fail(ISO_EINPUT,
		                "traces: an array of %d axes, must be (transducers, samples), here (%" PRId64
		                ", %" PRId64 ")",
		                y->n_dim, t->n, t->samples);
	if (y->dim[0] != t->n || y->dim[1] != t->samples)
		return iso_fail(ISO_EINPUT,
		                "traces: an array (%" PRId64 ", %" PRId64
		                "), must be (transducers, samples), here (%" PRId64 ", %" PRId64 ")",
		                y->dim[0], y->dim[1], t->n, t->samples);
	return ISO_OK;
}

/* ---- where an array looks, and a grid there ---- */

/* The axis across the one plane that all transducers lie in and look along; -1: none. */
static int flat_axis(const struct iso_transducers *t)
{
	int found = -1, n = 0;

	for (int a = 0; a < 3; a++) {
		bool flat = true;

		for (int64_t q = 0; q < t->n && flat; q++)
			flat = fabs(t->pos[3 * q + a] - t->pos[a]) <= FLAT * t->radius &&
			       fabs(t->normal[3 * q + a]) <= FLAT;
		n += flat;
		found = flat ? a : found;
	}
	return n == 1 ? found : -1;
}

void iso_transducers_field(double field[6], const struct iso_transducers *t)
{
	if (!field || !t) return;

	int flat = flat_axis(t);

	for (int a = 0; a < 3; a++) {
		double half = a == flat ? 0 : SIDE / 2 * t->radius;
		double middle = a == flat ? t->pos[a] : t->centre[a];

		field[2 * a] = middle - half;
		field[2 * a + 1] = middle + half;
	}
}

int iso_transducers_grid(struct iso_grid *g, const struct iso_transducers *t, const double *field)
{
	if (!g || !t) return iso_fail_null(__func__);
	double see[6], side[3], voxel = 0;
	bool size_said = g->voxel[0] > 0;
	int thin = flat_axis(t);

	if (!field && thin < 0)
		return iso_fail(ISO_EARG, "grid: the %s of its voxels is missing",
		                g->n[0] > 0 ? "size" : "number");
	iso_transducers_field(see, t);
	for (int a = 0; a < 3; a++) {
		const double *f = field && a != thin ? field : see;

		side[a] = f[2 * a + 1] - f[2 * a];
		g->centre[a] = (f[2 * a] + f[2 * a + 1]) / 2;
		thin = thin < 0 && side[a] == 0 ? a : thin;
	}
	if (!size_said && g->n[0] < 1 && thin < 0)
		return iso_fail(ISO_EARG, "grid: the size of its voxels is missing, or their number");
	for (int a = 0; a < 3; a++)
		if (a != thin) voxel = fmax(voxel, side[a] / (g->n[0] > 0 ? (double)g->n[a] : VOXELS));
	if (!size_said && !(voxel > 0))
		return iso_fail(ISO_EARG, "grid: the size of its voxels is missing: its field has no width");
	for (int a = 0; a < 3 && !size_said; a++) g->voxel[a] = voxel;
	for (int a = 0; a < 3 && g->n[a] < 1; a++) {
		double n = ceil(side[a] / g->voxel[a] - 1e-6);

		if (!(n <= VOXELS_MOST))
			return iso_fail(ISO_EARG, "grid: the number of its voxels is missing: %g of them fit",
			                n);
		g->n[a] = n > 1 ? (int64_t)n : 1;
	}
	return ISO_OK;
}
