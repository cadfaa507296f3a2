// Sizes from the layout and the run file.
#include "stages/forecast.hpp"

#include "model/weights.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::stages {
namespace {

constexpr std::uint64_t kTokenBytes = 4 + 4 + 4 + 8;   // archive columns of a token: id, log-prob, entropy, version (io/README.md)
constexpr std::uint64_t kRolloutBytes = 160;           // archive columns of a rollout and its two turns, scores included
constexpr std::uint64_t kPlanBytes = 32, kReportBytes = 40, kMessageBytes = 128;  // Boost's binary form of a group's plan and a rollout's report
constexpr std::uint64_t kBatch = 128;                  // sequences a thread decodes together (generation.cpp)
constexpr std::uint64_t kCheckpointFiles = 8;           // one folder, manifest and all but the optimizer's slices (one an update rank) and the scheduler's links

bool same_stages(const comm::StageLayout& layout, int a, int b) {
  for (std::size_t s = 0; s < layout.hosts.size(); ++s) {
    if (layout.hosts_stage(a, comm::Stage(s)) != layout.hosts_stage(b, comm::Stage(s))) return false;
  }
  return true;
}

std::uint64_t memory_of(const comm::StageLayout& layout, int rank, const RunConfig& c, std::uint64_t weights, std::uint64_t step_tokens, int threads) {
  const std::uint64_t cache = 2ULL * std::uint64_t(c.model.num_hidden_layers * c.model.num_key_value_heads * c.model.head_dim) * 4;
  const std::uint64_t prompt = 64;  // a short prompt; the run's own is not known before the task is read
  std::uint64_t bytes = 2 * weights;  // flat and packed
  if (layout.hosts_stage(rank, comm::Stage::generation)) bytes += std::uint64_t(threads) * kBatch * (prompt + std::uint64_t(c.sampling.max_new_tokens)) * cache;
  if (layout.hosts_stage(rank, comm::Stage::update)) {
    const std::uint64_t activations = std::uint64_t(c.train.leaf_tokens) * std::uint64_t(c.model.num_hidden_layers) *
                                      std::uint64_t(8 * c.model.hidden_size + 4 * c.model.intermediate_size) * 4;
    bytes += 2 * weights + 2 * weights + weights + std::uint64_t(threads) * (weights + activations) + step_tokens * kTokenBytes * 2;  // moments, int64 sum, gradient, threads, columns
  }
  return bytes;
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes >= 10'000'000'000ULL) return fmt::format("{:.1f} GB", double(bytes) * 1e-9);
  if (bytes >= 10'000'000ULL) return fmt::format("{:.0f} MB", double(bytes) * 1e-6);
  return fmt::format("{:.0f} kB", double(bytes) * 1e-3);
}

}  // namespace

Forecast forecast(const RunConfig& c, int ranks, std::int64_t vocab_size, int threads) {
  Forecast f;
  f.layout = comm::make_layout(c.run.layout, ranks);
  const auto config = model::model_config(c.model, vocab_size, 0);
  f.parameters = model::weight_layout(config).size;
  const std::uint64_t weights = std::uint64_t(f.parameters) * sizeof(float);
  const std::uint64_t rollouts = std::uint64_t(c.train.prompts_per_step * c.train.rollouts_per_prompt);
  const std::uint64_t step_tokens = rollouts * std::uint64_t(c.sampling.max_new_tokens + 64);
  for (int rank = 0; rank < ranks; ++rank) {
    if (!f.ranks.empty() && same_stages(f.layout, rank, f.ranks.back().first)) {
      f.ranks.back().last = rank;
      continue;
    }
    RankRange range{rank, rank, {}, memory_of(f.layout, rank, c, weights, step_tokens, threads)};
    for (std::size_t s = 0; s < f.layout.hosts.size(); ++s) {
      if (f.layout.hosts_stage(rank, comm::Stage(s))) range.stages.push_back(comm::Stage(s));
    }
    f.ranks.push_back(range);
  }
  const auto count = [&](comm::Stage stage) { return std::uint64_t(f.layout.of(stage).size()); };
  const std::uint64_t generators = std::min<std::uint64_t>(count(comm::Stage::generation), std::uint64_t(c.train.prompts_per_step));
  std::uint64_t receivers = 0;
  for (const int rank : f.layout.of(comm::Stage::generation)) receivers += f.layout.hosts_stage(rank, comm::Stage::update) ? 0 : 1;
  f.messages_per_step = 3 * generators + count(comm::Stage::update) + 1 + (receivers > 0 ? receivers + count(comm::Stage::update) : 0);
  f.control_bytes_per_step = f.messages_per_step * kMessageBytes + std::uint64_t(c.train.prompts_per_step) * kPlanBytes + rollouts * kReportBytes +
                             count(comm::Stage::update) * generators * kMessageBytes;
  f.weight_bytes_per_step = receivers * weights;
  f.gradient_bytes_per_step = count(comm::Stage::update) > 1 ? 2 * weights * std::uint64_t(c.train.epochs * c.train.mini_batches) : 0;
  const std::uint64_t waiting_steps = std::uint64_t(std::min(c.train.steps, std::max(c.archive.pack_every, c.checkpoint.every) + c.checkpoint.every));
  f.shard_files = 2 * generators * waiting_steps;
  f.archive_files = 3 + std::uint64_t((c.train.steps + c.archive.pack_every - 1) / c.archive.pack_every);
  const std::uint64_t evaluated = std::uint64_t(c.task.heldout_prompts * c.eval.samples) * std::uint64_t(int(c.eval.before) + int(c.eval.after));
  const std::uint64_t validated = c.eval.every > 0 ? std::uint64_t(c.train.steps / c.eval.every * c.task.validation_prompts * c.eval.validation_samples) : 0;
  f.archive_bytes = (std::uint64_t(c.train.steps) * rollouts + evaluated + validated) * (kRolloutBytes + std::uint64_t(c.sampling.max_new_tokens + 64) * kTokenBytes);
  const std::uint64_t kept = std::uint64_t(c.checkpoint.keep_last) + (c.checkpoint.keep_best.empty() ? 0 : 1);
  f.checkpoint_files = kept * (kCheckpointFiles + count(comm::Stage::update)), f.checkpoint_bytes = kept * 3 * weights;
  return f;
}

std::string to_text(const Forecast& f) {
  std::string text = fmt::format("layout {} on {} ranks, {} parameters\n\n  {:<16} {:<40} {}\n", f.layout.name, f.layout.ranks, f.parameters, "ranks", "stages", "memory a rank");
  for (const auto& range : f.ranks) {
    std::string stages;
    for (const auto stage : range.stages) stages += fmt::format("{}{}", stages.empty() ? "" : ", ", comm::stage_name(stage));
    text += fmt::format("  {:<16} {:<40} {}\n", range.first == range.last ? fmt::format("{}", range.first) : fmt::format("{} .. {}", range.first, range.last), stages,
                        bytes_text(range.memory_bytes));
  }
  text += fmt::format("\n  a step: {} control messages ({}), weights {} by collective, gradients {} a rank by all-reduce\n", f.messages_per_step,
                      bytes_text(f.control_bytes_per_step), bytes_text(f.weight_bytes_per_step), bytes_text(f.gradient_bytes_per_step));
  text += fmt::format("  files: at most {} shards waiting, {} archive files ({} at the longest responses), {} in checkpoints ({})\n", f.shard_files, f.archive_files,
                      bytes_text(f.archive_bytes), f.checkpoint_files, bytes_text(f.checkpoint_bytes));
  return text;
}

}  // namespace rollcall::stages
