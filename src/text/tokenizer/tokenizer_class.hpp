// The class in transformers to which a model folder's tokenizer belongs. It decides whatever the
// files of the folder leave open.
#pragma once

#include "text/tokenizer/folder_file.hpp"

#include <array>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

namespace rollcall::text {

inline constexpr std::array<const char*, 7> kStandardTokens{
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

/// The values that the constructor of a class sets if no file sets them.
struct TokenizerClass {
  const char* names;  ///< names of the class, separated by spaces, without "Fast"
  /// Values of model_type in config.json that imply the class if no file names one.
  const char* of_types;
  /// The values among `of_types` that imply the class even if a file names another one.
  const char* for_types;
  /// Strings for kStandardTokens. An empty string means that there is no such token, and null means
  /// that tokenizer.json decides.
  std::array<const char*, kStandardTokens.size()> tokens;
  /// add_prefix_space of the ByteLevel pre-tokenizer, if the class sets that.
  std::optional<bool> prefix_space = std::nullopt;
  bool keeps_no_flags = false;  ///< the class's special tokens lose lstrip, rstrip and single_word
  /// Special tokens that only the class has, as names and strings.
  std::vector<std::pair<const char*, const char*>> own = {};
};

/// Finds the class as transformers' AutoTokenizer (5.24) does, from tokenizer_class in
/// tokenizer_config.json, which is `config`, or in config.json, and from model_type. Null if
/// tokenizer.json is used without a class. Throws InputError for a config.json that is not a JSON
/// object.
const TokenizerClass* tokenizer_class(const std::filesystem::path& folder,
                                      const FolderFile& config);

}  // namespace rollcall::text
