/* SPDX-License-Identifier: BSD-3-Clause */
/* IPASC time series, as PACFISH and others write them: traces, and where each was heard. */
#include "file/hdf5/h5.h"
#include "file/in.h"
#include "core/size.h"
#include "io/recording.h"
#include "scanner/scanner.h"

#include <unistd.h>

enum { ID_MOST = 100, WAVES_MOST = 100000 }; /* bytes in the name of a detector; wavelengths */

/* ---- sizes ---- */

static int find_traces(struct iso_h5_set *s, const struct iso_h5 *h)
{
	int st = iso_h5_find(s, h, IPASC_DATA);

	if (st) return st;
	if (s->id < 0) return iso_refuse(h->path, "has no " IPASC_DATA ": not an IPASC file");
	if (s->text) return iso_refuse(h->path, IPASC_DATA " is a text, traces were expected");
	return iso_h5_expect(h, s, IPASC_DATA);
}

static int64_t frame_bytes(const iso_recording *r)
{
	return r->info.t.n * iso_recording_stored(r) * (int64_t)sizeof(iso_real);
}

/* A chunk may hold what is read of it twice over: values may be stored as doubles. */
static int check_chunks(const iso_recording *r, const struct iso_h5 *h, const struct iso_h5_set *s)
{
	return iso_h5_chunk(h, s, IPASC_DATA, 2 * frame_bytes(r));
}

/* Axes of length 1 may be missing. A third one is that of wavelengths, unless the file has one
   wavelength and the axis is longer: then that of wavelengths was squeezed out. */
static int read_sizes(iso_recording *r, const struct iso_h5 *h, int64_t named)
{
	struct iso_recording_info *i = &r->info;
	struct iso_h5_set s;
	int st = find_traces(&s, h);
	bool squeezed = !st && s.rank == 3 && named == 1 && s.dim[2] > 1;

	if (st) goto done;
	if (s.rank < 2) {
		st = iso_refuse(r->path,
		                "traces of %d axes, expected 2 to 4: detectors, samples, wavelengths, "
		                "measurements",
		                s.rank);
		goto done;
	}
	r->axis[0] = s.rank > 2 && !squeezed ? 2 : -1;
	r->axis[1] = squeezed ? 2 : s.rank > 3 ? 3 : -1;
	i->t.n = s.dim[0];
	i->t.samples = s.dim[1];
	i->wavelengths = r->axis[0] > 0 ? s.dim[r->axis[0]] : 1;
	i->frames = r->axis[1] > 0 ? s.dim[r->axis[1]] : 1;
	if (i->t.n > TRANSDUCERS_MAX || i->t.samples < 2 || i->t.samples > INT32_MAX)
		st = iso_refuse(r->path,
		                "%" PRId64 " detectors of %" PRId64
		                " samples; must be 1 to %d, of at least 2",
		                i->t.n, i->t.samples, TRANSDUCERS_MAX);
	else
		st = check_chunks(r, h, &s);
done:
	iso_h5_release(&s);
	return st;
}

/* ---- what was measured how ---- */

static int read_wavelengths(double **nm, int64_t *n, const struct iso_h5 *h)
{
	double *v = size_alloc(WAVES_MOST, sizeof *v);
	int st = v ? iso_h5_reals(v, n, WAVES_MOST, h, IPASC_META "acquisition_wavelengths")
	           : iso_fail_memory(h->path, WAVES_MOST * (int64_t)sizeof *v);

	for (int64_t i = 0; !st && i < *n; i++) {
		if (!(v[i] > 0) || !isfinite(v[i]))
			st = iso_refuse(h->path, "wavelength %" PRId64 " is %g m, must be above 0", i, v[i]);
		if (v[i] < 1e-3)
			v[i] *= 1e9; /* the standard says m; some writers give nm, a billion times as much */
	}
	if (st)
		free(v);
	else
		*nm = v;
	return st;
}

static int read_sampling(iso_recording *r, const struct iso_h5 *h)
{
	bool there;
	double hz;
	int st = iso_h5_some(&hz, &there, 1, h, IPASC_META "ad_sampling_rate");

	if (st) return st;
	if (!there) return iso_refuse(r->path, "has no ad_sampling_rate");
	if (!(hz >= 1e3 && hz <= 1e12))
		return iso_refuse(r->path, "ad_sampling_rate is %g Hz, must be 1e3 to 1e12", hz);
	r->info.t.dt_us = 1e6 / hz;
	return ISO_OK;
}

/* A map of speeds is no speed, nor is 0, or one in other units than m/s: the user gives it then. */
static int read_speed(iso_recording *r, const struct iso_h5 *h)
{
	struct iso_h5_set s;
	bool there;
	double v;
	int st = iso_h5_find(&s, h, IPASC_META "speed_of_sound");
	int64_t n = s.id < 0 ? 0 : s.n;

	iso_h5_release(&s);
	if (n > 1) iso_recording_warn(r, "a map of %" PRId64 " speeds of sound, which is not used", n);
	if (st || n != 1) return st;
	if ((st = iso_h5_some(&v, &there, 1, h, IPASC_META "speed_of_sound"))) return st;
	if (v >= 10 && v <= 1e5)
		r->info.t.speed = v / 1e3;
	else
		iso_recording_warn(r, "the speed of sound is %g m/s, not from 10 to 100000, and is not used",
		                   v);
	return ISO_OK;
}

/* Gains are in the traces already. */
static int warn_of_gain(iso_recording *r, const struct iso_h5 *h)
{
	struct iso_h5_set s;
	int st = iso_h5_find(&s, h, IPASC_META "time_gain_compensation");

	if (s.id >= 0)
		iso_recording_warn(r, "a gain that depends on time is in the traces, taken as they are");
	iso_h5_release(&s);
	return st;
}

static int read_field(iso_recording *r, const struct iso_h5 *h)
{
	struct iso_recording_info *i = &r->info;
	int st = iso_h5_some(i->field, &i->has_field, 6, h, IPASC_FIELD);

	for (int a = 0; a < 6; a++) i->field[a] *= 1e3;
	for (double *f = i->field; f < i->field + 6 && !st && i->has_field; f += 2)
		if (!(f[0] <= f[1] && fabs(f[0]) < 1e6 && fabs(f[1]) < 1e6)) {
			iso_recording_warn(r, "the field of view goes from %g to %g mm, and is not used",
			                   f[0], f[1]);
			i->has_field = false;
		}
	return st;
}

/* ---- detectors ---- */

struct id {
	char name[ID_MOST];
	size_t digits;  /* where those at its end begin */
	int64_t number; /* which they are; -1: none */
};

struct ids {
	const char *path;
	int64_t n, room;
	struct id *v;
};

static int add_id(void *arg, const char *name)
{
	struct ids *l = arg;

	if (l->n == l->room)
		return iso_refuse(l->path, "more than %" PRId64 " detectors, the traces are of %" PRId64,
		                  l->room, l->room);
	if (strlen(name) >= ID_MOST)
		return iso_refuse(l->path, "a detector with a name of %zu bytes, at most %d", strlen(name),
		                  ID_MOST - 1);
	struct id *id = &l->v[l->n++];
	size_t n = strlen(name), first = n;

	while (first > 0 && name[first - 1] >= '0' && name[first - 1] <= '9') first--;
	*id = (struct id){ .digits = first, .number = first == n || n - first > 18 ? -1 : 0 };
	snprintf(id->name, ID_MOST, "%s", name);
	for (; id->number >= 0 && first < n; first++) id->number = 10 * id->number + name[first] - '0';
	return ISO_OK;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct id *)a)->name, ((const struct id *)b)->name);
}

static int by_number(const void *a, const void *b)
{
	const struct id *p = a, *q = b;
	int before = strncmp(p->name, q->name, p->digits < q->digits ? p->digits : q->digits);

	if (before || p->digits != q->digits) return before ? before : p->digits < q->digits ? -1 : 1;
	return p->number != q->number ? (p->number > q->number) - (p->number < q->number) : by_name(a, b);
}

/* Row q of the traces belongs to the q-th name. Where all end in a number, names that are alike before it
   go by it, so that element_10 comes after element_9; else they are in the order in which they were
   made, or, where that is not known, of the names. */
static int list_ids(struct ids *l, iso_recording *r, const struct iso_h5 *h, int64_t rows)
{
	bool numbers = true, made;
	int st;

	*l = (struct ids){ .path = h->path, .room = rows, .v = size_alloc(rows, sizeof *l->v) };
	if (!l->v) return iso_fail_memory(h->path, rows * (int64_t)sizeof *l->v);
	if ((st = iso_h5_members(h, &made, IPASC_DETECTORS, add_id, l))) return st;
	if (l->n != rows)
		return iso_refuse(h->path, "%" PRId64 " detectors, the traces are of %" PRId64, l->n, rows);
	for (int64_t q = 0; q < rows; q++) numbers = numbers && l->v[q].number >= 0;
	if (numbers || !made) qsort(l->v, (size_t)rows, sizeof *l->v, numbers ? by_number : by_name);
	if (!numbers && !made)
		iso_recording_warn(r,
		                   "not all detectors have a number; traces are taken to be in the order "
		                   "of their names, %s first",
		                   l->v[0].name);
	return ISO_OK;
}

/* How many detectors say what. */
struct tally {
	int64_t turned, cuboid, other;
	int64_t bare; /* cuboids without extents */
};

static const char *field_name(char name[200], const struct id *id, const char *field)
{
	snprintf(name, 200, IPASC_DETECTORS "/%s/%s", id->name, field);
	return name;
}

static int read_place(struct iso_transducers *t, int64_t q, const struct iso_h5 *h, const struct id *id,
                      struct tally *sum)
{
	double *at = t->pos + 3 * q, *normal = t->normal + 3 * q;
	char name[200];
	bool there;
	int st;

	if ((st = iso_h5_some(at, &there, 3, h, field_name(name, id, "detector_position")))) return st;
	for (int a = 0; a < 3; a++) at[a] *= 1e3;
	if (!there || !isfinite(at[0] + at[1] + at[2]))
		return iso_refuse(h->path, "%s is %s", name, there ? "not finite" : "missing");
	if ((st = iso_h5_some(normal, &there, 3, h, field_name(name, id, "detector_orientation")))) return st;
	sum->turned += there && normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2] > 0;
	return ISO_OK;
}

/* A sphere or a disc without radius is how this program writes a point. */
static int read_round(const struct iso_h5 *h, const char *name, const char *type, struct tally *sum)
{
	bool round = strcmp(type, "SPHERE") == 0 || strcmp(type, "CIRCULAR") == 0, there;
	double radius = 1;
	int st = round ? iso_h5_some(&radius, &there, 1, h, name) : ISO_OK;

	sum->other += radius != 0;
	return st;
}

/* CUBOID: extents along ex, ey and the normal. */
static int read_face(struct iso_transducers *t, int64_t q, const struct iso_h5 *h, const struct id *id,
                     struct tally *sum)
{
	char name[200], type[16];
	double size[3] = { 0 };
	bool there;
	int st;

	if ((st = iso_h5_text(type, sizeof type, h, field_name(name, id, "detector_geometry_type"))) ||
	    !type[0])
		return st;
	field_name(name, id, "detector_geometry");
	if (strcmp(type, "CUBOID") != 0) return read_round(h, name, type, sum);
	if ((st = iso_h5_some(size, &there, 3, h, name))) return st;
	if (there && !(size[0] >= 0 && size[1] >= 0 && isfinite(size[0] + size[1])))
		return iso_refuse(h->path, "%s is %g x %g m, must not be negative", name, size[0], size[1]);
	t->aperture[2 * q] = 1e3 * size[0];
	t->aperture[2 * q + 1] = 1e3 * size[1];
	sum->cuboid += there && size[0] > 0 && size[1] > 0;
	sum->bare += !there || !(size[0] > 0 && size[1] > 0);
	return ISO_OK;
}

static void settle(iso_recording *r, const struct tally *sum)
{
	struct iso_transducers *t = &r->info.t;
	const struct {
		int64_t n;
		const char *what;
	} odd[] = {
		{ sum->other, "are no CUBOID, and are taken as points" },
		{ sum->bare, "are CUBOID without extents, and are taken as points" },
		{ sum->turned ? t->n - sum->turned : 0,
		  "have no orientation; all are taken to face the centre" },
	};

	for (int k = 0; k < 3; k++)
		if (odd[k].n)
			iso_recording_warn(r, "%" PRId64 " of %" PRId64 " detectors %s", odd[k].n, t->n,
			                   odd[k].what);
	if (!sum->cuboid) {
		free(t->aperture);
		t->aperture = NULL;
	}
	if (sum->turned < t->n) {
		free(t->normal);
		t->normal = NULL;
	}
}

static int read_detectors(iso_recording *r, const struct iso_h5 *h)
{
	struct iso_transducers *t = &r->info.t;
	struct tally sum = { 0 };
	struct ids l = { 0 };
	int st = list_ids(&l, r, h, t->n);

	t->pos = size_alloc(t->n, 3 * sizeof *t->pos);
	t->normal = size_alloc(t->n, 3 * sizeof *t->normal);
	t->aperture = size_alloc(t->n, 2 * sizeof *t->aperture);
	if (!st && (!t->pos || !t->normal || !t->aperture))
		st = iso_fail_memory(h->path, t->n * 8 * (int64_t)sizeof *t->pos);
	for (int64_t q = 0; q < t->n && !st; q++)
		if (!(st = read_place(t, q, h, &l.v[q], &sum))) st = read_face(t, q, h, &l.v[q], &sum);
	if (!st) settle(r, &sum);
	free(l.v);
	return st;
}

/* ---- the file ---- */

static int read_all(iso_recording *r, const struct iso_h5 *h)
{
	struct iso_recording_info *i = &r->info;
	int64_t named = 0;
	int st;

	if ((st = read_wavelengths(&i->wavelength_nm, &named, h)) || (st = read_sizes(r, h, named)) ||
	    (st = read_sampling(r, h)) || (st = read_speed(r, h)) || (st = warn_of_gain(r, h)) ||
	    (st = read_field(r, h)))
		return st;
	if (named != i->wavelengths) {
		if (named > 0)
			iso_recording_warn(r,
			                   "%" PRId64 " wavelengths are named, the traces are of %" PRId64
			                   "; the names are not used",
			                   named, i->wavelengths);
		free(i->wavelength_nm);
		i->wavelength_nm = NULL;
	}
	return read_detectors(r, h);
}

int iso_ipasc_open_here(void *recording)
{
	iso_recording *r = recording;
	struct iso_h5 h;
	int st = iso_h5_open(&h, r->path);

	if (!st) st = read_all(r, &h);
	iso_h5_close(&h);
	return st;
}

/* The arrays that a recording may have, and their sizes. */
enum { N_ARRAYS = 4 };

struct arrays {
	double **v[N_ARRAYS];
	int64_t bytes[N_ARRAYS];
};

static struct arrays arrays_of(struct iso_recording_info *i)
{
	const int64_t one = sizeof(double);

	return (struct arrays){ { &i->t.pos, &i->t.normal, &i->t.aperture, &i->wavelength_nm },
		                { 3 * one * i->t.n, 3 * one * i->t.n, 2 * one * i->t.n,
		                  one * i->wavelengths } };
}

/* Pointers from over there say which arrays follow, and nothing more. */
static int pass_recording(void *arg, struct iso_pipe p)
{
	iso_recording *r = arg, sent = *r;
	bool follows[N_ARRAYS];

	if (!iso_apart_pass(p, &sent, sizeof sent)) return iso_refuse(r->path, "a damaged file");
	r->info = sent.info;
	memcpy(r->axis, sent.axis, sizeof r->axis);
	struct arrays a = arrays_of(&r->info);

	for (int k = 0; k < N_ARRAYS; k++) {
		follows[k] = *a.v[k];
		if (!p.sends) *a.v[k] = NULL;
	}
	for (int k = 0; k < N_ARRAYS; k++) {
		if (!follows[k]) continue;
		if (!p.sends && !(*a.v[k] = size_alloc(a.bytes[k], 1)))
			return iso_fail_memory(r->path, a.bytes[k]);
		if (!iso_apart_pass(p, *a.v[k], a.bytes[k])) return iso_refuse(r->path, "a damaged file");
	}
	return ISO_OK;
}

int iso_ipasc_open(iso_recording *r)
{
	struct iso_apart a = { .work = iso_ipasc_open_here, .pass = pass_recording, .arg = r };
	int64_t bytes;
	int fd, st = iso_regular_open(&fd, &bytes, r->path);

	if (st) return st;
	close(fd);
	a.memory = bytes; /* what is kept of a detector is less than its group in the file */
	return iso_apart(r->path, &a, bytes);
}

/* One wavelength and frame, all samples. */
static int read_traces(iso_real *y, const iso_recording *r, const struct iso_h5 *h,
                       const struct iso_traces_part *p)
{
	const int64_t chosen[2] = { p->wavelength, p->frame };
	const struct iso_transducers *t = &r->info.t;
	hid_t real = sizeof *y == sizeof(double) ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT;
	hsize_t first[ISO_H5_RANK] = { 0 }, n[ISO_H5_RANK] = { 1, 1, 1, 1 };
	int64_t samples = iso_recording_stored(r);
	hsize_t all = (hsize_t)(p->n * samples);
	hid_t space, memory;
	struct iso_h5_set s;
	int st = find_traces(&s, h);

	if (!st && (s.dim[0] != t->n || s.dim[1] != samples))
		st = iso_refuse(r->path, "has changed since it was opened");
	if (st || (st = check_chunks(r, h, &s))) goto done;
	first[0] = (hsize_t)p->first;
	n[0] = (hsize_t)p->n;
	n[1] = (hsize_t)samples;
	for (int a = 0; a < 2; a++)
		if (r->axis[a] > 0) first[r->axis[a]] = (hsize_t)chosen[a];
	space = H5Dget_space(s.id);
	memory = H5Screate_simple(1, &all, NULL);
	if (space < 0 || memory < 0 || H5Sselect_hyperslab(space, H5S_SELECT_SET, first, NULL, n, NULL) < 0 ||
	    H5Dread(s.id, real, memory, space, H5P_DEFAULT, y) < 0)
		st = iso_h5_fail(h, ISO_EINPUT, "the traces can't be read: a damaged file");
	if (space >= 0) H5Sclose(space);
	if (memory >= 0) H5Sclose(memory);
done:
	iso_h5_release(&s);
	return st;
}

int iso_ipasc_read_here(iso_real *y, const iso_recording *r, const struct iso_traces_part *p)
{
	struct iso_h5 h;
	int st = iso_h5_open(&h, r->path);

	if (!st) st = read_traces(y, r, &h, p);
	iso_h5_close(&h);
	return st;
}

/* Traces on their way here: y lies in either process. */
struct traces {
	const iso_recording *r;
	const struct iso_traces_part *p;
	iso_real *y;
	int64_t bytes;
};

static int read_there(void *arg)
{
	struct traces *t = arg;

	return iso_ipasc_read_here(t->y, t->r, t->p);
}

static int pass_traces(void *arg, struct iso_pipe p)
{
	const struct traces *t = arg;

	return iso_apart_pass(p, t->y, t->bytes) ? ISO_OK : iso_refuse(t->r->path, "a damaged file");
}

int iso_ipasc_read(iso_real *y, const iso_recording *r, const struct iso_traces_part *p)
{
	struct traces t = { r, p, y, p->n * iso_recording_stored(r) * (int64_t)sizeof *y };
	int64_t bytes = frame_bytes(r);
	/* a chunk of twice the frame, as it is unpacked, and as it was before */
	struct iso_apart a = { read_there, pass_traces, &t, 6 * bytes, r->ctx, NULL };

	return iso_apart(r->path, &a, bytes * r->info.wavelengths * r->info.frames);
}
