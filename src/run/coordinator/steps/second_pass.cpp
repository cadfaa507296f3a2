// Orders the answers of a step by drawn numbers and makes prompts of the first ones.
#include "run/coordinator/steps/second_pass.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/random.hpp"
#include "core/second_pass_bounds.hpp"
#include "run/context/derived/exhibits.hpp"
#include "run/context/derived/second_pass_texts.hpp"
#include "run/context/prompt_book.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace rollcall::run {
namespace {

/// The report of a group among ascending reports; null if there is none.
const GroupReport* report_of(const GroupId& id, const std::vector<GroupReport>& reports) {
  const auto found = std::lower_bound(
      reports.begin(), reports.end(), id,
      [](const GroupReport& report, const GroupId& wanted) { return report.id < wanted; });
  return found != reports.end() && found->id == id ? &*found : nullptr;
}

bool has_success(const GroupReport& report) {
  return std::find(report.correct.begin(), report.correct.end(), std::uint8_t{1}) !=
         report.correct.end();
}

Placement placement_of(const std::string& name) {
  if (name == "joins_parent") return Placement::joins_parent;
  if (name == "replaces_parent") return Placement::replaces_parent;
  return name == "replaces_one" ? Placement::replaces_one : Placement::own_group;
}

const char* name_of(DerivedKind kind) {
  switch (kind) {
    case DerivedKind::refinement: return "refinement";
    case DerivedKind::error: return "error";
    case DerivedKind::intervention: return "intervention";
    case DerivedKind::continuation: return "continuation";
    case DerivedKind::pool: return "pool";
    default: return nullptr;
  }
}

}  // namespace

/// An answer that may be asked about. Candidates are taken in ascending `order`, which is drawn.
struct SecondPass::Candidate {
  std::uint64_t order = 0;
  Source source{};
};

SecondPass::SecondPass(const RunConfig& config, const RunTexts& texts, std::int64_t positions,
                       std::uint64_t step, bool learns_mended)
    : config_(&config),
      texts_(&texts),
      room_(config.second_pass.kind.empty() ? 0 : longest_asked(config, texts, positions)),
      step_(step),
      learns_mended_(learns_mended) {}

DerivedRound SecondPass::next(const std::vector<Specimen>& specimens,
                              const std::vector<GroupReport>& reports) {
  const std::string& kind = config_->second_pass.kind;
  if (kind != "refinement" && kind != "error") return {};
  ++round_;
  if (round_ == 1) return first(specimens, reports);
  return round_ == 2 && names_errors(config_->second_pass) ? second(specimens) : DerivedRound{};
}

/// The answers that second_pass.of allows, in the order that was drawn. Those that a limit cut are
/// counted as left out.
std::vector<SecondPass::Candidate> SecondPass::candidates(const std::vector<Specimen>& specimens,
                                                          const std::vector<GroupReport>& reports) {
  const std::string& of = config_->second_pass.of;
  std::vector<Candidate> all;
  for (const Specimen& group : specimens) {
    const GroupReport* report = report_of(group.id, reports);
    // A group without any verdict is not a failure.
    if (report == nullptr || !is_plain(report->id, report->from) || report->rewards.empty())
      continue;
    if (of == "dead" && has_success(*report)) continue;
    left_out_ += std::int64_t(group.cut);
    const RandomStream stream(std::uint64_t(config_->run.seed), RandomPurpose::second_pass,
                              group.id.step, group.id.prompt.value, group.id.draw);
    for (const Exhibit& answer : group.exhibits)
      if (of == "every" || !answer.correct)
        all.push_back({stream.bits(answer.sample), {group.id, group.level, answer}});
  }
  std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.order, a.source.parent, a.source.answer.sample) <
           std::tie(b.order, b.source.parent, b.source.answer.sample);
  });
  return all;
}

const Prompt& SecondPass::question(const Source& source) const {
  return texts_->prompts.train.at(source.parent.prompt.value);
}

bool SecondPass::fits(const DerivedPrompt& derived) const {
  const auto given = std::int64_t(derived.given.size());
  return std::int64_t(texts_->format->prompt_tokens(derived.prompt).size()) <= room_ &&
         given < config_->sampling.max_new_tokens;
}

/// A prompt without its number. Errors help to make other prompts, and train nowhere.
DerivedPrompt SecondPass::make(DerivedKind kind, const Source& source, std::string text) const {
  return {.prompt = {.id = {},
                     .level = source.level,
                     .text = std::move(text),
                     .answer = question(source).answer,
                     .solution = {}},
          .from = {.kind = kind,
                   .parent = source.parent,
                   .parent_sample = source.answer.sample,
                   .tier = 0,
                   .placement = kind == DerivedKind::error
                                    ? Placement::trains_nowhere
                                    : placement_of(config_->second_pass.placement)}};
}

DerivedPrompt SecondPass::make_first(const Source& source) const {
  const SecondPassSection& settings = config_->second_pass;
  const Prompt& asked = question(source);
  const Exhibit& answer = source.answer;
  if (names_errors(settings))
    return make(DerivedKind::error, source, error_text(settings, *texts_, asked, answer.text));
  return make(
      DerivedKind::refinement, source,
      refinement_text(settings, *texts_, asked, answer.text, feedback_on(settings, asked, answer)));
}

/// Gives the prompt its number and adds its group to the round.
void SecondPass::ask(DerivedPrompt derived, DerivedRound& round) {
  const DerivedKind kind = derived.from.kind;
  const std::uint64_t index = used_[kind]++;
  expect(index < kDerivedOfAStep, "the checks of settings leave a number for every prompt");
  derived.prompt.id = derived_number(kind, step_, index);
  const bool own = derived.from.placement == Placement::own_group;
  round.groups.push_back(
      {.id = {step_, derived.prompt.id, 0},
       .level = derived.prompt.level,
       .first_sample = own ? 0 : first_derived_sample(derived.prompt.id),
       .count = kind == DerivedKind::error ? 1 : std::uint32_t(config_->second_pass.rollouts),
       .from = derived.from});
  round.prompts.push_back(std::move(derived));
}

DerivedRound SecondPass::first(const std::vector<Specimen>& specimens,
                               const std::vector<GroupReport>& reports) {
  const SecondPassBounds bounds = second_pass_bounds(*config_);
  const auto plain = std::count_if(reports.begin(), reports.end(), [](const GroupReport& report) {
    return is_plain(report.id, report.from);
  });
  const auto share =
      std::int64_t(config_->second_pass.share * double(plain) + 1e-9);  // rounded down
  const auto most_parents = std::size_t(std::min(bounds.parents, share));
  std::map<GroupId, std::int64_t> parents;  // number of prompts of each
  std::vector<std::pair<Source, DerivedPrompt>> chosen;
  for (Candidate& candidate : candidates(specimens, reports)) {
    if (std::int64_t(chosen.size()) == bounds.prompts) break;
    const auto known = parents.find(candidate.source.parent);
    if (known == parents.end() ? parents.size() == most_parents
                               : known->second == bounds.of_a_group)
      continue;
    DerivedPrompt derived = make_first(candidate.source);
    if (!fits(derived)) {
      ++left_out_;
      continue;
    }
    ++parents[candidate.source.parent];
    chosen.emplace_back(std::move(candidate.source), std::move(derived));
  }
  std::sort(chosen.begin(), chosen.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first.parent, a.first.answer.sample) <
           std::tie(b.first.parent, b.first.answer.sample);
  });
  DerivedRound round;
  for (auto& [source, derived] : chosen) {
    const bool named = derived.from.kind == DerivedKind::error;
    ask(std::move(derived), round);
    if (named) named_.emplace(round.prompts.back().prompt.id, std::move(source));
  }
  return round;
}

/// Prompts made of the errors that the first round has named.
DerivedRound SecondPass::second(const std::vector<Specimen>& specimens) {
  const SecondPassSection& settings = config_->second_pass;
  DerivedRound round;
  for (const Specimen& group : specimens) {
    const auto found = named_.find(group.id.prompt);
    if (found == named_.end() || group.exhibits.empty()) continue;
    const Source& source = found->second;
    const std::string& error = group.exhibits.front().text;
    std::optional<DerivedPrompt> derived;
    if (settings.kind == "refinement") {
      derived =
          make(DerivedKind::refinement, source,
               refinement_text(settings, *texts_, question(source), source.answer.text, error));
    } else if (auto beginning = mended_beginning(*texts_->format, source.answer, error)) {
      derived = make(DerivedKind::intervention, source, question(source).text);
      derived->prompt.conversation = question(source).conversation;
      derived->given = std::move(*beginning), derived->learns_given = learns_mended_;
    }
    if (derived && fits(*derived)) ask(std::move(*derived), round);
  }
  // Errors that were cut or have no verdict have no specimen.
  left_out_ += std::int64_t(named_.size() - round.groups.size());
  return round;
}

std::map<std::string, double> SecondPass::metrics(const std::vector<GroupReport>& reports) const {
  if (!shows_exhibits(*config_)) return {};
  std::map<std::string, double> metrics{{"second_pass/rollouts", 0.0},
                                        {"second_pass/left_out", double(left_out_)}};
  for (const GroupReport& report : reports) {
    const char* kind = name_of(report.from.kind);
    if (kind == nullptr) continue;
    const std::string prefix = std::string("second_pass/") + kind;
    metrics[prefix + "_groups"] += 1.0;
    metrics[prefix + "_rollouts"] += double(drawn(report));
    if (report.from.kind != DerivedKind::error)  // nothing judges these
      metrics[prefix + "_correct"] +=
          double(std::count(report.correct.begin(), report.correct.end(), std::uint8_t{1}));
    if (report.from.kind != DerivedKind::continuation)  // these are of the scheduler's budget
      metrics["second_pass/rollouts"] += double(drawn(report));
  }
  return metrics;
}

}  // namespace rollcall::run
