// The parts of the shared knowledge are bound, taught, saved and loaded in one order.
#include "scheduling/prompts/knowledge.hpp"

#include "base/errors/error.hpp"
#include "base/text/json.hpp"

#include <fmt/format.h>

#include <cmath>

namespace rollcall::scheduling {
namespace {

constexpr std::uint64_t kControlDraws = 303;  // the random numbers of a step's control

}  // namespace

Knowledge::Knowledge(PromptTable prompt_table, std::uint64_t run_seed)
    : prompts(std::move(prompt_table)), seed(run_seed), success_(estimate_) {
  require<ConfigError>(size() > 0, "there are no training prompts",
                       "the scheduler has nothing to choose from", "check the task section");
  require<ConfigError>(size() < (std::uint64_t{1} << 32),
                       fmt::format("{} training prompts", size()),
                       "prompts are numbered with 32 bits", "split the prompts over several runs");
  require<ConfigError>(
      prompts.content.empty() || prompts.content.size() == size(),
      fmt::format("{} contents for {} training prompts", prompts.content.size(), size()),
      "a prompt is recognised by its own content", "give every prompt one, or none at all");
}

void Knowledge::bind(ConfigSchema& schema) {
  signals.bind(schema, history.is_used() || uses_success_);
  if (history.is_used() || uses_success_)
    schema.bind("prior_success", &estimate_.prior_success,
                "pass rate assumed of a prompt without results", {0, 1});
  if (uses_success_) {
    schema.bind(
        "prior_required", &prior_required_,
        "every prompt needs a value model's prediction; the level's results do not stand in for it");
    schema.bind("prior_strength", &estimate_.prior_strength,
                "rollouts that this assumption is worth", {1e-3, 1e9});
    schema.bind("level_decay", &estimate_.level_decay, "share of a level's evidence kept per step",
                {0, 1});
    schema.bind("prompt_decay", &estimate_.prompt_decay,
                "share of a prompt's own evidence kept per step", {0, 1});
    schema.bind("level_strength", &estimate_.level_strength,
                "rollouts that the level's estimate is worth against the prompt's own",
                {1e-3, 1e9});
  }
  history.bind(schema);
}

void Knowledge::start() {
  signals.check();
  if (uses_success_) success_.expect(size());
  changes_.restart(history.is_used() || uses_success_ ? size() : 0);
  history.start(size(), [this](PromptId prompt) { return pass_rate(prompt); });
}

std::vector<Need> Knowledge::needs() const {
  if (!prior_required_) return {};
  return {{"prior", "its budgets follow the success that a value model predicts of each prompt"}};
}

double Knowledge::pass_rate(PromptId prompt) const {
  return history.pass_rate(prompt, prompts.prior.empty() ? estimate_.prior_success
                                                         : double(prompts.prior[prompt.value]));
}

double Knowledge::success(std::uint64_t step, PromptId prompt) const {
  const std::int32_t level = prompts.level.at(prompt.value);
  return prompts.prior.empty()
             ? success_.success(step, prompt, level)
             : success_.success(step, prompt, level, double(prompts.prior.at(prompt.value)));
}

double Knowledge::predicted(std::uint64_t step, PromptId prompt) const {
  return prompts.prior.empty() ? success(step, prompt) : double(prompts.prior.at(prompt.value));
}

const std::vector<GroupReport>& Knowledge::learned(const std::vector<GroupReport>& reports) {
  if (reports.empty()) return reports;
  return signals.learned(reports, random(reports.front().id.step, kControlDraws));
}

BinResults Knowledge::by_bin(const std::vector<GroupReport>& reports) const {
  const auto results = [&](const std::vector<GroupReport>& of) {
    return results_by_bin(of, history.bins_of(of), history.bins().size(), signals.signal(),
                          signals.arm_signal());
  };
  const Control& control = signals.control();
  if (!control.on() || reports.empty()) return results(reports);
  BinResults learned =
      results(control.heard(reports, random(reports.front().id.step, kControlDraws)));
  for (double& x : learned.signal) x *= control.sign();
  for (double& x : learned.gain) x *= control.sign();
  return learned;
}

void Knowledge::prefetch(PromptId prompt) const {
  __builtin_prefetch(&prompts.level[prompt.value]);
  if (uses_success_) success_.prefetch(prompt);
  history.prefetch(prompt);
}

void Knowledge::learn(const std::vector<GroupReport>& reports) {
  for (const GroupReport& report : reports) prefetch(report.id.prompt);
  history.prefetch_places(reports);
  if (uses_success_) success_.learn(learned(reports));
  for (const GroupReport& report : reports) changes_.note(std::uint32_t(report.id.prompt.value));
  if (history.has_bins()) latest_ = by_bin(reports);
  history.learn(
      reports, [this](PromptId prompt) { return pass_rate(prompt); }, changes_);
}

nlohmann::json Knowledge::head() const {
  nlohmann::json head = nlohmann::json::object();
  if (uses_success_) head["success"] = {{"levels", success_.save_levels()}};
  return head;
}

PromptRows Knowledge::take_rows(Rows which) {
  const std::vector<std::uint32_t> changed = changes_.take();
  PromptRows rows;
  rows.history = which == Rows::all ? history.rows() : history.rows(changed);
  if (uses_success_) rows.success = which == Rows::all ? success_.rows() : success_.rows(changed);
  return rows;
}

nlohmann::json Knowledge::save() const {
  nlohmann::json state = head();
  state["prompts"] = to_json(history.rows());
  if (uses_success_) state["success"]["prompts"] = to_json(success_.rows());
  return state;
}

PromptRows rows_of(const nlohmann::json& state) {
  PromptRows rows{history_rows(state.at("prompts")), {}};
  if (const auto success = state.find("success"); success != state.end())
    rows.success = success_rows(success->at("prompts"));
  return rows;
}

void Knowledge::load(const nlohmann::json& head, const PromptRows& rows) {
  start();
  for (const SuccessRow& row : rows.success)
    require<StorageError>(uses_success_ && row.prompt < size(),
                          fmt::format("a saved history of prompt {}", row.prompt),
                          "the run would not continue where it stopped",
                          "resume with the task section the run was started with");
  if (uses_success_) success_.load(head.at("success").at("levels"), rows.success);
  history.load(rows.history);
}

void Knowledge::load_changed(const nlohmann::json& head, const PromptRows& rows,
                             const PromptMap& map) {
  start();
  if (uses_success_) {
    success_.load(head.at("success").at("levels"), rows.success);
    success_.renumber(map);
  }
  history.load_changed(rows.history, map);
}

std::vector<std::pair<std::string, double>> bin_metrics(const Knowledge& knowledge) {
  std::vector<std::pair<std::string, double>> metrics;
  const auto add = [&](const char* name, std::size_t bin, double value) {
    if (std::isfinite(value)) metrics.emplace_back(fmt::format("gdro/{}/{}", name, bin), value);
  };
  const BinnedHistory& history = knowledge.history;
  for (std::size_t b = 0; history.has_bins() && b < history.bins().size(); ++b)
    add("population", b, double(history.bins().members(std::int32_t(b)).size()));
  const BinResults& latest = knowledge.latest();
  for (std::size_t b = 0; b < latest.groups.size(); ++b) {
    if (latest.groups[b] == 0) continue;  // no prompt of the bin in this step
    add("budget", b, double(latest.drawn[b]) / double(latest.groups[b]));
    add("pass_rate", b, latest.pass_rate[b]);
    if (knowledge.signals.signal_used()) add("signal", b, latest.signal[b]);
    if (knowledge.signals.arm_signal_used()) add("arm_signal", b, latest.gain[b]);
  }
  return metrics;
}

}  // namespace rollcall::scheduling
