/* SPDX-License-Identifier: BSD-3-Clause */
/* Time resolution: errors of time near a line source, the background taken from the strip's edges, row by row. */
#include "nema_tof.h"

#include "base/constants.h"
#include "base/fail.h"
#include "core/philox.h"
#include "core/room.h"
#include "image/places.h"
#include "nema_strip.h"

#include <math.h>
#include <string.h>

enum { DRAWS = 100, ROUNDS = 50 };

/* ---- widths ---- */

static double net_of(double *net, const struct nema_tof *t, const double *count, const double *weight)
{
	double sum = 0;

	for (int64_t i = 0; i < t->rows; i++) {
		net[i] = 0;
		for (int64_t k = 0; k < t->columns; k++) net[i] += weight[k] * count[i * t->columns + k];
		sum += net[i];
	}
	return sum;
}

static double width_of(const struct nema_tof *t, const double *net)
{
	return iso_width_of(net, t->rows, t->bin_ps, t->first_ps + t->bin_ps / 2).fwhm;
}

/* Solves a 3 x 3 system with a positive diagonal, in place. */
static void solve3(double m[3][4])
{
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++) {
			if (k == i) continue;
			double f = m[k][i] / m[i][i];

			for (int c = i; c < 4; c++) m[k][c] -= f * m[i][c];
		}
	for (int i = 0; i < 3; i++) m[i][3] /= m[i][i];
}

/* FWHM of A exp(-(t - m)^2 / (2 s^2)) by least squares, from the half-height width; NaN where it runs away. */
static double gauss_width(const struct nema_tof *t, const double *net, double fwhm)
{
	double peak = 0, middle = 0, s = fwhm / ISO_FWHM_PER_SIGMA;

	for (int64_t i = 0; i < t->rows; i++)
		if (net[i] > peak) {
			peak = net[i];
			middle = t->first_ps + ((double)i + .5) * t->bin_ps;
		}
	for (int round = 0; round < ROUNDS && s > 0; round++) {
		double m[3][4] = { { 0 } };

		for (int64_t i = 0; i < t->rows; i++) {
			double u = (t->first_ps + ((double)i + .5) * t->bin_ps - middle) / s;
			double g = exp(-u * u / 2), d[4] = { g, peak * g * u / s, peak * g * u * u / s };

			d[3] = net[i] - peak * g;
			for (int r = 0; r < 3; r++)
				for (int c = 0; c < 4; c++) m[r][c] += d[r] * d[c];
		}
		solve3(m);
		peak += m[0][3];
		middle += m[1][3];
		s += m[2][3];
		if (fabs(m[2][3]) < 1e-9 * s) return s * ISO_FWHM_PER_SIGMA;
	}
	return NAN;
}

/* Spread of the width over histograms drawn from this one. */
static double spread(const struct nema_tof *t, double *net, double *count, const double *weight)
{
	const int64_t n = t->rows * t->columns;
	double sum = 0, squares = 0;
	int good = 0;

	for (int d = 0; d < DRAWS; d++) {
		for (int64_t i = 0; i < n; i++)
			count[i] = (double)iso_poisson(t->count[i], 1, (uint64_t)(d * n + i));
		net_of(net, t, count, weight);
		double w = width_of(t, net);

		if (!isfinite(w)) continue;
		good++;
		sum += w;
		squares += w * w;
	}
	return good > 1 ? sqrt(fmax(squares - sum * sum / good, 0) / (good - 1)) : NAN;
}

int iso_nema_tof_width(struct nema_tof_width *w, double *net, const struct nema_tof *t)
{
	struct iso_room room = iso_room_of(NULL, "time resolution");
	const int64_t n = t->rows * t->columns;
	double *own, *count, *weight;

	ISO_HOST(&room, own, t->rows);
	ISO_HOST(&room, count, n);
	ISO_HOST(&room, weight, t->columns);
	if (!room.status) {
		iso_nema_weights(weight, t->columns, t->first_mm + t->bin_mm / 2, t->bin_mm, t->half_mm);
		for (int64_t i = 0; i < n; i++) count[i] = t->count[i];
		w->net_counts = net_of(own, t, count, weight);
		if (net) memcpy(net, own, (size_t)t->rows * sizeof *net);
		w->fwhm_ps = width_of(t, own);
		w->gauss_fwhm_ps = gauss_width(t, own, w->fwhm_ps);
		w->fwhm_err_ps = spread(t, own, count, weight);
	}
	return iso_room_free(&room);
}

/* ---- the line ---- */

/* Normal equations of s = x0 cos + ax z cos + y0 sin + ay z sin. */
struct normal {
	double m[4][5];
};

static void add_row(struct normal *q, const int32_t *row, const struct ssrb *g, double phi, double z,
                    double cut)
{
	int64_t top = -1;

	for (int64_t k = 1; k + 1 < g->bins; k++)
		if (fabs(iso_ssrb_s(g, k)) <= cut && row[k] > 0 && (top < 0 || row[k] > row[top])) top = k;
	if (top < 0) return;
	double below = row[top - 1], most = row[top], above = row[top + 1];
	double c = below + above - 2 * most;
	double s = iso_ssrb_s(g, top) + (c < 0 ? g->bin_mm * (below - above) / (2 * c) : 0);
	double v[5] = { cos(phi), z * cos(phi), sin(phi), z * sin(phi), s };

	for (int i = 0; i < 4; i++)
		for (int k = 0; k < 5; k++) q->m[i][k] += most * v[i] * v[k];
}

/* Gauss and Jordan; a direction that the data do not fix (one slice: the tilt) stays 0. */
static void solve_line(struct normal *q, double to[4])
{
	bool fixed[4];

	for (int i = 0; i < 4; i++) {
		double scale = q->m[i][i], f;

		fixed[i] = scale > 1e-9;
		for (int k = 0; k < 4 && fixed[i]; k++) {
			if (k == i) continue;
			f = q->m[k][i] / scale;
			for (int c = 0; c < 5; c++) q->m[k][c] -= f * q->m[i][c];
		}
	}
	for (int i = 0; i < 4; i++) to[i] = fixed[i] ? q->m[i][4] / q->m[i][i] : 0;
}

int iso_nema_source_line(struct nema_source *l, const int32_t *cells, const struct ssrb *g, double cut_mm)
{
	struct normal q = { 0 };
	double to[4];

	for (int64_t j = 0; j < g->slices; j++)
		for (int64_t i = 0; i < g->angles; i++)
			add_row(&q, cells + (j * g->angles + i) * g->bins, g, iso_ssrb_phi(g, i),
			        iso_ssrb_z(g, j), cut_mm);
	if (!(q.m[0][0] + q.m[2][2] > 0))
		return iso_fail(ISO_EINPUT, "nema: no counts within %g mm of the axis, so no line source",
		                cut_mm);
	solve_line(&q, to);
	*l = (struct nema_source){ to[0], to[1], to[2], to[3] };
	return ISO_OK;
}

/* The points of the event's line, p1 + t u, and of the source, a + v w, that are nearest to each other. */
bool iso_nema_time_error(double *error_ps, double *distance_mm, const struct iso_event *e,
                         const struct nema_source *l)
{
	double u[3], r[3], n[3], length = 0, across = 0, d = 0, t = 0;
	const double v[3] = { l->ax, l->ay, 1 }, a[3] = { l->x0, l->y0, 0 };

	for (int k = 0; k < 3; k++) {
		u[k] = (double)e->p2[k] - e->p1[k];
		r[k] = a[k] - e->p1[k];
		length += u[k] * u[k];
	}
	length = sqrt(length);
	for (int k = 0; k < 3; k++) n[k] = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
	for (int k = 0; k < 3; k++) across += n[k] * n[k];
	if (!(across > 1e-12 * length * length)) return false;
	for (int k = 0; k < 3; k++) {
		d += r[k] * n[k];
		/* t = ((r x v) . n) / |n|^2 */
		t += (r[(k + 1) % 3] * v[(k + 2) % 3] - r[(k + 2) % 3] * v[(k + 1) % 3]) * n[k];
	}
	t /= across;
	*distance_mm = d / sqrt(across);
	*error_ps = e->dt_ps - 2 * (t - .5) * length / ISO_C_MM_PER_PS;
	return true;
}

struct counting {
	struct nema_tof *t;
	const struct ssrb_file *f;
	const struct nema_source *l;
};

static int count_block(void *arg, const struct iso_events *e)
{
	struct counting *c = arg;
	struct nema_tof *t = c->t;

#pragma omp parallel for num_threads(iso_ctx_threads(c->f->read.ctx))
	for (int64_t j = 0; j < e->n; j++) {
		double error, distance;

		if (iso_event_bad(e->v + j) || !iso_ssrb_in_frame(c->f, e, j) ||
		    !iso_nema_time_error(&error, &distance, e->v + j, c->l))
			continue;
		double row = floor((error - t->first_ps) / t->bin_ps);
		double column = floor((distance - t->first_mm) / t->bin_mm);

		if (!(row >= 0 && row < (double)t->rows && column >= 0 && column < (double)t->columns))
			continue;
#pragma omp atomic
		t->count[(int64_t)row * t->columns + (int64_t)column]++;
	}
	return ISO_OK;
}

int iso_nema_tof_count(struct nema_tof *t, const struct ssrb_file *f, const struct nema_source *l)
{
	struct counting c = { t, f, l };

	return iso_ssrb_each(f, count_block, &c);
}
