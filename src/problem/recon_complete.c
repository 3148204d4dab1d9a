/* SPDX-License-Identifier: BSD-3-Clause */
/* 'resume' where the image is there already. A run that was killed behind the commit of its image, and before it
   removed its checkpoints, is complete: this is seen from the record beside the image, which has the parameters, the
   hashes of all inputs, the hash of the image's values, and the keys of the checkpoints. An image of any other run
   stays, and is refused. */
#include "problem.h"

#include "algo/checkpoint.h"
#include "core/comm.h"
#include "file/hash.h"
#include "file/out.h"
#include "io/format.h"
#include "text/json_file.h"

#include <stdlib.h>
#include <string.h>

/* What lies there. */
struct found {
	json_t *record;
	struct iso_array x;
	char why[512]; /* it is not of this run; "": it is */
};

static bool is_there(const char *path)
{
	return iso_stands_at(path) != ISO_STANDS_NOTHING;
}

/* Failures that say nothing about the files. */
static bool of_machine(int st)
{
	return st == ISO_ENOMEM || st == ISO_ECANCEL;
}

/* ---- inputs: their contents count, not their names ---- */

/* Both have one of the two hashes. */
static bool same_hash(const json_t *a, const json_t *b)
{
	static const char *const kinds[] = { "xxh64", "xxh64_of_sample" };

	for (int i = 0; i < 2; i++) {
		const json_t *of_a = json_object_get(a, kinds[i]), *of_b = json_object_get(b, kinds[i]);

		if (of_a && of_b) return json_equal(of_a, of_b);
	}
	return false;
}

/* The input of a record with these contents; NULL: none. */
static const json_t *with_contents(const json_t *record, const json_t *of)
{
	json_t *input;
	size_t i;

	json_array_foreach (json_object_get(record, "inputs"), i, input)
		if (same_hash(input, of)) return input;
	return NULL;
}

static const json_t *with_name(const json_t *record, const json_t *name)
{
	json_t *input;
	size_t i;

	json_array_foreach (json_object_get(record, "inputs"), i, input)
		if (json_equal(json_object_get(input, "name"), name)) return input;
	return NULL;
}

/* Of a file that this run has not read yet. One that can't be read has none. */
static int hash_now(json_t **now, const char *path, bool whole, const iso_ctx *ctx)
{
	struct iso_hash h = { 0 };
	char hex[17];
	int st = whole ? iso_hash_file(&h, path, ctx) : iso_hash_sample(&h, path, ctx);

	if (of_machine(st)) return st;
	snprintf(hex, sizeof hex, "%016" PRIx64, h.value);
	*now = st ? json_object() : json_pack("{s:s}", whole ? "xxh64" : "xxh64_of_sample", hex);
	return *now ? ISO_OK : iso_fail_memory("record", 1);
}

/* As this run has read it, or as it lies there now. */
static int compare_input(struct found *f, const iso_problem *p, const json_t *was)
{
	const char *name = json_string_value(json_object_get(was, "name"));
	json_t *now = NULL;
	int st = ISO_OK;

	if (with_contents(p->record->root, was)) return ISO_OK;
	if (name) st = hash_now(&now, name, json_object_get(was, "xxh64"), p->ctx);
	if (!st && !same_hash(was, now))
		snprintf(f->why, sizeof f->why, "its run read another %s", name ? name : "input");
	json_decref(now);
	return st;
}

static int compare_inputs(struct found *f, const iso_problem *p)
{
	json_t *input;
	size_t i;
	int st = ISO_OK;

	json_array_foreach (json_object_get(f->record, "inputs"), i, input)
		if (!st && !f->why[0]) st = compare_input(f, p, input);
	json_array_foreach (json_object_get(p->record->root, "inputs"), i, input)
		if (!f->why[0] && !with_contents(f->record, input))
			snprintf(f->why, sizeof f->why, "its run did not read this %s",
			         json_string_value(json_object_get(input, "name")));
	return st;
}

/* ---- parameters ---- */

/* Values of the records a and b: they are equal, or name inputs that are. */
static bool same_value(const json_t *a, const json_t *of_a, const json_t *b, const json_t *of_b)
{
	return json_equal(of_a, of_b) || (of_a && of_b && same_hash(with_name(a, of_a), with_name(b, of_b)));
}

/* Every parameter of record a that counts has the same value in b. */
static void compare_parameters(struct found *f, const json_t *a, const json_t *b)
{
	json_t *all = json_object_get(a, "parameters"), *value;
	const json_t *others = json_object_get(b, "parameters");
	const char *name;

	json_object_foreach (all, name, value)
		if (!f->why[0] && opt_place(recon_may_differ, name) < 0 &&
		    !same_value(a, value, b, json_object_get(others, name)))
			snprintf(f->why, sizeof f->why, "its run had another '%s'", name);
}

/* The two devices round differently. */
static void compare_devices(struct found *f, const iso_problem *p)
{
	const char *device = json_string_value(json_object_get(f->record, "device"));

	if (!f->why[0] && device && iso_ctx_is_cuda(p->ctx) != (strncmp(device, "cuda", 4) == 0))
		snprintf(f->why, sizeof f->why, "its run computed on %s", device);
}

/* ---- the image, and other outputs ---- */

static int compare_image(struct found *f, const iso_problem *p, const char *path)
{
	const char *hash = json_string_value(json_object_get(f->record, RECORD_HASH));
	const char *unit = json_string_value(json_object_get(f->record, "Units"));
	char hex[17];
	int st = hash ? iso_read_within(&f->x, p->ctx, path, ISO_FINITE) : ISO_OK;

	if (!st && hash) st = record_hash_values(hex, f->x.n, f->x.v);
	if (of_machine(st)) return st;
	if (!hash)
		snprintf(f->why, sizeof f->why, "its record has no hash of its values");
	else if (st || strcmp(hash, hex) != 0)
		snprintf(f->why, sizeof f->why, "its values are not the values of its record");
	else if (unit)
		snprintf(f->x.unit, sizeof f->x.unit, "%s", unit);
	return ISO_OK;
}

/* The image is the last that a run writes: what it asked for besides is there, or was taken away since. */
static void compare_outputs(struct found *f)
{
	static const char *const others[] = { "curve", "scatter-save" };
	const json_t *parameters = json_object_get(f->record, "parameters");

	for (int i = 0; i < 2 && !f->why[0]; i++) {
		const char *path = json_string_value(json_object_get(parameters, others[i]));

		if (path && !is_there(path)) snprintf(f->why, sizeof f->why, "%s is missing", path);
	}
}

/* ---- the files beside it ---- */

static int key_of(uint64_t *key, bool *has, const iso_problem *p, const char *path)
{
	char *header = NULL;
	json_t *root = NULL;
	int st;

	if (path != p->s.checkpoint) return iso_series_key(key, has, path);
	if ((st = iso_checkpoint_info(&header, path))) return st;
	st = iso_json_parse(&root, path, header, strlen(header));
	const char *hex = json_string_value(json_object_get(root, "key"));

	*has = hex;
	*key = hex ? strtoull(hex, NULL, 16) : 0;
	json_decref(root);
	free(header);
	return st;
}

/* Of one of the frames. */
static bool is_key(const json_t *record, uint64_t key, int frames)
{
	json_t *v;
	size_t i;

	json_array_foreach (json_object_get(record, RECORD_KEYS), i, v) {
		uint64_t apart = key - strtoull(json_string_value(v), NULL, 16);

		if (apart % 2 == 0 && apart / 2 < (uint64_t)frames) return true;
	}
	return false;
}

/* A file that ends within its head has no key, and nothing in it. */
static int check_beside(const struct found *f, const iso_problem *p, const char *path)
{
	uint64_t key = 0;
	bool has = false;
	int st = is_there(path) ? key_of(&key, &has, p, path) : ISO_OK;

	if (st || !has || is_key(f->record, key, p->s.frames.n > 0 ? p->s.frames.n : 1)) return st;
	return iso_fail(ISO_EARG, "%s is complete, but %s is of another run; remove it, or continue that run",
	                p->s.out, path);
}

/* ---- all of it ---- */

static int compare(struct found *f, const iso_problem *p, const char *path)
{
	const json_t *ours = p->record->root;
	int st;

	if (!json_equal(json_object_get(f->record, "verb"), json_object_get(ours, "verb")))
		snprintf(f->why, sizeof f->why, "no such run made it");
	compare_parameters(f, f->record, ours);
	compare_parameters(f, ours, f->record);
	compare_devices(f, p);
	if (f->why[0] || (st = compare_inputs(f, p)) || f->why[0]) return f->why[0] ? ISO_OK : st;
	if ((st = compare_image(f, p, path))) return st;
	compare_outputs(f);
	return ISO_OK;
}

/* *complete, or nothing stands there; a failure: of another run. */
static int look(struct found *f, bool *complete, const iso_problem *p, const char *path)
{
	const char *const beside[] = { p->s.checkpoint, p->s.kept, p->s.rounds };
	char sidecar[PATH_MAX];
	int st = iso_sidecar_path(sidecar, sizeof sidecar, path);

	if (st || (!is_there(path) && !is_there(sidecar))) return st;
	if ((st = iso_json_read(&f->record, sidecar)) == ISO_ENOMEM) return st;
	if (st || !is_there(path))
		snprintf(f->why, sizeof f->why, "there is no %s", st ? "record of it" : "image beside");
	else if ((st = compare(f, p, path)))
		return st;
	if (f->why[0])
		return iso_fail(ISO_EARG, "%s exists, and is not of this run: %s; 'force' replaces it",
		                is_there(path) ? path : sidecar, f->why);
	for (int i = 0; i < 3; i++)
		if ((st = check_beside(f, p, beside[i]))) return st;
	*complete = true;
	return ISO_OK;
}

static void clean(const iso_problem *p)
{
	iso_out_remove(p->s.checkpoint);
	iso_out_remove(p->s.kept);
	iso_out_remove(p->s.rounds);
}

/* Rank 0 has read it. */
static int share(iso_ctx *ctx, struct iso_array *x)
{
	struct iso_array head = *x;
	int st = iso_comm_broadcast(ctx, ISO_OK, &head, sizeof head);

	if (st || iso_ranks(ctx) == 1) return st;
	if (iso_rank(ctx) > 0) {
		head.v = NULL;
		if (!(st = iso_array_create(x, head.n_dim, head.dim))) {
			head.v = x->v;
			*x = head;
		}
	}
	st = iso_comm_agree(ctx, st);
	return st ? st : iso_comm_broadcast(ctx, st, x->v, x->n * (int64_t)sizeof *x->v);
}

/* The record is that of the run that made the image. */
static void take_record(iso_problem *p, struct found *f)
{
	if (!f->record) return;
	json_decref(p->record->root);
	p->record->root = f->record;
	f->record = NULL;
}

int recon_complete(iso_problem *p, bool *complete, struct iso_array *to, const char *path)
{
	struct found f = { 0 };
	int st = ISO_OK;

	*complete = false;
	if (!path || !p->s.resume || p->force || p->record->read.dry_run) return ISO_OK;
	if (iso_rank(p->ctx) == 0) st = look(&f, complete, p, path);
	st = iso_comm_broadcast(p->ctx, st, complete, sizeof *complete);
	if (!st && *complete && !(st = share(p->ctx, &f.x))) {
		clean(p);
		record_tell(p->record, ISO_NEWS, "%s is complete: nothing is left to do", path);
		take_record(p, &f);
		if (to) {
			*to = f.x;
			f.x = (struct iso_array){ 0 };
		}
	}
	iso_array_free(&f.x);
	json_decref(f.record);
	return st;
}
