/* SPDX-License-Identifier: BSD-3-Clause */
/* Single scatter (Watson, 2000; with time of flight Watson, 2007): legs from scatter points to detectors, and what a
   point adds to a pair, for CPU and CUDA alike.

   With A, B the ends of a pair on the cylinder of radius rho, S a point of weight w (density times volume), theta the
   deflection there, E' the energy after it,

     h(u) = sum over S of w K(cos theta) G_A G_B { exp(-D Q_B) T_A(u) + exp(-D Q_A) T_B(u) }
     K    = (2 rho)^2 n_e dsigma/dOmega e(E'),  D = mu(E') - mu(511),  Q_A the integral of the density from S to A
     G_A  = cos(angle of SA to the cylinder's normal at A) / |SA|^2 exp(-mu(511) Q_A)
     T_A  = integral of f over the leg SA, at s mm from S seen at u = (|SA| - |SB|) / 2 - s; T_B at ... + s

   The guide of multiple scatter (sss_cosines.c) is the same with another K, and times Q_A + Q_B.

   Legs are made once for each point and detector; T_A as a profile of pieces of equal length. */
#ifndef ISO_SSS_KERN_H
#define ISO_SSS_KERN_H

#include "scene.h"

enum { SSS_COSINES = 4096 }; /* intervals of the table over cos theta */

struct sss_cosine {
	float k, d; /* K and D */
};

/* With a response (scene_response.c) e(E') in K is 1, the cosine in G is D(511)/D_0 of the direction, and the scattered leg counts
   a_0 + a_1 c_1 + a_2 c_2 times: a of the energy that is left, c of its direction. */
struct sss_energy {
	float a[1 + SCENE_TILTS];
};

struct sss_point {
	float at[3], weight; /* mm; density times mm^3 */
};

/* The legs of one detector to all points, array by array. */
struct sss_legs {
	float *dir[3];           /* unit vector from the point to the detector */
	float *length;           /* mm */
	float *g, *q;            /* G and Q */
	float *c[SCENE_TILTS];   /* of a response; NULL: none */
	int32_t *first, *pieces; /* of the profile: the first one's number from the point on, and how many */
	int64_t *at;             /* where in the profiles they begin */
};

/* What every leg and pair needs. Pointers are host or device memory, as the backend needs. */
struct sss {
	struct scene_volume q, f;
	float q_box[2][3], f_box[2][3]; /* mm: around what is above 0 */
	float rho, mu;                  /* mu of water at 511 keV */
	float once, again; /* a point counts once + again (Q_A + Q_B) times: 1, 0; the guide 0, 1 */
	float piece;       /* mm of a profile; 0: no time of flight, one piece a leg */
	float least_cosine, per_cosine;  /* of the table: where it begins, intervals a unit */
	const struct sss_cosine *cosine; /* (SSS_COSINES + 1) */
	const struct sss_energy *energy; /* the same; NULL: no response */
	const struct scene *scene;       /* on the host: whose response that is */
	int64_t points;
	const struct sss_point *point;
};

/* A leg without what lies on it. */
struct sss_ray {
	float dir[3], length, normal; /* normal: cosine of the angle to the cylinder's normal */
	float across;                 /* along the tangent, over along both */
};

ISO_HD struct sss_ray sss_ray(const struct sss *s, const float from[3], const float to[3])
{
	float d[3] = { to[0] - from[0], to[1] - from[1], to[2] - from[2] };
	float length = sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), over = length > 0 ? 1 / length : 0;
	struct sss_ray r = { { d[0] * over, d[1] * over, d[2] * over }, length, 0, 0 };

	r.normal = (to[0] * r.dir[0] + to[1] * r.dir[1]) / s->rho;
	float tangent = fabsf(to[0] * r.dir[1] - to[1] * r.dir[0]) / s->rho, both = tangent + r.normal;

	r.across = both > 0 ? tangent / both : 0;
	return r;
}

/* So that a ray along a plane of voxels meets its border far away. */
ISO_HD float sss_not_0(float x)
{
	return fabsf(x) > 1e-12f ? x : x < 0 ? -1e-12f : 1e-12f;
}

/* The part of a ray that lies in a box; span[0] >= span[1]: none. */
ISO_HD void sss_clip(float span[2], const float box[2][3], const float from[3], const struct sss_ray *r)
{
	span[0] = 0;
	span[1] = r->length;
	for (int a = 0; a < 3; a++) {
		float over = 1 / sss_not_0(r->dir[a]);
		float in = (box[0][a] - from[a]) * over, out = (box[1][a] - from[a]) * over;

		span[0] = fmaxf(span[0], fminf(in, out));
		span[1] = fminf(span[1], fmaxf(in, out));
	}
}

/* A walk along a ray from voxel to voxel. */
struct sss_walk {
	float s;         /* mm from the start of the ray */
	int32_t i[3];    /* voxel */
	int32_t step[3]; /* -1 or 1 */
	float next[3];   /* s of the borders in front */
	float over[3];   /* 1 / dir */
};

/* s of the border that axis a meets next. */
ISO_HD float sss_border(const struct sss_walk *w, const struct scene_volume *v, const float from[3], int a)
{
	return (v->low[a] + (float)(w->i[a] + (w->step[a] > 0)) * v->voxel[a] - from[a]) * w->over[a];
}

/* The walk begins at s, in the volume or on its border. */
ISO_HD void sss_walk_begin(struct sss_walk *w, const struct scene_volume *v, const float from[3],
                           const struct sss_ray *r, float s)
{
	w->s = s;
	for (int a = 0; a < 3; a++) {
		float i = floorf((from[a] + r->dir[a] * s - v->low[a]) / v->voxel[a]),
		      most = (float)(v->n[a] - 1);

		w->step[a] = r->dir[a] < 0 ? -1 : 1;
		w->over[a] = 1 / sss_not_0(r->dir[a]);
		w->i[a] = (int32_t)(i < 0 ? 0 : i > most ? most : i);
		w->next[a] = sss_border(w, v, from, a);
	}
}

/* Integral of a volume from where the walk is to s1; it stops there, or where it leaves the volume. */
ISO_HD float sss_walk_to(struct sss_walk *w, const struct scene_volume *v, const float from[3], float s1)
{
	float sum = 0;

	while (w->s < s1) {
		int a = w->next[0] < w->next[1] ? 0 : 1;

		a = w->next[a] < w->next[2] ? a : 2;
		float to = fminf(w->next[a], s1);

		if (to > w->s) {
			sum += (to - w->s) * v->v[((int64_t)w->i[2] * v->n[1] + w->i[1]) * v->n[0] + w->i[0]];
			w->s = to;
		}
		if (w->next[a] > s1) break;
		w->i[a] += w->step[a];
		if (w->i[a] < 0 || w->i[a] >= v->n[a]) {
			w->s = INFINITY;
			break;
		}
		w->next[a] = sss_border(w, v, from, a);
	}
	return sum;
}

/* First piece of a leg's profile and their number: those that may hold activity. */
ISO_HD void sss_pieces(int32_t *first, int32_t *n, const struct sss *s, const float from[3],
                       const struct sss_ray *r)
{
	float span[2];

	sss_clip(span, s->f_box, from, r);
	*first = 0;
	*n = span[1] > span[0];
	if (*n == 0 || !(s->piece > 0)) return;
	*first = (int32_t)(span[0] / s->piece);
	*n = (int32_t)ceilf(span[1] / s->piece) - *first;
}

/* Activity of each of n pieces from `first` on, integrated over its length. */
ISO_HD void sss_profile(float *profile, const struct sss *s, const float from[3], const struct sss_ray *r,
                        int32_t first, int32_t n)
{
	struct sss_walk w;
	float span[2];

	sss_clip(span, s->f_box, from, r);
	sss_walk_begin(&w, &s->f, from, r, span[0]);
	for (int32_t k = 0; k < n; k++)
		profile[k] =
			sss_walk_to(&w, &s->f, from, k < n - 1 ? (float)(first + k + 1) * s->piece : span[1]);
}

ISO_HD float sss_density(const struct sss *s, const float from[3], const struct sss_ray *r)
{
	struct sss_walk w;
	float span[2];

	sss_clip(span, s->q_box, from, r);
	sss_walk_begin(&w, &s->q, from, r, span[0]);
	return sss_walk_to(&w, &s->q, from, span[1]);
}

/* exp(x), -80 < x <= 0, to 1e-6: 2^n times a polynomial of the rest. */
ISO_HD float sss_exp(float x)
{
	float y = x * 1.44269504f, n = floorf(y), t = (y - n) * .693147181f, e;
	int32_t bits = ((int32_t)n + 127) << 23;

	e = 1 + t * (1 + t * (.5f + t * (.166666667f +
	                                 t * (.0416666667f + t * (.00833333333f + t * .00138888889f)))));
	memcpy(&n, &bits, sizeof n);
	return e * n;
}

/* Share of a leg's photons that is left where they scattered, over that of 511 keV. */
ISO_HD float sss_seen(const struct sss_energy *e, float share, const struct sss_legs *l, int64_t leg)
{
	float sum = e[0].a[0] + share * (e[1].a[0] - e[0].a[0]);

	for (int t = 0; t < SCENE_TILTS; t++)
		sum += (e[0].a[1 + t] + share * (e[1].a[1 + t] - e[0].a[1 + t])) * l->c[t][leg];
	return sum > 0 ? sum : 0;
}

/* What a point adds to a pair of legs: factors of the two profiles; 0: nothing. cosine: of the deflection. */
ISO_HD void sss_weights(float *a, float *b, const struct sss *s, float cosine, float weight,
                        const struct sss_legs *l, int64_t leg_a, int64_t leg_b)
{
	float q_a = l->q[leg_a], q_b = l->q[leg_b];
	float t = (cosine - s->least_cosine) * s->per_cosine;
	int i = t < SSS_COSINES - 1 ? (int)t : SSS_COSINES - 1;
	const struct sss_cosine *c = s->cosine + i;
	float share = t - (float)i, k = c[0].k + share * (c[1].k - c[0].k),
	      d = c[0].d + share * (c[1].d - c[0].d);

	k *= weight * l->g[leg_a] * l->g[leg_b] * (s->once + s->again * (q_a + q_b));
	*a = k * sss_exp(-d * q_b);
	*b = k * sss_exp(-d * q_a);
	if (!s->energy) return;
	*a *= sss_seen(s->energy + i, share, l, leg_b);
	*b *= sss_seen(s->energy + i, share, l, leg_a);
}

/* Largest |u| of the pieces of both legs; shift = (|SA| - |SB|) / 2. */
ISO_HD float sss_reach(const struct sss *s, float shift, int32_t first_a, int32_t n_a, int32_t first_b,
                       int32_t n_b)
{
	float most = 0;

	if (n_a > 0)
		most = fmaxf(fabsf(shift - (float)first_a * s->piece),
		             fabsf(shift - (float)(first_a + n_a) * s->piece));
	if (n_b > 0)
		most = fmaxf(most, fmaxf(fabsf(shift + (float)first_b * s->piece),
		                         fabsf(shift + (float)(first_b + n_b) * s->piece)));
	return most;
}

#endif
