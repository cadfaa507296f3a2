// One row for each section that only some runs read.
#include "stages/unread_settings.hpp"

#include "base/error.hpp"
#include "method/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::stages {
namespace {

namespace column = method::column;

bool asks_for(const method::Method& objective, std::initializer_list<std::string_view> names) {
  const auto columns = objective.columns();
  return std::any_of(columns.begin(), columns.end(), [&](const std::string& own) {
    return std::any_of(names.begin(), names.end(), [&](std::string_view name) { return name.ends_with('/') ? own.starts_with(name) : own == name; });
  });
}

struct Row {
  const char* section;
  bool (*is_read)(const RunConfig& config, const method::Method& objective);
  const char* lacking;  ///< what the run has not
  const char* remedy;
};

constexpr Row kRows[] = {
    {"reference",
     [](const RunConfig&, const method::Method& o) {
       return asks_for(o, {column::reference_logprob, column::flat_reference});
     },
     "the objective compares with no reference policy", "leave it out, or choose a regularizer that does, for example objective.pieces.regularizer=kl"},
    {"teacher",
     [](const RunConfig&, const method::Method& o) {
       return asks_for(o, {column::teacher_logprob, column::teacher_kl});
     },
     "the objective follows no teacher", "leave it out, or choose a recipe that distils"},
    {"critic", [](const RunConfig&, const method::Method& o) { return o.needs_value() || asks_for(o, {column::value}); }, "the objective trains no value head",
     "leave it out, or choose a recipe that does, for example ppo"},
    {"probes",
     [](const RunConfig&, const method::Method& o) {
       return asks_for(o, {column::reasoning_step, column::probe_accuracy, column::probe_confidence});
     },
     "the objective probes no reasoning steps", "leave it out, or choose a recipe that does, for example spae-step-potential"},
    {"judge", [](const RunConfig& c, const method::Method&) { return !c.judge.model.empty(); }, "judge.model is empty", "leave it out, or name a model"},
};

/// "key = value" of one section of a written run file, and of its subsections ("judge.sampling").
std::vector<std::string> lines_of(const std::string& toml, const std::string& section) {
  std::vector<std::string> lines;
  std::string within;
  for (std::size_t at = 0; at < toml.size();) {
    const std::size_t end = std::min(toml.find('\n', at), toml.size());
    const std::string line = toml.substr(at, end - at);
    at = end + 1;
    if (line.starts_with('[')) within = line.substr(1, line.find(']') - 1);
    else if ((within == section || within.starts_with(section + ".")) && line.find(" = ") != std::string::npos) lines.push_back(within + "." + line);
  }
  return lines;
}

}  // namespace

void check_unread_settings(const RunConfig& config, const method::Method& objective) {
  RunConfig own = config, defaults;
  const std::string set = bind(own).to_toml(), usual = bind(defaults).to_toml();
  for (const Row& row : kRows) {
    if (row.is_read(config, objective)) continue;
    const auto lines = lines_of(set, row.section), usual_lines = lines_of(usual, row.section);
    const auto changed = std::mismatch(lines.begin(), lines.end(), usual_lines.begin(), usual_lines.end()).first;
    if (changed == lines.end()) continue;
    throw ConfigError(error_message(fmt::format("{} is set, but {}{}", changed->substr(0, changed->find(" = ")), row.lacking,
                                                row.section == std::string_view("judge") ? "" : fmt::format(" (objective.recipe {})", config.objective.recipe)),
                                    "nothing would read it", row.remedy));
  }
}

}  // namespace rollcall::stages
