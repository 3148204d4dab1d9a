/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays in memory: made and freed. */
#include "arrays.h"
#include "core/size.h"
#include "core/status.h"

int iso_array_make(struct iso_array *a, const char *who, int n_dim, const int64_t *dim, bool values)
{
	struct iso_array r = { .n_dim = n_dim, .n = 1 };

	if (n_dim < 1 || n_dim > 8) return iso_fail(ISO_EARG, "%s: %d axes, must be 1 to 8", who, n_dim);
	for (int i = 0; i < n_dim; i++) {
		if (dim[i] < 1)
			return iso_fail(ISO_EARG, "%s: axis %d has size %" PRId64 ", must be at least 1", who,
			                i, dim[i]);
		if (!size_mul(&r.n, r.n, dim[i]) || r.n > INT64_MAX / (int64_t)sizeof *r.v)
			return iso_fail(ISO_EARG, "%s: more elements than 64 bits count", who);
		r.dim[i] = dim[i];
	}
	if (values && !(r.v = size_alloc(r.n, sizeof *r.v)))
		return iso_fail_memory(who, r.n * (int64_t)sizeof *r.v);
	*a = r;
	return ISO_OK;
}

int iso_array_create(struct iso_array *a, int n_dim, const int64_t *dim)
{
	if (!a || !dim) return iso_fail_null(__func__);
	return iso_array_make(a, "array", n_dim, dim, true);
}

int iso_array_on_grid(struct iso_array *a, const struct iso_grid *g)
{
	if (!a || !g) return iso_fail_null(__func__);
	int64_t dim[3] = { g->n[2], g->n[1], g->n[0] };
	int st = iso_grid_check(g);

	if (!st) st = iso_array_make(a, "image", 3, dim, true);
	if (st) return st;
	a->has_grid = true;
	a->grid = *g;
	return ISO_OK;
}

void iso_array_free(struct iso_array *a)
{
	if (!a) return;
	free(a->v);
	*a = (struct iso_array){ 0 };
}
