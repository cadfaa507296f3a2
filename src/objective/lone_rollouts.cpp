// Made-up steps under a policy that has moved a little. What a step teaches is the derivative of
// its loss by log-probs and entropies.
#include "objective/lone_rollouts.hpp"

#include "base/numbers/differing.hpp"
#include "method/columns.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <string_view>
#include <vector>

namespace rollcall::objective {
namespace {

namespace column = method::column;
using method::LoneRollouts;

/// A rollout of a trial. All its columns follow from its number within the group and from its
/// verdict, so two rollouts with equal numbers and equal verdicts have equal columns.
struct Trial {
  std::int64_t group = 0, sample = 0;
  bool right = false;
};

constexpr std::int64_t kLength = 6;  // tokens of sample 0; each further sample has one more
constexpr double kHorizon = 32;
std::int64_t length_of(const Trial& trial) { return kLength + trial.sample; }

/// An irregular number in [0, 1) for each sample and token; `by` keeps the columns apart.
double wave(const Trial& trial, std::int64_t token, double by) {
  const double x = std::sin(double(trial.sample * 31 + token * 7 + 3) * by) * 43758.5453;
  return x - std::floor(x);
}

double logprob_of(const Trial& trial, std::int64_t token) { return -0.1 - wave(trial, token, 1.3); }
/// Log-prob under the policy that is updated.
double moved_logprob(const Trial& trial, std::int64_t token) {
  return logprob_of(trial, token) + 0.05 * (wave(trial, token, 2.1) - 0.5);
}

/// The value of a column that has one number per token.
double token_value(std::string_view name, const Trial& trial, std::int64_t token) {
  if (name == column::reasoning_step) return double(token / 3);
  if (name == column::given) return 0.0;
  if (name == column::probe_accuracy || name == column::probe_confidence ||
      name == column::sum_squares)
    return wave(trial, token / 3, 0.7);
  if (name == column::value) return 0.5 * wave(trial, token, 0.9);
  if (name == column::teacher_kl || name == column::current_entropy || name == column::old_entropy)
    return wave(trial, token, 0.5);
  if (name == column::current_logprob) return moved_logprob(trial, token);
  return -0.1 - wave(trial, token, 1.7);  // another model's log-probs
}

bool is_of_tokens(std::string_view name) {
  constexpr std::array kOfTokens{column::reference_logprob, column::teacher_logprob,
                                 column::teacher_kl,        column::current_logprob,
                                 column::current_entropy,   column::old_entropy,
                                 column::sum_squares,       column::value,
                                 column::reasoning_step,    column::probe_accuracy,
                                 column::probe_confidence,  column::given,
                                 column::masked_logprob,    column::unhinted_logprob};
  return name.starts_with(column::flat_reference) ||
         std::find(kOfTokens.begin(), kOfTokens.end(), name) != kOfTokens.end();
}

double rollout_value(std::string_view name, const Trial& trial) {
  if (name == column::correct || name == column::turn_reward || name.starts_with("component/"))
    return trial.right ? 1.0 : 0.0;
  if (name == column::answer) return trial.right ? 0.0 : 1.0;
  if (name.starts_with("turn/")) return 0.0;  // without an environment
  if (name == column::expert || name == column::version_lag || name == column::derived ||
      name == column::tier || name == column::opening)
    return 0.0;
  if (name == column::prompt_best_length) return double(kLength);
  if (name == column::parent || name == column::fork_token) return -1.0;  // nothing is shared
  return 0.5;  // predictions and earlier results of the prompt
}

class TrialStep {
 public:
  /// `trials`: ascending by group, then sample.
  TrialStep(const Objective& objective, std::vector<Trial> trials) : trials_(std::move(trials)) {
    std::vector<double> reward, old_logprob;
    std::vector<std::int64_t> group, level, offsets{0}, token, key;
    for (const Trial& t : trials_) {
      reward.push_back(t.right ? 1.0 : 0.0), group.push_back(t.group), level.push_back(1),
          key.push_back(t.sample);
      for (std::int64_t i = 0; i < length_of(t); ++i)
        old_logprob.push_back(logprob_of(t, i)), token.push_back(10 + (t.sample * 5 + i * 3) % 17);
      offsets.push_back(std::int64_t(token.size()));
    }
    columns_.reward = at::tensor(reward, at::kDouble),
    columns_.group = at::tensor(group, at::kLong);
    columns_.prompt_level = at::tensor(level, at::kLong),
    columns_.offsets = at::tensor(offsets, at::kLong);
    columns_.old_logprob = columns_.rollout_logprob = at::tensor(old_logprob, at::kDouble);
    columns_.truncated = at::zeros({std::int64_t(trials_.size())}, at::kBool);
    columns_.token = at::tensor(token, at::kLong), columns_.key = at::tensor(key, at::kLong);
    columns_.max_new_tokens = kHorizon, columns_.seed = 1, columns_.step = 10,
    columns_.progress = 0.5;
    for (const auto& name : objective.columns()) columns_.named[name] = column_of(name);
  }

  /// [2 N] derivatives of the loss by each token's log-prob, then by its entropy.
  std::vector<double> taught(const Objective& objective) const {
    MicroBatchColumns micro_batch;
    std::vector<double> logprob, entropy;
    for (std::size_t i = 0; i < trials_.size(); ++i) {
      micro_batch.rollouts.push_back(std::int64_t(i));
      for (std::int64_t t = 0; t < length_of(trials_[i]); ++t)
        logprob.push_back(moved_logprob(trials_[i], t)),
            entropy.push_back(0.5 + wave(trials_[i], t, 0.3));
    }
    micro_batch.logprob = at::tensor(logprob, at::kDouble),
    micro_batch.entropy = at::tensor(entropy, at::kDouble);
    if (objective.needs_value()) micro_batch.value = column_of(column::value);
    const MicroBatchLoss loss = objective.evaluate(*objective.prepare(columns_), micro_batch);
    std::vector<double> all;
    for (const at::Tensor& by : {loss.dlogprob, loss.dentropy}) {
      const at::Tensor flat = by.to(at::kDouble).contiguous();
      all.insert(all.end(), flat.const_data_ptr<double>(),
                 flat.const_data_ptr<double>() + flat.numel());
    }
    return all;
  }

  /// The places in taught() that belong to the tokens of one rollout.
  std::vector<std::size_t> places(std::size_t rollout) const {
    std::size_t first = 0, all = 0;
    for (std::size_t i = 0; i < trials_.size(); ++i)
      (i < rollout ? first : all) += std::size_t(length_of(trials_[i]));
    all += first;
    std::vector<std::size_t> indices;
    for (std::int64_t t = 0; t < length_of(trials_[rollout]); ++t)
      indices.push_back(first + std::size_t(t)), indices.push_back(all + first + std::size_t(t));
    return indices;
  }

 private:
  at::Tensor column_of(const std::string& name) const {
    std::vector<double> values;
    if (name == column::gradient_cosine) return cosines();
    for (const Trial& t : trials_) {
      if (!is_of_tokens(name)) values.push_back(rollout_value(name, t));
      for (std::int64_t i = 0; is_of_tokens(name) && i < length_of(t); ++i)
        values.push_back(token_value(name, t, i));
    }
    return at::tensor(values, at::kDouble);
  }

  at::Tensor cosines() const {
    std::vector<double> values;
    for (const Trial& a : trials_)
      for (const Trial& b : trials_)
        if (a.group == b.group)
          values.push_back(a.sample == b.sample ? 1.0 : 0.2 * wave(a, b.sample, 0.4));
    return at::tensor(values, at::kDouble);
  }

  std::vector<Trial> trials_;
  StepColumns columns_;
};

/// Whether the objective compares the rollouts of a prompt. The trial has two prompts with eight
/// rollouts each. They are alike but for the first rollout, which is right in one prompt and wrong
/// in the other; `right` of the other seven are right in both. The objective compares if these
/// seven teach something different in the two prompts.
bool compares(const Objective& objective, std::int64_t right) {
  constexpr std::int64_t kSamples = 8;
  std::vector<Trial> trials;
  for (std::int64_t group = 0; group < 2; ++group)
    for (std::int64_t sample = 0; sample < kSamples; ++sample)
      trials.push_back({group, sample, sample == 0 ? group == 0 : sample <= right});
  const TrialStep step(objective, trials);
  const auto taught = step.taught(objective);
  for (std::int64_t sample = 1; sample < kSamples; ++sample) {
    const auto here = step.places(std::size_t(sample)),
               there = step.places(std::size_t(kSamples + sample));
    for (std::size_t i = 0; i < here.size(); ++i)
      if (differ(taught[here[i]], taught[there[i]])) return true;
  }
  return false;
}

/// Several trials, because some pieces look only at groups with few right answers.
bool compares(const Objective& objective) {
  for (const std::int64_t right : {0, 1, 3, 6})
    if (compares(objective, right)) return true;
  return false;
}

/// Whether verdicts change what eight prompts with one rollout each teach.
bool teaches_alone(const Objective& objective) {
  const auto taught = [&](bool flipped) {
    std::vector<Trial> trials;
    for (std::int64_t group = 0; group < 8; ++group)
      trials.push_back({group, group, (group % 2 == 0) != (flipped && group % 3 == 0)});
    return TrialStep(objective, trials).taught(objective);
  };
  const auto one = taught(false), other = taught(true);
  return !std::equal(one.begin(), one.end(), other.begin(), other.end(),
                     [](double a, double b) { return !differ(a, b); });
}

}  // namespace

LoneRollouts lone_rollouts(const Objective& objective) {
  try {
    if (!compares(objective)) return LoneRollouts::teach_as_others;
    return teaches_alone(objective) ? LoneRollouts::teach_plainly : LoneRollouts::teach_nothing;
  } catch (const std::exception&) {
    return LoneRollouts::teach_as_others;
  }
}

}  // namespace rollcall::objective
