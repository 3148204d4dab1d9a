/* SPDX-License-Identifier: BSD-3-Clause */
/* Histograms of two panels and their corrections: g counts, n normalisation x attenuation, r randoms.

	model     mean n (A f + r/n), data g
	subtract  data max(g - delayed, 0) / n, mean A f; LORs with n = 0 are out of both (Chou 2012) */
#include "model_srm.h"

#include "core/size.h"
#include "model/srm/matrix/srm_matrix.h"

#include <stdio.h>

/* ---- reading ---- */

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

/* ---- a histogram an angle ---- */

/* Whether the file has all of them, along a first axis. */
static int holds_all(bool *all, struct srm_model *srm, const char *path)
{
	const struct model_found *is = &srm->p->found;
	struct iso_array head;
	int st = record_peek(srm->p->record, &head, path, ISO_ANY);

	*all = !st && is->n_dim == head.n_dim && srm->turn.at &&
	       memcmp(head.dim, is->dim, (size_t)is->n_dim * sizeof *is->dim) == 0;
	return st;
}

/* A dry run has no values. */
static int read_each(struct srm_model *srm, struct iso_array *a, const char *list, int files)
{
	const int64_t lors = iso_panels_lors(&srm->info.panels);
	char path[PATH_MAX];
	int st = srm->p->record->read.dry_run ? ISO_OK : iso_array_create(a, 1, &srm->p->found.rows);

	for (int k = 0; k < files && !st; k++) {
		struct iso_array part = { 0 };

		list = opt_next_file(path, list);
		if (!(st = lors_read(srm->p->record, &part, path, &srm->info.panels)) && a->v)
			memcpy(a->v + k * lors, part.v, (size_t)lors * sizeof *a->v);
		iso_array_free(&part);
	}
	for (int k = files; k < srm->turn.n && a->v && !st; k++)
		memcpy(a->v + k * lors, a->v, (size_t)lors * sizeof *a->v);
	return st;
}

/* A histogram for each angle, one behind the other: from a file each, or one file of all with an axis before. `one`: a single
   histogram serves all angles. */
static int read_histograms(struct srm_model *srm, struct iso_array *a, const char *list, bool one)
{
	const struct srm_turn *t = &srm->turn;
	char path[PATH_MAX];
	bool all = false;
	int files = 0, st;

	if (!list) return ISO_OK;
	for (const char *at = list; at; files++) at = opt_next_file(path, at);
	if (!t->at && files == 1) return lors_read(srm->p->record, a, list, &srm->info.panels);
	if (!t->at)
		return iso_fail(ISO_EARG, "%s: %d histograms, which need 'gantry' with a row for each", list,
		                files);
	if (files == 1 && ((st = holds_all(&all, srm, path)) || all)) {
		if (st || (st = record_read(srm->p->record, a, path, ISO_NONNEGATIVE))) return st;
		return record_input(srm->p->record, path);
	}
	if (files != t->n && !(one && files == 1))
		return iso_fail(ISO_EINPUT,
		                "%s: %d histogram%s, expected one for each of the %d known rows of %s", list,
		                files, files == 1 ? "" : "s", t->n, t->gantry);
	return read_each(srm, a, list, files);
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
	if (counts && (st = read_histograms(srm, &srm->counts, srm->data, false))) return st;
	if ((st = read_histograms(srm, &srm->norm_of, srm->norm, true))) return st;
	if ((st = read_deal(srm))) return st;
	if (srm->mu && (st = record_read_mu(srm->p->record, &srm->mu_map, srm->mu, &srm->p->found.grid)))
		return st;
	if (!srm->needs_add) return ISO_OK;
	if ((st = read_histograms(srm, &srm->add, srm->additive, false))) return st;
	return read_histograms(srm, &srm->late, srm->delayed, false);
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
	for (int k = 0; k < srm->turn.n && srm->mu && !st; k++)
		st = iso_panels_attenuation_at(made + k * (n / srm->turn.n), srm->p->ctx, &srm->info.panels,
		                               &srm->mu_map, srm->turn.at ? srm->turn.at + k : NULL);
	if (st) {
		free(made);
		return st;
	}
	for (int64_t i = 0; i < n; i++)
		made[i] = (iso_real)((double)made[i] * scale * (srm->norm ? (double)srm->norm_of.v[i] : 1));
	srm->factor = made;
	return ISO_OK;
}

/* 1 in the mode subtract, or 0 for LORs that are dead; times the weight of the LOR's angle. */
int srm_mult(struct srm_model *srm, iso_real **mult)
{
	int64_t n = srm->p->found.rows, lors = n / srm->turn.n;
	int st = make_factor(srm);

	if (st || (!srm->factor && !srm->turn.at) || (st = model_vector(mult, n, "factors of LORs")))
		return st;
	for (int64_t i = 0; i < n; i++) {
		double f = srm->factor ? (double)srm->factor[i] : 1;
		double weight = srm->turn.at ? srm->turn.weight[i / lors] : 1;

		(*mult)[i] = (iso_real)((subtracts(srm) ? f > 0 : f) * weight);
	}
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
	const int64_t lors = problem->found.rows / srm->turn.n;

	for (int k = 0; k < srm->turn.n && !st; k++)
		st = iso_panels_randoms(d->add + k * lors, &srm->info.panels, srm->late.v + k * lors);
	return st;
}
