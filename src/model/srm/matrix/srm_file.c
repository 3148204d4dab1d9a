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
#include "srm_matrix.h"
#include "text/json_file.h"
#include "file/out.h"
#include "core/size.h"
#include "io/format.h"
#include "file/in.h"

#include <xxhash.h>

static const char magic[8] = { 'I', 'S', 'O', 'S', 'R', 'M', '\r', '\n' };

enum { VERSION = 1, ALIGN = 64, JSON_MOST = 1 << 20, PIECE = 1 << 24 /* bytes read and summed at a time */ };

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
	int64_t bytes; /* to the end of the last */
	struct iso_room room;
};

static void put_section(struct content *c, int k, const void *v, int64_t n, size_t size)
{
	c->section[k] = (struct section){ .v = v, .bytes = n * (int64_t)size };
}

static void pack_counts(struct content *c, const iso_srm *m)
{
	uint64_t(*classes)[4];
	int64_t bytes = 0;
	uint8_t *counts;

	for (int i = 0; i < m->n_class; i++) bytes += m->counts[i].list.bytes;
	ISO_HOST(&c->room, classes, m->n_class);
	if (!ISO_HOST(&c->room, counts, bytes)) return;
	put_section(c, CLASSES, classes, m->n_class, sizeof *classes);
	put_section(c, COUNTS, counts, bytes, 1);
	for (int i = 0; i < m->n_class; i++) {
		const struct srm_list *l = &m->counts[i].list;

		classes[i][0] = m->counts[i].recorded;
		classes[i][1] = (uint64_t)l->n;
		classes[i][2] = (uint64_t)l->bytes;
		if (l->bytes > 0) memcpy(counts, l->v, (size_t)l->bytes);
		counts += l->bytes;
	}
}

static int collect(struct content *c, const iso_srm *m, bool final)
{
	float *weight;

	if (!ISO_HOST(&c->room, weight, m->n)) return c->room.status;
	for (int64_t i = 0; i < m->n; i++) weight[i] = (float)m->w[i];
	put_section(c, SENS, m->sens, m->n_column, sizeof *m->sens);
	put_section(c, PTR, m->ptr, m->n_column + 1, sizeof *m->ptr);
	put_section(c, AT, m->at, m->n, sizeof *m->at);
	put_section(c, WEIGHT, weight, m->n, sizeof *weight);
	if (!final) pack_counts(c, m);
	for (struct section *s = c->section; s < c->section + SECTIONS; s++) {
		if (!s->v) continue;
		s->offset = align(c->bytes);
		s->sum = XXH3_64bits(s->v, (size_t)s->bytes);
		c->bytes = s->offset + s->bytes;
	}
	return c->room.status;
}

static char *make_text(const struct content *c, const iso_srm *m, const char *command)
{
	json_t *root = iso_srm_header(m, command), *list = json_array();
	char *text;
	int bad = 0;

	for (int i = 0; i < SECTIONS; i++) {
		const struct section *s = &c->section[i];

		if (s->v)
			bad |= json_array_append_new(
				list, json_pack("{s:s, s:I, s:I, s:o}", "name", section_names[i], "offset",
			                        (json_int_t)s->offset, "bytes", (json_int_t)s->bytes, "xxh3",
			                        json_sprintf("%016" PRIx64, s->sum)));
	}
	bad |= json_object_set_new(root, "sections", list);
	text = bad ? NULL : iso_json_text(root, JSON_INDENT(1));
	json_decref(root);
	return text;
}

static int write_all(struct iso_out *o, const struct head *h, const char *text, const struct content *c)
{
	static const char zero[ALIGN];
	int64_t at = (int64_t)sizeof *h + h->json_bytes, data = align(at);
	int st;

	if ((st = iso_out_write(o, h, sizeof *h)) || (st = iso_out_write(o, text, h->json_bytes))) return st;
	for (const struct section *s = c->section; s < c->section + SECTIONS && !st; s++) {
		if (!s->v) continue;
		if (!(st = iso_out_write(o, zero, data + s->offset - at)))
			st = iso_out_write(o, s->v, s->bytes);
		at = data + s->offset + s->bytes;
	}
	return st;
}

int iso_srm_write(const char *path, const iso_srm *m, bool final, const char *command, const char *sidecar)
{
	if (!path || !m) return iso_fail_null(__func__);
	struct content c = { .room.what = "srm: a section" };
	struct head h = { .version = VERSION };
	struct iso_out o = { .fd = -1 };
	char *text = NULL;
	int st;

	if (!m->ptr) return iso_fail(ISO_EARG, "%s: no table to write yet", path);
	if (m->n == 0)
		return iso_fail(ISO_EARG,
		                "%s: the matrix has no elements: none recorded, or all below its bound",
		                path);
	if ((st = collect(&c, m, final || !m->has_counts))) goto done;
	if (!(text = make_text(&c, m, command))) {
		st = iso_fail_memory("srm: header", 0);
		goto done;
	}
	memcpy(h.magic, magic, sizeof magic);
	h.json_bytes = (int64_t)strlen(text);
	h.json_sum = XXH3_64bits(text, (size_t)h.json_bytes);
	h.file_bytes = align((int64_t)sizeof h + h.json_bytes) + c.bytes;
	if ((st = iso_out_open(&o, path, h.file_bytes, false))) goto done;
	if (!(st = write_all(&o, &h, text, &c))) st = iso_target_finish(&o, sidecar);
done:
	iso_out_free(&o);
	iso_room_free(&c.room);
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
	int64_t data; /* where sections begin */
	json_t *root;
	struct section section[SECTIONS];
};

/* What of the file is wanted: the columns alone, also their elements, also the counts. */
enum part { COLUMNS_ALONE, TABLE_ALONE, ALL_PARTS };

static int damaged(const struct reader *r, const char *what)
{
	return iso_fail(ISO_EINPUT, "%s: %s", r->in.path, what);
}

static int read_head(struct head *h, struct reader *r)
{
	int st;

	if (r->in.size < (int64_t)sizeof *h) return damaged(r, "too short for a system matrix");
	if ((st = iso_in_read(&r->in, h, sizeof *h))) return st;
	if (memcmp(h->magic, magic, sizeof magic) != 0) return damaged(r, "not a system matrix (.srm)");
	if (h->version != VERSION)
		return iso_fail(ISO_EINPUT, "%s: version %" PRIu32 " of the format, this program reads %d",
		                r->in.path, h->version, VERSION);
	if (h->file_bytes != r->in.size)
		return iso_fail(ISO_EINPUT, "%s: %" PRId64 " bytes long, its head says %" PRId64, r->in.path,
		                r->in.size, h->file_bytes);
	if (h->json_bytes < 2 || h->json_bytes > JSON_MOST || h->json_bytes > r->in.size - (int64_t)sizeof *h)
		return damaged(r, "the length of its text is damaged");
	return ISO_OK;
}

static int read_text(struct reader *r, const struct head *h)
{
	char *text = malloc((size_t)h->json_bytes);
	int st;

	if (!text) return iso_fail_memory("srm: header", h->json_bytes);
	st = iso_in_read(&r->in, text, h->json_bytes);
	if (!st && XXH3_64bits(text, (size_t)h->json_bytes) != h->json_sum)
		st = damaged(r, "its text was altered: the checksum differs");
	if (!st) st = iso_json_parse(&r->root, r->in.path, text, (size_t)h->json_bytes);
	free(text);
	r->data = align((int64_t)sizeof *h + h->json_bytes);
	return st;
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
			return damaged(r, "its list of sections is damaged");
		int k = SECTIONS - 1;

		while (k >= 0 && strcmp(section_names[k], name) != 0) k--;
		if (k <= last || offset < end || bytes < 0 || offset % ALIGN ||
		    offset > r->in.size - r->data || bytes > r->in.size - r->data - offset)
			return iso_fail(ISO_EINPUT, "%s: section %zu lies outside of the file", r->in.path,
			                i);
		r->section[k] = (struct section){ item, offset, bytes, strtoull(sum, NULL, 16) };
		last = k;
		end = offset + bytes;
	}
	for (int k = SENS; k <= WEIGHT; k++)
		if (!r->section[k].v)
			return iso_fail(ISO_EINPUT, "%s: has no section %s", r->in.path, section_names[k]);
	return ISO_OK;
}

/* The next `bytes` bytes, and their checksum, piece by piece: each is in the cache still, and between two a request
   to stop is noticed. */
static int read_summed(uint64_t *sum, struct iso_in *in, void *dst, int64_t bytes)
{
	XXH3_state_t *state = XXH3_createState();
	int st = state ? ISO_OK : iso_fail_memory("srm: checksum", 0);

	if (state) XXH3_64bits_reset(state);
	for (int64_t at = 0, n; at < bytes && !st; at += n) {
		n = bytes - at < PIECE ? bytes - at : PIECE;
		if (!(st = iso_in_read(in, (char *)dst + at, n)))
			XXH3_64bits_update(state, (char *)dst + at, (size_t)n);
	}
	if (!st) *sum = XXH3_64bits_digest(state);
	XXH3_freeState(state);
	return st;
}

/* *out = section k, in memory of the room; it must have `bytes` bytes. */
static int load(void **out, struct iso_room *room, struct reader *r, int k, int64_t bytes)
{
	const struct section *s = &r->section[k];
	uint64_t sum;
	int st;

	if (s->bytes != bytes)
		return iso_fail(ISO_EINPUT, "%s: section %s has %" PRId64 " bytes, must have %" PRId64,
		                r->in.path, section_names[k], s->bytes, bytes);
	if (!(*out = iso_room_host(room, bytes, 1))) return room->status;
	if ((st = iso_in_skip(&r->in, r->data + s->offset - r->in.at)) ||
	    (st = read_summed(&sum, &r->in, *out, bytes)))
		return st;
	if (sum == s->sum) return ISO_OK;
	return iso_fail(ISO_EINPUT, "%s: section %s was altered: the checksum differs", r->in.path,
	                section_names[k]);
}

/* ---- what the sections say ---- */

static bool good_element(const iso_srm *m, int64_t first, int64_t i)
{
	struct srm_lor e = srm_at(&m->shape, m->at[i]);

	return (double)m->w[i] > 0 && (double)m->w[i] <= 1 && e.a < m->shape.layers &&
	       (i == first || m->at[i] > m->at[i - 1]) && srm_shifts(&m->shape, e) > 0;
}

static int load_elements(iso_srm *m, struct reader *r)
{
	int st = load((void **)&m->at, &m->table, r, AT, m->n * (int64_t)sizeof *m->at);
	int64_t bad = INT64_MAX;
	void *v;

	if (st || (st = load(&v, &m->table, r, WEIGHT, m->n * (int64_t)sizeof(float)))) return st;
	m->w = v;
	if (sizeof(float) != sizeof *m->w) {
		if (!ISO_HOST(&m->table, m->w, m->n)) return m->table.status;
		for (int64_t i = 0; i < m->n; i++) m->w[i] = ((const float *)v)[i];
		iso_room_drop(&m->table, v);
	}
#pragma omp parallel for schedule(dynamic) reduction(min : bad)
	for (int64_t c = 0; c < m->n_column; c++)
		for (int64_t i = m->ptr[c]; i < m->ptr[c + 1] && !iso_stop_asked(r->in.ctx); i++)
			if (i < bad && !good_element(m, m->ptr[c], i)) bad = i;
	if (bad == INT64_MAX) return iso_stop_check(r->in.ctx, r->in.path);
	return iso_fail(ISO_EINPUT, "%s: element %" PRId64 " is damaged", r->in.path, bad);
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
	bool ok = true;
	int st;

	m->table.what = "srm: table";
	iso_room_drop(&m->room, m->sens);
	if ((st = load((void **)&m->sens, &m->room, r, SENS, m->n_column * (int64_t)sizeof *m->sens)))
		return st;
	for (int64_t i = 0; i < m->n_column * SRM_SENS; i++) ok = ok && isfinite((&m->sens[0][0])[i]);
	if (!ok) return damaged(r, "its sensitivity is not finite");
	if ((st = load((void **)&m->ptr, &m->table, r, PTR, (m->n_column + 1) * (int64_t)sizeof *m->ptr)))
		return st;
	m->n = m->ptr[m->n_column];
	ok = m->ptr[0] == 0 && m->n == r->section[AT].bytes / (int64_t)sizeof *m->at;
	for (int64_t c = 0; c < m->n_column; c++) ok = ok && m->ptr[c + 1] >= m->ptr[c];
	return ok ? ISO_OK : damaged(r, "its columns do not fit its elements");
}

/* Each class takes its own copy of its bytes. */
static int split_counts(iso_srm *m, const struct reader *r, const uint64_t (*k)[4], const uint8_t *v)
{
	uint64_t limit = srm_numbers(m->shape.reach, m->shape.layers);
	int64_t left = r->section[COUNTS].bytes;
	int st;

	for (int i = 0; i < m->n_class; i++) {
		struct srm_list *l = &m->counts[i].list;

		if (k[i][2] > (uint64_t)left || k[i][1] > k[i][2])
			return damaged(r, "its classes do not fit its counts");
		m->counts[i].recorded = k[i][0];
		l->bytes = l->room = (int64_t)k[i][2];
		l->n = (int64_t)k[i][1];
		l->v = size_alloc(l->bytes, 1);
		if (!l->v) return iso_fail_memory("srm: counts", l->bytes);
		memcpy(l->v, v, (size_t)l->bytes);
		v += l->bytes;
		left -= l->bytes;
		if ((st = iso_stop_check(r->in.ctx, r->in.path)) ||
		    (st = iso_srm_list_check(l, limit, r->in.path)))
			return st;
	}
	return left == 0 ? ISO_OK : damaged(r, "its classes do not fit its counts");
}

static int load_counts(iso_srm *m, struct reader *r)
{
	struct iso_room room = { .what = "srm: counts" };
	void *classes, *counts;
	int st;

	if (!r->section[CLASSES].v || !r->section[COUNTS].v || m->source != SRM_TRANSPORT) return ISO_OK;
	if (!(st = load(&classes, &room, r, CLASSES, m->n_class * (int64_t)(4 * sizeof(uint64_t)))) &&
	    !(st = load(&counts, &room, r, COUNTS, r->section[COUNTS].bytes)))
		st = split_counts(m, r, classes, counts);
	m->has_counts = !st;
	iso_room_free(&room);
	return st;
}

static int read_parts(iso_srm **out, const iso_ctx *ctx, const char *path, enum part part)
{
	struct reader r = { .root = NULL };
	struct head h;
	iso_srm *m = NULL;
	int st = iso_in_open(&r.in, path, false);

	if (st) return st;
	r.in.ctx = ctx;
	if ((st = read_head(&h, &r)) || (st = read_text(&r, &h)) || (st = read_sections(&r)) ||
	    (st = iso_memory_check(ctx, path, bytes_wanted(&r, part))) ||
	    (st = iso_srm_from_header(&m, r.root, path, r.section[SENS].bytes / (int64_t)sizeof *m->sens)) ||
	    (st = load_columns(m, &r)))
		goto done;
	if (part != COLUMNS_ALONE) st = load_elements(m, &r);
	if (!st && part == ALL_PARTS) st = load_counts(m, &r);
done:
	iso_in_close(&r.in);
	json_decref(r.root);
	return iso_srm_hand_out(out, m, st);
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
