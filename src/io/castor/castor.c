/* SPDX-License-Identifier: BSD-3-Clause */
/* CASToR list-mode and histogram files: a text header (.Cdh) and packed little-endian records
   (.Cdf), whose fields the header's flags switch on.

   Crystal numbers become places through a scanner: the caller's, or SCANNER.hscan beside the
   header, where SCANNER is its `Scanner name`. CASToR's axes are left-handed; the reader of
   .hscan files mirrors z. A .geom serves as well.

   Times of flight are t1 - t2, as here. Correction factors divide: mult = 1 / (attenuation x
   normalisation). `Duration (s)` may be 0, as iso_castor_finish writes it, or missing: not known. Additive terms
   are rates, and duration_s, which must then be known, makes them counts:

	no TOF              add = (scatter + randoms) T
	list mode, TOF      add = (scatter + randoms / R) T    per mm; R: range of t1 - t2 times c/2
	  quantised, q mm   that times q                       per bin
	histogram, N bins   add = (scatter_b + randoms / N) T  per bin; one event a bin

   since a scatter rate with TOF is per mm (per bin), a random rate always that of the line.

   Positions of interaction are x, y, z from the middle of a crystal's inner face, mm, those of both ends for each
   axis that the header gives a resolution. As in CASToR only the depth, z, moves an end, along the crystal's
   direction, and a negative one says nothing. */
#include "text/keys.h"
#include "core/size.h"
#include "file/suffix.h"
#include "io/events.h"
#include "scanner/scanner.h"

#include <stdio.h>
#include <unistd.h>

enum { NONE = -1, WORK_MOST = 1 << 20 }; /* lines times bins of a record */

/* Bytes from the start of a record, which is its time; NONE: the field is not there. */
struct layout {
	int64_t attenuation, scatter, randoms, normalisation, tof, depth, value, lines, crystals;
	int64_t max_lines, bins;
	int64_t bin_step; /* histogram: bytes from bin to bin */
	double bin_ps;    /* histogram */
	double scatter_counts, randoms_counts;
	bool plain; /* list mode: neither factors nor rates */
};

struct header {
	struct iso_keys keys;
	struct iso_events_info *i;
	int64_t records, max_lines, bins;
	bool histogram, kind, emission;
	bool poi[3]; /* axes with a position of interaction */
	double range_ps, quantum_ps, bin_ps;
};

/* ---- the header ---- */

static int get_mode(struct header *h)
{
	const char *mode, *type;
	int st = iso_keys_need(&mode, &h->keys, "Data mode");

	if (st || (st = iso_keys_need(&type, &h->keys, "Data type"))) return st;
	h->histogram = iso_same_word(mode, "histogram") || iso_same_word(mode, "histo");
	if (!iso_same_word(type, "PET"))
		return iso_refuse(h->keys.path, "Data type is '%.60s', must be PET", type);
	if (!h->histogram && !iso_same_word(mode, "list-mode") && !iso_same_word(mode, "listmode") &&
	    !iso_same_word(mode, "list"))
		return iso_refuse(h->keys.path, "Data mode is '%.60s', must be list-mode or histogram", mode);
	return ISO_OK;
}

static int get_flags(struct header *h)
{
	const struct iso_keys *k = &h->keys;
	const struct {
		const char *key;
		bool *flag;
	} flags[] = {
		{ "Coincidence kind flag", &h->kind },
		{ "Attenuation correction flag", &h->i->attenuation },
		{ "Scatter correction flag", &h->i->scatter },
		{ "Random correction flag", &h->i->randoms },
		{ "Normalization correction flag", &h->i->normalisation },
		{ "TOF information flag", &h->i->has_dt },
		{ "Emission point flag", &h->emission },
	};
	bool per_event = false;
	int st = iso_keys_flag(&per_event, k, "Per event TOF resolution flag");

	for (size_t i = 0; i < sizeof flags / sizeof *flags && !st; i++)
		st = iso_keys_flag(flags[i].flag, k, flags[i].key);
	if (!st && per_event) st = iso_refuse(k->path, "a TOF resolution per event is not supported");
	return st;
}

/* Positions of interaction come along the axes whose resolution is not negative. */
static int get_poi(struct header *h)
{
	const char *key =
		iso_keys_find(&h->keys, "POI resolution (mm)") ? "POI resolution (mm)" : "POI resolution";
	double resolution[3] = { 0 };
	bool poi = false;
	int n, st = iso_keys_flag(&poi, &h->keys, "POI info flag");

	if (st || (st = iso_keys_flag(&poi, &h->keys, "POI correction flag")) ||
	    (st = iso_keys_reals(resolution, &n, 3, &h->keys, key)))
		return st;
	if (poi && n < 3)
		return iso_refuse(h->keys.path, "key 'POI resolution (mm)', three numbers, is missing");
	for (int a = 0; a < 3; a++) h->poi[a] = poi && resolution[a] >= 0;
	return ISO_OK;
}

static int get_tof(struct header *h)
{
	const struct iso_keys *k = &h->keys;
	int st;

	if (!h->i->has_dt) return ISO_OK;
	if ((st = iso_keys_real(&h->i->tof_fwhm_ps, k, "TOF resolution (ps)", 1e-3, 1e6)) ||
	    (st = iso_keys_real(&h->range_ps, k, "List TOF measurement range (ps)", -1, 1e9)) ||
	    (st = iso_keys_real(&h->quantum_ps, k, "List TOF quantization bin size (ps)", -1, 1e6)) ||
	    (st = iso_keys_int(&h->bins, k, "Histo TOF number of bins", 1, 65535)) ||
	    (st = iso_keys_real(&h->bin_ps, k, "Histo TOF bin size (ps)", 1e-3, 1e6)))
		return st;
	if (h->i->tof_fwhm_ps == 0)
		return iso_refuse(k->path, "times of flight without 'TOF resolution (ps)'");
	if (h->histogram && (h->bins == 1 || h->bin_ps == 0))
		return iso_refuse(k->path, "TOF bins need 'Histo TOF number of bins', at least 2, and 'Histo "
		                           "TOF bin size (ps)'");
	if (!h->histogram && h->i->randoms && h->range_ps <= 0)
		return iso_refuse(k->path,
		                  "random rates with times of flight need 'List TOF measurement range (ps)'");
	if (!h->histogram) h->bins = 1;
	return ISO_OK;
}

/* Writers that know of no factor write 1. */
static int get_calibration(struct header *h)
{
	double factor = 1;
	int st = iso_keys_real(&factor, &h->keys, "Calibration factor", 1e-30, 1e30);

	h->i->calibration = st || factor == 1 ? 0 : factor;
	return st;
}

/* The first of the key's numbers, as in CASToR; negative: any. */
static int get_axial(struct header *h)
{
	double most[2] = { 0 };
	int n, st = iso_keys_reals(most, &n, 2, &h->keys, "Maximum axial difference mm");

	h->i->max_axial_mm = n > 0 ? fmax(most[0], 0) : 0;
	return st;
}

static int get_header(struct header *h)
{
	const struct iso_keys *k = &h->keys;
	int st;

	if ((st = get_mode(h)) || (st = get_flags(h)) || (st = get_poi(h)) || (st = get_tof(h)) ||
	    (st = get_axial(h)) || (st = get_calibration(h)) ||
	    (st = iso_keys_int(&h->records, k, "Number of events", 0, INT64_MAX / 2)) ||
	    (st = iso_keys_real(&h->i->start_s, k, "Start time (s)", -1e12, 1e12)) ||
	    (st = iso_keys_real(&h->i->duration_s, k, "Duration (s)", 0, 1e12)) ||
	    (st = iso_keys_int(&h->max_lines, k, "Maximum number of lines per event", 1, 65535)))
		return st;
	if (h->records < 1) return iso_refuse(k->path, "key 'Number of events' is missing or 0");
	if (h->max_lines * h->bins > WORK_MOST)
		return iso_refuse(k->path,
		                  "%" PRId64 " lines per event in %" PRId64
		                  " TOF bins, must be at most %d together",
		                  h->max_lines, h->bins, WORK_MOST);
	if (h->i->duration_s == 0 && (h->i->scatter || h->i->randoms))
		return iso_refuse(k->path, "key 'Duration (s)' is missing or 0: rates of scatter and randoms "
		                           "become counts by how long the scan took");
	return ISO_OK;
}

/* ---- the records ---- */

/* Takes `bytes` of the record, if the field is there. */
static int64_t take(int64_t *at, bool there, int64_t bytes)
{
	int64_t here = *at;

	*at += there ? bytes : 0;
	return there ? here : NONE;
}

static int64_t set_layout(struct layout *l, const struct header *h)
{
	const struct iso_events_info *i = h->i;
	double q = h->quantum_ps > 0 ? h->quantum_ps * ISO_MM_PER_PS : 1;
	bool list = !h->histogram;
	int64_t at = 4; /* the time */

	l->attenuation = take(&at, i->attenuation, 4);
	take(&at, list && h->kind, 1);
	l->scatter = take(&at, list && i->scatter, 4);
	l->randoms = take(&at, i->randoms, 4);
	l->normalisation = take(&at, i->normalisation, 4);
	l->tof = take(&at, list && i->has_dt, 4);
	for (int a = 0; a < 3; a++) l->depth = take(&at, list && h->poi[a], 8);
	l->value = list ? NONE : at;
	if (list) {
		at += h->emission ? 24 : 0;
	} else { /* for each bin its value, and its scatter */
		l->scatter = i->scatter ? at + 4 : NONE;
		l->bin_step = i->scatter ? 8 : 4;
		at += l->bin_step * h->bins;
	}
	l->lines = take(&at, h->max_lines > 1, 2);
	l->crystals = at;
	l->plain = list && !i->attenuation && !i->normalisation && !i->scatter && !i->randoms;
	l->max_lines = h->max_lines;
	l->bins = h->bins;
	l->bin_ps = h->bin_ps;
	/* see the table above */
	l->scatter_counts = l->randoms_counts = i->duration_s;
	if (h->histogram) l->randoms_counts /= (double)h->bins;
	if (list && i->has_dt) {
		l->scatter_counts *= q;
		l->randoms_counts *= q / (h->range_ps * ISO_MM_PER_PS);
	}
	return at + 8 * h->max_lines;
}

static void add_ignored(struct iso_events_info *i, const char *before, const char *text)
{
	size_t n = strlen(i->ignored);

	if (text[0]) snprintf(i->ignored + n, sizeof i->ignored - n, "%s%s%s", n ? ", " : "", before, text);
}

/* A scanner that the caller describes need not say where the faces of its crystals are. */
static void tell_ignored(const struct header *h, const iso_scanner *s, struct layout *l)
{
	struct iso_events_info *i = h->i;
	char keys[200];

	if (!h->histogram && h->kind) add_ignored(i, "", "kinds of events");
	if (!h->histogram && (h->poi[0] || h->poi[1]))
		add_ignored(i, "", "positions of interaction across crystals");
	if (l->depth != NONE && (!s->face || h->max_lines > 1)) {
		add_ignored(i, "", "depths of interaction");
		l->depth = NONE;
	}
	if (l->depth != NONE)
		add_ignored(i, "", "depths of interaction in the sensitivity, which has mean depths");
	if (l->depth != NONE && s->radial)
		add_ignored(i, "",
		            "directions of crystals, which are not away from the axis (the radius is)");
	if (!h->histogram && h->emission) add_ignored(i, "", "emission points");
	iso_keys_unused(keys, sizeof keys, &h->keys);
	add_ignored(i, "keys ", keys);
}

static void set_info(const struct header *h)
{
	struct iso_events_info *i = h->i;
	const char *isotope = iso_keys_find(&h->keys, "Isotope");

	i->format = h->histogram ? "CASToR histogram" : "CASToR list mode";
	i->has_time = true;
	i->has_count = h->histogram;
	i->has_crystal = h->max_lines == 1;
	i->tof_bin_ps = h->histogram ? h->bin_ps : fmax(h->quantum_ps, 0);
	if (isotope && !iso_same_word(isotope, "unknown"))
		snprintf(i->isotope, sizeof i->isotope, "%s", isotope);
}

/* Of a name with folders in front, as converters write it, the last part counts: the file must lie beside the
   header. */
static int data_file(char *out, int size, const struct iso_keys *k)
{
	const char *name;
	int st = iso_keys_need(&name, k, "Data filename");

	if (st) return st;
	if (name[0] != '/') return iso_keys_beside(out, size, k, name);
	if (!(st = iso_keys_beside(out, size, k, iso_base_name(name))) && access(out, F_OK) != 0)
		st = iso_refuse(k->path,
		                "Data filename is '%.200s', no file of that name lies beside the header",
		                name);
	return st;
}

static int open_records(iso_event_file *f, const struct header *h, const char *path)
{
	char data[PATH_MAX];
	int64_t want;
	int st = data_file(data, sizeof data, &h->keys);

	if (st || (st = iso_event_file_records(f, data))) return st;
	if (!size_mul(&want, h->records, f->record) || !size_mul(&f->info.n, h->records, h->bins))
		return iso_refuse(path, "%" PRId64 " events are more than a file holds", h->records);
	if (f->size != want)
		return iso_refuse(data,
		                  "%" PRId64 " bytes, its header says %" PRId64 " events of %" PRId64
		                  " bytes, %" PRId64 "; a wrong flag?",
		                  f->size, h->records, f->record, want);
	return ISO_OK;
}

/* ---- the scanner ---- */

/* SCANNER.suffix beside the header. */
static int scanner_file(char *out, int size, const struct iso_keys *k, const char *suffix)
{
	char name[300];
	const char *scanner;
	int st = iso_keys_need(&scanner, k, "Scanner name");

	if (st) return st;
	if (strlen(scanner) > 200 || strchr(scanner, '/'))
		return iso_refuse(k->path, "Scanner name is '%.200s', a plain name was expected", scanner);
	snprintf(name, sizeof name, "%s%s", scanner, suffix);
	return iso_keys_beside(out, size, k, name);
}

/* The .hscan, .ghscan or .geom of the header's scanner; "" where none is there. */
static int find_file(char *out, int size, const struct iso_keys *k)
{
	static const char *const suffix[] = { ".hscan", ".ghscan", ".geom" };

	for (int i = 0; i < 3; i++) {
		int st = scanner_file(out, size, k, suffix[i]);

		if (st || access(out, F_OK) == 0) return st;
	}
	out[0] = '\0';
	return ISO_OK;
}

int iso_castor_files(char data[PATH_MAX], char scanner[PATH_MAX], const char *path)
{
	struct iso_keys k;
	int st = iso_keys_read(&k, path);

	if (st) return st;
	st = data_file(data, PATH_MAX, &k);
	if (!st) st = find_file(scanner, PATH_MAX, &k);
	iso_keys_free(&k);
	return st;
}

/* Where the caller gives a scanner, that of the file is there to be compared with it; one that can't be read is none. */
static int find_own(iso_event_file *f, const struct iso_keys *k)
{
	char path[PATH_MAX];
	int st = find_file(path, sizeof path, k);

	if (!st && path[0]) st = iso_scanner_read(&f->own, path);
	return st == ISO_ENOMEM ? st : ISO_OK;
}

static int find_scanner(iso_event_file *f, const struct iso_keys *k)
{
	const char *name = iso_keys_find(k, "Scanner name");
	char path[PATH_MAX];
	int st = find_file(path, sizeof path, k);

	if (st) return st;
	if (!path[0])
		return iso_refuse(k->path,
		                  "where the crystals of scanner '%s' are is not known: give a scanner, or "
		                  "put %s.hscan and .lut, or %s.geom, beside it",
		                  name, name, name);
	if ((st = iso_scanner_read(&f->own, path))) return st;
	iso_scanner_limit_axial(f->own, f->info.max_axial_mm);
	f->scanner = f->own;
	return ISO_OK;
}

static int open_castor(iso_event_file *f, const char *path, const struct iso_events_options *o)
{
	struct header h = { .i = &f->info, .max_lines = 1, .bins = 1, .records = -1 };
	int st;

	f->layout = calloc(1, sizeof(struct layout));
	if (!f->layout) return iso_fail_memory(path, sizeof(struct layout));
	if ((st = iso_keys_read(&h.keys, path))) return st;
	if (!(st = get_header(&h))) {
		f->record = set_layout(f->layout, &h);
		f->per_record = h.bins;
		f->scanner = o->scanner;
		set_info(&h);
		st = open_records(f, &h, path);
	}
	iso_keys_find(&h.keys,
	              "Scanner name"); /* where the caller gives a scanner, its name is not asked for */
	if (!st) st = (f->scanner ? find_own : find_scanner)(f, &h.keys);
	if (!st) tell_ignored(&h, f->scanner, f->layout);
	iso_keys_free(&h.keys);
	return st;
}

/* ---- one event ---- */

static uint32_t get_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

static double get_real(const uint8_t *record, int64_t at, double absent)
{
	float v;

	if (at == NONE) return absent;
	memcpy(&v, record + at, sizeof v);
	return (double)v;
}

static int check_value(const iso_event_file *f, int64_t i, const char *what, double v)
{
	if (v >= 0 && isfinite(v)) return ISO_OK;
	return iso_refuse(f->path,
	                  "event %" PRId64 ": %s is %g, must be finite and not negative; a wrong flag?",
	                  i / f->per_record, what, v);
}

/* A factor of 0 says that the line is not used. */
static int get_factors(const iso_event_file *f, struct iso_events *e, int64_t k, const uint8_t *r, int64_t i)
{
	const struct layout *l = f->layout;
	int64_t bin = i % l->bins * l->bin_step;
	double factor = get_real(r, l->attenuation, 1) * get_real(r, l->normalisation, 1);
	double scatter = get_real(r, l->scatter == NONE ? NONE : l->scatter + bin, 0);
	double rate = get_real(r, l->randoms, 0);
	double count = get_real(r, l->value == NONE ? NONE : l->value + bin, 1);
	int st;

	if ((st = check_value(f, i, "correction factor", factor)) ||
	    (st = check_value(f, i, "scatter rate", scatter)) ||
	    (st = check_value(f, i, "random rate", rate)) || (st = check_value(f, i, "count", count)))
		return st;
	if (e->mult) e->mult[k] = factor > 0 ? (iso_real)fmin(1 / factor, 1e30) : 0;
	if (e->add) e->add[k] = (iso_real)fmin(scatter * l->scatter_counts + rate * l->randoms_counts, 1e30);
	if (e->count) e->count[k] = (iso_real)count;
	return ISO_OK;
}

/* Moves both ends of event k to their depths. */
static void move_ends(const iso_event_file *f, struct iso_event *v, const uint8_t *r,
                      const uint32_t crystal[2])
{
	const struct layout *l = f->layout;

	for (int end = 0; end < 2; end++) {
		const struct iso_face *face = f->scanner->face + crystal[end];
		float depth = (float)get_real(r, l->depth + 4 * end, -1), *p = end ? v->p2 : v->p1;

		for (int a = 0; a < 3 && !(depth < 0); a++) p[a] += (depth - face->depth) * face->outward[a];
	}
}

/* The ends of a record's one line. */
static int get_line(const iso_event_file *f, struct iso_events *e, int64_t k, const uint8_t *r, int64_t i)
{
	const struct layout *l = f->layout;
	uint32_t a = get_u32(r + l->crystals), b = get_u32(r + l->crystals + 4);

	if (a >= f->crystals || b >= f->crystals) return iso_event_place(f, e, k, i / f->per_record, a, b);
	memcpy(e->v[k].p1, f->place + 3 * (int64_t)a, sizeof e->v[k].p1);
	memcpy(e->v[k].p2, f->place + 3 * (int64_t)b, sizeof e->v[k].p2);
	if (l->depth != NONE) move_ends(f, &e->v[k], r, (uint32_t[]){ a, b });
	if (e->crystal) {
		e->crystal[2 * k] = a;
		e->crystal[2 * k + 1] = b;
	}
	return ISO_OK;
}

/* Several lines: the one between the means of their ends. */
static int get_lines(const iso_event_file *f, struct iso_events *e, int64_t k, const uint8_t *r, int64_t i)
{
	const struct layout *l = f->layout;
	struct iso_event *v = &e->v[k];
	uint16_t n = 1;
	double sum[6] = { 0 };
	int st = ISO_OK;

	if (l->lines != NONE) memcpy(&n, r + l->lines, sizeof n);
	if (n < 1 || n > l->max_lines)
		return iso_refuse(f->path, "event %" PRId64 ": %d lines, its header says up to %" PRId64,
		                  i / f->per_record, n, l->max_lines);
	for (int j = 0; j < n && !st; j++) {
		const uint8_t *p = r + l->crystals + 8 * j;

		st = iso_event_place(f, e, k, i / f->per_record, get_u32(p), get_u32(p + 4));
		for (int a = 0; a < 6; a++) sum[a] += (double)(a < 3 ? v->p1 : v->p2)[a % 3];
	}
	for (int a = 0; a < 6 && n > 1; a++) (a < 3 ? v->p1 : v->p2)[a % 3] = (float)(sum[a] / n);
	return st;
}

static int decode_bin(const iso_event_file *f, struct iso_events *e, int64_t k, const uint8_t *record,
                      int64_t i)
{
	const struct layout *l = f->layout;
	int st = l->plain ? ISO_OK : get_factors(f, e, k, record, i);

	if (!st) st = (l->max_lines == 1 ? get_line : get_lines)(f, e, k, record, i);
	if (st) return st;
	if (e->time_ms) e->time_ms[k] = get_u32(record);
	e->v[k].dt_ps = l->bins > 1 ? (float)(((double)(i % l->bins) - (double)(l->bins - 1) / 2) * l->bin_ps)
	                            : (float)get_real(record, l->tof, 0);
	return ISO_OK;
}

static int decode(const iso_event_file *f, struct iso_events *e, int64_t k, const uint8_t *record, int64_t i,
                  int64_t n)
{
	int64_t first = i / f->per_record;
	int st = ISO_OK;

	for (int64_t j = 0; j < n && !st; j++)
		st = decode_bin(f, e, k + j, record + ((i + j) / f->per_record - first) * f->record, i + j);
	return st;
}

static const char *const beside[] = { ".Cdf", ".hscan", ".lut", NULL };

const struct iso_event_format iso_castor_format = {
	.name = "CASToR",
	.keeps_crystals = true,
	.open = open_castor,
	.decode = decode,
	.record = 12,
	.encode = iso_castor_encode,
	.create = iso_castor_create,
	.begin = iso_castor_begin,
	.finish = iso_castor_finish,
	.release = iso_castor_release,
	.beside = beside,
};
