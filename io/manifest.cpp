// The manifest is a JSON file that is replaced atomically.
#include "io/manifest.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/numbers/hash.hpp"
#include "base/text/foreign_json.hpp"
#include "base/text/json.hpp"
#include "io/checksum_text.hpp"
#include "io/fault.hpp"
#include "io/published.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace rollcall::io {
namespace fs = std::filesystem;
using nlohmann::json;
namespace {

constexpr int kManifestFormat = 2;  // format 1 had no checksum of the manifest itself
constexpr const char* kOwnChecksum = "xxh3_64";
fs::path manifest_path(const fs::path& run_dir) { return run_dir / "archive" / "manifest.json"; }

json to_json(const PublishedFile& file) {
  return {{"path", file.path}, {"bytes", file.bytes}, {"xxh3_64", hex64(file.checksum)}};
}
PublishedFile file_from(const json& j) {
  PublishedFile file{j.at("path").get<std::string>(), j.at("bytes").get<std::uint64_t>(),
                     checksum_from_text(j.at("xxh3_64").get<std::string>())};
  const fs::path path(file.path);
  if (path.is_absolute() || path.lexically_normal() != path || file.path.starts_with(".."))
    throw std::invalid_argument("path " + file.path + " leaves the run folder");
  return file;
}

json to_json(const ArchiveEntry& e) {
  return {{"file", to_json(e.file)},  {"purpose", e.purpose}, {"first_step", e.first_step},
          {"last_step", e.last_step}, {"groups", e.groups},   {"rollouts", e.rollouts},
          {"tokens", e.tokens}};
}
ArchiveEntry entry_from(const json& j) {
  return {.file = file_from(j.at("file")),
          .purpose = j.at("purpose").get<std::string>(),
          .first_step = j.at("first_step").get<std::uint64_t>(),
          .last_step = j.at("last_step").get<std::uint64_t>(),
          .groups = j.at("groups").get<std::uint64_t>(),
          .rollouts = j.at("rollouts").get<std::uint64_t>(),
          .tokens = j.at("tokens").get<std::uint64_t>()};
}

/// The text of the manifest, with the checksum of all other members.
std::string sealed(json j) {
  j.erase(kOwnChecksum);
  j[kOwnChecksum] = hex64(checksum64(j.dump()));
  return j.dump(1) + "\n";
}

/// Compares byte for byte. Otherwise a changed number in the manifest would be reported as damage
/// to the file that it belongs to.
void check_whole(const json& j, const std::string& text) {
  if (sealed(j) != text)
    throw std::invalid_argument("it is not as it was written: its checksum or its layout differs");
}

}  // namespace

std::string entry_text(const ArchiveEntry& entry) { return to_json(entry).dump(); }
ArchiveEntry entry_from_text(const std::string& text) { return entry_from(json::parse(text)); }

Manifest load_manifest(const fs::path& run_dir) {
  const fs::path path = manifest_path(run_dir);
  return fs::exists(path) ? parse_manifest(path) : Manifest{};
}

Manifest parse_manifest(const fs::path& path) {
  try {
    const std::string text = read_file(path);
    const json j = json::parse(text);
    const int format = j.at("format").get<int>();
    if (format != 1 || j.contains(kOwnChecksum)) check_whole(j, text);
    // The manifest is undamaged, so there is nothing to repair.
    require<EnvironmentError>(format <= kManifestFormat,
                              fmt::format("{}: format {} where this program reads up to {}",
                                          path.string(), format, kManifestFormat),
                              "a newer rollcall wrote the run", "use that version");
    Manifest manifest;
    for (const json& entry : j.at("files")) manifest.files.push_back(entry_from(entry));
    for (const json& file : j.at("replaced")) manifest.replaced.push_back(file_from(file));
    if (manifest.files.empty() && !manifest.replaced.empty())
      throw std::invalid_argument("it replaces shards by no file");
    return manifest;
  } catch (const EnvironmentError&) {
    throw;
  } catch (const UnreadableError&) {
    throw;
  } catch (const std::exception& fault) {
    throw StorageError(error_message(
        fmt::format("{}: {}", path.string(), fault_of(fault)),
        "it says which packed files are whole",
        "restore it from a copy, or let rollcall archive repair rebuild it from the packed files beside it"));
  }
}

void save_manifest(const fs::path& run_dir, const Manifest& manifest) {
  json j{{"format", kManifestFormat}, {"files", json::array()}, {"replaced", json::array()}};
  for (const ArchiveEntry& entry : manifest.files) j["files"].push_back(to_json(entry));
  for (const PublishedFile& file : manifest.replaced) j["replaced"].push_back(to_json(file));
  make_folder(manifest_path(run_dir).parent_path());
  write_file_atomic(manifest_path(run_dir), sealed(std::move(j)));
}

void remove_files(const fs::path& run_dir, const std::vector<PublishedFile>& files) {
  constexpr std::size_t kThreads = 8;  // removals wait for the file system, not for the processor
  std::atomic<std::size_t> next{0};
  std::vector<std::string> faults(files.size());
  const auto work = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++) {
      std::error_code ec;
      if (!fs::remove(run_dir / files[i].path, ec) && ec) faults[i] = ec.message();
    }
  };
  {
    std::vector<std::jthread> others(std::min(kThreads, files.size()));
    for (std::jthread& other : others) other = std::jthread(work);
  }
  for (std::size_t i = 0; i < files.size(); ++i)
    require<StorageError>(
        faults[i].empty(),
        fmt::format("cannot remove {}: {}", (run_dir / files[i].path).string(), faults[i]),
        "it is packed and would be counted twice", "check permissions of the run folder");
}

int remove_replaced(const fs::path& run_dir, const Manifest& manifest) {
  std::vector<PublishedFile> there;
  for (const PublishedFile& file : manifest.replaced) {
    const fs::path path = run_dir / file.path;
    std::error_code ec;
    const std::uint64_t bytes = fs::file_size(path, ec);
    if (ec == std::errc::no_such_file_or_directory) continue;
    if (ec) reading_failure("look at", path, ec.value());
    // A file is removed only if it has the bytes that were packed, because a step that was drawn
    // again after a crash has a file with the same name.
    if (bytes == file.bytes && inspect(run_dir, file.path).checksum == file.checksum)
      there.push_back(file);
  }
  if (there.empty()) return 0;
  // Until the file that now holds them has been checked, they are the only copy.
  const PublishedFile& holder = manifest.files.back().file;
  reading(run_dir / holder.path, [&] { check_published(run_dir, holder); });
  remove_files(run_dir, there);
  return int(there.size());
}

}  // namespace rollcall::io
