/* SPDX-License-Identifier: BSD-3-Clause */
/* The events of all time bins as the rows of one operator, with the factors and additive terms that each bin has as a frame. */
#include "kinetic_run.h"

#include "core/comm.h"

#include <math.h>
#include <string.h>

/* Of bin m: what makes counts of an image value. */
static struct model_frame frame_of(const struct kinetic_run *k, int m)
{
	const struct frames *f = &k->r->s->frames;
	struct model_frame frame = frames_get(f, m);

	frame.units = units_of_frame(k->r->problem, m);
	frame.factor *= frame.units;
	return frame;
}

/* Without a calibration a frame's image is the activity times its duration; with it, the activity. */
static double duration_of(const struct kinetic_run *k, int m)
{
	const struct frames *f = &k->r->s->frames;

	return k->r->s->units.calibration ? 1 : frames_end_s(f, m) - frames_begin_s(f, m);
}

/* From the first edge to the last. */
static struct model_frame window(const struct kinetic_run *k)
{
	const struct frames *f = &k->r->s->frames;
	struct model_frame w = frame_of(k, 0);

	w.to_s = f->edge_s[f->n];
	w.number = 0;
	return w;
}

static int take_window(struct kinetic_run *k)
{
	iso_problem *p = k->r->problem;
	const struct model_frame w = window(k);
	int st = k->r->m->select(p, &w);

	if (st) return st;
	if (p->found.rows == 0)
		return iso_fail(ISO_EINPUT, "there are no events from %g to %g s", w.from_s, w.to_s);
	k->rows = p->found.rows - p->found.elsewhere;
	ISO_HOST(&k->room, k->number, k->rows);
	ISO_HOST(&k->room, k->part, k->rows);
	ISO_HOST(&k->room, k->in_bin, k->bins);
	if (k->room.status) return k->room.status;
	for (int64_t j = 0; j < k->rows; j++) {
		k->number[j] = p->found.in_file ? p->found.in_file[j] : j;
		k->part[j] = 0;
	}
	return ISO_OK;
}

/* The row of an event's number; numbers rise. */
static int64_t row_of(const struct kinetic_run *k, int64_t number)
{
	int64_t low = 0, high = k->rows;

	while (low < high) {
		int64_t middle = low + (high - low) / 2;

		if (k->number[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int make_vector(iso_real **v, const iso_real *wanted, int64_t n)
{
	return wanted && !*v ? model_vector(v, n, "factors") : ISO_OK;
}

/* The vectors of bin m to their rows. */
static int place(struct kinetic_run *k, int m, const struct model_data *d)
{
	const struct model_found *is = &k->r->problem->found;
	const int64_t n = is->rows - is->elsewhere;
	struct model_data *to = &k->r->data;
	const double duration = duration_of(k, m);
	int st;

	if ((st = make_vector(&to->y, d->y, k->rows)) || (st = make_vector(&to->add, d->add, k->rows)) ||
	    (st = make_vector(&to->mult, d->mult, k->rows)))
		return st;
	for (int64_t j = 0; j < n; j++) {
		const int64_t row = row_of(k, is->in_file ? is->in_file[j] : j);

		k->part[row] = m;
		if (d->y) to->y[row] = d->y[j];
		if (d->add) to->add[row] = d->add[j];
		if (d->mult) to->mult[row] = (iso_real)(d->mult[j] * duration);
	}
	k->in_bin[m] = n;
	return ISO_OK;
}

static int take_bin(struct kinetic_run *k, int m)
{
	iso_problem *p = k->r->problem;
	const struct model_frame frame = frame_of(k, m);
	struct model_data d = { 0 };
	int st;

	k->weight[m] = frame.factor * duration_of(k, m);
	if ((st = k->r->m->select(p, &frame))) return st;
	if (p->found.rows == 0) {
		record_warn(k->r->record, "bin %d, from %g to %g s, has no events", m + 1, frame.from_s,
		            frame.to_s);
		return ISO_OK;
	}
	if (k->host->rounds) st = k->host->rounds(k->host->arg, m);
	if (!st && k->r->m->data) st = k->r->m->data(p, &d);
	if (!st) st = place(k, m, &d);
	model_data_free(&d);
	return st;
}

static int make_op(struct kinetic_run *k)
{
	struct model_subsets by = k->r->s->by;
	const struct model_frame w = window(k);
	struct recon *r = k->r;
	int st = r->m->select(r->problem, &w);

	by.parts = k->bins;
	by.part = k->part;
	record_tell(r->record, ISO_DETAIL, "ordering the data");
	if (!st) st = r->m->op(r->problem, &r->op, &by);
	return st ? st : problem_add_psf(r->problem, &r->op);
}

static void warn_of_randoms(const struct kinetic_run *k)
{
	if (k->r->data.add && problem_given(k->r->problem, "additive"))
		record_warn(k->r->record, "what 'additive' adds is shared among the bins by decay alone, "
		                          "though activity moves");
	if (problem_given(k->r->problem, "singles"))
		record_warn(k->r->record,
		            "randoms of 'singles' are shared among the bins by decay alone, though "
		            "activity moves; 'delayed' with times follows it");
}

int kinetic_bins_make(struct kinetic_run *k)
{
	int st = take_window(k);

	if (!st) st = k->host->sens(k->host->arg, &k->sens);
	record_stage(k->r->record, "factors");
	for (int m = 0; m < k->bins && !st; m++) st = take_bin(k, m);
	st = iso_comm_sum(k->r->ctx, st, k->in_bin, k->in_bin ? k->bins : 0);
	if (!st) warn_of_randoms(k);
	return st ? st : make_op(k);
}
