/* SPDX-License-Identifier: BSD-3-Clause */
/* Priors: what they check and keep, and which device does the work. Their kinds are in potentials.c. */
#include "core/size.h"
#include "core/sized.h"
#include "prior_in.h"

/* ---- checks ---- */

static int check(const struct iso_prior_spec *p)
{
	int st = iso_prior_check(p);

	if (st || (st = iso_grid_check(&p->grid))) return st;
	if (!p->anatomy) return ISO_OK;
	if (p->bowsher < 1 || p->bowsher > PRIOR_NEAR)
		return iso_fail(ISO_EARG,
		                "penalty %s: %d neighbours by the anatomical image, must be 1 to %d",
		                iso_prior_about(p->kind)->name, p->bowsher, PRIOR_NEAR);
	return ISO_OK;
}

static int check_image(const char *what, const iso_ctx *ctx, int64_t n, const iso_real *v, bool nonneg)
{
	int64_t bad = n;

#pragma omp parallel for num_threads(ctx->threads) reduction(min : bad)
	for (int64_t i = 0; i < n; i++)
		if (i < bad && (!isfinite(v[i]) || (nonneg && v[i] < 0))) bad = i;
	if (bad == n) return ISO_OK;
	return iso_fail(ISO_EINPUT, "%s: voxel %" PRId64 " is %g, must be %s", what, bad, (double)v[bad],
	                nonneg ? "finite and not negative" : "finite");
}

/* ---- create and free ---- */

static struct prior_par parameters(const struct iso_prior_spec *s)
{
	const double *v = s->grid.voxel;
	struct prior_par p = { .kind = s->kind, .n = { s->grid.n[0], s->grid.n[1], s->grid.n[2] } };

	for (int i = 0; i < PRIOR_PAIRS; i++) {
		int d[3];

		prior_offset(d, i);
		p.w[i] = (iso_real)(v[0] / sqrt(d[0] * d[0] * v[0] * v[0] + d[1] * d[1] * v[1] * v[1] +
		                                d[2] * d[2] * v[2] * v[2]));
	}
	for (int a = 0; a < 3 && !iso_prior_about(s->kind)->pairs; a++) p.w[a] = (iso_real)(v[0] / v[a]);
	iso_prior_constants(&p, s);
	return p;
}

/* The caller's image on the host: itself, or a copy in the room. */
static const iso_real *on_host(struct iso_room *room, enum iso_place place, int64_t n, const iso_real *v)
{
	iso_real *copy;

	if (!v || place == ISO_HOST || !iso_ctx_is_cuda(room->ctx)) return v;
	if (!ISO_HOST(room, copy, n)) return NULL;
	room->status = room->ctx->vec->download(room->ctx, copy, v, n * (int64_t)sizeof *v);
	return copy;
}

/* Images are checked on the host; what the prior keeps goes to its room. */
static int take_images(iso_prior *r, const struct iso_prior_spec *p)
{
	struct iso_room host = iso_room_of(r->ctx, "prior");
	const int64_t n = iso_grid_voxels(&p->grid);
	const iso_real *kappa = on_host(&host, p->place, n, p->kappa);
	const iso_real *anatomy = on_host(&host, p->place, n, p->anatomy);
	uint32_t *bits = NULL;
	int st = host.status;

	if (!st && kappa) st = check_image("kappa", r->ctx, n, kappa, true);
	if (!st && anatomy) st = check_image("anatomical image", r->ctx, n, anatomy, false);
	if (!st && anatomy && ISO_HOST(&host, bits, n))
		iso_prior_bowsher(bits, r->ctx, &p->grid, anatomy, p->bowsher);
	if (!st) st = host.status;
	if (!st) {
		ISO_UPLOAD(&r->room, r->kappa, kappa, n);
		ISO_UPLOAD(&r->room, r->bits, bits, n);
		st = r->room.status;
	}
	iso_room_free(&host);
	return st;
}

int iso_prior_create(iso_prior **r, iso_ctx *ctx, const struct iso_prior_spec *p)
{
	if (!r || !ctx || !p) return iso_fail_null(__func__);
	struct iso_prior_spec s;
	int st = iso_sized_take(&s, "iso_prior_spec", sizeof s, p);

	if (st || (st = check(&s)) || (st = iso_ctx_ready(ctx))) return st;
	iso_prior *made = size_alloc(1, sizeof *made);

	if (!made) return iso_fail_memory("prior", sizeof *made);
	made->ctx = iso_ctx_keep(ctx);
	made->room = iso_room_of(ctx, "prior");
	made->par = parameters(&s);
	made->pairs = iso_prior_about(s.kind)->pairs;
	st = take_images(made, &s);
	if (!st && iso_ctx_is_cuda(ctx)) {
		void *open = NULL;

		st = iso_cuda_symbol(&open, "iso_prior_open_cuda");
		if (!st) st = ((int (*)(iso_prior *))open)(made);
	}
	if (st)
		iso_prior_free(made);
	else
		*r = made;
	return st;
}

void iso_prior_free(iso_prior *r)
{
	if (!r) return;
	iso_room_free(&r->room);
	iso_ctx_free(r->ctx);
	free(r);
}

/* ---- either device ---- */

int iso_prior_eval(double *value, iso_real *gradient, iso_real *curvature, iso_real *hessian, iso_prior *r,
                   const iso_real *x)
{
	if (!r || !x) return iso_fail_null(__func__);
	const struct prior_want want = { value, gradient, curvature, hessian };

	if (gradient == x || curvature == x || hessian == x)
		return iso_fail(ISO_EARG, "prior: a result and the image are the same array, must be two");
	return r->eval_cuda ? r->eval_cuda(r, &want, x) : iso_prior_cpu(r, &want, x, NULL);
}

/* Without a prior: voxel by voxel. */
static int plain_step(iso_ctx *ctx, int64_t n, iso_real *to, const iso_real *x, const struct prior_update *u)
{
	void *cuda = NULL;
	int st;

	if (iso_ctx_is_cuda(ctx)) {
		st = iso_cuda_symbol(&cuda, "iso_prior_plain_step_cuda");
		return st ? st : ((typeof(&plain_step))cuda)(ctx, n, to, x, u);
	}
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t i = 0; i < n; i++) {
		to[i] = prior_updated(u, x[i], u->z[i], u->g[i], u->p[i], 0);
		u->z[i] = 0;
	}
	return ISO_OK;
}

int iso_prior_step(iso_prior *r, iso_ctx *ctx, int64_t n, iso_real *to, const iso_real *x, iso_real *z,
                   const iso_real *g, const iso_real *p, const struct prior_length *length)
{
	const struct prior_update u = {
		.z = z,
		.g = g,
		.p = p,
		.scale = (iso_real)length->scale,
		.beta = (iso_real)length->beta,
		.step = (iso_real)length->step,
		.grow = (iso_real)length->grow,
		.off = (iso_real)length->off,
	};

	if (!r) return plain_step(ctx, n, to, x, &u);
	if (r->step_cuda) return r->step_cuda(r, to, x, &u);
	return iso_prior_cpu(r, &(struct prior_want){ .gradient = to }, x, &u);
}
