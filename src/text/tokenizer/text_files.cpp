// Reads the information about text in a model folder in Hugging Face's layout.
#include "text/tokenizer/text_files.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/text/json.hpp"
#include "text/chat/folder_template.hpp"
#include "text/json_tokenizer/json_tokenizer.hpp"
#include "text/json_tokenizer/steps/unicode.hpp"
#include "text/tokenizer/folder_file.hpp"
#include "text/tokenizer/folder_tokens.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::text {
namespace {

using json_tokenizer::JsonTokenizer;
constexpr const char* kTokenizerConfig = "tokenizer_config.json";

/// The ids under eos_token_id, which is a number or a list of numbers.
std::vector<std::int32_t> end_ids(const FolderFile& file) {
  std::vector<std::int32_t> ids;
  const auto add = [&](const FolderFile::Json& value) {
    file.check(value.is_number_unsigned() &&
                   value.get<std::uint64_t>() <= std::uint64_t(json_tokenizer::kLargestId),
               "\"eos_token_id\" is not an id or a list of ids");
    ids.push_back(value.get<std::int32_t>());
  };
  const auto& value = file.at("eos_token_id");
  if (value.is_array()) std::for_each(value.begin(), value.end(), add);
  else if (!value.is_null()) add(value);
  return ids;
}

SuggestedSampling suggested(const FolderFile& generation) {
  SuggestedSampling sampling;
  sampling.temperature = generation.number<double>("temperature"),
  sampling.top_p = generation.number<double>("top_p");
  sampling.repetition_penalty = generation.number<double>("repetition_penalty");
  sampling.top_k = generation.number<std::int64_t>("top_k"),
  sampling.max_new_tokens = generation.number<std::int64_t>("max_new_tokens");
  sampling.do_sample = generation.number<bool>("do_sample");
  return sampling;
}

std::shared_ptr<JsonTokenizer> make(const std::string& json, const std::string& origin,
                                    const std::string& eos) {
  auto tokenizer = std::make_shared<JsonTokenizer>(json, origin);
  if (eos.empty()) return tokenizer;
  const auto id = tokenizer->find(eos);
  require(id.has_value(), fmt::format("{} has no token \"{}\"", origin, eos),
          "it has to end responses", "name a token of the vocabulary as eos_token");
  tokenizer->set_eos(*id);
  return tokenizer;
}

}  // namespace

std::shared_ptr<const Tokenizer> parse_tokenizer_json(const std::string& json,
                                                      const std::string& origin,
                                                      const std::string& eos) {
  return make(json, origin, eos);
}

std::shared_ptr<const Tokenizer> read_tokenizer_json(const std::filesystem::path& file,
                                                     const std::string& eos) {
  return make(read_file(file), file.string(), eos);
}

std::string with_end_tokens(const std::string& json, const std::vector<std::int32_t>& end_tokens) {
  using Ordered = nlohmann::ordered_json;  // people read the file, so it keeps its order
  Ordered settings = json.empty() ? Ordered::object() : Ordered::parse(json);
  const Ordered said = settings.value("eos_token_id", Ordered());
  const auto is_said = [&](std::int32_t id) {
    return said == id || (said.is_array() && std::find(said.begin(), said.end(), id) != said.end());
  };
  if (std::all_of(end_tokens.begin(), end_tokens.end(), is_said)) return json;
  settings["eos_token_id"] = end_tokens;
  return settings.dump(2) + "\n";
}

std::string valid_utf8(std::string_view text) {
  return json_tokenizer::is_valid_utf8(text) ? std::string(text)
                                             : json_tokenizer::replace_invalid_utf8(text);
}

bool has_tokenizer(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / "tokenizer.json");
}

std::shared_ptr<const Tokenizer> read_folder_tokenizer(const std::filesystem::path& folder) {
  const auto file = folder / "tokenizer.json";
  return std::make_shared<JsonTokenizer>(
      read_file(file), file.string(),
      read_stated_tokens(folder, FolderFile(folder, kTokenizerConfig)));
}

TextFiles read_text_files(const std::filesystem::path& folder) {
  const FolderFile generation(folder, "generation_config.json"), model(folder, "config.json"),
      config(folder, kTokenizerConfig);
  auto stated = read_stated_tokens(folder, config);
  stated.rows = model.number<std::int64_t>("vocab_size");
  const FolderTemplate templates = read_folder_template(folder, config);
  TextFiles files;
  files.special_tokens = template_tokens(stated), files.chat_template = templates.for_tools(false),
  files.tool_template = templates.for_tools(true);
  files.suggested = suggested(generation);
  const auto file = folder / "tokenizer.json";
  const auto tokenizer = std::make_shared<JsonTokenizer>(read_file(file), file.string(), stated);
  if (tokenizer->appends()) files.rows = stated.rows;
  const auto add = [&](std::int32_t id) {
    if (std::find(files.end_tokens.begin(), files.end_tokens.end(), id) == files.end_tokens.end())
      files.end_tokens.push_back(id);
  };
  const auto eos = files.special_tokens.find("eos_token");
  const auto stated_end =
      eos == files.special_tokens.end() ? std::nullopt : tokenizer->find(eos->second);
  if (stated_end && tokenizer->has_row(*stated_end)) add(*stated_end);
  for (const FolderFile* settings : {&generation, &model}) {
    for (const std::int32_t id : end_ids(*settings)) {
      settings->check(!stated.rows || id < *stated.rows,
                      fmt::format("\"eos_token_id\" names {}, and the model has {} tokens", id,
                                  stated.rows.value_or(0)));
      add(id);
    }
  }
  require(!files.end_tokens.empty() || !stated_end || stated.class_gives_end,
          fmt::format("{} has no token \"{}\"", file.string(),
                      stated_end ? eos->second : std::string()),
          "it has to end responses, and the model has no embedding for it",
          "name a token of the vocabulary as eos_token");
  if (!files.end_tokens.empty()) tokenizer->set_eos(files.end_tokens.front());
  files.tokenizer = tokenizer;
  return files;
}

}  // namespace rollcall::text
