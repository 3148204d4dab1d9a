/* SPDX-License-Identifier: BSD-3-Clause */
/* The folder of a PET series: made under another name, filled, and renamed. */
#define _GNU_SOURCE /* renameat2 */
#include "dicom.h"
#include "dicom_tags.h"
#include "dicom_write.h"
#include "core/size.h"
#include "core/sized.h"
#include "core/status.h"
#include "file/out.h"
#include "file/suffix.h"
#include "io/format.h"
#include "io/volume.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { MOST_FILES = 65535 }; /* image indices have 16 bits */
enum {
	LONGEST = PATH_MAX + 2 * NAME_MAX + 3
}; /* letters of the path of a file in a folder that is being made */

/* ---- folders ---- */

/* IM00001.dcm and the like: what this writer makes. */
static bool named_own(const char *name)
{
	return strncmp(name, "IM", 2) == 0 && strspn(name + 2, "0123456789") == 5 &&
	       strcmp(name + 7, ".dcm") == 0;
}

/* A file that this writer made, by its name and by what its head says. */
static bool is_own(const char *folder, const char *name)
{
	struct dicom_slice slice = { 0 };
	char path[LONGEST];
	struct stat info;

	if (!named_own(name)) return false;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	if (lstat(path, &info) != 0 || !S_ISREG(info.st_mode)) return false;
	(void)dicom_head(&slice, path); /* of a file that was cut, what comes before is enough */
	return strcmp(slice.maker, DICOM_MAKER) == 0;
}

/* Names of a folder that are not this writer's, one of them into `other`; -1: no folder. */
static int count_others(char other[NAME_MAX + 1], int *files, const char *folder)
{
	DIR *d = opendir(folder);
	int n = 0;

	if (!d) return -1;
	*files = 0;
	for (struct dirent *e; (e = readdir(d));) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
		if (is_own(folder, e->d_name))
			++*files;
		else if (n++ == 0)
			snprintf(other, NAME_MAX + 1, "%s", e->d_name);
	}
	closedir(d);
	return n;
}

/* Files that are not this writer's stay, and so does their folder. `is_new`: this run made all of them, and the last may
   be cut. */
static void remove_series(const char *folder, bool is_new)
{
	DIR *d = opendir(folder);
	char path[LONGEST];

	if (!d) return;
	for (struct dirent *e; (e = readdir(d));)
		if (is_new ? named_own(e->d_name) : is_own(folder, e->d_name)) {
			snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
			unlink(path);
		}
	closedir(d);
	rmdir(folder);
}

/* The name without slashes at its end. */
static int plain_name(char to[PATH_MAX], const char *folder)
{
	size_t n = strlen(folder);

	while (n > 1 && folder[n - 1] == '/') n--;
	if (n == 0 || n >= PATH_MAX - 64) return iso_fail(ISO_EARG, "'%.60s': no name of a folder", folder);
	memcpy(to, folder, n);
	to[n] = '\0';
	return ISO_OK;
}

/* A folder that is there may be empty, or, with `force`, hold such a series and nothing else. */
static int check_folder(const char *name, bool force)
{
	char other[NAME_MAX + 1];
	struct stat info;
	int files = 0;

	if (lstat(name, &info) != 0) return ISO_OK;
	if (!S_ISDIR(info.st_mode)) return iso_fail(ISO_EARG, "%s exists and is not a folder", name);
	int others = count_others(other, &files, name);

	if (others < 0) return iso_fail_errno(name, "read");
	if (others > 0)
		return iso_fail(ISO_EARG,
		                "%s holds other files than a series that was written here, such as %s; name "
		                "a folder that is not there yet",
		                name, other);
	if (files > 0 && !force)
		return iso_fail(ISO_EARG, "%s holds a series of %d files already; 'force' replaces it", name,
		                files);
	return ISO_OK;
}

int iso_dicom_write_check(const char *folder, bool force)
{
	char name[PATH_MAX], sidecar[PATH_MAX];
	int st;

	if (!folder) return iso_fail_null(__func__);
	if ((st = plain_name(name, folder)) || (st = iso_sidecar_path(sidecar, sizeof sidecar, folder)) ||
	    (st = iso_commit_repair(name)) || (st = check_folder(name, force)) ||
	    (st = iso_stands_check(sidecar, folder, force)))
		return st;
	return iso_target_try(sidecar);
}

/* Of an image in DICOM, no slice may lie in the folder that is to be replaced. */
static int check_source(const char *image, const char *name)
{
	char folder[PATH_MAX];
	struct stat from, to;
	int st;

	if (!image || stat(image, &from) != 0 || stat(name, &to) != 0) return ISO_OK;
	if (!S_ISDIR(from.st_mode)) {
		if (!iso_is_dicom(image)) return ISO_OK;
		if ((st = iso_out_folder(folder, sizeof folder, image))) return st;
		if (stat(folder, &from) != 0) return iso_fail_errno(folder, "read");
	}
	if (from.st_dev != to.st_dev || from.st_ino != to.st_ino) return ISO_OK;
	return iso_fail(ISO_EARG, "%s: its slices lie in %s, which would be replaced; name another folder",
	                image, name);
}

/* ---- files ---- */

static int write_file(const char *folder, int64_t k, const struct dicom_bytes *b)
{
	char path[PATH_MAX + 32];
	int fd, st;

	snprintf(path, sizeof path, "%s/IM%05" PRId64 ".dcm", folder, k + 1);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0) return iso_fail_errno(path, "create");
	st = iso_write_at(path, fd, b->v, b->n, 0);
	if (!st && !iso_flushed(fd)) st = iso_fail_errno(path, "write");
	if (close(fd) != 0 && !st) st = iso_fail_errno(path, "write");
	return st;
}

static int write_files(const char *folder, const struct dicom_series_out *o)
{
	struct dicom_bytes b = { 0 };
	int st = ISO_OK;

	for (int64_t k = 0; k < o->grid.n[2] * o->tags->frames && !st; k++)
		if (!(st = iso_stop_check(NULL, folder)) && !(st = dicom_slice_bytes(&b, o, k)))
			st = write_file(folder, k, &b);
	free(b.v);
	return st;
}

/* `made` takes the name; a series that stands there takes the name of `made`. */
static int put_in_place(const char *made, const char *name)
{
	struct stat info;

	if (stat(name, &info) != 0) return rename(made, name) ? iso_fail_errno(name, "create") : ISO_OK;
	if (renameat2(AT_FDCWD, made, AT_FDCWD, name, RENAME_EXCHANGE) != 0)
		return iso_fail_errno(name, "replace");
	return ISO_OK;
}

/* ---- folders that killed runs left ---- */

enum { TEMP_FOLDER = 48 }; /* letters of ".isotome-0123456789abcdef-0123456789abcdef.tmp", and a NUL */

/* .isotome-HASH- of a folder's name: so begin the names under which it is made. */
static void temp_prefix(char prefix[TEMP_FOLDER], const char *name)
{
	const char *base = iso_base_name(name);

	snprintf(prefix, TEMP_FOLDER, ".isotome-%016" PRIx64 "-", (uint64_t)XXH64(base, strlen(base), 0));
}

/* .isotome-HASH-RANDOM.tmp */
static int temp_folder(char temp[TEMP_FOLDER], const char *name)
{
	char random[ISO_TEMP_NAME], prefix[TEMP_FOLDER];
	int st = iso_temp_name(random); /* .isotome-RANDOM.tmp */

	temp_prefix(prefix, name);
	snprintf(temp, TEMP_FOLDER, "%.26s%.20s", prefix, random + strlen(".isotome-"));
	return st;
}

/* Whether all files of a folder are this writer's. The last that a killed run wrote may be empty. */
static bool is_left_over(const char *folder)
{
	char path[LONGEST];
	DIR *d = opendir(folder);
	struct stat info;
	bool own = d;

	for (struct dirent *e; own && (e = readdir(d));) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
		snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
		own = is_own(folder, e->d_name) || (named_own(e->d_name) && lstat(path, &info) == 0 &&
		                                    S_ISREG(info.st_mode) && info.st_size == 0);
	}
	if (d) closedir(d);
	return own;
}

/* A run holds the lock of the folder that it fills. A folder without one is of a run that was killed. */
static int lock_folder(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Those of earlier runs that were to write `name`. */
static void remove_left_over(const char *parent, const char *name)
{
	char prefix[TEMP_FOLDER], path[PATH_MAX + NAME_MAX + 1];
	DIR *d = opendir(parent);
	int lock;

	temp_prefix(prefix, name);
	for (struct dirent *e; d && (e = readdir(d));) {
		if (strncmp(e->d_name, prefix, strlen(prefix)) != 0 || !iso_has_suffix(e->d_name, ".tmp"))
			continue;
		snprintf(path, sizeof path, "%s/%s", parent, e->d_name);
		if ((lock = lock_folder(path)) < 0) continue;
		if (is_left_over(path)) remove_series(path, true);
		close(lock);
	}
	if (d) closedir(d);
}

/* ---- the folder ---- */

static int make_folder(char made[PATH_MAX], int *lock, const char *name)
{
	char parent[PATH_MAX], temp[TEMP_FOLDER];
	int st = iso_out_folder(parent, sizeof parent, name);

	if (st || (st = temp_folder(temp, name))) return st;
	if (snprintf(made, PATH_MAX, "%s/%s", parent, temp) >= PATH_MAX)
		return iso_fail(ISO_EARG, "%s: name is too long", name);
	remove_left_over(parent, name);
	if (mkdir(made, 0777) != 0) return iso_fail_errno(name, "create");
	*lock = lock_folder(made); /* none on a file system that has no locks */
	return ISO_OK;
}

static int write_folder(const char *name, const struct dicom_series_out *o, const char *folder,
                        const char *sidecar)
{
	char made[PATH_MAX], record[PATH_MAX];
	struct iso_out out = { 0 };
	int lock = -1, st = iso_sidecar_path(record, sizeof record, folder);

	if (st || (st = make_folder(made, &lock, name))) return st;
	st = write_files(made, o);
	if (!st && sidecar && !(st = iso_out_open(&out, record, (int64_t)strlen(sidecar), ISO_OUT_PLAIN)) &&
	    !(st = iso_out_write(&out, sidecar, (int64_t)strlen(sidecar))))
		st = iso_out_close(&out);
	const bool in_place = !st && !(st = put_in_place(made, name));

	/* directly behind it: who kills the run between the two has the new series with the old record */
	if (in_place && sidecar) st = iso_out_commit(&out);
	remove_series(made, !in_place); /* what is left of the new series, or the old one */
	iso_out_free(&out);
	if (lock >= 0) close(lock);
	return st;
}

/* ---- the series ---- */

/* What the reader would refuse, or take for something else, is not written. */
static int check_place(const struct iso_grid *g, const char *folder)
{
	for (int i = 0; i < 3; i++) {
		double reach = fabs(g->centre[i]) + .5 * (double)(g->n[i] - 1) * g->voxel[i];

		if (!(g->voxel[i] > 0 && g->voxel[i] < DICOM_WIDEST))
			return iso_fail(ISO_EARG, "%s: voxels of %g mm; a DICOM series takes less than %g mm",
			                folder, g->voxel[i], DICOM_WIDEST);
		if (!(reach < DICOM_FURTHEST))
			return iso_fail(
				ISO_EARG,
				"%s: the image reaches to %g mm; a DICOM series takes less than %g mm",
				folder, reach, DICOM_FURTHEST);
	}
	/* rounding of the positions must not bring slices closer */
	if (g->n[2] > 1 && !(g->voxel[2] > 1.001 * DICOM_CLOSEST))
		return iso_fail(
			ISO_EARG,
			"%s: slices are %g mm apart; those of a DICOM series must be more than %g mm apart",
			folder, g->voxel[2], DICOM_CLOSEST);
	return ISO_OK;
}

static int check_values(const struct iso_array *a, const char *folder)
{
	iso_real range[2];
	int st = iso_values_check(a, folder, ISO_FINITE);

	if (st) return st;
	iso_range(range, a->n, a->v, false);
	double most = fmax(fabs((double)range[0]), fabs((double)range[1]));

	if (!(most < 32767 * DICOM_STEEPEST))
		return iso_fail(ISO_EARG, "%s: values up to %g; a DICOM series takes less than %g", folder,
		                most, 32767 * DICOM_STEEPEST);
	return ISO_OK;
}

static int check_array(const struct iso_array *a, const char *folder)
{
	int64_t frames = a->n_dim == 4 ? a->dim[0] : 1;

	if (!a->v || !a->has_grid || a->n_dim < 3 || a->n_dim > 4)
		return iso_fail(ISO_EARG,
		                "%s: DICOM takes an image of 3 axes, or 4 with frames, with a voxel size",
		                folder);
	if (a->grid.n[0] > MOST_FILES || a->grid.n[1] > MOST_FILES ||
	    (double)a->grid.n[2] * (double)frames > MOST_FILES)
		return iso_fail(ISO_EARG,
		                "%s: %" PRId64 " slices in %" PRId64 " frames; a series has at most %d",
		                folder, a->grid.n[2], frames, MOST_FILES);
	for (int i = 0; i < 3; i++)
		if (a->grid.n[i] != a->dim[a->n_dim - 1 - i])
			return iso_fail(ISO_EARG, "%s: the array to write does not fit its grid", folder);
	int st = check_place(&a->grid, folder);

	return st ? st : check_values(a, folder);
}

/* Identifiers of all that is written. Series of one patient and one start of the scan are of one study, and lie in one
   frame of reference. */
static void identify(struct dicom_series_out *o, const struct iso_array *a, const struct dicom_tags *t)
{
	struct dicom_tags plain;
	XXH3_state_t *state = XXH3_createState();
	uint64_t exam[2] = { 0 };
	XXH128_hash_t h;

	if (!state) return;
	memcpy(&plain, t, sizeof plain);
	plain.frame_s = plain.duration_s = NULL;
	XXH3_128bits_reset(state);
	XXH3_128bits_update(state, &plain, sizeof plain); /* zeros where nothing is */
	XXH3_128bits_update(state, t->frame_s, (size_t)t->frames * sizeof *t->frame_s);
	XXH3_128bits_update(state, t->duration_s, (size_t)t->frames * sizeof *t->duration_s);
	XXH3_128bits_update(state, a->grid.n, sizeof a->grid.n);
	XXH3_128bits_update(state, a->grid.voxel, sizeof a->grid.voxel);
	XXH3_128bits_update(state, a->grid.centre, sizeof a->grid.centre);
	XXH3_128bits_update(state, a->v, (size_t)a->n * sizeof *a->v);
	h = XXH3_128bits_digest(state);
	o->key[0] = h.high64;
	o->key[1] = h.low64;
	memcpy(exam, o->key, sizeof exam);
	if (t->start_known) {
		XXH3_128bits_reset(state);
		XXH3_128bits_update(state, t->patient_name, strlen(t->patient_name) + 1);
		XXH3_128bits_update(state, t->patient_id, strlen(t->patient_id) + 1);
		XXH3_128bits_update(state, &t->start_s, sizeof t->start_s);
		h = XXH3_128bits_digest(state);
		exam[0] = h.high64;
		exam[1] = h.low64;
	}
	XXH3_freeState(state);
	dicom_uid(o->study, exam, "study", 0);
	dicom_uid(o->frame_of_reference, exam, "frame of reference", 0);
	dicom_uid(o->series, o->key, "series", 0);
}

int iso_dicom_write(const char *folder, const struct iso_array *a, const struct iso_dicom *p,
                    const char *sidecar)
{
	struct dicom_series_out o = { 0 };
	struct dicom_tags tags = { 0 };
	struct iso_dicom own;
	iso_real range[2];
	char name[PATH_MAX];
	int st;

	if (!folder || !a || !p) return iso_fail_null(__func__);
	if ((st = iso_sized_take(&own, "iso_dicom", sizeof own, p)) || (st = plain_name(name, folder)) ||
	    (st = check_array(a, folder)) || (st = iso_dicom_write_check(folder, own.force)) ||
	    (st = check_source(own.image, name)) || (st = dicom_tags_take(&tags, a, &own)))
		goto done;
	o.tags = &tags;
	o.grid = a->grid;
	o.v = a->v;
	iso_range(range, a->n, a->v, false);
	o.most = range[1] > 0 ? (double)range[1] : 1;
	identify(&o, a, &tags);
	st = o.series[0] ? write_folder(name, &o, folder, sidecar) : iso_fail_memory("DICOM", 1);
done:
	dicom_tags_free(&tags);
	return st;
}
