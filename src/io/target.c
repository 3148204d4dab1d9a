/* SPDX-License-Identifier: BSD-3-Clause */
/* Where output goes: a file that may be written there, and its sidecar. */
#include "core/status.h"
#include "io/format.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int replace_suffix(char *out, size_t size, const char *path, const char *suffix)
{
	int keep = (int)(strlen(path) - strlen(suffix));

	if (snprintf(out, size, "%.*s.json", keep, path) >= (int)size)
		return iso_fail(ISO_EARG, "%s: name is too long", path);
	return ISO_OK;
}

int iso_sidecar_path(char *out, size_t size, const char *path)
{
	if (iso_has_suffix(path, ".nii"))
		return replace_suffix(out, size, path, ".nii");
	if (iso_has_suffix(path, ".nii.gz"))
		return replace_suffix(out, size, path, ".nii.gz");
	return replace_suffix(out, size, path, "");
}

static int check_folder(const char *path)
{
	char folder[PATH_MAX];
	struct stat s;
	int st = iso_out_folder(folder, sizeof folder, path);

	if (st)
		return st;
	if (stat(folder, &s))
		return iso_fail(ISO_EIO, "%s: folder %s: %s", path, folder, strerror(errno));
	if (!S_ISDIR(s.st_mode))
		return iso_fail(ISO_EIO, "%s: %s is not a folder", path, folder);
	if (access(folder, W_OK | X_OK))
		return iso_fail(ISO_EIO, "%s: can't write to folder %s: %s", path, folder,
				strerror(errno));
	return ISO_OK;
}

/* A trial, as permissions do not tell all: the name may be too long, the folder one of /proc. */
static int check_creation(const char *path)
{
	struct iso_out o = { 0 };
	int st = iso_out_open(&o, path, 0, false);

	iso_out_free(&o);
	return st;
}

int iso_target_check(const char *path, bool force)
{
	char sidecar[PATH_MAX];
	struct stat s;
	int st = iso_sidecar_path(sidecar, sizeof sidecar, path);

	if (st)
		return st;
	if (stat(path, &s) == 0 && !S_ISREG(s.st_mode))
		return iso_fail(ISO_EARG, "%s exists and is not a file", path);
	if (stat(path, &s) == 0 && !force)
		return iso_fail(ISO_EARG, "%s exists; --force replaces it", path);
	if (stat(sidecar, &s) == 0 && !S_ISREG(s.st_mode))
		return iso_fail(ISO_EARG, "%s, beside %s, exists and is not a file", sidecar,
				path);
	if ((st = check_folder(path)) || (st = check_creation(path)))
		return st;
	return check_creation(sidecar);
}

int iso_target_finish(struct iso_out *o, const char *sidecar)
{
	struct iso_out side = { 0 };
	char name[PATH_MAX];
	int st = iso_out_close(o);

	if (st) goto done;
	if (!sidecar) {
		st = iso_out_commit(o);
		goto done;
	}
	if ((st = iso_sidecar_path(name, sizeof name, o->path))) goto done;
	if ((st = iso_out_open(&side, name, (int64_t)strlen(sidecar), false))) goto done;
	if ((st = iso_out_write(&side, sidecar, (int64_t)strlen(sidecar)))) goto done;
	if ((st = iso_out_close(&side))) goto done;
	if ((st = iso_out_commit(&side))) goto done;
	st = iso_out_commit(o);
	if (st)
		unlink(name);	/* it describes a file that is not there */
done:
	iso_out_free(&side);
	return st;
}
