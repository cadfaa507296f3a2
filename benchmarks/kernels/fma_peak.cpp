// Independent FMA chains in registers, in the widest form that the processor has.
#include "fma_peak.hpp"

#include <algorithm>
#include <chrono>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace rollcall::kernels {
namespace {

constexpr int kChains = 12;  // latency 4 cycles, up to two a cycle: at least 8
constexpr long kRounds = 200000;

#if defined(__x86_64__)
// The chains stay in registers: the compiler must not see that they never change.
__attribute__((target("avx512f"))) void spin_avx512() {
  __m512 chain[kChains];
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) chain[c] = _mm512_set1_ps(1.0F);
  const __m512 one = _mm512_set1_ps(1.0F), zero = _mm512_setzero_ps();
  for (long r = 0; r < kRounds; ++r) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) {
      chain[c] = _mm512_fmadd_ps(chain[c], one, zero);
      __asm__ volatile("" : "+v"(chain[c]));
    }
  }
}

__attribute__((target("avx2,fma"))) void spin_avx2() {
  __m256 chain[kChains];
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) chain[c] = _mm256_set1_ps(1.0F);
  const __m256 one = _mm256_set1_ps(1.0F), zero = _mm256_setzero_ps();
  for (long r = 0; r < kRounds; ++r) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) {
      chain[c] = _mm256_fmadd_ps(chain[c], one, zero);
      __asm__ volatile("" : "+x"(chain[c]));
    }
  }
}
#endif

void spin_scalar() {
  float chain[kChains];
  std::fill(chain, chain + kChains, 1.0F);
  for (long r = 0; r < kRounds; ++r)
    for (float& value : chain) {
      value = __builtin_fmaf(value, 1.0F, 0.0F);
      __asm__ volatile("" : "+m"(value));
    }
}

double gflops(void (*spin)(), int lanes) {
  double least = 1e9;
  for (int repetition = 0; repetition < 20; ++repetition) {
    const auto start = std::chrono::steady_clock::now();
    spin();
    least = std::min(
        least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return 2.0 * lanes * kChains * static_cast<double>(kRounds) / least * 1e-9;
}

}  // namespace

double fma_peak_gflops() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return gflops(spin_avx512, 16);
  if (__builtin_cpu_supports("fma")) return gflops(spin_avx2, 8);
#endif
  return gflops(spin_scalar, 1);
}

}  // namespace rollcall::kernels
