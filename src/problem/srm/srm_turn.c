/* SPDX-License-Identifier: BSD-3-Clause */
/* Model srm of heads that turn: a histogram an angle, A_k = A W_k with W_k the rigid warp x -> G_k x on the heads' grid. S
   is the sum over k of w_k W_k* S of A, w_k the share of angle k in the time times its mean of exp(-kt). */
#include "model_srm.h"

#include "motion/warp.h"
#include "core/size.h"
#include "problem/inputs.h"

#include <math.h>

/* ---- the table ---- */

/* Times T_k from rows to the next ones, the last to the end of the scan; poses and times of known rows. */
static int take_rows(struct srm_turn *t, const iso_poses *p, bool decays)
{
	const int64_t rows = iso_poses_rows(p);

	if (t->duration_s > 0 && !(t->duration_s > iso_poses_time(p, rows - 1)))
		return iso_fail(ISO_EARG,
		                "'duration-s' is %g, must be above %g, when the last row of %s begins",
		                t->duration_s, iso_poses_time(p, rows - 1), t->gantry);
	if (!(t->duration_s > 0) && (rows > 1 || decays))
		return iso_fail(ISO_EARG, "'gantry' needs 'duration-s', when the last histogram ends");
	t->n = 0;
	for (int64_t k = 0; k < rows; k++) t->n += iso_poses_row(t->at + t->n, p, k);
	return t->n > 0 ? ISO_OK : iso_refuse(t->gantry, "no row is known: all are nan");
}

/* T_k times the mean of exp(-kt), over the same sum without decay and the mean over the scan, which the frame's factor has. */
static void take_weights(struct srm_turn *t, const iso_poses *p, double half_life_s)
{
	const int64_t rows = iso_poses_rows(p);
	double all = 0;
	struct iso_pose ignored;
	int known = 0;

	for (int64_t k = 0; k < rows; k++) {
		const double from = iso_poses_time(p, k), to = k + 1 < rows        ? iso_poses_time(p, k + 1)
		                                               : t->duration_s > 0 ? t->duration_s
		                                                                   : from + 1;

		if (!iso_poses_row(&ignored, p, k)) continue;
		t->weight[known++] = (to - from) * iso_decay_mean(half_life_s, from, to) /
		                     iso_decay_mean(half_life_s, 0, t->duration_s);
		all += to - from;
	}
	for (int k = 0; k < t->n; k++) t->weight[k] /= all;
}

/* Into the record: what a sensitivity image of these angles is known by, too. */
static int tell(struct srm_model *srm)
{
	const struct srm_turn *t = &srm->turn;
	iso_real *v = size_alloc(13 * (int64_t)t->n, sizeof *v);
	char hash[17];
	int st;

	if (!v) return iso_fail_memory("gantry", 13 * (int64_t)t->n * (int64_t)sizeof *v);
	for (int k = 0; k < t->n; k++) {
		for (int i = 0; i < 12; i++) v[13 * k + i] = (iso_real)t->at[k].m[i];
		v[13 * k + 12] = (iso_real)t->weight[k];
	}
	st = record_hash_values(hash, 13 * (int64_t)t->n, v);
	free(v);
	if (st) return st;
	return record_result(srm->p->record, "motion",
	                     record_pack("{s:b, s:I, s:s, s:o}", "moves", 1, "histograms", (json_int_t)t->n,
	                                 "hash", hash, "weights", record_reals(t->n, t->weight)));
}

int srm_turn_load(struct srm_model *srm)
{
	const struct iso_poses_options o = { .size = sizeof o, .kind = ISO_POSES_GANTRY };
	struct srm_turn *t = &srm->turn;
	iso_poses *p = NULL;
	int st;

	t->n = 1;
	if (!t->gantry) return ISO_OK;
	if ((st = input_poses(&p, srm->p->record, t->gantry, &o))) goto done;
	const int64_t rows = iso_poses_rows(p);

	if (rows > INT16_MAX) {
		st = iso_refuse(t->gantry, "%" PRId64 " rows, at most %d histograms can be used", rows,
		                INT16_MAX);
		goto done;
	}
	if (!(t->at = size_alloc(rows, sizeof *t->at)) || !(t->weight = size_alloc(rows, sizeof *t->weight)))
		st = iso_fail_memory("gantry", rows * (int64_t)sizeof *t->at);
	if (st || (st = take_rows(t, p, srm->p->s.frames.half_life_s > 0))) goto done;
	take_weights(t, p, srm->p->s.frames.half_life_s);
	st = tell(srm);
done:
	iso_poses_free(p);
	return st;
}

void srm_turn_free(struct srm_turn *t)
{
	free(t->at);
	free(t->weight);
}

/* ---- the operator ---- */

/* Where the heads stand as the scanner's description has them, the warp is 1 exactly. */
static bool stands(const struct iso_pose *p)
{
	const struct iso_pose one = iso_pose_identity();

	return memcmp(p, &one, sizeof one) == 0;
}

static struct iso_warp warp_of(const struct srm_model *srm, int k)
{
	const struct iso_pose *at = srm->turn.at + k;

	return (struct iso_warp){ .size = sizeof(struct iso_warp),
		                  .grid = srm->p->found.grid,
		                  .pose = stands(at) ? NULL : at,
		                  .name = srm->turn.gantry };
}

int srm_turn_op(struct srm_model *srm, iso_op **op)
{
	const int n = srm->turn.n;
	struct iso_warp *warp;
	iso_op *warps = NULL, *all = NULL;
	int st;

	if (!srm->turn.at) return ISO_OK;
	if (!(warp = size_alloc(n, sizeof *warp)))
		return iso_fail_memory("gantry", n * (int64_t)sizeof *warp);
	for (int k = 0; k < n; k++) warp[k] = warp_of(srm, k);
	if (!(st = iso_warps_create(&warps, srm->p->ctx, n, warp))) {
		iso_op_rest(warps); /* clones of it have work space */
		st = iso_stack_create(&all, *op, warps, false);
	}
	free(warp);
	iso_op_free(warps);
	iso_op_free(*op); /* the stack keeps it */
	*op = all;
	return st;
}

void srm_turn_plan(struct srm_model *srm, struct iso_plan *plan)
{
	if (!srm->turn.at) return;
	struct iso_warp p = warp_of(srm, 0);

	p.pose = srm->turn.at; /* takes no memory, as none of them does */
	iso_warps_plan(plan, srm->p->ctx, srm->turn.n, &p);
	iso_stack_plan(plan, srm->p->ctx, iso_grid_voxels(&p.grid));
}
