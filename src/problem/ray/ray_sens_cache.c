/* SPDX-License-Identifier: BSD-3-Clause */
/* The sensitivity of the crystal pairs, computed once: the next run of the same scanner, grid and factors takes the image
   from the user's cache. That image is the one that would be computed, bit for bit. */
#include "model_ray.h"

#include "core/ctx.h"
#include "core/library.h"
#include "core/progress.h"
#include "file/cache.h"
#include "physics/response/response.h"
#include "scanner/scanner.h"

#include <math.h>
#include <string.h>

enum {
	FORMAT = 1,   /* of an entry: another number where its contents mean something else */
	PROBES = 1024 /* values of exp */
};

/* ---- the key: all that decides a bit of the image ---- */

#define ADD(h, v) iso_cache_hash_add(h, &(v), sizeof(v))

/* An array with its length; NULL is another key than any array. */
static void add_array(struct iso_cache_hash *h, const void *v, int64_t n, int64_t item)
{
	int64_t length = v ? n : -1;

	ADD(h, length);
	if (v) iso_cache_hash_add(h, v, n * item);
}

static void add_grid(struct iso_cache_hash *h, const struct iso_grid *g)
{
	ADD(h, g->n);
	ADD(h, g->voxel);
	ADD(h, g->centre);
}

static void add_efficiencies(struct iso_cache_hash *h, const struct iso_efficiencies *e)
{
	int64_t kinds = e ? e->kinds : -1;

	ADD(h, kinds);
	if (!e) return;
	ADD(h, e->kind);
	ADD(h, e->pair);
	add_array(h, e->bin, e->bins, sizeof *e->bin);
	add_array(h, e->group, e->groups, sizeof *e->group);
	add_array(h, e->value, e->values, sizeof *e->value);
	add_array(h, e->t, e->block * e->per_ring, sizeof *e->t);
	add_array(h, e->z, e->rings * e->rings, sizeof *e->z);
	ADD(h, e->scale);
	ADD(h, e->most);
}

static void add_scanner(struct iso_cache_hash *h, const iso_scanner *s)
{
	int64_t solid_angle = s->solid_angle;

	add_array(h, s->pos, 3 * s->n, sizeof *s->pos);
	ADD(h, s->pairs);
	ADD(h, solid_angle);
	add_efficiencies(h, s->efficiencies);
}

/* The library as it was built, the device, and how the C library of this machine rounds exp, which differs between
   processors: a home folder may be that of several machines. */
static void add_machine(struct iso_cache_hash *h, const iso_ctx *ctx)
{
	int64_t build[3] = { FORMAT, sizeof(iso_real), iso_ctx_is_cuda(ctx) }, file[2][3] = { 0 };
	double probe[PROBES];

	iso_library_identity(file[0], (const void *)ray_sens_key);
	if (ctx->cuda) iso_library_identity(file[1], ctx->cuda);
	ADD(h, build);
	ADD(h, file);
	iso_cache_hash_add(h, iso_version(), (int64_t)strlen(iso_version()) + 1);
	if (iso_ctx_is_cuda(ctx)) ADD(h, ctx->device_name);
	for (int i = 0; i < PROBES; i++) probe[i] = exp(-.0137 * i);
	ADD(h, probe);
}

static void add_response(struct iso_cache_hash *h, const iso_response *r)
{
	const int64_t directions = r ? RESPONSE_DIRECTIONS : 0;

	add_array(h, r ? r->area : NULL, r ? directions * response_crystals_of(&r->shape) : 0,
	          sizeof *r->area);
	for (int t = 0; t < RESPONSE_TABLES && r; t++)
		add_array(h, r->node[t], directions * response_places_of(&r->shape) * 2 * (2 * t + 3),
		          sizeof *r->node[t]);
}

static void add_parameters(struct iso_cache_hash *h, const struct iso_ray_sens *p)
{
	int64_t number[4] = { p->projector, p->rays, (int64_t)p->seed, p->coincidence_alone };

	add_grid(h, &p->grid);
	ADD(h, number);
	ADD(h, p->spread_mm);
	ADD(h, p->share);
	add_array(h, p->eff, p->scanner->n, sizeof *p->eff);
	add_array(h, p->mu ? p->mu->v : NULL, p->mu ? p->mu->n : 0, sizeof(iso_real));
	if (p->mu) add_grid(h, &p->mu->grid);
	add_response(h, p->response);
}

int ray_sens_key(char key[ISO_CACHE_KEY], const iso_ctx *ctx, const struct iso_ray_sens *p)
{
	struct iso_cache_hash h = { 0 };
	int st = iso_cache_hash_begin(&h);

	if (st) return st;
	add_machine(&h, ctx);
	add_scanner(&h, p->scanner);
	add_parameters(&h, p);
	iso_cache_hash_end(&h, key);
	return ISO_OK;
}

/* ---- the image ---- */

/* Rank 0 looks, and says what it found. */
static int look(const struct ray_problem *ray, bool *found, const struct iso_cache *c, const char *key,
                iso_real *s, int64_t bytes, double *error)
{
	iso_ctx *ctx = ray->p->ctx;
	struct {
		int64_t found;
		double error;
	} is = { 0 };
	int st;

	if (iso_rank(ctx) == 0) is.found = iso_cache_get(c, key, s, bytes, &is.error);
	if ((st = iso_comm_broadcast(ctx, ISO_OK, &is, sizeof is))) return st;
	*found = is.found != 0;
	*error = is.error;
	return *found ? iso_comm_broadcast(ctx, ISO_OK, s, bytes) : ISO_OK;
}

/* A cache that can't be written is nobody's fault: the run has what it wants. */
static void keep(const struct ray_problem *ray, const struct iso_cache *c, const char *key, const iso_real *s,
                 int64_t bytes, double error)
{
	if (iso_rank(ray->p->ctx) > 0 || !iso_cache_put(c, key, s, bytes, error)) return;
	record_tell(ray->p->record, c->named ? ISO_WARNING : ISO_DETAIL,
	            "the sensitivity is not kept for the next run: %s", iso_message());
}

int ray_sens_cached(struct ray_problem *ray, iso_real *s, double *error, const struct iso_ray_sens *p,
                    char from[PATH_MAX])
{
	int64_t bytes = iso_grid_voxels(&p->grid) * (int64_t)sizeof *s;
	double began_s = iso_now_s();
	char key[ISO_CACHE_KEY] = "";
	struct iso_cache c;
	bool found = false;
	int st = iso_cache_open(&c, ray->no_cache ? "none" : ray->cache);

	from[0] = '\0';
	if (!st && c.folder[0]) st = ray_sens_key(key, ray->p->ctx, p);
	if ((st = iso_comm_agree(ray->p->ctx, st))) return st;
	int64_t on = c.folder[0] != '\0'; /* of rank 0: others may have another environment */

	if ((st = iso_comm_broadcast(ray->p->ctx, ISO_OK, &on, sizeof on))) return st;
	if (on && (st = look(ray, &found, &c, key, s, bytes, error))) return st;
	if (found) {
		if (!iso_cache_path(from, &c, key)) from[0] = '\0';
		return ISO_OK;
	}
	if ((st = iso_ray_sens(s, error, ray->p->ctx, p)) || !on) return st;
	if (iso_now_s() - began_s >= c.least_s) keep(ray, &c, key, s, bytes, *error);
	return ISO_OK;
}
