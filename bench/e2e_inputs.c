/* SPDX-License-Identifier: BSD-3-Clause */
/* What the runs of `bench end-to-end` read: files in a temporary folder, made by the program itself. */
#define _GNU_SOURCE /* mkdtemp, sync_file_range */
#include "e2e.h"

#include "core/ctx.h"
#include "file/in.h"
#include "file/out.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define PIECE (4ll << 20)  /* bytes copied at a time */
#define SAMPLE 100000      /* events whose work is counted */
#define BESIDE (2ll << 30) /* bytes of disk for images, the matrix, and the file that measures reading */
#define LORS_CUDA 10000000 /* counts of the histogram of SRM */
#define LORS_CPU 1000000

static const char ring_text[] =
#include "embedded/clinical-ring.yaml.h"
	;
static const char strips_text[] =
#include "embedded/bialas2015.yaml.h"
	;
static const char heads_text[] =
#include "embedded/meng2019.yaml.h"
	;

/* Events lie in `block`, as they were simulated, and in `file`, which grows. */
static const struct kind {
	const char *scanner, *text;
	const char *block, *file;
	int64_t event; /* bytes */
} kinds[E2E_KINDS] = {
	[E2E_RAY] = { "ring.yaml", ring_text, "block.lmdT", "events.lmdT", sizeof(struct iso_event) },
	[E2E_STRIP] = { "strips.yaml", strips_text, "block.f32", "events.f32",
	                sizeof(struct iso_strip_event) },
	[E2E_SRM] = { "heads.yaml", heads_text, NULL, NULL, 0 },
};

/* ---- the folder ---- */

static int path_of(char path[PATH_MAX], const struct e2e_inputs *in, const char *name)
{
	if (snprintf(path, PATH_MAX, "%s/%s", in->folder, name) < PATH_MAX) return ISO_OK;
	return iso_fail(ISO_EARG, "%s: name is too long", in->folder);
}

static int64_t min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Kinds come one after the other: the largest counts. */
int e2e_check_space(const struct e2e_inputs *in, const int64_t most[E2E_KINDS])
{
	int64_t bytes = 0;
	struct statvfs s;

	for (int k = 0; k < E2E_KINDS; k++) {
		int64_t of_kind = BESIDE + kinds[k].event * (most[k] + min(most[k], in->block));

		bytes = of_kind > bytes ? of_kind : bytes;
	}
	if (statvfs(in->folder, &s) != 0) return iso_fail(ISO_EIO, "%s: %s", in->folder, strerror(errno));
	if (s.f_blocks == 0 || (double)s.f_bavail * (double)s.f_frsize >= (double)bytes) return ISO_OK;
	return iso_fail(ISO_EIO,
	                "%s: its disk has %s free, %s are needed; --folder names another place, --events "
	                "fewer events",
	                in->folder, iso_bytes((int64_t)(s.f_bavail * s.f_frsize)), iso_bytes(bytes));
}

int e2e_open(struct e2e_inputs *in, const char *place)
{
	char full[PATH_MAX], path[PATH_MAX];

	if (!realpath(place, full)) return iso_fail(ISO_EIO, "%s: %s", place, strerror(errno));
	if (snprintf(path, sizeof path, "%s/isotome-bench-XXXXXX", full) >= (int)sizeof path)
		return iso_fail(ISO_EARG, "%s: name is too long", place);
	if (!mkdtemp(path)) return iso_fail(ISO_EIO, "%s: %s", place, strerror(errno));
	strcpy(in->folder, path);
	return ISO_OK;
}

/* All files in the folder. Runs make no folders there. */
static void empty(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			unlinkat(dirfd(d), e->d_name, 0);
	if (d) closedir(d);
}

static void forget(struct e2e_inputs *in)
{
	iso_events_free(&in->rays);
	iso_strip_events_free(&in->strips);
	in->rays = (struct iso_events){ 0 };
	in->strips = (struct iso_strip_events){ 0 };
	in->simulated = in->n = in->bytes = 0;
}

void e2e_close(struct e2e_inputs *in)
{
	forget(in);
	if (!*in->folder) return;
	empty(in->folder);
	rmdir(in->folder);
	*in->folder = '\0';
}

/* ---- what is simulated ---- */

static int work(struct e2e_inputs *in, json_t **record, const char *line)
{
	struct child child;
	int st;

	term_note(&in->c->term, "isotome %s", line);
	st = child_run(&child, in->folder, line);
	if (st || !record)
		json_decref(child.record);
	else
		*record = child.record;
	return st;
}

static int simulate_rays(struct e2e_inputs *in)
{
	const struct iso_events_options o = { .size = sizeof o };
	char line[256], path[PATH_MAX];
	iso_event_file *f = NULL;
	int st = work(in, NULL, "phantom spheres --mu mu.nii -o truth.nii --json -q");

	snprintf(line, sizeof line,
	         "simulate ring.yaml truth.nii --mu mu.nii --counts %" PRId64
	         " --exact --threads %d -o block.lmdT --json -q",
	         in->simulated, iso_ctx_threads(in->c->ctx));
	if (!st) st = work(in, NULL, line);
	if (!st) st = path_of(path, in, "block.lmdT");
	if (!st && !(st = iso_event_file_open(&f, path, &o)) &&
	    !(st = iso_event_file_block(&in->rays, f, min(in->simulated, SAMPLE))))
		st = iso_event_file_read(&in->rays, f, 0, min(in->simulated, SAMPLE));
	iso_event_file_close(f);
	return st;
}

static int simulate_strips(struct e2e_inputs *in)
{
	char line[256], path[PATH_MAX];
	iso_strip_file *f = NULL;
	bool end;
	int st;

	snprintf(line, sizeof line,
	         "simulate strips.yaml ellipses --counts %" PRId64 " --threads %d%s -o block.f32 --json -q",
	         in->simulated, iso_ctx_threads(in->c->ctx), in->device);
	if ((st = work(in, NULL, line)) || (st = path_of(path, in, "block.f32"))) return st;
	if ((st = BENCH_NEW(in->strips.v, SAMPLE)) || (st = iso_strip_file_open(&f, path, NULL, false)))
		return st;
	st = iso_strip_file_next(&in->strips, &end, f, SAMPLE, 0);
	iso_strip_file_close(f);
	return st;
}

static int add_size(struct e2e_inputs *in, const char *name)
{
	char path[PATH_MAX];
	struct stat s;
	int st = path_of(path, in, name);

	if (!st && stat(path, &s) != 0) st = iso_fail(ISO_EIO, "%s: %s", path, strerror(errno));
	in->bytes += st ? 0 : s.st_size;
	return st;
}

/* By photon transport where that takes seconds; the analytic matrix has no scatter, and fewer elements. */
static int simulate_lors(struct e2e_inputs *in)
{
	json_t *info = NULL;
	char line[256];
	int st;

	in->simulated = in->n = in->cuda ? LORS_CUDA : LORS_CPU;
	snprintf(line, sizeof line, "srm heads.yaml%s --threads %d%s -o matrix.srm --json -q",
	         in->cuda ? "" : " --analytic", iso_ctx_threads(in->c->ctx), in->device);
	if ((st = work(in, NULL, line))) return st;
	snprintf(line, sizeof line,
	         "simulate heads.yaml derenzo-meng --physics --counts %" PRId64
	         " --threads %d%s -o lors.npy --json -q",
	         in->simulated, iso_ctx_threads(in->c->ctx), in->device);
	if ((st = work(in, NULL, line)) || (st = work(in, &info, "info matrix.srm --json"))) return st;
	json_t *bytes = json_object_get(json_array_get(info, 0), "storage_bytes");

	in->multiply_adds = json_number_value(json_object_get(bytes, "full")) / 8; /* an element: 8 bytes */
	json_decref(info);
	return (st = add_size(in, "matrix.srm")) ? st : add_size(in, "lors.npy");
}

int e2e_simulate(struct e2e_inputs *in, enum e2e_kind kind, int64_t most)
{
	char path[PATH_MAX];
	double began_s = iso_now_s();
	int st;

	empty(in->folder);
	forget(in);
	in->kind = kind;
	in->simulated = min(most, in->block);
	if ((st = path_of(path, in, kinds[kind].scanner)) || (st = iso_out_text(path, kinds[kind].text)))
		return st;
	st = kind == E2E_RAY     ? simulate_rays(in)
	     : kind == E2E_STRIP ? simulate_strips(in)
	                         : simulate_lors(in);
	in->made_s += iso_now_s() - began_s;
	return st;
}

/* ---- the file that grows ---- */

/* Bytes at..end - 1 of a file that is the block over and over; 0, or errno. The disk begins to write them at once. */
static int copy_piece(const struct e2e_inputs *in, int from, int to, int64_t at, int64_t end, char *room)
{
	const int64_t cycle = in->simulated * kinds[in->kind].event, first = at;

	while (at < end) {
		int64_t n = min(end - at, cycle - at % cycle), read = iso_read_at(from, room, n, at % cycle);

		if (read != n) return read < 0 ? errno : EIO;
		ssize_t wrote = pwrite(to, room, (size_t)n, at);

		if (wrote != n) return wrote < 0 ? errno : ENOSPC;
		at += n;
	}
	sync_file_range(to, first, end - first,
	                SYNC_FILE_RANGE_WRITE); /* not all disks can: the flush then does */
	return 0;
}

/* Pieces by all threads. */
static int copy_cycle(const struct e2e_inputs *in, int from, int to, int64_t at, int64_t end)
{
	int threads = iso_ctx_threads(in->c->ctx), why = 0;
	int64_t pieces = (end - at + PIECE - 1) / PIECE;

#pragma omp parallel num_threads(threads) reduction(max : why)
	{
		char *room = malloc(PIECE);

		why = room ? 0 : ENOMEM; /* a maximum begins below 0 */
#pragma omp for schedule(dynamic)
		for (int64_t k = 0; k < pieces; k++)
			if (!why && !iso_ctx_cancelled(in->c->ctx))
				why = copy_piece(in, from, to, at + k * PIECE, min(end, at + (k + 1) * PIECE),
				                 room);
		free(room);
	}
	if (why) return iso_fail(ISO_EIO, "%s: can't copy events: %s", in->folder, strerror(why));
	return iso_ctx_poll(in->c->ctx);
}

/* Written to disk before runs begin: none of them shall meet the writing. */
int e2e_grow(struct e2e_inputs *in, int64_t n)
{
	const struct kind *k = &kinds[in->kind];
	char block[PATH_MAX], file[PATH_MAX];
	double began_s = iso_now_s();
	int from = -1, to = -1, st;

	if (!k->event || n <= in->n) return ISO_OK;
	if ((st = path_of(block, in, k->block)) || (st = path_of(file, in, k->file))) return st;
	from = open(block, O_RDONLY | O_CLOEXEC);
	to = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (from < 0 || to < 0) st = iso_fail(ISO_EIO, "%s: %s", from < 0 ? block : file, strerror(errno));
	if (!st) st = copy_cycle(in, from, to, in->n * k->event, n * k->event);
	if (!st && !iso_flushed(to)) st = iso_fail(ISO_EIO, "%s: %s", file, strerror(errno));
	if (from >= 0) close(from);
	if (to >= 0) close(to);
	in->made_s += iso_now_s() - began_s;
	in->n = n;
	in->bytes = n * k->event;
	return st;
}
