// The table of tasks.
#include "base/error.hpp"
#include "base/nearest.hpp"
#include "task/sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rollcall::task {
namespace {

constexpr std::array kTasks = {
    TaskRow{"sorting", "sort the digits of a string; level: its length", make_sorting, "exact_match"},
    TaskRow{"arithmetic", "+ - * and division with remainder; level: digits of the larger operand", make_arithmetic, "integer_answer"},
    TaskRow{"countdown", "reach a target from given numbers; level: how many numbers", make_countdown, "countdown_expression"},
    TaskRow{"jsonl", "questions and answers from a file, such as GSM8K; level: lines of reasoning", make_jsonl, "marked_answer"},
};

}  // namespace

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const TaskRow& row : kTasks) names.emplace_back(row.name);
  return names;
}

const TaskRow& find_task(const std::string& name) {
  const auto row = std::find_if(kTasks.begin(), kTasks.end(), [&](const TaskRow& r) { return r.name == name; });
  require<ConfigError>(row != kTasks.end(), fmt::format("task.name \"{}\" is unknown", name), "there would be nothing to learn",
                       suggest_name(name, task_names()));
  return *row;
}

}  // namespace rollcall::task
