// Reads what a model folder in Hugging Face's layout says of text.
#include "text/text_files.hpp"

#include "base/error.hpp"
#include "base/file.hpp"
#include "text/folder_template.hpp"
#include "text/json_tokenizer/json_tokenizer.hpp"
#include "text/json_tokenizer/unicode.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace rollcall::text {
namespace {

using json_tokenizer::JsonTokenizer;
using Json = nlohmann::json;

/// A JSON object in a file of the folder; an empty one where the file is not there. Every fault names the file.
class Settings {
 public:
  Settings(const std::filesystem::path& folder, const char* name) : path_(folder / name) {
    if (!std::filesystem::exists(path_)) return;
    json_ = Json::parse(
        read_file(path_), [this](int depth, Json::parse_event_t, Json&) { return check(depth < 50, "it is nested too deeply"); }, false);
    check(json_.is_object(), "it is not a JSON object");
  }

  /// A member; null where it is missing.
  const Json& at(const char* key) const {
    static const Json none;
    const auto found = json_.find(key);
    return found == json_.end() ? none : *found;
  }

  bool check(bool ok, const std::string& fault) const {
    require(ok, fmt::format("{} cannot be used: {}", path_.string(), fault), "the model would not be used as its makers intended",
            "correct the file or copy it again");
    return ok;
  }

  template <class T>
  std::optional<T> number(const char* key) const {
    const Json& value = at(key);
    if (value.is_null()) return std::nullopt;
    if constexpr (std::is_same_v<T, bool>) check(value.is_boolean(), fmt::format("\"{}\" is neither true nor false", key));
    else if constexpr (std::is_integral_v<T>)
      check(value.is_number_integer() && (!value.is_number_unsigned() || value.get<std::uint64_t>() >> 62 == 0),
            fmt::format("\"{}\" is not a whole number", key));
    else check(value.is_number(), fmt::format("\"{}\" is not a number", key));
    return value.get<T>();
  }

  /// eos_token_id: a number or a list of them.
  std::vector<std::int32_t> ids(const char* key) const {
    std::vector<std::int32_t> ids;
    const auto add = [&](const Json& value) {
      check(value.is_number_unsigned() && value.get<std::uint64_t>() <= std::uint64_t(json_tokenizer::kLargestId),
            fmt::format("\"{}\" is not an id or a list of ids", key));
      ids.push_back(value.get<std::int32_t>());
    };
    const Json& value = at(key);
    if (value.is_array()) std::for_each(value.begin(), value.end(), add);
    else if (!value.is_null()) add(value);
    return ids;
  }

 private:
  std::filesystem::path path_;
  Json json_ = Json::object();
};

SuggestedSampling suggested(const Settings& generation) {
  SuggestedSampling sampling;
  sampling.temperature = generation.number<double>("temperature"), sampling.top_p = generation.number<double>("top_p");
  sampling.repetition_penalty = generation.number<double>("repetition_penalty");
  sampling.top_k = generation.number<std::int64_t>("top_k"), sampling.max_new_tokens = generation.number<std::int64_t>("max_new_tokens");
  sampling.do_sample = generation.number<bool>("do_sample");
  return sampling;
}

std::shared_ptr<JsonTokenizer> make(const std::string& json, const std::string& origin, const std::string& eos) {
  auto tokenizer = std::make_shared<JsonTokenizer>(json, origin);
  if (eos.empty()) return tokenizer;
  const auto id = tokenizer->find(eos);
  require(id.has_value(), fmt::format("{} has no token \"{}\"", origin, eos), "it has to end responses", "name a token of the vocabulary as eos_token");
  tokenizer->set_eos(*id);
  return tokenizer;
}

}  // namespace

std::shared_ptr<const Tokenizer> parse_tokenizer_json(const std::string& json, const std::string& origin, const std::string& eos) {
  return make(json, origin, eos);
}

std::shared_ptr<const Tokenizer> read_tokenizer_json(const std::filesystem::path& file, const std::string& eos) {
  return make(read_file(file), file.string(), eos);
}

std::string with_end_tokens(const std::string& json, const std::vector<std::int32_t>& end_tokens) {
  using Ordered = nlohmann::ordered_json;  // a file that people read keeps its order
  Ordered settings = json.empty() ? Ordered::object() : Ordered::parse(json);
  const Ordered said = settings.value("eos_token_id", Ordered());
  const auto is_said = [&](std::int32_t id) { return said == id || (said.is_array() && std::find(said.begin(), said.end(), id) != said.end()); };
  if (std::all_of(end_tokens.begin(), end_tokens.end(), is_said)) return json;
  settings["eos_token_id"] = end_tokens;
  return settings.dump(2) + "\n";
}

std::string valid_utf8(std::string_view text) { return json_tokenizer::is_valid_utf8(text) ? std::string(text) : json_tokenizer::replace_invalid_utf8(text); }

bool has_tokenizer(const std::filesystem::path& folder) { return std::filesystem::exists(folder / "tokenizer.json"); }

TextFiles read_text_files(const std::filesystem::path& folder) {
  const Settings generation(folder, "generation_config.json"), model(folder, "config.json");
  const FolderTemplate own = read_folder_template(folder);
  TextFiles files;
  files.special_tokens = own.special_tokens, files.chat_template = own.for_tools(false), files.tool_template = own.for_tools(true);
  files.suggested = suggested(generation);
  const auto eos = files.special_tokens.find("eos_token");
  const auto file = folder / "tokenizer.json";
  const auto tokenizer = make(read_file(file), file.string(), eos == files.special_tokens.end() ? "" : eos->second);
  const auto add = [&](std::int32_t id) {
    if (std::find(files.end_tokens.begin(), files.end_tokens.end(), id) == files.end_tokens.end()) files.end_tokens.push_back(id);
  };
  if (eos != files.special_tokens.end()) add(tokenizer->eos());
  for (const Settings* settings : {&generation, &model}) {
    for (const std::int32_t id : settings->ids("eos_token_id")) add(id);
  }
  if (eos == files.special_tokens.end() && !files.end_tokens.empty()) tokenizer->set_eos(files.end_tokens.front());
  files.tokenizer = tokenizer;
  return files;
}

}  // namespace rollcall::text
