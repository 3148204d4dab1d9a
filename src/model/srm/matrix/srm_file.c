/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of a system matrix: a head of 64 bytes, a JSON text that says what it is and where its
   sections lie, and the sections, little-endian, each from a multiple of 64 bytes on, each with its
   checksum (XXH3, 64 bits):

	head      "ISOSRM\r\n", version, bytes of the text, bytes of the whole file, checksum of the
	          text; all else 0
	sens      (columns, 4) float64: recorded, usable, kept, lost share
	ptr       columns + 1 int64: where the elements of a folded column begin
	at        uint32 an element: its two crystals, as srm_position numbers them
	weight    float32 an element
	classes   (classes, 4) uint64: coincidences, keys, bytes, 0
	counts    the packed lists of the classes, one after the other; absent if final */
#include "srm_file.h"
#include "text/json_file.h"
#include "file/out.h"
#include "core/size.h"
#include "io/format.h"
#include "file/in.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static const char magic[8] = { 'I', 'S', 'O', 'S', 'R', 'M', '\r', '\n' };

enum { VERSION = 1, ALIGN = 64, JSON_MOST = 1 << 20 };

struct head {
	char magic[8];
	uint32_t version, reserved;
	int64_t json_bytes, file_bytes;
	uint64_t json_sum;
	uint64_t zero[3];
};

enum { SENS, PTR, AT, WEIGHT, CLASSES, COUNTS, SECTIONS };
static const char *const section_names[SECTIONS] = { "sens", "ptr", "at", "weight", "classes", "counts" };

/* From the end of the text on, rounded up. */
struct section {
	const void *v;
	int64_t offset, bytes;
	uint64_t sum;
};

static int64_t align(int64_t n)
{
	return (n + ALIGN - 1) / ALIGN * ALIGN;
}

/* ---- writing ---- */

struct content {
	struct section section[SECTIONS];
	float *weight;
	uint64_t (*classes)[4];
	uint8_t *counts;
};

static void free_content(struct content *c)
{
	free(c->weight);
	free(c->classes);
	free(c->counts);
}

static int pack_counts(struct content *c, const iso_srm *m)
{
	int64_t bytes = 0;

	for (int i = 0; i < m->n_class; i++) bytes += m->class_of[i].list.bytes;
	c->classes = size_alloc(m->n_class, sizeof *c->classes);
	c->counts = size_alloc(bytes, 1);
	if (!c->classes || !c->counts) return iso_fail_memory("srm: counts", bytes);
	bytes = 0;
	for (int i = 0; i < m->n_class; i++) {
		const struct srm_class *k = &m->class_of[i];

		c->classes[i][0] = k->recorded;
		c->classes[i][1] = (uint64_t)k->list.n;
		c->classes[i][2] = (uint64_t)k->list.bytes;
		if (k->list.bytes > 0) memcpy(c->counts + bytes, k->list.v, (size_t)k->list.bytes);
		bytes += k->list.bytes;
	}
	c->section[CLASSES] = (struct section){ c->classes, 0, m->n_class * (int64_t)sizeof *c->classes, 0 };
	c->section[COUNTS] = (struct section){ c->counts, 0, bytes, 0 };
	return ISO_OK;
}

static int collect(struct content *c, const iso_srm *m, bool final)
{
	int64_t at = 0;
	int st;

	c->weight = size_alloc(m->n, sizeof *c->weight);
	if (!c->weight) return iso_fail_memory("srm: weights", m->n * (int64_t)sizeof *c->weight);
	for (int64_t i = 0; i < m->n; i++) c->weight[i] = (float)m->w[i];
	c->section[SENS] = (struct section){ m->sens, 0, m->n_column * (int64_t)sizeof *m->sens, 0 };
	c->section[PTR] = (struct section){ m->ptr, 0, (m->n_column + 1) * (int64_t)sizeof *m->ptr, 0 };
	c->section[AT] = (struct section){ m->at, 0, m->n * (int64_t)sizeof *m->at, 0 };
	c->section[WEIGHT] = (struct section){ c->weight, 0, m->n * (int64_t)sizeof *c->weight, 0 };
	if (!final && (st = pack_counts(c, m))) return st;
	for (int i = 0; i < SECTIONS; i++) {
		struct section *s = &c->section[i];

		s->offset = at;
		s->sum = s->v ? XXH3_64bits(s->v, (size_t)s->bytes) : 0;
		at = align(at + s->bytes);
	}
	return ISO_OK;
}

static json_t *sections_json(const struct content *c)
{
	json_t *list = json_array();
	int bad = 0;

	for (int i = 0; i < SECTIONS; i++)
		if (c->section[i].v)
			bad |= json_array_append_new(
				list, json_pack("{s:s, s:I, s:I, s:o}", "name", section_names[i], "offset",
			                        (json_int_t)c->section[i].offset, "bytes",
			                        (json_int_t)c->section[i].bytes, "xxh3",
			                        json_sprintf("%016" PRIx64, c->section[i].sum)));
	if (!bad) return list;
	json_decref(list);
	return NULL;
}

static int64_t data_bytes(const struct content *c)
{
	int64_t end = 0;

	for (int i = 0; i < SECTIONS; i++)
		if (c->section[i].v) end = c->section[i].offset + c->section[i].bytes;
	return end;
}

static int make_text(char **text, const struct content *c, const iso_srm *m, const char *command)
{
	json_t *root = iso_srm_header(m, command);
	int bad = json_object_set_new(root, "sections", sections_json(c));

	*text = bad ? NULL : iso_json_text(root, JSON_INDENT(1));
	json_decref(root);
	return *text ? ISO_OK : iso_fail_memory("srm: header", 0);
}

static int pad_to(struct iso_out *o, int64_t *at, int64_t to)
{
	static const char zero[ALIGN];
	int st = iso_out_write(o, zero, to - *at);

	*at = to;
	return st;
}

static int write_all(struct iso_out *o, const struct head *h, const char *text, const struct content *c)
{
	int64_t at = (int64_t)sizeof *h + h->json_bytes, data = align(at);
	int st;

	if ((st = iso_out_write(o, h, sizeof *h)) || (st = iso_out_write(o, text, h->json_bytes))) return st;
	for (int i = 0; i < SECTIONS && !st; i++) {
		const struct section *s = &c->section[i];

		if (!s->v) continue;
		if (!(st = pad_to(o, &at, data + s->offset))) st = iso_out_write(o, s->v, s->bytes);
		at += s->bytes;
	}
	return st;
}

int iso_srm_write(const char *path, const iso_srm *m, bool final, const char *command, const char *sidecar)
{
	if (!path || !m) return iso_fail_null(__func__);
	struct iso_out o = { .fd = -1 };
	struct content c = { 0 };
	char *text = NULL;
	struct head h = { .version = VERSION };
	int st;

	if (!m->ptr) return iso_fail(ISO_EARG, "%s: no table to write yet", path);
	if (m->n == 0)
		return iso_fail(ISO_EARG,
		                "%s: the matrix has no elements: no pair of photons was recorded, or the "
		                "bound on the weights leaves none",
		                path);
	if ((st = collect(&c, m, final || !m->has_counts))) goto done;
	if ((st = make_text(&text, &c, m, command))) goto done;
	memcpy(h.magic, magic, sizeof magic);
	h.json_bytes = (int64_t)strlen(text);
	h.json_sum = XXH3_64bits(text, (size_t)h.json_bytes);
	h.file_bytes = align((int64_t)sizeof h + h.json_bytes) + data_bytes(&c);
	if ((st = iso_out_open(&o, path, h.file_bytes, false))) goto done;
	if (!(st = write_all(&o, &h, text, &c))) st = iso_target_finish(&o, sidecar);
done:
	iso_out_free(&o);
	free_content(&c);
	free(text);
	return st;
}

int iso_srm_write_check(const char *path, bool force)
{
	if (!path) return iso_fail_null(__func__);
	if (!iso_has_suffix(path, ".srm"))
		return iso_fail(ISO_EARG, "%s: a system matrix is a .srm file", path);
	return iso_target_check(path, force);
}

/* ---- reading ---- */

struct reader {
	struct iso_in in;
	const char *path;
	int64_t data; /* where sections begin */
	json_t *root;
	struct section section[SECTIONS];
};

/* What of the file is wanted: the columns alone, also their elements, also the counts. */
enum part { COLUMNS_ALONE, TABLE_ALONE, ALL_PARTS };

static int damaged(const char *path, const char *what)
{
	return iso_fail(ISO_EINPUT, "%s: %s", path, what);
}

static int read_head(struct head *h, struct reader *r)
{
	int st;

	if (r->in.size < (int64_t)sizeof *h) return damaged(r->path, "too short for a system matrix");
	if ((st = iso_in_read(&r->in, h, sizeof *h))) return st;
	if (memcmp(h->magic, magic, sizeof magic) != 0) return damaged(r->path, "not a system matrix (.srm)");
	if (h->version != VERSION)
		return iso_fail(ISO_EINPUT, "%s: version %" PRIu32 " of the format, this program reads %d",
		                r->path, h->version, VERSION);
	if (h->file_bytes != r->in.size)
		return iso_fail(ISO_EINPUT, "%s: %" PRId64 " bytes long, its head says %" PRId64, r->path,
		                r->in.size, h->file_bytes);
	if (h->json_bytes < 2 || h->json_bytes > JSON_MOST || h->json_bytes > r->in.size - (int64_t)sizeof *h)
		return damaged(r->path, "the length of its text is damaged");
	return ISO_OK;
}

static int read_text(struct reader *r, const struct head *h)
{
	char *text = malloc((size_t)h->json_bytes);
	int st;

	if (!text) return iso_fail_memory("srm: header", h->json_bytes);
	st = iso_in_read(&r->in, text, h->json_bytes);
	if (!st && XXH3_64bits(text, (size_t)h->json_bytes) != h->json_sum)
		st = damaged(r->path, "its text was altered: the checksum differs");
	if (!st) st = iso_json_parse(&r->root, r->path, text, (size_t)h->json_bytes);
	free(text);
	r->data = align((int64_t)sizeof *h + h->json_bytes);
	return st;
}

static int section_number(const char *name)
{
	for (int i = 0; i < SECTIONS; i++)
		if (strcmp(section_names[i], name) == 0) return i;
	return -1;
}

/* Sections stand in the order of their numbers, inside the file. */
static int read_sections(struct reader *r)
{
	json_t *list = json_object_get(r->root, "sections"), *item;
	int64_t end = 0;
	int last = -1;
	size_t i;

	json_array_foreach (list, i, item) {
		const char *name, *sum;
		json_int_t offset, bytes;

		if (json_unpack(item, "{s:s, s:I, s:I, s:s}", "name", &name, "offset", &offset, "bytes",
		                &bytes, "xxh3", &sum))
			return damaged(r->path, "its list of sections is damaged");
		int k = section_number(name);

		if (k <= last || offset < end || bytes < 0 || offset % ALIGN ||
		    offset > r->in.size - r->data || bytes > r->in.size - r->data - offset)
			return iso_fail(ISO_EINPUT, "%s: section %zu lies outside of the file", r->path, i);
		r->section[k] = (struct section){ item, offset, bytes, strtoull(sum, NULL, 16) };
		last = k;
		end = offset + bytes;
	}
	for (int k = SENS; k <= WEIGHT; k++)
		if (!r->section[k].v)
			return iso_fail(ISO_EINPUT, "%s: has no section %s", r->path, section_names[k]);
	return ISO_OK;
}

/* *out = section k in new memory, after a check of its checksum; it must have `bytes` bytes. */
static int load(void **out, struct reader *r, int k, int64_t bytes)
{
	const struct section *s = &r->section[k];
	void *v;
	int st;

	if (s->bytes != bytes)
		return iso_fail(ISO_EINPUT, "%s: section %s has %" PRId64 " bytes, must have %" PRId64,
		                r->path, section_names[k], s->bytes, bytes);
	v = malloc(bytes > 0 ? (size_t)bytes : 1);
	if (!v) return iso_fail_memory("srm: a section", bytes);
	st = iso_in_skip(&r->in, r->data + s->offset - r->in.at);
	if (!st) st = iso_in_read(&r->in, v, bytes);
	if (!st && XXH3_64bits(v, (size_t)bytes) != s->sum)
		st = iso_fail(ISO_EINPUT, "%s: section %s was altered: the checksum differs", r->path,
		              section_names[k]);
	if (st)
		free(v);
	else
		*out = v;
	return st;
}

/* ---- what the sections say ---- */

static int check_ptr(const struct reader *r, const iso_srm *m)
{
	bool ok = m->ptr[0] == 0;

	for (int64_t c = 0; c < m->n_column; c++) ok = ok && m->ptr[c + 1] >= m->ptr[c];
	if (!ok || m->ptr[m->n_column] != r->section[AT].bytes / (int64_t)sizeof *m->at)
		return damaged(r->path, "its columns do not fit its elements");
	return ISO_OK;
}

static bool good_element(const iso_srm *m, int64_t first, int64_t i)
{
	struct srm_lor e = srm_at(&m->shape, m->at[i]);

	return (double)m->w[i] > 0 && (double)m->w[i] <= 1 && e.a < m->shape.layers &&
	       (i == first || m->at[i] > m->at[i - 1]) && srm_shifts(&m->shape, e) > 0;
}

static int check_elements(const struct reader *r, const iso_srm *m)
{
	int64_t bad = INT64_MAX;

#pragma omp parallel for schedule(dynamic) reduction(min : bad)
	for (int64_t c = 0; c < m->n_column; c++)
		for (int64_t i = m->ptr[c]; i < m->ptr[c + 1]; i++)
			if (i < bad && !good_element(m, m->ptr[c], i)) bad = i;
	if (bad < INT64_MAX) return iso_fail(ISO_EINPUT, "%s: element %" PRId64 " is damaged", r->path, bad);
	return ISO_OK;
}

static int check_sens(const struct reader *r, const iso_srm *m)
{
	for (int64_t i = 0; i < m->n_column * SRM_SENS; i++)
		if (!isfinite((&m->sens[0][0])[i])) return damaged(r->path, "its sensitivity is not finite");
	return ISO_OK;
}

static int load_weights(iso_srm *m, struct reader *r)
{
	void *v = NULL;
	int st = load(&v, r, WEIGHT, m->n * (int64_t)sizeof(float));

	if (st) return st;
	if (sizeof(float) == sizeof *m->w) {
		m->w = v;
		return ISO_OK;
	}
	m->w = size_alloc(m->n, sizeof *m->w);
	for (int64_t i = 0; m->w && i < m->n; i++) m->w[i] = ((const float *)v)[i];
	free(v);
	return m->w ? ISO_OK : iso_fail_memory("srm: weights", m->n * (int64_t)sizeof *m->w);
}

/* Bytes of the matrix in memory; counts are there twice while each class takes its own. */
static int64_t bytes_wanted(const struct reader *r, enum part part)
{
	const struct section *s = r->section;
	int64_t bytes = s[SENS].bytes + s[PTR].bytes;

	if (part != COLUMNS_ALONE)
		bytes += s[AT].bytes + s[WEIGHT].bytes / (int64_t)sizeof(float) * (int64_t)sizeof(iso_real);
	if (part == ALL_PARTS) bytes += s[CLASSES].bytes + 2 * s[COUNTS].bytes;
	return bytes;
}

static int load_columns(iso_srm *m, struct reader *r)
{
	void *v = NULL;
	int st = load(&v, r, SENS, m->n_column * (int64_t)sizeof *m->sens);

	if (st) return st;
	free(m->sens);
	m->sens = v;
	if ((st = check_sens(r, m)) ||
	    (st = load((void **)&m->ptr, r, PTR, (m->n_column + 1) * (int64_t)sizeof *m->ptr)) ||
	    (st = check_ptr(r, m)))
		return st;
	m->n = m->ptr[m->n_column];
	return ISO_OK;
}

static int load_elements(iso_srm *m, struct reader *r)
{
	int st;

	if ((st = load((void **)&m->at, r, AT, m->n * (int64_t)sizeof *m->at)) || (st = load_weights(m, r)))
		return st;
	return check_elements(r, m);
}

/* Each class takes its own copy of its bytes. */
static int split_counts(iso_srm *m, const struct reader *r, const uint64_t (*k)[4], const uint8_t *v)
{
	uint64_t limit = srm_numbers(m->shape.reach, m->shape.layers);
	int64_t at = 0, all = r->section[COUNTS].bytes;
	int st = ISO_OK;

	for (int i = 0; i < m->n_class && !st; i++) {
		struct srm_list *l = &m->class_of[i].list;

		if (k[i][2] > (uint64_t)(all - at) || k[i][1] > k[i][2])
			return damaged(r->path, "its classes do not fit its counts");
		m->class_of[i].recorded = k[i][0];
		l->bytes = l->room = (int64_t)k[i][2];
		l->n = (int64_t)k[i][1];
		l->v = malloc(l->bytes > 0 ? (size_t)l->bytes : 1);
		if (!l->v) return iso_fail_memory("srm: counts", l->bytes);
		memcpy(l->v, v + at, (size_t)l->bytes);
		at += l->bytes;
		st = iso_srm_list_check(l, limit, r->path);
	}
	if (!st && at != all) st = damaged(r->path, "its classes do not fit its counts");
	return st;
}

static int load_counts(iso_srm *m, struct reader *r)
{
	void *classes = NULL, *counts = NULL;
	int st;

	if (!r->section[CLASSES].v || !r->section[COUNTS].v || m->source != SRM_TRANSPORT) return ISO_OK;
	if ((st = load(&classes, r, CLASSES, m->n_class * (int64_t)(4 * sizeof(uint64_t))))) goto done;
	if ((st = load(&counts, r, COUNTS, r->section[COUNTS].bytes))) goto done;
	st = split_counts(m, r, classes, counts);
	m->has_counts = !st;
done:
	free(classes);
	free(counts);
	return st;
}

static int read_parts(iso_srm **out, const iso_ctx *ctx, const char *path, enum part part)
{
	struct reader r = { .path = path };
	struct head h;
	iso_srm *m = NULL;
	int st;

	if ((st = iso_in_open(&r.in, path, false))) return st;
	if ((st = read_head(&h, &r)) || (st = read_text(&r, &h)) || (st = read_sections(&r))) goto done;
	if ((st = iso_memory_check(ctx, path, bytes_wanted(&r, part)))) goto done;
	if ((st = iso_srm_from_header(&m, r.root, path, r.section[SENS].bytes / (int64_t)sizeof *m->sens)))
		goto done;
	if ((st = load_columns(m, &r))) goto done;
	if (part != COLUMNS_ALONE && (st = load_elements(m, &r))) goto done;
	if (part == ALL_PARTS) st = load_counts(m, &r);
done:
	iso_in_close(&r.in);
	json_decref(r.root);
	if (st)
		iso_srm_free(m);
	else
		*out = m;
	return st;
}

int iso_srm_read(iso_srm **m, const char *path, bool counts)
{
	if (!m || !path) return iso_fail_null(__func__);
	return iso_srm_read_within(m, NULL, path, counts);
}

int iso_srm_read_within(iso_srm **m, const iso_ctx *ctx, const char *path, bool counts)
{
	if (!m || !path) return iso_fail_null(__func__);
	return read_parts(m, ctx, path, counts ? ALL_PARTS : TABLE_ALONE);
}

int iso_srm_peek(iso_srm **m, const char *path)
{
	if (!m || !path) return iso_fail_null(__func__);
	return read_parts(m, NULL, path, COLUMNS_ALONE);
}
