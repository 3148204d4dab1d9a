/* SPDX-License-Identifier: BSD-3-Clause */
/* Who may see a live page: whoever has its token, and asks for it by an address of this machine. */
#include "live.h"

#include "core/status.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

int iso_live_make_token(char token[LIVE_TOKEN + 1])
{
	unsigned char bytes[LIVE_TOKEN / 2];

	if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
		return iso_fail(ISO_EIO, "live: the system has no random numbers for a token");
	for (size_t i = 0; i < sizeof bytes; i++) snprintf(token + 2 * i, 3, "%02x", bytes[i]);
	return ISO_OK;
}

const char *iso_live_behind_token(const char *path, const char *token)
{
	unsigned char differs = 0;

	if (strnlen(path, LIVE_TOKEN + 2) < LIVE_TOKEN + 2 || path[0] != '/' || path[LIVE_TOKEN + 1] != '/')
		return NULL;
	for (int i = 0; i < LIVE_TOKEN; i++) differs |= (unsigned char)(path[1 + i] ^ token[i]);
	return differs ? NULL : path + LIVE_TOKEN + 2;
}

/* "127.0.0.1" or "[::1]", `size` bytes. */
static bool is_numeric(const char *host, size_t size)
{
	unsigned char address[sizeof(struct in6_addr)];
	char text[INET6_ADDRSTRLEN + 2];
	bool six = size > 2 && host[0] == '[' && host[size - 1] == ']';

	if (size >= sizeof text) return false;
	snprintf(text, sizeof text, "%.*s", (int)size - (six ? 2 : 0), host + six);
	return inet_pton(six ? AF_INET6 : AF_INET, text, address) == 1;
}

/* Of port 80 browsers send none. */
bool iso_live_host_is_own(const char *host, int port)
{
	char own[8];
	size_t size = host ? strlen(host) : 0, behind = (size_t)snprintf(own, sizeof own, ":%d", port);

	if (size > behind && strcmp(host + size - behind, own) == 0)
		size -= behind;
	else if (port != 80)
		return false;
	return (size == 9 && strncmp(host, "localhost", 9) == 0) || is_numeric(host, size);
}

bool iso_live_origin_is_own(const char *origin, const char *host)
{
	return !origin || (strncmp(origin, "http://", 7) == 0 && strcmp(origin + 7, host) == 0);
}
