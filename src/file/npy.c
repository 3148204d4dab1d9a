/* SPDX-License-Identifier: BSD-3-Clause */
/* NumPy .npy: magic, version, length, a Python dict as text, then the elements; pieces and tables. */
#include "npy.h"
#include "mat.h"
#include "suffix.h"
#include "core/size.h"
#include "core/status.h"

#include <math.h>
#include <string.h>

static const char magic[6] = { '\x93', 'N', 'U', 'M', 'P', 'Y' };

enum { HEADER_MOST = 1 << 20 };

/* The dict, read from left to right. */
struct scan {
	const char *path, *start, *at, *end;
	char descr[16];
	bool records; /* are welcome */
};

static int fail_at(const struct scan *s, const char *wanted)
{
	return iso_refuse(s->path, "header, byte %d: expected %s", (int)(s->at - s->start), wanted);
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

/* '<f4', '|u1', '|b1' */
static bool take_real(struct iso_element *e, const char *d)
{
	if (!d[0] || !strchr("<>|=", d[0]) || strlen(d) != 3) return false;
	*e = (struct iso_element){ strcmp(d, "|b1") == 0 ? 'u' : d[1], d[2] - '0', d[0] == '>' };
	return iso_element_known(*e) && (d[0] != '|' || e->size == 1);
}

/* A type of a field; of what is no number that we know, "|S12", "<M8[ms]", its size. */
static bool take_type(struct iso_element *e, const char *d)
{
	int n = 0;

	if (take_real(e, d)) return true;
	if (!d[0] || !strchr("<>|=", d[0]) || !d[1] || !strchr("SUVMmcfiub", d[1])) return false;
	for (d += 2; *d >= '0' && *d <= '9' && n < ISO_NPY_RECORD; d++) n = 10 * n + *d - '0';
	*e = (struct iso_element){ 0, n, false };
	return *d == '\0' || *d == '[';
}

/* (n,), (n, m), ...: how many numbers */
static bool take_counts(struct scan *s, int *n)
{
	int64_t all = 1, size;

	if (!take(s, '(')) return false;
	while (!take(s, ')')) {
		if (!take_size(s, &size) || !size_mul(&all, all, size) || all > ISO_NPY_RECORD) return false;
		take(s, ',');
	}
	*n = (int)all;
	return true;
}

/* ('name', '<f4'), ('name', '<f4', (3,)) or (('title', 'name'), '<f4') */
static bool take_field(struct scan *s, struct iso_npy_field *f)
{
	char type[24];
	bool titled;

	if (!take(s, '(')) return false;
	titled = take(s, '(');
	if (titled && !(take_string(s, f->name, sizeof f->name) && take(s, ','))) return false;
	if (!take_string(s, f->name, sizeof f->name) || (titled && !take(s, ')')) || !take(s, ',') ||
	    !take_string(s, type, sizeof type) || !take_type(&f->element, type))
		return false;
	if (type[1] == 'U') f->element.size *= 4; /* letters */
	f->n = 1;
	return !take(s, ',') || take_counts(s, &f->n) ? take(s, ')') : false;
}

/* [('x', '<f4'), ('', '|V4'), ...]; a field without a name is padding. */
static int scan_fields(struct scan *s, struct iso_npy *h)
{
	int64_t at = 0;

	if (!s->records) return iso_refuse(s->path, "holds records, plain numbers were expected");
	take(s, '[');
	while (!take(s, ']')) {
		struct iso_npy_field *f = &h->field[h->n_fields];

		if (h->n_fields == ISO_NPY_FIELDS)
			return iso_refuse(s->path, "more than %d fields", ISO_NPY_FIELDS);
		if (!take_field(s, f)) return fail_at(s, "a field such as ('x1', '<f4')");
		f->at = (int)at;
		at += (int64_t)f->n * f->element.size;
		if (at > ISO_NPY_RECORD)
			return iso_refuse(s->path, "records of more than %d bytes", ISO_NPY_RECORD);
		h->n_fields += f->name[0] != '\0';
		if (!take(s, ',') && peek(s) != ']') return fail_at(s, "',' or ']'");
	}
	h->element = (struct iso_element){ 0, (int)at, false };
	return h->n_fields > 0 && at > 0 ? ISO_OK : iso_refuse(s->path, "records without fields");
}

static int scan_descr(struct scan *s, struct iso_npy *h)
{
	if (peek(s) == '[') return scan_fields(s, h);
	return take_string(s, s->descr, sizeof s->descr) ? ISO_OK : fail_at(s, "a type such as '<f4'");
}

static int scan_order(struct scan *s, struct iso_npy *h)
{
	h->fortran = take_word(s, "True");
	return h->fortran || take_word(s, "False") ? ISO_OK : fail_at(s, "True or False");
}

/* (), (5,), (2, 3) or (2, 3,) */
static int scan_shape(struct scan *s, struct iso_npy *h)
{
	bool comma = true;

	if (!take(s, '(')) return fail_at(s, "a shape in parentheses");
	while (!take(s, ')')) {
		if (h->n_dim == 8) return iso_refuse(s->path, "more than 8 axes");
		if (!comma || !take_size(s, &h->dim[h->n_dim])) return fail_at(s, "a size that 64 bits hold");
		h->n_dim++;
		comma = take(s, ',');
	}
	return h->n_dim == 1 && !comma ? fail_at(s, "a comma in a shape of one axis") : ISO_OK;
}

static int scan_dict(struct scan *s, struct iso_npy *h)
{
	static const struct {
		const char *name;
		int (*scan)(struct scan *s, struct iso_npy *h);
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

/* '<c8' and '<c16' are pairs of floats: one axis more. */
static bool take_complex(struct iso_npy *h, const char *d)
{
	h->complex = d[0] && strchr("<>=", d[0]) && (!strcmp(d + 1, "c8") || !strcmp(d + 1, "c16"));
	if (!h->complex || h->n_dim > 7) return false;
	h->element = (struct iso_element){ 'f', d[2] == '8' ? 4 : 8, d[0] == '>' };
	h->dim[h->n_dim++] = 2;
	return true;
}

/* The dict, and what it says of elements and sizes. */
static int take_header(struct iso_npy *h, struct scan s, bool pairs)
{
	int st = scan_dict(&s, h);

	if (st) return st;
	if (h->n_dim == 0) h->dim[h->n_dim++] = 1; /* a single number */
	if (!h->n_fields && (take_complex(h, s.descr) ? !pairs : !take_real(&h->element, s.descr)))
		return iso_refuse(s.path,
		                  "%selements of type '%s', expected integers or floats of 4 or 8 bytes",
		                  h->complex ? "complex " : "", s.descr);
	if (!size_product(&h->bytes, h->n_dim, h->dim) || !size_mul(&h->bytes, h->bytes, h->element.size) ||
	    h->bytes > INT64_MAX / 16)
		return iso_refuse(s.path, "its shape has more elements than 64 bits count");
	return h->bytes > 0 ? ISO_OK : iso_refuse(s.path, "an axis of size 0, the array is empty");
}

/* The bytes before the length of the dict. */
static int check_lead(const unsigned char lead[8], const char *path)
{
	if (memcmp(lead, magic, sizeof magic) != 0)
		return iso_refuse(path, "not a .npy file: its first bytes are others");
	if (lead[6] < 1 || lead[6] > 3 || lead[7] != 0)
		return iso_refuse(path, ".npy version %d.%d, known are 1.0, 2.0, 3.0", lead[6], lead[7]);
	return ISO_OK;
}

int iso_npy_parse(struct iso_npy *npy, int64_t *at, const uint8_t *bytes, int64_t n, const char *path)
{
	uint32_t size = 0;
	int64_t from = n >= 12 ? (bytes[6] == 1 ? 10 : 12) : 0;
	int st = from ? check_lead(bytes, path) : iso_refuse(path, "an array of %" PRId64 " bytes", n);

	if (st) return st;
	memcpy(&size, bytes + 8, (size_t)(from - 8));
	if (size > HEADER_MOST || size > n - from)
		return iso_refuse(path, "header of %" PRIu32 " bytes in an array of %" PRId64, size, n);
	const char *text = (const char *)bytes + from;

	*npy = (struct iso_npy){ 0 };
	*at = from + size;
	return take_header(npy, (struct scan){ path, text, text, text + size, "", false }, false);
}

/* Everything before the data. */
static int read_header(struct iso_npy *h, struct iso_in *in, bool pairs, bool records)
{
	unsigned char lead[8];
	uint32_t size = 0; /* its upper half stays 0 in version 1 */
	char *text;
	int st = iso_in_read(in, lead, sizeof lead);

	if (st) return st;
	if ((st = check_lead(lead, in->path))) return st;
	if ((st = iso_in_read(in, &size, lead[6] == 1 ? 2 : 4))) return st;
	if (size > HEADER_MOST || size > in->size - in->at)
		return iso_refuse(in->path,
		                  "header of %" PRIu32 " bytes in a file of %" PRId64 " (at most %d)", size,
		                  in->size, HEADER_MOST);
	text = size_alloc(size, 1);
	if (!text) return iso_fail_memory(in->path, size);
	st = iso_in_read(in, text, size);
	if (!st) st = take_header(h, (struct scan){ in->path, text, text, text + size, "", records }, pairs);
	free(text);
	return st;
}

static int open_npy(struct iso_npy *npy, struct iso_in *in, const char *path, bool pairs, bool records)
{
	struct iso_npy h = { 0 };
	int st = iso_in_open(in, path, false);

	if (st) return st;
	if (!(st = read_header(&h, in, pairs, records))) st = iso_in_expect(in, in->at + h.bytes);
	if (st)
		iso_in_close(in);
	else
		*npy = h;
	return st;
}

int iso_npy_open(struct iso_npy *npy, struct iso_in *in, const char *path, bool pairs)
{
	return open_npy(npy, in, path, pairs, false);
}

int iso_npy_open_records(struct iso_npy *npy, struct iso_in *in, const char *path)
{
	return open_npy(npy, in, path, false, true);
}

int iso_npy_rows(const struct iso_npy *npy, const char *path)
{
	if (!npy->fortran || npy->dim[0] == 1) return ISO_OK;
	return iso_refuse(path, "stored column by column (Fortran order), events need rows: save "
	                        "numpy.ascontiguousarray of it");
}

/* ---- a piece ---- */

int iso_npy_count(int64_t *n, const char *path)
{
	struct iso_npy h;
	struct iso_in in;
	int st = iso_npy_open(&h, &in, path, false);

	if (st) return st;
	iso_in_close(&in);
	*n = h.fortran && h.n_dim > 1 ? 0 : h.bytes / h.element.size;
	return ISO_OK;
}

int iso_npy_piece(iso_real *dst, const char *path, int64_t first, int64_t n)
{
	struct iso_npy h;
	struct iso_in in;
	int st = iso_npy_open(&h, &in, path, false);

	if (st) return st;
	int64_t all = h.bytes / h.element.size;

	if (first < 0 || n < 0 || first > all - n)
		st = iso_refuse(path, "elements %" PRId64 " to %" PRId64 " asked for, it has %" PRId64, first,
		                first + n - 1, all);
	else if (!(st = iso_in_seek(&in, in.at + first * h.element.size)))
		st = iso_elements_read(dst, n, &in, h.element);
	iso_in_close(&in);
	return st;
}

/* ---- a table ---- */

/* Element (i, j), which Fortran order stores at j rows + i. */
static int convert(double *v, const uint8_t *raw, const struct iso_npy *h, int columns, const char *path)
{
	int64_t rows = h->dim[0];

	for (int64_t k = 0; k < rows * columns; k++) {
		int64_t i = k / columns, j = k % columns, at = h->fortran ? j * rows + i : k;

		v[k] = iso_element_get(raw + at * h->element.size, h->element);
		if (!isfinite(v[k]))
			return iso_refuse(path, "value %d of row %" PRId64 " is not finite", (int)j, i);
	}
	return ISO_OK;
}

int iso_table_read(double **v, int64_t *rows, int columns, const char *path)
{
	if (iso_has_suffix(path, ".mat")) return iso_mat_table(v, rows, columns, path);
	struct iso_npy h;
	struct iso_in in;
	uint8_t *raw = NULL;
	double *table = NULL;
	int st = iso_npy_open(&h, &in, path, false);

	if (st) return st;
	if (!(columns == 1 && h.n_dim == 1) && (h.n_dim != 2 || h.dim[1] != columns))
		st = iso_refuse(path, "an array of %d axes, the last of %" PRId64 " values; must be (n, %d)",
		                h.n_dim, h.dim[h.n_dim - 1], columns);
	else if (!(raw = size_alloc(h.bytes, 1)) ||
	         !(table = size_alloc(h.dim[0], columns * (int64_t)sizeof *table)))
		st = iso_fail_memory(path, h.bytes);
	else if (!(st = iso_in_read(&in, raw, h.bytes)))
		st = convert(table, raw, &h, columns, path);
	iso_in_close(&in);
	free(raw);
	if (st) {
		free(table);
		return st;
	}
	*v = table;
	*rows = h.dim[0];
	return ISO_OK;
}

/* ---- writing ---- */

/* Version 1.0; spaces and a newline round the preamble up to a multiple of 64. */
int iso_npy_lead(char head[ISO_NPY_LEAD], char kind, int size, int n_dim, const int64_t *dim)
{
	int n = 10, whole;

	memcpy(head, magic, sizeof magic);
	n += sprintf(head + n, "{'descr': '%c%c%d', 'fortran_order': False, 'shape': (", size > 1 ? '<' : '|',
	             kind, size);
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

enum { ROWS_LEAD = 128 }; /* of any number of rows */

int iso_npy_begin_rows(struct iso_out *o)
{
	static const char lead[ROWS_LEAD];

	return iso_out_write(o, lead, ROWS_LEAD);
}

int iso_npy_end_rows(struct iso_out *o, int64_t n, int columns)
{
	char lead[ISO_NPY_LEAD];
	int bytes = iso_npy_lead(lead, 'f', sizeof(float), 2, (const int64_t[]){ n, columns });

	if (bytes != ROWS_LEAD) return iso_fail(ISO_EIO, "%s: preamble of %d bytes", o->path, bytes);
	return iso_write_at(o->path, o->fd, lead, bytes, 0);
}

int iso_npy_bytes(const char *path, const uint8_t *v, int64_t n)
{
	char head[ISO_NPY_LEAD];
	int lead = iso_npy_lead(head, 'u', 1, 1, &n);
	struct iso_out o = { 0 };
	int st = iso_out_open(&o, path, lead + n, ISO_OUT_PLAIN);

	if (!st && !(st = iso_out_write(&o, head, lead)) && !(st = iso_out_write(&o, v, n)) &&
	    !(st = iso_out_close(&o)))
		st = iso_out_commit(&o);
	iso_out_free(&o);
	return st;
}
