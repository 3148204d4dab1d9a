/* SPDX-License-Identifier: BSD-3-Clause */
/* The datasets of a table of response:

     d         (phi, theta, crystal)     effective area of each crystal of a module, smoothed, mm^2
     counts    (phi, theta, crystal)     the records that it comes from
     d_energy  (energy, phi, theta)      of the mean crystal: 300, 310 .. 510, 511 keV, mm^2
     u, v      (phi, theta, place, 160)  counts of offsets, by place in the block, in bins of 0.25 mm over +-20 mm
     beyond    (phi, theta, place)       records whose offset is larger

   Attributes of the file: version, scanner (its hash), window_kev, photons, records, depth_mm, chi2, and crystals: of a block and
   blocks, along t and z, and layers. Directions: phi every 2.5 degrees from 0, theta every 5. */
#include "core/room.h"
#include "file/hdf5/h5.h"
#include "physics/response/response.h"

enum { VERSION = 1, AXES = 4, SETS = 6, SHAPE = 5 };

struct task {
	const char *temp, *path;
	iso_response *r; /* to be freed by who takes it */
	const iso_response *from;
};

struct set {
	const char *name;
	int axes;
	hsize_t dim[AXES];
	bool real; /* float; else uint32 */
	void *v;
};

static void sets_of(struct set s[SETS], const iso_response *r)
{
	const hsize_t phi = RESPONSE_PHIS, theta = RESPONSE_THETAS, bins = RESPONSE_BINS;
	hsize_t crystals = (hsize_t)response_crystals_of(&r->shape),
		places = (hsize_t)response_places_of(&r->shape);

	s[0] = (struct set){ "d", 3, { phi, theta, crystals }, true, r->d };
	s[1] = (struct set){ "counts", 3, { phi, theta, crystals }, false, r->count };
	s[2] = (struct set){ "d_energy", 3, { RESPONSE_ENERGIES, phi, theta }, true, r->d_energy };
	s[3] = (struct set){ "u", 4, { phi, theta, places, bins }, false, r->hist[0] };
	s[4] = (struct set){ "v", 4, { phi, theta, places, bins }, false, r->hist[1] };
	s[5] = (struct set){ "beyond", 3, { phi, theta, places }, false, r->beyond };
}

static int64_t values_of(const struct set *s)
{
	int64_t n = 1;

	for (int i = 0; i < s->axes; i++) n *= (int64_t)s->dim[i];
	return n;
}

/* ---- writing ---- */

/* Packed, a slab of the first axis at a time, where the library can. */
static int write_set(const struct iso_h5 *h, const struct set *s)
{
	hid_t space = H5Screate_simple(s->axes, s->dim, NULL), list = iso_h5_set_list(), set = -1;
	const unsigned fast = 1;
	hsize_t chunk[AXES];
	bool good = false;

	memcpy(chunk, s->dim, sizeof chunk);
	chunk[0] = 1;
	if (list >= 0 && values_of(s) > 1 << 16 && H5Zfilter_avail(H5Z_FILTER_DEFLATE) > 0) {
		H5Pset_chunk(list, s->axes, chunk);
		/* mandatory: else a chunk that zlib has no memory for is stored as it is */
		H5Pset_filter(list, H5Z_FILTER_SHUFFLE, H5Z_FLAG_MANDATORY, 0, NULL);
		H5Pset_filter(list, H5Z_FILTER_DEFLATE, H5Z_FLAG_MANDATORY, 1, &fast);
	}
	if (space >= 0 && list >= 0)
		set = H5Dcreate2(h->file, s->name, s->real ? H5T_IEEE_F32LE : H5T_STD_U32LE, space,
		                 H5P_DEFAULT, list, H5P_DEFAULT);
	if (set >= 0) {
		good = H5Dwrite(set, s->real ? H5T_NATIVE_FLOAT : H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL,
		                H5P_DEFAULT, s->v) >= 0;
		good = H5Dclose(set) >= 0 && good;
	}
	if (space >= 0) H5Sclose(space);
	if (list >= 0) H5Pclose(list);
	return good ? ISO_OK : iso_h5_fail(h, ISO_EIO, "%s can't be written", s->name);
}

static int write_reals(const struct iso_h5 *h, const char *name, int n, const double *v)
{
	hsize_t dim = (hsize_t)n;
	hid_t space = n > 1 ? H5Screate_simple(1, &dim, NULL) : H5Screate(H5S_SCALAR);
	hid_t a = space < 0 ? -1 : H5Acreate2(h->file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT);
	bool good = a >= 0 && H5Awrite(a, H5T_NATIVE_DOUBLE, v) >= 0;

	if (a >= 0) good = H5Aclose(a) >= 0 && good;
	if (space >= 0) H5Sclose(space);
	return good ? ISO_OK : iso_h5_fail(h, ISO_EIO, "%s can't be written", name);
}

/* 16 letters. */
static int write_hash(const struct iso_h5 *h, const char *hash)
{
	hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR), a = -1;
	bool good = false;

	if (type >= 0 && space >= 0 && H5Tset_size(type, 16) >= 0 &&
	    H5Tset_strpad(type, H5T_STR_NULLPAD) >= 0)
		a = H5Acreate2(h->file, "scanner", type, space, H5P_DEFAULT, H5P_DEFAULT);
	if (a >= 0) {
		good = H5Awrite(a, type, hash) >= 0;
		good = H5Aclose(a) >= 0 && good;
	}
	if (type >= 0) H5Tclose(type);
	if (space >= 0) H5Sclose(space);
	return good ? ISO_OK : iso_h5_fail(h, ISO_EIO, "scanner can't be written");
}

static int write_all(const struct iso_h5 *h, const iso_response *r)
{
	const struct iso_response_info *i = &r->info;
	const struct response_shape *s = &r->shape;
	const double shape[SHAPE] = { s->block[0], s->block[1], s->blocks[0], s->blocks[1], s->layers };
	const double version = VERSION, photons = (double)i->photons, records = (double)i->records;
	struct set set[SETS];
	int st = write_reals(h, "version", 1, &version);

	if (!st) st = write_reals(h, "crystals", SHAPE, shape);
	if (!st) st = write_reals(h, "window_kev", 2, i->window_kev);
	if (!st) st = write_reals(h, "photons", 1, &photons);
	if (!st) st = write_reals(h, "records", 1, &records);
	if (!st) st = write_reals(h, "depth_mm", 1, &i->depth_mm);
	if (!st) st = write_reals(h, "chi2", 1, &i->chi2);
	if (!st) st = write_hash(h, i->scanner);
	sets_of(set, r);
	for (int k = 0; k < SETS && !st; k++) st = write_set(h, set + k);
	return st;
}

static int write_there(void *arg)
{
	const struct task *task = arg;
	struct iso_h5 h;
	int st = iso_h5_create_in_memory(&h, task->temp, task->path), closed;

	if (!st) st = write_all(&h, task->from);
	closed = iso_h5_close(&h);
	return st ? st : closed;
}

static int64_t bytes_of(const struct response_shape *s)
{
	int64_t crystals = response_crystals_of(s), places = response_places_of(s);

	return RESPONSE_DIRECTIONS * 4 *
	       (2 * crystals + RESPONSE_ENERGIES + places * (2 * RESPONSE_BINS + 1));
}

int response_write_h5(const char *temp, const char *path, const iso_response *r)
{
	struct iso_apart a = { .work = write_there, .arg = &(struct task){ temp, path, NULL, r } };

	return iso_apart(path, &a, bytes_of(&r->shape));
}

/* ---- reading ---- */

static int read_reals(double *v, const struct iso_h5 *h, const char *name, int n)
{
	hid_t a = H5Aexists(h->file, name) > 0 ? H5Aopen(h->file, name, H5P_DEFAULT) : -1;
	hid_t space = a < 0 ? -1 : H5Aget_space(a), type = a < 0 ? -1 : H5Aget_type(a);
	bool good = space >= 0 && type >= 0 && H5Sget_simple_extent_npoints(space) == n &&
	            H5Tget_class(type) == H5T_FLOAT && H5Aread(a, H5T_NATIVE_DOUBLE, v) >= 0;

	if (type >= 0) H5Tclose(type);
	if (space >= 0) H5Sclose(space);
	if (a >= 0) H5Aclose(a);
	return good ? ISO_OK
	            : iso_h5_fail(h, ISO_EINPUT, "is no table of response: no attribute %s of %d numbers",
	                          name, n);
}

static int read_hash(char hash[17], const struct iso_h5 *h)
{
	hid_t a = H5Aexists(h->file, "scanner") > 0 ? H5Aopen(h->file, "scanner", H5P_DEFAULT) : -1;
	hid_t space = a < 0 ? -1 : H5Aget_space(a), type = a < 0 ? -1 : H5Aget_type(a);
	bool good = space >= 0 && type >= 0 && H5Sget_simple_extent_npoints(space) == 1 &&
	            H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 &&
	            H5Tget_size(type) == 16 && H5Aread(a, type, hash) >= 0;

	hash[16] = '\0';
	if (type >= 0) H5Tclose(type);
	if (space >= 0) H5Sclose(space);
	if (a >= 0) H5Aclose(a);
	return good ? ISO_OK : iso_h5_fail(h, ISO_EINPUT, "is no table of response: no hash of a scanner");
}

static int read_set(const struct iso_h5 *h, const struct set *s)
{
	struct iso_h5_set found;
	int st = iso_h5_find_any(&found, h, s->name);
	bool fits = !st && found.id >= 0 && found.rank == s->axes;

	if (st) return st;
	for (int i = 0; i < s->axes && fits; i++) fits = found.dim[i] == (int64_t)s->dim[i];
	if (!fits)
		st = iso_h5_fail(h, ISO_EINPUT, "has no dataset %s of the size that its crystals need",
		                 s->name);
	if (!st) st = iso_h5_chunk(h, &found, s->name, 0);
	if (!st) st = iso_h5_expect(h, &found, s->name);
	if (!st && H5Dread(found.id, s->real ? H5T_NATIVE_FLOAT : H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL,
	                   H5P_DEFAULT, s->v) < 0)
		st = iso_h5_fail(h, ISO_EINPUT, "%s can't be read", s->name);
	iso_h5_release(&found);
	return st;
}

static int read_shape(struct response_shape *s, const struct iso_h5 *h)
{
	double v[SHAPE], version;
	int st = read_reals(&version, h, "version", 1);

	if (!st && version != VERSION)
		return iso_h5_fail(h, ISO_EINPUT, "is a table of response of version %g, expected %d",
		                   version, VERSION);
	if (!st) st = read_reals(v, h, "crystals", SHAPE);
	for (int i = 0; i < SHAPE && !st; i++)
		if (!(v[i] >= 1 && v[i] <= RESPONSE_MOST))
			st = iso_h5_fail(h, ISO_EINPUT, "crystals are %g, must be 1 to %d", v[i],
			                 RESPONSE_MOST);
	if (st) return st;
	*s = (struct response_shape){ .block = { (int32_t)v[0], (int32_t)v[1] },
		                      .blocks = { (int32_t)v[2], (int32_t)v[3] },
		                      .layers = (int32_t)v[4] };
	return ISO_OK;
}

static int read_info(struct iso_response_info *i, const struct iso_h5 *h)
{
	double photons, records;
	int st = read_reals(i->window_kev, h, "window_kev", 2);

	if (!st) st = read_reals(&photons, h, "photons", 1);
	if (!st) st = read_reals(&records, h, "records", 1);
	if (!st) st = read_reals(&i->depth_mm, h, "depth_mm", 1);
	if (!st) st = read_reals(&i->chi2, h, "chi2", 1);
	if (!st && (!(photons >= 0 && photons < 9e15) || !(records >= 0 && records < 9e15)))
		st = iso_h5_fail(h, ISO_EINPUT, "photons are %g, of which %g were recorded", photons,
		                 records);
	if (st) return st;
	i->photons = (int64_t)photons;
	i->records = (int64_t)records;
	return read_hash(i->scanner, h);
}

static int read_there(void *arg)
{
	struct task *task = arg;
	struct response_shape shape;
	struct set set[SETS];
	struct iso_h5 h;
	int st = iso_h5_open(&h, task->path), closed;

	if (!st) st = read_shape(&shape, &h);
	if (!st) st = response_create(&task->r, &shape);
	if (!st) st = read_info(&task->r->info, &h);
	if (!st) sets_of(set, task->r);
	for (int k = 0; k < SETS && !st; k++) st = read_set(&h, set + k);
	closed = iso_h5_close(&h);
	return st ? st : closed;
}

/* The shape first: the other side makes room by it. */
static int pass(void *arg, struct iso_pipe p)
{
	struct task *task = arg;
	struct response_shape shape = { .layers = 0 };
	struct set set[SETS];
	int st;

	if (task->r) shape = task->r->shape;
	if (!iso_apart_pass(p, &shape, sizeof shape)) return ISO_EINPUT;
	if (!task->r && (st = response_create(&task->r, &shape))) return st;
	if (!iso_apart_pass(p, &task->r->info, sizeof task->r->info)) return ISO_EINPUT;
	sets_of(set, task->r);
	for (int k = 0; k < SETS; k++)
		if (!iso_apart_pass(p, set[k].v, values_of(set + k) * 4)) return ISO_EINPUT;
	return ISO_OK;
}

int response_read_h5(iso_response **r, const char *path)
{
	struct task task = { .path = path };
	struct iso_apart a = { .work = read_there, .pass = pass, .arg = &task, .memory = (int64_t)1 << 30 };
	int st = iso_apart(path, &a, (int64_t)1 << 27);

	if (st)
		iso_response_free(task.r);
	else
		*r = task.r;
	return st;
}
