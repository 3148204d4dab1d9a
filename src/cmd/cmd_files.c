/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a run, from its options: which are the same, and the locks of those that it writes. */
#include "cmd.h"

#include "file/out.h"
#include "io/format.h"

#include <assert.h>
#include <string.h>

static int add_input(struct cmd *c, const char *path, size_t length, const char *what)
{
	char one[PATH_MAX];

	if (length >= sizeof one) return ISO_OK; /* no file has such a name */
	memcpy(one, path, length);
	one[length] = '\0';
	iso_commit_repair(one); /* before anybody looks for it; a failure is for writers to tell */
	return iso_names_add(&c->names, false, one, what);
}

/* The text itself, and its parts if it is a list with commas. What is no file does no harm. */
static int add_inputs(struct cmd *c, const char *text, const char *what)
{
	int st = add_input(c, text, strlen(text), what);

	if (!strchr(text, ',')) return st;
	for (const char *at = text; !st; at += strcspn(at, ",") + 1) {
		st = add_input(c, at, strcspn(at, ","), what);
		if (!at[strcspn(at, ",")]) break;
	}
	return st;
}

static int add_files(struct cmd *c, const struct opt *o)
{
	char what[64];
	int st = ISO_OK;

	snprintf(what, sizeof what, "%s%s", o->positional ? "" : "--", o->positional ? o->value : o->name);
	for (int i = 0; o->rest && i < o->rest->n && !st; i++) st = add_inputs(c, o->rest->v[i], what);
	if (!o->text || !*o->text) return st;
	return o->file == OPT_WRITES ? iso_target_names(&c->names, *o->text, what)
	                             : add_inputs(c, *o->text, what);
}

/* FILE shares its text with the option of the data: where that was typed, it is named. */
static bool another_names_it(const struct opt *o)
{
	return o->positional && o->transient && !o->given;
}

static bool is_output(const struct opt *o)
{
	return o->file == OPT_WRITES && o->text && *o->text;
}

int cmd_name_files(struct cmd *c)
{
	const struct opt *o;
	int st = ISO_OK;

	for (int k = 0; !st && (o = opt_at(c->sets, k)); k++) {
		c->writes |= is_output(o);
		if (another_names_it(o)) continue;
		if (o->file != OPT_NO_FILE && o->file != OPT_RECORD && o->file != OPT_PLACE)
			st = add_files(c, o);
	}
	c->record.read.names = &c->names;
	return st ? st : iso_names_check(&c->names);
}

int cmd_add_output(struct cmd *c, const char *path, const char *what)
{
	int st = iso_target_names(&c->names, path, what);

	return st ? st : iso_names_check(&c->names);
}

/* By the record: x.nii and x.nii.gz have the same. */
static int lock_output(struct cmd *c, const char *path)
{
	char sidecar[PATH_MAX];
	int st = iso_sidecar_path(sidecar, sizeof sidecar, path);

	assert(c->n_locks < CMD_OUTPUTS);
	return st ? st : iso_lock_take(&c->lock[c->n_locks++], sidecar, path);
}

int cmd_lock_outputs(struct cmd *c)
{
	const struct opt *o;
	int st = ISO_OK;

	for (int k = 0; !st && (o = opt_at(c->sets, k)); k++)
		if (is_output(o)) st = lock_output(c, *o->text);
	return st;
}
