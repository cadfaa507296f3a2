// Outcomes into histories, histories into bins.
#include "scheduling/prompts/binned_history.hpp"

#include "base/errors/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace rollcall::scheduling {
namespace {

constexpr const char* kWhy = "the run would not continue where it stopped";

}  // namespace

void BinnedHistory::bind(ConfigSchema& schema) {
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

void BinnedHistory::start(std::uint64_t prompts, const PassRate& pass_rate) {
  if (!uses_history_) return;
  history_ = PromptHistory(prompts, int(window_));
  touched_.assign(prompts, false);
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
  for (std::uint64_t p = 0; p < prompts; ++p) bins_.place({p}, pass_rate({p}));
}

double BinnedHistory::pass_rate(PromptId prompt, double otherwise) const {
  const int seen = history_.seen(prompt);
  return seen > 0 ? double(history_.passed(prompt)) / seen : otherwise;
}

StepBins BinnedHistory::step_bins(const std::vector<GroupPlan>& groups) const {
  StepBins bins{std::vector<std::int64_t>(bins_.size()), {}};
  for (const GroupPlan& group : groups)
    ++bins.prompts[bins.of.emplace_back(std::size_t(bins_.of(group.id.prompt)))];
  return bins;
}

std::vector<std::int32_t> BinnedHistory::bins_of(const std::vector<GroupReport>& reports) const {
  std::vector<std::int32_t> bin(reports.size());
  for (std::size_t i = 0; i < reports.size(); ++i) bin[i] = bins_.of(reports[i].id.prompt);
  return bin;
}

void BinnedHistory::prefetch(PromptId prompt) const {
  if (uses_history_) history_.prefetch(prompt);
  if (uses_bins_) bins_.prefetch(prompt);
}

void BinnedHistory::prefetch_places(const std::vector<GroupReport>& reports) const {
  for (const GroupReport& report : reports) {
    if (uses_bins_) bins_.prefetch_place(report.id.prompt);
  }
}

void BinnedHistory::learn(const std::vector<GroupReport>& reports, const PassRate& pass_rate,
                          ChangeList& changes) {
  if (!uses_history_) return;
  for (const GroupReport& report : reports) {
    const PromptId prompt = report.id.prompt;
    history_.add(prompt, std::any_of(report.correct.begin(), report.correct.end(),
                                     [](std::uint8_t c) { return c != 0; }));
    touched_[prompt.value] = true;
    if (!uses_bins_) continue;
    const auto moved = bins_.update(prompt, pass_rate(prompt));
    if (!moved) continue;
    for (const std::uint32_t p : *moved) {
      touched_[p] = true;
      changes.note(p);
    }
  }
}

HistoryRow BinnedHistory::row(std::uint32_t prompt) const {
  return {prompt, history_.entry({prompt}), uses_bins_ ? bins_.slot({prompt}) : 0};
}

std::vector<HistoryRow> BinnedHistory::rows() const {
  std::vector<HistoryRow> rows;
  for (std::uint32_t p = 0; p < touched_.size(); ++p) {
    if (touched_[p]) rows.push_back(row(p));
  }
  return rows;
}

std::vector<HistoryRow> BinnedHistory::rows(const std::vector<std::uint32_t>& prompts) const {
  std::vector<HistoryRow> rows;
  for (const std::uint32_t p : prompts) {
    if (uses_history_) rows.push_back(row(p));
  }
  return rows;
}

void BinnedHistory::load(const std::vector<HistoryRow>& rows) {
  std::vector<DifficultyBins::Place> places;
  for (const auto& [p, entry, slot] : rows) {
    require<StorageError>(uses_history_ && p < history_.size(),
                          fmt::format("a saved history of prompt {}", p), kWhy,
                          "resume with the task section the run was started with");
    PromptHistory::Entry& e = history_.entry({p});
    const std::uint8_t start_bin = e.bin;  // the prompt's bin until restore() moves it
    e = entry;
    e.bin = start_bin;
    touched_[p] = true;
    if (uses_bins_) places.push_back({p, entry.bin, slot});
  }
  if (uses_bins_)
    require<StorageError>(bins_.restore(places), "the saved difficulty bins do not fit together",
                          kWhy, "resume from an older checkpoint");
}

void BinnedHistory::load_changed(const std::vector<HistoryRow>& rows, const PromptMap& map) {
  for (const auto& [p, entry, slot] : rows) {
    const auto prompt = map.now(p);
    if (!prompt) continue;
    PromptHistory::Entry& e = history_.entry(*prompt);
    const std::uint8_t start_bin = e.bin;
    e = entry;
    e.bin = start_bin;
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

}  // namespace rollcall::scheduling
