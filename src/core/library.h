/* SPDX-License-Identifier: BSD-3-Clause */
/* Libraries that are opened when they are first wanted. */
#ifndef ISO_LIBRARY_H
#define ISO_LIBRARY_H

#include <stdint.h>

/* The address of `name` in `file`, a constant, which stands beside libisotome.so or where the loader looks; there it
   must be of the same version, by its iso_half_version. ISO_EDEVICE, "WHAT: ...", if there is no such library, or if
   the loader does not find what that one needs. */
int iso_library_symbol(void **address, const char *what, const char *file, const char *name);

/* Size and time, s and ns, of the library's file that holds the function or variable at `inside`: another build has others.
   Zeros where they are not known. */
void iso_library_identity(int64_t file[3], const void *inside);

#endif
