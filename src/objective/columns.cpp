// The columns of a step are checked and counted, and a micro-batch takes its tokens out of them.
#include "objective/columns.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/differing.hpp"
#include "base/numbers/random.hpp"
#include "objective/largest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace rollcall::objective {
namespace {

at::Tensor zeros(std::int64_t n) { return at::zeros({n}, at::kDouble); }

bool is_column(const at::Tensor& t, std::int64_t n, at::ScalarType type) {
  return t.defined() && t.dim() == 1 && t.size(0) == n && t.scalar_type() == type &&
         t.device().is_cpu();
}

double at_least_one(const at::Tensor& sum) { return std::max(1.0, sum.item<double>()); }

/// The columns with `offsets` contiguous. Throws std::logic_error when a column has not the size
/// or type that StepColumns names, NumericsError for a reward that is not finite.
StepColumns checked(StepColumns c) {
  expect(c.reward.defined() && c.reward.dim() == 1 && c.reward.size(0) > 0, "a step has rollouts");
  const std::int64_t rollouts = c.reward.size(0);
  expect(is_column(c.reward, rollouts, at::kDouble) && is_column(c.group, rollouts, at::kLong) &&
             is_column(c.truncated, rollouts, at::kBool),
         "reward, group and truncated are [B] float64, int64 and bool");
  expect(is_column(c.offsets, rollouts + 1, at::kLong), "offsets is [B+1] int64");
  c.offsets = c.offsets.contiguous();
  const auto tokens = c.offsets[rollouts].item<std::int64_t>();
  expect(is_column(c.old_logprob, tokens, at::kDouble) &&
             is_column(c.rollout_logprob, tokens, at::kDouble),
         "log-probs are [N] float64");
  require<NumericsError>(at::isfinite(c.reward).all().item<bool>(), "a reward is not finite",
                         "one such value would make the advantages of its whole group meaningless",
                         "find the rollout in the archive and correct its verifier");
  return c;
}

}  // namespace

double mean_of(const at::Tensor& x, const at::Tensor& weight) {
  const at::Tensor counted = weight.defined() ? x.masked_select(weight > 0) : x;
  if (counted.numel() == 0) return 0.0;
  const double mean = weight.defined()
                          ? (x * weight).sum().item<double>() / weight.sum().item<double>()
                          : x.sum().item<double>() / double(x.numel());
  return std::clamp(mean, counted.min().item<double>(), counted.max().item<double>());
}

at::Tensor differing(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor left = a.contiguous(), right = b.contiguous(),
                   apart = at::zeros(left.sizes(), at::kBool);
  const double *one = left.const_data_ptr<double>(), *other = right.const_data_ptr<double>();
  auto* out = apart.data_ptr<bool>();
  for (std::int64_t i = 0; i < left.numel(); ++i) out[i] = differ(one[i], other[i]);
  return apart;
}

Step::Step(StepColumns step_columns)
    : columns(checked(std::move(step_columns))),
      shape(columns.group, columns.offsets),
      turns(columns.offsets, columns.turn_offsets, columns.turn_begin),
      reward(columns.reward) {
  count();
}

void Step::count() {
  trained_length = keep.defined() ? shape.rollout_sum(keep) : shape.length;
  normalizer.tokens = at_least_one(trained_length.sum());
  normalizer.rollouts = at_least_one((trained_length > 0).sum());
  normalizer.prompts = at_least_one((shape.group_sum(trained_length) > 0).sum());
  normalizer.horizon = columns.max_new_tokens;
}

at::Tensor Step::baseline() const {
  return shape.over_rollouts(shape.group_mean(reward) * (shape.group_size > 1));
}

at::Tensor Step::spread(bool population) const {
  const at::Tensor& size = shape.group_size;
  const at::Tensor centred = reward - shape.over_rollouts(shape.group_mean(reward));
  const at::Tensor deviation =
      (shape.group_sum(centred.square()) / (population ? size : (size - 1).clamp_min(1))).sqrt();
  return shape.over_rollouts(at::where(size > 1, deviation, 1.0));
}

at::Tensor Step::turn_reward() const {
  at::Tensor paid = reward;
  if (turns.turns > shape.rollouts) {
    const auto by_turn = columns.named.find(column::turn_reward);
    const bool counts = by_turn != columns.named.end() && !turns.replaced;
    expect(!counts || is_column(by_turn->second, turns.turns, at::kDouble),
           "column turn/reward is [K] float64");
    paid =
        at::where(turns.ends(), turns.over_turns(counts ? reward - columns.reward : reward), 0.0);
    if (counts) paid = by_turn->second + paid;
  }
  return turns.paid.defined() ? paid + turns.paid : paid;
}

double Step::horizon() const {
  require<ConfigError>(columns.max_new_tokens > 0.0,
                       "a chosen piece measures lengths against the sampler's token limit",
                       "the sampler states none", "set the sampler's token limit");
  return columns.max_new_tokens;
}

const at::Tensor& Step::named(const std::string& name) const {
  const auto found = columns.named.find(name);
  require<ConfigError>(found != columns.named.end(),
                       fmt::format("the step carries no column {}", name),
                       "a chosen piece of the objective reads it",
                       "configure what computes it (see METHODS.md), or choose another piece");
  return found->second;
}

double Step::statistic(const std::string& name, double initial) const {
  const auto found = columns.statistics.find(name);
  return found == columns.statistics.end() ? initial : found->second;
}

at::Tensor Step::uniform_rollouts(std::uint64_t purpose) const {
  at::Tensor drawn = zeros(shape.rollouts);
  auto* out = drawn.data_ptr<double>();
  const auto* key = columns.key.defined() ? columns.key.const_data_ptr<std::int64_t>() : nullptr;
  for (std::int64_t i = 0; i < shape.rollouts; ++i) {
    out[i] = RandomStream(columns.seed, RandomPurpose::objective, columns.step,
                          std::uint64_t(key ? key[i] : i))
                 .uniform(purpose << 32U);
  }
  return drawn;
}

at::Tensor Step::uniform_tokens(std::uint64_t purpose) const {
  at::Tensor drawn = zeros(shape.tokens);
  auto* out = drawn.data_ptr<double>();
  const auto* key = columns.key.defined() ? columns.key.const_data_ptr<std::int64_t>() : nullptr;
  const auto* offset = columns.offsets.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < shape.rollouts; ++i) {
    const RandomStream stream(columns.seed, RandomPurpose::objective, columns.step,
                              std::uint64_t(key ? key[i] : i));
    for (std::int64_t t = offset[i]; t < offset[i + 1]; ++t)
      out[t] = stream.uniform((purpose << 32U) + std::uint64_t(t - offset[i]));
  }
  return drawn;
}

MicroBatchTensors::MicroBatchTensors(const Step& whole, const MicroBatchColumns& c) : step(whole) {
  const auto offsets = step.columns.offsets.accessor<std::int64_t, 1>();
  std::vector<std::int64_t> length;
  for (std::size_t i = 0; i < c.rollouts.size(); ++i) {
    const auto r = c.rollouts[i];
    expect(r >= 0 && r < step.shape.rollouts && (i == 0 || c.rollouts[i - 1] < r),
           "a micro-batch names rollouts of its step, ascending");
    length.push_back(offsets[r + 1] - offsets[r]);
  }
  length_ = at::tensor(length, at::kLong);
  rollouts_ = at::tensor(c.rollouts, at::kLong);
  const std::int64_t m = std::accumulate(length.begin(), length.end(), std::int64_t{0});
  expect(is_column(c.logprob, m, at::kDouble) && is_column(c.entropy, m, at::kDouble),
         "a micro-batch's columns are [M] float64 over its rollouts' tokens");
  for (const auto& column : {c.value, c.miss_logprob})
    expect(!column.defined() || is_column(column, m, at::kDouble),
           "a micro-batch's values are [M] float64");
  if (m > 0) first_ = offsets[c.rollouts.front()];
  // tokens of rollouts in other micro-batches lie in between
  if (m > 0 && offsets[c.rollouts.back() + 1] - first_ != m) {
    index_ = at::empty({m}, at::kLong);
    auto* out = index_.data_ptr<std::int64_t>();
    for (std::size_t i = 0; i < c.rollouts.size(); ++i, out += length[i - 1])
      std::iota(out, out + length[i], offsets[c.rollouts[i]]);
  }
  logprob = c.logprob.detach().requires_grad_(true);
  entropy = c.entropy.detach().requires_grad_(true);
  if (c.value.defined()) value = c.value.detach().requires_grad_(true);
  if (c.miss_logprob.defined()) miss_logprob = c.miss_logprob.detach().requires_grad_(true);
  old_logprob = take(step.columns.old_logprob);
  advantage = take(step.advantage);
}

at::Tensor MicroBatchTensors::take(const at::Tensor& per_token) const {
  const at::Tensor frozen = per_token.detach();
  return index_.defined() ? frozen.index_select(0, index_) : frozen.narrow(0, first_, tokens());
}

at::Tensor MicroBatchTensors::take_rollouts(const at::Tensor& per_rollout) const {
  return per_rollout.detach().index_select(0, rollouts_);
}

at::Tensor MicroBatchTensors::rollout() const { return at::repeat_interleave(length_); }

at::Tensor MicroBatchTensors::rollout_sum(const at::Tensor& per_token) const {
  return zeros(rollouts()).index_add(0, rollout(), per_token);
}

at::Tensor MicroBatchTensors::rollout_mean(const at::Tensor& per_token) const {
  return rollout_sum(per_token) / length_.clamp_min(1).to(at::kDouble);
}

at::Tensor MicroBatchTensors::over_tokens(const at::Tensor& per_rollout) const {
  return per_rollout.index_select(0, rollout());
}

at::Tensor MicroBatchTensors::present() const {
  return (take_rollouts(step.trained_length) > 0).to(at::kDouble);
}

std::int64_t MicroBatchTensors::groups() const {
  return rollouts() == 0 ? 0 : group()[rollouts() - 1].item<std::int64_t>() + 1;
}

at::Tensor MicroBatchTensors::group() const {
  const at::Tensor of_step = take_rollouts(step.columns.group);
  if (rollouts() == 0) return of_step;
  // Groups ascend, so counting the changes numbers the groups of the micro-batch.
  return at::cat({at::zeros({1}, at::kLong), (of_step.diff() != 0).to(at::kLong)}).cumsum(0);
}

at::Tensor MicroBatchTensors::group_sum(const at::Tensor& per_rollout) const {
  return zeros(groups()).index_add(0, group(), per_rollout);
}

at::Tensor MicroBatchTensors::over_group(const at::Tensor& per_group) const {
  return per_group.index_select(0, group());
}

at::Tensor MicroBatchTensors::group_logsumexp(const at::Tensor& per_rollout,
                                              const at::Tensor& mask) const {
  const double lowest = -std::numeric_limits<double>::infinity();
  const at::Tensor counted = mask > 0;
  const at::Tensor largest =
      largest_of(groups(), group(), at::where(counted, per_rollout.detach(), lowest), lowest)
          .clamp_min(-1e300);
  const at::Tensor shifted =
      at::where(counted, per_rollout - over_group(largest), 0.0).exp() * counted.to(at::kDouble);
  return group_sum(shifted).log() + largest;
}

std::pair<at::Tensor, at::Tensor> MicroBatchTensors::pairs() const {
  const at::Tensor groups = group(), counts = present();
  const auto* g = groups.const_data_ptr<std::int64_t>();
  const auto* there = counts.const_data_ptr<double>();
  std::vector<std::int64_t> first, second;
  for (std::int64_t begin = 0, end = 0; begin < rollouts(); begin = end) {
    while (end < rollouts() && g[end] == g[begin]) ++end;
    for (std::int64_t i = begin; i < end; ++i) {
      for (std::int64_t j = begin; j < end; ++j) {
        if (i != j && there[i] > 0 && there[j] > 0) first.push_back(i), second.push_back(j);
      }
    }
  }
  return {at::tensor(first, at::kLong), at::tensor(second, at::kLong)};
}

void MicroBatchTensors::expect_whole_groups() const {
  const at::Tensor sizes =
      zeros(groups()).index_add(0, group(), at::ones({rollouts()}, at::kDouble));
  expect(at::equal(over_group(sizes),
                   step.shape.over_rollouts(step.shape.group_size).index_select(0, rollouts_)),
         "this objective needs leaves of whole groups");
}

}  // namespace rollcall::objective
