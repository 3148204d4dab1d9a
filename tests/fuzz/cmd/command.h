/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole commands in process: the program's own main (src/cmd/main.c, under another name) with words
   that a target makes of its input, in a folder of their own. */
#ifndef COMMAND_H
#define COMMAND_H

#include "tests/fuzz/fuzz.h"

#include "cmd/cmd.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>

int isotome_main(int argc, char **argv);

/* What is larger is refused, and must be told as such. A small quarantine keeps the process small: a
   child of it reads HDF5. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:max_allocation_size_mb=128:quarantine_size_mb=16";
}

/* A run on an input that goes on for longer is cancelled as by SIGTERM, which must end it soon. */
enum { LONGEST_MS = 200, MOST_WORDS = 64, MOST_LETTERS = 4096 };

/* ---- folders: fuzz_folder/keep has the files that every input finds, work a link to each ---- */

static inline void remove_all(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	for (struct dirent *e; d && (e = readdir(d));) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
		if (unlinkat(fd, e->d_name, 0) != 0) {
			remove_all(fd, e->d_name);
			unlinkat(fd, e->d_name, AT_REMOVEDIR);
		}
	}
	if (d) closedir(d);
}

static inline void command_leave(void)
{
	int fd = open(fuzz_folder, O_RDONLY | O_DIRECTORY);

	remove_all(fd, "keep");
	remove_all(fd, "work");
	unlinkat(fd, "keep", AT_REMOVEDIR);
	unlinkat(fd, "work", AT_REMOVEDIR);
	close(fd);
}

static struct {
	int base, came_from; /* open folders; libFuzzer wants to be where it began */
	FILE *null;
	timer_t timer;
	bool patient;                     /* no run is cancelled */
	struct sigaction term, interrupt; /* libFuzzer's */
} command;

/* By the program's own handler, once it has one; before, there is nothing to cancel. */
static inline void on_timer(int number)
{
	struct sigaction now;

	(void)number;
	if (sigaction(SIGTERM, NULL, &now) == 0 && now.sa_handler != command.term.sa_handler)
		now.sa_handler(SIGTERM);
}

static inline void command_start(void)
{
	struct sigaction action = { .sa_handler = on_timer, .sa_flags = SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	iso_ctx *ctx = NULL;

	if (command.null) return;
	fuzz_enter();
	atexit(command_leave);
	setenv("OMP_NUM_THREADS", "1", 1);
	setenv("OMP_TOOL", "disabled", 1); /* libomp would load one, whose streams begin in a run */
	/* a CUDA half loads libstdc++, whose streams keep what stdout and stderr are then: here, not in a run */
	if (iso_ctx_create(&ctx, "auto", 1) == ISO_OK) iso_ctx_free(ctx);
	command.came_from = open(".", O_RDONLY | O_DIRECTORY);
	command.base = open(fuzz_folder, O_RDONLY | O_DIRECTORY);
	command.null = fopen("/dev/null", "w");
	MUST(command.null && command.base >= 0 && command.came_from >= 0);
	MUST(mkdirat(command.base, "keep", 0777) == 0 && mkdirat(command.base, "work", 0777) == 0);
	sigaction(SIGRTMIN, &action, NULL);
	MUST(timer_create(CLOCK_MONOTONIC, &event, &command.timer) == 0);
}

/* Nothing was written beside the folder of work. */
static inline void check_base(void)
{
	DIR *d = opendir(fuzz_folder);

	MUST(d);
	for (struct dirent *e; (e = readdir(d));)
		MUST(e->d_name[0] == '.' || !strcmp(e->d_name, "keep") || !strcmp(e->d_name, "work"));
	closedir(d);
}

static inline void link_kept(void)
{
	int keep = openat(command.base, "keep", O_RDONLY | O_DIRECTORY);
	DIR *d = fdopendir(keep);

	MUST(d);
	for (struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.') MUST(linkat(keep, e->d_name, AT_FDCWD, e->d_name, 0) == 0);
	closedir(d);
}

/* Into an empty folder with links to the kept files, and back. */
static inline void command_enter(void)
{
	command_start();
	MUST(fchdir(command.base) == 0 && chdir("work") == 0);
	link_kept();
}

static inline void command_back(void)
{
	check_base();
	remove_all(command.base, "work");
	MUST(fchdir(command.came_from) == 0);
}

/* ---- files where the commands run ---- */

static inline void put_file(const char *name, const void *data, size_t size)
{
	FILE *f;

	unlink(name); /* not through the link into the kept one */
	f = fopen(name, "wb");
	MUST(f && fwrite(data, 1, size, f) == size && fclose(f) == 0);
}

/* What comes before the next NUL byte becomes a file; returns what comes after it. */
static inline const uint8_t *put_part(const char *name, const uint8_t *data, const uint8_t *end)
{
	const uint8_t *nul = data < end ? memchr(data, 0, (size_t)(end - data)) : NULL;
	const uint8_t *stop = nul ? nul : end;

	put_file(name, data, (size_t)(stop - data));
	return nul ? nul + 1 : end;
}

/* ---- a run ---- */

static inline void set_timer(int ms)
{
	struct itimerspec t = { .it_value = { 0, ms * 1000000L }, .it_interval = { 0, ms * 1000000L } };

	timer_settime(command.timer, 0, &t, NULL);
}

/* Whatever went wrong is told, in lines of text: nothing in them that a terminal would obey. */
static inline void check_told(int code, const char *text, size_t size)
{
	MUST(code == 0 || (code >= 129 && code <= 130) || code == 143 || (code >= 1 && code <= 5));
	MUST(code == 0 || (size > 0 && text[size - 1] == '\n' && strstr(text, "isotome")));
	for (size_t i = 0; i < size; i++)
		MUST(((unsigned char)text[i] >= ' ' && text[i] != 0x7f) || text[i] == '\n');
}

static inline double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* In place of that of outside.c: the other program is here too, and its commands are run in this process. */
bool outside_run(int *st, const char *program, int argc, char **argv)
{
	static char bench[] = "bench";
	char *words[MOST_WORDS + 10] = { bench };
	bool papers = argc > 0 && strcmp(argv[0], "reproduce") == 0;

	if (strcmp(program, "isotome-bench") != 0) return false;
	for (int i = 0; i < argc; i++) words[i + 1] = argv[i];
	*st = papers ? main_reproduce(argc, words + 1) : main_bench(argc + 1, words);
	return true;
}

static inline int run_words(int argc, char **argv)
{
	FILE *out = stdout, *err = stderr, *told;
	char *text = NULL;
	size_t size = 0;
	double began_s = now_s();
	int code;

	told = open_memstream(&text, &size);
	MUST(told);
	sigaction(SIGTERM, NULL, &command.term);
	sigaction(SIGINT, NULL, &command.interrupt);
	set_timer(command.patient ? 0 : LONGEST_MS);
	stdout = command.null, stderr = told;
	code = isotome_main(argc, argv);
	stdout = out, stderr = err;
	set_timer(0);
	sigaction(SIGTERM, &command.term, NULL);
	sigaction(SIGINT, &command.interrupt, NULL);
	fclose(told);
	if (getenv("FUZZ_TELL")) /* to see what an input does */
		fprintf(stderr, "%s %s: exit code %d, %.0f ms\n%s", argc > 1 ? argv[1] : "",
		        argc > 2 ? argv[2] : "", code, 1e3 * (now_s() - began_s), text);
	check_told(code, text, size);
	free(text);
	return code;
}

/* The words of a line, separated by blanks. */
static inline int isotome(const char *line)
{
	static char letters[MOST_LETTERS];
	char *argv[MOST_WORDS + 2] = { "isotome" }, *rest = NULL;
	int argc = 1;

	snprintf(letters, sizeof letters, "%s", line);
	for (char *w = strtok_r(letters, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
		MUST(argc <= MOST_WORDS);
		argv[argc++] = w;
	}
	return run_words(argc, argv);
}

#endif
