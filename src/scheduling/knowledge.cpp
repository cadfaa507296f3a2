// Outcomes into histories, histories into bins.
#include "scheduling/knowledge.hpp"

#include "base/error.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace rollcall::scheduling {

Knowledge::Knowledge(PromptTable prompts, std::uint64_t seed) : prompts_(std::move(prompts)), seed_(seed), success_(estimate_) {
  require<ConfigError>(size() > 0, "there are no training prompts", "the scheduler has nothing to choose from", "check the task section");
  require<ConfigError>(size() < (std::uint64_t{1} << 32), fmt::format("{} training prompts", size()), "prompts are numbered with 32 bits",
                       "split the prompts over several runs");
  require<ConfigError>(prompts_.content.empty() || prompts_.content.size() == size(), fmt::format("{} contents for {} training prompts", prompts_.content.size(), size()),
                       "a prompt is recognised by its own content", "give every prompt one or none any");
}

void Knowledge::bind(ConfigSchema& schema) {
  if (uses_signal_) signal_.bind(schema);
  if (uses_history_ || uses_success_) schema.bind("prior_success", &estimate_.prior_success, "pass rate assumed of a prompt without results", {0, 1});
  if (uses_success_) {
    schema.bind("prior_required", &prior_required_, "a value model's prediction must be there for every prompt; the level's results do not stand in for it");
    schema.bind("prior_strength", &estimate_.prior_strength, "rollouts that this assumption is worth", {1e-3, 1e9});
    schema.bind("level_decay", &estimate_.level_decay, "share of a level's evidence kept per step", {0, 1});
    schema.bind("prompt_decay", &estimate_.prompt_decay, "share of a prompt's own evidence kept per step", {0, 1});
    schema.bind("level_strength", &estimate_.level_strength, "rollouts that the level's estimate is worth against the prompt's own", {1e-3, 1e9});
  }
  if (!uses_history_) return;
  schema.bind("history_window", &window_, "outcomes remembered of a prompt", {1, PromptHistory::kLongest});
  if (!uses_bins_) return;
  schema.bind("bin_edges", &inner_edges_, "inner edges of the difficulty bins over the pass rate, ascending", {0, 1});
  schema.bind("bin_margin", &margin_, "how far past an edge an estimate must lie before the prompt changes its bin", {0, 0.5});
}

void Knowledge::start() {
  if (uses_success_) success_.expect(size());
  if (!uses_history_) return;
  history_ = PromptHistory(size(), int(window_));
  touched_.assign(size(), false);
  if (!uses_bins_) return;
  std::vector<double> edges = {0.0};
  edges.insert(edges.end(), inner_edges_.begin(), inner_edges_.end());
  edges.push_back(1.0);
  const bool ascending = std::adjacent_find(edges.begin(), edges.end(), [](double a, double b) { return a >= b; }) == edges.end();
  require<ConfigError>(ascending && edges.size() <= 256, fmt::format("scheduler.knobs.bin_edges = [{}]", fmt::join(inner_edges_, ", ")),
                       "the inner edges cut (0, 1) into at most 255 bins", "write them ascending, strictly between 0 and 1");
  bins_ = DifficultyBins(std::move(edges), margin_, history_);
  for (std::uint64_t p = 0; p < size(); ++p) bins_.place({p}, pass_rate({p}));
}

std::vector<Need> Knowledge::needs() const {
  if (!prior_required_) return {};
  return {{"prior", "its budgets follow the success that a value model predicts of each prompt"}};
}

double Knowledge::pass_rate(PromptId prompt) const {
  const int seen = history_.seen(prompt);
  if (seen > 0) return double(history_.passed(prompt)) / seen;
  return prompts_.prior.empty() ? estimate_.prior_success : double(prompts_.prior[prompt.value]);
}

double Knowledge::success(std::uint64_t step, PromptId prompt) const {
  const std::int32_t level = prompts_.level.at(prompt.value);
  return prompts_.prior.empty() ? success_.success(step, prompt, level) : success_.success(step, prompt, level, double(prompts_.prior.at(prompt.value)));
}

BinResults Knowledge::by_bin(const std::vector<GroupReport>& reports) const {
  std::vector<std::int32_t> bin(reports.size());
  for (std::size_t i = 0; i < reports.size(); ++i) bin[i] = bins_.of(reports[i].id.prompt);
  return results_by_bin(reports, bin, bins_.size(), signal_);
}

void Knowledge::learn(const std::vector<GroupReport>& reports) {
  if (uses_success_) success_.learn(reports);
  if (!uses_history_) return;
  if (uses_bins_) latest_ = by_bin(reports);
  for (const GroupReport& report : reports) {
    const PromptId prompt = report.id.prompt;
    history_.add(prompt, std::any_of(report.correct.begin(), report.correct.end(), [](std::uint8_t c) { return c != 0; }));
    touched_[prompt.value] = true;
    if (!uses_bins_) continue;
    for (const std::uint32_t moved : bins_.update(prompt, pass_rate(prompt))) touched_[moved] = true;
  }
}

nlohmann::json Knowledge::save() const {
  auto rows = nlohmann::json::array();
  for (std::uint64_t p = 0; p < touched_.size(); ++p) {
    if (!touched_[p]) continue;
    const auto& e = history_.entry({p});
    rows.push_back({p, e.low, e.middle, e.high, e.length, e.bin, uses_bins_ ? bins_.slot({p}) : 0});
  }
  nlohmann::json state = {{"prompts", std::move(rows)}};
  if (uses_success_) state["success"] = success_.save();
  return state;
}

namespace {

constexpr const char* kWhy = "the run would not continue where it stopped";

PromptHistory::Entry entry_of(const nlohmann::json& row, std::uint8_t bin) {
  return {row.at(1).get<std::uint32_t>(), row.at(2).get<std::uint32_t>(), row.at(3).get<std::uint16_t>(), row.at(4).get<std::uint8_t>(), bin};
}

}  // namespace

void Knowledge::load(const nlohmann::json& state) {
  start();
  if (uses_success_) success_.load(state.at("success"));
  std::vector<DifficultyBins::Place> places;
  for (const auto& row : state.at("prompts")) {
    const auto p = row.at(0).get<std::uint64_t>();
    require<StorageError>(p < size() && uses_history_, fmt::format("a saved history of prompt {}", p), kWhy, "resume with the task section the run was started with");
    PromptHistory::Entry& e = history_.entry({p});
    e = entry_of(row, e.bin);  // it stays in its start bin until restore() has moved all
    touched_[p] = true;
    if (uses_bins_) places.push_back({std::uint32_t(p), row.at(5).get<std::uint8_t>(), row.at(6).get<std::uint32_t>()});
  }
  if (uses_bins_) require<StorageError>(bins_.restore(places), "the saved difficulty bins do not fit together", kWhy, "resume from an older checkpoint");
}

void Knowledge::load_changed(const nlohmann::json& state, const PromptMap& map) {
  start();
  if (uses_success_) {
    success_.load(state.at("success"));
    success_.renumber(map);
  }
  for (const auto& row : state.at("prompts")) {
    const auto prompt = map.now(row.at(0).get<std::uint64_t>());
    if (!prompt) continue;
    PromptHistory::Entry& e = history_.entry(*prompt);
    e = entry_of(row, e.bin);
    touched_[prompt->value] = true;
    if (!uses_bins_) continue;
    const auto bin = row.at(5).get<std::int32_t>();
    require<StorageError>(0 <= bin && std::size_t(bin) < bins_.size(), fmt::format("a saved difficulty bin {} of {}", bin, bins_.size()), kWhy,
                          "resume with the knobs it was started with");
    for (const std::uint32_t moved : bins_.put(*prompt, bin)) touched_[moved] = true;
  }
}

std::vector<std::pair<std::string, double>> Knowledge::metrics() const {
  std::vector<std::pair<std::string, double>> metrics;
  const auto add = [&](const char* name, std::size_t bin, double value) {
    if (std::isfinite(value)) metrics.emplace_back(fmt::format("gdro/{}/{}", name, bin), value);
  };
  for (std::size_t b = 0; uses_bins_ && b < bins_.size(); ++b) add("population", b, double(bins_.members(std::int32_t(b)).size()));
  for (std::size_t b = 0; b < latest_.groups.size(); ++b) {
    if (latest_.groups[b] == 0) continue;  // no prompt of the bin in this step
    add("budget", b, double(latest_.rollouts[b]) / double(latest_.groups[b]));
    add("pass_rate", b, latest_.pass_rate[b]);
    if (uses_signal_) add("signal", b, latest_.signal[b]);
  }
  return metrics;
}

}  // namespace rollcall::scheduling
