// The shared library's side of method/method.hpp: plain columns become tensors, and derivatives
// plain numbers again.
#include "method/build.hpp"
#include "method/method.hpp"
#include "objective/arithmetic.hpp"
#include "objective/lone_rollouts.hpp"
#include "objective/objective.hpp"
#include "objective/reach.hpp"
#include "objective/recipes.hpp"
#include "objective/token_advantages.hpp"

#include <ATen/Parallel.h>

namespace rollcall::objective {
namespace {

at::Tensor tensor(const std::vector<std::int64_t>& values) { return at::tensor(values, at::kLong); }
at::Tensor tensor(const std::vector<double>& values) { return at::tensor(values, at::kDouble); }

/// An empty column becomes an undefined tensor.
template <class T>
at::Tensor optional_tensor(const std::vector<T>& values) {
  return values.empty() ? at::Tensor() : tensor(values);
}

at::Tensor widened(std::span<const float> column) {
  return at::from_blob(const_cast<float*>(column.data()), {std::int64_t(column.size())}, at::kFloat)
      .to(at::kDouble);
}

std::vector<float> narrowed(const at::Tensor& column) {
  if (!column.defined()) return {};
  const auto narrow = column.to(at::kFloat).contiguous();
  return {narrow.const_data_ptr<float>(), narrow.const_data_ptr<float>() + narrow.numel()};
}

StepColumns tensors_of(const method::StepColumns& step) {
  StepColumns c;
  c.reward = tensor(step.reward), c.group = tensor(step.group),
  c.prompt_level = tensor(step.prompt_level), c.offsets = tensor(step.offsets);
  c.turn_offsets = optional_tensor(step.turn_offsets),
  c.turn_begin = optional_tensor(step.turn_begin);
  c.old_logprob = tensor(step.old_logprob), c.rollout_logprob = tensor(step.rollout_logprob);
  c.truncated = tensor(step.truncated).to(at::kBool),
  c.replayed = tensor(step.replayed).to(at::kBool);
  c.max_new_tokens = step.max_new_tokens;
  c.token = tensor(step.token), c.key = tensor(step.key);
  c.group_weight = optional_tensor(step.group_weight), c.trains = optional_tensor(step.trains);
  c.seed = step.seed, c.step = step.step, c.progress = step.progress;
  for (const auto& [name, values] : step.named) c.named[name] = tensor(values);
  c.statistics = step.statistics;
  return c;
}

/// Makes ATen, OpenMP and MKL use one thread for each operation that the calling thread starts, so
/// that the number of cores does not change the rounding.
void use_one_thread() {
  thread_local const bool is_set = (at::set_num_threads(1), true);
  static_cast<void>(is_set);
}

class PreparedStep final : public method::Prepared {
 public:
  PreparedStep(std::shared_ptr<const Objective> objective,
               std::shared_ptr<const Objective::Prepared> prepared)
      : objective_(std::move(objective)), prepared_(std::move(prepared)) {}
  const std::shared_ptr<const Objective::Prepared>& prepared() const { return prepared_; }

  method::MicroBatchLoss evaluate(const method::MicroBatchColumns& micro_batch) const override {
    use_one_thread();
    MicroBatchLoss loss = objective_->evaluate(
        *prepared_,
        {{micro_batch.rollouts.begin(), micro_batch.rollouts.end()},
         widened(micro_batch.logprob),
         widened(micro_batch.entropy),
         micro_batch.value == nullptr ? at::Tensor() : widened(*micro_batch.value),
         micro_batch.miss_logprob == nullptr ? at::Tensor() : widened(*micro_batch.miss_logprob)});
    return {loss.loss,
            narrowed(loss.dlogprob),
            narrowed(loss.dentropy),
            narrowed(loss.dvalue),
            narrowed(loss.dmiss_logprob),
            std::move(loss.rollout_loss),
            std::move(loss.sums),
            std::move(loss.minima),
            std::move(loss.maxima)};
  }

  std::map<std::string, double> merge(
      const std::vector<method::MicroBatchLoss>& micro_batches) const override {
    use_one_thread();
    std::vector<MicroBatchLoss> metrics(micro_batches.size());
    for (std::size_t i = 0; i < micro_batches.size(); ++i)
      metrics[i].sums = micro_batches[i].sums, metrics[i].minima = micro_batches[i].minima,
      metrics[i].maxima = micro_batches[i].maxima;
    return objective::merge(*prepared_, metrics);
  }

  std::map<std::string, double> statistics() const override {
    return Objective::statistics(*prepared_);
  }
  std::vector<double> rollout_advantages() const override {
    return Objective::rollout_advantages(*prepared_);
  }
  std::vector<double> token_advantages() const override {
    return objective::token_advantages(*prepared_);
  }
  double lr_factor() const override { return Objective::lr_factor(*prepared_); }

 private:
  std::shared_ptr<const Objective> objective_;
  std::shared_ptr<const Objective::Prepared> prepared_;
};

class LoadedObjective final : public method::Objective {
 public:
  LoadedObjective(const std::string& recipe, const Settings& pieces, const Settings& knobs)
      : objective_(std::make_shared<const objective::Objective>(recipe, pieces, knobs)) {}

  std::shared_ptr<const method::Prepared> prepare(const method::StepColumns& step) const override {
    use_one_thread();
    return std::make_shared<const PreparedStep>(objective_, objective_->prepare(tensors_of(step)));
  }
  std::shared_ptr<const method::Prepared> prepare_step(
      const method::StepColumns& step) const override {
    use_one_thread();
    return std::make_shared<const PreparedStep>(objective_,
                                                objective_->prepare_step(tensors_of(step)));
  }
  std::shared_ptr<const method::Prepared> prepare_update(
      const method::StepColumns& update, const method::Prepared& step,
      std::vector<std::int64_t> rollouts) const override {
    use_one_thread();
    const auto& whole = dynamic_cast<const PreparedStep&>(step).prepared();
    return std::make_shared<const PreparedStep>(
        objective_, objective_->prepare(tensors_of(update), {whole, std::move(rollouts)}));
  }
  std::vector<double> rewards(const method::StepColumns& step) const override {
    use_one_thread();
    const at::Tensor paid = objective_->rewards(tensors_of(step)).contiguous();
    return {paid.const_data_ptr<double>(), paid.const_data_ptr<double>() + paid.numel()};
  }
  method::RewardSource reward_source() const override {
    return {objective_->pays_verifiers(), objective_->late_rewards(),
            objective_->in_place_of_verifiers()};
  }
  bool reads_component(const std::string& name) const override {
    return objective_->reads_component(name);
  }
  std::vector<method::LargestReward> largest_rewards() const override {
    std::vector<method::LargestReward> all;
    for (auto& [piece, setting, reward] : objective::largest_rewards(*objective_))
      all.push_back({piece, setting, reward});
    return all;
  }
  std::vector<method::LeastLength> least_lengths() const override {
    std::vector<method::LeastLength> all;
    for (auto& [piece, setting, tokens] : objective::least_lengths(*objective_))
      all.push_back({piece, setting, tokens});
    return all;
  }
  method::OnPolicy on_policy() const override {
    auto [idle, acts_as] = objective::on_policy(*objective_);
    return {std::move(idle), std::move(acts_as)};
  }
  bool reads_advantage() const override { return objective::reads_advantage(*objective_); }
  std::string describe() const override { return objective_->describe(); }
  std::vector<std::string> columns() const override { return objective_->columns(); }
  std::vector<std::string> unset() const override { return objective_->unset(); }
  bool needs_value() const override { return objective_->needs_value(); }
  method::LoneRollouts lone_rollouts() const override {
    use_one_thread();
    return objective::lone_rollouts(*objective_);
  }
  bool whole_groups() const override { return objective_->whole_groups(); }

 private:
  std::shared_ptr<const objective::Objective> objective_;
};

class TorchLibrary final : public method::Library {
 public:
  std::unique_ptr<const method::Objective> make(const std::string& recipe, const Settings& pieces,
                                                const Settings& knobs) const override {
    return std::make_unique<const LoadedObjective>(recipe, pieces, knobs);
  }
  const std::vector<Recipe>& recipes() const override { return objective::recipes(); }
  std::string torch_version() const override { return objective::torch_version(); }
  std::string arithmetic() const override { return objective::arithmetic(); }
};

}  // namespace
}  // namespace rollcall::objective

extern "C" [[gnu::visibility("default")]] const char* rollcall_objective_build() {
  return rollcall::method::kBuild;
}

extern "C" [[gnu::visibility("default")]] const rollcall::method::Library* rollcall_objective() {
  static const rollcall::objective::TorchLibrary library;
  return &library;
}
