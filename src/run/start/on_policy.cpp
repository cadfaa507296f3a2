// Asks the objective which of its pieces are idle if every ratio is 1.
#include "run/start/on_policy.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "base/text/joined.hpp"
#include "kernels/kernel_set.hpp"
#include "run/start/unreached.hpp"
#include "scheduling/schedulers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace rollcall::run {
namespace {

constexpr const char* kMoreUpdates = "set train.mini_batches or train.epochs above 1";

std::vector<std::string> named_idle(const RunConfig& config, const std::vector<std::string>& idle) {
  std::vector<std::string> named;
  std::copy_if(idle.begin(), idle.end(), std::back_inserter(named),
               [&](const auto& piece) { return names_piece(config, piece); });
  return named;
}

}  // namespace

bool is_on_policy(const RunConfig& c) {
  const SchedulerSection& s = c.scheduler;
  return c.train.steps > 0 && c.train.from_archive.empty() &&
         c.train.epochs * c.train.mini_batches == 1 && c.replay.share == 0.0 &&
         c.experts.share == 0.0 && c.guide.share == 0.0 && c.second_pass.kind.empty() &&
         c.second_pass.buffer == 0.0 && c.run.numerics != kernels::kCudaBf16Sliced8 &&
         scheduling::resolve({s.policy, s.sampler, s.allocator, s.rounds, s.selection}).rounds !=
             "hints";
}

void check_idle_pieces(const RunConfig& config, const method::Objective& objective) {
  if (!is_on_policy(config)) return;
  for (const auto& piece : named_idle(config, objective.on_policy().idle))
    require<ConfigError>(
        piece.starts_with("ratio "),
        fmt::format("objective.pieces names {}, and a step has one optimizer step", piece),
        "it compares policies that are the same there, so it would change nothing",
        fmt::format("{}, or leave it out", kMoreUpdates));
}

IdleTold idle_told(const RunConfig& config, const method::Objective& objective) {
  if (!is_on_policy(config)) return {};
  const auto [idle, acts_as] = objective.on_policy();
  if (idle.empty() && acts_as.empty()) return {};
  std::string nothing, alike;
  if (!idle.empty())
    nothing =
        fmt::format("{} change{} nothing", joined(idle, " and "), idle.size() == 1 ? "s" : "");
  if (!acts_as.empty())
    alike = fmt::format("objective.recipe {} has the derivative of {}{}", config.objective.recipe,
                        acts_as, idle.empty() ? "" : ", and ");
  return {fmt::format("a step has one optimizer step, on rollouts of the policy that it starts "
                      "from, so that every ratio is 1: {}{}; {}",
                      alike, nothing, kMoreUpdates),
          !named_idle(config, idle).empty()};
}

void tell_idle_pieces(const RunConfig& config, const method::Objective& objective) {
  const auto [sentence, is_warning] = idle_told(config, objective);
  if (sentence.empty()) return;
  if (is_warning) log_warning("{}", sentence);
  else log_info("{}", sentence);
}

}  // namespace rollcall::run
