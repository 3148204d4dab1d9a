/* SPDX-License-Identifier: BSD-3-Clause */
/* Detectors anywhere in space: a table of points, every two of them in coincidence.

   The nearest one is found by a k-d tree without links: `tree` lists the detectors so that the
   middle of every range parts it by x, y or z in turn, lower ones before, higher ones after. */
#define _GNU_SOURCE /* qsort_r */
#include "core/size.h"
#include "file/npy.h"
#include "scanner.h"

#include <limits.h>

/* By coordinate, then by number: no two are equal, so the tree has one form only. */
static bool before(const iso_scanner *s, int axis, int64_t i, int64_t j)
{
	double a = s->pos[3 * i + axis], b = s->pos[3 * j + axis];

	return a < b || (a == b && i < j);
}

struct order {
	const iso_scanner *s;
	int axis;
};

static int compare(const void *a, const void *b, void *order)
{
	const struct order *o = order;

	return before(o->s, o->axis, *(const int64_t *)a, *(const int64_t *)b) ? -1 : 1;
}

/* Hoare's selection: puts tree[mid] where sorting [lo, hi] would, and parts the others by it. It
   looks at 3.4 n of n numbers on average, but at n^2 of a table made for that: then it sorts. */
static void select_middle(iso_scanner *s, int axis, int64_t lo, int64_t hi, int64_t mid)
{
	int64_t *t = s->tree, most = 16 * (hi - lo + 1);
	struct order order = { s, axis };

	while (lo < hi) {
		int64_t pivot = t[lo + (hi - lo) / 2], i = lo, j = hi;

		if ((most -= hi - lo) < 0) {
			qsort_r(t + lo, (size_t)(hi - lo + 1), sizeof *t, compare, &order);
			return;
		}
		while (i <= j) {
			while (before(s, axis, t[i], pivot)) i++;
			while (before(s, axis, pivot, t[j])) j--;
			if (i <= j) {
				int64_t swap = t[i];

				t[i++] = t[j];
				t[j--] = swap;
			}
		}
		if (mid <= j)
			hi = j;
		else if (mid >= i)
			lo = i;
		else
			return;
	}
}

static void plant(iso_scanner *s, int axis, int64_t lo, int64_t hi)
{
	int64_t mid = lo + (hi - lo) / 2;

	if (lo >= hi) return;
	select_middle(s, axis, lo, hi, mid);
	plant(s, (axis + 1) % 3, lo, mid - 1);
	plant(s, (axis + 1) % 3, mid + 1, hi);
}

struct search {
	const iso_scanner *s;
	const double *p;
	int64_t best;
	double d2; /* its squared distance */
};

static void search(struct search *q, int axis, int64_t lo, int64_t hi)
{
	if (lo > hi) return;
	int64_t mid = lo + (hi - lo) / 2, id = q->s->tree[mid];
	const double *c = q->s->pos + 3 * id;
	double d[3] = { q->p[0] - c[0], q->p[1] - c[1], q->p[2] - c[2] };
	double d2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
	bool above = d[axis] > 0;

	if (d2 < q->d2 || (d2 == q->d2 && id < q->best)) {
		q->d2 = d2;
		q->best = id;
	}
	search(q, (axis + 1) % 3, above ? mid + 1 : lo, above ? hi : mid - 1);
	if (d[axis] * d[axis] > q->d2) return; /* the other side is farther than the best */
	search(q, (axis + 1) % 3, above ? lo : mid + 1, above ? mid - 1 : hi);
}

static int64_t nearest(const iso_scanner *s, const double p[3])
{
	struct search q = { s, p, 0, INFINITY };

	search(&q, 0, 0, s->n - 1);
	return q.best;
}

static bool in_coincidence(const iso_scanner *s, int64_t a, int64_t b)
{
	const struct iso_efficiencies *e = s->efficiencies;

	if (s->modules) return modules_good(s->modules, (int32_t)a, (int32_t)b);
	if (e) {
		struct efficiency_end u = efficiency_find(e, a), v = efficiency_find(e, b);

		if (!efficiency_meet(e, &u, &v)) return false;
	}
	return pairs_counted(&s->pairs, s->pos + 3 * a, s->pos + 3 * b);
}

int iso_detectors_finish(iso_scanner *s)
{
	s->tree = size_alloc(s->n, sizeof *s->tree);
	if (!s->tree) return iso_fail_memory("detector positions", s->n * (int64_t)sizeof *s->tree);
	for (int64_t i = 0; i < s->n; i++) s->tree[i] = i;
	plant(s, 0, 0, s->n - 1);
	s->pairs.detectors = s->n;
	s->pairs.n = s->n * (s->n - 1) / 2;
	return ISO_OK;
}

int iso_detectors_create(iso_scanner **s, const char *name, int64_t n, const double *pos)
{
	iso_scanner *r = calloc(1, sizeof *r);
	int st = r ? ISO_OK : iso_fail_memory("scanner", sizeof *r);

	if (!st && (n < 2 || n > SCANNER_MAX))
		st = iso_fail(ISO_EINPUT, "%s: %" PRId64 " crystals, must be 2 to %d", name, n, SCANNER_MAX);
	if (!st && !(r->pos = size_alloc(n, 3 * sizeof *r->pos)))
		st = iso_fail_memory("detector positions", n * 3 * (int64_t)sizeof *r->pos);
	if (!st) {
		r->kind = ISO_DETECTORS;
		r->n = n;
		iso_scanner_set_name(r, name, strlen(name));
		memcpy(r->pos, pos, (size_t)(3 * n) * sizeof *pos);
		st = iso_detectors_finish(r);
	}
	if (st)
		iso_scanner_free(r);
	else
		*s = r;
	return st;
}

static int read_detectors(iso_scanner *s, const struct conf_node *root)
{
	const struct conf_node *energy = NULL;
	const char *name = NULL;
	const struct conf_key keys[] = {
		SCANNER_KEYS,
		/* A .npy (n, 3) beside the description: where lines end, mm. Every two form a pair. */
		{ "positions", CONF_TEXT, &name, 1, 0, 0, true },
		/* Window and resolution, for scatter. Default: not said. */
		{ "energy", CONF_NODE, &energy, 1, 0, 0, false },
		{ .name = NULL },
	};
	char path[PATH_MAX];
	int st;

	if ((st = iso_conf_keys(root, keys)) || (st = iso_scanner_read_energy(s, root, energy)) ||
	    (st = iso_conf_file(path, sizeof path, root, name)) ||
	    (st = iso_table_read(&s->pos, &s->n, 3, path)))
		return st;
	if (s->n < 2 || s->n > SCANNER_MAX)
		return iso_fail(ISO_EINPUT, "%s: %" PRId64 " detector positions, must be 2 to %d", path, s->n,
		                SCANNER_MAX);
	for (int64_t i = 0; i < 3 * s->n; i++)
		s->pos[i] = (double)(iso_real)s->pos[i]; /* as events hold them */
	return iso_detectors_finish(s);
}

const struct iso_scanner_fn iso_detectors_fn = {
	.read = read_detectors,
	.nearest = nearest,
	.in_coincidence = in_coincidence,
};
