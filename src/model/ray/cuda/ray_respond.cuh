/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the two passes of a step through bricks: from sums along rays to what they send back. */
#ifndef ISO_RAY_RESPOND_CUH
#define ISO_RAY_RESPOND_CUH

#include "core/loop/em.cuh"
#include "ray_brick.cuh"

/* The sums of a step. */
struct ray_sum {
	struct iso_room room;
	iso_ctx *ctx;
	bool may_brick, bricks; /* whether the model is for bricks; and the step in hand */
	struct iso_fixed_cuda acc;
	struct em_scales scales;
	struct em_tally *tally; /* on the device */
	const iso_real *u;      /* of a step of ratios; NULL: one of EM */
	double most;            /* its bound of a term */
	double times;           /* that a row adds to a voxel */
};

/* One pack: forward, response, back, added to the sums. */
int iso_ray_pack_step(const struct ray_sum *sum, iso_ctx *ctx, const struct ray_model *m,
                      struct ray_brick_work *w, const struct ray_pack *p, const struct ray_step *q,
                      const struct iso_em_data *d);

/* What a row sends back: of EM, and of ratios. */
struct em_response {
	__device__ double operator()(struct iso_em_stat *s, const struct iso_em_data *d, int64_t row,
	                             double ax) const
	{
		return em_respond(s, d, row, ax);
	}

	/* Greatest value of the image that goes back. */
	__device__ float limit(const struct ray_brick_work &w) const
	{
		return *w.limit;
	}

	__device__ float stored(double send) const
	{
		return (float)send;
	}
};

/* However large it is, 0 times it is 0. */
struct ratio_response {
	struct ratio_rows ratio;

	__device__ double operator()(struct iso_em_stat *s, const struct iso_em_data *d, int64_t row,
	                             double ax) const
	{
		return ratio_respond(s, &ratio, row, d, row, ax);
	}

	__device__ float limit(const struct ray_brick_work &w) const
	{
		return *w.limit_u;
	}

	__device__ float stored(double send) const
	{
		return (float)fmin(fmax(send, -(double)FLT_MAX), (double)FLT_MAX);
	}
};

/* One ray a row, in the order of slots. */
template <class RESPONSE>
static __device__ void respond_in_slots(const struct ray_pack &p, const struct ray_brick_work &w,
                                        double sum_scale, const struct iso_em_data &d,
                                        const struct ray_sum &sum, RESPONSE respond)
{
	struct em_tally tally = ISO_ZERO;
	double up = ray_brick_up(*w.limit), unit = 1 / (sum_scale * up);
	double out = sum.acc.scale / ray_brick_up(respond.limit(w));

	ISO_GRID_LOOP (i, p.slots) {
		if (p.ray[i] == RAY_NO_RAY) continue;
		struct iso_em_stat row = ISO_ZERO;
		double ax = (double)(long long)w.sum[i] * unit * p.factor[i];

		w.send[i] =
			respond.stored(respond(&row, &d, p.rows.first + p.ray[i], ax) * p.factor[i] * out);
		em_tally_row(&tally, sum.scales, &row);
	}
	em_leave_tally(sum.tally, &tally);
}

template <class RESPONSE>
static __global__ void respond_slots(struct ray_pack p, struct ray_brick_work w, double sum_scale,
                                     struct iso_em_data d, struct ray_sum sum, RESPONSE respond)
{
	respond_in_slots(p, w, sum_scale, d, sum, respond);
}

/* Row r of a pack times the image: the mean over its lines. unit: of the sums. */
static __device__ double mean_of_lines(const struct ray_pack *p, const unsigned long long *sum, int64_t r,
                                       double unit)
{
	double ax = 0;

	for (int64_t i = r * p->lines; i < (r + 1) * p->lines; i++)
		ax += (double)(long long)sum[p->slot[i]] * p->factor[p->slot[i]];
	return ax * unit / p->lines;
}

/* Several rays a row, in the order of rows. */
template <class RESPONSE>
static __device__ void respond_in_rows(const struct ray_pack &p, const struct ray_brick_work &w,
                                       double sum_scale, const struct iso_em_data &d,
                                       const struct ray_sum &sum, RESPONSE respond)
{
	struct em_tally tally = ISO_ZERO;
	double up = ray_brick_up(*w.limit), unit = 1 / (sum_scale * up);
	double out = sum.acc.scale / ray_brick_up(respond.limit(w)) / p.lines;

	ISO_GRID_LOOP (r, p.rows.n) {
		struct iso_em_stat row = ISO_ZERO;
		double send = respond(&row, &d, p.rows.first + r, mean_of_lines(&p, w.sum, r, unit)) * out;

		for (int64_t i = r * p.lines; i < (r + 1) * p.lines; i++)
			w.send[p.slot[i]] = respond.stored(send * p.factor[p.slot[i]]);
		em_tally_row(&tally, sum.scales, &row);
	}
	em_leave_tally(sum.tally, &tally);
}

template <class RESPONSE>
static __global__ void respond_lines(struct ray_pack p, struct ray_brick_work w, double sum_scale,
                                     struct iso_em_data d, struct ray_sum sum, RESPONSE respond)
{
	respond_in_rows(p, w, sum_scale, d, sum, respond);
}

#endif
