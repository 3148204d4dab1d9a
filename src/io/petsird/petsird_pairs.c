/* SPDX-License-Identifier: BSD-3-Clause */
/* Efficiencies of a ring in a PETSIRD file. Every two modules, which are rings, name a table of the places of two crystals
   round the ring. Rings whose distance and axial factor are the same share a table. */
#include "petsird_pen.h"

#include "core/size.h"
#include "scanner/pairs_kern.h"
#include "scanner/scanner.h"

#include <stdlib.h>

#define MOST_BYTES 2e9 /* of all tables */

/* Rings i and j <= i that a table was made of. */
struct sample {
	int64_t i, j;
	double factor;
};

static double factor_of(const struct iso_pair_factors *f, int64_t a, int64_t b)
{
	return f->factor ? f->factor(f->arg, a, b) : 1;
}

/* In proportion to the axial factor, whatever single places round the ring have. */
static double axial_factor(const struct iso_pairs *q, const struct iso_pair_factors *f, int64_t i, int64_t j)
{
	double sum = 0;

	for (int64_t c = 0; c < q->per_ring && f->crystal; c++)
		sum += factor_of(f, i * q->per_ring, j * q->per_ring + c);
	return sum;
}

/* The table of two rings, made a sample of if there is none like it. Without efficiencies all rings have the same. */
static int64_t find_table(struct sample *sample, int64_t *n, const struct iso_pairs *q,
                          const struct iso_pair_factors *f, int64_t i, int64_t j)
{
	const double factor = axial_factor(q, f, i, j);
	int64_t k = 0;

	while (k < *n && f->crystal && (sample[k].i - sample[k].j != i - j || sample[k].factor != factor))
		k++;
	if (k == *n) sample[(*n)++] = (struct sample){ i, j, factor };
	return k;
}

/* Of two modules the number of their table, with a sign, as a varint: 2 k; 1 is -1: not in coincidence. */
static void put_numbers(struct pen *p, struct sample *sample, int64_t *n, const struct iso_pairs *q,
                        const struct iso_pair_factors *f)
{
	pen_pair(p);
	pen_count(p, (uint64_t)q->rings);
	for (int64_t i = 0; i < q->rings; i++) {
		pen_count(p, (uint64_t)i + 1);
		for (int64_t j = 0; j <= i; j++) {
			const bool apart = i - j > q->max_ring_difference;

			pen_count(p, apart ? 1 : 2 * (uint64_t)find_table(sample, n, q, f, i, j));
		}
	}
}

static double of_crystals(const iso_scanner *s, const struct iso_pair_factors *f, int64_t a, int64_t b)
{
	if (!iso_scanner_in_coincidence(s, a, b)) return 0;
	return f->crystal ? factor_of(f, a, b) * pairs_solid_angle(s->pos + 3 * a, s->pos + 3 * b) : 1;
}

static void put_table(struct pen *p, const iso_scanner *s, const struct iso_pair_factors *f,
                      const struct sample *at)
{
	const int64_t n = s->pairs.per_ring;

	pen_count(p, (uint64_t)n);
	for (int64_t i = 0; i < n; i++) {
		pen_count(p, (uint64_t)n);
		for (int64_t j = 0; j < n; j++)
			pen_floats(p, (const double[]){ of_crystals(s, f, at->i * n + i, at->j * n + j) }, 1);
	}
}

/* A value of each crystal, or none. */
static void put_crystals(struct pen *p, const iso_scanner *s, const struct iso_pair_factors *f)
{
	pen_count(p, f->crystal ? 1 : 0);
	if (!f->crystal) return;
	pen_count(p, (uint64_t)s->n);
	pen_floats(p, f->crystal, (int)s->n);
}

void petsird_put_efficiencies(struct pen *p, const iso_scanner *s, const struct iso_pair_factors *f)
{
	const struct iso_pairs *q = &s->pairs;
	const double table = 4. * (double)q->per_ring * (double)q->per_ring;
	struct sample *sample = size_alloc(q->rings * (q->rings + 1) / 2, sizeof *sample);
	int64_t n = 0;

	if (!sample && !p->st) p->st = iso_fail_memory("petsird", q->rings * q->rings);
	pen_text(p, f->crystal ? "maximum likelihood; values of pairs have the weight by solid angle"
	                       : "1 for all pairs that are in coincidence");
	pen_floats(p, (const double[]){ 1 }, 1);
	put_crystals(p, s, f);
	if (sample) put_numbers(p, sample, &n, q, f);
	if (!p->st && (double)n * table > MOST_BYTES)
		p->st = iso_fail(
			ISO_EARG,
			"%s: %lld tables of pairs, %.3g GB, at most 2: a norm without axial factors has "
			"a table a ring difference",
			p->out->path, (long long)n, 1e-9 * (double)n * table);
	pen_pair(p);
	pen_count(p, (uint64_t)n);
	for (int64_t k = 0; k < n && !p->st; k++) {
		put_table(p, s, f, sample + k);
		pen_count(p, 2 * (uint64_t)k); /* its number */
	}
	free(sample);
}
