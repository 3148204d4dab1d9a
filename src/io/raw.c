/* SPDX-License-Identifier: BSD-3-Clause */
/* Raw arrays: x.raw holds the elements and nothing else, x.raw.json says what they are. */
#include "text/conf.h"
#include "text/json_file.h"
#include "core/size.h"
#include "file/element.h"
#include "format.h"

#include <errno.h>
#include <float.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the description ---- */

static const char *const type_names[] = { "uint8",  "int8",  "uint16",  "int16",   "uint32", "int32",
	                                  "uint64", "int64", "float32", "float64", NULL };
static const struct iso_element types[] = { { 'u', 1, 0 }, { 'i', 1, 0 }, { 'u', 2, 0 }, { 'i', 2, 0 },
	                                    { 'u', 4, 0 }, { 'i', 4, 0 }, { 'u', 8, 0 }, { 'i', 8, 0 },
	                                    { 'f', 4, 0 }, { 'f', 8, 0 } };

struct description {
	char *data; /* room for the name of the file of elements */
	struct iso_element element;
	int64_t offset; /* of the first one, bytes */
	int n_dim;
	int64_t dim[8];
	bool has_grid;
	struct iso_grid grid;
	char unit[32];
};

static int get_description(struct description *d, const struct conf_node *map)
{
	static const char *const orders[] = { "little", "big", NULL };
	const char *data = NULL, *unit = "";
	const struct conf_node *shape = iso_conf_find(map, "shape");
	int64_t version;
	int type = -1, order = 0, st;

	d->n_dim = shape ? shape->n_child : 1;
	if (shape && (d->n_dim < 1 || d->n_dim > 8))
		return iso_conf_fail(shape, "shape must be a list of 1 to 8 sizes, slowest first");
	const struct conf_key keys[] = {
		/* Of the description: 1. */
		{ "version", CONF_INT, &version, .min = 1, .max = 1, .required = true },
		/* File of the elements, beside the description. */
		{ "data_file", CONF_TEXT, &data, .required = true },
		/* Of an element. */
		{ "type", CONF_TEXT, .required = true },
		/* Default little. */
		{ "byte_order", .kind = CONF_TEXT },
		/* Of the first element. Default 0. */
		{ "offset_bytes", CONF_INT, &d->offset, .min = 0, .max = 1e15 },
		/* 1 to 8 sizes, slowest axis first. */
		{ "shape", CONF_INTS, d->dim, d->n_dim, 1, 1e15, true },
		/* x, y, z: the array is an image on a grid. */
		{ "voxel_mm", CONF_REALS, d->grid.voxel, 3, DBL_MIN, DBL_MAX, false },
		/* Of the grid. Default 0, 0, 0. */
		{ "centre_mm", CONF_REALS, d->grid.centre, 3, -DBL_MAX, DBL_MAX, false },
		/* Of the values. Default: none. */
		{ "unit", CONF_TEXT, .dst = &unit },
		{ .name = NULL },
	};
	if ((st = iso_conf_keys(map, keys)) || (st = iso_conf_word(&type, map, "type", type_names)) ||
	    (st = iso_conf_word(&order, map, "byte_order", orders)))
		return st;
	d->element = types[type];
	d->element.big_endian = order == 1;
	d->has_grid = iso_conf_find(map, "voxel_mm");
	if (!d->has_grid && iso_conf_find(map, "centre_mm"))
		return iso_conf_fail(map, "centre_mm needs voxel_mm");
	if (d->has_grid && d->n_dim < 3)
		return iso_conf_fail(map, "voxel_mm needs a shape of at least 3 axes, got %d", d->n_dim);
	for (int i = 0; i < 3 && d->has_grid; i++) d->grid.n[i] = d->dim[d->n_dim - 1 - i];
	if (strlen(unit) >= sizeof d->unit)
		return iso_conf_fail(map, "unit is longer than %d bytes", (int)sizeof d->unit - 1);
	strcpy(d->unit, unit);
	return iso_conf_file(d->data, PATH_MAX, map, data);
}

/* The record of a long run is larger than a description may be: `array` of it alone. */
static int read_large(struct conf_node **root, const char *path)
{
	char name[PATH_MAX + 8], *text = NULL;
	json_t *record = NULL, *array;
	int st = iso_json_read(&record, path);

	if (st) return st;
	array = json_object_get(record, "array");
	snprintf(name, sizeof name, "%s%s", path, array ? ", array" : "");
	text = iso_json_text(array ? array : record, JSON_INDENT(2) | JSON_ENCODE_ANY);
	json_decref(record);
	st = text ? iso_conf_parse(root, name, text, strlen(text)) : iso_fail_memory(path, CONF_MOST);
	free(text);
	return st;
}

/* Alone in its file, or under `array` in the sidecar of a file that Isotome wrote. */
static int read_description(struct description *d, const char *path)
{
	const struct conf_node *array;
	struct conf_node *root = NULL;
	struct stat file;
	bool large = stat(path, &file) == 0 && file.st_size > CONF_MOST;
	int st = (large ? read_large : iso_conf_read)(&root, path);

	if (st) return st;
	array = iso_conf_find(root, "array");
	st = get_description(d, array ? array : root);
	iso_conf_free(root);
	return st;
}

/* ---- reading ---- */

static int open_data(struct iso_array *a, struct iso_stored *s, const char *path, const struct description *d)
{
	int64_t bytes;
	int st = iso_in_open(&s->in, path, false);

	if (st) return st;
	if (!size_product(&bytes, d->n_dim, d->dim) || !size_mul(&bytes, bytes, d->element.size) ||
	    !size_add(&bytes, bytes, d->offset) || bytes > INT64_MAX / 16)
		return iso_refuse(path, "its shape has more elements than 64 bits count");
	if ((st = iso_in_expect(&s->in, bytes)) || (st = iso_array_make(a, path, d->n_dim, d->dim, false)))
		return st;
	s->skip = d->offset;
	s->layout.element = d->element;
	iso_layout_c(&s->layout, a);
	a->has_grid = d->has_grid;
	a->grid = d->grid;
	memcpy(a->unit, d->unit, sizeof a->unit);
	return ISO_OK;
}

static int open_by_json(struct iso_array *a, struct iso_stored *s, const char *path, bool pairs)
{
	struct description d = { .data = s->data };
	int st = read_description(&d, path);

	(void)pairs;
	if (!st) st = open_data(a, s, d.data, &d);
	return st;
}

static int open_raw(struct iso_array *a, struct iso_stored *s, const char *path, bool pairs)
{
	struct description d = { .data = s->data };
	char json[PATH_MAX];
	int st = iso_sidecar_path(json, sizeof json, path);

	(void)pairs;
	if (st) return st;
	if (access(json, F_OK)) return iso_refuse(path, "its description %s: %s", json, strerror(errno));
	if ((st = read_description(&d, json))) return st;
	if (strcmp(d.data, path) != 0) return iso_refuse(path, "%s describes %s instead", json, d.data);
	return open_data(a, s, path, &d);
}

/* ---- writing ---- */

static int begin(struct iso_out *o, const struct iso_array *a, const iso_real range[2])
{
	(void)o, (void)a, (void)range;
	return ISO_OK;
}

static json_t *describe(const char *path, const struct iso_array *a)
{
	const struct iso_grid *g = &a->grid;
	json_t *shape = json_array(), *d;
	int bad = 0;

	for (int i = 0; i < a->n_dim; i++) bad |= json_array_append_new(shape, json_integer(a->dim[i]));
	d = json_pack("{s:i, s:s, s:s, s:s, s:o}", "version", 1, "data_file", iso_base_name(path), "type",
	              sizeof *a->v == 4 ? "float32" : "float64", "byte_order", "little", "shape", shape);
	if (d && a->has_grid) {
		bad |= json_object_set_new(d, "voxel_mm",
		                           json_pack("[f, f, f]", g->voxel[0], g->voxel[1], g->voxel[2]));
		bad |= json_object_set_new(d, "centre_mm",
		                           json_pack("[f, f, f]", g->centre[0], g->centre[1], g->centre[2]));
	}
	if (d && a->unit[0]) bad |= json_object_set_new(d, "unit", json_string(a->unit));
	if (!bad) return d;
	json_decref(d);
	return NULL;
}

static int sidecar_of(char **text, const char *path, const struct iso_array *a, const char *sidecar)
{
	const char *given = sidecar ? sidecar : "{}";
	int64_t failures = iso_json_failures();
	json_t *root = NULL, *array = describe(path, a);
	char *t = NULL;
	int st = iso_json_parse(&root, path, given, strlen(given));

	if (st == ISO_ENOMEM || iso_json_failures() != failures)
		st = iso_fail_memory(path, (int64_t)strlen(given));
	else if (!json_is_object(root))
		st = iso_fail(ISO_EARG, "%s: the sidecar given is not a JSON object", path);
	else if (!array)
		st = iso_fail(ISO_EARG, "%s: a name to be written in JSON must be UTF-8", path);
	else if (json_object_set(root, "array", array) ||
	         !(t = iso_json_text(root, JSON_INDENT(2) | JSON_REAL_PRECISION(15))))
		st = iso_fail(ISO_ENOMEM, "%s: no memory for its description", path);
	else
		*text = t;
	json_decref(array);
	json_decref(root);
	return st;
}

const struct iso_format iso_raw_format = { .open = open_raw, .lead = begin, .sidecar = sidecar_of };
const struct iso_format iso_raw_json_format = { .open = open_by_json };
