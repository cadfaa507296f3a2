// Segment sums and gathers along the groups and rollouts of a step.
#include "objective/step_shape.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/differing.hpp"
#include "objective/largest.hpp"

#include <limits>
#include <span>
#include <utility>

namespace rollcall::objective {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

at::Tensor zeros(std::int64_t n) { return at::zeros({n}, at::kDouble); }

}  // namespace

StepShape::StepShape(at::Tensor group_of_rollout, const at::Tensor& offsets)
    : group(std::move(group_of_rollout)) {
  rollouts = group.size(0);
  tokens = offsets[rollouts].item<std::int64_t>();
  const at::Tensor lengths = offsets.diff();
  expect((lengths >= 0).all().item<bool>() && (group.diff() >= 0).all().item<bool>(),
         "offsets and group ascend");
  prompts = group[rollouts - 1].item<std::int64_t>() + 1;
  rollout = at::repeat_interleave(lengths);
  place = at::arange(tokens) - offsets.index_select(0, rollout);
  length = lengths.to(at::kDouble);
  group_size = group_sum(at::ones({rollouts}, at::kDouble));
  expect((group_size >= 1).all().item<bool>(), "groups are numbered without gaps");
  group_begin_ = {0};
  const auto size = group_size.accessor<double, 1>();
  for (std::int64_t g = 0; g < prompts; ++g)
    group_begin_.push_back(group_begin_.back() + std::int64_t(size[g]));
}

at::Tensor StepShape::group_sum(const at::Tensor& per_rollout) const {
  return zeros(prompts).index_add_(0, group, per_rollout);
}
at::Tensor StepShape::group_mean(const at::Tensor& per_rollout, const at::Tensor& weight) const {
  const auto bounded = [](const at::Tensor& x, const at::Tensor& least, const at::Tensor& largest) {
    return at::minimum(at::maximum(x, least), largest);
  };
  if (!weight.defined())
    return bounded(group_sum(per_rollout) / group_size, group_min(per_rollout),
                   group_max(per_rollout));
  const at::Tensor total = group_sum(weight), counts = weight > 0;
  const at::Tensor least = group_min(at::where(counts, per_rollout, infinity)),
                   largest = group_max(at::where(counts, per_rollout, -infinity));
  return at::where(total > 0, bounded(group_sum(weight * per_rollout) / total, least, largest),
                   0.0);
}
at::Tensor StepShape::group_max(const at::Tensor& per_rollout) const {
  return largest_of(prompts, group, per_rollout, -infinity);
}
at::Tensor StepShape::group_min(const at::Tensor& per_rollout) const {
  return -group_max(-per_rollout);
}
at::Tensor StepShape::group_differs(const at::Tensor& per_rollout) const {
  const at::Tensor values = per_rollout.contiguous(), apart = at::zeros({prompts}, at::kBool);
  const double* first = values.const_data_ptr<double>();
  auto* out = apart.data_ptr<bool>();
  for (std::int64_t g = 0; g < prompts; ++g) {
    const auto begin = group_begin_[std::size_t(g)], end = group_begin_[std::size_t(g) + 1];
    out[g] = differ(std::span(first + begin, std::size_t(end - begin)));
  }
  return apart;
}

at::Tensor StepShape::rollout_sum(const at::Tensor& per_token) const {
  return zeros(rollouts).index_add_(0, rollout, per_token);
}
at::Tensor StepShape::rollout_mean(const at::Tensor& per_token) const {
  return rollout_sum(per_token) / length.clamp_min(1);
}
at::Tensor StepShape::over_rollouts(const at::Tensor& per_group) const {
  return per_group.index_select(0, group);
}
at::Tensor StepShape::over_tokens(const at::Tensor& per_rollout) const {
  return per_rollout.index_select(0, rollout);
}

}  // namespace rollcall::objective
