/* SPDX-License-Identifier: BSD-3-Clause */
/* One commit for all files of an output: a process killed at any step, and a rename that fails, leave
   the old files or the new ones, never some of each. The functions below stand before the C library's
   own, so that the test can stop a writer between two of them. */
#define _GNU_SOURCE
#include "files.h"
#include "file/lock.h"
#include "file/out.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

static int kill_at = -1; /* steps until SIGKILL; -1: never */
static int fail_at = -1; /* names to be changed until one that fails; -1: none does */
static bool no_anonymous, no_link, no_flock;

static void step(void)
{
	if (kill_at >= 0 && kill_at-- == 0) kill((pid_t)syscall(SYS_getpid), SIGKILL);
}

/* All writers have the same number, as processes of several containers may. */
pid_t getpid(void)
{
	return 42;
}

static bool fails(void)
{
	if (fail_at < 0 || fail_at-- != 0) return false;
	errno = EIO;
	return true;
}

int openat(int folder_fd, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = va_arg(ap, mode_t);
	va_end(ap);
	step();
	if (no_anonymous && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return (int)syscall(SYS_openat, folder_fd, path, flags, mode);
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	step();
	return fails() ? -1 : (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, 0);
}

int rename(const char *from, const char *to)
{
	return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
	step();
	if (no_link) {
		errno = EPERM;
		return -1;
	}
	return fails() ? -1 : (int)syscall(SYS_linkat, from_fd, from, to_fd, to, flags);
}

int unlinkat(int folder_fd, const char *path, int flags)
{
	step();
	return (int)syscall(SYS_unlinkat, folder_fd, path, flags);
}

int unlink(const char *path)
{
	return unlinkat(AT_FDCWD, path, 0);
}

/* Of a copy, which is begun but empty at its first step. */
ssize_t pread(int fd, void *data, size_t bytes, off_t at)
{
	step();
	return syscall(SYS_pread64, fd, data, bytes, at);
}

int flock(int fd, int operation)
{
	if (no_flock) {
		errno = ENOLCK;
		return -1;
	}
	return (int)syscall(SYS_flock, fd, operation);
}

/* A killed process loses nothing that it has written: the disk can wait. */
int fsync(int fd)
{
	(void)fd;
	step();
	return 0;
}

/* ---- outputs of several files ---- */

static iso_scanner *ring;

static int write_image(float value)
{
	struct iso_array a = small_image();
	char sidecar[64];
	int st;

	a.v[0] = (iso_real)value;
	snprintf(sidecar, sizeof sidecar, "{\"value\": %g}", (double)value);
	st = iso_write("x.nii", &a, sidecar);
	iso_array_free(&a);
	return st;
}

/* Times of `value` ms, to tell one set from another. */
static int write_castor(float value)
{
	struct iso_event v = { .p1 = { 100 }, .p2 = { -100 } };
	uint32_t crystal[2] = { 0, 4 }, time = (uint32_t)value;
	struct iso_events e = { .n = 1, .v = &v, .crystal = crystal, .time_ms = &time };
	char sidecar[64];

	snprintf(sidecar, sizeof sidecar, "{\"value\": %g}", (double)value);
	return iso_events_write_with("y.Cdh", &e, ring, sidecar);
}

static const struct output {
	const char *file[6];
	int (*write)(float value);
} outputs[] = {
	{ { "x.nii", "x.json" }, write_image },
	{ { "y.Cdh", "y.Cdf", "y.hscan", "y.lut", "y.Cdh.json" }, write_castor },
};

#define MOST 4096

struct state {
	size_t n[6]; /* bytes of each file; 0: it is not there */
	char v[6][MOST];
};

static void look(struct state *s, const struct output *o)
{
	*s = (struct state){ 0 };
	for (int i = 0; o->file[i]; i++)
		if (access(o->file[i], F_OK) == 0) s->n[i] = get(o->file[i], s->v[i], MOST);
}

static bool is(const struct output *o, const struct state *want)
{
	struct state now;

	look(&now, o);
	return memcmp(&now, want, sizeof now) == 0;
}

/* A dead process's lock, which is the next writer's. */
static int lock_left(void)
{
	return access(".isotome.lock", F_OK) == 0;
}

static int litter(void)
{
	DIR *d = opendir(".");
	int n = 0;

	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));)
		n += strncmp(e->d_name, ".isotome", 8) == 0 || strstr(e->d_name, ".tmp");
	closedir(d);
	return n;
}

/* What reads a file of the folder finishes a commit there. */
static int repair(float unused)
{
	struct iso_array a = { 0 };

	(void)unused;
	(void)(iso_read(&a, "other.npy", ISO_ANY) == ISO_OK); /* it need not be there */
	iso_array_free(&a);
	return ISO_OK;
}

/* In a process of its own, killed at step `at`; false: it came to its end. */
static bool killed(int (*work)(float), float value, int at, int failing, int *st)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		kill_at = at;
		fail_at = failing;
		_exit(work(value) == ISO_OK ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	*st = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* The state before and after a write of 2 over one of 1, or over nothing. */
static void reset(const struct output *o, bool existing)
{
	files(true);
	if (existing) assert_int_equal(o->write(1), ISO_OK);
}

static void kill_everywhere(const struct output *o, bool existing)
{
	struct state before, after;
	int st, k, m;

	reset(o, existing);
	look(&before, o);
	assert_int_equal(o->write(2), ISO_OK);
	look(&after, o);
	for (k = 0;; k++) {
		bool more = false;

		/* at step k, and, of two files, its repair at step m */
		for (m = 0; m == 0 || (more && !o->file[2]); m++) {
			reset(o, existing);
			if (!killed(o->write, 2, k, -1, &st)) {
				assert_int_equal(st, 0);
				assert_true(is(o, &after));
				assert_int_equal(litter(), 0);
				assert_true(k > 5);
				return;
			}
			more = killed(repair, 0, m, -1, &st);
			repair(0);
			if (!is(o, &before) && !is(o, &after))
				fail_msg("%s: killed at step %d, repair at %d: some files are old, some new",
				         o->file[0], k, m);
			if (litter() != lock_left() && (!(no_anonymous || no_link) || is(o, &after)))
				fail_msg("%s: killed at step %d, repair at %d: temporary files are left",
				         o->file[0], k, m);
			assert_int_equal(o->write(2), ISO_OK); /* and it can be written again */
			assert_true(is(o, &after));
			assert_int_equal(lock_left(), 0);
		}
	}
}

static void kill_all_outputs(void)
{
	for (int i = 0; i < COUNT(outputs); i++)
		for (int existing = 0; existing < 2; existing++) kill_everywhere(&outputs[i], existing);
}

static void killed_anonymous(void **state)
{
	(void)state;
	kill_all_outputs();
}

static void killed_named(void **state)
{
	(void)state;
	no_anonymous = true;
	kill_all_outputs();
	no_anonymous = false;
}

static void killed_without_links(void **state)
{
	(void)state;
	no_anonymous = no_link = true;
	kill_all_outputs();
	no_anonymous = no_link = false;
}

/* Files without a name that can't be linked are copied: half a copy is nobody's. */
static void killed_copying(void **state)
{
	(void)state;
	no_link = true;
	kill_all_outputs();
	no_link = false;
}

/* ---- failures ---- */

/* Each change of a name fails in turn; then, of the same, it is killed while it takes all back. */
static void fail_everywhere(const struct output *o, bool existing)
{
	struct state before, after;
	int st, f, k;

	reset(o, existing);
	look(&before, o);
	assert_int_equal(o->write(2), ISO_OK);
	look(&after, o);
	for (f = 0;; f++) {
		reset(o, existing);
		fail_at = f;
		st = o->write(2);
		bool failed = fail_at < 0;

		fail_at = -1;
		if (!failed) break;
		if (st == ISO_OK) /* there was another way */
			continue;
		assert_int_equal(st, ISO_EIO);
		if (!is(o, &before))
			fail_msg("%s: a failure of name %d: the old files are not what they were", o->file[0],
			         f);
		assert_int_equal(litter(), 0);
		for (k = 0; !o->file[2]; k++) {
			reset(o, existing);
			bool dead = killed(o->write, 2, k, f, &st);

			repair(0);
			if (!dead) break;
			if (!is(o, &before) && !is(o, &after))
				fail_msg("%s: failure %d, killed at step %d: some files are old, some new",
				         o->file[0], f, k);
		}
	}
	assert_true(f > 1);
}

static void failed_renames(void **state)
{
	(void)state;
	for (int named = 0; named < 2; named++) {
		no_anonymous = named;
		for (int i = 0; i < COUNT(outputs); i++)
			for (int existing = 0; existing < 2; existing++)
				fail_everywhere(&outputs[i], existing);
	}
	no_anonymous = false;
}

/* A file system that makes such files and then can't link them: the content is copied. */
static void no_links(void **state)
{
	struct state after, got;

	(void)state;
	for (int i = 0; i < COUNT(outputs); i++) {
		reset(&outputs[i], true);
		assert_int_equal(outputs[i].write(2), ISO_OK);
		look(&after, &outputs[i]);
		reset(&outputs[i], true);
		no_link = true;
		assert_int_equal(outputs[i].write(2), ISO_OK);
		no_link = false;
		look(&got, &outputs[i]);
		assert_memory_equal(&got, &after, sizeof got);
		assert_int_equal(litter(), 0);
	}
}

/* ---- journals that nobody should obey ---- */

#define T1 ".isotome-0123456789abcdef.tmp"
#define T2 ".isotome-fedcba9876543210.tmp"
#define HEAD "isotome journal 1\0"

static void hostile_journals(void **state)
{
	static const struct {
		const char *text;
		size_t bytes;
	} bad[] = {
#define BAD(t) { t, sizeof t - 1 }
		BAD(HEAD T1 "\0\0../victim\0end\0"),
		BAD(HEAD T1 "\0\0/tmp/victim\0end\0"),
		BAD(HEAD T1 "\0\0..\0end\0"),
		BAD(HEAD T1 "\0\0\0end\0"),
		BAD(HEAD "mine.txt\0\0victim\0end\0"),
		BAD(HEAD "../" T1 "\0\0victim\0end\0"),
		BAD(HEAD T1 "\0mine.txt\0victim\0end\0"),
		BAD(HEAD T1 "\0\0.isotome.undo\0end\0"),
		BAD("isotome journal 2\0" T1 "\0\0victim\0end\0"),
		BAD(HEAD "end\0"),
	};

	(void)state;
	for (int i = 0; i < COUNT(bad); i++) {
		files(true);
		put_text(T1, "temporary");
		put_text("mine.txt", "mine");
		put_text("victim", "victim");
		put(".isotome.journal", bad[i].text, bad[i].bytes);
		repair(0);
		assert_int_equal(files(false), 4); /* a reader leaves it alone */
		assert_int_equal(write_image(2), ISO_EIO);
		assert_message(".isotome.journal: not a journal");
		assert_int_equal(files(false), 4);
	}
}

/* Larger than any, cut short, a link, a folder. */
static void odd_journals(void **state)
{
	static char large[1 << 20];

	(void)state;
	files(true);
	put(".isotome.journal", large, sizeof large);
	assert_int_equal(write_image(2), ISO_EIO);
	assert_message("not a journal");
	files(true);
	put_text("other", "x");
	assert_int_equal(symlink("other", ".isotome.journal"), 0);
	assert_int_equal(write_image(2), ISO_EIO);
	files(true);
	put_text(T1, "temporary");
	put(".isotome.journal", HEAD T1 "\0\0vic", sizeof HEAD T1 + 4); /* no end: nothing was begun */
	assert_int_equal(write_image(2), ISO_OK);
	assert_int_equal(access(".isotome.journal", F_OK), -1);
	assert_int_equal(access(T1, F_OK), 0);
	assert_int_equal(access("vic", F_OK), -1);
}

/* ---- locks ---- */

static int hold_lock(void)
{
	int fd = open(".isotome.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0666);

	assert_int_equal(flock(fd, LOCK_EX), 0);
	return fd;
}

static void dead_journal(void)
{
	files(true);
	put_text(T1, "new");
	put_text("victim", "old");
	put(".isotome.journal", HEAD T1 "\0" T2 "\0victim\0end\0", sizeof HEAD T1 T2 + 12);
}

/* A locked folder is somebody's at work: a reader does not touch the journal. */
static void living_journal(void **state)
{
	int fd;

	(void)state;
	dead_journal();
	fd = hold_lock();
	repair(0);
	assert_int_equal(files(false), 4); /* with the lock */
	close(fd);
	repair(0);
	assert_int_equal(files(false), 1);
}

/* `flock FOLDER isotome ...` is the user's own lock, and none of ours. */
static void users_lock(void **state)
{
	int fd;

	(void)state;
	dead_journal();
	fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	repair(0);
	assert_int_equal(files(false), 1);
	assert_int_equal(write_image(2), ISO_OK);
	close(fd);
	assert_int_equal(litter(), 0);
}

/* A reader who can't make the lock leaves the journal, and reads. */
static void no_lock_file(void **state)
{
	(void)state;
	dead_journal();
	assert_int_equal(symlink("victim", ".isotome.lock"), 0);
	assert_int_equal(iso_commit_repair("victim"), ISO_OK);
	assert_int_equal(files(false), 4);
}

static volatile sig_atomic_t stop;

static void set_stop(int signal)
{
	(void)signal;
	stop = 1;
}

static void stopped_while_waiting(void **state)
{
	struct itimerval soon = { .it_value = { .tv_usec = 50000 } };
	int fd;

	(void)state;
	files(true);
	fd = hold_lock();
	signal(SIGALRM, set_stop);
	iso_stop_watch(&stop);
	assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
	assert_int_equal(write_image(2), ISO_ECANCEL);
	iso_stop_watch(NULL);
	signal(SIGALRM, SIG_DFL);
	close(fd);
	assert_int_equal(files(false), 1); /* the lock */
	assert_int_equal(write_image(2), ISO_OK);
	assert_int_equal(litter(), 0);
}

/* What can be written to but not listed; root could list it, so it is somebody else who tries. */
static void drop_box(void **state)
{
	enum { NOBODY = 65534 };
	int status;
	pid_t pid;

	(void)state;
	files(true);
	assert_int_equal(mkdir("box", 0300), 0);
	if (geteuid() == 0) assert_int_equal(chown("box", NOBODY, NOBODY), 0);
	if ((pid = fork()) == 0) {
		if (chdir("box") || (geteuid() == 0 && setuid(NOBODY))) _exit(2);
		_exit(write_image(2) == ISO_OK ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(chmod("box", 0700), 0);
	assert_int_equal(status, 0);
	assert_int_equal(access("box/x.nii", F_OK) | access("box/x.json", F_OK), 0);
	assert_int_equal(access("box/.isotome.lock", F_OK), -1);
	assert_int_equal(unlink("box/x.nii") | unlink("box/x.json") | rmdir("box"), 0);
}

/* A file system without locks. */
static void no_lock_left(void **state)
{
	struct iso_lock l = { 0 };

	(void)state;
	files(true);
	no_flock = true;
	assert_int_equal(iso_lock_take(&l, "x.nii", "x.nii"), ISO_OK);
	assert_null(l.path);
	assert_int_equal(litter(), 0);
	assert_int_equal(write_image(2), ISO_OK);
	no_flock = false;
	assert_int_equal(litter(), 0);
}

/* Many writers of one name: what stands there is always one of them, whole. */
static void race(void)
{
	enum { WRITERS = 4, TIMES = 20 };
	pid_t pid[WRITERS];
	struct state want[WRITERS], now;
	int found = -1, status;

	for (int i = 0; i < WRITERS; i++) {
		files(true);
		assert_int_equal(write_image((float)i), ISO_OK);
		look(&want[i], &outputs[0]);
	}
	for (int i = 0; i < WRITERS; i++)
		if ((pid[i] = fork()) == 0) {
			int st = ISO_OK;

			for (int k = 0; k < TIMES && !st; k++) st = write_image((float)i);
			_exit(st ? 1 : 0);
		}
	for (int i = 0; i < WRITERS; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
	look(&now, &outputs[0]);
	for (int i = 0; i < WRITERS; i++)
		if (memcmp(&now, &want[i], sizeof now) == 0) found = i;
	assert_true(found >= 0);
	assert_int_equal(litter(), 0);
}

static void writers_at_once(void **state)
{
	(void)state;
	race();
}

static void writers_without_locks(void **state)
{
	(void)state;
	no_flock = true;
	race();
	no_flock = false;
}

static int prepare(void **state)
{
	static const char text[] = "kind: cylinder\nradius_mm: 100\nrings: 1\nring_pitch_mm: 5\n"
				   "crystals_per_ring: 8\n";

	if (enter(state)) return -1;
	put_text("ring.yaml", text);
	return iso_scanner_read(&ring, "ring.yaml");
}

static int end(void **state)
{
	iso_scanner_free(ring);
	return leave(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_anonymous),
		cmocka_unit_test(killed_named),
		cmocka_unit_test(killed_without_links),
		cmocka_unit_test(killed_copying),
		cmocka_unit_test(failed_renames),
		cmocka_unit_test(no_links),
		cmocka_unit_test(hostile_journals),
		cmocka_unit_test(odd_journals),
		cmocka_unit_test(living_journal),
		cmocka_unit_test(users_lock),
		cmocka_unit_test(no_lock_file),
		cmocka_unit_test(stopped_while_waiting),
		cmocka_unit_test(drop_box),
		cmocka_unit_test(no_lock_left),
		cmocka_unit_test(writers_at_once),
		cmocka_unit_test(writers_without_locks),
	};

	return cmocka_run_group_tests(tests, prepare, end);
}
