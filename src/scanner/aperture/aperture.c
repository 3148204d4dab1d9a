/* SPDX-License-Identifier: BSD-3-Clause */
/* Faces of transducers: how many nodes they need, and where these are (aperture.h). */
#include "aperture.h"

#include "core/status.h"

#define IN_PLANE 1e-6 /* mm from the plane of symmetry */

/* One face: sizes along ex and ey, radius of curvature; 0: flat. */
struct face {
	double a, b, focus;
};

static struct face face_of(const struct iso_transducers *t, const struct iso_faces *faces, int64_t q)
{
	struct face f = { 0 };

	if (t->aperture) {
		f.a = t->aperture[2 * q];
		f.b = t->aperture[2 * q + 1];
	}
	if (faces && faces->focus) f.focus = faces->focus[q];
	return f;
}

int iso_aperture_check(const struct iso_transducers *t, const struct iso_faces *faces)
{
	if (faces && (faces->n != t->n || !faces->focus))
		return iso_fail(ISO_EARG,
		                "transducers: %" PRId64 " focuses, there are %" PRId64 " transducers",
		                faces->focus ? faces->n : 0, t->n);
	for (int64_t q = 0; faces && q < t->n; q++) {
		struct face f = face_of(t, faces, q);

		if (!isfinite(f.focus) || f.focus < 0 || (f.focus > 0 && f.focus < f.a / 2))
			return iso_fail(ISO_EARG,
			                "transducers: number %" PRId64
			                " is %g mm wide and focused at %g mm, must be 0 (flat) or at least "
			                "half the width",
			                q, f.a, f.focus);
		if (faces->bowl && !(f.focus > 0))
			return iso_fail(ISO_EARG, "transducers: number %" PRId64 " is a bowl without a focus",
			                q);
	}
	return ISO_OK;
}

/* Half the angle of the face, seen from its focus. */
static double half_angle(const struct face *f)
{
	return asin(fmin(1, f->a / (2 * f->focus)));
}

/* ---- nodes of an axis ---- */

void iso_aperture_gauss(int n, double *node, double *weight)
{
	for (int i = 0; i < n; i++) {
		double x = cos(M_PI * (i + .75) / (n + .5)), slope = 1;

		for (int step = 0; step < 8; step++) { /* Newton: converged after four */
			double p0 = 1, p1 = x;

			for (int k = 2; k <= n; k++) {
				double p2 = ((2 * k - 1) * x * p1 - (k - 1) * p0) / k;

				p0 = p1;
				p1 = p2;
			}
			slope = n * (x * p1 - p0) / (x * x - 1);
			x -= p1 / slope;
		}
		node[i] = x / 2;
		weight[i] = 1 / ((1 - x * x) * slope * slope);
	}
}

/* One node lies in the middle; the recursion above begins with two. */
static void nodes(int n, double *node, double *weight)
{
	if (n == 1) {
		*node = 0;
		*weight = 1;
		return;
	}
	iso_aperture_gauss(n, node, weight);
	if (n % 2) node[n / 2] = 0;
}

/* ---- how many ---- */

static double length(const double v[3])
{
	return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

/* Number i of the corners of the box, as the transducer sees it: along ex, ey, normal. */
static void corner(double local[3], const struct iso_transducers *t, int64_t q, const struct aperture_rule *r,
                   int i)
{
	const double *axes[3] = { t->ex + 3 * q, t->ey + 3 * q, t->normal + 3 * q };

	for (int k = 0; k < 3; k++) {
		local[k] = 0;
		for (int a = 0; a < 3; a++)
			local[k] += ((i >> a & 1 ? r->high[a] : r->low[a]) - t->pos[3 * q + a]) * axes[k][a];
	}
}

static double distance(const double from[3], double u, double v, double w)
{
	return length((const double[]){ from[0] - u, from[1] - v, from[2] - w });
}

/* By how much a place hears either edge of side k later or sooner than the apex, mm. */
static double across(const struct face *f, const double local[3], int k)
{
	double half = (k ? f->b : f->a) / 2, depth = 0, most = 0;

	if (k == 0 && f->focus > 0) depth = f->focus * (1 - cos(half_angle(f)));
	for (int s = -1; s <= 1; s += 2)
		most = fmax(most,
		            fabs(distance(local, k ? 0 : s * half, k ? s * half : 0, depth) - length(local)));
	return most;
}

/* The same of a bowl, and by how much delays differ round its rim. */
static double across_bowl(double *round_rim, const struct face *f, const double local[3])
{
	double beside = hypot(local[0], local[1]), depth = f->focus * (1 - cos(half_angle(f)));
	double near = hypot(beside - f->a / 2, local[2] - depth);
	double far = hypot(beside + f->a / 2, local[2] - depth), apex = length(local);

	*round_rim = far - near;
	return fmax(fabs(near - apex), fabs(far - apex));
}

/* Nodes beyond those that follow the phase: 2, 4, 6 for errors of 1e-2, 1e-3, 1e-4, and so on. */
static double nodes_for(double error)
{
	return fmax(2, ceil(-2 * log10(error) - 2 - 1e-9));
}

/* What all faces and corners need at most. */
struct need {
	double across[2], round_rim; /* mm */
	double side[2];              /* widest face */
	double off[2];               /* of any place from the plane across an axis */
};

static void need_more(struct need *n, const struct face *f, const double local[3], bool bowl)
{
	double round_rim = 0;

	for (int k = 0; k < 2; k++) {
		n->across[k] = fmax(n->across[k], bowl ? k == 0 ? across_bowl(&round_rim, f, local) : 0
		                                       : across(f, local, k));
		n->side[k] = fmax(n->side[k], k ? f->b : f->a);
		n->off[k] = fmax(n->off[k], fabs(local[k]));
	}
	n->round_rim = fmax(n->round_rim, round_rim);
}

/* A side of no width is one node. */
static double along(const struct need *n, const struct aperture_rule *r, double waves_per_mm, int k)
{
	double phi = waves_per_mm * n->across[k];

	if (!(n->side[k] > 0)) return 1;
	return fmax(r->least, ceil(4 * phi + nodes_for(r->error)));
}

static void count_bowl(double wanted[2], const struct need *n, const struct aperture_rule *r,
                       double waves_per_mm)
{
	double more = nodes_for(r->error), z = M_PI * waves_per_mm * n->round_rim;

	wanted[0] = fmax(r->least, ceil(2 * waves_per_mm * n->across[0] + more));
	wanted[1] = fmax(r->least, ceil(z + more / 2 * cbrt(z) + more + 2));
}

int iso_aperture_count(struct aperture_count *c, const struct iso_transducers *t,
                       const struct iso_faces *faces, const struct aperture_rule *r, const char *who)
{
	double waves_per_mm = r->mhz / t->speed, wanted[2];
	struct need need = { 0 };
	struct aperture_count made = { .bowl = faces && faces->bowl, .flat = true };

	for (int64_t q = 0; q < t->n; q++) {
		struct face f = face_of(t, faces, q);
		double local[3];

		made.flat = made.flat && !(f.focus > 0);
		for (int i = 0; i < 8; i++) {
			corner(local, t, q, r, i);
			need_more(&need, &f, local, made.bowl);
		}
	}
	for (int k = 0; k < 2; k++) wanted[k] = along(&need, r, waves_per_mm, k);
	if (made.bowl) count_bowl(wanted, &need, r, waves_per_mm);
	if (!(wanted[0] <= APERTURE_MOST && wanted[1] <= APERTURE_MOST))
		return iso_fail(
			ISO_EARG,
			"%s: faces of %g x %g mm need %g x %g points at %g MHz for an error of %g, at "
			"most %d along a side",
			who, need.side[0], need.side[1], wanted[0], wanted[1], r->mhz, r->error,
			APERTURE_MOST);
	for (int k = 0; k < 2; k++) {
		made.n[k] = (int)wanted[k];
		made.half[k] = !made.bowl && made.n[k] > 1 && need.off[k] <= IN_PLANE;
	}
	*c = made;
	return ISO_OK;
}

static int computed(const struct aperture_count *c, int k)
{
	return c->half[k] ? (c->n[k] + 1) / 2 : c->n[k];
}

int iso_aperture_size(const struct aperture_count *c)
{
	return computed(c, 0) * computed(c, 1);
}

/* ---- where ---- */

/* Nodes of a side; of a half, those from the middle on, with the weights of both. */
struct side {
	int n;
	double node[APERTURE_MOST], weight[APERTURE_MOST];
};

static void make_side(struct side *s, const struct aperture_count *c, int k)
{
	int n = c->n[k];

	nodes(n, s->node, s->weight);
	s->n = computed(c, k);
	for (int i = 0; c->half[k] && i < s->n; i++) /* nodes fall from 1/2 to -1/2 */
		if (2 * i + 1 != n) s->weight[i] *= 2;
}

/* From where nodes lie in their intervals of length 1 to a place on the face. */
static void place(double v[4], const struct face *f, bool bowl, double x, double y)
{
	double al = f->focus > 0 ? half_angle(f) : 0, t = 2 * al * x;

	v[0] = f->a * x;
	v[1] = f->b * y;
	v[2] = 0;
	if (!(f->focus > 0)) return;
	if (bowl) t = acos(1 - (x + .5) * (1 - cos(al)));
	v[0] = f->focus * sin(t) * (bowl ? cos(2 * M_PI * y) : 1);
	if (bowl) v[1] = f->focus * sin(t) * sin(2 * M_PI * y);
	v[2] = 2 * f->focus * pow(sin(t / 2), 2);
}

static void fill(double *node, const struct face *f, const struct aperture_count *c, const struct side *x,
                 const struct side *y)
{
	for (int j = 0; j < y->n; j++)
		for (int i = 0; i < x->n; i++, node += 4) {
			place(node, f, c->bowl, x->node[i], y->node[j]);
			node[3] = x->weight[i] * y->weight[j];
		}
}

static bool alike(const struct face *f, const struct face *g)
{
	return !(f->a < g->a || f->a > g->a || f->b < g->b || f->b > g->b || f->focus < g->focus ||
	         f->focus > g->focus);
}

/* Neighbours are mostly alike: a face is compared with the one before and with the first. */
static void number_faces(struct aperture_points *p, const struct iso_transducers *t,
                         const struct iso_faces *faces)
{
	struct face first = face_of(t, faces, 0), before = first;

	p->faces = 1;
	p->face[0] = 0;
	for (int64_t q = 1; q < t->n; q++) {
		struct face f = face_of(t, faces, q);

		p->face[q] = alike(&f, &before) ? p->face[q - 1] : alike(&f, &first) ? 0 : p->faces++;
		before = f;
	}
}

/* Equal steps round a bowl. */
static void make_round(struct side *s, int n)
{
	s->n = n;
	for (int i = 0; i < n; i++) {
		s->node[i] = (i + .5) / n;
		s->weight[i] = 1. / n;
	}
}

int iso_aperture_points(struct aperture_points *p, struct iso_room *room, const struct iso_transducers *t,
                        const struct iso_faces *faces, const struct aperture_count *c)
{
	struct side *side;

	*p = (struct aperture_points){ .points = iso_aperture_size(c) };
	ISO_HOST(room, side, 2);
	if (!ISO_HOST(room, p->face, t->n) || !side) return room->status;
	number_faces(p, t, faces);
	if (!ISO_HOST(room, p->node, p->faces * p->points * 4)) return room->status;
	make_side(side, c, 0);
	make_side(side + 1, c, 1);
	if (c->bowl) make_round(side + 1, c->n[1]);
	for (int64_t q = 0, made = -1; q < t->n; q++) {
		struct face f = face_of(t, faces, q);

		if (p->face[q] <= made) continue;
		made = p->face[q];
		fill(p->node + 4 * made * p->points, &f, c, side, side + 1);
	}
	iso_room_drop(room, side);
	return ISO_OK;
}
