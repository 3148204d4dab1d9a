/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome project and isotome backproject: the model's operator and its adjoint, by hand. */
#include "model.h"

#include "core/plan.h"
#include "core/size.h"
#include "core/status.h"
#include "core/vec.h"

#include <string.h>

static const struct opt_usage project_usage = {
	"project",
	"Forward projection of an image: y = m A x + r, one value per event, in the file's order. "
	"m holds what --mu, --norm and --scanner say, r is --additive; without them y = A x.",
	"  isotome project ray x.nii --events e.lmdT -o y.npy\n"
	"  isotome project ray x.npy --events e.lmdT --grid 64 --voxel 2 --mu mu.nii -o y.npy\n",
};

static const struct opt_usage backproject_usage = {
	"backproject",
	"Back projection of one value per event: x = A* (m y), the adjoint of `project` without r.",
	"  isotome backproject ray y.npy --events e.lmdT --grid 128 --voxel 4 -o x.nii\n",
};

/* Vectors of one application: x the image, y the data; both on the host and on the device. */
struct apply {
	const struct model *m;
	iso_op *op;
	struct model_data data;
	iso_real *x, *y, *sorted;
};

static int prepare(struct apply *a, struct cmd *c)
{
	struct iso_grid g = a->m->grid();
	int64_t n = a->m->rows();
	struct iso_plan plan = { 0 };
	int st;

	iso_plan_add(&plan, "image", iso_grid_voxels(&g), sizeof(iso_real), iso_ctx_is_cuda(c->ctx));
	iso_plan_add(&plan, "data and factors", n, 4 * sizeof(iso_real), false);
	a->m->plan(&plan, c, 1);
	if ((st = cmd_plan(c, &plan))) return st;
	if ((st = a->m->data(&a->data, c))) return st;
	if ((st = a->m->op(&a->op, c, 1))) return st;
	if ((st = iso_vec_alloc(c->ctx, &a->x, iso_op_n_in(a->op)))) return st;
	if ((st = iso_vec_alloc(c->ctx, &a->y, n))) return st;
	a->sorted = size_alloc(n, sizeof *a->sorted);
	return a->sorted ? ISO_OK : iso_fail_memory("data", n * (int64_t)sizeof *a->sorted);
}

static void apply_free(struct apply *a, struct cmd *c)
{
	if (c->ctx) {
		iso_ctx_vec(c->ctx)->free(c->ctx, a->x);
		iso_ctx_vec(c->ctx)->free(c->ctx, a->y);
	}
	iso_op_free(a->op);
	model_data_free(&a->data);
	free(a->sorted);
}

/* y = m (A x) + r */
static int forward(struct apply *a, struct cmd *c, struct iso_array *y, const struct iso_array *x)
{
	const struct iso_vec *v = iso_ctx_vec(c->ctx);
	int st;

	if ((st = v->upload(c->ctx, a->x, x->v, x->n * (int64_t)sizeof *x->v))) return st;
	if ((st = iso_forward(a->op, ISO_ALL, a->y, a->x))) return st;
	if ((st = v->download(c->ctx, a->sorted, a->y, y->n * (int64_t)sizeof *y->v))) return st;
	iso_op_unsort(a->op, y->v, a->sorted);
	for (int64_t j = 0; j < y->n; j++)
		y->v[j] = y->v[j] * a->data.mult[j] + (a->data.add ? a->data.add[j] : 0);
	return ISO_OK;
}

/* x = A* (m y) */
static int backward(struct apply *a, struct cmd *c, struct iso_array *x, const struct iso_array *y)
{
	const struct iso_vec *v = iso_ctx_vec(c->ctx);
	int st;

	for (int64_t j = 0; j < y->n; j++)
		y->v[j] *= a->data.mult[j];
	iso_op_sort(a->op, a->sorted, y->v);
	if ((st = v->upload(c->ctx, a->y, a->sorted, y->n * (int64_t)sizeof *y->v))) return st;
	if ((st = iso_adjoint(a->op, ISO_ALL, a->x, a->y))) return st;
	return v->download(c->ctx, x->v, a->x, x->n * (int64_t)sizeof *x->v);
}

/* The image to project: on its own grid, or a file without one on that of the options. */
static int run_project(struct cmd *c, const struct opt_set *sets, const struct model *m,
		       const char *in, const char *out)
{
	struct iso_array x = { 0 }, y = { 0 };
	struct apply a = { .m = m };
	int st;

	record_stage(&c->record, "read");
	if ((st = iso_read(&x, in, ISO_FINITE))) goto done;
	if ((st = record_input(&c->record, in))) goto done;
	if ((st = m->load(c, sets, MODEL_NEEDS_DATA, x.has_grid ? &x.grid : NULL))) goto done;
	struct iso_grid g = m->grid();

	if (!x.has_grid) {	/* then it must fit the options' */
		iso_array_free(&x);
		if ((st = iso_read_image(&x, in, ISO_FINITE, &g))) goto done;
	}
	if ((st = prepare(&a, c))) goto done;
	if ((st = iso_array_create(&y, 1, (int64_t[]){ m->rows() }))) goto done;
	record_stage(&c->record, "project");
	if ((st = forward(&a, c, &y, &x))) goto done;
	if ((st = cmd_write(c, out, &y))) goto done;
	st = cmd_report(c);
done:
	apply_free(&a, c);
	iso_array_free(&x);
	iso_array_free(&y);
	return st;
}

static int run_backproject(struct cmd *c, const struct opt_set *sets, const struct model *m,
			   const char *in, const char *out)
{
	struct iso_array x = { 0 }, y = { 0 };
	struct apply a = { .m = m };
	int st;

	record_stage(&c->record, "read");
	if ((st = iso_read(&y, in, ISO_FINITE))) goto done;
	if ((st = record_input(&c->record, in))) goto done;
	if ((st = m->load(c, sets, MODEL_NEEDS_DATA, NULL))) goto done;
	struct iso_grid g = m->grid();

	if ((st = iso_write_check_grid(out, &g))) goto done;
	if (y.n != m->rows()) {
		st = iso_fail(ISO_EINPUT, "%s: %" PRId64 " values, expected one per event (%" PRId64 ")",
			      in, y.n, m->rows());
		goto done;
	}
	if ((st = prepare(&a, c))) goto done;
	if ((st = iso_array_on_grid(&x, &g))) goto done;
	record_stage(&c->record, "backproject");
	if ((st = backward(&a, c, &x, &y))) goto done;
	if ((st = cmd_write(c, out, &x))) goto done;
	st = cmd_report(c);
done:
	apply_free(&a, c);
	iso_array_free(&x);
	iso_array_free(&y);
	return st;
}

static int command(int argc, char **argv, const struct opt_usage *usage, const char *what,
		   int (*run)(struct cmd *, const struct opt_set *, const struct model *,
			      const char *, const char *))
{
	const struct model *m = NULL;
	const char *name = NULL, *in = NULL, *out = NULL;
	struct cmd c = { 0 };
	int st = model_pick(&m, argc, argv);

	if (st)
		return st;
	struct opt own[] = {
		model_positional(&name),
		{ 0, "input", .text = &in, .value = "INPUT", .positional = true, .required = true,
		  .help = what },
		{ 'o', "output", .text = &out, .value = "FILE", .required = true,
		  .help = "result (.npy, .nii, .nii.gz, .raw)" },
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own }, { m->title, m->opts },
				  cmd_common(&c, CMD_COMPUTES | CMD_WRITES), { 0 } };

	if ((st = cmd_parse(&c, usage, sets, argc, argv))) goto done;
	if ((st = cmd_check_output(&c, out))) goto done;
	if ((st = cmd_begin(&c))) goto done;
	st = run(&c, sets, m, in, out);
done:
	m->unload();
	cmd_end(&c);
	return st;
}

int main_project(int argc, char **argv)
{
	return command(argc, argv, &project_usage, "image to project", run_project);
}

int main_backproject(int argc, char **argv)
{
	return command(argc, argv, &backproject_usage, "array with one value per event",
		       run_backproject);
}
