/* SPDX-License-Identifier: BSD-3-Clause */
/* Model barrel: from what a caller asks for to the operator; its loops are in barrel_cpu.c and barrel.cu. */
#include "barrel_table.h"
#include "base/constants.h"
#include "core/comm.h"
#include "core/sized.h"

#define CUT 3 /* default of sigma_cut */

struct iso_rows iso_barrel_rows(const iso_op *op, int sub)
{
	return order_rows(&((const struct barrel_model *)op->data)->order, sub);
}

int64_t iso_barrel_file_row(const iso_op *op, int64_t row)
{
	return order_event(&((const struct barrel_model *)op->data)->order, row);
}

/* ---- what is asked for ---- */

int iso_barrel_model_check(const struct iso_barrel_model *m)
{
	int st;

	if (!m->barrel || !m->barrel->strip || m->barrel->n < 2)
		return iso_fail(ISO_EARG, "barrel: there are no strips");
	if ((st = iso_grid_check(&m->grid))) return st;
	if (fabs(m->grid.voxel[0] - m->grid.voxel[1]) > 1e-6 * m->grid.voxel[0])
		return iso_fail(ISO_EARG, "barrel: voxels are %g x %g mm across, must be square",
		                m->grid.voxel[0], m->grid.voxel[1]);
	for (int a = 0; a < 3; a++)
		if (m->grid.n[a] > INT32_MAX / 4)
			return iso_fail(ISO_EARG, "barrel: %" PRId64 " voxels along an axis", m->grid.n[a]);
	if (m->kernel != ISO_BARREL_MOMENT && m->kernel != ISO_BARREL_DEPTH && m->kernel != ISO_BARREL_THIN)
		return iso_fail(ISO_EARG, "barrel: there is no kernel %d", (int)m->kernel);
	if (m->sigma_cut != 0 && !(m->sigma_cut >= 1 && m->sigma_cut <= 6))
		return iso_fail(ISO_EARG, "barrel: sigma_cut is %g, must be 1 to 6", m->sigma_cut);
	return ISO_OK;
}

static int check_subsets(const struct iso_barrel_model *m, int64_t n)
{
	if (n < 1) return iso_fail(ISO_EARG, "barrel: there are no events");
	if (m->n_sub < 1 || m->n_sub > n)
		return iso_fail(ISO_EARG,
		                "barrel: %d subsets of %" PRId64 " events; must be 1 to the number of events",
		                m->n_sub, n);
	if (m->rule != ISO_INTERLEAVED && m->rule != ISO_BLOCKS && m->rule != ISO_RANDOM)
		return iso_fail(ISO_EARG, "barrel: there is no subset rule %d", (int)m->rule);
	return ISO_OK;
}

void iso_barrel_params(struct barrel_params *p, const struct iso_barrel_model *m)
{
	const struct iso_barrel *b = m->barrel;
	const struct iso_grid *g = &m->grid;
	double cut = m->sigma_cut > 0 ? m->sigma_cut : CUT, sigma_z, sigma_dl;

	iso_barrel_sigma(&sigma_z, &sigma_dl, b);
	*p = (struct barrel_params){ .mu = b->mu,
		                     .end_sigma = b->end_sigma_ps,
		                     .light_speed = b->light_speed,
		                     .attenuation = b->light_attenuation,
		                     .sigma_z = sigma_z,
		                     .sigma_dl = sigma_dl,
		                     .kernel = m->kernel,
		                     .edge = !m->no_edge,
		                     .cut2 = (iso_real)(cut * cut),
		                     .n = { (int)g->n[0], (int)g->n[1], (int)g->n[2] },
		                     .pixel = (iso_real)g->voxel[0],
		                     .plane = (iso_real)g->voxel[2] };
	for (int a = 0; a < 3; a++)
		p->first[a] = (iso_real)(g->centre[a] - .5 * (double)(g->n[a] - 1) * g->voxel[a]);
}

int iso_barrel_places(struct barrel_place **to, struct iso_room *room, const struct iso_barrel *b)
{
	if (!ISO_HOST(room, *to, b->n)) return room->status;
	for (int64_t i = 0; i < b->n; i++) (*to)[i] = barrel_place(b->strip + i);
	return ISO_OK;
}

/* ---- images with z fastest ---- */

void iso_barrel_turn(iso_real *to, const iso_real *from, const struct barrel_params *p, int threads)
{
	const int64_t plane = (int64_t)p->n[0] * p->n[1];

#pragma omp parallel for num_threads(threads)
	for (int64_t i = 0; i < plane; i++)
		for (int64_t z = 0; z < p->n[2]; z++) to[i * p->n[2] + z] = from[z * plane + i];
}

void iso_barrel_turn_back(iso_real *to, const iso_real *from, const struct barrel_params *p, int threads)
{
	const int64_t plane = (int64_t)p->n[0] * p->n[1];

#pragma omp parallel for num_threads(threads)
	for (int64_t z = 0; z < p->n[2]; z++)
		for (int64_t i = 0; i < plane; i++) to[z * plane + i] = from[i * p->n[2] + z];
}

/* ---- the operator ---- */

/* Columns that the tube of any pair visits at most. */
static int64_t most_columns(const struct barrel_params *p, const struct iso_barrel *b)
{
	double widest = 0, pixel = (double)p->pixel;

	for (int64_t i = 0; i < b->n; i++)
		widest = fmax(widest, hypot(b->strip[i].width, b->strip[i].depth) / 2);
	double across = widest + pixel * .29 * sqrt(2); /* as in barrel_tube */
	int64_t wide = (int64_t)(2 * across * sqrt(2) / pixel) + 2;

	return wide * (p->n[0] > p->n[1] ? p->n[0] : p->n[1]);
}

/* What strips between those of each event leave of it; NULL where that is all of it. */
static void take_shadows(struct barrel_model *m, struct iso_room *room, const struct iso_barrel *b)
{
	if (!b->shadow || !ISO_HOST(room, m->factor, m->n)) return;
#pragma omp parallel for num_threads(room->ctx->threads) schedule(dynamic, ORDER_CHUNK)
	for (int64_t j = 0; j < m->n; j++) {
		struct barrel_shade shade[BARREL_SHADES];
		const struct iso_barrel_event *e = m->e + j;

		m->factor[j] = 1;
		if (iso_stopped(room->ctx) || e->a < 0) continue;
		const struct iso_barrel_strip *s = b->strip + e->a, *t = b->strip + e->b;
		int n = iso_barrel_shades(shade, BARREL_SHADES, b, e->a, e->b);
		double tilt = ((double)e->z_a - (double)e->z_b) / hypot(s->x - t->x, s->y - t->y);

		m->factor[j] =
			(float)iso_barrel_shadow(b, shade, n, ((double)e->z_a + (double)e->z_b) / 2, tilt);
	}
}

static bool usable(const struct iso_barrel_event *e, int64_t strips)
{
	return e->a >= 0 && e->a < strips && e->b >= 0 && e->b < strips && e->a != e->b && isfinite(e->z_a) &&
	       isfinite(e->z_b) && isfinite(e->dl);
}

static int make(struct barrel_model **out, struct iso_room *room, const struct iso_barrel_model *p,
                const struct iso_barrel_events *e)
{
	const struct iso_barrel *b = p->barrel;
	struct barrel_place *place;
	struct barrel_model *m;
	int st;

	if (!ISO_HOST(room, m, 1) || !ISO_HOST(room, m->e, e->n)) return room->status;
	if ((st = iso_barrel_places(&place, room, b))) return st;
	iso_barrel_params(&m->p, p);
	m->p.place = place;
	m->n_strips = b->n;
	m->n = e->n;
	m->order = (struct iso_order){ .n = e->n, .n_sub = p->n_sub, .rule = p->rule, .seed = p->seed };
	m->most_columns = most_columns(&m->p, b);
#pragma omp parallel for num_threads(room->ctx->threads)
	for (int64_t i = 0; i < e->n; i++) {
		m->e[i] = e->v[order_event(&m->order, i)];
		if (!usable(m->e + i, b->n)) m->e[i].a = -1;
	}
	take_shadows(m, room, b);
	*out = m;
	return room->status ? room->status : iso_ctx_poll(room->ctx);
}

int iso_barrel_create(iso_op **op, iso_ctx *ctx, const struct iso_barrel_model *p,
                      const struct iso_barrel_events *e)
{
	if (!op || !ctx || !p || !e) return iso_fail_null(__func__);
	struct iso_room room = { .ctx = ctx, .what = "barrel events" };
	struct iso_barrel_model full = { 0 };
	struct barrel_model *m = NULL;
	iso_op *made = NULL;
	int st = iso_sized_take(&full, "iso_barrel_model", sizeof full, p);

	if (!st) st = iso_barrel_model_check(&full);
	if (!st) st = check_subsets(&full, e->n);
	if (!st) st = make(&m, &room, &full, e);
	if (st)
		iso_room_free(&room);
	else
		st = iso_op_create_in(&made, ctx, &iso_barrel_cpu_fn, iso_grid_voxels(&full.grid), e->n,
		                      full.n_sub, &room, m);
	return iso_op_agree(op, made, ctx, st);
}

/* On CUDA: the order of events by pairs of strips, and tables of these, which take no more than half of what is left. */
static void plan_tables(struct iso_plan *plan, const iso_ctx *ctx, const struct barrel_model *m,
                        const struct iso_barrel_model *p)
{
	const int64_t strips = p->barrel->n, groups = strips * (strips - 1) / 2 * BARREL_INTERVALS;
	const int64_t each = m->most_columns * BARREL_NODES * BARREL_VALUES * (int64_t)sizeof(float);
	int64_t left = 0, bytes = (m->n / 2 < groups ? m->n / 2 : groups) * each;

	iso_plan_add(plan, "events in order of pairs", m->n,
	             2 * (int64_t)sizeof(int32_t) * (p->n_sub > 1 ? 2 : 1), true);
	if (!iso_ctx_device_left(ctx, &left) && bytes > left / 2) bytes = left / 2;
	iso_plan_add(plan, "tables of pairs, at most", bytes, 1, true);
}

void iso_barrel_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_barrel_model *p, int64_t n)
{
	if (!plan || !ctx || !p) return;
	struct iso_barrel_model full;
	struct barrel_model m = { .n = n };
	bool cuda = iso_ctx_is_cuda(ctx);

	if (iso_sized_take(&full, "iso_barrel_model", sizeof full, p) || iso_barrel_model_check(&full))
		return; /* iso_barrel_create will say what is wrong */
	int64_t voxels = iso_grid_voxels(&full.grid);

	iso_barrel_params(&m.p, &full);
	m.most_columns = most_columns(&m.p, full.barrel);
	iso_plan_add(plan, "events, in order of subsets", n,
	             (int64_t)(sizeof(struct iso_barrel_event) + (full.barrel->shadow ? sizeof(float) : 0)),
	             cuda);
	if (!cuda) {
		iso_barrel_cpu_plan(plan, ctx, &m);
		return;
	}
	iso_plan_add(plan, "fixed-point image, and one with z fastest", voxels,
	             sizeof(int64_t) + sizeof(iso_real), true);
	plan_tables(plan, ctx, &m, &full);
}

/* ---- without an operator ---- */

int iso_barrel_direct(iso_real *image, int64_t *outside, const struct iso_barrel_model *p,
                      const struct iso_barrel_events *e)
{
	if (!image || !outside || !p || !e) return iso_fail_null(__func__);
	struct iso_barrel_model full = { 0 };
	struct iso_room room = { .what = "strips" };
	struct barrel_place *place;
	struct barrel_params q;
	int st = iso_sized_take(&full, "iso_barrel_model", sizeof full, p);

	if (st || (st = iso_barrel_model_check(&full)) ||
	    (st = iso_barrel_places(&place, &room, full.barrel)))
		return st;
	iso_barrel_params(&q, &full);
	q.place = place;
	memset(image, 0, (size_t)iso_grid_voxels(&full.grid) * sizeof *image);
	*outside = 0;
	for (int64_t j = 0; j < e->n; j++) {
		struct barrel_line l;

		if (!usable(e->v + j, full.barrel->n)) continue;
		barrel_line(&l, &q, e->v + j, 1);
		const iso_real at[3] = { l.pair.middle[0] + l.y * l.pair.e[0],
			                 l.pair.middle[1] + l.y * l.pair.e[1], l.z };
		int64_t i[3];
		bool in = true;

		for (int a = 0; a < 3; a++) {
			iso_real v = (at[a] - q.first[a]) / (a < 2 ? q.pixel : q.plane) + (iso_real).5;

			in = in && v >= 0 && v < (iso_real)q.n[a];
			i[a] = in ? (int64_t)v : 0;
		}
		if (in)
			image[(i[2] * q.n[1] + i[1]) * q.n[0] + i[0]] += 1;
		else
			++*outside;
	}
	iso_room_free(&room);
	return ISO_OK;
}
