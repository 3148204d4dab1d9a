/* SPDX-License-Identifier: BSD-3-Clause */
/* HDF5 files: opening, finding, reading, with the checks that hostile files call for. */
#define _GNU_SOURCE /* recursive locks */
#include "h5.h"
#include "file/in.h"
#include "file/out.h"
#include "core/size.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum {
	NAME_MOST = 200,       /* of a path within the file */
	TEXT_MOST = 4096,      /* of a string of fixed length; what we look for is shorter */
	DEFLATE_RATIO = 1032,  /* deflate's best: 258 bytes from 2 bits */
	CHUNK_MOST = 32 << 20, /* bytes, unless the dataset itself is larger */
	GROWS_BY = 1 << 20,    /* bytes, of a file in memory */
};

/* Recursive: one file may be written while another is read. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

/* What the program had set for messages of the library, while ours are off. */
static H5E_auto2_t was_print;
static void *was_arg;
static int depth;      /* files open here */
static bool no_memory; /* the library ran out of it since then */
static bool alone;     /* a child: the lock may be its parent's */

void iso_h5_lock(void)
{
	if (!alone) pthread_mutex_lock(&lock);
}

void iso_h5_unlock(void)
{
	if (!alone) pthread_mutex_unlock(&lock);
}

void iso_h5_alone(void)
{
	alone = true;
}

static herr_t note_error(unsigned n, const H5E_error2_t *e, void *arg)
{
	(void)n, (void)arg;
	no_memory |= e->min_num == H5E_NOSPACE || e->min_num == H5E_CANTALLOC;
	return 0;
}

/* Called when a function of the library has failed: the next one forgets why. */
static herr_t on_error(hid_t stack, void *arg)
{
	return H5Ewalk2(stack, H5E_WALK_UPWARD, note_error, arg);
}

int iso_h5_fail(const struct iso_h5 *h, int code, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (no_memory)
		return iso_fail(ISO_ENOMEM, "%s: no memory for the HDF5 library%s", h->path,
		                h->bytes > 0
		                        ? ", which wants more than reading this file may take: is it damaged?"
		                        : "");
	return iso_fail(code, "%s: %s", h->path, text);
}

static void begin(void)
{
	iso_h5_lock();
	if (depth++ == 0) {
		/* a file that could not be closed, on a full disk, crashes the library's cleanup at exit */
		H5dont_atexit();
		H5Eget_auto2(H5E_DEFAULT, &was_print, &was_arg);
		no_memory = false;
		H5Eset_auto2(H5E_DEFAULT, on_error, NULL);
	}
}

/* No lock on the file: not every file system has them, and we neither share nor change it. */
static int open_file(struct iso_h5 *h, const char *name, bool anew)
{
	hid_t list = H5Pcreate(H5P_FILE_ACCESS);

	if (h->later && list >= 0 && H5Pset_fapl_core(list, GROWS_BY, false) < 0)
		return iso_h5_fail(h, ISO_EIO, "can't be made in memory");
#if H5_VERSION_GE(1, 10, 7)
	if (list >= 0) H5Pset_file_locking(list, 0, 1);
#endif
	h->file = anew ? H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, list)
	               : H5Fopen(name, H5F_ACC_RDONLY, list);
	if (list >= 0) H5Pclose(list);
	if (h->file >= 0) return ISO_OK;
	return anew ? iso_h5_fail(h, ISO_EIO, "can't be written")
	            : iso_h5_fail(h, ISO_EINPUT, "not an HDF5 file, or a damaged one");
}

int iso_h5_open(struct iso_h5 *h, const char *path)
{
	int fd, st;

	*h = (struct iso_h5){ .path = path, .file = -1 };
	begin();
	if ((st = iso_regular_open(&fd, &h->bytes, path))) return st;
	close(fd);
	return open_file(h, path, false);
}

int iso_h5_create(struct iso_h5 *h, const char *temp, const char *path)
{
	*h = (struct iso_h5){ .path = path, .file = -1 };
	begin();
	return open_file(h, temp, true);
}

int iso_h5_create_in_memory(struct iso_h5 *h, const char *temp, const char *path)
{
	*h = (struct iso_h5){ .path = path, .file = -1, .later = temp };
	begin();
	return open_file(h, temp, true);
}

/* What was made in memory, to its place. */
static int write_later(const struct iso_h5 *h)
{
	ssize_t bytes = H5Fflush(h->file, H5F_SCOPE_GLOBAL) < 0 ? -1 : H5Fget_file_image(h->file, NULL, 0);
	void *image = bytes > 0 ? malloc((size_t)bytes) : NULL;
	int fd = -1, st;

	if (bytes <= 0)
		st = iso_h5_fail(h, ISO_EIO, "can't be written");
	else if (!image)
		st = iso_fail_memory(h->path, bytes);
	else if (H5Fget_file_image(h->file, image, (size_t)bytes) != bytes)
		st = iso_h5_fail(h, ISO_EIO, "can't be written");
	else if ((fd = open(h->later, O_WRONLY | O_CLOEXEC)) < 0)
		st = iso_fail_errno(h->path, "open");
	else
		st = iso_write_at(h->path, fd, image, bytes, 0);
	if (fd >= 0) close(fd);
	free(image);
	return st;
}

int iso_h5_close(struct iso_h5 *h)
{
	int st = h->file >= 0 && h->later ? write_later(h) : ISO_OK;

	if (h->file >= 0 && H5Fclose(h->file) < 0 && !st) st = iso_h5_fail(h, ISO_EIO, "can't be closed");
	if (--depth == 0) H5Eset_auto2(H5E_DEFAULT, was_print, was_arg);
	iso_h5_unlock();
	return st;
}

/* ---- finding ---- */

static int damaged(const struct iso_h5 *h, const char *name)
{
	return iso_h5_fail(h, ISO_EINPUT, "%s can't be read: a damaged file", name);
}

/* Every step of a path must be in this file: no soft and no external link. 1: all there. */
static int exists(const struct iso_h5 *h, const char *name)
{
	char part[NAME_MOST];
	size_t n = strlen(name);

	if (n >= sizeof part) return iso_refuse(h->path, "a name of %zu bytes, at most %d", n, NAME_MOST - 1);
	for (size_t i = 1; i <= n; i++) {
		H5L_info_t link;
		htri_t there;

		if (i < n && name[i] != '/') continue;
		memcpy(part, name, i);
		part[i] = '\0';
		there = H5Lexists(h->file, part, H5P_DEFAULT);
		if (there == 0) return 0;
		if (there < 0 || H5Lget_info(h->file, part, &link, H5P_DEFAULT) < 0) return damaged(h, part);
		if (link.type != H5L_TYPE_HARD)
			return iso_refuse(h->path, "%s is a link, the data itself was expected", part);
	}
	return 1;
}

/* Values elsewhere than in this file. */
static bool is_elsewhere(hid_t id)
{
	hid_t list = H5Dget_create_plist(id);
	bool bad = list < 0 || H5Pget_layout(list) == H5D_VIRTUAL || H5Pget_external_count(list) != 0;

	if (list >= 0) H5Pclose(list);
	return bad;
}

static int get_shape(struct iso_h5_set *s, const struct iso_h5 *h, const char *name)
{
	hsize_t dim[H5S_MAX_RANK] = { 0 };
	hid_t space = H5Dget_space(s->id);
	int st = ISO_OK;

	s->rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, dim, NULL);
	s->n = space >= 0 && H5Sget_simple_extent_type(space) == H5S_NULL ? 0 : 1;
	if (space >= 0) H5Sclose(space);
	if (s->rank < 0) return damaged(h, name);
	if (s->rank > ISO_H5_RANK)
		return iso_refuse(h->path, "%s has %d axes, at most %d expected", name, s->rank, ISO_H5_RANK);
	for (int i = 0; i < s->rank && !st; i++) {
		if (dim[i] > INT64_MAX || !size_mul(&s->n, s->n, (int64_t)dim[i]))
			st = iso_refuse(h->path, "%s has more values than 64 bits count", name);
		s->dim[i] = (int64_t)dim[i];
	}
	return st;
}

static int get_type(struct iso_h5_set *s, const struct iso_h5 *h, const char *name)
{
	hid_t type = H5Dget_type(s->id);
	H5T_class_t class = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);

	if (type >= 0) H5Tclose(type);
	s->text = class == H5T_STRING;
	if (class == H5T_NO_CLASS) return damaged(h, name);
	if (s->text || class == H5T_INTEGER || class == H5T_FLOAT) return ISO_OK;
	return iso_refuse(h->path, "%s is neither numbers nor a text", name);
}

/* The text of a dataset that has one. */
static int read_text(char *text, size_t size, const struct iso_h5 *h, const struct iso_h5_set *s,
                     const char *name)
{
	char *one = NULL, fixed[TEXT_MOST + 1] = "";
	bool varies, good = false;
	int st = iso_h5_chunk(h, s, name, 0);

	text[0] = '\0';
	if (st) return st;
	hid_t type = H5Dget_type(s->id), memory = type < 0 ? -1 : H5Tcopy(type);
	size_t bytes = memory < 0 ? 0 : H5Tget_size(memory);

	varies = memory >= 0 && H5Tis_variable_str(memory) > 0;
	if (varies || (bytes > 0 && bytes <= TEXT_MOST))
		good = H5Dread(s->id, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, varies ? (void *)&one : fixed) >=
		       0;
	if (good) snprintf(text, size, "%s", !varies ? fixed : one ? one : "");
	H5free_memory(one);
	if (memory >= 0) H5Tclose(memory);
	if (type >= 0) H5Tclose(type);
	return good ? ISO_OK : damaged(h, name);
}

int iso_h5_find_any(struct iso_h5_set *s, const struct iso_h5 *h, const char *name)
{
	H5O_info_t info;
	int st = exists(h, name);

	*s = (struct iso_h5_set){ .id = -1 };
	if (st <= 0) return st;
	if (H5Oget_info_by_name(h->file, name, &info, H5P_DEFAULT) >= 0 && info.type == H5O_TYPE_DATASET)
		s->id = H5Dopen2(h->file, name, H5P_DEFAULT);
	if (s->id < 0) return damaged(h, name);
	st = is_elsewhere(s->id) ? iso_refuse(h->path, "%s lies in another file", name)
	                         : get_shape(s, h, name);
	if (st) iso_h5_release(s);
	return st;
}

int iso_h5_find(struct iso_h5_set *s, const struct iso_h5 *h, const char *name)
{
	char text[8] = "";
	int st = iso_h5_find_any(s, h, name);

	if (st || s->id < 0) return st;
	if (!(st = get_type(s, h, name)) && s->text && s->n == 1)
		st = read_text(text, sizeof text, h, s, name);
	if (st || s->n == 0 || strcmp(text, "None") == 0) iso_h5_release(s);
	return st;
}

void iso_h5_release(struct iso_h5_set *s)
{
	if (s->id >= 0) H5Dclose(s->id);
	s->id = -1;
}

int iso_h5_expect(const struct iso_h5 *h, const struct iso_h5_set *s, const char *name)
{
	hid_t type = H5Dget_type(s->id), list = H5Dget_create_plist(s->id);
	int64_t size = type < 0 ? 0 : (int64_t)H5Tget_size(type), bytes;
	int64_t stored = (int64_t)H5Dget_storage_size(s->id);
	bool packed = list >= 0 && H5Pget_nfilters(list) > 0;
	bool fits = size_mul(&bytes, s->n, size) && size > 0 && stored <= h->bytes && stored >= 0 &&
	            (packed ? bytes / DEFLATE_RATIO : bytes) <= stored;

	if (type >= 0) H5Tclose(type);
	if (list >= 0) H5Pclose(list);
	return fits ? ISO_OK
	            : iso_refuse(h->path,
	                         "%s has %" PRId64 " values, more than the %" PRId64
	                         " bytes that are stored for it hold",
	                         name, s->n, stored);
}

/* Bytes of a chunk as it lies in memory; 0: not in chunks, -1: damaged. */
static int64_t chunk_bytes(hid_t id)
{
	hsize_t dim[H5S_MAX_RANK] = { 0 };
	hid_t list = H5Dget_create_plist(id), type = H5Dget_type(id);
	bool chunks = list >= 0 && H5Pget_layout(list) == H5D_CHUNKED;
	int rank = chunks ? H5Pget_chunk(list, H5S_MAX_RANK, dim) : 0;
	int64_t bytes = type < 0 || list < 0 || rank < 0 ? -1 : chunks ? (int64_t)H5Tget_size(type) : 0;

	for (int i = 0; i < rank && bytes > 0; i++)
		if (dim[i] > INT64_MAX || !size_mul(&bytes, bytes, (int64_t)dim[i])) bytes = INT64_MAX;
	if (type >= 0) H5Tclose(type);
	if (list >= 0) H5Pclose(list);
	return bytes;
}

int iso_h5_chunk(const struct iso_h5 *h, const struct iso_h5_set *s, const char *name, int64_t most)
{
	int64_t bytes = chunk_bytes(s->id);

	if (bytes < 0) return damaged(h, name);
	most = most > CHUNK_MOST ? most : CHUNK_MOST;
	return bytes <= most ? ISO_OK
	                     : iso_refuse(h->path, "%s is stored in chunks of %s, at most %s are read", name,
	                                  iso_bytes(bytes), iso_bytes(most));
}

/* ---- values ---- */

int iso_h5_reals(double *v, int64_t *n, int64_t most, const struct iso_h5 *h, const char *name)
{
	struct iso_h5_set s;
	int st = iso_h5_find(&s, h, name);

	*n = 0;
	if (st || s.id < 0) return st;
	if (s.text)
		st = iso_refuse(h->path, "%s is a text, numbers were expected", name);
	else if (s.n > most)
		st = iso_refuse(h->path, "%s has %" PRId64 " values, at most %" PRId64, name, s.n, most);
	else if (!(st = iso_h5_chunk(h, &s, name, 0)) &&
	         H5Dread(s.id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) < 0)
		st = damaged(h, name);
	*n = st ? 0 : s.n;
	iso_h5_release(&s);
	return st;
}

int iso_h5_some(double *v, bool *there, int64_t n, const struct iso_h5 *h, const char *name)
{
	int64_t got;
	int st = iso_h5_reals(v, &got, n, h, name);

	*there = got > 0;
	if (!st && got > 0 && got != n)
		return iso_refuse(h->path, "%s has %" PRId64 " values, expected %" PRId64, name, got, n);
	return st;
}

int iso_h5_text(char *text, size_t size, const struct iso_h5 *h, const char *name)
{
	struct iso_h5_set s;
	int st = iso_h5_find(&s, h, name);

	text[0] = '\0';
	if (st || s.id < 0) return st;
	if (!s.text || s.n != 1)
		st = iso_refuse(h->path, "%s is not a text", name);
	else
		st = read_text(text, size, h, &s, name);
	iso_h5_release(&s);
	return st;
}

struct walk {
	int (*each)(void *arg, const char *name);
	void *arg;
	int st;
};

static herr_t step(hid_t group, const char *name, const H5L_info_t *info, void *arg)
{
	struct walk *w = arg;

	(void)group, (void)info;
	w->st = w->each(w->arg, name);
	return w->st ? 1 : 0;
}

int iso_h5_members(const struct iso_h5 *h, bool *made, const char *name,
                   int (*each)(void *arg, const char *name), void *arg)
{
	struct walk w = { each, arg, ISO_OK };
	int st = exists(h, name);
	unsigned how = 0;
	hid_t group, list;
	herr_t done;

	*made = false;
	if (st <= 0) return st;
	group = H5Gopen2(h->file, name, H5P_DEFAULT);
	if (group < 0) return damaged(h, name);
	list = H5Gget_create_plist(group);
	*made = list >= 0 && H5Pget_link_creation_order(list, &how) >= 0 && how & H5P_CRT_ORDER_TRACKED;
	if (list >= 0) H5Pclose(list);
	done = H5Literate(group, *made ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME, H5_ITER_INC, NULL, step, &w);
	H5Gclose(group);
	return w.st ? w.st : done < 0 ? damaged(h, name) : ISO_OK;
}

/* ---- writing ---- */

static int unwritten(const struct iso_h5 *h, const char *name)
{
	return iso_h5_fail(h, ISO_EIO, "%s can't be written", name);
}

int iso_h5_group(const struct iso_h5 *h, const char *name)
{
	hid_t group = H5Gcreate2(h->file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

	return group >= 0 && H5Gclose(group) >= 0 ? ISO_OK : unwritten(h, name);
}

/* Without the second in which it is made, so that equal contents are equal files. */
hid_t iso_h5_set_list(void)
{
	hid_t list = H5Pcreate(H5P_DATASET_CREATE);

	if (list >= 0) H5Pset_obj_track_times(list, false);
	return list;
}

/* columns = 0: a vector of n values; n < 0: a single one. */
static int put_matrix(const struct iso_h5 *h, const char *name, int64_t n, int64_t columns, hid_t type,
                      hid_t memory, const void *v)
{
	hsize_t dim[2] = { (hsize_t)n, (hsize_t)columns };
	hid_t space = n < 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(columns > 0 ? 2 : 1, dim, NULL);
	hid_t list = iso_h5_set_list(), set = -1;
	bool good = false;

	if (space >= 0 && list >= 0)
		set = H5Dcreate2(h->file, name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
	if (set >= 0) {
		good = H5Dwrite(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0;
		good = H5Dclose(set) >= 0 && good;
	}
	if (space >= 0) H5Sclose(space);
	if (list >= 0) H5Pclose(list);
	return good ? ISO_OK : unwritten(h, name);
}

static int put(const struct iso_h5 *h, const char *name, int64_t n, hid_t type, hid_t memory, const void *v)
{
	return put_matrix(h, name, n, 0, type, memory, v);
}

int iso_h5_put_rows(const struct iso_h5 *h, const char *name, int64_t rows, int64_t columns, const double *v)
{
	return put_matrix(h, name, rows, columns, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, v);
}

int iso_h5_put_floats(const struct iso_h5 *h, const char *name, int64_t rows, int64_t columns, const float *v)
{
	return put_matrix(h, name, rows, columns, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, v);
}

int iso_h5_put_reals(const struct iso_h5 *h, const char *name, int64_t n, const double *v)
{
	return put(h, name, n, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, v);
}

int iso_h5_put_integers(const struct iso_h5 *h, const char *name, int64_t n, const int64_t *v)
{
	return put(h, name, n, H5T_STD_I64LE, H5T_NATIVE_INT64, v);
}

/* Variable length and UTF-8, as h5py writes a string. */
int iso_h5_put_text(const struct iso_h5 *h, const char *name, const char *text)
{
	hid_t type = H5Tcopy(H5T_C_S1);
	int st;

	if (type < 0 || H5Tset_size(type, H5T_VARIABLE) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0)
		st = unwritten(h, name);
	else
		st = put(h, name, -1, type, type, &text);
	if (type >= 0) H5Tclose(type);
	return st;
}
