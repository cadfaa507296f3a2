// The files of a model folder that concern text: tokenizer, chat template, special tokens, and
// generation settings.
#pragma once

#include "text/tokenizer/tokenizer.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::text {

/// The settings that the model's makers suggest in generation_config.json. They are only displayed,
/// because the run file decides.
struct SuggestedSampling {
  std::optional<double> temperature, top_p, repetition_penalty;
  std::optional<std::int64_t> top_k, max_new_tokens;
  std::optional<bool> do_sample;
};

/// The files about text in a folder with Hugging Face's layout.
struct TextFiles {
  std::shared_ptr<const Tokenizer> tokenizer;  ///< from tokenizer.json
  /// From chat_template.jinja, else from tokenizer_config.json. Empty if there is no template.
  std::string chat_template;
  /// For conversations with tools. Equal to `chat_template` if there is one template for both.
  std::string tool_template;
  /// Texts of the special tokens that the folder sets, by name: bos_token, eos_token and so on, and
  /// names of the model's own.
  std::map<std::string, std::string> special_tokens;
  /// The tokens that end a response: eos_token, and eos_token_id of generation_config.json and
  /// config.json.
  std::vector<std::int32_t> end_tokens;
  /// The number of embeddings in config.json, if the folder names tokens that tokenizer.json lacks.
  std::optional<std::int64_t> rows;
  SuggestedSampling suggested;
};

bool has_tokenizer(const std::filesystem::path& folder);  ///< whether it has a tokenizer.json

/// Throws InputError naming the file and the fault. If the folder names a token that neither the
/// vocabulary nor the model (vocab_size in config.json) has, texts with that token are refused
/// later.
TextFiles read_text_files(const std::filesystem::path& folder);

/// A generation_config.json with all of `end_tokens` under eos_token_id. `json` is the folder's
/// generation_config.json, or empty if there is none, and is returned unchanged if it names them.
std::string with_end_tokens(const std::string& json, const std::vector<std::int32_t>& end_tokens);

/// The text with one U+FFFD in place of each maximal ill-formed part, as Python's errors="replace"
/// and Rust's from_utf8_lossy do (Unicode, section 3.9).
std::string valid_utf8(std::string_view text);

// The tokenizers from a tokenizer.json give the same ids as Hugging Face's `tokenizers`. encode()
// passes any bytes through valid_utf8(). decode() returns valid UTF-8, with U+FFFD where the bytes
// of tokens do not make a whole character. Truncation and padding in the file are not applied, as
// in `transformers`.

/// The tokenizer of a folder, from tokenizer.json and from what the other files say about tokens.
/// Ids are those of transformers' AutoTokenizer, including those of tokens that are appended to the
/// vocabulary.
std::shared_ptr<const Tokenizer> read_folder_tokenizer(const std::filesystem::path& folder);
/// The tokenizer of tokenizer.json alone. `eos` is the text of the token that Tokenizer::eos()
/// returns. If it is empty, eos() throws InputError.
std::shared_ptr<const Tokenizer> read_tokenizer_json(const std::filesystem::path& file,
                                                     const std::string& eos = {});
std::shared_ptr<const Tokenizer> parse_tokenizer_json(const std::string& json,
                                                      const std::string& origin,
                                                      const std::string& eos = {});

}  // namespace rollcall::text
