/* SPDX-License-Identifier: BSD-3-Clause */
/* The encoding and the schema of yardl files. */
#include "yardl.h"

#include "core/size.h"
#include "core/status.h"
#include "file/in.h"
#include "text/json_file.h"

#include <string.h>

enum {
	BUFFER = 1 << 18,      /* bytes read at once */
	AHEAD = 1 << 16,       /* most bytes that yardl_fill can promise */
	SCHEMA_MOST = 1 << 20, /* bytes; those of PETSIRD have 9000 to 13000 */
	TYPES_MOST = 1 << 13,  /* of the resolved tree; PETSIRD's has about 500 */
	DEEPEST = 32,
};

#define LEAST_MOST ((int64_t)1 << 40) /* bytes of a list of fixed size: sums of them stay within 64 bits */

/* ---- bytes ---- */

static int64_t left(const struct yardl *y)
{
	return y->size - y->at - y->pos;
}

int64_t yardl_tell(const struct yardl *y)
{
	return y->at + y->pos;
}

static void seek(struct yardl *y, int64_t at)
{
	if (at >= y->at && at <= y->at + y->end) {
		y->pos = at - y->at;
		return;
	}
	y->at = at;
	y->pos = y->end = 0;
}

int64_t yardl_fill(struct yardl *y, int64_t want)
{
	int64_t rest = y->end - y->pos;

	if (rest >= want || y->at + y->end >= y->size || y->status) return y->status ? 0 : rest;
	memmove(y->buffer, y->buffer + y->pos, (size_t)rest);
	y->at += y->pos;
	y->pos = 0;
	int64_t most = y->size - y->at - rest, ask = BUFFER - rest < most ? BUFFER - rest : most;
	int64_t got = iso_read_at(y->fd, y->buffer + rest, ask, y->at + rest);

	y->end = rest + (got > 0 ? got : 0);
	if (got < 0) y->status = iso_fail_errno(y->path, "read");
	if (got >= 0 && got < ask)
		y->status =
			iso_refuse(y->path, "ends after %" PRId64 " bytes, it was longer when it was opened",
		                   y->at + y->end);
	return y->status ? 0 : y->end;
}

static bool need_bytes(struct yardl *y, int64_t n)
{
	if (!y->status && left(y) < n)
		y->status = iso_refuse(y->path,
		                       "cut short: a value at byte %" PRId64 " needs %" PRId64
		                       " bytes, %" PRId64 " are left",
		                       yardl_tell(y), n, left(y));
	return !y->status;
}

static void step_over(struct yardl *y, int64_t n)
{
	if (need_bytes(y, n)) seek(y, yardl_tell(y) + n);
}

/* n <= AHEAD bytes; zeros after an error. */
static void take(struct yardl *y, void *dst, int64_t n)
{
	memset(dst, 0, (size_t)n);
	if (!need_bytes(y, n) || yardl_fill(y, n) < n) return;
	memcpy(dst, y->buffer + y->pos, (size_t)n);
	y->pos += n;
}

uint64_t yardl_varint(struct yardl *y)
{
	uint64_t v = 0;
	int64_t there = yardl_fill(y, 10);

	for (int i = 0; i < 10 && i < there; i++) {
		uint8_t b = y->buffer[y->pos++];

		v |= (uint64_t)(b & 127) << 7 * i;
		if (b < 128) return v;
	}
	if (!y->status)
		y->status = there < 10 ? iso_refuse(y->path, "cut short: ends inside a number")
		                       : iso_refuse(y->path,
		                                    "a number of more than 10 bytes before byte %" PRId64,
		                                    yardl_tell(y));
	return 0;
}

/* A varint that tells how many items of at least `least` bytes follow. Items of no bytes are bounded, too. */
static int64_t count(struct yardl *y, int64_t least)
{
	uint64_t n = yardl_varint(y);

	if (!y->status && n > (uint64_t)(left(y) / (least > 0 ? least : 1)))
		y->status = iso_refuse(y->path,
		                       "%" PRIu64 " values of at least %" PRId64 " bytes before byte %" PRId64
		                       ", %" PRId64 " bytes are left",
		                       n, least, yardl_tell(y), left(y));
	return y->status ? 0 : (int64_t)n;
}

/* ---- values ---- */

double yardl_number(struct yardl *y, int type)
{
	uint64_t n;
	uint8_t byte;
	float single;
	double wide;

	switch (y->type[type].kind) {
	case YARDL_BYTE:
		take(y, &byte, 1);
		return byte;
	case YARDL_UNSIGNED:
		return (double)yardl_varint(y);
	case YARDL_SIGNED:
		n = yardl_varint(y);
		return (double)(int64_t)(n >> 1 ^ (0 - (n & 1)));
	case YARDL_FLOAT32:
		take(y, &single, sizeof single);
		return (double)single;
	case YARDL_FLOAT64:
		take(y, &wide, sizeof wide);
		return wide;
	default:
		if (!y->status)
			y->status = iso_refuse(y->path, "schema: '%s' is no number", y->type[type].name);
		return 0;
	}
}

void yardl_text(struct yardl *y, int type, char *text, int size)
{
	int64_t n, shown;

	text[0] = '\0';
	if (y->type[type].kind != YARDL_STRING) {
		if (!y->status)
			y->status = iso_refuse(y->path, "schema: '%s' is no text", y->type[type].name);
		return;
	}
	n = count(y, 1);
	shown = n < size - 1 ? n : size - 1;
	take(y, text, shown);
	text[shown] = '\0';
	step_over(y, n - shown);
}

static int64_t axes_product(struct yardl *y, const struct yardl_type *t, int64_t axes[2])
{
	int64_t n = 1, number = t->length < 0 ? count(y, 1) : t->length, least = y->type[t->part].least;
	bool good = true;

	for (int64_t i = 0; i < number && !y->status; i++) {
		int64_t axis = (int64_t)yardl_varint(y);

		if (i < 2) axes[i] = axis;
		good = good && size_mul(&n, n, axis);
	}
	axes[0] = number > 2 ? n : axes[0];
	if (!y->status && (!good || n > left(y) / (least > 0 ? least : 1)))
		y->status = iso_refuse(
			y->path, "an array of more values before byte %" PRId64 " than the file has bytes",
			yardl_tell(y));
	return y->status ? 0 : n;
}

int64_t yardl_axes(struct yardl *y, int type, int *item, int64_t axes[2])
{
	const struct yardl_type *t = &y->type[type];
	int64_t n = 0;

	axes[0] = axes[1] = 1;
	*item = t->part;
	if (t->kind == YARDL_VECTOR)
		n = axes[0] = t->length < 0 ? count(y, y->type[t->part].least) : t->length;
	else if (t->kind == YARDL_ARRAY)
		n = axes_product(y, t, axes);
	else if (!y->status)
		y->status = iso_refuse(y->path, "schema: '%s' is no list", t->name);
	return y->status ? 0 : n;
}

int64_t yardl_items(struct yardl *y, int type, int *item)
{
	int64_t axes[2];

	return yardl_axes(y, type, item, axes);
}

int yardl_case(struct yardl *y, int type)
{
	const struct yardl_type *t = &y->type[type];

	if (t->kind != YARDL_UNION) return type;
	uint64_t n = yardl_varint(y);

	if (!y->status && n >= (uint64_t)t->parts)
		y->status = iso_refuse(y->path, "case %" PRIu64 " of '%s' before byte %" PRId64 ", it has %d",
		                       n, t->name, yardl_tell(y), t->parts);
	if (y->status || y->type[t->part + (int)n].kind == YARDL_NULL) return -1;
	return t->part + (int)n;
}

static void skip_items(struct yardl *y, int item, int64_t n)
{
	const struct yardl_type *t = &y->type[item];

	if (t->least == 0) return; /* takes no bytes */
	if (t->kind == YARDL_FLOAT32 || t->kind == YARDL_FLOAT64 || t->kind == YARDL_BYTE)
		step_over(y, n * t->least);
	else
		for (int64_t i = 0; i < n && !y->status; i++) yardl_skip(y, item);
}

void yardl_skip(struct yardl *y, int type)
{
	const struct yardl_type *t = &y->type[type];
	int64_t n;
	int item;

	switch (t->kind) {
	case YARDL_NULL:
		break;
	case YARDL_BYTE:
	case YARDL_FLOAT32:
	case YARDL_FLOAT64:
		step_over(y, t->least);
		break;
	case YARDL_UNSIGNED:
	case YARDL_SIGNED:
		yardl_varint(y);
		break;
	case YARDL_STRING:
		step_over(y, count(y, 1));
		break;
	case YARDL_RECORD:
		for (int i = 0; i < t->parts && !y->status; i++) yardl_skip(y, t->part + i);
		break;
	case YARDL_UNION:
		if ((item = yardl_case(y, type)) >= 0) yardl_skip(y, item);
		break;
	case YARDL_VECTOR:
	case YARDL_ARRAY:
		n = yardl_items(y, type, &item);
		skip_items(y, item, n);
		break;
	case YARDL_STREAM:
		while ((n = count(y, y->type[t->part].least)) > 0) skip_items(y, t->part, n);
		break;
	case YARDL_MAP:
		n = count(y, 1);
		for (int64_t i = 0; i < 2 * n && !y->status; i++) yardl_skip(y, t->part + (int)(i % 2));
		break;
	}
}

int yardl_find(const struct yardl *y, int type, const char *name)
{
	const struct yardl_type *t = &y->type[type];

	for (int i = 0; i < t->parts; i++)
		if (strcmp(y->type[t->part + i].name, name) == 0) return t->part + i;
	return -1;
}

int yardl_need(struct yardl *y, int type, const char *name)
{
	int found = yardl_find(y, type, name);

	if (found < 0 && !y->status)
		y->status = iso_refuse(y->path, "schema: '%s' has no '%s'", y->type[type].name, name);
	return y->status ? -1 : found;
}

void yardl_record(struct yardl *y, int type, const struct yardl_use *uses, void *arg)
{
	const struct yardl_type *t = &y->type[type];

	if (t->kind != YARDL_RECORD && !y->status)
		y->status = iso_refuse(y->path, "schema: '%s' is no record", t->name);
	for (const struct yardl_use *u = uses; u->name; u++)
		if (!u->optional) yardl_need(y, type, u->name);
	for (int i = t->part; i < t->part + t->parts && !y->status; i++) {
		const struct yardl_use *u = uses;

		while (u->name && strcmp(u->name, y->type[i].name) != 0) u++;
		if (u->name)
			u->read(y, i, arg);
		else
			yardl_skip(y, i);
	}
}

/* ---- the schema ---- */

/* What type parameters stand for: a type of the schema, and the scope that its own names belong to. */
struct scope {
	const json_t *names, *values; /* arrays of equal size; NULL: no parameters */
	const struct scope *outer;    /* of the values */
};

static void compile(struct yardl *y, int at, const json_t *type, const struct scope *scope, int depth);

static int no_sense(struct yardl *y, const char *what, const char *of)
{
	if (!y->status) y->status = iso_refuse(y->path, "schema: %s '%.80s'", what, of ? of : "");
	return y->status;
}

/* n types in a row, for the parts of type `at`. */
static int make_parts(struct yardl *y, int at, int n)
{
	if (y->status) return 0;
	if (n > TYPES_MOST - y->types) {
		no_sense(y, "too many types in", y->type[at].name);
		return 0;
	}
	if (y->types + n > y->room) {
		int room = 2 * (y->types + n);
		struct yardl_type *more = realloc(y->type, (size_t)room * sizeof *more);

		if (!more) {
			y->status = iso_fail_memory(y->path, room * (int64_t)sizeof *more);
			return 0;
		}
		y->type = more;
		y->room = room;
	}
	memset(y->type + y->types, 0, (size_t)n * sizeof *y->type);
	y->type[at].part = y->types;
	y->type[at].parts = n;
	y->types += n;
	return n;
}

static void set_name(struct yardl *y, int at, const char *name)
{
	struct yardl_type *t = &y->type[at];

	if (!name || strlen(name) >= sizeof t->name)
		no_sense(y, "a name is missing or too long:", name);
	else
		memcpy(t->name, name, strlen(name) + 1);
}

static const struct {
	const char *name;
	enum yardl_kind kind;
	int least;
} plain[] = {
	{ "uint8", YARDL_BYTE, 1 },      { "int8", YARDL_BYTE, 1 },       { "bool", YARDL_BYTE, 1 },
	{ "uint16", YARDL_UNSIGNED, 1 }, { "uint32", YARDL_UNSIGNED, 1 }, { "uint64", YARDL_UNSIGNED, 1 },
	{ "size", YARDL_UNSIGNED, 1 },   { "int16", YARDL_SIGNED, 1 },    { "int32", YARDL_SIGNED, 1 },
	{ "int64", YARDL_SIGNED, 1 },    { "date", YARDL_SIGNED, 1 },     { "time", YARDL_SIGNED, 1 },
	{ "datetime", YARDL_SIGNED, 1 }, { "float32", YARDL_FLOAT32, 4 }, { "float64", YARDL_FLOAT64, 8 },
	{ "string", YARDL_STRING, 1 },
};

static bool compile_plain(struct yardl *y, int at, const char *name)
{
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		if (strcmp(name, plain[i].name) == 0) {
			y->type[at].kind = plain[i].kind;
			y->type[at].least = plain[i].least;
			return true;
		}
	return false;
}

/* Fields of a record, steps of a protocol, cases of a union: named types. */
static void compile_parts(struct yardl *y, int at, const json_t *list, const char *key,
                          const struct scope *scope, int depth)
{
	int n = make_parts(y, at, (int)json_array_size(list));

	for (int i = 0; i < n && !y->status; i++) {
		const json_t *part = json_array_get(list, (size_t)i);
		int to = y->type[at].part + i;

		if (json_is_null(part)) continue; /* of a union; kind YARDL_NULL */
		if (json_is_object(part) && json_object_get(part, key)) {
			set_name(y, to, json_string_value(json_object_get(part, key)));
			part = json_object_get(part, "type");
		}
		compile(y, to, part, scope, depth);
	}
}

static void compile_record(struct yardl *y, int at, const json_t *fields, const struct scope *scope,
                           int depth)
{
	y->type[at].kind = YARDL_RECORD;
	compile_parts(y, at, fields, "name", scope, depth);
	for (int i = 0; i < y->type[at].parts; i++) y->type[at].least += y->type[y->type[at].part + i].least;
}

static void compile_union(struct yardl *y, int at, const json_t *cases, const struct scope *scope, int depth)
{
	y->type[at].kind = YARDL_UNION;
	y->type[at].least = 1;
	compile_parts(y, at, cases, "tag", scope, depth);
}

/* Of a whole number, int32 unless the schema says otherwise. */
static void compile_enum(struct yardl *y, int at, const json_t *base)
{
	const char *name = base ? json_string_value(base) : "int32";

	if (!name || !compile_plain(y, at, name)) no_sense(y, "unknown base of an enum:", name);
}

/* A name: a plain type, a parameter of this scope, or an entry of the schema, with `arguments` for its parameters. */
static void compile_name(struct yardl *y, int at, const char *name, const json_t *arguments,
                         const struct scope *scope, int depth)
{
	const char *dot = strrchr(name, '.');
	const json_t *e, *fields, *parameter;
	size_t i;

	if (!dot && compile_plain(y, at, name)) return;
	json_array_foreach (dot ? NULL : scope->names, i, parameter) {
		const char *n = json_string_value(parameter);

		if (n && strcmp(n, name) == 0) {
			compile(y, at, json_array_get(scope->values, i), scope->outer, depth);
			return;
		}
	}
	struct scope inner = { .values = arguments, .outer = scope };

	if (!(e = json_object_get(y->entries, dot ? dot + 1 : name))) {
		no_sense(y, "unknown type", name);
		return;
	}
	inner.names = json_object_get(e, "typeParameters");
	if (json_array_size(inner.names) != json_array_size(arguments)) {
		no_sense(y, "wrong number of type arguments of", name);
		return;
	}
	if (json_object_get(e, "values"))
		compile_enum(y, at, json_object_get(e, "base"));
	else if ((fields = json_object_get(e, "fields")))
		compile_record(y, at, fields, &inner, depth);
	else
		compile(y, at, json_object_get(e, "type"), &inner, depth);
}

static void compile_items(struct yardl *y, int at, enum yardl_kind kind, const json_t *list,
                          const struct scope *scope, int depth)
{
	y->type[at].kind = kind;
	if (make_parts(y, at, 1)) compile(y, y->type[at].part, json_object_get(list, "items"), scope, depth);
	y->type[at].least = 1;
}

/* The items of a list whose size the schema tells. */
static void set_fixed(struct yardl *y, int at, int64_t n)
{
	struct yardl_type *t = &y->type[at];

	if (y->status) return;
	t->kind = YARDL_VECTOR;
	t->length = n;
	if (n < 0 || !size_mul(&t->least, n, y->type[t->part].least) || n > SCHEMA_MOST ||
	    t->least > LEAST_MOST)
		no_sense(y, "a length that is not possible in", t->name);
}

static void compile_vector(struct yardl *y, int at, const json_t *vector, const struct scope *scope,
                           int depth)
{
	const json_t *length = json_object_get(vector, "length");

	compile_items(y, at, YARDL_VECTOR, vector, scope, depth);
	y->type[at].length = -1;
	if (length) set_fixed(y, at, json_integer_value(length));
}

static void compile_array(struct yardl *y, int at, const json_t *array, const struct scope *scope, int depth)
{
	const json_t *dimensions = json_object_get(array, "dimensions"), *d;
	int64_t n = 1, fixed = 0;
	size_t i;

	compile_items(y, at, YARDL_ARRAY, array, scope, depth);
	y->type[at].length = json_is_integer(dimensions) ? json_integer_value(dimensions)
	                     : dimensions                ? (int64_t)json_array_size(dimensions)
	                                                 : -1;
	if (y->type[at].length > DEEPEST) no_sense(y, "too many axes in", y->type[at].name);
	json_array_foreach (dimensions, i, d) {
		const json_t *length = json_object_get(d, "length");

		fixed += length != NULL;
		if (length && !size_mul(&n, n, json_integer_value(length))) n = -1;
	}
	if (fixed > 0 && fixed == y->type[at].length) set_fixed(y, at, n);
}

static void compile_map(struct yardl *y, int at, const json_t *map, const struct scope *scope, int depth)
{
	y->type[at].kind = YARDL_MAP;
	y->type[at].least = 1;
	if (!make_parts(y, at, 2)) return;
	compile(y, y->type[at].part, json_object_get(map, "keys"), scope, depth);
	compile(y, y->type[at].part + 1, json_object_get(map, "values"), scope, depth);
}

/* Type `at` of the tree, from the schema's JSON. */
static void compile(struct yardl *y, int at, const json_t *type, const struct scope *scope, int depth)
{
	const json_t *t;

	if (y->status) return;
	if (depth >= DEEPEST)
		no_sense(y, "more than 32 types inside each other, or one inside itself:", y->type[at].name);
	else if (json_is_string(type))
		compile_name(y, at, json_string_value(type), NULL, scope, depth + 1);
	else if (json_is_array(type))
		compile_union(y, at, type, scope, depth + 1);
	else if ((t = json_object_get(type, "vector")))
		compile_vector(y, at, t, scope, depth + 1);
	else if ((t = json_object_get(type, "array")))
		compile_array(y, at, t, scope, depth + 1);
	else if ((t = json_object_get(type, "stream")))
		compile_items(y, at, YARDL_STREAM, t, scope, depth + 1);
	else if ((t = json_object_get(type, "map")))
		compile_map(y, at, t, scope, depth + 1);
	else if ((t = json_object_get(type, "name")) && json_is_string(t))
		compile_name(y, at, json_string_value(t), json_object_get(type, "typeArguments"), scope,
		             depth + 1);
	else
		no_sense(y, "unknown kind of type in", y->type[at].name);
}

static void read_head(struct yardl *y)
{
	uint8_t head[9];

	take(y, head, sizeof head);
	if (y->status || memcmp(head, "yardl\1\0\0\0", sizeof head) != 0)
		y->status = iso_refuse(y->path, "does not begin as a yardl file of version 1 does");
}

static void list_entries(struct yardl *y)
{
	json_t *types = json_object_get(y->schema, "types"), *t;
	size_t i;

	y->entries = json_object();
	json_array_foreach (types, i, t) {
		const char *name = json_string_value(json_object_get(t, "name"));

		if (name && json_object_set(y->entries, name, t) && !y->status)
			y->status = iso_fail_memory(y->path, (int64_t)strlen(name));
	}
	if (!y->entries && !y->status) y->status = iso_fail_memory(y->path, sizeof *types);
}

static void read_schema(struct yardl *y)
{
	static const struct scope none;
	int64_t n = count(y, 1);
	char *text = NULL;

	if (n > SCHEMA_MOST)
		no_sense(y, "longer than 1 MiB in", y->path);
	else if (!y->status && !(text = malloc((size_t)n + 1)))
		y->status = iso_fail_memory(y->path, n);
	for (int64_t i = 0; i < n && !y->status; i += AHEAD) take(y, text + i, n - i < AHEAD ? n - i : AHEAD);
	if (!y->status) y->status = iso_json_parse(&y->schema, y->path, text, (size_t)n);
	free(text);
	if (!y->status) list_entries(y);
	if (y->status || !(y->type = calloc(1, sizeof *y->type))) return;
	y->types = y->room = 1;
	set_name(y, 0, "protocol");
	compile_record(y, 0, json_object_get(json_object_get(y->schema, "protocol"), "sequence"), &none, 0);
}

int yardl_open(struct yardl *y, const char *path, int fd, int64_t size)
{
	*y = (struct yardl){ .path = path, .fd = fd, .size = size, .buffer = malloc(BUFFER) };
	if (!y->buffer) return y->status = iso_fail_memory(path, BUFFER);
	read_head(y);
	read_schema(y);
	if (!y->status && !y->type) y->status = iso_fail_memory(path, sizeof *y->type);
	return y->status;
}

void yardl_close(struct yardl *y)
{
	json_decref(y->entries);
	json_decref(y->schema);
	free(y->type);
	free(y->buffer);
	*y = (struct yardl){ 0 };
}
