/* SPDX-License-Identifier: BSD-3-Clause */
/* What the image, the scatter and the randoms of a frame make expect on its lines, beside its prompts: of a sample of the
   scanner's crystal pairs, or, where the rows list all lines, of a sample of the rows. In each bin of the histograms

     expected counts = sum over the sample x lines in the bin / lines of the sample in the bin,

   so that how many lines a bin got by chance does not show. Time of flight is summed over. */
#include "model_ray.h"

#include "core/philox.h"
#include "core/room.h"
#include "model/ray/ray_integrals.h"
#include "scanner/scanner.h"

#include <stdio.h>
#include <stdlib.h>

#define PASSES_A_ROUND 2 /* of its reconstruction through the events, about */
#define UPDATES_A_LINE \
	128        /* events in all passes for every line of the sample: some per cent of the run's time */
#define BESIDE .02 /* share of trues in the bins beside the object, at most */
#define BESIDE_COUNTS 1e3 /* that a warning needs there, */
#define BESIDE_OFF .15    /* and how far they may be off */
enum {
	LEAST = 1 << 17, /* lines of the sample, */
	MOST = 1 << 21,
	BLOCK = 1 << 17, /* that are looked at together */
	MORE_LINES = 8,  /* lines that are only counted, for every one of these */
	BITS = 52,       /* of sums of expected counts; 11 are left for sums above the counts */
	DIGITS = 5,      /* of a number in the record */
	STEPS = 999,     /* of a panel, from 0 to its greatest value */
	ON_HOST = 200,   /* bytes a line, about, */
	ON_DEVICE = 400, /* and of an operator over it */
};

struct expected {
	struct ray_problem *ray;
	struct ray_seen *t;
	struct iso_array x; /* the image, with the PSF */
	double share;       /* of the rows */
};

/* ---- the image along lines ---- */

static int blur(struct expected *q, const struct iso_array *image)
{
	iso_problem *p = q->ray->p;
	struct iso_room room = iso_room_of(p->ctx, "profiles");
	iso_real *a, *b;
	iso_op *psf = NULL;
	int st = iso_array_on_grid(&q->x, &q->ray->grid);

	if (!st) memcpy(q->x.v, image->v, (size_t)q->x.n * sizeof *q->x.v);
	if (st || !problem_has_psf(p)) return st;
	ISO_UPLOAD(&room, a, image->v, image->n);
	ISO_DEVICE(&room, b, image->n);
	st = room.status ? room.status : iso_psf_create(&psf, p->ctx, &q->ray->grid, p->s.psf);
	if (!st) st = iso_forward(b, psf, ISO_ALL, a);
	if (!st) st = iso_ctx_vec(p->ctx)->download(p->ctx, q->x.v, b, image->n * (int64_t)sizeof *b);
	iso_op_free(psf);
	iso_room_free(&room);
	return st;
}

/* The integrals along e, of one line an event; by_time: with the time of flight of the model. */
static int project(iso_real *y, struct expected *q, const struct iso_events *e, bool by_time)
{
	struct iso_ray p = ray_parameters(q->ray, &(const struct model_subsets){ .n = 1 });

	p.rays = 1;
	p.tof_fwhm_ps = by_time ? p.tof_fwhm_ps : 0;
	p.tof_bin_ps = by_time ? p.tof_bin_ps : 0;
	p.tof_centred = by_time && p.tof_centred;
	p.tof_each = false; /* profiles are wider */
	return iso_ray_integrals(y, q->ray->p->ctx, &p, q->x.v, e);
}

/* Expected counts of lines: of m, without attenuation, they become trues. */
static int make_trues(iso_real *m, struct expected *q, const struct iso_events *e, bool by_time)
{
	iso_real *y = NULL, *alpha = NULL;
	int st = model_vector(&y, e->n, "profiles");

	if (!st) st = model_vector(&alpha, e->n, "profiles");
	if (!st) st = project(y, q, e, by_time);
	if (!st) st = iso_ray_attenuation(alpha, q->ray->p->ctx, &q->ray->mu_map, e);
	for (int64_t i = 0; i < e->n && !st; i++) m[i] *= y[i] * alpha[i];
	free(y);
	free(alpha);
	return st;
}

/* ---- crystal pairs ---- */

static int64_t pairs_wanted(const struct ray_problem *ray)
{
	double passes = (double)(ray->p->s.iterations + PASSES_A_ROUND * (ray->scatter.rounds + 1));
	double n = (double)ray->p->found.rows * passes / UPDATES_A_LINE;

	return (int64_t)fmin(fmax(n, LEAST), MOST);
}

static int pairs_block(struct expected *q, struct ray_pairs *p)
{
	struct ray_problem *ray = q->ray;
	iso_ctx *ctx = ray->p->ctx;
	iso_real *m = NULL, *s = NULL;
	double by = ray->scatter.by * ray->frame.factor;
	int64_t n = p->e.n;
	int st = model_vector(&m, n, "profiles");

	if (!st) st = model_vector(&s, n, "profiles");
	for (int64_t i = 0; i < n && !st; i++) m[i] = p->counted[i];
	if (!st) ray_seen_add(q->t, ctx, SEEN_DRAWN, &p->e, m);
	for (int64_t i = 0; i < n && !st; i++)
		m[i] = (iso_real)(p->counted[i] ? p->eta[i] * ray_met(ray, p->e.v + i) * ray->frame.factor
		                                : 0);
	if (!st && !(st = make_trues(m, q, &p->e, false))) ray_seen_add(q->t, ctx, SEEN_TRUES, &p->e, m);
	if (!st) st = ray_pairs_scatter(s, p, ray);
	for (int64_t i = 0; i < n && !st; i++) s[i] = (iso_real)((double)s[i] * by);
	if (!st) ray_seen_add(q->t, ctx, SEEN_SCATTER, &p->e, s);
	for (int64_t i = 0; i < n && !st && p->randoms; i++) s[i] = (iso_real)p->randoms[i];
	if (!st && p->randoms) ray_seen_add(q->t, ctx, SEEN_RANDOMS, &p->e, s);
	free(m);
	free(s);
	return st;
}

/* Lines alone, of n pairs. */
static int lines_block(struct expected *q, struct ray_pairs *p)
{
	iso_real *one = NULL;
	int st = model_vector(&one, p->e.n, "profiles");

	for (int64_t i = 0; i < p->e.n && !st; i++) one[i] = p->counted[i];
	if (!st) ray_seen_add(q->t, q->ray->p->ctx, SEEN_LINES, &p->e, one);
	free(one);
	return st;
}

/* Each rank has its share of the n pairs. */
static int each_pair(struct expected *q, int64_t n, uint64_t seed,
                     int (*block)(struct expected *, struct ray_pairs *))
{
	struct iso_rows mine = iso_share(q->ray->p->ctx, n);
	int st = ISO_OK;

	for (int64_t i = 0, m; i < mine.n && !st; i += m) {
		struct ray_pairs p = { 0 };

		m = mine.n - i < BLOCK ? mine.n - i : BLOCK;
		st = ray_pairs_part(&p, q->ray, n, seed, (struct iso_rows){ mine.first + i, m });
		if (!st) st = block(q, &p);
		ray_pairs_free(&p);
	}
	return st;
}

static int expect_pairs(struct expected *q)
{
	struct ray_problem *ray = q->ray;
	uint64_t seed = (uint64_t)ray->scatter.seed;
	int64_t all = iso_scanner_pairs(ray->s), n = pairs_wanted(ray);

	n = n < all ? n : all;
	int64_t lines = n < all / MORE_LINES ? n * MORE_LINES : all;
	int st = each_pair(q, n, seed + 1, pairs_block);

	q->t->drawn = n;
	q->t->times = (double)all / (double)lines;
	q->t->randoms = ray->rate || !(ray->additive || ray->e.add);
	return st ? st : each_pair(q, lines, seed + 2, lines_block);
}

/* ---- rows that list all lines ---- */

/* Which rows are of the sample follows from their lines, not from where they stand in whose share. */
static bool is_drawn(const struct expected *q, const struct iso_event *e)
{
	uint32_t v[7];
	struct philox w;

	memcpy(v, e->p1, sizeof e->p1);
	memcpy(v + 3, e->p2, sizeof e->p2);
	memcpy(v + 6, &e->dt_ps, sizeof e->dt_ps);
	w = philox_draw((uint64_t)v[0] << 32 | v[1], (uint64_t)v[2] << 32 | v[3],
	                (uint64_t)v[4] << 32 | v[5]);
	return philox_unit_double(w.w[0] ^ v[6], w.w[1]) < q->share;
}

static int rows_block(void *arg, struct ray_problem *ray, const struct ray_some *some)
{
	struct expected *q = arg;
	struct iso_room room = iso_room_of(NULL, "profiles");
	struct iso_events e = { 0 };
	iso_real *m, *s, *r;
	int64_t n = 0;
	int st;

	ISO_HOST(&room, e.v, some->e.n);
	ISO_HOST(&room, m, some->e.n);
	ISO_HOST(&room, s, some->e.n);
	ISO_HOST(&room, r, some->e.n);
	st = room.status;
	for (int64_t j = 0; j < some->e.n && !st; j++) {
		if (iso_event_bad(some->e.v + j) || !is_drawn(q, some->e.v + j)) continue;
		e.v[n] = some->e.v[j];
		m[n] = some->mult[j];
		r[n++] = some->add[j];
	}
	e.n = n;
	if (!st && n > 0) {
		ray_seen_add(q->t, ray->p->ctx, SEEN_DRAWN, &e, NULL);
		ray_seen_add(q->t, ray->p->ctx, SEEN_RANDOMS, &e, r);
		st = ray_scatter_add(ray, &e, m, s);
	}
	if (!st && n > 0) ray_seen_add(q->t, ray->p->ctx, SEEN_SCATTER, &e, s);
	if (!st && n > 0 && !(st = make_trues(m, q, &e, ray->tof > 0)))
		ray_seen_add(q->t, ray->p->ctx, SEEN_TRUES, &e, m);
	q->t->drawn += n;
	iso_room_free(&room);
	return st;
}

static int expect_rows(struct expected *q)
{
	q->share = fmin(1, (double)pairs_wanted(q->ray) / fmax(1, (double)q->ray->p->found.rows));
	q->t->randoms = true;
	return ray_each(q->ray, rows_block, q);
}

/* ---- the record ---- */

static double short_number(double v)
{
	double unit = v > 0 ? pow(10, floor(log10(v)) - (DIGITS - 1)) : 1;

	return unit >= 1 ? round(v / unit) * unit : round(v / unit) / round(1 / unit);
}

static const struct part {
	const char *name;
	enum seen_kind kind;
} parts[] = {
	{ "prompts", SEEN_PROMPTS },
	{ "trues", SEEN_TRUES },
	{ "scatter", SEEN_SCATTER },
	{ "randoms", SEEN_RANDOMS },
};

enum { PARTS = sizeof parts / sizeof *parts };

/* Counts of each bin: v[part][bin]. */
static void take_counts(double *v, const struct ray_seen *t, const iso_real *sum)
{
	const iso_real *lines = sum + SEEN_LINES * SEEN_BINS, *drawn = sum + SEEN_DRAWN * SEEN_BINS;

	for (int p = 0; p < PARTS; p++)
		for (int i = 0; i < SEEN_BINS; i++) {
			double own = (double)sum[parts[p].kind * SEEN_BINS + i] / t->unit[parts[p].kind];

			if (p > 0) own *= drawn[i] > 0 ? t->times * (double)lines[i] / (double)drawn[i] : 0;
			v[p * SEEN_BINS + i] = own;
		}
}

_Static_assert(SEEN_Z >= SEEN_S, "room for a profile");

/* null where it is not known */
static json_t *profile(const struct ray_seen *t, const double *v, int n, int stride, int rows, int step)
{
	json_t *o = json_object();
	bool bad = !o;

	for (int p = 0; p < PARTS && !bad; p++) {
		double own[SEEN_Z]; /* the longer of both */
		bool known = p < PARTS - 1 || t->randoms;

		for (int i = 0; i < n; i++) {
			own[i] = 0;
			for (int k = 0; k < rows; k++) own[i] += v[p * SEEN_BINS + i * stride + k * step];
			own[i] = short_number(own[i]);
		}
		bad = json_object_set_new(o, parts[p].name, known ? record_reals(n, own) : json_null());
	}
	if (!bad) return o;
	json_decref(o);
	return NULL;
}

/* A row of phi: its values over s in steps, as text. */
static json_t *panel_row(const double *v, double step)
{
	char text[SEEN_S * 5 + 1];
	int n = 0;

	for (int i = 0; i < SEEN_S; i++)
		n += snprintf(text + n, sizeof text - (size_t)n, "%s%d", i ? " " : "",
		              (int)lround(fmin(v[i] / step, STEPS)));
	return json_string(text);
}

static json_t *panels(const struct ray_seen *t, const double *v)
{
	double most = 0;
	bool bad = false;

	for (int p = 0; p < PARTS; p++)
		for (int i = 0; i < SEEN_PANEL; i++) most = fmax(most, v[p * SEEN_BINS + i]);
	double step = most > 0 ? short_number(most / STEPS) : 1;
	json_t *o = record_pack("{s:i, s:i, s:f}", "s", SEEN_S, "phi", SEEN_PHI, "step", step);

	for (int p = 0; p < PARTS && o && !bad; p++) {
		json_t *rows = p < PARTS - 1 || t->randoms ? json_array() : json_null();

		for (int k = 0; k < SEEN_PHI && json_is_array(rows) && !bad; k++)
			bad = json_array_append_new(rows, panel_row(v + p * SEEN_BINS + k * SEEN_S, step));
		bad = json_object_set_new(o, parts[p].name, rows) || bad;
	}
	if (!bad) return o;
	json_decref(o);
	return NULL;
}

/* Counts of bins where the image explains next to none: what is expected there is scatter and randoms. */
static json_t *look_beside(struct ray_problem *ray, const struct ray_seen *t, const double *v)
{
	double counts = 0, expected = 0;

	for (int i = 0; i < SEEN_PANEL; i++) {
		double rest = v[2 * SEEN_BINS + i] + v[3 * SEEN_BINS + i], own = v[SEEN_BINS + i];

		if (!(rest > 0) || own > BESIDE * (own + rest)) continue;
		counts += v[i];
		expected += own + rest;
	}
	double off = expected > 0 ? counts / expected : 1, error = counts > 0 ? 1 / sqrt(counts) : 1;

	if (t->randoms && counts > BESIDE_COUNTS && fabs(off - 1) > fmax(BESIDE_OFF, 5 * error))
		record_warn(ray->p->record,
		            "beside the object there are %.2f times the counts that scatter and randoms "
		            "explain: is the map complete and registered, the energy window right?",
		            off);
	return record_pack("{s:f, s:f}", "counts", short_number(counts), "expected", short_number(expected));
}

static int tell(struct ray_problem *ray, const struct ray_seen *t, const double *v)
{
	double sum[PARTS] = { 0 };

	for (int p = 0; p < PARTS; p++)
		for (int i = 0; i < SEEN_PANEL; i++) sum[p] += v[p * SEEN_BINS + i];
	json_t *o = record_pack("{s:I, s:[f, f], s:[f, f], s:{s:f, s:f, s:f, s:f}, s:o, s:o, s:o, s:o}",
	                        "lines", (json_int_t)t->drawn, "s_mm", -t->s_mm, t->s_mm, "z_mm", t->z_mm[0],
	                        t->z_mm[1], "totals", "prompts", sum[0], "trues", sum[1], "scatter", sum[2],
	                        "randoms", t->randoms ? sum[3] : NAN, "beside", look_beside(ray, t, v),
	                        "over_s", profile(t, v, SEEN_S, 1, SEEN_PHI, SEEN_S), "over_z",
	                        profile(t, v + SEEN_PANEL, (int)t->nz, 1, 1, 0), "sinogram", panels(t, v));

	return json_object_set_new(ray->scatter.told, "seen", o) ? iso_fail_memory("record", 1) : ISO_OK;
}

static int finish(struct expected *q, int st)
{
	iso_ctx *ctx = q->ray->p->ctx;
	int64_t n = SEEN_KINDS * SEEN_BINS;
	iso_real *sum = NULL;
	double *v = NULL;

	if (q->ray->e.lists_all) st = iso_comm_sum(ctx, st, &q->t->drawn, 1);
	if ((st = iso_fixed_sum(&q->t->sum, ctx, st))) return st;
	if (!(st = model_vector(&sum, n, "profiles")) && !(v = calloc(PARTS * SEEN_BINS, sizeof *v)))
		st = iso_fail_memory("profiles", PARTS * SEEN_BINS * (int64_t)sizeof *v);
	if (!st) {
		iso_fixed_end(sum, &q->t->sum, ctx);
		take_counts(v, q->t, sum);
		st = tell(q->ray, q->t, v);
	}
	free(sum);
	free(v);
	return st;
}

int ray_seen(iso_problem *problem, const struct iso_array *image)
{
	struct ray_problem *ray = problem->self;
	struct expected q = { .ray = ray, .t = ray->scatter.seen };
	int st;

	if (!q.t || !ray->scatter.told) return ISO_OK;
	record_stage(problem->record, "profiles");
	for (int k = SEEN_TRUES; k < SEEN_KINDS; k++)
		q.t->unit[k] = ldexp(1, BITS - (int)ceil(log2(fmax(q.t->counts, 1))));
	if (!(st = blur(&q, image))) st = ray->e.lists_all ? expect_rows(&q) : expect_pairs(&q);
	st = finish(&q, st);
	iso_array_free(&q.x);
	ray_seen_free(q.t);
	ray->scatter.seen = NULL;
	record_stage(problem->record, NULL);
	return st;
}

void ray_seen_plan(struct ray_problem *ray, struct iso_plan *plan)
{
	bool cuda = iso_ctx_is_cuda(ray->p->ctx);

	iso_plan_add(plan, "profiles: their image", iso_grid_voxels(&ray->grid), sizeof(iso_real), false);
	iso_plan_add(plan, "profiles: some lines", BLOCK, ON_HOST, false);
	if (cuda) iso_plan_add(plan, "profiles: some lines", BLOCK, ON_DEVICE, true);
	if (cuda)
		iso_plan_add(plan, "profiles: image and map", iso_grid_voxels(&ray->grid), sizeof(iso_real),
		             true);
}
