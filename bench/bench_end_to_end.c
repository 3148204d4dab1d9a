/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmark end-to-end: reconstructions as a user runs them, from the start of the program to its end, by
   growing numbers of events. Each stage has its rate, and the limit that the machine sets to it. This process
   opens no CUDA device: that a fresh program opens it is part of what is timed. */
#include "e2e.h"

#include "base/number.h"
#include "core/ctx.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_SIZES 16
#define MOST_REPEATS 20
#define MOST_STAGES 10 /* of a run, and the time outside of them, and the wall */
#define IMAGE " -o image.nii --force"
#define RAY "recon ray --scanner ring.yaml --events events.lmdT --grid 200,200,80 --voxel 2.5 --iterations 10"

/* Each with the most events that it takes unless --events says otherwise: on CUDA, and on the CPU. */
static const struct one {
	const char *name;
	enum e2e_kind kind;
	const char *line;
	double most[2];
} cases[] = {
	{ "plain", E2E_RAY, RAY, { 3e8, 1e6 } },
	{ "subsets", E2E_RAY, RAY " --method osem --subsets 21 --iterations 2", { 3e8, 1e6 } },
	{ "osem",
	  E2E_RAY,
	  RAY " --mu mu.nii --psf 4.5 --additive 2e-5 --method osem --subsets 21",
	  { 1e8, 3e5 } },
	{ "joseph", E2E_RAY, RAY " --projector joseph", { 1e8, 3e5 } },
	{ "tof-bin", E2E_RAY, RAY " --tof-bin-ps 50", { 1e8, 3e5 } },
	{ "rays", E2E_RAY, RAY " --rays 4", { 2e7, 3e5 } },
	{ "strip",
	  E2E_STRIP,
	  "recon strip --scanner strips.yaml --events events.f32 --iterations 10",
	  { 3e8, 1e6 } },
	{ "srm",
	  E2E_SRM,
	  "recon srm --srm matrix.srm --data lors.npy --iterations 20",
	  { INFINITY, INFINITY } },
};

#define N_CASES ((int)(sizeof cases / sizeof cases[0]))

static const char all_cases[] = "plain,subsets,osem,joseph,tof-bin,rays,strip,srm";
static const char *const sizes_text[2] = { "1e6,5e6,2e7,1e8,3e8", "1e5,3e5,1e6" }; /* CUDA, CPU */

static struct settings {
	const char *events, *cases, *with, *folder, *table, *plot;
	double block, at_most_s;
	int64_t repeats;
} set = { .block = 2e7, .repeats = 1 };

static struct opt opts[] = {
	{ 0, "cases", .text = &set.cases, .value = "NAMES", .absent = "all",
	  .help = "cases, separated by commas: plain (list-mode PET with TOF, 10 "
	          "iterations), subsets (the same, 2 iterations of 21 subsets), osem (21 subsets, "
	          "attenuation, PSF, an additive term), "
	          "joseph, tof-bin (bins of 50 ps), rays (4 lines an event), strip (J-PET), "
	          "srm (dual heads, 20 iterations of a histogram)" },
	{ 0, "events", .text = &set.events, .value = "N,N,...",
	  .absent = "1e6,5e6,2e7,1e8,3e8 on CUDA, 1e5,3e5,1e6 on the CPU; not all for the slower cases",
	  .help = "number of events, for each case" },
	{ 0, "block", .real = &set.block, .value = "N", .min = 1, .max = 1e9,
	  .help = "number of events that are simulated; larger files repeat them" },
	{ 0, "with", .text = &set.with, .value = "OPTIONS",
	  .help = "more options for the cases of 'recon ray', such as --with='--grid 128 "
	          "--voxel 4'" },
	{ 0, "repeats", .integer = &set.repeats, .value = "N", .min = 0, .max = MOST_REPEATS,
	  .help = "repeats after the first run, which is reported separately; 0: the first "
	          "run alone" },
	{ 0, "at-most-s", .real = &set.at_most_s, .value = "S", .min = 0, .max = 1e9, .absent = "no limit",
	  .help = "start no run after this many seconds" },
	BENCH_FOLDER(&set.folder, "where the events lie meanwhile, up to 9.2 GB"),
	{ 0, "table", .text = &set.table, .file = OPT_WRITES, .value = "FILE",
	  .help = "write the rows as .csv" },
	{ 0, "plot", .text = &set.plot, .file = OPT_WRITES, .value = "FILE",
	  .help = "draw seconds against events as .svg; needs two numbers of events" },
	{ 0 },
};

struct run {
	struct cmd *c;
	struct e2e_inputs in;
	char device[48], common[192]; /* words: " --device cuda", and what every run has */
	bool chosen[N_CASES];
	int n_sizes;
	int64_t size[MOST_SIZES]; /* rising */
	struct e2e_machine machine;
	double began_s;
	bool late;                 /* a run was left out */
	double before[N_CASES][2]; /* events and seconds of the row before of each case */
};

/* Runs of one case with one number of events. Times: [stage][run]; the last two stages are the time outside
   of the program's own, and all of it. */
struct runs {
	const struct one *of;
	int n, stages;
	const char *stage[MOST_STAGES]; /* texts of `record` */
	double s[MOST_STAGES][1 + MOST_REPEATS];
	int64_t peak_bytes;
	json_t *record; /* of the first */
};

/* ---- what was asked for ---- */

static int take_cases(struct run *r)
{
	const char *list = set.cases ? set.cases : "";

	for (int i = 0; i < N_CASES; i++) r->chosen[i] = !set.cases;
	for (size_t n; *list; list += n + (list[n] == ',')) {
		int i = 0;

		n = strcspn(list, ",");
		while (i < N_CASES && (strlen(cases[i].name) != n || strncmp(list, cases[i].name, n) != 0))
			i++;
		if (i == N_CASES)
			return iso_fail(ISO_EARG, "--cases has '%.*s', must be of %s", (int)n, list,
			                all_cases);
		r->chosen[i] = true;
	}
	return ISO_OK;
}

static int take_sizes(struct run *r)
{
	const char *text = set.events ? set.events : sizes_text[!r->in.cuda];
	double v[MOST_SIZES];

	r->n_sizes = iso_numbers(v, MOST_SIZES, text);
	for (int i = 0; i < r->n_sizes; i++) {
		if (!(v[i] >= 1 && v[i] <= 1e12) || (i > 0 && !(v[i] >= v[i - 1] + 1))) r->n_sizes = 0;
		r->size[i] = (int64_t)v[i];
	}
	if (r->n_sizes > 0) return ISO_OK;
	return iso_fail(ISO_EARG,
	                "--events is '%s', must be up to %d rising numbers from 1 to 1e12, a comma between",
	                text, MOST_SIZES);
}

/* Those of srm are a histogram, whatever --events says. */
static bool is_run(const struct run *r, int i, int64_t n)
{
	bool any = set.events || cases[i].kind == E2E_SRM;

	return r->chosen[i] && (any || (double)n <= cases[i].most[!r->in.cuda]);
}

static int64_t most_events(const struct run *r, enum e2e_kind kind)
{
	int64_t most = 0;

	for (int i = 0; i < N_CASES; i++)
		for (int k = 0; k < r->n_sizes && cases[i].kind == kind; k++)
			if (is_run(r, i, r->size[k])) most = r->size[k] > most ? r->size[k] : most;
	return most;
}

static void line_of(char line[1024], const struct run *r, const struct one *o)
{
	snprintf(line, 1024, "%s%s%s%s" IMAGE, o->line, o->kind == E2E_RAY && set.with ? " " : "",
	         o->kind == E2E_RAY && set.with ? set.with : "", r->common);
}

static int tell_machine(const struct run *r)
{
	const struct e2e_machine *m = &r->machine;
	int st = record_set(&r->c->record, "device", json_sprintf("%s (%s)", m->device, m->device_name));

	if (!r->c->json) {
		term_clear(&r->c->term);
		printf("%s (%s): file %.3g GB/s, memory %.3g GB/s", m->device, m->device_name,
		       1e-9 * m->rate[BENCH_FILE], 1e-9 * m->rate[BENCH_MEMORY]);
		if (r->in.cuda) printf(", link %.3g GB/s", 1e-9 * m->rate[BENCH_LINK]);
		printf("; start %.3f s\n", m->start_s);
	}
	return st ? st : record_result(&r->c->record, "limits", json_incref(m->told));
}

/* ---- rows ---- */

/* 20000000 as 2e7. */
static const char *shortly(char text[32], double v)
{
	int power = (int)floor(log10(v) + 1e-9);

	if (power < 4)
		snprintf(text, 32, "%.0f", v);
	else
		snprintf(text, 32, "%.6ge%d", v / pow(10, power), power);
	return text;
}

/* What an event more costs, from the row before; NaN: there is none. */
static double further_ns(struct run *r, const struct runs *runs, double wall_s)
{
	double *before = r->before[runs->of - cases], n = (double)r->in.n;
	double ns = before[0] > 0 ? 1e9 * (wall_s - before[1]) / (n - before[0]) : NAN;

	before[0] = n;
	before[1] = wall_s;
	return ns;
}

static void describe_wall(struct bench_row *row, struct run *r, const struct runs *runs, double first_s)
{
	const json_t *events = json_object_get(json_object_get(runs->record, "results"), "events");
	double further = further_ns(r, runs, row->time.median);
	int at = snprintf(row->note, sizeof row->note, "first run %.3g s; %.1f ns an event", first_s,
	                  1e9 * row->time.median / (double)r->in.n);

	if (!isnan(further))
		at += snprintf(row->note + at, sizeof row->note - (size_t)at, ", %.1f ns each further one",
		               further);
	snprintf(row->note + at, sizeof row->note - (size_t)at, "; file %s, memory up to %s",
	         iso_bytes(r->in.bytes), iso_bytes(runs->peak_bytes));
	json_object_set_new(row->more, "ns_per_event", record_real(1e9 * row->time.median / (double)r->in.n));
	json_object_set_new(row->more, "ns_per_further_event", record_real(further));
	json_object_set_new(row->more, "peak_bytes", json_integer(runs->peak_bytes));
	json_object_set_new(row->more, "file_bytes", json_integer(r->in.bytes));
	json_object_set(row->more, "counted", (json_t *)events);
	e2e_floors(row->more, &r->machine, &r->in, runs->record);
}

static int add_row(struct run *r, struct runs *runs, int stage)
{
	struct bench_row row = { .bench = "end-to-end", .events = (double)r->in.n };
	double *s = runs->s[stage], first_s = s[0];
	char events[32];

	row.time = runs->n > 1 ? bench_time(runs->n - 1, s + 1) : bench_time(1, s);
	if (row.time.median == 0) return ISO_OK; /* less than the record's digits */
	e2e_limit(&row, &r->machine, &r->in, runs->record, runs->stage[stage]);
	snprintf(row.problem, sizeof row.problem, "%s %s %s", runs->of->name,
	         shortly(events, (double)r->in.n), runs->stage[stage]);
	row.more = record_pack("{s:s, s:s, s:s, s:I, s:s, s:f, s:o}", "device", r->machine.device,
	                       "device_name", r->machine.device_name, "case", runs->of->name, "events",
	                       (json_int_t)r->in.n, "stage", runs->stage[stage], "first_s", first_s, "limit",
	                       row.limit ? json_string(row.limit) : json_null());
	if (!row.more) return iso_fail_memory("bench", 0);
	if (stage == runs->stages - 1) describe_wall(&row, r, runs, first_s);
	return bench_add(r->c, &row);
}

/* ---- runs ---- */

/* Every event of the file must have been used, or be told as left out. */
static int check_events(const struct run *r, const json_t *record, const char *line)
{
	const json_t *events = json_object_get(json_object_get(record, "results"), "events");
	json_int_t used = json_integer_value(json_object_get(events, "used"));
	json_int_t skipped = json_integer_value(json_object_get(events, "skipped"));

	if (r->in.kind == E2E_SRM || used + skipped == r->in.n) return ISO_OK;
	return iso_fail(ISO_EIO, "'isotome %s' counted %lld events, there are %" PRId64, line,
	                (long long)(used + skipped), r->in.n);
}

/* Stages that the first run does not have are of the time outside. */
static void take_times(struct runs *runs, const struct child *child)
{
	const json_t *times = json_object_get(child->record, "times_s");
	double outside_s = child->wall_s;
	const char *key;
	json_t *value;

	if (runs->n == 0) {
		runs->record = json_incref(child->record);
		json_object_foreach ((json_t *)times, key, value)
			if (runs->stages < MOST_STAGES - 2) runs->stage[runs->stages++] = key;
		runs->stage[runs->stages++] = "outside";
		runs->stage[runs->stages++] = "wall";
	}
	for (int i = 0; i < runs->stages - 2; i++)
		outside_s -= runs->s[i][runs->n] = json_number_value(json_object_get(times, runs->stage[i]));
	runs->s[runs->stages - 2][runs->n] = fmax(0, outside_s);
	runs->s[runs->stages - 1][runs->n++] = child->wall_s;
	if (child->peak_bytes > runs->peak_bytes) runs->peak_bytes = child->peak_bytes;
}

static int run_case(struct run *r, const struct one *o)
{
	struct runs runs = { .of = o };
	struct child child;
	char line[1024];
	int st = ISO_OK;

	line_of(line, r, o);
	term_note(&r->c->term, "isotome %s", line);
	for (int i = 0; i <= set.repeats && !st; i++) {
		if (!(st = child_run(&child, r->in.folder, line)) &&
		    !(st = check_events(r, child.record, line)))
			take_times(&runs, &child);
		json_decref(child.record);
	}
	for (int i = 0; i < runs.stages && !st; i++) st = add_row(r, &runs, i);
	json_decref(runs.record);
	return st;
}

static bool late(struct run *r)
{
	return r->late = r->late || (set.at_most_s > 0 && iso_now_s() - r->began_s > set.at_most_s);
}

static int run_cases(struct run *r)
{
	int st = ISO_OK;

	for (int i = 0; i < N_CASES && !st; i++)
		if (cases[i].kind == r->in.kind && is_run(r, i, r->in.n) && !late(r))
			st = run_case(r, &cases[i]);
	return st;
}

static int run_kind(struct run *r, enum e2e_kind kind)
{
	int64_t most = most_events(r, kind);
	int st;

	if (most == 0 || late(r)) return ISO_OK;
	if ((st = e2e_simulate(&r->in, kind, most))) return st;
	if (kind == E2E_SRM) return run_cases(r);
	for (int k = 0; k < r->n_sizes && r->size[k] <= most && !st && !late(r); k++)
		if (!(st = e2e_grow(&r->in, r->size[k]))) st = run_cases(r);
	return st;
}

/* ---- the benchmark ---- */

static void name_common(struct run *r)
{
	const struct cmd *c = r->c;
	char memory[112] = "";

	if (c->memory_gb > 0) snprintf(memory, sizeof memory, " --memory-limit %.15g", c->memory_gb);
	size_t n = strlen(memory);

	if (c->device_memory_gb > 0)
		snprintf(memory + n, sizeof memory - n, " --device-memory-limit %.15g", c->device_memory_gb);
	snprintf(r->device, sizeof r->device, " --device %s", c->device);
	snprintf(r->common, sizeof r->common, "%s --threads %d%s --json -q", r->device, (int)c->threads,
	         memory);
	r->in.device = r->device;
}

/* A curve needs two points. */
static int check_plot(const struct run *r)
{
	for (int i = 0; i < N_CASES; i++)
		if (cases[i].kind != E2E_SRM && r->n_sizes > 1 && is_run(r, i, r->size[1])) return ISO_OK;
	return iso_fail(ISO_EARG, "--plot needs two numbers of events, and a case that takes them");
}

/* What the options say of the runs; the device decides what is usual. */
static int choose(struct run *r)
{
	int st = take_cases(r);

	if (!st) st = take_sizes(r);
	return st || !set.plot ? st : check_plot(r);
}

static int check_space(const struct run *r)
{
	int64_t most[E2E_KINDS];

	for (int k = 0; k < E2E_KINDS; k++) most[k] = most_events(r, (enum e2e_kind)k);
	return e2e_check_space(&r->in, most);
}

static int dry_run(struct run *r)
{
	struct iso_plan lines = { 0 };
	char line[1024];
	int st = cmd_begin(r->c);

	if (st) return st;
	r->in.cuda = iso_ctx_is_cuda(r->c->ctx);
	if ((st = choose(r))) return st;
	for (int i = 0; i < N_CASES && !r->c->json; i++)
		if (r->chosen[i]) {
			line_of(line, r, &cases[i]);
			printf("isotome %s\n", line);
		}
	iso_plan_add(&lines, "a piece of a file", 4 << 20, 1, false);
	return cmd_plan(r->c, &lines);
}

static int run_all(struct run *r)
{
	int st;

	r->c->device = "cpu"; /* for this process */
	if ((st = cmd_begin(r->c)) || (st = e2e_open(&r->in, bench_folder(set.folder))) ||
	    (st = e2e_measure(&r->machine, &r->in, r->common)) || (st = choose(r)) || (st = check_space(r)) ||
	    (st = tell_machine(r)))
		return st;
	for (int k = 0; k < E2E_KINDS && !st; k++) st = run_kind(r, (enum e2e_kind)k);
	if (!st && r->late)
		record_warn(&r->c->record, "no run was begun after %g s: rows are missing", set.at_most_s);
	if (st) return st;
	e2e_print(r->c, r->in.made_s);
	return e2e_write(r->c, set.table, set.plot);
}

static int run(struct cmd *c, const struct opt_set *sets)
{
	struct run *r;
	int st;

	(void)sets;
	if (ranks_comm())
		return iso_fail(
			ISO_EARG,
			"end-to-end starts runs of its own: it is for one process, not for several ranks");
	if (set.with && strlen(set.with) > 512) return iso_fail(ISO_EARG, "--with is too long");
	if ((st = e2e_check(c, set.table, set.plot)) || (st = BENCH_NEW(r, 1))) return st;
	r->c = r->in.c = c;
	r->began_s = iso_now_s();
	r->in.block = (int64_t)set.block;
	name_common(r);
	if (!(st = choose(r))) /* before the work; what is not said depends on the device, and comes later */
		st = c->dry_run ? dry_run(r) : run_all(r);
	e2e_close(&r->in);
	json_decref(r->machine.told);
	free(r);
	return st;
}

const struct bench bench_end_to_end = { "end-to-end", "Benchmark end-to-end", opts, run, &set, sizeof set,
	                                true };
