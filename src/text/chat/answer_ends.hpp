// The text that a template puts around an answer, and the tokens that end an answer.
#pragma once

#include "text/tokenizer/text_files.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::text {

class AnswerEnds {
 public:
  /// Bytes [begin, end) of a text that end an answer. If begin == end, nothing ends it.
  struct Closing {
    std::size_t begin, end;
  };

  /// Takes the end tokens from the files. The text around an answer is empty until learn() is
  /// called.
  explicit AnswerEnds(const TextFiles& files);

  /// Learns what the template puts around an answer from three texts of one conversation: the
  /// question alone, the question with the head of the assistant's turn, and the question with the
  /// answer. Throws InputError if the template leaves the answer out.
  void learn(std::string_view question, std::string_view open, std::string_view answered,
             std::string_view answer);

  /// The text that the template puts before an answer when it is the assistant's turn.
  const std::string& head() const { return head_; }
  /// The text that the template puts after an answer, up to the special token that ends it. If it
  /// is empty, the template does not end answers, and the tokenizer's eos ends them.
  const std::string& text() const { return text_; }
  /// The special token with which the template ends an answer, if it is not an end token of the
  /// model, so that sampling would not stop there. Otherwise empty.
  const std::string& unknown_end() const { return unknown_end_; }
  /// One sentence that says what to set so that sampling stops at unknown_end(). Empty if nothing
  /// has to be set, or if one of `stops` stops there.
  std::string missing_end(const std::vector<std::string>& stops) const;

  /// The first end token that is spelt out in text[from..to). If there is none and `any_special` is
  /// set, it is a special token preceded only by white space. If `to` is `from`, it is not known
  /// where the next turn begins, and only white space may come before the end token.
  Closing find(std::string_view text, std::size_t from, std::size_t to, bool any_special) const;
  /// The tokens of an answer without the end token that closes it.
  std::span<const std::int32_t> spoken(std::span<const std::int32_t> tokens) const;

 private:
  /// The spelling of the special token that the text begins with; empty if it begins with none.
  std::string special_at(std::string_view text) const;

  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<std::int32_t> end_tokens_;
  std::vector<std::string> end_texts_;  // spellings of the end tokens that text can spell out
  std::string head_, text_, unknown_end_;
  std::optional<std::int32_t> unknown_token_;  // the token of unknown_end_
};

}  // namespace rollcall::text
