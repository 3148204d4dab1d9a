/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiments of Bialas 2015 in turn. */
#include "reproduce_bialas.h"

#include "bench/bench.h"
#include "file/out.h"
#include "core/size.h"

#include <math.h>
#include <stdlib.h>

static const char scanner_text[] =
#include "embedded/bialas2015.yaml.h"
	;

#define SEED 2

static const struct bialas_scale scales[] = {
	/* in the order of enum reproduce_scale */
	{ "tiny", 2e4, 2e4, 1e5, 1 },
	{ "small", 1e6, 1e6, 1e6, 3 },
	{ "full", 1e7, 1e7, 8e6, 5 },
};

static const char *const outputs[] = {
	"phantom.nii", "direct.nii", "raw-1.nii", "raw-5.nii", "raw-10.nii", "raw-25.nii",
	"ml-1.nii",    "ml-5.nii",   "ml-10.nii", "ml-25.nii", NULL,
};

/* ---- section 5 ---- */

static int time_one(double *seconds, struct bialas *b, iso_ctx *ctx, const struct iso_strip *p,
                    const struct iso_strip_events *e)
{
	struct bench_steps t = { 0 };
	iso_op *op = NULL;
	int st = iso_strip_create(&op, ctx, p, e);

	if (!st) st = bench_steps(&t, op, b->scale->repeats);
	iso_op_free(op);
	*seconds = t.step.median;
	return st;
}

/* The ways in the order of the table: the CPU's own, then those of CUDA as the paper came to them. */
static int time_all(struct bialas *b, const struct iso_strip_events *e)
{
	static const enum iso_strip_strategy way[BIALAS_WAYS] = {
		ISO_STRIP_FAST,
		ISO_STRIP_THREAD,
		ISO_STRIP_WARP,
		ISO_STRIP_FAST,
	};
	struct iso_strip p = b->strip;
	int st = ISO_OK;

	for (int k = 0; k < BIALAS_KERNELS; k++)
		for (int w = 0; w < BIALAS_WAYS && !st; w++) {
			iso_ctx *ctx = w == 0 ? b->devices.cpu : b->devices.cuda;

			p.kernel = (enum iso_strip_kernel)k;
			p.strategy = way[w];
			b->bench_s[k][w] = NAN;
			if (ctx) st = time_one(&b->bench_s[k][w], b, ctx, &p, e);
		}
	return st;
}

int bialas_bench(struct bialas *b)
{
	struct iso_strip_events e = { .n = (int64_t)b->scale->bench_events };
	iso_phantom *phantom = NULL;
	int st;

	if (!(e.v = size_alloc(e.n, sizeof *e.v)))
		return iso_fail_memory("reproduce", e.n * (int64_t)sizeof *e.v);
	if ((st = iso_phantom_create(&phantom, "ellipses", NULL))) goto done;
	if ((st = iso_strip_simulate(e.v, b->c->ctx, &b->strip.strips, phantom, SEED, 0, e.n))) goto done;
	b->pixels = bench_strip_pixels(&b->strip, &e);
	st = time_all(b, &e);
done:
	iso_phantom_free(phantom);
	free(e.v);
	return st;
}

/* ---- all of it ---- */

static int plan(struct bialas *b)
{
	int64_t most = (int64_t)fmax(fmax(b->scale->events, b->scale->bench_events), b->scale->point_events);
	struct iso_plan lines = { 0 };

	iso_plan_add(&lines, "events", most, sizeof(struct iso_strip_event), false);
	iso_strip_plan(&lines, b->c->ctx, &b->strip, most);
	iso_em_plan(&lines, b->c->ctx, b->strip.ny * b->strip.nz, most, 1, 0);
	return cmd_plan(b->c, &lines);
}

/* The paper's strips and pixels, from the file that goes with the results. */
static int set_up(struct bialas *b)
{
	iso_scanner *s = NULL;
	int st;

	if ((st = iso_out_text("scanner.yaml", scanner_text))) return st;
	if ((st = iso_scanner_read(&s, "scanner.yaml"))) return st;
	b->strip.strips = *iso_scanner_strips(s);
	iso_scanner_free(s);
	return reproduce_open(&b->devices, b->c);
}

static int poll(const struct bialas *b)
{
	return iso_ctx_cancelled(b->c->ctx) ? iso_fail(ISO_ECANCEL, "stopped on request") : ISO_OK;
}

static int experiments(struct bialas *b)
{
	struct record *rec = &b->c->record;
	int st;

	record_stage(rec, "figure 3");
	if ((st = bialas_figure(b)) || (st = poll(b))) return st;
	record_stage(rec, "benchmark");
	if ((st = bialas_bench(b)) || (st = poll(b))) return st;
	record_stage(rec, "kernels");
	if ((st = bialas_kernels(b)) || (st = poll(b))) return st;
	record_stage(rec, NULL);
	return bialas_record(b);
}

static int write_page(const struct bialas *b)
{
	struct iso_text page = { 0 };
	int st = bialas_page(&page, b);

	if (!st) st = reproduce_write_page(&page);
	iso_text_free(&page);
	return st;
}

static void release(struct bialas *b)
{
	iso_pixels_free(&b->phantom);
	iso_pixels_free(&b->direct);
	for (int f = 0; f < BIALAS_FORMS; f++)
		for (int i = 0; i < BIALAS_SHOWN; i++) iso_pixels_free(&b->form[f].image[i].pixels);
	reproduce_close(&b->devices);
}

static int run(struct cmd *c, enum reproduce_scale scale)
{
	struct bialas b = { .c = c,
		            .scale = &scales[scale],
		            .strip = { .size = sizeof(struct iso_strip),
		                       .strips = BENCH_STRIPS,
		                       .ny = 65,
		                       .nz = 75,
		                       .pixel = 4,
		                       .n_sub = 1 } };
	int st;

	if ((st = plan(&b))) goto done;
	if ((st = set_up(&b))) goto done;
	if ((st = experiments(&b))) goto done;
	if ((st = write_page(&b))) goto done;
	st = reproduce_write_results(c);
done:
	release(&b);
	return st;
}

const struct reproduce reproduce_bialas = { "bialas2015", outputs, run, NULL };
