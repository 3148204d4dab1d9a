/* SPDX-License-Identifier: BSD-3-Clause */
/* What holds for all files of a thread: whether it writes at all, and whether it is to stop. */
#include "out.h"
#include "core/ctx.h"

static const volatile sig_atomic_t *watched;
static _Thread_local bool mute;

bool iso_out_mute(bool on)
{
	bool before = mute;

	mute = on;
	return before;
}

bool iso_out_is_mute(void)
{
	return mute;
}

void iso_stop_watch(const volatile sig_atomic_t *flag)
{
	watched = flag;
}

bool iso_stop_asked(const iso_ctx *ctx)
{
	return (ctx && iso_stopped(ctx)) || (watched && *watched);
}

int iso_stop_check(const iso_ctx *ctx, const char *path)
{
	if (!iso_stop_asked(ctx)) return ISO_OK;
	int st = ctx ? iso_ctx_poll(ctx) : ISO_OK; /* a device that could not be opened stops the work too */

	return st && st != ISO_ECANCEL ? st : iso_fail(ISO_ECANCEL, "%s: interrupted", path);
}
