// Plain versions of the pieces that know rollouts with help, given tokens and refinements.
#include "plain/loops.hpp"

#include "core/derivation.hpp"

namespace rollcall::objective::test {
namespace {

bool given(const PlainRollout& r, std::size_t t) { return !r.given.empty() && r.given[t] > 0.5; }

Column hinted_groups(const PlainStep& s) {
  std::vector<double> all;
  for (const auto& r : s.rollouts) {
    std::vector<double> half;
    for (const auto& other : s.rollouts)
      if (other.group == r.group && (other.tier > 0) == (r.tier > 0)) half.push_back(other.reward);
    all.push_back(half.size() == 1 ? r.reward : r.reward - mean_of(half));
  }
  return over_tokens(s, all);
}

PlainWeight hint_consistency(const PlainStep& s, const Column&) {
  PlainWeight w;
  for (const auto& r : s.rollouts) {
    double sum = 0, own = 0;
    for (std::size_t t = 0; t < r.length(); ++t)
      if (!given(r, t)) sum += r.old[t], own += 1;
    const double usual = own > 0 ? sum / own : 0.0;
    for (std::size_t t = 0; t < r.length(); ++t) {
      w.factor.push_back(given(r, t) ? std::min(1.0, std::exp(r.old[t] - usual)) : 1.0);
      w.keep.push_back(given(r, t) && r.correct == 0.0 ? 0.0 : 1.0);
    }
  }
  return w;
}

PlainWeight drop_after_given(const PlainStep& s, const Column&) {
  PlainWeight w;
  for (const auto& r : s.rollouts) {
    std::size_t end = 0;
    for (std::size_t t = 0; t < r.length(); ++t)
      if (given(r, t)) end = t + 1;
    for (std::size_t t = 0; t < r.length(); ++t) {
      w.factor.push_back(end > 0 ? 0.0 : 1.0);
      w.keep.push_back(end > 0 && t >= end ? 0.0 : 1.0);
    }
  }
  return w;
}

TokenLosses shaped_off_policy(const PlainStep& s, const Column& a, const Column& ratio) {
  TokenLosses out;
  for (const auto& r : s.rollouts) {
    for (std::size_t t = 0; t < r.length(); ++t) {
      const auto token = out.loss.size();
      const double p = std::exp(r.now[t]);
      out.loss.push_back(r.derived == double(DerivedKind::refinement)
                             ? -a[token] * p / (p + 0.1)
                             : plain_clip(ratio[token], a[token], 0.2, 0.2).loss);
    }
  }
  return out;
}

TokenLosses given_nll(const PlainStep& s) {
  double tokens = 0, learnt = 0;
  for (const auto& r : s.rollouts)
    for (std::size_t t = 0; t < r.length(); ++t) tokens += 1, learnt += given(r, t) ? 1 : 0;
  return {for_each_token(s, [&](const PlainRollout& r, std::size_t t) {
    return given(r, t) ? -tokens / learnt * r.now[t] : 0.0;
  })};
}

}  // namespace

void add_second_pass(PlainPieces& p) {
  p.advantage["hinted_groups"] = hinted_groups;
  p.weight["hint_consistency"] = hint_consistency;
  p.weight["drop_after_given"] = drop_after_given;
  p.surrogate["shaped_off_policy"] = shaped_off_policy;
  p.regularizer["given_nll"] = given_nll;
}

}  // namespace rollcall::objective::test
