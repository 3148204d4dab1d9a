/* SPDX-License-Identifier: BSD-3-Clause */
/* Norms as normalisation files of CASToR: a header (.Cdh), and a record of each line (.Cdf): [attenuation float32, with the
   header's flag] [normalisation float32, with its flag] [crystal 1 uint32] [crystal 2 uint32]. Both factors divide, so that
   m = 1/(attenuation x normalisation). The file lists all lines of the sensitivity. */
#include "norm_castor.h"
#include "norm_own.h"

#include "core/size.h"
#include "file/in.h"
#include "file/out.h"
#include "file/suffix.h"
#include "io/events.h"
#include "text/keys.h"

#include <limits.h>
#include <string.h>

enum { RECORDS = 1 << 16, MOST_RECORD = 16 };

bool norm_castor_is(const char *path)
{
	return path && iso_has_suffix(path, ".Cdh");
}

/* ---- writing ---- */

/* Records of the pairs of one row with m > 0. Returns their bytes. */
static int64_t encode_row(uint8_t *to, const iso_norm *n, const struct norm_rows *rows, int64_t a,
                          struct norm_run *run)
{
	const int64_t runs = norm_rows_runs(run, rows, a);
	uint8_t *at = to;

	for (int64_t k = 0; k < runs; k++)
		for (int64_t b = run[k].b; b < run[k].b + run[k].n; b++) {
			const double m = iso_norm_pair(n, a, b);
			const uint32_t crystal[2] = { (uint32_t)a, (uint32_t)b };

			if (!(m > 0) || (rows->rings == 0 && !iso_scanner_in_coincidence(rows->s, a, b)))
				continue;
			memcpy(at, &(float){ (float)(1 / m) }, 4);
			memcpy(at + 4, crystal, sizeof crystal);
			at += 12;
		}
	return at - to;
}

static int write_records(struct iso_out *o, int64_t *lines, const iso_norm *n, const struct norm_rows *rows)
{
	struct norm_run *run = size_alloc(norm_rows_most(rows), sizeof *run);
	uint8_t *row = size_alloc(rows->n, 12);
	int st = run && row ? ISO_OK : iso_fail_memory("norm", rows->n * 12);

	*lines = 0;
	for (int64_t a = 0; a < rows->n && !st; a++) {
		const int64_t bytes = encode_row(row, n, rows, a, run);

		*lines += bytes / 12;
		st = iso_out_write(o, row, bytes);
	}
	free(run);
	free(row);
	return st ? st : iso_out_close(o);
}

static int write_header(struct iso_out *o, const iso_scanner *s, const char *data, int64_t lines)
{
	const int st = iso_out_print(o,
	                             "Scanner name: %s\nData filename: %s\nNumber of events: %" PRId64
	                             "\nData mode: normalization\nData type: PET\n"
	                             "Normalization correction flag: 1\n",
	                             iso_scanner_name(s), iso_base_name(data), lines);

	return st ? st : iso_out_close(o);
}

int iso_norm_write_castor(const char *path, const iso_norm *norm, const iso_scanner *s, bool force)
{
	struct iso_out out[2] = { 0 }, *order[] = { out + 1, out };
	struct norm_rows rows = { 0 };
	char data[PATH_MAX];
	int64_t lines;
	int st;

	if (!path || !norm || !s) return iso_fail_null(__func__);
	if (!norm_castor_is(path))
		return iso_fail(ISO_EARG, "%s: a norm of CASToR is written as NAME.Cdh", path);
	if (s->n != norm->n)
		return iso_fail(ISO_EARG, "norm: is of %" PRId64 " crystals, scanner %s has %" PRId64,
		                norm->n, s->name, s->n);
	if ((st = iso_events_partner(data, sizeof data, path, ".Cdf")) ||
	    (st = iso_out_check(path, NULL, force)) || (st = iso_out_check(data, path, force)) ||
	    (st = norm_rows_create(&rows, s)))
		return st;
	if (!(st = iso_out_open(out + 1, data, 0, ISO_OUT_PLAIN)) &&
	    !(st = write_records(out + 1, &lines, norm, &rows)) &&
	    !(st = iso_out_open(out, path, 0, ISO_OUT_PLAIN)) && !(st = write_header(out, s, data, lines)))
		st = iso_out_commit_all(2, order);
	iso_out_free(out);
	iso_out_free(out + 1);
	norm_rows_free(&rows);
	return st;
}

/* ---- reading ---- */

struct header {
	struct iso_keys keys;
	int64_t lines, max_lines;
	bool attenuation, normalisation;
	char data[PATH_MAX];
};

static int get_header(struct header *h)
{
	const struct iso_keys *k = &h->keys;
	const char *mode, *type, *data;
	int st;

	if ((st = iso_keys_need(&mode, k, "Data mode")) || (st = iso_keys_need(&type, k, "Data type")) ||
	    (st = iso_keys_need(&data, k, "Data filename")) ||
	    (st = iso_keys_beside(h->data, sizeof h->data, k, data)) ||
	    (st = iso_keys_int(&h->lines, k, "Number of events", 0, INT64_MAX / 32)) ||
	    (st = iso_keys_int(&h->max_lines, k, "Maximum number of lines per event", 1, 65535)) ||
	    (st = iso_keys_flag(&h->attenuation, k, "Attenuation correction flag")) ||
	    (st = iso_keys_flag(&h->normalisation, k, "Normalization correction flag")))
		return st;
	if (!iso_same_word(mode, "normalization") && !iso_same_word(mode, "norm"))
		return iso_refuse(k->path, "Data mode is '%.60s', a norm has normalization", mode);
	if (!iso_same_word(type, "PET"))
		return iso_refuse(k->path, "Data type is '%.60s', must be PET", type);
	if (h->max_lines != 1)
		return iso_refuse(k->path, "a norm of several lines a record is not supported");
	if (h->lines < 1) return iso_refuse(k->path, "key 'Number of events' is missing or 0");
	return ISO_OK;
}

/* m of a record's line, and its crystals. */
static double decode(uint32_t crystal[2], const uint8_t *record, const struct header *h)
{
	double factor = 1;
	float v;

	for (int i = 0; i < h->attenuation + h->normalisation; i++, record += 4) {
		memcpy(&v, record, sizeof v);
		factor *= (double)v;
	}
	memcpy(crystal, record, 2 * sizeof *crystal);
	return 1 / factor;
}

static int take_record(float *m, const uint8_t *record, const struct header *h, const iso_scanner *s,
                       int64_t i)
{
	uint32_t c[2];
	const double v = decode(c, record, h);

	if (c[0] >= s->n || c[1] >= s->n)
		return iso_refuse(h->data, "line %" PRId64 ": crystals %u and %u, scanner %s has %" PRId64, i,
		                  c[0], c[1], s->name, s->n);
	if (!(v > 0) || !isfinite(v) || !((float)v > 0))
		return iso_refuse(h->data, "line %" PRId64 ": its factors multiply to %g, must be above 0", i,
		                  1 / v);
	if (!iso_scanner_in_coincidence(s, c[0], c[1]))
		return iso_refuse(h->data, "line %" PRId64 ": crystals %u and %u are no pair of scanner %s",
		                  i, c[0], c[1], s->name);
	if (m[c[0] * s->n + c[1]] > 0)
		return iso_refuse(h->data, "line %" PRId64 ": crystals %u and %u come a second time", i, c[0],
		                  c[1]);
	m[c[0] * s->n + c[1]] = m[c[1] * s->n + c[0]] = (float)v;
	return ISO_OK;
}

static int read_records(float *m, const struct header *h, const iso_scanner *s)
{
	const int64_t record = 8 + 4 * (h->attenuation + h->normalisation);
	uint8_t *block = size_alloc(RECORDS, MOST_RECORD);
	struct iso_in in = { 0 };
	int st = block ? iso_in_open(&in, h->data, false) : iso_fail_memory(h->data, RECORDS * MOST_RECORD);

	if (!st) st = iso_in_expect(&in, h->lines * record);
	for (int64_t i = 0; i < h->lines && !st; i += RECORDS) {
		const int64_t n = h->lines - i < RECORDS ? h->lines - i : RECORDS;

		st = iso_in_read(&in, block, n * record);
		for (int64_t j = 0; j < n && !st; j++) st = take_record(m, block + j * record, h, s, i + j);
	}
	if (!st) st = iso_in_end(&in);
	iso_in_close(&in);
	free(block);
	return st;
}

/* One module that holds all crystals, whose table has every two of them. */
static int table_of(struct iso_efficiencies **e, float **m, int64_t n)
{
	struct iso_efficiencies *t = calloc(1, sizeof *t);
	int32_t *group = calloc(1, sizeof *group);

	*m = size_alloc(n * n, sizeof **m);
	if (!t || !group || !*m) {
		free(t);
		free(group);
		free(*m);
		return iso_fail_memory("norm", n * n * (int64_t)sizeof **m);
	}
	t->kinds = 1;
	t->kind[0] = (struct iso_module_kind){ .modules = 1, .elements = n, .windows = 1 };
	t->groups = 1;
	t->group = group;
	t->values = n * n;
	t->value = *m;
	t->scale = 1;
	*e = t;
	return ISO_OK;
}

int norm_castor_to_scanner(bool *attenuated, iso_scanner *s, const char *path)
{
	struct header h = { .max_lines = 1 };
	struct iso_efficiencies *e = NULL;
	float *m;
	int st = iso_keys_read(&h.keys, path);

	if (!st && !(st = get_header(&h)) && !(st = table_of(&e, &m, s->n)) &&
	    !(st = read_records(m, &h, s))) {
		for (int64_t i = 0; i < e->values; i++) e->most = fmax(e->most, (double)m[i]);
		iso_efficiencies_free(s->efficiencies);
		s->efficiencies = e;
		*attenuated = h.attenuation;
	} else {
		iso_efficiencies_free(e);
	}
	iso_keys_free(&h.keys);
	return st;
}
