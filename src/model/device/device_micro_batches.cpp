// Micro-batches on the device. Columns come back to the host. Gradients stay unless they are
// fetched.
#include "base/errors/error.hpp"
#include "model/block/block.hpp"
#include "model/block/head.hpp"
#include "model/device/device_backward.hpp"
#include "model/engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace rollcall::model {
namespace {

namespace cuda = kernels::cuda;

/// Fetches each gradient to the host as soon as it is computed.
class Fetched final : public DeviceGradients {
 public:
  Fetched(Device& device, const GradientSink& sink) : device_(&device), sink_(&sink) {}
  void begin_part(std::size_t) override {}
  void end_part() override {}
  void add(TensorId tensor, std::int64_t first, const float* values, std::int64_t count) override {
    (*sink_)(tensor, first, fetch(values, count));
  }
  void add_rows(TensorId tensor, std::span<const std::int32_t> tokens, const float* rows,
                std::int64_t width) override {
    const auto all = fetch(rows, std::int64_t(tokens.size()) * width);
    for (std::size_t i = 0; i < tokens.size(); ++i)
      (*sink_)(tensor, tokens[i] * width, all.subspan(i * std::size_t(width), std::size_t(width)));
  }

 private:
  std::span<const float> fetch(const float* values, std::int64_t count) {
    fetched_.resize(std::size_t(count));
    device_->download(values, std::span(fetched_));
    device_->wait();
    return fetched_;
  }
  Device* device_;
  const GradientSink* sink_;
  std::vector<float> fetched_;
};

class DeviceMicroBatches final : public MicroBatchEngine {
 public:
  Columns forward(const PolicyModel& policy, const MicroBatch& micro_batch,
                  double temperature) override;
  FullVocabColumns forward_full_vocab(const PolicyModel& policy, const PolicyModel* second,
                                      const MicroBatch& micro_batch, double temperature) override;
  TargetDraws draw_targets(const PolicyModel&, const MicroBatch&, double,
                           const TargetDrawing&) override {
    throw ConfigError(
        error_message("draws in the place of an expert's tokens are asked of a CUDA device",
                      "its passes over leaves draw nothing",
                      "train in numerics of the host, or set the objective's knob draws to 0"));
  }
  void logprob_by_state(const PolicyModel& policy, const MicroBatch& micro_batch,
                        double temperature, const VisitStates& visit) override;
  Columns forward_backward(const PolicyModel& policy, const MicroBatch& micro_batch,
                           double temperature, const ColumnGradient& derivative,
                           const GradientSink& sink) override {
    Fetched fetched(device_, sink);
    return forward_backward(policy, micro_batch, temperature, derivative, fetched);
  }
  Columns forward_backward(const PolicyModel& policy, const MicroBatch& micro_batch,
                           double temperature, const ColumnGradient& derivative,
                           DeviceGradients& gradients) override;

 private:
  /// A micro-batch as the device reads it, with its pages and columns in the arena.
  struct Run {
    const OnDevice& policy;
    PackedSequences sequences;
    std::vector<std::int64_t> rows;     ///< [M] the rows that predict targets
    std::vector<std::int32_t> targets;  ///< [M]
    float *logprob, *entropy, *lse, *normed;
    std::int64_t count() const { return std::int64_t(rows.size()); }
    std::vector<const float*> pointers(const float* hidden) const {
      std::vector<const float*> all;
      for (const std::int64_t row : rows)
        all.push_back(hidden + row * policy.view.config.hidden_size);
      return all;
    }
  };
  Run begin(const PolicyModel& policy, const MicroBatch& micro_batch);
  PassRows upload(const Run& run, const MicroBatch& micro_batch) {
    return upload_rows(device_, micro_batch.tokens, run.sequences.positions(), run.sequences);
  }
  void read_columns(const Run& run, const float* hidden, double temperature);
  Columns fetch(const Run& run, const MicroBatch& micro_batch);
  std::int64_t kept_blocks(const ModelConfig& config, std::int64_t n);
  void clear(const ModelConfig& config, const MicroBatch& micro_batch, std::int64_t kept,
             std::int64_t models = 1, bool states = false);

  Device& device_ = Device::own();
  DeviceBackend backend_{device_, device_items::kMicroBatch};
  std::int64_t kept_bytes_ = -1;
};

DeviceMicroBatches::Run DeviceMicroBatches::begin(const PolicyModel& policy,
                                                  const MicroBatch& micro_batch) {
  expect_micro_batch(policy.packed(), micro_batch);
  require<ConfigError>(
      micro_batch.kept.empty(),
      "log-probs over the tokens that top_k and top_p left are asked of a CUDA device",
      "its kernels have the softmax over all tokens alone",
      "train in numerics of the host, or from rollouts with sampling.logprob = \"full\"");
  require<ConfigError>(micro_batch.missed.empty(),
                       "log-probs of several tokens in one place are asked of a CUDA device",
                       "its kernels have one token a place",
                       "train in numerics of the host, or set the objective's knob draws to 0");
  DeviceArena& arena = backend_.arena();
  // The pages belong to the arena, so that their owner has nothing to free.
  static const std::shared_ptr<const void> owner = std::make_shared<int>();
  const PageMemory pages{[&](std::size_t bytes) {
    return AlignedArray<std::byte>(std::span(arena.take<std::byte>(std::int64_t(bytes)), bytes),
                                   owner);
  }};
  const OnDevice& model = on_device(device_, policy.packed());
  Run run{
      model,
      PackedSequences(micro_batch.offsets, page_shape(policy.packed()), micro_batch.parents, pages),
      predicting_rows(micro_batch),
      {},
      nullptr,
      nullptr,
      nullptr,
      nullptr};
  for (const std::int64_t target : micro_batch.targets)
    run.targets.push_back(micro_batch.tokens[std::size_t(target)]);
  const std::int64_t m = run.count();
  run.logprob = arena.take<float>(m), run.entropy = arena.take<float>(m),
  run.lse = arena.take<float>(m);
  run.normed = arena.take<float>(m * model.view.config.hidden_size);
  return run;
}

/// Computes the columns of all targets, and the normed states from which they are predicted. All of
/// them stay on the device.
void DeviceMicroBatches::read_columns(const Run& run, const float* hidden, double temperature) {
  const std::int64_t width = run.policy.view.config.hidden_size,
                     vocab = run.policy.view.config.vocab_size;
  const std::int32_t* targets = device_.upload(std::span<const std::int32_t>(run.targets));
  const auto rows = run.pointers(hidden);
  backend_.logits(
      run.policy, rows,
      [&](std::int64_t first, std::int64_t count, const float* logits, const float* normed) {
        backend_.columns(logits, count, vocab, inverse_temperature(temperature), targets + first,
                         {run.logprob + first, run.entropy + first, run.lse + first});
        cuda::copy_on_device(device_.context(), run.normed + first * width, normed,
                             std::size_t(count * width) * sizeof(float));
      });
}

Columns DeviceMicroBatches::fetch(const Run& run, const MicroBatch& micro_batch) {
  const auto m = std::size_t(run.count());
  Columns columns{
      {std::vector<float>(m), std::vector<float>(m)},
      std::vector<float>(micro_batch.hidden ? m * std::size_t(run.policy.view.config.hidden_size)
                                            : 0)};
  device_.download(run.logprob, std::span(columns.logprob));
  device_.download(run.entropy, std::span(columns.entropy));
  device_.download(run.normed, std::span(columns.hidden));
  device_.wait();
  device_.recycle();
  return columns;
}

Columns DeviceMicroBatches::forward(const PolicyModel& policy, const MicroBatch& micro_batch,
                                    double temperature) {
  const auto turn = device_.turn();
  clear(policy.config(), micro_batch, 0);
  const Run run = begin(policy, micro_batch);
  read_columns(run, backend_.hidden(run.policy, upload(run, micro_batch)).values, temperature);
  return fetch(run, micro_batch);
}

FullVocabColumns DeviceMicroBatches::forward_full_vocab(const PolicyModel& policy,
                                                        const PolicyModel* second,
                                                        const MicroBatch& micro_batch,
                                                        double temperature) {
  const auto turn = device_.turn();
  require<ConfigError>(
      second == nullptr || second->config().vocab_size == policy.config().vocab_size,
      fmt::format("the second model has {} tokens, the policy {}",
                  second == nullptr ? 0 : second->config().vocab_size, policy.config().vocab_size),
      "distributions over different vocabularies cannot be compared",
      "use a model with the policy's tokenizer");
  DeviceArena& arena = backend_.arena();
  clear(second != nullptr &&
                device_block_bytes(second->config(), 1) > device_block_bytes(policy.config(), 1)
            ? second->config()
            : policy.config(),
        micro_batch, 0, second == nullptr ? 1 : 2);
  const float scale = inverse_temperature(temperature);
  const std::int64_t m = std::int64_t(micro_batch.targets.size()),
                     vocab = policy.config().vocab_size;
  float *squares = arena.take<float>(m), *kl = arena.take<float>(m);
  const Run run = begin(policy, micro_batch);
  const float* hidden = backend_.hidden(run.policy, upload(run, micro_batch)).values;
  read_columns(run, hidden, temperature);
  std::optional<Run> other;
  std::vector<const float*> other_rows;
  if (second != nullptr) {
    other.emplace(begin(*second, micro_batch));
    const float* other_hidden = backend_.hidden(other->policy, upload(*other, micro_batch)).values;
    other_rows = other->pointers(other_hidden);
    read_columns(*other, other_hidden, temperature);
  }
  backend_.logits(
      run.policy, run.pointers(hidden),
      [&](std::int64_t first, std::int64_t count, const float* logits, const float*) {
        const auto visit = [&](const float* others) {
          cuda::wide_columns(device_.context(), logits, others, count, vocab, scale,
                             run.lse + first, others == nullptr ? nullptr : other->lse + first,
                             squares + first, others == nullptr ? nullptr : kl + first);
        };
        if (!other) return visit(nullptr);
        backend_.logits(
            other->policy, std::span(other_rows).subspan(std::size_t(first), std::size_t(count)),
            [&](std::int64_t, std::int64_t, const float* others, const float*) { visit(others); });
      });
  FullVocabColumns wide{{},
                        std::vector<float>(std::size_t(m)),
                        std::vector<float>(std::size_t(second == nullptr ? 0 : m))};
  device_.download(squares, std::span(wide.sum_squares));
  device_.download(kl, std::span(wide.second_kl));
  wide.columns = fetch(run, micro_batch);
  return wide;
}

void DeviceMicroBatches::logprob_by_state(const PolicyModel& policy, const MicroBatch& micro_batch,
                                          double temperature, const VisitStates& visit) {
  const auto turn = device_.turn();
  if (micro_batch.targets.empty()) return;
  clear(policy.config(), micro_batch, 0, 1, true);
  const Run run = begin(policy, micro_batch);
  read_columns(run, backend_.hidden(run.policy, upload(run, micro_batch)).values, temperature);
  const std::int64_t width = policy.config().hidden_size,
                     most = std::min(run.count(), device_sizes::kHeadRows);
  const std::vector<float> ones(std::size_t(most), 1.0F), zeros(std::size_t(most), 0.0F);
  const float *dlogprob = device_.upload(std::span<const float>(ones)),
              *dentropy = device_.upload(std::span<const float>(zeros));
  DeviceBackward backward(run.policy, backend_, run.sequences, nullptr);
  std::vector<float> gradients(std::size_t(most * width));
  for (std::int64_t first = 0; first < run.count(); first += most) {
    const std::int64_t count = std::min(most, run.count() - first);
    const auto part = [&](const auto& values) {
      return std::span(values).subspan(std::size_t(first), std::size_t(count));
    };
    const DeviceArena::Scope scope(backend_.arena());
    const DeviceBackward::Predictions some{part(run.rows),
                                           part(run.targets),
                                           run.lse + first,
                                           run.entropy + first,
                                           run.normed + first * width,
                                           dlogprob,
                                           dentropy,
                                           inverse_temperature(temperature)};
    const float* made = states_backward(backward, run.policy.view.head, some).values;
    device_.download(made, std::span(gradients).first(std::size_t(count * width)));
    device_.wait();
    visit(std::size_t(first), std::size_t(count), gradients.data());
  }
  device_.recycle();
}

/// How many of the last blocks keep their rows from the forward pass for the backward pass. The
/// rows of earlier blocks are recomputed. The choice affects time and memory, but not the bits.
std::int64_t DeviceMicroBatches::kept_blocks(const ModelConfig& c, std::int64_t n) {
  if (kept_bytes_ < 0) kept_bytes_ = cuda::free_bytes() / 2;
  return std::clamp<std::int64_t>(kept_bytes_ / device_block_bytes(c, n), 1, c.num_hidden_layers);
}

/// Clears the arena for a pass over `models` models of this shape, and reserves its memory.
void DeviceMicroBatches::clear(const ModelConfig& config, const MicroBatch& micro_batch,
                               std::int64_t kept, std::int64_t models, bool states) {
  backend_.arena().give_back({});
  const DeviceMicroBatchShape shape{std::int64_t(micro_batch.tokens.size()),
                                    std::int64_t(micro_batch.targets.size()),
                                    std::int64_t(micro_batch.offsets.size()) - 1, kept, states};
  backend_.arena().reserve(models * device_micro_batch_bytes(config, shape));
}

Columns DeviceMicroBatches::forward_backward(const PolicyModel& policy,
                                             const MicroBatch& micro_batch, double temperature,
                                             const ColumnGradient& derivative,
                                             DeviceGradients& gradients) {
  const auto turn = device_.turn();
  expect_trainable(policy.packed(), micro_batch, derivative);
  if (micro_batch.targets.empty()) return {};
  const ModelConfig& config = policy.config();
  const std::int64_t n = std::int64_t(micro_batch.tokens.size()), width = config.hidden_size,
                     blocks = config.num_hidden_layers;
  DeviceArena& arena = backend_.arena();
  const std::int64_t first_kept = blocks - kept_blocks(config, n);
  clear(config, micro_batch, blocks - first_kept);
  const Run run = begin(policy, micro_batch);
  float* const inputs = arena.take<float>((first_kept + 1) * n * width);

  // The forward pass. For a block that is not kept, only the input stays.
  using Rows = DeviceBackend::Rows;
  std::vector<BlockRows<Rows>> kept;
  const Rows embedded =
      backend_.embed(run.policy, upload(run, micro_batch), DeviceBackend::Keep::rows);
  const auto input = [&](std::int64_t i) {
    return i == 0 ? embedded : Rows{inputs + i * n * width, width};
  };
  Rows x = embedded;
  for (std::int64_t i = 0; i < blocks; ++i) {
    if (i > 0 && i <= first_kept) {
      cuda::copy_on_device(device_.context(), input(i).values, x.values,
                           std::size_t(n * width) * sizeof(float));
      x = input(i);
      backend_.release();
    }
    const BlockRows<Rows> rows = run_block(backend_, run.policy.view, std::size_t(i), x);
    if (i >= first_kept) kept.push_back(rows);
    x = rows.y();
  }
  read_columns(run, x.values, temperature);

  DeviceBackward backward(run.policy, backend_, run.sequences, &gradients);
  const auto loss = [&](const std::vector<float>& values) {
    return device_.upload(std::span<const float>(values));
  };
  head_backward(backward, run.policy.view, x.values,
                {run.rows, run.targets, run.lse, run.entropy, run.normed, loss(derivative.logprob),
                 loss(derivative.entropy), inverse_temperature(temperature)});
  for (std::int64_t i = blocks - 1; i >= 0; --i) {
    if (i >= first_kept) {
      block_backward(backward, run.policy.view, std::size_t(i), kept[std::size_t(i - first_kept)]);
      continue;
    }
    const DeviceArena::Scope scope(arena);
    block_backward(backward, run.policy.view, std::size_t(i),
                   run_block(backend_, run.policy.view, std::size_t(i), input(i)));
  }
  backward.embedding(micro_batch.tokens);
  return fetch(run, micro_batch);
}

}  // namespace

std::unique_ptr<MicroBatchEngine> make_device_micro_batches() {
  return std::make_unique<DeviceMicroBatches>();
}

}  // namespace rollcall::model
