/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a source lies where it was said: what pairs beside it count, and where one whose place was given rather lies. */
#include "norm_gauge.h"
#include "norm_place.h"

#include "core/size.h"

#include <omp.h>
#include <string.h>

enum { PARTS = 16 }; /* of rows */
#define MISSED .01   /* of all events, on pairs that the source misses */
#define SURE 4       /* errors of their number */

/* ---- pairs that the source misses ---- */

/* Sums of a part of the rows; a x = b tells where its lines pass nearest. */
struct part {
	double all, counts, randoms, a[9], b[3];
};

/* value: q of the pair. */
static bool misses(const struct norm_q *q, float value, int64_t a, int64_t b)
{
	if (value != 0 || signbit(value)) return false;
	return q->rows->rings > 0 || iso_scanner_in_coincidence(q->rows->s, a, b);
}

/* Adds count (1 - d d') of a line of direction d, and the same of its end. */
static void add_line(struct part *p, const double *from, const double *to, double count)
{
	double d[3], length = 0;

	for (int i = 0; i < 3; i++) length += (to[i] - from[i]) * (to[i] - from[i]);
	length = sqrt(length);
	for (int i = 0; i < 3; i++) d[i] = length > 0 ? (to[i] - from[i]) / length : 0;
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++) {
			const double v = count * ((i == j) - d[i] * d[j]);

			p->a[3 * i + j] += v;
			p->b[i] += v * from[j];
		}
}

static void add_row(struct part *p, struct norm_run *run, const struct norm_line *line,
                    const struct norm_q *q, const struct norm_scan *s, int64_t a)
{
	const struct norm_counted y = norm_counts_row(line, &s->y, q->rows, a);
	const float *value = norm_row_q(line, s, q->rows, a);
	const double *pos = q->rows->s->pos;
	const int64_t runs = s->r || s->rate ? norm_rows_runs(run, q->rows, a) : 0, first = q->rows->first[a];

	for (int64_t i = 0; i < y.n; i++) {
		const int64_t b = y.b[i];

		p->all += (double)y.y[i];
		if (!misses(q, value[norm_rows_pair(q->rows, a, b) - first], a, b)) continue;
		p->counts += (double)y.y[i];
		add_line(p, pos + 3 * a, pos + 3 * b, (double)y.y[i]);
	}
	for (int64_t k = 0; k < runs; k++)
		for (int64_t j = 0; j < run[k].n; j++)
			if (misses(q, value[run[k].pair + j - first], a, run[k].b + j))
				p->randoms += norm_randoms(s, a, run[k].b + j, run[k].pair + j);
}

static void add_part(struct part *to, const struct part *p)
{
	to->all += p->all;
	to->counts += p->counts;
	to->randoms += p->randoms;
	for (int i = 0; i < 9; i++) to->a[i] += p->a[i];
	for (int i = 0; i < 3; i++) to->b[i] += p->b[i];
}

int norm_missed(struct norm_missed *m, const struct norm_q *q, const struct norm_scan *s, const iso_ctx *ctx)
{
	const int64_t most = norm_rows_most(q->rows);
	struct iso_room room = iso_room_of(NULL, "norm");
	struct part part[PARTS] = { 0 };
	struct norm_line line[PARTS];
	struct norm_run *run;

	ISO_HOST(&room, run, most * PARTS);
	for (int i = 0; i < PARTS && !room.status; i++) norm_line_create(line + i, &room, q->rows, s);
	if (room.status) return iso_room_free(&room);
#pragma omp parallel for schedule(dynamic) num_threads(iso_ctx_threads(ctx))
	for (int i = 0; i < PARTS; i++)
		for (int64_t a = norm_rows_of_part(q->rows, i, PARTS);
		     a < norm_rows_of_part(q->rows, i + 1, PARTS); a++)
			add_row(part + i, run + i * most, line + i, q, s, a);
	iso_room_free(&room);
	for (int i = 1; i < PARTS; i++) add_part(part, part + i);
	*m = (struct norm_missed){ part->all, part->counts, part->randoms, { 0 } };
	norm_solve_small(m->near, part->a, part->b, 3);
	return ISO_OK;
}

int norm_missed_check(const struct norm_missed *m)
{
	const double more = m->counts - m->randoms;

	if (!(more > MISSED * m->all + SURE * sqrt(m->counts))) return ISO_OK;
	return iso_fail(ISO_EINPUT,
	                "norm: %.3g of %.3g events lie on pairs of crystals whose lines miss the source, and "
	                "%.3g randoms are expected there: the source is not where it was said, or its "
	                "scatter or its randoms are not in the model; these lines pass nearest to x %.1f, y "
	                "%.1f, z %.1f mm",
	                m->counts, m->all, m->randoms, m->near[0], m->near[1], m->near[2]);
}

/* ---- a place that was given ---- */

/* A scan of the pairs of every k-th crystal. */
struct look {
	struct iso_room room;
	struct norm_rows rows;
	struct norm_classes classes;
	struct norm_q q;
	struct norm_scan scan;
	struct norm_fit fit;
	double t, z;
};

static int64_t common(int64_t a, int64_t b)
{
	while (b != 0) {
		const int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* So many crystals lie between those of the rows, which are then at all places round the ring. */
static int64_t step_of(const struct norm_rows *all)
{
	int64_t every = all->first[all->n] / NORM_LOOK_PAIRS + 1;

	if (all->rings == 0 || every == 1) return 1;
	while (common(every, all->per_ring) > 1) every++;
	return every;
}

/* Counts of the pairs of row a, none of a row that is not looked at. */
static struct norm_counted counts_of(const struct look *l, const struct norm_line *line,
                                     const struct norm_fit *f, const struct norm_scan *s, int64_t a)
{
	if (l->rows.first[a + 1] == l->rows.first[a]) return (struct norm_counted){ 0 };
	return norm_counts_row(line, &s->y, f->rows, a);
}

static int copy_counts(struct look *l, const struct norm_fit *f, const struct norm_scan *s)
{
	struct norm_counts *to = &l->scan.y;
	struct norm_line line;
	int64_t n = 0;

	ISO_HOST(&l->room, to->first, l->rows.n + 1);
	norm_line_create(&line, &l->room, f->rows, s);
	for (int64_t a = 0; a < l->rows.n && !l->room.status; a++)
		to->first[a + 1] = n += counts_of(l, &line, f, s, a).n;
	ISO_HOST(&l->room, to->b, n + 1);
	ISO_HOST(&l->room, to->y, n + 1);
	if (l->room.status) return l->room.status;
	for (int64_t a = 0; a < l->rows.n; a++) {
		const struct norm_counted y = counts_of(l, &line, f, s, a);

		if (y.n == 0) continue;
		memcpy(to->b + to->first[a], y.b, (size_t)y.n * sizeof *to->b);
		memcpy(to->y + to->first[a], y.y, (size_t)y.n * sizeof *to->y);
	}
	return ISO_OK;
}

/* q of the fit, with its scatter and factors of pairs, and slopes that go with them. */
static void take_row(struct look *l, const struct norm_fit *f, const struct norm_scan *s, int64_t a,
                     struct norm_run *run, const struct norm_line *line)
{
	struct norm_run *own = run + norm_rows_most(f->rows);
	const int64_t runs = norm_rows_runs(run, f->rows, a), first = f->rows->first[a];
	const float *q = norm_row_q(line, s, f->rows, a);

	norm_rows_runs(own, &l->rows, a);
	for (int64_t k = 0; k < runs; k++) {
		const int32_t *t = norm_classes_t(f->classes, a, run[k].b);
		const double z = f->z[norm_classes_z(f->classes, a, run[k].b)];

		for (int64_t j = 0; j < run[k].n; j++) {
			const int64_t to = own[k].pair + j;
			const double from = (double)q[run[k].pair + j - first];
			const bool used = l->scan.q[to] > 0 && from > 0;
			const double g = used ? z * f->t[f->classes->transaxial ? t[j] : 0] : 0;

			l->scan.q[to] = (float)(g * from);
			for (int c = 0; c < 2; c++)
				l->scan.slope[c][to] = (float)(g * (double)l->scan.slope[c][to]);
		}
	}
}

static int take_model(struct look *l, const struct norm_fit *f, const struct norm_scan *s)
{
	const int64_t most = 2 * norm_rows_most(f->rows), threads = iso_ctx_threads(f->ctx);
	struct iso_room room = iso_room_of(NULL, "norm");
	struct norm_line *line;
	struct norm_run *run;

	ISO_HOST(&room, run, most * threads);
	ISO_HOST(&room, line, threads);
	for (int64_t i = 0; i < threads && !room.status; i++) norm_line_create(line + i, &room, f->rows, s);
	if (!room.status) {
#pragma omp parallel for schedule(dynamic, 16) num_threads(iso_ctx_threads(f->ctx))
		for (int64_t a = 0; a < l->rows.n; a++)
			if (l->rows.first[a + 1] > l->rows.first[a])
				take_row(l, f, s, a, run + most * omp_get_thread_num(),
				         line + omp_get_thread_num());
	}
	return iso_room_free(&room);
}

static int make_look(struct look *l, const struct norm_fit *f, int scan)
{
	const struct norm_scan *s = f->scan + scan;
	int st = norm_rows_create_some(&l->rows, f->rows, step_of(f->rows));

	if (st || (st = norm_classes_create(&l->classes, l->rows.s, false, false, true))) return st;
	l->q = *(const struct norm_q *)s->arg;
	l->q.factor *= l->q.scale;
	l->q.rows = &l->rows;
	l->q.places = l->scan.shifts = 2;
	l->q.chosen = false;
	l->q.alpha = l->q.from = l->q.h = NULL;
	l->q.scatter = NULL;
	l->q.table = NULL;
	l->q.by_row = NULL;
	if ((st = norm_q_create(&l->q, &l->scan, &l->room)) || (st = norm_q_make(&l->scan, true, f->ctx)) ||
	    (st = take_model(l, f, s)) || (st = copy_counts(l, f, s)))
		return st;
	l->scan.rate = s->rate;
	l->t = l->z = 1;
	l->fit = (struct norm_fit){ .ctx = f->ctx,
		                    .rows = &l->rows,
		                    .classes = &l->classes,
		                    .scan = &l->scan,
		                    .scans = 1,
		                    .on_host = true,
		                    .eps = f->eps,
		                    .t = &l->t,
		                    .z = &l->z,
		                    .dead = f->dead };
	return ISO_OK;
}

int norm_place_look(double mm[2], double sd[2], const struct norm_fit *f, int scan)
{
	struct look l = { .room = iso_room_of(NULL, "norm") };
	int st;

	mm[0] = mm[1] = sd[0] = sd[1] = 0;
	if (f->scan[scan].r) return ISO_OK; /* randoms of each pair are of all pairs */
	if (!(st = make_look(&l, f, scan)) && !(st = norm_fit_step(&l.fit)))
		for (int c = 0; c < 2; c++) {
			mm[c] = l.scan.shift[c];
			sd[c] = l.scan.error[c];
		}
	norm_sums_free(&l.fit);
	norm_classes_free(&l.classes);
	norm_rows_free(&l.rows);
	iso_room_free(&l.room);
	return st;
}
