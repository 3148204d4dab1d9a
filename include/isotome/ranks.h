/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts over several processes, the ranks of an MPI communicator, which share the work of every call that
   computes: the images are those of one process, bit for bit, for any number of ranks.

   Every rank makes its context and calls the same functions with the same arguments in the same order. Operators of
   srm, svoxel, sradon and ubp take and give whole images and data on every rank. Those of ray and strip have rows of
   their own on each rank: the events that the rank was given. If a call that computes or that makes an operator fails on
   one rank it fails on all, with that rank's status and message, and the context is good for nothing more. Where some ranks
   alone are short of memory or of a device, the message begins with "rank R of N: ". iso_op_clone is a matter of one rank.

   A process links no MPI for this: libisotome_mpi.so, which stands beside libisotome.so, is opened here. It is made
   where the build finds MPI, and must be of the MPI that the caller's communicator is of.

   Threads: as the context; one thread of a process at a time calls what computes. */
#ifndef ISOTOME_RANKS_H
#define ISOTOME_RANKS_H

#include "isotome/context.h"

ISO_BEGIN_C

/* mpi_comm: the address of an MPI_Comm, which is duplicated; NULL: all processes that were started together.
   If the caller has not started MPI, it is started here, and ended with the process. device: as for
   iso_ctx_create; with "cuda" and "auto", the ranks of a machine take one GPU after the other, and share GPUs
   if there are fewer GPUs than ranks. threads: 0 takes the cores that the rank is bound to, or its share of the
   machine's cores. ISO_EDEVICE if there is no libisotome_mpi.so. */
ISO_CHECKED int iso_ctx_create_ranks(iso_ctx **ctx, const char *device, int threads, const void *mpi_comm);

/* The number of this rank, and the number of ranks. Other contexts are rank 0 of 1. */
int iso_ctx_rank(const iso_ctx *ctx);
int iso_ctx_ranks(const iso_ctx *ctx);

/* What the calls of this rank exchanged so far: bytes of results, seconds in which it waited or exchanged. */
void iso_ctx_exchanged(int64_t *bytes, double *seconds, const iso_ctx *ctx);

ISO_END_C
#endif
