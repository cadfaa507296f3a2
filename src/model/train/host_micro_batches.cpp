// Token columns of a micro-batch on the host, without and with gradient.
#include "base/errors/error.hpp"
#include "model/block/block.hpp"
#include "model/block/head.hpp"
#include "model/decode/left_out.hpp"
#include "model/decode/row_sampler.hpp"
#include "model/engine/backend.hpp"
#include "model/engine/engine.hpp"
#include "model/train/backward.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace rollcall::model {

namespace {

/// Bytes of a thread's workspace: operands that its kernels transpose and round, a part of the rows
/// at a time, and the attention of a sequence.
std::int64_t workspace_bytes(const ModelConfig& config, std::int64_t rows) {
  return (std::int64_t(4) << 20) +
         rows * (8 * config.head_dim + 3 * kernels::kPageKeys) * std::int64_t(sizeof(float));
}

/// What is kept from the forward pass for the backward pass if there is room. All else is
/// recomputed. The choice affects time and memory, but not the bits.
struct Kept {
  std::int64_t blocks = 0;  ///< the last blocks, whose rows stay; 0: no backward pass
  bool logits = false;
};

/// Bytes of a micro-batch's forward and backward pass if this is kept, with the inputs of the other
/// blocks.
std::int64_t training_bytes(const ModelConfig& config, const kernels::KernelSet& kernels,
                            std::int64_t rows, int members, Kept kept) {
  const std::int64_t floats =
      (config.num_hidden_layers - kept.blocks + 2) * rows * config.hidden_size +
      Backward::scratch_floats(config, kernels, rows, rows, members) +
      (kept.logits ? rows * config.vocab_size : 0);
  return Backend::scratch_bytes(config, rows, kept.blocks, !kept.logits) +
         floats * std::int64_t(sizeof(float)) + members * workspace_bytes(config, rows);
}

/// Chooses what is kept. Logits come first, because they save the most work per byte.
Kept kept_within(const ModelConfig& config, const kernels::KernelSet& kernels, std::int64_t rows,
                 int members, std::int64_t micro_batch_bytes) {
  const auto bytes = [&](std::int64_t blocks, bool logits) {
    return training_bytes(config, kernels, rows, members, {blocks, logits});
  };
  const bool logits =
      bytes(1, true) <= micro_batch_bytes &&
      rows * config.vocab_size * std::int64_t(sizeof(float)) <= MicroBatchRunner::kKeptBytes;
  const std::int64_t least = bytes(1, logits), each = bytes(2, logits) - least;
  const std::int64_t whole =
      Backend::scratch_bytes(config, rows, 2) - Backend::scratch_bytes(config, rows, 1);
  return {std::clamp<std::int64_t>(std::min(1 + (micro_batch_bytes - least) / each,
                                            MicroBatchRunner::kKeptBytes / whole),
                                   1, config.num_hidden_layers),
          logits};
}

}  // namespace

namespace {

struct Memory {
  Memory(Team& given, std::int64_t bytes) : team(&given), micro_batch_bytes(bytes) {}

  Team* team;
  std::int64_t micro_batch_bytes;
  std::optional<Backend> backend;  ///< the one for the model and the kind of pass that ran last
  std::int64_t shape = -1;
  Kept kept;
  Arena gradients;
  AlignedFloats inputs, normed, logits;

  /// The backend for forward passes only. It gives back the memory that training took.
  Backend& forward(const ModelConfig& config, std::int64_t rows) {
    if (!fits(config, rows) || kept.blocks > 0) renew(config, rows, {});
    return *backend;
  }
  /// The backend for training. The largest micro-batch so far decides what is kept, so
  /// micro-batches of many lengths use the same memory.
  Backend& training(const ModelConfig& config, const kernels::KernelSet& kernels,
                    std::int64_t rows) {
    if (!fits(config, rows) || kept.blocks == 0)
      renew(config, rows, kept_within(config, kernels, rows, team->size(), micro_batch_bytes));
    return *backend;
  }

 private:
  bool fits(const ModelConfig& config, std::int64_t rows) const {
    return backend && shape == weight_layout(config).size && backend->max_rows() >= rows;
  }
  void renew(const ModelConfig& config, std::int64_t rows, Kept keeps) {
    backend.reset();  // first, or the old and the new memory would exist at the same time
    gradients = Arena(), inputs = AlignedFloats(), normed = AlignedFloats(),
    logits = AlignedFloats();
    backend.emplace(config, *team, rows, keeps.blocks, !keeps.logits);
    shape = weight_layout(config).size, kept = keeps;
  }
};

/// A micro-batch as the engine reads it.
struct PackedMicroBatch {
  PackedMicroBatch(const PolicyModel& policy, const MicroBatch& micro_batch)
      : packed((expect_micro_batch(policy.packed(), micro_batch), policy.packed())),
        sequences(micro_batch.offsets, page_shape(packed), micro_batch.parents),
        rows(predicting_rows(micro_batch)),
        kept(micro_batch.kept),
        missed(micro_batch.missed) {
    for (const std::int64_t target : micro_batch.targets)
      targets.push_back(micro_batch.tokens[std::size_t(target)]);
  }
  /// Pointers to the predicting rows of `hidden` [n, hidden].
  std::vector<const float*> pointers(const float* hidden) const {
    std::vector<const float*> all;
    for (const std::int64_t row : rows) all.push_back(hidden + row * packed.config.hidden_size);
    return all;
  }
  const PolicyModel::Packed& packed;
  PackedSequences sequences;
  std::vector<std::int64_t> rows;  ///< [M] the rows that predict targets
  std::vector<std::int32_t> targets;
  const KeptTokens& kept;
  const MissedTokens& missed;
};

/// token_columns of `count` rows of logits, which belong to the targets from `begin` on. Threads
/// share the rows. Each row's softmax is over the ids that its target keeps.
void columns_of(Backend& backend, const PackedMicroBatch& micro_batch, std::size_t begin,
                float* logits, std::size_t count, float scale, const std::int32_t* targets,
                float* logprob, float* entropy, float* lse) {
  const std::int64_t vocab = micro_batch.packed.config.vocab_size;
  backend.team().share(
      std::int64_t(count), 1, 1, [&](int member, std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row)
          leave_out_others(micro_batch.kept.of(begin + std::size_t(row)), 0, vocab,
                           logits + row * vocab);
        micro_batch.packed.kernels->token_columns(
            backend.context(member), logits + first * vocab, last - first, vocab, scale,
            targets + first, logprob + first, entropy + first, lse + first, nullptr, nullptr);
      });
}

/// The sum of share * log-prob over a target's missed tokens, from its row of logits at `scale`.
float miss_logprob(const MissedTokens::List& missed, const float* logits, float scale, float lse) {
  double sum = 0.0;
  for (std::size_t i = 0; i < missed.id.size(); ++i)
    sum += double(missed.share[i]) * (double(logits[missed.id[i]]) * double(scale) - double(lse));
  return float(sum);
}

/// Fills the column miss_logprob of `count` targets from `begin` on, unless it is empty because the
/// micro-batch has no missed tokens.
void miss_logprobs_of(const PackedMicroBatch& micro_batch, std::size_t begin, const float* logits,
                      std::size_t count, float scale, const float* lse, TokenColumns& columns) {
  const std::int64_t vocab = micro_batch.packed.config.vocab_size;
  for (std::size_t i = 0; !columns.miss_logprob.empty() && i < count; ++i)
    columns.miss_logprob[begin + i] = miss_logprob(micro_batch.missed.of(begin + i),
                                                   logits + std::int64_t(i) * vocab, scale, lse[i]);
}

class HostMicroBatches final : public MicroBatchEngine {
 public:
  HostMicroBatches(Team& team, std::int64_t micro_batch_bytes) : memory_(team, micro_batch_bytes) {}

  Columns forward(const PolicyModel& policy, const MicroBatch& micro_batch,
                  double temperature) override;
  FullVocabColumns forward_full_vocab(const PolicyModel& policy, const PolicyModel* second,
                                      const MicroBatch& micro_batch, double temperature) override;
  Columns forward_backward(const PolicyModel& policy, const MicroBatch& micro_batch,
                           double temperature, const ColumnGradient& derivative,
                           const GradientSink& sink) override;
  TargetDraws draw_targets(const PolicyModel& policy, const MicroBatch& micro_batch,
                           double temperature, const TargetDrawing& drawing) override;
  void logprob_by_state(const PolicyModel& policy, const MicroBatch& micro_batch,
                        double temperature, const VisitStates& visit) override;
  Columns forward_backward(const PolicyModel&, const MicroBatch&, double, const ColumnGradient&,
                           DeviceGradients&) override {
    throw ProtocolError("gradients of a policy on the host were to stay on a device");
  }

 private:
  Memory memory_;
};

Columns HostMicroBatches::forward(const PolicyModel& policy, const MicroBatch& micro_batch,
                                  double temperature) {
  PackedMicroBatch run(policy, micro_batch);
  Backend& backend = memory_.forward(policy.config(), std::int64_t(micro_batch.tokens.size()));
  const auto rows = run.pointers(
      backend.hidden(run.packed, micro_batch.tokens, run.sequences.positions(), run.sequences));
  const std::size_t m = rows.size(), width = std::size_t(run.packed.config.hidden_size);
  Columns columns{{std::vector<float>(m), std::vector<float>(m),
                   std::vector<float>(micro_batch.missed.empty() ? 0 : m)},
                  std::vector<float>(micro_batch.hidden ? m * width : 0)};
  std::vector<float> lse(m);
  backend.logits(run.packed, rows,
                 [&](std::size_t first, std::size_t count, float* logits, const float* normed) {
                   columns_of(backend, run, first, logits, count, inverse_temperature(temperature),
                              run.targets.data() + first, columns.logprob.data() + first,
                              columns.entropy.data() + first, lse.data() + first);
                   miss_logprobs_of(run, first, logits, count, inverse_temperature(temperature),
                                    lse.data() + first, columns);
                   if (micro_batch.hidden)
                     std::copy_n(normed, count * width, columns.hidden.data() + first * width);
                 });
  return columns;
}

FullVocabColumns HostMicroBatches::forward_full_vocab(const PolicyModel& policy,
                                                      const PolicyModel* second,
                                                      const MicroBatch& micro_batch,
                                                      double temperature) {
  PackedMicroBatch run(policy, micro_batch);
  Backend& backend = memory_.forward(policy.config(), std::int64_t(micro_batch.tokens.size()));
  const auto rows = run.pointers(
      backend.hidden(run.packed, micro_batch.tokens, run.sequences.positions(), run.sequences));
  const std::size_t m = rows.size();
  expect(!micro_batch.hidden, "hidden states are a plain forward's");
  FullVocabColumns wide{{{std::vector<float>(m), std::vector<float>(m)}},
                        std::vector<float>(m),
                        std::vector<float>(second == nullptr ? 0 : m)};
  Memory beside(*memory_.team, MicroBatchRunner::kNoLimit);
  std::optional<PackedMicroBatch> other;
  std::vector<const float*> other_rows;
  if (second != nullptr) {
    require<ConfigError>(second->config().vocab_size == policy.config().vocab_size,
                         fmt::format("the second model has {} tokens, the policy {}",
                                     second->config().vocab_size, policy.config().vocab_size),
                         "distributions over different vocabularies cannot be compared",
                         "use a model with the policy's tokenizer");
    other.emplace(*second, micro_batch);
    Backend& second_backend =
        beside.forward(second->config(), std::int64_t(micro_batch.tokens.size()));
    other_rows = other->pointers(second_backend.hidden(
        other->packed, micro_batch.tokens, other->sequences.positions(), other->sequences));
  }
  const std::int64_t vocab = run.packed.config.vocab_size;
  const float scale = inverse_temperature(temperature);
  const std::vector<std::int32_t> none(Backend::kHeadRows, -1);
  std::vector<float> unused(none.size()), entropy(none.size()), lse(none.size()),
      other_lse(none.size());
  backend.logits(
      run.packed, rows, [&](std::size_t first, std::size_t count, float* logits, const float*) {
        columns_of(backend, run, first, logits, count, scale, run.targets.data() + first,
                   wide.columns.logprob.data() + first, wide.columns.entropy.data() + first,
                   lse.data());
        const auto visit = [&](const float* others) {
          backend.team().share(
              std::int64_t(count), 1, 1, [&](int member, std::int64_t begin, std::int64_t end) {
                run.packed.kernels->wide_columns(
                    backend.context(member), logits + begin * vocab,
                    others == nullptr ? nullptr : others + begin * vocab, end - begin, vocab, scale,
                    lse.data() + begin, other_lse.data() + begin,
                    wide.sum_squares.data() + first + begin,
                    others == nullptr ? nullptr : wide.second_kl.data() + first + begin);
              });
        };
        if (!other) return visit(nullptr);
        Backend& second_backend =
            beside.forward(second->config(), std::int64_t(micro_batch.tokens.size()));
        second_backend.logits(other->packed, std::span(other_rows).subspan(first, count),
                              [&](std::size_t, std::size_t, float* others, const float*) {
                                columns_of(second_backend, *other, first, others, count, scale,
                                           none.data(), unused.data(), entropy.data(),
                                           other_lse.data());
                                visit(others);
                              });
      });
  return wide;
}

TargetDraws HostMicroBatches::draw_targets(const PolicyModel& policy, const MicroBatch& micro_batch,
                                           double temperature, const TargetDrawing& drawing) {
  PackedMicroBatch run(policy, micro_batch);
  Backend& backend = memory_.forward(policy.config(), std::int64_t(micro_batch.tokens.size()));
  const auto rows = run.pointers(
      backend.hidden(run.packed, micro_batch.tokens, run.sequences.positions(), run.sequences));
  const std::size_t m = rows.size();
  const std::int64_t vocab = policy.config().vocab_size;
  const float scale = inverse_temperature(temperature);
  const SamplingParams sampling{
      .temperature = drawing.temperature, .stop = {}, .vocab_size = drawing.vocab_size};
  std::vector<RowSampler> drawers;
  for (int member = 0; member < backend.team().size(); ++member)
    drawers.emplace_back(sampling, vocab, *run.packed.kernels);
  TargetDraws found{std::vector<float>(m),
                    {},
                    {std::vector<float>(m), std::vector<float>(m), std::vector<float>(m)}};
  std::vector<MissedTokens> missed(m);
  std::vector<float> lse(m);
  backend.logits(
      run.packed, rows, [&](std::size_t first, std::size_t count, float* logits, const float*) {
        columns_of(backend, run, first, logits, count, scale, run.targets.data() + first,
                   found.columns.logprob.data() + first, found.columns.entropy.data() + first,
                   lse.data() + first);
        backend.team().deal(std::int64_t(count), [&](int member, std::int64_t i) {
          const std::size_t target = first + std::size_t(i);
          const float* row = logits + i * vocab;
          RowSampler& with = drawers[std::size_t(member)];
          with.read(backend.context(member), row, inverse_temperature(drawing.temperature));
          std::vector<std::int32_t> drawn;
          for (std::int64_t d = 0; d < drawing.draws; ++d)
            drawn.push_back(with.draw(drawing.uniform(target, d)).token);
          std::sort(drawn.begin(), drawn.end());
          for (auto id = drawn.begin(); id != drawn.end();) {
            const auto next = std::upper_bound(id, drawn.end(), *id);
            const auto share = float(double(next - id) / double(drawing.draws));
            if (*id == run.targets[target]) found.hits[target] = share;
            else missed[target].id.push_back(*id), missed[target].share.push_back(share);
            id = next;
          }
          found.columns.miss_logprob[target] =
              miss_logprob({missed[target].id, missed[target].share}, row, scale, lse[target]);
        });
      });
  for (std::size_t target = 0; target < m; ++target)
    found.missed.put(target, {missed[target].id, missed[target].share});
  return found;
}

void HostMicroBatches::logprob_by_state(const PolicyModel& policy, const MicroBatch& micro_batch,
                                        double temperature, const VisitStates& visit) {
  PackedMicroBatch run(policy, micro_batch);
  Backend& backend = memory_.forward(policy.config(), std::int64_t(micro_batch.tokens.size()));
  const auto rows = run.pointers(
      backend.hidden(run.packed, micro_batch.tokens, run.sequences.positions(), run.sequences));
  const auto most = std::min(rows.size(), std::size_t(Backend::kHeadRows));
  memory_.gradients.give_back(0);
  memory_.gradients.grow(
      HeadGradients::floats(policy.config(), *run.packed.kernels, std::int64_t(most)));
  const GradientSink nobody;
  Backward backward(run.packed, backend, run.sequences, memory_.gradients, nobody);
  const ColumnGradient of_logprob{std::vector<float>(most, 1.0F), std::vector<float>(most, 0.0F)};
  std::vector<float> logprob(most), entropy(most), lse(most);
  backend.logits(
      run.packed, rows,
      [&](std::size_t first, std::size_t count, float* logits, const float* normed) {
        columns_of(backend, run, first, logits, count, inverse_temperature(temperature),
                   run.targets.data() + first, logprob.data(), entropy.data(), lse.data());
        const auto scope = backward.scope();
        visit(first, count,
              states_backward(backward, run.packed.head,
                              {std::span(run.rows).subspan(first, count),
                               std::span(run.targets).subspan(first, count), lse, entropy, normed,
                               temperature, of_logprob, nullptr, &run.kept, first})
                  .values);
      });
}

Columns HostMicroBatches::forward_backward(const PolicyModel& policy, const MicroBatch& micro_batch,
                                           double temperature, const ColumnGradient& derivative,
                                           const GradientSink& sink) {
  PackedMicroBatch run(policy, micro_batch);
  expect_trainable(run.packed, micro_batch, derivative);
  if (micro_batch.targets.empty()) return {};
  const ModelConfig& config = policy.config();
  const std::int64_t n = std::int64_t(micro_batch.tokens.size()),
                     m = std::int64_t(micro_batch.targets.size()), width = config.hidden_size;
  Backend& backend = memory_.training(config, *run.packed.kernels, n);
  const std::int64_t blocks = config.num_hidden_layers, first_kept = blocks - memory_.kept.blocks;
  const auto room = [](AlignedFloats& memory, std::int64_t floats) {
    if (std::int64_t(memory.size()) < floats)
      memory = AlignedFloats(), memory = AlignedFloats(std::size_t(floats));
    return memory.data();
  };

  // The forward pass. For a block that is not kept, only the input stays.
  using Rows = BlockRows<Backend::Rows>;
  float* const inputs = room(memory_.inputs, (first_kept + 1) * n * width);
  std::vector<Rows> kept;
  Backend::Rows x =
      backend.embed(run.packed, micro_batch.tokens, run.sequences.positions(), run.sequences);
  for (std::int64_t i = 0; i < blocks; ++i) {
    if (i > 0 && i <= first_kept) {
      x = {std::copy_n(x.values, n * width, inputs + i * n * width) - n * width, width};
      backend.release();
    }
    const Rows rows = run_block(backend, run.packed, std::size_t(i), x);
    if (i >= first_kept) kept.push_back(rows);
    x = rows.y();
  }
  Columns columns{{std::vector<float>(std::size_t(m)), std::vector<float>(std::size_t(m)),
                   std::vector<float>(micro_batch.missed.empty() ? 0 : std::size_t(m))}};
  std::vector<float> lse(std::size_t(m), 0.0F);
  float* const normed = room(memory_.normed, m * width);
  float* const logits_kept =
      memory_.kept.logits ? room(memory_.logits, m * config.vocab_size) : nullptr;
  backend.logits(
      run.packed, run.pointers(x.values),
      [&](std::size_t first, std::size_t count, float* logits, const float* normed_rows) {
        columns_of(backend, run, first, logits, count, inverse_temperature(temperature),
                   run.targets.data() + first, columns.logprob.data() + first,
                   columns.entropy.data() + first, lse.data() + first);
        miss_logprobs_of(run, first, logits, count, inverse_temperature(temperature),
                         lse.data() + first, columns);
        std::copy_n(normed_rows, std::int64_t(count) * width, normed + std::int64_t(first) * width);
      },
      logits_kept);
  if (micro_batch.hidden) columns.hidden.assign(normed, normed + m * width);

  memory_.gradients.give_back(0);
  memory_.gradients.grow(
      Backward::scratch_floats(config, *run.packed.kernels, n, m, memory_.team->size()));
  Backward backward(run.packed, backend, run.sequences, memory_.gradients, sink);
  head_backward(backward, run.packed, x.values,
                {run.rows, run.targets, lse, columns.entropy, normed, temperature, derivative,
                 logits_kept, &run.kept, 0, &run.missed});
  for (std::int64_t i = blocks - 1; i >= 0; --i) {
    if (i >= first_kept) {
      block_backward(backward, run.packed, std::size_t(i), kept[std::size_t(i - first_kept)]);
      continue;
    }
    backend.release();
    const Backend::Rows in = i > 0 ? Backend::Rows{inputs + i * n * width, width}
                                   : backend.embed(run.packed, micro_batch.tokens,
                                                   run.sequences.positions(), run.sequences);
    block_backward(backward, run.packed, std::size_t(i),
                   run_block(backend, run.packed, std::size_t(i), in));
  }
  backward.embedding(micro_batch.tokens);
  return columns;
}

}  // namespace

std::unique_ptr<MicroBatchEngine> make_host_micro_batches(Team& team,
                                                          std::int64_t micro_batch_bytes) {
  return std::make_unique<HostMicroBatches>(team, micro_batch_bytes);
}

std::int64_t MicroBatchRunner::forward_bytes(const ModelConfig& config, std::int64_t tokens) {
  return Backend::scratch_bytes(config, tokens);
}

std::int64_t MicroBatchRunner::logprob_gradient_bytes(const ModelConfig& config,
                                                      const kernels::KernelSet& kernels,
                                                      std::int64_t tokens) {
  return forward_bytes(config, tokens) +
         HeadGradients::floats(config, kernels, std::min(tokens, Backend::kHeadRows)) *
             std::int64_t(sizeof(float));
}

std::int64_t MicroBatchRunner::kept_logit_bytes(const ModelConfig& config,
                                                const kernels::KernelSet& kernels,
                                                std::int64_t tokens) {
  if (!kept_within(config, kernels, tokens, 1, kNoLimit).logits) return 0;
  return training_bytes(config, kernels, tokens, 1, {1, true}) -
         training_bytes(config, kernels, tokens, 1, {1, false});
}

std::int64_t MicroBatchRunner::backward_bytes(const ModelConfig& config,
                                              const kernels::KernelSet& kernels,
                                              std::int64_t tokens, int members,
                                              std::int64_t micro_batch_bytes) {
  return training_bytes(config, kernels, tokens, members,
                        kept_within(config, kernels, tokens, members, micro_batch_bytes));
}

}  // namespace rollcall::model
