/* SPDX-License-Identifier: BSD-3-Clause */
/* NumPy .npy: magic, version, length, a Python dict as text, then the elements; pieces of them. */
#include "npy.h"
#include "core/size.h"
#include "core/status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char magic[6] = { '\x93', 'N', 'U', 'M', 'P', 'Y' };

enum { HEADER_MOST = 1 << 20 };

/* The dict, read from left to right. */
struct scan {
	const char *path, *start, *at, *end;
};

struct header {
	char descr[16];
	bool fortran;
	int n_dim;
	int64_t dim[8];
};

static int fail_at(const struct scan *s, const char *wanted)
{
	return iso_fail(ISO_EINPUT, "%s: header, byte %d: expected %s", s->path, (int)(s->at - s->start),
	                wanted);
}

static char peek(struct scan *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\n')) s->at++;
	return s->at < s->end ? *s->at : '\0';
}

static bool take(struct scan *s, char c)
{
	if (peek(s) != c || s->at == s->end) return false;
	s->at++;
	return true;
}

/* Between quotes of one kind; without escapes, which no such name needs. */
static bool take_string(struct scan *s, char *text, size_t size)
{
	char quote = peek(s);
	size_t n = 0;

	if (quote != '\'' && quote != '"') return false;
	for (s->at++; s->at < s->end && *s->at != quote && n + 1 < size; s->at++) text[n++] = *s->at;
	text[n] = '\0';
	return s->at < s->end && *s->at++ == quote;
}

static bool take_word(struct scan *s, const char *word)
{
	size_t n = strlen(word);

	peek(s);
	if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0) return false;
	s->at += n;
	return true;
}

static bool take_size(struct scan *s, int64_t *size)
{
	const char *digits = (peek(s), s->at);

	for (*size = 0; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++)
		if (!size_mul(size, *size, 10) || !size_add(size, *size, *s->at - '0')) return false;
	return s->at > digits;
}

static int scan_descr(struct scan *s, struct header *h)
{
	if (peek(s) == '[')
		return iso_fail(ISO_EINPUT, "%s: holds records, plain numbers were expected", s->path);
	if (!take_string(s, h->descr, sizeof h->descr)) return fail_at(s, "a type such as '<f4'");
	return ISO_OK;
}

static int scan_order(struct scan *s, struct header *h)
{
	h->fortran = take_word(s, "True");
	if (!h->fortran && !take_word(s, "False")) return fail_at(s, "True or False");
	return ISO_OK;
}

/* (), (5,), (2, 3) or (2, 3,) */
static int scan_shape(struct scan *s, struct header *h)
{
	bool comma = true;

	if (!take(s, '(')) return fail_at(s, "a shape in parentheses");
	while (!take(s, ')')) {
		if (h->n_dim == 8) return iso_fail(ISO_EINPUT, "%s: more than 8 axes", s->path);
		if (!comma || !take_size(s, &h->dim[h->n_dim])) return fail_at(s, "a size that 64 bits hold");
		h->n_dim++;
		comma = take(s, ',');
	}
	return h->n_dim == 1 && !comma ? fail_at(s, "a comma in a shape of one axis") : ISO_OK;
}

static int scan_dict(struct scan *s, struct header *h)
{
	static const struct {
		const char *name;
		int (*scan)(struct scan *s, struct header *h);
	} keys[3] = { { "descr", scan_descr }, { "fortran_order", scan_order }, { "shape", scan_shape } };
	bool seen[3] = { false };
	char name[16];

	if (!take(s, '{')) return fail_at(s, "'{'");
	for (int n = 0; n < 3; n++) {
		int k = 0, st;

		if (!take_string(s, name, sizeof name))
			return fail_at(s, "the keys descr, fortran_order and shape");
		while (k < 3 && strcmp(name, keys[k].name) != 0) k++;
		if (k == 3 || seen[k])
			return fail_at(s, "the keys descr, fortran_order and shape, once each");
		if (!take(s, ':')) return fail_at(s, "':'");
		if ((st = keys[k].scan(s, h))) return st;
		seen[k] = true;
		if (!take(s, ',') && n < 2) return fail_at(s, "','");
	}
	if (!take(s, '}')) return fail_at(s, "'}'");
	peek(s);
	return s->at == s->end ? ISO_OK : fail_at(s, "nothing but spaces after the '}'");
}

/* Everything before the data. */
static int read_header(struct header *h, struct iso_in *in)
{
	unsigned char lead[8];
	uint32_t size = 0; /* its upper half stays 0 in version 1 */
	char *text;
	int st = iso_in_read(in, lead, sizeof lead);

	if (st) return st;
	if (memcmp(lead, magic, sizeof magic) != 0)
		return iso_fail(ISO_EINPUT, "%s: not a .npy file: its first bytes are others", in->path);
	if (lead[6] < 1 || lead[6] > 3 || lead[7] != 0)
		return iso_fail(ISO_EINPUT, "%s: .npy version %d.%d, known are 1.0, 2.0 and 3.0", in->path,
		                lead[6], lead[7]);
	if ((st = iso_in_read(in, &size, lead[6] == 1 ? 2 : 4))) return st;
	if (size > HEADER_MOST || size > in->size - in->at)
		return iso_fail(ISO_EINPUT,
		                "%s: header of %" PRIu32 " bytes in a file of %" PRId64 " (at most %d)",
		                in->path, size, in->size, HEADER_MOST);
	text = size_alloc(size, 1);
	if (!text) return iso_fail_memory(in->path, size);
	st = iso_in_read(in, text, size);
	if (!st) st = scan_dict(&(struct scan){ in->path, text, text, text + size }, h);
	free(text);
	return st;
}

static bool is_complex(const char *d)
{
	return d[0] != '\0' && strchr("<>=", d[0]) && (!strcmp(d + 1, "c8") || !strcmp(d + 1, "c16"));
}

/* '<c8' and '<c16' are pairs of floats: one axis more. */
static bool take_complex(struct iso_npy *r, struct header *h)
{
	const char *d = h->descr;

	if (!is_complex(d) || h->n_dim > 7) return false;
	r->element = (struct iso_element){ 'f', d[2] == '8' ? 4 : 8, d[0] == '>' };
	r->complex = true;
	h->dim[h->n_dim++] = 2;
	return true;
}

/* '<f4', '|u1', '|b1' */
static int get_element(struct iso_element *e, const struct header *h, const char *path)
{
	const char *d = h->descr;
	bool marked = d[0] != '\0' && strchr("<>|=", d[0]) && strlen(d) == 3;

	if (marked) {
		e->big_endian = d[0] == '>';
		e->kind = strcmp(d, "|b1") == 0 ? 'u' : d[1];
		e->size = d[2] - '0';
	}
	if (!marked || !iso_element_known(*e) || (d[0] == '|' && e->size > 1))
		return iso_fail(ISO_EINPUT,
		                "%s: %selements of type '%s', expected integers or floats of "
		                "4 or 8 bytes",
		                path, is_complex(d) ? "complex " : "", d);
	return ISO_OK;
}

static int get_bytes(int64_t *bytes, const struct header *h, int size, const char *path)
{
	if (!size_product(bytes, h->n_dim, h->dim) || !size_mul(bytes, *bytes, size) ||
	    *bytes > INT64_MAX / 16)
		return iso_fail(ISO_EINPUT, "%s: its shape has more elements than 64 bits count", path);
	if (*bytes == 0) return iso_fail(ISO_EINPUT, "%s: an axis of size 0, the array is empty", path);
	return ISO_OK;
}

int iso_npy_head(struct iso_npy *npy, struct iso_in *in, bool pairs)
{
	struct header h = { 0 };
	struct iso_npy r = { 0 };
	int st;

	if ((st = read_header(&h, in))) return st;
	if (h.n_dim == 0) /* a single number */
		h.dim[h.n_dim++] = 1;
	if (!(pairs && take_complex(&r, &h)) && (st = get_element(&r.element, &h, in->path))) return st;
	if ((st = get_bytes(&r.bytes, &h, r.element.size, in->path))) return st;
	if ((st = iso_in_expect(in, in->at + r.bytes))) return st;
	r.fortran = h.fortran;
	r.n_dim = h.n_dim;
	memcpy(r.dim, h.dim, sizeof r.dim);
	*npy = r;
	return ISO_OK;
}

/* ---- a piece ---- */

int iso_npy_count(int64_t *n, const char *path)
{
	struct iso_npy h;
	struct iso_in in;
	int st = iso_in_open(&in, path, false);

	if (st) return st;
	st = iso_npy_head(&h, &in, false);
	iso_in_close(&in);
	if (!st) *n = h.fortran && h.n_dim > 1 ? 0 : h.bytes / h.element.size;
	return st;
}

static int read_piece(iso_real *dst, struct iso_in *in, int64_t first, int64_t n)
{
	struct iso_array part = { .n_dim = 1, .dim = { n }, .n = n, .v = dst };
	struct iso_layout l = { 0 };
	struct iso_npy h;
	int st = iso_npy_head(&h, in, false);

	if (st) return st;
	if (first < 0 || n < 0 || first > h.bytes / h.element.size - n)
		return iso_fail(ISO_EINPUT,
		                "%s: elements %" PRId64 " to %" PRId64 " asked for, it has %" PRId64,
		                in->path, first, first + n - 1, h.bytes / h.element.size);
	in->at += first * h.element.size;
	if (lseek(in->fd, in->at, SEEK_SET) < 0)
		return iso_fail(ISO_EIO, "%s: can't read: %s", in->path, strerror(errno));
	l.element = h.element;
	iso_layout_c(&l, &part);
	return iso_layout_read(&part, in, &l);
}

int iso_npy_piece(iso_real *dst, const char *path, int64_t first, int64_t n)
{
	struct iso_in in;
	int st = iso_in_open(&in, path, false);

	if (st) return st;
	st = read_piece(dst, &in, first, n);
	iso_in_close(&in);
	return st;
}

/* Version 1.0; spaces and a newline round the preamble up to a multiple of 64. */
int iso_npy_lead(char head[ISO_NPY_LEAD], int size, int n_dim, const int64_t *dim)
{
	int n = 10, whole;

	memcpy(head, magic, sizeof magic);
	n += sprintf(head + n, "{'descr': '<f%d', 'fortran_order': False, 'shape': (", size);
	for (int i = 0; i < n_dim; i++) n += sprintf(head + n, "%s%" PRId64, i ? ", " : "", dim[i]);
	n += sprintf(head + n, "%s), }", n_dim == 1 ? "," : "");
	whole = (n + 1 + 63) / 64 * 64;
	memset(head + n, ' ', (size_t)(whole - n));
	head[whole - 1] = '\n';
	head[6] = 1;
	head[7] = 0;
	head[8] = (char)((whole - 10) & 255);
	head[9] = (char)((whole - 10) >> 8);
	return whole;
}
