/* SPDX-License-Identifier: BSD-3-Clause */
/* DICOM files, little-endian (PS3.5 chapter 7, PS3.10): elements one after the other, of which a table says those
   that are looked at. Sequences are stepped over. */
#include "dicom.h"
#include "core/size.h"
#include "core/status.h"
#include "file/in.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum {
	MARK = 128, /* where DICM stands; the elements follow it */
	VALUE = 128 /* bytes of the longest value that is looked at: six numbers of 16 letters */
};

#define IMPLICIT "1.2.840.10008.1.2"
#define EXPLICIT "1.2.840.10008.1.2.1"
#define DEFLATED "1.2.840.10008.1.2.1.99"
#define BIG_ENDIAN_ORDER "1.2.840.10008.1.2.2"

/* ---- the tags that are looked at ---- */

enum kind { TEXT, REALS, WHOLE }; /* letters, n decimal numbers between backslashes, a binary uint16 */

#define PLACE(member) offsetof(struct dicom_slice, member)

static const struct tag {
	int group, number;
	const char *name;
	enum kind kind;
	int n;
	size_t at;
	bool needed;
} tags[] = {
	{ 0x0002, 0x0002, "class of the file", TEXT, 1, PLACE(class), false },
	{ 0x0002, 0x0010, "transfer syntax", TEXT, 1, PLACE(syntax), true },
	{ 0x0002, 0x0012, "program that wrote it", TEXT, 1, PLACE(maker), false },
	{ 0x0008, 0x0022, "date of acquisition", TEXT, 1, PLACE(date), false },
	{ 0x0008, 0x0032, "time of acquisition", TEXT, 1, PLACE(time), false },
	{ 0x0008, 0x0060, "modality", TEXT, 1, PLACE(modality), true },
	{ 0x0008, 0x103e, "description of the series", TEXT, 1, PLACE(description), false },
	{ 0x0018, 0x0050, "slice thickness", REALS, 1, PLACE(thickness), false },
	{ 0x0018, 0x0060, "kVp", REALS, 1, PLACE(kvp), false },
	{ 0x0018, 0x1242, "duration of the frame", REALS, 1, PLACE(duration_ms), false },
	{ 0x0020, 0x000e, "number of the series", TEXT, 1, PLACE(series), true },
	{ 0x0020, 0x0013, "number of the image", REALS, 1, PLACE(instance), false },
	{ 0x0020, 0x0032, "position", REALS, 3, PLACE(position), true },
	{ 0x0020, 0x0037, "orientation", REALS, 6, PLACE(orientation), true },
	{ 0x0028, 0x0002, "samples per pixel", WHOLE, 1, PLACE(samples), false },
	{ 0x0028, 0x0008, "number of frames", REALS, 1, PLACE(frames), false },
	{ 0x0028, 0x0010, "rows", WHOLE, 1, PLACE(rows), true },
	{ 0x0028, 0x0011, "columns", WHOLE, 1, PLACE(columns), true },
	{ 0x0028, 0x0030, "pixel spacing", REALS, 2, PLACE(spacing), true },
	{ 0x0028, 0x0100, "bits allocated", WHOLE, 1, PLACE(bits), true },
	{ 0x0028, 0x0101, "bits stored", WHOLE, 1, PLACE(stored), true },
	{ 0x0028, 0x0102, "high bit", WHOLE, 1, PLACE(high), true },
	{ 0x0028, 0x0103, "pixel representation", WHOLE, 1, PLACE(sign), true },
	{ 0x0028, 0x1052, "rescale intercept", REALS, 1, PLACE(intercept), true },
	{ 0x0028, 0x1053, "rescale slope", REALS, 1, PLACE(slope), true },
	{ 0x0028, 0x1054, "rescale type", TEXT, 1, PLACE(unit), false },
	{ 0x0054, 0x1001, "unit", TEXT, 1, PLACE(units), false },
	{ 0x0054, 0x1300, "time of the frame", REALS, 1, PLACE(reference_ms), false },
	{ 0x7fe0, 0x0010, "pixel data", TEXT, 1, 0, true },
};
enum { N_TAGS = sizeof tags / sizeof tags[0], SYNTAX = 1, PIXELS = N_TAGS - 1 };

/* Transfer syntaxes that are not read. */
static const struct {
	const char *uid, *name;
} packed[] = {
	{ "1.2.840.10008.1.2.4.50", "JPEG baseline" },
	{ "1.2.840.10008.1.2.4.51", "JPEG extended" },
	{ "1.2.840.10008.1.2.4.57", "JPEG lossless" },
	{ "1.2.840.10008.1.2.4.70", "JPEG lossless" },
	{ "1.2.840.10008.1.2.4.80", "JPEG-LS lossless" },
	{ "1.2.840.10008.1.2.4.81", "JPEG-LS" },
	{ "1.2.840.10008.1.2.4.90", "JPEG 2000 lossless" },
	{ "1.2.840.10008.1.2.4.91", "JPEG 2000" },
	{ "1.2.840.10008.1.2.5", "RLE" },
	{ DEFLATED, "deflated" },
	{ BIG_ENDIAN_ORDER, "big-endian" },
};

static const char *syntax_name(const char *uid)
{
	for (size_t i = 0; i < sizeof packed / sizeof *packed; i++)
		if (strcmp(uid, packed[i].uid) == 0) return packed[i].name;
	return "not known here";
}

static int damaged(const char *path, const struct tag *t, const char *what, const char *text)
{
	return iso_refuse(path, "(%04x,%04x) %s %s%s", t->group, t->number, t->name, what, text);
}

/* ---- elements ---- */

struct element {
	int group, number;
	char vr[3];            /* kind of value, two letters; "": the file says none */
	int64_t value, length; /* where the value begins, its bytes; length -1: up to a delimiter */
};

struct walk {
	const char *path;
	int fd;
	int64_t size, at; /* bytes of the file, and up to the next element */
	bool implicit;    /* elements say no kind of value, but for those of group 2 */
	int depth;        /* sequences and items without a length that are open */
	int unknown;      /* the depth of one of unknown kind, in which elements are implicit; 0: none */
};

static int64_t get(const uint8_t *b, int n)
{
	int64_t v = 0;

	for (int i = n; i-- > 0;) v = v << 8 | b[i];
	return v;
}

/* Kinds of value whose length has four bytes, behind two of no meaning. */
static bool is_long(const char vr[3])
{
	static const char kinds[] = "OB OD OF OL OV OW SQ SV UC UN UR UT UV";
	const char *at = strstr(kinds, vr);

	return at && (at - kinds) % 3 == 0;
}

static int next_element(struct element *e, const struct walk *w)
{
	uint8_t b[12] = { 0 };
	int64_t got = iso_read_at(w->fd, b, sizeof b, w->at);
	int head = 8;

	if (got < 0) return iso_fail_errno(w->path, "read");
	*e = (struct element){ .group = (int)get(b, 2),
		               .number = (int)get(b + 2, 2),
		               .length = get(b + 4, 4) };
	if (e->group == 2 || (!w->implicit && !w->unknown && e->group != 0xfffe)) {
		memcpy(e->vr, b + 4, 2);
		if (got >= 8 && (b[4] < 'A' || b[4] > 'Z' || b[5] < 'A' || b[5] > 'Z'))
			return iso_refuse(w->path,
			                  "element (%04x,%04x) at byte %" PRId64 " says no kind of value",
			                  (unsigned)e->group, (unsigned)e->number, w->at);
		head = is_long(e->vr) ? 12 : 8;
		e->length = head == 12 ? get(b + 8, 4) : get(b + 6, 2);
	}
	if (got < head) return iso_refuse(w->path, "ends within the element at byte %" PRId64, w->at);
	e->value = w->at + head;
	if (e->length == 0xffffffff) {
		e->length = -1;
	} else if (e->length > w->size - e->value) {
		return iso_refuse(w->path,
		                  "element (%04x,%04x) at byte %" PRId64 " asks for %" PRId64
		                  " bytes, %" PRId64 " are left",
		                  (unsigned)e->group, (unsigned)e->number, w->at, e->length,
		                  w->size - e->value);
	}
	return ISO_OK;
}

/* ---- values ---- */

/* Numbers between backslashes, with spaces around them; false: not n of them. */
static bool get_reals(double *v, int n, const char *text)
{
	for (int i = 0; i < n; i++) {
		size_t length = strcspn(text, "\\"), lead = strspn(text, " "), end = length;

		while (end > lead && text[end - 1] == ' ') end--;
		if (lead >= end || !iso_number(&v[i], text + lead, end - lead)) return false;
		text += length;
		if (*text != (i < n - 1 ? '\\' : '\0')) return false;
		text++;
	}
	return true;
}

/* Letters are told as they are, but for those that are none. */
static void make_printable(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~') *text = '?';
}

/* *there: false of an empty text, which is as good as none. */
static int take_value(struct dicom_slice *s, bool *there, const struct walk *w, const struct tag *t,
                      const struct element *e)
{
	uint8_t b[VALUE + 1] = { 0 };
	char *text = (char *)b, *to = (char *)s + t->at;
	int64_t n = e->length;

	if (n < 0) return damaged(w->path, t, "has no length", "");
	if (n > VALUE) return damaged(w->path, t, "is too long", "");
	if (iso_read_at(w->fd, b, n, e->value) != n) return iso_fail_errno(w->path, "read");
	if (t->kind == WHOLE) {
		int value = (int)get(b, 2);

		if (n != 2) return damaged(w->path, t, "is no number of two bytes", "");
		memcpy(to, &value, sizeof value);
		return ISO_OK;
	}
	while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\0')) text[--n] = '\0';
	make_printable(text);
	*there = n > 0;
	if (t->kind == TEXT && n >= DICOM_TEXT && t->needed)
		return damaged(w->path, t, "is too long: ", text);
	if (t->kind == TEXT && n >= DICOM_TEXT) text[n = DICOM_TEXT - 1] = '\0';
	if (t->kind == TEXT) memcpy(to, text, (size_t)n + 1);
	if (t->kind == REALS && n > 0) {
		double v[6];

		if (!get_reals(v, t->n, text)) return damaged(w->path, t, "is ", text);
		memcpy(to, v, (size_t)t->n * sizeof *v);
	}
	return ISO_OK;
}

static int take_element(struct dicom_slice *s, const struct walk *w, const struct element *e)
{
	for (int i = 0; i < N_TAGS; i++) {
		bool there = true;
		int st = ISO_OK;

		if (tags[i].group != e->group || tags[i].number != e->number || e->length == 0) continue;
		if (i == PIXELS) {
			s->pixels = e->value;
			s->bytes = e->length;
		} else {
			st = take_value(s, &there, w, &tags[i], e);
		}
		if (there) s->found |= UINT64_C(1) << i;
		return st;
	}
	return ISO_OK;
}

/* ---- the head of a file ---- */

/* Between group 2, which is always explicit, and the rest. Packed files are explicit. */
static int choose_syntax(struct walk *w, const struct dicom_slice *s)
{
	if (!s->syntax[0]) return damaged(w->path, &tags[SYNTAX], "is missing", "");
	if (strcmp(s->syntax, DEFLATED) == 0 || strcmp(s->syntax, BIG_ENDIAN_ORDER) == 0)
		return iso_refuse(w->path,
		                  "(0002,0010) transfer syntax %s (%s): explicit or implicit little-endian "
		                  "was expected; 'gdcmconv -w' rewrites a file",
		                  s->syntax, syntax_name(s->syntax));
	w->implicit = strcmp(s->syntax, IMPLICIT) == 0;
	return ISO_OK;
}

/* Steps over an element or into it. */
static int step(struct walk *w, const struct element *e)
{
	bool item = e->group == 0xfffe, end = item && (e->number == 0xe00d || e->number == 0xe0dd);

	w->at = e->value;
	if (end && w->depth == 0)
		return iso_refuse(w->path, "a sequence ends at byte %" PRId64 ", where none is open", w->at);
	if (end) {
		w->depth--;
		if (w->depth < w->unknown) w->unknown = 0;
	} else if (e->length >= 0) {
		w->at += e->length;
	} else {
		w->depth++;
		if (strcmp(e->vr, "UN") == 0) w->unknown = w->depth;
	}
	return ISO_OK;
}

static int read_elements(struct dicom_slice *s, struct walk *w)
{
	bool begun = false; /* behind group 2 */
	struct element e;
	int st;

	while (w->at < w->size) {
		uint8_t group[2] = { 0 };

		if (!begun && iso_read_at(w->fd, group, 2, w->at) == 2 && get(group, 2) != 2) {
			if ((st = choose_syntax(w, s))) return st;
			begun = true;
		}
		if ((st = next_element(&e, w)) || (w->depth == 0 && (st = take_element(s, w, &e)))) return st;
		if (w->depth == 0 && s->found >> PIXELS & 1) return ISO_OK; /* what follows is not needed */
		if ((st = step(w, &e))) return st;
	}
	return w->depth ? iso_refuse(w->path, "ends within a sequence") : ISO_OK;
}

static bool marked(int fd)
{
	uint8_t b[4];

	return iso_read_at(fd, b, 4, MARK) == 4 && memcmp(b, "DICM", 4) == 0;
}

bool dicom_marked(const char *path)
{
	int64_t size;
	int fd;

	if (iso_regular_open(&fd, &size, path)) return false;
	bool yes = marked(fd);

	close(fd);
	return yes;
}

int dicom_head(struct dicom_slice *s, const char *path)
{
	struct walk w = { .path = path, .at = MARK + 4 };
	struct dicom_slice r = { .path = s->path, .samples = 1, .frames = 1 };
	int st = iso_regular_open(&w.fd, &w.size, path);

	if (st) return st;
	st = marked(w.fd) ? read_elements(&r, &w)
	                  : iso_refuse(path, "no DICOM file: the letters DICM are not at byte %d", MARK);
	close(w.fd);
	*s = r;
	return st;
}

/* ---- what a slice must say ---- */

bool dicom_wanted(const struct dicom_slice *s, enum dicom_want want)
{
	return (want & DICOM_CT && strcmp(s->modality, "CT") == 0) ||
	       (want & DICOM_PT && strcmp(s->modality, "PT") == 0);
}

static int check_modality(const struct dicom_slice *s, enum dicom_want want)
{
	static const char *const words[] = {
		[DICOM_CT] = "CT is", [DICOM_PT] = "PT (PET) is", [DICOM_CT | DICOM_PT] = "CT or PT (PET) is"
	};

	if (!s->modality[0] || dicom_wanted(s, want)) return ISO_OK;
	return iso_refuse(s->path, "modality is %s, %s wanted", s->modality, words[want]);
}

static int check_kind(const struct dicom_slice *s, enum dicom_want want)
{
	int st = check_modality(s, want);

	if (st) return st;
	if (s->frames != 1 || s->samples != 1)
		return iso_refuse(s->path,
		                  "%g frames of %d samples, a file for each slice was expected; 'dcm2niix' "
		                  "makes NIfTI of it",
		                  s->frames, s->samples);
	for (int i = 0; i < N_TAGS; i++)
		if (tags[i].needed && !(s->found >> i & 1))
			return damaged(s->path, &tags[i], "is missing", "");
	if (strcmp(s->syntax, IMPLICIT) != 0 && strcmp(s->syntax, EXPLICIT) != 0)
		return iso_refuse(s->path,
		                  "is packed (transfer syntax %s, %s); 'gdcmconv -w' unpacks a file, "
		                  "'dcm2niix' makes NIfTI of a series",
		                  s->syntax, syntax_name(s->syntax));
	if (strcmp(s->modality, "CT") == 0 && s->unit[0] && strcmp(s->unit, "HU") != 0 &&
	    strcmp(s->unit, "US") != 0)
		return iso_refuse(s->path, "values are in %s, Hounsfield units (HU) were expected", s->unit);
	return ISO_OK;
}

static int check_values(const struct dicom_slice *s)
{
	if (s->bits != 16 || s->stored < 1 || s->stored > 16 || s->high != s->stored - 1 || s->sign > 1)
		return iso_refuse(
			s->path,
			"%d bits of %d, the highest %d, sign %d; up to 16 of 16 were expected, from bit 0 on",
			s->stored, s->bits, s->high, s->sign);
	if (s->rows < 1 || s->columns < 1)
		return iso_refuse(s->path, "%d rows of %d columns", s->rows, s->columns);
	if (s->bytes != 2 * (int64_t)s->rows * s->columns)
		return iso_refuse(s->path, "%" PRId64 " bytes of values, %d rows of %d columns have %" PRId64,
		                  s->bytes, s->rows, s->columns, 2 * (int64_t)s->rows * s->columns);
	return ISO_OK;
}

/* Rows and columns along unit vectors, at right angles. */
static int check_place(const struct dicom_slice *s)
{
	const double *r = s->orientation, *c = r + 3;
	const bool ct = strcmp(s->modality, "CT") == 0;
	const double steepest = ct ? 1e6 : DICOM_STEEPEST; /* of Hounsfield units; of any unit */

	if (!(s->spacing[0] > 0 && s->spacing[1] > 0))
		return iso_refuse(s->path, "pixel spacing %g, %g mm, must be above 0", s->spacing[0],
		                  s->spacing[1]);
	if (fabs(r[0] * r[0] + r[1] * r[1] + r[2] * r[2] - 1) > 1e-3 ||
	    fabs(c[0] * c[0] + c[1] * c[1] + c[2] * c[2] - 1) > 1e-3 ||
	    fabs(r[0] * c[0] + r[1] * c[1] + r[2] * c[2]) > 1e-3)
		return iso_refuse(s->path,
		                  "orientation %g, %g, %g; %g, %g, %g: no two directions at right angles",
		                  r[0], r[1], r[2], c[0], c[1], c[2]);
	for (int i = 0; i < 3; i++)
		if (fabs(s->position[i]) > DICOM_FURTHEST)
			return iso_refuse(s->path, "position %g mm: beyond a kilometre", s->position[i]);
	if (!(s->spacing[0] < DICOM_WIDEST && s->spacing[1] < DICOM_WIDEST && fabs(s->slope) < steepest &&
	      fabs(s->intercept) < (ct ? 1e9 : DICOM_STEEPEST)))
		return iso_refuse(s->path, "pixels of %g x %g mm, values times %g plus %g: too large",
		                  s->spacing[0], s->spacing[1], s->slope, s->intercept);
	return ISO_OK;
}

int dicom_complete(const struct dicom_slice *s, enum dicom_want want)
{
	int st = check_kind(s, want);

	return st || (st = check_values(s)) ? st : check_place(s);
}

/* ---- values ---- */

int dicom_values(iso_real *v, const struct dicom_slice *s)
{
	const int64_t n = (int64_t)s->rows * s->columns;
	const int sign = s->sign << (s->stored - 1), mask = (1 << s->stored) - 1;
	uint8_t *b = size_alloc(s->bytes, 1);
	int64_t size;
	int fd = -1, st = b ? iso_regular_open(&fd, &size, s->path) : iso_fail_memory(s->path, s->bytes);

	if (!st && iso_read_at(fd, b, s->bytes, s->pixels) != s->bytes)
		st = iso_fail(ISO_EIO, "%s: can't be read, or was cut short meanwhile", s->path);
	for (int64_t i = 0; i < n && !st; i++) {
		int raw = (int)get(b + 2 * i, 2) & mask;

		v[i] = (iso_real)(s->slope * (double)((raw ^ sign) - sign) + s->intercept);
	}
	if (fd >= 0) close(fd);
	free(b);
	return st;
}
