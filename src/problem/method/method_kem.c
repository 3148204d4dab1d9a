/* SPDX-License-Identifier: BSD-3-Clause */
/* 'method' kem: EM on the coefficients alpha of a kernel K made of other images; the image is K alpha. */
#include "problem/problem.h"

#include "base/number.h"
#include "core/room.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the text of 'kernel' ---- */

/* A parameter of 'kernel'; *found is false where the item is a file. */
static int parse_kernel_item(struct penalties *p, const char *item, size_t length, bool *found)
{
	static const char *const names[] = { "k=", "radius=", "sigma=" };
	double v = 0;
	int which = 0;

	for (; which < 3; which++)
		if (strncmp(item, names[which], strlen(names[which])) == 0) break;
	*found = which < 3;
	if (!*found) return ISO_OK;
	size_t name = strlen(names[which]);

	if (!iso_number(&v, item + name, length - name))
		return iso_fail(ISO_EARG, "'kernel': '%.*s' is no number", (int)length, item);
	if (!(v > 0) || (which < 2 && (v != floor(v) || v > 1e6)))
		return iso_fail(ISO_EARG, "'kernel': %s%g, must be %s", names[which], v,
		                which < 2 ? "a whole number of at least 1" : "greater than 0");
	if (which == 0) p->k = (int)v;
	if (which == 1) p->radius = (int)v;
	if (which == 2) p->sigma = v;
	return ISO_OK;
}

/* Files first, then parameters. */
static int parse_kernel(struct penalties *p)
{
	const char *at = p->kernel;
	bool is_parameter = false;
	int st;

	p->k = 48;
	p->radius = 3;
	p->sigma = 1;
	p->n_features = 0;
	while (at && *at) {
		size_t length = strcspn(at, ",");

		if ((st = parse_kernel_item(p, at, length, &is_parameter))) return st;
		if (!is_parameter && p->n_features == MAP_FEATURES)
			return iso_fail(ISO_EARG, "'kernel': more than %d files", MAP_FEATURES);
		if (!is_parameter) {
			p->feature[p->n_features].at = at;
			p->feature[p->n_features++].length = (int)length;
		}
		at += length + (at[length] == ',');
	}
	double edge = 2. * p->radius + 1;

	if (p->k > edge * edge * edge)
		return iso_fail(ISO_EARG, "'kernel': k=%d, more than the %g voxels of a window of radius %d",
		                p->k, edge * edge * edge, p->radius);
	return ISO_OK;
}

static int check(iso_problem *problem)
{
	struct penalties *p = &problem->s.penalties;
	int st = map_check_likelihood(problem);

	if (st || (st = parse_kernel(p))) return st;
	return p->n_features > 0
	               ? ISO_OK
	               : iso_fail(ISO_EARG,
	                          "'method' kem needs 'kernel': files of features, such as an MR image");
}

/* ---- the kernel ---- */

/* Images of one file: one, or in an array of four axes several. */
static int read_features(struct recon *r, struct iso_array *a, const char *path)
{
	struct iso_array head = { 0 };
	const int64_t *n = r->grid.n;
	int st = record_peek(r->record, &head, path, ISO_FINITE);
	bool several =
		!st && head.n_dim == 4 && head.dim[1] == n[2] && head.dim[2] == n[1] && head.dim[3] == n[0];

	iso_array_free(&head);
	if (st || !several) return st ? st : recon_read_image(r, a, path, ISO_FINITE);
	st = record_read(r->record, a, path, ISO_FINITE);
	return st ? st : record_input(r->record, path);
}

static int read(struct recon *r, struct recon_map *m)
{
	const struct penalties *p = &r->s->penalties;
	char path[PATH_MAX];
	int st = ISO_OK;

	for (int i = 0; i < p->n_features && !st; i++) {
		if ((st = recon_path(path, p->feature[i].at, p->feature[i].length))) return st;
		if (!(st = read_features(r, &m->feature[i], path)))
			m->n_features += (int)(m->feature[i].n / iso_grid_voxels(&r->grid));
	}
	return st;
}

static void plan_memory(const struct recon *r, const struct recon_map *m, struct iso_plan *plan, int64_t rows,
                        int images)
{
	const struct penalties *p = &r->s->penalties;
	int64_t n = iso_grid_voxels(&r->grid);

	em_plan(r, m, plan, rows, images);
	iso_plan_add(plan, "features", n, m->n_features * (int64_t)sizeof(iso_real), false);
	iso_plan_add(plan, "kernel, and its transpose", n, 16 * (int64_t)p->k, iso_ctx_is_cuda(r->ctx));
	iso_plan_add(plan, "images behind the kernel", n, 3 * sizeof(iso_real), iso_ctx_is_cuda(r->ctx));
}

static int make_kernel(struct recon *r, struct recon_map *m)
{
	const struct penalties *p = &r->s->penalties;
	int64_t n = iso_grid_voxels(&r->grid), at = 0;
	struct iso_kernel k = {
		.size = sizeof k,
		.grid = r->grid,
		.n_features = m->n_features,
		.neighbours = p->k,
		.radius = p->radius,
		.sigma = p->sigma,
	};
	iso_real *all;
	int st;

	record_stage(r->record, "kernel");
	if ((st = model_vector(&all, n * m->n_features, "features"))) return st;
	for (int i = 0; i < p->n_features; i++) {
		memcpy(all + at, m->feature[i].v, (size_t)m->feature[i].n * sizeof *all);
		at += m->feature[i].n;
		iso_array_free(&m->feature[i]);
	}
	k.feature = all;
	st = iso_kernel_create(&r->kernel, r->ctx, &k);
	free(all);
	return st;
}

int kernel_add(struct recon *r)
{
	iso_op *chain = NULL;
	int st;

	if (!r->kernel) return ISO_OK;
	st = iso_chain_create(&chain, r->op, r->kernel);
	iso_op_free(r->op);
	r->op = chain;
	return st;
}

int kernel_apply(const struct recon *r, iso_real *to, const iso_real *from, bool adjoint)
{
	int64_t n = iso_grid_voxels(&r->grid);
	struct iso_room room = iso_room_of(r->ctx, "images behind the kernel");
	iso_real *a, *b;
	int st;

	ISO_UPLOAD(&room, a, from, n);
	ISO_DEVICE(&room, b, n);
	st = room.status;
	if (!st) st = (adjoint ? iso_adjoint : iso_forward)(b, r->kernel, ISO_ALL, a);
	if (!st) st = iso_ctx_vec(r->ctx)->download(r->ctx, to, b, n * (int64_t)sizeof *b);
	iso_room_free(&room);
	return st;
}

const struct method kem_methods[] = {
	{
		.name = "kem",
		.about = "EM with a 'kernel' of other images",
		.needs = MODEL_COUNTS | MODEL_FEATURES,
		.takes = TAKES_WORK | TAKES_COUNTS | TAKES_KERNEL,
		.start = "1 everywhere",
		.iterations = 10,
		.subsets = 1,
		.load = LOAD_COUNTS,
		.check = check,
		.run = recon_em,
		.read = read,
		.plan = plan_memory,
		.begin = make_kernel,
		.iterate = em_iterate,
	},
	{ 0 },
};
