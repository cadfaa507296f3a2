// Computes sizes of what a rank holds for the whole run, and of what it needs during a step.
#include "sizing/memory.hpp"

#include "base/errors/error.hpp"
#include "base/text/byte_size.hpp"
#include "model/device/device_sizes.hpp"
#include "model/engine/policy.hpp"
#include "model/train/optimizer.hpp"
#include "sizing/aggregators.hpp"
#include "sizing/lengths.hpp"
#include "task/task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rollcall::sizing {
namespace {

constexpr std::uint64_t kFloat = sizeof(float);
// Measured (benchmarks/README.md, plan and peaks): LibTorch, MPI and HDF5 with what they allocate,
// and text; then the scheduler's records and metrics.
constexpr std::uint64_t kLibraries = 180'000'000, kRecords = 30'000'000;
// Bytes that the scheduler keeps per training prompt: level, domain, prior and content, counts and
// history with their places in bins, and a copy for the checkpoint.
constexpr std::uint64_t kScheduledPrompt = 96;
constexpr std::uint64_t kRolloutTokenBytes = 2 * 20;  // columns of a token (io/README.md), held
                                                      // once as read and once as trained on
constexpr std::int64_t kLeastMicroBatch = 64, kMostMicroBatch = 1024;
constexpr std::uint64_t kMicroBatchTarget = 1'000'000'000;  // target for a micro-batch without
                                                            // run.memory_limit
constexpr std::int64_t kMostDeviceMicroBatch = 16384;  // every micro-batch moves the whole gradient
                                                       // once, so larger ones would gain little
                                                       // time
constexpr std::uint64_t kDeviceMicroBatchTarget = 10'000'000'000;  // an eighth of an H100's memory
constexpr std::uint64_t kJudgedTokens = 4;     // tokens in a judge's question per token of what is
                                               // judged, to allow for the judge's own words and a
                                               // different tokenizer
constexpr std::uint64_t kConversation = 4096;  // for each open conversation: its addresses and the
                                               // answer in progress
constexpr std::uint64_t kTalkTokenBytes = 8;   // bytes per token of its turns and of the
                                               // environment's answers, as tokens and as text
constexpr std::uint64_t kMicroBatchShare = 8;  // a micro-batch may take 1 / kMicroBatchShare of the
                                               // memory limit

/// The plain kernel set of the run's numerics. All sets of the same numerics pack alike, and the
/// machine on which a run is planned may be able to run others.
const kernels::KernelSet& any_kernels(const RunConfig& c) {
  return kernels::plain_kernels(c.run.numerics);
}

/// Bytes of the fp32 weights, which the optimizer updates, and of their copy for the kernels.
std::uint64_t model_bytes(const model::ModelConfig& c, const kernels::KernelSet& kernels) {
  return std::uint64_t(model::weight_layout(c).size) * kFloat +
         std::uint64_t(model::packed_bytes(c, kernels));
}

std::uint64_t models_bytes(const std::vector<model::ModelConfig>& models,
                           const kernels::KernelSet& kernels) {
  std::uint64_t sum = 0;
  for (const auto& model : models) sum += model_bytes(model, kernels);
  return sum;
}

/// Bytes of the keys and values for this many positions, in whole pages.
std::uint64_t cache_bytes(const model::ModelConfig& c, const kernels::KernelSet& kernels,
                          std::uint64_t positions) {
  const kernels::HeadShape heads{c.num_attention_heads, c.num_key_value_heads, c.head_dim};
  return std::uint64_t(kernels::pages_of(std::int64_t(positions)) * c.num_hidden_layers *
                       kernels.page_bytes(heads));
}

/// Bytes that each thread holds while a session decodes: the inputs of a product in the kernels'
/// layout, and a row's exponentials and candidates.
std::uint64_t member_bytes(const model::ModelConfig& c, std::int64_t live_rows) {
  const std::int64_t inputs =
      std::max({c.hidden_size, c.intermediate_size, c.num_attention_heads * c.head_dim}) + 32;
  return std::uint64_t((live_rows + model::DecodeSession::kPrefillRows + 32) * inputs +
                       4 * c.vocab_size) *
         kFloat;
}

bool trains(const RunConfig& c) { return c.train.steps > 0 || c.sft.steps > 0; }
/// A run that trains nothing is an evaluation.
bool evaluates(const RunConfig& c) { return c.eval.before || c.eval.after || !trains(c); }
bool samples(const RunConfig& c) {
  return evaluates(c) || c.eval.every > 0 || (c.train.steps > 0 && c.train.from_archive.empty());
}

constexpr std::int64_t kTurning = model::DecodeSession::kTurns * model::DecodeSession::kLiveRows;

/// The largest number of rollouts that a generation rank holds at a time: its share of a step or of
/// an evaluation, in whole groups.
std::int64_t rollouts_at_once(const RunConfig& c, const GivenTexts& given, std::int64_t ranks) {
  const auto share = [&](std::int64_t prompts, std::int64_t each, std::int64_t largest) {
    return ranks == 1 ? prompts * each : (prompts * each + ranks - 1) / ranks + largest;
  };
  std::int64_t most =
      share(c.train.prompts_per_step, c.train.rollouts_per_prompt, c.scheduler.max_rollouts);
  if (evaluates(c)) most = std::max(most, share(given.heldout, c.eval.samples, c.eval.samples));
  if (c.eval.every > 0)
    most = std::max(most,
                    share(given.validation, c.eval.validation_samples, c.eval.validation_samples));
  return std::min(most, kTurning);
}

std::uint64_t sum_of(const std::vector<MemoryItem>& items) {
  std::uint64_t sum = 0;
  for (const auto& item : items) sum += item.bytes;
  return sum;
}

}  // namespace

std::uint64_t drawn_rollouts(const RunConfig& c, const RunModels& models) {
  return std::uint64_t(
      std::max(models.most_rollouts, c.train.prompts_per_step * c.train.rollouts_per_prompt));
}

std::uint64_t held_rollouts(const RunConfig& c, const RunModels& models) {
  const auto drawn = double(drawn_rollouts(c, models));
  const double replayed =
      c.replay.share < 1.0 ? c.replay.share / (1.0 - c.replay.share) * drawn : 0.0;
  // one worked solution per group
  const double experts = c.experts.share > 0.0 ? drawn / double(c.train.rollouts_per_prompt) : 0.0;
  return std::uint64_t(std::ceil(drawn + replayed + experts));
}

std::uint64_t kept_id_bytes(const SamplingParams& sampling) {
  return renormalises(sampling) ? std::uint64_t(sampling.top_k) * sizeof(std::int32_t) : 0;
}

namespace {

/// Number of rollouts of earlier steps that an update rank may replay.
std::uint64_t replayable_rollouts(const RunConfig& c, const RunModels& models) {
  if (c.replay.share == 0.0) return 0;
  const std::int64_t versions = std::max<std::int64_t>(1, c.train.epochs * c.train.mini_batches);
  const auto steps = std::uint64_t(std::min(c.train.steps, c.replay.max_staleness / versions + 1));
  return steps * drawn_rollouts(c, models);
}

}  // namespace

comm::StageLayout layout_of(const RunConfig& c, int ranks) {
  return c.judge.model.empty() ? comm::make_layout(c.run.layout, ranks)
                               : comm::with_judges(c.run.layout, ranks, int(c.judge.ranks));
}

/// The value of train.micro_batch_tokens on devices. It does not depend on the memory of the
/// devices that are there, because a run would have other bits on other devices.
std::int64_t device_micro_batch_tokens(const model::ModelConfig& policy) {
  std::int64_t tokens = kMostDeviceMicroBatch;
  const auto bytes = [&] {
    return model::device_micro_batch_bytes(
        policy, {tokens, tokens, tokens / model::device_sizes::kMicroBatchSequence + 1, 1});
  };
  while (tokens > kMostMicroBatch && std::uint64_t(bytes()) > kDeviceMicroBatchTarget) tokens /= 2;
  return tokens;
}

std::int64_t micro_batch_tokens(const RunConfig& config, const model::ModelConfig& policy) {
  if (config.train.micro_batch_tokens > 0) return config.train.micro_batch_tokens;
  if (any_kernels(config).numerics == std::string_view(kernels::kCudaBf16Sliced8))
    return device_micro_batch_tokens(policy);
  const std::uint64_t target =
      config.run.memory_limit.empty()
          ? kMicroBatchTarget
          : parse_bytes(config.run.memory_limit, "run.memory_limit") / kMicroBatchShare;
  const auto least = [&](std::int64_t tokens) {
    return model::MicroBatchRunner::backward_bytes(policy, any_kernels(config), tokens, 1, 0);
  };
  std::int64_t tokens = kMostMicroBatch;
  while (tokens > kLeastMicroBatch && std::uint64_t(least(tokens)) > target) tokens /= 2;
  return tokens;
}

MemoryNeed memory_need(const RunConfig& c, const RunModels& models, const comm::StageLayout& layout,
                       int rank, const GivenTexts& given) {
  const model::ModelConfig& policy = models.policy;
  const std::int64_t trained_size = model::trained_layout(policy).size;
  const std::uint64_t trained_bytes = std::uint64_t(trained_size) * kFloat;
  const std::uint64_t prompt = std::uint64_t(given.prompt),
                      longest = prompt + std::uint64_t(answer_tokens(
                                             c, policy.max_position_embeddings, given.prompt));
  const auto& kernels = any_kernels(c);
  const bool trained = trains(c),
             on_device = kernels.numerics == std::string_view(kernels::kCudaBf16Sliced8);
  MemoryNeed need;
  const auto holds = [&](const char* what, std::uint64_t bytes) {
    if (bytes > 0) need.held.push_back({what, bytes});
  };
  // A node holds the weights once, so each of its ranks counts a share.
  holds("weights and their packed copy",
        model_bytes(policy, kernels) / std::uint64_t(layout.on_node_of(rank)));
  holds("libraries", kLibraries);
  if (layout.hosts_stage(rank, comm::Stage::coordinator)) holds("records of the run", kRecords);
  holds("table of prompts", given.table_bytes), holds("texts and tokens", given.text_bytes);
  if (layout.hosts_stage(rank, comm::Stage::coordinator))
    holds("scheduler's prompts", std::uint64_t(given.train) * kScheduledPrompt);
  const auto sampled_by = [&](const model::ModelConfig& model, std::uint64_t all,
                              std::uint64_t begun, std::int64_t at_once = kTurning) {
    const auto shape = model::decode_shape(model::packed_bytes(model, kernels), 1);
    const bool apart = model::decode_shape(model::packed_bytes(model, kernels), 2).sessions > 1;
    need.apart = need.apart || apart;
    need.sequences = std::max({need.sequences, shape.live_rows, apart ? 0 : at_once});
    need.decode_bytes =
        std::max(need.decode_bytes,
                 std::uint64_t(model::DecodeSession::scratch_bytes(model, shape.live_rows)));
    need.thread_bytes = std::max(need.thread_bytes, member_bytes(model, shape.live_rows));
    need.sequence_bytes = std::max(
        need.sequence_bytes, cache_bytes(model, kernels, all) + cache_bytes(model, kernels, begun));
  };
  if (layout.hosts_stage(rank, comm::Stage::generation)) {
    holds("guide", models_bytes(models.guides, kernels));
    const std::string& pool = c.second_pass.numerics;
    if (c.second_pass.kind == "pool" && !pool.empty() && pool != c.run.numerics)
      holds("copy of the policy for pools",
            std::uint64_t(model::packed_bytes(policy, kernels::plain_kernels(pool))));
    // the beginning of an answer is cached together with the prompt
    const std::uint64_t begun =
        prompt + (models.guides.empty() ? 0 : std::uint64_t(c.guide.max_tokens));
    const std::int64_t at_once =
        rollouts_at_once(c, given, std::int64_t(layout.of(comm::Stage::generation).size()));
    if (samples(c) && task::has_environment(c))
      holds("conversations",
            std::uint64_t(at_once) * (kConversation + (longest - prompt) * kTalkTokenBytes));
    if (samples(c)) {
      sampled_by(policy, longest, begun, at_once);
      for (const auto& guide : models.guides) sampled_by(guide, longest, begun, at_once);
    }
  }
  if (models.probed && layout.hosts_stage(rank, comm::Stage::update)) {
    const std::uint64_t begun = longest + c.probes.opener.size();  // a token has at least one byte
    sampled_by(policy, begun + std::uint64_t(c.probes.max_tokens), begun);
  }
  if (layout.hosts_stage(rank, comm::Stage::judge)) {
    holds("judge", models_bytes(models.judges, kernels));
    for (const auto& judge : models.judges) {  // the length of a judge's question is not known in
                                               // advance, so it is estimated as kJudgedTokens times
                                               // what is judged
      const auto asked =
          std::min(std::uint64_t(judge.max_position_embeddings),
                   kJudgedTokens * longest + std::uint64_t(c.judge.sampling.max_new_tokens));
      if (c.judge.kind == "judge") sampled_by(judge, asked, asked);
      else
        holds("rows of the judge",
              std::uint64_t(model::MicroBatchRunner::forward_bytes(
                  judge, std::max(kRewardModelMicroBatchTokens, std::int64_t(asked)))));
    }
  }
  if (layout.hosts_stage(rank, comm::Stage::update)) {
    const auto share_offsets =
        model::optimizer_shares(trained_size, int(layout.of(comm::Stage::update).size()));
    const std::uint64_t rollouts = held_rollouts(c, models);
    const std::uint64_t rollout_bytes =
        longest * kRolloutTokenBytes +
        std::uint64_t(c.sampling.max_new_tokens) * 2 * kept_id_bytes(c.sampling);
    if (trained && !on_device)
      // a sum has 64 bits per weight, and a node holds it once
      holds("sum of gradients",
            2 * trained_bytes / std::uint64_t(layout.on_node_of(rank, comm::Stage::update)));
    holds(on_device ? "share of the moments in a checkpoint" : "share of the moments",
          2 * trained_bytes / std::uint64_t(model::ranks_with_share(share_offsets)));
    if (masks_gradient(c))
      holds("gradient mask", std::uint64_t(trained_size / 8) /
                                 std::uint64_t(model::ranks_with_share(share_offsets)));
    holds("reference and teacher", models_bytes(models.companions, kernels));
    // any rank may be an aggregator
    const auto aggregated = aggregates(c, layout) ? std::min(std::uint64_t(layout.on_node_of(rank)),
                                                             std::uint64_t(kMostAggregated))
                                                  : 1;
    if (models.whole_steps || rank == layout.of(comm::Stage::update).front())
      holds("columns of a step", rollouts * rollout_bytes),
          holds("rollouts kept for replay", replayable_rollouts(c, models) * rollout_bytes / 2);
    else if (aggregated > 1)
      holds(
          "rollouts of ranks on its node",
          (rollouts * aggregated / layout.of(comm::Stage::generation).size() + 1) * rollout_bytes);
    if (trained) {
      const std::int64_t tokens =
          std::max({c.train.micro_batch_tokens, std::int64_t(longest), given.example});
      const auto bytes = [&](int members, std::int64_t kept) {
        return std::uint64_t(
            model::MicroBatchRunner::backward_bytes(policy, kernels, tokens, members, kept));
      };
      // Forward passes, if there are any, take whole groups, one model at a time.
      std::uint64_t forward = 0;
      const std::int64_t whole = c.scheduler.max_rollouts * std::int64_t(longest);
      const auto passes = [&](const model::ModelConfig& model) {
        forward =
            std::max(forward, std::uint64_t(model::MicroBatchRunner::forward_bytes(model, whole)));
      };
      passes(policy);
      if (models.state_gradients)
        forward = std::max(forward, std::uint64_t(model::MicroBatchRunner::logprob_gradient_bytes(
                                        policy, kernels, whole)));
      std::for_each(models.companions.begin(), models.companions.end(), passes);
      need.micro_batch_bytes = std::max(bytes(1, 0), forward);
      need.micro_batch_thread_bytes = bytes(2, 0) - bytes(1, 0);
      need.kept_bytes =
          std::max(bytes(1, model::MicroBatchRunner::kNoLimit), need.micro_batch_bytes) -
          need.micro_batch_bytes;
      need.kept_logit_bytes = std::min(
          need.kept_bytes,
          std::uint64_t(model::MicroBatchRunner::kept_logit_bytes(policy, kernels, tokens)));
    }
  }
  if (on_device) {  // the next items are in the device's memory, which has its own limit
    need.decode_bytes = need.thread_bytes = need.sequence_bytes = need.micro_batch_bytes =
        need.micro_batch_thread_bytes = need.kept_bytes = need.kept_logit_bytes = 0;
    need.apart = false;
  }
  return need;
}

MemoryUse fit_memory(const MemoryNeed& need, std::uint64_t limit, const std::string& whose,
                     int threads) {
  const std::uint64_t held = sum_of(need.held),
                      scratch = need.decode_bytes +
                                std::uint64_t(need.apart ? 1 : threads) * need.thread_bytes;
  const std::uint64_t decode = need.decode_bytes > 0 ? scratch + need.sequence_bytes : 0;
  // A micro-batch's memory is kept while the rank samples.
  const std::uint64_t micro_batch =
      need.micro_batch_bytes == 0
          ? 0
          : need.micro_batch_bytes + std::uint64_t(threads - 1) * need.micro_batch_thread_bytes;
  const std::uint64_t least = held + micro_batch + decode;
  require<EnvironmentError>(
      least <= limit,
      fmt::format("a rank of this run needs {} of memory, but {} {}", bytes_text(least), whose,
                  bytes_text(limit)),
      fmt::format("it would be killed in the middle of a step: {}", items_text(need)),
      "give the ranks more memory, start more update ranks (they share the moments) or fewer ranks "
      "a node, or lower train.micro_batch_tokens or "
      "sampling.max_new_tokens");
  std::uint64_t left = limit - held - micro_batch;
  const auto at_once = [&](std::uint64_t each, int most) {
    return each == 0 ? most : int(std::clamp<std::uint64_t>(left / each, 1, std::uint64_t(most)));
  };
  MemoryUse use;
  const std::uint64_t spare = left - decode, all = need.micro_batch_bytes + need.kept_bytes;
  // bytes for each of the micro-batches that run side by side
  const std::uint64_t each = std::min(all, (spare + micro_batch) / 2 / std::uint64_t(threads));
  use.micro_batches_at_once =
      need.micro_batch_bytes > 0 && each < all - need.kept_logit_bytes ? 1 : threads;
  const std::uint64_t micro_batches = need.micro_batch_bytes == 0 ? 0
                                      : use.micro_batches_at_once == 1
                                          ? micro_batch + std::min(need.kept_bytes, spare / 2)
                                          : std::uint64_t(threads) * each;
  use.micro_batch_bytes = std::int64_t(use.micro_batches_at_once > 1 ? each : micro_batches);
  left -= micro_batches - micro_batch;
  const auto sessions = std::uint64_t(at_once(decode, need.apart ? threads : 1));
  use.decoding_threads = need.apart ? int(sessions) : threads;
  if (decode > 0)
    use.cache_bytes =
        std::int64_t(std::min(left - sessions * scratch, std::uint64_t(model::kMostCacheBytes)));
  const std::uint64_t cache =
      std::min(std::max(std::uint64_t(use.cache_bytes), sessions * need.sequence_bytes),
               sessions * std::uint64_t(need.sequences) * need.sequence_bytes);
  const std::uint64_t decoding = decode == 0 ? 0 : sessions * scratch + cache;
  use.step_bytes = micro_batches + decoding;
  use.bytes = held + use.step_bytes;
  return use;
}

std::string items_text(std::vector<MemoryItem> held, std::initializer_list<MemoryItem> more) {
  held.insert(held.end(), more.begin(), more.end());
  std::string text;
  for (const auto& item : held)
    if (item.bytes > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", item.what, bytes_text(item.bytes));
  return text;
}

std::string items_text(const MemoryNeed& need) {
  return items_text(need.held,
                    {{"a micro-batch", need.micro_batch_bytes},
                     {"rows and logits that it keeps where there is room", need.kept_bytes},
                     {need.apart ? "a thread that samples" : "sampling", need.decode_bytes},
                     {"the longest sequence", need.sequence_bytes}});
}

}  // namespace rollcall::sizing
