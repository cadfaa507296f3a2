// Texts that end an answer, looked for while it is made.
#pragma once

#include "text/tokenizer/text_stream.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rollcall::text {

/// One answer's search, in the text with special tokens spelt out: a tag of its own token can be a
/// stop text. A token costs the same however long the answer is: behind the text of the last token
/// only as much of the text before is kept as can begin a stop text. A stop text is found when its
/// last character is whole.
class StopTexts {
 public:
  /// Both must outlive it.
  StopTexts(const Tokenizer& tokenizer, const std::vector<std::string>& texts)
      : texts_(&texts), stream_(tokenizer, Tokenizer::Special::spelt) {}

  /// `tokens`: the answer so far. Whether a stop text ends in what has come since the last call.
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
