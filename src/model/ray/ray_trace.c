/* SPDX-License-Identifier: BSD-3-Clause */
/* Tracing on the CPU: slices are cut many at a time, what is not empty is gathered into a list, and
   the list is weighed. Cutting and weighing vectorise, as they have neither branches nor gaps. */
#include "ray_trace.h"

#include <string.h>

#define RUN 64  /* slices at a time: stays in the first-level cache */
#define LANES 4 /* at a time in keep_run; work space is a multiple */

/* ---- chords ---- */

struct faces {
	iso_real x[RUN + LANES], b[RUN + LANES], c[RUN + LANES], in_b[RUN + LANES], in_c[RUN + LANES];
};

struct cuts {
	iso_real first[RUN], second[RUN]; /* changes of voxel */
	int voxel[3][RUN];
	int n[RUN]; /* pieces that are there; the others come last */
};

static struct ray_face face_of(const struct faces *f, int i)
{
	struct ray_face r = { f->x[i], f->b[i], f->c[i], f->in_b[i], f->in_c[i] };

	return r;
}

/* Work on n slices goes on to a whole number of vectors. */
static int padded(int n)
{
	return (n + LANES - 1) / LANES * LANES;
}

/* The faces of slices k .. k + n - 1; each serves two. */
static void find_faces(struct faces *restrict f, const struct ray *ray, int k, int n)
{
	const struct ray r = *ray;
	const int last = k + n, faces = padded(n) + LANES;

	for (int i = 0; i < faces; i++) {
		struct ray_face a = ray_face(&r, k + i < last ? k + i : last);

		f->x[i] = a.x;
		f->b[i] = a.b;
		f->c[i] = a.c;
		f->in_b[i] = a.in_b;
		f->in_c[i] = a.in_c;
	}
}

static void cut_run(struct cuts *restrict c, const struct faces *restrict f, const struct ray *ray, int k,
                    int n)
{
	const struct ray r = *ray;
	const int last = k + n, slices = padded(n);

	for (int i = 0; i < slices; i++) {
		int at = k + i < last ? k + i : last - 1;
		struct ray_cut s = ray_cut_between(&r, at, face_of(f, i), face_of(f, i + 1));

		c->first[i] = s.x[1];
		c->second[i] = s.x[2];
		for (int p = 0; p < 3; p++) c->voxel[p][i] = s.voxel[p];
		c->n[i] = (k + i < last) * (1 + (s.x[1] < s.x[3]) + (s.x[2] < s.x[3]));
	}
}

typedef iso_real real4 __attribute__((vector_size(4 * sizeof(iso_real))));
typedef int int4 __attribute__((vector_size(4 * sizeof(int))));

#define MIX __builtin_shufflevector /* gcc 12, clang */

/* Rows from columns: r[i] = { a[i], b[i], c[i], c[i] }. */
#define TURN(r, a, b, c)                                                                \
	do {                                                                            \
		__typeof__(a) ab = MIX(a, b, 0, 4, 1, 5), cc = MIX(c, c, 0, 4, 1, 5);   \
		__typeof__(a) ab2 = MIX(a, b, 2, 6, 3, 7), cc2 = MIX(c, c, 2, 6, 3, 7); \
		(r)[0] = MIX(ab, cc, 0, 1, 4, 5);                                       \
		(r)[1] = MIX(ab, cc, 2, 3, 6, 7);                                       \
		(r)[2] = MIX(ab2, cc2, 0, 1, 4, 5);                                     \
		(r)[3] = MIX(ab2, cc2, 2, 3, 6, 7);                                     \
	} while (0)

#define LOAD(v, from) memcpy(&(v), from, sizeof(v))

/* Pieces follow each other without gaps, so one keeps its voxel and where it begins. Four are
   written for each slice, in one store, and the next one overwrites those that are not there. */
static int keep_run(int *restrict voxel, iso_real *restrict x, const struct faces *restrict f,
                    const struct cuts *restrict c, int n)
{
	int64_t m = 0;

	for (int i = 0; i < n; i += LANES) {
		int4 v0, v1, v2, v[4];
		real4 x0, x1, x2, at[4];

		LOAD(v0, c->voxel[0] + i);
		LOAD(v1, c->voxel[1] + i);
		LOAD(v2, c->voxel[2] + i);
		LOAD(x0, f->x + i);
		LOAD(x1, c->first + i);
		LOAD(x2, c->second + i);
		TURN(v, v0, v1, v2);
		TURN(at, x0, x1, x2);
		for (int k = 0; k < LANES; k++) {
			memcpy(voxel + m, &v[k], sizeof v[k]);
			memcpy(x + m, &at[k], sizeof at[k]);
			m += c->n[i + k];
		}
	}
	return (int)m;
}

/* Weights of n pieces that begin at x[0 .. n-1]; the last one ends at x[n]. */
static void weigh(iso_real *restrict w, iso_real *restrict x, int n, const struct ray *ray,
                  const struct ray_tof *tof)
{
	const struct ray r = *ray;
	const struct ray_tof t = *tof;

	if (t.measure == RAY_LENGTH) {
		for (int i = 0; i < n; i++) w[i] = (x[i + 1] - x[i]) * r.len;
	} else if (t.measure == RAY_TOF) {
		for (int i = 0; i <= n; i++) /* one erf a piece, not two */
			x[i] = ray_tof_share(&r, &t, x[i]);
		for (int i = 0; i < n; i++) w[i] = ray_max(x[i + 1] - x[i], 0);
	} else {
		for (int i = 0; i < n; i++) w[i] = ray_weight(&r, &t, x[i], x[i + 1]);
	}
}

static void trace_slices(struct ray_list *l, const struct ray *r, const struct ray_tof *tof)
{
	struct faces f;
	struct cuts c;
	int first = l->n;

	for (int k = r->k0; k < r->k1; k += RUN) {
		int n = r->k1 - k < RUN ? r->k1 - k : RUN;

		find_faces(&f, r, k, n);
		cut_run(&c, &f, r, k, n);
		l->n += keep_run(l->voxel + l->n, l->x + l->n, &f, &c, n);
	}
	l->x[l->n] = r->x1;
	weigh(l->w + first, l->x + first, l->n - first, r, tof);
}

/* ---- Joseph ---- */

struct samples {
	iso_real w[RUN + LANES], share[4][RUN];
	int voxel[4][RUN];
};

static void sample_run(struct samples *restrict s, const struct ray *ray, int k, int n)
{
	const struct ray r = *ray;
	const int last = k + n - 1, slices = padded(n);

	for (int i = 0; i < slices; i++) {
		struct ray_sample a = ray_sample_slice(&r, k + i < last ? k + i : last);

		for (int p = 0; p < 4; p++) {
			s->share[p][i] = a.share[p];
			s->voxel[p][i] = a.voxel[p];
		}
	}
}

/* The slices' weights follow each other as pieces do. */
static void weigh_run(struct samples *s, const struct ray *r, const struct ray_tof *tof, int k, int n)
{
	iso_real x[RUN + 1];

	for (int i = 0; i <= n; i++) x[i] = ray_clamp((iso_real)(k + i), r->x0, r->x1);
	weigh(s->w, x, n, r, tof);
}

static int keep_samples(int *restrict voxel, iso_real *restrict w, const struct samples *restrict s, int n)
{
	int m = 0;

	for (int i = 0; i < n; i++)
		for (int p = 0; p < 4; p++) {
			voxel[m] = s->voxel[p][i];
			w[m] = s->share[p][i] * s->w[i];
			m += w[m] > 0;
		}
	return m;
}

static void trace_joseph(struct ray_list *l, const struct ray *r, const struct ray_tof *tof)
{
	struct samples s;

	for (int k = r->k0; k < r->k1; k += RUN) {
		int n = r->k1 - k < RUN ? r->k1 - k : RUN;

		sample_run(&s, r, k, n);
		weigh_run(&s, r, tof, k, n);
		l->n += keep_samples(l->voxel + l->n, l->w + l->n, &s, n);
	}
}

/* ---- a row ---- */

/* Entries of the longest row, and some written and not kept. */
static int64_t longest(const struct ray_grid *g, const struct ray_spread *s)
{
	int n = g->n[0] > g->n[1] ? g->n[0] : g->n[1];

	n = n > g->n[2] ? n : g->n[2];
	return (int64_t)s->lines * RAY_PIECES * n + 4;
}

int64_t iso_ray_list_bytes(const struct ray_grid *g, const struct ray_spread *s)
{
	int64_t bytes = longest(g, s) * (int64_t)(sizeof(int) + 2 * sizeof(iso_real));

	return (bytes + 127) / 128 * 128; /* lists of different threads share no cache line */
}

struct ray_list iso_ray_list(void *memory, const struct ray_grid *g, const struct ray_spread *s)
{
	iso_real *x = memory;
	int64_t n = longest(g, s);

	return (struct ray_list){ .x = x, .w = x + n, .voxel = (int *)(x + 2 * n) };
}

void iso_ray_trace(struct ray_list *l, const struct ray_model *m, const struct iso_event *e)
{
	l->n = 0;
	for (int i = 0; i < m->spread.lines; i++) {
		struct ray r = ray_of_event(m, e, i);

		if (r.k0 >= r.k1) continue;
		if (m->projector == ISO_JOSEPH)
			trace_joseph(l, &r, &m->tof);
		else
			trace_slices(l, &r, &m->tof);
	}
	if (m->spread.lines > 1)
		for (int i = 0; i < l->n; i++) l->w[i] /= (iso_real)m->spread.lines;
}
