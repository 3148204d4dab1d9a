/* SPDX-License-Identifier: BSD-3-Clause */
/* The server of a live page: one thread of libmicrohttpd, whose callbacks these files have. What is not said to be
   otherwise is that thread's own. */
#ifndef ISO_LIVE_SERVER_H
#define ISO_LIVE_SERVER_H

#include "live/live.h"

#include <microhttpd.h>

enum {
	LIVE_IMAGES = 6,     /* responses with an image that may be on their way: a slow reader keeps his */
	LIVE_STATES = 16,    /* the same of states */
	LIVE_BODY = 1024,    /* bytes of a request's body, which nothing needs */
	LIVE_TIMEOUT_S = 10, /* of a connection on which nothing moves */
	LIVE_REQUEST_BYTES = 32768, /* memory of a connection: a longer request is refused */
	LIVE_ANSWER_BYTES = 4096,   /* of these, for the head of the answer */
	LIVE_FIELD_BYTES = 64,      /* and for each header, cookie and argument, besides its text */
	LIVE_ARGUMENTS = 16,        /* behind '?' */
	LIVE_STRANGERS = 32,        /* connections without the token: one more, and the oldest is closed */
	LIVE_GUESTS =
		24, /* the same of those that have shown it; the rest is for those that are being closed */
	LIVE_BACKLOG = 256, /* connections that wait to be taken */
	LIVE_SPARE =
		2, /* images and states kept free: one more, and whoever has read for the longest is cut off */
};

/* A connection, known by its socket. */
struct live_guest {
	int fd;         /* -1: free */
	double since_s; /* of its last request, at first of the connection */
	bool welcome;   /* has shown the token */
	bool asking;    /* the head of a request is on its way, */
	bool reading;   /* and the answer */
	bool leaving;   /* its end is on its way */
};

struct live_server {
	iso_live *live;
	struct MHD_Daemon *daemon;
	int port;
	bool lowered; /* the priority of its thread */
	struct live_guest guest[LIVE_CONNECTIONS];
	struct MHD_Response *page, *script, *style, *colours;
	struct MHD_Response *state; /* the last, shared for a tenth of a second; NULL: none */
	double state_s;
	bool state_ended;           /* it says that the run has ended */
	bool told_end;              /* the answer under way says so */
	struct MHD_Response *image; /* of image_version; NULL: none */
	uint64_t image_version;
	int images, states; /* responses that live, this one included */
};

/* live_answer.c: the answer to a request for `path`, by `method`; queued. `first`: its head alone is there yet; then only
   a refusal is, and *wait is set for any other. */
enum MHD_Result iso_live_answer(struct live_server *s, struct MHD_Connection *c, const char *path,
                                const char *method, bool first, bool *wait);

/* The responses that never change. */
int iso_live_answers_make(struct live_server *s);
void iso_live_answers_free(struct live_server *s);

/* live_server.c: the guest of a connection has the token, and asks for something. */
void iso_live_welcome(struct live_server *s, struct MHD_Connection *c);

/* Closes the connection of whoever has been reading his answer for the longest time. */
void iso_live_end_slowest(struct live_server *s);

#endif
