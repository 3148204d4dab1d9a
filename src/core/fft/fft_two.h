/* SPDX-License-Identifier: BSD-3-Clause */
/* Fourier transforms of this project's own, in one precision, REAL of whoever includes this. A row of n reals
   is one of complex values, half as long where n is even. Powers of two are cut in four, again
   and again (Cooley and Tukey); other lengths are a convolution over a power of two (Bluestein). */
#include "core/fft/fft.h"
#include "core/size.h"

#include <math.h>
#include <sched.h>
#include <string.h>

struct complex {
	REAL re, im;
};

enum { LEAF = 8 }; /* values that are transformed without a table; others are cut in four */

/* Of m complex values, a power of two. For each cut, that of the whole first, exp(-2 pi j q k / m) of its m:
   q = 1, 2, 3, k = 0 ... m/4 - 1 fastest. */
struct cut {
	int64_t m;
	struct complex *w;
};

struct plan {
	int64_t m;            /* complex values: n/2, or n where n is odd */
	struct cut cut;       /* of m, or of Bluestein's power of two, at least 2 m - 1 */
	struct complex *half; /* exp(-2 pi j l / n), l = 0 ... m/2; n even */
	struct complex *b;    /* Bluestein: exp(-pi j k^2 / m), k = 0 ... m - 1 */
	struct complex *bf;   /* and the transform of its conjugate about 0, over cut.m */
	/* work space, so that a transform can't fail for want of it: one for each thread of the context */
	int64_t each; /* values of one; 0: none is needed */
	struct complex *room;
	int *busy; /* 1: a thread has it */
	int rooms;
};

static struct complex unit(double turns)
{
	return (struct complex){ (REAL)cos(2 * M_PI * turns), (REAL)-sin(2 * M_PI * turns) };
}

static struct complex times(struct complex a, struct complex b)
{
	return (struct complex){ a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re };
}

static struct complex plus(struct complex a, struct complex b)
{
	return (struct complex){ a.re + b.re, a.im + b.im };
}

static struct complex minus(struct complex a, struct complex b)
{
	return (struct complex){ a.re - b.re, a.im - b.im };
}

static struct complex conjugate(struct complex a)
{
	return (struct complex){ a.re, -a.im };
}

/* ---- powers of two ---- */

static int make_cut(struct cut *c, int64_t m)
{
	struct complex *w = c->w = size_alloc(m, sizeof *w);

	c->m = m;
	if (!w) return iso_fail_memory("fft", m * (int64_t)sizeof *w);
	for (; m > LEAF; m /= 4)
		for (int64_t q = 1; q < 4; q++)
			for (int64_t k = 0; k < m / 4; k++) *w++ = unit((double)(q * k) / (double)m);
	return ISO_OK;
}

/* Transforms of four parts, which lie one after the other, to that of the whole. */
static void join_four(struct complex *restrict out, int64_t part, const struct complex *restrict w)
{
	for (int64_t k = 0; k < part; k++) {
		struct complex a = out[k], b = times(out[k + part], w[k]),
			       c = times(out[k + 2 * part], w[k + part]),
			       d = times(out[k + 3 * part], w[k + 2 * part]);
		struct complex s = plus(a, c), t = minus(a, c), u = plus(b, d), v = minus(b, d);

		out[k] = plus(s, u);
		out[k + part] = (struct complex){ t.re + v.im, t.im - v.re };
		out[k + 2 * part] = minus(s, u);
		out[k + 3 * part] = (struct complex){ t.re - v.im, t.im + v.re };
	}
}

static void four(struct complex out[4], const struct complex *in, int64_t step)
{
	struct complex a = in[0], b = in[step], c = in[2 * step], d = in[3 * step];
	struct complex s = plus(a, c), t = minus(a, c), u = plus(b, d), v = minus(b, d);

	out[0] = plus(s, u);
	out[1] = (struct complex){ t.re + v.im, t.im - v.re };
	out[2] = minus(s, u);
	out[3] = (struct complex){ t.re - v.im, t.im + v.re };
}

static void eight(struct complex out[8], const struct complex *in, int64_t step)
{
	const REAL c = (REAL)M_SQRT1_2;
	struct complex even[4], odd[4];

	four(even, in, 2 * step);
	four(odd, in + step, 2 * step);
	odd[1] = (struct complex){ c * (odd[1].re + odd[1].im), c * (odd[1].im - odd[1].re) };
	odd[2] = (struct complex){ odd[2].im, -odd[2].re };
	odd[3] = (struct complex){ c * (odd[3].im - odd[3].re), -c * (odd[3].re + odd[3].im) };
	for (int l = 0; l < 4; l++) {
		out[l] = plus(even[l], odd[l]);
		out[l + 4] = minus(even[l], odd[l]);
	}
}

static void leaf(struct complex *out, const struct complex *in, int64_t m, int64_t step)
{
	if (m == 8) {
		eight(out, in, step);
	} else if (m == 4) {
		four(out, in, step);
	} else {
		out[0] = m == 2 ? plus(in[0], in[step]) : in[0];
		if (m == 2) out[1] = minus(in[0], in[step]);
	}
}

/* out_l = sum over k < m of in_(k step) exp(-2 pi j k l / m). */
static void transform(struct complex *out, const struct complex *in, int64_t m, int64_t step,
                      const struct complex *w)
{
	int64_t part = m / 4;

	if (m <= LEAF) {
		leaf(out, in, m, step);
		return;
	}
	for (int q = 0; q < 4; q++) transform(out + q * part, in + q * step, part, 4 * step, w + 3 * part);
	join_four(out, part, w);
}

/* ---- other lengths: k l = [k^2 + l^2 - (l - k)^2] / 2 ---- */

static int64_t power_above(int64_t n)
{
	int64_t m = 1;

	while (m < n) m *= 2;
	return m;
}

static bool is_power(int64_t n)
{
	return power_above(n) == n;
}

static int make_chirp(struct plan *p)
{
	int64_t m = p->m, most = p->cut.m;
	struct complex *around = size_alloc(most, sizeof *around);

	p->b = size_alloc(m, sizeof *p->b);
	p->bf = size_alloc(most, sizeof *p->bf);
	if (!around || !p->b || !p->bf) {
		free(around);
		return iso_fail_memory("fft", (m + 2 * most) * (int64_t)sizeof *around);
	}
	for (int64_t k = 0; k < m; k++) {
		p->b[k] = unit((double)(k * k % (2 * m)) / (double)(2 * m));
		around[k] = around[k ? most - k : 0] = conjugate(p->b[k]);
	}
	transform(p->bf, around, most, 1, p->cut.w);
	free(around);
	return ISO_OK;
}

/* room: 2 cut.m values. */
static void convolve(const struct plan *p, struct complex *out, const struct complex *in,
                     struct complex *room)
{
	int64_t m = p->m, most = p->cut.m;
	struct complex *x = room, *f = room + most;

	for (int64_t k = 0; k < m; k++) x[k] = times(in[k], p->b[k]);
	memset(x + m, 0, (size_t)(most - m) * sizeof *x);
	transform(f, x, most, 1, p->cut.w);
	for (int64_t k = 0; k < most; k++)
		f[k] = conjugate(times(f[k], p->bf[k])); /* so the next one is inverse */
	transform(x, f, most, 1, p->cut.w);
	for (int64_t l = 0; l < m; l++) {
		struct complex v = times(conjugate(x[l]), p->b[l]);

		out[l] = (struct complex){ v.re / (REAL)most, v.im / (REAL)most };
	}
}

static void transform_any(const struct plan *p, struct complex *out, const struct complex *in,
                          struct complex *room)
{
	if (p->b)
		convolve(p, out, in, room);
	else
		transform(out, in, p->m, 1, p->cut.w);
}

/* ---- rows of reals ---- */

/* Values of room that one row takes; 0 for powers of two. */
static int64_t room_of(const struct plan *p, bool odd)
{
	return (p->b ? 2 * p->cut.m : 0) + (odd ? 2 * p->m : 0);
}

/* Lines 0 ... m of 2 m reals from the transform of their pairs, in place: z[m] is set. */
static void untangle(const struct plan *p, struct complex *z)
{
	int64_t m = p->m;

	z[m] = z[0];
	for (int64_t l = 0; l <= m / 2; l++) {
		struct complex a = z[l], b = conjugate(z[m - l]), s = plus(a, b),
			       t = times(minus(a, b), p->half[l]);

		/* (s - j t)/2, and its mirror */
		z[l] = (struct complex){ (s.re + t.im) / 2, (s.im - t.re) / 2 };
		z[m - l] = (struct complex){ (s.re - t.im) / 2, (-s.im - t.re) / 2 };
	}
}

/* Back: the conjugate of what the inverse transform makes pairs of. */
static void tangle(const struct plan *p, struct complex *z)
{
	int64_t m = p->m;

	z[0].im = z[m].im = 0; /* as rows are real */
	for (int64_t l = 0; l <= m / 2; l++) {
		struct complex a = z[l], b = conjugate(z[m - l]), s = plus(a, b),
			       t = times(minus(a, b), conjugate(p->half[l]));

		/* s + j t, and its mirror */
		z[l] = (struct complex){ s.re - t.im, -s.im - t.re };
		z[m - l] = (struct complex){ s.re + t.im, s.im - t.re };
	}
}

static void forward_even(const struct plan *p, struct complex *spectrum, const REAL *x, struct complex *room)
{
	transform_any(p, spectrum, (const struct complex *)x, room);
	untangle(p, spectrum);
}

static void inverse_even(const struct plan *p, REAL *x, struct complex *spectrum, struct complex *room)
{
	tangle(p, spectrum);
	transform_any(p, (struct complex *)x, spectrum, room);
	for (int64_t k = 0; k < p->m; k++) x[2 * k + 1] = -x[2 * k + 1];
}

static void forward_odd(const struct plan *p, struct complex *spectrum, const REAL *x, struct complex *room)
{
	struct complex *in = room, *out = room + p->m;

	for (int64_t k = 0; k < p->m; k++) in[k] = (struct complex){ x[k], 0 };
	transform_any(p, out, in, room + 2 * p->m);
	memcpy(spectrum, out, (size_t)(p->m / 2 + 1) * sizeof *out);
}

static void inverse_odd(const struct plan *p, REAL *x, const struct complex *spectrum, struct complex *room)
{
	struct complex *in = room, *out = room + p->m;

	in[0] = (struct complex){ spectrum[0].re, 0 };
	for (int64_t l = 1; l <= p->m / 2; l++) {
		in[l] = conjugate(spectrum[l]);
		in[p->m - l] = spectrum[l];
	}
	transform_any(p, out, in, room + 2 * p->m);
	for (int64_t k = 0; k < p->m; k++) x[k] = out[k].re;
}

static int make_rooms(struct plan *p, const struct iso_fft *f)
{
	p->each = room_of(p, f->n % 2);
	if (p->each == 0) return ISO_OK;
	p->rooms = f->ctx && f->ctx->threads > 0 ? f->ctx->threads : 1;
	p->room = size_alloc(p->rooms * p->each, sizeof *p->room);
	p->busy = size_alloc(p->rooms, sizeof *p->busy);
	return p->room && p->busy ? ISO_OK
	                          : iso_fail_memory("fft", p->rooms * p->each * (int64_t)sizeof *p->room);
}

/* A room that nobody has, for which a thread beyond those of the context waits. */
static int take_room(const struct plan *p)
{
	for (int i = 0;; i = (i + 1) % p->rooms) {
		if (!__atomic_exchange_n(&p->busy[i], 1, __ATOMIC_ACQUIRE)) return i;
		if (i == p->rooms - 1) sched_yield();
	}
}

static int make(struct iso_fft *f)
{
	struct plan *p = f->plan[0] = size_alloc(1, sizeof *p);
	int st;

	if (!p) return iso_fail_memory("fft", sizeof *p);
	p->m = f->n % 2 ? f->n : f->n / 2;
	if ((st = make_cut(&p->cut, is_power(p->m) ? p->m : power_above(2 * p->m - 1)))) return st;
	if (!is_power(p->m) && (st = make_chirp(p))) return st;
	if ((st = make_rooms(p, f))) return st;
	if (f->n % 2) return ISO_OK;
	p->half = size_alloc(p->m / 2 + 1, sizeof *p->half);
	if (!p->half) return iso_fail_memory("fft", (p->m / 2 + 1) * (int64_t)sizeof *p->half);
	for (int64_t l = 0; l <= p->m / 2; l++) p->half[l] = unit((double)l / (double)f->n);
	return ISO_OK;
}

static void release(struct iso_fft *f)
{
	struct plan *p = f->plan[0];

	if (!p) return;
	free(p->cut.w);
	free(p->half);
	free(p->b);
	free(p->bf);
	free(p->room);
	free(p->busy);
	free(p);
}

static void row(const struct iso_fft *f, bool back, REAL *x, struct complex *spectrum)
{
	const struct plan *p = f->plan[0];
	int which = p->each ? take_room(p) : 0;
	struct complex *room = p->each ? p->room + which * p->each : NULL;

	if (f->n % 2)
		back ? inverse_odd(p, x, spectrum, room) : forward_odd(p, spectrum, x, room);
	else
		back ? inverse_even(p, x, spectrum, room) : forward_even(p, spectrum, x, room);
	if (p->each) __atomic_store_n(&p->busy[which], 0, __ATOMIC_RELEASE);
}

/* Threads along the rows. With one row there is no team: the caller may be one of many. */
static int rows(const struct iso_fft *f, bool back, REAL *x, struct complex *spectrum)
{
	int64_t lines = f->n / 2 + 1;
	int threads = f->rows > 1 ? f->ctx->threads : 1;

#pragma omp parallel for num_threads(threads) if (threads > 1)
	for (int64_t r = 0; r < f->rows; r++) row(f, back, x + r * f->n, spectrum + r * lines);
	return ISO_OK;
}

static int forward(const struct iso_fft *f, void *spectrum, const void *x)
{
	return rows(f, false, (REAL *)x, spectrum);
}

static int inverse(const struct iso_fft *f, void *x, void *spectrum)
{
	return rows(f, true, x, spectrum);
}
