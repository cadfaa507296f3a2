// Plain versions of the pieces that correct for a sampler that is not the old policy.
#include "plain/loops.hpp"

namespace rollcall::objective::test {
namespace {

Column behaviour(const PlainStep& s) {
  const std::string scope = s.choice("behaviour_scope", "token");
  return for_each_token(s, [&](const PlainRollout& r, std::size_t t) {
    if (scope == "token") return std::exp(r.now[t] - r.rollout[t]);
    double product = 0;
    for (std::size_t k = 0; k < r.length(); ++k) product += r.now[k] - r.rollout[k];
    return std::exp(scope == "product" ? product : product / double(r.length()));
  });
}

PlainWeight importance(const PlainStep& s, const Column&) {
  const std::string scope = s.choice("importance_scope", "token");
  const double low = s.knob("importance_low", 0.0), high = s.knob("importance_high", 2.0);
  const bool zero = s.choice("importance_outside", "cap") == "zero",
             current = s.choice("importance_of", "old") == "current";
  return {for_each_token(s, [&](const PlainRollout& r, std::size_t t) {
    const Column& numerator = current && !r.current.empty() ? r.current : r.old;
    double product = 0;
    for (std::size_t k = 0; k < r.length(); ++k) product += numerator[k] - r.rollout[k];
    const double w = std::exp(scope == "token"     ? numerator[t] - r.rollout[t]
                              : scope == "product" ? product
                                                   : product / double(r.length()));
    if (w >= low && w <= high) return w;
    return zero ? 0.0 : w < low ? low : high;
  })};
}

PlainWeight reject(const PlainStep& s, const Column&) {
  const std::string statistic = s.choice("reject_statistic", "k1"),
                    scope = s.choice("reject_scope", "seq_sum");
  const double low = s.knob("reject_low", 0.5), high = s.knob("reject_high", 2.0);
  const auto value = [&](double x) {
    return statistic == "k1" ? x : statistic == "k2" ? x * x / 2 : std::exp(x) - 1 - x;
  };
  const auto kept = [&](double v) {
    return statistic == "k1" ? std::exp(v) >= low && std::exp(v) <= high : v <= high;
  };
  const Column within = for_each_token(s, [&](const PlainRollout& r, std::size_t place) {
    double sum = 0;
    bool all = true;
    for (std::size_t t = 0; t < r.length(); ++t) {
      const double v = value(r.old[t] - r.rollout[t]);
      sum += v, all = all && kept(v);
    }
    if (scope == "token") return kept(value(r.old[place] - r.rollout[place])) ? 1.0 : 0.0;
    if (scope == "seq_max") return all ? 1.0 : 0.0;
    return kept(scope == "seq_sum" ? sum : sum / double(r.length())) ? 1.0 : 0.0;
  });
  return s.choice("reject_outside", "drop") == "zero" ? PlainWeight{within, {}}
                                                      : PlainWeight{{}, within};
}

PlainWeight opsm(const PlainStep& s, const Column& a) {
  std::size_t token = 0;
  return {for_each_token(s, [&](const PlainRollout& r, std::size_t) {
    double moved = 0;
    for (std::size_t t = 0; t < r.length(); ++t)
      moved += (r.rollout[t] - (r.current.empty() ? r.old[t] : r.current[t])) / double(r.length());
    return a[token++] < 0 && moved > 1e-4 ? 0.0 : 1.0;
  })};
}

TokenLosses unbiased_kl(const PlainStep& s) {
  return {for_each_token(s, [](const PlainRollout& r, std::size_t t) {
    const double d = r.reference[t] - r.now[t];
    return 0.04 * std::exp(r.now[t] - r.rollout[t]) * (std::exp(d) - d - 1);
  })};
}

}  // namespace

void add_corrections(PlainPieces& p) {
  p.ratio["behaviour"] = behaviour;
  p.weight["importance"] = importance;
  p.weight["reject"] = reject;
  p.weight["opsm"] = opsm;
  p.regularizer["unbiased_kl"] = unbiased_kl;
}

}  // namespace rollcall::objective::test
