/* SPDX-License-Identifier: BSD-3-Clause */
/* The viewer of a page: hashes of its policy, packed images, strings of JSON, and what of it lies in the page. */
#include "test.h"

#include "files.h"
#include "report/viewer/pack.h"
#include "report/markup/sha256.h"
#include "report/viewer.h"

#include <zlib.h>

/* ---- SHA-256: examples of FIPS 180-4, and lengths around the end of a block, from Python's hashlib ---- */

static void hashes(void **state)
{
	static const struct {
		size_t n; /* letters "a", or else the text */
		const char *text, *hex;
	} c[] = {
		{ 0, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ 0, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ 0, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
		{ 55, NULL, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318" },
		{ 56, NULL, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a" },
		{ 63, NULL, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34" },
		{ 64, NULL, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb" },
		{ 119, NULL, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb" },
		{ 120, NULL, "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c" },
		{ 128, NULL, "6836cf13bac400e9105071cd6af47084dfacad4e5e302c94bfed24e013afb73e" },
		{ 1000000, NULL, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0" },
	};

	(void)state;
	for (int i = 0; i < N_OF(c); i++) {
		size_t n = c[i].text ? strlen(c[i].text) : c[i].n;
		char *text = malloc(n + 1), hex[65];
		unsigned char hash[32];

		assert_non_null(text);
		memset(text, 'a', n);
		if (c[i].text) memcpy(text, c[i].text, n);
		iso_sha256(hash, text, n);
		for (int k = 0; k < 32; k++) snprintf(hex + 2 * k, 3, "%02x", hash[k]);
		assert_string_equal(hex, c[i].hex);
		free(text);
	}
}

/* ---- strings of JSON ---- */

static void json_strings(void **state)
{
	static const struct {
		const char *from, *to;
	} c[] = {
		{ "", "\"\"" },
		{ "a \u00e9\U0001f600", "\"a \u00e9\U0001f600\"" },
		{ "</script><!--&", "\"\\u003c/script\\u003e\\u003c!--\\u0026\"" },
		{ "\"\\\n\x7f'", "\"\\u0022\\u005c\\u000a\\u007f\\u0027\"" },
		{ "\u2028\u2029\u202a", "\"\\u2028\\u2029\u202a\"" },
		{ "a\xff\xe4\xb8", "\"a\ufffd\ufffd\ufffd\"" },
	};

	(void)state;
	for (int i = 0; i < N_OF(c); i++) {
		struct iso_text t = { 0 };

		iso_text_json(&t, c[i].from);
		assert_string_equal(t.v, c[i].to);
		json_t *back = json_loads(t.v, JSON_DECODE_ANY, NULL);

		assert_non_null(back);
		if (i < 5) assert_string_equal(json_string_value(back), c[i].from);
		json_decref(back);
		iso_text_free(&t);
	}
}

/* ---- packing ---- */

/* Values of a frame, as the script of the page unpacks them. */
static double *unpack(const struct iso_pack *p, int64_t frame)
{
	const struct iso_pack_frame *f = &p->frame[frame];
	int64_t n = iso_grid_voxels(&p->grid);
	uLongf size = (uLongf)(n * p->bits / 8), got = size;
	unsigned char *raw = malloc(size);
	double *v = malloc((size_t)n * sizeof *v);
	unsigned code = 0, mask = (1u << p->bits) - 1;

	assert_true(raw && v);
	assert_int_equal(uncompress(raw, &got, f->bytes, f->n), Z_OK);
	assert_int_equal(got, size);
	for (int64_t i = 0; i < n; i++) {
		unsigned folded = p->bits == 8 ? raw[i] : (unsigned)raw[i] << 8 | raw[n + i];

		code = (code + (folded & 1 ? ~(folded >> 1) : folded >> 1)) & mask;
		v[i] = p->not_finite && code == mask ? NAN : f->offset + f->scale * code;
	}
	free(raw);
	return v;
}

static struct iso_shown shown_of(int64_t nx, int64_t ny, int64_t nz, const iso_real *v)
{
	return (struct iso_shown){ v, { { nx, ny, nz }, { 2, 2, 4 }, { 1, 2, 3 } }, true };
}

static size_t bytes_of(const struct iso_pack *p)
{
	size_t sum = 0;

	for (int64_t t = 0; t < p->frames; t++) sum += p->frame[t].n;
	return sum;
}

/* Each value comes back to half a scale, zero as zero, what is not finite as such. */
static void values_come_back(void **state)
{
	static const double values[][6] = {
		{ 0, 1, 2.5, 7, .125, 3 },
		{ -3, 0, 2, 1e-3, -1e-3, 5 },
		{ -3, -2, -1, -.5, 0, -.25 },
		{ 1000, 1000.5, 1001, 1000.25, 1000.125, 1000.75 },
		{ NAN, 0, -1.5, INFINITY, 2.5, 3 },
		{ 3e38, -3e38, 1, 0, 2e38, -1e38 },
		{ 1e-38, 0, 3e-38, 2e-38, 1e-39, 3e-38 },
	};

	(void)state;
	for (int i = 0; i < N_OF(values); i++) {
		iso_real v[6];
		struct iso_pack p;

		for (int k = 0; k < 6; k++) v[k] = (iso_real)values[i][k];
		const struct iso_shown image = shown_of(3, 2, 1, v);

		OK(iso_pack_make(&p, &image, 1, 1000));
		double *back = unpack(&p, 0);

		assert_int_equal(p.bits, 16);
		assert_false(p.exact);
		assert_true(p.not_finite == (i == 4));
		for (int k = 0; k < 6; k++) {
			if (!isfinite(v[k])) assert_true(isnan(back[k]));
			if (!isfinite(v[k])) continue;
			assert_true(fabs(back[k] - v[k]) <= .5000001 * p.frame[0].scale);
			if (v[k] == 0) assert_true(back[k] == 0);
		}
		free(back);
		iso_pack_free(&p);
	}
}

/* Whole numbers, and one value alone, are kept as they are: in 8 bits where these hold them. */
static void whole_numbers_are_exact(void **state)
{
	static const struct {
		double v[4];
		int bits;
	} c[] = {
		{ { 0, 1, 2, 250 }, 8 },     { { -100, 0, 154, 3 }, 8 }, { { -1024, 3071, 0, 40 }, 16 },
		{ { 0, 65534, 1, 77 }, 16 }, { { .3, .3, .3, .3 }, 16 }, { { 1e6, 1e6 + 7, 1e6, 1e6 }, 8 },
		{ { NAN, 3, 200, 254 }, 8 },
	};

	(void)state;
	for (int i = 0; i < N_OF(c); i++) {
		iso_real v[4];
		struct iso_pack p;

		for (int k = 0; k < 4; k++) v[k] = (iso_real)c[i].v[k];
		const struct iso_shown image = shown_of(4, 1, 1, v);

		OK(iso_pack_make(&p, &image, 1, 1000));
		double *back = unpack(&p, 0);

		assert_true(p.exact);
		assert_int_equal(p.bits, c[i].bits);
		for (int k = 0; k < 4; k++) assert_true(isnan(v[k]) ? isnan(back[k]) : back[k] == v[k]);
		free(back);
		iso_pack_free(&p);
	}
}

/* Numbers that no compression makes less of. */
static void noise(iso_real *v, int64_t n)
{
	uint32_t x = 12345;

	for (int64_t i = 0; i < n; i++) {
		x = x * 1664525 + 1013904223;
		v[i] = (iso_real)(x >> 8) / (iso_real)(1 << 24);
	}
}

/* With less room first the codes get coarser, then the voxels; never more than the room is taken. */
static void less_room_is_kept(void **state)
{
	enum { N = 24 };
	static const struct {
		size_t most;
		int bits;
		int64_t blocks; /* voxels of one */
	} c[] = { { 40000, 16, 1 }, { 26000, 16, 1 }, { 15000, 8, 1 },
		  { 8000, 16, 0 },  { 500, 16, 0 },   { 1, 8, 0 } };
	static iso_real v[N * N * N];
	const struct iso_shown image = shown_of(N, N, N, v);

	(void)state;
	noise(v, N_OF(v));
	for (int i = 0; i < N_OF(c); i++) {
		struct iso_pack p;

		OK(iso_pack_make(&p, &image, 1, c[i].most));
		int64_t block = p.block[0] * p.block[1] * p.block[2];

		if (c[i].most > 1) assert_true(bytes_of(&p) <= c[i].most);
		if (c[i].blocks) assert_int_equal(block, c[i].blocks);
		if (c[i].blocks) assert_int_equal(p.bits, c[i].bits);
		if (!c[i].blocks) assert_true(block > 1);
		if (c[i].most == 1) assert_int_equal(iso_grid_voxels(&p.grid), 1);
		iso_pack_free(&p);
	}
}

/* 5 x 4 x 1 voxels of 2 mm in blocks: those of the last column reach beyond the image. */
static void blocks_are_means(void **state)
{
	iso_real v[2 * 20];
	struct iso_pack p;

	(void)state;
	noise(v, N_OF(v));
	v[20 + 1] = (iso_real)NAN;
	const struct iso_shown image = shown_of(5, 4, 1, v);
	size_t most = 60;

	OK(iso_pack_make(&p, &image, 2, most));
	while (p.block[0] != 2 || p.block[1] != 2) { /* the room for which blocks are 2 x 2 */
		iso_pack_free(&p);
		assert_true(--most > 0);
		OK(iso_pack_make(&p, &image, 2, most));
	}
	assert_int_equal(p.grid.n[0], 3);
	assert_int_equal(p.grid.n[1], 2);
	assert_int_equal(p.grid.n[2], 1);
	NEAR(p.grid.voxel[0], 4, 1e-12);
	NEAR(p.grid.centre[0], 1 + 1, 1e-12); /* half a voxel on, as one column more */
	NEAR(p.grid.centre[1], 2, 1e-12);
	double *first = unpack(&p, 0), *second = unpack(&p, 1);

	NEAR(first[0], (v[0] + v[1] + v[5] + v[6]) / 4, p.frame[0].scale);
	NEAR(first[2], (v[4] + v[9]) / 2, p.frame[0].scale);
	NEAR(first[3], (v[10] + v[11] + v[15] + v[16]) / 4, p.frame[0].scale);
	assert_true(isnan(second[0]));
	NEAR(second[5], (v[20 + 14] + v[20 + 19]) / 2, p.frame[1].scale);
	free(first);
	free(second);
	iso_pack_free(&p);
}

/* ---- pages ---- */

static void write_noise(const char *path, int64_t nx, int64_t ny, int64_t nz, const char *record)
{
	const struct iso_grid g = { { nx, ny, nz }, { 2, 2, 2 }, { 0, 0, 0 } };
	struct iso_array a = { 0 };

	OK(iso_array_on_grid(&a, &g));
	noise(a.v, a.n);
	OK(iso_write(path, &a, record));
	iso_array_free(&a);
}

static struct iso_text page_of(const char *path, const char *overlay)
{
	struct iso_text t = { 0 };
	struct iso_report r;
	const char *paths[] = { path };

	OK(iso_report_read(&r, 1, paths, NULL));
	if (overlay) OK(iso_report_read_overlay(&r, overlay));
	r.viewer = true;
	OK(iso_report_view(&t, &r));
	iso_report_free(&r);
	return t;
}

/* What stands between two texts, to be freed. */
static char *between(const struct iso_text *t, const char *from, const char *to)
{
	char *begin = strstr(t->v, from);

	if (!begin) fail_msg("no '%s'", from);
	begin += strlen(from);
	char *end = strstr(begin, to);

	assert_non_null(end);
	return strndup(begin, (size_t)(end - begin));
}

static json_t *data_of(const struct iso_text *t)
{
	char *text = between(t, "id='viewer-data'>", "</script>");
	json_t *data = json_loads(text, 0, NULL);

	assert_non_null(data);
	assert_null(strchr(text, '<'));
	free(text);
	return data;
}

/* The policy lets the script of the page run, and the styles; nothing else. */
static void policy_names_the_script(void **state)
{
	static const char *const parts[] = { "<script type='module'>", "<style>:root", "<style>.viewer" };

	(void)state;
	write_noise("p.nii", 4, 4, 4, NULL);
	struct iso_text t = page_of("p.nii", NULL);
	char *policy = between(&t, "http-equiv='Content-Security-Policy' content=\"", "\"");

	assert_int_equal(strncmp(policy, "default-src 'none'; ", 20), 0);
	for (int i = 0; i < N_OF(parts); i++) {
		char *text = between(&t, parts[i], i ? "</style>" : "</script>");
		struct iso_text whole = { 0 }, hash = { 0 };

		iso_text_add(&whole, "%s%s", i ? parts[i] + 7 : "", text);
		iso_viewer_hash(&hash, whole.v);
		if (!strstr(policy, hash.v)) fail_msg("no %s in %s", hash.v, policy);
		iso_text_free(&hash);
		iso_text_free(&whole);
		free(text);
	}
	assert_non_null(strstr(policy, "script-src 'sha256-"));
	assert_null(strstr(strstr(policy, "script-src"), "'unsafe-inline'"));
	free(policy);
	iso_text_free(&t);
}

/* Names and records of any content are text in the data, and end no element. */
static void hostile_words_are_data(void **state)
{
	static const char name[] = "<script><b>\xff\u2028.nii";
	static const char record[] =
		"{\"verb\": \"</script><script>x\", \"Units\": \"<!--\", \"FrameTimesStart\": \"x\"}";

	(void)state;
	write_noise("h.nii", 3, 3, 3, record);
	OK(rename("h.nii", name));
	OK(rename("h.json", "<script><b>\xff\u2028.json"));
	struct iso_text t = page_of(name, NULL);
	json_t *data = data_of(&t);
	const json_t *volume = json_array_get(json_object_get(data, "volumes"), 0);

	assert_string_equal(json_string_value(json_object_get(volume, "name")),
	                    "<script><b>\ufffd\u2028.nii");
	assert_string_equal(json_string_value(json_object_get(volume, "unit")), "<!--");
	assert_non_null(strstr(json_string_value(json_object_get(volume, "record")), "</script><script>x"));
	int scripts = 0;

	for (const char *c = t.v; (c = strstr(c, "<script")); c++) scripts++;
	assert_int_equal(scripts, 3); /* one frame, the data, the viewer */
	json_decref(data);
	iso_text_free(&t);
}

static void long_record_is_left_out(void **state)
{
	size_t n = ISO_VIEWER_RECORD + 100;
	char *record = malloc(n + 64);

	(void)state;
	assert_non_null(record);
	int head = sprintf(record, "{\"verb\": \"recon\", \"note\": \"");

	memset(record + head, 'x', n);
	strcpy(record + (size_t)head + n, "\"}");
	write_noise("l.nii", 3, 3, 3, record);
	struct iso_text t = page_of("l.nii", NULL);
	json_t *data = data_of(&t);
	const json_t *volume = json_array_get(json_object_get(data, "volumes"), 0);

	assert_true(json_integer_value(json_object_get(volume, "record")) > ISO_VIEWER_RECORD);
	json_decref(data);
	iso_text_free(&t);
	free(record);
}

/* Frames have their times or wavelengths where the record tells them for all, rising; else numbers from 0. */
static void frames_have_times(void **state)
{
	static const struct {
		const char *record, *name;
		double second;
	} c[] = {
		{ "\"FrameTimesStart\": [0, 10, 30], \"FrameDuration\": [10, 20, 40]", "time", 20 },
		{ "\"FrameTimesStart\": [0, 10], \"FrameDuration\": [10, 20, 40]", "frame", 1 },
		{ "\"FrameTimesStart\": [0, \"x\", 30], \"FrameDuration\": [10, 20, 40]", "frame", 1 },
		{ "\"results\": {\"images\": [{\"nm\": 700}, {\"nm\": 750}, {\"nm\": 800}]}", "wavelength",
		  750 },
		{ "\"results\": {\"images\": [{\"nm\": 700}, {\"nm\": 700}, {\"nm\": 700}]}", "frame", 1 },
		{ "\"results\": {\"images\": [{\"nm\": null}, 3]}", "frame", 1 },
	};
	const int64_t dim[] = { 3, 2, 2, 2 };
	struct iso_array a = { 0 };

	(void)state;
	OK(iso_array_create(&a, 4, dim));
	noise(a.v, a.n);
	for (int i = 0; i < N_OF(c); i++) {
		char record[200];

		snprintf(record, sizeof record, "{\"verb\": \"recon\", %s}", c[i].record);
		OK(iso_write("f.npy", &a, record));
		struct iso_text t = page_of("f.npy", NULL);
		json_t *data = data_of(&t);
		const json_t *volume = json_array_get(json_object_get(data, "volumes"), 0);
		const json_t *axis = json_object_get(volume, "axis");

		assert_int_equal(json_integer_value(json_object_get(volume, "frames")), 3);
		assert_string_equal(json_string_value(json_object_get(axis, "name")), c[i].name);
		NEAR(json_number_value(json_array_get(json_object_get(axis, "value"), 1)), c[i].second, 1e-9);
		assert_non_null(strstr(t.v, "id='volume-0-2'>"));
		json_decref(data);
		iso_text_free(&t);
	}
	iso_array_free(&a);
}

/* One without a grid lies on the image's where it has its voxels, and is refused where it has not. */
static void overlay_lies_on_the_image(void **state)
{
	const int64_t dim[] = { 4, 4, 4 }, other[] = { 4, 4, 5 };
	struct iso_array a = { 0 };
	struct iso_report r;
	const char *path = "o.nii", *paths[] = { path };

	(void)state;
	write_noise(path, 4, 4, 4, NULL);
	OK(iso_array_create(&a, 3, dim));
	OK(iso_write("plain.npy", &a, NULL));
	iso_array_free(&a);
	OK(iso_array_create(&a, 3, other));
	OK(iso_write("other.npy", &a, NULL));
	iso_array_free(&a);
	struct iso_text t = page_of(path, "plain.npy");
	json_t *data = data_of(&t);
	const json_t *under = json_array_get(json_object_get(data, "volumes"), 1);

	assert_string_equal(json_string_value(json_object_get(under, "role")), "overlay");
	NEAR(json_number_value(json_array_get(json_object_get(under, "voxel"), 0)), 2, 1e-12);
	json_decref(data);
	iso_text_free(&t);
	OK(iso_report_read(&r, 1, paths, NULL));
	assert_int_equal(iso_report_read_overlay(&r, "other.npy"), ISO_EINPUT);
	assert_non_null(strstr(iso_message(), "both must have a voxel size, or the same sizes"));
	iso_report_free(&r);
}

/* Two images of 128^3 take 5 MB, whatever is in them. */
static void two_images_take_five_million_bytes(void **state)
{
	int64_t n = sized(128, 40);

	(void)state;
	write_noise("big.nii", n, n, n, NULL);
	struct iso_text t = page_of("big.nii", "big.nii");

	assert_true(t.n < 5000000 + 400000); /* with the script, and pictures for paper */
	assert_true(t.n > (size_t)(n * n * n));
	iso_text_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hashes),
		cmocka_unit_test(json_strings),
		cmocka_unit_test(values_come_back),
		cmocka_unit_test(whole_numbers_are_exact),
		cmocka_unit_test(less_room_is_kept),
		cmocka_unit_test(blocks_are_means),
		cmocka_unit_test(policy_names_the_script),
		cmocka_unit_test(hostile_words_are_data),
		cmocka_unit_test(long_record_is_left_out),
		cmocka_unit_test(frames_have_times),
		cmocka_unit_test(overlay_lies_on_the_image),
		cmocka_unit_test(two_images_take_five_million_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
