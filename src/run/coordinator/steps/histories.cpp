// Keeps histories in the order of the answers that they end with, so that draws do not depend on
// the order in which groups arrived.
#include "run/coordinator/steps/histories.hpp"

#include "base/numbers/random.hpp"
#include "run/context/derived/second_pass_texts.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace rollcall::run {
namespace {

/// Population variance of the group's rewards; 0 for a group without any.
double variance_of(const GroupReport& report) {
  const auto& rewards = report.rewards;
  if (rewards.empty()) return 0.0;
  const double n = double(rewards.size());
  const double mean = std::accumulate(rewards.begin(), rewards.end(), 0.0) / n;
  return std::accumulate(rewards.begin(), rewards.end(), 0.0,
                         [&](double sum, double r) { return sum + (r - mean) * (r - mean); }) /
         n;
}

bool comes_before(const History& a, const History& b) {
  return std::tie(a.parent, a.sample) < std::tie(b.parent, b.sample);
}

Prompt question_of(const History& history) {
  return {.id = {},
          .level = history.level,
          .text = history.question,
          .answer = history.reference,
          .solution = {}};
}

}  // namespace

std::vector<History> with_step(std::vector<History> histories, const RunConfig& config,
                               const RunTexts& texts, const std::vector<DerivedPrompt>& asked,
                               const std::vector<Specimen>& specimens,
                               const std::vector<GroupReport>& reports) {
  std::map<GroupId, const GroupReport*> report_of;
  for (const GroupReport& report : reports) report_of[report.id] = &report;
  std::map<PromptId, const History*> continued;  // by the number of the prompt that continues it
  std::vector<History> all = histories;
  for (const DerivedPrompt& derived : asked) {
    const auto ends_alike = [&](const History& history) {
      return history.parent == derived.from.parent && history.sample == derived.from.parent_sample;
    };
    const auto of = std::find_if(histories.begin(), histories.end(), ends_alike);
    if (derived.from.kind != DerivedKind::continuation || of == histories.end()) continue;
    continued[derived.prompt.id] = &*of;
    for (const auto& [id, report] : report_of)
      if (id.prompt == derived.prompt.id && !report->rewards.empty())
        all[std::size_t(of - histories.begin())].variance = variance_of(*report);
  }
  for (const Specimen& group : specimens) {
    const auto report = report_of.find(group.id);
    if (report == report_of.end()) continue;
    const auto wrong = std::find_if(group.exhibits.begin(), group.exhibits.end(),
                                    [](const Exhibit& answer) { return !answer.correct; });
    const double variance = variance_of(*report->second);
    if (wrong == group.exhibits.end() || variance <= 0.0) continue;
    History fresh{.parent = group.id,
                  .sample = wrong->sample,
                  .level = group.level,
                  .answer = wrong->text,
                  .variance = variance};
    if (const auto before = continued.find(group.id.prompt); before != continued.end()) {
      fresh.question = before->second->question, fresh.reference = before->second->reference;
    } else if (is_plain(group.id, report->second->from)) {
      const Prompt& prompt = texts.prompts.train.at(group.id.prompt.value);
      fresh.question = prompt.text, fresh.reference = prompt.answer;
    } else {
      continue;
    }
    all.push_back(std::move(fresh));
  }
  std::sort(all.begin(), all.end(), comes_before);
  const auto most = std::size_t(config.second_pass.buffer_size);
  if (all.size() > most) {
    std::stable_sort(all.begin(), all.end(),
                     [](const History& a, const History& b) { return a.variance > b.variance; });
    all.resize(most);
    std::sort(all.begin(), all.end(), comes_before);
  }
  return all;
}

std::vector<DerivedPrompt> continuations(const std::vector<History>& histories,
                                         const RunConfig& config, const RunTexts& texts,
                                         std::int64_t positions, std::uint64_t step) {
  const SecondPassSection& settings = config.second_pass;
  const auto wanted =
      std::size_t(std::floor(settings.buffer * double(config.train.prompts_per_step) + 1e-9));
  const std::int64_t room = longest_second_pass(config, texts, positions);
  // No other address of this purpose contains the number of a prompt of the step.
  const RandomStream stream(std::uint64_t(config.run.seed), RandomPurpose::second_pass, step,
                            derived_number(DerivedKind::continuation, step, 0).value);
  std::vector<const History*> left;
  for (const History& history : histories)
    if (history.variance > 0.0) left.push_back(&history);
  std::vector<DerivedPrompt> chosen;
  for (std::uint64_t place = 0; !left.empty() && chosen.size() < wanted; ++place) {
    const double total =
        std::accumulate(left.begin(), left.end(), 0.0,
                        [](double sum, const History* h) { return sum + h->variance; });
    double below = stream.uniform(place) * total;
    auto at = left.begin();
    while (std::next(at) != left.end() && below >= (*at)->variance) below -= (*at++)->variance;
    const History& history = **at;
    left.erase(at);
    Prompt question = question_of(history);
    std::string text = refinement_text(settings, texts, question, history.answer, "");
    if (std::int64_t(texts.format->prompt_tokens(text).size()) > room) continue;
    question.id = derived_number(DerivedKind::continuation, step, chosen.size());
    question.text = std::move(text);
    chosen.push_back({.prompt = std::move(question),
                      .from = {.kind = DerivedKind::continuation,
                               .parent = history.parent,
                               .parent_sample = history.sample,
                               .tier = 0,
                               .placement = Placement::own_group}});
  }
  return chosen;
}

}  // namespace rollcall::run
