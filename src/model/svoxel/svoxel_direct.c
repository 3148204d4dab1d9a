/* SPDX-License-Identifier: BSD-3-Clause */
/* Model svoxel on the CPU term by term: the reference of the fast transform, in double. A phase
   goes from line to line by one complex product. */
#include "svoxel.h"

#include "core/comm.h"

#include <complex.h>

#ifndef CMPLX /* glibc 2.36 has it for gcc alone */
#	define CMPLX(re, im) __builtin_complex((double)(re), (double)(im))
#endif

/* exp(j 2 pi f t) at one line after the other. */
struct phase {
	double complex now, step;
};

/* exp(j 2 pi cycles) */
static double complex unit(double cycles)
{
	double a = 2 * M_PI * (cycles - rint(cycles));

	return CMPLX(cos(a), sin(a));
}

static struct phase phase_of(const struct svoxel *p, double t_us)
{
	return (struct phase){ unit(svoxel_line_mhz(p, 0) * t_us), unit(p->df_mhz * t_us) };
}

static double complex advance(struct phase *a)
{
	double complex z = a->now;

	a->now *= a->step;
	return z;
}

/* sin(pi f t)/(pi f t), the sine being the phase's at t/2; f t in cycles. */
static double sinc(struct phase *a, double cycles)
{
	double x = M_PI * cycles, s = cimag(advance(a));

	return fabs(x) < 1e-4 ? 1 - x * x / 6 : s / x;
}

/* The response of a voxel at every line: exp(-j 2 pi f d/c)/(2 pi d), and for a rectangle in the
   far field sinc(f tx) sinc(f ty), tx = a x'/(c d). */
struct echo {
	double amplitude, tx, ty;
	struct phase delay, across_x, across_y;
};

/* Of voxel number n at point k of a transducer. */
static struct echo echo_of(const struct svoxel *p, int64_t q, int k, int64_t n)
{
	const int64_t index[3] = { n % p->n[0], n / p->n[0] % p->n[1], n / p->n[0] / p->n[1] };
	double at[3], weight = svoxel_point(at, p, q, k), d = 0, x = 0, y = 0;

	for (int a = 0; a < 3; a++) {
		double r = p->first[a] + (double)index[a] * p->ds - at[a];

		d += r * r;
		x += r * p->ex[3 * q + a];
		y += r * p->ey[3 * q + a];
	}
	d = sqrt(d);

	double late = 0, loud = weight;

	if (p->delays) {
		const double r[3] = { p->first[0] + (double)index[0] * p->ds,
			              p->first[1] + (double)index[1] * p->ds,
			              p->first[2] + (double)index[2] * p->ds };
		double ratio = (double)p->sound.ratio[n];

		late = sound_late(&loud, &p->sound, q, p->pos + 3 * q, at, r);
		loud *= weight * ratio * ratio;
	}
	double tx = p->side[2 * q] * x / (p->speed * d), ty = p->side[2 * q + 1] * y / (p->speed * d);

	return (struct echo){
		loud / (2 * M_PI * d), tx, ty, phase_of(p, -d / p->speed - late), phase_of(p, tx / 2),
		phase_of(p, ty / 2)
	};
}

/* At line l, to be asked for all lines in turn. */
static double complex echo_line(struct echo *e, const struct svoxel *p, int64_t l)
{
	double complex z = advance(&e->delay);
	double a = e->amplitude, f = svoxel_line_mhz(p, l);

	if (p->sir == ISO_SIR_RECT) a *= sinc(&e->across_x, f * e->tx) * sinc(&e->across_y, f * e->ty);
	return a * z;
}

static double complex factor(const struct svoxel *p, int64_t l)
{
	return CMPLX(p->factor[2 * l], p->factor[2 * l + 1]);
}

/* A thread takes a transducer, of this rank's. */
static int forward(const iso_op *op, iso_real *y, const iso_real *x)
{
	const struct svoxel *p = op->data;
	double complex *sums = op->work;
	const struct iso_rows own = iso_share(op->ctx, p->n_trans);

#pragma omp parallel for schedule(dynamic) num_threads(op->ctx->threads)
	for (int64_t q = own.first; q < own.first + own.n; q++) {
		double complex *sum = sums + q * p->lines;

		if (iso_ctx_cancelled(op->ctx)) continue;
		for (int64_t l = 0; l < p->lines; l++) sum[l] = 0;
		for (int64_t i = 0; i < op->n_in / p->batch * p->points; i++) {
			struct echo e = echo_of(p, q, (int)(i % p->points), i / p->points);

			for (int64_t l = 0; l < p->lines; l++)
				sum[l] += x[i / p->points] * echo_line(&e, p, l);
		}
		for (int64_t l = 0; l < p->lines; l++) {
			double complex u = factor(p, l) * sum[l];

			y[2 * (q * p->lines + l)] = (iso_real)creal(u);
			y[2 * (q * p->lines + l) + 1] = (iso_real)cimag(u);
		}
	}
	return iso_comm_gather(op->ctx, iso_ctx_poll(op->ctx), y, p->n_trans,
	                       2 * p->lines * (int64_t)sizeof *y);
}

/* Re of sum over lines of v conj(h) at voxel n. */
static double owed(const struct svoxel *p, int64_t q, int64_t n, const double complex *v)
{
	double sum = 0;

	for (int k = 0; k < p->points; k++) {
		struct echo e = echo_of(p, q, k, n);

		for (int64_t l = 0; l < p->lines; l++) {
			double complex h = echo_line(&e, p, l);

			sum += creal(v[l]) * creal(h) + cimag(v[l]) * cimag(h);
		}
	}
	return sum;
}

/* The adjoint (24): a thread takes a voxel, of this rank's. */
static int adjoint(const iso_op *op, iso_real *x, const iso_real *y)
{
	const struct svoxel *p = op->data;
	double complex *v = op->work;
	const struct iso_rows own = iso_share(op->ctx, op->n_in / p->batch);

	for (int64_t i = 0; i < p->n_trans * p->lines; i++)
		v[i] = conj(factor(p, i % p->lines)) * CMPLX(y[2 * i], y[2 * i + 1]);
#pragma omp parallel for schedule(dynamic, 16) num_threads(op->ctx->threads)
	for (int64_t n = own.first; n < own.first + own.n; n++) {
		double sum = 0;

		if (iso_ctx_cancelled(op->ctx)) continue;
		for (int64_t q = 0; q < p->n_trans; q++) sum += owed(p, q, n, v + q * p->lines);
		x[n] = (iso_real)sum;
	}
	return iso_comm_gather(op->ctx, iso_ctx_poll(op->ctx), x, op->n_in / p->batch, sizeof *x);
}

static int open_work(iso_op *op)
{
	op->work = iso_room_host(&op->room, op->n_out / 2 / ((const struct svoxel *)op->data)->batch,
	                         sizeof(double complex));
	return op->room.status;
}

static int forward_all(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	(void)sub; /* one subset only */
	return iso_svoxel_each(op, forward, y, op->n_out, x, op->n_in);
}

static int adjoint_all(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	(void)sub;
	return iso_svoxel_each(op, adjoint, x, op->n_in, y, op->n_out);
}

const struct iso_op_fn iso_svoxel_direct_fn = {
	.forward = forward_all, .adjoint = adjoint_all, .open = open_work, .free = iso_svoxel_free
};
