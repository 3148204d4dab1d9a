/* SPDX-License-Identifier: BSD-3-Clause */
/* Histograms of two panels and their corrections: g counts, n normalisation x attenuation, r randoms.

	model     mean n (A f + r/n), data g
	subtract  data max(g - delayed, 0) / n, mean A f; LORs with n = 0 are out of both (Chou 2012) */
#include "model_srm.h"
#include "lors.h"

#include "core/size.h"
#include "core/status.h"

#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static int read_histogram(iso_problem *problem, struct iso_array *a, const char *path)
{
	struct srm_model *srm = problem->self;

	return path ? lors_read(problem->record, a, path, &srm->info.panels) : ISO_OK;
}

/* One subset number for each unsigned direction |dx| Ncz + |dz|. */
static int read_deal(iso_problem *problem)
{
	struct srm_model *srm = problem->self;
	int64_t n = (int64_t)srm->info.panels.crystals[0] * srm->info.panels.crystals[1];
	struct iso_array a = { 0 };
	int st;

	if (!srm->deal) return ISO_OK;
	if ((st = record_read(problem->record, &a, srm->deal, ISO_NONNEGATIVE)) ||
	    (st = record_input(problem->record, srm->deal)))
		goto done;
	if (a.n != n) {
		st = iso_fail(ISO_EINPUT,
		              "%s: %" PRId64 " values, expected a subset for each of %" PRId64
		              " directions |dx|, |dz|",
		              srm->deal, a.n, n);
		goto done;
	}
	if (!(srm->deal_of = size_alloc(n, sizeof *srm->deal_of))) {
		st = iso_fail_memory("deal", n * (int64_t)sizeof *srm->deal_of);
		goto done;
	}
	for (int64_t i = 0; i < n && !st && a.v; i++) {
		srm->deal_of[i] = a.v[i] < 1e6 ? (int)a.v[i] : -1;
		if ((iso_real)srm->deal_of[i] != a.v[i])
			st = iso_fail(ISO_EINPUT, "%s: %g at %" PRId64 " is not a number of a subset",
			              srm->deal, (double)a.v[i], i);
	}
done:
	iso_array_free(&a);
	return st;
}

static bool subtracts(struct srm_model *srm)
{
	return srm->randoms && strcmp(srm->randoms, "subtract") == 0;
}

static int check_options(struct srm_model *srm)
{
	if (srm->additive && srm->delayed)
		return iso_fail(ISO_EARG, "'additive' and 'delayed': give the mean of the randoms, or the "
		                          "delayed counts that it comes from");
	if (srm->randoms && !srm->delayed)
		return iso_fail(ISO_EARG, "'randoms' %s needs 'delayed'", srm->randoms);
	return ISO_OK;
}

int srm_load_data(iso_problem *problem, int need)
{
	struct srm_model *srm = problem->self;
	struct iso_grid g;
	int st;

	iso_panels_grid(&g, &srm->info.panels);
	if ((st = check_options(srm))) return st;
	if (need & MODEL_NEEDS_COUNTS && !srm->data)
		return iso_fail(ISO_EARG, "'data' is missing: the histogram of counts");
	if (need & MODEL_NEEDS_COUNTS && (st = read_histogram(problem, &srm->counts, srm->data))) return st;
	if ((st = read_histogram(problem, &srm->norm_of, srm->norm))) return st;
	if ((st = read_deal(problem))) return st;
	if (srm->mu && (st = record_read_mu(problem->record, &srm->mu_map, srm->mu, &g))) return st;
	srm->needs_add = need & MODEL_NEEDS_ADD;
	if (!srm->needs_add) return ISO_OK;
	if ((st = read_histogram(problem, &srm->add, srm->additive))) return st;
	return read_histogram(problem, &srm->late, srm->delayed);
}

void srm_unload_data(struct srm_model *srm)
{
	iso_array_free(&srm->counts);
	iso_array_free(&srm->norm_of);
	iso_array_free(&srm->add);
	iso_array_free(&srm->late);
	iso_array_free(&srm->mu_map);
	free(srm->deal_of);
	free(srm->factor);
}

/* ---- factors ---- */

static iso_real *lors(struct srm_model *srm)
{
	return size_alloc(iso_panels_lors(&srm->info.panels), sizeof(iso_real));
}

static int no_memory(struct srm_model *srm)
{
	return iso_fail_memory("factors of LORs",
	                       iso_panels_lors(&srm->info.panels) * (int64_t)sizeof(iso_real));
}

int srm_make_factor(iso_problem *problem)
{
	struct srm_model *srm = problem->self;
	int64_t n = iso_panels_lors(&srm->info.panels);
	double scale = srm->absolute ? 1 / srm->info.kept : 1;
	int st;

	if (srm->factor || (!srm->norm && !srm->mu && !srm->absolute)) return ISO_OK;
	if (!(srm->factor = lors(srm))) return no_memory(srm);
	for (int64_t i = 0; i < n && !srm->mu; i++) srm->factor[i] = 1;
	if (srm->mu &&
	    (st = iso_panels_attenuation(srm->factor, problem->ctx, &srm->info.panels, &srm->mu_map)))
		return st;
	for (int64_t i = 0; i < n; i++)
		srm->factor[i] = (iso_real)((double)srm->factor[i] * scale *
		                            (srm->norm ? (double)srm->norm_of.v[i] : 1));
	return ISO_OK;
}

/* 1 in the mode subtract, or 0 for LORs that are dead. */
int srm_mult(struct srm_model *srm, iso_real **mult)
{
	int64_t n = iso_panels_lors(&srm->info.panels);

	if (!srm->factor) return ISO_OK;
	if (!(*mult = lors(srm))) return no_memory(srm);
	for (int64_t i = 0; i < n; i++) (*mult)[i] = subtracts(srm) ? srm->factor[i] > 0 : srm->factor[i];
	return ISO_OK;
}

/* ---- data ---- */

static int copy(struct srm_model *srm, iso_real **to, const struct iso_array *from)
{
	if (!(*to = lors(srm))) return no_memory(srm);
	memcpy(*to, from->v, (size_t)from->n * sizeof **to);
	return ISO_OK;
}

static void warn_of_dead(iso_problem *problem)
{
	struct srm_model *srm = problem->self;
	int64_t n = 0;

	for (int64_t i = 0; srm->factor && srm->counts.v && i < srm->counts.n; i++)
		n += srm->counts.v[i] > 0 && srm->factor[i] == 0;
	if (n)
		record_warn(problem->record,
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

static int add_randoms(struct srm_model *srm, struct model_data *d)
{
	if (srm->additive) return copy(srm, &d->add, &srm->add);
	if (!srm->delayed) return ISO_OK;
	if (!(d->add = lors(srm))) return no_memory(srm);
	return iso_panels_randoms(d->add, &srm->info.panels, srm->late.v);
}

int srm_data(iso_problem *problem, struct model_data *d)
{
	struct srm_model *srm = problem->self;
	int st = srm_make_factor(problem);

	if (st || (st = srm_mult(srm, &d->mult))) return st;
	if (srm->counts.v && (st = copy(srm, &d->y, &srm->counts))) return st;
	warn_of_dead(problem);
	if (!srm->needs_add) return ISO_OK;
	if (!subtracts(srm)) return add_randoms(srm, d);
	if (d->y) subtract(srm, d->y);
	return ISO_OK;
}
