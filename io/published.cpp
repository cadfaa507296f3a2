// Root attributes and the refusals that come before any column is read.
#include "io/published.hpp"

#include "io/compact_tables.hpp"
#include "io/fault.hpp"
#include "io/open_tables.hpp"

#include <algorithm>

namespace rollcall::io {
using namespace std::string_view_literals;
namespace fs = std::filesystem;

Attributes identity_attributes(const RunIdentity& identity, const char* kind, Purpose purpose,
                               int major) {
  Attributes all{{"schema_major", std::int32_t{major}},
                 {"schema_minor", std::int32_t{kSchemaMinor}},
                 {"kind", std::string(kind)},
                 {"run_id", identity.run_id},
                 {"config_sha256", identity.config_sha256},
                 {"data_hash", identity.data_hash},
                 {"binary_version", identity.binary_version},
                 {"slurm_job_id", identity.slurm_job_id},
                 {"seed", identity.seed},
                 {"purpose", text_of(purpose)},
                 {"weights_hash", identity.weights_hash}};
  if (!identity.judge.empty()) all.emplace_back("judge", identity.judge);
  if (!identity.numerics.empty()) all.emplace_back("numerics", identity.numerics);
  if (!identity.parent.empty()) all.emplace_back("parent", identity.parent);
  if (!identity.grader.empty()) all.emplace_back("grader", identity.grader);
  if (!identity.environment.empty()) all.emplace_back("environment", identity.environment);
  return all;
}

PublishedFile inspect(const fs::path& run_dir, const std::string& path) {
  return reading(run_dir / path, [&] {
    return PublishedFile{path, plain_size(run_dir / path), file_checksum64(run_dir / path)};
  });
}

namespace {

void check_size(const PublishedFile& file, std::uint64_t bytes) {
  if (bytes != file.bytes)
    throw FileFault(fmt::format("it has {} bytes where {} were published", bytes, file.bytes));
}

void check_checksum(const PublishedFile& file, std::uint64_t checksum) {
  if (checksum != file.checksum)
    throw FileFault(fmt::format("its checksum is {} where {} was published", hex64(checksum),
                                hex64(file.checksum)));
}

}  // namespace

void check_published_size(const fs::path& run_dir, const PublishedFile& file) {
  check_size(file, plain_size(run_dir / file.path));
}

void check_published(const fs::path& run_dir, const PublishedFile& file) {
  check_published_size(run_dir, file);
  check_checksum(file, file_checksum64(run_dir / file.path));
}

void check_bytes(const PublishedFile& file, std::span<const std::byte> bytes) {
  check_size(file, bytes.size());
  check_checksum(file, checksum64(bytes));
}

void check_schema(const TableReader& reader, const char* kind) {
  const auto major = reader.number<std::int32_t>("schema_major");
  const int newest = kind == "archive"sv ? kSchemaMajor : kCompactMajor;
  const auto other = [&] {
    return fmt::format("it has schema {}.{} and this program reads {} to {}", major,
                       reader.number<std::int32_t>("schema_minor"), kSchemaMajor, newest);
  };
  if (major > newest) throw NewerSchema(other());
  if (major < kSchemaMajor) throw FileFault(other());
  // A file of the kind "scored" can be read as a shard and as scores.
  if (const std::string found = reader.text("kind");
      found != kind && (found != "scored" || kind == "archive"sv))
    throw FileFault(fmt::format("it is a file of kind \"{}\" where \"{}\" is needed", found, kind));
}

void check_archive(const TableReader& reader, const ArchiveEntry& entry) {
  reader.check_counts();
  const Extents& n = reader.extents();
  if (n[index(Dim::group)] != entry.groups || n[index(Dim::rollout)] != entry.rollouts ||
      n[index(Dim::token)] != entry.tokens)
    throw FileFault("its numbers of groups, rollouts or tokens differ from the manifest");
  if (text_of(purpose_of(reader)) != entry.purpose ||
      reader.number<std::uint64_t>("first_step") != entry.first_step ||
      reader.number<std::uint64_t>("last_step") != entry.last_step)
    throw FileFault("its purpose or steps differ from the manifest");
  reader.component_names();
}

Purpose purpose_of(const TableReader& reader) {
  const std::string text = reader.text("purpose");
  const auto place = std::find(kPurposes.begin(), kPurposes.end(), text);
  if (place == kPurposes.end())
    throw FileFault(fmt::format(
        "its purpose is \"{}\", which is none of train, validation, eval, greedy", text));
  return Purpose(place - kPurposes.begin());
}

}  // namespace rollcall::io
