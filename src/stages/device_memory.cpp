// Sizes of what src/model/device takes from the device.
#include "stages/device_memory.hpp"

#include "base/byte_size.hpp"
#include "comm/carrier.hpp"
#include "kernels/cuda/device_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::stages {
namespace {

constexpr std::uint64_t kFloat = sizeof(float), kHalf = sizeof(kernels::Bf16);
constexpr std::int64_t kHeadRows = 256;               // logits exist for so many rows at a time
constexpr std::uint64_t kContext = 600'000'000;       // CUDA's own part of a process with these kernels: what nvidia-smi shows of an idle one on Hopper, about
constexpr std::uint64_t kCarrier = comm::kWorkBytes;  // what sums and weights pass through on their way to other ranks
constexpr std::int64_t kShortPrompt = 64;             // as forecast.cpp's
constexpr std::uint64_t kPageShare = 8, kPageShareOf = 10;  // of what is free, for pages of keys and values

std::uint64_t linear_bytes(std::int64_t outputs, std::int64_t inputs) { return std::uint64_t(outputs * kernels::cuda::stepped(inputs)) * kHalf; }

/// Matrices in bf16, each row filled up to whole steps; norms and biases in fp32; angles.
std::uint64_t weight_bytes(const model::ModelConfig& c) {
  std::uint64_t bytes = 0;
  for (const auto& slice : model::weight_layout(c).slices)
    bytes += slice.shape.size() == 2 ? linear_bytes(slice.shape[0], slice.shape[1]) : std::uint64_t(slice.count) * kFloat;
  return bytes + std::uint64_t(c.max_position_embeddings * c.head_dim) * kFloat;
}

std::int64_t largest_matrix(const model::ModelConfig& c) {
  std::int64_t most = 0;
  for (const auto& slice : model::weight_layout(c).slices) most = std::max(most, slice.count);
  return most;
}

/// Rows of a block that its backward pass reads: two norms, q, k, v, attention, two residuals, gate, up and their product.
std::uint64_t block_bytes(const model::ModelConfig& c, std::int64_t rows) {
  const std::int64_t q = c.num_attention_heads * c.head_dim, kv = c.num_key_value_heads * c.head_dim, norms = c.qk_norm ? q + kv : 0;
  return std::uint64_t(rows * (4 * c.hidden_size + 2 * q + 2 * kv + norms + 3 * c.intermediate_size)) * kFloat;
}

std::uint64_t page_bytes(const model::ModelConfig& c, std::int64_t positions) {
  const kernels::HeadShape heads{c.num_attention_heads, c.num_key_value_heads, c.head_dim};
  return std::uint64_t(kernels::pages_of(positions) * c.num_hidden_layers * kernels::cuda::page_bytes(heads));
}

/// Hidden states, their rounded form, logits and their gradient.
std::uint64_t head_bytes(const model::ModelConfig& c, std::int64_t rows) {
  return std::uint64_t(std::min(rows, kHeadRows)) * (2 * std::uint64_t(c.vocab_size) * kFloat + 3 * std::uint64_t(c.hidden_size) * kFloat);
}

}  // namespace

std::uint64_t DeviceNeed::least() const {
  std::uint64_t sum = 0;
  for (const auto& item : held) sum += item.bytes;
  return sum + std::max(leaf_bytes, decode_bytes) + sequence_bytes;
}

DeviceNeed device_need(const RunConfig& c, const RunModels& models, const std::vector<comm::Stage>& stages, std::int64_t longest_prompt) {
  const auto hosts = [&](comm::Stage stage) { return std::find(stages.begin(), stages.end(), stage) != stages.end(); };
  const model::ModelConfig& policy = models.policy;
  const std::int64_t longest = longest_prompt + c.sampling.max_new_tokens;
  DeviceNeed need;
  const auto holds = [&](const char* what, std::uint64_t bytes) {
    if (bytes > 0) need.held.push_back({what, bytes});
  };
  const auto all = [&](const std::vector<model::ModelConfig>& of) {
    std::uint64_t bytes = 0;
    for (const auto& model : of) bytes += weight_bytes(model);
    return bytes;
  };
  holds("weights in bf16", weight_bytes(policy));
  holds("CUDA and these kernels", kContext);
  holds("on the way to other ranks", kCarrier);
  if (hosts(comm::Stage::generation)) {
    holds("guide", all(models.guides));
    const std::int64_t rows = model::DecodeSession::kPrefillRows;
    need.decode_bytes = 2 * block_bytes(policy, rows) + head_bytes(policy, rows);
    need.sequence_bytes = page_bytes(policy, longest);
  }
  if (hosts(comm::Stage::update)) {
    holds("reference and teacher", all(models.companions));
    if (c.train.steps > 0 || c.sft.steps > 0) {
      holds("64-bit sum of gradients", 2 * kFloat * std::uint64_t(model::weight_layout(policy).size));
      const std::int64_t rows = std::max(c.train.leaf_tokens, longest);
      // Inputs of all blocks, two blocks' rows and their gradients, pages, the head, and the largest weight's gradient beside both transposes.
      const std::uint64_t inputs = std::uint64_t(policy.num_hidden_layers * rows * policy.hidden_size) * kFloat;
      const std::uint64_t gradient = std::uint64_t(largest_matrix(policy)) * (kFloat + kHalf);
      need.leaf_bytes = inputs + 2 * block_bytes(policy, rows) + page_bytes(policy, rows) + head_bytes(policy, rows) + gradient;
      need.kept_bytes = std::uint64_t(policy.num_hidden_layers - 1) * block_bytes(policy, rows);
    }
  }
  return need;
}

std::string device_text(const DeviceNeed& need, std::uint64_t gpu_bytes) {
  const std::string text = items_text(need.held, {{"a leaf", need.leaf_bytes},
                                                  {"rows that it keeps where there is room", need.kept_bytes},
                                                  {"sampling", need.decode_bytes},
                                                  {"the longest sequence", need.sequence_bytes}});
  const std::uint64_t least = need.least();
  std::string end = fmt::format("at least {}: does not fit, {} are missing", bytes_text(least), bytes_text(least - std::min(least, gpu_bytes)));
  if (least <= gpu_bytes) {
    end = fmt::format("at least {}: fits", bytes_text(least));
    const std::uint64_t pages = (gpu_bytes - (least - need.sequence_bytes)) / kPageShareOf * kPageShare;
    if (need.sequence_bytes > 0) end += fmt::format(", {} sequences of the longest kind at a time", std::max<std::uint64_t>(pages / need.sequence_bytes, 1));
  }
  return fmt::format("{}\n    {}", text, end);
}

std::string device_text(const Forecast& forecast, const RunConfig& config, const RunModels& models, std::uint64_t gpu_bytes) {
  RunConfig resolved = config;
  resolved.train.leaf_tokens = leaf_tokens(config, models.policy);
  std::string text = fmt::format("\n  GPUs of {}, one a rank, in numerics cuda_bf16_sliced8\n", bytes_text(gpu_bytes));
  for (const auto& range : forecast.ranks) {
    const auto who = range.first == range.last ? fmt::format("{}", range.first) : fmt::format("{} .. {}", range.first, range.last);
    text += fmt::format("  {}\n    {}\n", who, device_text(device_need(resolved, models, range.stages, kShortPrompt), gpu_bytes));
  }
  return text;
}

}  // namespace rollcall::stages
