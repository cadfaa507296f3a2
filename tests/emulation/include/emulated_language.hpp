// kernels/device_language.cuh for the host compiler: the same functions as plain loops and noted
// copies.
#pragma once

#include "kernels/bf16.hpp"

#include <cuda_runtime.h>

namespace emulation {
void cp_async(void* to, const void* from, int bytes, int filled, const void* site);
void cp_async_commit();
void cp_async_wait(int pending, Site site);
}  // namespace emulation

namespace rollcall::kernels::cuda {

template <class T>
T* shared_memory() {
  return static_cast<T*>(emulation::dynamic_shared());
}

inline unsigned packed_bf16(float low, float high) {
  return unsigned(to_bf16(low)) | unsigned(to_bf16(high)) << 16;
}

/// Products of bf16 are exact in fp32; here they are added one by one, ascending, each sum rounded.
/// Hardware adds several at once with bits of its own choice: other last bits, but as here the same
/// ones for the same operands wherever they stand. (Functions that are watched are not inlined
/// here, so none is called.)
__attribute__((no_sanitize("thread"))) inline void multiply_add(float (&sum)[4],
                                                                const unsigned (&a)[4],
                                                                const unsigned (&b)[2],
                                                                const char* file = __builtin_FILE(),
                                                                int line = __builtin_LINE()) {
  struct Fragments {
    unsigned a[4], b[2];
  };
  const Fragments own{{a[0], a[1], a[2], a[3]}, {b[0], b[1]}};
  const emulation::Lanes& lanes = emulation::exchange(~0U, &own, sizeof own, {file, line});
  const unsigned lane = emulation::built_in.thread_idx.x % 32, g = lane / 4, t = lane % 4;
  float of_a[16][4], of_b[16][4];  // [k][i], of rows g, g, g + 8, g + 8 and columns 2t, 2t + 1, 2t,
                                   // 2t + 1
  for (unsigned pair = 0; pair < 8; ++pair)
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned bits_a = reinterpret_cast<const Fragments*>(lanes.of[g * 4 + pair % 4])
                                  ->a[i / 2 + pair / 4 * 2],
                     bits_b = reinterpret_cast<const Fragments*>(
                                  lanes.of[(2 * t + i % 2) * 4 + pair % 4])
                                  ->b[pair / 4];
      of_a[2 * pair][i] = __builtin_bit_cast(float, bits_a << 16),
               of_a[2 * pair + 1][i] = __builtin_bit_cast(float, bits_a & 0xFFFF0000U);
      of_b[2 * pair][i] = __builtin_bit_cast(float, bits_b << 16),
               of_b[2 * pair + 1][i] = __builtin_bit_cast(float, bits_b & 0xFFFF0000U);
    }
  for (unsigned k = 0; k < 16; ++k)
    for (unsigned i = 0; i < 4; ++i) sum[i] += of_a[k][i] * of_b[k][i];
}

struct alignas(16) MatrixRow {
  Bf16 of[8];
};
inline const emulation::Lanes& all_rows(const std::uint16_t* row, const char* file, int line) {
  // read by this lane; the others see its copy
  const MatrixRow own = *reinterpret_cast<const MatrixRow*>(row);
  return emulation::exchange(~0U, &own, sizeof own, {file, line});
}
__attribute__((no_sanitize("thread"))) inline void load_matrices(
    unsigned (&to)[4], const std::uint16_t* row, const char* file = __builtin_FILE(),
    int line = __builtin_LINE()) {
  const emulation::Lanes& rows = all_rows(row, file, line);
  const unsigned lane = emulation::built_in.thread_idx.x % 32;
  for (unsigned i = 0; i < 4; ++i)
    to[i] = reinterpret_cast<const unsigned*>(rows.of[8 * i + lane / 4])[lane % 4];
}
__attribute__((no_sanitize("thread"))) inline void load_transposed_matrices(
    unsigned (&to)[4], const std::uint16_t* row, const char* file = __builtin_FILE(),
    int line = __builtin_LINE()) {
  const emulation::Lanes& rows = all_rows(row, file, line);
  const unsigned g = emulation::built_in.thread_idx.x % 32 / 4,
                 t = emulation::built_in.thread_idx.x % 4;
  for (unsigned i = 0; i < 4; ++i)
    to[i] = unsigned(reinterpret_cast<const MatrixRow*>(rows.of[8 * i + 2 * t])->of[g]) |
            unsigned(reinterpret_cast<const MatrixRow*>(rows.of[8 * i + 2 * t + 1])->of[g]) << 16;
}

__attribute__((noinline)) inline void copy_async(void* to, const void* from, bool wanted) {
  emulation::cp_async(to, from, 16, wanted ? 16 : 0, __builtin_return_address(0));
}
inline void commit_copies() { emulation::cp_async_commit(); }
template <int kPending>
void wait_for_copies(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  emulation::cp_async_wait(kPending, {file, line});
}

}  // namespace rollcall::kernels::cuda
