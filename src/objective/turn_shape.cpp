// Sums, copies, returns and class means along the turns of a step.
#include "objective/turn_shape.hpp"

#include "base/errors/error.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rollcall::objective {
namespace {

at::Tensor zeros(std::int64_t n) { return at::zeros({n}, at::kDouble); }

bool is_column(const at::Tensor& t, std::int64_t n) {
  return t.dim() == 1 && t.size(0) == n && t.scalar_type() == at::kLong && t.device().is_cpu();
}

/// Sums of one class. The mean never leaves the range of the values, so that equal values have no
/// distance from it.
struct Class {
  double count = 0, sum = 0, least = 0, largest = 0, squares = 0;
  void add(double x) {
    least = count == 0 ? x : std::min(least, x), largest = count == 0 ? x : std::max(largest, x);
    sum += x, count += 1;
  }
  double mean() const { return std::clamp(sum / count, least, largest); }
};

}  // namespace

TurnShape::TurnShape(const at::Tensor& offsets, const at::Tensor& turn_offsets,
                     const at::Tensor& turn_begin) {
  const std::int64_t rollouts = offsets.size(0) - 1;
  const bool one_each = !turn_offsets.defined();
  expect(one_each == !turn_begin.defined(), "turns come with both of their columns");
  const at::Tensor of = one_each ? at::arange(rollouts + 1) : turn_offsets,
                   begin = one_each ? offsets : turn_begin;
  expect(is_column(of, rollouts + 1) && of[0].item<std::int64_t>() == 0 &&
             (of.diff() >= 1).all().item<bool>(),
         "turn_offsets is [B+1] int64 and gives every rollout a turn");
  turns = of[rollouts].item<std::int64_t>();
  expect(is_column(begin, turns + 1) && (begin.diff() >= 0).all().item<bool>() &&
             at::equal(begin.index_select(0, of), offsets),
         "turn_begin is [K+1] int64, and the turns of a rollout are all of its tokens");
  rollout = at::repeat_interleave(of.diff());
  index = at::arange(turns) - of.index_select(0, rollout);
  const at::Tensor lengths = begin.diff();
  length = lengths.to(at::kDouble);
  turn = at::repeat_interleave(lengths);
  last = at::where(lengths > 0, begin.slice(0, 1) - 1, at::full_like(lengths, -1));
}

at::Tensor TurnShape::ends() const {
  return at::cat({rollout.diff() != 0, at::ones({1}, at::kBool)});
}

at::Tensor TurnShape::numbers(const at::Tensor& column) const {
  expect(column.dim() == 1 && column.size(0) == turns, "columns of turns are [K]");
  return column.to(at::kLong);
}

at::Tensor TurnShape::turn_sum(const at::Tensor& per_token) const {
  return zeros(turns).index_add_(0, turn, per_token);
}
at::Tensor TurnShape::turn_mean(const at::Tensor& per_token) const {
  return turn_sum(per_token) / length.clamp_min(1);
}
at::Tensor TurnShape::over_tokens(const at::Tensor& per_turn) const {
  return per_turn.index_select(0, turn);
}
at::Tensor TurnShape::over_turns(const at::Tensor& per_rollout) const {
  return per_rollout.index_select(0, rollout);
}
at::Tensor TurnShape::rollout_sum(const at::Tensor& per_turn) const {
  return zeros(rollout[turns - 1].item<std::int64_t>() + 1).index_add_(0, rollout, per_turn);
}

at::Tensor TurnShape::returns(const at::Tensor& reward, double gamma,
                              const at::Tensor& restarts) const {
  const at::Tensor paid = reward.contiguous(), all = at::empty_like(paid),
                   breaks = restarts.defined() ? restarts.contiguous() : restarts;
  const double* r = paid.const_data_ptr<double>();
  const auto* of = rollout.const_data_ptr<std::int64_t>();
  const bool* broken = breaks.defined() ? breaks.const_data_ptr<bool>() : nullptr;
  auto* out = all.data_ptr<double>();
  for (std::int64_t k = turns - 1; k >= 0; --k) {
    const bool goes_on = k + 1 < turns && of[k + 1] == of[k] && (broken == nullptr || !broken[k]);
    out[k] = goes_on ? r[k] + gamma * out[k + 1] : r[k];
  }
  return all;
}

at::Tensor TurnShape::centred(const at::Tensor& x, const at::Tensor& key, Centre how, Alone alone,
                              double eps) const {
  const at::Tensor all = x.contiguous(), keys = key.contiguous(), centred = at::empty_like(all);
  const double* value = all.const_data_ptr<double>();
  const auto* of = keys.const_data_ptr<std::int64_t>();
  auto* out = centred.data_ptr<double>();
  std::unordered_map<std::int64_t, Class> classes;
  for (std::int64_t k = 0; k < turns; ++k) classes[of[k]].add(value[k]);
  for (std::int64_t k = 0; k < turns; ++k) {
    Class& own = classes.at(of[k]);
    out[k] = value[k] - own.mean();
    own.squares += out[k] * out[k];
  }
  for (std::int64_t k = 0; k < turns; ++k) {
    const Class& own = classes.at(of[k]);
    if (own.count < 2) out[k] = alone == Alone::itself ? value[k] : 0.0;
    else if (how == Centre::leave_one_out) out[k] *= own.count / (own.count - 1);
    else if (how == Centre::standard) out[k] /= std::sqrt(own.squares / (own.count - 1)) + eps;
  }
  return centred;
}

at::Tensor TurnShape::paired(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor first = a.contiguous(), second = b.contiguous(), numbers = at::empty_like(first);
  const auto *one = first.const_data_ptr<std::int64_t>(),
             *other = second.const_data_ptr<std::int64_t>();
  auto* out = numbers.data_ptr<std::int64_t>();
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> seen;
  for (std::int64_t k = 0; k < first.numel(); ++k)
    out[k] = seen.emplace(std::pair(one[k], other[k]), std::int64_t(seen.size())).first->second;
  return numbers;
}

}  // namespace rollcall::objective
