// Reads chat_template.jinja, additional_chat_templates and tokenizer_config.json.
#include "text/chat/folder_template.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/text/joined.hpp"
#include "base/text/json.hpp"
#include "text/tokenizer/folder_tokens.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rollcall::text {
namespace {

using Json = FolderFile::Json;
using ByName = std::map<std::string, std::string>;
constexpr const char *kDefault = "default", *kToolUse = "tool_use", *kMain = "chat_template.jinja",
                     *kMore = "additional_chat_templates";

/// The templates that are stored as files. If there are any, transformers does not look at
/// tokenizer_config.json.
ByName read_files(const std::filesystem::path& folder) {
  ByName found;
  const auto main = folder / kMain, more = folder / kMore;
  if (std::filesystem::exists(main)) found[kDefault] = read_file(main);
  if (!std::filesystem::is_directory(more)) return found;
  for (const auto& entry : std::filesystem::directory_iterator(more))
    if (entry.path().filename().string().ends_with(".jinja"))
      found[entry.path().stem().string()] = read_file(entry.path());
  return found;
}

/// The names of the files and folders with templates, for messages.
std::string origin_of_files(const std::filesystem::path& folder) {
  std::vector<std::string> places;
  for (const auto& place : {folder / kMain, folder / kMore})
    if (std::filesystem::exists(place)) places.push_back(place.string());
  return fmt::format("{}", joined(places, " and "));
}

ByName read_config(const FolderFile& config) {
  ByName found;
  const Json& value = config.at("chat_template");
  if (value.is_null()) return found;
  if (value.is_string()) return {{kDefault, value.get<std::string>()}};
  config.check(value.is_array() || value.is_object(),
               "chat_template is neither a string nor a list of templates");
  if (value.is_object()) {
    for (const auto& [name, text] : value.items()) {
      config.check(text.is_string(), fmt::format("chat_template.{} is not a string", name));
      found[name] = text.get<std::string>();
    }
    return found;
  }
  for (const auto& entry : value) {
    const bool valid = entry.is_object() && entry.contains("name") && entry["name"].is_string() &&
                       entry.contains("template") && entry["template"].is_string();
    config.check(valid, "an entry of chat_template is not {\"name\": ..., \"template\": ...}");
    found[entry["name"].get<std::string>()] = entry["template"].get<std::string>();
  }
  return found;
}

}  // namespace

const std::string& FolderTemplate::for_tools(bool tools) const {
  const std::string& chosen = tools ? with_tools : chat_template;
  const std::string wanted =
      fmt::format("\"{}\"{}", kDefault, tools ? fmt::format(" or \"{}\"", kToolUse) : "");
  require(
      !chosen.empty() || names.empty(),
      fmt::format("{} has no template {} (it has: {})", origin, wanted, names),
      fmt::format("conversations {} are rendered by that one",
                  tools ? "with tools" : "without tools"),
      "write the template to use into a .jinja file, and name that file in place of the folder's own template");
  return chosen;
}

FolderTemplate read_folder_template(const std::filesystem::path& folder, const FolderFile& config) {
  FolderTemplate out;
  ByName found = read_files(folder);
  const bool in_files = !found.empty();
  if (!in_files) found = read_config(config);
  if (found.empty()) return out;
  out.origin = in_files ? origin_of_files(folder) : config.name();
  std::vector<std::string> names;
  for (const auto& [name, text] : found) names.push_back(name);
  if (found.size() > 1 || !found.contains(kDefault))
    out.names = fmt::format("{}", joined(names, ", "));
  if (const auto text = found.find(kDefault); text != found.end()) out.chat_template = text->second;
  const auto tools = found.find(kToolUse);
  out.with_tools = tools == found.end() ? out.chat_template : tools->second;
  return out;
}

FolderTemplate read_folder_template(const std::filesystem::path& folder) {
  const FolderFile config(folder, "tokenizer_config.json");
  FolderTemplate out = read_folder_template(folder, config);
  out.special_tokens = template_tokens(read_stated_tokens(folder, config));
  return out;
}

nlohmann::ordered_json with_special_tokens(Json input, const FolderTemplate& folder) {
  for (const auto& [name, token] : folder.special_tokens) {
    if (!input.contains(name)) input[name] = token;
  }
  return input;
}

}  // namespace rollcall::text
