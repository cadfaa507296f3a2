// The normal forms NFC, NFD, NFKC and NFKD of Unicode 9, whose data Hugging Face's tokenizers use.
#pragma once

#include <string>

namespace rollcall::text::json_tokenizer {

struct NormalForm {
  bool composed = false;    ///< true for NFC and NFKC
  bool compatible = false;  ///< true for NFKC and NFKD
};

/// Takes time linear in the length, except for sorting the runs of combining marks.
std::string to_normal_form(const std::string& text, NormalForm form);

}  // namespace rollcall::text::json_tokenizer
