/* SPDX-License-Identifier: BSD-3-Clause */
/* Where output goes: a file that may be written there, and its sidecar. */
#include "core/status.h"
#include "format.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool iso_names_folder(const char *path)
{
	size_t n = strlen(path);
	struct stat info;

	return n > 0 && (path[n - 1] == '/' || (stat(path, &info) == 0 && S_ISDIR(info.st_mode)));
}

/* Of a folder, a series of DICOM files: NAME.dcm.json beside it, which no image of that name has. */
static int folder_sidecar(char *out, size_t size, const char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/') n--;
	bool named = n > 4 && strncmp(path + n - 4, ".dcm", 4) == 0;

	if (snprintf(out, size, "%.*s%s.json", (int)n, path, named ? "" : ".dcm") >= (int)size)
		return iso_fail(ISO_EARG, "%s: name is too long", path);
	return ISO_OK;
}

int iso_sidecar_path(char *out, size_t size, const char *path)
{
	if (!out || !path) return iso_fail_null(__func__);
	if (iso_names_folder(path)) return folder_sidecar(out, size, path);
	int dropped = iso_has_suffix(path, ".nii") ? 4 : iso_has_suffix(path, ".nii.gz") ? 7 : 0;

	if (snprintf(out, size, "%.*s.json", (int)strlen(path) - dropped, path) >= (int)size)
		return iso_fail(ISO_EARG, "%s: name is too long", path);
	return ISO_OK;
}

static int check_folder(const char *path)
{
	char folder[PATH_MAX];
	struct stat s;
	int st = iso_out_folder(folder, sizeof folder, path);

	if (st) return st;
	if (stat(folder, &s)) return iso_fail(ISO_EIO, "%s: folder %s: %s", path, folder, strerror(errno));
	if (!S_ISDIR(s.st_mode)) return iso_fail(ISO_EIO, "%s: %s is not a folder", path, folder);
	if (access(folder, W_OK | X_OK))
		return iso_fail(ISO_EIO, "%s: can't write to folder %s: %s", path, folder, strerror(errno));
	return ISO_OK;
}

/* A trial, as permissions do not tell all: the name may be too long, the folder one of /proc. */
int iso_target_try(const char *path)
{
	struct iso_out o = { 0 };
	int st = iso_out_open(&o, path, 0, ISO_OUT_PLAIN);

	iso_out_free(&o);
	return st;
}

int iso_target_check(const char *path, bool force)
{
	char sidecar[PATH_MAX];
	int st = iso_sidecar_path(sidecar, sizeof sidecar, path);

	if (st || (st = iso_commit_repair(path))) return st;
	if ((st = iso_stands_check(path, NULL, force))) return st;
	if (iso_stands_at(sidecar) == ISO_STANDS_OTHER)
		return iso_fail(ISO_EARG, "%s, beside %s, exists and is not a file", sidecar, path);
	if ((st = check_folder(path)) || (st = iso_target_try(path))) return st;
	return iso_target_try(sidecar);
}

int iso_target_finish_all(int n, struct iso_out *const *out, const char *sidecar)
{
	struct iso_out side = { 0 }, *all[ISO_COMMIT_MOST];
	int64_t size = sidecar ? (int64_t)strlen(sidecar) : 0;
	char name[PATH_MAX];
	int st = ISO_OK;

	assert(n < ISO_COMMIT_MOST);
	for (int i = 0; i < n && !st; i++) st = iso_out_close(all[i] = out[i]);
	if (!st && sidecar && !(st = iso_sidecar_path(name, sizeof name, out[0]->path)) &&
	    !(st = iso_out_open(&side, name, size, ISO_OUT_PLAIN)) &&
	    !(st = iso_out_write(&side, sidecar, size)))
		st = iso_out_close(all[n++] = &side);
	if (!st) st = iso_out_commit_all(n, all);
	iso_out_free(&side);
	return st;
}

int iso_target_finish(struct iso_out *o, const char *sidecar)
{
	return iso_target_finish_all(1, &o, sidecar);
}
