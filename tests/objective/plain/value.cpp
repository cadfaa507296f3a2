// Plain versions of the advantages that are made of single tokens: by a value head, or by a
// teacher.
#include "plain/plain.hpp"

namespace rollcall::objective::test {
namespace {

Column old_values(const PlainRollout& r) {
  return r.old_value.empty() ? Column(r.length(), 0.0) : r.old_value;
}

/// sum over k >= t of (gamma lambda)^(k - t) delta_k, written as the sum.
Column estimate(const Column& reward, const Column& value, double after, double gamma,
                double lambda) {
  const std::size_t n = value.size();
  Column out(n, 0.0);
  for (std::size_t t = 0; t < n; ++t) {
    double factor = 1;
    for (std::size_t k = t; k < n; ++k, factor *= gamma * lambda)
      out[t] += factor * (reward[k] + gamma * (k + 1 < n ? value[k + 1] : after) - value[k]);
  }
  return out;
}

Column whiten(Column x) {
  const double mean = mean_of(x);
  double square = 0;
  for (const double v : x) square += (v - mean) * (v - mean) / double(x.size());
  for (double& v : x) v = (v - mean) / (std::sqrt(square) + 1e-8);
  return x;
}

/// Under the setting that leaves the divergence at its tokens, they bring their own rewards.
Column gae(const PlainStep& s) {
  const double alpha = s.knob("length_alpha", 0.0),
               charge = s.choice("kl_reward_to", "rollout") == "token"
                            ? s.knob("kl_reward_coef", 0.05)
                            : 0.0;
  const bool extend = s.choice("truncation", "end") == "extend";
  Column all;
  for (const auto& r : s.rollouts) {
    if (r.length() == 0) continue;
    const Column value = old_values(r);
    Column reward(r.length(), 0.0);
    for (std::size_t t = 0; t < r.length(); ++t) reward[t] = -charge * (r.old[t] - r.reference[t]);
    if (!extend || !r.truncated) reward.back() += r.reward;
    const double lambda =
        alpha > 0 ? std::max(0.0, 1 - 1 / (alpha * double(r.length()))) : s.knob("lambda", 0.95);
    const Column a = estimate(reward, value, extend && r.truncated ? value.back() : 0.0,
                              s.knob("gamma", 1.0), lambda);
    all.insert(all.end(), a.begin(), a.end());
  }
  return s.choice("whiten", "off") == "on" ? whiten(all) : all;
}

/// As gae, over segments.
Column macro_gae(const PlainStep& s) {
  const double charge =
      s.choice("kl_reward_to", "rollout") == "token" ? s.knob("kl_reward_coef", 0.05) : 0.0;
  const auto length = std::size_t(s.knob("macro_length", 5));
  Column all;
  for (const auto& r : s.rollouts) {
    const Column value = old_values(r);
    Column segment_value, segment_reward;
    std::vector<std::size_t> sizes;
    for (std::size_t t = 0; t < r.length();) {
      std::size_t size = 0;
      double sum = 0, paid = 0;
      while (t < r.length() && size < length && (size == 0 || t + 1 < r.length())) {
        sum += value[t], paid -= charge * (r.old[t] - r.reference[t]);
        ++t, ++size;
      }
      segment_value.push_back(sum / double(size));
      segment_reward.push_back(paid / double(size) + (t == r.length() ? r.reward : 0.0));
      sizes.push_back(size);
    }
    const Column a = estimate(segment_reward, segment_value, 0.0, 1.0, 0.95);
    for (std::size_t k = 0; k < a.size(); ++k) all.insert(all.end(), sizes[k], a[k]);
  }
  return all;
}

Column teacher_gap(const PlainStep& s) {
  const bool exact = s.choice("distill_baseline", "exact") == "exact";
  Column all;
  for (const auto& r : s.rollouts) {
    for (std::size_t t = 0; t < r.length(); ++t)
      all.push_back(r.teacher[t] - r.old[t] + (exact ? r.teacher_kl[t] : 0.0));
  }
  return all;
}

}  // namespace

void add_value(PlainPieces& p) {
  p.advantage["gae"] = gae;
  p.advantage["macro_gae"] = macro_gae;
  p.advantage["teacher_gap"] = teacher_gap;
}

}  // namespace rollcall::objective::test
