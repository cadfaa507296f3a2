// Lists the columns that stages provide, and answers the questions of the header from them.
#include "run/context/column_sources.hpp"

#include "method/columns.hpp"
#include "scheduling/schedulers.hpp"

#include <algorithm>
#include <array>

namespace rollcall::run {
namespace {

namespace column = method::column;

constexpr std::array from_the_batch = {
    column::old_entropy,     column::correct,     column::answer,
    column::expert,          column::version_lag, column::prior,
    column::posterior,       column::predicted,   column::prompt_best_length,
    column::greedy_reward,   column::derived,     column::tier,
    column::opening,         column::given,       column::parent,
    column::fork_token,      column::turn_reward, column::turn_state,
    column::turn_next_state, column::turn_action, column::turn_flags,
    column::turn_kind,       column::turn_seat};
constexpr std::array from_a_pass = {column::reference_logprob,
                                    column::teacher_logprob,
                                    column::teacher_kl,
                                    column::current_logprob,
                                    column::current_entropy,
                                    column::sum_squares,
                                    column::value,
                                    column::gradient_cosine,
                                    column::reasoning_step,
                                    column::probe_accuracy,
                                    column::probe_confidence,
                                    column::gold_logprob,
                                    column::gold_logprob_before,
                                    column::masked_logprob,
                                    column::unhinted_logprob};

bool among(const auto& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool is_provided(const std::string& name) {
  return among(from_the_batch, name) || among(from_a_pass, name) ||
         name.starts_with("component/") || name.starts_with(column::flat_reference) ||
         name.starts_with(column::draw_hits);
}

bool runs_passes(const method::Objective& objective) {
  const auto columns = objective.columns();
  return objective.needs_value() ||
         std::any_of(columns.begin(), columns.end(), [](const std::string& name) {
           const bool stored = name == column::current_logprob || name == column::current_entropy;
           return (among(from_a_pass, name) && !stored) ||
                  name.starts_with(column::flat_reference) || name.starts_with(column::draw_hits);
         });
}

bool reads_tracked_success(const RunConfig& config, const method::Objective& objective) {
  const auto columns = objective.columns();
  if (std::find(columns.begin(), columns.end(), method::column::prior) != columns.end())
    return true;
  const SchedulerSection& s = config.scheduler;
  return scheduling::resolve({s.policy, s.sampler, s.allocator, s.rounds, s.selection}).sampler ==
         "tracked_deviation";
}

bool learns_mended(const RunConfig& config, const method::Objective& objective) {
  const auto columns = objective.columns();
  return config.second_pass.kind == "error" &&
         std::find(columns.begin(), columns.end(), method::column::given) != columns.end();
}

bool learns_given(const RunConfig& config, const method::Objective& objective) {
  return config.hints.learns || learns_mended(config, objective);
}

StepResidency step_at(const RunConfig& c, const method::Objective& objective) {
  // After the first update the stored log-probs no longer match the policy, and all ranks compute
  // them again.
  const bool one_update = c.train.epochs == 1 && c.train.mini_batches == 1;
  // Rollouts that train after a prompt different from the one they were asked have no log-probs
  // there.
  const bool behind_others = !c.second_pass.kind.empty() && c.second_pass.trained_on == "parent";
  const bool own = c.replay.share == 0.0 && c.experts.share == 0.0 &&
                   c.train.from_archive.empty() && !behind_others && !learns_given(c, objective);
  return one_update && own && !reads_tracked_success(c, objective) && !runs_passes(objective)
             ? StepResidency::leader
             : StepResidency::every_rank;
}

}  // namespace rollcall::run
