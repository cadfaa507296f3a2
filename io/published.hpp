// Facts common to every file: its root attributes, and the check of a file against what was
// published. Private to io.
#pragma once

#include "io/archive.hpp"
#include "io/table_file.hpp"

#include <filesystem>

namespace rollcall::io {

/// Attributes of every kind of file ("shard", "scores", "scored", "archive"), schema version first.
Attributes identity_attributes(const RunIdentity& identity, const char* kind, Purpose purpose,
                               int major = kSchemaMajor);

/// Size and checksum as they are on disk. Throws StorageError.
PublishedFile inspect(const std::filesystem::path& run_dir, const std::string& path);

/// Throws FileFault unless the file has the size and bytes that were published; call it inside
/// reading().
void check_published(const std::filesystem::path& run_dir, const PublishedFile& file);
/// The same of bytes that were read or mapped already.
void check_bytes(const PublishedFile& file, std::span<const std::byte> bytes);
/// Throws FileFault unless the file is of this kind and a schema version this code reads,
/// NewerSchema where a later program will.
void check_schema(const TableReader& reader, const char* kind);
/// After all reads of an archive file: its structure, and that it is what the manifest says of it.
/// Throws FileFault.
void check_archive(const TableReader& reader, const ArchiveEntry& entry);
Purpose purpose_of(const TableReader& reader);

}  // namespace rollcall::io
