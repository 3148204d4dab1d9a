/* SPDX-License-Identifier: BSD-3-Clause */
/* TTree objects, versions 18 to 20: their branches, and where the baskets of each lie. No description of classes is
   read: the layout of these versions is fixed, and every object tells where it ends. */
#include "root_file.h"
#include "core/size.h"
#include "core/status.h"

enum {
	CLASSES_MOST =
		4096, /* names of classes that are remembered: ROOT writes each once, others with every object */
	BRANCH_LEAST = 100, /* bytes of a branch */
	MAP_OFFSET = 2,     /* what ROOT adds to places that objects are remembered by */
};

/* A tree that is being read. */
struct reading {
	const struct root_file *f;
	const struct root_key *k;
	struct root_bytes b;
	int classes;
	struct {
		int64_t place;    /* by which later objects name the class */
		const char *name; /* in the object, with a NUL behind it */
	} class[CLASSES_MOST];
};

static int damaged(const struct reading *r, const char *where)
{
	return iso_refuse(r->f->path, "tree %s: %s is damaged, or of a layout that is not known", r->k->name,
	                  where);
}

/* ---- arrays of objects ---- */

struct array {
	int64_t n, end;
};

static struct array begin_array(struct root_bytes *b)
{
	struct root_object o = root_begin(b);
	char name[ROOT_NAME];
	struct array a = { .end = o.end };

	root_skip_base(b);
	root_text(b, name);
	a.n = root_int32(b);
	root_skip(b, 4);
	return a;
}

/* Remembers a class, whose name ends with a NUL. */
static const char *new_class(struct reading *r, int64_t place)
{
	const char *name = (const char *)r->b.p + r->b.at,
		   *end = memchr(name, '\0', (size_t)(r->b.n - r->b.at));

	if (!end) {
		r->b.bad = true;
		return "";
	}
	if (r->classes < CLASSES_MOST) {
		r->class[r->classes].name = name;
		r->class[r->classes++].place = place;
	}
	root_skip(&r->b, end - name + 1);
	return name;
}

/* The class of the next object of an array, and where it ends; "": there is no object in that place, or one whose
   class is not known. */
static const char *next_object(struct reading *r, int64_t *end)
{
	uint32_t count = (uint32_t)root_number(&r->b, 4);
	int64_t start = r->b.at;

	*end = start;
	if (!(count & ROOT_COUNTED)) return "";
	*end = start + (count & ~ROOT_COUNTED);
	if (*end > r->b.n) r->b.bad = true;
	uint32_t tag = (uint32_t)root_number(&r->b, 4);

	if (r->b.bad) return "";
	if (tag == 0xffffffffu) return new_class(r, start + r->k->head + MAP_OFFSET);
	for (int i = 0; i < r->classes; i++)
		if (r->class[i].place == (tag & 0x7fffffffu)) return r->class[i].name;
	return "";
}

/* ---- branches ---- */

static const struct leaf {
	const char *class;
	char type;
	int size;
} leaves[] = {
	{ "TLeafD", 'd', 8 }, { "TLeafF", 'f', 4 }, { "TLeafL", 'i', 8 }, { "TLeafI", 'i', 4 },
	{ "TLeafS", 'i', 2 }, { "TLeafB", 'i', 1 }, { "TLeafO", 'u', 1 },
};
enum { N_LEAVES = sizeof leaves / sizeof *leaves };

/* Type and size from the one leaf of a branch; more of them, or of a number a place, are not simple. */
static void read_leaves(struct reading *r, struct root_branch *branch)
{
	struct array a = begin_array(&r->b);
	int64_t end;
	const char *class = a.n == 1 ? next_object(r, &end) : "";
	char name[ROOT_NAME];

	for (int i = 0; i < N_LEAVES; i++) {
		if (strcmp(class, leaves[i].class) != 0) continue;
		root_begin(&r->b);
		root_begin(&r->b);
		root_named(&r->b, name);
		bool one = root_int32(&r->b) == 1, fits = root_int32(&r->b) == leaves[i].size;

		root_skip(&r->b, 4 + 1); /* offset, whether there is a range */
		bool is_unsigned = root_byte(&r->b);

		if (!one || !fits) break;
		branch->type = leaves[i].type == 'i' && is_unsigned ? 'u' : leaves[i].type;
		branch->size = leaves[i].size;
	}
	root_goto(&r->b, a.end);
}

/* n of `most` numbers of `size` bytes, behind a byte that says whether there are any. */
static void read_numbers(struct root_bytes *b, int64_t *v, int64_t n, int64_t most, int size)
{
	int64_t end = root_byte(b) ? b->at + most * size : b->at;

	for (int64_t i = 0; i < n; i++) v[i] = size == 4 ? root_int32(b) : root_int64(b);
	if (end < b->at) b->bad = true;
	root_goto(b, end);
}

/* Places and first entries. */
static int read_baskets(struct reading *r, struct root_branch *branch, int64_t written, int64_t most)
{
	enum { EACH = 4 + 8 + 8 }; /* bytes, first entry, place */

	if (r->b.bad || written < 0 || most < written || most > (r->b.n - r->b.at) / EACH)
		return damaged(r, branch->name);
	branch->place = size_alloc(2 * written + 1, sizeof *branch->place);
	branch->loaded = size_alloc(written, sizeof(struct root_basket *));
	if (!branch->place || !branch->loaded)
		return iso_fail_memory(r->f->path, (3 * written + 1) * (int64_t)sizeof *branch->place);
	branch->first = branch->place + written;
	branch->baskets = written;
	read_numbers(&r->b, NULL, 0, most, 4); /* their bytes, which their keys say too */
	read_numbers(&r->b, branch->first, written, most, 8);
	read_numbers(&r->b, branch->place, written, most, 8);
	return ISO_OK;
}

/* Entries of baskets follow one another, from 0 to the end. */
static int check_baskets(const struct reading *r, const struct root_branch *b)
{
	b->first[b->baskets] = b->entries;
	for (int64_t i = 0; i < b->baskets; i++)
		if (b->first[i + 1] < b->first[i] || b->place[i] <= 0 || b->place[i] >= r->f->size)
			return damaged(r, b->name);
	return b->first[0] == 0 ? ISO_OK : damaged(r, b->name);
}

static int read_branch(struct reading *r, struct root_branch *branch)
{
	struct root_bytes *b = &r->b;
	struct root_object o = root_begin(b);
	int st;

	root_named(b, branch->name);
	if (b->bad || o.version < 10 || o.version > 13)
		return iso_refuse(r->f->path,
		                  "tree %s: a branch of version %d; 10 to 13, of ROOT 5 and 6, are read (one "
		                  "by Geant4's own writer: rewrite it with ROOT's hadd)",
		                  r->k->name, o.version);
	root_skip_object(b); /* fill */
	root_skip(b, 3 * 4); /* compression, basket size, length of offsets */
	int64_t written = root_int32(b);

	root_skip(b, 8); /* entry number */
	if (o.version >= 13) root_skip_object(b);
	root_skip(b, 4);
	int64_t most = root_int32(b);

	root_skip(b, 4);
	branch->entries = root_int64(b);
	root_skip(b, 3 * 8); /* first entry, bytes, packed bytes */
	root_skip_object(b); /* branches of this one */
	read_leaves(r, branch);
	root_skip_object(b); /* baskets in memory */
	if (b->bad || branch->entries < 0) return damaged(r, branch->name);
	if ((st = read_baskets(r, branch, written, most))) return st;
	return b->bad || b->at > o.end ? damaged(r, branch->name)
	       : branch->type          ? check_baskets(r, branch)
	                               : ISO_OK;
}

/* Branches of other classes than TBranch are objects of C++, and stay without a type. */
static int read_branches(struct reading *r, struct root_tree *t)
{
	struct array a = begin_array(&r->b);
	int st = ISO_OK;

	if (r->b.bad || a.n < 0 || a.n > r->b.n / BRANCH_LEAST) return damaged(r, "the list of branches");
	if (!(t->branch = size_alloc(a.n, sizeof *t->branch)))
		return iso_fail_memory(r->f->path, a.n * (int64_t)sizeof *t->branch);
	while (t->n < a.n && !st) {
		struct root_branch *branch = &t->branch[t->n++];
		int64_t end;

		if (strcmp(next_object(r, &end), "TBranch") == 0) st = read_branch(r, branch);
		root_goto(&r->b, end);
		if (!st && r->b.bad) st = damaged(r, "the list of branches");
		if (!st && branch->type && branch->entries != t->entries)
			st = iso_refuse(r->f->path,
			                "tree %s has %" PRId64 " entries, its branch %s %" PRId64
			                ": a file that was not closed?",
			                r->k->name, t->entries, branch->name, branch->entries);
	}
	return st;
}

/* ---- the tree ---- */

static int read_tree(struct reading *r, struct root_tree *t)
{
	struct root_bytes *b = &r->b;
	struct root_object o = root_begin(b);
	char name[ROOT_NAME];
	int64_t clusters = 0;

	root_named(b, name);
	if (b->bad || o.version < 18 || o.version > 20)
		return iso_refuse(r->f->path,
		                  "tree %s is of version %d; 18 to 20, of ROOT 5.26 and later, are read (one "
		                  "by Geant4's own writer: rewrite it with ROOT's hadd)",
		                  r->k->name, o.version);
	for (int i = 0; i < 3; i++) root_skip_object(b); /* line, fill, marker */
	t->entries = root_int64(b);
	root_skip(b, 4 * 8 + 8 + 4 * 4); /* bytes, weight, timer and other settings */
	if (o.version >= 19) clusters = root_int32(b);
	root_skip(b, 6 * 8);
	if (o.version >= 19)
		for (int i = 0; i < 2; i++)
			if (root_byte(b)) root_skip(b, clusters * 8);
	if (o.version >= 20) root_skip_object(b);
	if (b->bad || t->entries < 0) return damaged(r, "its head");
	if (t->entries > r->f->size)
		return iso_refuse(r->f->path,
		                  "tree %s claims %" PRId64 " entries, in a file of %" PRId64 " bytes",
		                  r->k->name, t->entries, r->f->size);
	return read_branches(r, t);
}

int root_tree_read(struct root_tree *t, const struct root_file *f, const struct root_key *k)
{
	struct reading *r = calloc(1, sizeof *r);
	struct root_tree tree = { 0 };
	uint8_t *object = NULL;
	int st = r ? root_index_read(&object, f, k, "the tree") : iso_fail_memory(f->path, sizeof *r);

	if (!st) {
		r->f = f;
		r->k = k;
		r->b = (struct root_bytes){ .p = object, .n = k->bytes };
		st = read_tree(r, &tree);
	}
	free(object);
	free(r);
	if (st)
		root_tree_free(&tree);
	else
		*t = tree;
	return st;
}

void root_tree_free(struct root_tree *t)
{
	for (int64_t i = 0; i < t->n; i++) {
		free(t->branch[i].place);
		free(t->branch[i].loaded);
	}
	free(t->branch);
	*t = (struct root_tree){ 0 };
}

const struct root_branch *root_tree_find(const struct root_tree *t, const char *name)
{
	for (int64_t i = 0; i < t->n; i++)
		if (strcmp(t->branch[i].name, name) == 0) return &t->branch[i];
	return NULL;
}
