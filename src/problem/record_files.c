/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that a run reads: within its limit of memory, counted for its plan; and writes. */
#include "record.h"

#include "core/ctx.h"
#include "core/size.h"
#include "core/status.h"
#include "io/format.h"
#include "text/json_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int unit_from_sidecar(struct iso_array *a, const char *path)
{
	char sidecar[PATH_MAX];
	json_t *root = NULL;
	const char *unit;
	int st;

	if (iso_sidecar_path(sidecar, sizeof sidecar, path) != ISO_OK) return ISO_OK;
	if ((st = iso_json_read(&root, sidecar))) return st == ISO_ENOMEM ? st : ISO_OK;
	unit = json_string_value(json_object_get(root, "Units"));
	if (unit) snprintf(a->unit, sizeof a->unit, "%s", unit);
	json_decref(root);
	return ISO_OK;
}

/* ---- arrays in place of files ---- */

struct record_array {
	struct record_array *next;
	char path[64];
	struct iso_array a;
};

const struct iso_array *record_given(const struct record *r, const char *path)
{
	for (const struct record_array *g = r ? r->given : NULL; g; g = g->next)
		if (strcmp(g->path, path) == 0) return &g->a;
	return NULL;
}

static int copy_array(struct iso_array *to, const struct iso_array *from, iso_ctx *device)
{
	struct iso_array a = *from;
	int64_t bytes;

	if (!size_mul(&bytes, a.n, sizeof *a.v) || !(a.v = size_alloc(a.n, sizeof *a.v)))
		return iso_fail_memory("array", a.n * (int64_t)sizeof *a.v);
	int st = ISO_OK;

	if (device)
		st = iso_ctx_vec(device)->download(device, a.v, from->v, bytes);
	else
		memcpy(a.v, from->v, (size_t)bytes);
	if (st)
		free(a.v);
	else
		*to = a;
	return st;
}

int record_give(struct record *r, const char *path, const struct iso_array *a, bool device)
{
	struct record_array *g = size_alloc(1, sizeof *g);
	int st = g ? copy_array(&g->a, a, device ? r->ctx : NULL) : iso_fail_memory("array", sizeof *g);

	if (st) {
		free(g);
		return st;
	}
	snprintf(g->path, sizeof g->path, "%s", path);
	g->next = r->given; /* the last of one name holds */
	r->given = g;
	return ISO_OK;
}

void record_forget(struct record *r)
{
	while (r->given) {
		struct record_array *g = r->given;

		r->given = g->next;
		iso_array_free(&g->a);
		free(g);
	}
}

int record_peek(const struct record *r, struct iso_array *head, const char *path)
{
	const struct iso_array *given = record_given(r, path);

	if (!given) return iso_peek(head, path);
	*head = *given;
	head->v = NULL;
	return ISO_OK;
}

/* ---- reading ---- */

/* The head of an array, counted among the inputs. */
static int look(struct record *r, struct iso_array *head, const char *path, enum iso_values allowed)
{
	int st = record_given(r, path) ? record_peek(r, head, path) : iso_peek_as(head, path, allowed);

	if (!st && r) r->inputs += head->n * (int64_t)sizeof *head->v;
	return st;
}

/* Its values must fit; in a dry run they are not going to be read. */
static int admit(const struct record *r, const struct iso_array *head, const char *path)
{
	return r && r->dry_run
	               ? ISO_OK
	               : iso_memory_check(r ? r->ctx : NULL, path, head->n * (int64_t)sizeof *head->v);
}

static int copy_given(struct iso_array *a, const struct iso_array *given, const char *path,
                      enum iso_values allowed)
{
	int st = iso_values_check(given, path, allowed);

	return st ? st : copy_array(a, given, NULL);
}

int record_read(struct record *r, struct iso_array *a, const char *path, enum iso_values allowed)
{
	const struct iso_array *given = record_given(r, path);
	struct iso_array head;
	int st = look(r, &head, path, allowed);

	if (!st) st = admit(r, &head, path);
	if (!st && r && r->dry_run)
		*a = head;
	else if (!st)
		st = given ? copy_given(a, given, path, allowed) : iso_read(a, path, allowed);
	if (!st && !given && !a->unit[0] && (st = unit_from_sidecar(a, path))) iso_array_free(a);
	return st;
}

int record_read_image(struct record *r, struct iso_array *a, const char *path, enum iso_values allowed,
                      const struct iso_grid *want)
{
	const struct iso_array *given = record_given(r, path);
	struct iso_array head;
	int st;

	if ((st = look(r, &head, path, allowed)) || (st = iso_image_fit(&head, path, want)) ||
	    (st = admit(r, &head, path)))
		return st;
	*a = head;
	if (r->dry_run) return ISO_OK;
	if (!given) return iso_read_image(a, path, allowed, want);
	return (st = copy_given(a, given, path, allowed)) ? st : iso_image_fit(a, path, want);
}

int record_read_map(struct record *r, struct iso_array *a, const char *path, const struct iso_grid *g)
{
	struct iso_array head;
	int st = record_peek(r, &head, path);

	if (st) return st;
	return head.has_grid ? record_read(r, a, path, ISO_NONNEGATIVE)
	                     : record_read_image(r, a, path, ISO_NONNEGATIVE, g);
}

/* At 511 keV dense bone has 0.02/mm, titanium 0.04; water in 1/cm would be 0.096. */
#define MU_LIKELY 0.05

int record_read_mu(struct record *r, struct iso_array *a, const char *path, const struct iso_grid *g)
{
	int st = record_read_map(r, a, path, g);
	double most = 0;

	if (st || (st = record_input(r, path))) return st;
	for (int64_t i = 0; a->v && i < a->n; i++) most = a->v[i] > most ? (double)a->v[i] : most;
	if (most > MU_LIKELY)
		record_warn(r,
		            "%s: values up to %.3g; attenuation is in 1/mm, 0.0096 for water: "
		            "is this map in 1/cm?",
		            path, most);
	return ISO_OK;
}

int record_write(struct record *r, const char *path, const struct iso_array *a)
{
	char *text = NULL;
	int st = ISO_OK;

	if (a->unit[0]) st = record_set(r, "Units", record_string(a->unit));
	if (!st) st = record_text(r, &text);
	if (!st) st = iso_write(path, a, text);
	free(text);
	return st;
}

int record_write_series(struct record *r, const char *path, iso_series *s, const struct iso_array *shape,
                        iso_real *x)
{
	char *text = NULL;
	int st = record_set(r, "Units", record_string(shape->unit));

	if (!st) st = record_text(r, &text);
	if (!st) st = iso_series_write(s, path, shape, x, text);
	free(text);
	return st;
}
