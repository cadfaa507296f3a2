// Reference for the token columns (log-prob, entropy, log-sum-exp) and their backward pass.
#include "kernels/reference.hpp"

#include <algorithm>
#include <cmath>

namespace rollcall::kernels::reference {

void token_columns(ExecutionContext&, const float* logits, std::int64_t n, std::int64_t v,
                   float inverse_temperature, const std::int32_t* target, float* logprob,
                   float* entropy, float* lse, BlockMass* blocks, float* e) {
  const double scale = inverse_temperature;
  for (std::int64_t i = 0; i < n; ++i) {
    const float* row = logits + i * v;
    const double largest = scale * *std::max_element(row, row + v);
    double sum = 0.0, weighted = 0.0;
    for (std::int64_t j = 0; j < v; ++j) {
      const double x = scale * row[j] - largest, share = std::exp(x);
      sum += share;
      if (share > 0.0) weighted += share * x;  // 0 ln 0 = 0
    }
    lse[i] = static_cast<float>(largest + std::log(sum));
    entropy[i] = static_cast<float>(std::log(sum) - weighted / sum);
    logprob[i] = target[i] < 0
                     ? 0.0F
                     : row[target[i]] * inverse_temperature - static_cast<float>(largest) -
                           static_cast<float>(std::log(sum));
    for (std::int64_t first = 0; first < v; first += kVocabularyBlock) {
      const std::int64_t end = std::min(v, first + kVocabularyBlock);
      const double top = scale * *std::max_element(row + first, row + end);
      double mass = 0.0;
      for (std::int64_t j = first; j < end; ++j) {
        mass += std::exp(scale * row[j] - top);
        if (e) e[i * v + j] = static_cast<float>(std::exp(scale * row[j] - top));
      }
      if (blocks) *blocks++ = {static_cast<float>(top), static_cast<float>(mass)};
    }
    if (blocks) *blocks++ = {static_cast<float>(largest), static_cast<float>(std::log(sum))};
  }
}

void token_columns_backward(ExecutionContext&, const float* logits, std::int64_t n, std::int64_t v,
                            float inverse_temperature, const std::int32_t* target, const float* lse,
                            const float* entropy, const float* dlogprob, const float* dentropy,
                            float* dlogits) {
  const double scale = inverse_temperature;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < v; ++j) {
      const double log_p = scale * logits[i * v + j] - lse[i], p = std::exp(log_p);
      const double through_logprob = dlogprob[i] * ((j == target[i] ? 1.0 : 0.0) - p);
      const double through_entropy = p > 0.0 ? -dentropy[i] * p * (log_p + entropy[i]) : 0.0;
      dlogits[i * v + j] = static_cast<float>(scale * (through_logprob + through_entropy));
    }
}

void wide_columns(ExecutionContext&, const float* logits, const float* other, std::int64_t n,
                  std::int64_t v, float inverse_temperature, const float* lse,
                  const float* other_lse, float* squares, float* kl) {
  const double scale = inverse_temperature;
  for (std::int64_t i = 0; i < n; ++i) {
    double square_sum = 0.0, divergence = 0.0;
    for (std::int64_t j = i * v; j < (i + 1) * v; ++j) {
      const double log_p = scale * logits[j] - lse[i], p = std::exp(log_p);
      square_sum += p * p;
      if (other && p > 0.0) divergence += p * (log_p - (scale * other[j] - other_lse[i]));
    }
    squares[i] = static_cast<float>(square_sum);
    if (other) kl[i] = divergence < 0.0 ? 0.0F : static_cast<float>(divergence);
  }
}

void exponentials(ExecutionContext&, const float* logits, std::int64_t v, float inverse_temperature,
                  float largest, float* e) {
  for (std::int64_t j = 0; j < v; ++j)
    e[j] = static_cast<float>(
        std::exp(static_cast<double>(inverse_temperature) * logits[j] - largest));
}

void sums_from(ExecutionContext&, const float* e, const float* factor, std::int64_t v,
               const float* least, bool number, double* sum) {
  for (int t = 0; t < kThresholds; ++t) {
    sum[t] = 0.0;
    for (std::int64_t j = 0; j < v; ++j)
      if (const float w = e[j] * factor[j / kVocabularyBlock]; w >= least[t])
        sum[t] += number ? 1.0 : static_cast<double>(w);
  }
}

std::int64_t places_between(ExecutionContext&, const float* e, const float* factor, std::int64_t v,
                            float low, float high, float* sum, std::int32_t* place) {
  std::int64_t count = 0;
  for (std::int64_t block = 0; block < vocabulary_blocks(v); ++block) {
    double above = 0.0;
    for (std::int64_t j = block * kVocabularyBlock; j < std::min(v, (block + 1) * kVocabularyBlock);
         ++j) {
      const float weight = e[j] * factor[block];
      if (weight >= high) above += double(weight);
      if (weight >= low && weight < high) place[count++] = std::int32_t(j);
    }
    sum[block] = float(above);
  }
  return count;
}

}  // namespace rollcall::kernels::reference
