/* SPDX-License-Identifier: BSD-3-Clause */
/* The strips of a barrel, from groups of modules and from files that list them. */
#include "barrel.h"
#include "core/size.h"
#include "text/table_text.h"

#include <limits.h>

#define DEGREE (M_PI / 180)

/* All strips so far, by number; those that nobody has described yet have no width. */
struct strips {
	struct iso_barrel_strip *v; /* BARREL_MOST + 1 of them */
	int64_t next;               /* number of the next strip of a group */
	int64_t least, n;           /* least number, and how many there are */
};

struct size {
	double width, depth, length, z;
};

static int put(struct strips *to, int64_t number, const struct iso_barrel_strip *s,
               const struct conf_node *at)
{
	if (number < 0 || number > BARREL_MOST)
		return iso_conf_fail(at, "strip number %" PRId64 ", must be 0 to %d", number, BARREL_MOST);
	if (to->v[number].width > 0) return iso_conf_fail(at, "strip %" PRId64 " is described twice", number);
	to->v[number] = *s;
	if (to->n == 0 || number < to->least) to->least = number;
	if (number >= to->next) to->next = number + 1;
	to->n++;
	return ISO_OK;
}

/* ---- modules ---- */

struct modules {
	int64_t modules, strips;
	double pitch, radius, angle;
};

static int put_modules(struct strips *to, const struct modules *m, const struct size *size,
                       const struct conf_node *at)
{
	int64_t first = to->next;
	int st = ISO_OK;

	for (int64_t i = 0; i < m->modules * m->strips && !st; i++) {
		double phi = m->angle * DEGREE + 2 * M_PI * (double)(i / m->strips) / (double)m->modules;
		double off = ((double)(i % m->strips) - (double)(m->strips - 1) / 2) * m->pitch;
		struct iso_barrel_strip s = { m->radius * cos(phi) - off * sin(phi),
			                      m->radius * sin(phi) + off * cos(phi),
			                      size->z,
			                      phi,
			                      size->width,
			                      size->depth,
			                      size->length };

		st = put(to, first + i, &s, at);
	}
	return st;
}

/* ---- files ---- */

/* A line: number x y [angle_deg] [z]. */
static int put_line(struct strips *to, struct table_value line, const struct size *size,
                    const struct conf_node *at, const char *path, int64_t number)
{
	enum { MOST = 5 };
	struct table_value word[MOST];
	double v[MOST] = { 0 };
	int n = table_split(word, MOST, line);

	for (int k = 0; k < n && k < MOST; k++)
		if (!table_number(v + k, word[k]) || !isfinite(v[k])) n = 0;
	if (n < 3 || n > MOST || v[0] != floor(v[0]) || fabs(v[0]) > BARREL_MOST)
		return iso_fail(ISO_EINPUT,
		                "%s:%" PRId64 ": '%.*s', expected number x y [angle_deg] [z] of a strip",
		                path, number, line.length, line.begin);
	struct iso_barrel_strip s = { v[1],
		                      v[2],
		                      n > 4 ? v[4] : size->z,
		                      n > 3 ? v[3] * DEGREE : atan2(v[2], v[1]),
		                      size->width,
		                      size->depth,
		                      size->length };

	return put(to, (int64_t)v[0], &s, at);
}

static int put_file(struct strips *to, const char *name, const struct size *size,
                    const struct conf_node *root, const struct conf_node *at)
{
	struct table_lines lines = { 0 };
	struct table_value line;
	char path[PATH_MAX];
	bool more = true;
	int64_t before = to->n;
	int st;

	if ((st = iso_conf_file(path, sizeof path, root, name))) return st;
	st = table_lines_open(&lines, path);
	while (!st && !(st = table_lines_next(&more, &line, &lines)) && more)
		if (line.length > 0 && line.begin[0] != '#')
			st = put_line(to, line, size, at, path, lines.number);
	table_lines_close(&lines);
	if (!st && to->n == before) return iso_fail(ISO_EINPUT, "%s: lists no strips", path);
	return st;
}

/* ---- a group ---- */

static int read_group(struct strips *to, const struct conf_node *root, const struct conf_node *node)
{
	static const char *const own[] = { "modules", "strips", "pitch_mm", "radius_mm", "angle_deg" };
	struct modules m = { .strips = 1 };
	struct size size = { 0 };
	const char *file = NULL;
	const struct conf_key keys[] = {
		/* Across the depth. */
		{ "width_mm", CONF_REAL, &size.width, 1, 1e-3, 1e4, true },
		/* Size of a strip away from the axis. */
		{ "depth_mm", CONF_REAL, &size.depth, 1, 1e-3, 1e4, true },
		/* Size of a strip along z. */
		{ "length_mm", CONF_REAL, &size.length, 1, 1e-3, 1e5, true },
		/* Middle of the strips. Default 0. */
		{ "z_mm", CONF_REAL, &size.z, 1, -1e5, 1e5, false },
		/* Modules around the axis; or file. */
		{ "modules", CONF_INT, &m.modules, 1, 1, BARREL_MOST, false },
		/* Strips of a module, side by side. Default 1: a ring. */
		{ "strips", CONF_INT, &m.strips, 1, 1, BARREL_MOST, false },
		/* From strip to strip of a module. */
		{ "pitch_mm", CONF_REAL, &m.pitch, 1, 1e-3, 1e4, false },
		/* From the axis to the middle of a module's strips. */
		{ "radius_mm", CONF_REAL, &m.radius, 1, 1e-3, 1e5, false },
		/* Where the first module stands, from x towards y. Default 0. */
		{ "angle_deg", CONF_REAL, &m.angle, 1, -360, 360, false },
		/* Text beside the description, a line a strip: number x y [angle_deg] [z]. */
		{ "file", CONF_TEXT, &file, 1, 0, 0, false },
		{ .name = NULL },
	};
	int st = node->type == CONF_MAP ? iso_conf_keys(node, keys)
	                                : iso_conf_fail(node, "a group of strips is a map of keys");

	if (st) return st;
	if (file) {
		for (int i = 0; i < 5; i++)
			if (iso_conf_find(node, own[i]))
				return iso_conf_fail(node, "%s does not go with file, which lists places",
				                     own[i]);
		return put_file(to, file, &size, root, node);
	}
	if (m.modules < 1 || !(m.radius > 0) || (m.strips > 1 && !(m.pitch > 0)))
		return iso_conf_fail(node,
		                     "a group of strips needs modules and radius_mm (and pitch_mm for more "
		                     "than one strip a module), or file");
	if (m.modules * m.strips > BARREL_MOST)
		return iso_conf_fail(node, "%" PRId64 " x %" PRId64 " strips, at most %d", m.modules,
		                     m.strips, BARREL_MOST);
	return put_modules(to, &m, &size, node);
}

int iso_barrel_read_strips(struct iso_barrel *b, const struct conf_node *root, const struct conf_node *node)
{
	struct strips all = { .v = size_alloc(BARREL_MOST + 1, sizeof *all.v) };
	int st = ISO_OK;

	if (!all.v) return iso_fail_memory("strips", (BARREL_MOST + 1) * (int64_t)sizeof *all.v);
	if (node->type != CONF_LIST || !node->child) st = iso_conf_fail(node, "strips is a list of groups");
	for (const struct conf_node *g = node->child; g && !st; g = g->next) st = read_group(&all, root, g);
	if (!st && (all.least > 1 || all.next - all.least != all.n))
		st = iso_conf_fail(node,
		                   "%" PRId64 " strips have numbers from %" PRId64 " to %" PRId64
		                   ", must be all numbers from 0 or 1 on",
		                   all.n, all.least, all.next - 1);
	if (!st) {
		memmove(all.v, all.v + all.least, (size_t)all.n * sizeof *all.v);
		b->strip = all.v;
		b->n = all.n;
		b->first = all.least;
		return ISO_OK;
	}
	free(all.v);
	return st;
}
