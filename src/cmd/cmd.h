/* SPDX-License-Identifier: BSD-3-Clause */
/* What all commands share: the common options, the context, the record, and the way they write.

   A command is `int main_X(int argc, char **argv)` with argv[0] = "X":

	struct cmd c = { 0 };
	struct opt own[] = { ..., { 0 } };
	struct opt_set sets[] = { { NULL, own }, cmd_common(&c, CMD_WRITES), { 0 } };
	int st;

	if ((st = cmd_parse(&c, &usage, sets, argc, argv))) goto done;
	if ((st = cmd_check_array(&c, out))) goto done;
	if ((st = cmd_begin(&c))) goto done;
	...
	st = cmd_write(&c, out, &image);
   done:
	cmd_end(&c);
	return st;

   It returns a status of the library, or CMD_DONE; main.c prints the message and picks the exit
   code. */
#ifndef ISO_CMD_H
#define ISO_CMD_H

#include "file/lock.h"
#include "file/names.h"
#include "opt.h"
#include "problem/record.h"
#include "term.h"

#include "io/series.h"

#define CMD_DONE OPT_HELP    /* success, and nothing left to do: after --help or --dry-run */
#define CMD_NOT_BELOW (-100) /* a figure missed its --below: exit code 1 */

/* Which of the common options a command has; all have --help and --json. */
#define CMD_COMPUTES 1 /* device, threads, memory-limit, dry-run, verbose, quiet */
#define CMD_WRITES 2   /* force, like, quiet */

#define CMD_OUTPUTS 8 /* options that name outputs */

struct cmd {
	const char *device;
	int64_t threads;
	double memory_gb;
	bool verbose, quiet, json, dry_run, force, help;
	bool cpu_only; /* set by a command without code for CUDA */
	const char *like;
	const char *model, *models[16]; /* of commands that have a problem; models ends with NULL */
	char about_models[512];

	bool computes;          /* has a context, by which signals end the work */
	struct iso_names names; /* all files that are read and written, as far as options say */
	struct iso_lock lock[CMD_OUTPUTS];
	int n_locks;

	struct opt common[16];
	const struct opt_set *sets; /* all options, after cmd_parse */
	json_t *like_record;        /* texts of options may lie in it */
	struct term term;
	struct record record;
	iso_ctx *ctx; /* after cmd_begin */
};

/* The common options as a set, to stand among those of the command. */
struct opt_set cmd_common(struct cmd *c, int which);

/* Options from the command line, then from --like; begins the record. CMD_DONE after --help. Refuses
   outputs that are also inputs or one another, and locks them: a second run of the same output is
   refused. From here on SIGINT and SIGTERM end a command that writes without leaving anything behind. */
int cmd_parse(struct cmd *c, const struct opt_usage *u, const struct opt_set *sets, int argc, char **argv);

/* Parts of cmd_parse and cmd_end, in cmd_files.c. */
int cmd_name_files(struct cmd *c, const struct opt_set *sets);
bool cmd_writes(const struct opt_set *sets); /* an option names an output */
int cmd_lock_outputs(struct cmd *c, const struct opt_set *sets);
void cmd_release_files(struct cmd *c);

/* One more output, of which no option speaks. */
int cmd_add_output(struct cmd *c, const char *path, const char *what);

/* The context, with progress on stderr; SIGINT and SIGTERM cancel it, a second one kills. ISO_EINPUT
   before that if a file that an option names can't be read. */
int cmd_begin(struct cmd *c);
void cmd_end(struct cmd *c);

/* The beginning of a plan: a line for the arrays that were read. */
struct iso_plan cmd_plan_begin(const struct cmd *c);

/* Checks that the plan fits, and prints it with --dry-run (then CMD_DONE) or --verbose. Frees its lines. */
int cmd_plan(struct cmd *c, struct iso_plan *plan);

/* Before the work: an array or events by suffix; an existing output, or the record of one, is
   refused without --force. A file in the record's place that is no record is always refused. */
int cmd_check_output(const struct cmd *c, const char *path);
int cmd_check_array(const struct cmd *c, const char *path);   /* the same, events refused */
bool cmd_has_record(const char *path);                        /* a run has written that file */
int cmd_check_picture(const struct cmd *c, const char *path); /* the same for a .png */
int cmd_check_strip_events(const struct cmd *c, const char *path);
int cmd_check_recording(const struct cmd *c, const char *path);       /* .hdf5, .h5 */
int cmd_check_srm(const struct cmd *c, const char *path, bool force); /* force: as --force */

/* Works in a folder from now on; with `make`, one that may have to be made first. Without it, a
   folder that is not there is no failure. */
int cmd_enter_folder(const char *folder, bool make);

/* record_read and its like; `c` may be NULL. */
static inline int cmd_read(struct cmd *c, struct iso_array *a, const char *path, enum iso_values allowed)
{
	return record_read(c ? &c->record : NULL, a, path, allowed);
}

static inline int cmd_read_image(struct cmd *c, struct iso_array *a, const char *path,
                                 enum iso_values allowed, const struct iso_grid *want)
{
	return record_read_image(&c->record, a, path, allowed, want);
}

static inline int cmd_read_map(struct cmd *c, struct iso_array *a, const char *path, const struct iso_grid *g)
{
	return record_read_map(&c->record, a, path, g);
}

static inline int cmd_read_mu(struct cmd *c, struct iso_array *a, const char *path, const struct iso_grid *g)
{
	return record_read_mu(&c->record, a, path, g);
}

/* Writes with the record as sidecar; the unit of the array goes there as "Units". */
int cmd_write(struct cmd *c, const char *path, const struct iso_array *a);
int cmd_write_recording(struct cmd *c, const char *path, const iso_recording *r);

/* {"n": [x, y, z], "voxel_mm": [...], "centre_mm": [...]} */
json_t *cmd_grid_json(const struct iso_grid *g);

/* A message of the library in the words of a command that has a problem, as recon: --grid where the library
   says 'grid'; cut to `size`. */
const char *option_words(char *to, size_t size, const char *command, const char *text);

/* The words of a command as a line that can be pasted into a shell, to be freed; NULL without memory. */
char *command_line(int argc, char **argv);

/* At the end: with --json, the record on stdout. */
int cmd_report(struct cmd *c);

/* The signal that cancelled the context; 0 if none did. */
int cmd_signal(void);

/* Files of events, told by suffix; .npy, which may hold them too, is not among them. */
bool cmd_is_events(const char *path);

int main_info(int argc, char **argv);
int main_phantom(int argc, char **argv);
int main_simulate(int argc, char **argv);
int main_srm(int argc, char **argv);
int main_norm(int argc, char **argv);
int main_sens(int argc, char **argv);
int main_project(int argc, char **argv);
int main_backproject(int argc, char **argv);
int main_recon(int argc, char **argv);
int main_filter(int argc, char **argv);
int main_measure(int argc, char **argv);
int main_view(int argc, char **argv);
int main_convert(int argc, char **argv);
int main_report(int argc, char **argv);
int main_bench(int argc, char **argv);
int main_reproduce(int argc, char **argv);
int main_demo(int argc, char **argv);

#endif
