/* SPDX-License-Identifier: BSD-3-Clause */
/* What all commands share: the common options, the context, the record, and the way they write.

   A command is `int main_X(int argc, char **argv)` with argv[0] = "X":

	struct opt own[] = { ..., { 0 } };
	struct cmd c = { 0 };
	struct opt_set sets[] = { { NULL, own }, cmd_common(&c, CMD_WRITES), { 0 } };
	int st = cmd_parse(&c, &usage, sets, argc, argv);

	if (!st && !(st = cmd_check_array(&c, out)) && !(st = cmd_begin(&c))) st = run(&c, out);
	return cmd_end(&c, st);

   It returns a status of the library, or CMD_DONE; main.c prints the message and picks the exit code. */
#ifndef ISO_CMD_H
#define ISO_CMD_H

#include "file/lock.h"
#include "file/names.h"
#include "opt.h"
#include "problem/record/record.h"
#include "term.h"

#include <limits.h>

#define CMD_DONE OPT_HELP    /* success, and nothing left to do: after --help or --dry-run */
#define CMD_NOT_BELOW (-100) /* a figure missed its --below: exit code 1 */

/* Which of the common options a command has; all have --help and --json. */
#define CMD_COMPUTES 1 /* device, threads, memory-limit, device-memory-limit, dry-run, verbose, quiet */
#define CMD_WRITES 2   /* force, like, quiet */

#define CMD_OUTPUTS 8 /* options that name outputs */

/* Entries of a table of options: a text that must stand on the command line, and the output. */
#define CMD_ARGUMENT(key, place, kind, shown, what)                                              \
	{                                                                                        \
		.name = key, .text = &(place), .file = kind, .value = shown, .positional = true, \
		.required = true, .help = what                                                   \
	}
#define CMD_OUTPUT(place, what)                                                                         \
	{                                                                                               \
		.letter = 'o', .name = "output", .text = &(place), .file = OPT_WRITES, .value = "FILE", \
		.required = true, .help = what                                                          \
	}

struct cmd {
	const char *device;
	int64_t threads;
	double memory_gb, device_memory_gb;
	bool verbose, quiet, json, dry_run, force, help;
	bool cpu_only;   /* set by a command without code for CUDA */
	bool cpu_first;  /* set by one that ends before a device is opened: auto is the CPU */
	bool like_image; /* set by one whose --like may also be an image, of which it takes the grid */
	const char *like;
	const char *model, *models[16]; /* of commands that have a problem; models ends with NULL */
	const char *parameter; /* that the file takes which told the model; NULL: the first word did */
	char about_models[512], about_file[256];

	bool computes;          /* has a context, by which signals end the work */
	bool writes;            /* an option names an output */
	struct iso_names names; /* all files that are read and written, as far as options say */
	struct iso_lock lock[CMD_OUTPUTS];
	int n_locks;

	double began_s; /* when the words were parsed */
	struct opt common[16];
	const struct opt_set *sets; /* all options, after cmd_parse */
	json_t *like_record;        /* texts of options may lie in it */
	struct term term;
	struct record record;
	char *text;   /* the record, by cmd_text */
	iso_ctx *ctx; /* after cmd_begin */
};

/* The common options as a set, to stand among those of the command. */
struct opt_set cmd_common(struct cmd *c, int which);

/* Options from the command line, then from --like; begins the record. CMD_DONE after --help. Refuses
   outputs that are also inputs or one another, and locks them: a second run of the same output is
   refused. From here on SIGINT, SIGTERM and SIGHUP end a command that writes without leaving anything behind. */
int cmd_parse(struct cmd *c, const struct opt_usage *u, const struct opt_set *sets, int argc, char **argv);

/* Parts of cmd_parse, in cmd_files.c. */
int cmd_name_files(struct cmd *c);
int cmd_lock_outputs(struct cmd *c);

/* Whether an option was given, here or by the record of --like; the first given of a list that ends with
   NULL, or NULL. */
bool cmd_given(const struct cmd *c, const char *name);
const char *cmd_given_of(const struct cmd *c, const char *const *names);

/* Whether --like was given and names an image. */
bool cmd_like_image(const struct cmd *c);

/* Of 'grid', 'voxel' and 'centre', of which these are the values, those that are given change g; of sizes and voxels, the
   other follows from the extent of g. */
int cmd_grid_within(struct iso_grid *g, const struct cmd *c, const int64_t size[3], const double voxel[3],
                    const double centre[3]);

/* One more output, of which no option speaks. */
int cmd_add_output(struct cmd *c, const char *path, const char *what);

/* The context, with progress on stderr; SIGINT, SIGTERM and SIGHUP cancel it, a second one of
   the first two kills. ISO_EINPUT
   before that if a file that an option names can't be read. Ahead: the device is opened while inputs are
   read, and named with the plan. */
int cmd_begin(struct cmd *c);
int cmd_begin_ahead(struct cmd *c, bool ahead);

/* After ISO_OK, with --json, the record on stdout. Frees what the command holds, and returns the status. */
int cmd_end(struct cmd *c, int st);

/* wrote.c: on a terminal, a line for each output that is there: what, how large, how long, and what to type next. */
void cmd_tell_wrote(const struct cmd *c);

/* The beginning of a plan: a line for the arrays that were read. */
struct iso_plan cmd_plan_begin(const struct cmd *c);

/* Checks that the plan fits, and prints it with --dry-run (then CMD_DONE) or --verbose. Frees its lines. */
int cmd_plan(struct cmd *c, struct iso_plan *plan);

/* Before the work, by `check` of the library: an existing output, or the record of one, is refused
   without --force. A file in the record's place that is no record is always refused. Without a path there
   is nothing to check. */
int cmd_check(const struct cmd *c, const char *path, int (*check)(const char *path, bool force));
int cmd_check_array(const struct cmd *c, const char *path);
int cmd_check_output(const struct cmd *c, const char *path); /* an array or events, by suffix */

/* Works in a folder from now on; with `make`, one that may have to be made first. Without it, a
   folder that is not there is no failure. */
int cmd_enter_folder(const char *folder, bool make);

/* The scanner of a description, which becomes an input of the record. */
int cmd_scanner(struct cmd *c, iso_scanner **s, const char *path);

/* The record as c->text, for those that write it beside an output. */
int cmd_text(struct cmd *c);

/* Writes with the record as sidecar; the unit of the array goes there as "Units". */
int cmd_write(struct cmd *c, const char *path, const struct iso_array *a);
int cmd_write_recording(struct cmd *c, const char *path, const iso_recording *r);
int cmd_write_picture(struct cmd *c, const char *path, const struct iso_pixels *p);
/* Notes of what a file of events can't say: how long the scan took, and the weights of pairs. */
void cmd_tell_duration(struct cmd *c, const char *path, double duration_s);
void cmd_tell_weight(struct cmd *c, const char *path, const iso_scanner *s);
int cmd_close_events(struct cmd *c, iso_event_writer **w); /* then *w is NULL, unless the record fails */

/* {"n": [x, y, z], "voxel_mm": [...], "centre_mm": [...]} */
json_t *cmd_grid_json(const struct iso_grid *g);

/* A message of the library in the words of a command, as its row of the table tells: --grid where the library
   says 'grid'; cut to `size`. */
const char *option_words(char *to, size_t size, const char *command, const char *text);

/* The words of a command as a line that can be pasted into a shell, to be freed; NULL without memory. */
char *command_line(int argc, char **argv);

/* The signal that cancelled the context; 0 if none did. */
int cmd_signal(void);

/* cmd_ranks.c: the processes that mpirun or srun started together.

   Whether this one has nothing to do: of a command whose work is not shared, the first process does all. */
bool ranks_idle(void);

/* Before a command that shares its work: where this process is one of several, opens their communicator, and mutes
   files and standard output of all but the first. ISO_EDEVICE where there is no MPI for it. */
int ranks_begin(void);
struct iso_comm *ranks_comm(void); /* NULL: this process is alone */
bool ranks_is_first(void);

/* After the command: all processes get one status and one message, and the number of a signal that one of them got.
   ranks_speaks: this process is to print the message. Then ranks_close. */
int ranks_end(int st, int *signal);
bool ranks_speaks(void);
void ranks_close(void);

/* nema_command.c: a page of figures after NEMA, from files of 'isotome nema --json'. */
int nema_page_of(struct cmd *c, const char *out, const char *title, int n, char *const *files);

/* unmix_command.c: where unmix writes the map of that name: x.nii.gz -> x_NAME.nii.gz. */
int unmix_map_path(char path[PATH_MAX], const char *out, const char *name);

/* Files of events, told by suffix; .npy, which may hold them too, is not among them. */
bool cmd_is_events(const char *path);

/* cmd_problem.c: a problem of the model that is the first word after the command, or that of the record that --like
   names, or that a file among the words tells, with the record of the command. Before --help any will do: the first is
   taken. The tables of its parameters then stand among the sets that are given to cmd_parse. */
int cmd_problem(iso_problem **p, struct cmd *c, int argc, char **argv);
struct opt cmd_model(struct cmd *c); /* the positional, to stand first in the table of a command */
struct opt cmd_data(struct cmd *c,
                    iso_problem *p); /* the file of data, to stand second where it may stand there */
int cmd_problem_begin(iso_problem *p, struct cmd *c); /* cmd_begin, with the problem on the context */

struct transducers; /* problem/inputs.h */

/* convert_sound.c: one of the two files is a recording, or both; an array needs a scanner (else NULL).
   And what IPASC files, such as `to`, have no place for. */
int convert_sound(struct cmd *c, const char *from, const char *to, const char *scanner);
void convert_sound_warn(struct cmd *c, const char *to, const char *scanner, const struct transducers *array);

/* A row of a program's table of commands: commands.c, and that of isotome-bench. */
struct command {
	const char *name, *help;
	int (*run)(int argc, char **argv);
	const char *outside; /* instead: the program of this project that has it */
	bool shares;      /* its work over the processes that were started together; else the first does it */
	bool has_problem; /* the parameters of a problem are its options, or it speaks of the run of one */
	const char *const *options; /* others of which the library speaks as of parameters; ends with NULL */
};

/* Command k, NULL beyond the last; and the command of a name, NULL if there is none. */
const struct command *command_at(int k);
const struct command *command_find(const char *name);

/* program.c: what the main functions of isotome and isotome-bench do. `run` picks the command and runs it by
   command_run; program_main then prints the message, and returns the exit code. */
int command_run(const struct command *c, int argc, char **argv);
int program_main(int (*run)(const struct command **c, int argc, char **argv), int argc, char **argv);

/* Where a program is, beside this one or on the PATH; false: nowhere. */
bool program_find(char path[PATH_MAX], const char *name);

/* outside.c: goes on as that program, with these words behind its name. Returns only where that can't be: false where
   there is no such program, else *st is the failure. */
bool outside_run(int *st, const char *program, int argc, char **argv);

int main_info(int argc, char **argv);
int main_phantom(int argc, char **argv);
int main_simulate(int argc, char **argv);
int main_srm(int argc, char **argv);
int main_norm(int argc, char **argv);
int main_sens(int argc, char **argv);
int main_project(int argc, char **argv);
int main_backproject(int argc, char **argv);
int main_recon(int argc, char **argv);
int main_timing(int argc, char **argv);
int main_rates(int argc, char **argv);
int main_response(int argc, char **argv);
int main_calibrate(int argc, char **argv);
int main_scatter(int argc, char **argv);
int main_motion(int argc, char **argv);
int main_filter(int argc, char **argv);
int main_mu(int argc, char **argv);
int main_resample(int argc, char **argv);
int main_warp(int argc, char **argv);
int main_gate(int argc, char **argv);
int main_kinetics(int argc, char **argv);
int main_unmix(int argc, char **argv);
int main_lifetime(int argc, char **argv);
int main_delays(int argc, char **argv);
int main_measure(int argc, char **argv);
int main_nema(int argc, char **argv);
int main_view(int argc, char **argv);
int main_convert(int argc, char **argv);
int main_bids(int argc, char **argv);
int main_report(int argc, char **argv);
int main_bench(int argc, char **argv);
int main_reproduce(int argc, char **argv);
int main_demo(int argc, char **argv);

#endif
