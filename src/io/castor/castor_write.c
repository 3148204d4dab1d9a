/* SPDX-License-Identifier: BSD-3-Clause */
/* CASToR list-mode files: records (.Cdf), their header (.Cdh), and the scanner as a table of
   crystals (.hscan, .lut), all beside each other and renamed together.

   mult is written as its inverse, a normalisation factor, and add as a scatter rate: that one is
   per mm with TOF, as add is. z is mirrored: CASToR's axes are left-handed.

   CASToR has no word for a duration that is not known: its list-mode headers must have the key, and must not have
   less than 0. 0 it reads, and then divides by it: no image in Bq/ml or counts/s comes out of such a file by mistake,
   and one in counts by its option -ignore-corr fdur. */
#include "io/events.h"
#include "file/suffix.h"
#include "io/format.h"
#include "scanner/scanner.h"

#include <stdlib.h>

struct layout {
	struct iso_out header;
	struct iso_events first; /* the block that came first: what it has, not its arrays */
	bool tof;
	double fwhm_ps, to_rate; /* to_rate: of add to a scatter rate */
	double most_ps;          /* largest |t1 - t2| */
};

/* The name that the header gives to its files: one line, without a comment. */
static int check_name(const char *path)
{
	const char *name = iso_base_name(path);
	bool good = name[0] != ' ' && name[0] != '.' && !strstr(name, "..");

	for (const char *c = name; *c; c++) good = good && (unsigned char)*c >= ' ' && *c != '#' && *c != 127;
	return good ? ISO_OK
	            : iso_fail(ISO_EARG,
	                       "%s: a CASToR header can't name files with '#', '..' or control characters, "
	                       "or a blank or dot first",
	                       path);
}

int iso_castor_create(iso_event_writer *w, const char *path, int64_t bytes)
{
	char data[PATH_MAX];
	struct layout *l;
	int st;

	if (!w->scanner)
		return iso_fail(
			ISO_EARG,
			"%s: CASToR files hold crystal numbers; a scanner must say where the crystals are",
			path);
	if (w->scanner->kind == ISO_PANELS) /* its tables know angles round an axis, no heads */
		return iso_fail(
			ISO_EARG,
			"%s: a CASToR file can't say which crystals of the panels %s are in coincidence",
			path, w->scanner->name);
	if ((st = check_name(path)) || (st = iso_events_partner(data, sizeof data, path, ".Cdf"))) return st;
	w->layout = l = calloc(1, sizeof *l);
	if (!l) return iso_fail_memory(path, sizeof *l);
	if ((st = iso_out_open(&l->header, path, 0, ISO_OUT_PLAIN))) return st;
	return iso_out_open(&w->out, data, bytes, ISO_OUT_PLAIN);
}

void iso_castor_release(iso_event_writer *w)
{
	struct layout *l = w->layout;

	if (l) iso_out_free(&l->header);
}

int iso_castor_begin(iso_event_writer *w, const struct iso_events *e)
{
	struct layout *l = w->layout;

	l->first = *e;
	l->tof = e->tof_fwhm_ps > 0;
	for (int64_t i = 0; i < e->n && !l->tof; i++) l->tof = e->v[i].dt_ps != 0 && isfinite(e->v[i].dt_ps);
	l->fwhm_ps = e->tof_fwhm_ps > 0 ? e->tof_fwhm_ps : w->scanner->tof_fwhm_ps;
	if (e->isotope[strcspn(e->isotope, "#\r\n")])
		return iso_fail(ISO_EARG, "%s: isotope '%s': a CASToR header can't hold it", l->header.path,
		                e->isotope);
	if (l->tof && !(l->fwhm_ps > 0))
		return iso_fail(ISO_EARG,
		                "%s: events with times of flight of unknown resolution; scanner %s must say "
		                "it (tof: {fwhm_ps: ...})",
		                l->header.path, w->scanner->name);
	if (e->add && !(e->duration_s > 0))
		return iso_fail(ISO_EARG,
		                "%s: a CASToR file holds scatter and randoms as rates, and how long the scan "
		                "took is not known: 'duration-s' says it",
		                l->header.path);
	l->to_rate = e->add ? 1 / e->duration_s : 0;
	if (l->tof && l->first.tof_bin_ps > 0) l->to_rate /= l->first.tof_bin_ps * ISO_MM_PER_PS;
	w->record = 12 + 4 * (!!e->add + !!e->mult + l->tof);
	return ISO_OK;
}

static void put(uint8_t **p, const void *value)
{
	memcpy(*p, value, 4);
	*p += 4;
}

static void put_real(uint8_t **p, double value)
{
	put(p, &(float){ (float)value });
}

/* A bad event has no crystals of its own: both ends on crystal 0 keep it bad. */
static uint32_t crystal(const iso_event_writer *w, const struct iso_events *e, int64_t i, int end)
{
	const float *v = end ? e->v[i].p2 : e->v[i].p1;
	double p[3] = { v[0], v[1], v[2] }, distance;

	if (iso_event_bad(&e->v[i])) return 0;
	return e->crystal ? e->crystal[2 * i + end] : (uint32_t)iso_scanner_nearest(&distance, w->scanner, p);
}

static int check(const iso_event_writer *w, const struct iso_events *e, int64_t i, const uint32_t c[2])
{
	const struct layout *l = w->layout;

	if (!l->first.time_ms != !e->time_ms || !l->first.add != !e->add || !l->first.mult != !e->mult ||
	    (!l->tof && e->v[i].dt_ps != 0 && isfinite(e->v[i].dt_ps)))
		return iso_fail(ISO_EARG, "%s: a block with other values than the first one", w->out.path);
	for (int end = 0; end < 2; end++)
		if (c[end] >= w->scanner->n)
			return iso_fail(
				ISO_EARG, "%s: event %" PRId64 ": crystal %u, scanner %s has %" PRId64,
				w->out.path, w->n + i, (unsigned)c[end], w->scanner->name, w->scanner->n);
	return ISO_OK;
}

int iso_castor_encode(iso_event_writer *w, uint8_t *record, const struct iso_events *e, int64_t i)
{
	struct layout *l = w->layout;
	uint32_t time = e->time_ms ? e->time_ms[i] : 0;
	uint32_t c[2] = { crystal(w, e, i, 0), crystal(w, e, i, 1) };
	double dt = isfinite(e->v[i].dt_ps) ? (double)e->v[i].dt_ps : 0;
	int st = check(w, e, i, c);

	if (st) return st;
	put(&record, &time);
	if (l->first.add) put_real(&record, (double)e->add[i] * l->to_rate);
	if (l->first.mult) put_real(&record, e->mult[i] > 0 ? 1 / (double)e->mult[i] : 0);
	if (l->tof) put_real(&record, dt);
	put(&record, &c[0]);
	put(&record, &c[1]);
	l->most_ps = fmax(l->most_ps, fabs(dt));
	return ISO_OK;
}

/* ---- the files beside it ---- */

static int write_header(iso_event_writer *w, const char *base)
{
	struct layout *l = w->layout;
	struct iso_out *o = &l->header;
	bool known = l->first.duration_s > 0;
	int st =
		iso_out_print(o,
	                      "Scanner name: %s\nData filename: %s.Cdf\nNumber of events: %" PRId64
	                      "\nData mode: list-mode\nData type: PET\nStart time (s): %.17g\n"
	                      "Duration (s): %.17g%s\nIsotope: %s\nCalibration factor: %.17g\n",
	                      base, base, w->n, l->first.start_s, known ? l->first.duration_s : 0,
	                      known ? "" : " # not known", l->first.isotope[0] ? l->first.isotope : "unknown",
	                      l->first.calibration > 0 ? l->first.calibration : 1);

	if (!st && l->first.add)
		st = iso_out_print(o, "Scatter correction flag: 1 # scatter and randoms together\n");
	if (!st && l->first.mult)
		st = iso_out_print(
			o, "Normalization correction flag: 1 # with attenuation, where that was known\n");
	if (!st && l->tof)
		st = iso_out_print(o,
		                   "TOF information flag: 1\nTOF resolution (ps): %.17g\n"
		                   "List TOF measurement range (ps): %.17g\n",
		                   l->fwhm_ps, 2 * ceil(l->most_ps));
	if (!st && l->tof && l->first.tof_bin_ps > 0)
		st = iso_out_print(o, "List TOF quantization bin size (ps): %.17g\n", l->first.tof_bin_ps);
	return st;
}

enum { ROWS = 1024 };

/* 6 float32 a crystal: place, and a unit vector away from the axis. */
static int write_lut(struct iso_out *o, const iso_scanner *s)
{
	float rows[ROWS][6];
	int st = ISO_OK;

	for (int64_t i = 0; i < s->n && !st; i += ROWS) {
		int64_t n = s->n - i < ROWS ? s->n - i : ROWS;

		for (int64_t k = 0; k < n; k++) {
			const double *p = s->pos + 3 * (i + k), r = hypot(p[0], p[1]);
			const float row[6] = { (float)p[0], (float)p[1], (float)(0 - p[2]),
				               r > 0 ? (float)(p[0] / r) : 1, r > 0 ? (float)(p[1] / r) : 0 };

			memcpy(rows[k], row, sizeof row);
		}
		st = iso_out_write(o, rows, n * (int64_t)sizeof rows[0]);
	}
	return st;
}

/* Ends of lines are the places of the table (depth of interaction -1). Sizes that Isotome does not
   know are 0; CASToR asks for all of these keys. */
static int write_hscan(struct iso_out *o, const iso_scanner *s, const char *base)
{
	double r = 0, z = 0;

	for (int64_t i = 0; i < s->n; i++) {
		r = fmax(r, hypot(s->pos[3 * i], s->pos[3 * i + 1]));
		z = fmax(z, fabs(s->pos[3 * i + 2]));
	}
	return iso_out_print(o,
	                     "modality: PET\nscanner name: %s\nnumber of elements: %" PRId64 "\n"
	                     "number of layers: 1\nnumber of crystals in layer: %" PRId64 "\n"
	                     "crystals size depth: 0 # sizes of crystals are not known\n"
	                     "crystals size transaxial: 0\ncrystals size axial: 0\n"
	                     "mean depth of interaction: -1\nmin angle difference: %.9g\n"
	                     "scanner radius: %.9g\nvoxels number transaxial: 128\n"
	                     "voxels number axial: 64\nfield of view transaxial: %.9g\n"
	                     "field of view axial: %.9g\n",
	                     base, s->n, s->n, iso_scanner_min_angle(s) * 180 / M_PI, r, 1.4 * r, 2 * z + 1);
}

static int open_beside(struct iso_out *o, const char *path, const char *suffix)
{
	char name[PATH_MAX];
	int st = iso_events_partner(name, sizeof name, path, suffix);

	return st ? st : iso_out_open(o, name, 0, ISO_OUT_PLAIN);
}

int iso_castor_finish(iso_event_writer *w, const char *sidecar)
{
	struct layout *l = w->layout;
	const char *path = l->header.path;
	struct iso_out hscan = { 0 }, lut = { 0 };
	char base[PATH_MAX];
	int st = iso_events_partner(base, sizeof base, iso_base_name(path), "");

	if (st || (st = write_header(w, base)) || (st = open_beside(&hscan, path, ".hscan")) ||
	    (st = write_hscan(&hscan, w->scanner, base)) || (st = open_beside(&lut, path, ".lut")) ||
	    (st = write_lut(&lut, w->scanner)))
		goto done;
	struct iso_out *all[] = { &l->header, &w->out, &hscan, &lut };

	st = iso_target_finish_all(4, all, sidecar);
done:
	iso_out_free(&hscan);
	iso_out_free(&lut);
	return st;
}
