// Checkpoint folders are written under a hidden name, become valid through their manifest, and get
// their name in one rename.
#include "io/checkpoint.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/files/lfs_pointer.hpp"
#include "base/numbers/hash.hpp"
#include "base/text/foreign_json.hpp"
#include "base/text/json.hpp"
#include "io/checkpoint_settings.hpp"
#include "io/checksum_text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>

namespace rollcall::io {
namespace fs = std::filesystem;
using nlohmann::json;
namespace {

constexpr int kCheckpointFormat = 1;
constexpr const char *kManifest = "manifest.json", *kPartial = ".partial-", *kRemoved = ".removed-",
                     *kReplaced = ".replaced-";

[[noreturn]] void corrupt(const fs::path& path, const std::string& fault) {
  throw StorageError(error_message(fmt::format("{}: {}", path.string(), fault),
                                   "the run cannot restart from this checkpoint",
                                   "use an older checkpoint, or restore the file from a copy"));
}

fs::path folder_of(const fs::path& run_dir) { return run_dir / "checkpoints"; }
fs::path hidden_folder(const fs::path& run_dir, const std::string& name) {
  return folder_of(run_dir) / (kPartial + name);
}

/// Whether the name is one plain component of a path and is not hidden.
bool plain(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

struct CheckpointManifest {
  std::uint64_t sequence = 0;
  CheckpointFacts files;
  std::string settings;  ///< the run's settings as text; empty if an earlier build wrote the
                         ///< checkpoint
};

CheckpointManifest read_manifest_of(const fs::path& checkpoint) {
  try {
    json j = json::parse(read_file(checkpoint / kManifest));
    const auto stated = checksum_from_text(j.at("xxh3_64").get<std::string>());
    j.erase("xxh3_64");
    if (const auto found = checksum64(j.dump()); found != stated)
      throw std::invalid_argument(
          fmt::format("its checksum is {} where it says {}", hex64(found), hex64(stated)));
    const int format = j.at("format").get<int>();
    // The file is as it was written, so this is not damage.
    require<EnvironmentError>(
        format == kCheckpointFormat,
        fmt::format("{}: format {} where this program reads {}", (checkpoint / kManifest).string(),
                    format, kCheckpointFormat),
        "another version wrote the checkpoint", "use that version");
    CheckpointManifest manifest{.sequence = j.at("sequence").get<std::uint64_t>(),
                                .files = {},
                                .settings = j.value("settings", std::string())};
    for (const auto& [name, facts] : j.at("files").items()) {
      if (!plain(name)) throw std::invalid_argument("\"" + name + "\" is not a file name");
      manifest.files[name] = {facts.at("bytes").get<std::uint64_t>(),
                              checksum_from_text(facts.at("xxh3_64").get<std::string>())};
    }
    return manifest;
  } catch (const EnvironmentError&) {
    throw;
  } catch (const UnreadableError&) {
    throw;
  } catch (const std::exception& fault) {
    corrupt(checkpoint / kManifest, rollcall::fault_of(fault));
  }
}

std::string manifest_text(const std::string& name, std::uint64_t sequence,
                          const CheckpointFacts& facts, const std::string& settings) {
  json files = json::object();
  for (const auto& [file, f] : facts)
    files[file] = {{"bytes", f.bytes}, {"xxh3_64", hex64(f.checksum)}};
  json manifest{
      {"format", kCheckpointFormat}, {"name", name}, {"sequence", sequence}, {"files", files}};
  if (!settings.empty()) manifest["settings"] = settings;
  manifest["xxh3_64"] = hex64(checksum64(manifest.dump()));
  return manifest.dump(1) + "\n";
}

/// The size of a file in bytes; empty if there is no file, or if the run is just removing its
/// checkpoint.
std::optional<std::uint64_t> bytes_of(const fs::path& path) {
  if (!fs::is_regular_file(path)) return std::nullopt;
  std::error_code failed;
  const std::uint64_t bytes = fs::file_size(path, failed);
  if (failed == std::errc::no_such_file_or_directory) return std::nullopt;
  if (failed) throw fs::filesystem_error("file_size", path, failed);
  return bytes;
}

/// How a file differs from its entry in the manifest; empty if it does not. `content` receives the
/// bytes; if it is null, the whole file is never held in memory.
std::string fault_of(const fs::path& path, const FileFacts& facts, std::string* content = nullptr) {
  const auto bytes = bytes_of(path);
  if (!bytes) return "the file is missing";
  if (*bytes != facts.bytes) refuse_lfs_pointer(path);
  if (*bytes != facts.bytes)
    return fmt::format("it has {} bytes where the manifest says {}", *bytes, facts.bytes);
  if (content != nullptr) *content = read_file(path);
  const std::uint64_t found = content != nullptr ? checksum64(*content) : file_checksum64(path);
  return found == facts.checksum ? ""
                                 : fmt::format("its checksum is {} where the manifest says {}",
                                               hex64(found), hex64(facts.checksum));
}

std::vector<std::string> folder_names(const fs::path& run_dir) {
  std::vector<std::string> names;
  for (const auto& entry : list_folder(folder_of(run_dir)))
    if (entry.is_directory()) names.push_back(entry.path().filename());
  return names;
}

struct Listing {
  std::vector<std::pair<std::uint64_t, std::string>> complete;  ///< sequence, name: oldest first
  std::map<std::string, std::string> damaged;     ///< what is wrong, by folder, if the manifest is
                                                  ///< damaged
  std::map<std::string, std::string> unreadable;  ///< the reason, by folder, if the manifest cannot
                                                  ///< be read or has another format
  std::exception_ptr first_unreadable{};          ///< the error from one of those
  std::vector<std::string> faults() const {
    std::vector<std::string> texts;
    for (const auto* those : {&damaged, &unreadable})
      for (const auto& [name, fault] : *those) texts.push_back(fault);
    return texts;
  }
  /// Throws if a manifest cannot be read, because the newest readable checkpoint might not be the
  /// newest one.
  const Listing& known() const {
    if (first_unreadable) std::rethrow_exception(first_unreadable);
    return *this;
  }
};

Listing list(const fs::path& run_dir) {
  Listing listing;
  for (const std::string& name : folder_names(run_dir)) {
    if (name.front() == '.') continue;
    const auto note_unreadable = [&](const char* reason) {
      listing.unreadable[name] = reason;
      if (!listing.first_unreadable) listing.first_unreadable = std::current_exception();
    };
    try {
      listing.complete.emplace_back(read_manifest_of(folder_of(run_dir) / name).sequence, name);
    } catch (const UnreadableError& fault) {
      note_unreadable(fault.what());
    } catch (const EnvironmentError& fault) {
      note_unreadable(fault.what());
    } catch (const StorageError& fault) {
      // otherwise the run has just removed it
      if (fs::exists(folder_of(run_dir) / name)) listing.damaged[name] = fault.what();
    }
  }
  std::sort(listing.complete.begin(), listing.complete.end());
  return listing;
}

void remove_folder(const fs::path& path) {
  std::error_code ec;
  fs::remove_all(path, ec);
  require<StorageError>(!ec, fmt::format("cannot remove {}: {}", path.string(), ec.message()),
                        "old checkpoints would fill the disk", "check its permissions");
}

void rename_folder(const fs::path& from, const fs::path& to) {
  const int refused = ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
  require<StorageError>(refused == 0,
                        fmt::format("cannot rename {} to {}: {}", from.string(),
                                    to.filename().string(), std::strerror(refused)),
                        "the checkpoint cannot be replaced or removed in one step",
                        "check permissions and the file system");
}

/// Removes a folder. It is renamed to a hidden name first, and the rename is made durable, because
/// a crash in the middle of the removal must not leave a folder that looks like a damaged
/// checkpoint.
void discard(const fs::path& run_dir, const std::string& name) {
  const fs::path hidden = folder_of(run_dir) / (kRemoved + name);
  remove_folder(hidden);
  rename_folder(folder_of(run_dir) / name, hidden);
  fsync_path(folder_of(run_dir));
  remove_folder(hidden);
}

/// Puts the finished folder in place of an older one with the same name. The two are exchanged
/// where the file system can do that, so that one of them always exists. Elsewhere (NFS, Lustre)
/// the older one is renamed to a name that restore_replaced() knows.
void show(const fs::path& run_dir, const fs::path& hidden, const std::string& name) {
  const fs::path shown = folder_of(run_dir) / name, aside = folder_of(run_dir) / (kReplaced + name);
  if (!fs::exists(shown)) {
    rename_folder(hidden, shown);
  } else if (::renameat2(AT_FDCWD, hidden.c_str(), AT_FDCWD, shown.c_str(), RENAME_EXCHANGE) != 0) {
    remove_folder(aside);
    rename_folder(shown, aside);
    rename_folder(hidden, shown);
  }
  fsync_path(folder_of(run_dir));
  remove_folder(aside);
}

/// Links the files that an earlier checkpoint already has.
void take_over(const fs::path& run_dir, const CheckpointShare& share, const fs::path& hidden,
               CheckpointFacts& facts) {
  if (share.unchanged.empty()) return;
  await_checkpoint(run_dir, share.earlier);  // rank 0 may have ended it a moment ago
  const auto before = read_manifest_of(folder_of(run_dir) / share.earlier).files;
  for (const std::string& file : share.unchanged) {
    const auto known = before.find(file);
    if (known == before.end())
      corrupt(folder_of(run_dir) / share.earlier / kManifest,
              fmt::format("it does not name {}", file));
    link_or_copy(folder_of(run_dir) / share.earlier / file, hidden / file);
    facts.insert(*known);
  }
}

}  // namespace

CheckpointFacts write_share(const fs::path& run_dir, const std::string& name,
                            const CheckpointShare& share) {
  const fs::path hidden = hidden_folder(run_dir, name);
  CheckpointFacts facts;
  make_folder(hidden);  // another rank's folder may not be visible here yet
  try {
    take_over(run_dir, share, hidden, facts);
    for (const auto& [file, bytes_of] : share.files) {
      expect(plain(file) && file != kManifest,
             "a checkpoint's files have plain names other than manifest.json");
      const FileContent content = bytes_of();
      const std::uint64_t checksum = write_content_synced(hidden / file, content);
      expect(facts.insert({file, {content.size(), checksum}}).second,
             "a checkpoint's file is written or taken over, not both");
    }
  } catch (const Error&) {  // this rank's files would only fill the disk; other ranks may still be
                            // writing theirs
    std::error_code ignored;
    for (const auto& [file, written] : facts) fs::remove(hidden / file, ignored);
    fs::remove(hidden, ignored);
    throw;
  }
  return facts;
}

void end_checkpoint(const fs::path& run_dir, const std::string& name,
                    const CheckpointFacts& files) {
  end_checkpoint(run_dir, name, files, {});
}

void end_checkpoint(const fs::path& run_dir, const std::string& name, const CheckpointFacts& files,
                    const std::string& settings) {
  const fs::path hidden = hidden_folder(run_dir, name), shards = run_dir / "shards";
  if (fs::exists(shards))
    fsync_path(shards);  // once for all shards that were published since the
                         // last checkpoint
  const Listing before = list(run_dir);
  // the new number also comes after those of checkpoints that cannot be read
  const std::uint64_t sequence =
      (before.complete.empty() ? 0 : before.complete.back().first) + before.unreadable.size() + 1;
  write_file_synced(hidden / kManifest, manifest_text(name, sequence, files, settings));
  fsync_path(hidden);
  show(run_dir, hidden, name);
  remove_folder(hidden);  // after an exchange it holds the checkpoint that was replaced
}

void write_checkpoint(const fs::path& run_dir, const std::string& name,
                      const CheckpointShare& share) {
  expect(plain(name), "a checkpoint's name is a plain file name");
  remove_folder(hidden_folder(run_dir, name));
  try {
    end_checkpoint(run_dir, name, write_share(run_dir, name, share));
  } catch (const Error&) {
    std::error_code ignored;  // the first failure is the one that is reported
    fs::remove_all(hidden_folder(run_dir, name), ignored);
    throw;
  }
}

void write_checkpoint(const fs::path& run_dir, const Checkpoint& checkpoint) {
  CheckpointShare share;
  for (const auto& [name, content] : checkpoint.files)
    share.files[name] = [&bytes = content] { return bytes; };
  write_checkpoint(run_dir, checkpoint.name, share);
}

void restore_replaced(const fs::path& run_dir) {
  for (const std::string& name : folder_names(run_dir)) {
    if (!name.starts_with(kReplaced)) continue;
    const fs::path shown = folder_of(run_dir) / name.substr(std::strlen(kReplaced));
    if (fs::exists(shown)) continue;
    rename_folder(folder_of(run_dir) / name, shown);
    fsync_path(folder_of(run_dir));
  }
}

std::vector<std::string> list_checkpoints(const fs::path& run_dir,
                                          std::vector<std::string>* faults) {
  const Listing listing = list(run_dir);
  if (faults != nullptr) *faults = listing.faults();
  else listing.known();
  std::vector<std::string> names;
  for (const auto& [sequence, name] : listing.complete) names.push_back(name);
  return names;
}

std::map<std::string, std::string> damaged_checkpoints(const fs::path& run_dir) {
  return list(run_dir).known().damaged;
}

void await_checkpoint(const fs::path& run_dir, const std::string& name, double longest_s) {
  const fs::path manifest = folder_of(run_dir) / name / kManifest;
  require<StorageError>(
      file_seen_in_time(manifest, longest_s),
      fmt::format("{} cannot be seen here {:.0f} s after rank 0 named it", manifest.string(),
                  longest_s),
      "ranks exchange checkpoints through files",
      "put run.dir on a file system that all nodes share; if it already is, check that file system");
}

StoredCheckpoint::StoredCheckpoint(const fs::path& run_dir, const std::string& name)
    : name_(name), folder_(folder_of(run_dir) / name) {
  if (!plain(name) || !fs::is_directory(folder_)) corrupt(folder_, "there is no such checkpoint");
  files_ = read_manifest_of(folder_).files;
}

const FileFacts& StoredCheckpoint::facts_of(const std::string& file) const {
  const auto known = files_.find(file);
  if (known == files_.end()) corrupt(folder_ / kManifest, fmt::format("it names no {}", file));
  return known->second;
}

std::string StoredCheckpoint::read(const std::string& file) const {
  std::string content;
  if (const auto fault = fault_of(folder_ / file, facts_of(file), &content); !fault.empty())
    corrupt(folder_ / file, fault);
  return content;
}

fs::path StoredCheckpoint::verified(const std::string& file) const {
  const fs::path path = folder_ / file;
  if (const auto fault = fault_of(path, facts_of(file)); !fault.empty()) corrupt(path, fault);
  return path;
}

void StoredCheckpoint::verify() const {
  for (const auto& [file, facts] : files_) verified(file);
}

Checkpoint read_checkpoint(const fs::path& run_dir, const std::string& name) {
  const StoredCheckpoint stored(run_dir, name);
  Checkpoint checkpoint{.name = name, .files = {}};
  for (const auto& [file, facts] : stored.files())
    checkpoint.files.emplace(file, stored.read(file));
  return checkpoint;
}

std::optional<StoredCheckpoint> newest_checkpoint(const fs::path& run_dir,
                                                  std::vector<std::string>* warnings) {
  restore_replaced(run_dir);
  const Listing listing = list(run_dir);
  std::vector<std::string> faults = listing.known().faults();
  std::optional<StoredCheckpoint> found;
  for (auto candidate = listing.complete.rbegin(); candidate != listing.complete.rend() && !found;
       ++candidate) {
    try {
      const StoredCheckpoint checkpoint(run_dir, candidate->second);
      checkpoint.verify();
      found = checkpoint;
    } catch (const UnreadableError&) {
      throw;  // a start from an older checkpoint would set aside shards that this one counts
    } catch (const Error& fault) {
      faults.emplace_back(fault.what());
    }
  }
  if (!found && !faults.empty())
    throw StorageError(
        error_message(fmt::format("none of the {} checkpoints in {} can be read; the newest: {}",
                                  faults.size(), folder_of(run_dir).string(), faults.front()),
                      "starting over would overwrite the run",
                      "restore one from a copy, or choose another run.dir"));
  if (warnings != nullptr) warnings->insert(warnings->end(), faults.begin(), faults.end());
  return found;
}

Removed remove_leftovers(const fs::path& run_dir) {
  Removed removed;
  for (const std::string& name : folder_names(run_dir)) {
    if (!name.starts_with(kPartial) && !name.starts_with(kRemoved) && !name.starts_with(kReplaced))
      continue;
    const fs::path folder = folder_of(run_dir) / name;
    std::error_code unknown;
    for (const auto& file : list_folder(folder)) {
      const std::uint64_t bytes = file.file_size(unknown);
      ++removed.files, removed.bytes += unknown ? 0 : bytes;
    }
    remove_folder(folder);
  }
  return removed;
}

void prune_checkpoints(const fs::path& run_dir, std::int64_t keep_last,
                       const std::vector<std::string>& keep) {
  remove_leftovers(run_dir);
  const auto complete = list(run_dir).complete;  // checkpoints that cannot be read stay
  for (std::size_t i = 0; i + std::size_t(std::max<std::int64_t>(keep_last, 0)) < complete.size();
       ++i)
    if (const std::string& name = complete[i].second;
        std::find(keep.begin(), keep.end(), name) == keep.end())
      discard(run_dir, name);
}

void branch_checkpoint(const StoredCheckpoint& from, const fs::path& run_dir,
                       const std::map<std::string, std::string>& replaced,
                       const std::set<std::string>& left_out, const std::string& settings) {
  const fs::path hidden = hidden_folder(run_dir, from.name());
  remove_folder(hidden);
  make_folder(hidden);
  CheckpointFacts facts;
  for (const auto& [file, known] : from.files()) {
    if (left_out.contains(file)) continue;
    if (const auto other = replaced.find(file); other != replaced.end()) {
      const FileContent content(other->second);
      facts[file] = {content.size(), write_content_synced(hidden / file, content)};
    } else {
      link_or_copy(from.verified(file), hidden / file);
      facts[file] = known;
    }
  }
  end_checkpoint(run_dir, from.name(), facts, settings);
}

std::string settings_of_checkpoint(const fs::path& checkpoint) {
  return read_manifest_of(checkpoint).settings;
}

void verify_files(const fs::path& checkpoint, const std::vector<std::string>& names) {
  const CheckpointFacts known = read_manifest_of(checkpoint).files;
  for (const std::string& name : names) {
    const fs::path path = checkpoint / name;
    const auto demand = [&](bool ok, const std::string& fault) {
      require<StorageError>(ok, fmt::format("{}: {}", path.string(), fault),
                            "what is read would not be what the run wrote",
                            "use another checkpoint, or restore the file from a copy");
    };
    const auto facts = known.find(name);
    if (facts == known.end()) {
      demand(!bytes_of(path), "the manifest does not name it");
      continue;
    }
    const auto fault = fault_of(path, facts->second);
    demand(fault.empty(), fault);
  }
}

}  // namespace rollcall::io
