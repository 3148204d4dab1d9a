/* SPDX-License-Identifier: BSD-3-Clause */
/* What the compiler does not find by itself in the innermost loops of kernels. Shared memory by addresses of 32 bits:
   an address that is made of a bin needs one instruction then, not three. */
#ifndef ISO_MACHINE_CUH
#define ISO_MACHINE_CUH

static __device__ __forceinline__ unsigned iso_shared_of(const void *p)
{
	return (unsigned)__cvta_generic_to_shared(p);
}

/* atomicAdd to the number OFFSET bytes after an address. Like the loads below it stays where barriers are beside it, but
   is no reason to read anything again. */
template <int OFFSET> static __device__ __forceinline__ void iso_shared_add(unsigned at, int v)
{
	asm volatile("red.shared.add.u32 [%0 + %2], %1;" ::"r"(at), "r"(v), "n"(OFFSET));
}

static __device__ __forceinline__ float2 iso_shared_two(unsigned at)
{
	float2 v;

	asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(at));
	return v;
}

static __device__ __forceinline__ float4 iso_shared_four(unsigned at)
{
	float4 v;

	asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
	             : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
	             : "r"(at));
	return v;
}

/* A value that is kept in a register, and not made again in each turn of a loop. */
static __device__ __forceinline__ float iso_kept(float v)
{
	asm volatile("" : "+f"(v));
	return v;
}

#endif
