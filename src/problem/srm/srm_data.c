/* SPDX-License-Identifier: BSD-3-Clause */
/* Histograms of two panels and their corrections: g counts, n normalisation x attenuation, r randoms.

	model     mean n (A f + r/n), data g
	subtract  data max(g - delayed, 0) / n, mean A f; LORs with n = 0 are out of both (Chou 2012) */
#include "model_srm.h"

#include "core/size.h"

#include <stdio.h>

/* ---- reading ---- */

int lors_shape(int64_t dim[8], const struct iso_panels *p)
{
	const int64_t x = p->crystals[0], z = p->crystals[1], l = p->layers;
	const int64_t all[6] = { l, l, x, z, x, z };
	int n = l > 1 ? 6 : 4;

	memcpy(dim, all + 6 - n, (size_t)n * sizeof *dim);
	return n;
}

/* "(2, 2, 26, 52, 26, 52)": at most 8 axes of 21 characters. */
static void print_shape(char text[256], int n, const int64_t *dim)
{
	int at = snprintf(text, 256, "(");

	for (int i = 0; i < n; i++)
		at += snprintf(text + at, (size_t)(256 - at), "%" PRId64 "%s", dim[i],
		               i < n - 1 ? ", " : ")");
}

int lors_read(struct record *record, struct iso_array *a, const char *path, const struct iso_panels *p)
{
	int64_t dim[8];
	int n = lors_shape(dim, p), st;
	char got[256], want[256];
	struct iso_array head;

	if ((st = record_peek(record, &head, path, ISO_ANY))) return st;
	if (head.n_dim == n && memcmp(head.dim, dim, (size_t)n * sizeof *dim) == 0)
		return (st = record_read(record, a, path, ISO_NONNEGATIVE)) ? st : record_input(record, path);
	print_shape(got, head.n_dim, head.dim);
	print_shape(want, n, dim);
	return iso_fail(ISO_EINPUT, "%s: shape %s, a histogram of LORs %s was expected", path, got, want);
}

/* One subset number for each unsigned direction |dx| Ncz + |dz|. */
static int read_deal(struct srm_model *srm)
{
	int64_t n = (int64_t)srm->info.panels.crystals[0] * srm->info.panels.crystals[1];
	struct iso_array a = { 0 };
	int st;

	if (!srm->deal) return ISO_OK;
	if ((st = record_read(srm->p->record, &a, srm->deal, ISO_NONNEGATIVE))) return st;
	st = record_input(srm->p->record, srm->deal);
	if (!st && a.n != n)
		st = iso_fail(ISO_EINPUT,
		              "%s: %" PRId64 " values, expected a subset for each of %" PRId64
		              " directions |dx|, |dz|",
		              srm->deal, a.n, n);
	if (!st && !(srm->deal_of = size_alloc(n, sizeof *srm->deal_of)))
		st = iso_fail_memory("deal", n * (int64_t)sizeof *srm->deal_of);
	for (int64_t i = 0; i < n && !st && a.v; i++) {
		srm->deal_of[i] = a.v[i] < 1e6 ? (int)a.v[i] : -1;
		if ((iso_real)srm->deal_of[i] != a.v[i])
			st = iso_fail(ISO_EINPUT, "%s: %g at %" PRId64 " is not a number of a subset",
			              srm->deal, (double)a.v[i], i);
	}
	iso_array_free(&a);
	return st;
}

static bool subtracts(struct srm_model *srm)
{
	return srm->randoms && strcmp(srm->randoms, "subtract") == 0;
}

static int read_histogram(struct srm_model *srm, struct iso_array *a, const char *path)
{
	return path ? lors_read(srm->p->record, a, path, &srm->info.panels) : ISO_OK;
}

int srm_load_data(struct srm_model *srm, int need)
{
	bool counts = need & MODEL_NEEDS_COUNTS;
	int st;

	srm->needs_add = need & MODEL_NEEDS_ADD;
	if (srm->additive && srm->delayed)
		return iso_fail(ISO_EARG, "'additive' and 'delayed': give the mean of the randoms, or the "
		                          "delayed counts that it comes from");
	if (srm->randoms && !srm->delayed)
		return iso_fail(ISO_EARG, "'randoms' %s needs 'delayed'", srm->randoms);
	if (counts && !srm->data) return iso_fail(ISO_EARG, "'data' is missing: the histogram of counts");
	if (counts && (st = read_histogram(srm, &srm->counts, srm->data))) return st;
	if ((st = read_histogram(srm, &srm->norm_of, srm->norm))) return st;
	if ((st = read_deal(srm))) return st;
	if (srm->mu && (st = record_read_mu(srm->p->record, &srm->mu_map, srm->mu, &srm->p->found.grid)))
		return st;
	if (!srm->needs_add) return ISO_OK;
	if ((st = read_histogram(srm, &srm->add, srm->additive))) return st;
	return read_histogram(srm, &srm->late, srm->delayed);
}

/* ---- factors ---- */

/* After a failure there is none, and the next call makes it again. */
static int make_factor(struct srm_model *srm)
{
	int64_t n = srm->p->found.rows;
	double scale = srm->absolute ? 1 / srm->info.kept : 1;
	iso_real *made = NULL;
	int st;

	if (srm->factor || (!srm->norm && !srm->mu && !srm->absolute)) return ISO_OK;
	if ((st = model_vector(&made, n, "factors of LORs"))) return st;
	for (int64_t i = 0; i < n && !srm->mu; i++) made[i] = 1;
	if (srm->mu && (st = iso_panels_attenuation(made, srm->p->ctx, &srm->info.panels, &srm->mu_map))) {
		free(made);
		return st;
	}
	for (int64_t i = 0; i < n; i++)
		made[i] = (iso_real)((double)made[i] * scale * (srm->norm ? (double)srm->norm_of.v[i] : 1));
	srm->factor = made;
	return ISO_OK;
}

/* 1 in the mode subtract, or 0 for LORs that are dead. */
int srm_mult(struct srm_model *srm, iso_real **mult)
{
	int64_t n = srm->p->found.rows;
	int st = make_factor(srm);

	if (st || !srm->factor || (st = model_vector(mult, n, "factors of LORs"))) return st;
	for (int64_t i = 0; i < n; i++) (*mult)[i] = subtracts(srm) ? srm->factor[i] > 0 : srm->factor[i];
	return ISO_OK;
}

/* ---- data ---- */

static int copy(iso_real **to, const struct iso_array *from)
{
	int st = model_vector(to, from->n, "factors of LORs");

	if (!st) memcpy(*to, from->v, (size_t)from->n * sizeof **to);
	return st;
}

static void warn_of_dead(struct srm_model *srm)
{
	int64_t n = 0;

	for (int64_t i = 0; srm->factor && srm->counts.v && i < srm->counts.n; i++)
		n += srm->counts.v[i] > 0 && srm->factor[i] == 0;
	if (n)
		record_warn(srm->p->record,
		            "%" PRId64 " LORs have counts and a factor of 0: they are left out", n);
}

static void subtract(struct srm_model *srm, iso_real *y)
{
	for (int64_t i = 0; i < srm->late.n; i++) {
		double n = srm->factor ? (double)srm->factor[i] : 1;
		double left = (double)y[i] - (double)srm->late.v[i];

		y[i] = (iso_real)(n > 0 && left > 0 ? left / n : 0);
	}
}

int srm_data(iso_problem *problem, struct model_data *d)
{
	struct srm_model *srm = problem->self;
	int st = srm_mult(srm, &d->mult);

	if (st || (srm->counts.v && (st = copy(&d->y, &srm->counts)))) return st;
	warn_of_dead(srm);
	if (!srm->needs_add) return ISO_OK;
	if (subtracts(srm)) {
		if (d->y) subtract(srm, d->y);
		return ISO_OK;
	}
	if (srm->additive) return copy(&d->add, &srm->add);
	if (!srm->delayed || (st = model_vector(&d->add, problem->found.rows, "factors of LORs"))) return st;
	return iso_panels_randoms(d->add, &srm->info.panels, srm->late.v);
}
