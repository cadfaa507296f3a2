// Keeps the directory as one line in a separate file, because two starts may differ in it, while
// config.toml is compared between them.
#include "run/folder/start_directory.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/text/json.hpp"
#include "core/run_config.hpp"
#include "core/settings_text.hpp"
#include "run/folder/job_request.hpp"
#include "run/folder/run_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

namespace rollcall::run {
namespace fs = std::filesystem;
namespace {

fs::path file_of(const fs::path& run_dir) { return run_dir / "directory"; }

/// A setting that names a file, a folder or a run.
struct PathKey {
  const char* key;
  std::string& (*field)(RunConfig& config);
};
constexpr std::array kPathKeys{
    PathKey{"run.dir", [](RunConfig& c) -> std::string& { return c.run.dir; }},
    PathKey{"run.init_from", [](RunConfig& c) -> std::string& { return c.run.init_from; }},
    PathKey{"task.file", [](RunConfig& c) -> std::string& { return c.task.file; }},
    PathKey{"task.heldout_file", [](RunConfig& c) -> std::string& { return c.task.heldout_file; }},
    PathKey{"text.template", [](RunConfig& c) -> std::string& { return c.text.chat_template; }},
    PathKey{"sft.file", [](RunConfig& c) -> std::string& { return c.sft.file; }},
    PathKey{"model.path", [](RunConfig& c) -> std::string& { return c.model.path; }},
    PathKey{"judge.model", [](RunConfig& c) -> std::string& { return c.judge.model; }},
    PathKey{"reference.model", [](RunConfig& c) -> std::string& { return c.reference.model; }},
    PathKey{"teacher.model", [](RunConfig& c) -> std::string& { return c.teacher.model; }},
    PathKey{"guide.model", [](RunConfig& c) -> std::string& { return c.guide.model; }},
    PathKey{"gradient_mask.before",
            [](RunConfig& c) -> std::string& { return c.gradient_mask.before; }},
    PathKey{"gradient_mask.after",
            [](RunConfig& c) -> std::string& { return c.gradient_mask.after; }},
    PathKey{"train.from_archive",
            [](RunConfig& c) -> std::string& { return c.train.from_archive; }},
    PathKey{"environment.index", [](RunConfig& c) -> std::string& { return c.environment.index; }},
};

/// A setting that is a program with its arguments.
struct CommandKey {
  const char* key;
  std::vector<std::string>& (*field)(RunConfig& config);
};
constexpr std::array kCommandKeys{
    CommandKey{"reward.command",
               [](RunConfig& c) -> std::vector<std::string>& { return c.reward.command; }},
    CommandKey{"environment.command",
               [](RunConfig& c) -> std::vector<std::string>& { return c.environment.command; }},
};

/// The name, for a process in `there`, of the file that `path` names in `here`.
std::string name_from(const std::string& path, const fs::path& here, const fs::path& there) {
  if (path.empty() || fs::path(path).is_absolute()) return path;
  const fs::path whole = (here / path).lexically_normal(), below = whole.lexically_relative(there);
  return below.empty() || *below.begin() == ".." ? whole.string() : below.string();
}

/// A command for a process in `there`: arguments that name a file in `here` are renamed. A program
/// without a slash is looked up in PATH and stays.
std::vector<std::string> command_from(std::vector<std::string> words, const fs::path& here,
                                      const fs::path& there) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::error_code unknown;
    const bool is_path = words[i].find('/') != std::string::npos,
               is_file = fs::is_regular_file(here / words[i], unknown);
    if (i == 0 ? !is_path : !is_file) continue;
    const std::string named = name_from(words[i], here, there);
    words[i] = i == 0 && named.find('/') == std::string::npos ? "./" + named : named;
  }
  return words;
}

std::string assignment_from(const std::string& assignment, const fs::path& here,
                            const fs::path& there) {
  const std::string left = assignment.substr(0, assignment.find('='));
  const auto first = left.find_first_not_of(" \t");
  const std::string key = first == std::string::npos
                              ? ""
                              : left.substr(first, left.find_last_not_of(" \t") + 1 - first);
  const auto known = std::find_if(kPathKeys.begin(), kPathKeys.end(),
                                  [&](const PathKey& path) { return key == path.key; });
  const auto command = std::find_if(kCommandKeys.begin(), kCommandKeys.end(),
                                    [&](const CommandKey& one) { return key == one.key; });
  if (known == kPathKeys.end() && command == kCommandKeys.end()) return assignment;
  RunConfig config;
  try {
    bind(config).set(assignment);
  } catch (const ConfigError&) {  // the job reads it later and reports the error
    return assignment;
  }
  if (command != kCommandKeys.end())
    return key + "=" + nlohmann::json(command_from(command->field(config), here, there)).dump();
  const std::string& value = known->field(config);
  if (auto list = nlohmann::json::parse(value, nullptr, false);
      key == "task.file" && list.is_array()) {
    for (auto& entry : list) {
      auto& path = entry.is_object() && entry.contains("path") ? entry["path"] : entry;
      if (path.is_string()) path = name_from(path.get<std::string>(), here, there);
    }
    return key + "=" + nlohmann::json(list.dump()).dump();
  }
  const bool word =
      key == "text.template" && (value == "auto" || value == "model" || value == "none");
  return word ? assignment : key + "=" + nlohmann::json(name_from(value, here, there)).dump();
}

/// The run folder of which the file is the record; empty for other run files, and for a file that
/// cannot be read, which the job reports later.
fs::path folder_of_record(const fs::path& file) {
  try {
    return has_record_name(file) && belongs_to_folder(file, read_file(file))
               ? fs::absolute(file).parent_path()
               : fs::path();
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

void record_directory(const fs::path& run_dir) {
  if (!fs::exists(file_of(run_dir)))
    write_file_atomic(file_of(run_dir), fs::current_path().string() + "\n");
}

std::optional<fs::path> recorded_directory(const fs::path& run_dir) {
  if (!fs::exists(file_of(run_dir))) return std::nullopt;
  std::string text = read_file(file_of(run_dir));
  while (text.ends_with('\n')) text.pop_back();
  return text.empty() ? std::nullopt : std::optional<fs::path>(text);
}

std::string enter_recorded_directory(const fs::path& run_dir) {
  const auto recorded = recorded_directory(run_dir);
  std::error_code failure;
  if (!recorded || fs::equivalent(*recorded, fs::current_path(), failure)) return {};
  const fs::path here = fs::current_path();
  fs::current_path(*recorded, failure);
  return failure
             ? fmt::format(
                   "the run was started in {}, which cannot be entered here ({}): the relative paths of its settings are read from {}",
                   recorded->string(), failure.message(), here.string())
             : fmt::format(
                   "the relative paths of its settings are read from {}, where the run was started",
                   recorded->string());
}

std::vector<std::string> assignments_from(const std::vector<std::string>& assignments,
                                          const fs::path& here, const fs::path& there) {
  std::vector<std::string> all;
  for (const auto& assignment : assignments)
    all.push_back(assignment_from(assignment, here, there));
  return all;
}

void enter_directory_of(JobRequest& request) {
  const fs::path run =
      request.from.empty() ? folder_of_record(request.run_file) : run_with(request.from);
  if (run.empty()) return;
  const fs::path here = fs::current_path();
  if (!request.from.empty()) request.from = fs::absolute(request.from).lexically_normal().string();
  if (!request.run_file.empty())
    request.run_file = fs::absolute(request.run_file).lexically_normal();
  request.note = enter_recorded_directory(fs::absolute(run));
  const fs::path there = fs::current_path();
  if (there != here) request.assignments = assignments_from(request.assignments, here, there);
  request.lacks_directory = !request.note.empty() && there == here;
}

}  // namespace rollcall::run
