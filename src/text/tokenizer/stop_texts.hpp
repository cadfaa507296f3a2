// Looks for stop texts, which end an answer, while the answer is sampled.
#pragma once

#include "text/tokenizer/text_stream.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rollcall::text {

/// The search in one answer. It sees special tokens as text, because a tag that is a single token
/// can be a stop text. The cost per token does not grow with the answer, because only text that can
/// be the beginning of a stop text is kept. A stop text is found as soon as its last character is
/// complete.
class StopTexts {
 public:
  /// Both arguments must outlive the object.
  StopTexts(const Tokenizer& tokenizer, const std::vector<std::string>& texts)
      : texts_(&texts), stream_(tokenizer, Tokenizer::Special::spelt) {}

  /// Whether a stop text is complete in the text that is new since the last call. `tokens` is the
  /// answer so far.
  bool found(std::span<const std::int32_t> tokens) {
    if (texts_->empty()) return false;
    tail_ += stream_.more(tokens);
    std::size_t longest = 1;
    for (const std::string& text : *texts_) {
      if (tail_.find(text) != std::string::npos) {
        tail_.clear();
        return true;
      }
      longest = std::max(longest, text.size());
    }
    if (tail_.size() >= longest) tail_.erase(0, tail_.size() - (longest - 1));
    return false;
  }

 private:
  const std::vector<std::string>* texts_;
  TextStream stream_;
  std::string tail_;
};

}  // namespace rollcall::text
