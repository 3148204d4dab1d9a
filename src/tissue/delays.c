/* SPDX-License-Identifier: BSD-3-Clause */
/* Delays through tissue: checks, what is known beforehand, and the public functions. */
#include "tissue_delays.h"

#include "core/comm.h"
#include "core/op.h"
#include "core/size.h"
#include "core/sized.h"

#define SLOWEST .3 /* mm/us */
#define FASTEST 10.
#define FLAT 1e-6 /* of the size of a voxel */

/* ---- checks ---- */

static bool is_speed(double c)
{
	return c >= SLOWEST && c <= FASTEST;
}

static bool is_sphere(const struct iso_tissue *p)
{
	return p->axes[0] == p->axes[1] && p->axes[0] == p->axes[2];
}

/* The axis of a circle's cylinder; -1: another shape. */
static int circle_axis(const struct iso_tissue *p)
{
	for (int a = 0; a < 3 && p->shape == ISO_TISSUE_ELLIPSOID; a++)
		if (isinf(p->axes[a]) && p->axes[(a + 1) % 3] == p->axes[(a + 2) % 3]) return a;
	return -1;
}

static int check_shape(const struct iso_tissue *p)
{
	int endless = 0;

	if (p->shape == ISO_TISSUE_ELLIPSOID) {
		for (int a = 0; a < 3; a++) {
			endless += isinf(p->axes[a]);
			if (!(p->axes[a] > 0) || !isfinite(p->centre[a]))
				return iso_fail(ISO_EARG,
				                "tissue: half axes of %g, %g and %g mm, must be above 0",
				                p->axes[0], p->axes[1], p->axes[2]);
		}
		return endless < 2 ? ISO_OK : iso_fail(ISO_EARG, "tissue: at most one axis can be endless");
	}
	double n = sqrt(sound_dot(p->normal, p->normal));

	if (p->shape == ISO_TISSUE_PLANE && !(n > 1e-9 && isfinite(n) && isfinite(p->offset)))
		return iso_fail(ISO_EARG, "tissue: a plane with the normal (%g, %g, %g), must not be 0",
		                p->normal[0], p->normal[1], p->normal[2]);
	return ISO_OK;
}

static int check_image(const struct iso_tissue *p)
{
	int64_t n = iso_grid_voxels(&p->image_grid);
	int st = p->image ? iso_grid_check(&p->image_grid) : iso_fail_null("iso_delays_create");

	if (st) return st;
	for (int64_t i = 0; i < n && p->shape == ISO_TISSUE_MAP; i++)
		if (!is_speed((double)p->image[i]))
			return iso_fail(ISO_EINPUT,
			                "map of speeds: voxel %" PRId64 " is %g mm/us, must be %g to %g", i,
			                (double)p->image[i], SLOWEST, FASTEST);
	return ISO_OK;
}

/* A bent ray of a circle stays in a plane. */
static int check_plane(int axis, const struct iso_transducers *t, const struct iso_grid *g)
{
	bool flat = g->n[axis] == 1;

	for (int64_t q = 0; q < t->n && flat; q++)
		flat = fabs(t->pos[3 * q + axis] - g->centre[axis]) <= FLAT * g->voxel[axis];
	if (flat) return ISO_OK;
	return iso_fail(ISO_EARG, "tissue: a circle bends rays where transducers and voxels lie in one "
	                          "plane, here they do not: "
	                          "straight rays, or a sphere");
}

static int check_path(const struct iso_tissue *p, const struct iso_transducers *t, const struct iso_grid *g)
{
	bool image = p->shape == ISO_TISSUE_MASK || p->shape == ISO_TISSUE_MAP;
	bool plane = p->shape == ISO_TISSUE_PLANE, snell = p->path == ISO_SOUND_SNELL;
	int axis = circle_axis(p);

	if (p->path != ISO_SOUND_STRAIGHT && !snell && p->path != ISO_SOUND_EIKONAL)
		return iso_fail(ISO_EARG, "tissue: there is no path %d", (int)p->path);
	if (snell && (image || (!plane && !is_sphere(p) && axis < 0)))
		return iso_fail(ISO_EARG,
		                "tissue: path snell is for spheres, circles and planes; other shapes have "
		                "straight rays or path eikonal");
	if (p->amplitude == ISO_SOUND_SPREAD && !(snell && (plane || is_sphere(p))))
		return iso_fail(ISO_EARG,
		                "tissue: amplitude spread is for path snell with a sphere or a plane");
	if (snell && axis >= 0) return check_plane(axis, t, g);
	return ISO_OK;
}

static int check(const struct iso_tissue *p, const struct iso_transducers *t, const struct iso_grid *g)
{
	int st;

	if ((st = iso_transducers_check(t)) || (st = iso_grid_check(g))) return st;
	if (p->shape < ISO_TISSUE_ELLIPSOID || p->shape > ISO_TISSUE_MAP)
		return iso_fail(ISO_EARG, "tissue: there is no shape %d", (int)p->shape);
	if (p->shape != ISO_TISSUE_MAP && !is_speed(p->speed))
		return iso_fail(ISO_EARG, "tissue: its speed is %g mm/us, must be %g to %g", p->speed,
		                SLOWEST, FASTEST);
	if (!(p->table_mm >= 0) || !isfinite(p->table_mm))
		return iso_fail(ISO_EARG, "tissue: tables of %g mm, must be above 0", p->table_mm);
	if (p->shape == ISO_TISSUE_MASK || p->shape == ISO_TISSUE_MAP) {
		if ((st = check_image(p))) return st;
	} else if ((st = check_shape(p))) {
		return st;
	}
	return check_path(p, t, g);
}

/* ---- what is known beforehand ---- */

static void take_shape(struct sound *m, const struct iso_tissue *p, const struct iso_grid *g)
{
	double unit[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 }, n = sqrt(sound_dot(p->normal, p->normal));
	bool turned = false;
	int axis = circle_axis(p);

	for (int i = 0; i < 9; i++) turned |= p->rotation[i] != 0;
	for (int i = 0; i < 9; i++)
		m->wr[i] = (turned ? p->rotation : unit)[i] /
		           (isinf(p->axes[i / 3]) ? INFINITY : p->axes[i / 3]);
	for (int a = 0; a < 3; a++) {
		m->centre[a] = p->centre[a];
		m->normal[a] = p->normal[a] / n;
	}
	m->offset = p->offset / n;
	m->across = axis;
	if (axis >= 0) m->centre[axis] = g->centre[axis];
	if (p->shape == ISO_TISSUE_ELLIPSOID && is_sphere(p)) m->radius = p->axes[0];
	if (axis >= 0) m->radius = p->axes[(axis + 1) % 3];
}

static void take_image(struct iso_room *room, struct sound *m, const struct iso_tissue *p)
{
	const struct iso_grid *g = &p->image_grid;
	int64_t n = iso_grid_voxels(g);
	iso_real *to;

	for (int a = 0; a < 3; a++) {
		m->image_n[a] = g->n[a];
		m->image_voxel[a] = g->voxel[a];
		m->image_first[a] = g->centre[a] - .5 * (double)(g->n[a] - 1) * g->voxel[a];
	}
	if (ISO_HOST(room, to, n)) memcpy(to, p->image, (size_t)n * sizeof *to);
	m->image = to;
}

static void voxel_place(double x[3], const struct iso_grid *g, int64_t i)
{
	const int64_t at[3] = { i % g->n[0], i / g->n[0] % g->n[1], i / g->n[0] / g->n[1] };

	for (int a = 0; a < 3; a++)
		x[a] = g->centre[a] + ((double)at[a] - .5 * (double)(g->n[a] - 1)) * g->voxel[a];
}

/* c1 of a map is the mean of its speeds at the voxels. */
static int take_voxels(struct iso_delays *d)
{
	struct sound *m = &d->m;
	int64_t n = iso_grid_voxels(&d->grid), in = 0;
	bool map = m->shape == ISO_TISSUE_MAP;
	iso_real *ratio;
	double sum = 0;

	if (!ISO_HOST(&d->room, ratio, n)) return d->room.status;
#pragma omp parallel for num_threads(iso_ctx_threads(d->room.ctx)) reduction(+ : in)
	for (int64_t i = 0; i < n; i++) {
		double x[3];

		voxel_place(x, &d->grid, i);
		ratio[i] = (iso_real)(map ? sound_slowness(m, x) : sound_in_tissue(m, x) ? 1 : m->c1 / m->c0);
		in += map || sound_in_tissue(m, x);
	}
	for (int64_t i = 0; i < n && map; i++) sum += 1 / (double)ratio[i];
	if (map) {
		m->c1 = sum / (double)n;
		for (int64_t i = 0; i < n; i++) ratio[i] = (iso_real)((double)ratio[i] * m->c1);
	}
	m->ratio = ratio;
	d->info.voxels = n;
	d->info.voxels_in = in;
	return ISO_OK;
}

static void look_at_transducers(struct iso_delays *d)
{
	const struct sound *m = &d->m;
	double far = 0;

	for (int64_t q = 0; q < d->n; q++) {
		d->info.transducers_in += m->shape != ISO_TISSUE_MAP && sound_in_tissue(m, d->pos + 3 * q);
		far = fmax(far, sound_length(d->pos + 3 * q, m->centre));
	}
	d->info.transducers = d->n;
	d->info.focuses = m->path == ISO_SOUND_SNELL && m->radius > 0 && m->c1 < m->c0 &&
	                  (far > 5 * m->radius || m->c0 / m->c1 > 1.1);
}

/* ---- making ---- */

static int make(struct iso_delays *d, const struct iso_transducers *t, const struct iso_tissue *p,
                const struct iso_grid *g)
{
	struct sound *m = &d->m;
	bool image = p->shape == ISO_TISSUE_MASK || p->shape == ISO_TISSUE_MAP;
	int st;

	d->grid = *g;
	d->n = t->n;
	if (!ISO_HOST(&d->room, d->pos, 3 * t->n)) return d->room.status;
	memcpy(d->pos, t->pos, (size_t)(3 * t->n) * sizeof *d->pos);
	*m = (struct sound){ .shape = p->shape,
		             .path = p->path,
		             .spread = p->amplitude == ISO_SOUND_SPREAD,
		             .c0 = t->speed,
		             .c1 = p->speed,
		             .across = -1 };
	if (image)
		take_image(&d->room, m, p);
	else
		take_shape(m, p, g);
	if (d->room.status || (st = take_voxels(d))) return d->room.status ? d->room.status : st;
	m->more = 1 / m->c1 - 1 / m->c0;
	m->c_least = fmin(m->c0, m->c1);
	m->c_most = fmax(m->c0, m->c1);
	for (int64_t i = 0; p->shape == ISO_TISSUE_MAP && i < iso_grid_voxels(&p->image_grid); i++) {
		m->c_least = fmin(m->c_least, (double)p->image[i]);
		m->c_most = fmax(m->c_most, (double)p->image[i]);
	}
	d->info.mean_speed = m->c1;
	d->info.smooth = p->shape == ISO_TISSUE_MAP;
	d->info.table_error_us = NAN;
	look_at_transducers(d);
	if (m->path == ISO_SOUND_SNELL && d->info.transducers_in == d->n)
		return iso_fail(ISO_EARG,
		                "tissue: path snell is for transducers in water, here all are in the tissue");
	if (image || m->path == ISO_SOUND_EIKONAL) {
		if ((st = iso_sound_tables(d, t, p->table_mm))) return st;
	} else {
		iso_sound_bounds(d);
	}
	d->info.least = m->least;
	d->info.most = m->most;
	return ISO_OK;
}

int iso_delays_create(iso_delays **out, iso_ctx *ctx, const struct iso_transducers *t,
                      const struct iso_tissue *tissue, const struct iso_grid *grid)
{
	if (!out || !ctx || !t || !tissue || !grid) return iso_fail_null(__func__);
	struct iso_tissue p;
	iso_delays *d;
	int st = iso_sized_take(&p, "iso_tissue", sizeof p, tissue);

	if (st || (st = check(&p, t, grid))) return st;
	if (!(d = size_alloc(1, sizeof *d))) return iso_fail_memory("delays", sizeof *d);
	*d = (struct iso_delays){ .refs = 1, .room = iso_room_of(ctx, "delays") };
	st = make(d, t, &p, grid);
	if (st)
		iso_delays_free(d);
	else
		*out = d;
	return st;
}

iso_delays *iso_delays_keep(const iso_delays *d)
{
	iso_delays *own = (iso_delays *)d;

	if (own) __atomic_add_fetch(&own->refs, 1, __ATOMIC_RELAXED);
	return own;
}

void iso_delays_free(iso_delays *d)
{
	if (!d || __atomic_sub_fetch(&d->refs, 1, __ATOMIC_ACQ_REL) > 0) return;
	iso_room_free(&d->room);
	free(d);
}

int iso_delays_fit(const iso_delays *d, const struct iso_transducers *t, const struct iso_grid *g,
                   const char *who)
{
	if (!d) return ISO_OK;
	if (t->n > d->n || memcmp(t->pos, d->pos, (size_t)(3 * t->n) * sizeof *t->pos) != 0 ||
	    t->speed != d->m.c0)
		return iso_fail(ISO_EARG, "%s: the delays are those of other transducers", who);
	if (memcmp(g, &d->grid, sizeof *g) != 0)
		return iso_fail(ISO_EARG, "%s: the delays are those of another grid", who);
	return ISO_OK;
}

void iso_delays_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_transducers *t,
                     const struct iso_tissue *tissue, const struct iso_grid *grid)
{
	struct iso_tissue p;

	if (!plan || !ctx || !t || !tissue || !grid || iso_sized_take(&p, "iso_tissue", sizeof p, tissue) ||
	    check(&p, t, grid))
		return; /* iso_delays_create will say what is wrong */
	iso_plan_add(plan, "speeds of voxels", iso_grid_voxels(grid), sizeof(iso_real), false);
	if (p.shape != ISO_TISSUE_MASK && p.shape != ISO_TISSUE_MAP && p.path != ISO_SOUND_EIKONAL) return;
	struct sound_nodes n = iso_sound_nodes(grid, NULL, p.table_mm > 0 ? p.table_mm : .5);

	iso_plan_add(plan, "tables of delays", t->n * sound_nodes_all(&n), sizeof(float) + sizeof(int16_t),
	             false);
}

/* ---- asking ---- */

static void points_single(double *t_us, double *amplitude, const iso_delays *d, int64_t q, int64_t n,
                          const double *points)
{
	const double *s = d->pos + 3 * q;

	for (int64_t i = 0; i < n; i++) {
		double way = sound_length(s, points + 3 * i);
		iso_real late, loud;

		iso_sound_row(&late, &loud, &d->m, q, s, s, points + 3 * i, 0, 1);
		t_us[i] = way / d->m.c0 + (double)late;
		if (amplitude) amplitude[i] = (double)loud / way;
	}
}

int iso_delays_points(double *t_us, double *amplitude, const iso_delays *d, int64_t q, int64_t n,
                      const double *points, bool single)
{
	if (!t_us || !d || !points) return iso_fail_null(__func__);
	if (q < 0 || q >= d->n || n < 0)
		return iso_fail(ISO_EARG, "delays: transducer %" PRId64 " of %" PRId64, q, d->n);
	const double *s = d->pos + 3 * q;

	if (single) {
		points_single(t_us, amplitude, d, q, n, points);
		return ISO_OK;
	}
	bool summed = d->m.table && d->m.path == ISO_SOUND_STRAIGHT;

	for (int64_t i = 0; i < n; i++) {
		const double *r = points + 3 * i;
		double way = sound_length(s, r), loud = 1;

		t_us[i] = way / d->m.c0 + (summed ? iso_sound_along(&d->medium, 1 / d->m.c0, s, r)
		                                  : sound_late(&loud, &d->m, q, s, s, r));
		if (amplitude) amplitude[i] = loud / way;
	}
	return ISO_OK;
}

int iso_delays_ray(double *t_us, double *amplitude, const iso_delays *d, int64_t q, const double from[3],
                   const double to[3])
{
	if (!t_us || !d || !from || !to) return iso_fail_null(__func__);
	if (q < 0 || q >= d->n)
		return iso_fail(ISO_EARG, "delays: transducer %" PRId64 " of %" PRId64, q, d->n);
	double way = sound_length(from, to), loud;

	*t_us = way / d->m.c0 + sound_late(&loud, &d->m, q, d->pos + 3 * q, from, to);
	if (amplitude) *amplitude = loud / way;
	return ISO_OK;
}

int iso_delays_speeds(double *speed, const iso_delays *d, int64_t n, const double *points)
{
	if (!speed || !d || !points) return iso_fail_null(__func__);
	for (int64_t i = 0; i < n; i++) speed[i] = 1 / sound_slowness(&d->m, points + 3 * i);
	return ISO_OK;
}

int iso_delays_look(struct iso_delays_info *info, const iso_delays *d)
{
	if (!info || !d) return iso_fail_null(__func__);
	struct iso_delays_info own = d->info;

	return iso_sized_put(info, "iso_delays_info", sizeof own, &own);
}
