/* SPDX-License-Identifier: BSD-3-Clause */
/* From the caller's image to the first update: one OSEM pass, kappa from the data, parameters and strength of the
   penalty. */
#include "state.h"

#include "core/op.h"
#include "core/progress.h"

#include <math.h>

#define SEEN .1    /* of the largest sensitivity: voxels that the strength is a mean over */
#define OFF 1e-3   /* of the start's largest voxel: offset of u, and epsilon */
#define STEEP .3   /* of the start's mean: 1/s and delta */
#define FLAT .05   /* of the start's mean: eta */
#define BESIDE .25 /* of the largest voxel: how far beside x the ratios for kappa are taken */
#define MOST 100   /* times the start's largest voxel: bound of bsrem */

/* ---- OSEM ---- */

/* gathered = the sensitivity of the subsets b, b + groups, ...; *scale what it is times. */
static int group_sens(iso_map_state *m, const iso_real **sens, double *scale, int group, int groups)
{
	struct iso_loop *l = &m->l;
	int members = 0, st;

	for (int b = group; b < m->subsets; b += groups) members++;
	*sens = m->sens;
	*scale = (double)members / m->subsets;
	if (!m->seen_by) return ISO_OK;
	*sens = m->u;
	*scale = 1;
	if ((st = l->v->fill(l->ctx, l->n, m->u, 0))) return st;
	for (int b = group; b < m->subsets; b += groups)
		if ((st = l->v->axpy(l->ctx, l->n, m->u, 1, m->seen_by + b * l->n))) return st;
	return ISO_OK;
}

/* One pass of OSEM, x <- x / S_g A_g*(y / (A_g x + a)), over half as many subsets g as there are: row j of subset
   j mod B is in group j mod B/2. */
static int osem(iso_map_state *m)
{
	struct iso_loop *l = &m->l;
	int groups = m->subsets < 4 ? 1 : m->subsets / 2, st;
	struct iso_clock clock = iso_clock_start(l->ctx, "start", 0, groups);

	for (int g = 0; g < groups; g++) {
		const iso_real *sens;
		double scale;
		int64_t used = 0;

		if ((st = group_sens(m, &sens, &scale, g, groups))) return st;
		if ((st = l->v->fill(l->ctx, l->n, m->z, 0))) return st;
		for (int b = g; b < m->subsets; b += groups) {
			struct iso_em_stat s = { 0 };

			if ((st = iso_op_em_step(m->next, &s, l->op, b, l->x, &m->p.data))) return st;
			if ((st = l->v->axpy(l->ctx, l->n, m->z, 1, m->next))) return st;
			used += s.used;
		}
		if (used > 0 && (st = l->v->update(l->ctx, l->n, l->x, m->z, sens, scale))) return st;
		iso_clock_step(&clock, g + 1, NULL);
	}
	m->tally.used += m->subsets;
	return l->v->fill(l->ctx, l->n, m->z, 0);
}

/* ---- kappa ---- */

/* By the ratios at x and beside it, so that only the operator need know the data of a row. m->next is written. */
int map_curvature(iso_map_state *m, iso_real *k2, const iso_real *x)
{
	struct iso_loop *l = &m->l;
	struct iso_room room = iso_room_of(l->ctx, "kappa");
	struct iso_ratio_stat s;
	iso_real *here, *there;
	double t;
	int st;

	ISO_DEVICE(&room, here, l->n_data);
	ISO_DEVICE(&room, there, l->n_data);
	if ((st = room.status)) goto done;
	if ((st = m->v->largest(l->ctx, l->n, &t, x, NULL, NULL))) goto done;
	t *= BESIDE;
	if ((st = m->v->shift(l->ctx, l->n, m->next, x, t))) goto done;
	if ((st = iso_op_ratio_step(k2, here, &s, l->op, ISO_ALL, false, x, m->next, &m->p.data))) goto done;
	if ((st = iso_op_ratio_step(k2, there, &s, l->op, ISO_ALL, false, m->next, m->next, &m->p.data)))
		goto done;
	if ((st = m->v->row_curvature(l->ctx, l->n_data, here, there, t))) goto done;
	st = iso_adjoint(k2, l->op, ISO_ALL, here);
done:
	iso_room_free(&room);
	if (!st) m->tally.used += m->subsets;
	return st;
}

static int find_kappa(iso_map_state *m)
{
	struct iso_loop *l = &m->l;
	int st = map_curvature(m, m->kappa, l->x);

	return st ? st : m->v->root(l->ctx, l->n, m->kappa, m->sens);
}

/* ---- parameters and strength ---- */

/* What the start image tells: its largest voxel, and its mean over those that are well seen. */
struct facts {
	double largest, mean;
	const iso_real *sens; /* on the host */
	double least;         /* sensitivity of a voxel that is well seen */
};

static int look_at_start(iso_map_state *m, struct facts *f, struct iso_room *room)
{
	struct iso_loop *l = &m->l;
	double largest = 0, sum = 0;
	int64_t seen = 0;
	iso_real *sens;
	int st;

	if (!ISO_HOST(room, sens, l->n)) return room->status;
	if ((st = l->v->download(l->ctx, sens, m->sens, l->n * (int64_t)sizeof *sens))) return st;
	if ((st = l->v->download(l->ctx, l->host, l->x, l->n * (int64_t)sizeof *sens))) return st;
	*f = (struct facts){ .sens = sens };
	for (int64_t i = 0; i < l->n; i++) largest = sens[i] > largest ? sens[i] : largest;
	f->least = SEEN * largest;
	for (int64_t i = 0; i < l->n; i++) {
		f->largest = l->host[i] > f->largest ? l->host[i] : f->largest;
		if (!(sens[i] > f->least)) continue;
		sum += l->host[i];
		seen++;
	}
	f->mean = seen > 0 ? sum / (double)seen : 0;
	if (f->largest > 0 && isfinite(f->largest) && f->mean > 0) return ISO_OK;
	return iso_fail(ISO_EINPUT,
	                "%s: the start image is %g at most and %g on average where the sensitivity is "
	                "largest, must be above 0",
	                m->method->name, f->largest, f->mean);
}

/* A parameter that was not given, which is 0, gets its default; one without unit that may be 0 was given. */
static void set_parameters(iso_map_state *m, const struct facts *f)
{
	const struct iso_prior_parameter *q;
	enum iso_prior_kind kind = m->spec.kind;

	m->num.off = OFF * f->largest;
	m->num.most = MOST * f->largest;
	for (int i = 0; (q = iso_prior_parameter(kind, i)); i++) {
		const double given = m->spec.parameter[i];
		const bool zero = q->rule == ISO_PRIOR_NUMBER && q->least <= 0 && !q->above;

		m->num.parameter[i] =
			given > 0 || zero ? given : iso_prior_default(kind, i, f->largest, f->mean);
	}
}

/* Mean over the voxels that are well seen of C(ubar) ubar / S: what beta is times in the relative strength. */
static int find_strength(iso_map_state *m, const struct facts *f)
{
	struct iso_loop *l = &m->l;
	double sum = 0;
	int64_t seen = 0;
	int st;

	if ((st = l->v->fill(l->ctx, l->n, m->next, f->mean))) return st;
	if ((st = map_penalty(m, NULL, NULL, m->z, NULL, m->next))) return st;
	if ((st = l->v->download(l->ctx, l->host, m->z, l->n * (int64_t)sizeof *l->host))) return st;
	for (int64_t i = 0; i < l->n; i++) {
		if (!(f->sens[i] > f->least)) continue;
		sum += (double)l->host[i] * f->mean / f->sens[i];
		seen++;
	}
	sum /= (double)seen;
	if (m->p.relative > 0 && !(sum > 0 && isfinite(sum)))
		return iso_fail(
			ISO_EINPUT,
			"%s: the penalty's curvature over the data's is %g: it has no relative strength",
			m->method->name, sum);
	m->num.beta = m->p.relative > 0 ? m->p.relative / sum : m->p.beta;
	m->num.relative = m->num.beta * sum;
	return l->v->fill(l->ctx, l->n, m->z, 0);
}

/* Voxels that nothing sees are nobody's neighbours, unless they are to be kept. */
int map_make_prior(iso_map_state *m)
{
	struct iso_loop *l = &m->l;
	struct iso_prior_spec s = m->spec;
	struct iso_room room = iso_room_of(l->ctx, "kappa");
	int64_t bytes = l->n * (int64_t)sizeof *l->host;
	bool drop = m->unseen > 0 && !m->p.keep_unseen;
	iso_real *kappa;
	int st = ISO_OK;

	if (!m->p.prior) return ISO_OK;
	memcpy(s.parameter, m->num.parameter, sizeof s.parameter);
	s.place = ISO_HOST;
	if (m->kappa || drop) {
		if (!ISO_HOST(&room, kappa, l->n)) return room.status;
		st = l->v->download(l->ctx, l->host, m->sens, bytes);
		if (!st && m->kappa) st = l->v->download(l->ctx, kappa, m->kappa, bytes);
		for (int64_t i = 0; !st && i < l->n; i++) {
			if (!m->kappa) kappa[i] = s.kappa ? s.kappa[i] : 1;
			if (drop && !(l->host[i] > 0)) kappa[i] = 0;
		}
		s.kappa = kappa;
	}
	if (!st) st = iso_prior_create(&m->prior, l->ctx, &s);
	iso_room_free(&room);
	return st;
}

int map_begin(iso_map_state *m)
{
	struct iso_loop *l = &m->l;
	struct iso_room room = iso_room_of(l->ctx, m->method->name);
	struct facts f = { 0 };
	int st = m->p.as_given ? ISO_OK : osem(m);

	if (!st && m->kappa) st = find_kappa(m);
	if (!st && !(st = look_at_start(m, &f, &room))) {
		set_parameters(m, &f);
		st = map_make_prior(m);
	}
	if (!st && m->prior) st = find_strength(m, &f);
	iso_room_free(&room);
	if (!st) st = l->v->copy(l->ctx, l->n, m->anchor, l->x);
	return st || !m->method->begin ? st : m->method->begin(m);
}
