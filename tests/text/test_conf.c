/* SPDX-License-Identifier: BSD-3-Clause */
/* Description files: what is read, what is refused, and in which words. */
#include "text/conf.h"
#include "text/nearest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int parse(struct conf_node **root, const char *name, const char *text)
{
	return iso_conf_parse(root, name, text, strlen(text));
}

struct values {
	double real, three[3];
	int64_t whole, pair[2];
	const char *text;
	bool yes;
	const struct conf_node *node;
};

static int read_values(struct values *v, const struct conf_node *root)
{
	const struct conf_key keys[] = {
		{ "radius_mm", CONF_REAL, &v->real, 1, .001, 1e5, true },
		{ "size_mm", CONF_REALS, v->three, 3, -10, 10, false },
		{ "rings", CONF_INT, &v->whole, 1, 1, 1000, false },
		{ "crystals", CONF_INTS, v->pair, 2, 0, 1e18, false },
		{ "name", CONF_TEXT, &v->text, 1, 0, 0, false },
		{ "flat", CONF_BOOL, &v->yes, 1, 0, 0, false },
		{ "block", CONF_NODE, &v->node, 1, 0, 0, false },
		{ .name = NULL },
	};

	return iso_conf_keys(root, keys);
}

static const char all_yaml[] = "# every kind of value\n"
			       "radius_mm: 1e-3\n"
			       "size_mm: [1, -2.5, +.5]\n"
			       "rings: 4e1\n"
			       "crystals:\n"
			       "  - 3\n"
			       "  - 4\n"
			       "name: no\n"
			       "flat: true\n"
			       "block: {gap: 1}\n";

static void check_all(const char *name, const char *text)
{
	struct conf_node *root = NULL;
	struct values v = { 0 };

	assert_int_equal(parse(&root, name, text), ISO_OK);
	assert_int_equal(root->n_child, 7);
	assert_int_equal(read_values(&v, root), ISO_OK);
	assert_true(v.real == 1e-3);
	assert_true(v.three[0] == 1 && v.three[1] == -2.5 && v.three[2] == .5);
	assert_int_equal(v.whole, 40);
	assert_true(v.pair[0] == 3 && v.pair[1] == 4);
	assert_string_equal(v.text, "no");
	assert_true(v.yes);
	assert_ptr_equal(v.node, iso_conf_find(root, "block"));
	assert_string_equal(v.node->child->key, "gap");
	assert_ptr_equal(v.node->child->file, root->file);
	iso_conf_free(root);
}

static void yaml_values(void **state)
{
	(void)state;
	check_all("all.yaml", all_yaml);
}

static void json_values(void **state)
{
	(void)state;
	check_all("all.json", "{\"radius_mm\": 0.001, \"size_mm\": [1, -2.5, 0.5],\n"
	                      "\t\"rings\":40,\"crystals\": [3, 4], \"name\": \"no\", \"flat\": true,\n"
	                      " \"block\": {\"gap\": 1}}\n");
}

static void lines_are_known(void **state)
{
	struct conf_node *root = NULL;

	(void)state;
	assert_int_equal(parse(&root, "all.yaml", all_yaml), ISO_OK);
	assert_int_equal(iso_conf_find(root, "radius_mm")->line, 2);
	assert_int_equal(iso_conf_find(root, "crystals")->line, 5);
	assert_int_equal(iso_conf_find(root, "crystals")->child->next->line, 7);
	assert_null(iso_conf_find(root, "gap"));
	iso_conf_free(root);
}

struct refused {
	const char *text, *message;
};

static void check_refused(const char *name, const struct refused *r)
{
	struct conf_node *root = NULL;
	struct values v = { 0 };
	int st = parse(&root, name, r->text);

	if (!st) st = read_values(&v, root);
	if (st != ISO_EINPUT) print_error("not refused: %s\n", r->text);
	assert_int_equal(st, ISO_EINPUT);
	assert_string_equal(iso_message(), r->message);
	iso_conf_free(root);
}

static void refused_keys(void **state)
{
	static const struct refused table[] = {
		{ "rings: 2", "ring.yaml: key 'radius_mm' is missing" },
		{ "rings: 2\n\nradus_mm: 3",
		  "ring.yaml:3: unknown key 'radus_mm'; did you mean 'radius_mm'?" },
		{ "rings: 2\nblokc:\n  a: 1", "ring.yaml:2: unknown key 'blokc'; did you mean 'block'?" },
		{ "zzz: 2", "ring.yaml:1: unknown key 'zzz'; known keys: radius_mm, size_mm, "
		            "rings, crystals, name, flat, block" },
		{ "#\nradius_mm: -3", "ring.yaml:2: radius_mm is -3, must be in [0.001, 100000]" },
		{ "radius_mm: 3mm", "ring.yaml:1: radius_mm is '3mm', must be a number" },
		{ "radius_mm: 0x10", "ring.yaml:1: radius_mm is '0x10', must be a number" },
		{ "radius_mm: .nan", "ring.yaml:1: radius_mm is '.nan', must be a number" },
		{ "radius_mm: inf", "ring.yaml:1: radius_mm is 'inf', must be a number" },
		{ "radius_mm: 1e999", "ring.yaml:1: radius_mm is '1e999', must be a number" },
		{ "radius_mm:", "ring.yaml:1: radius_mm is '', must be a number" },
		{ "radius_mm: \"3\"", "ring.yaml:1: radius_mm is \"3\", must be a number, without quotes" },
		{ "radius_mm: [3]", "ring.yaml:1: radius_mm is a list, must be a number" },
		{ "radius_mm: {a: 3}", "ring.yaml:1: radius_mm is a map, must be a number" },
		{ "rings: 2.5", "ring.yaml:1: rings is 2.5, must be a whole number" },
		{ "crystals: [1, 1e17]", "ring.yaml:1: crystals is 1e17, must be a whole number" },
		{ "size_mm: 3", "ring.yaml:1: size_mm is a single value, must be a list of 3 numbers" },
		{ "size_mm: [1, 2]", "ring.yaml:1: size_mm has 2 values, must have 3" },
		{ "size_mm:\n- 1\n- 2\n- 11", "ring.yaml:4: size_mm is 11, must be in [-10, 10]" },
		{ "name: [a]", "ring.yaml:1: name is a list, must be a text" },
		{ "flat: yes", "ring.yaml:1: flat must be true or false" },
		{ "flat: \"true\"", "ring.yaml:1: flat must be true or false" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) check_refused("ring.yaml", &table[i]);
}

static void refused_yaml(void **state)
{
	static const struct refused table[] = {
		{ "", "x.yaml: is empty, must hold a map of keys" },
		{ "# nothing\n", "x.yaml: is empty, must hold a map of keys" },
		{ "- 1", "x.yaml:1: the file must hold a map of keys (key: value)" },
		{ "radius", "x.yaml:1: the file must hold a map of keys (key: value)" },
		{ "a: &x 1", "x.yaml:1: anchors (&name) are not supported" },
		{ "&x a: 1", "x.yaml:1: anchors (&name) are not supported" },
		{ "a: &x [1]\nb: *x", "x.yaml:1: anchors (&name) are not supported" },
		{ "a: *x", "x.yaml:1: aliases (*name) are not supported" },
		{ "a: !!float 1", "x.yaml:1: tags (!name) are not supported" },
		{ "a:\n  - !t {}", "x.yaml:2: tags (!name) are not supported" },
		{ "!t a: 1", "x.yaml:1: tags (!name) are not supported" },
		{ "a: 1\nb: 2\na: 3", "x.yaml:3: key 'a' stands again, first on line 1" },
		{ "a: 1\n---\nb: 2", "x.yaml:2: a second document begins" },
		{ "[a]: 1", "x.yaml:1: a key must be a text, not a list or a map" },
		{ "a: \"\\0\"", "x.yaml:1: a text holds the character NUL" },
		{ "a: [1", "x.yaml:2: did not find expected ',' or ']'" },
		{ "a: \xff", "x.yaml: byte 3: invalid leading UTF-8 octet" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) check_refused("x.yaml", &table[i]);
}

static void refused_json(void **state)
{
	static const struct refused table[] = {
		{ "{\"a\": 1,\n \"a\": 2}", "x.json:2: column 4: duplicate object key near '\"a\"'" },
		{ "{\"a\": 1} x", "x.json:1: column 10: end of file expected near 'x'" },
		{ "a: 1", "x.json:1: column 1: '[' or '{' expected near 'a'" },
		{ "[1]", "x.json:1: the file must hold a map of keys (key: value)" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) check_refused("x.json", &table[i]);
}

static void limits(void **state)
{
	enum { SIZE = (1 << 20) + 1 };
	char *text = malloc(SIZE), key[16];
	struct conf_node *root = NULL;

	(void)state;
	assert_non_null(text);
	memset(text, '#', SIZE);
	assert_int_equal(iso_conf_parse(&root, "x.yaml", text, SIZE), ISO_EINPUT);
	assert_non_null(strstr(iso_message(), "larger than 1 MiB"));

	memcpy(text, "a: 1\0", 5);
	assert_int_equal(iso_conf_parse(&root, "x.yaml", text, 100), ISO_EINPUT);
	assert_non_null(strstr(iso_message(), "NUL bytes"));

	memcpy(text, "a: ", 3);
	memset(text + 3, '[', 63);
	memset(text + 66, ']', 63);
	assert_int_equal(iso_conf_parse(&root, "x.yaml", text, 129), ISO_OK);
	iso_conf_free(root);
	memset(text + 3, '[', 64);
	memset(text + 67, ']', 64);
	assert_int_equal(iso_conf_parse(&root, "x.yaml", text, 131), ISO_EINPUT);
	assert_non_null(strstr(iso_message(), "more than 64 deep"));

	text[0] = '\0';
	for (int i = 0; i <= 100; i++) {
		snprintf(key, sizeof key, "k%d: 0\n", i);
		strcat(text, key);
	}
	assert_int_equal(parse(&root, "x.yaml", text), ISO_EINPUT);
	assert_string_equal(iso_message(), "x.yaml:101: a map has more than 100 keys");
	free(text);
}

/* A part of a good file, or a good file with one byte changed, gives a tree or a message. */
static void damaged(void **state)
{
	char text[sizeof all_yaml];
	struct conf_node *root;

	(void)state;
	for (size_t i = 0; i < sizeof text - 1; i++)
		for (int c = -1; c < 256; c += 5) {
			size_t size = c < 0 ? i : sizeof text - 1;
			struct values v;

			memcpy(text, all_yaml, sizeof text);
			if (c >= 0) text[i] = (char)c;
			root = NULL;
			if (!iso_conf_parse(&root, "x.yaml", text, size)) read_values(&v, root);
			iso_conf_free(root);
		}
}

static void files(void **state)
{
	char path[] = "conf-XXXXXX", out[64];
	struct conf_node *root = NULL;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "a: 1\n", 5), 5);
	close(fd);
	assert_int_equal(iso_conf_read(&root, path), ISO_OK);
	assert_string_equal(root->file, path);
	iso_conf_free(root);
	unlink(path);
	assert_int_equal(iso_conf_read(&root, path), ISO_EINPUT);
	assert_non_null(strstr(iso_message(), "No such file"));
	assert_int_equal(iso_conf_read(&root, "."), ISO_EINPUT);
	assert_string_equal(iso_message(), ". is a folder, a file was expected");

	assert_int_equal(parse(&root, "dir/sub/s.yaml", "a: 1"), ISO_OK);
	assert_int_equal(iso_conf_file(out, sizeof out, root, "p.npy"), ISO_OK);
	assert_string_equal(out, "dir/sub/p.npy");
	assert_int_equal(iso_conf_file(out, sizeof out, root, "a/..b/p.npy"), ISO_OK);
	assert_int_equal(iso_conf_file(out, sizeof out, root, "/p.npy"), ISO_EINPUT);
	assert_int_equal(iso_conf_file(out, sizeof out, root, "../p.npy"), ISO_EINPUT);
	assert_int_equal(iso_conf_file(out, sizeof out, root, "a//.."), ISO_EINPUT);
	assert_int_equal(iso_conf_file(out, sizeof out, root, ""), ISO_EINPUT);
	assert_int_equal(iso_conf_file(out, 13, root, "p.npy"), ISO_EINPUT);
	assert_int_equal(iso_conf_file(out, 14, root, "p.npy"), ISO_OK);
	iso_conf_free(root);
}

static void words(void **state)
{
	static const char *const axes[] = { "axial", "radial", NULL };
	struct conf_node *root = NULL;
	int which = -1;

	(void)state;
	assert_int_equal(parse(&root, "x.yaml", "a: radial\nb: radail\nc: [x]\nd: time"), ISO_OK);
	assert_int_equal(iso_conf_word(&which, root, "a", axes), ISO_OK);
	assert_int_equal(which, 1);
	assert_int_equal(iso_conf_word(&which, root, "none", axes), ISO_OK);
	assert_int_equal(which, 1);
	which = -1;
	assert_int_equal(iso_conf_word(&which, root, "none", axes), ISO_EINPUT);
	assert_string_equal(iso_message(), "x.yaml: key 'none' is missing");
	assert_int_equal(iso_conf_word(&which, root, "b", axes), ISO_EINPUT);
	assert_string_equal(iso_message(), "x.yaml:2: b is 'radail', must be one of: axial, "
	                                   "radial; did you mean 'radial'?");
	assert_int_equal(iso_conf_word(&which, root, "c", axes), ISO_EINPUT);
	assert_string_equal(iso_message(), "x.yaml:3: c is a list, must be a word");
	assert_int_equal(iso_conf_word(&which, root, "d", axes), ISO_EINPUT);
	assert_string_equal(iso_message(), "x.yaml:4: d is 'time', must be one of: axial, radial");
	iso_conf_free(root);
}

static void nearest(void **state)
{
	static const char *const known[] = { "rings", "ring_pitch_mm", "tof", "radius_mm" };
	char long_word[200];

	(void)state;
	assert_string_equal(iso_nearest("rinsg", 4, known), "rings"); /* swapped: one step */
	assert_string_equal(iso_nearest("ring_ptich_m", 4, known), "ring_pitch_mm");
	assert_string_equal(iso_nearest("tf", 4, known), "tof");
	assert_string_equal(iso_nearest("radius", 4, known), "radius_mm");
	assert_string_equal(iso_nearest("ring", 4, known), "rings");
	assert_null(iso_nearest("fwhm", 4, known));
	assert_null(iso_nearest("x", 1, (const char *const[]){ "y" }));
	assert_null(iso_nearest("", 4, known));
	memset(long_word, 'r', sizeof long_word - 1);
	long_word[sizeof long_word - 1] = '\0';
	assert_null(iso_nearest(long_word, 4, known));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(yaml_values),     cmocka_unit_test(json_values),
		cmocka_unit_test(lines_are_known), cmocka_unit_test(refused_keys),
		cmocka_unit_test(refused_yaml),    cmocka_unit_test(refused_json),
		cmocka_unit_test(limits),          cmocka_unit_test(damaged),
		cmocka_unit_test(files),           cmocka_unit_test(words),
		cmocka_unit_test(nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
