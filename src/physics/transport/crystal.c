/* SPDX-License-Identifier: BSD-3-Clause */
/* Setting up photons in crystals: boxes and their rings, tables over energy, decays of an image. */
#include "crystal.h"
#include "crystal_object.h"
#include "core/plan.h"
#include "core/size.h"

/* ---- tables ---- */

/* Klein-Nishina: d sigma / d cos ~ e^2 (e + 1/e - sin^2), e = E'/E. */
static double klein_nishina(double a, double c)
{
	double e = 1 / (1 + a * (1 - c));

	return e * e * (e + 1 / e - (1 - c * c));
}

/* The distribution function from cos = -1 up, by Simpson's rule on N cells, inverted along straight lines. */
static void compton_row(float *row, double a)
{
	enum { N = 4096 };
	double up[N + 1] = { 0 }, h = 2. / N;
	int k = 0;

	for (int i = 0; i < N; i++) {
		double c = -1 + h * i;

		up[i + 1] = up[i] + klein_nishina(a, c) + 4 * klein_nishina(a, c + .5 * h) +
		            klein_nishina(a, c + h);
	}
	for (int j = 0; j < TRANSPORT_SHARES; j++) {
		double want = up[N] * j / TRANSPORT_SHARES;

		while (up[k + 1] <= want) k++;
		row[j] = (float)(-1 + h * (k + (want - up[k]) / (up[k + 1] - up[k])));
	}
	row[TRANSPORT_SHARES] = 1;
}

static void fill_compton(float rows[CRYSTAL_ROWS + 1][TRANSPORT_SHARES + 1])
{
	for (int i = 0; i <= CRYSTAL_ROWS; i++)
		compton_row(rows[i],
		            (i <= CRYSTAL_FINE ? 8. * i : 512 + 32. * (i - CRYSTAL_FINE)) / 510.99895);
}

int iso_crystal_matter(struct crystal_matter *m, const char *formula, double density)
{
	int st = iso_material_make(&m->material, formula, density);

	return st ? st : iso_material_wide(m->mu, CRYSTAL_TOP + 1, formula, density);
}

static int fill_parts(struct crystal_table *t, const struct iso_modules *m)
{
	const struct modules_matter *matter[CRYSTAL_PARTS] = { &m->material, &m->cover_of, &m->gap };

	for (int k = 0; k < CRYSTAL_PARTS; k++) {
		int st = matter[k]->formula[0]
		                 ? iso_crystal_matter(&t->part[k], matter[k]->formula, matter[k]->density)
		                 : ISO_OK;

		if (st) return st;
	}
	for (int i = 0; i <= CRYSTAL_TOP; i++) {
		float most = 0;

		for (int k = 0; k < CRYSTAL_PARTS; k++) most = fmaxf(most, t->part[k].mu[i][2]);
		t->path[i] = 1 / most;
	}
	return ISO_OK;
}

/* ---- boxes ---- */

static void fill_rings(struct crystal_world *w, const struct iso_modules *m)
{
	double half[2] = { .5 * modules_mm(m, 0), .5 * modules_mm(m, 1) };

	w->rings = m->rings;
	for (int32_t r = 0; r < m->rings; r++) {
		const struct modules_ring *q = m->ring + r;
		double inner = q->radius - m->cover - (double)CRYSTAL_SLACK;
		double outer = hypot(q->radius + m->crystal[2], half[0]) + (double)CRYSTAL_SLACK;

		w->ring[r] = (struct crystal_ring){
			.radius = (float)q->radius,
			.z = (float)q->z,
			.half = (float)half[1] + CRYSTAL_SLACK,
			.inner2 = (float)(inner > 0 ? inner * inner : 0),
			.outer2 = (float)(outer * outer),
			.first = (float)remainder(q->first_rad, 2 * M_PI),
			.per_rad = (float)(q->count / (2 * M_PI)),
			.count = q->count,
			.module = q->first,
		};
	}
}

static void fill_boxes(struct crystal_world *w, const struct iso_modules *m)
{
	w->depth = (float)m->crystal[2];
	w->cover = (float)m->cover;
	w->layers = m->layers;
	w->layers_per_mm = (float)(m->layers / m->crystal[2]);
	for (int a = 0; a < 2; a++) {
		w->half[a] = (float)(.5 * modules_mm(m, a));
		w->block_mm[a] = (float)modules_block_mm(m, a);
		w->block_per_mm[a] = (float)(1 / modules_block_mm(m, a));
		w->block_full[a] = (float)(m->crystals[a] * m->pitch[a]);
		w->per_mm[a] = (float)(1 / m->pitch[a]);
		w->fill[a] = (float)(.5 * m->crystal[a] / m->pitch[a]);
		w->cells[a] = m->crystals[a];
		w->blocks[a] = m->blocks[a];
	}
	w->stride_module = m->stride_module;
	w->stride_t = m->stride_t;
	w->stride_z = m->stride_z;
	w->stride_layer = m->stride_layer;
	w->mirrored = m->mirrored;
	w->along_t = modules_along(m, 0);
	w->cover_there = m->cover_of.formula[0] != 0;
	w->gap_there = m->gap.formula[0] != 0;
}

static struct crystal_axis *make_axes(struct iso_room *room, const struct iso_modules *m)
{
	struct crystal_axis *axis;

	if (!ISO_HOST(room, axis, m->count)) return NULL;
	for (int32_t k = 0; k < m->count; k++) {
		double a = modules_azimuth(m, k);

		axis[k] = (struct crystal_axis){ (float)cos(a), (float)sin(a) };
	}
	return axis;
}

int iso_crystal_make(struct crystal_world *w, struct iso_room *room, const struct crystal_setting *s)
{
	struct crystal_world made = { .seed = s->seed, .rayleigh = s->rayleigh || s->labels };
	struct crystal_axis *axis = make_axes(room, s->modules);
	struct crystal_table *table;
	int st;

	ISO_HOST(room, table, 1);
	if ((st = room->status)) return st;
	fill_compton(table->compton);
	fill_rings(&made, s->modules);
	fill_boxes(&made, s->modules);
	if ((st = fill_parts(table, s->modules)) || (st = iso_crystal_object(&made.object, table, room, s)))
		return st;
	made.table = ISO_MOVE(room, table, 1);
	made.axis = ISO_MOVE(room, axis, s->modules->count);
	if (!(st = room->status)) *w = made;
	return st;
}

/* ---- decays ---- */

int iso_crystal_source(struct crystal_source *source, struct iso_room *room, const struct iso_array *activity)
{
	const struct iso_grid *g = &activity->grid;
	struct crystal_source made = { .voxels = (uint32_t)activity->n,
		                       .nx = (uint32_t)g->n[0],
		                       .ny = (uint32_t)g->n[1] };
	struct iso_emission e = { 0 };
	int st = iso_emission_create(&e, activity, 0, 0, ISO_ALL_DECAYS);

	if (st) return st;
	for (int a = 0; a < 3; a++) {
		made.voxel[a] = (float)g->voxel[a];
		made.low[a] = (float)(g->centre[a] - .5 * (double)g->n[a] * g->voxel[a]);
	}
	if (iso_ctx_is_cuda(room->ctx)) {
		ISO_UPLOAD(room, made.slot, e.slot, (int64_t)e.n);
		iso_emission_free(&e);
	} else {
		made.slot = (const struct iso_emission_slot *)iso_room_take(room, e.slot);
		if (!made.slot) iso_emission_free(&e);
	}
	if (!(st = room->status)) *source = made;
	return st;
}

void iso_crystal_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct crystal_setting *s)
{
	bool cuda = iso_ctx_is_cuda(ctx);

	iso_plan_add(plan, "cross sections", 1, sizeof(struct crystal_table), cuda);
	if (s->activity)
		iso_plan_add(plan, "emission table", s->activity->n, sizeof(struct iso_emission_slot), cuda);
	if (s->mu) iso_plan_add(plan, "density of the object", s->mu->n, sizeof(uint16_t), cuda);
	if (s->labels) {
		iso_plan_add(plan, "labels of the object", s->labels->n, sizeof(uint16_t), cuda);
		iso_plan_add(plan, "cross sections of the object", s->n_labels, sizeof(struct crystal_matter),
		             cuda);
	}
}
