// The parts that all files share: root attributes, and the comparison with the published size and
// checksum. Private to io.
#pragma once

#include "io/archive.hpp"
#include "io/table_file.hpp"

#include <filesystem>

namespace rollcall::io {

/// Attributes of a file of any kind ("shard", "scores", "scored", "archive"), schema version first.
Attributes identity_attributes(const RunIdentity& identity, const char* kind, Purpose purpose,
                               int major = kSchemaMajor);

/// Size and checksum of the file on disk. Throws StorageError.
PublishedFile inspect(const std::filesystem::path& run_dir, const std::string& path);

/// Throws FileFault unless the file has the size and bytes that were published; call it inside
/// reading().
void check_published(const std::filesystem::path& run_dir, const PublishedFile& file);
/// Throws FileFault unless the file has its published size; the file is not opened.
void check_published_size(const std::filesystem::path& run_dir, const PublishedFile& file);
/// Throws FileFault unless `bytes`, read or mapped already, are those of the published file.
void check_bytes(const PublishedFile& file, std::span<const std::byte> bytes);
/// Throws FileFault unless the file is of this kind and has a schema version that this program
/// reads, NewerSchema where only a later program reads the version.
void check_schema(const TableReader& reader, const char* kind);
/// To be called after all reads of an archive file. Throws FileFault unless the file's structure is
/// right and agrees with its entry in the manifest.
void check_archive(const TableReader& reader, const ArchiveEntry& entry);
Purpose purpose_of(const TableReader& reader);

}  // namespace rollcall::io
