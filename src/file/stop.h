/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading and writing files that a signal can end. Work on a context is cancelled by the context. */
#ifndef ISO_STOP_H
#define ISO_STOP_H

#include "isotome.h"

#include <signal.h>

/* From now on files are read and written only while *flag is 0. It is the process's, as signals are;
   NULL, as at the start: none. */
void iso_stop_watch(const volatile sig_atomic_t *flag);

/* ISO_ECANCEL if the flag is set; `path`: for the message. */
int iso_stop_check(const char *path);

#endif
