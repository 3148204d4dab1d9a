/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of a PET series (PS3.3 A.21, PET Image): explicit little-endian, elements in the order of their tags. */
#include "dicom_write.h"
#include "dicom_tags.h"
#include "core/size.h"
#include "core/status.h"
#include "io/format.h"

#include <math.h>
#include <string.h>
#include <xxhash.h>

#define CLASS "1.2.840.10008.5.1.4.1.1.128" /* PET Image Storage */
#define EXPLICIT "1.2.840.10008.1.2.1"

enum { LARGEST = 32767, NUMBER = 17 }; /* letters of a decimal number in DICOM, and a NUL */

/* ---- elements ---- */

static void add(struct dicom_bytes *b, const void *data, int64_t n)
{
	if (b->n + n > b->room && !b->failed) {
		int64_t room = 2 * (b->n + n) + 4096;
		uint8_t *v = realloc(b->v, (size_t)room);

		b->failed = !v;
		if (v) {
			b->v = v;
			b->room = room;
		}
	}
	if (b->failed) return;
	if (n > 0) memcpy(b->v + b->n, data, (size_t)n);
	b->n += n;
}

static void add_number(struct dicom_bytes *b, uint32_t v, int bytes)
{
	uint8_t little[4] = { (uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24) };

	add(b, little, bytes);
}

/* Tag, kind of value and length; an odd value gets a blank behind it, or a NUL. */
static void element(struct dicom_bytes *b, uint32_t tag, const char *vr, const void *value, int64_t n)
{
	bool is_long = strstr("OB OW SQ", vr);

	add_number(b, tag >> 16, 2);
	add_number(b, tag & 0xffff, 2);
	add(b, vr, 2);
	if (is_long) add_number(b, 0, 2);
	add_number(b, (uint32_t)(n + n % 2), is_long ? 4 : 2);
	add(b, value, n);
	if (n % 2) add(b, strcmp(vr, "UI") == 0 || is_long ? "" : " ", 1);
}

static void text(struct dicom_bytes *b, uint32_t tag, const char *vr, const char *value)
{
	element(b, tag, vr, value, (int64_t)strlen(value));
}

static void whole(struct dicom_bytes *b, uint32_t tag, int64_t value)
{
	uint8_t little[2] = { (uint8_t)value, (uint8_t)(value >> 8) };

	element(b, tag, "US", little, 2);
}

void dicom_decimal(char out[17], double v)
{
	char longer[32];

	for (int digits = 1; digits <= 17; digits++) {
		int n = iso_snprintf(longer, sizeof longer, "%.*g", digits, v);
		double back;

		if (n >= NUMBER) return; /* the one before is the best that fits */
		memcpy(out, longer, (size_t)n + 1);
		if (iso_number(&back, longer, (size_t)n) && back == v) return;
	}
}

static void decimals(struct dicom_bytes *b, uint32_t tag, int n, const double *v)
{
	char list[8 * NUMBER] = "", one[NUMBER];

	for (int i = 0; i < n; i++) {
		dicom_decimal(one, v[i] + 0.);
		strcat(strcat(list, i ? "\\" : ""), one);
	}
	text(b, tag, "DS", list);
}

static void decimal(struct dicom_bytes *b, uint32_t tag, double v)
{
	decimals(b, tag, 1, &v);
}

static void integer(struct dicom_bytes *b, uint32_t tag, int64_t v)
{
	char number[24];

	snprintf(number, sizeof number, "%" PRId64, v);
	text(b, tag, "IS", number);
}

static void date_and_time(struct dicom_bytes *b, uint32_t date_tag, uint32_t time_tag, bool is_time,
                          bool known, double s)
{
	char value[17] = "";

	if (known) (is_time ? dicom_time : dicom_date)(value, s);
	text(b, is_time ? time_tag : date_tag, is_time ? "TM" : "DA", value);
}

/* ---- identifiers ---- */

/* 2.25. and a UUID as a decimal number (PS3.5 B.2), made of a hash: version 8, variant 1 of RFC 9562. */
void dicom_uid(char uid[65], const uint64_t key[2], const char *what, int64_t k)
{
	char name[128];
	int n = snprintf(name, sizeof name, "%016" PRIx64 "%016" PRIx64 " %s %" PRId64, key[0], key[1], what,
	                 k);
	XXH128_hash_t h = XXH3_128bits(name, (size_t)n);
	unsigned __int128 v = (unsigned __int128)((h.high64 & ~UINT64_C(0xf000)) | 0x8000) << 64 |
	                      ((h.low64 & ~(UINT64_C(3) << 62)) | UINT64_C(2) << 62);
	char digits[40];
	int at = sizeof digits - 1;

	digits[at] = '\0';
	for (; v > 0; v /= 10) digits[--at] = (char)('0' + (int)(v % 10));
	snprintf(uid, 65, "2.25.%s", digits + at);
}

/* ---- modules ---- */

static void put_meta(struct dicom_bytes *b, const char *instance)
{
	struct dicom_bytes meta = { 0 };
	uint8_t head[128] = { 0 };

	element(&meta, 0x00020001, "OB", "\0\1", 2);
	text(&meta, 0x00020002, "UI", CLASS);
	text(&meta, 0x00020003, "UI", instance);
	text(&meta, 0x00020010, "UI", EXPLICIT);
	text(&meta, 0x00020012, "UI", DICOM_MAKER);
	text(&meta, 0x00020013, "SH", "ISOTOME");
	add(b, head, sizeof head);
	add(b, "DICM", 4);
	add_number(b, 0x00000002, 4);
	add(b, "UL\4", 4);
	add_number(b, (uint32_t)meta.n, 4);
	add(b, meta.v, meta.n);
	b->failed |= meta.failed;
	free(meta.v);
}

/* Group 8: what and when. `at_s`: start of the frame. */
static void put_study(struct dicom_bytes *b, const struct dicom_tags *t, const char *instance, double at_s)
{
	text(b, 0x00080005, "CS", "ISO_IR 192");
	text(b, 0x00080008, "CS", "ORIGINAL\\PRIMARY");
	text(b, 0x00080016, "UI", CLASS);
	text(b, 0x00080018, "UI", instance);
	for (int time = 0; time < 2; time++) {
		date_and_time(b, 0x00080020, 0x00080030, time, true, t->start_s);
		date_and_time(b, 0x00080021, 0x00080031, time, true, t->start_s);
		date_and_time(b, 0x00080022, 0x00080032, time, t->start_known, at_s);
		date_and_time(b, 0x00080023, 0x00080033, time, true, t->start_s);
	}
	text(b, 0x00080050, "SH", "");
	text(b, 0x00080060, "CS", "PT");
	text(b, 0x00080070, "LO", "Isotome");
	text(b, 0x00080090, "PN", "");
	text(b, 0x0008103e, "LO", t->description);
	if (t->scanner[0]) text(b, 0x00081090, "LO", t->scanner);
}

static void put_patient(struct dicom_bytes *b, const struct dicom_tags *t)
{
	text(b, 0x00100010, "PN", t->patient_name);
	text(b, 0x00100020, "LO", t->patient_id);
	text(b, 0x00100030, "DA", "");
	text(b, 0x00100040, "CS", "");
	if (t->weight_kg > 0) decimal(b, 0x00101030, t->weight_kg);
}

static void put_acquisition(struct dicom_bytes *b, double thickness, double duration_s)
{
	char program[64];

	snprintf(program, sizeof program, "Isotome %.40s", iso_version());
	decimal(b, 0x00180050, thickness);
	text(b, 0x00181020, "LO", program);
	text(b, 0x00181181, "CS", "NONE");
	if (duration_s > 0)
		integer(b, 0x00181242, llround(1e3 * duration_s));
	else
		text(b, 0x00181242, "IS", "");
}

/* Code of a radionuclide (PS3.16 CID 4020), SNOMED CT. */
static const char *const codes[][3] = {
	{ "C-11", "40565003", "^11^Carbon" },    { "N-13", "21576001", "^13^Nitrogen" },
	{ "O-15", "129504001", "^15^Oxygen" },   { "F-18", "77004003", "^18^Fluorine" },
	{ "Cu-64", "3932008", "^64^Copper" },    { "Ga-68", "35337001", "^68^Gallium" },
	{ "Rb-82", "79197006", "^82^Rubidium" }, { "Zr-89", "63360001", "^89^Zirconium" },
	{ "I-124", "40937006", "^124^Iodine" },
};

static void put_item(struct dicom_bytes *b, uint32_t tag, struct dicom_bytes *content)
{
	struct dicom_bytes item = { 0 };

	add_number(&item, 0xe000fffe, 4);
	add_number(&item, (uint32_t)content->n, 4);
	add(&item, content->v, content->n);
	element(b, tag, "SQ", item.v ? item.v : (uint8_t *)"", content->n ? item.n : 0);
	b->failed |= item.failed || content->failed;
	free(item.v);
	free(content->v);
}

/* A word of SNOMED CT. */
static void put_code(struct dicom_bytes *b, const char *code, const char *meaning)
{
	text(b, 0x00080100, "SH", code);
	text(b, 0x00080102, "SH", "SCT");
	text(b, 0x00080104, "LO", meaning);
}

static void put_isotope(struct dicom_bytes *b, const struct dicom_tags *t)
{
	struct dicom_bytes code = { 0 };

	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (strcmp(t->isotope, codes[i][0]) == 0) put_code(&code, codes[i][1], codes[i][2]);
	put_item(b, 0x00540300, &code);
}

/* Recumbent, supine, head first. A PET image says so by codes; Patient Position (0018,5100), HFS, must then be absent
   (PS3.3 C.7.3.1.1.2). */
static void put_orientation(struct dicom_bytes *b)
{
	struct dicom_bytes lies = { 0 }, how = { 0 }, enters = { 0 };

	put_code(&how, "40199007", "Supine");
	put_code(&lies, "102538003", "recumbent");
	put_item(&lies, 0x00540412, &how);
	put_item(b, 0x00540410, &lies);
	put_code(&enters, "102540008", "headfirst");
	put_item(b, 0x00540414, &enters);
}

/* Empty where neither isotope nor dose is known. */
static void put_tracer(struct dicom_bytes *b, const struct dicom_tags *t)
{
	struct dicom_bytes item = { 0 };
	char date[9], time[17], both[32];

	if (!t->isotope[0] && !(t->dose_bq > 0)) {
		put_item(b, 0x00540016, &item);
		return;
	}
	if (t->injected_known) {
		dicom_date(date, t->injected_s);
		dicom_time(time, t->injected_s);
		snprintf(both, sizeof both, "%s%s", date, time);
		text(&item, 0x00181072, "TM", time);
	}
	if (t->dose_bq > 0) decimal(&item, 0x00181074, t->dose_bq);
	if (t->half_life_s > 0) decimal(&item, 0x00181075, t->half_life_s);
	if (t->branching > 0) decimal(&item, 0x00181076, t->branching);
	if (t->injected_known) text(&item, 0x00181078, "DT", both);
	put_isotope(&item, t);
	put_item(b, 0x00540016, &item);
}

/* lambda T / (1 - exp(-lambda T)) exp(lambda t): what a frame from t on, T long, was multiplied by. */
static double decay_factor(const struct dicom_tags *t, int64_t frame)
{
	double rate = t->half_life_s > 0 ? M_LN2 / t->half_life_s : 0, x = rate * t->duration_s[frame];

	return (x > 1e-9 ? x / -expm1(-x) : 1) * exp(rate * t->frame_s[frame]);
}

/* When the activity was its mean over the frame, ms from the start of the series. */
static double reference_ms(const struct dicom_tags *t, int64_t frame)
{
	double rate = t->half_life_s > 0 ? M_LN2 / t->half_life_s : 0, d = t->duration_s[frame], x = rate * d;

	return 1e3 * (t->frame_s[frame] + (x > 1e-6 ? log(x / -expm1(-x)) / rate : d / 2));
}

static void put_pet(struct dicom_bytes *b, const struct dicom_series_out *o, int64_t k)
{
	const struct dicom_tags *t = o->tags;
	const int64_t slices = o->grid.n[2], frame = k / slices;
	const double factor = decay_factor(t, frame);

	put_tracer(b, t);
	whole(b, 0x00540081, slices);
	if (t->frames > 1) whole(b, 0x00540101, t->frames);
	put_orientation(b);
	text(b, 0x00541000, "CS", t->frames > 1 ? "DYNAMIC\\IMAGE" : "STATIC\\IMAGE");
	text(b, 0x00541001, "CS", t->units);
	text(b, 0x00541002, "CS", "EMISSION");
	if (strcmp(t->units, "GML") == 0) text(b, 0x00541006, "CS", "BW");
	if (t->randoms[0]) text(b, 0x00541100, "CS", t->randoms);
	if (t->attenuation[0]) text(b, 0x00541101, "LO", t->attenuation);
	text(b, 0x00541102, "CS", t->corrects_decay ? "START" : "NONE");
	if (t->method[0]) text(b, 0x00541103, "LO", t->method);
	if (t->scatter[0]) text(b, 0x00541105, "LO", t->scatter);
	decimal(b, 0x00541300, reference_ms(t, frame));
	if (t->corrects_decay && isfinite(factor)) decimal(b, 0x00541321, factor);
	if (strcmp(t->units, "BQML") == 0) decimal(b, 0x00541322, 1);
	whole(b, 0x00541330, k + 1);
}

/* ---- a slice ---- */

static void put_place(struct dicom_bytes *b, const struct dicom_series_out *o, int64_t k)
{
	const struct iso_grid *g = &o->grid;
	double at[3], first = g->centre[2] - .5 * (double)(g->n[2] - 1) * g->voxel[2];

	for (int a = 0; a < 2; a++) at[a] = -(g->centre[a] + .5 * (double)(g->n[a] - 1) * g->voxel[a]);
	at[2] = first + (double)(k % g->n[2]) * g->voxel[2];
	text(b, 0x0020000d, "UI", o->study);
	text(b, 0x0020000e, "UI", o->series);
	text(b, 0x00200010, "SH", "1");
	integer(b, 0x00200011, 1);
	integer(b, 0x00200013, k + 1);
	decimals(b, 0x00200032, 3, at);
	text(b, 0x00200037, "DS", "1\\0\\0\\0\\1\\0");
	text(b, 0x00200052, "UI", o->frame_of_reference);
	text(b, 0x00200060, "CS", "");
	text(b, 0x00201040, "LO", "");
}

static void put_pixels(struct dicom_bytes *b, const struct dicom_series_out *o, const char *slope)
{
	const struct iso_grid *g = &o->grid;

	whole(b, 0x00280002, 1);
	text(b, 0x00280004, "CS", "MONOCHROME2");
	whole(b, 0x00280010, g->n[1]);
	whole(b, 0x00280011, g->n[0]);
	decimals(b, 0x00280030, 2, (double[]){ g->voxel[1], g->voxel[0] });
	text(b, 0x00280051, "CS", o->tags->corrected);
	whole(b, 0x00280100, 16);
	whole(b, 0x00280101, 16);
	whole(b, 0x00280102, 15);
	whole(b, 0x00280103, 1);
	decimal(b, 0x00281050, .5 * o->most);
	decimal(b, 0x00281051, o->most);
	text(b, 0x00281052, "DS", "0");
	text(b, 0x00281053, "DS", slope);
}

/* The values of slice k, columns towards the left and rows towards posterior, as integers; and what they are to be
   multiplied by, as the file says it. */
static void quantise(uint8_t *to, char slope[17], const struct dicom_series_out *o, const iso_real *v)
{
	const int64_t n = o->grid.n[0] * o->grid.n[1];
	iso_real range[2];
	double most, factor = 1;

	iso_range(range, n, v, false);
	most = fmax(fabs((double)range[0]), fabs((double)range[1]));
	dicom_decimal(slope, most > 0 ? most / LARGEST : 1);
	iso_number(&factor, slope, strlen(slope));
	for (int64_t i = 0; i < n; i++) {
		double q = rint((double)v[n - 1 - i] / factor);
		int stored = (int)fmax(-LARGEST, fmin(LARGEST, q));

		to[2 * i] = (uint8_t)((unsigned)stored & 0xff);
		to[2 * i + 1] = (uint8_t)((unsigned)stored >> 8 & 0xff);
	}
}

int dicom_slice_bytes(struct dicom_bytes *b, const struct dicom_series_out *o, int64_t k)
{
	const int64_t n = o->grid.n[0] * o->grid.n[1], frame = k / o->grid.n[2];
	const struct dicom_tags *t = o->tags;
	uint8_t *pixels = size_alloc(n, 2);
	char instance[65], slope[17];

	if (!pixels) return iso_fail_memory("DICOM", 2 * n);
	quantise(pixels, slope, o, o->v + k * n);
	dicom_uid(instance, o->key, "instance", k + 1);
	b->n = 0;
	put_meta(b, instance);
	put_study(b, t, instance, t->start_s + t->frame_s[frame]);
	put_patient(b, t);
	put_acquisition(b, o->grid.voxel[2], t->duration_s[frame]);
	put_place(b, o, k);
	put_pixels(b, o, slope);
	put_pet(b, o, k);
	element(b, 0x7fe00010, "OW", pixels, 2 * n);
	free(pixels);
	return b->failed ? iso_fail_memory("DICOM", b->n) : ISO_OK;
}
