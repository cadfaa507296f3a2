// Sizes of what src/model/device allocates on the device.
#include "sizing/device_memory.hpp"

#include "base/text/byte_size.hpp"
#include "comm/transport.hpp"
#include "comm/weight_transfer.hpp"
#include "model/device/device_sizes.hpp"
#include "model/train/optimizer.hpp"
#include "sizing/lengths.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::sizing {
namespace {

constexpr std::uint64_t kContext = 600'000'000;  // about what nvidia-smi shows for an idle process
                                                 // with these kernels on Hopper
constexpr std::uint64_t kNccl = 600'000'000;  // buffers and channels of one communicator; an upper
                                              // estimate, not measured
constexpr std::uint64_t kTransport = comm::kWorkBytes;  // work space for sums and weights on their
                                                        // way to other ranks

std::uint64_t page_bytes(const model::ModelConfig& c, std::int64_t positions) {
  return std::uint64_t(kernels::pages_of(positions) * c.num_hidden_layers *
                       model::device_page_bytes(c));
}

/// Sizes of the optimizer on the rank with the largest share. All shares but the last have this
/// length or are a block shorter.
model::DeviceOptimizerSizes optimizer_of(const model::ModelConfig& c, int ranks) {
  const auto share_offsets = model::optimizer_shares(model::trained_layout(c).size, ranks);
  std::int64_t share = 0;
  for (std::size_t r = 0; r + 1 < share_offsets.size(); ++r)
    share = std::max(share, share_offsets[r + 1] - share_offsets[r]);
  return model::device_optimizer_sizes(c, share, ranks);
}

}  // namespace

std::uint64_t DeviceNeed::least() const {
  std::uint64_t sum = 0;
  for (const auto& item : held) sum += item.bytes;
  // a micro-batch's memory is kept while the rank samples
  return sum + micro_batch_bytes + decode_bytes + sequence_bytes;
}

DeviceNeed device_need(const RunConfig& c, const RunModels& models, const DeviceRank& rank) {
  const auto hosts = [&](comm::Stage stage) {
    return std::find(rank.stages.begin(), rank.stages.end(), stage) != rank.stages.end();
  };
  const model::ModelConfig& policy = models.policy;
  const std::int64_t longest =
      rank.longest.prompt + answer_tokens(c, policy.max_position_embeddings, rank.longest.prompt);
  DeviceNeed need;
  std::int64_t rows = 1;  // rows in the largest pass
  const auto holds = [&](const char* what, std::uint64_t bytes) {
    if (bytes > 0) need.held.push_back({what, bytes});
  };
  const auto all = [&](const std::vector<model::ModelConfig>& of) {
    std::uint64_t bytes = 0;
    for (const auto& model : of) bytes += std::uint64_t(model::device_weight_bytes(model).all());
    return bytes;
  };
  holds(model::device_items::kWeights, std::uint64_t(model::device_weight_bytes(policy).all()));
  holds("CUDA and these kernels", kContext);
  holds("on the way to other ranks", kTransport);
  holds("NCCL", std::uint64_t(rank.communicators) * kNccl);
  const auto sampled = [&](std::int64_t positions) {
    rows = model::DecodeSession::kLiveRows + model::DecodeSession::kPrefillRows;
    need.decode_bytes = std::uint64_t(model::device_decode_bytes(policy, rows));
    need.sequence_bytes = page_bytes(policy, positions);
  };
  if (hosts(comm::Stage::generation)) {
    holds("guide", all(models.guides));
    sampled(longest);
  }
  if (models.probed && hosts(comm::Stage::update))
    sampled(longest + std::int64_t(c.probes.opener.size()) + c.probes.max_tokens);
  if (hosts(comm::Stage::update)) {
    holds("reference and teacher", all(models.companions));
    if (c.train.steps > 0 || c.sft.steps > 0) {
      const auto optimizer = optimizer_of(policy, rank.update_ranks);
      holds(model::device_items::kShare, std::uint64_t(optimizer.held()));
      holds(model::device_items::kWay, std::uint64_t(optimizer.all() - optimizer.held()));
      const std::int64_t n = std::max({c.train.micro_batch_tokens, longest, rank.longest.example});
      // At most one column per token.
      const auto micro_batch = [&](std::int64_t kept) {
        return std::uint64_t(model::device_micro_batch_bytes(
            policy, {n, n, n / model::device_sizes::kMicroBatchSequence + 1, kept}));
      };
      need.micro_batch_bytes = micro_batch(1);
      need.kept_bytes = std::max(micro_batch(policy.num_hidden_layers), need.micro_batch_bytes) -
                        need.micro_batch_bytes;
      rows = std::max(rows, n);
    }
  }
  holds("scratch of kernels", std::uint64_t(model::device_scratch_bytes(policy, rows)));
  holds(model::device_items::kUpload, std::uint64_t(model::device_upload_bytes(policy, rows)));
  return need;
}

std::string device_text(const DeviceNeed& need, std::uint64_t gpu_bytes) {
  const std::string text =
      items_text(need.held, {{model::device_items::kMicroBatch, need.micro_batch_bytes},
                             {"rows that it keeps where there is room", need.kept_bytes},
                             {model::device_items::kSampling, need.decode_bytes},
                             {"the longest sequence", need.sequence_bytes}});
  const std::uint64_t least = need.least();
  std::string end = fmt::format("at least {}: does not fit, {} are missing", bytes_text(least),
                                bytes_text(least - std::min(least, gpu_bytes)));
  if (least <= gpu_bytes) {
    end = fmt::format("at least {}: fits", bytes_text(least));
    const std::uint64_t pages = (gpu_bytes - (least - need.sequence_bytes)) /
                                model::device_sizes::kPageShareOf * model::device_sizes::kPageShare;
    if (need.sequence_bytes > 0)
      end += fmt::format(", {} sequences of the longest kind at a time",
                         std::max<std::uint64_t>(pages / need.sequence_bytes, 1));
  }
  return fmt::format("{}\n    {}", text, end);
}

int nccl_communicators(const RunConfig& c, comm::StageLayout layout, int rank) {
  if (c.run.comm == "mpi") return 0;
  layout.nodes.clear();  // GPUs share no memory
  int all = layout.hosts_stage(rank, comm::Stage::update) ? 1 : 0;
  for (const auto& batch : comm::plan_transfer(layout, {{"weights", 0, 1 << 20}}))
    all += batch.root == rank || std::find(batch.receivers.begin(), batch.receivers.end(), rank) !=
                                     batch.receivers.end()
               ? 1
               : 0;
  return all;
}

std::string device_text(const Forecast& forecast, const RunConfig& config, const RunModels& models,
                        std::uint64_t gpu_bytes) {
  RunConfig resolved = config;
  resolved.train.micro_batch_tokens = micro_batch_tokens(config, models.policy);
  std::string text = fmt::format("\n  GPUs of {}, one a rank, in numerics cuda_bf16_sliced8\n",
                                 bytes_text(gpu_bytes));
  for (const auto& range : forecast.ranks) {
    const auto who = range.first == range.last ? fmt::format("{}", range.first)
                                               : fmt::format("{} .. {}", range.first, range.last);
    text += fmt::format(
        "  {}\n    {}\n", who,
        device_text(device_need(resolved, models,
                                {range.stages, forecast.longest,
                                 int(forecast.layout.of(comm::Stage::update).size()),
                                 nccl_communicators(config, forecast.layout, range.first)}),
                    gpu_bytes));
  }
  return text;
}

}  // namespace rollcall::sizing
