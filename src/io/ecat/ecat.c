/* SPDX-License-Identifier: BSD-3-Clause */
/* ECAT 7 images (.v), big-endian: a main header of 512 bytes, a directory of matrices in blocks of 512 bytes, and for each
   frame a subheader of one block with the voxels behind it. Fields by their offsets, as in CTI's ECAT 7 file format. */
#include "io/ecat.h"
#include "base/utf8.h"
#include "core/size.h"
#include "core/status.h"
#include "io/format.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum {
	BLOCK = 512,
	ENTRIES = 31,
	MOST = 1 << 15
}; /* entries of a block of the directory; matrices of a file */

/* Of the main header. */
enum { FILE_TYPE = 50, CALIBRATION = 144, CALIBRATION_UNITS = 148, PATIENT = 330, DATA_UNITS = 466 };

/* Of the subheader of an image. Lengths are in cm, times in ms. */
enum { DATA_TYPE = 0, DIMENSIONS = 4, OFFSETS = 10, SCALE = 26, SIZES = 34, DURATION = 46, START = 50 };

static const struct {
	int code;
	struct iso_element element;
} types[] = {
	{ 2, { 'i', 2, false } }, /* VAX_Ix2 */
	{ 5, { 'f', 4, true } },  /* IeeeFloat */
	{ 6, { 'i', 2, true } },  /* SunShort, that nearly all have */
	{ 7, { 'i', 4, true } },  /* SunLong */
};

/* Raw axes of a patient who lies head first, supine, run to the left, posterior and inferior. The signs turn them to
   right, anterior, superior; a patient who lies otherwise is turned about the axes of the scanner. */
static const struct {
	const char *words;
	int axis[3], sign[3]; /* the file axis along world x, y, z, and which way */
} lies[] = {
	{ "feet first, prone", { 0, 1, 2 }, { -1, 1, 1 } },
	{ "head first, prone", { 0, 1, 2 }, { 1, 1, -1 } },
	{ "feet first, supine", { 0, 1, 2 }, { 1, -1, 1 } },
	{ "head first, supine", { 0, 1, 2 }, { -1, -1, -1 } },
	{ "feet first, on the right side", { 1, 0, 2 }, { 1, 1, 1 } },
	{ "head first, on the right side", { 1, 0, 2 }, { 1, -1, -1 } },
	{ "feet first, on the left side", { 1, 0, 2 }, { -1, -1, 1 } },
	{ "head first, on the left side", { 1, 0, 2 }, { -1, 1, -1 } },
};
enum { HEAD_FIRST_SUPINE = 3, N_LIES = sizeof lies / sizeof *lies };

struct matrix {
	int32_t id;
	int64_t at; /* byte of its subheader */
	double scale, start_s, duration_s;
};

struct ecat {
	const char *path;
	int fd;
	int64_t size; /* bytes of the file */
	int lies;     /* row of that table */
	bool said;    /* that row is the file's own word */
	double calibration;
	char unit[33];
	struct iso_element element;
	int64_t dim[3];
	double voxel[3], offset[3]; /* mm */
	int64_t n;
	struct matrix *v;
};

static double get(const uint8_t *b, char kind, int size)
{
	return iso_element_get(b, (struct iso_element){ kind, size, true });
}

/* cm of a float as mm, in the digits that a float has: 2.059, not 2.05900002. */
static double get_mm(const uint8_t *b)
{
	double mm = 10 * get(b, 'f', 4), d;
	char text[32];
	int n = iso_snprintf(text, sizeof text, "%.7g", mm);

	return iso_number(&d, text, (size_t)n) ? d : mm; /* no number: NaN or infinite */
}

static int read_block(uint8_t b[BLOCK], const struct ecat *e, int64_t at, const char *what)
{
	if (at < 0 || at > e->size - BLOCK)
		return iso_refuse(e->path, "its %s is at byte %" PRId64 ", the file has %" PRId64, what, at,
		                  e->size);
	if (iso_read_at(e->fd, b, BLOCK, at) != BLOCK) return iso_fail_errno(e->path, "read");
	return ISO_OK;
}

/* ---- the main header ---- */

bool iso_ecat_begins(const uint8_t *head, int64_t n)
{
	return n >= 14 && memcmp(head, "MATRIX7", 7) == 0;
}

bool iso_is_ecat(const char *path)
{
	uint8_t head[14];
	int64_t size;
	int fd;

	if (iso_regular_open(&fd, &size, path)) return false;
	bool yes = iso_read_at(fd, head, sizeof head, 0) == sizeof head && iso_ecat_begins(head, sizeof head);

	close(fd);
	return yes;
}

static int check_type(const struct ecat *e, int type)
{
	static const char *const names[] = {
		[1] = "a sinogram",       [2] = "an image of ECAT 6", [3] = "attenuation factors",
		[4] = "a normalisation",  [5] = "a polar map",        [8] = "projections",
		[9] = "projections",      [11] = "a 3-D sinogram",    [12] = "a 3-D sinogram",
		[13] = "a normalisation", [14] = "a 3-D sinogram",
	};
	bool known = type >= 0 && type < (int)(sizeof names / sizeof *names) && names[type];

	if (type == 6 || type == 7) return ISO_OK;
	return iso_refuse(e->path, "file type %d (%s), an ECAT 7 image (6 or 7) was expected", type,
	                  known ? names[type] : "not known");
}

/* The words of the file for Bq/ml, and its code; other words as they are. */
static void take_unit(struct ecat *e, const uint8_t head[BLOCK])
{
	static const char *const becquerel[] = { "Bq/ml", "Bq/cc", "Bq/mL", "Becquerels/cc" };

	memcpy(e->unit, head + DATA_UNITS, 32);
	e->unit[32] = '\0';
	e->unit[strcspn(e->unit, "\r\n\t")] = '\0';
	iso_utf8_clean(e->unit);
	for (size_t n = strlen(e->unit); n > 0 && e->unit[n - 1] == ' ';) e->unit[--n] = '\0';
	bool is = !e->unit[0] && get(head + CALIBRATION_UNITS, 'i', 2) == 1;

	for (size_t i = 0; i < sizeof becquerel / sizeof *becquerel; i++)
		is = is || iso_same_word(e->unit, becquerel[i]);
	if (is) strcpy(e->unit, "Bq/mL");
}

static int read_main(struct ecat *e)
{
	uint8_t head[BLOCK];
	int st = read_block(head, e, 0, "main header"), patient;

	if (st) return st;
	if (!iso_ecat_begins(head, BLOCK))
		return iso_refuse(e->path, "no ECAT 7 file: does not begin with MATRIX7; of an Interfile "
		                           "image name the .hv header");
	if ((st = check_type(e, (int)get(head + FILE_TYPE, 'i', 2)))) return st;
	e->calibration = get(head + CALIBRATION, 'f', 4);
	if (!(isfinite(e->calibration) && e->calibration >= 0))
		return iso_refuse(e->path, "calibration factor %g", e->calibration);
	if (e->calibration == 0) e->calibration = 1; /* not set */
	patient = (int)get(head + PATIENT, 'i', 2);
	e->said = patient >= 0 && patient < N_LIES;
	e->lies = e->said ? patient : HEAD_FIRST_SUPINE;
	take_unit(e, head);
	return ISO_OK;
}

/* ---- the directory ---- */

static int add_matrix(struct ecat *e, const uint8_t *entry, int64_t *room)
{
	if (e->n == MOST) return iso_refuse(e->path, "more than %d matrices", MOST);
	if (e->n == *room) {
		struct matrix *v = realloc(e->v, (size_t)(*room + ENTRIES) * sizeof *v);

		if (!v) return iso_fail_memory(e->path, (*room + ENTRIES) * (int64_t)sizeof *v);
		e->v = v;
		*room += ENTRIES;
	}
	e->v[e->n++] = (struct matrix){ .id = (int32_t)get(entry, 'i', 4),
		                        .at = ((int64_t)get(entry + 4, 'i', 4) - 1) * BLOCK };
	return ISO_OK;
}

/* A matrix number: frame in bits 0 to 8, bed in 12 to 15, gate in 24 to 29. */
static int frame_of(const struct matrix *m)
{
	return m->id & 0x1ff;
}

static int gate_of(const struct matrix *m)
{
	return m->id >> 24 & 0x3f;
}

static int by_frame(const void *a, const void *b)
{
	const struct matrix *x = a, *y = b;

	return frame_of(x) != frame_of(y) ? frame_of(x) - frame_of(y) : gate_of(x) - gate_of(y);
}

static int check_matrices(struct ecat *e)
{
	if (e->n == 0) return iso_refuse(e->path, "its directory lists no matrix");
	qsort(e->v, (size_t)e->n, sizeof *e->v, by_frame);
	for (int64_t i = 1; i < e->n; i++) {
		if ((e->v[i].id >> 12 & 0xf) != (e->v[0].id >> 12 & 0xf))
			return iso_refuse(e->path, "several bed positions; one file for each was expected");
		if (by_frame(&e->v[i - 1], &e->v[i]) == 0)
			return iso_refuse(e->path, "frame %d gate %d is there twice", frame_of(&e->v[i]),
			                  gate_of(&e->v[i]));
	}
	return ISO_OK;
}

/* Blocks of the directory name the next one; the last names the first, block 2. */
static int read_directory(struct ecat *e)
{
	int64_t block = 2, room = 0;
	uint8_t b[BLOCK];
	int st;

	for (int64_t blocks = 0; blocks <= MOST / ENTRIES + 1; blocks++) {
		if ((st = read_block(b, e, (block - 1) * BLOCK, "directory"))) return st;
		int64_t used = (int64_t)get(b + 12, 'i', 4);

		if (used < 0 || used > ENTRIES)
			return iso_refuse(e->path,
			                  "a block of its directory has %" PRId64 " entries, at most %d",
			                  used, ENTRIES);
		for (int64_t i = 0; i < used; i++)
			if ((int)get(b + 16 + 16 * i + 12, 'i', 4) >= 0 && /* below 0: deleted */
			    (st = add_matrix(e, b + 16 + 16 * i, &room)))
				return st;
		block = (int64_t)get(b + 4, 'i', 4);
		if (block <= 2) return check_matrices(e);
	}
	return iso_refuse(e->path, "its directory does not end");
}

/* ---- subheaders ---- */

static int take_shape(struct ecat *e, const uint8_t b[BLOCK])
{
	int code = (int)get(b + DATA_TYPE, 'i', 2), i = 0;

	while (i < (int)(sizeof types / sizeof *types) && types[i].code != code) i++;
	if (i == (int)(sizeof types / sizeof *types))
		return iso_refuse(e->path, "data type %d; known are 2, 5, 6 (int16, big-endian) and 7", code);
	e->element = types[i].element;
	for (int a = 0; a < 3; a++) {
		e->dim[a] = (int64_t)get(b + DIMENSIONS + 2 * a, 'i', 2);
		e->voxel[a] = get_mm(b + SIZES + 4 * a);
		e->offset[a] = get_mm(b + OFFSETS + 4 * a);
		if (e->dim[a] < 1 || !(e->voxel[a] > 0 && e->voxel[a] < 1e6) || !(fabs(e->offset[a]) < 1e6))
			return iso_refuse(e->path, "axis %d has %" PRId64 " voxels of %g mm from %g mm",
			                  a + 1, e->dim[a], e->voxel[a], e->offset[a]);
	}
	return ISO_OK;
}

static int read_subheader(struct ecat *e, int64_t k)
{
	struct matrix *m = &e->v[k];
	struct ecat first = *e;
	uint8_t b[BLOCK];
	int st = read_block(b, e, m->at, "subheader");

	if (st || (st = take_shape(e, b))) return st;
	if (k > 0 && (memcmp(first.dim, e->dim, sizeof e->dim) != 0 ||
	              memcmp(first.voxel, e->voxel, sizeof e->voxel) != 0 ||
	              memcmp(first.offset, e->offset, sizeof e->offset) != 0 ||
	              memcmp(&first.element, &e->element, sizeof e->element) != 0))
		return iso_refuse(e->path, "frame %d has another size, place or type than the first",
		                  frame_of(m));
	m->scale = get(b + SCALE, 'f', 4);
	m->start_s = get(b + START, 'i', 4) / 1e3;
	m->duration_s = get(b + DURATION, 'i', 4) / 1e3;
	int64_t bytes = e->dim[0] * e->dim[1] * e->dim[2] * e->element.size; /* each below 2^15 */

	if (!isfinite(m->scale)) return iso_refuse(e->path, "scale factor %g", m->scale);
	if (bytes > e->size - m->at - BLOCK)
		return iso_refuse(e->path,
		                  "frame %d has %" PRId64 " bytes from byte %" PRId64
		                  " on, the file has %" PRId64,
		                  frame_of(m), bytes, m->at + BLOCK, e->size);
	return ISO_OK;
}

static int by_place(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Each frame has bytes of its own. */
static int check_apart(const struct ecat *e)
{
	const int64_t bytes = e->dim[0] * e->dim[1] * e->dim[2] * e->element.size;
	int64_t *at = size_alloc(e->n, sizeof *at);
	int st = ISO_OK;

	if (!at) return iso_fail_memory(e->path, e->n * (int64_t)sizeof *at);
	for (int64_t k = 0; k < e->n; k++) at[k] = e->v[k].at;
	qsort(at, (size_t)e->n, sizeof *at, by_place);
	for (int64_t k = 1; k < e->n && !st; k++)
		if (at[k] < at[k - 1] + BLOCK + bytes)
			st = iso_refuse(e->path,
			                "two frames lie over one another: from byte %" PRId64
			                " on and from byte %" PRId64 " on, of %" PRId64 " bytes each",
			                at[k - 1], at[k], BLOCK + bytes);
	free(at);
	return st;
}

static void free_ecat(void *p)
{
	struct ecat *e = p;

	if (!e) return;
	if (e->fd >= 0) close(e->fd);
	free(e->v);
	free(e);
}

static int open_file(struct ecat **out, const char *path)
{
	struct ecat *e = size_alloc(1, sizeof *e);
	int st;

	if (!e) return iso_fail_memory(path, sizeof *e);
	*e = (struct ecat){ .path = path, .fd = -1 };
	st = iso_regular_open(&e->fd, &e->size, path);
	if (!st) st = read_main(e);
	if (!st) st = read_directory(e);
	for (int64_t k = 0; !st && k < e->n; k++) st = read_subheader(e, k);
	if (!st && e->n * e->dim[0] * e->dim[1] * e->dim[2] * e->element.size > e->size) /* below 2^62 */
		st = iso_refuse(path, "%" PRId64 " frames lie over one another", e->n);
	if (!st) st = check_apart(e);
	if (st)
		free_ecat(e);
	else
		*out = e;
	return st;
}

/* ---- the array ---- */

static void set_grid(struct iso_grid *g, const struct ecat *e)
{
	for (int r = 0; r < 3; r++) {
		int c = lies[e->lies].axis[r];

		g->n[r] = e->dim[c];
		g->voxel[r] = e->voxel[c];
		g->centre[r] = lies[e->lies].sign[r] * e->offset[c] + 0.; /* no -0 */
	}
}

static int open_ecat(struct iso_array *a, struct iso_stored *s, const char *path, bool pairs)
{
	struct ecat *e = NULL;
	struct iso_grid g = { 0 };
	int st = open_file(&e, path);

	(void)pairs;
	if (st) return st;
	s->own = e;
	s->release = free_ecat;
	set_grid(&g, e);
	int skip = e->n == 1; /* a single frame is an image */

	if ((st = iso_array_make(a, path, 4 - skip, (int64_t[]){ e->n, g.n[2], g.n[1], g.n[0] } + skip,
	                         false)))
		return st;
	a->has_grid = true;
	a->grid = g;
	snprintf(a->unit, sizeof a->unit, "%.31s", e->unit);
	return ISO_OK;
}

/* Frame k of the array, by a row of x at a time as the file has it. */
static int fill_frame(iso_real *x, const struct ecat *e, const struct iso_grid *g, int64_t k,
                      const iso_ctx *ctx)
{
	const struct matrix *m = &e->v[k];
	const double factor = m->scale * e->calibration;
	const int *axis = lies[e->lies].axis, *sign = lies[e->lies].sign;
	const int64_t step[3] = { 1, g->n[0], g->n[0] * g->n[1] }, bytes = e->dim[0] * e->element.size;
	uint8_t *row = size_alloc(bytes, 1);
	int64_t along[3] = { 0 }, first = 0; /* of the file's axes in the array */
	int st = row ? ISO_OK : iso_fail_memory(e->path, bytes);

	for (int r = 0; r < 3; r++) {
		along[axis[r]] = sign[r] * step[r];
		if (sign[r] < 0) first += (g->n[r] - 1) * step[r];
	}
	for (int64_t j = 0; j < e->dim[1] * e->dim[2] && !st; j++) {
		iso_real *to = x + first + j % e->dim[1] * along[1] + j / e->dim[1] * along[2];

		if (j % e->dim[1] == 0) st = iso_stop_check(ctx, e->path);
		if (!st && iso_read_at(e->fd, row, bytes, m->at + BLOCK + j * bytes) != bytes)
			st = iso_fail(ISO_EIO, "%s: can't be read, or was cut short meanwhile", e->path);
		for (int64_t i = 0; i < e->dim[0] && !st; i++)
			to[i * along[0]] =
				(iso_real)(factor * iso_element_get(row + i * e->element.size, e->element));
	}
	free(row);
	return st;
}

static int fill_ecat(struct iso_array *a, struct iso_stored *s, const iso_ctx *ctx, const char *path)
{
	const struct ecat *e = s->own;
	int st = ISO_OK;

	(void)path;
	for (int64_t k = 0; k < e->n && !st; k++)
		st = fill_frame(a->v + k * (a->n / e->n), e, &a->grid, k, ctx);
	return st;
}

const struct iso_format iso_ecat_format = { .open = open_ecat, .fill = fill_ecat };

/* ---- for those who describe it ---- */

int iso_ecat_info(struct iso_ecat *info, const char *path)
{
	struct ecat *e = NULL;
	int st = open_file(&e, path);

	if (st) return st;
	*info = (struct iso_ecat){ .frames = e->n, .patient = lies[e->lies].words, .patient_said = e->said };
	info->start_s = size_alloc(e->n, sizeof *info->start_s);
	info->duration_s = size_alloc(e->n, sizeof *info->duration_s);
	if (!info->start_s || !info->duration_s) {
		iso_ecat_info_free(info);
		st = iso_fail_memory(path, e->n * (int64_t)sizeof(double));
	}
	for (int64_t k = 0; k < e->n && !st; k++) {
		info->start_s[k] = e->v[k].start_s;
		info->duration_s[k] = e->v[k].duration_s;
	}
	free_ecat(e);
	return st;
}

void iso_ecat_info_free(struct iso_ecat *info)
{
	free(info->start_s);
	free(info->duration_s);
	*info = (struct iso_ecat){ 0 };
}
