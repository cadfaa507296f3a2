// Reference for merged adapters: w + scale B A.
#include "kernels/bf16.hpp"
#include "kernels/modules/reference.hpp"

namespace rollcall::kernels::reference {
namespace {

/// weight(i): number i of W.
template <class Weight>
void merge(const Weight& weight, std::int64_t rows, std::int64_t k, const float* b, const float* a,
           std::int64_t rank, float scale, float* out) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t j = 0; j < k; ++j) {
      double sum = weight(r * k + j);
      for (std::int64_t i = 0; i < rank; ++i)
        sum += static_cast<double>(scale) * b[r * rank + i] * a[i * k + j];
      out[r * k + j] = static_cast<float>(sum);
    }
}

}  // namespace

void merge_rows(const float* w, std::int64_t rows, std::int64_t k, const float* b, const float* a,
                std::int64_t rank, float scale, float* out) {
  merge([&](std::int64_t i) { return w[i]; }, rows, k, b, a, rank, scale, out);
}

void merge_halves(const std::uint16_t* w, std::int64_t rows, std::int64_t k, const float* b,
                  const float* a, std::int64_t rank, float scale, float* out) {
  merge([&](std::int64_t i) { return from_bf16(w[i]); }, rows, k, b, a, rank, scale, out);
}

}  // namespace rollcall::kernels::reference
