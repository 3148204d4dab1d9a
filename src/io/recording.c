/* SPDX-License-Identifier: BSD-3-Clause */
/* Recordings: traces with their transducers in one file, and the table of formats. */
#include "recording.h"
#include "core/size.h"
#include "io/format.h"
#include "scanner/transducers.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#ifdef ISO_HDF5
#define IPASC iso_ipasc_open, iso_ipasc_read, iso_ipasc_write
#else
#define IPASC NULL, NULL, NULL
#endif
#ifdef ISO_EXPAT
#define MSOT iso_msot_open, iso_msot_read, NULL
#else
#define MSOT NULL, NULL, NULL
#endif

static const struct iso_recording_format formats[] = {
	{ ".hdf5", "HDF5", IPASC },
	{ ".h5", "HDF5", IPASC },
	{ ".msot", "expat", MSOT },
};

enum { N_FORMATS = sizeof formats / sizeof *formats };

static const struct iso_recording_format *find(const char *path)
{
	for (int i = 0; i < N_FORMATS; i++)
		if (iso_has_suffix(path, formats[i].suffix))
			return &formats[i];
	return NULL;
}

bool iso_is_recording(const char *path)
{
	return find(path);
}

/* ISO_OK if this build has the library of the format. */
static int check_build(int code, const char *path, const struct iso_recording_format *f)
{
	return f->open ? ISO_OK : iso_fail(code, "%s: this build has no %s, which %s files need", path,
					   f->library, f->suffix);
}

void iso_recording_warn(iso_recording *r, const char *fmt, ...)
{
	struct iso_recording_info *i = &r->info;
	va_list args;

	if (i->n_warnings == sizeof i->warning / sizeof *i->warning)
		return;
	va_start(args, fmt);
	vsnprintf(i->warning[i->n_warnings++], sizeof *i->warning, fmt, args);
	va_end(args);
}

void iso_recording_free(iso_recording *r)
{
	if (!r)
		return;
	if (r->path) {
		iso_transducers_free(&r->info.t);
		free(r->info.wavelength_nm);
	}
	free(r->path);
	free(r->at);
	free(r);
}

const struct iso_recording_info *iso_recording_info(const iso_recording *r)
{
	return &r->info;
}

/* ---- opening ---- */

static bool all_near(const double *pos, int64_t n, const double centre[3], double radius)
{
	for (int64_t q = 0; q < n; q++, pos += 3)
		if (fabs(hypot(hypot(pos[0] - centre[0], pos[1] - centre[1]), pos[2] - centre[2]) -
			 radius) > .01 * radius)
			return false;
	return true;
}

/* No file says where the sphere of the transducers has its centre: the origin, unless they do not
   lie round it and there is a field of view, whose middle is taken. */
static void set_centre(struct iso_recording_info *i)
{
	const double *p = i->t.pos, origin[3] = { 0 };

	if (!i->has_field || all_near(p, i->t.n, origin, hypot(hypot(p[0], p[1]), p[2])))
		return;
	for (int a = 0; a < 3; a++)
		i->t.centre[a] = (i->field[2 * a] + i->field[2 * a + 1]) / 2;
}

/* What the models need to be sane, apart from the speed, which may be missing. */
static int check_transducers(iso_recording *r)
{
	int st;

	set_centre(&r->info);
	if ((st = iso_transducers_finish(&r->info.t, r->path)))
		return st;
	return iso_transducers_check_file(&r->info.t) ? iso_fail(ISO_EINPUT, "%s: %s", r->path, iso_message())
						      : ISO_OK;
}

int iso_recording_open(iso_recording **out, const char *path)
{
	const struct iso_recording_format *f = find(path);
	iso_recording *r;
	int st;

	if (!f)
		return iso_fail(ISO_EINPUT, "%s: unknown suffix of a recording; .hdf5, .h5 or .msot", path);
	if ((st = check_build(ISO_EINPUT, path, f)))
		return st;
	if (!(r = size_alloc(1, sizeof *r)) || !(r->path = strdup(path))) {
		free(r);
		return iso_fail_memory(path, sizeof *r);
	}
	r->format = f;
	r->info.t.gamma = 1;
	if ((st = f->open(r)) || (st = check_transducers(r)))
		iso_recording_free(r);
	else
		*out = r;
	return st;
}

int iso_recording_of(iso_recording **out, const struct iso_transducers *t,
		     const struct iso_array *y)
{
	struct iso_array last = *y;
	iso_recording *r;
	int st;

	if (y->n_dim == 4) {
		last.n_dim = 2;
		memcpy(last.dim, y->dim + 2, 2 * sizeof *last.dim);
	}
	if ((st = iso_transducers_check_file(t)) || (st = iso_traces_check(&last, t)))
		return st;
	if (!(r = size_alloc(1, sizeof *r)))
		return iso_fail_memory("recording", sizeof *r);
	r->array = y;
	r->info.t = *t;
	r->info.frames = y->n_dim == 4 ? y->dim[0] : 1;
	r->info.wavelengths = y->n_dim == 4 ? y->dim[1] : 1;
	*out = r;
	return ISO_OK;
}

/* ---- traces ---- */

static int check_finite(const iso_real *y, const iso_recording *r)
{
	const struct iso_transducers *t = &r->info.t;

	for (int64_t i = 0; i < t->n * t->samples; i++)
		if (!isfinite(y[i]))
			return iso_fail(ISO_EINPUT, "%s: sample %" PRId64 " of transducer %" PRId64 " is %g, must "
					"be finite", r->path ? r->path : "traces", i % t->samples, i / t->samples,
					(double)y[i]);
	return ISO_OK;
}

int iso_recording_read(iso_real *y, const iso_recording *r, int64_t wavelength, int64_t frame)
{
	const struct iso_recording_info *i = &r->info;
	int64_t n = i->t.n * i->t.samples;
	int st = ISO_OK;

	if (wavelength < 0 || wavelength >= i->wavelengths || frame < 0 || frame >= i->frames)
		return iso_fail(ISO_EARG, "recording: wavelength %" PRId64 " and frame %" PRId64 " of %" PRId64
				" and %" PRId64, wavelength, frame, i->wavelengths, i->frames);
	if (r->array)
		memcpy(y, r->array->v + (frame * i->wavelengths + wavelength) * n, (size_t)n * sizeof *y);
	else
		st = r->format->read(y, r, wavelength, frame);
	return st ? st : check_finite(y, r);
}

/* ---- writing ---- */

int iso_recording_write_check(const char *path, bool force)
{
	const struct iso_recording_format *f = find(path);
	int st;

	if (!f)
		return iso_fail(ISO_EARG, "%s: unknown suffix of a recording to write; .hdf5 or .h5", path);
	if ((st = check_build(ISO_EARG, path, f)))
		return st;
	if (!f->write)
		return iso_fail(ISO_EARG, "%s: %s files are only read; write .hdf5", path, f->suffix);
	return iso_target_check(path, force);
}

int iso_recording_write(const char *path, const iso_recording *r, const char *sidecar)
{
	const struct iso_recording_info *i = &r->info;
	struct iso_out o = { 0 };
	int st = iso_recording_write_check(path, true);

	if (st)
		return st;
	st = iso_out_open(&o, path, i->t.n * i->t.samples * i->wavelengths * i->frames *
			  (int64_t)sizeof(float), false);
	if (st) goto done;
	if ((st = find(path)->write(o.temp, path, r))) goto done;
	st = iso_target_finish(&o, sidecar);
done:
	iso_out_free(&o);
	return st;
}

/* ---- water ---- */

double iso_water_speed(double celsius)
{
	static const double a[] = { 1.402385e3, 5.038813, -5.799136e-2, 3.287156e-4, -1.398845e-6,
				    2.787860e-9 };
	double c = 0;

	for (int i = 5; i >= 0; i--)
		c = c * celsius + a[i];
	return c / 1e3;
}
