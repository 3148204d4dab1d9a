/* SPDX-License-Identifier: BSD-3-Clause */
/* Norms as files: NAME.norm.json, and its arrays beside it. All come into their places together. */
#include "norm_own.h"

#include "core/size.h"
#include "file/npy.h"
#include "file/suffix.h"
#include "text/json_file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define SUFFIX ".norm.json"
#define FAR_MM .1 /* a crystal that lies farther off is of another scanner */
enum { VERSION = 1, SAMPLES = 64, FILES = 5 };

bool iso_norm_is(const char *path)
{
	return path && iso_has_suffix(path, SUFFIX);
}

/* ---- writing ---- */

/* dir/NAME.norm.json -> dir/NAME.WHAT.npy; `name`: the part behind the last slash. */
static int beside(char path[PATH_MAX], const char **name, const char *norm, const char *what)
{
	const int stem = (int)(strlen(norm) - strlen(SUFFIX));

	if (snprintf(path, PATH_MAX, "%.*s.%s.npy", stem, norm, what) >= PATH_MAX)
		return iso_fail(ISO_EARG, "%s: name is too long", norm);
	const char *slash = strrchr(path, '/');

	if (name) *name = slash ? slash + 1 : path;
	return ISO_OK;
}

static int write_array(struct iso_out *o, const char *path, const void *v, int64_t n, int size)
{
	char head[ISO_NPY_LEAD];
	const int lead = iso_npy_lead(head, 'f', size, 1, &n);
	int st = iso_out_open(o, path, lead + n * size, ISO_OUT_PLAIN);

	if (st || (st = iso_out_write(o, head, lead)) || (st = iso_out_write(o, v, n * size))) return st;
	return iso_out_close(o);
}

static json_t *numbers_of(const bool *which, int64_t n)
{
	json_t *list = json_array();

	for (int64_t a = 0; a < n; a++)
		if (which[a]) json_array_append_new(list, json_integer(a));
	return list;
}

static json_t *integers(const int64_t *v, int64_t n)
{
	json_t *list = json_array();

	for (int64_t i = 0; i < n; i++) json_array_append_new(list, json_integer(v[i]));
	return list;
}

static json_t *reals(const double *v, int n)
{
	json_t *list = json_array();

	for (int i = 0; i < n; i++)
		json_array_append_new(list, isfinite(v[i]) ? json_real(v[i]) : json_null());
	return list;
}

static json_t *scanner_json(const iso_norm *n)
{
	json_t *places = json_array();

	for (int j = 0; j < SAMPLES; j++)
		json_array_append_new(places, json_pack("[f, f, f]", (double)n->sample[j][0],
		                                        (double)n->sample[j][1], (double)n->sample[j][2]));
	return json_pack("{s:s, s:I, s:o}", "name", n->scanner, "crystals", (json_int_t)n->n, "sample_mm",
	                 places);
}

static void add_found(json_t *root, const struct iso_norm_found *f)
{
	json_object_set_new(root, "place_mm", reals(f->place_mm, f->places));
	json_object_set_new(root, "place_sd_mm", reals(f->place_sd, f->places));
	json_object_set_new(root, "counts", json_real(f->counts));
	json_object_set_new(root, "randoms", json_real(f->randoms));
	json_object_set_new(root, "scattered", json_real(f->scattered));
	json_object_set_new(root, "loglik", json_real(f->loglik));
	json_object_set_new(root, "steps", json_integer(f->steps));
	json_object_set_new(root, "products", json_integer(f->products));
	json_object_set_new(root, "parts", json_integer(f->parts));
	json_object_set_new(root, "exact_sd", json_boolean(f->exact));
	json_object_set_new(root, "mean_sd", json_real(f->mean_sd));
	json_object_set_new(root, "harmonics",
	                    json_pack("{s:o, s:o}", "gain", reals(f->gain, f->harmonics), "error",
	                              reals(f->error, f->harmonics)));
	if (f->chi2_sd > 0)
		json_object_set_new(root, "chi2",
		                    json_pack("{s:f, s:f, s:f}", "mean", f->chi2, "expected",
		                              f->chi2_expected, "sd", f->chi2_sd));
}

static json_t *norm_json(const iso_norm *n, const char *path, json_t *record)
{
	const struct norm_classes *c = &n->classes;
	json_t *root = record ? record : json_object();
	char file[PATH_MAX];
	const char *name = "";

	json_object_set_new(root, "version", json_integer(VERSION));
	json_object_set_new(root, "kind", json_string("norm"));
	json_object_set_new(root, "scanner", scanner_json(n));
	json_object_set_new(root, "pair_weight", json_string(c->rings > 0 ? "solid-angle" : "uniform"));
	if (!beside(file, &name, path, "crystals")) json_object_set_new(root, "crystals", json_string(name));
	if (!beside(file, &name, path, "sd")) json_object_set_new(root, "sd", json_string(name));
	if (c->transaxial && !beside(file, &name, path, "transaxial"))
		json_object_set_new(root, "transaxial",
		                    json_pack("{s:s, s:I, s:b, s:o}", "file", name, "block",
		                              (json_int_t)c->block, "mirror", c->mirror, "keys",
		                              integers(c->t_key, c->n_t)));
	if (c->axial && !beside(file, &name, path, "axial"))
		json_object_set_new(
			root, "axial",
			json_pack("{s:s, s:o}", "file", name, "keys", integers(c->z_key, c->n_z)));
	json_object_set_new(root, "dead", numbers_of(n->dead, n->n));
	json_object_set_new(root, "weak", numbers_of(n->weak, n->n));
	json_object_set_new(root, "relative", json_boolean(n->relative));
	add_found(root, &n->found);
	return root;
}

static int write_text(struct iso_out *o, const char *path, json_t *root)
{
	char *text = iso_json_text(root, JSON_INDENT(2));
	int st;

	if (!text) return iso_fail_memory(path, 1);
	if (!(st = iso_out_open(o, path, 0, ISO_OUT_PLAIN)) &&
	    !(st = iso_out_write(o, text, (int64_t)strlen(text))) && !(st = iso_out_write(o, "\n", 1)))
		st = iso_out_close(o);
	free(text);
	return st;
}

struct part {
	const char *what;
	const void *v;
	int64_t n;
	int size;
};

static int write_all(struct iso_out out[FILES], const char *path, const iso_norm *n, json_t *root, bool force)
{
	const struct norm_classes *c = &n->classes;
	float *eps = size_alloc(n->n, sizeof *eps);
	const struct part parts[] = { { "crystals", eps, n->n, 4 },
		                      { "sd", n->sd, n->n, 8 },
		                      { "transaxial", n->t, c->transaxial ? c->n_t : 0, 8 },
		                      { "axial", n->z, c->axial ? c->n_z : 0, 8 } };
	struct iso_out *in_order[FILES];
	char file[PATH_MAX];
	int files = 0, st = eps ? iso_out_check(path, NULL, force) : iso_fail_memory("norm", n->n * 4);

	for (int64_t a = 0; a < n->n && eps; a++) eps[a] = (float)n->eps[a];
	for (int i = 0; i < FILES - 1 && !st; i++) {
		if (parts[i].n == 0) continue;
		if (!(st = beside(file, NULL, path, parts[i].what)) &&
		    !(st = iso_out_check(file, path, force)))
			st = write_array(out + files, file, parts[i].v, parts[i].n, parts[i].size);
		in_order[files] = out + files;
		files++;
	}
	if (!st) st = write_text(out + files, path, root);
	in_order[files] = out + files;
	if (!st) st = iso_out_commit_all(files + 1, in_order);
	free(eps);
	return st;
}

int iso_norm_write(const char *path, const iso_norm *norm, const char *record, bool force)
{
	struct iso_out out[FILES] = { 0 };
	json_t *root = NULL;
	int st = ISO_OK;

	if (!path || !norm) return iso_fail_null(__func__);
	if (!iso_norm_is(path)) return iso_fail(ISO_EARG, "%s: a norm is written as NAME" SUFFIX, path);
	if (record && (st = iso_json_parse(&root, path, record, strlen(record)))) return st;
	root = norm_json(norm, path, root);
	if (!(st = root ? ISO_OK : iso_fail_memory(path, 1))) st = write_all(out, path, norm, root, force);
	for (int i = 0; i < FILES; i++) iso_out_free(out + i);
	json_decref(root);
	return st;
}

/* ---- reading ---- */

static int of_another(const char *path, const iso_scanner *s)
{
	return iso_refuse(path, "is a norm of another scanner than %s", s->name);
}

static int check_scanner(const char *path, const json_t *root, const iso_scanner *s)
{
	const json_t *own = json_object_get(root, "scanner"), *sample = json_object_get(own, "sample_mm");
	float expected[SAMPLES][3];

	if (json_integer_value(json_object_get(own, "crystals")) != s->n) {
		const int64_t n = json_integer_value(json_object_get(own, "crystals"));

		return iso_refuse(path, "is a norm of a scanner of %" PRId64 " crystals, %s has %" PRId64, n,
		                  s->name, s->n);
	}
	norm_sample(expected, s);
	for (size_t j = 0; j < SAMPLES; j++)
		for (size_t c = 0; c < 3; c++) {
			const json_t *v = json_array_get(json_array_get(sample, j), c);

			if (!json_is_number(v) ||
			    !(fabs(json_number_value(v) - (double)expected[j][c]) <= FAR_MM))
				return of_another(path, s);
		}
	return ISO_OK;
}

/* The array that `name` names, of n values that are finite and not negative. */
static int read_array(double *to, int64_t n, const char *norm, const json_t *name)
{
	char folder[PATH_MAX], path[PATH_MAX];
	double *v = NULL;
	int64_t rows = 0;
	int st;

	if (!json_is_string(name) || strchr(json_string_value(name), '/'))
		return iso_refuse(norm, "names no array where one was expected");
	if ((st = iso_out_folder(folder, sizeof folder, norm))) return st;
	if (snprintf(path, sizeof path, "%s/%s", folder, json_string_value(name)) >= (int)sizeof path)
		return iso_fail(ISO_EARG, "%s: name is too long", norm);
	if ((st = iso_table_read(&v, &rows, 1, path))) return st;
	if (rows != n) st = iso_refuse(path, "%" PRId64 " values, expected %" PRId64, rows, n);
	for (int64_t i = 0; i < n && !st; i++)
		if (!((to[i] = v[i]) >= 0))
			st = iso_refuse(path, "value %" PRId64 " is %g, must be 0 or above", i, v[i]);
	free(v);
	return st;
}

static int check_keys(const char *path, const json_t *keys, const int64_t *own, int64_t n)
{
	bool same = (int64_t)json_array_size(keys) == n;

	for (int64_t i = 0; i < n && same; i++)
		same = json_integer_value(json_array_get(keys, (size_t)i)) == own[i];
	return same ? ISO_OK : iso_refuse(path, "its classes of pairs are not those of the scanner");
}

static int read_values(iso_norm *n, const char *path, const json_t *root)
{
	const json_t *t = json_object_get(root, "transaxial"), *z = json_object_get(root, "axial");
	const json_t *dead = json_object_get(root, "dead");
	int st = read_array(n->eps, n->n, path, json_object_get(root, "crystals"));

	(void)dead;
	for (int64_t k = 0; k < n->classes.n_t; k++) n->t[k] = 1;
	for (int64_t l = 0; l < n->classes.n_z; l++) n->z[l] = 1;
	if (!st && t &&
	    !(st = check_keys(path, json_object_get(t, "keys"), n->classes.t_key, n->classes.n_t)))
		st = read_array(n->t, n->classes.n_t, path, json_object_get(t, "file"));
	if (!st && z &&
	    !(st = check_keys(path, json_object_get(z, "keys"), n->classes.z_key, n->classes.n_z)))
		st = read_array(n->z, n->classes.n_z, path, json_object_get(z, "file"));
	if (!st && json_object_get(root, "sd"))
		st = read_array(n->sd, n->n, path, json_object_get(root, "sd"));
	for (int64_t a = 0; a < n->n && !st; a++) {
		n->dead[a] = !(n->eps[a] > 0);
		n->values[a] = (iso_real)n->eps[a];
	}
	return st;
}

static int read_norm(iso_norm **norm, const char *path, const json_t *root, const iso_scanner *s)
{
	const json_t *t = json_object_get(root, "transaxial"), *mirror = json_object_get(t, "mirror");
	const struct iso_norm_fit p = { .scanner = s,
		                        .components = ISO_NORM_CRYSTAL | (t ? ISO_NORM_TRANSAXIAL : 0) |
		                                      (json_object_get(root, "axial") ? ISO_NORM_AXIAL : 0),
		                        .no_mirror = t && !json_is_true(mirror),
		                        .relative = json_is_true(json_object_get(root, "relative")) };
	iso_norm *n = calloc(1, sizeof *n);
	int st = n ? norm_prepare(n, &p) : iso_fail_memory("norm", sizeof *n);

	if (!st) st = read_values(n, path, root);
	if (st)
		iso_norm_free(n);
	else
		*norm = n;
	return st;
}

int iso_norm_read(iso_norm **norm, const char *path, const iso_scanner *s)
{
	json_t *root = NULL;
	const char *kind;
	int st;

	if (!norm || !path || !s) return iso_fail_null(__func__);
	if ((st = iso_json_read(&root, path))) return st;
	kind = json_string_value(json_object_get(root, "kind"));
	if (!kind || strcmp(kind, "norm") != 0)
		st = iso_refuse(path, "is no norm: its \"kind\" is %.20s, expected norm",
		                kind ? kind : "missing");
	else if (json_integer_value(json_object_get(root, "version")) != VERSION)
		st = iso_refuse(path, "is a norm of version %" PRId64 ", expected %d",
		                (int64_t)json_integer_value(json_object_get(root, "version")), VERSION);
	else if (!(st = check_scanner(path, root, s)))
		st = read_norm(norm, path, root, s);
	json_decref(root);
	return st;
}
