// Operations that CUDA C++ has no function for: tensor cores, asynchronous copies, and rounding two
// numbers to bf16 at once. They are inline PTX. The emulation has its own versions
// (tests/emulation).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#ifdef ROLLCALL_EMULATED_DEVICE
#include <emulated_language.hpp>
#else
namespace rollcall::kernels::cuda {

/// The block's dynamic shared memory.
template <class T>
__device__ inline T* shared_memory() {
  extern __shared__ __align__(16) unsigned char dynamic_shared_memory[];
  return reinterpret_cast<T*>(dynamic_shared_memory);
}

/// Rounds both to nearest with ties to even. `low` is in the lower half.
__device__ inline unsigned packed_bf16(float low, float high) {
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

/// sum[16,8] += a[16,16] b[16,8] of a warp, in bf16 with fp32 sums. The fragments are those of
/// mma.m16n8k16 in the PTX ISA. With g = lane / 4 and t = lane % 4, a has rows (g, g + 8, g, g + 8)
/// and columns 2t, 2t + 1 (+ 8 for the last two), b has rows 2t, 2t + 1 (+ 8) and column g, and sum
/// has rows (g, g, g + 8, g + 8) and columns 2t, 2t + 1.
__device__ inline void multiply_add(float (&sum)[4], const unsigned (&a)[4],
                                    const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// Loads four matrices of 8 x 8 bf16 from shared memory. Lane l passes the address of row l % 8 of
/// matrix l / 8, which has 16 bytes and is aligned to 16. It receives elements 2t, 2t + 1 of row g
/// of matrix i in to[i], or of column g in the transposed version.
__device__ inline void load_matrices(unsigned (&to)[4], const std::uint16_t* row) {
  const auto place = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(place)
               : "memory");
}
__device__ inline void load_transposed_matrices(unsigned (&to)[4], const std::uint16_t* row) {
  const auto place = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(place)
               : "memory");
}

/// Copies 16 bytes from global to shared memory, both aligned to 16, or writes zeros if not
/// `wanted`. They have arrived after the wait for their group.
__device__ inline void copy_async(void* to, const void* from, bool wanted) {
  const auto place = static_cast<unsigned>(__cvta_generic_to_shared(to));
  const int bytes = wanted ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(from), "r"(bytes)
               : "memory");
}
/// Ends a group of this thread's copies.
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most the last kPending groups of this thread are in flight. Other threads see the
/// copies after a barrier.
template <int kPending>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace rollcall::kernels::cuda
#endif
