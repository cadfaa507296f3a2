// Plain versions of the pieces that the common trainers share.
#include "plain/plain.hpp"

namespace rollcall::objective::test {
namespace {

Column group_norm(const PlainStep& s) {
  PlainStep counted = s;
  if (s.choice("moments_of", "drawn") == "finished")
    std::erase_if(counted.rollouts, [](const PlainRollout& r) { return r.truncated; });
  std::vector<double> a;
  for (const auto& r : s.rollouts) {
    const auto m = moments_of_group(counted, r.group);
    a.push_back(m.size < 2 ? r.reward : (r.reward - m.mean) / (m.spread + s.knob("adv_eps", 1e-6)));
  }
  return over_tokens(s, a);
}

Column group_center(const PlainStep& s) {
  std::vector<double> a;
  for (const auto& r : s.rollouts) {
    const auto m = moments_of_group(s, r.group);
    a.push_back(m.size == 1 ? r.reward : r.reward - m.mean);
  }
  return over_tokens(s, a);
}

Column leave_one_out(const PlainStep& s) {
  std::vector<double> a;
  for (std::size_t i = 0; i < s.rollouts.size(); ++i) {
    double others = 0;
    int count = 0;
    for (std::size_t j = 0; j < s.rollouts.size(); ++j) {
      if (j != i && s.rollouts[j].group == s.rollouts[i].group)
        others += s.rollouts[j].reward, ++count;
    }
    a.push_back(s.rollouts[i].reward - (count > 0 ? others / count : 0.0));
  }
  return over_tokens(s, a);
}

Column batch_whiten(const PlainStep& s) {
  Column returns;
  for (const auto& r : s.rollouts) {
    Column backwards;
    backwards.assign(r.length(), r.reward);
    const double charge =
        s.choice("kl_reward_to", "rollout") == "token" ? s.knob("kl_reward_coef", 0.05) : 0.0;
    for (std::size_t t = 0; t < r.length(); ++t) {
      for (std::size_t later = t; later < r.length(); ++later)
        backwards[t] -= charge * (r.old[later] - r.reference[later]);
    }
    returns.insert(returns.end(), backwards.begin(), backwards.end());
  }
  const double mean = mean_of(returns);
  double square = 0;
  for (const double x : returns) square += (x - mean) * (x - mean) / double(returns.size());
  for (double& x : returns) x = (x - mean) / (std::sqrt(square) + 1e-8);
  return returns;
}

/// Coefficients by name. A rollout counts where one of its tokens is kept; its length is the number
/// of kept tokens.
Column aggregate(const std::string& name, const PlainStep& s, const Column& keep) {
  double tokens = 0, sequences = 0;
  std::map<std::int64_t, double> prompt_tokens;
  std::vector<double> kept;
  std::size_t token = 0;
  for (const auto& r : s.rollouts) {
    double count = 0;
    for (std::size_t t = 0; t < r.length(); ++t, ++token) count += keep[token];
    kept.push_back(count);
    if (count == 0) continue;
    tokens += count;
    sequences += 1;
    prompt_tokens[r.group] += count;
  }
  Column all;
  for (std::size_t i = 0; i < s.rollouts.size(); ++i) {
    double c = 0;
    if (kept[i] == 0) c = 0;
    else if (name == "token-mean") c = 1 / tokens;
    else if (name == "token-sum") c = 1;
    else if (name == "seq-mean-token-mean") c = 1 / sequences / kept[i];
    else if (name == "seq-mean-token-sum") c = 1 / sequences;
    else if (name == "seq-mean-token-sum-norm") c = 1 / sequences / s.horizon;
    else if (name == "prompt-mean")
      c = 1 / double(prompt_tokens.size()) / prompt_tokens.at(s.rollouts[i].group);
    all.insert(all.end(), s.rollouts[i].length(), c);
  }
  return all;
}

template <class TokenFunction>
Column each_token(const PlainStep& s, TokenFunction f) {
  Column all;
  for (const auto& r : s.rollouts) {
    for (std::size_t t = 0; t < r.length(); ++t) all.push_back(f(r, t));
  }
  return all;
}

Column token_ratio(const PlainStep& s) {
  return each_token(
      s, [](const PlainRollout& r, std::size_t t) { return std::exp(r.now[t] - r.old[t]); });
}

Column sequence_ratio(const PlainStep& s) {
  return each_token(s, [](const PlainRollout& r, std::size_t) {
    double mean = 0;
    for (std::size_t t = 0; t < r.length(); ++t) mean += (r.now[t] - r.old[t]) / double(r.length());
    return std::exp(mean);
  });
}

TokenLosses clip(const PlainStep& s, const Column& a, const Column& ratio) {
  TokenLosses out;
  const Column old = s.flat(&PlainRollout::old), sampler = s.flat(&PlainRollout::rollout);
  for (std::size_t t = 0; t < a.size(); ++t) {
    const double off =
        s.choice("clip_centre", "one") == "old" ? std::exp(old[t] - sampler[t]) - 1 : 0.0;
    out.loss.push_back(plain_clip(ratio[t], a[t], s.knob("clip_low", 0.2) - off,
                                  s.knob("clip_high", 0.2) + off, s.knob("dual_clip", 0.0))
                           .loss);
  }
  return out;
}

TokenLosses reinforce(const PlainStep& s, const Column& a, const Column&) {
  TokenLosses out{s.flat(&PlainRollout::now)};
  for (std::size_t t = 0; t < a.size(); ++t) out.loss[t] *= -a[t];
  return out;
}

TokenLosses kl(const PlainStep& s) {
  return {each_token(s, [&](const PlainRollout& r, std::size_t t) {
    const double d = r.reference[t] - r.now[t];
    return s.knob("kl_coef", 0.04) * (std::exp(d) - d - 1);
  })};
}

TokenLosses entropy(const PlainStep& s) {
  const Column h = s.flat(&PlainRollout::entropy);
  const double coef = s.knob("entropy_coef", 0.001);
  TokenLosses out;
  for (const double x : h)
    out.loss.push_back(-coef * x), out.slope.push_back(0), out.entropy_slope.push_back(-coef);
  return out;
}

PlainWeight tis(const PlainStep& s, const Column&) {
  return {each_token(s, [&](const PlainRollout& r, std::size_t t) {
    return std::min(std::exp(r.old[t] - r.rollout[t]), s.knob("tis_cap", 2.0));
  })};
}

PlainWeight drop_truncated(const PlainStep& s, const Column&) {
  return {{}, each_token(s, [](const PlainRollout& r, std::size_t) {
            return r.truncated ? 0.0 : 1.0;
          })};
}

}  // namespace

ClippedToken plain_clip(double ratio, double a, double low, double high, double dual) {
  if (a > 0)
    return ratio > 1 + high ? ClippedToken{-(1 + high) * a, true} : ClippedToken{-ratio * a, false};
  if (a < 0 && ratio < 1 - low) return {-(1 - low) * a, true};
  if (a < 0 && dual > 0 && ratio > dual) return {-dual * a, true};
  return {-ratio * a, false};
}

void add_foundation(PlainPieces& p) {
  p.advantage["group_norm"] = group_norm;
  p.advantage["group_center"] = group_center;
  p.advantage["leave_one_out"] = leave_one_out;
  p.advantage["batch_whiten"] = batch_whiten;
  p.ratio["token"] = token_ratio;
  p.ratio["sequence"] = sequence_ratio;
  p.surrogate["clip"] = clip;
  p.surrogate["reinforce"] = reinforce;
  p.weight["tis"] = tis;
  p.weight["drop_truncated"] = drop_truncated;
  for (const std::string name : {"token-mean", "token-sum", "seq-mean-token-mean",
                                 "seq-mean-token-sum", "seq-mean-token-sum-norm", "prompt-mean"}) {
    p.aggregate[name] = [name](const PlainStep& s, const Column&, const Column& keep) {
      return aggregate(name, s, keep);
    };
  }
  p.regularizer["kl"] = kl;
  p.regularizer["entropy"] = entropy;
}

}  // namespace rollcall::objective::test
