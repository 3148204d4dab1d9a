/* SPDX-License-Identifier: BSD-3-Clause */
/* Recordings: traces with their transducers in one file. */
#include "kinds.h"
#include "core/size.h"
#include "scanner/scanner.h"

enum { PIECE = 1 << 24 }; /* values of traces in memory at a time */

#ifdef ISO_HDF5
#	define IPASC iso_ipasc_open, iso_ipasc_read, iso_ipasc_write
#else
#	define IPASC NULL, NULL, NULL
#endif
#ifdef ISO_EXPAT
#	define MSOT iso_msot_open, iso_msot_read, NULL
#else
#	define MSOT NULL, NULL, NULL
#endif

const struct iso_recording_format iso_ipasc_format = { "HDF5", true, IPASC };
const struct iso_recording_format iso_msot_format = { "expat", false, MSOT };

bool iso_is_recording(const char *path)
{
	return path && iso_kind_as(path, ISO_RECORDING_FILE);
}

/* The row of a file that this build has the library for. */
static int find(const struct iso_kind **k, int code, const char *path)
{
	*k = iso_kind_as(path, ISO_RECORDING_FILE);
	if (!*k) return iso_kind_unknown(code, path, ISO_RECORDING_FILE, code == ISO_EARG);
	if ((*k)->recording->open) return ISO_OK;
	return iso_fail(code,
	                "%s: this build has no %s, which %s files need; install the library and build "
	                "Isotome from source",
	                path, (*k)->recording->library, (*k)->suffix);
}

void iso_recording_warn(iso_recording *r, const char *fmt, ...)
{
	struct iso_recording_info *i = &r->info;
	const size_t size = sizeof *i->warning;
	va_list args;

	if (i->n_warnings == (int)(sizeof i->warning / size)) return;
	char *text = i->warning[i->n_warnings++];
	int n = r->path ? snprintf(text, size, "%s: ", r->path) : 0;

	if (n >= (int)size) return;
	va_start(args, fmt);
	iso_vsnprintf(text + n, size - (size_t)n, fmt, args);
	va_end(args);
}

void iso_recording_free(iso_recording *r)
{
	if (!r) return;
	if (r->path) {
		iso_transducers_free(&r->info.t);
		free(r->info.wavelength_nm);
		free(r->info.energy_mj);
		if (r->info.faces) free(r->info.faces->focus);
		free(r->info.faces);
	}
	free(r->path);
	free(r->at);
	free(r);
}

const struct iso_recording_info *iso_recording_info(const iso_recording *r)
{
	return r ? &r->info : NULL;
}

/* ---- opening ---- */

/* No file says where the sphere of the transducers has its centre: the origin, unless they do not
   lie round it and there is a field of view, whose middle is taken. */
static void set_centre(struct iso_recording_info *i)
{
	double radius = hypot(hypot(i->t.pos[0], i->t.pos[1]), i->t.pos[2]);
	bool round = true;

	for (const double *p = i->t.pos; p < i->t.pos + 3 * i->t.n && round; p += 3)
		round = fabs(hypot(hypot(p[0], p[1]), p[2]) - radius) <= .01 * radius;
	if (!i->has_field || round) return;
	for (int a = 0; a < 3; a++) i->t.centre[a] = (i->field[2 * a] + i->field[2 * a + 1]) / 2;
}

int iso_recording_open(iso_recording **out, const char *path)
{
	if (!out || !path) return iso_fail_null(__func__);
	const struct iso_kind *k;
	iso_recording *r;
	int st = find(&k, ISO_EINPUT, path);

	if (st) return st;
	if (!(r = size_alloc(1, sizeof *r)) || !(r->path = strdup(path))) {
		free(r);
		return iso_fail_memory(path, sizeof *r);
	}
	r->format = k->recording;
	r->info.t.gamma = 1;
	iso_commit_repair(path);
	if (!(st = r->format->open(r))) {
		r->info.size = sizeof r->info;
		set_centre(&r->info);
		st = iso_transducers_finish(&r->info.t, path);
	}
	/* what the models need to be sane, apart from the speed, which may be missing */
	if (!st && iso_transducers_check_file(&r->info.t)) st = iso_refuse(path, "%s", iso_message());
	if (st)
		iso_recording_free(r);
	else
		*out = r;
	return st;
}

/* ---- which samples ---- */

bool iso_recording_lead(int64_t *lead, const struct iso_transducers *t)
{
	double n = t->first_us / t->dt_us;

	*lead = n > -1e-6 && n < 1e9 ? (int64_t)round(n) : 0;
	return fabs(n - (double)*lead) <= 1e-3;
}

/* Traces may have as many samples as t, or begin at the pulse where t begins later. */
static bool take_samples(iso_recording *r, const struct iso_transducers *t, int64_t stored)
{
	int64_t lead = 0;

	if (stored != t->samples && (!iso_recording_lead(&lead, t) || stored - lead != t->samples))
		return false;
	r->lead = lead;
	if (lead > 0)
		iso_recording_warn(r,
		                   "traces begin at the laser pulse; %" PRId64
		                   " samples before first_sample_us are left out",
		                   lead);
	return true;
}

int iso_recording_fit(iso_recording *r, const struct iso_transducers *t)
{
	if (!r || !t) return iso_fail_null(__func__);
	struct iso_transducers *own = &r->info.t;
	bool same = fabs(own->dt_us / t->dt_us - 1) < 1e-6;

	if (own->n != t->n || (!same && own->samples != t->samples) ||
	    !take_samples(r, t, iso_recording_stored(r)))
		return iso_refuse(r->path,
		                  "%" PRId64 " traces of %" PRId64
		                  " samples every %g us, where the scanner has %" PRId64 " of %" PRId64
		                  " every %g us",
		                  own->n, own->samples, own->dt_us, t->n, t->samples, t->dt_us);
	if (!same)
		iso_recording_warn(r, "sampled at %g MHz, but the scanner's %g MHz hold", 1 / own->dt_us,
		                   1 / t->dt_us);
	own->samples = t->samples;
	own->first_us = t->first_us;
	own->dt_us = t->dt_us;
	return ISO_OK;
}

/* (frames, wavelengths) come first, or are missing. */
static int fit_array(iso_recording *r, const struct iso_array *y)
{
	const struct iso_transducers *t = &r->info.t;
	struct iso_array last = *y;

	if (y->n_dim != 2 && y->n_dim != 4)
		return iso_refuse("traces",
		                  "an array of %d axes, must be (transducers, samples) or (frames, "
		                  "wavelengths, transducers, samples)",
		                  y->n_dim);
	r->info.frames = r->info.wavelengths = 1;
	if (y->n_dim == 4) {
		r->info.frames = y->dim[0];
		r->info.wavelengths = y->dim[1];
		last.n_dim = 2;
		memcpy(last.dim, y->dim + 2, 2 * sizeof *last.dim);
	}
	if (last.dim[0] == t->n && take_samples(r, t, last.dim[1])) return ISO_OK;
	return iso_traces_check(&last, t);
}

int iso_recording_of(iso_recording **out, const struct iso_transducers *t, const struct iso_array *y)
{
	if (!out || !t || !y) return iso_fail_null(__func__);
	iso_recording *r;
	int st = iso_transducers_check_file(t);

	if (st) return st;
	if (!(r = size_alloc(1, sizeof *r))) return iso_fail_memory("recording", sizeof *r);
	r->array = y;
	r->info.size = sizeof r->info;
	r->info.t = *t;
	if ((st = fit_array(r, y)))
		iso_recording_free(r);
	else
		*out = r;
	return st;
}

/* ---- traces ---- */

/* What is read, out of stored traces of n transducers. */
static void cut(iso_real *y, const iso_real *stored, const iso_recording *r, int64_t n)
{
	int64_t samples = r->info.t.samples;

	for (int64_t q = 0; q < n; q++)
		memcpy(y + q * samples, stored + q * (r->lead + samples) + r->lead,
		       (size_t)samples * sizeof *y);
}

static int read_file(iso_real *y, const iso_recording *r, const struct iso_traces_part *p)
{
	int64_t bytes = iso_recording_stored(r) * (int64_t)sizeof *y;
	iso_real *all;
	int st;

	if (r->lead == 0) return r->format->read(y, r, p);
	if (!(all = size_alloc(p->n, bytes))) return iso_fail_memory(r->path, p->n * bytes);
	if (!(st = r->format->read(all, r, p))) cut(y, all, r, p->n);
	free(all);
	return st;
}

int iso_recording_read_some(iso_real *y, const iso_recording *r, int64_t wavelength, int64_t frame,
                            int64_t first, int64_t n)
{
	if (!y || !r) return iso_fail_null(__func__);
	const struct iso_traces_part p = { wavelength, frame, first, n };
	const struct iso_recording_info *i = &r->info;
	int st;

	if (wavelength < 0 || wavelength >= i->wavelengths || frame < 0 || frame >= i->frames)
		return iso_fail(ISO_EARG,
		                "recording: wavelength %" PRId64 " and frame %" PRId64 " of %" PRId64
		                " and %" PRId64,
		                wavelength, frame, i->wavelengths, i->frames);
	if (first < 0 || n < 1 || first > i->t.n - n)
		return iso_fail(ISO_EARG,
		                "recording: %" PRId64 " transducers from number %" PRId64 " on of %" PRId64,
		                n, first, i->t.n);
	int64_t trace = (frame * i->wavelengths + wavelength) * i->t.n + first;

	if (r->array)
		cut(y, r->array->v + trace * iso_recording_stored(r), r, n);
	else if ((st = read_file(y, r, &p)))
		return st;
	for (int64_t k = 0; k < n * i->t.samples; k++)
		if (!isfinite(y[k]))
			return iso_refuse(r->path ? r->path : "traces",
			                  "sample %" PRId64 " of transducer %" PRId64
			                  " is %g, must be finite",
			                  r->lead + k % i->t.samples, first + k / i->t.samples, (double)y[k]);
	return ISO_OK;
}

int iso_recording_read(iso_real *y, const iso_recording *r, int64_t wavelength, int64_t frame)
{
	if (!y || !r) return iso_fail_null(__func__);
	return iso_recording_read_some(y, r, wavelength, frame, 0, r->info.t.n);
}

int iso_recording_range(double range[2], const iso_recording *r)
{
	if (!range || !r) return iso_fail_null(__func__);

	const struct iso_recording_info *i = &r->info;
	int64_t most = i->t.samples < PIECE ? PIECE / i->t.samples : 1, images = i->wavelengths * i->frames;
	iso_real *y, of_all[2] = { INFINITY, -INFINITY };
	int st = ISO_OK;

	most = most < i->t.n ? most : i->t.n;
	if (!(y = size_alloc(most * i->t.samples, sizeof *y)))
		return iso_fail_memory("traces", most * i->t.samples * (int64_t)sizeof *y);
	for (int64_t k = 0; k < images && !st; k++)
		for (int64_t q = 0; q < i->t.n && !st; q += most) {
			int64_t n = i->t.n - q < most ? i->t.n - q : most;

			st = iso_recording_read_some(y, r, k % i->wavelengths, k / i->wavelengths, q, n);
			if (!st) iso_range(of_all, n * i->t.samples, y, true);
		}
	free(y);
	range[0] = of_all[0];
	range[1] = of_all[1];
	return st;
}

/* ---- writing ---- */

int iso_recording_write_check(const char *path, bool force)
{
	if (!path) return iso_fail_null(__func__);
	const struct iso_kind *k;
	int st = find(&k, ISO_EARG, path);

	if (st) return st;
	if (!k->recording->writable)
		return iso_fail(ISO_EARG, "%s: %s files are only read; write .hdf5", path, k->suffix);
	return iso_target_check(path, force);
}

int iso_recording_write(const char *path, const iso_recording *r, const char *sidecar)
{
	if (!path || !r) return iso_fail_null(__func__);
	const struct iso_recording_info *i = &r->info;
	struct iso_out o = { 0 };
	int st = iso_recording_write_check(path, true);

	if (st) return st;
	st = iso_out_open(&o, path,
	                  i->t.n * i->t.samples * i->wavelengths * i->frames * (int64_t)sizeof(float),
	                  ISO_OUT_NAMED);
	if (!st && !(st = iso_kind_as(path, ISO_RECORDING_FILE)->recording->write(o.temp, path, r)))
		st = iso_target_finish(&o, sidecar);
	iso_out_free(&o);
	return st;
}

/* ---- water ---- */

double iso_water_speed(double celsius)
{
	static const double a[] = {
		1.402385e3, 5.038813, -5.799136e-2, 3.287156e-4, -1.398845e-6, 2.787860e-9
	};
	double c = 0;

	for (int i = 5; i >= 0; i--) c = c * celsius + a[i];
	return c / 1e3;
}
