// The files that hold a model's tensors: one, or several that an index names.
#pragma once

#include "model/tensors/safetensors.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace rollcall::model {

/// model.safetensors.index.json: tensor -> name of its file.
using ShardIndex = std::map<std::string, std::string>;
/// Throws InputError: no such table, a tensor that stands twice, a file that is not a plain name
/// beside the index.
ShardIndex parse_shard_index(const std::string& text, const std::string& origin);

class WeightFiles {
 public:
  /// model.safetensors, else what model.safetensors.index.json names (the order of transformers).
  /// Throws InputError naming what is missing,
  /// stands in two files, or is in a file and not in the index.
  static WeightFiles open(const std::filesystem::path& folder);
  explicit WeightFiles(SafetensorsFile file);
  WeightFiles(WeightFiles&&) = default;  // a copy would point into the original

  /// Tensor -> the file that holds it.
  const std::map<std::string, const SafetensorsFile*>& tensors() const { return tensors_; }
  const std::string& origin() const { return origin_; }  ///< what messages call them

 private:
  WeightFiles() = default;
  void add(const SafetensorsFile& file, const ShardIndex& index, const std::string& name);

  std::map<std::string, SafetensorsFile> files_;  ///< by name; its nodes stay where they are
  std::map<std::string, const SafetensorsFile*> tensors_;
  std::string origin_;
};

/// SHA-256 over names, types, shapes and bytes of the tensors in order of their names: the same
/// however they are dealt to files.
std::string files_sha256(const WeightFiles& files);

/// Buffers that older versions of transformers saved beside the weights and nothing reads.
bool is_harmless_buffer(const std::string& tensor);

}  // namespace rollcall::model
