// Asks the objective which of its pieces are idle where every ratio is 1.
#include "run/start/on_policy.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "base/text/joined.hpp"
#include "kernels/kernel_set.hpp"
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

/// Whether a list of pieces that are joined by + has this one.
bool lists(std::string_view pieces, std::string_view piece) {
  for (std::size_t begin = 0; begin <= pieces.size();) {
    const auto end = std::min(pieces.find('+', begin), pieces.size());
    if (pieces.substr(begin, end - begin) == piece) return true;
    begin = end + 1;
  }
  return false;
}

/// Whether the run file names the piece, which its recipe does not have. `family_piece`: such as
/// "weight tis".
bool is_named(const RunConfig& config, std::string_view family_piece) {
  const auto blank = family_piece.find(' ');
  const std::string_view family = family_piece.substr(0, blank),
                         piece = family_piece.substr(blank + 1);
  for (const auto& recipe : method::library().recipes())
    for (std::size_t f = 0; f < method::family_names.size(); ++f)
      if (recipe.name == config.objective.recipe && method::family_names[f] == family &&
          lists(recipe.pieces[f], piece))
        return false;
  return std::any_of(
      config.objective.pieces.begin(), config.objective.pieces.end(),
      [&](const auto& given) { return given.first == family && lists(given.second, piece); });
}

std::vector<std::string> named_idle(const RunConfig& config, const std::vector<std::string>& idle) {
  std::vector<std::string> named;
  std::copy_if(idle.begin(), idle.end(), std::back_inserter(named),
               [&](const auto& piece) { return is_named(config, piece); });
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
