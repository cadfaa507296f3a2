// Reference of the token columns (log-probability, entropy, log-sum-exp) and of their backward.
#include "kernels/reference.hpp"

#include <algorithm>
#include <cmath>

namespace rollcall::kernels::reference {

void token_columns(ExecutionContext&, const float* logits, std::int64_t n, std::int64_t v, float inverse_temperature, const std::int32_t* target,
                   float* logprob, float* entropy, float* lse) {
  const double scale = inverse_temperature;
  for (std::int64_t i = 0; i < n; ++i) {
    const float* row = logits + i * v;
    const double largest = scale * *std::max_element(row, row + v);
    double sum = 0.0, weighted = 0.0;
    for (std::int64_t j = 0; j < v; ++j) {
      const double x = scale * row[j] - largest, e = std::exp(x);
      sum += e;
      if (e > 0.0) weighted += e * x;  // 0 ln 0 = 0
    }
    lse[i] = static_cast<float>(largest + std::log(sum));
    entropy[i] = static_cast<float>(std::log(sum) - weighted / sum);
    logprob[i] = target[i] < 0 ? 0.0F : static_cast<float>(scale * row[target[i]] - largest - std::log(sum));
  }
}

void token_columns_backward(ExecutionContext&, const float* logits, std::int64_t n, std::int64_t v, float inverse_temperature, const std::int32_t* target,
                            const float* lse, const float* entropy, const float* dlogprob, const float* dentropy, float* dlogits) {
  const double scale = inverse_temperature;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < v; ++j) {
      const double log_p = scale * logits[i * v + j] - lse[i], p = std::exp(log_p);
      const double through_logprob = target[i] < 0 ? 0.0 : dlogprob[i] * ((j == target[i] ? 1.0 : 0.0) - p);
      const double through_entropy = p > 0.0 ? -dentropy[i] * p * (log_p + entropy[i]) : 0.0;
      dlogits[i * v + j] = static_cast<float>(scale * (through_logprob + through_entropy));
    }
}

}  // namespace rollcall::kernels::reference
