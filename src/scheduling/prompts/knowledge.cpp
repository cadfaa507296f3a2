// Outcomes into histories, histories into bins.
#include "scheduling/prompts/knowledge.hpp"

#include "base/error.hpp"
#include "base/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rollcall::scheduling {
namespace {

constexpr std::uint64_t kControlDraws = 303;  // the random numbers of a step's control

}  // namespace

Knowledge::Knowledge(PromptTable prompts, std::uint64_t seed)
    : prompts_(std::move(prompts)), seed_(seed), success_(estimate_) {
  require<ConfigError>(size() > 0, "there are no training prompts",
                       "the scheduler has nothing to choose from", "check the task section");
  require<ConfigError>(size() < (std::uint64_t{1} << 32),
                       fmt::format("{} training prompts", size()),
                       "prompts are numbered with 32 bits", "split the prompts over several runs");
  require<ConfigError>(
      prompts_.content.empty() || prompts_.content.size() == size(),
      fmt::format("{} contents for {} training prompts", prompts_.content.size(), size()),
      "a prompt is recognised by its own content", "give every prompt one, or none at all");
}

void Knowledge::bind(ConfigSchema& schema) {
  if (uses_signal_) signal_.bind(schema);
  if (uses_arm_signal_) arm_signal_.bind(schema);
  if (uses_history_ || uses_success_ || uses_pay_ || uses_outcomes_) control_.bind(schema);
  if (uses_history_ || uses_success_)
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
  if (!uses_history_) return;
  schema.bind("history_window", &window_, "outcomes remembered of a prompt",
              {1, PromptHistory::kLongest});
  if (!uses_bins_) return;
  schema.bind("bin_edges", &inner_edges_,
              "inner edges of the difficulty bins over the pass rate, ascending", {0, 1});
  schema.bind("bin_margin", &margin_,
              "how far past an edge an estimate must lie before the prompt changes its bin",
              {0, 0.5});
  schema.bind("exclude_extremes", &exclude_extremes_,
              "prompts at exactly 0 % or 100 % have one bin of their own, the last");
}

void Knowledge::start() {
  require<ConfigError>(!uses_arm_signal_ || !must_rank_ || arm_signal_.ranks_arms(),
                       fmt::format("scheduler.knobs.arm_signal = {}", arm_signal_.name()),
                       "its mean is the same for any number of rollouts, so it cannot rank counts",
                       "choose informative, variance_proxy or solved");
  require<ConfigError>(!control_.inverted() || uses_signal_ || uses_arm_signal_ || uses_pay_,
                       "scheduler.knobs.control = inverted",
                       "nothing that this policy learns from has a sign",
                       "choose constant or shuffled");
  if (uses_success_) success_.expect(size());
  changed_.assign(uses_history_ || uses_success_ ? size() : 0, false);
  changed_list_.clear();
  if (!uses_history_) return;
  history_ = PromptHistory(size(), int(window_));
  touched_.assign(size(), false);
  if (!uses_bins_) return;
  std::vector<double> edges = {0.0};
  edges.insert(edges.end(), inner_edges_.begin(), inner_edges_.end());
  edges.push_back(1.0);
  const bool ascending = std::adjacent_find(edges.begin(), edges.end(), [](double a, double b) {
                           return a >= b;
                         }) == edges.end();
  require<ConfigError>(
      ascending && edges.size() <= 255,
      fmt::format("scheduler.knobs.bin_edges = [{}]", fmt::join(inner_edges_, ", ")),
      "the inner edges cut (0, 1) into at most 254 bins",
      "write them ascending, strictly between 0 and 1");
  bins_ = DifficultyBins(std::move(edges), margin_, exclude_extremes_, history_);
  for (std::uint64_t p = 0; p < size(); ++p) bins_.place({p}, pass_rate({p}));
}

std::vector<Need> Knowledge::needs() const {
  if (!prior_required_) return {};
  return {{"prior", "its budgets follow the success that a value model predicts of each prompt"}};
}

std::vector<std::string> Knowledge::warnings() const {
  if (!uses_arm_signal_ || arm_signal_.ranks_arms()) return {};
  return {fmt::format(
      "arm_signal {} has the same mean for any number of rollouts: these bandits cannot hear which count is better",
      arm_signal_.name())};
}

double Knowledge::pass_rate(PromptId prompt) const {
  const int seen = history_.seen(prompt);
  if (seen > 0) return double(history_.passed(prompt)) / seen;
  return prompts_.prior.empty() ? estimate_.prior_success : double(prompts_.prior[prompt.value]);
}

double Knowledge::success(std::uint64_t step, PromptId prompt) const {
  const std::int32_t level = prompts_.level.at(prompt.value);
  return prompts_.prior.empty()
             ? success_.success(step, prompt, level)
             : success_.success(step, prompt, level, double(prompts_.prior.at(prompt.value)));
}

double Knowledge::predicted(std::uint64_t step, PromptId prompt) const {
  return prompts_.prior.empty() ? success(step, prompt) : double(prompts_.prior.at(prompt.value));
}

const std::vector<GroupReport>& Knowledge::heard(const std::vector<GroupReport>& reports) {
  if (!control_.on() || reports.empty()) return reports;
  heard_ = control_.heard(reports, random(reports.front().id.step, kControlDraws));
  return heard_;
}

StepBins Knowledge::step_bins(const std::vector<GroupPlan>& groups) const {
  StepBins bins{std::vector<std::int64_t>(bins_.size()), {}};
  for (const GroupPlan& group : groups)
    ++bins.prompts[bins.of.emplace_back(std::size_t(bins_.of(group.id.prompt)))];
  return bins;
}

std::vector<std::int32_t> Knowledge::bins_of(const std::vector<GroupReport>& reports) const {
  std::vector<std::int32_t> bin(reports.size());
  for (std::size_t i = 0; i < reports.size(); ++i) bin[i] = bins_.of(reports[i].id.prompt);
  return bin;
}

BinResults Knowledge::by_bin(const std::vector<GroupReport>& reports) const {
  const auto results = [&](const std::vector<GroupReport>& told) {
    return results_by_bin(told, bins_of(told), bins_.size(), signal_, arm_signal_);
  };
  if (!control_.on() || reports.empty()) return results(reports);
  BinResults heard =
      results(control_.heard(reports, random(reports.front().id.step, kControlDraws)));
  for (double& x : heard.signal) x *= control_.sign();
  for (double& x : heard.gain) x *= control_.sign();
  return heard;
}

void Knowledge::note_change(std::uint32_t prompt) {
  if (changed_[prompt]) return;
  changed_[prompt] = true;
  changed_list_.push_back(prompt);
}

void Knowledge::prefetch(PromptId prompt) const {
  __builtin_prefetch(&prompts_.level[prompt.value]);
  if (uses_success_) success_.prefetch(prompt);
  if (uses_history_) history_.prefetch(prompt);
  if (uses_bins_) bins_.prefetch(prompt);
}

void Knowledge::learn(const std::vector<GroupReport>& reports) {
  for (const GroupReport& report : reports) prefetch(report.id.prompt);
  for (const GroupReport& report : reports) {
    if (uses_bins_) bins_.prefetch_place(report.id.prompt);
  }
  if (uses_success_) success_.learn(heard(reports));
  if (!changed_.empty()) {
    for (const GroupReport& report : reports) note_change(std::uint32_t(report.id.prompt.value));
  }
  if (!uses_history_) return;
  if (uses_bins_) latest_ = by_bin(reports), latest_bins_ = bins_of(reports);
  for (const GroupReport& report : reports) {
    const PromptId prompt = report.id.prompt;
    history_.add(prompt, std::any_of(report.correct.begin(), report.correct.end(),
                                     [](std::uint8_t c) { return c != 0; }));
    touched_[prompt.value] = true;
    if (!uses_bins_) continue;
    const auto moved = bins_.update(prompt, pass_rate(prompt));
    if (!moved) continue;
    for (const std::uint32_t p : *moved) touched_[p] = true, note_change(p);
  }
}

nlohmann::json Knowledge::head() const {
  nlohmann::json head = nlohmann::json::object();
  if (uses_success_) head["success"] = {{"levels", success_.save_levels()}};
  return head;
}

HistoryRow Knowledge::history_row(std::uint32_t prompt) const {
  return {prompt, history_.entry({prompt}), uses_bins_ ? bins_.slot({prompt}) : 0};
}

PromptRows Knowledge::all_rows() const {
  PromptRows rows;
  for (std::uint32_t p = 0; p < touched_.size(); ++p) {
    if (touched_[p]) rows.history.push_back(history_row(p));
  }
  if (uses_success_) rows.success = success_.rows();
  return rows;
}

PromptRows Knowledge::take_rows(Rows which) {
  std::sort(changed_list_.begin(), changed_list_.end());
  PromptRows rows;
  if (which == Rows::all) {
    rows = all_rows();
  } else {
    for (const std::uint32_t p : changed_list_) {
      if (uses_history_) rows.history.push_back(history_row(p));
    }
    if (uses_success_) rows.success = success_.rows(changed_list_);
  }
  for (const std::uint32_t p : changed_list_) changed_[p] = false;
  changed_list_.clear();
  return rows;
}

nlohmann::json Knowledge::save() const {
  const PromptRows rows = all_rows();
  nlohmann::json state = head();
  state["prompts"] = to_json(rows.history);
  if (uses_success_) state["success"]["prompts"] = to_json(rows.success);
  return state;
}

PromptRows Knowledge::rows_of(const nlohmann::json& state) {
  PromptRows rows{history_rows(state.at("prompts")), {}};
  if (const auto success = state.find("success"); success != state.end())
    rows.success = success_rows(success->at("prompts"));
  return rows;
}

namespace {

constexpr const char* kWhy = "the run would not continue where it stopped";

}  // namespace

void Knowledge::load(const nlohmann::json& state) { load(state, rows_of(state)); }

void Knowledge::load(const nlohmann::json& head, const PromptRows& rows) {
  start();
  const auto known = [&](std::uint32_t p, bool used) {
    require<StorageError>(p < size() && used, fmt::format("a saved history of prompt {}", p), kWhy,
                          "resume with the task section the run was started with");
  };
  for (const SuccessRow& row : rows.success) known(row.prompt, uses_success_);
  if (uses_success_) success_.load(head.at("success").at("levels"), rows.success);
  std::vector<DifficultyBins::Place> places;
  for (const auto& [p, entry, slot] : rows.history) {
    known(p, uses_history_);
    PromptHistory::Entry& e = history_.entry({p});
    const std::uint8_t start_bin = e.bin;  // it stays there until restore() has moved all
    e = entry, e.bin = start_bin;
    touched_[p] = true;
    if (uses_bins_) places.push_back({p, entry.bin, slot});
  }
  if (uses_bins_)
    require<StorageError>(bins_.restore(places), "the saved difficulty bins do not fit together",
                          kWhy, "resume from an older checkpoint");
}

void Knowledge::load_changed(const nlohmann::json& head, const PromptRows& rows,
                             const PromptMap& map) {
  start();
  if (uses_success_) {
    success_.load(head.at("success").at("levels"), rows.success);
    success_.renumber(map);
  }
  for (const auto& [p, entry, slot] : rows.history) {
    const auto prompt = map.now(p);
    if (!prompt) continue;
    PromptHistory::Entry& e = history_.entry(*prompt);
    const std::uint8_t start_bin = e.bin;
    e = entry, e.bin = start_bin;
    touched_[prompt->value] = true;
    if (!uses_bins_) continue;
    require<StorageError>(std::size_t(entry.bin) < bins_.size(),
                          fmt::format("a saved difficulty bin {} of {}", entry.bin, bins_.size()),
                          kWhy, "resume with the knobs it was started with");
    const auto moved = bins_.put(*prompt, entry.bin);
    if (!moved) continue;
    for (const std::uint32_t other : *moved) touched_[other] = true;
  }
}

std::vector<std::pair<std::string, double>> Knowledge::metrics() const {
  std::vector<std::pair<std::string, double>> metrics;
  const auto add = [&](const char* name, std::size_t bin, double value) {
    if (std::isfinite(value)) metrics.emplace_back(fmt::format("gdro/{}/{}", name, bin), value);
  };
  for (std::size_t b = 0; uses_bins_ && b < bins_.size(); ++b)
    add("population", b, double(bins_.members(std::int32_t(b)).size()));
  for (std::size_t b = 0; b < latest_.groups.size(); ++b) {
    if (latest_.groups[b] == 0) continue;  // no prompt of the bin in this step
    add("budget", b, double(latest_.drawn[b]) / double(latest_.groups[b]));
    add("pass_rate", b, latest_.pass_rate[b]);
    if (uses_signal_) add("signal", b, latest_.signal[b]);
    if (uses_arm_signal_) add("arm_signal", b, latest_.gain[b]);
  }
  return metrics;
}

}  // namespace rollcall::scheduling
