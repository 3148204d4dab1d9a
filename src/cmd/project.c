/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome project and isotome backproject: the model's operator and its adjoint, by hand. */
#include "problem/model.h"

#include "core/plan.h"
#include "core/size.h"
#include "core/status.h"
#include "core/vec.h"
#include "io/format.h"

#include <string.h>

static const struct opt_usage project_usage = {
	"project",
	"Forward projection of an image: y = m A x + r, one value per event, in the file's order. "
	"m holds what --mu, --norm and --scanner say, r is --additive and randoms; without them "
	"y = A x. With --psf the image is blurred first.",
	"  isotome project ray x.nii --events e.lmdT -o y.npy\n"
	"  isotome project ray x.npy --events e.lmdT --grid 64 --voxel 2 --mu mu.nii -o y.npy\n"
	"  isotome project ray x.nii --events e.lmdT --projector joseph --psf 4 -o y.npy\n"
	"  isotome project strip x.npy --scanner strips.yaml --events e.f32 -o y.npy\n"
	"  isotome project svoxel x.nii --scanner array.yaml -o spectra.npy\n"
	"  isotome project srm x.nii --srm m.srm -o counts.npy\n",
};

static const struct opt_usage backproject_usage = {
	"backproject",
	"Back projection of one value per event: x = A* (m y), the adjoint of `project` without r.",
	"  isotome backproject ray y.npy --events e.lmdT --grid 128 --voxel 4 -o x.nii\n",
};

/* One application: x the image, y the data, on the host; their copies on the device. */
struct apply {
	struct cmd *c;
	const struct model *m;
	const char *in, *out;
	double psf[3];
	struct iso_array x, y;
	iso_op *op;
	struct model_data data;
	iso_real *dx, *dy, *sorted;
};

/* What project and backproject do in their own way. */
struct direction {
	const struct opt_usage *usage;
	const char *what; /* the input, in words */
	int (*load)(struct apply *a, const struct opt_set *sets);
	int (*run)(struct apply *a);
	bool writes_image;
};

/* The image to project: on its own grid, or a file without one on that of the options. */
static int load_project(struct apply *a, const struct opt_set *sets)
{
	int st;

	if ((st = cmd_read(a->c, &a->x, a->in, ISO_FINITE))) return st;
	if ((st = record_input(&a->c->record, a->in))) return st;
	if ((st = a->m->load(a->c, sets, MODEL_NEEDS_DATA | MODEL_NEEDS_ADD,
	                     a->x.has_grid ? &a->x.grid : NULL)))
		return st;
	struct iso_grid g = a->m->grid();

	/* without a grid of its own it must fit the options' */
	return a->x.has_grid ? ISO_OK : iso_image_fit(&a->x, a->in, &g);
}

static int load_backproject(struct apply *a, const struct opt_set *sets)
{
	enum iso_values pairs = a->m->show ? ISO_PAIRS : 0;
	int st;

	if ((st = cmd_read(a->c, &a->y, a->in, ISO_FINITE | pairs))) return st;
	if ((st = record_input(&a->c->record, a->in))) return st;
	if (a->m->show) a->m->show(&a->y);
	if ((st = a->m->load(a->c, sets, MODEL_NEEDS_DATA, NULL))) return st;
	struct iso_grid g = a->m->grid();

	if ((st = iso_write_check_grid(a->out, &g))) return st;
	if (a->y.n != a->m->rows())
		return iso_fail(ISO_EINPUT, "%s: %" PRId64 " values, expected one per event (%" PRId64 ")",
		                a->in, a->y.n, a->m->rows());
	return ISO_OK;
}

static int prepare(struct apply *a)
{
	const struct model_subsets whole = { .n = 1 };
	struct iso_grid g = a->m->grid();
	int64_t n = a->m->rows(), dim[8] = { n };
	int n_dim = a->m->shape ? a->m->shape(dim) : 1;
	iso_ctx *ctx = a->c->ctx;
	struct iso_plan plan = cmd_plan_begin(a->c);
	int st;

	if (a->y.n > 0) /* the image is what is made */
		iso_plan_add(&plan, "image", iso_grid_voxels(&g), sizeof(iso_real), false);
	iso_plan_add(&plan, "image to work on", iso_grid_voxels(&g), sizeof(iso_real), iso_ctx_is_cuda(ctx));
	iso_plan_add(&plan, "data and factors", n, 4 * sizeof(iso_real), false);
	a->m->plan(&plan, a->c, &whole);
	if (model_has_psf(a->psf)) iso_psf_plan(&plan, ctx, &g);
	if ((st = cmd_plan(a->c, &plan))) return st;
	if (!a->x.v && (st = iso_array_on_grid(&a->x, &g))) return st;
	if (!a->y.v && (st = iso_array_create(&a->y, n_dim, dim))) return st;
	if ((st = a->m->data(&a->data, a->c))) return st;
	if ((st = a->m->op(&a->op, a->c, &whole))) return st;
	if ((st = model_add_psf(&a->op, &g, a->psf))) return st;
	if ((st = iso_vec_alloc(ctx, &a->dx, iso_op_n_in(a->op)))) return st;
	if ((st = iso_vec_alloc(ctx, &a->dy, n))) return st;
	a->sorted = size_alloc(n, sizeof *a->sorted);
	return a->sorted ? ISO_OK : iso_fail_memory("data", n * (int64_t)sizeof *a->sorted);
}

static void apply_free(struct apply *a)
{
	if (a->c->ctx) {
		iso_ctx_vec(a->c->ctx)->free(a->c->ctx, a->dx);
		iso_ctx_vec(a->c->ctx)->free(a->c->ctx, a->dy);
	}
	iso_op_free(a->op);
	model_data_free(&a->data);
	iso_array_free(&a->x);
	iso_array_free(&a->y);
	free(a->sorted);
}

static iso_real factor(const struct apply *a, int64_t j)
{
	return a->data.mult ? a->data.mult[j] : 1;
}

/* y = m (A P x) + r */
static int forward(struct apply *a)
{
	iso_ctx *ctx = a->c->ctx;
	const struct iso_vec *v = iso_ctx_vec(ctx);
	struct iso_array *x = &a->x, *y = &a->y;
	int st;

	if ((st = v->upload(ctx, a->dx, x->v, x->n * (int64_t)sizeof *x->v))) return st;
	if ((st = iso_forward(a->op, ISO_ALL, a->dy, a->dx))) return st;
	if ((st = v->download(ctx, a->sorted, a->dy, y->n * (int64_t)sizeof *y->v))) return st;
	iso_op_unsort(a->op, y->v, a->sorted);
	for (int64_t j = 0; j < y->n; j++)
		y->v[j] = y->v[j] * factor(a, j) + (a->data.add ? a->data.add[j] : 0);
	return ISO_OK;
}

/* x = P* A* (m y) */
static int backward(struct apply *a)
{
	iso_ctx *ctx = a->c->ctx;
	const struct iso_vec *v = iso_ctx_vec(ctx);
	struct iso_array *x = &a->x, *y = &a->y;
	int st;

	for (int64_t j = 0; j < y->n; j++) y->v[j] *= factor(a, j);
	iso_op_sort(a->op, a->sorted, y->v);
	if ((st = v->upload(ctx, a->dy, a->sorted, y->n * (int64_t)sizeof *y->v))) return st;
	if ((st = iso_adjoint(a->op, ISO_ALL, a->dx, a->dy))) return st;
	return v->download(ctx, x->v, a->dx, x->n * (int64_t)sizeof *x->v);
}

static const struct direction project = {
	.usage = &project_usage,
	.what = "image to project",
	.load = load_project,
	.run = forward,
};

static const struct direction backproject = {
	.usage = &backproject_usage,
	.what = "array with one value per event",
	.load = load_backproject,
	.run = backward,
	.writes_image = true,
};

static int run(struct apply *a, const struct direction *d, const struct opt_set *sets)
{
	struct record *record = &a->c->record;
	int st;

	record_stage(record, "read");
	if ((st = d->load(a, sets))) return st;
	if ((st = prepare(a))) return st;
	record_stage(record, d->usage->command);
	if ((st = d->run(a))) return st;
	st = d->writes_image ? model_write(a->m, a->c, a->out, &a->x) : cmd_write(a->c, a->out, &a->y);
	if (st) return st;
	return cmd_report(a->c);
}

static int command(int argc, char **argv, const struct direction *d)
{
	const char *name = NULL;
	struct cmd c = { 0 };
	struct apply a = { .c = &c };
	int st = model_pick(&a.m, argc, argv);

	if (st) return st;
	struct opt own[] = {
		model_positional(&name),
		{ 0, "input", .text = &a.in, .file = OPT_MAY_READ, .value = "INPUT", .positional = true,
		  .required = true, .help = d->what },
		{ 'o', "output", .text = &a.out, .file = OPT_WRITES, .value = "FILE", .required = true,
		  .help = "result (.npy, .nii, .nii.gz, .raw)" },
		model_psf_option(a.psf),
		{ 0 },
	};
	struct opt_set sets[] = {
		{ NULL, own }, { a.m->title, a.m->opts }, cmd_common(&c, CMD_COMPUTES | CMD_WRITES), { 0 }
	};

	if ((st = cmd_parse(&c, d->usage, sets, argc, argv))) goto done;
	if ((st = cmd_check_array(&c, a.out))) goto done;
	if ((st = cmd_begin(&c))) goto done;
	st = run(&a, d, sets);
done:
	apply_free(&a);
	a.m->unload();
	cmd_end(&c);
	return st;
}

int main_project(int argc, char **argv)
{
	return command(argc, argv, &project);
}

int main_backproject(int argc, char **argv)
{
	return command(argc, argv, &backproject);
}
