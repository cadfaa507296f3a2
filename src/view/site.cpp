// The names of the files of `rollcall view`, and which part of the code makes each.
#include "view/site.hpp"

#include "base/errors/long_phase.hpp"
#include "io/source.hpp"
#include "view/page.hpp"
#include "view/script_text.hpp"

#include <fmt/format.h>

namespace rollcall::view {

Site::Site(const std::vector<std::filesystem::path>& runs) {
  for (const auto& run : runs) (void)io::open_source(run);  // before a rollout of any is read
  for (const auto& run : runs) {
    const LongPhase phase("reading " + run.string());
    runs_.push_back(std::make_unique<ViewedRun>(run, fmt::format("run-{}", runs_.size() + 1)));
  }
}

std::vector<std::string> Site::files() {
  std::vector<std::string> names;
  for (const PageFile& file : page_files()) names.emplace_back(file.name);
  names.emplace_back("data/runs.js");
  for (const auto& run : runs_)
    for (const auto& name : run->files())
      names.push_back(fmt::format("data/{}/{}.js", run->key(), name));
  return names;
}

void Site::refresh() {
  for (const auto& run : runs_) run->refresh();
}

std::string Site::runs_script() {
  std::string list;
  for (const auto& run : runs_) {
    if (!list.empty()) list += ',';
    list += run->summary();
  }
  return call("runs", fmt::format("[{}]", list));
}

std::optional<std::string> Site::make(const std::string& name) {
  for (const PageFile& file : page_files())
    if (name == file.name) return std::string(file.content);
  if (name == "data/runs.js") return runs_script();
  for (const auto& run : runs_) {
    const std::string folder = fmt::format("data/{}/", run->key());
    if (!name.starts_with(folder) || !name.ends_with(".js")) continue;
    const std::string inner = name.substr(folder.size(), name.size() - folder.size() - 3);
    const auto json = run->make(inner);
    return json ? std::optional(call(fmt::format("{}/{}", run->key(), inner), *json))
                : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace rollcall::view
