/* SPDX-License-Identifier: BSD-3-Clause */
/* Status codes and messages, the type of stored values, the version.

   Threads: each thread has a message of its own. */
#ifndef ISOTOME_STATUS_H
#define ISOTOME_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Around all declarations: C++ calls them as C. */
#ifdef __cplusplus
#	define ISO_BEGIN_C extern "C" {
#	define ISO_END_C }
#else
#	define ISO_BEGIN_C
#	define ISO_END_C
#endif

ISO_BEGIN_C

/* Storage of images and data. The tests also build the CPU library in double. */
#ifdef ISO_DOUBLE
typedef double iso_real;
#else
typedef float iso_real;
#endif

/* "0.2.0" */
const char *iso_version(void);

/* The optional parts of this library and the processors it is for, one line: "xraylib, HDF5, for x86-64-v3". */
const char *iso_built_with(void);

enum iso_status {
	ISO_OK = 0,
	ISO_EARG = -1,    /* an argument or option is wrong */
	ISO_EINPUT = -2,  /* an input file is missing, damaged, or holds values not allowed */
	ISO_EIO = -3,     /* the system failed to read or write */
	ISO_ENOMEM = -4,  /* host or device has not enough memory */
	ISO_EDEVICE = -5, /* the device is missing, or failed */
	ISO_EBUSY = -6,   /* an operator was called while it served another caller */
	ISO_ECANCEL = -7, /* iso_ctx_cancel was called */
};

/* No failure. A function that is called after each iteration returns this to end the run with the image of
   that iteration. */
#define ISO_ENOUGH 1

/* Message of the last failure on this thread: one line, who, what it got, what it wanted. */
const char *iso_message(void);

ISO_END_C
#endif
