// Checks keys and lengths of each entry, then orders all entries.
#include "scheduling/trace/trace_results.hpp"

#include "scheduling/trace/trace_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace rollcall::scheduling {
namespace {

using nlohmann::json;

void check_needed(const json& entry, const char* key, bool needed) {
  check_line(!needed || entry.contains(key),
             fmt::format("prompt {} reports no \"{}\"", entry.at("prompt").dump(), key),
             fmt::format("give \"{}\" with its results", key), "the policy cannot do without");
}

void read_numbers(const json& entry, GroupReport& r) {
  if (entry.contains("loss")) r.loss = number(entry.at("loss"), "loss");
  if (entry.contains("drift")) r.drift = number(entry.at("drift"), "drift");
  if (entry.contains("diversity")) r.diversity = number(entry.at("diversity"), "diversity");
  if (entry.contains("mean_abs_advantage"))
    r.mean_abs_advantage = number(entry.at("mean_abs_advantage"), "mean_abs_advantage");
}

GroupReport read_entry(const json& entry, const TraceColumns& columns) {
  GroupReport r;
  r.rewards = numbers(member(entry, "rewards"), "rewards");
  const std::size_t n = r.rewards.size();
  check_line(n > 0, fmt::format("prompt {} reports no rewards", entry.at("prompt").dump()),
             "leave the entry out");
  for (const double reward : r.rewards) r.correct.push_back(reward > 0.5);
  if (entry.contains("correct")) {
    const json& correct = list(entry.at("correct"), "correct", n);
    for (std::size_t i = 0; i < n; ++i)
      r.correct[i] =
          correct[i].is_boolean() ? correct[i].get<bool>() : number(correct[i], "correct") > 0.5;
  }
  r.lengths.assign(n, 1);
  if (entry.contains("lengths")) {
    const json& lengths = list(entry.at("lengths"), "lengths", n);
    for (std::size_t i = 0; i < n; ++i)
      r.lengths[i] = std::int32_t(whole(lengths[i], "lengths", 0, kMost32));
  }
  if (entry.contains("shaped")) {
    auto shaped = numbers(entry.at("shaped"), "shaped", n);
    if (columns.shaped) r.rewards = std::move(shaped);
  }
  check_needed(entry, "predicted", columns.predicted);
  check_needed(entry, "diversity", columns.diversity);
  if (entry.contains("predicted")) r.predicted = numbers(entry.at("predicted"), "predicted", n);
  const auto is_share = [](double p) { return p >= 0 && p <= 1; };
  check_line(std::all_of(r.predicted.begin(), r.predicted.end(), is_share),
             "\"predicted\" is not a list of chances", "write numbers from 0 to 1");
  read_numbers(entry, r);
  return r;
}

/// NaN, an unknown value, comes first, because comparisons do not order it.
double key(double value) {
  return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
}

bool comes_before(const TraceResult& one, const TraceResult& other) {
  const GroupReport &a = one.report, &b = other.report;
  if (one.prompt != other.prompt) return one.prompt < other.prompt;
  if (a.rewards.size() != b.rewards.size()) return a.rewards.size() > b.rewards.size();
  const auto numbers_of = [](const GroupReport& r) {
    return std::tuple(key(r.loss), key(r.mean_abs_advantage), key(r.drift), key(r.diversity));
  };
  return std::tie(a.rewards, a.correct, a.lengths, a.predicted) !=
                 std::tie(b.rewards, b.correct, b.lengths, b.predicted)
             ? std::tie(a.rewards, a.correct, a.lengths, a.predicted) <
                   std::tie(b.rewards, b.correct, b.lengths, b.predicted)
             : numbers_of(a) < numbers_of(b);
}

}  // namespace

std::vector<TraceResult> read_results(const json& entries, const char* name,
                                      const TracePrompts& prompts, const TraceColumns& columns) {
  const std::vector<std::string> keys = {
      "prompt", "rewards",   "shaped",   "correct", "lengths", "loss", "mean_abs_advantage",
      "drift",  "diversity", "predicted"};
  std::vector<TraceResult> results;
  for (const json& entry : list(entries, name)) {
    check_line(entry.is_object(), fmt::format("an entry of \"{}\" is not an object", name),
               "write {\"prompt\": ID, \"rewards\": [...]}");
    check_keys(entry, keys, fmt::format("an entry of \"{}\"", name).c_str());
    const PromptId prompt = prompts.at(member(entry, "prompt"));
    results.push_back({prompt, results.size(), read_entry(entry, columns)});
  }
  std::sort(results.begin(), results.end(), comes_before);
  return results;
}

}  // namespace rollcall::scheduling
