/* SPDX-License-Identifier: BSD-3-Clause */
/* Following records from an image back to what it was made from. */
#include "page.h"

#include "text/json_file.h"
#include "file/out.h"
#include "report/markup/value.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_DEPTH 16
#define MOST_INPUTS 64 /* of one record */

/* -1: no file. */
static int64_t file_size(const char *path)
{
	struct stat s;

	return stat(path, &s) == 0 && S_ISREG(s.st_mode) ? s.st_size : -1;
}

/* NULL if there is no record, with the reason in `problem` if there should be one. */
static json_t *load(const char *path, char *problem, size_t size)
{
	char sidecar[PATH_MAX];
	json_t *root = NULL;

	problem[0] = '\0';
	if (iso_sidecar_path(sidecar, sizeof sidecar, path) || file_size(sidecar) < 0) return NULL;
	if (iso_json_read(&root, sidecar))
		snprintf(problem, size, "%.400s: nothing of it is shown", iso_message());
	else if (!json_is_string(json_object_get(root, "verb"))) {
		snprintf(problem, size, "%.300s is not the record of a run: nothing of it is shown", sidecar);
		json_decref(root);
		root = NULL;
	}
	return root;
}

/* A name in a record is relative to where that run was started. The file is looked for from here,
   then from the folder of what was made of it, then in that folder itself. */
static bool find_input(char found[PATH_MAX], const json_t *input, const char *made)
{
	const char *name = iso_value_text(input, "name");
	const json_t *bytes = json_object_get(input, "bytes");
	char folder[PATH_MAX];

	if (!name || iso_out_folder(folder, sizeof folder, made) != ISO_OK) return false;
	const char *const from[][3] = { { "", "", name },
		                        { folder, "/", name },
		                        { folder, "/", iso_value_base(name) } };

	for (int i = 0; i < 3; i++) {
		int n = snprintf(found, PATH_MAX, "%s%s%s", from[i][0], from[i][1], from[i][2]);

		if (n < PATH_MAX && json_is_integer(bytes) && json_integer_value(bytes) == file_size(found))
			return true;
	}
	return false;
}

static bool known(const struct iso_history *h, const char *path)
{
	for (int i = 0; i < h->n; i++)
		if (strcmp(h->step[i].file, path) == 0) return true;
	return false;
}

/* Each file takes its place before its inputs are visited, so none is read twice. */
static int visit(struct iso_history *h, int *finished, const char *path, int depth, char *problem,
                 size_t size)
{
	char found[PATH_MAX], ignored[sizeof h->problem];
	struct iso_step *step;
	json_t *record, *input;
	int64_t failures = iso_json_failures();
	int st = ISO_OK;
	size_t i;

	if (depth == MOST_DEPTH || h->n == ISO_MOST_STEPS || known(h, path)) return ISO_OK;
	record = load(path, problem, size);
	if (iso_json_failures() != failures) {
		json_decref(record);
		return iso_fail_memory("report", 1);
	}
	if (!record) return ISO_OK;
	step = &h->step[h->n++];
	*step = (struct iso_step){ strdup(path), record, 0 };
	if (!step->file) return iso_fail_memory("report", (int64_t)strlen(path));
	json_array_foreach (json_object_get(record, "inputs"), i, input)
		if (!st && i < MOST_INPUTS && find_input(found, input, path))
			st = visit(h, finished, found, depth + 1, ignored, sizeof ignored);
	step->order = (*finished)++;
	return st; /* NOLINT(clang-analyzer-unix.Malloc): iso_history_free has the texts */
}

static int by_order(const void *a, const void *b)
{
	return ((const struct iso_step *)a)->order - ((const struct iso_step *)b)->order;
}

int iso_history_read(struct iso_history *h, const char *path)
{
	int finished = 0, st;

	*h = (struct iso_history){ 0 };
	if ((st = visit(h, &finished, path, 0, h->problem, sizeof h->problem)))
		iso_history_free(h);
	else
		qsort(h->step, (size_t)h->n, sizeof h->step[0], by_order);
	return st;
}

void iso_history_free(struct iso_history *h)
{
	for (int i = 0; i < h->n; i++) {
		free(h->step[i].file);
		json_decref(h->step[i].record);
	}
	*h = (struct iso_history){ 0 };
}

const json_t *iso_history_own(const struct iso_history *h)
{
	return h->n > 0 ? h->step[h->n - 1].record : NULL;
}

const json_t *iso_history_recon(const struct iso_history *h)
{
	for (int i = h->n - 1; i >= 0; i--)
		if (strcmp(iso_value_text(h->step[i].record, "verb"), "recon") == 0) return h->step[i].record;
	return NULL;
}
