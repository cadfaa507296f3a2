// Checkpoints: a folder of plain files and a manifest that makes it valid. Free of HDF5 and LibTorch; tensors travel as safetensors bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::io {

/// A checkpoint's content: named blobs (file name -> bytes), for example model.safetensors, config.json, optimizer.safetensors, coordinator.json.
struct Checkpoint {
  std::string name;  ///< "sft_000050", "train_000120": sorts by phase and step
  std::map<std::string, std::string> files;
};

/// Writes run_dir/checkpoints/<name>: files aside in a hidden folder, each fsynced, manifest.json with sizes, XXH3 checksums and a format number last,
/// then rename and fsync. Replaces an existing one of that name. Throws StorageError and leaves older checkpoints alone.
void write_checkpoint(const std::filesystem::path& run_dir, const Checkpoint& checkpoint);

/// Names of the complete checkpoints, oldest first by the sequence number in their manifests.
std::vector<std::string> list_checkpoints(const std::filesystem::path& run_dir);

/// Reads and verifies one. Throws StorageError naming the file at fault.
Checkpoint read_checkpoint(const std::filesystem::path& run_dir, const std::string& name);

/// The newest that verifies; corrupt newer ones are named in `warnings`. Empty when there is none at all; throws StorageError when all are corrupt.
std::optional<Checkpoint> newest_checkpoint(const std::filesystem::path& run_dir, std::vector<std::string>* warnings);

/// Removes all but the newest `keep_last` and those in `keep`; and leftovers of interrupted writes.
void prune_checkpoints(const std::filesystem::path& run_dir, std::int64_t keep_last, const std::vector<std::string>& keep);

}  // namespace rollcall::io
