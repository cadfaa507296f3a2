// The normal forms NFC, NFD, NFKC and NFKD, by the Unicode 9 data that Hugging Face's tokenizers
// have.
#pragma once

#include <string>

namespace rollcall::text::json_tokenizer {

struct NormalForm {
  bool composed = false;    ///< the C of NFC and NFKC
  bool compatible = false;  ///< the K
};

/// Linear in the length but for the sorting of runs of combining marks.
std::string to_normal_form(const std::string& text, NormalForm form);

}  // namespace rollcall::text::json_tokenizer
