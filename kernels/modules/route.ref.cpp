// Reference for the router of experts and its backward pass.
#include "kernels/modules/reference.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace rollcall::kernels::reference {
namespace {

/// The log-sum-exp of the logits with these ids.
double log_sum_exp(const float* logits, const std::vector<std::int32_t>& ids) {
  double largest = logits[ids[0]], sum = 0.0;
  for (const std::int32_t id : ids) largest = std::max<double>(largest, logits[id]);
  for (const std::int32_t id : ids) sum += std::exp(logits[id] - largest);
  return largest + std::log(sum);
}

std::vector<std::int32_t> every_expert(std::int64_t experts) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(experts));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

std::vector<std::int32_t> largest_logits(const float* logits, const RouteForm& form) {
  std::vector<std::int32_t> ids = every_expert(form.experts);
  std::stable_sort(ids.begin(), ids.end(),
                   [&](std::int32_t a, std::int32_t b) { return logits[a] > logits[b]; });
  ids.resize(static_cast<std::size_t>(form.per_token));
  return ids;
}

}  // namespace

void route(ExecutionContext&, const float* x, std::int64_t n, std::int64_t hidden, const float* w,
           const float* bias, const RouteForm& form, const std::uint16_t* record, float* logits,
           std::int32_t* ids, float* weights) {
  for (std::int64_t i = 0; i < n; ++i) {
    float* of_row = logits + i * form.experts;
    for (std::int64_t e = 0; e < form.experts; ++e) {
      double sum = bias ? bias[e] : 0.0;
      for (std::int64_t j = 0; j < hidden; ++j)
        sum += static_cast<double>(x[i * hidden + j]) * w[e * hidden + j];
      of_row[e] = static_cast<float>(sum);
    }
    const std::uint16_t* of_record = record ? record + i * form.per_token : nullptr;
    std::vector<std::int32_t> chosen =
        of_record && *of_record != kNoRecord
            ? std::vector<std::int32_t>(of_record, of_record + form.per_token)
            : largest_logits(of_row, form);
    std::sort(chosen.begin(), chosen.end());
    const double lse =
        log_sum_exp(of_row, form.sums_to_one() ? chosen : every_expert(form.experts));
    for (std::int64_t j = 0; j < form.per_token; ++j) {
      ids[i * form.per_token + j] = chosen[j];
      weights[i * form.per_token + j] = static_cast<float>(std::exp(of_row[chosen[j]] - lse));
    }
  }
}

void route_backward(ExecutionContext&, const float* logits, std::int64_t n, const RouteForm& form,
                    const std::int32_t* ids, const float* weights, const float* dweights,
                    const RouteLoss& loss, float* dlogits) {
  const std::vector<std::int32_t> every = every_expert(form.experts);
  for (std::int64_t i = 0; i < n; ++i) {
    const float* l = logits + i * form.experts;
    const double lse = log_sum_exp(l, every),
                 times = loss.aux != 0 || loss.z != 0 ? loss.times[i] : 0.0;
    double pull = 0.0, mean_share = 0.0;
    for (std::int64_t j = i * form.per_token; j < (i + 1) * form.per_token; ++j)
      pull += static_cast<double>(weights[j]) * dweights[j];
    for (std::int64_t e = 0; loss.aux != 0 && e < form.experts; ++e)
      mean_share += std::exp(l[e] - lse) * loss.share[e];
    std::vector<double> d(every.size());
    for (std::int64_t e = 0; e < form.experts; ++e) {
      const double p = std::exp(l[e] - lse);
      if (!form.sums_to_one()) d[e] -= p * pull;
      d[e] += times * loss.z * 2.0 * lse * p;
      if (loss.aux != 0)
        d[e] +=
            times * loss.aux * static_cast<double>(form.experts) * p * (loss.share[e] - mean_share);
    }
    for (std::int64_t j = i * form.per_token; j < (i + 1) * form.per_token; ++j)
      d[ids[j]] += weights[j] * (form.sums_to_one() ? dweights[j] - pull : dweights[j]);
    std::transform(d.begin(), d.end(), dlogits + i * form.experts,
                   [](double value) { return static_cast<float>(value); });
  }
}

void route_inputs_backward(ExecutionContext&, const float* dlogits, std::int64_t n,
                           std::int64_t experts, const float* w, std::int64_t hidden, float* dx) {
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < hidden; ++j) {
      double sum = 0.0;
      for (std::int64_t e = 0; e < experts; ++e)
        sum += static_cast<double>(dlogits[i * experts + e]) * w[e * hidden + j];
      dx[i * hidden + j] = static_cast<float>(sum);
    }
}

void route_weights_backward(ExecutionContext&, const float* dlogits, const float* x, std::int64_t n,
                            std::int64_t experts, std::int64_t hidden, std::int64_t begin,
                            std::int64_t end, float* dw, float* dbias) {
  for (std::int64_t e = begin; e < end; ++e) {
    double bias = 0.0;
    for (std::int64_t i = 0; i < n; ++i) bias += dlogits[i * experts + e];
    if (dbias) dbias[e] += static_cast<float>(bias);
    for (std::int64_t j = 0; j < hidden; ++j) {
      double sum = 0.0;
      for (std::int64_t i = 0; i < n; ++i)
        sum += static_cast<double>(dlogits[i * experts + e]) * x[i * hidden + j];
      dw[e * hidden + j] += static_cast<float>(sum);
    }
  }
}

}  // namespace rollcall::kernels::reference
