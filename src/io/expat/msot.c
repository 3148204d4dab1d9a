/* SPDX-License-Identifier: BSD-3-Clause */
/* iThera MSOT scans: Scan.msot, an XML text, says where the detectors are and what was recorded;
   Scan.bin beside it holds the records, a trace of unsigned 16-bit samples for each detector. */
#include "core/size.h"
#include "file/suffix.h"
#include "file/in.h"
#include "io/recording.h"
#include "scanner/scanner.h"

#include <expat.h>
#include <limits.h>

enum {
	XML_MOST = 64 << 20, /* bytes: 100000 records */
	TEXT_MOST = 64,      /* of a number or a word that we look for */
	DEPTH_MOST = 100,
	WAVES_MOST = 1000,
	RECORDS_MOST = 1000000,
};

/* Elements that others are read in, as bits. */
enum place { PROJECTION = 1, WAVELENGTHS = 2, FRAME = 4 };

struct record {
	double nm, celsius, mj; /* mj: of the laser's pulse */
	int wave;               /* its number in the list */
};

struct scan {
	iso_recording *r;
	XML_Parser xml;
	int st, depth;
	unsigned in;          /* of enum place */
	char text[TEXT_MOST]; /* of the innermost element */
	size_t length;
	double scale; /* its unit-modifier */
	int axis;     /* of a VALUE: its axis-ref; 0: the next */
	/* what was found */
	double hz, samples;
	double base, trim;     /* m/s, of the speed of sound above that of water */
	char probe[TEXT_MOST]; /* the name of the array */
	int64_t n, room;       /* detectors */
	double *pos;           /* mm */
	int values;            /* of the last detector */
	int waves;
	double nm[WAVES_MOST];
	int64_t records, record_room;
	struct record *record;
};

static int fail_at(const struct scan *s, const char *what)
{
	return iso_fail(ISO_EINPUT, "%s, line %lu: %s", s->r->path,
	                (unsigned long)XML_GetCurrentLineNumber(s->xml), what);
}

/* The first failure ends the parse. */
static void stop(struct scan *s, int st)
{
	if (st && !s->st) {
		s->st = st;
		XML_StopParser(s->xml, XML_FALSE);
	}
}

/* Room for one more item in the list *v. */
static bool grow(void *v, int64_t n, int64_t *room, size_t size)
{
	int64_t more = *room ? 2 * *room : 64;
	void *list;

	if (n < *room) return true;
	memcpy(&list, v, sizeof list);
	if (!(list = realloc(list, (size_t)more * size))) return false;
	memcpy(v, &list, sizeof list);
	*room = more;
	return true;
}

/* ---- elements ---- */

static double modifier(const char *name)
{
	static const struct {
		const char *name;
		double scale;
	} known[] = { { "n", 1e-9 }, { "u", 1e-6 }, { "m", 1e-3 }, { "c", 1e-2 },
		      { "k", 1e3 },  { "M", 1e6 },  { "G", 1e9 } };

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(name, known[i].name) == 0) return known[i].scale;
	return 1;
}

static unsigned place_of(const char *name)
{
	return strcmp(name, "PROJECTION") == 0           ? PROJECTION
	       : strcmp(name, "WAVELENGTHS") == 0        ? WAVELENGTHS
	       : strcmp(name, "DataModelScanFrame") == 0 ? FRAME
	                                                 : 0;
}

static int begin_detector(struct scan *s)
{
	if (s->n == TRANSDUCERS_MAX) return fail_at(s, "more detectors than this program has room for");
	if (!grow(&s->pos, s->n, &s->room, 3 * sizeof *s->pos))
		return iso_fail_memory(s->r->path, s->room * 6 * (int64_t)sizeof *s->pos);
	memset(s->pos + 3 * s->n++, 0, 3 * sizeof *s->pos);
	s->values = 0;
	return ISO_OK;
}

static int begin_record(struct scan *s)
{
	if (s->records == RECORDS_MOST) return fail_at(s, "more records than this program has room for");
	if (!grow(&s->record, s->records, &s->record_room, sizeof *s->record))
		return iso_fail_memory(s->r->path, s->record_room * 2 * (int64_t)sizeof *s->record);
	s->record[s->records++] = (struct record){ NAN, NAN, NAN, 0 };
	return ISO_OK;
}

static void XMLCALL on_start(void *arg, const XML_Char *name, const XML_Char **attribute)
{
	struct scan *s = arg;

	s->length = 0;
	s->scale = 1;
	s->axis = 0;
	for (; *attribute; attribute += 2) {
		if (strcmp(attribute[0], "unit-modifier") == 0) s->scale = modifier(attribute[1]);
		if (strcmp(attribute[0], "axis-ref") == 0 && strlen(attribute[1]) == 1)
			s->axis = attribute[1][0] - '0';
	}
	s->in |= place_of(name);
	if (++s->depth > DEPTH_MOST)
		stop(s, fail_at(s, "elements nested too deeply"));
	else if (place_of(name) == PROJECTION)
		stop(s, begin_detector(s));
	else if (place_of(name) == FRAME)
		stop(s, begin_record(s));
}

/* Longer texts are none of those we look for. */
static void XMLCALL on_text(void *arg, const XML_Char *text, int n)
{
	struct scan *s = arg;
	size_t room = sizeof s->text - 1 - s->length, some = (size_t)n < room ? (size_t)n : room;

	memcpy(s->text + s->length, text, some);
	s->length += some;
}

static int number(double *v, struct scan *s)
{
	const char *text = s->text;
	size_t n = s->length;

	for (; n > 0 && strchr(" \t\r\n", text[n - 1]);) n--;
	for (; n > 0 && strchr(" \t\r\n", *text); text++) n--;
	return iso_number(v, text, n) ? ISO_OK : fail_at(s, "expected a number");
}

static int end_value(struct scan *s)
{
	int axis = s->axis ? s->axis - 1 : s->values;
	double v;
	int st = number(&v, s);

	if (st) return st;
	if (s->values++ == 3 || axis < 0 || axis > 2)
		return fail_at(s, "a detector has more than the three values x, y, z");
	s->pos[3 * (s->n - 1) + axis] = 1e3 * v;
	return ISO_OK;
}

static int end_wavelength(struct scan *s)
{
	double v;
	int st = number(&v, s);

	if (st) return st;
	if (!(v > 0)) return fail_at(s, "a wavelength must be above 0");
	v *= (s->scale == 1 ? 1e-9 : s->scale) * 1e9; /* without a modifier: nm */
	if (s->in & FRAME)
		s->record[s->records - 1].nm = v;
	else if (s->waves == WAVES_MOST)
		return fail_at(s, "more wavelengths than this program has room for");
	else
		s->nm[s->waves++] = v;
	return ISO_OK;
}

static int end_element(struct scan *s, const char *name)
{
	struct record *now = s->in & FRAME && s->records > 0 ? &s->record[s->records - 1] : NULL;
	const struct {
		const char *name;
		double *v;
	} numbers[] = { { "SAMPLING-FREQUENCY", &s->hz },
		        { "RECORDED-LENGTH", &s->samples },
		        { "SPEED-OF-SOUND-BASE", &s->base },
		        { "TrimSpeedOfSound", &s->trim },
		        { "TEMPERATURE", now ? &now->celsius : NULL },
		        { "LASER-ENERGY", now ? &now->mj : NULL } };
	unsigned place = place_of(name);
	int st = ISO_OK;

	s->in &= ~place;
	for (int k = 0; k < 6 && !st; k++)
		if (numbers[k].v && strcmp(name, numbers[k].name) == 0) st = number(numbers[k].v, s);
	if (strcmp(name, "SAMPLING-FREQUENCY") == 0) s->hz *= s->scale;
	if (now && strcmp(name, "LASER-ENERGY") == 0) now->mj *= s->scale * 1e3;
	if (strcmp(name, "TRANSDUCER") == 0)
		iso_snprintf(s->probe, sizeof s->probe, "%.*s", (int)s->length, s->text);
	if (strcmp(name, "VALUE") == 0 && s->in & PROJECTION) st = end_value(s);
	if (strcmp(name, "WAVELENGTH") == 0 && s->in & (WAVELENGTHS | FRAME)) st = end_wavelength(s);
	if (place == PROJECTION && s->values != 3)
		st = fail_at(s, "a detector has less than the three values x, y, z");
	return st;
}

static void XMLCALL on_end(void *arg, const XML_Char *name)
{
	struct scan *s = arg;

	stop(s, end_element(s, name));
	s->depth--;
	s->length = 0;
}

/* Entities have no place in such a file, so neither have attacks with them. */
static void XMLCALL on_doctype(void *arg, const XML_Char *name, const XML_Char *system,
                               const XML_Char *public, int inside)
{
	struct scan *s = arg;

	(void)name, (void)system, (void)public, (void)inside;
	stop(s, fail_at(s, "a document type is not expected here"));
}

/* ---- the text ---- */

static int parse_pieces(struct scan *s, struct iso_in *in)
{
	char piece[1 << 14];
	int st = ISO_OK;

	while (in->at < in->size && !st) {
		int64_t left = in->size - in->at, most = sizeof piece, n = left < most ? left : most;

		if (!(st = iso_in_read(in, piece, n)) &&
		    XML_Parse(s->xml, piece, (int)n, in->at == in->size) == XML_STATUS_ERROR)
			st = s->st ? s->st
			     : XML_GetErrorCode(s->xml) == XML_ERROR_NO_MEMORY
			             ? iso_fail_memory(s->r->path, XML_MOST)
			             : fail_at(s, XML_ErrorString(XML_GetErrorCode(s->xml)));
	}
	return st;
}

static int parse(struct scan *s)
{
	struct iso_in in;
	int st = iso_in_open(&in, s->r->path, false);

	if (st) return st;
	s->xml = XML_ParserCreate(NULL);
	if (in.size > XML_MOST) {
		st = iso_refuse(s->r->path, "%" PRId64 " bytes, at most %d are read", in.size, XML_MOST);
	} else if (!s->xml) {
		st = iso_fail_memory(s->r->path, sizeof *s);
	} else {
		XML_SetUserData(s->xml, s);
		XML_SetElementHandler(s->xml, on_start, on_end);
		XML_SetCharacterDataHandler(s->xml, on_text);
		XML_SetStartDoctypeDeclHandler(s->xml, on_doctype);
		st = parse_pieces(s, &in);
	}
	if (s->xml) XML_ParserFree(s->xml);
	iso_in_close(&in);
	return st;
}

/* ---- what it says ---- */

static int64_t record_bytes(const iso_recording *r)
{
	return r->info.t.n * iso_recording_stored(r) * 2;
}

/* The .bin decides how many records there are: a scan that was stopped has fewer. */
static int count_stored(struct scan *s)
{
	char path[PATH_MAX];
	struct iso_in in;
	int64_t one = record_bytes(s->r), n;
	int st = iso_suffix_partner(path, sizeof path, s->r->path, ".bin");

	if (st || (st = iso_in_open(&in, path, false))) return st;
	int64_t size = in.size;

	iso_in_close(&in);
	n = size / one;
	if (size % one || n < 1)
		return iso_refuse(path,
		                  "%" PRId64 " bytes, must be a multiple of %" PRId64 ": %" PRId64
		                  " detectors, %" PRId64 " samples of 2 bytes",
		                  size, one, s->r->info.t.n, s->r->info.t.samples);
	if (n != s->records)
		iso_recording_warn(s->r, "%" PRId64 " records, %s has %" PRId64 "; the rest is left out",
		                   s->records, path, n);
	s->records = n < s->records ? n : s->records;
	return ISO_OK;
}

/* The wavelength of each record by its number; records without come in the order of the list. */
static int find_waves(struct scan *s)
{
	bool named = true;

	for (int64_t k = 0; k < s->records; k++) named = named && !isnan(s->record[k].nm);
	for (int64_t k = 0; k < s->records && s->waves; k++) {
		struct record *r = &s->record[k];

		if (!named) r->wave = (int)(k % s->waves);
		while (named && r->wave < s->waves && !(fabs(s->nm[r->wave] - r->nm) < .05)) r->wave++;
		if (r->wave == s->waves)
			return iso_refuse(s->r->path,
			                  "record %" PRId64
			                  " is of %g nm, which is not in the list of wavelengths",
			                  k + 1, r->nm);
	}
	return ISO_OK;
}

/* Records of each wavelength are its frames in turn; what not every wavelength has is left out. */
static int place_records(struct scan *s)
{
	struct iso_recording_info *i = &s->r->info;
	int64_t found[WAVES_MOST] = { 0 }, used;

	i->wavelengths = s->waves > 0 ? s->waves : 1;
	for (int64_t k = 0; k < s->records; k++) found[s->record[k].wave]++;
	i->frames = found[0];
	for (int w = 0; w < i->wavelengths; w++) i->frames = found[w] < i->frames ? found[w] : i->frames;
	used = i->frames * i->wavelengths;
	if (used < 1)
		return iso_refuse(s->r->path, "not every one of its %" PRId64 " wavelengths was recorded",
		                  i->wavelengths);
	s->r->at = size_alloc(used, sizeof *s->r->at);
	if (!s->r->at) return iso_fail_memory(s->r->path, used * (int64_t)sizeof *s->r->at);
	memset(found, 0, sizeof found);
	for (int64_t k = 0; k < s->records; k++) {
		int wave = s->record[k].wave;

		if (found[wave] < i->frames) s->r->at[found[wave]++ * i->wavelengths + wave] = k;
	}
	if (used < s->records)
		iso_recording_warn(s->r, "the last frame is not of all wavelengths, and is left out");
	return ISO_OK;
}

/* The file has the speed as the program that wrote it shows it: by how much it is above that of
   water at the temperature of the scan, a base (of the couplant) and a trim (of the user). */
static void set_speed(struct scan *s)
{
	double celsius = 0, above = (s->base + s->trim) / 1e3;

	for (int64_t k = 0; k < s->records; k++) celsius += s->record[k].celsius / (double)s->records;
	if (!(celsius > 0 && celsius < 95) || !(fabs(above) < .5)) /* also where a record has none */
		return;
	s->r->info.t.speed = iso_water_speed(celsius) + above;
	iso_recording_warn(s->r,
	                   "the speed of sound is that of water at %.3g C, and the %+.3g mm/us of the "
	                   "file: %.4g mm/us",
	                   celsius, above, s->r->info.t.speed);
}

/* Of every record that is used; 0 where one has none. */
static int set_energies(struct scan *s)
{
	struct iso_recording_info *i = &s->r->info;
	const int64_t n = i->frames * i->wavelengths;

	for (int64_t k = 0; k < n; k++)
		if (!(s->record[s->r->at[k]].mj > 0)) return ISO_OK;
	if (!(i->energy_mj = size_alloc(n, sizeof *i->energy_mj)))
		return iso_fail_memory(s->r->path, n * (int64_t)sizeof *i->energy_mj);
	for (int64_t k = 0; k < n; k++) i->energy_mj[k] = s->record[s->r->at[k]].mj;
	return ISO_OK;
}

/* Arrays whose elements are known, since the file does not tell: mm along the axis of the arc and along it. They are curved
   along the axis round the middle of the arc. */
static const struct {
	const char *name;
	double aperture[2];
} probes[] = { { "msot2", { 15, .6 } } };

static int set_faces(struct scan *s)
{
	struct iso_transducers *t = &s->r->info.t;
	struct iso_faces *f;
	size_t k = 0, known = sizeof probes / sizeof *probes;
	double sum = 0;

	while (k < known && strcmp(s->probe, probes[k].name) != 0) k++;
	if (k == known) return ISO_OK;
	s->r->info.faces = f = size_alloc(1, sizeof *f);
	t->aperture = size_alloc(t->n, 2 * sizeof *t->aperture);
	if (!f || !t->aperture || !(f->focus = size_alloc(t->n, sizeof *f->focus)))
		return iso_fail_memory(s->r->path, t->n * 3 * (int64_t)sizeof *f->focus);
	f->size = sizeof *f;
	f->n = t->n;
	for (int64_t q = 0; q < t->n; q++) {
		const double *p = t->pos + 3 * q;

		memcpy(t->aperture + 2 * q, probes[k].aperture, sizeof probes[k].aperture);
		f->focus[q] = hypot(hypot(p[0], p[1]), p[2]);
		sum += f->focus[q] / (double)t->n;
	}
	iso_recording_warn(
		s->r,
		"the file does not tell the size of elements; those of the array %s are %g x %g mm, "
		"focused at %.4g mm",
		s->probe, probes[k].aperture[0], probes[k].aperture[1], sum);
	return ISO_OK;
}

static int settle(struct scan *s)
{
	struct iso_transducers *t = &s->r->info.t;
	size_t bytes = (size_t)s->waves * sizeof *s->nm;
	const char *path = s->r->path;
	int st;

	if (s->n < 1) return iso_refuse(path, "has no detectors (PROJECTION)");
	if (s->records < 1) return iso_refuse(path, "has no records (DataModelScanFrame)");
	if (!(s->hz >= 1e3 && s->hz <= 1e12))
		return iso_refuse(path, "SAMPLING-FREQUENCY is %g Hz, must be 1e3 to 1e12", s->hz);
	if (!(s->samples >= 2 && s->samples <= INT32_MAX) || s->samples != floor(s->samples))
		return iso_refuse(path, "RECORDED-LENGTH is %g, must be whole and at least 2", s->samples);
	t->n = s->n;
	t->samples = (int64_t)s->samples;
	t->dt_us = 1e6 / s->hz;
	t->pos = s->pos;
	s->pos = NULL;
	if ((st = count_stored(s)) || (st = find_waves(s)) || (st = place_records(s)) ||
	    (st = set_energies(s)) || (st = set_faces(s)))
		return st;
	set_speed(s);
	if (!s->waves) return ISO_OK;
	if (!(s->r->info.wavelength_nm = malloc(bytes))) return iso_fail_memory(path, (int64_t)bytes);
	memcpy(s->r->info.wavelength_nm, s->nm, bytes);
	return ISO_OK;
}

int iso_msot_open(iso_recording *r)
{
	struct scan *s = size_alloc(1, sizeof *s);
	int st;

	if (!s) return iso_fail_memory(r->path, sizeof *s);
	s->r = r;
	if (!(st = parse(s))) st = settle(s);
	free(s->pos);
	free(s->record);
	free(s);
	return st;
}

/* ---- records ---- */

/* Zero pressure is somewhere in the middle of the range: the mean of a trace. */
static void put_trace(iso_real *y, const unsigned char *raw, int64_t n)
{
	double sum = 0;

	for (int64_t k = 0; k < n; k++) sum += raw[2 * k] | raw[2 * k + 1] << 8;
	for (int64_t k = 0; k < n; k++)
		y[k] = (iso_real)((raw[2 * k] | raw[2 * k + 1] << 8) - sum / (double)n);
}

int iso_msot_read(iso_real *y, const iso_recording *r, const struct iso_traces_part *p)
{
	int64_t record = r->at[p->frame * r->info.wavelengths + p->wavelength];
	int64_t n = iso_recording_stored(r);
	unsigned char *raw = size_alloc(n, 2);
	char bin[PATH_MAX];
	struct iso_in in;
	int st = raw ? iso_suffix_partner(bin, sizeof bin, r->path, ".bin") : iso_fail_memory(r->path, 2 * n);

	if (!st && !(st = iso_in_open(&in, bin, false))) {
		in.ctx = r->ctx;
		st = iso_in_seek(&in, record * record_bytes(r) + p->first * 2 * n);
		for (int64_t q = 0; q < p->n && !st; q++)
			if (!(st = iso_in_read(&in, raw, 2 * n))) put_trace(y + q * n, raw, n);
		iso_in_close(&in);
	}
	free(raw);
	return st;
}
