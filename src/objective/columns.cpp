// Segment sums and gathers over token columns; the number of tensor operations does not depend on the number of rollouts.
#include "objective/columns.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace rollcall::objective {
namespace {

at::Tensor zeros(std::int64_t n) { return at::zeros({n}, at::kDouble); }

bool is_column(const at::Tensor& t, std::int64_t n, at::ScalarType type) {
  return t.defined() && t.dim() == 1 && t.size(0) == n && t.scalar_type() == type && t.device().is_cpu();
}

double at_least_one(const at::Tensor& sum) { return std::max(1.0, sum.item<double>()); }

}  // namespace

Step::Step(StepColumns step_columns) : columns(std::move(step_columns)) {
  const auto& c = columns;
  expect(c.reward.defined() && c.reward.dim() == 1 && c.reward.size(0) > 0, "a step has rollouts");
  rollouts = c.reward.size(0);
  expect(is_column(c.reward, rollouts, at::kDouble) && is_column(c.group, rollouts, at::kLong) && is_column(c.truncated, rollouts, at::kBool),
         "reward, group and truncated are [B] float64, int64 and bool");
  expect(is_column(c.offsets, rollouts + 1, at::kLong), "offsets is [B+1] int64");
  columns.offsets = c.offsets.contiguous();
  tokens = c.offsets[rollouts].item<std::int64_t>();
  expect(is_column(c.old_logprob, tokens, at::kDouble) && is_column(c.rollout_logprob, tokens, at::kDouble), "log-probs are [N] float64");
  require<NumericsError>(at::isfinite(c.reward).all().item<bool>(), "a reward is not finite",
                         "one such value would make the advantages of its whole group meaningless", "find the rollout in the archive and correct its verifier");
  const at::Tensor length = c.offsets.diff();
  expect((length >= 0).all().item<bool>() && (c.group.diff() >= 0).all().item<bool>(), "offsets and group ascend");
  prompts = c.group[rollouts - 1].item<std::int64_t>() + 1;
  rollout = at::repeat_interleave(length);
  group_size = group_sum(at::ones({rollouts}, at::kDouble));
  expect((group_size >= 1).all().item<bool>(), "groups are numbered without gaps");
  count();
}

void Step::count() {
  trained_length = keep.defined() ? rollout_sum(keep) : columns.offsets.diff().to(at::kDouble);
  normalizer.tokens = at_least_one(trained_length.sum());
  normalizer.rollouts = at_least_one((trained_length > 0).sum());
  normalizer.prompts = at_least_one((group_sum(trained_length) > 0).sum());
  normalizer.horizon = columns.max_new_tokens;
}

at::Tensor Step::group_sum(const at::Tensor& per_rollout) const { return zeros(prompts).index_add_(0, columns.group, per_rollout); }
at::Tensor Step::rollout_sum(const at::Tensor& per_token) const { return zeros(rollouts).index_add_(0, rollout, per_token); }
at::Tensor Step::over_rollouts(const at::Tensor& per_group) const { return per_group.index_select(0, columns.group); }
at::Tensor Step::over_tokens(const at::Tensor& per_rollout) const { return per_rollout.index_select(0, rollout); }

at::Tensor Step::baseline() const { return over_rollouts(group_sum(columns.reward) / group_size * (group_size > 1)); }

const at::Tensor& Step::named(const std::string& column) const {
  const auto found = columns.named.find(column);
  require<ConfigError>(found != columns.named.end(), fmt::format("the step carries no column {}", column), "a chosen piece of the objective reads it",
                       "configure the model that computes it, or choose another piece");
  return found->second;
}

Leaf::Leaf(const Step& whole, const LeafColumns& c) : step(whole) {
  const auto offsets = step.columns.offsets.accessor<std::int64_t, 1>();
  std::vector<std::int64_t> length;
  for (std::size_t i = 0; i < c.rollouts.size(); ++i) {
    const auto r = c.rollouts[i];
    expect(r >= 0 && r < step.rollouts && (i == 0 || c.rollouts[i - 1] < r), "a leaf names rollouts of its step, ascending");
    length.push_back(offsets[r + 1] - offsets[r]);
  }
  length_ = at::tensor(length, at::kLong);
  const std::int64_t m = std::accumulate(length.begin(), length.end(), std::int64_t{0});
  expect(is_column(c.logprob, m, at::kDouble) && is_column(c.entropy, m, at::kDouble), "a leaf's columns are [M] float64 over its rollouts' tokens");
  if (m > 0) first_ = offsets[c.rollouts.front()];
  if (m > 0 && offsets[c.rollouts.back() + 1] - first_ != m) {  // other leaves' tokens lie in between
    index_ = at::empty({m}, at::kLong);
    auto* out = index_.data_ptr<std::int64_t>();
    for (std::size_t i = 0; i < c.rollouts.size(); ++i, out += length[i - 1]) std::iota(out, out + length[i], offsets[c.rollouts[i]]);
  }
  logprob = c.logprob.detach().requires_grad_(true);
  entropy = c.entropy.detach().requires_grad_(true);
  old_logprob = take(step.columns.old_logprob);
  advantage = take(step.advantage);
}

at::Tensor Leaf::take(const at::Tensor& per_token) const {
  const at::Tensor frozen = per_token.detach();
  return index_.defined() ? frozen.index_select(0, index_) : frozen.narrow(0, first_, tokens());
}

at::Tensor Leaf::rollout() const { return at::repeat_interleave(length_); }

at::Tensor Leaf::rollout_mean(const at::Tensor& per_token) const {
  return zeros(length_.size(0)).index_add(0, rollout(), per_token) / length_.clamp_min(1).to(at::kDouble);
}

at::Tensor Leaf::over_tokens(const at::Tensor& per_rollout) const { return per_rollout.index_select(0, rollout()); }

}  // namespace rollcall::objective
