// Evaluations as JSON for programs and as aligned tables for people.
#include "base/text/json.hpp"
#include "report/evaluation_table.hpp"
#include "report/number_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace rollcall::report {
namespace {

using Json = nlohmann::ordered_json;
using Line = std::vector<std::string>;

std::string share(double value) { return std::isnan(value) ? "-" : fmt::format("{:.3f}", value); }
std::string share(const Interval& i) {
  return fmt::format("{} [{}, {}]", share(i.mean), share(i.low), share(i.high));
}
std::string change(const std::string& before, const std::string& after) {
  return fmt::format("{} -> {}", before, after);
}

const LevelResult* find_level(const Evaluation& e, std::int32_t level) {
  const auto found = std::find_if(e.levels.begin(), e.levels.end(),
                                  [&](const LevelResult& l) { return l.level == level; });
  return found == e.levels.end() ? nullptr : &*found;
}

std::vector<Line> level_lines(const Evaluation& before, const Evaluation& after,
                              const std::map<std::int32_t, std::int64_t>& rollouts) {
  std::set<std::int32_t> levels;
  for (const auto* e : {&before, &after}) {
    for (const auto& l : e->levels) levels.insert(l.level);
  }
  for (const auto& [level, count] : rollouts) levels.insert(level);
  std::vector<Line> lines;
  for (const std::int32_t level : levels) {
    const LevelResult *b = find_level(before, level), *a = find_level(after, level);
    const auto spent = rollouts.find(level);
    lines.push_back({fmt::format("{}", level),
                     grouped(a   ? a->prompts
                             : b ? b->prompts
                                 : 0),
                     change(b ? share(b->pass_at_1) : "-", a ? share(a->pass_at_1) : "-"),
                     change(b ? share(b->pass_at_k) : "-", a ? share(a->pass_at_k) : "-"),
                     spent == rollouts.end() ? "0" : grouped(spent->second)});
  }
  return lines;
}

// Numbers and their headings are aligned right; two blanks separate columns.
std::string aligned(const std::vector<Line>& lines) {
  std::vector<std::size_t> width(lines.front().size(), 0);
  for (const auto& line : lines) {
    for (std::size_t c = 0; c < line.size(); ++c) width[c] = std::max(width[c], line[c].size());
  }
  std::string text;
  for (const auto& line : lines) {
    for (std::size_t c = 0; c < line.size(); ++c)
      text += fmt::format("{}{:>{}}", c ? "  " : "", line[c], width[c]);
    text += '\n';
  }
  return text;
}

}  // namespace

std::string to_json(const Evaluation& e) {
  const std::string pass_k = fmt::format("pass_at_{}", e.k),
                    majority_k = fmt::format("maj_at_{}", e.k);
  Json object = {{"prompts", e.prompts}, {"samples", e.samples}};
  if (!e.extract.empty()) object["extract"] = e.extract;
  const auto add = [&](const std::string& name, const Interval& i) {
    object[name] = i.mean;  // NaN is written as null
    if (!std::isnan(i.mean)) object[name + "_ci95"] = {i.low, i.high};
  };
  add("pass_at_1", e.pass_at_1);
  add(pass_k, e.pass_at_k);
  add(majority_k, e.majority_at_k);
  object["levels"] = Json::array();
  for (const auto& l : e.levels) {
    Json level = {{"level", l.level}, {"prompts", l.prompts}, {"pass_at_1", l.pass_at_1}};
    level[pass_k] = l.pass_at_k;
    object["levels"].push_back(level);
  }
  return object.dump();
}

std::string to_table(const Evaluation& e, const std::string& data) {
  std::vector<Line> lines = {{"level", "prompts", "pass@1", fmt::format("pass@{}", e.k)}};
  for (const auto& l : e.levels)
    lines.push_back(
        {fmt::format("{}", l.level), grouped(l.prompts), share(l.pass_at_1), share(l.pass_at_k)});
  lines.push_back({"all", grouped(e.prompts), share(e.pass_at_1), share(e.pass_at_k)});
  const bool votes = !std::isnan(e.majority_at_k.mean);
  for (std::size_t i = 0; i < lines.size() && votes; ++i)
    lines[i].push_back(i == 0                  ? fmt::format("maj@{}", e.k)
                       : i + 1 == lines.size() ? share(e.majority_at_k)
                                               : "");
  return aligned(lines) +
         (votes
              ? ""
              : fmt::format("maj@{}: not defined, since right responses have no extracted answer\n",
                            e.k)) +
         (data.empty() ? "" : fmt::format("questions: {}\n", data)) +
         (e.extract.empty() ? "" : fmt::format("answers found by: {}\n", e.extract));
}

std::string to_table(const Evaluation& before, const Evaluation& after,
                     const std::map<std::int32_t, std::int64_t>& rollouts_per_level) {
  const std::int64_t k = after.prompts > 0 ? after.k : before.k;
  std::vector<Line> lines = {{"level", "prompts", "pass@1 before -> after",
                              fmt::format("pass@{} before -> after", k), "rollouts"}};
  for (auto& line : level_lines(before, after, rollouts_per_level))
    lines.push_back(std::move(line));
  std::int64_t spent = 0;
  for (const auto& [level, count] : rollouts_per_level) spent += count;
  const auto overall = [](const Evaluation& e, const Interval& i) {
    return e.prompts > 0 ? share(i) : std::string("-");
  };
  lines.push_back({"all", grouped(std::max(before.prompts, after.prompts)),
                   change(overall(before, before.pass_at_1), overall(after, after.pass_at_1)),
                   change(overall(before, before.pass_at_k), overall(after, after.pass_at_k)),
                   grouped(spent)});
  const std::string& extract = after.prompts > 0 ? after.extract : before.extract;
  return aligned(lines) + (extract.empty() ? "" : fmt::format("answers found by: {}\n", extract));
}

}  // namespace rollcall::report
