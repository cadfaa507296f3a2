// Makes the table of prompts from which a scheduler chooses, and refuses a scheduler that needs
// more than the table has.
#include "run/coordinator/make_scheduler.hpp"
#include "base/errors/error.hpp"
#include "base/numbers/hash.hpp"
#include "run/context/run_texts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace rollcall::run {
namespace {

/// The table of the prompts. Domains are numbered in the order of their names. Either all prompts
/// have a domain, or the table has none. The same holds for priors.
scheduling::PromptTable prompt_table(const std::vector<Prompt>& prompts) {
  scheduling::PromptTable table;
  std::map<std::string, std::int32_t> number;
  for (const auto& prompt : prompts) {
    table.level.push_back(prompt.level);
    table.content.push_back(checksum64(prompt.answer, checksum64(prompt.text)));
    number[prompt.domain] = 0;
  }
  std::int32_t next = 0;
  for (auto& [name, n] : number) n = next++;
  if (std::none_of(prompts.begin(), prompts.end(),
                   [](const Prompt& p) { return p.domain.empty(); })) {
    for (const auto& prompt : prompts) table.domain.push_back(number.at(prompt.domain));
  }
  table.prior = predictions(prompts);
  return table;
}

void check_needs(const scheduling::Scheduler& policy, const std::string& name, bool domains,
                 bool priors) {
  for (const auto& need : policy.traits().needs) {
    // Scoring measures diversity on request, so every run has it.
    const bool given = (need.field == "domain" && domains) || (need.field == "prior" && priors) ||
                       need.field == "diversity";
    const bool by_task = need.field == "domain" || need.field == "prior";
    const std::string what = by_task ? fmt::format("a {} of every prompt", need.field)
                                     : fmt::format("the column {} of its reports", need.field);
    require<ConfigError>(
        given,
        fmt::format("the policy {} requires {}, which this run does not provide", name, what),
        need.reason,
        by_task
            ? fmt::format(
                  "name a field of the rows in task.fields.{}, or choose another scheduler.policy",
                  need.field)
            : "no stage measures it: change its scheduler.knobs or choose another scheduler.policy");
  }
}

}  // namespace

std::string diversity_of(const scheduling::Scheduler& policy) {
  for (const auto& need : policy.traits().needs)
    if (need.field == "diversity") return need.measure;
  return {};
}

std::unique_ptr<scheduling::Scheduler> make_scheduler(const RunConfig& config,
                                                      const RunTexts& texts) {
  const task::PromptSet& prompts = texts.prompts;
  // An evaluation of a file without training rows draws no prompt, but still needs a table.
  scheduling::PromptTable table =
      prompt_table(prompts.train.empty() ? prompts.heldout : prompts.train);
  table.law = config.success;
  table.tiers = texts.tiers;
  const bool domains = !table.domain.empty(), priors = !table.prior.empty();
  const auto& s = config.scheduler;
  auto policy =
      scheduling::make_scheduler({s.policy, s.sampler, s.allocator, s.rounds, s.selection}, s.knobs,
                                 std::move(table), std::uint64_t(config.run.seed));
  check_needs(*policy, s.policy, domains, priors);
  return policy;
}

}  // namespace rollcall::run
