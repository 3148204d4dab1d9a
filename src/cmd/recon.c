/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome recon: an image from measured data. */
#include "model.h"

#include "core/plan.h"
#include "core/progress.h"
#include "core/status.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const methods[] = { "mlem", "osem", NULL };

struct settings {
	const char *model, *method, *out, *sens, *start;
	int64_t iterations, subsets, save_every;
	double checkpoint_minutes, stop_after;
	bool resume, deterministic;
	double began_s;
	char checkpoint[PATH_MAX];
};

struct run {
	struct cmd *c;
	const struct model *m;
	const struct settings *s;
	struct iso_grid grid;
	struct iso_array x, sens;
	struct model_data data;
	iso_op *op;
};

static const struct opt_usage usage = {
	"recon",
	"Reconstruct an image from measured data by MLEM or OSEM. The sensitivity comes from the "
	"scanner, or from a file. An interrupted run leaves a checkpoint beside the output.",
	"  isotome recon ray --events e.lmdT --scanner examples/scanners/clinical-ring.yaml \\\n"
	"      --grid 128,128,50 --voxel 4 --method osem --subsets 8 --iterations 4 -o x.nii\n"
	"  isotome recon ray --events e.lmdT --sens s.nii --grid 128 --voxel 4 -o x.nii --resume\n"
	"  isotome recon --like x.json --iterations 8 -o y.nii\n",
};

/* ---- before the work ---- */

static int check_method(struct settings *s, const struct opt_set *sets)
{
	bool osem = strcmp(s->method, "osem") == 0;

	if (!opt_find(sets, "subsets")->given)
		s->subsets = osem ? 8 : 1;
	if (!osem && s->subsets > 1)
		return iso_fail(ISO_EARG, "--subsets is %" PRId64 ": mlem has one; --method osem takes "
				"more", s->subsets);
	return ISO_OK;
}

/* A checkpoint that nobody asked to continue is somebody's work. */
static int check_checkpoint(struct settings *s, const struct cmd *c)
{
	if (snprintf(s->checkpoint, sizeof s->checkpoint, "%s.ckpt", s->out) >=
	    (int)sizeof s->checkpoint)
		return iso_fail(ISO_EARG, "%s: name too long", s->out);
	if (!s->resume && !c->force && access(s->checkpoint, F_OK) == 0)
		return iso_fail(ISO_EARG, "%s exists: --resume continues it, --force begins anew",
				s->checkpoint);
	return ISO_OK;
}

static bool sens_from_file(const struct settings *s)
{
	return s->sens && strcmp(s->sens, "none") != 0;
}

static int plan(struct run *r)
{
	int64_t n = iso_grid_voxels(&r->grid), rows = r->m->rows();
	struct iso_plan p = { 0 };

	iso_plan_add(&p, "image and sensitivity", n, 3 * sizeof(iso_real), false);
	iso_plan_add(&p, "events and factors", rows,
		     sizeof(struct iso_event) + 3 * sizeof(iso_real), false);
	iso_plan_add(&p, "log-likelihoods", r->s->iterations * r->s->subsets, sizeof(double), false);
	r->m->plan(&p, r->c, (int)r->s->subsets);
	iso_em_plan(&p, r->c->ctx, n, rows, 1, 3);
	return cmd_plan(r->c, &p);
}

/* ---- the parts of the problem ---- */

static int sens_of_ones(struct run *r)
{
	int st = iso_array_on_grid(&r->sens, &r->grid);

	if (st)
		return st;
	for (int64_t i = 0; i < r->sens.n; i++)
		r->sens.v[i] = 1;
	record_warn(&r->c->record, "--sens none: the image is not corrected for sensitivity");
	return ISO_OK;
}

static int sens_of_file(struct run *r)
{
	int st = iso_read_image(&r->sens, r->s->sens, ISO_NONNEGATIVE, &r->grid);

	return st ? st : record_input(&r->c->record, r->s->sens);
}

static int make_sens(struct run *r)
{
	int st;

	record_stage(&r->c->record, "sensitivity");
	st = !r->s->sens ? r->m->sens(&r->sens, r->c)
			 : sens_from_file(r->s) ? sens_of_file(r) : sens_of_ones(r);
	for (int64_t i = 0; !st && i < r->sens.n; i++)
		if (r->sens.v[i] > 0)
			return ISO_OK;
	return st ? st : iso_fail(ISO_EINPUT, "the sensitivity is 0 in every voxel: does the grid lie "
				  "in the scanner?");
}

static int make_start(struct run *r)
{
	int st;

	if (r->s->start) {
		if ((st = iso_read_image(&r->x, r->s->start, ISO_NONNEGATIVE, &r->grid)) ||
		    (st = record_input(&r->c->record, r->s->start)))
			return st;
	} else {
		if ((st = iso_array_on_grid(&r->x, &r->grid)))
			return st;
		for (int64_t i = 0; i < r->x.n; i++)
			r->x.v[i] = 1;
	}
	snprintf(r->x.unit, sizeof r->x.unit, "counts/mm");
	return ISO_OK;
}

/* What does not change the image; all else decides whether a checkpoint belongs to this run. */
static const char *const no_part_of_the_key[] = {
	"output", "device", "deterministic", "threads", "memory-limit", "checkpoint-minutes",
	"stop-after", "save-every", "resume", NULL,
};

static bool wants(void *arg, int iteration)
{
	const struct settings *s = ((struct run *)arg)->s;

	return s->save_every > 0 && iteration % s->save_every == 0 && iteration < s->iterations;
}

/* x.nii after iteration 5: x_it005.nii */
static int iteration_path(char *path, size_t size, const char *out, int iteration)
{
	const char *base = strrchr(out, '/') ? strrchr(out, '/') + 1 : out;
	const char *dot = strchr(base, '.');
	int n = snprintf(path, size, "%.*s_it%03d%s", (int)(dot ? dot - out : (long)strlen(out)), out,
			 iteration, dot ? dot : "");

	return n < (int)size ? ISO_OK : iso_fail(ISO_EARG, "%s: name too long", out);
}

/* A run that continues finds those that it wrote before. */
static int check_iterations(const struct settings *s, const struct cmd *c)
{
	char path[PATH_MAX];
	int st = ISO_OK;

	if (s->save_every == 0 || (s->resume && access(s->checkpoint, F_OK) == 0))
		return ISO_OK;
	for (int64_t i = s->save_every; i < s->iterations && !st; i += s->save_every)
		if (!(st = iteration_path(path, sizeof path, s->out, (int)i)))
			st = cmd_check_output(c, path);
	return st;
}

static int save_iteration(void *arg, int iteration, const iso_real *x)
{
	struct run *r = arg;
	struct iso_array a = r->x;
	char path[PATH_MAX];
	int st = iteration_path(path, sizeof path, r->s->out, iteration);

	a.v = (iso_real *)x;
	if (!st)
		st = record_result(&r->c->record, "iteration", json_integer(iteration));
	return st ? st : cmd_write(r->c, path, &a);
}

static json_t *loglik_json(const struct iso_em_result *e)
{
	json_t *list = json_array();

	for (int i = 0; i < e->n; i++)
		if (json_array_append_new(list, json_real(e->loglik[i]))) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static double activity(const struct run *r)
{
	double sum = 0;

	for (int64_t i = 0; i < r->x.n; i++)
		sum += (double)r->x.v[i] * r->sens.v[i];
	return sum;
}

/* The names that BIDS-PET has for such things, and the run's own results. */
static int describe(struct run *r, const struct iso_em_result *e)
{
	struct record *rec = &r->c->record;
	const struct settings *s = r->s;
	int st;

	if ((st = record_set(rec, "ReconMethodName", json_string(s->method)))) return st;
	if ((st = record_set(rec, "ReconMethodParameterLabels", json_pack("[s,s]", "subsets",
		"iterations")))) return st;
	if ((st = record_set(rec, "ReconMethodParameterUnits", json_pack("[s,s]", "none",
		"none")))) return st;
	if ((st = record_set(rec, "ReconMethodParameterValues", json_pack("[I,I]",
		(json_int_t)s->subsets, (json_int_t)s->iterations)))) return st;
	if ((st = record_result(rec, "loglik", loglik_json(e)))) return st;
	if ((st = record_result(rec, "resumed_from_update", json_integer(e->resumed_from))))
		return st;
	if ((st = record_result(rec, "iteration", json_integer(s->iterations)))) return st;
	if (e->unsaved)
		record_warn(rec, "%d checkpoints could not be written beside %s", e->unsaved, s->out);
	if (e->skipped)
		record_warn(rec, "%" PRId64 " of %" PRId64 " events meet no activity and are left out",
			    e->skipped, e->used + e->skipped);
	return record_result(rec, "events", json_pack("{s:I, s:I, s:f}", "used",
		(json_int_t)e->used, "skipped", (json_int_t)e->skipped,
		"sum_of_sensitivity_times_image", activity(r)));
}

/* --stop-after counts from the start of the program; 0 means never. */
static double minutes_left(const struct settings *s)
{
	double left = s->stop_after - (iso_now_s() - s->began_s) / 60;

	return s->stop_after == 0 ? 0 : left > 1e-9 ? left : 1e-9;
}

static int iterate(struct run *r)
{
	const struct settings *s = r->s;
	struct iso_em em = {
		.op = r->op, .iterations = (int)s->iterations,
		.data = { r->data.y, r->data.add, r->data.mult },
		.sens = { 1, (int)s->subsets, r->sens.v },
		.checkpoint = s->checkpoint, .checkpoint_minutes = s->checkpoint_minutes,
		.stop_after_minutes = minutes_left(s), .resume = s->resume,
		.each = save_iteration, .wants = wants, .arg = r,
	};
	struct iso_em_result result;
	int st;

	if ((st = record_key(&r->c->record, &em.key, no_part_of_the_key)))
		return st;
	em.key += iso_ctx_is_cuda(r->c->ctx);	/* the two devices round differently */
	if (s->resume && access(s->checkpoint, F_OK) != 0)
		record_warn(&r->c->record, "there is no %s: beginning at the start", s->checkpoint);
	record_stage(&r->c->record, "reconstruct");
	st = iso_em_run(r->x.v, &result, &em);
	record_stage(&r->c->record, NULL);
	if (!st)
		st = describe(r, &result);
	iso_em_result_free(&result);
	return st;
}

/* What is quickly read is checked before what takes long to compute. */
static int reconstruct(struct run *r)
{
	int st;

	if ((st = plan(r))) return st;
	if ((st = make_start(r))) return st;
	record_stage(&r->c->record, "factors");
	if ((st = r->m->data(&r->data, r->c))) return st;
	if ((st = r->m->op(&r->op, r->c, (int)r->s->subsets))) return st;
	if ((st = make_sens(r))) return st;
	if ((st = iterate(r))) return st;
	if ((st = cmd_write(r->c, r->s->out, &r->x))) return st;
	unlink(r->s->checkpoint);	/* the image is safe; there may have been none */
	return cmd_report(r->c);
}

static int run(struct cmd *c, const struct opt_set *sets, const struct model *m,
	       const struct settings *s)
{
	struct run r = { .c = c, .m = m, .s = s };
	int st;

	record_stage(&c->record, "read");
	st = m->load(c, sets, MODEL_NEEDS_DATA | (s->sens ? 0 : MODEL_NEEDS_SENS), NULL);
	if (!st) {
		r.grid = m->grid();
		st = iso_write_check_grid(s->out, &r.grid);
	}
	if (!st)
		st = reconstruct(&r);
	iso_op_free(r.op);
	model_data_free(&r.data);
	iso_array_free(&r.x);
	iso_array_free(&r.sens);
	return st;
}

int main_recon(int argc, char **argv)
{
	struct settings s = { .method = "mlem", .iterations = 10, .subsets = 1,
			      .checkpoint_minutes = 10, .began_s = iso_now_s() };
	const struct model *m = NULL;
	struct cmd c = { 0 };
	int st = model_pick(&m, argc, argv);

	if (st)
		return st;
	struct opt own[] = {
		model_positional(&s.model),
		{ 'o', "output", .text = &s.out, .value = "FILE", .required = true,
		  .help = "image (.nii, .nii.gz, .npy, .raw)" },
		{ 0, "method", .text = &s.method, .words = methods, .value = "M",
		  .help = "mlem, or osem with --subsets" },
		{ 0, "iterations", .integer = &s.iterations, .value = "N", .min = 1, .max = 1e6,
		  .help = "passes over all data" },
		{ 0, "subsets", .integer = &s.subsets, .value = "K", .min = 1, .max = 1e6,
		  .absent = "1 for mlem, 8 for osem", .help = "subset b holds events b, b+K, b+2K, ..." },
		{ 0, "sens", .text = &s.sens, .value = "FILE|none", .absent = "from --scanner",
		  .help = "sensitivity image; none: 1 everywhere" },
		{ 0, "start", .text = &s.start, .value = "FILE", .absent = "1 everywhere",
		  .help = "start image" },
		{ 0, "save-every", .integer = &s.save_every, .value = "N", .min = 0, .max = 1e6,
		  .help = "also write the image after every N iterations (x_it005.nii)" },
		{ 0, "deterministic", .flag = &s.deterministic,
		  .help = "the same bits on every run and for every number of threads: always so with "
			  "the methods there are" },
		{ 0 },
	};
	struct opt stop[] = {
		{ 0, "resume", .flag = &s.resume,
		  .help = "continue from OUTPUT.ckpt; begin at the start where there is none" },
		{ 0, "checkpoint-minutes", .real = &s.checkpoint_minutes, .value = "M", .min = 0,
		  .max = 1e6, .help = "least time between two checkpoints; 0: after every update" },
		{ 0, "stop-after", .real = &s.stop_after, .value = "M", .min = 0, .max = 1e6,
		  .help = "write a checkpoint and stop (exit code 143) after M minutes; 0: never" },
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own }, { m->title, m->opts },
				  { "Interruption", stop },
				  cmd_common(&c, CMD_COMPUTES | CMD_WRITES), { 0 } };

	if ((st = cmd_parse(&c, &usage, sets, argc, argv))) goto done;
	if ((st = check_method(&s, sets))) goto done;
	if ((st = cmd_check_output(&c, s.out))) goto done;
	if ((st = check_iterations(&s, &c))) goto done;
	if ((st = check_checkpoint(&s, &c))) goto done;
	if ((st = cmd_begin(&c))) goto done;
	st = run(&c, sets, m, &s);
done:
	m->unload();
	cmd_end(&c);
	return st;
}
