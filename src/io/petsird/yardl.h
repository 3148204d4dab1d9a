/* SPDX-License-Identifier: BSD-3-Clause */
/* Files in yardl's binary encoding, which begin with the schema of what follows. The schema becomes a tree of
   types, all names and parameters resolved, along which values are read or stepped over.

   Errors stay: after the first, y->status is not ISO_OK, every value is 0 and every list is empty. */
#ifndef ISO_YARDL_H
#define ISO_YARDL_H

#include "isotome.h"

#include <jansson.h>

enum yardl_kind {
	YARDL_NULL,
	YARDL_BYTE,     /* uint8, int8, bool */
	YARDL_UNSIGNED, /* varint: 7 bits a byte, lowest first, top bit: more follow */
	YARDL_SIGNED,   /* the same of (n << 1) ^ (n >> 63) */
	YARDL_FLOAT32,
	YARDL_FLOAT64,
	YARDL_STRING, /* varint of bytes, bytes */
	YARDL_RECORD, /* its parts, one after the other */
	YARDL_UNION,  /* varint: which of its parts, then that */
	YARDL_VECTOR, /* `length` items; -1: a varint tells how many */
	YARDL_ARRAY, /* as many varints as `length`, the axes, then items; -1: a varint tells how many axes */
	YARDL_STREAM, /* blocks of a varint, how many, and items; ended by 0 */
	YARDL_MAP,    /* varint, pairs of its two parts */
};

struct yardl_type {
	enum yardl_kind kind;
	char name[48];   /* of the field, or of the union's case, that has this type; "": none */
	int part, parts; /* numbers of the types inside: fields, cases, items */
	int64_t length;
	int64_t least; /* bytes that a value takes at least: what a count is checked against */
};

struct yardl {
	const char *path; /* the caller's, as is fd */
	int status;
	int fd;
	int64_t size;
	uint8_t *buffer;
	int64_t at;       /* place in the file of buffer[0] */
	int64_t pos, end; /* bytes used, bytes there */
	int types, room;
	struct yardl_type *type;
	json_t *schema, *entries; /* entries: those of its `types` by name */
};

/* Reads head and schema, and stands before the first step of the protocol, whose steps are the parts of type 0,
   a record. */
int yardl_open(struct yardl *y, const char *path, int fd, int64_t size);
void yardl_close(struct yardl *y); /* takes all zero too; fd is left open */

int64_t yardl_tell(const struct yardl *y);

/* At least `want` bytes from pos on (up to 64 KiB), or those to the end of the file; how many there are. */
int64_t yardl_fill(struct yardl *y, int64_t want);

uint64_t yardl_varint(struct yardl *y);
double yardl_number(struct yardl *y, int type);                   /* a value of any kind of number */
void yardl_text(struct yardl *y, int type, char *text, int size); /* cut to fit */
void yardl_skip(struct yardl *y, int type);

/* The part of that name, -1 if there is none. */
int yardl_find(const struct yardl *y, int type, const char *name);
int yardl_need(struct yardl *y, int type, const char *name);

/* The case that a union has; -1: null. What is no union is its own case. */
int yardl_case(struct yardl *y, int type);

/* Items of a vector or of an array, whose type is *item; axes[0 .. 1] of an array of two. */
int64_t yardl_items(struct yardl *y, int type, int *item);
int64_t yardl_axes(struct yardl *y, int type, int *item, int64_t axes[2]);

/* Parts of a record that are read, each by its function; the others are stepped over. */
struct yardl_use {
	const char *name;
	void (*read)(struct yardl *y, int type, void *arg);
	bool optional; /* not in the schema of every version */
};

/* Ends with a name of NULL. */
void yardl_record(struct yardl *y, int type, const struct yardl_use *uses, void *arg);

#endif
