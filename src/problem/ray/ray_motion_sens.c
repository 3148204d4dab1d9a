/* SPDX-License-Identifier: BSD-3-Clause */
/* The sensitivity of model ray of an object that moves: pieces of the frame, their weights, and what the record says. */
#include "model_ray.h"

#include "core/size.h"

#include <math.h>
#include <string.h>

#define LARGE_DEG 5   /* rotations above this turn an uneven PSF */
#define LINES_CPU 5e7 /* by lines, unless the user asks for an error: a minute or two on two cores */
#define WORSE 1.2     /* than the wanted error by so much is told */

void ray_pieces_free(struct ray_pieces *p)
{
	free(p->v);
	free(p->at[0]);
	free(p->at[1]);
	*p = (struct ray_pieces){ 0 };
}

bool ray_motion_in_sens(const struct ray_problem *ray)
{
	return ray->motion.all || ray_motion_attenuates(ray);
}

/* The frame in force, else the whole scan. */
static int span_of(struct iso_motion_span *span, const struct ray_problem *ray)
{
	const struct ray_motion *m = &ray->motion;
	const struct model_frame *f = &ray->frame;
	bool whole = f->all || !(f->to_s > f->from_s);

	*span = (struct iso_motion_span){ .size = sizeof *span,
		                          .from_s = whole ? 0 : f->from_s,
		                          .to_s = whole ? m->duration_s : f->to_s,
		                          .half_life_s = f->half_life_s,
		                          .live = 1 };
	if (m->duration_s > span->from_s) span->to_s = fmin(span->to_s, m->duration_s);
	if (span->to_s > span->from_s && isfinite(span->to_s)) return ISO_OK;
	return iso_fail(ISO_EARG, "an object that moves needs the duration of the scan: give 'duration-s'");
}

/* Adds the pieces of a span; the weights become `times` as large. */
static int add_pieces(struct ray_pieces *p, const struct ray_problem *ray, const struct iso_motion_span *span,
                      double times)
{
	const struct iso_grid *g = &ray->grid;
	double least = fmin(g->voxel[0], fmin(g->voxel[1], g->voxel[2]));
	struct iso_piece *part = NULL, *all;
	int64_t n = 0;
	int st = iso_motion_pieces(&part, &n, ray->motion.all, span, g, .25 * least);

	if (st) return st;
	if (!(all = size_alloc(p->n + n, sizeof *all))) {
		free(part);
		return iso_fail_memory("pieces", (p->n + n) * (int64_t)sizeof *all);
	}
	if (p->n > 0) memcpy(all, p->v, (size_t)p->n * sizeof *all);
	for (int64_t k = 0; k < n; k++) {
		all[p->n + k] = part[k];
		all[p->n + k].weight *= times;
	}
	free(part);
	free(p->v);
	p->v = all;
	p->n += n;
	return ISO_OK;
}

/* Decay and live time are in the factor of the frame, or of the gate: the weights are over the mean of exp(-kt) there. */
static int make_pieces(struct ray_pieces *p, const struct ray_problem *ray, int gate)
{
	const struct ray_gates *gates = &ray->gates;
	struct iso_motion_span span;
	double time = gate > 0 ? 0 : 1, mean = gate > 0 ? gates->part[gate - 1].mean : ray->motion.mean;
	int st = span_of(&span, ray);

	for (int64_t i = 0; i < (gate > 0 ? iso_gates_rows(gates->is.table) : 1) && !st; i++) {
		const struct iso_gate_row row = iso_gates_row(gates->is.table, i);
		struct iso_motion_span part = span;

		if (gate > 0) {
			part.from_s = fmax(span.from_s, row.from_s);
			part.to_s = fmin(span.to_s, row.to_s);
		}
		if ((gate > 0 && row.gate != gate - 1) || !(part.to_s > part.from_s)) continue;
		double length = gate > 0 ? part.to_s - part.from_s : 1;

		time += gate > 0 ? length : 0;
		st = add_pieces(p, ray, &part, length);
	}
	for (int64_t k = 0; k < p->n; k++) p->v[k].weight /= time * mean;
	if (st || p->n > 0) return st;
	if (gate > 0)
		return iso_fail(ISO_EINPUT, "gate %d: the pose is not known at any of its times", gate - 1);
	return iso_fail(ISO_EINPUT, "frame %d, from %g to %g s: the pose is not known at any of its times",
	                ray->frame.number > 0 ? ray->frame.number : 1, span.from_s, span.to_s);
}

/* Nothing moves, but a map stands beside 'mu'. */
static int one_piece(struct ray_pieces *p)
{
	if (!(p->v = size_alloc(1, sizeof *p->v))) return iso_fail_memory("pieces", sizeof *p->v);
	p->v[0] = (struct iso_piece){ .weight = 1, .z = iso_pose_identity() };
	p->n = 1;
	return ISO_OK;
}

/* Where a map was in the middle of each piece. */
static int make_maps(struct ray_pieces *p, const struct ray_problem *ray)
{
	for (int b = 0; b < 2; b++) {
		const struct ray_beside *beside = &ray->motion.beside[b];

		if (beside->mu.n == 0 || !beside->motion) continue;
		if (!(p->at[b] = size_alloc(p->n, sizeof *p->at[b])))
			return iso_fail_memory("pieces", p->n * (int64_t)sizeof *p->at[b]);
		for (int64_t k = 0; k < p->n; k++)
			if (!iso_motion_at(&p->at[b][k], beside->motion,
			                   .5 * (p->v[k].from_s + p->v[k].to_s)))
				return iso_fail(
					ISO_EINPUT,
					"the bed or the gantry is not known at %g s, though the object is",
					.5 * (p->v[k].from_s + p->v[k].to_s));
	}
	return ISO_OK;
}

int ray_pieces_make(struct ray_pieces *p, const struct ray_problem *ray)
{
	int st = ray->motion.all
	                 ? make_pieces(p, ray, ray->gates.in_sens ? ray->gates.in_sens : ray->frame.gate)
	                 : one_piece(p);

	return st ? st : make_maps(p, ray);
}

/* ---- what is told ---- */

static double turn_deg(const struct iso_pose *p)
{
	double trace = p->m[0] + p->m[5] + p->m[10];

	return acos(fmax(-1, fmin(1, .5 * (trace - 1)))) * (180 / M_PI);
}

static void warn_of_psf(const struct ray_problem *ray, const struct ray_pieces *p)
{
	const double *psf = ray->p->s.psf;
	double most = 0;

	if (psf[0] == psf[1] && psf[1] == psf[2]) return;
	for (int64_t k = 0; k < p->n; k++) most = fmax(most, turn_deg(&p->v[k].z));
	if (most > LARGE_DEG)
		record_warn(
			ray->p->record,
			"'psf' differs between the axes, and the object turns by up to %.1f degrees: the PSF "
			"turns with it",
			most);
}

static int tell(struct ray_problem *ray, const struct ray_pieces *p, const struct iso_ray_moved_info *is,
                double pairs)
{
	static const char *const ways[] = { "all pairs at all pieces", "by rings", "by lines" };
	double known = 0, way = 0;

	for (int64_t k = 0; k < p->n; k++) {
		known += p->v[k].weight;
		way = fmax(way, iso_motion_way(&p->v[0].z, &p->v[k].z, &ray->grid));
	}
	record_tell(ray->p->record, ISO_DETAIL,
	            "sensitivity of %" PRId64 " pieces of the scan, %s%s; corners move by up to %.3g mm",
	            p->n, ways[is->way], is->way == ISO_RAY_MOVED_LINES ? ", spread over the pairs" : "",
	            way);
	return record_result(ray->p->record, "sensitivity",
	                     record_pack("{s:f, s:I, s:s, s:I, s:f, s:f, s:f, s:f}", "pairs", pairs, "pieces",
	                                 (json_int_t)p->n, "way", ways[is->way], "pieces_of_a_pair",
	                                 (json_int_t)is->pieces, "lines_of_a_voxel", is->lines,
	                                 "relative_error", is->error, "known_share", known, "largest_way_mm",
	                                 way));
}

static void warn_of_error(const struct ray_problem *ray, const struct iso_ray_moved_info *is)
{
	double times = is->error / ray->motion.sens_error;

	if (times > WORSE)
		record_warn(
			ray->p->record,
			"the sensitivity of all poses is known to %.2g %% a voxel, and every update adds as "
			"much to the image; 'sens-error' %g makes it better in %.0f times the time",
			100 * is->error, ray->motion.sens_error, times * times);
}

static int check_seen(const struct ray_problem *ray, const iso_real *s)
{
	for (int64_t i = 0; i < iso_grid_voxels(&ray->grid); i++)
		if (s[i] > 0) return ISO_OK;
	return iso_fail(ISO_EINPUT,
	                "the sensitivity is 0 in every voxel: the poses take the image out of the scanner%s",
	                ray->motion.poses && !ray->motion.reference
	                        ? "; 'reference' says which pose is to be the identity"
	                        : "");
}

int ray_motion_sens(struct ray_problem *ray, iso_real *s, const struct iso_ray_sens *p)
{
	const struct ray_motion *m = &ray->motion;
	struct ray_pieces pieces = { 0 };
	struct iso_ray_moved_info is = { .size = sizeof is };
	int st = ray_pieces_make(&pieces, ray);

	struct iso_ray_sens_moved moved = { .size = sizeof moved,
		                            .sens = *p,
		                            .piece = pieces.v,
		                            .n = pieces.n,
		                            .budget = m->sens_budget,
		                            .error = m->sens_error };

	if (!(ray->share > 0)) moved.sens.share = 0;
	if (!iso_ctx_is_cuda(ray->p->ctx) && !problem_given(ray->p, "sens-error")) moved.most = LINES_CPU;
	for (int b = 0; b < 2; b++)
		if (m->beside[b].mu.n > 0)
			moved.beside[b] = (struct iso_ray_beside){ &m->beside[b].mu, pieces.at[b] };
	if (!st) st = iso_ray_sens_moved(s, &is, ray->p->ctx, &moved);
	if (!st) st = check_seen(ray, s);
	if (!st) warn_of_psf(ray, &pieces);
	if (!st) warn_of_error(ray, &is);
	if (!st) st = tell(ray, &pieces, &is, (double)iso_scanner_pairs(ray->s));
	ray_pieces_free(&pieces);
	return st;
}
