/* SPDX-License-Identifier: BSD-3-Clause */
/* The folders of a PET-BIDS data set, and the files that describe it. */
#include "bids.h"

#include "core/status.h"
#include "file/in.h"
#include "file/out.h"
#include "text/json_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BIDS_VERSION "1.10.0"

static int check_label(const char *name, const char *label)
{
	size_t n =
		label ? strspn(label, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") : 0;

	if (!label || (n > 0 && !label[n] && n < 64)) return ISO_OK;
	return iso_fail(ISO_EARG, "'%s' is '%.80s', must be letters and digits", name, label);
}

int bids_check_labels(const struct iso_bids *p)
{
	int st;

	if ((st = check_label("subject", p->subject)) || (st = check_label("session", p->session)) ||
	    (st = check_label("tracer", p->tracer)) ||
	    (st = check_label("reconstruction", p->reconstruction)))
		return st;
	return check_label("run", p->run);
}

static int too_long(const char *path)
{
	return iso_fail(ISO_EARG, "%s: name is too long", path);
}

/* One more part of a name, unless it is NULL. */
static int add(char path[PATH_MAX], const char *before, const char *part)
{
	size_t n = strlen(path);

	if (!part || snprintf(path + n, PATH_MAX - n, "%s%s", before, part) < (int)(PATH_MAX - n))
		return ISO_OK;
	return too_long(path);
}

/* The same of a folder, which is made. */
static int add_folder(char path[PATH_MAX], const char *before, const char *part)
{
	int st = add(path, before, part);

	if (st || !part || mkdir(path, 0777) == 0 || errno == EEXIST) return st;
	return iso_fail(ISO_EIO, "%s: %s", path, strerror(errno));
}

/* ---- what describes the data set ---- */

/* A text that is not there yet. */
static int put_once(const char *folder, const char *name, const char *text)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return too_long(folder);
	return access(path, F_OK) == 0 ? ISO_OK : iso_out_text(path, text);
}

static int put_description(const char *folder, bool derived)
{
	json_t *o = json_pack("{s:s, s:s, s:s, s:[{s:s, s:s}]}", "Name",
	                      derived ? "SUV images by Isotome" : "PET images by Isotome", "BIDSVersion",
	                      BIDS_VERSION, "DatasetType", derived ? "derivative" : "raw", "GeneratedBy",
	                      "Name", "Isotome", "Version", iso_version());
	char *text = o ? iso_json_text(o, JSON_INDENT(2)) : NULL;
	int st =
		text ? put_once(folder, "dataset_description.json", text) : iso_fail_memory("description", 1);

	free(text);
	json_decref(o);
	return st ? st
	          : put_once(folder, "README",
	                     "PET images reconstructed by Isotome. Each image has its sidecar beside it, "
	                     "whose key Isotome holds the record of the run.\n");
}

/* Whether a line of a table begins with this cell. */
static bool has_row(const char *table, const char *cell)
{
	size_t n = strlen(cell);

	for (const char *line = table; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, cell, n) == 0 && strchr("\t\r\n", line[n])) return true;
	}
	return false;
}

/* participants.tsv with one more row, n/a in all columns but the first, which is participant_id. */
static int put_row(const char *path, const char *table, const char *cell)
{
	size_t size, heads = strcspn(table, "\r\n"), n = strlen(table);
	char *text = NULL;
	FILE *f = open_memstream(&text, &size);

	if (!f) return iso_fail_memory("participants", 1);
	fprintf(f, "%s%s%s", table, n > 0 && table[n - 1] == '\n' ? "" : "\n", cell);
	for (size_t i = 0; i < heads; i++)
		if (table[i] == '\t') fputs("\tn/a", f);
	fputc('\n', f);
	int st = fclose(f) == 0 ? iso_out_text(path, text) : iso_fail_memory("participants", 1);

	free(text);
	return st;
}

static int put_participant(const char *folder, const char *subject)
{
	char path[PATH_MAX], cell[80], *table = NULL;
	size_t size;
	int st = ISO_OK;

	snprintf(cell, sizeof cell, "sub-%s", subject);
	if (snprintf(path, sizeof path, "%s/participants.tsv", folder) >= (int)sizeof path)
		return too_long(folder);
	if (access(path, F_OK) == 0) st = iso_text_read(&table, &size, path, 16, "a table of participants");
	if (!st && !(table && has_row(table, cell)))
		st = put_row(path, table ? table : "participant_id\n", cell);
	free(table);
	return st;
}

/* ---- the place of an image ---- */

int bids_place(char path[PATH_MAX], const struct iso_bids *p, bool derived)
{
	int st;

	*path = '\0';
	if ((st = add_folder(path, "", p->folder)) || (st = put_description(path, false)) ||
	    (st = put_participant(path, p->subject)))
		return st;
	if (derived && ((st = add_folder(path, "/", "derivatives")) ||
	                (st = add_folder(path, "/", "isotome")) || (st = put_description(path, true))))
		return st;
	if ((st = add_folder(path, "/sub-", p->subject)) || (st = add_folder(path, "/ses-", p->session)) ||
	    (st = add_folder(path, "/", "pet")))
		return st;
	if ((st = add(path, "/sub-", p->subject)) || (st = add(path, "_ses-", p->session)) ||
	    (st = add(path, "_trc-", p->tracer)) || (st = add(path, "_rec-", p->reconstruction)) ||
	    (st = add(path, "_run-", p->run)) || (st = add(path, "_desc-", derived ? "SUV" : NULL)) ||
	    (st = add(path, "_", "pet.nii.gz")))
		return st;
	return iso_write_check(path, p->force);
}
