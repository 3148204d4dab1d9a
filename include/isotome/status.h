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

/* Before a function that returns a status: the compiler warns if nobody looks at it. */
#if defined(__GNUC__)
#	define ISO_CHECKED __attribute__((warn_unused_result))
#else
#	define ISO_CHECKED
#endif

/* The version of these headers. */
#define ISO_VERSION_MAJOR 0
#define ISO_VERSION_MINOR 2
#define ISO_VERSION_PATCH 0
#define ISO_VERSION_OF(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define ISO_VERSION_NUMBER ISO_VERSION_OF(ISO_VERSION_MAJOR, ISO_VERSION_MINOR, ISO_VERSION_PATCH)

ISO_BEGIN_C

/* Storage of images and data. */
typedef float iso_real;

/* The version of the library that runs: "0.2.0". */
const char *iso_version(void);

/* iso_version_check(ISO_VERSION_NUMBER) is ISO_OK if the library that runs can serve a program of these headers: the
   same MAJOR (before 1.0 also the same MINOR), and no older than they are. ISO_EARG otherwise, with both versions. */
ISO_CHECKED int iso_version_check(int number);

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
