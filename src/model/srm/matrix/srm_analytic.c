/* SPDX-License-Identifier: BSD-3-Clause */
/* A system matrix without noise, for tests and first looks: solid angles.

   Each layer of crystals stands for a plane in its middle, H from y = 0. A line through the point
   (x, y, z) with the slopes a = dx/dy and b = dz/dy meets the upper plane at x + a (H - y) and the
   lower one at x - a (H + y), so two crystals leave an interval of a and one of b. An isotropic pair
   falls into such a rectangle with the probability

	1/(2 pi) sum over corners of +- atan(a b / sqrt(1 + a^2 + b^2)),

   and both layers stop their photon with exp(-mu s (a + b layers before it)) (1 - exp(-mu s d)),
   s = sqrt(1 + a^2 + b^2) at the middle of the rectangle, d the depth of a layer. A voxel is the
   mean over points that lie symmetrically in it. */
#include "srm_matrix.h"
#include "core/comm.h"
#include "core/progress.h"
#include "core/size.h"
#include "physics/material.h"

enum { ACROSS = 4, DEEP = 2 }; /* points of a voxel along x and z, and along y */

/* Slopes for which a line through a point of the cell meets crystals u and l of one axis. */
struct strip {
	int u, l;
	double low, high;
};

struct strips {
	struct strip *v; /* room: lines of 3 crystals for each u */
	int n;
};

/* A crystal's edges in mm, the point's cell being number 0 with its middle at 0. */
static struct strip slopes(const struct iso_panels *p, int axis, int u, int l, double x, double up,
                           double down)
{
	double half = .5 * p->crystal[axis], pitch = p->pitch[axis];

	return (struct strip){ u, l, fmax((u * pitch - half - x) / up, (x - l * pitch - half) / down),
		               fmin((u * pitch + half - x) / up, (x - l * pitch + half) / down) };
}

/* Opposite to u lie the crystals near x - (u pitch - x) down / up, as far as a pitch of u reaches there. */
static void list_strips(struct strips *out, const struct iso_panels *p, int axis, double x, double up,
                        double down)
{
	int reach = p->crystals[axis] - 1;
	double pitch = p->pitch[axis], wide = .5 * (down / up + 1);

	out->n = 0;
	for (int u = -reach; u <= reach; u++) {
		double l = (x - (u * pitch - x) * down / up) / pitch;
		int from = (int)fmax(ceil(l - wide), -reach), to = (int)fmin(floor(l + wide), reach);

		for (int k = from; k <= to; k++) {
			struct strip s = slopes(p, axis, u, k, x, up, down);

			if (s.high > s.low) out->v[out->n++] = s;
		}
	}
}

static double corner(double a, double b)
{
	return atan(a * b / sqrt(1 + a * a + b * b));
}

static double solid_angle(const struct strip *x, const struct strip *z)
{
	return corner(x->high, z->high) - corner(x->low, z->high) - corner(x->high, z->low) +
	       corner(x->low, z->low);
}

static double stopped(double mu, double depth, int layer)
{
	return exp(-mu * depth * layer) * (1 - exp(-mu * depth));
}

struct point {
	double x, y, z;
	int a, b;
};

static int add_point(struct srm_entries *out, const iso_srm *m, struct strips s[2], struct point q, double mu)
{
	const struct iso_panels *p = &m->panels;
	double depth = p->crystal[2] / p->layers, face = .5 * p->gap, share = 1. / (ACROSS * ACROSS * DEEP);
	double up = face + (q.a + .5) * depth - q.y, down = face + (q.b + .5) * depth + q.y;
	int st = ISO_OK;

	list_strips(&s[0], p, 0, q.x, up, down);
	list_strips(&s[1], p, 1, q.z, up, down);
	for (int i = 0; i < s[0].n; i++)
		for (int k = 0; k < s[1].n && !st; k++) {
			const struct strip *x = &s[0].v[i], *z = &s[1].v[k];
			double a = .5 * (x->low + x->high), b = .5 * (z->low + z->high);
			double along = mu * sqrt(1 + a * a + b * b);
			double w = share * solid_angle(x, z) / (2 * M_PI) * stopped(along, depth, q.a) *
			           stopped(along, depth, q.b);
			struct srm_lor e = { { x->u, z->u }, { x->l, z->l }, q.a, q.b };
			struct srm_entry entry = { .at = (uint32_t)srm_position(&m->shape, e),
				                   .w = (iso_real)w };

			if (w > 0 && srm_shifts(&m->shape, e) > 0) st = iso_srm_entries_push(out, entry);
		}
	return st;
}

static double place(int i, int n, double low, double size)
{
	return low + (i + .5) * size / n;
}

/* Equal positions follow each other after sorting. */
static int add_up(struct srm_entries *e)
{
	int64_t n = 0;
	int st = iso_srm_entries_sort(e);

	for (int64_t i = 0; i < e->n; i++) {
		if (n > 0 && e->v[n - 1].at == e->v[i].at)
			e->v[n - 1].w += e->v[i].w;
		else
			e->v[n++] = e->v[i];
	}
	e->n = n;
	return st;
}

static int fill_column(struct srm_entries *out, const iso_srm *m, struct strips s[2], struct srm_column c,
                       double mu)
{
	const struct iso_panels *p = &m->panels;
	double x = p->pitch[0] / p->per_pitch[0], z = p->pitch[1] / p->per_pitch[1];
	int layers = p->layers, st = ISO_OK;

	for (int i = 0; i < layers * layers * DEEP * ACROSS * ACROSS && !st; i++) {
		int pair = i / (DEEP * ACROSS * ACROSS), j = i / (ACROSS * ACROSS) % DEEP;
		struct point q = { place(i / ACROSS % ACROSS, ACROSS, c.p[0] * x - .5 * p->pitch[0], x),
			           place(j, DEEP, (c.y - .5 * p->planes) * p->plane, p->plane),
			           place(i % ACROSS, ACROSS, c.p[1] * z - .5 * p->pitch[1], z), pair / layers,
			           pair % layers };

		st = add_point(out, m, s, q, mu);
	}
	return st ? st : add_up(out);
}

/* Every crystal u has at most `wide` + 2 opposite ones. */
static int make_strips(struct strips s[2], const struct iso_panels *p)
{
	double most = (p->gap + p->crystal[2]) / (.5 * p->crystal[2] / p->layers) + 3;

	for (int i = 0; i < 2; i++) {
		double wide = fmin(most, 2. * p->crystals[i]);

		s[i].v = size_alloc((int64_t)(2 * p->crystals[i] * (wide + 1)), sizeof *s[i].v);
		if (!s[i].v) return ISO_ENOMEM;
	}
	return ISO_OK;
}

/* Of several ranks, each fills its share. */
static int fill_columns(iso_srm *m, iso_ctx *ctx, double mu)
{
	struct iso_rows mine = iso_share(ctx, m->n_column);
	struct iso_clock clock = iso_clock_brief(ctx, "analytic", "columns", mine.n, NULL);
	bool full = false;

#pragma omp parallel num_threads(ctx->threads) reduction(|| : full)
	{
		struct strips s[2] = { { 0 } };

		full = make_strips(s, &m->panels);
#pragma omp for schedule(dynamic)
		for (int64_t c = mine.first; c < mine.first + mine.n; c++) {
			if (!full && !iso_stopped(ctx))
				full = fill_column(&m->given[c], m, s, iso_srm_column(&m->shape, c), mu);
			iso_clock_add(&clock, 1);
		}
		free(s[0].v);
		free(s[1].v);
	}
	iso_clock_end(&clock);
	return full ? iso_fail_memory("srm: analytic columns", 0) : iso_ctx_poll(ctx);
}

/* Columns of rank `owner`, of n[c] elements, to all; `first` has room for the places of ranks. */
static int share_columns_of(iso_srm *m, iso_ctx *ctx, int owner, const int64_t *n, int64_t *first)
{
	struct iso_rows own = iso_share_of(m->n_column, owner, iso_ranks(ctx));
	int st = ISO_OK;

	for (int64_t c = own.first; c < own.first + own.n && !st; c++) {
		struct srm_entries *e = &m->given[c];

		if (n[c] == 0) continue;
		for (int r = 0; r <= iso_ranks(ctx); r++)
			first[r] = r > owner ? n[c] * (int64_t)sizeof *e->v : 0;
		if (owner != iso_rank(ctx)) {
			*e = (struct srm_entries){ size_alloc(n[c], sizeof *e->v), n[c], n[c] };
			if (!e->v) st = iso_fail_memory("srm: analytic columns", first[iso_ranks(ctx)]);
		}
		st = iso_comm_gather_host(ctx, st, e->v, first);
	}
	return st;
}

static int share_columns(iso_srm *m, iso_ctx *ctx, int st)
{
	struct iso_room room = { .what = "srm: analytic columns" };
	struct iso_rows mine = iso_share(ctx, m->n_column);
	int64_t *n, *first;

	if (iso_ranks(ctx) == 1) return st;
	ISO_HOST(&room, n, m->n_column);
	ISO_HOST(&room, first, iso_ranks(ctx) + 1);
	if (!st) st = room.status;
	for (int64_t c = mine.first; c < mine.first + mine.n && !st; c++) n[c] = m->given[c].n;
	st = iso_comm_sum(ctx, st, n, m->n_column);
	for (int r = 0; r < iso_ranks(ctx) && !st; r++) st = share_columns_of(m, ctx, r, n, first);
	iso_room_free(&room);
	return st;
}

static int attenuation(double *mu, const struct iso_panels *p)
{
	struct iso_material *material = malloc(sizeof *material);
	float at_511[3];
	int st = material ? iso_material_make(material, p->formula, p->density)
	                  : iso_fail_memory("srm: material", sizeof *material);

	if (!st) {
		material_mu(at_511, material, 511);
		*mu = (double)at_511[2];
	}
	free(material);
	return st;
}

int iso_srm_analytic(iso_srm **out, iso_ctx *ctx, const struct iso_panels *p)
{
	if (!out || !ctx || !p) return iso_fail_null(__func__);
	struct iso_srm_options o = { .size = sizeof o };
	iso_srm *m = NULL;
	double mu = 0;
	int st;

	if ((st = iso_srm_make(&m, p, &o, SRM_ANALYTIC))) return st;
	if (!(st = attenuation(&mu, p))) {
		st = ISO_HOST(&m->room, m->given, m->n_column) ? fill_columns(m, ctx, mu) : m->room.status;
		st = share_columns(m, ctx, st);
	}
	return iso_srm_hand_out(out, m, st);
}
