/* SPDX-License-Identifier: BSD-3-Clause */
/* CT series in DICOM: a sample of another program, places and signs worked by hand, every tag that is missing,
   every length that is cut short. This test is also built in double. */
#include "files.h"

#define IMPLICIT "1.2.840.10008.1.2"
#define EXPLICIT "1.2.840.10008.1.2.1"

#define OK(call)                                                     \
	do {                                                         \
		if ((call) != ISO_OK) fail_msg("%s", iso_message()); \
	} while (0)

/* ---- files to order ---- */

/* What a slice is to say otherwise than slice() does by itself. */
struct how {
	bool implicit;
	uint32_t without; /* the tag that is left out, group << 16 | element */
	uint32_t instead; /* that whose value is `text` */
	const char *text; /* of two bytes for a number */
	const char *position, *orientation, *series, *intercept;
	const void *before; /* bytes before the values */
	size_t before_bytes;
	int16_t value; /* of the first voxel; the others count up */
};

struct file {
	unsigned char byte[4096];
	size_t n;
};

static void add(struct file *f, const void *data, size_t bytes)
{
	assert_true(f->n + bytes <= sizeof f->byte);
	memcpy(f->byte + f->n, data, bytes);
	f->n += bytes;
}

static void add_number(struct file *f, uint32_t v, int bytes)
{
	for (int i = 0; i < bytes; i++) add(f, &(unsigned char){ (unsigned char)(v >> 8 * i) }, 1);
}

static void add_head(struct file *f, bool implicit, uint32_t tag, const char *vr, uint32_t length)
{
	add_number(f, tag >> 16, 2);
	add_number(f, tag & 0xffff, 2);
	if (implicit) {
		add_number(f, length, 4);
		return;
	}
	add(f, vr, 2);
	if (strstr("OB OW SQ UN UT", vr)) add_number(f, 0, 2);
	add_number(f, length, strstr("OB OW SQ UN UT", vr) ? 4 : 2);
}

static void element(struct file *f, const struct how *h, uint32_t tag, const char *vr, const char *text,
                    size_t bytes)
{
	if (h->without == tag) return;
	if (h->instead == tag) {
		text = h->text;
		bytes = strcmp(vr, "US") == 0 ? 2 : strlen(text);
	}
	add_head(f, h->implicit && tag >> 16 != 2, tag, vr, (uint32_t)(bytes + bytes % 2));
	add(f, text, bytes);
	if (bytes % 2) add(f, strcmp(vr, "UI") == 0 ? "" : " ", 1);
}

static void words(struct file *f, const struct how *h, uint32_t tag, const char *vr, const char *text)
{
	element(f, h, tag, vr, text, strlen(text));
}

/* 3 columns, 2 rows, voxels of 2 x 3 mm; HU = value - 1000. */
static struct file slice(const struct how *h)
{
	struct file f = { .n = 132 };

	memcpy(f.byte + 128, "DICM", 4);
	words(&f, h, 0x00020002, "UI", "1.2.840.10008.5.1.4.1.1.2");
	words(&f, h, 0x00020010, "UI", h->implicit ? IMPLICIT : EXPLICIT);
	words(&f, h, 0x00080060, "CS", "CT");
	words(&f, h, 0x00180050, "DS", "4");
	words(&f, h, 0x00180060, "DS", "120");
	words(&f, h, 0x0020000e, "UI", h->series ? h->series : "1.2.3");
	words(&f, h, 0x00200032, "DS", h->position ? h->position : "10\\20\\30");
	words(&f, h, 0x00200037, "DS", h->orientation ? h->orientation : "1\\0\\0\\0\\1\\0");
	element(&f, h, 0x00280002, "US", "\1", 2);
	words(&f, h, 0x00280008, "IS", "1");
	element(&f, h, 0x00280010, "US", "\2", 2);
	element(&f, h, 0x00280011, "US", "\3", 2);
	words(&f, h, 0x00280030, "DS", " 3.0 \\+2e0");
	element(&f, h, 0x00280100, "US", "\x10", 2);
	element(&f, h, 0x00280101, "US", "\x10", 2);
	element(&f, h, 0x00280102, "US", "\x0f", 2);
	element(&f, h, 0x00280103, "US", "\1", 2);
	words(&f, h, 0x00281052, "DS", h->intercept ? h->intercept : "-1000");
	words(&f, h, 0x00281053, "DS", "1");
	words(&f, h, 0x00281054, "LO", "HU");
	if (h->before) add(&f, h->before, h->before_bytes);
	char pixels[12];

	for (int i = 0; i < 6; i++) {
		uint16_t v = (uint16_t)(h->value + i);

		pixels[2 * i] = (char)(v & 0xff);
		pixels[2 * i + 1] = (char)(v >> 8);
	}
	element(&f, h, 0x7fe00010, "OW", pixels, 12);
	return f;
}

static void put_slice(const char *path, const struct how h)
{
	struct file f = slice(&h);

	put(path, f.byte, f.n);
}

static void refuse(const char *path, const char *message)
{
	struct iso_volume v = { .kvp = 77 };
	int st = iso_volume_read(&v, NULL, path);

	if (st != ISO_EINPUT) fail_msg("%s: status %d, wanted a message with \"%s\"", path, st, message);
	assert_message(message);
	assert_null(strchr(iso_message(), '\n'));
	assert_true(v.kvp == 77 && !v.v);
}

static void assert_place(const struct iso_volume *v, const double want[3][4])
{
	for (int i = 0; i < 12; i++) assert_near(v->affine[i / 4][i % 4], want[i / 4][i % 4], 1e-9);
}

/* ---- a series that pydicom wrote ---- */

static void check_sample(const char *path)
{
	static const char *const order[] = { "CT01.dcm", "CT03.dcm", "CT05.dcm",
		                             "CT00.dcm", "CT04.dcm", "CT02.dcm" };
	struct iso_array want = { 0 }, got = { 0 };
	struct iso_volume v = { 0 }, head = { 0 };
	struct iso_grid g;
	int64_t outside = 99;
	iso_ctx *ctx = NULL;
	double sum = 0;

	OK(iso_ctx_create(&ctx, "cpu", 2));
	OK(iso_volume_read(&v, ctx, path));
	OK(iso_volume_peek(&head, path));
	assert_true(!head.v && head.n_files == 6 && head.kvp == 120);
	assert_memory_equal(head.affine, v.affine, sizeof v.affine);
	assert_memory_equal(v.dim, ((int64_t[]){ 10, 12, 6 }), sizeof v.dim);
	assert_true(v.kvp == 120 && v.n_files == 6);
	for (int i = 0; i < 6; i++) assert_non_null(strstr(v.file[i], order[i]));
	OK(iso_volume_grid(&g, &v));
	assert_memory_equal(g.n, ((int64_t[]){ 10, 12, 6 }), sizeof g.n);
	for (int i = 0; i < 3; i++) {
		assert_near(g.voxel[i], (double[]){ 4, 3, 5 }[i], 1e-12);
		assert_near(g.centre[i] - .5 * (double)(g.n[i] - 1) * g.voxel[i],
		            (double[]){ -18, -16.5, -20 }[i], 1e-9);
	}
	read_ok(&want, TEST_DATA "/dicom/hu_ras.npy");
	OK(iso_array_on_grid(&got, &g));
	OK(iso_volume_resample(got.v, &outside, ctx, &g, &v, 0));
	assert_int_equal(outside, 0);
	assert_int_equal(got.n, want.n);
	for (int64_t i = 0; i < got.n; i++) {
		assert_near(got.v[i], want.v[i], 1e-3);
		sum += got.v[i];
	}
	assert_near(sum, -404640, .5);
	iso_array_free(&want);
	iso_array_free(&got);
	iso_volume_free(&v);
	iso_volume_free(&head);
	iso_ctx_free(ctx);
}

static void sample(void **state)
{
	(void)state;
	check_sample(TEST_DATA "/dicom");
	check_sample(TEST_DATA "/dicom/");
	check_sample(TEST_DATA "/dicom/CT04.dcm");
}

/* ---- places and values ---- */

static void places(void **state)
{
	struct iso_volume v = { 0 };

	(void)state;
	put_slice("b", (struct how){ .position = "10\\20\\35", .value = 100, .implicit = true });
	put_slice("c", (struct how){ .position = "10\\20\\30" });
	put_slice("a", (struct how){ .position = "10\\20\\40", .value = -200, .intercept = "-900" });
	put_text("notes.txt", "no DICOM");
	put_slice("other", (struct how){ .series = "1.2.4", .position = "0\\0\\0" });
	put_slice("directory", (struct how){ .instead = 0x00020002, .text = "1.2.840.10008.1.3.10" });
	OK(iso_volume_read(&v, NULL, "a"));
	assert_memory_equal(v.dim, ((int64_t[]){ 3, 2, 3 }), sizeof v.dim);
	assert_place(&v, (const double[3][4]){ { -2, 0, 0, -10 }, { 0, -3, 0, -20 }, { 0, 0, 5, 30 } });
	assert_string_equal(v.file[0], "c");
	for (int i = 0; i < 6; i++) {
		assert_near(v.v[i], i - 1000, 0);
		assert_near(v.v[6 + i], 100 + i - 1000, 0);
		assert_near(v.v[12 + i], i - 200 - 900, 0);
	}
	iso_volume_free(&v);
	refuse(".", ".: 2 series: CT (3 files, a), CT (1 files, other); name one file of the series that is "
	            "wanted");
	remove("other");
	OK(iso_volume_read(&v, NULL, "."));
	assert_int_equal(v.n_files, 3);
	iso_volume_free(&v);
	files(true);
}

/* Rows along (0, .6, .8), columns along (1, 0, 0); their normal is (0, .8, -.6). */
static void oblique(void **state)
{
	const double want[3][4] = { { 0, -3, 0, -1 }, { -1.2, 0, -4, -2 }, { 1.6, 0, -3, 3 } };
	struct iso_volume v = { 0 };

	(void)state;
	put_slice("a", (struct how){ .orientation = "0\\.6\\.8\\1\\0\\0", .position = "1\\2\\3" });
	put_slice("b", (struct how){ .orientation = "0\\.6\\.8\\1\\0\\0", .position = "1\\6\\0" });
	OK(iso_volume_read(&v, NULL, "b"));
	assert_place(&v, want);
	iso_volume_free(&v);
	files(true);
	/* a tilted gantry: slices step to the side as well */
	put_slice("a", (struct how){ .position = "0\\0\\0" });
	put_slice("b", (struct how){ .position = "0\\1\\4" });
	put_slice("c", (struct how){ .position = "0\\2\\8" });
	OK(iso_volume_read(&v, NULL, "c"));
	assert_place(&v, (const double[3][4]){ { -2, 0, 0, 0 }, { 0, -3, -1, 0 }, { 0, 0, 4, 0 } });
	iso_volume_free(&v);
	put_slice("b", (struct how){ .position = "0\\5\\4" });
	refuse("c", "b: does not lie in line with the other slices");
	files(true);
	/* one slice has its thickness */
	put_slice("a", (struct how){ 0 });
	OK(iso_volume_read(&v, NULL, "a"));
	assert_true(v.dim[2] == 1 && v.affine[2][2] == 4);
	iso_volume_free(&v);
	put_slice("a", (struct how){ .without = 0x00180050 });
	refuse("a", "says no thickness (0018,0050)");
	files(true);
}

/* 12 bits of 16, with a sign and without: what lies above them is none of the value. */
static void bits(void **state)
{
	struct iso_volume v = { 0 };

	(void)state;
	for (int sign = 0; sign < 2; sign++) {
		struct file f = slice(&(struct how){ 0 });
		unsigned char *stored = f.byte, *end = f.byte + f.n;

		while (memcmp(stored, "\x28\0\1\1", 4) != 0) stored++;
		stored[8] = 12;
		stored[18] = 11;
		stored[28] = (unsigned char)sign;
		memcpy(end - 12, "\xff\x0f\x00\xf8\xff\xf7", 6);
		put("a", f.byte, f.n);
		OK(iso_volume_read(&v, NULL, "a"));
		assert_near(v.v[0], sign ? -1001 : 3095, 0);
		assert_near(v.v[1], sign ? -3048 : 1048, 0);
		assert_near(v.v[2], 1047, 0);
		iso_volume_free(&v);
	}
	files(true);
}

/* ---- heads ---- */

static const struct {
	uint32_t tag;
	const char *message;
} needed[] = {
	{ 0x00020010, "(0002,0010) transfer syntax is missing" },
	{ 0x00080060, "(0008,0060) modality is missing" },
	{ 0x0020000e, "(0020,000e) number of the series is missing" },
	{ 0x00200032, "(0020,0032) position is missing" },
	{ 0x00200037, "(0020,0037) orientation is missing" },
	{ 0x00280010, "(0028,0010) rows is missing" },
	{ 0x00280011, "(0028,0011) columns is missing" },
	{ 0x00280030, "(0028,0030) pixel spacing is missing" },
	{ 0x00280100, "(0028,0100) bits allocated is missing" },
	{ 0x00280101, "(0028,0101) bits stored is missing" },
	{ 0x00280102, "(0028,0102) high bit is missing" },
	{ 0x00280103, "(0028,0103) pixel representation is missing" },
	{ 0x00281052, "(0028,1052) rescale intercept is missing" },
	{ 0x00281053, "(0028,1053) rescale slope is missing" },
	{ 0x7fe00010, "(7fe0,0010) pixel data is missing" },
};

static void missing(void **state)
{
	static const uint32_t may[] = {
		0x00020002, 0x00180050, 0x00180060, 0x00280002, 0x00280008, 0x00281054
	};
	struct iso_volume v = { 0 };

	(void)state;
	put_slice("b", (struct how){ .position = "10\\20\\34" });
	for (int i = 0; i < COUNT(needed); i++)
		for (int implicit = 0; implicit < 2; implicit++) {
			put_slice("a", (struct how){ .implicit = implicit, .without = needed[i].tag });
			refuse("a", needed[i].message);
			refuse(".", needed[i].message); /* a damaged file is not passed over */
		}
	for (int i = 0; i < COUNT(may); i++) {
		put_slice("a", (struct how){ .without = may[i] });
		OK(iso_volume_read(&v, NULL, "a"));
		assert_near(v.kvp, may[i] == 0x00180060 ? 0 : 120, 0);
		iso_volume_free(&v);
	}
	files(true);
}

static void empty(void **state)
{
	(void)state;
	for (int i = 1; i < COUNT(needed); i++) {
		if (needed[i].tag >> 16 == 0x28 && (needed[i].tag & 0xffff) < 0x1000 &&
		    needed[i].tag != 0x00280030)
			continue; /* two bytes each */
		if (needed[i].tag == 0x7fe00010) continue;
		put_slice("a", (struct how){ .instead = needed[i].tag, .text = "  " });
		refuse("a", needed[i].message);
	}
	files(true);
}

static void refused(void **state)
{
	static const struct {
		uint32_t tag;
		const char *text, *message;
	} wrong[] = {
		{ 0x00020010, "1.2.840.10008.1.2.4.70",
		  "is packed (transfer syntax 1.2.840.10008.1.2.4.70, JPEG lossless); 'gdcmconv -w' "
		  "unpacks" },
		{ 0x00020010, "1.2.840.10008.1.2.4.201",
		  "(transfer syntax 1.2.840.10008.1.2.4.201, not known here)" },
		{ 0x00020010, "1.2.840.10008.1.2.2",
		  "1.2.840.10008.1.2.2 (big-endian): explicit or implicit little-endian was expected; "
		  "'gdcmconv" },
		{ 0x00020010, "1.2.840.10008.1.2.1.99",
		  "(deflated): explicit or implicit little-endian was expected" },
		{ 0x00080060, "PT", "a: modality is PT, CT is wanted" },
		{ 0x00080060, "MR", "a: modality is MR, CT is wanted" },
		{ 0x00200032, "1\\2", "(0020,0032) position is 1\\2" },
		{ 0x00200032, "1\\2\\3\\4", "position is 1\\2\\3\\4" },
		{ 0x00200032, "1\\x\\3", "position is 1\\x\\3" },
		{ 0x00200032, "1\\2\\1e9", "beyond a kilometre" },
		{ 0x00200037, "1\\0\\0\\1\\0\\0", "no two directions at right angles" },
		{ 0x00200037, "2\\0\\0\\0\\1\\0", "no two directions at right angles" },
		{ 0x00280002, "\3", "of 3 samples" },
		{ 0x00280008, "9", "9 frames" },
		{ 0x00280010, "\7", "12 bytes of values, 7 rows of 3 columns have 42" },
		{ 0x00280030, "0\\1", "must be above 0" },
		{ 0x00280030, "1\n\033", "pixel spacing is 1??" },
		{ 0x00280100, "\x08", "16 bits of 8" },
		{ 0x00280101, "\x11", "17 bits of 16" },
		{ 0x00280102, "\x0e", "the highest 14" },
		{ 0x00280103, "\2", "sign 2" },
		{ 0x00281053, "inf", "rescale slope is inf" },
		{ 0x00281053, "1e7", "too large" },
		{ 0x00281054, "Z_EFF", "values are in Z_EFF, Hounsfield units (HU) were expected" },
		{ 0x0020000e, "1.23456789012345678901234567890123456789012345678901234567890123456",
		  "is too long" },
	};

	(void)state;
	for (int i = 0; i < COUNT(wrong); i++) {
		put_slice("a", (struct how){ .instead = wrong[i].tag, .text = wrong[i].text });
		refuse("a", wrong[i].message);
	}
	put("a.dcm", "DICM", 4);
	refuse("a.dcm", "no DICOM file: the letters DICM are not at byte 128");
	refuse("nowhere.dcm", "No such file");
	files(true);
	refuse(".", "no CT in this folder");
	put_slice("a", (struct how){ .instead = 0x00080060, .text = "MR" });
	refuse(".", "no CT in this folder, modality MR is there");
	files(true);
}

static void series(void **state)
{
	static const struct {
		struct how a, b, c;
		const char *message;
	} wrong[] = {
		{ { 0 }, { 0 }, { .position = "10\\20\\40" }, "a and b lie at the same place" },
		{ { 0 },
		  { .position = "10\\20\\31" },
		  { .position = "10\\20\\33" },
		  "from b to c there are 2 mm, elsewhere 1: is a slice missing?" },
		{ { 0 },
		  { .position = "10\\20\\35" },
		  { .position = "10\\20\\40", .instead = 0x00280030, .text = "3\\3" },
		  "c: pixel spacing 3 mm, a of the same series has 2" },
		{ { 0 },
		  { .position = "10\\20\\35" },
		  { .position = "10\\20\\40", .orientation = "0\\1\\0\\1\\0\\0" },
		  "c: its orientation is not that of a" },
	};
	struct iso_volume v = { 0 };

	(void)state;
	for (int i = 0; i < COUNT(wrong); i++) {
		put_slice("a", wrong[i].a);
		put_slice("b", wrong[i].b);
		put_slice("c", wrong[i].c);
		refuse("a", wrong[i].message);
		files(true);
	}
	/* steps that differ by less than 1 %, and two tube voltages: that of the series is not known */
	put_slice("a", (struct how){ 0 });
	put_slice("b", (struct how){ .position = "10\\20\\35.02", .instead = 0x00180060, .text = "140" });
	put_slice("c", (struct how){ .position = "10\\20\\40" });
	OK(iso_volume_read(&v, NULL, "."));
	assert_near(v.affine[2][2], 5, 1e-9);
	assert_near(v.kvp, 0, 0);
	iso_volume_free(&v);
	files(true);
}

/* With a file of its series named, what else lies in the folder does not matter, but for a file whose name differs from
   that in numbers alone. */
static void among_others(void **state)
{
	static const struct how others[] = {
		{ .series = "1.2.4", .instead = 0x00020010, .text = "1.2.840.10008.1.2.2" },
		{ .series = "1.2.4", .instead = 0x00020010, .text = "1.2.840.10008.1.2.1.99" },
		{ .series = "1.2.4", .instead = 0x00200032, .text = "1\\x\\3" },
		{ .series = "1.2.4", .instead = 0x00080060, .text = "MR" },
		{ .without = 0x0020000e },
		{ .without = 0x00080060, .series = "1.2.4" },
		{ .without = 0x00020010 },
	};
	struct iso_volume v = { 0 };

	(void)state;
	put_slice("CT1.dcm", (struct how){ .position = "10\\20\\30" });
	put_slice("CT2.dcm", (struct how){ .position = "10\\20\\34" });
	put_text("page.dcm", "<!DOCTYPE html>");
	for (int i = 0; i < COUNT(others); i++) {
		put_slice("A.dcm", others[i]);
		OK(iso_volume_read(&v, NULL, "CT2.dcm"));
		assert_true(v.n_files == 2 && v.dim[2] == 2);
		iso_volume_free(&v);
	}
	put_slice("CT3.dcm", (struct how){ .without = 0x00020010 });
	refuse("CT2.dcm", "CT3.dcm: (0002,0010) transfer syntax is missing");
	put_text("CT3.dcm", "");
	refuse("CT2.dcm", "CT3.dcm: empty, and named as the slices beside it are");
	/* damage in the series itself is not passed over, whatever the name */
	put_slice("CT3.dcm", (struct how){ .series = "1.2.4" });
	put_slice("A.dcm", (struct how){ .instead = 0x00280030, .text = "x" });
	refuse("CT2.dcm", "A.dcm: (0028,0030) pixel spacing is x");
	files(true);
}

/* ---- elements that are stepped over ---- */

enum { ITEM = 0xfffee000u, ITEM_END = 0xfffee00du, SEQUENCE_END = 0xfffee0ddu, OPEN = 0xffffffffu };

/* A sequence in a sequence, both without lengths, with a position that is not the slice's. */
static struct file nested(bool implicit, const char *vr)
{
	bool inside = implicit || strcmp(vr, "UN") == 0;
	struct file f = { 0 };

	add_head(&f, implicit, 0x00400275, vr, OPEN);
	add_head(&f, true, ITEM, "", OPEN);
	add_head(&f, inside, 0x00400008, "SQ", OPEN);
	add_head(&f, true, ITEM, "", 4);
	add(&f, "any.", 4);
	add_head(&f, true, ITEM, "", OPEN);
	add_head(&f, inside, 0x00200032, "DS", 6);
	add(&f, "7\\8\\9 ", 6);
	add_head(&f, true, ITEM_END, "", 0);
	add_head(&f, true, SEQUENCE_END, "", 0);
	add_head(&f, inside, 0x00400010, "SH", 4);
	add(&f, "more", 4);
	add_head(&f, true, ITEM_END, "", 0);
	add_head(&f, true, SEQUENCE_END, "", 0);
	add_head(&f, implicit, 0x00400009, "UT", 4);
	add(&f, "text", 4);
	return f;
}

static void sequences(void **state)
{
	struct iso_volume v = { 0 };

	(void)state;
	for (int k = 0; k < 3; k++) {
		struct file more = nested(k == 0, k == 2 ? "UN" : "SQ");

		put_slice("a",
		          (struct how){ .implicit = k == 0, .before = more.byte, .before_bytes = more.n });
		OK(iso_volume_read(&v, NULL, "a"));
		assert_near(v.affine[2][3], 30, 0);
		assert_near(v.v[5], -995, 0);
		iso_volume_free(&v);
	}
	put_slice("a", (struct how){ .before = "\xfe\xff\x0d\xe0\0\0\0\0", .before_bytes = 8 });
	refuse("a", "a sequence ends at byte");
	put_slice("a", (struct how){ .implicit = true,
	                             .before = "\x28\0\x10\0\xff\xff\xff\xff",
	                             .before_bytes = 8 });
	refuse("a", "(0028,0010) rows has no length");
	put_slice("a", (struct how){ .before = "\x40\0\1\0\1\2\0\0", .before_bytes = 8 });
	refuse("a", "(0040,0001) at byte");
	put_slice("a", (struct how){ .before = "\x40\0\1\0UT\0\0\xf0\xff\xff\xff", .before_bytes = 12 });
	refuse("a", "asks for 4294967280 bytes");
	files(true);
}

/* A file that ends anywhere is refused, or, before the mark, is none. */
static void cut_short(void **state)
{
	(void)state;
	for (int implicit = 0; implicit < 2; implicit++) {
		struct file more = nested(implicit, "SQ");
		struct file f = slice(
			&(struct how){ .implicit = implicit, .before = more.byte, .before_bytes = more.n });

		for (size_t n = 0; n < f.n; n += n < 128 ? 32 : 1) {
			put("a.dcm", f.byte, n);
			refuse("a.dcm", "a.dcm");
		}
	}
	files(true);
}

/* The same series as an image, its axes turned to right, anterior, superior. */
static void as_image(void **state)
{
	struct iso_array a = { 0 };

	(void)state;
	put_slice("a", (struct how){ 0 });
	put_slice("b", (struct how){ .position = "10\\20\\34", .value = 100 });
	OK(iso_read(&a, "a", ISO_FINITE));
	assert_string_equal(a.unit, "HU");
	assert_true(a.n_dim == 3 && a.dim[0] == 2 && a.dim[1] == 2 && a.dim[2] == 3);
	for (int i = 0; i < 12; i++) assert_near(a.v[i], 100 * (i / 6) + 5 - i % 6 - 1000, 0);
	for (int r = 0; r < 3; r++) {
		assert_near(a.grid.voxel[r], (double[]){ 2, 3, 4 }[r], 1e-12);
		assert_near(a.grid.centre[r], (double[]){ -12, -21.5, 32 }[r], 1e-12);
	}
	iso_array_free(&a);
	put_slice("a", (struct how){ .instead = 0x00080060, .text = "MR" });
	assert_int_equal(iso_read(&a, "a", ISO_FINITE), ISO_EINPUT);
	assert_message("a: modality is MR, CT or PT (PET) is wanted");
	files(true);
	put_slice("a", (struct how){ .orientation = "0\\.6\\.8\\1\\0\\0" });
	assert_int_equal(iso_read(&a, "a", ISO_FINITE), ISO_EINPUT);
	assert_message("its axes are oblique");
	OK(iso_read(&a, ".", ISO_FINITE | ISO_OBLIQUE));
	iso_array_free(&a);
	files(true);
}

/* A slice of PET: later elements take the place of those of a CT. `ms`: of its frame. */
static void put_pet(const char *path, const char *position, const char *ms, const char *units, int16_t value)
{
	struct how more = { 0 };
	struct file f = { 0 };

	words(&f, &more, 0x00080060, "CS", "PT");
	words(&f, &more, 0x00281052, "DS", "0");
	words(&f, &more, 0x00281053, "DS", value % 2 ? "0.5" : "2"); /* of each slice its own */
	words(&f, &more, 0x00541001, "CS", units);
	if (ms) words(&f, &more, 0x00541300, "DS", ms);
	put_slice(
		path,
		(struct how){ .position = position, .value = value, .before = f.byte, .before_bytes = f.n });
}

static void pet(void **state)
{
	struct iso_array a = { 0 };
	struct iso_volume v = { 0 };

	(void)state;
	put_pet("d", "10\\20\\30", "90000", "BQML", 301);
	put_pet("a", "10\\20\\34", "90000", "BQML", 400);
	put_pet("c", "10\\20\\30", "1500", "BQML", 100);
	put_pet("b", "10\\20\\34", "1500", "BQML", 201);
	OK(iso_read(&a, ".", ISO_FINITE));
	assert_string_equal(a.unit, "Bq/mL");
	assert_true(a.n_dim == 4 && a.dim[0] == 2 && a.dim[1] == 2 && a.dim[2] == 2 && a.dim[3] == 3);
	for (int i = 0; i < 24; i++) {
		int first[] = { 100, 201, 301, 400 };

		assert_near(a.v[i], (first[i / 6] + 5 - i % 6) * (first[i / 6] % 2 ? .5 : 2), 0);
	}
	iso_array_free(&a);
	assert_int_equal(iso_volume_read(&v, NULL, "a"), ISO_EINPUT);
	assert_message("modality is PT, CT is wanted");
	remove("b");
	assert_int_equal(iso_read(&a, ".", ISO_FINITE), ISO_EINPUT);
	assert_message("is a frame missing?");
	put_pet("b", "10\\20\\34", "90000", "BQML", 201); /* twice the same frame */
	put_pet("c", "10\\20\\30", "90000", "BQML", 100);
	assert_int_equal(iso_read(&a, ".", ISO_FINITE), ISO_EINPUT);
	assert_message("at the same place, at the same time");
	put_pet("b", "10\\20\\34", "1500", "CNTS", 201);
	put_pet("c", "10\\20\\30", "1500", "BQML", 100);
	assert_int_equal(iso_read(&a, ".", ISO_FINITE), ISO_EINPUT);
	assert_message("values are in CNTS, those of");
	files(true);
	put_pet("a", "10\\20\\30", NULL, "CNTS", 1);
	OK(iso_read(&a, "a", ISO_FINITE));
	assert_string_equal(a.unit, "counts");
	assert_int_equal(a.n_dim, 3);
	iso_array_free(&a);
	files(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sample),       cmocka_unit_test(places),    cmocka_unit_test(oblique),
		cmocka_unit_test(bits),         cmocka_unit_test(missing),   cmocka_unit_test(empty),
		cmocka_unit_test(among_others), cmocka_unit_test(refused),   cmocka_unit_test(series),
		cmocka_unit_test(sequences),    cmocka_unit_test(cut_short), cmocka_unit_test(as_image),
		cmocka_unit_test(pet),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
