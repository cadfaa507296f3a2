// The table of tasks.
#include "base/errors/error.hpp"
#include "base/errors/nearest.hpp"
#include "task/sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rollcall::task {
namespace {

constexpr std::array kTasks = {
    TaskRow{"sorting", "sort the digits of a string; level: its length", make_sorting,
            "exact_match"},
    TaskRow{"arithmetic", "+ - * and division with remainder; level: digits of the larger operand",
            make_arithmetic, "integer_answer"},
    TaskRow{"countdown", "reach a target from given numbers; level: how many numbers",
            make_countdown, "countdown_expression"},
    TaskRow{"code",
            "a Python function of a chain of operations, run against tests; level: how many",
            make_code, "code"},
    TaskRow{"tags", "write sections in tags; level: how many", make_tags, "tag_structure"},
    TaskRow{"json", "write an object as JSON; level: how many values", make_json, "json"},
    TaskRow{"instructions", "a text that follows instructions as in IFEval; level: how many",
            make_instructions, "instructions"},
    TaskRow{"multiple_choice", "one of several options; level: how many", make_multiple_choice,
            "multiple_choice"},
    TaskRow{"word_sorting", "sort words by the alphabet; level: how many", make_word_sorting,
            "word_order"},
    TaskRow{"graph",
            "paths, cycles, orders, components, degrees, triangles and flows; level: nodes",
            make_graph, "graph"},
    TaskRow{"knights_knaves", "who tells the truth; level: how many people", make_knights_knaves,
            "knights_knaves"},
    TaskRow{"units", "convert a quantity to another unit; level: digits and distance of the units",
            make_units, "quantity"},
    TaskRow{"key_door", "fetch a key, pass a door and reach a goal; level: size of the rooms",
            make_key_door, "episode", "key_door"},
    TaskRow{"rooms", "fetch the keys to a row of rooms and reach a goal; level: rooms", make_rooms,
            "episode", "rooms"},
    TaskRow{"frozen_lake", "cross a lake with holes, which may be slippery; level: its side",
            make_frozen_lake, "episode", "frozen_lake"},
    TaskRow{"bandit", "find the machine that pays most often; level: machines", make_bandit,
            "episode", "bandit"},
    TaskRow{"twenty_questions", "find out which thing is meant; level: things",
            make_twenty_questions, "episode", "twenty_questions"},
    TaskRow{"number_dialogue", "find out which number is meant; level: guesses",
            make_number_dialogue, "episode", "number_dialogue"},
    TaskRow{"shop", "buy what is wished for; level: things in the shop", make_shop, "episode",
            "shop"},
    TaskRow{"forms", "fill in a form and send it; level: fields", make_forms, "episode", "forms"},
    TaskRow{"corpus",
            "sentences of a text file, from what stands around them; level: sentences before",
            make_corpus, "continuation"},
    TaskRow{"file", "questions and answers from files, such as GSM8K; level: lines of reasoning",
            make_file_task, "marked_answer"},
};

}  // namespace

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const TaskRow& row : kTasks) names.emplace_back(row.name);
  return names;
}

const TaskRow& find_task(const std::string& name) {
  const auto row =
      std::find_if(kTasks.begin(), kTasks.end(), [&](const TaskRow& r) { return r.name == name; });
  require<ConfigError>(row != kTasks.end(), fmt::format("task.name \"{}\" is unknown", name),
                       "there would be nothing to learn", suggest_name(name, task_names()));
  return *row;
}

std::string built_in_environment(const RunConfig& config) {
  if (!config.environment.name.empty()) return config.environment.name;
  if (!config.environment.command.empty()) return {};
  const char* own = find_task(config.task.name).environment;
  return own == nullptr ? "" : own;
}

bool has_environment(const RunConfig& config) {
  return !config.environment.command.empty() || !built_in_environment(config).empty();
}

}  // namespace rollcall::task
