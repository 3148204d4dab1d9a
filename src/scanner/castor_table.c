/* SPDX-License-Identifier: BSD-3-Clause */
/* Crystals of a CASToR scanner, from its table or its geometry.

   The ends of lines lie `mean depth of interaction` below the inner face, where that is not negative, else in the
   middle. CASToR's axes are left-handed: z is mirrored. */
#include "castor_table.h"
#include "core/size.h"
#include "file/suffix.h"

#define OUTWARDS \
	.9 /* cosine between a crystal's direction and the radius, and share of crystals that must have it */

int iso_castor_table_head(iso_scanner *s, struct castor_table *t, const struct iso_keys *k)
{
	const char *modality, *name = iso_keys_find(k, "scanner name");
	double angle = 0;
	int st = iso_keys_need(&modality, k, "modality");

	if (st || (st = iso_keys_int(&t->n, k, "number of elements", 2, SCANNER_MAX)) ||
	    (st = iso_keys_real(&angle, k, "min angle difference", -1, 180)))
		return st;
	if (!iso_same_word(modality, "PET"))
		return iso_fail(ISO_EINPUT, "%s: modality is '%.60s', must be PET", k->path, modality);
	if (t->n == 0) return iso_fail(ISO_EINPUT, "%s: key 'number of elements' is missing", k->path);
	iso_scanner_set_name(s, name ? name : k->path, strlen(name ? name : k->path));
	s->kind = ISO_DETECTORS;
	s->pairs.min_angle = fmax(angle, 0) * M_PI / 180;
	s->pairs.cos_min_angle = cos(s->pairs.min_angle);
	return ISO_OK;
}

void iso_castor_note(iso_scanner *s, const char *fmt, ...)
{
	size_t n = strlen(s->note);
	va_list ap;

	if (n && n + 3 < sizeof s->note) {
		memcpy(s->note + n, "; ", 3);
		n += 2;
	}
	va_start(ap, fmt);
	iso_vsnprintf(s->note + n, sizeof s->note - n, fmt, ap);
	va_end(ap);
}

int iso_castor_table_room(iso_scanner *s, const struct castor_table *t, const char *path)
{
	s->n = t->n;
	s->pos = size_alloc(s->n, 3 * sizeof *s->pos);
	s->face = size_alloc(s->n, sizeof *s->face);
	if (s->pos && s->face) return ISO_OK;
	return iso_fail_memory(path, s->n * (int64_t)(3 * sizeof *s->pos + sizeof *s->face));
}

/* Where the end of a line lies below the inner face. */
static double end_depth(const struct castor_table *t, int layer)
{
	double middle = t->size[layer][2] / 2;

	return t->size[layer][2] > 0 && t->depth[layer] >= 0 ? t->depth[layer] : middle;
}

/* Without the size of a crystal it is not known where its face is: then depths have no meaning. */
static bool sizes_known(const struct castor_table *t)
{
	for (int i = 0; i < t->layers; i++)
		if (!(t->size[i][2] > 0)) return false;
	return true;
}

static int check_depths(bool *any, iso_scanner *s, const struct castor_table *t, const char *path)
{
	bool lost = false;

	*any = false;
	for (int i = 0; i < t->layers; i++) {
		double shift = end_depth(t, i) - t->size[i][2] / 2;

		lost = lost || (t->depth[i] >= 0 && !(t->size[i][2] > 0));
		if (!(fabs(shift) <= 1e4))
			return iso_fail(ISO_EINPUT,
			                "%s: mean depth of interaction %g mm in crystals of %g mm", path,
			                t->depth[i], t->size[i][2]);
		*any = *any || shift != 0;
	}
	if (lost) iso_castor_note(s, "'mean depth of interaction' is not used without 'crystals size depth'");
	return ISO_OK;
}

/* Tables exist whose directions have x and y exchanged: those are of no use. */
static bool mostly_outwards(const iso_scanner *s)
{
	int64_t good = 0;

	for (int64_t i = 0; i < s->n; i++) {
		const double *p = s->pos + 3 * i;
		const float *u = s->face[i].outward;

		good += p[0] * (double)u[0] + p[1] * (double)u[1] > OUTWARDS * hypot(p[0], p[1]);
	}
	return (double)good >= OUTWARDS * (double)s->n;
}

static void make_radial(iso_scanner *s)
{
	for (int64_t i = 0; i < s->n; i++) {
		double x = s->pos[3 * i], y = s->pos[3 * i + 1], r = hypot(x, y);
		float *u = s->face[i].outward;

		u[0] = r > 0 ? (float)(x / r) : 1;
		u[1] = r > 0 ? (float)(y / r) : 0;
		u[2] = 0;
	}
}

/* One size for all layers: the depth is the least of them. Sizes across that differ are no one size. */
static void take_size(iso_scanner *s, const struct castor_table *t)
{
	double size[3] = { t->size[0][0], t->size[0][1], t->size[0][2] };

	for (int i = 0; i < t->layers; i++) {
		if (t->size[i][0] != size[0] || t->size[i][1] != size[1]) return;
		size[2] = fmin(size[2], t->size[i][2]);
	}
	if (size[0] > 0 && size[1] > 0 && size[2] > 0) memcpy(s->crystal_mm, size, sizeof size);
}

static int place_ends(iso_scanner *s, const struct castor_table *t, const char *path)
{
	int64_t next = t->crystals[0];
	int layer = 0;

	for (int64_t i = 0; i < s->n; i++) {
		double *p = s->pos + 3 * i;
		struct iso_face *f = s->face + i;

		while (i >= next && layer + 1 < t->layers) next += t->crystals[++layer];
		f->depth = (float)end_depth(t, layer);
		for (int a = 0; a < 3; a++) {
			p[a] += (end_depth(t, layer) - t->size[layer][2] / 2) * (double)f->outward[a];
			if (!(fabs(p[a]) <= 1e5))
				return iso_fail(ISO_EINPUT,
				                "%s: crystal %" PRId64
				                " is at %g mm, not a place in a scanner",
				                path, i, p[a]);
		}
		p[2] = 0 - p[2];
		f->outward[2] = 0 - f->outward[2];
	}
	return ISO_OK;
}

int iso_castor_table_finish(iso_scanner *s, const struct castor_table *t, const char *path)
{
	bool depths;
	int st = check_depths(&depths, s, t, path);

	if (st) return st;
	s->radial = !mostly_outwards(s);
	if (s->radial) make_radial(s);
	if (s->radial && depths)
		iso_castor_note(s, "directions of crystals are not away from the axis: depths are taken "
		                   "along the radius");
	take_size(s, t);
	if ((st = place_ends(s, t, path))) return st;
	if (!sizes_known(t)) {
		free(s->face);
		s->face = NULL;
	}
	return iso_detectors_finish(s);
}
