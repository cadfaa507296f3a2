// Computes the sizes from the layout and the run file.
#include "sizing/forecast.hpp"

#include "base/errors/error.hpp"
#include "base/text/byte_size.hpp"
#include "comm/weight_transfer.hpp"
#include "model/device/device_sizes.hpp"
#include "model/train/optimizer.hpp"
#include "sizing/aggregators.hpp"
#include "sizing/lengths.hpp"
#include "task/task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace rollcall::sizing {
namespace {

constexpr std::uint64_t kTokenBytes = 4 + 4 + 4 + 8;  // archive columns of a token: id, log-prob,
                                                      // entropy, version (io/README.md)
constexpr std::uint64_t kKeptBytes = 4 + 4;   // if sampling excludes tokens: the mass of those
                                              // kept, and their number
constexpr std::uint64_t kRolloutBytes = 208;  // archive columns for a rollout, its two turns and
                                              // its share of a group, including scores
// Sizes in Boost's binary form: the plan of a group, the report on a rollout, and a message without
// either.
constexpr std::uint64_t kTurnBytes = 96;  // of each further turn, with what the environment
                                          // reported about it
constexpr std::uint64_t kPlanBytes = 32, kReportBytes = 40, kMessageBytes = 128;
constexpr std::uint64_t kCheckpointFiles = 8;  // the folder, its manifest and all files except the
                                               // optimizer's shares and the scheduler's links
constexpr std::uint64_t kHeaderBytes = 24 << 10;  // HDF5's own bytes in each file
constexpr std::uint64_t kOtherFiles = 24;  // folders, metrics, report, watch, lock (run_folder.hpp)

/// Whether ranks `a` and `b` host the same stages and share memory with equally many ranks, and
/// with equally many update ranks.
bool same_need(const comm::StageLayout& layout, int a, int b) {
  if (layout.on_node_of(a) != layout.on_node_of(b) ||
      layout.on_node_of(a, comm::Stage::update) != layout.on_node_of(b, comm::Stage::update))
    return false;
  for (std::size_t s = 0; s < layout.hosts.size(); ++s) {
    if (layout.hosts_stage(a, comm::Stage(s)) != layout.hosts_stage(b, comm::Stage(s)))
      return false;
  }
  return true;
}

/// Number of update ranks that own a share of the optimizer.
std::uint64_t optimizer_ranks(const comm::StageLayout& layout, const model::ModelConfig& policy) {
  return std::uint64_t(model::ranks_with_share(model::optimizer_shares(
      model::trained_layout(policy).size, int(layout.of(comm::Stage::update).size()))));
}

struct Written {
  std::uint64_t step_files, optimizer_files;  ///< files of a step's shards; files of the optimizer
                                              ///< in a checkpoint, one per rank with a share
};

/// The run folder at its fullest, which is just before the last shards are packed.
void forecast_files(Forecast& f, const RunConfig& c, const Written& written,
                    std::uint64_t evaluation_bytes, std::uint64_t step_bytes,
                    std::uint64_t checkpoint_bytes) {
  const auto steps = std::uint64_t(c.train.steps), every = std::uint64_t(c.checkpoint.every);
  // shards are packed at the first checkpoint that is late enough
  const std::uint64_t interval = (std::uint64_t(c.archive.pack_every) + every - 1) / every * every;
  f.step_files = written.step_files, f.step_bytes = step_bytes + f.step_files * kHeaderBytes;
  f.waiting_steps = std::min(steps, interval + every);  // a resume from the previous checkpoint may
                                                        // add the steps of one interval
  f.shard_files = f.step_files * f.waiting_steps;
  f.archive_files = 3 + (steps + interval - 1) / interval;
  f.archive_bytes = steps * step_bytes + evaluation_bytes + f.archive_files * kHeaderBytes;
  // the 1 is the checkpoint that is being written
  const std::uint64_t kept =
      std::uint64_t(c.checkpoint.keep_last) + (c.checkpoint.keep_best.empty() ? 0 : 1) + 1 +
      (c.checkpoint.keep_every > 0 ? steps / std::uint64_t(c.checkpoint.keep_every) : 0);
  f.checkpoint_files = kept * (kCheckpointFiles + written.optimizer_files),
  f.checkpoint_bytes = kept * checkpoint_bytes;
  f.most_files = f.shard_files + f.archive_files + f.checkpoint_files + kOtherFiles;
  f.most_bytes = f.waiting_steps * f.step_bytes + f.archive_bytes + f.checkpoint_bytes;
  f.unpacked_files = f.step_files * steps;
  f.crash_files = f.step_files * std::min(steps, every);
}

/// The number of ranks notified of new weights, and the number of nodes that receive them.
struct Receivers {
  std::uint64_t notified = 0, nodes = 0;
};
Receivers receivers_of(const comm::StageLayout& layout) {
  const auto plan = comm::plan_transfer(layout, {{"weights", 0, 1 << 20}});
  Receivers to{plan.size(), plan.empty() ? 0 : plan.front().receivers.size()};
  for (const int rank : layout.of(comm::Stage::generation))
    to.notified += layout.hosts_stage(rank, comm::Stage::update) ? 0 : 1;
  return to;
}

/// Traffic between devices, which share no memory. In every round of micro-batches the gradient
/// sum, 8 bytes per weight, is reduced and distributed; after every update the new weights are
/// gathered in fp32.
void forecast_devices(Forecast& f, const RunConfig& c, const model::ModelConfig& policy) {
  comm::StageLayout layout = f.layout;
  layout.nodes.clear();
  f.weight_bytes_per_step =
      receivers_of(layout).nodes * std::uint64_t(model::device_weight_bytes(policy).changing());
  const auto ranks = std::uint64_t(layout.of(comm::Stage::update).size()),
             parameters = std::uint64_t(f.parameters);
  const auto quotient_up = [](std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; };
  const std::uint64_t answers =
      std::uint64_t(c.train.prompts_per_step * c.train.rollouts_per_prompt * f.new_tokens);
  const std::uint64_t tokens =
      quotient_up(answers + std::uint64_t(c.train.prompts_per_step * f.longest.prompt),
                  std::uint64_t(c.train.mini_batches));
  const std::uint64_t rounds =
      quotient_up(quotient_up(tokens, std::uint64_t(c.train.micro_batch_tokens)), ranks);
  const std::uint64_t of_update =
      (rounds * 2 * sizeof(std::int64_t) + sizeof(float)) * parameters / ranks * (ranks - 1);
  f.gradient_bytes_per_step = of_update * std::uint64_t(c.train.epochs * c.train.mini_batches);
}

}  // namespace

Forecast forecast(const RunConfig& c, const RunModels& models, const Machine& machine,
                  const GivenTexts& longest) {
  Forecast f;
  f.longest = longest;
  const int ranks = machine.ranks,
            on_node = machine.ranks_per_node > 0 ? machine.ranks_per_node : ranks;
  f.layout = layout_of(c, ranks);
  for (int rank = 0; rank < ranks; ++rank) f.layout.nodes.push_back(rank / on_node * on_node);
  f.threads = machine.threads;
  f.parameters = model::weight_layout(models.policy).size, f.numerics = c.run.numerics;
  f.prompts = c.train.prompts_per_step, f.rollouts_per_prompt = c.train.rollouts_per_prompt,
  f.updates = c.train.epochs * c.train.mini_batches;
  f.new_tokens = answer_tokens(c, models.policy.max_position_embeddings, longest.prompt);
  f.most_turns = task::has_environment(c) ? c.environment.max_turns : 0;
  f.memory_limit = c.run.memory_limit;
  const std::uint64_t weights = std::uint64_t(f.parameters) * sizeof(float);
  // most prompts in a step
  const std::uint64_t drawn = drawn_rollouts(c, models),
                      asked = std::min(
                          drawn, std::uint64_t(c.train.prompts_per_step * models.most_rounds));
  const std::uint64_t rollouts = drawn + (models.answers_greedily ? asked : 0);
  f.most_rollouts = std::int64_t(rollouts), f.most_rounds = models.most_rounds;
  RunConfig resolved = c;
  resolved.train.micro_batch_tokens = micro_batch_tokens(c, models.policy);
  const std::uint64_t limit =
      c.run.memory_limit.empty() ? kNoLimit : parse_bytes(c.run.memory_limit, "run.memory_limit");
  for (int rank = 0; rank < ranks; ++rank) {
    if (!f.ranks.empty() && same_need(f.layout, rank, f.ranks.back().first)) {
      f.ranks.back().last = rank;
      continue;
    }
    RankRange range{rank, rank, {}, memory_need(resolved, models, f.layout, rank, longest), {}};
    range.use = fit_memory(range.memory, limit, "run.memory_limit is", machine.threads);
    for (std::size_t s = 0; s < f.layout.hosts.size(); ++s) {
      if (f.layout.hosts_stage(rank, comm::Stage(s))) range.stages.push_back(comm::Stage(s));
    }
    f.ranks.push_back(range);
  }
  const auto count = [&](comm::Stage stage) { return std::uint64_t(f.layout.of(stage).size()); };
  const std::uint64_t generators = std::min<std::uint64_t>(count(comm::Stage::generation),
                                                           std::uint64_t(c.train.prompts_per_step));
  const bool own =
      f.layout.hosts_stage(f.layout.of(comm::Stage::generation).front(), comm::Stage::scoring);
  const auto& generating = f.layout.of(comm::Stage::generation);
  const auto storing =
      aggregators(f.layout, {generating.begin(), generating.begin() + std::ptrdiff_t(generators)});
  // files of scored shards per round
  const std::uint64_t files =
      aggregates(c, f.layout) ? std::set<int>(storing.begin(), storing.end()).size() : generators;
  // messages with shards to a rank that scores them, or to an aggregator
  const std::uint64_t notices = own ? generators - files : generators;
  // plans in a step, each of which yields shards
  const std::uint64_t plans = std::uint64_t(models.most_rounds) * (models.answers_greedily ? 2 : 1);
  // A rank that scores its own shard stores shard and scores in one file. One more file lists what
  // the step trained on.
  const std::uint64_t step_files = plans * (own ? 1 : 2) * files + 1;
  const Receivers to = receivers_of(f.layout);
  f.messages_per_step = generators + files + notices + count(comm::Stage::update) + 1 + to.notified;
  f.control_bytes_per_step = f.messages_per_step * kMessageBytes +
                             std::uint64_t(c.train.prompts_per_step) * kPlanBytes +
                             rollouts * kReportBytes +
                             2 * files * kMessageBytes;  // a file is named to the update rank that
                                                         // reads it, and to the first update rank
  const bool on_device = c.run.numerics == kernels::kCudaBf16Sliced8;
  f.weight_bytes_per_step = to.nodes * weights;
  const int lead = f.layout.of(comm::Stage::update).front(),
            beside = f.layout.on_node_of(lead, comm::Stage::update);
  // a weight's gradient sum has 8 bytes, and its new value 4
  const bool across = std::uint64_t(beside) < count(comm::Stage::update);
  f.gradient_bytes_per_step = across ? 3 * weights / std::uint64_t(beside) *
                                           std::uint64_t(c.train.epochs * c.train.mini_batches)
                                     : 0;
  if (on_device) forecast_devices(f, resolved, models.policy);
  const std::uint64_t evaluated = std::uint64_t(longest.heldout * c.eval.samples) *
                                  std::uint64_t(int(c.eval.before) + int(c.eval.after));
  const std::uint64_t validated =
      c.eval.every > 0 ? std::uint64_t(c.train.steps / c.eval.every * longest.validation *
                                       c.eval.validation_samples)
                       : 0;
  const std::uint64_t rollout_bytes =
      kRolloutBytes + std::uint64_t(2 * f.most_turns) * kTurnBytes +
      std::uint64_t(f.new_tokens + longest.prompt) * kTokenBytes +
      (truncates(c.sampling)
           ? std::uint64_t(c.sampling.max_new_tokens) * (kKeptBytes + kept_id_bytes(c.sampling))
           : 0);
  f.counts_kept_ids = !renormalises(c.sampling) || c.sampling.top_k > 0;
  // weights, two moments and, if there is one, the reference
  const std::uint64_t checkpoint_bytes = (models.has_reference ? 4 : 3) * weights;
  forecast_files(f, c, {step_files, optimizer_ranks(f.layout, models.policy)},
                 (evaluated + validated) * rollout_bytes, rollouts * rollout_bytes,
                 checkpoint_bytes);
  return f;
}

void check_quota(const Forecast& f, const Quota& quota) {
  const std::uint64_t fixed = f.most_files - f.shard_files,
                      fits = quota.files > fixed
                                 ? (quota.files - fixed) / std::max<std::uint64_t>(f.step_files, 1)
                                 : 0;
  require<ConfigError>(
      quota.files == 0 || f.most_files <= quota.files,
      fmt::format("the run needs up to {} files and folders, and the quota is {}", f.most_files,
                  quota.files),
      fmt::format("{} of them are shards of {} steps that wait to be packed", f.shard_files,
                  f.waiting_steps),
      fits > 0
          ? fmt::format(
                "set archive.pack_every and checkpoint.every so that no more than {} steps wait",
                fits)
          : std::string(
                "even one step is too many: use fewer generation ranks, or ask the site for more"));
  require<ConfigError>(
      quota.bytes == 0 || f.most_bytes <= quota.bytes,
      fmt::format("the run needs up to {}, and the quota is {}", bytes_text(f.most_bytes),
                  bytes_text(quota.bytes)),
      fmt::format("{} of it is the archive, at the longest responses", bytes_text(f.archive_bytes)),
      "shorten the run or sampling.max_new_tokens, or put run.dir on a larger file system");
}

std::string one_sentence(const Forecast& f, std::uint64_t free_bytes) {
  std::uint64_t peak = 1;
  for (const auto& range : f.ranks) peak = std::max(peak, range.use.bytes);
  const std::uint64_t room = free_bytes / peak;
  std::string fits = fmt::format("fits, this machine has {} free", bytes_text(free_bytes));
  if (!f.memory_limit.empty()) fits = fmt::format("fits run.memory_limit = {}", f.memory_limit);
  else if (room == 0)
    fits = fmt::format("does not fit this machine, which has {} free", bytes_text(free_bytes));
  else if (room < std::uint64_t(f.layout.ranks))
    fits = fmt::format("{} of {} ranks fit this machine, which has {} free", room, f.layout.ranks,
                       bytes_text(free_bytes));
  return fmt::format(
      "{} prompts x {} = {} rollouts a step, {} update{}; longest sequence {} tokens, {} of them "
      "new; peak {} a rank: {}\n",
      f.prompts, f.rollouts_per_prompt, f.prompts * f.rollouts_per_prompt, f.updates,
      f.updates == 1 ? "" : "s", f.longest.prompt + f.new_tokens, f.new_tokens, bytes_text(peak),
      fits);
}

std::string to_text(const Forecast& f) {
  const auto nodes = std::set<int>(f.layout.nodes.begin(), f.layout.nodes.end()).size();
  std::string text = fmt::format(
      "layout {} on {} ranks of {} node{}, {} parameters, {}\n\n  {:<16} {:<40} {}\n",
      f.layout.name, f.layout.ranks, nodes, nodes == 1 ? "" : "s", f.parameters, f.numerics,
      "ranks", "stages", fmt::format("memory a rank, {} threads", f.threads));
  for (const auto& range : f.ranks) {
    std::string stages;
    for (const auto stage : range.stages)
      stages += fmt::format("{}{}", stages.empty() ? "" : ", ", comm::stage_name(stage));
    text +=
        fmt::format("  {:<16} {:<40} {}\n",
                    range.first == range.last ? fmt::format("{}", range.first)
                                              : fmt::format("{} .. {}", range.first, range.last),
                    stages, bytes_text(range.use.bytes));
    text += fmt::format("    {}\n", items_text(range.memory));
  }
  text += fmt::format(
      "\n  a step: {} control messages ({}), weights {} by collective, gradients and their steps "
      "{} a rank\n",
      f.messages_per_step, bytes_text(f.control_bytes_per_step),
      bytes_text(f.weight_bytes_per_step), bytes_text(f.gradient_bytes_per_step));
  if (f.most_turns > 0)
    text += fmt::format("  a conversation: up to {} turn{}, {} tokens after the prompt\n",
                        f.most_turns, f.most_turns == 1 ? "" : "s", f.new_tokens);
  if (f.most_rollouts > f.prompts * f.rollouts_per_prompt)
    text += fmt::format(
        "  a step draws up to {} rollouts in up to {} round{}, which files and memory are for\n",
        f.most_rollouts, f.most_rounds, f.most_rounds == 1 ? "" : "s");
  text += fmt::format(
      "  files: at most {} shards of {} steps waiting, {} archive files ({} at the longest "
      "responses), {} in checkpoints ({})\n",
      f.shard_files, f.waiting_steps, f.archive_files, bytes_text(f.archive_bytes),
      f.checkpoint_files, bytes_text(f.checkpoint_bytes));
  text += fmt::format(
      "  quota: at most {} files and folders, {}; {} more for each crash; {} if nothing were "
      "packed\n",
      f.most_files, bytes_text(f.most_bytes), f.crash_files, f.unpacked_files);
  if (!f.counts_kept_ids)
    text +=
        "  not counted: the ids that each token was drawn from (sampling.logprob = \"kept\"), 4 "
        "bytes each, whose number sampling.top_p alone does not bound\n";
  return text;
}

}  // namespace rollcall::sizing
