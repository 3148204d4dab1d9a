/* SPDX-License-Identifier: BSD-3-Clause */
/* PETLINK list mode of the Siemens mMR: X.l, little-endian words of 32 bits, and X.l.hdr, an Interfile header.

	bit 31 is 0             an event: bit 30 tells a prompt (1) from a delayed (0), bits 0 to 29 are its bin
	bits 29 to 31 are 100   a time tag: bits 0 to 28 are ms since the start
	else                    gantry, singles, gating, dead time: skipped

   bin = (plane VIEWS + view) TANGENTIAL + i. Planes lie segment by segment, those of ring differences q = 0, -1, 1,
   -2, 2, ..., of which each has RINGS - |q|. With t = i - TANGENTIAL / 2, and a = 0, 1, ... along a segment,

	place 1 = view + floor(t / 2)                       ring 1 = a + (|q| - q) / 2
	place 2 = view - floor((t + 1) / 2) + PLACES / 2    ring 2 = ring 1 + q

   of PLACES in a ring, place d at the angle 2 pi d / PLACES, x = R sin, y = -R cos in STIR's axes, which the patient's
   position turns to R, A, S. Places 0, 9, 18, ... are gaps between blocks of eight crystals.

   Tags lie between events, so the words are counted once, when the file is opened: `start` tells what stands before
   every block of them, and reading begins at a block. */
#include "text/interfile.h"
#include "core/size.h"
#include "file/in.h"
#include "file/suffix.h"
#include "scanner/scanner.h"
#include "events.h"
#include "kinds.h"

#include <omp.h>
#include <unistd.h>

enum {
	RINGS = 64,
	BLOCKS = 56,
	IN_BLOCK = 8,
	PER_RING = BLOCKS * IN_BLOCK,
	PLACES = BLOCKS * (IN_BLOCK + 1),
	VIEWS = PLACES / 2,
	TANGENTIAL = 344,
	PLANE = VIEWS * TANGENTIAL, /* bins of a plane */
	LEAST_APART =
		72, /* crystals in a ring: 81 places or more; of pairs 80 places apart half have a bin */
	GAP = 0xffff,
};
#define RADIUS_MM 335. /* 328 to the crystals' faces, and 7 of mean depth */
#define PITCH_MM 4.0625
#define NEAR_MM 5. /* crystals of another description may lie so far off ours */

enum { WORD = 4, BLOCK = 4096, CHUNK = 16 * BLOCK }; /* bytes; words; words that are counted at a time */

enum kind {
	PROMPT,
	DELAYED,
	TIME,
	OTHER,
	BETWEEN,
	WRONG,
	KINDS
}; /* BETWEEN: an event with an end in a gap */

struct layout {
	enum kind wanted;
	int64_t words;
	/* Before each block of words and behind the last: events of the wanted kind, time in force. */
	struct start {
		int64_t events;
		uint32_t time_ms;
	} * start;
	uint32_t bins;                  /* of all planes */
	uint16_t crystal[PLANE][2];     /* of a bin of a plane, 0 ... PER_RING - 1 in the ring; GAP */
	uint8_t ring[RINGS * RINGS][2]; /* of a plane */
	/* Where a crystal is, mm, and its number in the scanner: side by side, as events want both. */
	struct end {
		float place[3];
		uint32_t number;
	} end[RINGS * PER_RING];
};

/* ---- words ---- */

static uint32_t get_word(const uint8_t *p)
{
	uint32_t w;

	memcpy(&w, p, sizeof w);
	return w;
}

static uint32_t bin_of(uint32_t w)
{
	return w & 0x3fffffff;
}

static uint32_t time_of(uint32_t w)
{
	return w & 0x1fffffff;
}

static enum kind kind_of(const struct layout *l, uint32_t w)
{
	if (w >> 31) return w >> 29 == 4 ? TIME : OTHER;
	if (bin_of(w) >= l->bins) return WRONG;
	const uint16_t *c = l->crystal[bin_of(w) % PLANE];

	return c[0] == GAP || c[1] == GAP ? BETWEEN : w >> 30 ? PROMPT : DELAYED;
}

/* ---- bins ---- */

/* Number in its ring of the crystal at a place. */
static uint16_t crystal_at(int place)
{
	int in_block = place % (IN_BLOCK + 1);

	return in_block ? (uint16_t)(place / (IN_BLOCK + 1) * IN_BLOCK + in_block - 1) : GAP;
}

static int floor_half(int t)
{
	return t >= 0 ? t / 2 : -((1 - t) / 2);
}

static void set_bins(struct layout *l, int max_difference)
{
	uint16_t at[2 * PLACES]; /* twice round */
	int plane = 0;

	for (int d = 0; d < 2 * PLACES; d++) at[d] = crystal_at(d % PLACES);
	for (int view = 0; view < VIEWS; view++)
		for (int t = -TANGENTIAL / 2; t < TANGENTIAL / 2; t++) {
			uint16_t *c = l->crystal[view * TANGENTIAL + t + TANGENTIAL / 2];

			c[0] = at[view + floor_half(t) + PLACES];
			c[1] = at[view - floor_half(t + 1) + PLACES / 2];
		}
	for (int s = 0; s <= 2 * max_difference; s++) {
		int q = s % 2 ? -(s + 1) / 2 : s / 2, size = abs(q);

		for (int a = 0; a < RINGS - size; a++, plane++) {
			l->ring[plane][0] = (uint8_t)(a + (size - q) / 2);
			l->ring[plane][1] = (uint8_t)(a + (size + q) / 2);
		}
	}
	l->bins = (uint32_t)plane * PLANE;
}

/* ---- the scanner ---- */

static int make_scanner(iso_scanner **own, int max_difference)
{
	iso_scanner *s = calloc(1, sizeof *s);

	if (!s) return iso_fail_memory("scanner", sizeof *s);
	*own = s;
	*s = (iso_scanner){ .kind = ISO_CYLINDER,
		            .name = "Siemens mMR",
		            .pairs = { .rings = RINGS,
		                       .per_ring = PER_RING,
		                       .min_distance = LEAST_APART,
		                       .max_ring_difference = max_difference },
		            .coincidence_ns = 2.93,
		            .energy_kev = { 430, 610 },
		            .energy_resolution = .145,
		            .crystal_mm = { 4, 4, 20 },
		            .solid_angle = true,
		            .radius = RADIUS_MM,
		            .ring_pitch = PITCH_MM,
		            .block = IN_BLOCK,
		            .block_gap = 2 * M_PI * RADIUS_MM / PLACES };
	return iso_cylinder_finish(s);
}

/* Where crystal c of a ring is. */
static void place_of(double p[3], int c, int ring, const int sign[3])
{
	double psi = 2 * M_PI * (c / IN_BLOCK * (IN_BLOCK + 1) + c % IN_BLOCK + 1) / PLACES;

	p[0] = sign[0] * RADIUS_MM * sin(psi);
	p[1] = sign[1] * -RADIUS_MM * cos(psi);
	p[2] = sign[2] * (ring - (RINGS - 1) / 2.) * PITCH_MM;
}

static void set_end(struct layout *l, const iso_scanner *s, int i, int64_t id)
{
	l->end[i].number = (uint32_t)id;
	for (int a = 0; a < 3; a++) l->end[i].place[a] = (float)iso_scanner_positions(s)[3 * id + a];
}

/* Places and numbers of the crystals in the scanner that the file brings: rings are equal, so that one of them and one
   crystal of each tell all. */
static void number_own(struct layout *l, const iso_event_file *f, const int sign[3])
{
	int64_t ring[RINGS];
	double p[3], distance;

	for (int r = 0; r < RINGS; r++) {
		place_of(p, 0, r, sign);
		ring[r] = iso_scanner_nearest(&distance, f->own, p) / PER_RING;
	}
	for (int c = 0; c < PER_RING; c++) {
		place_of(p, c, 0, sign);
		int64_t id = iso_scanner_nearest(&distance, f->own, p) % PER_RING;

		for (int r = 0; r < RINGS; r++) set_end(l, f->own, r * PER_RING + c, ring[r] * PER_RING + id);
	}
}

/* The same in a description that the caller gives, whose crystals must be as many and about where these are. */
static int number_given(struct layout *l, const iso_event_file *f, const int sign[3])
{
	bool seen[RINGS * PER_RING] = { false };
	double p[3], distance;

	for (int i = 0; i < RINGS * PER_RING; i++) {
		place_of(p, i % PER_RING, i / PER_RING, sign);
		int64_t id = iso_scanner_nearest(&distance, f->scanner, p);

		if (distance > NEAR_MM || id >= RINGS * PER_RING || seen[id])
			return iso_refuse(f->path,
			                  "scanner %s is not the mMR's: it has no crystal of its own within "
			                  "%g mm of (%.1f, %.1f, %.1f)",
			                  iso_scanner_name(f->scanner), NEAR_MM, p[0], p[1], p[2]);
		seen[id] = true;
		set_end(l, f->scanner, i, id);
	}
	return ISO_OK;
}

/* ---- the header ---- */

struct header {
	struct iso_interfile text;
	int64_t offset, max_difference, words;
	double duration_s;
	int sign[3];
	bool position_known;
};

static int check_model(const struct iso_interfile *h)
{
	const char *space, *system;
	int st = iso_interfile_need(&space, h, "sms-mi header name space", 0);

	if (st || (st = iso_interfile_need(&system, h, "originating system", 0))) return st;
	if (strlen(space) < 7 || !iso_same_letters(space, "PETLINK", 7))
		return iso_refuse(h->path, "SMS-MI header name space is '%.60s', must be PETLINK bin address",
		                  space);
	if (!iso_same_word(system, "2008") && !iso_same_word(system, "Siemens mMR"))
		return iso_refuse(
			h->path,
			"originating system is '%.60s': of PETLINK only the Siemens mMR's, 2008, is read",
			system);
	return ISO_OK;
}

/* Keys that must have one value are asked for it. */
static int get_header(struct header *h)
{
	int64_t same, span = 0;
	double pitch, radius;
	const struct iso_interfile_key keys[] = {
		{ "lm event and tag words format (bits)", .integer = &same, .min = 32, .max = 32,
		  .required = true },
		{ "number of rings", .integer = &same, .min = RINGS, .max = RINGS, .required = true },
		{ "number of projections", .integer = &same, .min = TANGENTIAL, .max = TANGENTIAL,
		  .required = true },
		{ "number of views", .integer = &same, .min = VIEWS, .max = VIEWS, .required = true },
		{ "number of tof time bins", .integer = &same, .min = 1, .max = 1 },
		{ "distance between rings (cm)", .real = &pitch, .min = .406, .max = .4065 },
		{ "gantry crystal radius (cm)", .real = &radius, .min = 32.7, .max = 32.9 },
		{ "axial compression", .integer = &span, .min = 1, .max = 2 * RINGS - 1, .required = true },
		{ "maximum ring difference", .integer = &h->max_difference, .min = 0, .max = RINGS - 1,
		  .required = true },
		{ "data offset in bytes", .integer = &h->offset, .min = 0, .max = 1e15 },
		{ "image duration (sec)", .real = &h->duration_s, .min = 0, .max = 1e9 },
		{ "total listmode word counts", .integer = &h->words, .min = 0, .max = 1e15 },
		{ 0 },
	};
	int st;

	if ((st = check_model(&h->text)) || (st = iso_interfile_take(&h->text, keys)) ||
	    (st = iso_interfile_signs(h->sign, &h->position_known, &h->text)))
		return st;
	if (span != 1)
		return iso_refuse(h->text.path,
		                  "axial compression is %" PRId64
		                  ", must be 1: list mode of other spans is not read",
		                  span);
	return ISO_OK;
}

/* ---- the words are counted ---- */

struct tally {
	int64_t n[KINDS];
	int64_t first_ms, last_ms; /* of the time tags; -1: there are none */
};

static void add_tally(struct tally *sum, const struct tally *t)
{
	for (int k = 0; k < KINDS; k++) sum->n[k] += t->n[k];
	if (sum->first_ms < 0) sum->first_ms = t->first_ms;
	if (t->last_ms >= 0) sum->last_ms = t->last_ms;
}

static struct tally count_words(const struct layout *l, const uint8_t *p, int64_t n)
{
	struct tally t = { .first_ms = -1, .last_ms = -1 };

	for (int64_t i = 0; i < n; i++, p += WORD) {
		uint32_t w = get_word(p);
		enum kind k = kind_of(l, w);

		t.n[k]++;
		if (k != TIME) continue;
		t.last_ms = time_of(w);
		if (t.first_ms < 0) t.first_ms = t.last_ms;
	}
	return t;
}

static int read_words(const iso_event_file *f, uint8_t *buffer, int64_t first, int64_t n)
{
	int64_t at = f->first + first * WORD, got = iso_read_at(f->fd, buffer, n * WORD, at);

	if (got < 0) return iso_fail_errno(f->path, "read");
	if (got < n * WORD)
		return iso_fail(ISO_EINPUT,
		                "%s ends after %" PRId64 " bytes, it was longer when it was opened", f->path,
		                at + got);
	return ISO_OK;
}

static int refuse_word(const iso_event_file *f, const uint8_t *p, int64_t first, int64_t n)
{
	const struct layout *l = f->layout;

	while (n > 1 && kind_of(l, get_word(p)) != WRONG) p += WORD, first++, n--;
	return iso_refuse(f->path,
	                  "word %" PRId64 ": bin %" PRIu32 ", its header allows for %" PRIu32
	                  "; not a list of 32-bit words, or another axial compression or ring difference?",
	                  first, bin_of(get_word(p)), l->bins);
}

/* Words of a chunk into the tallies of its blocks. */
static int count_chunk(struct tally *t, const iso_event_file *f, int64_t chunk, uint8_t *buffer)
{
	const struct layout *l = f->layout;
	int64_t first = chunk * CHUNK, n = l->words - first < CHUNK ? l->words - first : CHUNK;
	int st = read_words(f, buffer, first, n);

	for (int64_t i = 0; i < n && !st; i += BLOCK) {
		int64_t m = n - i < BLOCK ? n - i : BLOCK;
		struct tally *b = &t[(first + i) / BLOCK];

		*b = count_words(l, buffer + i * WORD, m);
		if (b->n[WRONG]) st = refuse_word(f, buffer + i * WORD, first + i, m);
	}
	return st;
}

/* By several threads. The message of a failure is of the thread that it happens in: so the first chunk that failed is
   counted again by the caller's. */
static int count_all(struct tally *t, const iso_event_file *f)
{
	const struct layout *l = f->layout;
	int64_t chunks = (l->words + CHUNK - 1) / CHUNK, failed = chunks;
	int most = f->ctx ? iso_ctx_threads(f->ctx) : 1, threads = chunks < most ? (int)chunks : most;
	uint8_t *buffer = size_alloc(threads, CHUNK * WORD);

	if (!buffer) return iso_fail_memory(f->path, threads * (int64_t)CHUNK * WORD);
	struct iso_clock clock =
		iso_clock_brief(f->ctx, "count", "bytes", l->words * WORD, iso_base_name(f->path));

#pragma omp parallel for num_threads(threads) schedule(dynamic) reduction(min : failed)
	for (int64_t c = 0; c < chunks; c++) {
		if (iso_stop_asked(f->ctx) ||
		    count_chunk(t, f, c, buffer + omp_get_thread_num() * CHUNK * WORD))
			failed = c < failed ? c : failed;
		iso_clock_add(&clock, (c < chunks - 1 ? CHUNK : l->words - c * CHUNK) * WORD);
	}
	int st = iso_stop_check(f->ctx, f->path);

	if (!st) iso_clock_end(&clock);
	if (!st && failed < chunks && !(st = count_chunk(t, f, failed, buffer)))
		st = iso_fail(ISO_EIO, "%s: can't read: it failed once, or changed meanwhile", f->path);
	free(buffer);
	return st;
}

static int make_index(struct tally *sum, const iso_event_file *f)
{
	struct layout *l = f->layout;
	int64_t blocks = (l->words + BLOCK - 1) / BLOCK;
	struct tally *t = size_alloc(blocks, sizeof *t);
	int st = ISO_OK;

	l->start = size_alloc(blocks + 1, sizeof *l->start);
	if (!t || !l->start) st = iso_fail_memory(f->path, blocks * (int64_t)(sizeof *t + sizeof *l->start));
	if (!st) st = count_all(t, f);
	*sum = (struct tally){ .first_ms = -1, .last_ms = -1 };
	for (int64_t b = 0; b < blocks && !st; b++) {
		add_tally(sum, &t[b]);
		l->start[b + 1].events = sum->n[l->wanted];
		l->start[b + 1].time_ms = sum->last_ms < 0 ? 0 : (uint32_t)sum->last_ms;
	}
	free(t);
	return st;
}

/* ---- opening ---- */

/* Whether a text holds a word, in any case of letters. */
static bool has_word(const uint8_t *text, int64_t n, const char *word)
{
	int64_t length = (int64_t)strlen(word);

	for (int64_t i = 0; i + length <= n; i++)
		if (iso_same_letters((const char *)text + i, word, (size_t)length)) return true;
	return false;
}

bool iso_petlink_header(const uint8_t *head, int64_t n)
{
	return has_word(head, n < 64 ? n : 64, "!INTERFILE") && has_word(head, n, "PETLINK bin address");
}

/* The header beside X.l: X.l.hdr, else X.hdr. */
static int header_beside(char out[PATH_MAX], const char *path)
{
	if (snprintf(out, PATH_MAX, "%s.hdr", path) >= PATH_MAX)
		return iso_refuse(path, "its name is too long");
	if (access(out, F_OK) == 0) return ISO_OK;
	char other[PATH_MAX];
	int st = iso_suffix_partner(other, sizeof other, path, ".hdr");

	if (st) return st;
	if (access(other, F_OK) != 0)
		return iso_refuse(path, "its header is missing: %s", iso_base_name(out));
	memcpy(out, other, strlen(other) + 1);
	return ISO_OK;
}

int iso_petlink_partner(char out[PATH_MAX], const char *path)
{
	struct iso_interfile h;
	int st;

	*out = '\0';
	if (iso_has_suffix(path, ".l")) return header_beside(out, path);
	if ((st = iso_interfile_read(&h, path))) return st;
	st = iso_interfile_name(out, &h);
	iso_interfile_free(&h);
	return st;
}

static void add_note(char *notes, size_t size, const char *note)
{
	size_t n = strlen(notes);

	if (n + strlen(note) + 3 <= size) snprintf(notes + n, size - n, "%s%s", n ? ", " : "", note);
}

static void note_words(struct iso_events_info *i, const struct tally *t)
{
	char note[80];

	if (t->n[OTHER]) {
		snprintf(note, sizeof note, "%" PRId64 " words that are neither events nor times",
		         t->n[OTHER]);
		add_note(i->ignored, sizeof i->ignored, note);
	}
	if (t->n[BETWEEN]) {
		snprintf(note, sizeof note, "%" PRId64 " coincidences between crystals", t->n[BETWEEN]);
		add_note(i->ignored, sizeof i->ignored, note);
	}
}

/* What would be of use, and is not used. */
static void note_keys(struct iso_events_info *i, const struct iso_interfile *h)
{
	static const char *const keys[] = { "isotope gamma halflife (sec)", "isotope branching factor",
		                            "tracer activity at time of injection (bq)",
		                            "tracer injection time (hh:mm:ss gmt+00:00)",
		                            "start horizontal bed position (mm)" };

	for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
		if (iso_interfile_find(h, keys[k], 0)) add_note(i->ignored, sizeof i->ignored, keys[k]);
}

/* Of a file that was cut the tags tell how long it is, and not the header. */
static void set_duration(struct iso_events_info *i, const struct header *h, const struct tally *t,
                         int64_t words)
{
	double of_tags = t->last_ms < 0 ? 0 : 1e-3 * (double)(t->last_ms - t->first_ms + 1);
	bool cut = h->words > words;

	i->duration_s = h->duration_s > 0 && !cut ? h->duration_s : fmax(of_tags, 0);
	if (cut)
		add_note(i->ignored, sizeof i->ignored,
		         "image duration (sec), as words are missing at the end");
}

static void set_info(iso_event_file *f, const struct header *h, const struct tally *t)
{
	const struct layout *l = f->layout;
	const char *isotope = iso_interfile_find(&h->text, "isotope name", 0);
	struct iso_events_info *i = &f->info;

	i->format = "PETLINK list mode";
	i->n = t->n[l->wanted];
	i->delayeds = t->n[DELAYED];
	i->has_time = i->has_crystal = true;
	if (isotope) snprintf(i->isotope, sizeof i->isotope, "%s", isotope);
	if (!h->position_known)
		snprintf(i->assumed, sizeof i->assumed, "the patient lies head first, supine");
	set_duration(i, h, t, l->words);
	note_words(i, t);
	note_keys(i, &h->text);
}

static int find_crystals(iso_event_file *f, const struct header *h, const iso_scanner *given)
{
	int st;

	f->scanner = given;
	if (given) return number_given(f->layout, f, h->sign);
	if ((st = make_scanner(&f->own, (int)h->max_difference))) return st;
	f->scanner = f->own;
	number_own(f->layout, f, h->sign);
	return ISO_OK;
}

static int open_words(iso_event_file *f, const struct header *h, const char *data,
                      const struct iso_events_options *o)
{
	struct layout *l = f->layout;
	struct tally t;
	int st = iso_event_file_records(f, data);

	if (st) return st;
	f->first = h->offset;
	f->record = WORD;
	l->words = (f->size - f->first) / WORD;
	if (f->size <= f->first || (f->size - f->first) % WORD)
		return iso_refuse(data,
		                  "%" PRId64 " bytes, %" PRId64
		                  " of them before the list, which must be words of %d bytes",
		                  f->size, f->first, WORD);
	l->wanted = o->delayeds ? DELAYED : PROMPT;
	set_bins(l, (int)h->max_difference);
	if ((st = make_index(&t, f))) return st;
	if (t.n[l->wanted] == 0)
		return iso_refuse(data, "no %s in its %" PRId64 " words",
		                  o->delayeds ? "delayed coincidences" : "prompts", l->words);
	if ((st = find_crystals(f, h, o->scanner))) return st;
	set_info(f, h, &t);
	return ISO_OK;
}

static int open_petlink(iso_event_file *f, const char *path, const struct iso_events_options *o)
{
	struct header h = { 0 };
	bool words = iso_has_suffix(path, ".l");
	char header[PATH_MAX], data[PATH_MAX];
	int st = words ? header_beside(header, path) : ISO_OK;

	if (st) return st;
	if (!(f->layout = calloc(1, sizeof(struct layout))))
		return iso_fail_memory(path, sizeof(struct layout));
	if ((st = iso_interfile_read(&h.text, words ? header : path))) return st;
	if (!(st = get_header(&h)) && !words) st = iso_interfile_name(data, &h.text);
	if (!st) st = open_words(f, &h, words ? path : data, o);
	iso_interfile_free(&h.text);
	return st;
}

static void close_petlink(iso_event_file *f)
{
	struct layout *l = f->layout;

	if (l) free(l->start);
}

/* ---- reading ---- */

static void put_event(const struct layout *l, struct iso_events *e, int64_t k, uint32_t bin)
{
	const uint8_t *ring = l->ring[bin / PLANE];
	const uint16_t *crystal = l->crystal[bin % PLANE];
	const struct end *a = &l->end[ring[0] * PER_RING + crystal[0]];
	const struct end *b = &l->end[ring[1] * PER_RING + crystal[1]];

	memcpy(e->v[k].p1, a->place, sizeof a->place);
	memcpy(e->v[k].p2, b->place, sizeof b->place);
	e->v[k].dt_ps = 0;
	e->crystal[2 * k] = a->number;
	e->crystal[2 * k + 1] = b->number;
}

/* Where reading has come to. */
struct reading {
	int64_t skip, left; /* events of the wanted kind */
	int64_t k;          /* the next one's place in the block of events */
	uint32_t time_ms;
};

static void decode(struct reading *r, const struct layout *l, struct iso_events *e, const uint8_t *p,
                   int64_t n)
{
	for (int64_t i = 0; i < n && r->left > 0; i++, p += WORD) {
		uint32_t w = get_word(p);
		enum kind k = kind_of(l, w);

		if (k == TIME) r->time_ms = time_of(w);
		if (k != l->wanted || r->skip-- > 0) continue;
		put_event(l, e, r->k, bin_of(w));
		e->time_ms[r->k++] = r->time_ms;
		r->left--;
	}
}

/* The block of words that event i is in. */
static int64_t block_of(const struct layout *l, int64_t i)
{
	int64_t low = 0, high = (l->words + BLOCK - 1) / BLOCK - 1;

	while (low < high) {
		int64_t middle = low + (high - low) / 2;

		if (l->start[middle + 1].events > i)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static int read_events(const iso_event_file *f, struct iso_events *e, int64_t k, int64_t i, int64_t n,
                       uint8_t *buffer, int64_t size)
{
	const struct layout *l = f->layout;
	int64_t block = block_of(l, i), at = block * BLOCK, end = (block_of(l, i + n - 1) + 1) * BLOCK;
	struct reading r = { i - l->start[block].events, n, k, l->start[block].time_ms };
	int st = ISO_OK;

	end = end < l->words ? end : l->words;
	while (at < end && !st) {
		int64_t m = end - at < size / WORD ? end - at : size / WORD;

		if (!(st = read_words(f, buffer, at, m))) decode(&r, l, e, buffer, m);
		at += m;
	}
	return !st && r.left > 0 ? iso_fail(ISO_EIO, "%s has changed since it was opened", f->path) : st;
}

const struct iso_event_format iso_petlink_format = {
	.name = "PETLINK",
	.open = open_petlink,
	.read = read_events,
	.close = close_petlink,
};
