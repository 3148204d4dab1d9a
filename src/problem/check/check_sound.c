/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces of the optoacoustic models against the image: speed of sound, sampling, and when the sound arrives. */
#include "check.h"

#include "problem/sound/sound.h"

#include <math.h>
#include <stdlib.h>

#define SLOW 1.3 /* mm/us: water has 1.40 to 1.56 from 0 to 95 C, fat 1.41 to 1.45, muscle 1.55 to 1.60 */
#define FAST 1.7
#define NO_SOUND 30. /* times too high or low: no medium has it (gases 0.15 and above, diamond 12) */
#define HALF .5      /* of the delays of the image; what is missing of them is doubtful */
#define HARDLY .01   /* of them: a unit error */
#define COARSE 5.    /* voxels between two samples; */
#define LONG 20.     /* and a record so many times as long as the sound of the image takes */

#define TRACES 32
#define VALUES 256    /* of a trace, for its noise */
#define LOUD 6.       /* times the median of |pressure|, and */
#define LOUD_PEAK .01 /* of the greatest: what a trace without noise has is heard, too */
#define PULSE .2      /* of the way to the nearest voxel: until then the laser's own pulse is heard, if any */
#define SLACK .1      /* of a delay: speed and places are known so well */
#define QUIET .33     /* share of the loud parts that comes from the image, less of which is doubtful */
#define ASIDE .6  /* where so much comes before it, or after it; round a part of an object both are usual */
#define CLEAR .75 /* of the delay of the nearest voxel */

static double water(void)
{
	return iso_water_speed(25);
}

/* ---- the speed of sound ---- */

int check_speed(struct look *l)
{
	struct sound *sound = l->p->self;
	int last = sound->speeds.n > 0 ? sound->speeds.n - 1 : 0;
	double low = sound_speed(sound, 0), high = sound_speed(sound, last);

	l->looked = true;
	if (low > NO_SOUND * water() || high < water() / NO_SOUND)
		check_refuse(l, "%s: the speed of sound is %g mm/us, in water it is %.3g%s",
		             sound_scanner(sound), low, water(), sound_wrong_unit(sound, NULL));
	else if (low > FAST || high < SLOW)
		check_doubt(l,
		            "the speed of sound is %g mm/us; water and soft tissue have 1.40 to 1.60, and %g "
		            "to %g is usual",
		            low > FAST ? low : high, SLOW, FAST);
	return ISO_OK;
}

/* ---- the sampling ---- */

/* A rate that is too high makes the record too short, one that is too low leaves the image between two samples. */
int check_sampling(struct look *l)
{
	struct sound *sound = l->p->self;
	const struct iso_transducers *t = sound->t;
	struct iso_hearing h = { .size = sizeof h };
	double at, step, last = t->first_us + (double)(t->samples - 1) * t->dt_us;
	int st = sound_hearing(sound, &h, &at);

	if (st) return st;
	l->looked = true;
	step = at * t->dt_us;
	if (h.covered < HARDLY || (step > COARSE * sound->grid.voxel[0] && last > LONG * h.farthest))
		check_refuse(l,
		             "%s: at %g mm/us its %" PRId64 " samples hold sound from %.3g to %.3g mm away, "
		             "one every %.3g mm; the image is %.4g to %.4g mm away, its voxels are %.3g mm "
		             "wide%s",
		             sound_scanner(sound), at, t->samples, at * t->first_us, at * last, step,
		             at * h.nearest, at * h.farthest, sound->grid.voxel[0],
		             sound_wrong_unit(sound, &h));
	else if (h.covered < HALF)
		check_doubt(l, SOUND_HELD, at, h.nearest, h.farthest, 100 * h.covered);
	return ISO_OK;
}

/* ---- the first sound ---- */

/* Delays of the nearest and the farthest voxel of one transducer, at the highest and the lowest speed. */
static void delays(double us[2], struct sound *sound, int64_t q)
{
	const struct iso_grid *g = &sound->grid;
	double near = 0, far = 0, last = sound->speeds.n > 0 ? sound->speeds.n - 1 : 0;

	for (int a = 0; a < 3; a++) {
		double half = .5 * (double)(g->n[a] - 1) * g->voxel[a];
		double d = fabs(sound->t->pos[3 * q + a] - g->centre[a]), least = fmax(0, d - half);

		near += least * least;
		far += (d + half) * (d + half);
	}
	us[0] = sqrt(near) / sound_speed(sound, (int)last);
	us[1] = sqrt(far) / sound_speed(sound, 0);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Median of |y - zero|, of some of the samples. */
static double typical(const iso_real *y, int64_t n, double zero, bool sizes)
{
	double v[VALUES];
	int64_t m = n < VALUES ? n : VALUES;

	for (int64_t i = 0; i < m; i++) {
		double d = (double)y[i * n / m] - zero;

		v[i] = sizes ? fabs(d) : d;
	}
	qsort(v, (size_t)m, sizeof *v, by_size);
	return v[m / 2];
}

/* What is loud in a trace: its energy before the image can be heard, from it, and after. */
struct loud {
	double part[3], first_us;
};

/* Samples above this are loud: far above noise, and, where there is none, above 0. */
static double loud_from(const iso_real *y, int64_t n, int64_t first, double zero)
{
	double peak = 0;

	for (int64_t i = first; i < n; i++) {
		double d = fabs((double)y[i] - zero);

		if (d > peak) peak = d;
	}
	return fmax(LOUD * typical(y, n, zero, true), LOUD_PEAK * peak);
}

static struct loud listen(const iso_real *y, const struct iso_transducers *t, const double us[2])
{
	double from = us[0] * (1 - SLACK), to = us[1] * (1 + SLACK) + (double)t->n_eir * t->dt_us;
	int64_t first = (int64_t)fmax(0, ceil((PULSE * us[0] - t->first_us) / t->dt_us));
	double zero = typical(y, t->samples, 0, false), least = loud_from(y, t->samples, first, zero);
	struct loud l = { .first_us = NAN };

	for (int64_t i = first; i < t->samples; i++) {
		double d = fabs((double)y[i] - zero), at = t->first_us + (double)i * t->dt_us;

		if (d <= least) continue;
		l.part[at < from ? 0 : at > to ? 2 : 1] += d * d;
		if (isnan(l.first_us)) l.first_us = at;
	}
	return l;
}

/* What is loud in some of the traces, each counted alike. */
struct heard {
	int n;
	double part[3];           /* sums of shares */
	double first_us[TRACES];  /* of each */
	double nearest, farthest; /* us */
};

static struct heard listen_to_some(struct sound *sound)
{
	const struct iso_transducers *t = sound->t;
	int64_t n = t->n < TRACES ? t->n : TRACES;
	struct heard h = { .nearest = INFINITY };

	for (int64_t i = 0; i < n; i++) {
		int64_t q = i * t->n / n;
		double us[2];

		delays(us, sound, q);
		struct loud of = listen(sound->y.v + q * t->samples, t, us);
		double all = of.part[0] + of.part[1] + of.part[2];

		if (!(all > 0)) continue;
		for (int k = 0; k < 3; k++) h.part[k] += of.part[k] / all;
		h.first_us[h.n++] = of.first_us;
		h.nearest = fmin(h.nearest, us[0]);
		h.farthest = fmax(h.farthest, us[1]);
	}
	qsort(h.first_us, (size_t)h.n, sizeof *h.first_us, by_size);
	return h;
}

/* The first sound comes clearly before the nearest voxel's, or after the farthest's. Skin round a small image does not. */
static bool aside_of(const struct heard *h, int side)
{
	double first = h->first_us[h->n / 2];

	return side ? first > h->farthest : first < CLEAR * h->nearest;
}

/* Sound that comes before the image's could, or after it: another start, rate, speed or place. */
int check_arrival(struct look *l)
{
	struct sound *sound = l->p->self;

	if (!sound->y.v || !sound->traces) return ISO_OK;
	struct heard h = listen_to_some(sound);
	int aside = h.part[0] > h.part[2] ? 0 : 2;
	double c = sound_speed(sound, 0);

	if (h.n == 0) return ISO_OK;
	l->looked = true;
	if (h.part[1] < QUIET * h.n && h.part[aside] > ASIDE * h.n && aside_of(&h, aside))
		check_doubt(l,
		            "%s: %.0f %% of its loud sound arrives %s that of the image: first after %.4g us "
		            "(median of %d traces), from %.4g mm away; the image is %.4g to %.4g mm away: do "
		            "speed, sampling rate and first sample fit the traces",
		            sound->data, 100 * h.part[aside] / h.n, aside ? "after" : "before",
		            h.first_us[h.n / 2], h.n, c * h.first_us[h.n / 2], c * h.nearest, c * h.farthest);
	return ISO_OK;
}
