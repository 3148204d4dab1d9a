/* SPDX-License-Identifier: BSD-3-Clause */
/* Means over the lines between rings: what is the same for all pairs in the plane. */
#include "ray_means.h"

#define STEP_MM 5.    /* from step to step, at least */
#define CELL_MM 2.5   /* cells, at most; of thin slices two slices, or LEAST_MM */
#define LEAST_MM 2.   /* cells, at least */
#define MOST_BLUR 30. /* slices that a line is spread over, of a ring that stands for several */
#define FINE_BLUR 2.  /* slices: where it is more, coarse parts and cells will do */
#define COARSE_MM 5.  /* cells then */
#define FILL 16       /* means of a cell are a multiple of so many */

/* ---- rings ---- */

static double ring_z(const struct ray_sens *q, int64_t ring)
{
	return q->pos[3 * ring * q->pairs.per_ring + 2];
}

/* A third of the sheet's bytes for the factors of its lines, which have a border of zeros. */
static int count_rings(const struct ray_sens *q, double lines, int64_t sheet_bytes)
{
	double most = sqrt((double)sheet_bytes / 3 / sizeof(float)) - 2;

	most = fmin(most, sqrt(lines / (double)q->pairs.same));
	return (int)fmin((double)q->pairs.rings, fmax(most, 2));
}

static void set_rings(struct ray_means *m, const struct ray_sens *q)
{
	const struct iso_pairs *p = &q->pairs;
	double length = ring_z(q, p->rings - 1) - ring_z(q, 0);

	m->first = ring_z(q, 0);
	m->pitch = m->rings > 1 ? length / (m->rings - 1) : 1;
	m->reach =
		p->rings > 1 ? (double)p->max_ring_difference * (m->rings - 1) / (double)(p->rings - 1) : 0;
	m->joined = m->rings < p->rings;
	m->solid_angle = q->solid_angle;
}

/* Efficiencies of the scanner's rings around each of ours. */
static void join_rings(float *eff, const struct ray_means *m, const struct ray_sens *q)
{
	const struct iso_pairs *p = &q->pairs;
	double each = m->rings > 1 ? (double)(p->rings - 1) / (m->rings - 1) : 1;

	for (int i = 0; i < m->rings; i++)
		for (int64_t c = 0; c < p->per_ring; c++) {
			double sum = 0, all = 0;

			for (int64_t k = (int64_t)fmax(0, ceil((i - 1) * each));
			     k < p->rings && (double)k <= (i + 1) * each; k++) {
				double w = fmax(1 - fabs((double)k / each - i), 0);

				sum += w * (double)q->eff[k * p->per_ring + c];
				all += w;
			}
			eff[i * p->per_ring + c] = (float)(sum / all);
		}
}

/* ---- the attenuation map ---- */

/* Without the slices that no line between rings meets. */
static void cut_map(struct ray_means *m, const struct ray_grid *g)
{
	double low = (m->first - g->low[2]) / g->voxel[2];
	double high = (m->first + m->pitch * (m->rings - 1) - g->low[2]) / g->voxel[2];
	int last = (int)fmin(fmax(ceil(high) + 1, 1), g->n[2]);

	m->skip = (int)fmin(fmax(floor(low) - 1, 0), last - 1);
	m->cut = last - m->skip;
	m->low = g->low[2] + m->skip * g->voxel[2];
}

static int64_t bytes_of_sheet(const struct ray_means *m)
{
	return ((int64_t)(m->steps + 1) * (m->nz + MEANS_PAD) + (int64_t)(m->rings + 2) * (m->rings + 2)) *
	       (int64_t)sizeof(float);
}

/* Takes `by` slices as one, or makes `per` of each; across: mm from crystal to crystal, at most. */
static void join_slices(struct ray_means *m, const struct ray_grid *g, int by, int per, double across)
{
	m->by = by;
	m->per = per;
	m->nz = (m->cut + by - 1) / by * per;
	m->thick = by * g->voxel[2] / per;
	m->steps = (int)ceil(across / fmax(STEP_MM, m->thick)) + 1;
}

/* In slices of an eighth to half a pitch. */
static void set_map(struct ray_means *m, const struct ray_grid *g, double across, int64_t most)
{
	double pitch = m->pitch / g->voxel[2];

	m->plane = *g;
	m->plane.n[2] = 1;
	m->plane.voxel[2] = 1;
	m->plane.low[2] = 0;
	cut_map(m, g);
	join_slices(m, g, (int)fmin(fmax(1, floor(pitch / 8)), m->cut), (int)fmax(1, floor(2 / pitch)),
	            across);
	while (m->per > 1 && bytes_of_sheet(m) > most) join_slices(m, g, 1, m->per - 1, across);
	while (m->by < m->cut && bytes_of_sheet(m) > most) join_slices(m, g, m->by + 1, 1, across);
}

static int64_t pixels(const struct ray_means *m)
{
	return (int64_t)m->plane.n[0] * m->plane.n[1];
}

static void fill_columns(float *column, const struct ray_means *m, const struct ray_sens *q,
                         const iso_ctx *ctx)
{
	int64_t n = pixels(m);

#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t i = 0; i < n; i++)
		for (int z = 0; z < m->cut; z++)
			for (int k = 0; k < m->per; k++)
				column[i * m->nz + z / m->by * m->per + k] +=
					(float)(q->mu[(m->skip + z) * n + i] / m->by);
}

/* ---- all of it ---- */

/* Joseph shares lines between two slices; lines of a ring that stands for several are spread over its pitch. */
static void set_parts(struct ray_means *m, const struct ray_sens *q, double across)
{
	bool joseph = q->projector == ISO_JOSEPH;
	double slice = q->grid.voxel[2], blur = m->joined ? fmin(m->pitch / slice, MOST_BLUR) : 0;

	if (blur > FINE_BLUR) {
		m->sub = joseph ? 2 : 1;
		m->cells = (int)ceil(across / COARSE_MM);
	} else {
		m->sub = joseph || m->joined ? 4 : 1;
		m->cells = (int)ceil(across / fmin(fmax(2 * slice, LEAST_MM), CELL_MM));
	}
	m->parts = m->slices * m->sub;
	m->part = slice / m->sub;
	m->width = (float)(joseph ? 1 + blur : .5 + blur / 2);
	m->fall = (float)(joseph ? 1 + blur : fmax(blur, 1e-3));
}

struct ray_means iso_means_shape(const struct ray_sens *q, double lines, int64_t sheet_bytes)
{
	struct ray_means m = { .kinds = rings_kinds(q),
		               .rings = count_rings(q, lines, sheet_bytes),
		               .slices = q->grid.n[2],
		               .base = q->grid.low[2] };
	double across = 0;

	for (int64_t c = 0; c < q->pairs.per_ring; c++)
		across = fmax(across, 2 * hypot(q->pos[3 * c], q->pos[3 * c + 1]));
	set_rings(&m, q);
	set_parts(&m, q, across);
	m.stride = (m.slices + FILL - 1) / FILL * FILL;
	if (q->mu) set_map(&m, &q->mu_grid, across, sheet_bytes);
	return m;
}

int iso_means_create(struct ray_means *m, struct iso_room *room, const struct ray_sens *q)
{
	float *eff = NULL, *column = NULL;

	if (q->eff) ISO_HOST(room, eff, m->rings * q->pairs.per_ring);
	if (q->mu) ISO_HOST(room, column, pixels(m) * m->nz);
	if (room->status) return room->status;
	if (eff) join_rings(eff, m, q);
	if (column) fill_columns(column, m, q, room->ctx);
	m->eff = eff;
	m->column = column;
	return ISO_OK;
}

void iso_means_plan(struct iso_plan *plan, const struct ray_means *m, const struct ray_sens *q)
{
	if (q->mu) iso_plan_add(plan, "attenuation map, in columns", pixels(m) * m->nz, sizeof(float), false);
	if (q->eff)
		iso_plan_add(plan, "efficiencies of rings", m->rings * q->pairs.per_ring, sizeof(float),
		             false);
}
