// The folder is made under another name and renamed when everything in it is durable.
#include "io/rescored.hpp"

#include "base/errors/nearest.hpp"
#include "base/files/file.hpp"
#include "io/fault.hpp"
#include "io/group_columns.hpp"
#include "io/published.hpp"

namespace rollcall::io {
namespace fs = std::filesystem;

fs::path rescored_folder(const fs::path& run_dir, const std::string& name) {
  return run_dir / "rescored" / name;
}

void write_rescored(const fs::path& run_dir, const std::string& name,
                    const std::vector<Rescored>& all, const std::string& verifier,
                    const RunIdentity& identity) {
  const fs::path folder = rescored_folder(run_dir, name),
                 partial = folder.parent_path() / ("." + name + ".partial");
  require(!fs::exists(folder), fmt::format("{} already exists", folder.string()),
          "verdicts are never overwritten", "choose another --name, or remove it");
  std::error_code ec;
  fs::remove_all(partial, ec);  // left by a command that was killed
  make_folder(partial);
  for (const Rescored& rescored : all) {
    KeyColumns keys;
    ScoreColumns columns;
    for (const auto& [group, scores] : rescored.groups) {
      expect(group.rollouts.size() == scores.size(), "every rollout has a new score");
      append(group, keys);
      append(scores, rescored.component_names.size(), columns);
    }
    Attributes attributes = identity_attributes(identity, "rescored", rescored.purpose);
    attributes.emplace_back("verifier", verifier);
    const fs::path file = partial / (text_of(rescored.purpose) + ".h5");
    writing(file, [&] {
      const auto all_columns = views(keys, columns);
      write_tables(file, all_columns,
                   {extents_of(all_columns, rescored.component_names.size()),
                    rescored.component_names, attributes},
                   Values::here);
    });
    fsync_path(file);
  }
  fsync_path(partial);
  fs::rename(partial, folder, ec);
  require<StorageError>(
      !ec,
      fmt::format("cannot rename {} to {}: {}", partial.string(), folder.string(), ec.message()),
      "the new verdicts have no name", "check free space and permissions, then try again");
  fsync_path(folder.parent_path());
}

Rescored read_rescored(const fs::path& run_dir, const std::string& name, Purpose purpose) {
  std::vector<std::string> names;
  for (const auto& entry : list_folder(run_dir / "rescored"))
    if (!entry.path().filename().string().starts_with('.'))
      names.push_back(entry.path().filename());
  const fs::path file = rescored_folder(run_dir, name) / (text_of(purpose) + ".h5");
  require(fs::exists(file), fmt::format("{} is not there", file.string()),
          "there are no such verdicts",
          names.empty() ? "make them with rollcall archive rescore" : suggest_name(name, names));
  return reading(file, [&] {
    TableReader reader(file);
    check_schema(reader, "rescored");
    KeyColumns keys;
    ScoreColumns columns;
    reader.read(keys);
    reader.read(columns);
    reader.check_counts();
    Rescored rescored{
        .purpose = purpose_of(reader), .component_names = reader.component_names(), .groups = {}};
    auto scores = scores_of(keys, columns, rescored.component_names.size());
    std::size_t rollout = 0;
    for (std::size_t g = 0; g < scores.size(); ++g) {
      Group group{
          .id = {keys.step[g], {keys.prompt_id[g]}, keys.draw[g]}, .level = 0, .rollouts = {}};
      for (std::uint32_t i = 0; i < keys.rollout_count[g]; ++i)
        group.rollouts.push_back({.sample = keys.sample[rollout++], .turns = {}, .text = {}});
      rescored.groups.push_back({std::move(group), std::move(scores[g])});
    }
    return rescored;
  });
}

}  // namespace rollcall::io
