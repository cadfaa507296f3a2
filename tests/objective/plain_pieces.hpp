// The pieces written as double loops, by name: the truth that the tensor versions are compared with.
#pragma once

#include "plain_step.hpp"

#include <map>
#include <string>

namespace rollcall::objective::test {

using Column = std::vector<double>;  // [N], tokens of the rollouts one after the other

inline Column over_tokens(const PlainStep& s, const std::vector<double>& per_rollout) {
  Column all;
  for (std::size_t i = 0; i < s.rollouts.size(); ++i) all.insert(all.end(), s.rollouts[i].length(), per_rollout[i]);
  return all;
}

/// Mean, spread (n - 1) and size of each rollout's group.
struct GroupMoments {
  double mean = 0, spread = 0;
  int size = 0;
};
inline GroupMoments moments_of_group(const PlainStep& s, std::int64_t group) {
  GroupMoments m;
  for (const auto& r : s.rollouts) {
    if (r.group == group) m.mean += r.reward, ++m.size;
  }
  m.mean /= m.size;
  for (const auto& r : s.rollouts) {
    if (r.group == group) m.spread += (r.reward - m.mean) * (r.reward - m.mean);
  }
  m.spread = m.size > 1 ? std::sqrt(m.spread / (m.size - 1)) : 0.0;
  return m;
}

inline Column plain_group_norm(const PlainStep& s) {
  std::vector<double> a;
  for (const auto& r : s.rollouts) {
    const auto m = moments_of_group(s, r.group);
    a.push_back(m.size == 1 ? r.reward : (r.reward - m.mean) / (m.spread + 1e-6));
  }
  return over_tokens(s, a);
}

inline Column plain_group_center(const PlainStep& s) {
  std::vector<double> a;
  for (const auto& r : s.rollouts) {
    const auto m = moments_of_group(s, r.group);
    a.push_back(m.size == 1 ? r.reward : r.reward - m.mean);
  }
  return over_tokens(s, a);
}

inline Column plain_leave_one_out(const PlainStep& s) {
  std::vector<double> a;
  for (std::size_t i = 0; i < s.rollouts.size(); ++i) {
    double others = 0;
    int count = 0;
    for (std::size_t j = 0; j < s.rollouts.size(); ++j) {
      if (j != i && s.rollouts[j].group == s.rollouts[i].group) others += s.rollouts[j].reward, ++count;
    }
    a.push_back(s.rollouts[i].reward - (count > 0 ? others / count : 0.0));
  }
  return over_tokens(s, a);
}

inline Column plain_batch_whiten(const PlainStep& s, double gamma = 1.0) {
  Column returns;
  for (const auto& r : s.rollouts) {
    Column backwards;
    double value = r.reward;
    for (std::size_t t = 0; t < r.length(); ++t, value *= gamma) backwards.push_back(value);
    returns.insert(returns.end(), backwards.rbegin(), backwards.rend());
  }
  double mean = 0, square = 0;
  for (const double x : returns) mean += x;
  mean /= double(std::max<std::size_t>(returns.size(), 1));
  for (const double x : returns) square += (x - mean) * (x - mean) / double(returns.size());
  for (double& x : returns) x = (x - mean) / (std::sqrt(square) + 1e-8);
  return returns;
}

/// Coefficients of an aggregate. `trained(i)` says whether rollout i is trained on at all.
template <class Trained>
Column plain_aggregate(const std::string& name, const PlainStep& s, Trained trained) {
  double tokens = 0, sequences = 0, prompts = 0;
  std::map<std::int64_t, double> prompt_tokens;
  for (std::size_t i = 0; i < s.rollouts.size(); ++i) {
    const auto& r = s.rollouts[i];
    if (!trained(i) || r.length() == 0) continue;
    tokens += double(r.length());
    sequences += 1;
    prompt_tokens[r.group] += double(r.length());
  }
  prompts = double(prompt_tokens.size());
  Column all;
  for (std::size_t i = 0; i < s.rollouts.size(); ++i) {
    const auto& r = s.rollouts[i];
    for (std::size_t t = 0; t < r.length(); ++t) {
      double c = 0;
      if (!trained(i)) c = 0;
      else if (name == "token-mean") c = 1 / tokens;
      else if (name == "token-sum") c = 1;
      else if (name == "seq-mean-token-mean") c = 1 / sequences / double(r.length());
      else if (name == "seq-mean-token-sum") c = 1 / sequences;
      else if (name == "seq-mean-token-sum-norm") c = 1 / sequences / s.horizon;
      else if (name == "prompt-mean") c = 1 / prompts / prompt_tokens.at(r.group);
      else throw std::logic_error("no plain version of aggregate " + name);
      all.push_back(c);
    }
  }
  return all;
}
inline Column plain_aggregate(const std::string& name, const PlainStep& s) {
  return plain_aggregate(name, s, [](std::size_t) { return true; });
}

inline Column plain_advantage(const std::string& name, const PlainStep& s) {
  if (name == "group_norm") return plain_group_norm(s);
  if (name == "group_center") return plain_group_center(s);
  if (name == "leave_one_out") return plain_leave_one_out(s);
  if (name == "batch_whiten") return plain_batch_whiten(s);
  throw std::logic_error("no plain version of advantage " + name);
}

/// One token of the clipped surrogate, by cases instead of by max and min.
struct ClippedToken {
  double loss;
  bool clipped;
};
inline ClippedToken plain_clip(double ratio, double a, double low, double high, double dual = 0.0) {
  if (a > 0) return ratio > 1 + high ? ClippedToken{-(1 + high) * a, true} : ClippedToken{-ratio * a, false};
  if (a < 0 && ratio < 1 - low) return {-(1 - low) * a, true};
  if (a < 0 && dual > 0 && ratio > dual) return {-dual * a, true};
  return {-ratio * a, false};
}

}  // namespace rollcall::objective::test
