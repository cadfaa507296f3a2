// The chat template of a model folder, and the special tokens that it may print.
#pragma once

#include "text/tokenizer/folder_file.hpp"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <map>
#include <string>

namespace rollcall::text {

struct FolderTemplate {
  /// For conversations without tools. Empty if the folder has no such template.
  std::string chat_template;
  /// For conversations with tools. Equal to `chat_template` if the folder has one template for
  /// both.
  std::string with_tools;
  /// The file or folder from which the templates come, as messages name it. Empty if the folder has
  /// no template.
  std::string origin;
  std::string names;  ///< the templates' names, if there are several
  /// Texts of the special tokens that the folder sets, by name: bos_token, eos_token and so on, and
  /// names of the model's own.
  std::map<std::string, std::string> special_tokens;

  /// The template for conversations with tools, or for those without. Throws InputError if the
  /// folder has templates, but none for that case.
  const std::string& for_tools(bool tools) const;
};

/// Reads chat_template.jinja and additional_chat_templates/NAME.jinja beside it. Without these
/// files, it takes what tokenizer_config.json holds, which may be a template, a list of {name,
/// template}, or an object of templates by name. If there are several templates, "tool_use" and
/// "default" are used, as in transformers. Throws InputError naming the file and the fault.
FolderTemplate read_folder_template(const std::filesystem::path& folder);
/// Reads the templates but no special tokens. `config` is the folder's tokenizer_config.json.
FolderTemplate read_folder_template(const std::filesystem::path& folder, const FolderFile& config);

/// The variables of `input`, and the special tokens whose names it does not use.
nlohmann::ordered_json with_special_tokens(nlohmann::ordered_json input,
                                           const FolderTemplate& folder);

}  // namespace rollcall::text
