/* SPDX-License-Identifier: BSD-3-Clause */
/* Images appended to a .npy file. */
#include "kept.h"

#include "core/size.h"
#include "file/npy.h"
#include "file/suffix.h"
#include "io/format.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEAD = 256 };

struct kept {
	char *path;
	int fd;
	int64_t n, dim[4], voxels; /* dim[0] is n */
	float *image;
};

/* The head as NumPy writes it, with more blanks before its last byte. */
static int write_head(const struct kept *k)
{
	char head[ISO_NPY_LEAD];
	int n = iso_npy_lead(head, 'f', sizeof(float), 4, k->dim);

	if (n > HEAD) return iso_fail(ISO_EIO, "%s: a head of %d bytes", k->path, n);
	head[n - 1] = ' ';
	memset(head + n, ' ', (size_t)(HEAD - n));
	head[HEAD - 1] = '\n';
	head[8] = (char)((HEAD - 10) & 255);
	head[9] = (char)((HEAD - 10) >> 8);
	return iso_write_at(k->path, k->fd, head, HEAD, 0);
}

static int open_file(struct kept *k)
{
	unlink(k->path); /* whether something may stand there was asked before */
	k->fd = open(k->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (k->fd < 0) return iso_fail(ISO_EIO, "%s: %s", k->path, strerror(errno));
	return write_head(k);
}

int kept_create(struct kept **out, const char *path, const struct iso_grid *g)
{
	struct kept *k;
	int st;

	if (!iso_has_suffix(path, ".npy"))
		return iso_fail(ISO_EARG, "'keep' appends images to a .npy file, the output is %s", path);
	if (!(k = size_alloc(1, sizeof *k))) return iso_fail_memory(path, sizeof *k);
	*k = (struct kept){ .fd = -1, .dim = { 0, g->n[2], g->n[1], g->n[0] }, .voxels = iso_grid_voxels(g) };
	k->path = strdup(path);
	k->image = size_alloc(k->voxels, sizeof *k->image);
	st = k->path && k->image ? ISO_OK : iso_fail_memory(path, k->voxels);
	if (st)
		kept_free(k);
	else
		*out = k;
	return st;
}

int kept_add(struct kept *k, const iso_real *images, int n)
{
	int64_t bytes = k->voxels * (int64_t)sizeof *k->image;
	int st = k->fd < 0 ? open_file(k) : ISO_OK;

	for (int i = 0; i < n && !st; i++) {
		for (int64_t v = 0; v < k->voxels; v++) k->image[v] = (float)images[i * k->voxels + v];
		st = iso_write_at(k->path, k->fd, k->image, bytes, HEAD + k->dim[0] * bytes);
		if (!st) k->dim[0]++;
		if (!st) st = write_head(k);
	}
	return st;
}

int kept_record(const struct kept *k, struct record *r)
{
	char sidecar[PATH_MAX];
	char *text = NULL;
	int st = iso_sidecar_path(sidecar, sizeof sidecar, k->path);

	if (!st) st = record_text(r, &text);
	if (!st) st = iso_out_text(sidecar, text);
	free(text);
	return st;
}

void kept_free(struct kept *k)
{
	if (!k) return;
	if (k->fd >= 0) close(k->fd);
	free(k->image);
	free(k->path);
	free(k);
}
