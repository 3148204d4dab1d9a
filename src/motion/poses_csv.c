/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of poses as text, of two kinds that the first line tells apart. Isotome's own has names of columns:

	# isotome poses 1
	# rule: step                            linear where nothing is said
	time_s,qw,qx,qy,qz,x_mm,y_mm,z_mm

   in any order; r00 to r22 may stand for the quaternion, angle_deg for either; columns that are missing are 0. YRT-PET's motion
   file has 14 numbers a line: time in ms, the rows of a 3 x 4 matrix that takes ends of lines from the scanner to the object,
   which is our inverse, and an error that is not used. Its rows hold until the next; before the first is the identity. */
#include "poses.h"
#include "text/table_text.h"

#include <math.h>
#include <string.h>

enum { YRT_COLUMNS = 14 };

struct text {
	struct poses_make *m;
	enum iso_pose_rule rule;
	int64_t comment; /* number of the first line that is a comment; 0: none */
	enum poses_column is[POSES_COLUMNS_MOST];
	int columns; /* 0: the first line is still to come */
	bool yrt;
};

static bool begins(struct table_value v, const char *with)
{
	size_t n = strlen(with);

	return (size_t)v.length >= n && memcmp(v.begin, with, n) == 0;
}

/* What follows `head` in a comment, without blanks around it. */
static struct table_value behind(struct table_value line, const char *head)
{
	struct table_value v = { line.begin + strlen(head), line.length - (int)strlen(head) };

	for (; v.length > 0 && *v.begin == ' '; v.length--) v.begin++;
	return v;
}

static int take_comment(struct text *t, struct table_value line, int64_t number)
{
	const char *version = "# isotome poses", *rule = "# rule:";

	if (!t->comment) t->comment = number;
	if (t->yrt) return ISO_OK;
	if (begins(line, version)) {
		struct table_value v = behind(line, version);

		if (v.length == 1 && *v.begin == '1') return ISO_OK;
		return iso_refuse(t->m->name,
		                  "line %" PRId64 ": version '%.*s' of tables of poses, known is 1", number,
		                  v.length < 20 ? v.length : 20, v.begin);
	}
	if (!begins(line, rule)) return ISO_OK;

	struct table_value v = behind(line, rule);

	if (v.length == 4 && begins(v, "step"))
		t->rule = ISO_POSE_STEP;
	else if (v.length == 6 && begins(v, "linear"))
		t->rule = ISO_POSE_LINEAR;
	else
		return iso_refuse(t->m->name, "line %" PRId64 ": rule '%.*s', must be linear or step", number,
		                  v.length < 30 ? v.length : 30, v.begin);
	return ISO_OK;
}

static int take_names(struct text *t, const struct table_value *v, int n, int64_t number)
{
	struct poses_make *m = t->m;

	if (n > POSES_COLUMNS_MOST)
		return iso_refuse(m->name, "line %" PRId64 ": %d columns, at most %d are read", number, n,
		                  POSES_COLUMNS_MOST);
	for (int i = 0; i < n; i++) {
		enum poses_column c = poses_column_of(v[i].begin, (size_t)v[i].length);

		if (c == POSES_COLUMNS)
			return iso_refuse(
				m->name,
				"line %" PRId64 ", column %d: '%.*s' is no column of a table of poses: "
				"time_s, qw, qx, qy, qz (or r00 to r22, or angle_deg), x_mm, y_mm, z_mm",
				number, i + 1, v[i].length < 30 ? v[i].length : 30, v[i].begin);
		if (m->at[c] >= 0)
			return iso_refuse(m->name, "line %" PRId64 ", column %d: %s stands again", number,
			                  i + 1, poses_names[c]);
		m->at[c] = i;
		t->is[i] = c;
	}
	t->columns = n;
	return poses_make_columns(m);
}

/* t ms, r00, r01, r02, tx, r10, .., tz, e */
static int take_yrt(struct text *t)
{
	const enum poses_column *is = poses_columns_of(13);
	struct poses_make *m = t->m;
	int st;

	if (t->comment)
		return iso_refuse(m->name,
		                  "line %" PRId64
		                  ": a comment, YRT-PET's motion files have only lines of %d numbers",
		                  t->comment, YRT_COLUMNS);
	if (m->o.inverse)
		return iso_refuse(m->name,
		                  "rows of YRT-PET's motion files are inverse already: leave out 'inverse'");
	t->yrt = m->o.inverse = true;
	t->rule = ISO_POSE_STEP;
	t->columns = YRT_COLUMNS;
	for (int k = 0; k < 13; k++) m->at[t->is[k] = is[k]] = k;
	t->is[13] = POSES_COLUMNS;
	if ((st = poses_make_columns(m))) return st;
	return poses_make_before(m);
}

static int take_first(struct text *t, const struct table_value *v, int n, int64_t number)
{
	double x;
	int numbers = 0;

	for (int i = 0; i < n && i < POSES_COLUMNS_MOST; i++) numbers += table_number(&x, v[i]);
	if (numbers < n) return take_names(t, v, n, number);
	if (n == YRT_COLUMNS) return take_yrt(t);
	return iso_refuse(t->m->name,
	                  "line %" PRId64
	                  ": %d numbers, expected are the names of columns, or %d numbers a line as "
	                  "YRT-PET writes",
	                  number, n, YRT_COLUMNS);
}

static int take_row(struct text *t, const struct table_value *text, int n, int64_t number)
{
	double v[POSES_COLUMNS + 1];

	if (n != t->columns)
		return iso_refuse(t->m->name, "line %" PRId64 ": %d columns, expected %d", number, n,
		                  t->columns);
	for (int i = 0; i < n; i++)
		if (!table_number(&v[t->is[i]], text[i]) || (t->yrt && isnan(v[t->is[i]])))
			return iso_refuse(
				t->m->name, "line %" PRId64 ", column %d%s%s%s: '%.*s' is not a number",
				number, i + 1, t->yrt ? "" : " (", t->yrt ? "" : poses_names[t->is[i]],
				t->yrt ? "" : ")", text[i].length < 30 ? text[i].length : 30, text[i].begin);
	if (t->yrt) v[POSES_TIME] /= 1000;
	return poses_make_row(t->m, number, v);
}

static int take_line(struct text *t, struct table_value line, int64_t number)
{
	struct table_value v[POSES_COLUMNS_MOST];
	int st = ISO_OK, n;

	if (line.length == 0) return ISO_OK;
	if (*line.begin == '#' && !t->yrt) return take_comment(t, line, number);
	n = table_split(v, POSES_COLUMNS_MOST, line);
	if (!t->columns && ((st = take_first(t, v, n, number)) || !t->yrt)) return st;
	return take_row(t, v, n, number);
}

int poses_text_read(struct poses_make *m, enum iso_pose_rule *rule, const char *path)
{
	struct text t = { .m = m };
	struct table_lines l;
	struct table_value line;
	bool more = true;
	int st = table_lines_open(&l, path);

	if (st) return st;
	while (!st && more)
		if (!(st = table_lines_next(&more, &line, &l)) && more) st = take_line(&t, line, l.number);
	table_lines_close(&l);
	if (!st && !t.columns) st = iso_refuse(path, "has no row, a table of poses needs at least one");
	*rule = t.rule;
	return st;
}
