/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that a run reads: within its limit of memory, counted for its plan; and writes. */
#include "record.h"

#include "core/size.h"
#include "io/kinds.h"

/* ---- arrays and events in place of files ---- */

const struct given *record_given(const struct record *r, const char *path)
{
	static const struct given none;

	for (const struct given *g = r ? r->read.given : NULL; g && path; g = g->next)
		if (strcmp(g->path, path) == 0) return g;
	return &none;
}

struct given *record_give(struct record *r, const char *path)
{
	struct given *g = size_alloc(1, sizeof *g);

	if (!g) return NULL;
	snprintf(g->path, sizeof g->path, "%s", path);
	g->next = r->read.given; /* the last of one name holds */
	return r->read.given = g;
}

int record_copy(struct iso_array *to, const struct iso_array *from, iso_ctx *device)
{
	struct iso_array a = *from;
	int64_t bytes;
	int st = ISO_OK;

	if (!size_mul(&bytes, a.n, sizeof *a.v) || !(a.v = size_alloc(a.n, sizeof *a.v)))
		return iso_fail_memory("array", a.n * (int64_t)sizeof *a.v);
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

/* ---- reading ---- */

int record_sidecar(json_t **root, const char *path)
{
	char sidecar[PATH_MAX];

	return iso_sidecar_path(sidecar, sizeof sidecar, path) ? ISO_OK : record_json(root, sidecar);
}

int record_stands(bool *stands, const char *path)
{
	json_t *root = NULL;
	int st = record_sidecar(&root, path);

	*stands = json_object_get(root, "verb");
	json_decref(root);
	return st;
}

int record_check_place(const char *path, bool force)
{
	char sidecar[PATH_MAX];
	bool stands;
	int st = iso_sidecar_path(sidecar, sizeof sidecar, path);

	if (st || iso_stands_at(sidecar) == ISO_STANDS_NOTHING || (st = record_stands(&stands, path)))
		return st;
	if (!stands)
		return iso_fail(
			ISO_EARG,
			"%s: its record would replace %s, which is no record; give the output another name",
			path, sidecar);
	return force ? ISO_OK
	             : iso_fail(ISO_EARG, "%s: its record %s exists; 'force' replaces it", path, sidecar);
}

static int unit_from_sidecar(struct iso_array *a, const char *path)
{
	json_t *root = NULL;
	int st = record_sidecar(&root, path);
	const char *unit = json_string_value(json_object_get(root, "Units"));

	if (unit) snprintf(a->unit, sizeof a->unit, "%s", unit);
	json_decref(root);
	return st;
}

int record_peek(const struct record *r, struct iso_array *head, const char *path, enum iso_values allowed)
{
	const struct iso_array *given = &record_given(r, path)->array;

	if (!given->v) return iso_peek_as(head, path, allowed);
	*head = *given;
	head->v = NULL;
	return ISO_OK;
}

/* Within the limit of memory; `shared`: by the context's ranks together. */
static int read_values(struct iso_array *a, iso_ctx *ctx, const struct iso_array *given, const char *path,
                       enum iso_values allowed, bool shared)
{
	int st;

	if (!given->v && shared && ctx) return iso_read_shared(a, ctx, path, allowed);
	if (!given->v) return iso_read_within(a, ctx, path, allowed);
	if ((st = iso_memory_check(ctx, path, given->n * (int64_t)sizeof *given->v))) return st;
	return (st = iso_values_check(given, path, allowed)) ? st : record_copy(a, given, NULL);
}

/* Values that must fit memory; in a dry run the head alone, counted among the inputs either way. An
   image must fit the grid `want` too. */
static int read_array(struct record *r, struct iso_array *a, const char *path, enum iso_values allowed,
                      bool shared, bool image, const struct iso_grid *want)
{
	const struct iso_array *given = &record_given(r, path)->array;
	struct iso_array head;
	int st;

	if ((st = record_peek(r, &head, path, allowed))) return st;
	if (r) r->read.inputs += head.n * (int64_t)sizeof *head.v;
	if (image && (st = iso_image_fit(&head, path, want))) return st;
	if (r && r->read.dry_run)
		*a = head;
	else if ((st = read_values(a, r ? r->read.ctx : NULL, given, path, allowed, shared)))
		return st;
	if (image && a->v) st = iso_image_fit(a, path, want);
	if (!st && !image && !given->v && !a->unit[0]) st = unit_from_sidecar(a, path);
	if (st) iso_array_free(a);
	return st;
}

int record_read(struct record *r, struct iso_array *a, const char *path, enum iso_values allowed)
{
	return read_array(r, a, path, allowed, false, false, NULL);
}

int record_read_shared(struct record *r, struct iso_array *a, const char *path, enum iso_values allowed)
{
	return read_array(r, a, path, allowed, true, false, NULL);
}

int record_read_image(struct record *r, struct iso_array *a, const char *path, enum iso_values allowed,
                      const struct iso_grid *want)
{
	return read_array(r, a, path, allowed, false, true, want);
}

static int read_map(struct record *r, struct iso_array *a, const char *path, const struct iso_grid *g,
                    enum iso_values allowed)
{
	struct iso_array head;
	int st = record_peek(r, &head, path, ISO_ANY);

	return st ? st : read_array(r, a, path, allowed, false, !head.has_grid, g);
}

int record_read_map(struct record *r, struct iso_array *a, const char *path, const struct iso_grid *g)
{
	return read_map(r, a, path, g, ISO_NONNEGATIVE);
}

/* No attenuation is below 0, air in Hounsfield units is -1000: a map that reaches that far is a CT. */
static int refuse_hu(const struct iso_array *a, const char *path)
{
	double least = 0, most = 0;

	if (strcmp(a->unit, "HU") == 0)
		return iso_refuse(path, "a DICOM file; command mu makes an attenuation map of a CT series");
	for (int64_t i = 0; a->v && i < a->n; i++) {
		least = a->v[i] < least ? (double)a->v[i] : least;
		most = a->v[i] > most ? (double)a->v[i] : most;
	}
	if (least > -100 || least < -1e5) return ISO_OK;
	return iso_refuse(path,
	                  "values from %g to %g: a CT in Hounsfield units, attenuation in 1/mm was expected; "
	                  "command mu makes it",
	                  least, most);
}

/* Maps of formats whose unit is 1/cm, unless they say 1/mm. */
static void per_mm(struct record *r, struct iso_array *a, const char *path)
{
	const struct iso_kind *k =
		record_given(r, path)->array.v ? NULL : iso_kind_to_read(path, ISO_ARRAY_FILE);

	if (!k || !k->array || !k->array->mu_per_cm || strcmp(a->unit, "1/mm") == 0) return;
	for (int64_t i = 0; a->v && i < a->n; i++) a->v[i] /= 10;
	snprintf(a->unit, sizeof a->unit, "1/mm");
	record_tell(r, ISO_NEWS, "%s: an Interfile map of attenuation is taken as 1/cm", path);
}

int record_read_mu(struct record *r, struct iso_array *a, const char *path, const struct iso_grid *g)
{
	int st = read_map(r, a, path, g, ISO_FINITE);

	if (st) return st;
	if (!(st = refuse_hu(a, path)) && a->v) st = iso_values_check(a, path, ISO_NONNEGATIVE);
	if (st || (st = record_input(r, path))) {
		iso_array_free(a);
		return st;
	}
	per_mm(r, a, path);
	return ISO_OK;
}

void record_warn_mu(struct record *r, const struct iso_array *a, const char *path)
{
	double most = 0;

	for (int64_t i = 0; a->v && i < a->n; i++) most = a->v[i] > most ? (double)a->v[i] : most;
	if (most > RECORD_MU_LIKELY)
		record_warn(r,
		            "%s: values up to %.3g; attenuation is in 1/mm, 0.0096 for water: is this map in "
		            "1/cm?",
		            path, most);
}

static void to_hex(char hex[17], uint64_t hash)
{
	snprintf(hex, 17, "%016" PRIx64, hash);
}

int record_hash_values(char hex[17], int64_t n, const iso_real *v)
{
	struct iso_values_hash h = { 0 };
	int st = iso_values_hash_add(&h, n, v);

	to_hex(hex, iso_values_hash_now(&h));
	iso_values_hash_free(&h);
	return st;
}

int record_write_series(struct record *r, const char *path, iso_series *s, const struct iso_array *a,
                        iso_real *x, const iso_ctx *stop)
{
	char *text = NULL, hex[17];
	int st = a->unit[0] ? record_set(r, "Units", record_string(a->unit)) : ISO_OK;

	if (!st && s)
		to_hex(hex, iso_series_hash(s));
	else if (!st)
		st = record_hash_values(hex, a->n, a->v);
	if (!st) st = record_set(r, RECORD_HASH, json_string(hex));
	if (!st) st = record_text(r, &text);
	if (!st) st = s ? iso_series_write(s, stop, path, a, x, text) : iso_write_on(stop, path, a, text);
	free(text);
	return st;
}

int record_write(struct record *r, const char *path, const struct iso_array *a, const iso_ctx *stop)
{
	return record_write_series(r, path, NULL, a, NULL, stop);
}
