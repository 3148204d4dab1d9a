/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome bench: how fast it is here, how much work that is, and what the machine could do. */
#include "bench.h"

#include "file/out.h"
#include "text/nearest.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct bench *const benches[] = { &bench_ray,     &bench_strip,     &bench_srm,
	                                       &bench_oat,     &bench_scatter,   &bench_simulate,
	                                       &bench_prior,   &bench_poses,     &bench_norm,
	                                       &bench_dynamic, &bench_barrel,    &bench_lifetime,
	                                       &bench_limits,  &bench_end_to_end };
static const char *const names[] = { "ray",      "strip",    "srm",    "oat",        "scatter",
	                             "simulate", "prior",    "poses",  "norm",       "dynamic",
	                             "barrel",   "lifetime", "limits", "end-to-end", NULL }; /* as above */

static const struct opt_usage usage = {
	"bench",
	"Measure how fast a model runs on this machine. The result is the median "
	"of several repeats after a warm-up, the work done, and the share of the "
	"machine's own limit, which is measured at the same time. 'end-to-end' "
	"times whole runs of the program, from a file to the image, stage by "
	"stage. 'limits' measures the machine alone.",
	"  isotome bench\n"
	"  isotome bench ray --case 128 --device cpu --threads 1\n"
	"  isotome bench ray --case all --json > bench.json\n"
	"  isotome bench ray --grid 200,200,80 --voxel 3 --tof-fwhm-ps 210\n"
	"  isotome bench ray --events 1e9 --write events.lmdT\n"
	"  isotome bench strip --kernel gauss\n"
	"  isotome bench srm --srm meng.srm --subsets 10\n"
	"  isotome bench oat --operator ubp\n"
	"  isotome bench scatter --case sss+mc\n"
	"  isotome bench simulate --case ring --events 1e8\n"
	"  isotome bench prior --size 512 --with kappa\n"
	"  isotome bench poses --case sens\n"
	"  isotome bench norm --case product\n"
	"  isotome bench dynamic --events 1e7 --replicates 20\n"
	"  isotome bench barrel --voxel 2.5\n"
	"  isotome bench lifetime --life-method emg\n"
	"  isotome bench limits --folder /data/tmp\n"
	"  isotome bench end-to-end --plot seconds.svg --table seconds.csv\n"
	"  isotome bench end-to-end --cases plain,rays --events 1e5,1e6 --device cpu\n",
};

/* ---- times ---- */

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct bench_time bench_time(int n, double *s)
{
	qsort(s, (size_t)n, sizeof *s, ascending);
	double median = n % 2 ? s[n / 2] : .5 * (s[n / 2 - 1] + s[n / 2]);

	return (struct bench_time){ n, median, s[0], (s[n - 1] - s[0]) / median };
}

/* Until what was asked for before is done. */
static int wait(const struct bench_work *w)
{
	iso_real one;

	return iso_ctx_vec(w->ctx)->download(w->ctx, &one, w->made, sizeof one);
}

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int bench_repeat(int n, double *seconds, const struct bench_work *w)
{
	int st = ISO_OK;

	for (int i = 0; i < n && !st; i++) {
		if ((st = wait(w))) break;
		double processor_s = cpu_s(), start_s = iso_now_s();

		if (!(st = w->once(w->arg))) st = wait(w);
		seconds[i] = iso_now_s() - start_s;
		if (w->processor) w->processor[i] = cpu_s() - processor_s;
	}
	return st;
}

int bench_open(struct bench_op *b, iso_op *op, bool data)
{
	const int64_t n = iso_op_n_in(op), rows = iso_op_n_out(op);
	iso_ctx *ctx = iso_op_ctx(op);
	int st;

	*b = (struct bench_op){ .op = op, .room = iso_room_of(ctx, "bench") };
	ISO_DEVICE(&b->room, b->ones, n);
	ISO_DEVICE(&b->room, b->acc, n);
	b->x = b->ones;
	if (data) {
		ISO_DEVICE(&b->room, b->x, n);
		ISO_DEVICE(&b->room, b->y, rows);
		ISO_DEVICE(&b->room, b->q, rows);
	}
	if ((st = b->room.status) || (st = iso_ctx_vec(ctx)->fill(ctx, n, b->ones, 1)) || !data) return st;
	return iso_ctx_vec(ctx)->fill(ctx, rows, b->y, 1);
}

static int do_task(void *arg)
{
	struct bench_op *b = arg;
	iso_ctx *ctx = iso_op_ctx(b->op);
	const struct iso_em_data d = { .y = b->y };
	int st = ISO_OK;

	struct iso_ratio_stat stat;

	for (int k = 0; k < (b->all ? iso_op_n_sub(b->op) : 1) && !st; k++) {
		st = b->task == BENCH_RATIO
		             ? iso_op_ratio_step(b->acc, b->rho, &stat, b->op, k, false, b->x, b->ones, &d)
		     : b->task == BENCH_FORWARD ? iso_forward(b->q, b->op, k, b->ones)
		     : b->task == BENCH_ADJOINT ? iso_adjoint(b->acc, b->op, k, b->y)
		                                : iso_op_em_step(b->acc, &b->stat, b->op, k, b->x, &d);
		if (!st && b->task == BENCH_UPDATE)
			st = iso_ctx_vec(ctx)->update(ctx, iso_op_n_in(b->op), b->x, b->acc, b->ones, 1);
	}
	return st;
}

int bench_task(double *seconds, struct bench_op *b, enum bench_task task, bool all, int n)
{
	iso_ctx *ctx = iso_op_ctx(b->op);
	const struct bench_work work = { ctx, b->acc, do_task, b, NULL };
	int st = ISO_OK;

	b->task = task;
	b->all = all;
	for (int i = 0; i < n && !st; i++) {
		if (b->x != b->ones) st = iso_ctx_vec(ctx)->copy(ctx, iso_op_n_in(b->op), b->x, b->ones);
		if (!st && b->rho) st = iso_ctx_vec(ctx)->fill(ctx, iso_op_n_out(b->op), b->rho, 0);
		if (!st) st = bench_repeat(1, seconds + i, &work);
	}
	return st;
}

int bench_steps(struct bench_steps *t, iso_op *op, int repeats)
{
	double seconds[1 + BENCH_MOST_REPEATS];
	struct bench_op b;
	int st;

	if ((st = bench_open(&b, op, false))) goto done;
	if ((st = bench_task(seconds, &b, BENCH_STEP, false, 1 + repeats))) goto done;
	t->first_s = seconds[0];
	t->step = bench_time(repeats, seconds + 1);
	t->stat = b.stat;
	st = iso_ctx_vec(iso_op_ctx(op))->asum(iso_op_ctx(op), iso_op_n_in(op), &t->sum, b.acc);
done:
	iso_room_free(&b.room);
	return st;
}

int bench_ratios(struct bench_time *t, iso_op *op, int repeats)
{
	double seconds[1 + BENCH_MOST_REPEATS];
	struct bench_op b;
	int st = bench_open(&b, op, false);

	if (!st && !ISO_DEVICE(&b.room, b.rho, iso_op_n_out(op))) st = b.room.status;
	if (!st && !(st = bench_task(seconds, &b, BENCH_RATIO, false, 1 + repeats)))
		*t = bench_time(repeats, seconds + 1);
	iso_room_free(&b.room);
	return st;
}

/* ---- options ---- */

const char *bench_folder(const char *given)
{
	const char *usual = getenv("TMPDIR");

	return given ? given : usual && *usual ? usual : "/tmp";
}

int bench_scanner(iso_scanner **s, const char *text)
{
	char path[] = "/tmp/isotome-scanner-XXXXXX.yaml";
	int fd = mkstemps(path, 5), st;

	if (fd < 0) return iso_fail(ISO_EIO, "bench: can't make a file in /tmp");
	close(fd);
	if (!(st = iso_out_text(path, text))) st = iso_scanner_read(s, path);
	unlink(path);
	return st;
}

double bench_events(const iso_ctx *ctx)
{
	return iso_ctx_is_cuda(ctx) ? 1e7 : 1e6;
}

bool bench_chosen(const char *word, const char *name)
{
	return strcmp(word, "all") == 0 || strcmp(word, name) == 0;
}

/* ---- rows ---- */

static const char *seconds(char text[32], double s)
{
	snprintf(text, 32, s < 1 ? "%.2f ms" : "%.3f s", s < 1 ? 1e3 * s : s);
	return text;
}

bool bench_says(struct cmd *c)
{
	if (c->json) return false;
	term_clear(&c->term);
	printf("%s (%s)", iso_ctx_device(c->ctx), iso_ctx_device_name(c->ctx));
	return true;
}

/* A number in its column, or a dash where there is none. */
static void print_cell(int width, int digits, double v)
{
	if (v > 0)
		printf(" %*.*f", width, digits, v);
	else
		printf(" %*s", width, "-");
}

static void print_row(const struct bench_row *r)
{
	double t = r->time.median;
	char median[32], least[32];

	printf("%-26s %10s %10s %5.1f %%", r->problem, seconds(median, t), seconds(least, r->time.least),
	       100 * r->time.spread);
	print_cell(10, 3, 1e-6 * r->events / t);
	print_cell(10, 3, 1e-9 * r->visits / t);
	print_cell(8, 2, 1e-9 * r->bytes / t);
	print_cell(7, 1, 100 * r->limit_s / t);
	printf(" %%%s%s\n", r->limit ? "  " : "", r->limit ? r->limit : "");
	if (r->note[0]) printf("  %s\n", r->note);
	fflush(stdout);
}

/* What is not known is null. */
static json_t *known(double v)
{
	return v > 0 ? record_real(v) : json_null();
}

static json_t *row_json(const struct bench_row *r, const iso_ctx *ctx)
{
	double t = r->time.median;

	return record_pack("{s:s, s:s, s:s, s:s, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:o}", "name",
	                   r->bench, "device", iso_ctx_device(ctx), "device_name", iso_ctx_device_name(ctx),
	                   "problem", r->problem, "repeats", r->time.n, "median_s", t, "least_s",
	                   r->time.least, "spread", r->time.spread, "events_per_s", r->events / t,
	                   "visits_per_s", r->visits / t, "bytes_per_s", r->bytes / t, "limit_s",
	                   known(r->limit_s), "fraction_of_limit", known(r->limit_s / t));
}

int bench_add(struct cmd *c, struct bench_row *row)
{
	json_t *results = json_object_get(c->record.root, "results");
	json_t *rows = json_object_get(results, "rows"), *one = row_json(row, c->ctx);
	int st = ISO_OK, bad = !one || (row->more && json_object_update(one, row->more));

	json_decref(row->more);
	row->more = NULL;
	term_clear(&c->term);
	if (!rows) {
		if (!c->json)
			printf("%-26s %10s %10s %7s %10s %10s %8s %9s\n", "problem", "median", "least",
			       "spread", "Mevents/s", "Gvisits/s", "GB/s", "of limit");
		st = record_result(&c->record, "rows", rows = json_array());
	}
	if (st || bad || json_array_append_new(rows, one)) return iso_fail_memory("bench", 0);
	if (!c->json) print_row(row);
	return ISO_OK;
}

/* ---- the command ---- */

/* The first word names the benchmark, and with it the options; none: the first of the table. */
static int pick(const struct bench **b, int argc, char **argv)
{
	int i = 0;

	while (argc > 1 && argv[1][0] != '-' && names[i] && strcmp(argv[1], names[i]) != 0) i++;
	*b = names[i] ? benches[i] : NULL;
	if (*b) return ISO_OK;
	const char *near = iso_nearest(argv[1], i, names);

	return iso_fail(ISO_EARG, "'%s' is not a benchmark; the first word names it: %s", argv[1],
	                near ? near : names[0]);
}

int main_bench(int argc, char **argv)
{
	char defaults[BENCH_MOST_SETTINGS];
	const struct bench *b;
	const char *name = NULL;
	struct cmd c = { 0 };
	int st = pick(&b, argc, argv);

	if (st) return st;
	assert(b->bytes <= sizeof defaults);
	memcpy(defaults, b->settings, b->bytes);
	struct opt own[] = {
		{ 0, "name", .text = &name, .words = names, .value = "NAME", .positional = true,
		  .absent = "ray",
		  .help = "ray (list-mode PET), strip (two-strip J-PET), srm "
		          "(dual-head PET), oat (optoacoustics), scatter (scattered coincidences of a ring), "
		          "simulate (events of a ring, voxels of a phantom), "
		          "prior (penalties), poses (an object that moves), "
		          "norm (passes over the pairs of a ring), dynamic (replicates, images of kinetic "
		          "parameters), barrel (J-PET in 3-D), lifetime (positronium), limits (what the "
		          "machine can do), "
		          "end-to-end "
		          "(whole runs, from a file to the image)" },
		{ 0, "force", .flag = &c.force, .transient = true, .help = "replace an existing output" },
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own }, { b->title, b->opts }, cmd_common(&c, CMD_COMPUTES), { 0 } };

	if (!(st = cmd_parse(&c, &usage, sets, argc, argv)) && !b->begins) st = cmd_begin(&c);
	if (!st) st = b->run(&c, sets);
	st = cmd_end(&c, st);
	memcpy(b->settings, defaults, b->bytes); /* the next run in this process begins where the first did */
	for (struct opt *o = b->opts; o->name; o++) o->given = o->lone = false;
	return st;
}
