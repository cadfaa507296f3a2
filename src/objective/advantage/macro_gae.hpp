// Advantage macro_gae: generalised advantage estimation over segments of tokens.
//   segments of macro_length tokens, the last token always one by itself;  r_k, V_k = pooled over the segment's tokens
//   delta_k = r_k + gamma V_{k+1} - V_k,  A_k = sum_j (gamma lambda)^j delta_{k+j}; every token of segment k gets A_k and the target V_k + A_k
// Source: MA-RLHF, arXiv:2410.02743 (fixed n-grams of 5, equal pooling, lambda 0.95, gamma 1).
// Shapes: [B] rewards, column value [N] -> [N] and value targets [N].   Knobs: gamma, lambda, macro_length, macro_pool, whiten.
// What differs from gae: credit travels a fifth of the steps; macro_length 1 is gae to the bit. Random and parsed segment borders are not here.
#pragma once

#include "objective/pieces.hpp"
#include "objective/returns.hpp"

#include <algorithm>

namespace rollcall::objective {

struct MacroGae {
  static constexpr std::string_view name = "macro_gae", formula = "gae over segments of macro_length tokens, pooled rewards and values";
  enum class Pool { mean, last };
  enum class Whiten { off, on };
  double gamma = 1.0, lambda = 0.95, length = 5;
  Pool pool = Pool::mean;
  Whiten whiten = Whiten::off;

  void bind(Knobs& knobs) {
    knobs.number("gamma", gamma, {0.0, 1.0}, "discount per segment");
    knobs.number("lambda", lambda, {0.0, 1.0}, "how far an error of the value is carried back");
    knobs.number("macro_length", length, {1.0, 1e6}, "tokens of a segment");
    knobs.choice("macro_pool", pool, {"mean", "last"}, "reward and value of a segment from its tokens");
    knobs.choice("whiten", whiten, {"off", "on"}, "advantages standardised over the step's tokens");
    knobs.needs_column(column::value);
  }

  Advantage operator()(const Step& step) const {
    const at::Tensor reward = rewards_of_tokens(step).contiguous(), value = step.named(column::value).contiguous();
    at::Tensor advantage = at::zeros_like(reward), target = at::zeros_like(reward);
    const auto offset = step.columns.offsets.accessor<std::int64_t, 1>();
    for (std::int64_t i = 0; i < step.rollouts; ++i) {
      of_rollout(reward.const_data_ptr<double>(), value.const_data_ptr<double>(), offset[i], offset[i + 1], advantage.data_ptr<double>(),
                 target.data_ptr<double>());
    }
    Advantage out(whiten == Whiten::on ? whitened(advantage) : advantage);
    out.value_target = target;
    return out;
  }

 private:
  void of_rollout(const double* reward, const double* value, std::int64_t begin, std::int64_t end, double* advantage, double* target) const {
    std::vector<std::int64_t> border{begin};
    while (border.back() < end) border.push_back(border.back() == end - 1 ? end : std::min(border.back() + std::int64_t(length), end - 1));
    const std::int64_t n = std::int64_t(border.size()) - 1;
    const auto pooled = [&](const double* x, std::int64_t k) {
      if (pool == Pool::last) return x[border[k + 1] - 1];
      double sum = 0.0;
      for (std::int64_t t = border[k]; t < border[k + 1]; ++t) sum += x[t];
      return sum / double(border[k + 1] - border[k]);
    };
    std::vector<double> r(n), v(n), a(n);
    for (std::int64_t k = 0; k < n; ++k) r[k] = pooled(reward, k), v[k] = pooled(value, k);
    gae_backwards(r.data(), v.data(), n, 0.0, gamma, lambda, a.data());
    for (std::int64_t k = 0; k < n; ++k) {
      for (std::int64_t t = border[k]; t < border[k + 1]; ++t) advantage[t] = a[k], target[t] = v[k] + a[k];
    }
  }
};

}  // namespace rollcall::objective
