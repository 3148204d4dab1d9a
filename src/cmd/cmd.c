/* SPDX-License-Identifier: BSD-3-Clause */
/* What all commands share: common options, context and signals, output with its record. */
#include "cmd.h"

#include "text/json_file.h"
#include "file/out.h"
#include "io/kinds.h"
#include "scanner/scanner.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define GB 1e9

/* ---- common options ---- */

struct opt_set cmd_common(struct cmd *c, int which)
{
	const struct opt computing[] = {
		{ 0, "device", .text = &c->device, .value = "NAME",
		  .help = "auto (CUDA if this machine has it), cpu, cuda or cuda:N" },
		{ 0, "threads", .integer = &c->threads, .value = "N", .min = 0, .max = 4096,
		  .absent = "all cores", .help = "CPU threads" },
		{ 0, "memory-limit", .real = &c->memory_gb, .value = "GB", .min = 1e-6, .max = 1e6,
		  .absent = "the free memory", .help = "most host memory that Isotome may use" },
		{ 0, "device-memory-limit", .real = &c->device_memory_gb, .value = "GB", .min = 1e-6,
		  .max = 1e6, .absent = "the free memory of the device",
		  .help = "most memory of a CUDA device that Isotome may plan to use" },
		{ 0, "dry-run", .flag = &c->dry_run, .transient = true,
		  .help = "print how much memory the run needs, then stop" },
		{ 'v', "verbose", .flag = &c->verbose, .transient = true, .help = "print more on stderr" },
		{ 0 },
	};
	/* like has no .file: read whole before the run, so the record of its repetition may replace it */
	const struct opt writing[] = {
		{ 0, "force", .flag = &c->force, .transient = true, .help = "replace an existing output" },
		{ 0, "like", .text = &c->like, .file = OPT_RECORD, .value = "FILE", .transient = true,
		  .help = c->like_image
		                  ? "use the grid of this image; if FILE is a record (.json), repeat its run"
		                  : "repeat the run of this record (the JSON file beside an output). Options "
		                    "given here override the record; --no-NAME turns a flag off" },
		{ 0 },
	};
	const struct opt all[] = {
		{ 'q', "quiet", .flag = &c->quiet, .transient = true,
		  .help = "print no progress and no warnings on stderr" },
		{ 0, "json", .flag = &c->json, .transient = true, .help = "print results on stdout as JSON" },
		{ 'h', "help", .flag = &c->help, .transient = true, .help = "print this text" },
		{ 0 },
	};
	struct opt *to = c->common;

	c->device = "auto";
	c->computes = which & CMD_COMPUTES;
	for (const struct opt *o = computing; c->computes && o->name; o++) *to++ = *o;
	for (const struct opt *o = writing; which & CMD_WRITES && o->name; o++) *to++ = *o;
	for (const struct opt *o = which ? all : all + 1; o->name; o++) *to++ = *o;
	return (struct opt_set){ "Common", c->common };
}

/* ---- signals ---- */

/* Signals are the process's, so what their handler sees is too. */
static iso_ctx *volatile running;
static volatile sig_atomic_t caught;

static void on_signal(int number)
{
	if (!caught) caught = number;
	if (running) iso_ctx_cancel(running);
}

/* SA_RESETHAND: the second one meets the default action. Of a terminal that is lost, its shell and the system may each
   send SIGHUP: there a second one means no more than the first. nohup has it ignored, and so it stays. */
static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESETHAND | SA_RESTART }, was;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	action.sa_flags = SA_RESTART;
	if (sigaction(SIGHUP, NULL, &was) == 0 && was.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, NULL);
}

int cmd_signal(void)
{
	return caught;
}

/* ---- options ---- */

bool cmd_given(const struct cmd *c, const char *name)
{
	return opt_find(c->sets, name)->given;
}

int cmd_grid_within(struct iso_grid *g, const struct cmd *c, const int64_t size[3], const double voxel[3],
                    const double centre[3])
{
	bool sized = cmd_given(c, "grid"), spaced = cmd_given(c, "voxel");

	for (int a = 0; a < 3; a++) {
		double extent = (double)g->n[a] * g->voxel[a];

		if (sized || spaced) {
			g->n[a] = sized ? size[a] : (int64_t)fmax(1, ceil(extent / voxel[a] - 1e-6));
			g->voxel[a] = spaced ? voxel[a] : extent / (double)size[a];
		}
		if (cmd_given(c, "centre")) g->centre[a] = centre[a];
	}
	return iso_grid_check(g);
}

const char *cmd_given_of(const struct cmd *c, const char *const *names)
{
	while (*names && !cmd_given(c, *names)) names++;
	return *names;
}

/* Of what the record of --like says and may not. */
static void warn_of_outputs(struct cmd *c)
{
	const json_t *parameters = json_object_get(c->like_record, "parameters");
	const struct opt *o;

	for (int k = 0; (o = opt_at(c->sets, k)); k++)
		if ((o->file == OPT_WRITES || o->file == OPT_PLACE) && !o->given && !o->required &&
		    json_is_string(json_object_get(parameters, o->name)))
			record_warn(&c->record,
			            "%s: a record may not name files to write: --%s of it is left out",
			            c->like, o->name);
}

bool cmd_like_image(const struct cmd *c)
{
	return c->like_image && c->like && !iso_has_suffix(c->like, ".json");
}

/* The record of --like, which must be one of this command. */
static int read_like(struct cmd *c)
{
	int st = iso_json_read(&c->like_record, c->like);

	if (st) return st;

	const char *verb = json_string_value(json_object_get(c->like_record, "verb"));
	json_t *parameters = json_object_get(c->like_record, "parameters");

	if (!verb || !json_is_object(parameters))
		return iso_fail(ISO_EINPUT, "%s: not the record of a run", c->like);
	if (strcmp(verb, c->term.command) != 0)
		return iso_fail(ISO_EINPUT, "%s: record of 'isotome %s', not of 'isotome %s'", c->like, verb,
		                c->term.command);
	c->record.read.like = c->like_record;
	c->record.read.like_path = c->like;
	return opt_from_json(c->sets, parameters, c->like);
}

/* ---- beginning ---- */

static void on_message(void *arg, enum iso_message_kind kind, const char *text)
{
	struct cmd *c = arg;
	char words[1024];

	option_words(words, sizeof words, c->term.command, text);
	if (kind == ISO_WARNING)
		term_warning(&c->term, words);
	else if (kind == ISO_NEWS)
		term_say(&c->term, "%s", words);
	else
		term_note(&c->term, "%s", words);
}

/* Once it is known: into the record, and on the terminal. */
static int name_device(struct cmd *c)
{
	json_t *device;
	int st = iso_ctx_ready(c->ctx);

	if (st || json_object_get(c->record.root, "device")) return st;
	device = json_sprintf("%s (%s)", iso_ctx_device(c->ctx), iso_ctx_device_name(c->ctx));
	term_note(&c->term, "device %s", json_string_value(device));
	return record_set(&c->record, "device", device);
}

static void on_stage(void *arg, const char *stage)
{
	term_stage(&((struct cmd *)arg)->term, stage);
}

static void on_part(void *arg, const char *kind, int64_t k, int64_t n)
{
	term_part(&((struct cmd *)arg)->term, kind, k, n);
}

static int on_plan(void *arg, struct iso_plan *plan)
{
	int st = name_device(arg);

	return st ? st : cmd_plan(arg, plan);
}

static int begin_record(struct cmd *c, int argc, char **argv)
{
	char *line = command_line(argc, argv);
	int st = line ? record_begin(&c->record, c->term.command, line)
	              : iso_fail_memory("the command line", argc);

	free(line);
	c->record.to.message = on_message;
	c->record.to.staged = on_stage;
	c->record.to.part = on_part;
	c->record.to.plan = on_plan;
	c->record.to.arg = c;
	c->record.to.lively = c->term.is_tty;
	return st;
}

int cmd_parse(struct cmd *c, const struct opt_usage *u, const struct opt_set *sets, int argc, char **argv)
{
	int st;

	c->sets = sets;
	c->began_s = iso_now_s();
	term_open(&c->term, u->command);
	if ((st = begin_record(c, argc, argv)) || (st = opt_parse(u, sets, argc, argv))) return st;
	c->term.quiet = c->quiet || !ranks_is_first();
	c->record.to.deaf = c->term.quiet;
	c->term.verbose = c->verbose;
	iso_progress_listen(term_progress, &c->term);
	c->record.read.dry_run = c->dry_run;
	if ((c->like && !cmd_like_image(c) && (st = read_like(c))) || (st = opt_check(u, sets))) return st;
	warn_of_outputs(c);
	if ((st = cmd_name_files(c))) return st;
	if (c->writes) catch_signals();
	if (c->writes && !c->computes) iso_stop_watch(&caught);
	if (!c->dry_run && (st = cmd_lock_outputs(c))) return st;
	return record_set(&c->record, "parameters", opt_to_json(sets));
}

/* A device that the command has no code for is not taken in silence. What the device's driver takes counts in
   no memory limit: there it comes first. */
static int make_context(struct cmd *c, bool ahead)
{
	const bool cpu = strcmp(c->device, "auto") == 0 && (c->cpu_only || c->cpu_first);
	const char *device = cpu ? "cpu" : c->device;
	int st = iso_ctx_create_over(&c->ctx, device, (int)c->threads, ranks_comm(),
	                             ahead && c->memory_gb == 0);

	if (!st && c->cpu_only && iso_ctx_is_cuda(c->ctx))
		st = iso_fail(ISO_EARG, "--device is %s: this command computes on the CPU alone", c->device);
	return st;
}

/* What is wrong with a file is told before what is missing beside it. */
static int check_inputs(const struct opt_set *sets)
{
	const struct opt *o;
	int st = ISO_OK;

	for (int k = 0; !st && (o = opt_at(sets, k)); k++)
		if (o->text) st = opt_check_file(o, *o->text);
	return st;
}

/* No rank goes on before all have checked their inputs and outputs: then rank 0 begins to write. */
int cmd_begin_ahead(struct cmd *c, bool ahead)
{
	int st = iso_comm_settle(ranks_comm(), check_inputs(c->sets));

	if (st || (st = make_context(c, ahead))) return st;
	iso_ctx_set_memory_limit(c->ctx, (int64_t)(c->memory_gb * GB));
	iso_ctx_set_device_memory_limit(c->ctx, (int64_t)(c->device_memory_gb * GB));
	iso_ctx_set_progress(c->ctx, term_progress, &c->term);
	c->record.read.ctx = c->ctx;
	c->record.split.ranks = iso_ctx_ranks(c->ctx);
	running = c->ctx;
	catch_signals();
	if (caught) /* before there was a context */
		iso_ctx_cancel(c->ctx);
	return ahead ? ISO_OK : name_device(c);
}

int cmd_begin(struct cmd *c)
{
	return cmd_begin_ahead(c, false);
}

int cmd_text(struct cmd *c)
{
	free(c->text);
	c->text = NULL;
	return record_text(&c->record, &c->text);
}

int cmd_end(struct cmd *c, int st)
{
	if (!st && c->json && !(st = cmd_text(c))) fputs(c->text, stdout);
	term_close(&c->term);
	if (!st) cmd_tell_wrote(c);
	running = NULL;
	iso_stop_watch(NULL);
	iso_progress_listen(NULL, NULL);
	iso_ctx_free(c->ctx);
	for (int i = 0; i < c->n_locks; i++) iso_lock_release(&c->lock[i]);
	iso_names_free(&c->names);
	record_free(&c->record);
	json_decref(c->like_record);
	free(c->text);
	return st;
}

/* ---- memory ---- */

/* The last of the lines of a plan that several ranks share: of each of them is what stands before it. */
static json_t *split_json(const struct record_split *s)
{
	return record_pack("{s:i, s:s, s:I, s:I, s:f, s:f}", "ranks", s->ranks, "share",
	                   s->by_rows ? "rows" : "results", "rows", (json_int_t)s->rows,
	                   "bytes_exchanged_an_update", (json_int_t)s->exchanged, "computing_s",
	                   s->computing_s, "exchanging_s", s->exchanging_s);
}

static void print_split(FILE *f, const struct record_split *s)
{
	if (s->ranks <= 1) return;
	fprintf(f, "of each of %d ranks", s->ranks);
	if (s->exchanged > 0)
		fprintf(f, ", which has %s; an update exchanges %s",
		        s->by_rows ? "its share of the rows" : "all rows, and makes its share of the results",
		        iso_bytes(s->exchanged));
	fputc('\n', f);
	if (s->computing_s > 0)
		fprintf(f, "an update takes about %.2g s, of which %.2g s to exchange\n",
		        s->computing_s + s->exchanging_s, s->exchanging_s);
}

/* In words of the command line. */
static const char *way_text(char *words, size_t size, const struct cmd *c)
{
	return option_words(words, size, c->term.command, c->record.way.text);
}

/* A line as the others, that takes no memory. */
static json_t *way_json(const struct cmd *c)
{
	char words[1200];

	return record_pack("{s:s, s:i, s:i, s:s, s:f, s:s}", "what", "way", "host_bytes", 0, "device_bytes",
	                   0, "way", c->record.way.name, "pass_s", c->record.way.pass_s, "text",
	                   way_text(words, sizeof words, c));
}

static int print_plan_json(const struct cmd *c, const struct iso_plan *plan)
{
	const struct record_split *split = &c->record.split;
	json_t *lines = json_array();
	int bad = 0;

	for (int i = 0; i < iso_plan_size(plan); i++) {
		struct iso_plan_line l = iso_plan_line(plan, i);

		bad |= json_array_append_new(lines, json_pack("{s:s, s:I, s:I}", "what", l.what, "host_bytes",
		                                              (json_int_t)l.host, "device_bytes",
		                                              (json_int_t)l.device));
	}
	if (c->record.way.name) bad |= json_array_append_new(lines, way_json(c));
	if (split->ranks > 1) bad |= json_array_append_new(lines, split_json(split));
	bad = bad || json_dumpf(lines, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(lines);
	return bad ? iso_fail(ISO_EIO, "the plan could not be written") : ISO_OK;
}

static void print_plan(FILE *f, const struct cmd *c, const struct iso_plan *plan)
{
	int64_t host, device;
	char words[1200];

	iso_plan_total(&host, &device, plan);
	if (c->record.way.name && c->dry_run) fprintf(f, "%s\n", way_text(words, sizeof words, c));
	fprintf(f, "%-40s %12s %12s\n", "memory for", "host", "device");
	for (int i = 0; i < iso_plan_size(plan); i++) {
		struct iso_plan_line l = iso_plan_line(plan, i);

		fprintf(f, "%-40s %12s %12s\n", l.what, iso_bytes(l.host), iso_bytes(l.device));
	}
	fprintf(f, "%-40s %12s %12s\n", "in all", iso_bytes(host), iso_bytes(device));
	print_split(f, &c->record.split);
}

struct iso_plan cmd_plan_begin(const struct cmd *c)
{
	struct iso_plan p = { 0 };

	if (c->record.read.inputs > 0) iso_plan_add(&p, "inputs", c->record.read.inputs, 1, false);
	return p;
}

int cmd_plan(struct cmd *c, struct iso_plan *plan)
{
	int st = ISO_OK;

	if (c->dry_run && c->json)
		st = print_plan_json(c, plan);
	else if (c->dry_run)
		print_plan(stdout, c, plan);
	else if (c->verbose && !c->term.quiet)
		print_plan(stderr, c, plan);
	if (!st) st = iso_plan_check(c->ctx, plan);
	iso_plan_free(plan);
	return !st && c->dry_run ? CMD_DONE : st;
}

/* ---- input and output ---- */

bool cmd_is_events(const char *path)
{
	return iso_kind_is(path, ISO_EVENTS_FILE);
}

int cmd_check(const struct cmd *c, const char *path, int (*check)(const char *path, bool force))
{
	int st = path ? check(path, c->force) : ISO_OK;

	return st || !path ? st : record_check_place(path, c->force);
}

int cmd_check_array(const struct cmd *c, const char *path)
{
	return cmd_check(c, path, iso_write_check);
}

int cmd_check_output(const struct cmd *c, const char *path)
{
	return cmd_check(c, path, path && cmd_is_events(path) ? iso_events_write_check : iso_write_check);
}

int cmd_enter_folder(const char *folder, bool make)
{
	if ((make && mkdir(folder, 0777) != 0 && errno != EEXIST) ||
	    (chdir(folder) != 0 && (make || errno != ENOENT)))
		return iso_fail(ISO_EIO, "%s: %s", folder, strerror(errno));
	return ISO_OK;
}

int cmd_scanner(struct cmd *c, iso_scanner **s, const char *path)
{
	int st = iso_scanner_read(s, path);

	return st ? st : record_input(&c->record, path);
}

int cmd_write(struct cmd *c, const char *path, const struct iso_array *a)
{
	return record_write(&c->record, path, a, c->ctx);
}

int cmd_write_recording(struct cmd *c, const char *path, const iso_recording *r)
{
	int st = cmd_text(c);

	return st ? st : iso_recording_write(path, r, c->text);
}

int cmd_write_picture(struct cmd *c, const char *path, const struct iso_pixels *p)
{
	int st = cmd_text(c);

	return st ? st : iso_picture_write(path, p, c->text);
}

void cmd_tell_duration(struct cmd *c, const char *path, double duration_s)
{
	if (iso_has_suffix(path, ".Cdh") && !(duration_s > 0))
		record_note(&c->record,
		            "%s: how long the scan took is not known, so its header says 0 s; --duration-s "
		            "sets it",
		            path);
	if (iso_has_suffix(path, ".petsird") && !(duration_s > 0))
		record_note(&c->record,
		            "%s: how long the scan took is not known, so its time blocks are 0 s long; "
		            "--duration-s sets it",
		            path);
}

void cmd_tell_weight(struct cmd *c, const char *path, const iso_scanner *s)
{
	if (iso_has_suffix(path, ".petsird") && s && s->solid_angle)
		record_note(
			&c->record,
			"%s: PETSIRD has no place for pair_weight: solid-angle; give recon the scanner, too",
			path);
}

int cmd_close_events(struct cmd *c, iso_event_writer **w)
{
	int st;

	if ((*w)->warning[0]) record_warn(&c->record, "%s: %s", (*w)->out.path, (*w)->warning);
	if ((st = cmd_text(c))) return st;
	st = iso_event_writer_close(*w, c->text);
	*w = NULL;
	return st;
}

json_t *cmd_grid_json(const struct iso_grid *g)
{
	return record_pack("{s:[I,I,I], s:[f,f,f], s:[f,f,f]}", "n", (json_int_t)g->n[0], (json_int_t)g->n[1],
	                   (json_int_t)g->n[2], "voxel_mm", g->voxel[0], g->voxel[1], g->voxel[2],
	                   "centre_mm", g->centre[0], g->centre[1], g->centre[2]);
}
