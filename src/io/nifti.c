/* SPDX-License-Identifier: BSD-3-Clause */
/* NIfTI images, .nii and .nii.gz: a header of 348 bytes (NIfTI-1) or 540 (NIfTI-2), 4 more, then the voxels. Both are
   read; NIfTI-1 is written. */
#include "core/size.h"
#include "core/status.h"
#include "file/element.h"
#include "format.h"
#include "volume.h"

#include <math.h>
#include <string.h>

enum { HEADER = 348, DATA = 352, AXIS_MOST = 32767 }; /* of NIfTI-1, whose sizes are int16 */
enum { HEADER_2 = 540 };

/* Byte offsets of the fields of NIfTI-1. */
enum { INTENT_P1 = 56, INTENT_CODE = 68, INTENT_NAME = 328 };
enum { SIZEOF_HDR = 0, REGULAR = 38, DIM = 40, DATATYPE = 70, BITPIX = 72, PIXDIM = 76, VOX_OFFSET = 108 };
enum { SCL_SLOPE = 112, SCL_INTER = 116, XYZT_UNITS = 123, CAL_MAX = 124, CAL_MIN = 128, DESCRIP = 148 };
enum { QFORM_CODE = 252, SFORM_CODE = 254, QUATERN = 256, QOFFSET = 268, SROW = 280, MAGIC = 344 };

static const struct {
	int code;
	char kind;
	int size;
} types[] = {
	{ 2, 'u', 1 },   { 4, 'i', 2 },   { 8, 'i', 4 },   { 16, 'f', 4 },   { 64, 'f', 8 },
	{ 256, 'i', 1 }, { 512, 'u', 2 }, { 768, 'u', 4 }, { 1024, 'i', 8 }, { 1280, 'u', 8 },
};
enum { N_TYPES = sizeof types / sizeof *types };

/* ---- reading ---- */

/* Where the two versions have their fields, and as what. */
struct version {
	int header;        /* bytes */
	const char *magic; /* of one file, and of the header of a pair */
	const char *of_pair;
	int magic_at, magic_bytes;
	int dim, dim_size; /* bytes of an integer */
	int datatype, bitpix;
	int pixdim, real; /* real: bytes of all floating-point fields */
	struct iso_element offset_type;
	int vox_offset, slope, inter, units, units_size;
	int qform, sform, code_size, quatern, qoffset, srow;
	int intent, intent_name, p1; /* of code_size bytes, of 16, real */
};

static const struct version versions[] = {
	{ .header = HEADER,
	  .magic = "n+1",
	  .of_pair = "ni1",
	  .magic_at = MAGIC,
	  .magic_bytes = 4,
	  .dim = DIM,
	  .dim_size = 2,
	  .datatype = DATATYPE,
	  .bitpix = BITPIX,
	  .pixdim = PIXDIM,
	  .real = 4,
	  .offset_type = { 'f', 4, false },
	  .vox_offset = VOX_OFFSET,
	  .slope = SCL_SLOPE,
	  .inter = SCL_INTER,
	  .units = XYZT_UNITS,
	  .units_size = 1,
	  .qform = QFORM_CODE,
	  .sform = SFORM_CODE,
	  .code_size = 2,
	  .quatern = QUATERN,
	  .qoffset = QOFFSET,
	  .srow = SROW,
	  .intent = INTENT_CODE,
	  .intent_name = INTENT_NAME,
	  .p1 = INTENT_P1 },
	{ .header = HEADER_2,
	  .magic = "n+2\0\r\n\032\n",
	  .of_pair = "ni2\0\r\n\032\n",
	  .magic_at = 4,
	  .magic_bytes = 8,
	  .dim = 16,
	  .dim_size = 8,
	  .datatype = 12,
	  .bitpix = 14,
	  .pixdim = 104,
	  .real = 8,
	  .offset_type = { 'i', 8, false },
	  .vox_offset = 168,
	  .slope = 176,
	  .inter = 184,
	  .units = 500,
	  .units_size = 4,
	  .qform = 344,
	  .sform = 348,
	  .code_size = 4,
	  .quatern = 352,
	  .qoffset = 376,
	  .srow = 400,
	  .intent = 504,
	  .intent_name = 508,
	  .p1 = 80 },
};
enum { N_VERSIONS = sizeof versions / sizeof *versions };

struct header {
	const char *path;
	const struct version *is;
	bool swap; /* of the other byte order */
	unsigned char byte[HEADER_2];
};

/* What the header says, checked. File axes are x, y, z, t, and components of vectors. */
struct volume {
	struct iso_stored *stored;
	struct iso_vectors *vectors; /* what a field of vectors says besides; NULL: an image is wanted */
	int64_t dim[5];
	int64_t bytes_before, bytes; /* of the header and what follows it; of the data */
	double affine[3][4];         /* file indices -> mm */
	int axis[3], sign[3];        /* the file axis along world x, y, z, and which way */
	struct iso_grid grid;
};

static double get_int(const struct header *h, int at, int size)
{
	return iso_element_get(h->byte + at, (struct iso_element){ 'i', size, h->swap });
}

/* Real number i of those that begin at byte `at`. */
static double get_real(const struct header *h, int at, int i)
{
	const int size = h->is->real;

	return iso_element_get(h->byte + at + i * size, (struct iso_element){ 'f', size, h->swap });
}

/* The double that reads like the float, 1.6 and not 1.60000002: grids keep their round values. */
static double get_length(const struct header *h, int at, int i)
{
	double v = get_real(h, at, i), d;
	char text[32];
	int n = iso_snprintf(text, sizeof text, "%.7g", v);

	if (h->is->real == 8) return v;
	return iso_number(&d, text, (size_t)n) ? d : v; /* no number: NaN or infinite */
}

/* The version, and the byte order, by the first four bytes. */
static int find_version(struct header *h)
{
	for (int i = 0; i < 2 * N_VERSIONS; i++) {
		h->is = &versions[i / 2];
		h->swap = i % 2;
		if (get_int(h, SIZEOF_HDR, 4) == h->is->header) return ISO_OK;
	}
	return iso_refuse(h->path,
	                  "not a NIfTI file: the header size is neither %d (NIfTI-1) nor %d (NIfTI-2)",
	                  HEADER, HEADER_2);
}

static int check_kind(const struct header *h)
{
	const unsigned char *magic = h->byte + h->is->magic_at;

	if (memcmp(magic, h->is->of_pair, (size_t)h->is->magic_bytes) == 0)
		return iso_refuse(h->path, "header of a pair of files, a single .nii was expected");
	if (memcmp(magic, h->is->magic, (size_t)h->is->magic_bytes) != 0)
		return iso_refuse(h->path, "not a NIfTI file: its magic is not %.3s", h->is->magic);
	return ISO_OK;
}

static int get_dims(struct volume *v, const struct header *h)
{
	const int size = h->is->dim_size;
	double n = get_int(h, h->is->dim, size);

	if (!(n >= 1 && n <= 7)) return iso_refuse(h->path, "%g axes, must be 1 to 7", n);
	for (int i = 0; i < 7; i++) {
		double length = i < n ? get_int(h, h->is->dim + size * (i + 1), size) : 1;

		if (length < 1)
			return iso_refuse(h->path, "axis %d has size %g, must be at least 1", i + 1, length);
		if (i >= (v->vectors ? 5 : 4) && length > 1)
			return iso_refuse(h->path,
			                  "axis %d has size %g; only x, y, z, t%s may be longer than 1",
			                  i + 1, length, v->vectors ? " and components" : "");
		if (length > 0x1p40) return iso_refuse(h->path, "axis %d has size %g", i + 1, length);
		if (i < 5) v->dim[i] = (int64_t)length;
	}
	return ISO_OK;
}

static int get_type(struct volume *v, const struct header *h)
{
	int code = (int)get_int(h, h->is->datatype, 2), bits = (int)get_int(h, h->is->bitpix, 2), i = 0;

	while (i < N_TYPES && types[i].code != code) i++;
	if (i == N_TYPES)
		return iso_refuse(h->path, "data type %d, expected integers or floats of 4 or 8 bytes", code);
	if (bits != 8 * types[i].size)
		return iso_refuse(h->path, "%d bits a voxel, data type %d has %d", bits, code,
		                  8 * types[i].size);
	v->stored->layout.element = (struct iso_element){ types[i].kind, types[i].size, h->swap };
	return ISO_OK;
}

/* Where the voxels are, and what they are multiplied by. */
static int get_data(struct volume *v, const struct header *h)
{
	struct iso_stored *s = v->stored;
	struct iso_element whole = h->is->offset_type;
	int size = s->layout.element.size, least = h->is->header + 4;

	whole.big_endian = h->swap;
	double offset = iso_element_get(h->byte + h->is->vox_offset, whole);

	if (!(offset >= least && offset < 0x1p30) || offset != floor(offset))
		return iso_refuse(h->path, "data at byte %g, must be a whole number from %d", offset, least);
	s->skip = (int64_t)offset - h->is->header;
	v->bytes_before = (int64_t)offset;
	if (!size_product(&v->bytes, 5, v->dim) || v->bytes > INT64_MAX / 16 / size)
		return iso_refuse(h->path, "more voxels than 64 bits count");
	v->bytes *= size;
	s->slope = get_real(h, h->is->slope, 0);
	s->inter = get_real(h, h->is->inter, 0);
	if (!isfinite(s->slope) || !isfinite(s->inter))
		return iso_refuse(h->path, "scale %g x + %g, must be finite", s->slope, s->inter);
	s->scaled = s->slope != 0 && (s->slope != 1 || s->inter != 0); /* 0: by definition not */
	return ISO_OK;
}

static int affine_of_rows(struct volume *v, const struct header *h)
{
	for (int r = 0; r < 3; r++)
		for (int c = 0; c < 4; c++) v->affine[r][c] = get_length(h, h->is->srow, 4 * r + c);
	return ISO_OK;
}

static int get_pixdim(double d[3], const struct header *h)
{
	for (int i = 0; i < 3; i++) {
		d[i] = get_length(h, h->is->pixdim, i + 1);
		if (!(d[i] > 0))
			return iso_refuse(h->path, "voxel size %g along axis %d, must be above 0", d[i],
			                  i + 1);
	}
	return ISO_OK;
}

/* Unit quaternion (a, b, c, d), a >= 0 from the other three; nifti1.h, "method 2". */
static int affine_of_quaternion(struct volume *v, const struct header *h)
{
	double b = get_real(h, h->is->quatern, 0), c = get_real(h, h->is->quatern, 1);
	double d = get_real(h, h->is->quatern, 2), norm = b * b + c * c + d * d;
	double a = 0, size[3], last = get_real(h, h->is->pixdim, 0) < 0 ? -1 : 1;
	int st = get_pixdim(size, h);

	if (st) return st;
	if (!(norm < 1.001)) return iso_refuse(h->path, "quaternion (%g, %g, %g) is no rotation", b, c, d);
	if (1 - norm < 1e-7) { /* half a turn, but for rounding */
		b /= sqrt(norm);
		c /= sqrt(norm);
		d /= sqrt(norm);
	} else {
		a = sqrt(1 - norm);
	}
	const double turn[3][3] = {
		{ a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c) },
		{ 2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b) },
		{ 2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - b * b - c * c },
	};
	for (int r = 0; r < 3; r++) {
		for (int k = 0; k < 3; k++) v->affine[r][k] = turn[r][k] * size[k] * (k == 2 ? last : 1);
		v->affine[r][3] = get_length(h, h->is->qoffset, r);
	}
	return ISO_OK;
}

static int affine_of_pixdim(struct volume *v, const struct header *h)
{
	double size[3];
	int st = get_pixdim(size, h);

	for (int i = 0; i < 3 && !st; i++) {
		v->affine[i][i] = size[i];
		v->affine[i][3] = -.5 * (double)(v->dim[i] - 1) * size[i];
	}
	return st;
}

static int get_affine(struct volume *v, const struct header *h)
{
	static const double mm[4] = { 1, 1e3, 1, 1e-3 }; /* not said, m, mm, um */
	int unit = (int)get_int(h, h->is->units, h->is->units_size) & 7, st;

	if (unit > 3)
		return iso_refuse(h->path, "unit of length %d, known are 1 (m), 2 (mm) and 3 (um)", unit);
	st = (get_int(h, h->is->sform, h->is->code_size) > 0   ? affine_of_rows
	      : get_int(h, h->is->qform, h->is->code_size) > 0 ? affine_of_quaternion
	                                                       : affine_of_pixdim)(v, h);
	if (st) return st;
	for (int i = 0; i < 12; i++) {
		v->affine[i / 4][i % 4] *= mm[unit];
		if (!isfinite(v->affine[i / 4][i % 4]))
			return iso_refuse(h->path, "voxel size or position is not finite");
	}
	return ISO_OK;
}

static int get_axes(struct volume *v, const struct iso_stored *s, const char *path)
{
	int st = iso_axes_find(v->axis, v->sign, v->affine, path);

	if (st) return st;
	if (!s->oblique && iso_axes_tilt(NULL, v->affine, v->axis) > 0) return iso_axes_refuse(path);
	iso_axes_grid(&v->grid, v->dim, v->affine, v->axis);
	for (int r = 0; r < 3; r++)
		if (!isfinite(v->grid.voxel[r]) || !isfinite(v->grid.centre[r]))
			return iso_refuse(path, "voxel size or position is not finite");
	return ISO_OK;
}

/* What kind of vectors a file has. */
static void get_intent(struct iso_vectors *to, const struct header *h)
{
	to->intent = (int)get_int(h, h->is->intent, h->is->code_size);
	memcpy(to->name, h->byte + h->is->intent_name, sizeof to->name - 1);
	to->p1 = get_real(h, h->is->p1, 0);
}

static int read_header(struct volume *v, struct iso_in *in)
{
	struct header h = { .path = in->path };
	int st = iso_in_read(in, h.byte, HEADER);

	if (st || (st = find_version(&h)) || (st = iso_in_read(in, h.byte + HEADER, h.is->header - HEADER)) ||
	    (st = check_kind(&h)) || (st = get_dims(v, &h)) || (st = get_type(v, &h)) ||
	    (st = get_data(v, &h)))
		return st;
	if (v->vectors) get_intent(v->vectors, &h);
	return get_affine(v, &h);
}

/* Where (t, z, y, x) of the world's axes lies in the file. */
static void set_layout(struct iso_layout *l, const struct volume *v, int n_dim)
{
	const int64_t step[3] = { 1, v->dim[0], v->dim[0] * v->dim[1] };

	l->stride[0] = step[2] * v->dim[2]; /* of t; z takes its place if there is none */
	for (int r = 0; r < 3; r++) {
		int c = v->axis[r];

		l->stride[n_dim - 1 - r] = v->sign[r] * step[c];
		if (v->sign[r] < 0) l->first += (v->dim[c] - 1) * step[c];
	}
}

static int open_nifti(struct iso_array *a, struct iso_stored *s, const char *path, bool pairs)
{
	struct volume v = { .stored = s };
	int st;

	(void)pairs;
	if ((st = iso_in_open(&s->in, path, iso_has_suffix(path, ".gz"))) || (st = read_header(&v, &s->in)) ||
	    (st = get_axes(&v, s, path)) || (st = iso_in_expect(&s->in, v.bytes_before + v.bytes)))
		return st;
	int64_t dim[4] = { v.dim[3], v.grid.n[2], v.grid.n[1], v.grid.n[0] };
	int skip = v.dim[3] == 1; /* a single frame is an image */

	if ((st = iso_array_make(a, path, 4 - skip, dim + skip, false))) return st;
	a->has_grid = true;
	a->grid = v.grid;
	set_layout(&s->layout, &v, a->n_dim);
	return ISO_OK;
}

/* All n of them, in the file's order. */
static int volume_values(iso_real *v, int64_t n, struct iso_stored *s, const char *path)
{
	int st;

	if ((st = iso_in_skip(&s->in, s->skip)) ||
	    (st = iso_elements_read(v, n, &s->in, s->layout.element)) || (st = iso_in_end(&s->in)))
		return st;
	for (int64_t i = 0; i < n; i++) {
		if (s->scaled) v[i] = (iso_real)(s->slope * (double)v[i] + s->inter);
		if (!isfinite(v[i]))
			return iso_refuse(path, "voxel %" PRId64 " is %g, not finite", i, (double)v[i]);
	}
	return ISO_OK;
}

static int read_volume(struct iso_volume *to, struct iso_stored *s, const iso_ctx *ctx, const char *path,
                       bool values)
{
	struct volume v = { .stored = s };
	int64_t n = 1;
	int st;

	if ((st = iso_in_open(&s->in, path, iso_has_suffix(path, ".gz"))) || (st = read_header(&v, &s->in)) ||
	    (st = iso_in_expect(&s->in, v.bytes_before + v.bytes)))
		return st;
	if (v.dim[3] > 1) return iso_refuse(path, "%" PRId64 " frames, one volume was expected", v.dim[3]);
	for (int i = 0; i < 3; i++) n *= to->dim[i] = v.dim[i];
	memcpy(to->affine, v.affine, sizeof to->affine);
	if ((st = iso_volume_room(to, ctx, path, 1, values))) return st;
	if (!(to->file[0] = strdup(path))) return iso_fail_memory(path, PATH_MAX);
	s->in.ctx = ctx;
	return values ? volume_values(to->v, n, s, path) : ISO_OK;
}

int iso_nifti_place(struct iso_volume *to, const char *path)
{
	struct iso_stored s = { 0 };
	struct volume v = { .stored = &s };
	int st = iso_in_open(&s.in, path, iso_has_suffix(path, ".gz"));

	if (!st) st = read_header(&v, &s.in);
	for (int i = 0; i < 3; i++) to->dim[i] = v.dim[i];
	memcpy(to->affine, v.affine, sizeof to->affine);
	iso_in_close(&s.in);
	return st;
}

int iso_nifti_volume(struct iso_volume *v, const iso_ctx *ctx, const char *path, bool values)
{
	struct iso_stored s = { 0 };
	int st = read_volume(v, &s, ctx, path, values);

	iso_in_close(&s.in);
	return st;
}

static int read_vectors(struct iso_vectors *to, struct iso_stored *s, const char *path)
{
	struct volume v = { .stored = s, .vectors = to };
	int st;

	if ((st = iso_in_open(&s->in, path, iso_has_suffix(path, ".gz"))) || (st = read_header(&v, &s->in)) ||
	    (st = iso_axes_find(to->axis, to->sign, v.affine, path)))
		return st;
	if (iso_axes_tilt(NULL, v.affine, to->axis) > 0)
		return iso_refuse(path,
		                  "its axes are oblique; a displacement field must lie on straight ones");
	iso_axes_grid(&to->grid, v.dim, v.affine, to->axis);
	memcpy(to->dim, v.dim, sizeof to->dim);
	const int64_t n = v.bytes / s->layout.element.size;

	if ((st = iso_grid_check(&to->grid)) || (st = iso_in_expect(&s->in, v.bytes_before + v.bytes)) ||
	    (st = iso_memory_check(NULL, path, n * (int64_t)sizeof *to->v)))
		return st;
	if (!(to->v = size_alloc(n, sizeof *to->v))) return iso_fail_memory(path, n * (int64_t)sizeof *to->v);
	if ((st = iso_in_skip(&s->in, s->skip)) ||
	    (st = iso_elements_read(to->v, n, &s->in, s->layout.element)) || (st = iso_in_end(&s->in)))
		return st;
	for (int64_t i = 0; s->scaled && i < n; i++)
		to->v[i] = (iso_real)(s->slope * (double)to->v[i] + s->inter);
	return ISO_OK;
}

int iso_nifti_vectors(struct iso_vectors *to, const char *path)
{
	struct iso_stored s = { 0 };
	int st = read_vectors(to, &s, path);

	iso_in_close(&s.in);
	return st;
}

/* ---- writing ---- */

static void put_short(unsigned char *h, int at, int value)
{
	memcpy(h + at, &(int16_t){ (int16_t)value }, sizeof(int16_t));
}

static void put_float(unsigned char *h, int at, double value)
{
	memcpy(h + at, &(float){ (float)value }, sizeof(float));
}

/* Along x, y, z, t; absent axes have 1. */
static int64_t length(const struct iso_array *a, int i)
{
	return i < a->n_dim ? a->dim[a->n_dim - 1 - i] : 1;
}

static int put_dims(unsigned char *h, const struct iso_array *a, const char *path)
{
	if (a->n_dim > 4)
		return iso_fail(ISO_EARG, "%s: %d axes, NIfTI-1 has at most 4; write .npy", path, a->n_dim);
	put_short(h, DIM, a->n_dim < 4 ? 3 : 4);
	for (int i = 0; i < 7; i++) {
		int64_t size = length(a, i);

		if (size > AXIS_MOST)
			return iso_fail(ISO_EARG,
			                "%s: an axis of %" PRId64 ", NIfTI-1 holds at most %d; write .npy",
			                path, size, AXIS_MOST);
		put_short(h, DIM + 2 + 2 * i, (int)size);
	}
	return ISO_OK;
}

static int put_grid(unsigned char *h, const struct iso_array *a, const char *path)
{
	put_float(h, PIXDIM, 1);
	put_float(h, PIXDIM + 16, 1);
	put_short(h, QFORM_CODE, 1);
	put_short(h, SFORM_CODE, 1);
	for (int i = 0; i < 3; i++) {
		double voxel = a->has_grid ? a->grid.voxel[i] : 1;
		double centre = a->has_grid ? a->grid.centre[i] : 0;
		double first = centre - .5 * (double)(length(a, i) - 1) * voxel;

		if (!isnormal((float)voxel) || !isfinite((float)first))
			return iso_fail(ISO_EARG, "%s: voxels of %g mm from %g mm are beyond a float", path,
			                voxel, first);
		put_float(h, PIXDIM + 4 * (i + 1), voxel);
		put_float(h, QOFFSET + 4 * i, first);
		put_float(h, SROW + 16 * i + 4 * i, voxel);
		put_float(h, SROW + 16 * i + 12, first);
	}
	return ISO_OK;
}

static int begin(struct iso_out *o, const struct iso_array *a, const iso_real range[2])
{
	unsigned char h[DATA] = { 0 };
	const int32_t size = HEADER;
	int st;

	memcpy(h + SIZEOF_HDR, &size, sizeof size);
	memcpy(h + MAGIC, "n+1", 4);
	h[REGULAR] = 'r';
	h[XYZT_UNITS] = 2 + 8; /* mm, s */
	put_short(h, DATATYPE, sizeof *a->v == 4 ? 16 : 64);
	put_short(h, BITPIX, 8 * (int)sizeof *a->v);
	put_float(h, VOX_OFFSET, DATA);
	put_float(h, SCL_SLOPE, 1);
	snprintf((char *)h + DESCRIP, 80, "isotome %s%s%s", iso_version(), a->unit[0] ? "; " : "", a->unit);
	put_float(h, CAL_MAX, (double)range[1]);
	put_float(h, CAL_MIN, (double)range[0]);
	st = put_dims(h, a, o->path);
	if (!st) st = put_grid(h, a, o->path);
	return st ? st : iso_out_write(o, h, sizeof h);
}

const struct iso_format iso_nii_format = {
	.open = open_nifti, .lead = begin, .ranged = true, .axis_most = AXIS_MOST
};

const struct iso_format iso_nii_gz_format = {
	.open = open_nifti, .lead = begin, .ranged = true, .axis_most = AXIS_MOST, .gzip = true
};
