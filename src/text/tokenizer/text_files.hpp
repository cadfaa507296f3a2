// The text side of a model folder: tokenizer, chat template, special tokens, generation settings.
// Weights are the model's affair.
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

/// generation_config.json: what the model's makers suggest. Read and shown; the run file decides.
struct SuggestedSampling {
  std::optional<double> temperature, top_p, repetition_penalty;
  std::optional<std::int64_t> top_k, max_new_tokens;
  std::optional<bool> do_sample;
};

/// What a folder in Hugging Face's layout says of text.
struct TextFiles {
  std::shared_ptr<const Tokenizer> tokenizer;  ///< tokenizer.json
  std::string chat_template;  ///< chat_template.jinja, else the one in tokenizer_config.json;
                              ///< empty: none
  std::string tool_template;  ///< the one for conversations with tools; the same where there is one
                              ///< for all
  std::map<std::string, std::string> special_tokens;  ///< bos_token and kin, and the model's own
                                                      ///< names, as far as the folder sets them
  std::vector<std::int32_t> end_tokens;  ///< any of them ends a response: eos_token, and
                                         ///< eos_token_id of generation_config.json and config.json
  std::optional<std::int64_t> rows;  ///< embeddings of the model (config.json), where the folder
                                     ///< names tokens that tokenizer.json does not have
  SuggestedSampling suggested;
};

bool has_tokenizer(const std::filesystem::path& folder);  ///< a tokenizer.json is there

/// Throws InputError naming the file and the fault. A token that the folder names and neither the
/// vocabulary nor the model has (vocab_size in config.json) is refused where a text holds it.
TextFiles read_text_files(const std::filesystem::path& folder);

/// generation_config.json (`json`; empty: there is none) with every one of `end_tokens` under
/// eos_token_id. A text that names them all is returned as it is.
std::string with_end_tokens(const std::string& json, const std::vector<std::int32_t>& end_tokens);

/// The text itself, or with one U+FFFD for each maximal ill-formed part of it, as Python's
/// errors="replace" and Rust's from_utf8_lossy have it (Unicode, 3.9).
std::string valid_utf8(std::string_view text);

/// The tokenizers of tokenizer.json give the ids of Hugging Face's `tokenizers`; encode() reads any
/// bytes as valid_utf8() of them, and decode() gives valid UTF-8: what the bytes of byte-level
/// tokens lack for a character is U+FFFD. Truncation and padding in the file are not applied, as
/// `transformers` leaves them out. The tokenizer of a folder: tokenizer.json and what the files
/// beside it say of tokens. Ids are those of transformers' AutoTokenizer, tokens that are appended
/// to the vocabulary included.
std::shared_ptr<const Tokenizer> read_folder_tokenizer(const std::filesystem::path& folder);
/// From tokenizer.json alone. `eos` (token text) is what Tokenizer::eos() names; empty: the
/// tokenizer then has none, and eos() throws InputError.
std::shared_ptr<const Tokenizer> read_tokenizer_json(const std::filesystem::path& file,
                                                     const std::string& eos = {});
std::shared_ptr<const Tokenizer> parse_tokenizer_json(const std::string& json,
                                                      const std::string& origin,
                                                      const std::string& eos = {});

}  // namespace rollcall::text
