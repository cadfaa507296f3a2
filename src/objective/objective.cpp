// The two phases of an objective: a step is prepared once, then each micro-batch gets its share of
// the loss and its derivative.
#include "objective/objective.hpp"

#include "base/errors/error.hpp"
#include "objective/resolve.hpp"
#include "objective/reward_sight.hpp"
#include "objective/token_advantages.hpp"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace rollcall::objective {
namespace {

at::Tensor plus(const at::Tensor& a, const at::Tensor& b) {
  return a.defined() && b.defined() ? a + b : a.defined() ? a : b;
}
at::Tensor times(const at::Tensor& a, const at::Tensor& b) {
  return a.defined() && b.defined() ? a * b : a.defined() ? a : b;
}

}  // namespace

/// The step with its advantages, and the coefficient of every token's loss; immutable once made.
class Objective::Prepared {
 public:
  explicit Prepared(const StepColumns& columns) : step(columns), statistics(columns.statistics) {}
  Step step;
  at::Tensor plain_advantage;          ///< [N] before the scheduler's weights; undefined where the
                                       ///< scheduler gives none
  at::Tensor policy_coefficient;       ///< [N] aggregate times weights, the factor on the surrogate
  at::Tensor regularizer_coefficient;  ///< [N] only the aggregate
  /// For each reward piece: its name and [B] by how much it changed the reward.
  std::vector<std::pair<std::string, at::Tensor>> shaping;
  std::map<std::string, double> statistics;
  double lr_factor = 1.0;
  std::map<std::string, double> moving;  ///< metrics moving/NAME: the present values of the pieces'
                                         ///< schedules and controllers
  std::vector<TokenWeight> weights;      ///< the result of each weight piece
  bool knows_trained = true;  ///< false where a piece of advantage or weight acts at every update
  std::shared_ptr<const Prepared> of_step{};  ///< the whole step, where this is an update of it;
                                              ///< null otherwise

  void remember(const std::map<std::string, double>& changed) {
    for (const auto& [name, value] : changed) statistics[name] = value;
  }
  /// Takes the step's results for the rollouts of this update.
  void take(OfStep of);
  /// Computes the coefficients from the aggregate's [N], after all weight pieces have run.
  void close(const at::Tensor& aggregate);

  /// Rollouts of one origin, which have metrics of their own: those of the step's policy ("actor"),
  /// and replayed ones.
  struct Origin {
    const char* name;
    at::Tensor rollouts;  ///< [B] bool; undefined: all
    at::Tensor tokens;    ///< [N] float64, 1 for their trained tokens; undefined: all
    double count = 0;     ///< number of those tokens
  };
  std::vector<Origin> origins;
  void find_origins();
};

void Objective::Prepared::take(OfStep of) {
  of_step = std::move(of.step);
  const Step& whole = of_step->step;
  const at::Tensor rollouts = at::tensor(of.rollouts, at::kLong);
  const auto offset = whole.columns.offsets.accessor<std::int64_t, 1>();
  std::vector<std::int64_t> places;
  for (const auto i : of.rollouts)
    for (auto t = offset[i]; t < offset[i + 1]; ++t) places.push_back(t);
  const at::Tensor tokens = at::tensor(places, at::kLong);
  expect(rollouts.size(0) == step.shape.rollouts &&
             at::equal(whole.shape.length.index_select(0, rollouts), step.shape.length),
         "an update holds rollouts of its step");
  const auto of_rollouts = [&](const at::Tensor& column) {
    return column.defined() ? column.index_select(0, rollouts) : column;
  };
  const auto of_tokens = [&](const at::Tensor& column) {
    return column.defined() ? column.index_select(0, tokens) : column;
  };
  step.of_step = &whole, step.turns.replaced = whole.turns.replaced;
  if (whole.turns.paid.defined())
    step.turns.paid = whole.turns.paid.masked_select(at::isin(whole.turns.rollout, rollouts));
  step.reward = of_rollouts(whole.reward), step.token_reward = of_tokens(whole.token_reward);
  step.advantage = of_tokens(whole.advantage), step.value_target = of_tokens(whole.value_target);
  plain_advantage = of_tokens(of_step->plain_advantage);
  for (const auto& [name, change] : of_step->shaping)
    shaping.emplace_back(name, of_rollouts(change));
  for (const auto& w : of_step->weights)
    weights.push_back({of_tokens(w.factor), of_tokens(w.keep), w.lr_factor});
}

void Objective::Prepared::close(const at::Tensor& aggregate) {
  regularizer_coefficient = times(aggregate, step.keep);
  policy_coefficient = times(regularizer_coefficient, step.factor);
  find_origins();
}

void Objective::Prepared::find_origins() {
  const auto& columns = step.columns;
  const auto named = columns.named.find(column::expert);
  const at::Tensor replayed =
      columns.replayed.defined() ? columns.replayed : at::zeros_like(columns.reward, at::kBool);
  const at::Tensor expert =
      named == columns.named.end() ? at::zeros_like(replayed) : named->second > 0.5;
  const at::Tensor other = replayed.logical_or(expert);
  if (!other.any().item<bool>()) {
    origins = {{"actor", {}, step.keep, step.trained_length.sum().item<double>()}};
    return;
  }
  const auto add = [&](const char* name, const at::Tensor& rollouts) {
    at::Tensor tokens = step.shape.over_tokens(rollouts.to(at::kDouble));
    if (step.keep.defined()) tokens = tokens * step.keep;
    origins.push_back({name, rollouts, tokens, tokens.sum().item<double>()});
  };
  add("actor", other.logical_not());
  if (replayed.any().item<bool>()) add("replay", replayed);
}

namespace {

/// Extremes over the micro-batch's trained tokens; nothing is noted where there are none.
void note_extremes(MicroBatchLoss& out, const std::string& name, at::Tensor values,
                   const at::Tensor& keep) {
  if (keep.defined()) values = values.masked_select(keep > 0);
  if (values.numel() == 0) return;
  const auto [low, high] = values.aminmax();
  out.minima[name + "_min"] = low.item<double>();
  out.maxima[name + "_max"] = high.item<double>();
}

/// Notes metrics as shares of the step's means, so that the sum over micro-batches is the mean. A
/// mean over no tokens is not noted, because it has no value and a 0 would enter the step's mean.
void note_metrics(MicroBatchLoss& out, const MicroBatchTensors& micro_batch,
                  const std::vector<Objective::Prepared::Origin>& origins, const at::Tensor& ratio,
                  const SurrogateLoss& surrogate) {
  const at::NoGradGuard no_grad;
  for (const auto& origin : origins) {
    if (origin.count == 0) continue;
    const at::Tensor taken =
        origin.tokens.defined() ? micro_batch.take(origin.tokens) : at::Tensor();
    const std::string name = origin.name;
    note_extremes(out, name + "/ratio", ratio, taken);
    out.sums[name + "/ratio_mean"] =
        times(ratio, taken).sum(at::kDouble).item<double>() / origin.count;
    out.sums[name + "/ppo_kl"] = times(micro_batch.old_logprob - micro_batch.logprob, taken)
                                     .sum(at::kDouble)
                                     .item<double>() /
                                 origin.count;
  }
  if (std::all_of(origins.begin(), origins.end(),
                  [](const auto& origin) { return origin.count == 0; }))
    return;
  const at::Tensor keep =
      micro_batch.step.keep.defined() ? micro_batch.take(micro_batch.step.keep) : at::Tensor();
  const auto mean = [&](const at::Tensor& x) {
    return times(x, keep).sum(at::kDouble).item<double>() / micro_batch.step.normalizer.tokens;
  };
  out.sums["actor/pg_clipfrac"] = surrogate.clipped.defined() ? mean(surrogate.clipped) : 0.0;
  for (const auto& [name, values] : surrogate.means)
    out.sums["actor/" + name] = mean(values.detach());
  out.sums["actor/entropy"] = mean(micro_batch.entropy);
}

/// Means of a token column by rollout; NaN for a rollout without tokens.
std::vector<double> rollout_means(const at::Tensor& rollout_sums, const at::Tensor& lengths) {
  const at::Tensor means = (rollout_sums / lengths.to(at::kDouble)).contiguous();
  return {means.const_data_ptr<double>(), means.const_data_ptr<double>() + means.numel()};
}

/// Mean, min and max of a column of the whole step.
void note_column(std::map<std::string, double>& metrics, const std::string& name,
                 const at::Tensor& values) {
  if (values.numel() == 0) return;
  const auto [low, high] = values.aminmax();
  metrics[name + "/mean"] = values.mean().item<double>();
  metrics[name + "/min"] = low.item<double>();
  metrics[name + "/max"] = high.item<double>();
}

/// Pieces that run when a step or an update is prepared: all of them, those that run once for the
/// whole step, or those that run at every update.
enum class Part { all, step, update };

bool runs(Part part, bool each_update) {
  return part == Part::all || each_update == (part == Part::update);
}

/// Notes the metrics moving/NAME.
void note_moving(const Objective::Resolved& resolved, Objective::Prepared& prepared) {
  for (const Moving& moving : resolved.knobs.moving())
    if (const double value = moving.value(prepared.step); !std::isnan(value))
      prepared.moving["moving/" + moving.name] = value;
}

void shape_rewards(const Objective::Resolved& resolved, Objective::Prepared& prepared, Part part) {
  Step& step = prepared.step;
  for (const auto& [name, reward, each_update] : resolved.rewards) {
    if (!runs(part, each_update)) continue;
    const ShapedReward shaped = reward(step);
    expect(!each_update || (!shaped.reward.defined() && !shaped.token_reward.defined() &&
                            !shaped.turn_reward.defined()),
           "a reward piece that reads an update's policy leaves rewards alone");
    if (shaped.reward.defined())
      prepared.shaping.emplace_back(name, shaped.reward - step.reward), step.reward = shaped.reward;
    step.token_reward = plus(step.token_reward, shaped.token_reward);
    step.turns.paid = plus(step.turns.paid, shaped.turn_reward);
    step.turns.replaced = step.turns.replaced || replaces_turns(name, shaped);
    prepared.remember(shaped.statistics);
  }
}

void estimate_advantage(const Objective::Resolved& resolved, Objective::Prepared& prepared,
                        Part part) {
  if (!runs(part, resolved.advantage.each_update)) return;
  Step& step = prepared.step;
  const Advantage estimate = resolved.advantage.function(step);
  step.advantage = estimate.advantage, step.value_target = estimate.value_target;
  prepared.remember(estimate.statistics);
  if (!step.columns.group_weight.defined()) return;
  prepared.plain_advantage = step.advantage;
  step.advantage =
      step.advantage * step.shape.over_tokens(step.shape.over_rollouts(step.columns.group_weight));
}

void weigh(const Objective::Resolved& resolved, Objective::Prepared& prepared, Part part) {
  Step& step = prepared.step;
  if (step.columns.trains.defined()) {
    step.keep = step.shape.over_tokens(step.columns.trains);
    step.count();  // weight pieces choose among the tokens that may train
  }
  bool chosen = false;
  const std::vector<TokenWeight> of_step = std::exchange(prepared.weights, {});
  for (std::size_t i = 0; i < resolved.weights.size(); ++i) {
    const auto& [name, weight, each_update] = resolved.weights[i];
    const TokenWeight w = runs(part, each_update) ? weight(step)
                          : part == Part::update  ? of_step.at(i)
                                                  : TokenWeight{};
    step.factor = times(step.factor, w.factor);
    step.keep = times(step.keep, w.keep);
    prepared.lr_factor *= w.lr_factor;
    chosen = chosen || w.keep.defined();
    prepared.remember(w.statistics);
    prepared.weights.push_back(w);
  }
  if (chosen) step.count();
}

/// [L] mean surrogate loss of each rollout's tokens, before the scheduler's weights.
std::vector<double> rollout_loss(const Objective::Resolved& resolved,
                                 const Objective::Prepared& prepared,
                                 const MicroBatchTensors& micro_batch, const at::Tensor& ratio,
                                 const at::Tensor& loss) {
  const at::NoGradGuard no_grad;
  if (!prepared.plain_advantage.defined())
    return rollout_means(micro_batch.rollout_sum(loss),
                         micro_batch.rollout_sum(at::ones_like(loss)));
  // The scheduler learns from the loss without its own weights. Otherwise a weight would influence
  // the next weight of the same prompt.
  MicroBatchTensors plain = micro_batch;
  plain.advantage = micro_batch.take(prepared.plain_advantage);
  const at::Tensor unweighted = resolved.surrogate(plain, ratio).loss;
  return rollout_means(micro_batch.rollout_sum(unweighted),
                       micro_batch.rollout_sum(at::ones_like(unweighted)));
}
}  // namespace

Objective::Objective(const std::string& recipe, const Settings& pieces, const Settings& knobs)
    : resolved_(std::make_unique<Resolved>(recipe, pieces, knobs)) {}
Objective::~Objective() = default;

std::shared_ptr<const Objective::Prepared> Objective::prepare(const StepColumns& columns) const {
  const at::NoGradGuard no_grad;
  auto prepared = std::make_shared<Prepared>(columns);
  note_moving(*resolved_, *prepared);
  for (const auto& column : resolved_->knobs.needs.column_names()) prepared->step.named(column);
  shape_rewards(*resolved_, *prepared, Part::all);
  estimate_advantage(*resolved_, *prepared, Part::all);
  weigh(*resolved_, *prepared, Part::all);
  prepared->close(resolved_->aggregate(prepared->step));
  return prepared;
}

std::shared_ptr<const Objective::Prepared> Objective::prepare_step(
    const StepColumns& columns) const {
  const at::NoGradGuard no_grad;
  auto prepared = std::make_shared<Prepared>(columns);
  note_moving(*resolved_, *prepared);
  shape_rewards(*resolved_, *prepared, Part::step);
  estimate_advantage(*resolved_, *prepared, Part::step);
  weigh(*resolved_, *prepared, Part::step);
  const auto& weights = resolved_->weights;
  prepared->knows_trained =
      !resolved_->advantage.each_update &&
      std::none_of(weights.begin(), weights.end(), [](const auto& w) { return w.each_update; });
  prepared->find_origins();
  return prepared;
}

std::shared_ptr<const Objective::Prepared> Objective::prepare(const StepColumns& columns,
                                                              OfStep of) const {
  const at::NoGradGuard no_grad;
  auto prepared = std::make_shared<Prepared>(columns);
  note_moving(*resolved_, *prepared);
  for (const auto& column : resolved_->knobs.needs.column_names()) prepared->step.named(column);
  prepared->take(std::move(of));
  shape_rewards(*resolved_, *prepared, Part::update);
  estimate_advantage(*resolved_, *prepared, Part::update);
  weigh(*resolved_, *prepared, Part::update);
  prepared->close(resolved_->aggregate(prepared->step));
  return prepared;
}

MicroBatchLoss Objective::evaluate(const Prepared& prepared,
                                   const MicroBatchColumns& columns) const {
  const at::AutoGradMode with_grad(true);
  const MicroBatchTensors micro_batch(prepared.step, columns);
  if (whole_groups()) micro_batch.expect_whole_groups();
  expect(!needs_value() || micro_batch.value.defined(),
         "this objective trains the value head: its output must come with the micro-batch");
  const at::Tensor ratio = resolved_->ratio(micro_batch);
  const SurrogateLoss surrogate = resolved_->surrogate(micro_batch, ratio);
  at::Tensor loss = (surrogate.loss * micro_batch.take(prepared.policy_coefficient)).sum();

  MicroBatchLoss out;
  out.sums["actor/pg_loss"] = loss.item<double>();
  for (const auto& [name, regularizer] : resolved_->regularizers) {
    const at::Tensor share =
        (regularizer(micro_batch) * micro_batch.take(prepared.regularizer_coefficient)).sum();
    out.sums[fmt::format("actor/{}_loss", name)] = share.item<double>();
    loss = loss + share;
  }
  out.loss = loss.item<double>();

  std::vector<at::Tensor> inputs{micro_batch.logprob, micro_batch.entropy};
  for (const auto& column : {micro_batch.value, micro_batch.miss_logprob})
    if (column.defined()) inputs.push_back(column);
  std::vector<at::Tensor> derivative(inputs.size());
  if (loss.requires_grad())
    derivative = torch::autograd::grad({loss}, inputs, {}, false, false, /*allow_unused=*/true);
  const auto or_zero = [](const at::Tensor& d, const at::Tensor& like) {
    return d.defined() ? d : at::zeros_like(like).detach();
  };
  out.dlogprob = or_zero(derivative[0], micro_batch.logprob);
  out.dentropy = or_zero(derivative[1], micro_batch.entropy);
  if (micro_batch.value.defined()) out.dvalue = or_zero(derivative[2], micro_batch.value);
  if (micro_batch.miss_logprob.defined())
    out.dmiss_logprob = or_zero(derivative.back(), micro_batch.miss_logprob);
  note_metrics(out, micro_batch, prepared.origins, ratio.detach(), surrogate);
  out.rollout_loss = rollout_loss(*resolved_, prepared, micro_batch, ratio, surrogate.loss);
  return out;
}

std::vector<double> Objective::rollout_advantages(const Prepared& prepared) {
  const Step& step = prepared.step;
  const at::Tensor& advantage =
      prepared.plain_advantage.defined() ? prepared.plain_advantage : step.advantage;
  return rollout_means(step.shape.rollout_sum(advantage.abs()), step.shape.length);
}

std::vector<double> token_advantages(const Objective::Prepared& prepared) {
  const at::Tensor& plain =
      prepared.plain_advantage.defined() ? prepared.plain_advantage : prepared.step.advantage;
  const at::Tensor values = plain.to(at::kDouble).contiguous();
  return {values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel()};
}

at::Tensor Objective::rewards(const StepColumns& columns) const {
  const at::NoGradGuard no_grad;
  Step step(columns);
  for (const auto& reward : resolved_->rewards) {
    if (sight_of(reward.name) == Sight::unheard) continue;
    if (const ShapedReward shaped = reward.function(step); shaped.reward.defined())
      step.reward = shaped.reward;
  }
  const TrainsOn* const other = resolved_->knobs.reward_use.in_place_of_reward();
  if (other != nullptr && other->paid) step.reward = other->paid(step);
  for (const Gate* gate : resolved_->knobs.reward_use.gates()) step.reward = gate->heard(step);
  return step.reward;
}

bool Objective::pays_verifiers() const {
  const auto& rewards = resolved_->rewards;
  const TrainsOn* const other = resolved_->knobs.reward_use.in_place_of_reward();
  const auto gates = resolved_->knobs.reward_use.gates();
  return (other == nullptr || !other->paid) &&
         std::all_of(gates.begin(), gates.end(), [](const Gate* g) { return g->by_verifier; }) &&
         std::all_of(rewards.begin(), rewards.end(),
                     [](const auto& r) { return sight_of(r.name) == Sight::unheard; });
}

std::string Objective::in_place_of_verifiers() const {
  const TrainsOn* const other = resolved_->knobs.reward_use.in_place_of_reward();
  if (other != nullptr)
    return fmt::format("{} {} trains on {}", other->family, other->piece, other->what);
  for (const auto& reward : resolved_->rewards)
    if (effect_of(reward.name) == Effect::replaces)
      return fmt::format("reward {} replaces the verifier's reward", reward.name);
  return {};
}

bool Objective::reads_component(const std::string& name) const {
  const RewardUse& use = resolved_->knobs.reward_use;
  const auto says = [&](auto family, auto piece) { return use.says_components(family, piece); };
  return use.reads_component(name) || resolved_->knobs.needs.names("component/" + name, says);
}

std::vector<std::string> Objective::late_rewards() const {
  std::vector<std::string> late;
  for (const auto& reward : resolved_->rewards)
    if (sight_of(reward.name) == Sight::update) late.push_back(reward.name);
  return late;
}

std::string Objective::describe() const {
  std::string text =
      fmt::format("{}: {}, {} ({})\n", resolved_->recipe->name, resolved_->recipe->title,
                  resolved_->recipe->paper, resolved_->recipe->year);
  for (const auto& [piece, formula] : resolved_->cards)
    text += fmt::format("  {:<36} {}\n", piece, formula);
  const auto note_update = [&](const char* family, const auto& piece) {
    if (piece.each_update)
      text += fmt::format("  {} {} acts at every update, on its rollouts\n", family, piece.name);
  };
  for (const auto& reward : resolved_->rewards) note_update("reward", reward);
  note_update("advantage", resolved_->advantage);
  for (const auto& weight : resolved_->weights) note_update("weight", weight);
  for (const auto& knob : resolved_->knobs.all())
    text += fmt::format("  {:<36} {:<10} {}\n", knob.key(), knob.value(), knob.meaning);
  return text;
}

std::vector<std::string> Objective::columns() const {
  return resolved_->knobs.needs.column_names();
}
std::vector<std::string> Objective::unset() const { return resolved_->knobs.unset(); }
bool Objective::needs_value() const { return resolved_->knobs.needs.value_head; }
bool Objective::whole_groups() const { return resolved_->knobs.needs.whole_groups; }
std::map<std::string, double> Objective::statistics(const Prepared& prepared) {
  return prepared.statistics;
}
double Objective::lr_factor(const Prepared& prepared) { return prepared.lr_factor; }

std::map<std::string, double> merge(const Objective::Prepared& prepared,
                                    const std::vector<MicroBatchLoss>& micro_batches) {
  std::map<std::string, double> metrics;
  for (const auto& micro_batch : micro_batches) {
    for (const auto& [name, value] : micro_batch.sums) metrics[name] += value;
    for (const auto& [name, value] : micro_batch.minima) {
      const auto [slot, fresh] = metrics.emplace(name, value);
      if (!fresh) slot->second = std::min(slot->second, value);
    }
    for (const auto& [name, value] : micro_batch.maxima) {
      const auto [slot, fresh] = metrics.emplace(name, value);
      if (!fresh) slot->second = std::max(slot->second, value);
    }
  }
  const at::Tensor& keep = prepared.step.keep;
  const at::Tensor& advantage = prepared.step.advantage;
  if (prepared.knows_trained)
    note_column(metrics, "critic/advantages",
                keep.defined() ? advantage.masked_select(keep > 0) : advantage);
  const at::Tensor& own = prepared.origins.front().rollouts;
  const auto sampled = [&](const at::Tensor& per_rollout) {
    return own.defined() ? per_rollout.masked_select(own) : per_rollout;
  };
  note_column(metrics, "critic/score", sampled(prepared.step.columns.reward));
  note_column(metrics, "critic/rewards", sampled(prepared.step.reward));
  for (const auto& [name, values] : prepared.step.columns.named) {
    const at::Tensor component = name.starts_with("component/") ? sampled(values) : at::Tensor();
    if (component.defined() && component.numel() > 0)
      metrics["critic/" + name + "/mean"] = component.mean().item<double>();
  }
  for (const auto& [name, change] : prepared.shaping) {
    const at::Tensor own_change = sampled(change);
    if (own_change.numel() > 0)
      metrics["critic/shaping/" + name + "/mean"] = own_change.mean().item<double>();
  }
  // The positive share of all absolute advantages. Each rollout counts with the mean advantage of
  // its trained tokens, regardless of its length.
  const at::Tensor push = prepared.knows_trained
                              ? prepared.step.shape.rollout_sum(times(advantage, keep)) /
                                    prepared.step.trained_length.clamp_min(1)
                              : at::zeros({0}, at::kDouble);
  if (const double all = push.abs().sum().item<double>(); all > 0)
    metrics["critic/positive_share"] = push.clamp_min(0).sum().item<double>() / all;
  if (prepared.lr_factor != 1.0) metrics["actor/lr_factor"] = prepared.lr_factor;
  metrics.insert(prepared.moving.begin(), prepared.moving.end());
  return metrics;
}

}  // namespace rollcall::objective
