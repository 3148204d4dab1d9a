/* SPDX-License-Identifier: BSD-3-Clause */
/* What the server of a live page answers. Everything comes from memory: no name of a file is ever looked at. */
#include "live_server.h"

#include "core/progress.h"
#include "core/status.h"
#include "image/colormap.h"

#include <stdlib.h>
#include <string.h>

#define STATE_S .1 /* a state is shared by those who ask within this time */

static const char page[] =
#include "embedded/live.html.h"
	;
static const char script[] =
#include "embedded/live.js.h"
	;
static const char style[] =
#include "embedded/page.css.h"
#include "embedded/live.css.h"
	;

/* ---- responses ---- */

static struct MHD_Response *dress(struct MHD_Response *r, const char *type)
{
	static const char *const head[][2] = {
		{ "Cache-Control", "no-store" },
		{ "Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; "
		                             "connect-src 'self'; base-uri 'none'; "
		                             "form-action 'none'; frame-ancestors 'none'" },
		{ "Cross-Origin-Opener-Policy", "same-origin" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ "Referrer-Policy", "no-referrer" },
		{ "X-Content-Type-Options", "nosniff" },
		{ "X-Frame-Options", "DENY" },
	};

	if (!r) return NULL;
	bool whole = MHD_add_response_header(r, "Content-Type", type) == MHD_YES;

	for (size_t i = 0; i < sizeof head / sizeof *head; i++)
		whole = MHD_add_response_header(r, head[i][0], head[i][1]) == MHD_YES && whole;
	if (whole) return r;
	MHD_destroy_response(r);
	return NULL;
}

static struct MHD_Response *constant(const void *bytes, size_t size, const char *type)
{
	return dress(MHD_create_response_from_buffer(size, (void *)bytes, MHD_RESPMEM_PERSISTENT), type);
}

/* 256 colours of three bytes. */
static struct MHD_Response *make_colours(void)
{
	struct iso_colormap map;
	unsigned char bytes[3 * ISO_COLOURS];

	if (iso_colormap_make(&map, "ember")) return NULL;
	for (int i = 0; i < ISO_COLOURS; i++) {
		bytes[3 * i] = map.colour[i].r;
		bytes[3 * i + 1] = map.colour[i].g;
		bytes[3 * i + 2] = map.colour[i].b;
	}
	return dress(MHD_create_response_from_buffer(sizeof bytes, bytes, MHD_RESPMEM_MUST_COPY),
	             "application/octet-stream");
}

int iso_live_answers_make(struct live_server *s)
{
	s->page = constant(page, sizeof page - 1, "text/html; charset=utf-8");
	s->script = constant(script, sizeof script - 1, "text/javascript; charset=utf-8");
	s->style = constant(style, sizeof style - 1, "text/css; charset=utf-8");
	s->colours = make_colours();
	return s->page && s->script && s->style && s->colours ? ISO_OK : iso_fail_memory("live page", 1);
}

void iso_live_answers_free(struct live_server *s)
{
	struct MHD_Response *all[] = { s->page, s->script, s->style, s->colours, s->state, s->image };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i]) MHD_destroy_response(all[i]);
}

/* A refusal, which ends the connection. */
static enum MHD_Result refuse(struct MHD_Connection *c, unsigned status, const char *text)
{
	struct MHD_Response *r = constant(text, strlen(text), "text/plain; charset=utf-8");
	enum MHD_Result result = MHD_NO;

	if (r && MHD_add_response_header(r, "Connection", "close") == MHD_YES)
		result = MHD_queue_response(c, status, r);
	if (r) MHD_destroy_response(r);
	return result;
}

static enum MHD_Result give(struct MHD_Connection *c, struct MHD_Response *r)
{
	return r ? MHD_queue_response(c, MHD_HTTP_OK, r) : refuse(c, MHD_HTTP_SERVICE_UNAVAILABLE, "busy\n");
}

static enum MHD_Result done(struct MHD_Connection *c)
{
	struct MHD_Response *r = constant("", 0, "text/plain; charset=utf-8");
	enum MHD_Result result = r ? MHD_queue_response(c, MHD_HTTP_NO_CONTENT, r) : MHD_NO;

	if (r) MHD_destroy_response(r);
	return result;
}

/* ---- what changes ---- */

/* Bytes of a response, and the count of those that live. */
struct counted {
	void *bytes;
	int *count;
};

static void let_go(void *arg)
{
	struct counted *k = arg;

	--*k->count;
	free(k->bytes);
	free(k);
}

/* Takes over the bytes; NULL where there are none, or as many responses on their way as may be. */
static struct MHD_Response *counted(struct live_server *s, void *bytes, size_t size, const char *type,
                                    int *count, int most)
{
	if (*count >= most - LIVE_SPARE) iso_live_end_slowest(s);
	struct counted *k = bytes && *count < most ? malloc(sizeof *k) : NULL;
	struct MHD_Response *r = NULL;

	if (k) *k = (struct counted){ bytes, count };
	if (k) r = MHD_create_response_from_buffer_with_free_callback_cls(size, bytes, let_go, k);
	if (!r) {
		free(bytes);
		free(k);
		return NULL;
	}
	++*count;
	return dress(r, type);
}

static void replace(struct MHD_Response **old, struct MHD_Response *now)
{
	if (*old) MHD_destroy_response(*old);
	*old = now;
}

static enum MHD_Result give_state(struct live_server *s, struct MHD_Connection *c)
{
	double now = iso_now_s();

	iso_live_polled(s->live);
	if (!s->state || now - s->state_s >= STATE_S) {
		struct live_facts f = iso_live_facts(s->live);
		char *text = iso_live_state(&f, now, s->live->began_s);

		replace(&s->state, NULL);
		s->state = counted(s, text, text ? strlen(text) : 0, "application/json", &s->states,
		                   LIVE_STATES);
		s->state_s = now;
		s->state_ended = f.has_ended;
	}
	s->told_end = s->state && s->state_ended;
	return give(c, s->state);
}

/* image?after=N: nothing, unless there is a later one. */
static enum MHD_Result give_image(struct live_server *s, struct MHD_Connection *c)
{
	const char *after = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "after");
	const struct live_image *im = iso_live_front(s->live);

	if (im->version <= (after ? strtoull(after, NULL, 10) : 0)) return done(c);
	if (!s->image || s->image_version != im->version) {
		size_t size = 0;
		unsigned char *bytes = s->images < LIVE_IMAGES ? iso_live_image_bytes(im, &size) : NULL;

		replace(&s->image, NULL);
		s->image = counted(s, bytes, size, "application/octet-stream", &s->images, LIVE_IMAGES);
		s->image_version = im->version;
	}
	return give(c, s->image);
}

/* point?x=1&y=2&z=3, a voxel; without them the middle of what is seen. */
static enum MHD_Result take_point(struct live_server *s, struct MHD_Connection *c)
{
	int64_t at[3];
	int given = 0;

	for (int a = 0; a < 3; a++) {
		const char name[] = { (char)('x' + a), '\0' };
		const char *text = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, name);
		char *end = NULL;

		if (!text) continue;
		at[a] = strtoll(text, &end, 10);
		if (end == text || *end) return refuse(c, MHD_HTTP_BAD_REQUEST, "x, y and z are voxels\n");
		given++;
	}
	if (given != 0 && given != 3) return refuse(c, MHD_HTTP_BAD_REQUEST, "x, y and z go together\n");
	iso_live_ask_point(s->live, given ? at : NULL);
	return done(c);
}

static enum MHD_Result take_stop(struct live_server *s, struct MHD_Connection *c)
{
	iso_live_ask_stop(s->live);
	return done(c);
}

static enum MHD_Result take_save(struct live_server *s, struct MHD_Connection *c)
{
	if (iso_live_ask_save(s->live)) return done(c);
	return refuse(c, MHD_HTTP_CONFLICT, "there is nothing to save now\n");
}

/* ---- which answer ---- */

struct answer {
	const char *name;
	size_t constant; /* the place of a response that never changes, in struct live_server; 0: none */
	enum MHD_Result (*answer)(struct live_server *s, struct MHD_Connection *c);
	bool post;
};

#define CONSTANT(member) offsetof(struct live_server, member)

static const struct answer answers[] = {
	{ "", CONSTANT(page), NULL, false },
	{ "live.js", CONSTANT(script), NULL, false },
	{ "live.css", CONSTANT(style), NULL, false },
	{ "colours", CONSTANT(colours), NULL, false },
	{ "state", 0, give_state, false },
	{ "image", 0, give_image, false },
	{ "stop", 0, take_stop, true },
	{ "save", 0, take_save, true },
	{ "point", 0, take_point, true },
};

static const struct answer *find(const char *name)
{
	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
		if (strcmp(answers[i].name, name) == 0) return &answers[i];
	return NULL;
}

static bool is_too_long(struct MHD_Connection *c)
{
	const char *length = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Length");

	return length && (strlen(length) > 4 || strtol(length, NULL, 10) > LIVE_BODY);
}

enum MHD_Result iso_live_answer(struct live_server *s, struct MHD_Connection *c, const char *path,
                                const char *method, bool first, bool *wait)
{
	const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host");
	const char *origin = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Origin");
	const char *name = iso_live_behind_token(path, s->live->token);
	const struct answer *a = name ? find(name) : NULL;
	bool post = strcmp(method, "POST") == 0, get = !strcmp(method, "GET") || !strcmp(method, "HEAD");

	if (!iso_live_host_is_own(host, s->port))
		return refuse(c, MHD_HTTP_FORBIDDEN, "Host must be the address of this server\n");
	if (!a) return refuse(c, MHD_HTTP_NOT_FOUND, "not found\n");
	if (a->post ? !post : !get)
		return refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED, "another method is needed\n");
	if (!iso_live_origin_is_own(origin, host))
		return refuse(c, MHD_HTTP_FORBIDDEN, "Origin must be this server\n");
	if (is_too_long(c)) return refuse(c, MHD_HTTP_CONTENT_TOO_LARGE, "no body is needed\n");
	iso_live_welcome(s, c);
	*wait = first; /* an answer before the end of a request would end its connection */
	if (*wait) return MHD_YES;
	return a->answer ? a->answer(s, c) : give(c, *(struct MHD_Response **)((char *)s + a->constant));
}
