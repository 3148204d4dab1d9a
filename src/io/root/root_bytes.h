/* SPDX-License-Identifier: BSD-3-Clause */
/* Big-endian numbers, texts and objects of a ROOT file, from bytes in memory. Beyond their end all is 0, and `bad`
   is set: whoever reads several looks at it once. */
#ifndef ISO_ROOT_BYTES_H
#define ISO_ROOT_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct root_bytes {
	const uint8_t *p;
	int64_t n, at; /* bytes, and how many were read */
	bool bad;      /* more was asked for than there is */
};

/* The next n bytes; NULL: there are fewer. */
static inline const uint8_t *root_take(struct root_bytes *b, int64_t n)
{
	if (n < 0 || n > b->n - b->at) {
		b->bad = true;
		b->at = b->n;
		return NULL;
	}
	b->at += n;
	return b->p + b->at - n;
}

static inline void root_skip(struct root_bytes *b, int64_t n)
{
	root_take(b, n);
}

/* On to byte `at`, which lies further on. */
static inline void root_goto(struct root_bytes *b, int64_t at)
{
	root_take(b, at - b->at);
}

static inline uint64_t root_number(struct root_bytes *b, int size)
{
	const uint8_t *p = root_take(b, size);
	uint64_t v = 0;

	for (int i = 0; p && i < size; i++) v = v << 8 | p[i];
	return v;
}

static inline int root_byte(struct root_bytes *b)
{
	return (int)root_number(b, 1);
}

static inline int root_int16(struct root_bytes *b)
{
	return (int16_t)root_number(b, 2);
}

static inline int32_t root_int32(struct root_bytes *b)
{
	return (int32_t)root_number(b, 4);
}

static inline int64_t root_int64(struct root_bytes *b)
{
	return (int64_t)root_number(b, 8);
}

/* A place in the file: of 8 bytes, or of 4 in files and keys that are small. */
static inline int64_t root_place(struct root_bytes *b, bool large)
{
	return large ? root_int64(b) : root_int32(b);
}

enum { ROOT_NAME = 128 }; /* bytes of a name that are kept, with the NUL behind them */

/* A length in a byte, or 255 and a length in four; of longer ones the beginning. */
static inline void root_text(struct root_bytes *b, char text[ROOT_NAME])
{
	int64_t n = root_byte(b);

	if (n == 255) n = root_int32(b);
	const uint8_t *p = root_take(b, n);
	size_t kept = p ? (size_t)(n < ROOT_NAME ? n : ROOT_NAME - 1) : 0;

	if (kept) memcpy(text, p, kept);
	text[kept] = '\0';
}

/* The head of an object, {count of the bytes behind the count, version}. */
struct root_object {
	int version;
	int64_t end; /* where the object ends */
};

#define ROOT_COUNTED 0x40000000u

static inline struct root_object root_begin(struct root_bytes *b)
{
	uint32_t count = (uint32_t)root_number(b, 4);
	struct root_object o = { .end = b->at + (count & ~ROOT_COUNTED) };

	if (!(count & ROOT_COUNTED) || o.end > b->n) b->bad = true;
	o.version = root_int16(b);
	return o;
}

static inline void root_skip_object(struct root_bytes *b)
{
	root_goto(b, root_begin(b).end);
}

/* The part that most objects begin with: version, number, bits; a referenced one has two bytes more. */
static inline void root_skip_base(struct root_bytes *b)
{
	enum { REFERENCED = 0x10 };

	root_skip(b, 2 + 4);
	if (root_number(b, 4) & REFERENCED) root_skip(b, 2);
}

/* A TNamed: its name, without the title. */
static inline void root_named(struct root_bytes *b, char name[ROOT_NAME])
{
	struct root_object o = root_begin(b);

	root_skip_base(b);
	root_text(b, name);
	root_goto(b, o.end);
}

#endif
