// The files that hold a model's tensors: one file, or several that an index names.
#pragma once

#include "model/tensors/safetensors.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace rollcall::model {

/// The table in model.safetensors.index.json: tensor -> name of its file.
using ShardIndex = std::map<std::string, std::string>;
/// Throws InputError if there is no such table, if it has a tensor twice, or if a file is not a
/// plain name beside the index.
ShardIndex parse_shard_index(const std::string& text, const std::string& origin);

/// Whether the folder has the weights of a model in one file, or an index of several.
bool has_weights(const std::filesystem::path& folder);
/// Throws InputError if it has neither.
void require_weights(const std::filesystem::path& folder);

/// The files of a model, and a table of the tensors in all of them.
class WeightFiles {
 public:
  /// Opens model.safetensors, otherwise the files that model.safetensors.index.json names, in the
  /// same order of preference as transformers. Throws InputError naming a tensor that is missing,
  /// that is in two files, or that is in a file but not in the index.
  static WeightFiles open(const std::filesystem::path& folder);
  explicit WeightFiles(SafetensorsFile file);
  WeightFiles(WeightFiles&&) = default;  // a copy would point into the original

  /// Tensor -> the file that holds it.
  const std::map<std::string, const SafetensorsFile*>& tensors() const { return tensors_; }
  const std::string& origin() const { return origin_; }  ///< what messages call the files

 private:
  WeightFiles() = default;
  void add(const SafetensorsFile& file, const ShardIndex& index, const std::string& name);

  std::map<std::string, SafetensorsFile> files_;  ///< by name; tensors_ points to its values
  std::map<std::string, const SafetensorsFile*> tensors_;
  std::string origin_;
};

/// SHA-256 over names, types, shapes and bytes of the tensors in the order of their names. It does
/// not depend on which tensor is in which file.
std::string files_sha256(const WeightFiles& files);

/// Whether a tensor is a buffer that older versions of transformers saved and that no model reads.
bool is_harmless_buffer(const std::string& tensor);

}  // namespace rollcall::model
