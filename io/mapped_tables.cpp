// Maps a file and compares it with what was published.
#include "io/mapped_tables.hpp"

namespace rollcall::io {
namespace fs = std::filesystem;
namespace {

std::unique_ptr<MappedFile> map_published(const fs::path& run_dir, const PublishedFile& file) {
  auto mapped = std::make_unique<MappedFile>(run_dir / file.path);
  check_bytes(file, mapped->bytes());
  return mapped;
}

}  // namespace

MappedTables::MappedTables(const fs::path& run_dir, const PublishedFile& file, const char* kind,
                           ColumnChecksums checksums)
    : mapped_(map_published(run_dir, file)),
      reader_(run_dir / file.path, mapped_->bytes(), checksums) {
  check_schema(reader_, kind);
}

bool MappedTables::is_large(const Column& column) {
  switch (column.rows) {
    case Dim::token:
    case Dim::prompt_byte:
    case Dim::reference_byte:
    case Dim::completion_byte:
    case Dim::extracted_byte:
    case Dim::reason_byte:
    case Dim::shown_byte:
    case Dim::extra_byte:
    case Dim::start_byte:
    case Dim::fact_reason_byte:
    case Dim::kept_id: return true;
    case Dim::kept: return !column.counts;
    case Dim::group:
    case Dim::rollout:
    case Dim::turn:
    case Dim::fact:
    case Dim::fact_component:
    case Dim::component: return false;
  }
  throw FileFault("unknown dimension");
}

}  // namespace rollcall::io
