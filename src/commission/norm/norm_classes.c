/* SPDX-License-Identifier: BSD-3-Clause */
/* Classes of crystal pairs: their keys, and a table that tells the class of a pair. */
#include "norm_classes.h"

#include "core/size.h"

#include <string.h>

static int64_t one_key(int64_t x, int64_t y, int64_t n, int64_t block)
{
	const int64_t i = x % block;

	return i * n + (y - (x - i) + n) % n;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t key_of(const struct norm_classes *c, int64_t x, int64_t y)
{
	const int64_t n = c->per_ring, B = c->block;
	const int64_t k = least(one_key(x, y, n, B), one_key(y, x, n, B));

	if (!c->mirror) return k;
	x = n - 1 - x;
	y = n - 1 - y;
	return least(k, least(one_key(x, y, n, B), one_key(y, x, n, B)));
}

/* Numbers the keys that are marked; class[key], -1 elsewhere. */
static int number(int64_t *count, int64_t **key, int32_t *class, int64_t keys)
{
	int64_t n = 0;

	for (int64_t k = 0; k < keys; k++) class[k] = class[k] ? (int32_t)n++ : -1;
	if (!(*key = size_alloc(n, sizeof **key))) return iso_fail_memory("norm", n * 8);
	for (int64_t k = 0; k < keys; k++)
		if (class[k] >= 0) (*key)[class[k]] = k;
	*count = n;
	return ISO_OK;
}

static int make_t(struct norm_classes *c, const iso_scanner *s)
{
	const int64_t n = c->per_ring, B = c->block, keys = B * n;
	int32_t *class = size_alloc(keys, sizeof *class);
	int st;

	if (!class || !(c->t_of = size_alloc(2 * keys, sizeof *c->t_of))) {
		free(class);
		return iso_fail_memory("norm", 3 * keys * (int64_t)sizeof *class);
	}
	for (int64_t x = 0; x < B; x++)
		for (int64_t y = 0; y < n; y++)
			if (pairs_coincide(&s->pairs, x, y)) class[key_of(c, x, y)] = 1;
	if (!(st = number(&c->n_t, &c->t_key, class, keys)))
		for (int64_t x = 0; x < B; x++)
			for (int64_t j = 0; j < 2 * n; j++) {
				const int32_t k = class[key_of(c, x, j % n)];

				c->t_of[x * 2 * n + j] = k < 0 ? 0 : k; /* of no pair */
			}
	free(class);
	return st;
}

static int make_z(struct norm_classes *c, const iso_scanner *s)
{
	const int64_t rings = c->rings, keys = rings * rings;
	int st;

	if (!(c->z_of = size_alloc(keys, sizeof *c->z_of))) return iso_fail_memory("norm", keys * 4);
	for (int64_t a = 0; a < rings; a++)
		for (int64_t b = a; b < rings && b - a <= s->pairs.max_ring_difference; b++)
			c->z_of[a * rings + b] = 1;
	if ((st = number(&c->n_z, &c->z_key, c->z_of, keys))) return st;
	for (int64_t a = 0; a < rings; a++)
		for (int64_t b = 0; b < rings; b++) {
			const int32_t k = c->z_of[a < b ? a * rings + b : b * rings + a];

			c->z_of[a * rings + b] = k < 0 ? 0 : k;
		}
	return ISO_OK;
}

static int all_alike(int64_t *n, int64_t **key, int32_t **of, int64_t length)
{
	*n = 1;
	*key = size_alloc(1, sizeof **key);
	if (*of == NULL) *of = size_alloc(length, sizeof **of);
	return *key && *of ? ISO_OK : iso_fail_memory("norm", length * 4);
}

int norm_classes_create(struct norm_classes *c, const iso_scanner *s, bool transaxial, bool axial,
                        bool mirror)
{
	const int64_t rings = s->pairs.rings;
	int st;

	*c = (struct norm_classes){ .per_ring = s->pairs.per_ring,
		                    .rings = rings,
		                    .block = s->block > 0 && s->block < s->pairs.per_ring ? s->block : 1,
		                    .mirror = mirror,
		                    .transaxial = transaxial,
		                    .axial = axial };
	if ((transaxial || axial) && rings == 0)
		return iso_fail(ISO_EARG, "component '%s' needs a scanner of rings (kind: cylinder)",
		                transaxial ? "transaxial" : "axial");
	/* without classes, a run may be as long as all crystals */
	st = transaxial ? make_t(c, s) : all_alike(&c->n_t, &c->t_key, &c->t_of, s->n);
	if (!st) st = axial ? make_z(c, s) : all_alike(&c->n_z, &c->z_key, &c->z_of, 1);
	if (st) norm_classes_free(c);
	return st;
}

void norm_classes_free(struct norm_classes *c)
{
	free(c->t_key);
	free(c->z_key);
	free(c->t_of);
	free(c->z_of);
	*c = (struct norm_classes){ 0 };
}
