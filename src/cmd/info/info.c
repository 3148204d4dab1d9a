/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome info: what a file is, for people or as JSON. */
#include "cmd/cmd.h"
#include "describe.h"
#include "problem/inputs.h"

static const struct opt_usage usage = {
	"info",
	"Say what files hold: kind, sizes, grid, unit, statistics, and what looks wrong.",
	"  isotome info image.nii\n"
	"  isotome info scan.lmdT scanner.yaml\n"
	"  isotome info scan.Cdh --scanner scanner.yaml\n"
	"  isotome info Scan_9.msot\n"
	"  isotome info scan.Cdh --plot scanner.png\n"
	"  isotome info --json image.nii\n",
};

static void print_value(const json_t *v)
{
	const char *key, *between = "";
	json_t *part;
	size_t i;

	json_array_foreach ((json_t *)v, i, part) {
		fputs(i ? ", " : "", stdout);
		print_value(part);
	}
	json_object_foreach ((json_t *)v, key, part) {
		fputs(between, stdout);
		term_put(stdout, key);
		putchar(' ');
		print_value(part);
		between = "; ";
	}
	if (json_is_string(v))
		term_put(stdout, json_string_value(v));
	else if (json_is_integer(v))
		printf("%" JSON_INTEGER_FORMAT, json_integer_value(v));
	else if (json_is_real(v))
		printf("%.7g", json_real_value(v));
	else if (json_is_boolean(v))
		fputs(json_is_true(v) ? "yes" : "no", stdout);
	else if (json_is_null(v) || (json_is_array(v) && json_array_size(v) == 0))
		fputs("none", stdout);
}

/* "voxel_mm" reads "voxel mm" */
static void print_key(const char *key)
{
	int n = 0;

	printf("  ");
	for (; key[n]; n++) putchar(key[n] == '_' ? ' ' : key[n]);
	printf("%*s", n < 18 ? 18 - n : 1, "");
}

static void print_text(const json_t *o, const char *path)
{
	const char *key;
	json_t *v;
	size_t i;

	term_put(stdout, path);
	printf(": %s\n", json_string_value(json_object_get(o, "kind")));
	json_object_foreach ((json_t *)o, key, v) {
		if (!strcmp(key, "file") || !strcmp(key, "kind") || !strcmp(key, "warnings")) continue;
		print_key(key);
		print_value(v);
		putchar('\n');
	}
	json_array_foreach (json_object_get(o, "warnings"), i, v) {
		printf("  warning: ");
		print_value(v);
		putchar('\n');
	}
}

/* Failures do not keep the other files from being described: all but the last are printed here, and the
   command ends with the first one's status. */
static int describe_all(const struct opt_list *files, bool json, const struct iso_events_options *how)
{
	json_t *all = json_array();
	int first = ISO_OK;
	char last[1024];

	for (int i = 0; i < files->n; i++) {
		json_t *o = NULL;
		int st = describe(&o, files->v[i], how);

		if (st && first) fprintf(stderr, "isotome info: %s\n", last);
		if (st) snprintf(last, sizeof last, "%s", iso_message());
		if (!first) first = st;
		if (!json && o) print_text(o, files->v[i]);
		if (!o)
			o = json_pack("{s:o*, s:o*}", "file", record_string(files->v[i]), "error",
			              record_string(iso_message()));
		json_array_append_new(all, o);
	}
	if (json && json_dumpf(all, stdout, JSON_INDENT(2)) == 0) putchar('\n');
	json_decref(all);
	return first ? iso_fail(first, "%s", last) : CMD_DONE;
}

int main_info(int argc, char **argv)
{
	struct opt_list files = { 0 };
	struct iso_events_options how = { .size = sizeof how, .moving = true };
	const char *scanner = NULL, *plot = NULL;
	struct cmd c = { 0 };
	struct opt own[] = {
		{ 0, "files", .rest = &files, .file = OPT_MAY_READ, .value = "FILE", .positional = true,
		  .required = true,
		  .help = "arrays and images (.npy, .nii, .nii.gz, .v, .raw), events (.lmdT, .Cdh, "
		          ".dat, .txt, of strips .f32), descriptions of scanners and phantoms (.yaml, .json, "
		          ".hscan, .geom), recordings of transducers (.hdf5, .h5, .msot), system matrices "
		          "(.srm), tables of poses (.csv), CT and PET series in DICOM (a folder, or a file "
		          "of it), records (.json)" },
		EVENTS_SCANNER_OPT(scanner),
		EVENTS_OPTS(how),
		{ 0, "plot", .text = &plot, .file = OPT_WRITES, .value = "FILE",
		  .help = "draw the crystals of a scanner, or of one file of events with lines of "
		          "its events, as a picture (.png)" },
		{ 0, "force", .flag = &c.force, .transient = true, .help = "replace an existing picture" },
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own }, cmd_common(&c, 0), { 0 } };
	iso_scanner *s = NULL;
	int st = cmd_parse(&c, &usage, sets, argc, argv);

	if (!st && plot && files.n != 1)
		st = iso_fail(ISO_EARG, "--plot draws one file, %d were given", files.n);
	if (!st && plot) st = iso_picture_write_check(plot, c.force);
	if (!st && scanner) st = iso_scanner_read(&s, scanner);
	how.scanner = s;
	if (!st) st = describe_all(&files, c.json, &how);
	if (st == CMD_DONE && plot) st = plot_file(plot, files.v[0], &how);
	iso_scanner_free(s);
	return cmd_end(&c, st);
}
