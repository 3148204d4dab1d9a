/* SPDX-License-Identifier: BSD-3-Clause */
/* The model that a file of data is of. */
#include "problem.h"

#include "io/events.h"
#include "io/kinds.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

struct told {
	const char *model, *parameter;
};

static const struct told ray = { "ray", "events" }, strip = { "strip", "events" }, srm = { "srm", "srm" },
			 ubp = { "ubp", "data" };

static int refuse(const char *path)
{
	struct stat s;
	int st = iso_has_suffix(path, ".npy") ? ISO_OK : iso_kind_no_data(ISO_EINPUT, path);

	if (st) return st;
	if (stat(path, &s) == 0 && S_ISDIR(s.st_mode))
		return iso_refuse(path, "a folder; give a file of measured data");
	return iso_refuse(path, "does not tell a model, as events, strip events, recordings of transducers "
	                        "and system matrices do; name the model");
}

/* Whether its first events can be read as those of strips; ISO_ENOMEM where that can't be told. */
static int are_strips(bool *are, const char *path)
{
	struct iso_strip_event v[16];
	struct iso_strip_events block = { .v = v };
	iso_strip_file *f = NULL;
	bool end = false;
	int st = iso_strip_file_open(&f, path, NULL, false);

	if (!st) st = iso_strip_file_next(&block, &end, f, 16, 0);
	iso_strip_file_close(f);
	*are = !st && block.n > block.n_bad;
	return st == ISO_ENOMEM ? st : ISO_OK;
}

/* Coincidences of GATE, or lines of three numbers. */
static int of_text(struct told *t, const char *path, const struct iso_kind *k)
{
	const struct iso_events_options o = { .size = sizeof o };
	bool gate = true, strips = false;
	int st = k->strips ? iso_events_in_text(&gate, path, &o) : ISO_OK;

	if (!st && !gate) st = are_strips(&strips, path);
	if (st) return st;
	if (!gate && !strips) return refuse(path);
	*t = gate ? ray : strip;
	return ISO_OK;
}

/* Rows with the ends of lines, or of crystal numbers; those of three numbers may be of either model. */
static int of_array(struct told *t, const char *path)
{
	struct iso_array head;
	iso_event_file *f = NULL;
	int st = iso_event_file_open(&f, path, NULL);

	iso_event_file_close(f);
	*t = ray;
	if (!st || st == ISO_ENOMEM) return st;
	if ((st = iso_peek(&head, path))) return st;
	if (head.n_dim == 2 && head.dim[1] == 2) return ISO_OK;
	if (head.n_dim == 2 && head.dim[1] == 3)
		return iso_refuse(path, "rows of 3 numbers are events of model strip, or crystal numbers "
		                        "with times of model ray; name the model");
	return refuse(path);
}

static int tell(struct told *t, const char *path)
{
	const struct iso_kind *k = iso_kind_found(path);
	bool rows = k && k->content == ISO_ARRAY_FILE && k->events && k->array;

	if (access(path, R_OK) != 0) return iso_fail(ISO_EINPUT, "%s: %s", path, strerror(errno));
	if (rows) return of_array(t, path);
	if (k && k->content == ISO_EVENTS_FILE && iso_events_only_whole(path)) return of_text(t, path, k);
	*t = ray;
	if (!k)
		return refuse(path);
	else if (k->content == ISO_STRIPS_FILE)
		*t = strip;
	else if (k->content == ISO_RECORDING_FILE)
		*t = ubp;
	else if (k->content == ISO_MATRIX_FILE)
		*t = srm;
	else if (k->content != ISO_EVENTS_FILE)
		return refuse(path);
	return ISO_OK;
}

int iso_problem_model_of(const char **model, const char **parameter, const char *path)
{
	struct told t = { 0 };
	int st;

	if (!model || !parameter || !path) return iso_fail_null(__func__);
	if ((st = tell(&t, path))) return st;
	*model = t.model;
	*parameter = t.parameter;
	return ISO_OK;
}

int iso_problem_open(iso_problem **p, iso_ctx *ctx, const char *path)
{
	const char *model, *parameter;
	iso_problem *made = NULL;
	int st;

	if (!p || !ctx || !path) return iso_fail_null(__func__);
	if ((st = iso_problem_model_of(&model, &parameter, path))) return st;
	if ((st = iso_problem_create(&made, ctx, model))) return st;
	if ((st = iso_problem_set(made, parameter, path)))
		iso_problem_free(made);
	else
		*p = made;
	return st;
}
