// Leaves where their policy runs.
#include "model/engine.hpp"

namespace rollcall::model {

struct LeafRunner::Engines {
  Team* team;
  std::int64_t leaf_bytes;
  std::unique_ptr<LeafEngine> host{}, device{};

  LeafEngine& of(const Policy& policy) {
    const bool on_device = runs_on_device(policy.packed());
    auto& engine = on_device ? device : host;
    if (!engine) engine = on_device ? make_device_leaves() : make_host_leaves(*team, leaf_bytes);
    return *engine;
  }
};

LeafRunner::LeafRunner(Team& team, std::int64_t leaf_bytes) : engines_(std::make_unique<Engines>(Engines{&team, leaf_bytes})) {}
LeafRunner::~LeafRunner() = default;
LeafRunner::LeafRunner(LeafRunner&&) noexcept = default;
LeafRunner& LeafRunner::operator=(LeafRunner&&) noexcept = default;

Columns LeafRunner::forward(const Policy& policy, const Leaf& leaf, double temperature) { return engines_->of(policy).forward(policy, leaf, temperature); }

WideColumns LeafRunner::forward_wide(const Policy& policy, const Policy* second, const Leaf& leaf, double temperature) {
  return engines_->of(policy).forward_wide(policy, second, leaf, temperature);
}

std::vector<double> LeafRunner::logprob_gradients(const Policy& policy, const Leaf& leaf, double temperature) {
  expect(policy.packed().weights != nullptr, "only a policy over weights has gradients");
  const auto width = std::size_t(policy.config().hidden_size), sequences = leaf.offsets.empty() ? 0 : leaf.offsets.size() - 1;
  std::vector<double> sums(sequences * width, 0.0);
  std::size_t sequence = 0;
  engines_->of(policy).logprob_by_state(policy, leaf, temperature, [&](std::size_t first, std::size_t count, const float* gradients) {
    for (std::size_t i = 0; i < count; ++i) {
      while (leaf.offsets[sequence + 1] <= leaf.targets[first + i]) ++sequence;
      for (std::size_t c = 0; c < width; ++c) sums[sequence * width + c] += double(gradients[i * width + c]);
    }
  });
  return sums;
}

Columns LeafRunner::forward_backward(const Policy& policy, const Leaf& leaf, double temperature, const ColumnGradient& derivative, const GradientSink& sink) {
  return engines_->of(policy).forward_backward(policy, leaf, temperature, derivative, sink);
}

Columns LeafRunner::forward_backward(const Policy& policy, const Leaf& leaf, double temperature, const ColumnGradient& derivative, DeviceGradients& gradients) {
  return engines_->of(policy).forward_backward(policy, leaf, temperature, derivative, gradients);
}

void expect_trainable(const Policy::Packed& policy, const Leaf& leaf, const ColumnGradient& derivative) {
  expect(policy.weights != nullptr, "only a policy over weights is trained");
  expect(derivative.logprob.size() == leaf.targets.size() && derivative.entropy.size() == leaf.targets.size(), "the loss has a derivative for each column");
}

Columns forward(const Policy& policy, const Leaf& leaf, double temperature) {
  Team alone;
  return LeafRunner(alone).forward(policy, leaf, temperature);
}

WideColumns forward_wide(const Policy& policy, const Policy* second, const Leaf& leaf, double temperature) {
  Team alone;
  return LeafRunner(alone).forward_wide(policy, second, leaf, temperature);
}

std::vector<double> logprob_gradients(const Policy& policy, const Leaf& leaf, double temperature) {
  Team alone;
  return LeafRunner(alone).logprob_gradients(policy, leaf, temperature);
}

Columns forward_backward(const Policy& policy, const Leaf& leaf, double temperature, const ColumnGradient& derivative, const GradientSink& sink) {
  Team alone;
  return LeafRunner(alone).forward_backward(policy, leaf, temperature, derivative, sink);
}

}  // namespace rollcall::model
