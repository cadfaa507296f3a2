// Chooses the engine that a policy runs on, the host or a device, and passes micro-batches to it.
#include "model/engine/engine.hpp"

namespace rollcall::model {

struct MicroBatchRunner::Engines {
  Team* team;
  std::int64_t micro_batch_bytes;
  std::unique_ptr<MicroBatchEngine> host{}, device{};

  MicroBatchEngine& of(const PolicyModel& policy) {
    const bool on_device = runs_on_device(policy.packed());
    auto& engine = on_device ? device : host;
    if (!engine)
      engine = on_device ? make_device_micro_batches()
                         : make_host_micro_batches(*team, micro_batch_bytes);
    return *engine;
  }
};

MicroBatchRunner::MicroBatchRunner(Team& team, std::int64_t micro_batch_bytes)
    : engines_(std::make_unique<Engines>(Engines{&team, micro_batch_bytes})) {}
MicroBatchRunner::~MicroBatchRunner() = default;
MicroBatchRunner::MicroBatchRunner(MicroBatchRunner&&) noexcept = default;
MicroBatchRunner& MicroBatchRunner::operator=(MicroBatchRunner&&) noexcept = default;

Columns MicroBatchRunner::forward(const PolicyModel& policy, const MicroBatch& micro_batch,
                                  double temperature) {
  return engines_->of(policy).forward(policy, micro_batch, temperature);
}

FullVocabColumns MicroBatchRunner::forward_full_vocab(const PolicyModel& policy,
                                                      const PolicyModel* second,
                                                      const MicroBatch& micro_batch,
                                                      double temperature) {
  return engines_->of(policy).forward_full_vocab(policy, second, micro_batch, temperature);
}

TargetDraws MicroBatchRunner::draw_targets(const PolicyModel& policy, const MicroBatch& micro_batch,
                                           double temperature, const TargetDrawing& drawing) {
  return engines_->of(policy).draw_targets(policy, micro_batch, temperature, drawing);
}

std::vector<double> MicroBatchRunner::logprob_gradients(const PolicyModel& policy,
                                                        const MicroBatch& micro_batch,
                                                        double temperature) {
  expect(policy.packed().weights != nullptr, "only a policy over weights has gradients");
  const auto width = std::size_t(policy.config().hidden_size),
             sequences = micro_batch.offsets.empty() ? 0 : micro_batch.offsets.size() - 1;
  std::vector<double> sums(sequences * width, 0.0);
  std::size_t sequence = 0;
  engines_->of(policy).logprob_by_state(
      policy, micro_batch, temperature,
      [&](std::size_t first, std::size_t count, const float* gradients) {
        for (std::size_t i = 0; i < count; ++i) {
          while (micro_batch.offsets[sequence + 1] <= micro_batch.targets[first + i]) ++sequence;
          for (std::size_t c = 0; c < width; ++c)
            sums[sequence * width + c] += double(gradients[i * width + c]);
        }
      });
  return sums;
}

Columns MicroBatchRunner::forward_backward(const PolicyModel& policy, const MicroBatch& micro_batch,
                                           double temperature, const ColumnGradient& derivative,
                                           const GradientSink& sink) {
  return engines_->of(policy).forward_backward(policy, micro_batch, temperature, derivative, sink);
}

Columns MicroBatchRunner::forward_backward(const PolicyModel& policy, const MicroBatch& micro_batch,
                                           double temperature, const ColumnGradient& derivative,
                                           DeviceGradients& gradients) {
  return engines_->of(policy).forward_backward(policy, micro_batch, temperature, derivative,
                                               gradients);
}

void expect_trainable(const PolicyModel::Packed& policy, const MicroBatch& micro_batch,
                      const ColumnGradient& derivative) {
  expect(policy.weights != nullptr, "only a policy over weights is trained");
  expect(derivative.logprob.size() == micro_batch.targets.size() &&
             derivative.entropy.size() == micro_batch.targets.size(),
         "the loss has a derivative for each column");
  expect(derivative.miss_logprob.empty() ||
             derivative.miss_logprob.size() == micro_batch.targets.size(),
         "the loss has a derivative for each column");
}

Columns forward(const PolicyModel& policy, const MicroBatch& micro_batch, double temperature) {
  Team alone;
  return MicroBatchRunner(alone).forward(policy, micro_batch, temperature);
}

FullVocabColumns forward_full_vocab(const PolicyModel& policy, const PolicyModel* second,
                                    const MicroBatch& micro_batch, double temperature) {
  Team alone;
  return MicroBatchRunner(alone).forward_full_vocab(policy, second, micro_batch, temperature);
}

std::vector<double> logprob_gradients(const PolicyModel& policy, const MicroBatch& micro_batch,
                                      double temperature) {
  Team alone;
  return MicroBatchRunner(alone).logprob_gradients(policy, micro_batch, temperature);
}

TargetDraws draw_targets(const PolicyModel& policy, const MicroBatch& micro_batch,
                         double temperature, const TargetDrawing& drawing) {
  Team alone;
  return MicroBatchRunner(alone).draw_targets(policy, micro_batch, temperature, drawing);
}

Columns forward_backward(const PolicyModel& policy, const MicroBatch& micro_batch,
                         double temperature, const ColumnGradient& derivative,
                         const GradientSink& sink) {
  Team alone;
  return MicroBatchRunner(alone).forward_backward(policy, micro_batch, temperature, derivative,
                                                  sink);
}

}  // namespace rollcall::model
