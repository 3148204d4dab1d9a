/* SPDX-License-Identifier: BSD-3-Clause */
/* Model svoxel on the CPU term by term: the reference of the fast transform, in double. A phase
   goes from line to line by one complex product. */
#include "svoxel.h"

#include <math.h>

struct complex {
	double re, im;
};

static struct complex times(struct complex a, struct complex b)
{
	return (struct complex){ a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re };
}

/* exp(j 2 pi cycles) */
static struct complex unit(double cycles)
{
	double a = 2 * M_PI * (cycles - rint(cycles));

	return (struct complex){ cos(a), sin(a) };
}

/* exp(j 2 pi f t) at one line after the other. */
struct phase {
	struct complex now, step;
};

static struct phase phase_of(const struct svoxel *p, double t_us)
{
	return (struct phase){ unit(svoxel_line_mhz(p, 0) * t_us), unit(p->df_mhz * t_us) };
}

static struct complex advance(struct phase *a)
{
	struct complex z = a->now;

	a->now = times(z, a->step);
	return z;
}

/* sin(pi f t)/(pi f t), the sine being the phase's at t/2; f t in cycles. */
static double sinc(struct phase *a, double cycles)
{
	double x = M_PI * cycles, s = advance(a).im;

	return fabs(x) < 1e-4 ? 1 - x * x / 6 : s / x;
}

/* The response of a voxel at every line: exp(-j 2 pi f d/c)/(2 pi d), and for a rectangle in the
   far field sinc(f tx) sinc(f ty), tx = a x'/(c d). */
struct echo {
	double amplitude, tx, ty;
	struct phase delay, across_x, across_y;
};

static struct echo echo_of(const struct svoxel *p, int64_t q, int k, const double voxel[3])
{
	double at[3], weight = svoxel_point(at, p, q, k), r[3], d = 0, x = 0, y = 0;
	struct echo e;

	for (int a = 0; a < 3; a++) {
		r[a] = voxel[a] - at[a];
		d += r[a] * r[a];
		x += r[a] * p->ex[3 * q + a];
		y += r[a] * p->ey[3 * q + a];
	}
	d = sqrt(d);
	e.amplitude = weight / (2 * M_PI * d);
	e.tx = p->side[2 * q] * x / (p->speed * d);
	e.ty = p->side[2 * q + 1] * y / (p->speed * d);
	e.delay = phase_of(p, -d / p->speed);
	e.across_x = phase_of(p, e.tx / 2);
	e.across_y = phase_of(p, e.ty / 2);
	return e;
}

/* At line l, to be asked for all lines in turn. */
static struct complex echo_line(struct echo *e, const struct svoxel *p, int64_t l)
{
	struct complex z = advance(&e->delay);
	double a = e->amplitude, f = svoxel_line_mhz(p, l);

	if (p->sir == ISO_SIR_RECT) a *= sinc(&e->across_x, f * e->tx) * sinc(&e->across_y, f * e->ty);
	return (struct complex){ a * z.re, a * z.im };
}

static void centre_of(double at[3], const struct svoxel *p, int64_t n)
{
	at[0] = p->first[0] + (double)(n % p->n[0]) * p->ds;
	at[1] = p->first[1] + (double)(n / p->n[0] % p->n[1]) * p->ds;
	at[2] = p->first[2] + (double)(n / p->n[0] / p->n[1]) * p->ds;
}

static struct complex factor(const struct svoxel *p, int64_t l)
{
	return (struct complex){ p->factor[2 * l], p->factor[2 * l + 1] };
}

/* ---- forward: a thread takes a transducer ---- */

static void add_voxel(struct complex *sum, const struct svoxel *p, int64_t q, int64_t n, double x)
{
	double at[3];

	centre_of(at, p, n);
	for (int k = 0; k < p->points; k++) {
		struct echo e = echo_of(p, q, k, at);

		for (int64_t l = 0; l < p->lines; l++) {
			struct complex h = echo_line(&e, p, l);

			sum[l].re += x * h.re;
			sum[l].im += x * h.im;
		}
	}
}

static int forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct svoxel *p = op->data;
	struct complex *sums = op->work;

	(void)sub; /* one subset only */
#pragma omp parallel for schedule(dynamic) num_threads(op->ctx->threads)
	for (int64_t q = 0; q < p->n_trans; q++) {
		struct complex *sum = sums + q * p->lines;

		if (iso_ctx_cancelled(op->ctx)) continue;
		for (int64_t l = 0; l < p->lines; l++) sum[l] = (struct complex){ 0, 0 };
		for (int64_t n = 0; n < op->n_in; n++) add_voxel(sum, p, q, n, x[n]);
		for (int64_t l = 0; l < p->lines; l++) {
			struct complex u = times(factor(p, l), sum[l]);

			y[2 * (q * p->lines + l)] = (iso_real)u.re;
			y[2 * (q * p->lines + l) + 1] = (iso_real)u.im;
		}
	}
	return iso_ctx_poll(op->ctx);
}

/* ---- adjoint (24): a thread takes a voxel ---- */

/* Re of sum over lines of v conj(h). */
static double owed(const struct svoxel *p, int64_t q, const double at[3], const struct complex *v)
{
	double sum = 0;

	for (int k = 0; k < p->points; k++) {
		struct echo e = echo_of(p, q, k, at);

		for (int64_t l = 0; l < p->lines; l++) {
			struct complex h = echo_line(&e, p, l);

			sum += v[l].re * h.re + v[l].im * h.im;
		}
	}
	return sum;
}

static void unweigh(struct complex *v, const struct svoxel *p, const iso_real *y)
{
	for (int64_t i = 0; i < p->n_trans * p->lines; i++) {
		struct complex f = factor(p, i % p->lines), u = { y[2 * i], y[2 * i + 1] };

		v[i] = times((struct complex){ f.re, -f.im }, u);
	}
}

static int adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct svoxel *p = op->data;
	struct complex *v = op->work;

	(void)sub; /* one subset only */
	unweigh(v, p, y);
#pragma omp parallel for schedule(dynamic, 16) num_threads(op->ctx->threads)
	for (int64_t n = 0; n < op->n_in; n++) {
		double at[3], sum = 0;

		if (iso_ctx_cancelled(op->ctx)) continue;
		centre_of(at, p, n);
		for (int64_t q = 0; q < p->n_trans; q++) sum += owed(p, q, at, v + q * p->lines);
		x[n] = (iso_real)sum;
	}
	return iso_ctx_poll(op->ctx);
}

static int open_work(iso_op *op)
{
	op->work = iso_room_host(&op->room, op->n_out / 2, sizeof(struct complex));
	return op->room.status;
}

const struct iso_op_fn iso_svoxel_direct_fn = {
	.forward = forward,
	.adjoint = adjoint,
	.open = open_work,
};
