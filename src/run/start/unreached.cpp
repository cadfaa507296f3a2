// A table of pieces that act on something which not every run has, and of recipes that have them.
#include "run/start/unreached.hpp"

#include "base/errors/error.hpp"
#include "method/columns.hpp"
#include "run/start/on_policy.hpp"
#include "scheduling/schedulers.hpp"
#include "task/task.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::run {
namespace {

scheduling::SchedulerChoice pieces_of(const SchedulerSection& s) {
  return scheduling::resolve({s.policy, s.sampler, s.allocator, s.rounds, s.selection});
}

bool asks_again(const RunConfig& c) {
  return !c.second_pass.kind.empty() || c.second_pass.buffer > 0.0;
}
/// Whether some rollouts may have tokens that the policy did not sample.
bool gives_tokens(const RunConfig& c) {
  return asks_again(c) || pieces_of(c.scheduler).rounds == "hints" || c.guide.share > 0.0 ||
         c.experts.share > 0.0 || !c.openings.texts.empty() || task::has_environment(c);
}
/// Whether groups may have an odd number of rollouts.
bool has_odd_groups(const RunConfig& c) {
  const auto chosen = pieces_of(c.scheduler);
  return c.train.rollouts_per_prompt % 2 == 1 || chosen.allocator != "equal" ||
         (chosen.rounds != "single" && chosen.rounds != "refill") || c.experts.share > 0.0 ||
         asks_again(c);
}

/// A piece that acts only in runs of a kind.
struct Part {
  std::string_view piece;  ///< family and name
  bool (*is_reached)(const RunConfig& config);
  const char* key;      ///< the setting that is missing
  const char* lacking;  ///< the part that the run lacks
  const char* remedy;
};
constexpr const char *kNoGiven = "no tokens are given to any rollout",
                     *kSetGiven = "set scheduler.policy=ghpo or second_pass.kind=error";
constexpr Part kParts[] = {
    {"regularizer given_nll", gives_tokens, "scheduler.policy", kNoGiven, kSetGiven},
    {"weight drop_after_given", gives_tokens, "scheduler.policy", kNoGiven, kSetGiven},
    {"weight hint_consistency", gives_tokens, "scheduler.policy", kNoGiven, kSetGiven},
    {"surrogate shaped_off_policy", asks_again, "second_pass.kind",
     "no answer is written again, so that it is clip", "set second_pass.kind=refinement"},
    {"weight drop_pivot", has_odd_groups, "train.rollouts_per_prompt",
     "groups have an even number of rollouts, which has no single median",
     "set an odd train.rollouts_per_prompt"},
};

/// A section of the run file that belongs to a recipe, but that the recipe does not need.
struct Section {
  std::string_view recipe;
  bool (*is_there)(const RunConfig& config);
  const char* without;
};
constexpr Section kSections[] = {
    {"rlgf", [](const RunConfig& c) { return c.guide.share > 0.0; },
     "guide.share, and it is 0: no guide begins answers, and what remains is PPO with a cost of "
     "the divergence"},
};

/// Whether a list of pieces that are joined by + has this one.
bool lists(std::string_view pieces, std::string_view piece) {
  for (std::size_t begin = 0; begin <= pieces.size();) {
    const auto end = std::min(pieces.find('+', begin), pieces.size());
    if (pieces.substr(begin, end - begin) == piece) return true;
    begin = end + 1;
  }
  return false;
}

std::string_view family_of(std::string_view family_piece) {
  return family_piece.substr(0, family_piece.find(' '));
}
std::string_view name_of(std::string_view family_piece) {
  return family_piece.substr(family_piece.find(' ') + 1);
}

/// Whether the row of the recipe has the piece.
bool is_of_row(const RunConfig& config, std::string_view piece) {
  for (const auto& recipe : method::library().recipes())
    for (std::size_t f = 0; f < method::family_names.size(); ++f)
      if (recipe.name == config.objective.recipe && method::family_names[f] == family_of(piece) &&
          lists(recipe.pieces[f], name_of(piece)))
        return true;
  return false;
}

/// Whether the run file replaces all pieces of the family.
bool replaces(const RunConfig& config, std::string_view family) {
  return std::any_of(config.objective.pieces.begin(), config.objective.pieces.end(),
                     [&](const auto& given) { return given.first == family; });
}

bool compares_with_reference(const method::Objective& objective) {
  const auto columns = objective.columns();
  return std::any_of(columns.begin(), columns.end(), [](const auto& name) {
    return name.starts_with(method::column::reference_logprob);
  });
}

/// Whether the reference is the policy from which every step starts.
bool follows_at_once(const RunConfig& c, const method::Objective& objective) {
  return is_on_policy(c) && compares_with_reference(objective) && c.reference.model.empty() &&
         (c.reference.decay == 0.0 || c.reference.refresh_every == 1);
}

/// Whether the run file wants moments of the rollouts that train, and all of them do.
bool has_moments_of_all(const RunConfig& c) {
  const auto& knobs = c.objective.knobs;
  return pieces_of(c.scheduler).selection == "all" && !asks_again(c) &&
         std::any_of(knobs.begin(), knobs.end(), [](const auto& knob) {
           return knob.first.ends_with("moments_of") && knob.second == "trained";
         });
}

}  // namespace

bool names_piece(const RunConfig& config, std::string_view family_piece) {
  return !is_of_row(config, family_piece) &&
         std::any_of(config.objective.pieces.begin(), config.objective.pieces.end(),
                     [&](const auto& given) {
                       return given.first == family_of(family_piece) &&
                              lists(given.second, name_of(family_piece));
                     });
}

void check_unreached(const RunConfig& c, const method::Objective& objective, Faults& faults) {
  if (c.train.steps == 0 || !c.train.from_archive.empty()) return;
  for (const Part& part : kParts)
    faults.check({"objective.pieces", "objective.", part.key, "scheduler."}, [&] {
      require<ConfigError>(
          part.is_reached(c) || !names_piece(c, part.piece),
          fmt::format("objective.pieces names {}, but {}", part.piece, part.lacking),
          "it would change nothing", fmt::format("{}, or leave it out", part.remedy));
    });
  faults.check({"reference.refresh_every", "reference.decay", "objective.", "scheduler."}, [&] {
    require<ConfigError>(
        !follows_at_once(c, objective),
        fmt::format("reference.{}, and a step has one optimizer step",
                    c.reference.decay == 0.0 ? "decay is 0" : "refresh_every is 1"),
        "every step starts from the reference, so a divergence from it would change nothing",
        "set reference.refresh_every above 1, a reference.decay above 0, or train.mini_batches "
        "above 1");
  });
  faults.check({"objective.knobs", "objective.", "scheduler."}, [&] {
    require<ConfigError>(!has_moments_of_all(c),
                         "objective.knobs.moments_of is trained, and all rollouts of a group train",
                         "mean and spread would be those of moments_of = drawn",
                         "set scheduler.policy=pods, or another that leaves rollouts out");
  });
}

std::vector<std::string> unreached_told(const RunConfig& c, const method::Objective& objective) {
  std::vector<std::string> all;
  if (c.train.steps == 0 || !c.train.from_archive.empty()) return all;
  for (const Part& part : kParts)
    if (is_of_row(c, part.piece) && !replaces(c, family_of(part.piece)) && !part.is_reached(c))
      all.push_back(fmt::format("{} of objective.recipe {} changes nothing, because {}; {}",
                                part.piece, c.objective.recipe, part.lacking, part.remedy));
  for (const Section& row : kSections)
    if (row.recipe == c.objective.recipe && !row.is_there(c))
      all.push_back(fmt::format("objective.recipe {} goes with {}", row.recipe, row.without));
  for (const auto& [piece, setting, tokens] : objective.least_lengths())
    if (double(c.sampling.max_new_tokens) < tokens)
      all.push_back(
          fmt::format("sampling.max_new_tokens is {}, and objective.knobs.{} of {} counts from {} "
                      "tokens on: set it for answers of this length",
                      c.sampling.max_new_tokens, setting, piece, tokens));
  return all;
}

}  // namespace rollcall::run
