/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiments of Bialas 2015 in turn, and its benchmark. */
#include "bialas.h"

#include <stdlib.h>

static const char scanner_text[] =
#include "embedded/bialas2015.yaml.h"
	;
static const char template[] =
#include "embedded/bialas.html.h"
	;

#define SEED 2
#define PAPER_EVENTS 1e7

enum { KERNELS = 3, WAYS = 4 };

static const struct scale {
	double events, bench_events, point_events;
	int repeats;
} scales[] = { { 2e4, 2e4, 1e5, 1 }, { 1e6, 1e6, 1e6, 3 }, { 1e7, 1e7, 8e6, 5 } }; /* as enum study_scale */

static const char *const outputs[] = {
	"phantom.nii", "direct.nii", "raw-1.nii", "raw-5.nii", "raw-10.nii", "raw-25.nii",
	"ml-1.nii",    "ml-5.nii",   "ml-10.nii", "ml-25.nii", NULL,
};

int bialas_events(struct iso_strip_events *e, const struct bialas *b, const iso_phantom *phantom,
                  uint64_t seed, int64_t n)
{
	int st = STUDY_NEW(e->v, n);

	e->n = n;
	return st ? st : iso_strip_simulate(e->v, b->s.c->ctx, &b->strip.strips, phantom, seed, 0, n);
}

/* ---- section 5 ---- */

static int time_one(double *seconds, iso_ctx *ctx, const struct iso_strip *p,
                    const struct iso_strip_events *e, int repeats)
{
	struct bench_steps t = { 0 };
	iso_op *op = NULL;
	int st = iso_strip_create(&op, ctx, p, e);

	if (!st) st = bench_steps(&t, op, repeats);
	iso_op_free(op);
	*seconds = t.step.median;
	return st;
}

/* The ways in the order of the table: the CPU's own, then those of CUDA as the paper came to them.
   The paper's times: of an iteration over 10^7 events, Xeon E5-1650 v2 with 6 cores, GTX 770. */
static int time_all(json_t *rows, struct bialas *b, const struct iso_strip_events *e, int repeats)
{
	static const struct {
		const char *name;
		enum iso_strip_strategy strategy;
		double paper_s; /* of eq7 */
	} way[WAYS] = {
		{ "cpu", ISO_STRIP_FAST, 11.87 },
		{ "cuda_thread", ISO_STRIP_THREAD, .69 },
		{ "cuda_warp", ISO_STRIP_WARP, .47 },
		{ "cuda_fast", ISO_STRIP_FAST, NAN },
	};
	static const char *const kernels[KERNELS] = { "eq7", "tan", "gauss" }; /* as enum iso_strip_kernel */
	struct iso_strip p = b->strip;
	int st = ISO_OK;

	for (int k = 0; k < KERNELS; k++) {
		json_t *row = json_pack("[s]", kernels[k]);

		for (int w = 0; w < WAYS && !st; w++) {
			iso_ctx *ctx = w == 0 ? b->s.cpu : b->s.cuda;
			double seconds = NAN;

			p.kernel = (enum iso_strip_kernel)k;
			p.strategy = way[w].strategy;
			if (ctx) st = time_one(&seconds, ctx, &p, e, repeats);
			json_array_append_new(row, record_real(seconds * (PAPER_EVENTS / (double)e->n)));
			json_array_append_new(rows, record_pack("{s:s, s:s, s:f, s:f}", "kernel", kernels[k],
			                                        "way", way[w].name, "seconds", seconds,
			                                        "paper_s", k == 0 ? way[w].paper_s : NAN));
		}
		study_row(&b->s, "bench_rows", row);
	}
	study_row(&b->s, "bench_rows",
	          record_pack("[s,f,f,f,f]", "In the paper, eq. (7)", way[0].paper_s, way[1].paper_s,
	                      way[2].paper_s, way[3].paper_s));
	return st;
}

static int bench(struct bialas *b, const struct scale *scale)
{
	struct iso_strip_events e = { 0 };
	json_t *rows = json_array();
	iso_phantom *phantom = NULL;
	int st;

	if ((st = iso_phantom_create(&phantom, "ellipses", NULL))) goto done;
	if ((st = bialas_events(&e, b, phantom, SEED, (int64_t)scale->bench_events))) goto done;
	st = time_all(rows, b, &e, scale->repeats);
	study_show(&b->s, "repeats", json_integer(scale->repeats));
done:
	study_result(&b->s, "benchmark",
	             record_pack("{s:f, s:f, s:o}", "events", scale->bench_events, "pixels_per_event",
	                         st ? 0 : bench_strip_pixels(&b->strip, &e), "rows", rows));
	iso_phantom_free(phantom);
	free(e.v);
	return st;
}

/* ---- all of it ---- */

static int plan(void *state)
{
	struct bialas *b = state;
	const struct scale *s = &scales[b->s.scale];
	int64_t most = (int64_t)fmax(fmax(s->events, s->bench_events), s->point_events);
	struct iso_plan lines = { 0 };

	b->strip = (struct iso_strip){
		.size = sizeof b->strip, .strips = BENCH_STRIPS, .ny = 65, .nz = 75, .pixel = 4, .n_sub = 1
	};
	iso_plan_add(&lines, "events", most, sizeof(struct iso_strip_event), false);
	iso_strip_plan(&lines, b->s.c->ctx, &b->strip, most);
	iso_em_plan(&lines, b->s.c->ctx, b->strip.ny * b->strip.nz, most, 1, 0);
	return cmd_plan(b->s.c, &lines);
}

/* The paper's strips and pixels are in the file that goes with the results. */
static int run(void *state)
{
	struct bialas *b = state;
	const struct scale *scale = &scales[b->s.scale];
	iso_scanner *scanner = NULL;
	int st;

	if ((st = study_scanner(&scanner, scanner_text))) return st;
	b->strip.strips = *iso_scanner_strips(scanner);
	iso_scanner_free(scanner);
	study_stage(&b->s, "figure 3");
	if ((st = bialas_figure(b, (int64_t)scale->events)) || (st = study_poll(&b->s))) return st;
	study_stage(&b->s, "benchmark");
	if ((st = bench(b, scale)) || (st = study_poll(&b->s))) return st;
	study_stage(&b->s, "kernels");
	if ((st = bialas_kernels(b, (int64_t)scale->point_events))) return st;
	return study_poll(&b->s);
}

const struct paper paper_bialas = { "bialas2015",
	                            "Bia\u0142as et al. 2015: a two-strip J-PET on GPUs",
	                            outputs,
	                            template,
	                            sizeof(struct bialas),
	                            plan,
	                            run,
	                            NULL,
	                            false };
