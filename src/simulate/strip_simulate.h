/* SPDX-License-Identifier: BSD-3-Clause */
/* Decays in ellipses between two strips: one history, for CPU and CUDA alike.

   Event i takes its numbers from (seed, i) alone: attempt k has draws 2 k (row, point, angle) and 2 k + 1
   (errors). Decisions are in double, so that CPU and CUDA keep the same histories: they would part only where
   a point lies on an ellipse, or a photon on the end of a strip, within rounding. */
#ifndef ISO_STRIP_SIMULATE_H
#define ISO_STRIP_SIMULATE_H

#include "core/philox.h"
#include "scanner/strips_kern.h"

/* An ellipse, or a rectangle; a point is an ellipse of half axes 0. */
struct strip_row {
	double z, y, a, b, cos_phi, sin_phi;
	double up_to; /* shares of the activity of this row and those above, of all */
	bool square;
};

struct strip_scan {
	struct iso_strips strips;
	uint64_t seed;
	int n;
	const struct strip_row *row; /* topmost first */
	bool adds;                   /* none hides another */
};

/* An attempt's point belongs to a row above (no decay), a photon missed the strips, or there is an event. */
enum strip_fate { STRIP_HIDDEN, STRIP_MISSED, STRIP_KEPT };

/* Where, and how steep: tan of the angle against y. */
struct strip_decay {
	double z, y, tan;
};

/* Uniform in (0, 1): 32 bits and a half step. */
ISO_HD double strip_unit(uint32_t w)
{
	return ((double)w + .5) * 0x1p-32;
}

ISO_HD bool strip_inside(const struct strip_row *r, double z, double y)
{
	double dz = z - r->z, dy = y - r->y;
	double u = (dz * r->cos_phi + dy * r->sin_phi) / r->a;
	double v = (dy * r->cos_phi - dz * r->sin_phi) / r->b;

	return r->square ? fabs(u) <= 1 && fabs(v) <= 1 : u * u + v * v <= 1;
}

/* A row by its share, a point uniform in its shape; false if a row above has that point. To try
   the point alone anew would give rows that are partly hidden too much. */
ISO_HD bool strip_place(struct strip_decay *d, const struct strip_scan *s, struct philox p)
{
	double u = strip_unit(p.w[0]), r = sqrt(strip_unit(p.w[1]));
	double turn = 2 * M_PI * strip_unit(p.w[2]);
	int i = 0;

	while (s->row[i].up_to <= u) /* the last is 1 */
		i++;
	const struct strip_row *e = &s->row[i];
	double along = e->a * (e->square ? 2 * r * r - 1 : r * cos(turn));
	double across = e->b * (e->square ? turn / M_PI - 1 : r * sin(turn));

	d->z = e->z + along * e->cos_phi - across * e->sin_phi;
	d->y = e->y + along * e->sin_phi + across * e->cos_phi;
	d->tan = tan(M_PI * (strip_unit(p.w[3]) - .5));
	for (int k = 0; k < i && !s->adds; k++)
		if (strip_inside(&s->row[k], d->z, d->y)) return false;
	return true;
}

/* Normal errors of the inverse covariance (12) of Bialas 2015, whose rows are
   (1/su^2, 0, g), (0, 1/sd^2, -g), (g, -g, 1/sl^2): dl has the variance
   1 / (1/sl^2 - g^2 (su^2 + sd^2)), and given dl, the mean of z_u is -g su^2 dl, that of z_d its opposite. */
ISO_HD void strip_blur(struct iso_strip_event *e, const struct iso_strips *s, double z_up, double z_down,
                       double dl, struct philox p)
{
	double r = sqrt(-2 * log(strip_unit(p.w[0]))), turn = 2 * M_PI * strip_unit(p.w[1]);
	double normal = sqrt(-2 * log(strip_unit(p.w[2]))) * cos(2 * M_PI * strip_unit(p.w[3]));
	double su = strips_sigma_z(s, z_up), sd = strips_sigma_z(s, z_down);
	double coupled = s->gamma * s->sigma_dl;
	double error = s->sigma_dl * normal / sqrt(1 - coupled * coupled * (su * su + sd * sd));

	e->z_up = (float)(z_up + su * (r * cos(turn) - s->gamma * su * error));
	e->z_down = (float)(z_down + sd * (r * sin(turn) + s->gamma * sd * error));
	e->dl = (float)(dl + error);
}

/* Exact hits decide (|z| <= L/2), then they are blurred and may lie off the strips. */
ISO_HD enum strip_fate strip_try(struct iso_strip_event *e, const struct strip_scan *s, uint64_t i,
                                 uint64_t attempt)
{
	double radius = s->strips.radius, half = .5 * s->strips.length;
	struct strip_decay d;

	if (!strip_place(&d, s, philox_draw(s->seed, i, 2 * attempt))) return STRIP_HIDDEN;
	double z_up = d.z + (radius - d.y) * d.tan, z_down = d.z - (radius + d.y) * d.tan;

	if (!(fabs(d.y) < radius) || !(fabs(z_up) <= half) || !(fabs(z_down) <= half)) return STRIP_MISSED;
	strip_blur(e, &s->strips, z_up, z_down, -2 * d.y * sqrt(1 + d.tan * d.tan),
	           philox_draw(s->seed, i, 2 * attempt + 1));
	return STRIP_KEPT;
}

/* Returns the decays that it took. */
ISO_HD int64_t strip_event(struct iso_strip_event *e, const struct strip_scan *s, uint64_t i)
{
	enum strip_fate fate = STRIP_HIDDEN;
	int64_t decays = 0;

	for (uint64_t attempt = 0; fate != STRIP_KEPT; attempt++) {
		fate = strip_try(e, s, i, attempt);
		decays += fate != STRIP_HIDDEN;
	}
	return decays;
}

/* iso_strip_simulate, and the decays that gave the events. */
ISO_C int iso_strip_simulate_counted(struct iso_strip_event *e, int64_t *decays, iso_ctx *ctx,
                                     const struct iso_strips *strips, const iso_phantom *ellipses,
                                     uint64_t seed, int64_t first, int64_t n);

#endif
