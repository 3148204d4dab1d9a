/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ray as both backends see it. */
#ifndef ISO_RAY_H
#define ISO_RAY_H

#include "isotome/motion.h"
#include "core/op.h"
#include "core/loop/order.h"
#include "core/loop/em_kern.h"
#include "ray_kern.h"
#include "physics/response/response_kern.h"

#define RAY_LINES 64 /* of an event, at most */

/* Rays that CUDA orders together, at most: so many that a subset of several packs costs no more than one, and so few that
   what ordering and a step take besides the packs stays small. */
#define RAY_PACK_RAYS (1 << 25)

#define RAY_GROUP 4 /* images that a ray carries at once on CUDA, in a step of several */

/* Several lines an event. Their ends lie on rectangles around its two points, one side along the tangent around z, the other
   along z; or where the crystals' response has them. A row is the mean over its lines. */
struct ray_spread {
	int lines;
	struct response_view response; /* p = 0: none */
	bool laid; /* the lines of a row are events of their own, one behind the other, and stay as they are */
	float off[RAY_LINES][4]; /* mm: end 1 across and along z, end 2 the same */
};

/* Data of the operator; on CUDA the arrays are device memory. */
struct ray_model {
	struct ray_grid grid;
	struct ray_tof tof;
	enum iso_projector projector;
	struct ray_spread spread;
	struct iso_order order;
	int64_t n;
	struct iso_event *e;           /* subset after subset */
	const struct iso_events *from; /* the caller's, while the operator is made, */
	struct ray_load *load;         /* or what the device has already: ray_load.h */
	int64_t *row;                  /* row of each; NULL: they stand in the operator's order */
	double ordering_s;             /* what ordering them took */
	const char *plain;             /* why CUDA traces them one by one; NULL: it does not */
	int subsets;                   /* of the list of events that these are all of, or a part */
};

/* Counts of all rows of a step, from which the scales of its sums follow. */
struct ray_counts {
	double sum, most; /* most: the largest of them */
	double rows;
};

/* A step over rows: x A*(y / (A x + a)), that of EM, or with `u` the sums u A*(new - rho) of one of ratios
   (iso_op_ratio_step). */
struct ray_step {
	const iso_real *x;
	const iso_real *u;       /* NULL: EM */
	struct ratio_rows ratio; /* rho: from the operator's first row on */
};

/* The sums of a step, image and statistics, as integers. Rows may come from several operators:
   it does not show in the result how they were dealt to them, nor in which order. */
struct ray_sum_fn {
	/* for a model whose `order` tells how many rows a step has, and `n` how many of them an
	   operator has at most; its events need not be there */
	int (*create)(void **sum, iso_ctx *ctx, const struct ray_model *m);
	void (*free)(void *sum);
	/* sums are 0; c: of all rows that will be added, by all ranks; p: the images, which stay as they are to the
	   end */
	int (*begin)(void *sum, const struct ray_counts *c, const struct ray_step *p);
	int (*add)(void *sum, const iso_op *op, int sub, const struct ray_step *p,
	           const struct iso_em_data *d);
	/* acc = x A*(y / (A x + a)), or A*(new - rho), over what was added, by all ranks; st: of what was done since
	   `begin`. Collective, see core/comm.h */
	int (*end)(iso_real *acc, struct iso_ratio_stat *s, void *sum, int st);
};

#ifdef __cplusplus
extern "C" {
#endif

/* ISO_EARG if the grid has more voxels than 32-bit indices reach. */
int iso_ray_grid(struct ray_grid *r, const struct iso_grid *g);

/* The model of p over n events, without them. */
int iso_ray_model(struct ray_model *m, const struct iso_ray *p, int64_t n);

/* iso_ray_create over a part of a longer list of events, which has `subsets` subsets. An event has the same
   numbers in whatever part of the list it is. laid: as iso_ray_create_laid. */
int iso_ray_create_part(iso_op **op, iso_ctx *ctx, const struct iso_ray *p, int subsets,
                        const struct iso_events *e, bool laid);

/* iso_ray_create over rows of p->rays lines each that are laid already: row j has the events from e->v + j p->rays on; e->n
   counts rows. */
int iso_ray_create_laid(iso_op **op, iso_ctx *ctx, const struct iso_ray *p, const struct iso_events *e);

/* iso_ray_create_part over events of an object that moves, as iso_ray_create_moved. On the CPU. */
int iso_ray_moved_part(iso_op **op, iso_ctx *ctx, const struct iso_ray *p, int subsets,
                       const struct iso_events *e, const iso_motion *m);

/* The operator over n events that the device has already, in its order. */
int iso_ray_create_loaded(iso_op **op, iso_ctx *ctx, const struct iso_ray *p, int64_t n,
                          struct ray_load *load);

/* A bad event has no ray, wherever its lines are spread to: it begins nowhere. */
struct iso_event iso_ray_event(const struct iso_event *e);

/* The events of rows first ... first + n - 1 of the model, from m->from. */
void iso_ray_take(struct iso_event *dst, const struct ray_model *m, const iso_ctx *ctx, int64_t first,
                  int64_t n);

/* ISO_EARG unless there can be an operator with these parameters over n events. */
int iso_ray_check(const struct iso_ray *p, int64_t n);

/* The lines of an event, over rectangles; ISO_EARG if there are more than RAY_LINES. */
int iso_ray_spread(struct ray_spread *s, int lines, const double mm[2]);

/* The same, or by the response of the scanner's crystals, which is borrowed; NULL: none. One line stays where it is, and the
   response only weighs pairs. */
int iso_ray_lines(struct ray_spread *s, int lines, const double mm[2], const iso_response *response,
                  const iso_scanner *scanner);

/* No weight of one voxel exceeds this. */
double iso_ray_largest_weight(const struct ray_grid *g, const struct ray_tof *tof);

/* A row adds so often to one voxel, at most. */
int iso_ray_times(const struct ray_model *m);

/* Voxels that a line meets, about. */
double iso_ray_visits(const struct ray_grid *g, const struct ray_tof *tof, enum iso_projector projector);

struct iso_rows iso_ray_rows(const iso_op *op, int sub);
int64_t iso_ray_file_row(const iso_op *op, int64_t row);

extern const struct iso_op_fn iso_ray_cpu_fn;
/* y[j] = x along event j, on the CPU, once and without an operator: where the cache holds x, it takes longer to
   order events than to trace them as they come. */
int iso_ray_cpu_sums(iso_real *y, iso_ctx *ctx, const struct ray_model *m, const struct iso_events *e,
                     const iso_real *x);
extern const struct ray_sum_fn iso_ray_cpu_sum;
#define ISO_RAY_SUM_CUDA "iso_ray_cuda_sum" /* the same on the device */

/* From those of this rank to those of all; collective. */
int iso_ray_counts(struct ray_counts *c, iso_ctx *ctx, int st);

/* Of the context's device. */
int iso_ray_sum(const struct ray_sum_fn **fn, const iso_ctx *ctx);

/* Rows of `rows` that CUDA orders together, at most: an eighth of the memory that is left holds what that takes. */
int64_t iso_ray_pack_rows(const iso_ctx *ctx, const struct ray_model *m, int64_t rows);

/* What n events take on CUDA, ordered, in subsets of `rows`; what an operator takes, and the sums of its steps; the
   model's events are not there yet. */
void iso_ray_pack_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct ray_model *m, int64_t rows,
                       int64_t n);
void iso_ray_part_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_ray *p, int64_t n);
void iso_ray_sum_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_ray *p, int64_t n);

/* Additions to voxels in a step, about: a subset is the least that an image is made from. */
double iso_ray_additions(const struct ray_model *m);

#ifdef __cplusplus
}
#endif

/* Moves an end across (around z) and along z; on the axis, where there is no tangent, along y. */
ISO_HD void ray_move_end(double p[3], double across, double along)
{
	double rho = sqrt(p[0] * p[0] + p[1] * p[1]);
	double tx = rho > 0 ? -p[1] / rho : 0, ty = rho > 0 ? p[0] / rho : 1;

	p[0] += across * tx;
	p[1] += across * ty;
	p[2] += along;
}

/* What the lines between two crystals share: the ends of the one between their nominal points. */
struct ray_between_crystals {
	double p1[3], p2[3];
	struct response_end end[2]; /* of a response */
	bool responds;              /* there is one, and a line */
};

ISO_HD void ray_begin_lines(struct ray_between_crystals *b, const struct ray_spread *s)
{
	b->responds =
		s->lines > 1 && s->response.p > 0 && response_ends_of(b->end, &s->response, b->p1, b->p2) > 0;
}

/* Ends of line `line` of their spread. */
ISO_HD void ray_line_ends(double p1[3], double p2[3], const struct ray_between_crystals *b,
                          const struct ray_spread *s, int line)
{
	for (int a = 0; a < 3; a++) {
		p1[a] = b->p1[a];
		p2[a] = b->p2[a];
	}
	if (b->responds) {
		response_move(p1, p2, &s->response, b->end, line);
	} else if (s->lines > 1 && s->response.p == 0) {
		ray_move_end(p1, s->off[line][0], s->off[line][1]);
		ray_move_end(p2, s->off[line][2], s->off[line][3]);
	}
}

/* From the line between two crystals to line `line` of their spread. */
ISO_HD void ray_move_ends(double p1[3], double p2[3], const struct ray_spread *s, int line)
{
	struct ray_between_crystals b;

	for (int a = 0; a < 3; a++) {
		b.p1[a] = p1[a];
		b.p2[a] = p2[a];
	}
	ray_begin_lines(&b, s);
	ray_line_ends(p1, p2, &b, s, line);
}

/* Places of a row among the events: one; one for each line that is laid; or two, the event and behind it, in dt_ps of the second,
   the share of tof.fwhm_ps that its own resolution is. */
ISO_HD int64_t ray_stored(const struct ray_model *m)
{
	return m->spread.laid ? m->spread.lines : 1 + m->tof.each;
}

/* The lines of the row whose events begin at e; of a row that is laid, nothing. */
ISO_HD struct ray_between_crystals ray_lines_of_event(const struct ray_model *m, const struct iso_event *e)
{
	struct ray_between_crystals b;

	for (int a = 0; a < 3; a++) {
		b.p1[a] = e->p1[a];
		b.p2[a] = e->p2[a];
	}
	if (m->spread.laid)
		b.responds = false;
	else
		ray_begin_lines(&b, &m->spread);
	return b;
}

/* Line `line` of that row, 0 <= line < spread.lines; its weights are to be divided by spread.lines. */
ISO_HD struct ray ray_of_lines(const struct ray_model *m, const struct iso_event *e,
                               const struct ray_between_crystals *b, int line)
{
	if (m->spread.laid) e += line;
	double p1[3] = { e->p1[0], e->p1[1], e->p1[2] }, p2[3] = { e->p2[0], e->p2[1], e->p2[2] };

	if (!m->spread.laid) ray_line_ends(p1, p2, b, &m->spread, line);
	return ray_setup_wide(&m->grid, p1, p2, &m->tof, e->dt_ps, m->tof.each ? e[1].dt_ps : 1.);
}

ISO_HD struct ray ray_of_event(const struct ray_model *m, const struct iso_event *e, int line)
{
	const struct ray_between_crystals b = ray_lines_of_event(m, e);

	return ray_of_lines(m, e, &b, line);
}

#endif
