/* SPDX-License-Identifier: BSD-3-Clause */
/* What a file holds, by its suffix: records and checkpoints here, all else in describe_*.c. */
#include "describe.h"
#include "problem/inputs.h"

#include "cmd/cmd.h"
#include "algo/checkpoint.h"
#include "io/kinds.h"
#include "text/conf.h"
#include "text/json_file.h"
#include "io/format.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

static void describe_record(json_t *o, const json_t *root)
{
	static const char *const keys[] = {
		"isotome", "command",           "started", "device",   "inputs",
		"times_s", "peak_memory_bytes", "results", "warnings", "notes",
	};

	set(o, "kind", json_string("record of a run"));
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		json_object_set(o, keys[i], json_object_get(root, keys[i]));
}

static int describe_checkpoint(json_t *o, const char *path)
{
	char *header = NULL;
	int st = iso_checkpoint_info(&header, path);
	json_t *root = NULL;

	if (!st) st = iso_json_parse(&root, path, header, strlen(header));
	free(header);
	if (st) return st;
	set(o, "kind", json_string("checkpoint"));
	json_object_update(o, root);
	json_decref(root);
	return ISO_OK;
}

/* Descriptions tell their kind by a key. */
static int describe_description(json_t *o, const char *path)
{
	struct conf_node *root = NULL;
	int st = iso_conf_read(&root, path);

	if (st) return st;
	bool scanner = iso_conf_find(root, "kind"), phantom = iso_conf_find(root, "shapes"),
	     json = iso_has_suffix(path, ".json"),
	     array = json && (iso_conf_find(root, "data_file") || iso_conf_find(root, "array") ||
	                      iso_has_suffix(path, ".raw.json"));

	iso_conf_free(root);
	if (scanner) return describe_scanner(o, path);
	if (phantom) return describe_phantom(o, path);
	if (array) return describe_array(o, path, NULL);
	return iso_fail(ISO_EINPUT, "%s: neither a scanner (key kind) nor a phantom (key shapes)%s", path,
	                json ? " nor an array (key data_file) nor the record of a run (key verb)" : "");
}

/* K, where it comes from, and what it was made with. */
static void describe_calibration(json_t *o, const json_t *root)
{
	set(o, "kind", json_string("calibration of a scanner"));
	json_object_update(o, json_object_get(root, "calibration"));
}

/* A record first, which may be larger than a description. */
static int describe_json(json_t *o, const char *path)
{
	json_t *root = NULL;
	int st = iso_json_read(&root, path);
	bool record = json_object_get(root, "verb") && json_object_get(root, "parameters") &&
	              !json_object_get(root, "kind") && !json_object_get(root, "shapes");

	bool calibration = json_is_number(json_object_get(json_object_get(root, "calibration"), "K"));

	if (!st && describe_commission(&st, o, root, path)) {
		json_decref(root);
		return st;
	}
	if (record)
		describe_record(o, root);
	else if (calibration)
		describe_calibration(o, root);
	json_decref(root);
	return record || calibration || st == ISO_ENOMEM ? st : describe_description(o, path);
}

static int (*const by_content[])(json_t *o, const char *path) = {
	[ISO_STRIPS_FILE] = describe_strips,
	[ISO_RECORDING_FILE] = describe_recording,
	[ISO_MATRIX_FILE] = describe_srm,
	[ISO_DESCRIPTION_FILE] = describe_description,
	[ISO_JSON_FILE] = describe_json,
	[ISO_SCANNER_FILE] = describe_scanner,
	[ISO_CHECKPOINT_FILE] = describe_checkpoint,
	[ISO_VOLUME_FILE] = describe_volume,
	[ISO_POSES_FILE] = describe_poses,
};

/* Of a header: "bytes" are those of the file that holds the values, "data_file". A failure is for those to tell who read
   the file. */
static void describe_data(json_t *o, const char *path)
{
	char data[PATH_MAX];
	int64_t bytes;

	if (iso_kind_data(data, path) || !*data || record_bytes_of(&bytes, path)) return;
	set(o, "bytes", json_integer(bytes));
	set(o, "data_file", record_string(data));
}

int describe(json_t **out, const char *path, const struct iso_events_options *how)
{
	const struct iso_kind *k = iso_kind_found(path);
	char file[PATH_MAX];
	struct stat info;
	json_t *o;
	int st;

	if (stat(iso_without_variable(file, path), &info) != 0)
		return iso_fail(ISO_EINPUT, "%s: %s", path, strerror(errno));
	o = json_pack("{s:o*, s:s, s:I, s:[]}", "file", record_string(path), "kind", "", "bytes",
	              (json_int_t)info.st_size, "warnings");
	if (o && S_ISREG(info.st_mode)) describe_data(o, path);
	st = !o                                   ? ISO_OK
	     : S_ISDIR(info.st_mode)              ? describe_volume(o, path)
	     : !k || k->content == ISO_OTHER_FILE ? iso_kind_none(path)
	     : k->content == ISO_EVENTS_FILE      ? describe_events(o, path, how)
	     : k->content == ISO_ARRAY_FILE       ? describe_array(o, path, how)
	                                          : by_content[k->content](o, path);
	if (!o || (!st && iso_json_failures() > 0))
		st = iso_fail(ISO_ENOMEM, "%s: no memory to describe it", path);
	if (st)
		json_decref(o);
	else
		*out = o;
	return st;
}
