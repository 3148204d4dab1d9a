/* SPDX-License-Identifier: BSD-3-Clause */
/* Lifetimes of simulated triples: by maps of life and share at the place of each decay. */
#include "simulate_lifetime.h"

#include "base/number.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum { OPTIONS = SIMULATE_LIFETIME_OPTIONS };

static const struct simulate_lifetime usual = { .sigma_ps = 150, .window = { -20, 15 } };

void simulate_lifetime_options(struct opt o[OPTIONS], struct simulate_lifetime *s)
{
	const struct opt own[OPTIONS] = {
		{ 0, "lifetime", .text = &s->maps, .file = OPT_MAY_READ, .value = "TAU,W", .absent = "none",
		  .help = "triples: life of ortho-positronium (ns) and its share, numbers or images; events "
		          "get a "
		          "lifetime" },
		{ 0, "sigma-ps", .real = &s->sigma_ps, .unit = "ps", .value = "PS", .min = 1, .max = 1e5,
		  .help = "error of a lifetime, as standard deviation" },
		{ 0, "random-triples", .real = &s->random, .value = "F", .min = 0, .max = .99,
		  .help = "share of triples whose prompt photon is of another decay: any time of the "
		          "window" },
		{ 0, "lifetime-window", .real = s->window, .unit = "ns", .count = 2, .value = "LO,HI",
		  .help = "lifetimes are from LO to below HI" },
		{ 0 },
	};

	*s = usual;
	memcpy(o, own, sizeof own);
}

bool simulate_lifetime_is_usual(const struct opt *o, const struct simulate_lifetime *s)
{
	return (o->real == &s->sigma_ps && s->sigma_ps == usual.sigma_ps) ||
	       (o->real == s->window && s->window[0] == usual.window[0] && s->window[1] == usual.window[1]);
}

/* A number, or an image without values below 0. */
static int read_map(struct simulate_map *m, struct cmd *c, const char *text, size_t length,
                    const struct iso_grid *g)
{
	char path[PATH_MAX];

	if (iso_number(&m->value, text, length)) return ISO_OK;
	if (length >= sizeof path) return iso_fail(ISO_EARG, "--lifetime: a path is too long");
	iso_snprintf(path, sizeof path, "%.*s", (int)length, text);
	int st = record_input(&c->record, path);

	return st ? st : record_read_map(&c->record, &m->image, path, g);
}

int simulate_lifetime_read(struct simulate_lifetimes *l, struct cmd *c, const struct simulate_lifetime *s,
                           const struct iso_grid *g)
{
	const char *comma = strchr(s->maps, ',');
	int st;

	if (!comma)
		return iso_fail(ISO_EARG, "--lifetime is '%s', expected TAU,W: numbers or images", s->maps);
	iso_lifetime_usual(&l->model);
	l->model.sigma = s->sigma_ps / 1000;
	l->model.lo = s->window[0];
	l->model.hi = s->window[1];
	l->random = s->random;
	if ((st = read_map(&l->tau, c, s->maps, (size_t)(comma - s->maps), g))) return st;
	return read_map(&l->w, c, comma + 1, strlen(comma + 1), g);
}

/* The value of a map at a place; 0 beside the image. */
static double value_at(const struct simulate_map *m, const float place[3])
{
	const struct iso_grid *g = &m->image.grid;
	int64_t i[3];

	if (!m->image.v) return m->value;
	for (int a = 0; a < 3; a++) {
		i[a] = (int64_t)floor(((double)place[a] - g->centre[a]) / g->voxel[a] + .5 * (double)g->n[a]);
		if (i[a] < 0 || i[a] >= g->n[a]) return 0;
	}
	return (double)m->image.v[(i[2] * g->n[1] + i[1]) * g->n[0] + i[0]];
}

/* Numbers of their own: those of places have the keys of the scan itself. */
#define KEY 0x6c69666574696d65u

int simulate_lifetime_draw(double *time, const struct simulate_lifetimes *l, const float *places,
                           uint64_t seed, int64_t first, int64_t n)
{
	const struct iso_lifetime_model *m = &l->model;

	for (int64_t i = 0; i < n; i++) {
		const float *p = places + 3 * i;
		const struct philox q = philox_draw(seed ^ KEY, (uint64_t)(first + i), UINT64_MAX);
		int st;

		if (philox_unit_double(q.w[0], q.w[1]) < l->random) {
			time[i] = m->lo + (m->hi - m->lo) * philox_unit_double(q.w[2], q.w[3]);
			continue;
		}
		if ((st = iso_lifetime_draw(time + i, m, value_at(&l->tau, p), value_at(&l->w, p), seed ^ KEY,
		                            (uint64_t)(first + i))))
			return iso_fail(st, "--lifetime at a decay (%.4g, %.4g, %.4g) mm: %s", (double)p[0],
			                (double)p[1], (double)p[2], iso_message());
	}
	return ISO_OK;
}

void simulate_lifetime_free(struct simulate_lifetimes *l)
{
	iso_array_free(&l->tau.image);
	iso_array_free(&l->w.image);
}
