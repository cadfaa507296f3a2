// kernels/device_language.cuh for the host compiler: the same functions as plain loops and noted copies.
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

inline unsigned packed_bf16(float low, float high) { return unsigned(to_bf16(low)) | unsigned(to_bf16(high)) << 16; }

/// Products are exact; here they are added one by one, ascending, each sum rounded to fp32. Hardware adds several at once with bits of its own choice: other
/// last bits, but as here the same ones for the same operands wherever they stand.
__attribute__((no_sanitize("thread"))) inline void multiply_add(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                                                                const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  struct Fragments {
    unsigned a[4], b[2];
  };
  const Fragments own{{a[0], a[1], a[2], a[3]}, {b[0], b[1]}};
  const emulation::Lanes& lanes = emulation::exchange(~0U, &own, sizeof own, {file, line});
  const auto of = [&](unsigned lane) -> const Fragments& { return *reinterpret_cast<const Fragments*>(lanes.of[lane]); };
  const unsigned g = emulation::lane() / 4, t = emulation::lane() % 4;
  const auto half = [](unsigned pair, unsigned k) { return from_bf16(Bf16(pair >> (k % 2 * 16))); };
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = g + i / 2 * 8, column = 2 * t + i % 2;
    for (unsigned k = 0; k < 16; ++k)
      sum[i] = std::fma(half(of(row % 8 * 4 + k % 8 / 2).a[row / 8 + k / 8 * 2], k), half(of(column * 4 + k % 8 / 2).b[k / 8], k), sum[i]);
  }
}

struct alignas(16) MatrixRow {
  Bf16 of[8];
};
inline const emulation::Lanes& all_rows(const std::uint16_t* row, const char* file, int line) {
  const MatrixRow own = *reinterpret_cast<const MatrixRow*>(row);  // read by this lane; the others see its copy
  return emulation::exchange(~0U, &own, sizeof own, {file, line});
}
__attribute__((no_sanitize("thread"))) inline void load_matrices(unsigned (&to)[4], const std::uint16_t* row, const char* file = __builtin_FILE(),
                                                                 int line = __builtin_LINE()) {
  const emulation::Lanes& rows = all_rows(row, file, line);
  for (unsigned i = 0; i < 4; ++i) std::memcpy(&to[i], rows.of[8 * i + emulation::lane() / 4] + emulation::lane() % 4 * 4, 4);
}
__attribute__((no_sanitize("thread"))) inline void load_transposed_matrices(unsigned (&to)[4], const std::uint16_t* row, const char* file = __builtin_FILE(),
                                                                            int line = __builtin_LINE()) {
  const emulation::Lanes& rows = all_rows(row, file, line);
  const unsigned g = emulation::lane() / 4, t = emulation::lane() % 4;
  const auto element = [&](unsigned i, unsigned r) { return unsigned(reinterpret_cast<const MatrixRow*>(rows.of[8 * i + r])->of[g]); };
  for (unsigned i = 0; i < 4; ++i) to[i] = element(i, 2 * t) | element(i, 2 * t + 1) << 16;
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
