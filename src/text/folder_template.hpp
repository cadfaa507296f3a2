// The chat template of a model folder, and the special tokens that it may print.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <map>
#include <string>

namespace rollcall::text {

struct FolderTemplate {
  std::string chat_template;                          ///< empty: the folder has none
  std::string with_tools;                             ///< the one for conversations with tools; the same where there is one for all
  std::string origin;                                 ///< the file it stands in, for messages
  std::map<std::string, std::string> special_tokens;  ///< bos_token, eos_token, pad_token, unk_token of tokenizer_config.json, as far as they are set

  const std::string& for_tools(bool tools) const { return tools ? with_tools : chat_template; }
};

/// chat_template.jinja, else what tokenizer_config.json says: a template, or a list of {name, template} of which "tool_use" and "default" count, as for
/// transformers. A folder without either file has no template. Throws InputError naming the file and the fault.
FolderTemplate read_folder_template(const std::filesystem::path& folder);

/// The variables of `input` and, under names that it does not use, the special tokens.
nlohmann::ordered_json with_special_tokens(nlohmann::ordered_json input, const FolderTemplate& folder);

}  // namespace rollcall::text
