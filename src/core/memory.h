/* SPDX-License-Identifier: BSD-3-Clause */
/* What the machine and this process say of their memory, in bytes. */
#ifndef ISO_MEMORY_H
#define ISO_MEMORY_H

#include <stdint.h>

int64_t iso_memory_available(void); /* of the machine, for new allocations */
int64_t iso_memory_resident(void);  /* that the process holds; 0: not known */
int64_t iso_memory_own(void);       /* resident memory that maps no file: what the process allocated */
int64_t iso_memory_mapped(void);    /* its address space: what RLIMIT_AS counts; 0: not known */

#endif
