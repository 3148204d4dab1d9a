/* SPDX-License-Identifier: BSD-3-Clause */
/* The server of a live page: where it listens, and how many it listens to. */
#include "live_server.h"

#include "core/progress.h"
#include "core/status.h"

#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- guests ---- */

static int socket_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *i = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);

	return i ? (int)i->connect_fd : -1;
}

static struct live_guest *guest_of(struct live_server *s, int fd)
{
	for (int i = 0; i < LIVE_CONNECTIONS; i++)
		if (s->guest[i].fd == fd) return &s->guest[i];
	return NULL;
}

enum which { STRANGERS, GUESTS, READERS };

static bool is(const struct live_guest *g, enum which which)
{
	if (g->fd < 0 || g->leaving) return false;
	return which == STRANGERS ? !g->welcome : which == GUESTS ? g->welcome : g->reading;
}

static int count(const struct live_server *s, enum which which)
{
	int n = 0;

	for (int i = 0; i < LIVE_CONNECTIONS; i++) n += is(&s->guest[i], which);
	return n;
}

/* Ends the connection of that one of them whose last request was made first. */
static void end_oldest(struct live_server *s, enum which which)
{
	struct live_guest *oldest = NULL;

	for (int i = 0; i < LIVE_CONNECTIONS; i++) {
		struct live_guest *g = &s->guest[i];

		if (is(g, which) && (!oldest || g->since_s < oldest->since_s)) oldest = g;
	}
	if (!oldest) return;
	oldest->leaving = true;
	shutdown(oldest->fd, SHUT_RDWR);
}

void iso_live_end_slowest(struct live_server *s)
{
	end_oldest(s, READERS);
}

/* Whoever only holds a connection open must not keep others out: one stranger more, and the oldest goes; one with the
   token more, and the one goes that has asked for nothing for the longest time. A page that is looked at asks several
   times a second. */
void iso_live_welcome(struct live_server *s, struct MHD_Connection *c)
{
	struct live_guest *g = guest_of(s, socket_of(c));

	if (!g) return;
	g->welcome = true;
	g->since_s = iso_now_s();
	if (count(s, GUESTS) > LIVE_GUESTS) end_oldest(s, GUESTS);
	iso_live_guests(s->live, count(s, GUESTS));
}

/* The run comes first. On Linux this is of the calling thread alone; 19 is the most that there is. */
static void lower_priority(struct live_server *s)
{
	if (!s->lowered) setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 19);
	s->lowered = true;
}

static void on_connection(void *arg, struct MHD_Connection *c, void **own,
                          enum MHD_ConnectionNotificationCode code)
{
	struct live_server *s = arg;
	int fd = socket_of(c);
	bool opens = code == MHD_CONNECTION_NOTIFY_STARTED;
	struct live_guest *g = guest_of(s, opens ? -1 : fd);

	(void)own;
	lower_priority(s);
	if (opens && count(s, STRANGERS) >= LIVE_STRANGERS) end_oldest(s, STRANGERS);
	if (g) *g = (struct live_guest){ .fd = opens ? fd : -1, .since_s = iso_now_s() };
	if (!opens) iso_live_guests(s->live, count(s, GUESTS));
}

/* ---- requests ---- */

static void set_reading(struct live_server *s, struct MHD_Connection *c, bool is)
{
	struct live_guest *g = guest_of(s, socket_of(c));

	if (g) g->reading = is;
}

static void has_asked(struct live_server *s, struct MHD_Connection *c)
{
	struct live_guest *g = guest_of(s, socket_of(c));

	if (g) g->asking = false;
}

#define TOO_LONG "431 Request Header Fields Too Large", "the head of this request is too long\n"

/* Without the library's help, which has no memory left to answer. The connection is closed then. */
static void refuse_plainly(int fd, const char *status, const char *text)
{
	char answer[256];
	int n = snprintf(answer, sizeof answer,
	                 "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %zu\r\n"
	                 "Connection: close\r\n\r\n%s",
	                 status, strlen(text), text);

	if (send(fd, answer, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) == n) shutdown(fd, SHUT_RDWR);
}

/* The library answers nothing where its memory ends within the arguments of a request. */
static void *on_path(void *arg, const char *path, struct MHD_Connection *c)
{
	struct live_guest *g = guest_of(arg, socket_of(c));
	const char *at = strchr(path, '?');
	int n = 0;

	if (g) g->asking = true;
	for (; at && n <= LIVE_ARGUMENTS; at = strchr(at + 1, '&')) n++;
	if (n > LIVE_ARGUMENTS) refuse_plainly(socket_of(c), "414 URI Too Long", "too many arguments\n");
	return NULL;
}

/* Words of the library, which nobody sees. Where its memory ends within cookies, version 0.9.75 sends the head of its
   refusal twice, or nothing: so it is made here, for the guest whose request is being read. */
static void on_words(void *arg, const char *format, va_list ap)
{
	struct live_server *s = arg;
	struct live_guest *asks = NULL;
	int n = 0;

	(void)ap;
	if (!strstr(format, "Not enough memory in pool")) return;
	for (int i = 0; i < LIVE_CONNECTIONS; i++)
		if (s->guest[i].fd >= 0 && s->guest[i].asking && !s->guest[i].leaving) {
			asks = &s->guest[i];
			n++;
		}
	if (n != 1) return;
	refuse_plainly(asks->fd, TOO_LONG);
	asks->leaving = true;
}

/* Whether the head leaves no memory for that of the answer. */
static bool is_full(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *head =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	int fields = MHD_get_connection_values(
		c, (enum MHD_ValueKind)(MHD_HEADER_KIND | MHD_COOKIE_KIND | MHD_GET_ARGUMENT_KIND), NULL,
		NULL);

	return (head ? (int64_t)head->header_size : 0) + (int64_t)fields * LIVE_FIELD_BYTES >
	       LIVE_REQUEST_BYTES - LIVE_ANSWER_BYTES;
}

/* What a request keeps between its head and the end of its body. */
struct request {
	size_t body; /* bytes of it, which are dropped */
	bool ended;  /* the answer is the state of a run that has ended */
};

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *url, const char *method,
                                  const char *version, const char *data, size_t *size, void **own)
{
	struct live_server *s = arg;
	struct request *r = *own;
	bool wait = false, first = !r;

	(void)version, (void)data;
	if (first && !(r = *own = calloc(1, sizeof *r))) return MHD_NO;
	if (!first && *size > 0) {
		r->body += *size;
		*size = 0;
		return r->body > LIVE_BODY ? MHD_NO : MHD_YES;
	}
	if (first) has_asked(s, c);
	if (first && is_full(c)) {
		refuse_plainly(socket_of(c), TOO_LONG);
		return MHD_NO;
	}
	s->told_end = false;
	enum MHD_Result result = iso_live_answer(s, c, url, method, first, &wait);

	r->ended = s->told_end;
	if (!wait) set_reading(s, c, true);
	return wait ? MHD_YES : result;
}

static void on_completed(void *arg, struct MHD_Connection *c, void **own, enum MHD_RequestTerminationCode how)
{
	struct live_server *s = arg;
	struct request *r = *own;

	set_reading(s, c, false);
	if (r && r->ended && how == MHD_REQUEST_TERMINATED_COMPLETED_OK) iso_live_end_seen(s->live);
	free(r);
	*own = NULL;
}

/* Paths are taken as they were sent: none of ours has anything to be decoded. */
static size_t keep_escapes(void *arg, struct MHD_Connection *c, char *text)
{
	(void)arg, (void)c;
	return strlen(text);
}

/* ---- where it listens ---- */

static int find_address(struct addrinfo **found, const char *bind, int port)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
		                  .ai_socktype = SOCK_STREAM };
	char service[8];

	snprintf(service, sizeof service, "%d", port);
	int bad = getaddrinfo(bind, service, &hints, found);

	if (bad == 0) return ISO_OK;
	if (bad == EAI_MEMORY) return iso_fail_memory("live page", 1);
	return iso_fail(ISO_EARG, "live: '%.100s' is no numeric address to listen on, such as 127.0.0.1",
	                bind);
}

static int open_socket(int *fd, const struct addrinfo *a, const char *host, int port)
{
	int again = 1;

	*fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd >= 0 && setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &again, sizeof again) == 0 &&
	    bind(*fd, a->ai_addr, a->ai_addrlen) == 0 && listen(*fd, LIVE_BACKLOG) == 0)
		return ISO_OK;
	return iso_fail(ISO_EIO, "live: can't listen on %s, port %d: %s", host, port, strerror(errno));
}

/* With the port that it has. */
static int name_address(struct live_server *s, int fd)
{
	struct sockaddr_storage at = { 0 };
	socklen_t size = sizeof at;
	char host[NI_MAXHOST], port[NI_MAXSERV];

	if (getsockname(fd, (struct sockaddr *)&at, &size) != 0 ||
	    getnameinfo((struct sockaddr *)&at, size, host, sizeof host, port, sizeof port,
	                NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return iso_fail(ISO_EIO, "live: the address is not known");
	bool six = at.ss_family == AF_INET6;

	s->port = (int)strtol(port, NULL, 10);
	snprintf(s->live->address, sizeof s->live->address, "http://%s%.60s%s:%d/%s/", six ? "[" : "", host,
	         six ? "]" : "", s->port, s->live->token);
	return ISO_OK;
}

/* Not MHD_OPTION_STRICT_FOR_CLIENT: what it looks at, the Host, is looked at here.
   Signals are the program's threads' alone. The daemon closes the socket when it stops. */
static struct MHD_Daemon *start(struct live_server *s, int fd)
{
	sigset_t all, before;
	struct MHD_Daemon *d;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	d = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO | MHD_USE_ERROR_LOG, 0, NULL,
	                     NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, on_words, s,
	                     MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
	                     (unsigned)LIVE_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
	                     (unsigned)LIVE_TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
	                     (size_t)LIVE_REQUEST_BYTES, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
	                     MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_UNESCAPE_CALLBACK,
	                     keep_escapes, s, MHD_OPTION_URI_LOG_CALLBACK, on_path, s, MHD_OPTION_END);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return d;
}

static int listen_on(struct live_server *s, const char *host, int port)
{
	struct addrinfo *a = NULL;
	int fd = -1, st = find_address(&a, host, port);

	if (!st) st = open_socket(&fd, a, host, port);
	if (!st) st = name_address(s, fd);
	if (!st && !(s->daemon = start(s, fd))) st = iso_fail_memory("server of the live page", 1);
	if (st && fd >= 0) close(fd);
	if (a) freeaddrinfo(a);
	return st;
}

int iso_live_server_open(iso_live *live, const char *bind, int port)
{
	struct live_server *s = calloc(1, sizeof *s);
	int st;

	if (!s) return iso_fail_memory("live page", (int64_t)sizeof *s);
	s->live = live;
	for (int i = 0; i < LIVE_CONNECTIONS; i++) s->guest[i].fd = -1;
	if ((st = iso_live_answers_make(s)) || (st = listen_on(s, bind ? bind : "127.0.0.1", port))) {
		iso_live_server_close(s);
		return st;
	}
	live->server = s;
	return ISO_OK;
}

void iso_live_server_close(struct live_server *s)
{
	if (!s) return;
	if (s->daemon) MHD_stop_daemon(s->daemon);
	iso_live_answers_free(s);
	free(s);
}
