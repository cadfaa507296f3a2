// The chat template of a model folder, and the special tokens that it may print.
#pragma once

#include "text/tokenizer/folder_file.hpp"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <map>
#include <string>

namespace rollcall::text {

struct FolderTemplate {
  std::string chat_template;  ///< for conversations without tools; empty: the folder has none, or
                              ///< only others by name
  std::string with_tools;     ///< for conversations with tools; the same where there is one for all
  std::string origin;  ///< the file or folder that it is from, for messages; empty: the folder has
                       ///< no template
  std::string names;   ///< of the templates, where there are several
  std::map<std::string, std::string> special_tokens;  ///< bos_token and kin, and the model's own
                                                      ///< names, as far as the folder sets them

  /// Throws InputError where the folder has templates, but none for such conversations.
  const std::string& for_tools(bool tools) const;
};

/// chat_template.jinja, and additional_chat_templates/NAME.jinja beside it; else what
/// tokenizer_config.json says: a template, a list of {name, template} or an object of them. Of
/// several "tool_use" and "default" count, as for transformers. A folder without any has no
/// template. Throws InputError naming the file and the fault.
FolderTemplate read_folder_template(const std::filesystem::path& folder);
/// The templates alone; `config` is the folder's tokenizer_config.json.
FolderTemplate read_folder_template(const std::filesystem::path& folder, const FolderFile& config);

/// The variables of `input` and, under names that it does not use, the special tokens.
nlohmann::ordered_json with_special_tokens(nlohmann::ordered_json input,
                                           const FolderTemplate& folder);

}  // namespace rollcall::text
