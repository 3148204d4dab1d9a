/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ray: from what the user asks for to the operator. The loops are in ray_cpu.c and ray.cu. */
#include "ray_integrals.h"
#include "ray_near.h"
#include "ray_scratch.h"
#include "core/loop/fixed.h"
#include "core/size.h"
#include "core/sized.h"
#include "physics/response/response.h"

int iso_ray_grid(struct ray_grid *r, const struct iso_grid *g)
{
	int st = iso_grid_check(g);

	if (st) return st;
	if (iso_grid_voxels(g) > INT32_MAX)
		return iso_fail(ISO_EARG, "ray: the grid has %" PRId64 " voxels, at most %d are possible",
		                iso_grid_voxels(g), INT32_MAX);
	for (int a = 0; a < 3; a++) {
		r->n[a] = (int)g->n[a];
		r->voxel[a] = g->voxel[a];
		r->low[a] = g->centre[a] - .5 * (double)g->n[a] * g->voxel[a];
		r->stride[a] = a == 0 ? 1 : r->stride[a - 1] * r->n[a - 1];
	}
	return ISO_OK;
}

static double diagonal(const struct ray_grid *g)
{
	return sqrt(g->voxel[0] * g->voxel[0] + g->voxel[1] * g->voxel[1] + g->voxel[2] * g->voxel[2]);
}

double iso_ray_largest_weight(const struct ray_grid *g, const struct ray_tof *tof)
{
	return tof && tof->measure == RAY_TOF ? 2 * tof->norm : diagonal(g);
}

/* A line has one piece in a voxel; at a corner of the grid the four voxels around a sample may be one. */
int iso_ray_times(const struct ray_model *m)
{
	return m->spread.lines * (m->projector == ISO_JOSEPH ? 4 : 1);
}

/* Slices along the longest axis, or those in a TOF window; 1.6 chords a slice (measured: 1.55 in a
   short scanner, 1.86 in a long one), or four voxels around a sample. */
double iso_ray_visits(const struct ray_grid *g, const struct ray_tof *tof, enum iso_projector projector)
{
	int a = g->n[1] > g->n[0];

	a = g->n[2] > g->n[a] ? 2 : a;
	double window = tof && tof->measure != RAY_LENGTH ? 2 * tof->half / g->voxel[a] : INFINITY;

	return fmin(g->n[a], window) * (projector == ISO_JOSEPH ? 4 : 1.6);
}

struct iso_rows iso_ray_rows(const iso_op *op, int sub)
{
	const struct ray_model *m = op->data;

	return order_rows(&m->order, sub);
}

int64_t iso_ray_file_row(const iso_op *op, int64_t row)
{
	const struct ray_model *m = op->data;

	return order_event(&m->order, row);
}

double iso_ray_ordering_s(const iso_op *op)
{
	if (!op) return 0;

	const struct ray_model *m = op->data;

	return m->ordering_s;
}

const char *iso_ray_plain(const iso_op *op)
{
	if (!op) return NULL;

	const struct ray_model *m = op->data;

	return m->plain;
}

/* ---- options ---- */

static int check_tof(const struct iso_ray *p)
{
	if (!(p->tof_fwhm_ps >= 0) || !isfinite(p->tof_fwhm_ps))
		return iso_fail(ISO_EARG, "ray: TOF resolution is %g ps, must be 0 (none) or above",
		                p->tof_fwhm_ps);
	if (!(p->tof_truncate >= 0) || !isfinite(p->tof_truncate))
		return iso_fail(ISO_EARG, "ray: TOF truncation is %g sigma, must be 0 (none) or above",
		                p->tof_truncate);
	if (!(p->tof_bin_ps >= 0) || !isfinite(p->tof_bin_ps))
		return iso_fail(ISO_EARG, "ray: TOF bins are %g ps wide, must be 0 (none) or above",
		                p->tof_bin_ps);
	if (p->tof_each && !(p->tof_fwhm_ps > 0))
		return iso_fail(ISO_EARG, "ray: events have TOF resolutions of their own (tof_each), but "
		                          "tof_fwhm_ps is 0: no time of flight is used");
	if (p->tof_each && p->tof_bin_ps > 0)
		return iso_fail(ISO_EARG, "ray: events have TOF resolutions of their own (tof_each): their "
		                          "times can't be in bins");
	return ISO_OK;
}

/* The Gaussian ends where float, or double, can't tell erf from 1. */
#define ERF_IS_ONE (sizeof(iso_real) == sizeof(float) ? 4. : 6.)

/* sigma = FWHM c / 2 / (2 sqrt(2 ln 2)) mm; cut at k sigma and rescaled by 1 / erf(k / sqrt 2). */
static void set_tof(struct ray_tof *t, const struct iso_ray *p, const struct ray_grid *g)
{
	double k = p->tof_truncate, cut = fmin(ERF_IS_ONE, k > 0 ? k / RAY_SQRT2 : INFINITY);

	if (p->tof_fwhm_ps == 0) return;
	t->measure = p->tof_bin_ps > 0 ? RAY_TOF_BIN : RAY_TOF;
	t->each = p->tof_each;
	t->fwhm_ps = p->tof_fwhm_ps;
	t->sigma = p->tof_fwhm_ps * ISO_C_MM_PER_PS / 2 / ISO_FWHM_PER_SIGMA;
	t->bin = p->tof_bin_ps * ISO_C_MM_PER_PS / 2;
	t->centred = p->tof_centred;
	t->half = k > 0 ? k * t->sigma + t->bin / 2 : INFINITY;
	t->norm = (iso_real)(.5 / (k > 0 ? erf(k / RAY_SQRT2) : 1));
	t->cut = (iso_real)cut;
	t->scale = (iso_real)(RAY_SQRT2 * t->sigma);
	t->shift = (iso_real)(t->bin / 2 / (RAY_SQRT2 * t->sigma));
	/* the longest stretch is a voxel's diagonal, or 2 cut sqrt2 sigma if that is shorter */
	t->parts = (int)ceil(2 * fmin(diagonal(g) / t->sigma, 2 * RAY_SQRT2 * cut));
}

/* Points of a Latin hypercube: each of the four coordinates takes the middle of every one of n
   equal parts once, in the order of the multiples of an irrational number, mod 1. So the mean of
   the lines is the line between the crystals' centres. */
static void set_spread(struct ray_spread *s, int lines, const double mm[2])
{
	static const double step[4] = { 1.4142135623730951, 1.7320508075688772, 2.6457513110645907,
		                        2.2360679774997896 }; /* roots of 2, 3, 7, 5 */

	s->lines = lines > 1 ? lines : 1;
	s->response = (struct response_view){ 0 };
	for (int c = 0; c < 4 && s->lines > 1; c++)
		for (int i = 0; i < s->lines; i++) {
			int rank = 0;

			for (int j = 0; j < s->lines; j++)
				rank += fmod((j + 1) * step[c], 1) < fmod((i + 1) * step[c], 1);
			s->off[i][c] = (float)(((rank + .5) / s->lines - .5) * mm[c % 2]);
		}
}

static int check_spread(int lines, const double mm[2])
{
	if (lines < 0 || lines > RAY_LINES)
		return iso_fail(ISO_EARG, "ray: %d lines per event, must be 0 to %d", lines, RAY_LINES);
	for (int i = 0; i < 2; i++)
		if (!(mm[i] >= 0) || !isfinite(mm[i]))
			return iso_fail(ISO_EARG, "ray: crystal faces are %g x %g mm, must be 0 or above",
			                mm[0], mm[1]);
	return ISO_OK;
}

int iso_ray_spread(struct ray_spread *s, int lines, const double mm[2])
{
	int st = check_spread(lines, mm);

	if (!st) set_spread(s, lines, mm);
	return st;
}

int iso_ray_lines(struct ray_spread *s, int lines, const double mm[2], const iso_response *response,
                  const iso_scanner *scanner)
{
	int p = 0;

	if (!response) return iso_ray_spread(s, lines, mm);
	if (!scanner) return iso_fail(ISO_EARG, "ray: a table of response needs the scanner that it is of");
	while (p * p < lines) p++;
	if (lines > 1 && lines != p * p)
		return iso_fail(ISO_EARG, "ray: %d lines an event by a response, must be 9, 25 or 49", lines);
	s->lines = lines > 1 ? lines : 1;
	return response_view(&s->response, response, scanner, lines > 1 ? p : 3);
}

int iso_ray_check(const struct iso_ray *p, int64_t n)
{
	if (n < 1) return iso_fail(ISO_EARG, "ray: there are no events");
	if (p->n_sub < 1 || p->n_sub > n)
		return iso_fail(ISO_EARG,
		                "ray: %d subsets of %" PRId64 " events; must be 1 to the number of events",
		                p->n_sub, n);
	if (p->projector != ISO_SLICE && p->projector != ISO_JOSEPH)
		return iso_fail(ISO_EARG, "ray: there is no projector %d", (int)p->projector);
	if (p->rule != ISO_INTERLEAVED && p->rule != ISO_BLOCKS && p->rule != ISO_RANDOM)
		return iso_fail(ISO_EARG, "ray: there is no subset rule %d", (int)p->rule);
	int st = check_tof(p);

	return st ? st : check_spread(p->rays, p->spread_mm);
}

/* ---- the operator ---- */

struct iso_event iso_ray_event(const struct iso_event *e)
{
	struct iso_event r = *e;

	if (iso_event_bad(e)) r.p1[0] = NAN;
	return r;
}

/* As ray_of_event reads it. A resolution that is the scanner's but for the rounding to a float is 1. */
static struct iso_event width_of(const struct ray_model *m, int64_t at)
{
	const iso_real own = m->from->fwhm_ps[at];
	const bool same = (float)own == (float)m->tof.fwhm_ps;

	return (struct iso_event){ .dt_ps = same ? 1 : (float)((double)own / m->tof.fwhm_ps) };
}

void iso_ray_take(struct iso_event *dst, const struct ray_model *m, const iso_ctx *ctx, int64_t first,
                  int64_t n)
{
	const int64_t each = ray_stored(m), lines = each - m->tof.each;

#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t i = 0; i < n; i++) {
		const int64_t at = order_event(&m->order, first + i);

		for (int64_t k = 0; k < lines; k++)
			dst[each * i + k] = iso_ray_event(m->from->v + lines * at + k);
		if (m->tof.each) dst[each * i + lines] = width_of(m, at);
	}
}

int iso_ray_model(struct ray_model *m, const struct iso_ray *p, int64_t n)
{
	int st = iso_ray_grid(&m->grid, &p->grid);

	if (st) return st;
	m->projector = p->projector;
	m->n = n;
	m->order = (struct iso_order){ .n = n, .n_sub = p->n_sub, .rule = p->rule, .seed = p->seed };
	m->subsets = p->n_sub;
	set_tof(&m->tof, p, &m->grid);
	return iso_ray_lines(&m->spread, p->rays, p->spread_mm, p->response, p->scanner);
}

/* Resolutions of single events are there, and can be. */
static int check_widths(const struct iso_events *e, const iso_ctx *ctx)
{
	const iso_real *v = e->fwhm_ps;
	int64_t bad = e->n;

	if (!v && e->n > 0) return iso_fail(ISO_EARG, "ray: tof_each needs fwhm_ps of the events");
#pragma omp parallel for num_threads(ctx->threads) reduction(min : bad)
	for (int64_t j = 0; j < e->n; j++)
		if (!(v[j] > 0) || !isfinite(v[j])) bad = j < bad ? j : bad;
	if (bad == e->n) return ISO_OK;
	return iso_fail(ISO_EARG, "ray: TOF resolution of event %" PRId64 " is %g ps, must be above 0", bad,
	                (double)v[bad]);
}

/* The model of the events, of a list that has `subsets`, and on the CPU the events, in `room`. */
static int make_model(struct ray_model **out, struct iso_room *room, const struct iso_ray *p,
                      const struct order_list *l, int subsets, const struct iso_events *e, bool laid)
{
	struct ray_model model = { .e = NULL }, *m;
	iso_ctx *ctx = room->ctx;
	int st;

	if ((st = iso_ray_check(p, l->total)) || (st = iso_ray_model(&model, p, l->total)) ||
	    (p->tof_each && (st = check_widths(e, ctx))))
		return st;
	if (laid && p->tof_each)
		return iso_fail(ISO_EARG, "ray: several lines an event of an object that moves have one TOF "
		                          "resolution, not one of each event");
	model.spread.laid = laid;
	model.n = e->n;
	model.subsets = subsets;
	model.from = e;
	const struct order_parts parts = { p->part ? p->parts : 0, p->part };

	if (l->part && (st = iso_order_part(&model.order, room, ctx, e->n, p->number, l->before, &parts)))
		return st;
	if (!iso_ctx_is_cuda(ctx)) {
		ISO_HOST(room, model.e, e->n * ray_stored(&model));
		ISO_HOST(room, model.row, e->n);
	}
	if (!ISO_HOST(room, m, 1)) return room->status;
	*m = model;
	*out = m;
	return m->row ? iso_ray_near(m, ctx) : ISO_OK;
}

static int make(iso_op **op, iso_ctx *ctx, const struct iso_ray *p, const struct order_list *l, int subsets,
                const struct iso_events *e, struct ray_load *load, bool laid)
{
	struct iso_room room = { .ctx = ctx, .what = "ray events" };
	struct ray_model *m = NULL;
	int st = make_model(&m, &room, p, l, subsets, e, laid);

	if (st) {
		iso_room_free(&room);
		return st;
	}
	m->load = load;
	return iso_op_create_in(op, ctx, &iso_ray_cpu_fn, iso_grid_voxels(&p->grid), e->n, m->order.n_sub,
	                        &room, m);
}

int iso_ray_create_part(iso_op **op, iso_ctx *ctx, const struct iso_ray *p, int subsets,
                        const struct iso_events *e, bool laid)
{
	return make(op, ctx, p, &(struct order_list){ .total = e->n }, subsets, e, NULL, laid);
}

int iso_ray_create_loaded(iso_op **op, iso_ctx *ctx, const struct iso_ray *p, int64_t n,
                          struct ray_load *load)
{
	const struct iso_events e = { .n = n };

	return make(op, ctx, p, &(struct order_list){ .total = n }, p->n_sub, &e, load, false);
}

static int check_parts(const struct iso_ray *p)
{
	if (!p->part || (p->parts >= 1 && p->n_sub >= 1 && p->parts <= INT32_MAX / p->n_sub)) return ISO_OK;
	return iso_fail(ISO_EARG, "ray: %d parts of %d subsets, must be at least 1 and fit a number",
	                p->parts, p->n_sub);
}

static int create(iso_op **op, iso_ctx *ctx, const struct iso_ray *p, const struct iso_events *e, bool laid)
{
	struct order_list l;
	struct iso_ray full = { 0 };
	iso_op *made = NULL;
	int st = iso_sized_take(&full, "iso_ray", sizeof full, p);

	st = iso_order_ranks(&l, ctx, st, "ray", e->n, full.number, full.total);
	if (full.part) l.part = true;
	if (!st) st = check_parts(&full);
	if (!st) st = make(&made, ctx, &full, &l, full.n_sub * (full.part ? full.parts : 1), e, NULL, laid);
	if (!st) made->rows_split = iso_ranks(ctx) > 1;
	return iso_op_agree(op, made, ctx, st);
}

int iso_ray_create(iso_op **op, iso_ctx *ctx, const struct iso_ray *p, const struct iso_events *e)
{
	return op && ctx && p && e ? create(op, ctx, p, e, false) : iso_fail_null(__func__);
}

int iso_ray_create_laid(iso_op **op, iso_ctx *ctx, const struct iso_ray *p, const struct iso_events *e)
{
	return create(op, ctx, p, e, true);
}

/* Bytes a line, as ordered for the fast EM step: its ends and slopes, its factor, its number; what Joseph's samples
   need; its slot if an event has several. In the lists of a brick: half of the lines stand in packets, of which a number is
   enough. Of a pack in hand, a line's sum and what it sends back; and while the pack is made, keys and numbers of the sort,
   its share of a hull, and lists that are not yet as short as they can be. */
enum { CUDA_ORDERED = 40, CUDA_JOSEPH = 16, CUDA_SLOT = 4, CUDA_SUMS = 12, CUDA_NUMBER = 4 };
enum { CUDA_SORT = 18, CUDA_FOUND = 3 };
#define CUDA_LISTED 1.6

/* Bricks that a ray crosses: slabs of 16 slices (8 with TOF, or where a brick holds several images), and about 4 in 10 more. */
static int64_t bricks_of_ray(const struct ray_model *m, int images)
{
	double slices = fmax(m->grid.n[0], m->grid.n[1]), thick = images > 1 ? 8 : 16;

	if (m->tof.measure != RAY_LENGTH && isfinite(m->tof.half)) {
		slices = fmin(slices, 2 * m->tof.half / fmin(m->grid.voxel[0], m->grid.voxel[1]));
		thick = 8;
	}
	return (int64_t)(1.4 * (slices / thick + 1)) + 1;
}

static int64_t ordered_bytes(const struct ray_model *m)
{
	int64_t lines = m->spread.lines;

	return lines *
	       (CUDA_ORDERED + (lines > 1 ? CUDA_SLOT : 0) + (m->projector == ISO_JOSEPH ? CUDA_JOSEPH : 0));
}

static int64_t listed_bytes(const struct ray_model *m, int images)
{
	return (int64_t)(m->spread.lines * CUDA_LISTED * (double)bricks_of_ray(m, images));
}

int64_t iso_ray_event_bytes(const iso_ctx *ctx, const struct iso_ray *p)
{
	struct ray_model m = { .n = 1 };

	if (iso_ray_model(&m, p, 1)) return 0;
	if (!iso_ctx_is_cuda(ctx))
		return (int64_t)sizeof(struct iso_event) * (1 + m.tof.each) + (int64_t)sizeof *m.row;
	return ordered_bytes(&m) + listed_bytes(&m, 1);
}

int64_t iso_ray_held_bytes(const struct iso_ray *p)
{
	struct ray_model m = { .n = 1 };

	return iso_ray_model(&m, p, 1) ? 0
	                               : (int64_t)sizeof(struct iso_event) + CUDA_NUMBER * m.spread.lines +
	                                         listed_bytes(&m, 1);
}

/* Of a row of a pack in hand. */
static int64_t work_bytes(const struct ray_model *m)
{
	return (int64_t)sizeof(struct iso_event) * (1 + m->tof.each) +
	       m->spread.lines * (CUDA_SUMS + CUDA_SORT + CUDA_FOUND * bricks_of_ray(m, 1));
}

int64_t iso_ray_pack_rows(const iso_ctx *ctx, const struct ray_model *m, int64_t rows)
{
	enum { SHARE = 8, LEAST = 1 << 14 };
	int64_t most = RAY_PACK_RAYS / m->spread.lines, left, fit;

	if (iso_ctx_device_left(ctx, &left) == ISO_OK && (fit = left / SHARE / work_bytes(m)) < most)
		most = fit > LEAST ? fit : LEAST;
	return rows < most ? rows : most;
}

void iso_ray_pack_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct ray_model *m, int64_t rows,
                       int64_t n)
{
	iso_plan_add(plan, "events, ordered", n, ordered_bytes(m), true);
	iso_plan_add(plan, "events of each brick", n, listed_bytes(m, 1), true);
	iso_plan_add(plan, "events that are ordered together, and their sums",
	             iso_ray_pack_rows(ctx, m, rows), work_bytes(m), true);
}

void iso_ray_many_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_ray *p, int64_t n)
{
	struct ray_model m = { .n = n };
	struct iso_ray full;

	if (!iso_ctx_is_cuda(ctx) || iso_sized_take(&full, "iso_ray", sizeof full, p) ||
	    iso_ray_model(&m, &full, n))
		return; /* iso_ray_create will say what is wrong */
	/* an image and its sum; a sum and what it sends back; to find rays takes more than for one image */
	int64_t voxel = RAY_GROUP * (int64_t)(sizeof(float) + sizeof(int64_t));
	int64_t found = CUDA_FOUND * (bricks_of_ray(&m, RAY_GROUP) - bricks_of_ray(&m, 1));

	iso_plan_add(plan, "several images, and their sums", iso_grid_voxels(&full.grid), voxel, true);
	iso_plan_add(plan, "events of each brick, for several images", n, listed_bytes(&m, RAY_GROUP), true);
	iso_plan_add(plan, "sums of events, for several images",
	             iso_ray_pack_rows(ctx, &m, n / full.n_sub + 1),
	             m.spread.lines * (RAY_GROUP * CUDA_SUMS + found), true);
}

double iso_ray_additions(const struct ray_model *m)
{
	return iso_ray_visits(&m->grid, &m->tof, m->projector) * m->spread.lines *
	       (double)order_most_rows(&m->order);
}

void iso_ray_sum_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_ray *p, int64_t n)
{
	struct ray_model m = { .n = n };
	bool cuda = iso_ctx_is_cuda(ctx);

	if (iso_ray_model(&m, p, n)) return; /* iso_ray_create will say what is wrong */
	int64_t voxels = iso_grid_voxels(&p->grid);
	int64_t copies = cuda ? 1 : iso_fixed_copies(ctx, voxels, iso_ray_additions(&m));

	iso_plan_add(plan, "fixed-point image", voxels, (int64_t)sizeof(int64_t) * copies, cuda);
}

void iso_ray_part_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_ray *p, int64_t n)
{
	struct ray_model m = { .n = n };
	bool cuda = iso_ctx_is_cuda(ctx);

	if (iso_ray_model(&m, p, n)) return; /* iso_ray_create will say what is wrong */
	if (cuda) {
		iso_ray_pack_plan(plan, ctx, &m, n / p->n_sub + 1, n);
		return;
	}
	iso_plan_add(plan, "events, in order of subsets", n,
	             (int64_t)sizeof(struct iso_event) * (1 + m.tof.each), false);
	iso_plan_add(plan, "rows of the events", n, sizeof *m.row, false);
	int64_t most = order_rows(&m.order, 0).n;

	iso_plan_add(plan, "ordering the events, for a while",
	             most < ISO_RAY_NEAR_PIECE ? most : ISO_RAY_NEAR_PIECE,
	             ISO_RAY_NEAR_BYTES + (m.tof.each ? (int64_t)sizeof(struct iso_event) : 0), false);
}

void iso_ray_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_ray *p, int64_t n)
{
	struct iso_ray full;

	if (iso_sized_take(&full, "iso_ray", sizeof full, p)) return; /* iso_ray_create will say so */
	iso_ray_part_plan(plan, ctx, &full, n);
	iso_ray_sum_plan(plan, ctx, &full, n);
}

int iso_ray_counts(struct ray_counts *c, iso_ctx *ctx, int st)
{
	double sums[2] = { c->sum, c->rows };

	st = iso_comm_sum_real(ctx, st, sums, 2);
	c->sum = sums[0];
	c->rows = sums[1];
	return st ? st : iso_comm_max(ctx, st, &c->most, 1);
}

int iso_ray_sum(const struct ray_sum_fn **fn, const iso_ctx *ctx)
{
	void *cuda = NULL;
	int st = iso_ctx_is_cuda(ctx) ? iso_cuda_symbol(&cuda, ISO_RAY_SUM_CUDA) : ISO_OK;

	*fn = cuda ? cuda : &iso_ray_cpu_sum;
	return st;
}

#define CACHED (1 << 21) /* bytes: an image that a core's own cache holds, about */

int iso_ray_integrals(iso_real *y, iso_ctx *ctx, const struct iso_ray *p, const iso_real *image,
                      const struct iso_events *e)
{
	struct iso_room room = { .ctx = ctx, .what = "integrals along lines" };
	struct ray_model m = { .n = e->n };
	int64_t voxels = iso_grid_voxels(&p->grid);
	iso_real *x, *sum;
	iso_op *op = NULL;
	int st = iso_ray_check(p, e->n);

	if (!st && !iso_ctx_is_cuda(ctx) && !p->tof_each && voxels * (int64_t)sizeof *image <= CACHED) {
		st = iso_ray_model(&m, p, e->n);
		return st ? st : iso_ray_cpu_sums(y, ctx, &m, e, image);
	}
	if (st || (st = iso_ray_create_part(&op, ctx, p, 1, e, false))) return st;
	ISO_UPLOAD(&room, x, image, voxels);
	ISO_DEVICE(&room, sum, e->n);
	if (!(st = room.status) && !(st = iso_forward(sum, op, ISO_ALL, x)))
		st = ctx->vec->download(ctx, y, sum, e->n * (int64_t)sizeof *y);
	iso_room_free(&room);
	iso_op_free(op);
	return st;
}

int iso_ray_attenuation(iso_real *alpha, iso_ctx *ctx, const struct iso_array *mu, const struct iso_events *e)
{
	if (!alpha || !ctx || !mu || !e) return iso_fail_null(__func__);
	bool none = e->n == 0 && iso_ranks(ctx) > 1; /* of a rank that has no events */
	const struct iso_ray p = { .size = sizeof p, .grid = mu->grid, .n_sub = 1 };
	int st = none ? ISO_OK : iso_ray_integrals(alpha, ctx, &p, mu->v, e);

#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t j = 0; j < (st ? 0 : e->n); j++) alpha[j] = (iso_real)exp(-(double)alpha[j]);
	return st;
}
