// Compares the files in the folders with the manifest.
#include "io/run_files.hpp"

#include "base/files/file.hpp"
#include "io/fault.hpp"
#include "io/manifest.hpp"
#include "io/shard_name.hpp"
#include "io/source.hpp"
#include "io/table_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

namespace rollcall::io {
namespace fs = std::filesystem;
namespace {

std::optional<FileState> state_of(const std::string& path,
                                  const std::vector<ArchiveEntry>& packed) {
  const fs::path name(path);
  if (path.starts_with("set_aside/"))
    return name.extension() == ".h5" || name.extension() == ".partial"
               ? std::optional(FileState::set_aside)
               : std::nullopt;
  // Open MPI keeps its own files beside a file that ranks share.
  const bool beside_partial = path.find(".h5.partial.") != std::string::npos;
  if (name.extension() == ".partial" || beside_partial) return FileState::partial;
  if (name.extension() != ".h5") return std::nullopt;
  if (path.starts_with("shards/")) {
    const auto shard = ShardName::parse(name);
    return shard && any_holds(packed, shard->purpose, shard->step) ? FileState::replaced
                                                                   : FileState::shard;
  }
  const bool listed = std::any_of(packed.begin(), packed.end(),
                                  [&](const ArchiveEntry& e) { return e.file.path == path; });
  return listed ? std::nullopt : std::optional(FileState::unlisted);
}

}  // namespace

std::string text_of(FileState state) {
  switch (state) {
    case FileState::shard: return "shard";
    case FileState::replaced: return "packed already";
    case FileState::partial: return "partial";
    case FileState::unlisted: return "not in the manifest";
    case FileState::set_aside: return "set aside";
  }
  throw FileFault("unknown state of a file");
}

RunFiles list_files(const fs::path& run_dir) {
  std::vector<std::pair<std::string, std::uint64_t>> found;
  for (const char* folder : {"archive", "shards", "set_aside"}) {
    const fs::path root = run_dir / folder;
    std::error_code ec, gone;
    std::set<std::pair<std::string, std::uint64_t>> names;
    // Whether the file was there at the previous call. Throws if it could not be inspected.
    const auto known = [&](const fs::path& path) {
      if (gone && gone != std::errc::no_such_file_or_directory)
        reading_failure("look at", path, gone.value());
      return !gone;
    };
    fs::recursive_directory_iterator file(root, ec);
    if (ec == std::errc::no_such_file_or_directory) continue;
    for (; !ec && file != fs::recursive_directory_iterator(); file.increment(ec)) {
      const bool regular = file->is_regular_file(gone);
      const auto bytes = known(file->path()) && regular ? file->file_size(gone) : 0;
      if (known(file->path()) && regular)
        names.emplace(file->path().lexically_relative(run_dir), bytes);
    }
    if (ec) reading_failure("list", root, ec.value());
    found.insert(found.end(), names.begin(), names.end());
  }
  // read after the folders, so that it names a file that was packed in between
  RunFiles files{.packed = read_manifest(run_dir), .others = {}};
  for (const auto& [path, bytes] : found) {
    const auto state = state_of(path, files.packed);
    // A shard that is gone by now was not in the manifest that was read above. It stays in the
    // list, because its step would be missing otherwise.
    if (state && (state == FileState::shard || fs::exists(run_dir / path)))
      files.others.push_back({path, *state, bytes});
  }
  return files;
}

std::optional<Rows> count_rows(const fs::path& file) {
  try {
    const auto inside = enter_hdf5();
    const TableReader reader(file);
    return Rows{reader.rows("groups/step"), reader.rows("rollouts/sample")};
  } catch (const FileFault&) {
    return std::nullopt;
  } catch (const fs::filesystem_error&) {
    return std::nullopt;
  }
}

std::string new_set_aside(const fs::path& run_dir) {
  int next = 0;
  for (const auto& folder : list_folder(run_dir / "set_aside"))
    next = std::max(next, std::atoi(folder.path().filename().c_str()) + 1);
  const std::string target = "set_aside/" + std::to_string(next);
  make_folder(run_dir / target);
  return target;
}

void move_to(const fs::path& run_dir, const std::vector<std::string>& paths,
             const std::string& target) {
  std::set<fs::path> folders{run_dir / target, run_dir / "set_aside"};
  for (const std::string& path : paths) {
    std::error_code ec;
    fs::path place = run_dir / target / fs::path(path).filename();
    while (fs::exists(place)) place += ".again";  // two folders may hold files of one name
    fs::rename(run_dir / path, place, ec);
    if (ec == std::errc::cross_device_link) {  // archive/ or shards/ may be a link to another file
                                               // system
      ec.clear();
      fs::copy(run_dir / path, place, fs::copy_options::recursive, ec);
      if (!ec) fs::remove_all(run_dir / path, ec);
    }
    require<StorageError>(
        !ec, fmt::format("cannot move or remove {}: {}", (run_dir / path).string(), ec.message()),
        "a file of an unfinished step would be taken for the run's",
        "check free space and permissions, then start again");
    folders.insert((run_dir / path).parent_path());
  }
  for (const fs::path& folder : folders) fsync_path(folder);
}

std::vector<Fault> rebuild_manifest(const fs::path& run_dir, std::optional<std::uint64_t> seed,
                                    const std::string& copy) {
  std::vector<Fault> faults;
  std::map<std::tuple<Purpose, std::uint64_t, std::string>, ArchiveEntry> found;
  for (const auto& file : list_folder(run_dir / "archive")) {
    if (file.path().extension() != ".h5") continue;
    const std::string path = file.path().lexically_relative(run_dir);
    try {
      const ArchiveEntry entry = describe(run_dir, path);
      const auto wrong = verify_archive(run_dir, entry);
      if (!wrong.empty() && wrong.front().kind == Fault::Kind::unreadable)
        refuse_unreadable(run_dir / path, wrong.front().problem);
      if (!wrong.empty()) faults.push_back(wrong.front());
      else if (!seed || identity_of(run_dir, entry.file).seed == *seed)
        found[{purpose_from_text(entry.purpose), entry.first_step, path}] = entry;
    } catch (const EnvironmentError&) {
      throw;  // a newer program wrote the file, so it must not be dropped
    } catch (const UnreadableError&) {
      throw;  // a file that cannot be read must not be dropped either
    } catch (const Error& fault) {
      faults.push_back({path, fault.what()});
    }
  }
  Manifest manifest;
  for (const auto& [order, entry] : found) {
    const auto& [purpose, first_step, path] = order;
    const bool twice =
        std::any_of(manifest.files.begin(), manifest.files.end(), [&](const ArchiveEntry& e) {
          return overlap(e, purpose, entry.first_step, entry.last_step);
        });
    if (!twice) manifest.files.push_back(entry);
  }
  const fs::path old = run_dir / "archive" / "manifest.json";
  if (fs::exists(old)) write_file_atomic(run_dir / copy, read_file(old));
  save_manifest(run_dir, manifest);
  return faults;
}

void amend(const fs::path& run_dir, const std::vector<std::string>& withdrawn,
           const std::vector<ArchiveEntry>& readmitted, const std::string& copy) {
  Manifest manifest = load_manifest(run_dir);
  const auto gone = [&](const ArchiveEntry& e) {
    return std::find(withdrawn.begin(), withdrawn.end(), e.file.path) != withdrawn.end();
  };
  if (std::none_of(manifest.files.begin(), manifest.files.end(), gone) && readmitted.empty())
    return;
  const fs::path old = run_dir / "archive" / "manifest.json";
  if (fs::exists(old)) write_file_atomic(run_dir / copy, read_file(old));
  // `replaced` names the shards that the last file holds.
  if (!manifest.files.empty() && gone(manifest.files.back())) manifest.replaced.clear();
  std::erase_if(manifest.files, gone);
  // Not at the end, because `replaced` would then belong to one of these files.
  manifest.files.insert(manifest.files.begin(), readmitted.begin(), readmitted.end());
  save_manifest(run_dir, manifest);
}

std::vector<ArchiveEntry> entries_before(const fs::path& run_dir, const std::string& path) {
  std::vector<ArchiveEntry> found;
  for (const auto& folder : list_folder(run_dir / "set_aside")) {
    const fs::path copy = folder.path() / "manifest.json";
    try {
      if (!fs::exists(copy)) continue;
      for (const ArchiveEntry& entry : parse_manifest(copy).files)
        if (entry.file.path == path) found.push_back(entry);
    } catch (const UnreadableError&) {
      throw;
    } catch (const Error&) {  // kept because it was damaged
    }
  }
  return found;
}

}  // namespace rollcall::io
