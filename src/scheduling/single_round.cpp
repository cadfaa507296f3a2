// Sampler, then allocator; their states under one format number.
#include "scheduling/single_round.hpp"

#include "base/error.hpp"
#include "scheduling/allocation_metrics.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

namespace rollcall::scheduling {
namespace {

constexpr int kFormat = 1;  // of the saved state; raise it when a key changes its meaning

std::vector<std::int32_t> distinct(std::vector<std::int32_t> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

}  // namespace

SingleRoundPolicy::SingleRoundPolicy(std::string row, const PromptTable& prompts, std::unique_ptr<Sampler> sampler, std::unique_ptr<Allocator> allocator)
    : row_(std::move(row)), prompts_(prompts), levels_(distinct(prompts.level)), sampler_(std::move(sampler)), allocator_(std::move(allocator)) {}

Decision SingleRoundPolicy::begin_step(const StepRequest& request) {
  require<ConfigError>(request.prompts > 0, fmt::format("a step of {} prompts", request.prompts), "there is nothing to draw rollouts of",
                       "set train.prompts_per_step to at least 1");
  require<ConfigError>(request.min_rollouts > 0, fmt::format("at least {} rollouts a prompt", request.min_rollouts),
                       "a chosen prompt without a rollout is no group", "set scheduler.min_rollouts to at least 1");
  require<ConfigError>(request.max_rollouts <= std::numeric_limits<std::uint32_t>::max(), fmt::format("{} rollouts a prompt", request.max_rollouts),
                       "samples are numbered with 32 bits", "lower scheduler.max_rollouts");
  Decision decision;
  for (const auto& [prompt, draw] : sampler_->choose(request.prompts)) {
    decision.groups.push_back({.id = {request.step, prompt, draw}, .level = prompts_.level[prompt.value]});
  }
  const std::vector<std::int64_t> counts = allocator_->counts(request, decision.groups);
  for (std::size_t i = 0; i < counts.size(); ++i) decision.groups[i].count = std::uint32_t(counts[i]);
  metrics_ = allocation_metrics(decision.groups, levels_);
  return decision;
}

Decision SingleRoundPolicy::next_round(const StepRequest&, const std::vector<GroupReport>&) {
  expect(false, "a single-round policy closes its step with the first decision");
  return {};
}

void SingleRoundPolicy::end_step(const std::vector<GroupReport>& reports) {
  sampler_->learn(reports);
  allocator_->learn(reports);
}

std::string SingleRoundPolicy::save() const {
  const nlohmann::json state = {
      {"format", kFormat},  {"policy", row_}, {"prompts", prompts_.level.size()}, {"sampler", sampler_->save()}, {"allocator", allocator_->save()},
      {"metrics", metrics_}};
  return state.dump();
}

void SingleRoundPolicy::load(const std::string& text) {
  const char* why = "the run could not continue where it stopped";
  try {
    const auto state = nlohmann::json::parse(text);
    const auto format = state.at("format").get<int>();
    require<StorageError>(format == kFormat, fmt::format("scheduler state of format {}, this build reads {}", format, kFormat), why,
                          "resume with the version of Rollcall that wrote it");
    const auto row = state.at("policy").get<std::string>();
    require<StorageError>(row == row_, fmt::format("scheduler state of the policy {}, not {}", row, row_), why,
                          "resume with the scheduler.policy it was started with");
    const auto size = state.at("prompts").get<std::size_t>();
    require<StorageError>(size == prompts_.level.size(), fmt::format("scheduler state for {} training prompts, not {}", size, prompts_.level.size()), why,
                          "resume with the task section it was started with");
    sampler_->load(state.at("sampler"));
    allocator_->load(state.at("allocator"));
    metrics_ = state.at("metrics").get<decltype(metrics_)>();
  } catch (const nlohmann::json::exception& e) {
    throw StorageError(error_message(fmt::format("not a scheduler state: {}", e.what()), why, "resume from an older checkpoint"));
  }
}

}  // namespace rollcall::scheduling
