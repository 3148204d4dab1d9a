/* SPDX-License-Identifier: BSD-3-Clause */
/* Headers of Interfile projection data: segments, views, axial, tangential and TOF positions. */
#include "interfile_lines.h"
#include "core/size.h"
#include "core/status.h"
#include "file/in.h"

#include <string.h>
#include <sys/stat.h>

/* The axes [1] to [5], of which [2] and [3] come in either order. */
static int check_labels(struct interfile_bins *b, const struct iso_interfile *h, bool tof)
{
	static const char *const label[] = { "tangential coordinate", "axial coordinate", "view", "segment",
		                             "timing positions" };

	const char *got[5];
	int axes = tof ? 5 : 4, st = ISO_OK;

	for (int a = 0; a < axes && !st; a++) st = iso_interfile_need(&got[a], h, "matrix axis label", a + 1);
	if (st) return st;
	b->view_slow = iso_interfile_has(got[2], label[2]);
	for (int a = 0; a < axes; a++) {
		const char *want = label[!b->view_slow && (a == 1 || a == 2) ? 3 - a : a];

		if (!iso_interfile_has(got[a], want))
			return iso_refuse(h->path, "matrix axis label [%d] is '%.60s', must be '%s'%s", a + 1,
			                  got[a], want,
			                  a == 1 || a == 2 ? " (view and axial coordinate may be exchanged)"
			                                   : "");
	}
	return ISO_OK;
}

static int get_axes(struct interfile_bins *b, const struct iso_interfile *h)
{
	int64_t axes = 0, frames = 1;
	const struct iso_interfile_key keys[] = {
		{ "number of dimensions", .integer = &axes, .min = 4, .max = 5, .required = true },
		{ "number of time frames", .integer = &frames, .min = 1, .max = 1 },
		{ 0 },
	};
	int st = iso_interfile_take(h, keys);

	if (st || (st = check_labels(b, h, axes == 5))) return st;
	const struct iso_interfile_key sizes[] = {
		{ "matrix size", 1, .integer = &b->tangential, .min = 1, .max = 1e6, .required = true },
		{ "matrix size", b->view_slow ? 3 : 2, .integer = &b->views, .min = 1, .max = 1e6,
		  .required = true },
		{ "matrix size", 4, .integer = &b->segments, .min = 1, .max = INTERFILE_SEGMENTS - 1,
		  .required = true },
		{ axes == 5 ? "matrix size" : NULL, 5, .integer = &b->tof_bins, .min = 1, .max = 1e5,
		  .required = true },
		{ 0 },
	};

	return iso_interfile_take(h, sizes);
}

static int get_list(int64_t v[INTERFILE_SEGMENTS], const struct interfile_bins *b,
                    const struct iso_interfile *h, const char *key, int index)
{
	int n, st = iso_interfile_ints(v, &n, INTERFILE_SEGMENTS, h, key, index);

	if (st || n == b->segments) return st;
	return iso_refuse(h->path, "%s%s: %d numbers for %" PRId64 " segments", key,
	                  index ? " of the axial coordinate" : "", n, b->segments);
}

/* Bins of several ring differences lie half a ring apart, and those of a segment about the middle: an even number of
   them would lie between the sums of two rings. */
static int check_segment(const struct interfile_bins *b, int i, const struct iso_interfile *h)
{
	const struct interfile_segment *s = &b->segment[i];

	if (s->planes >= 1 && s->planes <= 1000000 && s->least <= s->most && s->least > -1000000 &&
	    s->most < 1000000 && (s->least == s->most || s->planes % 2))
		return ISO_OK;
	return iso_refuse(h->path,
	                  "segment %d has %" PRId64 " axial positions and ring differences %" PRId64
	                  " to %" PRId64
	                  "; positions must be 1 or more, and an odd number of several differences",
	                  i, s->planes, s->least, s->most);
}

static int get_segments(struct interfile_bins *b, const struct iso_interfile *h)
{
	int64_t planes[INTERFILE_SEGMENTS], least[INTERFILE_SEGMENTS], most[INTERFILE_SEGMENTS], n;
	int st = get_list(planes, b, h, "matrix size", b->view_slow ? 2 : 3), middle = 0;

	if (!st) st = get_list(least, b, h, "minimum ring difference per segment", 0);
	if (!st) st = get_list(most, b, h, "maximum ring difference per segment", 0);
	for (int i = 0; i < b->segments && !st; i++) {
		b->segment[i] = (struct interfile_segment){ b->each, planes[i], least[i], most[i] };
		if ((st = check_segment(b, i, h))) return st;
		middle += least[i] + most[i] == 0;
		if (!size_mul(&n, planes[i], b->views) || !size_mul(&n, n, b->tangential) ||
		    !size_add(&b->each, b->each, n))
			return iso_refuse(h->path, "has more bins than 64 bits count");
	}
	if (!st && (middle != 1 || b->segments % 2 == 0))
		st = iso_refuse(h->path,
		                "%" PRId64 " segments, %d of them about ring difference 0; an odd number was "
		                "expected, one about 0",
		                b->segments, middle);
	return st;
}

int iso_interfile_bins(struct interfile_bins *b, const struct iso_interfile *h)
{
	int st;

	*b = (struct interfile_bins){ .tof_bins = 1 };
	if ((st = get_axes(b, h)) || (st = get_segments(b, h))) return st;
	return size_mul(&b->n, b->each, b->tof_bins)
	               ? ISO_OK
	               : iso_refuse(h->path, "has more bins than 64 bits count");
}

bool iso_interfile_bins_same(const struct interfile_bins *a, const struct interfile_bins *b)
{
	return a->segments == b->segments && a->views == b->views && a->tangential == b->tangential &&
	       (a->tof_bins == b->tof_bins || a->tof_bins == 1) && a->view_slow == b->view_slow &&
	       memcmp(a->segment, b->segment, (size_t)a->segments * sizeof *a->segment) == 0;
}

int iso_interfile_values_of(struct iso_interfile_data *d, double *slope, const struct interfile_bins *b,
                            const struct iso_interfile *h)
{
	const struct iso_interfile_key keys[] = {
		{ "image scaling factor", .real = slope, .min = 1e-30, .max = 1e30 },
		{ "image scaling factor", 1, .real = slope, .min = 1e-30, .max = 1e30 },
		{ 0 },
	};
	struct stat s;
	int64_t bytes;
	int st;

	*slope = 1;
	if ((st = iso_interfile_data(d, h)) || (st = iso_interfile_take(h, keys))) return st;
	if (!size_mul(&bytes, b->n, d->element.size) || !size_add(&bytes, bytes, d->offset))
		return iso_refuse(h->path, "has more bins than 64 bits count");
	if (stat(d->path, &s) == 0 && s.st_size != bytes)
		return iso_refuse(d->path,
		                  "%" PRId64 " bytes, its header says %" PRId64
		                  " values of %d bytes, %" PRId64 " with what stands before them",
		                  (int64_t)s.st_size, b->n, d->element.size, bytes);
	return ISO_OK;
}
