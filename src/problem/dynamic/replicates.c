/* SPDX-License-Identifier: BSD-3-Clause */
/* 'replicates': the same run again over the same events with Poisson weights, and what the images say of the error of the
   first. The loop is here, the iterations are algo/replicator.c, the figures dynamic/statistics.c. */
#include "region_labels.h"
#include "replicates.h"

#include "core/comm.h"
#include "core/room.h"
#include "core/size.h"
#include "file/out.h"
#include "io/format.h"
#include "isotome/dynamic.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SAYS "statistical error alone; bias by iterations, penalty, PSF, scatter and motion is not in it"
#define SHIFTED .5 /* of an sd: a region is told */

enum {
	BATCH = 4, /* docs/error-bars.md has what others take */
	MOST_BATCH = 64,
};

struct replicated {
	int64_t n;
	iso_spread *spread;
	iso_series *kept; /* finished images; NULL: nothing is written */
	struct regions g;
	double *table, *value, *covariance; /* replicates x regions; of the image itself; regions x regions */
	struct iso_interval *v;
	struct iso_array mean, sd;
	struct iso_room room; /* of the tables */
};

struct opt_set replicates_params(struct replicates *s)
{
	const unsigned goes = TAKES_REPLICATES | MODEL_REPLICATES, regions = TAKES_REGIONS | MODEL_REPLICATES;
	const struct opt opts[] = {
		{ 0, "replicates", .integer = &s->n, .value = "R", .min = 2, .max = ISO_REPLICATES_MOST,
		  .absent = "none", .goes = goes,
		  .help = "also reconstruct R replicates of the scan, and write their mean and standard "
		          "deviation (x_mean.nii, x_sd.nii). A replicate counts each event 0, 1, 2, ... "
		          "times, "
		          "by a Poisson number of mean 1. It shows the statistical error, and no bias" },
		{ 0, "replicates-seed", .integer = &s->seed, .value = "N", .min = 0, .max = 9e15,
		  .goes = goes, .with = "replicates", .help = "seed of these numbers" },
		{ 0, "replicates-save", .text = &s->save, .file = OPT_WRITES, .value = "FILE", .goes = goes,
		  .with = "replicates",
		  .help = "also write all R images, as one 4-D image. 'isotome measure roi --replicates' "
		          "reads "
		          "it" },
		{ 0, "replicates-batch", .integer = &s->batch, .value = "E", .min = 1, .max = MOST_BATCH,
		  .absent = "4", .goes = goes, .with = "replicates",
		  .help = "replicates that share one pass over the rays. More take more memory; the images "
		          "do "
		          "not change" },
		{ 0, "regions", .text = &s->labels, .file = OPT_READS, .takes = ISO_TAKES_ARRAY,
		  .value = "FILE", .goes = regions,
		  .help = "image of labels on the grid (0: none; 1, 2, ...). Each label gets a mean with its "
		          "95 % "
		          "interval (x_regions.tsv), and their covariance (x_regions_cov.npy). With "
		          "'kinetics', also "
		          "whether the curves fit (x_scores.tsv)" },
		{ 0, "fisher", .flag = &s->fisher, .goes = TAKES_FISHER | MODEL_REPLICATES, .with = "penalty",
		  .help = "standard deviation and covariance of 'regions' from the second derivatives at the "
		          "image, "
		          "without replicates (x_regions.tsv, x_regions_cov.npy)" },
		{ 0 },
	};

	_Static_assert(sizeof opts <= sizeof s->opts, "room for the options");
	memcpy(s->opts, opts, sizeof opts);
	return (struct opt_set){ "Error bars", s->opts };
}

/* ---- before the work ---- */

int replicates_check(const iso_problem *p)
{
	static const char *const streams[] = { "stream", "block", "scratch" };
	const struct opt *corrected = opt_find(p->sets, "precorrected");

	if (corrected && corrected->flag && *corrected->flag)
		return iso_fail(ISO_EARG,
		                "'replicates' does not go with 'precorrected': the counts of its events "
		                "are no Poisson numbers");
	if (p->s.frames.series && !p->s.kinetics.model)
		return iso_fail(ISO_EARG, "'replicates' makes one image, not a series: it does not go with "
		                          "'frames' or 'gates'; 'from-s' and 'to-s' choose one frame");
	for (int i = 0; i < 3; i++)
		if (problem_given(p, streams[i]))
			return iso_fail(ISO_EARG, "'replicates' needs the events in memory: leave out '%s'",
			                streams[i]);
	if (p->s.replicates.save && !p->s.out)
		return iso_fail(ISO_EARG, "'replicates-save' needs an output file for the image");
	return ISO_OK;
}

static int batch_of(const struct recon *r)
{
	const struct replicates *s = &r->s->replicates;
	int64_t batch = s->batch ? s->batch : BATCH;

	return (int)(batch < s->n ? batch : s->n);
}

void replicates_plan(const struct recon *r, struct iso_plan *plan, int64_t rows)
{
	int64_t n = iso_grid_voxels(&r->grid), batch = batch_of(r), real = sizeof(iso_real);
	int64_t packed = (batch + 3) / 4 * 4;
	bool cuda = iso_ctx_is_cuda(r->ctx);

	if (r->s->replicates.n == 0) return;
	iso_plan_add(plan, "replicates of a batch", n, batch * 3 * real, cuda);
	if (!cuda && batch > 1)
		iso_plan_add(plan, "replicates in packs, and their sums", n,
		             packed * (real + r->ctx->threads * (int64_t)sizeof(int64_t)), false);
	iso_plan_add(plan, "counts of replicates", rows, (batch + 1) * real, cuda);
	iso_plan_add(plan, "data vectors of replicates", rows, 2 * real, cuda);
	iso_plan_add(plan, "mean and standard deviation", n, 2 * (int64_t)sizeof(double) + 2 * real, false);
}

/* ---- regions ---- */

static int make_regions(struct replicated *made, struct recon *r)
{
	int st = regions_read(&made->g, r);

	if (st || made->g.n == 0) return st;
	ISO_HOST(&made->room, made->table, made->n * made->g.n);
	ISO_HOST(&made->room, made->value, made->g.n);
	ISO_HOST(&made->room, made->covariance, (int64_t)made->g.n * made->g.n);
	ISO_HOST(&made->room, made->v, made->g.n);
	return made->room.status;
}

/* ---- the images ---- */

int replicates_begin(struct replicated **out, struct recon *r)
{
	struct replicated *made = size_alloc(1, sizeof *made);
	int st;

	if (!made) return iso_fail_memory("replicates", sizeof *made);
	*out = made;
	made->n = r->s->replicates.n;
	made->room = iso_room_of(NULL, "regions of replicates");
	if (r->problem->found.on_disk)
		return iso_fail(
			ISO_EARG,
			"'replicates' needs the events in memory, which is too small for them: raise the "
			"memory limit, or take a part of the events ('isotome convert --share')");
	if ((st = make_regions(made, r))) return st;
	return iso_spread_create(&made->spread, iso_grid_voxels(&r->grid));
}

void replicates_free(struct replicated *made)
{
	if (!made) return;
	iso_spread_free(made->spread);
	iso_series_free(made->kept);
	regions_free(&made->g);
	iso_array_free(&made->mean);
	iso_array_free(&made->sd);
	iso_room_free(&made->room);
	free(made);
}

static int take_image(struct replicated *made, const iso_real *x)
{
	int64_t k = iso_spread_count(made->spread);

	if (made->g.n > 0) regions_means(&made->g, made->table + k * made->g.n, x);
	return iso_spread_add(made->spread, x);
}

/* Those that an earlier run had finished. Rank 0 alone has the file. */
static int take_kept(struct replicated *made, struct recon *r, iso_real *x)
{
	bool found = true;
	uint64_t key;
	int st = r->s->out ? recon_key(r->problem, &key, 0) : ISO_OK;

	if (st || !r->s->out) return st;
	st = iso_series_open(&made->kept, r->s->replicated, key, r->x.n, r->s->resume);
	st = iso_comm_agree(r->ctx, st);
	while (!st && found && iso_spread_count(made->spread) < made->n) {
		char *text = NULL;

		st = iso_series_next(made->kept, &found, x, &text);
		free(text);
		st = iso_comm_broadcast(r->ctx, st, &found, sizeof found);
		if (!st && found) st = iso_comm_broadcast(r->ctx, st, x, r->x.n * (int64_t)sizeof *x);
		if (!st && found) st = take_image(made, x);
	}
	return st;
}

static int keep_batch(struct replicated *made, struct recon *r, const iso_real *x, int n)
{
	int st = ISO_OK;

	for (int e = 0; e < n && !st; e++) {
		st = take_image(made, x + e * r->x.n);
		if (!st && made->kept) st = iso_series_add(made->kept, x + e * r->x.n, "{}");
	}
	return iso_comm_agree(r->ctx, st);
}

static int stopped(const struct replicated *made, const struct recon *r)
{
	return iso_fail(ISO_ECANCEL, "stopped after %" PRId64 " of %" PRId64 " replicates%s%s",
	                iso_spread_count(made->spread), made->n, r->s->out ? "; resume continues from " : "",
	                r->s->out ? r->s->replicated : "");
}

static bool late(const struct settings *s)
{
	return s->stop_after > 0 && iso_now_s() - s->began_s >= 60 * s->stop_after;
}

static int all_batches(struct replicated *made, struct recon *r, iso_replicator *by, iso_real *x)
{
	int64_t done = iso_spread_count(made->spread);
	struct iso_clock clock = iso_clock_start(r->ctx, "replicates", done, made->n);
	int st = ISO_OK, batch = iso_replicator_batch(by);

	while (done < made->n) {
		int n = (int)(made->n - done < batch ? made->n - done : batch);
		double stop;

		if ((st = iso_replicator_run(x, by, done, n))) break;
		if ((st = keep_batch(made, r, x, n))) break;
		done += n;
		iso_clock_step(&clock, done, NULL);
		stop = late(r->s) && done < made->n;
		if ((st = iso_comm_max(r->ctx, ISO_OK, &stop, 1))) break;
		if (stop > 0) return stopped(made, r);
	}
	return st == ISO_ECANCEL ? stopped(made, r) : st;
}

static int iterate(struct replicated *made, struct recon *r, iso_real *x, const iso_real *start,
                   const struct iso_sens *sens)
{
	const struct settings *s = r->s;
	const struct iso_em em = { .size = sizeof em,
		                   .op = r->op,
		                   .iterations = (int)s->iterations,
		                   .data = { r->data.y, r->data.add, r->data.mult },
		                   .sens = *sens,
		                   .filter = s->filter_text ? &s->filter : NULL,
		                   .filter_every = (int)s->filter_every,
		                   .grid = r->grid };
	const struct iso_replicates which = { .size = sizeof which,
		                              .seed = (uint64_t)s->replicates.seed,
		                              .batch = batch_of(r),
		                              .number = r->problem->found.in_file };
	iso_replicator *by = NULL;
	int st = iso_replicator_create(&by, &em, start, &which);

	if (!st) st = all_batches(made, r, by, x);
	if (!st && iso_replicator_empty(by) > 0)
		record_warn(r->record,
		            "%" PRId64 " updates of replicates had no events, and left the image as it was",
		            iso_replicator_empty(by));
	iso_replicator_free(by);
	return st;
}

int replicates_run(struct replicated *made, struct recon *r, const iso_real *start,
                   const struct iso_sens *sens)
{
	struct iso_room room = iso_room_of(NULL, "images of replicates");
	iso_real *x;
	int st;

	record_stage(r->record, "replicates");
	ISO_HOST(&room, x, batch_of(r) * r->x.n);
	if (made->g.n > 0) regions_means(&made->g, made->value, r->x.v);
	if (!(st = room.status)) st = take_kept(made, r, x);
	if (!st && iso_spread_count(made->spread) < made->n) st = iterate(made, r, x, start, sens);
	iso_room_free(&room);
	record_stage(r->record, NULL);
	return st;
}

/* ---- what comes out ---- */

static json_t *region_json(const struct replicated *made, int k)
{
	const struct iso_interval *v = made->v + k;

	return record_pack("{s:i, s:f, s:f, s:f, s:f, s:f, s:f}", "label", made->g.label[k], "value",
	                   v->value, "mean", v->mean, "sd", v->sd, "low", v->low, "high", v->high, "shift",
	                   v->shift);
}

static int describe(const struct replicated *made, const struct recon *r)
{
	json_t *o = record_pack("{s:I, s:I, s:s}", "number", (json_int_t)made->n, "seed",
	                        (json_int_t)r->s->replicates.seed, "says", SAYS);
	json_t *regions = made->g.n > 0 ? json_array() : NULL;

	for (int k = 0; k < made->g.n; k++) {
		json_array_append_new(regions, region_json(made, k));
		if (fabs(made->v[k].shift) > SHIFTED)
			record_warn(r->record,
			            "region %d: the replicates' mean is %.2g sd off the image: at so few "
			            "counts their "
			            "spread is not that of scans",
			            made->g.label[k], made->v[k].shift);
	}
	if (regions) json_object_set_new(o, "regions", regions);
	record_tell(r->record, ISO_NEWS, "%" PRId64 " replicates: %s", made->n, SAYS);
	return record_result(r->record, "replicates", o);
}

static int make_maps(struct replicated *made, struct recon *r)
{
	int st;

	if ((st = iso_array_on_grid(&made->mean, &r->grid)) || (st = iso_array_on_grid(&made->sd, &r->grid)))
		return st;
	memcpy(made->mean.unit, r->x.unit, sizeof r->x.unit);
	memcpy(made->sd.unit, r->x.unit, sizeof r->x.unit);
	return iso_spread_get(made->mean.v, made->sd.v, made->spread);
}

static int write_map(struct recon *r, enum replicates_file which, const struct iso_array *a)
{
	char path[PATH_MAX];
	int st = replicates_path(path, r->s, which);

	return st ? st : problem_write_image(r->problem, path, a, NULL);
}

static int write_values(struct recon *r, enum replicates_file which, int64_t rows, int64_t columns,
                        const double *v)
{
	char path[PATH_MAX];
	int st = replicates_path(path, r->s, which);

	return st ? st : regions_write_values(r, path, rows, columns, v);
}

static void table_line(char *to, size_t size, const struct regions *g, int k, const void *arg)
{
	const struct iso_interval *v = (const struct iso_interval *)arg + k;

	iso_snprintf(to, size, "%d\t%.9g\t%.9g\t%.9g\t%.9g\t%.9g\t%.9g\n", g->label[k], v->value, v->mean,
	             v->sd, v->low, v->high, v->shift);
}

static int write_regions(const struct replicated *made, struct recon *r)
{
	char path[PATH_MAX];
	int st = replicates_path(path, r->s, REPLICATES_TABLE);

	if (!st)
		st = regions_write_text(path, "label\tvalue\tmean\tsd\tlow\thigh\tshift\n", &made->g,
		                        table_line, made->v);
	if (!st) st = write_values(r, REPLICATES_COVARIANCE, made->g.n, made->g.n, made->covariance);
	return st ? st : write_values(r, REPLICATES_REGIONS, made->n, made->g.n, made->table);
}

/* All images, from the file that kept them. */
static int write_images(struct replicated *made, struct recon *r)
{
	struct iso_array a = r->x;
	iso_real *x = NULL;
	int st = model_vector(&x, r->x.n, "replicates");

	memmove(a.dim + 1, a.dim, 3 * sizeof *a.dim);
	a.dim[0] = made->n;
	a.n_dim = 4;
	a.n *= made->n;
	if (!st) st = record_write_series(r->record, r->s->replicates.save, made->kept, &a, x, NULL);
	free(x);
	return st;
}

int replicates_write(struct replicated *made, struct recon *r)
{
	int st = make_maps(made, r);

	if (!st && made->g.n > 0)
		st = iso_intervals(made->v, made->covariance, made->n, made->g.n, made->table, made->value);
	if (!st) st = describe(made, r);
	if (st || !r->s->out) return st;
	if ((st = write_map(r, REPLICATES_MEAN, &made->mean)) ||
	    (st = write_map(r, REPLICATES_SD, &made->sd)))
		return st;
	if (made->g.n > 0 && (st = write_regions(made, r))) return st;
	return r->s->replicates.save ? write_images(made, r) : ISO_OK;
}

int iso_problem_replicates(struct iso_array *mean, struct iso_array *sd, const iso_problem *p)
{
	if (!p || (!mean && !sd)) return iso_fail_null(__func__);
	const struct replicated *made = p->replicated;
	struct iso_array first = { 0 };
	int st = ISO_OK;

	if (!made) return iso_fail(ISO_EARG, "there are no replicates: no run with 'replicates' came before");
	if (mean) st = record_copy(&first, &made->mean, NULL);
	if (!st && sd) st = record_copy(sd, &made->sd, NULL);
	if (!st && mean)
		*mean = first;
	else
		iso_array_free(&first);
	return st;
}
