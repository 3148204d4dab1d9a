/* SPDX-License-Identifier: BSD-3-Clause */
/* Faces of the transducers of model svoxel: which there can be, and the points that stand for them. */
#include "svoxel.h"

enum { NEAR_LEAST = 16 }; /* points along a side of a near rectangle, where nobody says an error */

#define FOCUS_ERROR 1e-2
#define NEAR_ERROR 1e-4

static bool is_integral(enum iso_sir sir)
{
	return sir == ISO_SIR_NEAR || sir == ISO_SIR_FOCUS;
}

/* Delays across a rectangle stay within the traces if its axes have length 1. */
static int check_axes(const struct iso_transducers *t)
{
	for (int64_t i = 0; i < 2 * t->n; i++) {
		const double *v = (i % 2 ? t->ey : t->ex) + i / 2 * 3;

		if (!(fabs(v[0] * v[0] + v[1] * v[1] + v[2] * v[2] - 1) < 1e-6))
			return iso_fail(ISO_EINPUT,
			                "svoxel: the axes of transducer %" PRId64 " must have length 1",
			                i / 2);
	}
	return ISO_OK;
}

static bool is_curved(const struct iso_faces *f)
{
	for (int64_t q = 0; f && q < f->n; q++)
		if (f->focus[q] > 0) return true;
	return false;
}

int iso_svoxel_check_faces(const struct iso_svoxel *q)
{
	int st;

	if (!(q->sir_error >= 0 && q->sir_error < 1))
		return iso_fail(ISO_EARG, "svoxel: an error of %g of the faces, must be 0 to below 1",
		                q->sir_error);
	if (q->sir == ISO_SIR_POINT) return ISO_OK;
	if (!q->t->aperture)
		return iso_fail(ISO_EARG, "svoxel: the transducers have no aperture_mm: no %s",
		                q->sir == ISO_SIR_FOCUS ? "face" : "rectangle");
	if ((st = check_axes(q->t)) || (st = iso_aperture_check(q->t, q->faces))) return st;
	if (q->sir != ISO_SIR_FOCUS && is_curved(q->faces))
		return iso_fail(ISO_EARG,
		                "svoxel: the faces are curved (focus_mm, bowl_mm), no rectangles: sir "
		                "must be focus or point");
	return ISO_OK;
}

int iso_svoxel_face_count(struct aperture_count *c, const struct iso_svoxel *q)
{
	bool near = q->sir == ISO_SIR_NEAR, said = q->sir_error > 0;
	struct aperture_rule r = {
		.error = said   ? q->sir_error
		         : near ? NEAR_ERROR
		                : FOCUS_ERROR,
		.mhz = iso_svoxel_line_mhz(q, q->lines - 1),
		.least = near && !said ? NEAR_LEAST : 1,
	};

	*c = (struct aperture_count){ .n = { 1, 1 }, .flat = true };
	if (!is_integral(q->sir)) return ISO_OK;
	for (int a = 0; a < 3; a++) {
		double half = (double)(q->grid.n[a] - 1) / 2 * q->grid.voxel[a];

		r.low[a] = q->grid.centre[a] - half;
		r.high[a] = q->grid.centre[a] + half;
	}
	return iso_aperture_count(c, q->t, near ? NULL : q->faces, &r, "svoxel");
}

int iso_svoxel_faces(struct iso_room *room, struct svoxel *p, const struct iso_svoxel *q)
{
	struct aperture_count c;
	int st = iso_svoxel_face_count(&c, q);

	p->points = iso_aperture_size(&c);
	if (st || !is_integral(q->sir)) return st;
	return iso_aperture_points(&p->face, room, q->t, q->sir == ISO_SIR_NEAR ? NULL : q->faces, &c);
}
