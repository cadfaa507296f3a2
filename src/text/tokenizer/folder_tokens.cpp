// Merges the special tokens of three files in the same way as transformers.
#include "text/tokenizer/folder_tokens.hpp"

#include "base/files/file.hpp"
#include "text/json_tokenizer/document.hpp"
#include "text/tokenizer/tokenizer_class.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

namespace rollcall::text {
namespace {

using Json = FolderFile::Json;
using json_tokenizer::StatedToken;
using json_tokenizer::StatedTokens;
using Names = std::vector<std::pair<std::string, std::optional<StatedToken>>>;

constexpr const char* kOwnNames = "model_specific_special_tokens";

bool is_standard(const std::string& key) {
  return std::any_of(kStandardTokens.begin(), kStandardTokens.end(),
                     [&](const char* name) { return key == name; });
}

/// Sets the token for a name. A name that is there already keeps its place in the order.
void assign(Names& names, const std::string& name, std::optional<StatedToken> token) {
  const auto known = std::find_if(names.begin(), names.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  if (known != names.end()) known->second = std::move(token);
  else names.emplace_back(name, std::move(token));
}

enum class Special { as_stated, always };

StatedToken read_object(const FolderFile& file, const Json& value, const std::string& place,
                        Special special) {
  const auto content = value.find("content");
  file.check(content != value.end() && content->is_string(),
             fmt::format("{} is neither a string nor an object with a string content", place));
  const auto flag = [&](const char* key, bool otherwise) {
    const auto at = value.find(key);
    if (at == value.end() || at->is_null()) return otherwise;
    file.check(at->is_boolean(), fmt::format("{}.{} is neither true nor false", place, key));
    return at->get<bool>();
  };
  StatedToken token{.content = content->get<std::string>()};
  token.special = special == Special::always || flag("special", false);
  token.normalized = flag("normalized", !token.special);  // as Hugging Face's AddedToken does
  token.follows_special = !value.contains("normalized");
  token.single_word = flag("single_word", false), token.lstrip = flag("lstrip", false),
  token.rstrip = flag("rstrip", false);
  return token;
}

StatedToken read_token(const FolderFile& file, const Json& value, const std::string& place,
                       Special special) {
  if (value.is_string()) return {.content = value.get<std::string>(), .special = true};
  file.check(value.is_object(),
             fmt::format("{} is neither a string nor an object with a string content", place));
  return read_object(file, value, place, special);
}

std::int64_t id_of(const FolderFile& file, const std::string& text, const char* list) {
  std::int64_t id = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), id);
  file.check(fault == std::errc() && end == text.data() + text.size(),
             fmt::format("{} has \"{}\" where an id belongs", list, text));
  return id;
}

/// Reads the files of a folder in sequence into one result.
class Merging {
 public:
  Merging(const std::filesystem::path& folder, const FolderFile& config)
      : folder_(folder),
        config_(config),
        class_(tokenizer_class(folder, config)),
        map_(config.contains(kDecoder) ? FolderFile()
                                       : FolderFile(folder, "special_tokens_map.json")) {}

  StatedTokens merged() {
    if (class_ != nullptr)
      for (const auto& [name, token] : class_->own)
        assign(found_, name, StatedToken{.content = token, .special = true});
    read_config();
    if (config_.contains(kDecoder)) read_decoder();
    else read_older_files();
    if (older_list_ != nullptr && !has_list_) read_extra(*older_file_, kOlderExtra, *older_list_);
    add_padding_token();
    add_defaults();
    collect_names();
    read_settings();
    return std::move(out_);
  }

 private:
  static constexpr const char *kDecoder = "added_tokens_decoder", *kExtra = "extra_special_tokens",
                              *kOlderExtra = "additional_special_tokens";

  void read_config() {
    for (const auto& [key, value] : config_.whole().items()) read_name(config_, key, value, given_);
    const bool has_older = config_.contains(kOlderExtra);
    // An empty list or object does not count if there is one under the older name.
    if (has_older && config_.at(kExtra).empty()) {
      read_extra(config_, kOlderExtra, config_.at(kOlderExtra));
    } else {
      if (config_.contains(kExtra)) read_extra(config_, kExtra, config_.at(kExtra));
      if (has_older) older_list_ = &config_.at(kOlderExtra), older_file_ = &config_;
    }
    if (given_.empty()) read_extra_names(config_, kOwnNames, config_.at(kOwnNames));
  }

  /// Reads a member of a file if it names a special token.
  void read_name(const FolderFile& file, const std::string& key, const Json& value, Names& others) {
    const Special special = &file == &map_ ? Special::always : Special::as_stated;
    if (is_standard(key))
      assign(standard_, key,
             value.is_null() ? std::nullopt : std::optional(read_token(file, value, key, special)));
    else if (!key.ends_with("_token")) return;
    else if (value.is_string()) assign(others, key, read_token(file, value, key, special));
    else if (value.is_object() && (special == Special::always || value.contains("__type")))
      assign(found_, key, read_object(file, value, key, special));
  }

  /// Reads extra tokens: a list, or an object with named ones, which does not count as a list.
  void read_extra(const FolderFile& file, const char* place, const Json& value) {
    has_list_ = !value.is_object();
    if (value.is_null()) return;
    if (value.is_object()) return read_extra_names(file, place, value);
    file.check(value.is_array(),
               fmt::format("{} is neither a list of tokens nor an object of named ones", place));
    for (std::size_t i = 0; i < value.size(); ++i) {
      // transformers cannot read an object in a list without "__type". Its older versions treated
      // it as special.
      const bool always = &file == &map_ || (value[i].is_object() && !value[i].contains("__type"));
      auto token = read_token(file, value[i], fmt::format("{}[{}]", place, i),
                              always ? Special::always : Special::as_stated);
      if (&file == &map_ || value[i].is_string()) known_extra_.insert(token.content);
      if (std::find(out_.extra.begin(), out_.extra.end(), token) == out_.extra.end())
        out_.extra.push_back(std::move(token));
    }
  }

  void read_extra_names(const FolderFile& file, const std::string& place, const Json& value) {
    if (value.is_null()) return;
    file.check(value.is_object(), fmt::format("{} is not an object of named tokens", place));
    for (const auto& [key, token] : value.items())
      assign(given_, key, read_token(file, token, place + "." + key, Special::as_stated));
  }

  void read_decoder() {
    const Json& list = config_.at(kDecoder);
    config_.check(list.is_object(), fmt::format("{} is not an object", kDecoder));
    out_.has_decoder = true;
    for (const auto& [id, value] : list.items()) {
      const std::string place = fmt::format("{}.{}", kDecoder, id);
      config_.check(value.is_object(), place + " is not an object with a string content");
      out_.listed[id_of(config_, id, kDecoder)] =
          read_object(config_, value, place, Special::as_stated);
    }
  }

  void read_older_files() {
    for (const auto& [key, value] : map_.whole().items()) read_name(map_, key, value, found_);
    if (map_.contains(kExtra)) {
      if (!map_.at(kExtra).is_array()) out_.extra.clear(), known_extra_.clear();
      read_extra(map_, kExtra, map_.at(kExtra));
    }
    if (map_.contains(kOlderExtra)) older_list_ = &map_.at(kOlderExtra), older_file_ = &map_;
    read_added_tokens();
  }

  /// added_tokens.json has texts and ids. The other files say which of them are special. An entry
  /// of tokenizer_config.json counts only if it is a plain string.
  void read_added_tokens() {
    const FolderFile added(folder_, "added_tokens.json");
    const auto names_it = [&](const char* name, const std::string& content) {
      if (!map_.contains(name)) return config_.at(name) == content;
      const Json& value = map_.at(name);
      return value == content || (value.is_object() && value.at("content") == content);
    };
    for (const auto& [content, id] : added.whole().items()) {
      added.check(id.is_number_unsigned(),
                  fmt::format("\"{}\" has no whole number as its id", content));
      const bool special = known_extra_.contains(content) ||
                           std::any_of(kStandardTokens.begin(), kStandardTokens.end(),
                                       [&, &content = content](const char* name) {
                                         return names_it(name, content);
                                       });
      out_.listed[id.get<std::int64_t>()] = {
          .content = content, .normalized = !special, .special = special};
    }
  }

  /// If no file names a pad_token, it is the token that tokenizer.json pads with.
  void add_padding_token() {
    const auto file = folder_ / "tokenizer.json";
    if (config_.contains("pad_token") || map_.contains("pad_token") ||
        of_class("pad_token") != nullptr || !std::filesystem::exists(file))
      return;
    const std::string text = read_file(file), key = "\"padding\"";
    const std::size_t at = text.find(key),
                      value = at == std::string::npos
                                  ? at
                                  : text.find_first_not_of(" \t\r\n:", at + key.size());
    // Nearly all files have no padding, and then nothing has to be parsed.
    if (value == std::string::npos || text.compare(value, 4, "null") == 0) return;
    const auto document = json_tokenizer::parse_document(text, file.string());
    if (const auto padding = document.root().find("padding"))
      assign(standard_, "pad_token",
             StatedToken{.content = padding->at("pad_token").text(), .special = true});
  }

  /// The class's token with that name; null if it has none, or if there is no class.
  const char* of_class(const std::string& name) const {
    const auto at =
        std::find(kStandardTokens.begin(), kStandardTokens.end(), name) - kStandardTokens.begin();
    return class_ == nullptr ? nullptr : class_->tokens.at(std::size_t(at));
  }

  /// Adds the class's tokens with names that no file sets, not even to null.
  void add_defaults() {
    for (const char* name : kStandardTokens) {
      const std::string token = of_class(name) == nullptr ? "" : of_class(name);
      const bool is_set = std::any_of(standard_.begin(), standard_.end(),
                                      [&](const auto& entry) { return entry.first == name; });
      if (token.empty() || is_set) continue;
      assign(standard_, name, StatedToken{.content = token, .special = true});
      out_.class_gives_end |= name == std::string("eos_token");
    }
  }

  /// A setting of special_tokens_map.json, else of tokenizer_config.json.
  std::optional<bool> setting(const char* key) const {
    return (map_.contains(key) ? map_ : config_).number<bool>(key);
  }

  void read_settings() {
    out_.split_special = setting("split_special_tokens").value_or(false);
    out_.prefix_space = setting("add_prefix_space");
    if (class_ == nullptr) return;
    out_.class_prefix_space = class_->prefix_space, out_.plain_special = class_->keeps_no_flags;
  }

  void collect_names() {
    Names all;
    for (const char* name : kStandardTokens) {
      for (auto& [key, token] : standard_)
        if (key == name) assign(all, key, std::move(token));
    }
    for (Names* more : {&found_, &given_})
      for (auto& [key, token] : *more) assign(all, key, std::move(token));
    for (auto& [key, token] : all)
      if (token) out_.named.emplace_back(key, std::move(*token));
  }

  std::filesystem::path folder_;
  const FolderFile& config_;
  const TokenizerClass* class_;  // null if tokenizer.json is used without a class
  FolderFile map_;               // empty if added_tokens_decoder takes its place
  Names standard_;               // kStandardTokens, as far as they are set
  Names found_, given_;          // the model's own names; those found come first
  // The extra tokens whose texts transformers knows when it reads added_tokens.json.
  std::set<std::string> known_extra_;
  bool has_list_ = false;  // there is a list of extra special tokens, which may be empty
  // additional_special_tokens and its file. It counts if there is no such list.
  const Json* older_list_ = nullptr;
  const FolderFile* older_file_ = nullptr;
  StatedTokens out_;
};

/// Refuses a folder in which the version of transformers decides which tokenizer file it reads.
void refuse_other_versions(const FolderFile& config) {
  const Json& files = config.at("fast_tokenizer_files");
  if (files.is_null()) return;
  config.check(files.is_array(), "fast_tokenizer_files is not a list of file names");
  for (const auto& file : files)
    require(
        file == "tokenizer.json",
        fmt::format("{} names {} in fast_tokenizer_files", config.name(), file.dump()),
        "transformers reads the one for its own version in place of tokenizer.json, and which version the model was made with is not known",
        "copy the file that is meant over tokenizer.json, and remove fast_tokenizer_files");
}

}  // namespace

StatedTokens read_stated_tokens(const std::filesystem::path& folder, const FolderFile& config) {
  refuse_other_versions(config);
  return Merging(folder, config).merged();
}

std::map<std::string, std::string> template_tokens(const StatedTokens& stated) {
  std::map<std::string, std::string> tokens;
  for (const auto& [name, token] : stated.named) tokens[name] = token.content;
  return tokens;
}

}  // namespace rollcall::text
