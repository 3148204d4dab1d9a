/* SPDX-License-Identifier: BSD-3-Clause */
/* Basis curves of the models: values at any time, and the maps that their coefficients make. */
#include "basis.h"

#include "core/size.h"
#include "core/sized.h"
#include "core/status.h"

#include <math.h>
#include <string.h>

/* ---- made ---- */

static int check_rates(const struct iso_basis_spec *s)
{
	if (!(s->from > 0 && s->to > s->from && isfinite(s->to)) || s->rates < 2)
		return iso_fail(ISO_EARG,
		                "basis: %d rates from %g to %g 1/s, must be at least 2, rising, above 0",
		                s->rates, s->from, s->to);
	if (s->model == ISO_KINETIC_SRTM2 && !(s->k2p > 0 && isfinite(s->k2p)))
		return iso_fail(ISO_EARG, "basis: k2p is %g 1/s, must be above 0", s->k2p);
	return ISO_OK;
}

static int check_knots(const struct iso_basis_spec *s)
{
	bool rise = s->knots >= 2 && s->knots <= ISO_BASES_MOST - 2;

	for (int i = 1; i < s->knots && rise; i++) rise = s->knot[i] > s->knot[i - 1] && isfinite(s->knot[i]);
	if (rise && isfinite(s->knot[0])) return ISO_OK;
	return iso_fail(ISO_EARG, "basis: %d knots of B-splines, must be 2 to %d, rising", s->knots,
	                ISO_BASES_MOST - 2);
}

static int count_of(const struct iso_basis_spec *s)
{
	switch (s->model) {
	case ISO_KINETIC_PATLAK:
		return 2;
	case ISO_KINETIC_SPECTRAL:
		return s->blood + s->zero + s->rates;
	case ISO_KINETIC_SRTM2:
		return s->rates;
	case ISO_KINETIC_BSPLINE:
		return s->knots + 2;
	case ISO_KINETIC_BASIS:
		return s->columns;
	}
	return 0;
}

static int check(const struct iso_basis_spec *s)
{
	const bool rates = s->model == ISO_KINETIC_SPECTRAL || s->model == ISO_KINETIC_SRTM2;
	const bool input = rates || s->model == ISO_KINETIC_PATLAK;
	int st = rates ? check_rates(s) : s->model == ISO_KINETIC_BSPLINE ? check_knots(s) : ISO_OK;

	if (st) return st;
	if (s->model < 0 || s->model > ISO_KINETIC_BASIS)
		return iso_fail(ISO_EARG, "basis: there is no model %d", (int)s->model);
	if (input && !s->input)
		return iso_fail(ISO_EARG, "basis: there is no %s",
		                s->model == ISO_KINETIC_SRTM2 ? "curve of a reference tissue"
		                                              : "input curve");
	if (s->model == ISO_KINETIC_SPECTRAL && s->blood && !s->whole)
		return iso_fail(ISO_EARG, "basis: 'blood' needs a curve of whole blood");
	if (s->model == ISO_KINETIC_BASIS && (s->columns < 1 || !s->column))
		return iso_fail(ISO_EARG, "basis: there are no curves");
	if (count_of(s) > ISO_BASES_MOST)
		return iso_fail(ISO_EARG, "basis: %d curves, must be at most %d", count_of(s),
		                ISO_BASES_MOST);
	return ISO_OK;
}

/* beta of each curve that is a convolution, in the order of the curves. */
static void set_rates(iso_basis *b)
{
	const struct iso_basis_spec *s = &b->is;
	int at = 0;

	if (s->model == ISO_KINETIC_SPECTRAL && s->zero) b->beta[at++] = 0;
	for (int k = 0; k < s->rates; k++)
		b->beta[at++] = s->from * pow(s->to / s->from, (double)k / (s->rates - 1));
	b->rates = at;
}

/* The state of each convolution at each sample of the input. */
static int convolve(iso_basis *b)
{
	const iso_curve *c = b->input;

	if (!(b->state = size_alloc(b->rates * c->n, sizeof *b->state)))
		return iso_fail_memory("basis", b->rates * c->n * (int64_t)sizeof *b->state);
	for (int k = 0; k < b->rates; k++) {
		double *y = b->state + k * c->n;

		for (int64_t i = 1; i < c->n; i++)
			y[i] = curve_piece(y[i - 1], c->y[i - 1], c->y[i], c->t[i] - c->t[i - 1], b->beta[k]);
	}
	return ISO_OK;
}

static int take_curves(iso_basis *b, const struct iso_basis_spec *s)
{
	int st = s->input ? curve_copy(&b->input, s->input) : ISO_OK;

	if (!st && s->whole) st = curve_copy(&b->whole, s->whole);
	for (int k = 0; k < s->columns && !st && s->model == ISO_KINETIC_BASIS; k++)
		st = s->column[k] ? curve_copy(&b->column[k], s->column[k]) : iso_fail_null("basis");
	return st;
}

int iso_basis_create(iso_basis **out, const struct iso_basis_spec *given)
{
	struct iso_basis_spec s;
	iso_basis *b;

	if (!out) return iso_fail_null(__func__);
	int st = iso_sized_take(&s, "iso_basis_spec", sizeof s, given);

	if (st || (st = check(&s))) return st;
	if (!(b = size_alloc(1, sizeof *b))) return iso_fail_memory("basis", sizeof *b);
	b->is = s;
	b->k = count_of(&s);
	if (!(st = take_curves(b, &s)) && (s.model == ISO_KINETIC_SPECTRAL || s.model == ISO_KINETIC_SRTM2)) {
		set_rates(b);
		st = convolve(b);
	}
	if (st)
		iso_basis_free(b);
	else
		*out = b;
	return st;
}

int iso_basis_count(const iso_basis *b)
{
	return b ? b->k : 0;
}

void iso_basis_free(iso_basis *b)
{
	if (!b) return;
	iso_curve_free(b->input);
	iso_curve_free(b->whole);
	for (int k = 0; k < ISO_BASES_MOST; k++) iso_curve_free(b->column[k]);
	free(b->state);
	free(b);
}

/* ---- values ---- */

/* Int C(s) exp(-beta (t - s)) ds from the curve's first sample on. */
static double convolved(const iso_basis *b, int k, double t)
{
	const iso_curve *c = b->input;
	int64_t i = curve_place(c, t);

	if (i < 0) return 0;
	return curve_piece(b->state[k * c->n + i], c->y[i], iso_curve_at(c, t), t - c->t[i], b->beta[k]);
}

static void at_spectral(double *v, const iso_basis *b, double t)
{
	int first = b->is.blood;

	if (first) v[0] = iso_curve_at(b->whole, t);
	for (int k = 0; k < b->rates; k++) v[first + k] = convolved(b, k, t);
}

static void at_srtm2(double *v, const iso_basis *b, double t)
{
	double c = iso_curve_at(b->input, t);

	for (int k = 0; k < b->rates; k++) v[k] = c + (b->is.k2p - b->beta[k]) * convolved(b, k, t);
}

/* Knot i of the vector in which the ends stand four times. */
static double knot(const struct iso_basis_spec *s, int i)
{
	i = i < 3 ? 0 : i - 3;
	return s->knot[i < s->knots ? i : s->knots - 1];
}

/* de Boor's triangle on the one interval that holds t; 0 outside of the knots. */
static void at_bspline(double *v, const iso_basis *b, double t)
{
	const struct iso_basis_spec *s = &b->is;
	double n[4] = { 1 };
	int i = 0;

	memset(v, 0, (size_t)b->k * sizeof *v);
	if (t < s->knot[0] || t > s->knot[s->knots - 1]) return;
	while (i < s->knots - 2 && t >= s->knot[i + 1]) i++;
	i += 3;
	for (int p = 1; p <= 3; p++) {
		double saved = 0;

		for (int r = 0; r < p; r++) {
			double right = knot(s, i + r + 1), left = knot(s, i + 1 - p + r);
			double part = n[r] / (right - left);

			n[r] = saved + (right - t) * part;
			saved = (t - left) * part;
		}
		n[p] = saved;
	}
	for (int r = 0; r <= 3; r++) v[i - 3 + r] = n[r];
}

void basis_values(double *v, const iso_basis *b, double t)
{
	switch (b->is.model) {
	case ISO_KINETIC_PATLAK:
		v[0] = iso_curve_integral(b->input, t);
		v[1] = iso_curve_at(b->input, t);
		break;
	case ISO_KINETIC_SPECTRAL:
		at_spectral(v, b, t);
		break;
	case ISO_KINETIC_SRTM2:
		at_srtm2(v, b, t);
		break;
	case ISO_KINETIC_BSPLINE:
		at_bspline(v, b, t);
		break;
	case ISO_KINETIC_BASIS:
		for (int k = 0; k < b->k; k++) v[k] = iso_curve_at(b->column[k], t);
	}
}

int iso_basis_at(double *value, const iso_basis *b, int64_t n, const double *t)
{
	double v[ISO_BASES_MOST];

	if (!value || !b || !t) return iso_fail_null(__func__);
	for (int64_t i = 0; i < n; i++) {
		basis_values(v, b, t[i]);
		for (int k = 0; k < b->k; k++) value[k * n + i] = v[k];
	}
	return ISO_OK;
}

/* ---- maps ---- */

#define MINUTE 60. /* rates in images are per minute */

typedef void (*map_fn)(struct iso_basis_map *m, const iso_basis *b);

static void ki_of_patlak(struct iso_basis_map *m, const iso_basis *b)
{
	(void)b;
	m->factor[0] = MINUTE;
}

static void v0_of_patlak(struct iso_basis_map *m, const iso_basis *b)
{
	(void)b;
	m->factor[1] = 1;
}

static void sum_of_rates(struct iso_basis_map *m, const iso_basis *b, double scale)
{
	for (int k = 0; k < b->rates; k++) m->factor[b->is.blood + k] = scale;
}

static void k1_of_spectral(struct iso_basis_map *m, const iso_basis *b)
{
	sum_of_rates(m, b, MINUTE);
}

static void over_rates(struct iso_basis_map *m, const iso_basis *b, double scale)
{
	for (int k = 0; k < b->rates; k++)
		m->factor[b->is.blood + k] = b->beta[k] > 0 ? scale / b->beta[k] : 0;
}

static void vt_of_spectral(struct iso_basis_map *m, const iso_basis *b)
{
	over_rates(m, b, 1);
}

static void ki_of_spectral(struct iso_basis_map *m, const iso_basis *b)
{
	if (b->is.zero) m->factor[b->is.blood] = MINUTE;
}

static void vb_of_spectral(struct iso_basis_map *m, const iso_basis *b)
{
	if (b->is.blood) m->factor[0] = 1;
}

static void r1_of_srtm2(struct iso_basis_map *m, const iso_basis *b)
{
	sum_of_rates(m, b, 1);
}

static void dvr_of_srtm2(struct iso_basis_map *m, const iso_basis *b)
{
	over_rates(m, b, b->is.k2p);
}

static void bp_of_srtm2(struct iso_basis_map *m, const iso_basis *b)
{
	over_rates(m, b, b->is.k2p);
	m->add = -1;
}

static const struct map {
	enum iso_kinetic_model model;
	const char *name, *unit;
	map_fn fill;
	bool of_zero, of_blood; /* only with that basis curve */
} maps[] = {
	{ ISO_KINETIC_PATLAK, "Ki", "mL/min/mL", ki_of_patlak, false, false },
	{ ISO_KINETIC_PATLAK, "V0", "mL/mL", v0_of_patlak, false, false },
	{ ISO_KINETIC_SPECTRAL, "K1", "mL/min/mL", k1_of_spectral, false, false },
	{ ISO_KINETIC_SPECTRAL, "VT", "mL/mL", vt_of_spectral, false, false },
	{ ISO_KINETIC_SPECTRAL, "Ki", "mL/min/mL", ki_of_spectral, true, false },
	{ ISO_KINETIC_SPECTRAL, "Vb", "mL/mL", vb_of_spectral, false, true },
	{ ISO_KINETIC_SRTM2, "R1", "1", r1_of_srtm2, false, false },
	{ ISO_KINETIC_SRTM2, "DVR", "1", dvr_of_srtm2, false, false },
	{ ISO_KINETIC_SRTM2, "BP", "1", bp_of_srtm2, false, false },
};

/* Row of map i of the model, NULL: it has fewer. */
static const struct map *find_map(const struct iso_basis_spec *s, int i)
{
	for (size_t r = 0; r < sizeof maps / sizeof *maps; r++)
		if (maps[r].model == s->model && (!maps[r].of_zero || s->zero) &&
		    (!maps[r].of_blood || s->blood) && i-- == 0)
			return maps + r;
	return NULL;
}

const char *basis_map_name(const struct iso_basis_spec *s, int i)
{
	const struct map *row = find_map(s, i);

	return row ? row->name : NULL;
}

int iso_basis_maps(const iso_basis *b)
{
	int n = 0;

	while (b && find_map(&b->is, n)) n++;
	return n;
}

int iso_basis_map(struct iso_basis_map *to, const iso_basis *b, int i)
{
	struct iso_basis_map m = { .size = sizeof m };

	if (!to || !b) return iso_fail_null(__func__);
	const struct map *row = i >= 0 ? find_map(&b->is, i) : NULL;

	if (!row) return iso_fail(ISO_EARG, "basis: there is no map %d, but %d", i, iso_basis_maps(b));
	m.name = row->name;
	m.unit = row->unit;
	row->fill(&m, b);
	return iso_sized_put(to, "iso_basis_map", sizeof m, &m);
}
