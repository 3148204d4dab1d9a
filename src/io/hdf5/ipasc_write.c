/* SPDX-License-Identifier: BSD-3-Clause */
/* IPASC time series: four axes, every field that the standard demands, detectors by ten digits. */
#include "file/hdf5/h5.h"
#include "core/size.h"
#include "io/recording.h"

#include <stdio.h>
#include <xxhash.h>

struct writer {
	const struct iso_h5 *h;
	const iso_recording *r;
	int64_t lead, samples; /* zeros, and samples with them */
	float *plane;          /* (n, samples) */
	iso_real *y;
	XXH3_state_t *hash; /* of all traces: the file's identifier */
};

/* ---- traces ---- */

static int read_plane(struct writer *w, int64_t wavelength, int64_t frame)
{
	const struct iso_transducers *t = &w->r->info.t;
	int st = iso_recording_read(w->y, w->r, wavelength, frame);

	for (int64_t q = 0; q < t->n && !st; q++)
		for (int64_t k = 0; k < t->samples; k++)
			w->plane[q * w->samples + w->lead + k] = (float)w->y[q * t->samples + k];
	if (!st) XXH3_128bits_update(w->hash, w->plane, (size_t)(t->n * w->samples) * sizeof *w->plane);
	return st;
}

static int write_plane(struct writer *w, hid_t set, hid_t space, int64_t wavelength, int64_t frame)
{
	const struct iso_transducers *t = &w->r->info.t;
	hsize_t first[4] = { 0, 0, (hsize_t)wavelength, (hsize_t)frame };
	hsize_t n[4] = { (hsize_t)t->n, (hsize_t)w->samples, 1, 1 }, all = n[0] * n[1];
	hid_t memory = H5Screate_simple(1, &all, NULL);
	bool good = memory >= 0 && H5Sselect_hyperslab(space, H5S_SELECT_SET, first, NULL, n, NULL) >= 0 &&
	            H5Dwrite(set, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, w->plane) >= 0;

	if (memory >= 0) H5Sclose(memory);
	return good ? ISO_OK : iso_h5_fail(w->h, ISO_EIO, "the traces can't be written");
}

/* A chunk holds traces of one wavelength and frame, at most 1 MiB of them: so they are read. */
static hid_t create_traces(const struct writer *w, hid_t space)
{
	const struct iso_transducers *t = &w->r->info.t;
	int64_t rows = (1 << 18) / w->samples;
	hsize_t chunk[4] = { (hsize_t)(rows < 1 ? 1 : rows < t->n ? rows : t->n), 0, 1, 1 };
	hid_t list = iso_h5_set_list(), set = -1;

	chunk[1] = (hsize_t)(w->samples < 1 << 20 ? w->samples : 1 << 20);
	if (list >= 0 && H5Pset_chunk(list, 4, chunk) >= 0)
		set = H5Dcreate2(w->h->file, IPASC_DATA, H5T_IEEE_F32LE, space, H5P_DEFAULT, list,
		                 H5P_DEFAULT);
	if (list >= 0) H5Pclose(list);
	return set;
}

static int write_traces(struct writer *w)
{
	const struct iso_recording_info *i = &w->r->info;
	hsize_t dim[4] = { (hsize_t)i->t.n, (hsize_t)w->samples, (hsize_t)i->wavelengths,
		           (hsize_t)i->frames };
	hid_t space = H5Screate_simple(4, dim, NULL), set = space < 0 ? -1 : create_traces(w, space);
	int st = set >= 0 ? ISO_OK : iso_h5_fail(w->h, ISO_EIO, "the traces can't be written");

	for (int64_t f = 0; f < i->frames && !st; f++)
		for (int64_t k = 0; k < i->wavelengths && !st; k++)
			if (!(st = read_plane(w, k, f))) st = write_plane(w, set, space, k, f);
	if (set >= 0 && H5Dclose(set) < 0 && !st)
		st = iso_h5_fail(w->h, ISO_EIO, "the traces can't be written");
	if (space >= 0) H5Sclose(space);
	return st;
}

/* ---- what they are ---- */

/* Version 8, "custom", with the hash in its free bits: the same traces have the same one. */
static void make_uuid(char text[40], XXH3_state_t *hash)
{
	XXH128_hash_t d = XXH3_128bits_digest(hash);

	snprintf(text, 40, "%08x-%04x-8%03x-%04x-%012llx", (unsigned)(d.high64 >> 32),
	         (unsigned)(d.high64 >> 16 & 0xffff), (unsigned)(d.high64 & 0xfff),
	         (unsigned)(0x8000 | (d.low64 >> 48 & 0x3fff)),
	         (unsigned long long)(d.low64 & 0xffffffffffff));
}

static int write_wavelengths(const struct writer *w)
{
	const struct iso_recording_info *i = &w->r->info;
	double *m;
	int st;

	if (!i->wavelength_nm) return ISO_OK;
	if (!(m = size_alloc(i->wavelengths, sizeof *m)))
		return iso_fail_memory(w->h->path, i->wavelengths * (int64_t)sizeof *m);
	for (int64_t k = 0; k < i->wavelengths; k++) m[k] = 1e-9 * i->wavelength_nm[k];
	st = iso_h5_put_reals(w->h, IPASC_META "acquisition_wavelengths", i->wavelengths, m);
	free(m);
	return st;
}

static int write_meta(const struct writer *w)
{
	const struct iso_recording_info *i = &w->r->info;
	const struct iso_h5 *h = w->h;
	int64_t sizes[4] = { i->t.n, w->samples, i->wavelengths, i->frames };
	double rate = 1e6 / i->t.dt_us, speed = 1e3 * i->t.speed;
	char uuid[40];
	int st;

	make_uuid(uuid, w->hash);
	if ((st = iso_h5_group(h, "/meta_data")) || (st = iso_h5_put_text(h, IPASC_META "uuid", uuid)) ||
	    (st = iso_h5_put_text(h, IPASC_META "encoding", "UTF-8")) ||
	    (st = iso_h5_put_text(h, IPASC_META "compression", "raw")) ||
	    (st = iso_h5_put_text(h, IPASC_META "data_type", "float")) ||
	    (st = iso_h5_put_text(h, IPASC_META "dimensionality", "time")) ||
	    (st = iso_h5_put_integers(h, IPASC_META "sizes", 4, sizes)) ||
	    (st = iso_h5_put_reals(h, IPASC_META "ad_sampling_rate", -1, &rate)) ||
	    (st = write_wavelengths(w)))
		return st;
	return speed > 0 ? iso_h5_put_reals(h, IPASC_META "speed_of_sound", -1, &speed) : ISO_OK;
}

static int write_general(const struct writer *w)
{
	const struct iso_h5 *h = w->h;
	const int64_t none = 0;
	double field[6];
	int st;

	iso_transducers_field(field, &w->r->info.t);
	for (int a = 0; a < 6; a++) field[a] = 1e-3 * (w->r->info.has_field ? w->r->info.field[a] : field[a]);
	if ((st = iso_h5_group(h, "/meta_data_device")) || (st = iso_h5_group(h, IPASC_DEVICE "general")) ||
	    (st = iso_h5_group(h, IPASC_DEVICE "illuminators")) || (st = iso_h5_group(h, IPASC_DETECTORS)) ||
	    (st = iso_h5_put_text(h, IPASC_DEVICE "general/unique_identifier", "isotome")) ||
	    (st = iso_h5_put_reals(h, IPASC_FIELD, 6, field)) ||
	    (st = iso_h5_put_integers(h, IPASC_DEVICE "general/num_detectors", -1, &w->r->info.t.n)))
		return st;
	return iso_h5_put_integers(h, IPASC_DEVICE "general/num_illuminators", -1, &none);
}

static const char *field_name(char name[120], int64_t q, const char *field)
{
	snprintf(name, 120, IPASC_DETECTORS "/%010" PRId64 "%s", q, field);
	return name;
}

/* A point is a sphere of no radius. */
static int write_detector(const struct iso_h5 *h, const struct iso_transducers *t, int64_t q)
{
	const double *a = t->aperture ? t->aperture + 2 * q : NULL, *p = t->pos + 3 * q;
	bool face = a && a[0] > 0 && a[1] > 0;
	double pos[3] = { 1e-3 * p[0], 1e-3 * p[1], 1e-3 * p[2] };
	double size[3] = { face ? 1e-3 * a[0] : 0, face ? 1e-3 * a[1] : 0, 0 };
	char s[120];
	int st;

	if ((st = iso_h5_group(h, field_name(s, q, ""))) ||
	    (st = iso_h5_put_reals(h, field_name(s, q, "/detector_position"), 3, pos)) ||
	    (st = iso_h5_put_reals(h, field_name(s, q, "/detector_orientation"), 3, t->normal + 3 * q)) ||
	    (st = iso_h5_put_text(h, field_name(s, q, "/detector_geometry_type"),
	                          face ? "CUBOID" : "SPHERE")))
		return st;
	return iso_h5_put_reals(h, field_name(s, q, "/detector_geometry"), face ? 3 : -1, size);
}

/* ---- the file ---- */

static int make_room(struct writer *w, const char *path)
{
	const struct iso_transducers *t = &w->r->info.t;

	/* traces begin at the laser pulse there: a later first sample has so many zeros before it */
	if (!iso_recording_lead(&w->lead, t))
		return iso_fail(ISO_EARG,
		                "%s: the first sample is %g steps after the laser pulse; IPASC files begin "
		                "at the pulse, so it must be a whole number of at least 0",
		                path, t->first_us / t->dt_us);
	w->samples = w->lead + t->samples;
	w->plane = size_alloc(t->n, w->samples * (int64_t)sizeof *w->plane);
	w->y = size_alloc(t->n, t->samples * (int64_t)sizeof *w->y);
	w->hash = XXH3_createState();
	if (!w->plane || !w->y || !w->hash)
		return iso_fail_memory(path, t->n * w->samples * (int64_t)sizeof *w->plane);
	XXH3_128bits_reset(w->hash);
	return ISO_OK;
}

/* What the other process gets, and its part of the work. */
struct task {
	const char *temp, *path;
	struct writer *w;
};

static int write_there(void *arg)
{
	const struct task *task = arg;
	struct writer *w = task->w;
	struct iso_h5 h;
	int st, closed;

	w->h = &h;
	if (!(st = iso_h5_create(&h, task->temp, task->path)) && !(st = write_traces(w)) &&
	    !(st = write_meta(w)) && !(st = write_general(w)))
		for (int64_t q = 0; q < w->r->info.t.n && !st; q++) st = write_detector(&h, &w->r->info.t, q);
	closed = iso_h5_close(&h);
	return st ? st : closed;
}

int iso_ipasc_write(const char *temp, const char *path, const iso_recording *r)
{
	struct writer w = { .r = r };
	int st = make_room(&w, path);
	int64_t plane = st ? 0 : r->info.t.n * w.samples * (int64_t)sizeof *w.plane;
	struct iso_apart a = { .work = write_there, .arg = &(struct task){ temp, path, &w } };

	if (!st) st = iso_apart(path, &a, plane * r->info.wavelengths * r->info.frames);
	free(w.plane);
	free(w.y);
	XXH3_freeState(w.hash);
	return st;
}
