// Translates the regular expressions of tokenizer.json, which are in Oniguruma's Ruby dialect, for
// PCRE2.
#pragma once

#include <string>

namespace rollcall::text::json_tokenizer {

/// An expression that matches the same text in PCRE2 with the options UTF, UCP and MULTILINE.
/// Constructs that mean something else in PCRE2 are written out: \s, \w, \v, \h and \b, classes
/// that depend on the Unicode version (16 in Oniguruma, 14 in PCRE2 10.42), (?m), a{1,3}+ (not
/// possessive in Oniguruma), a{2}?, a{,3}, and isolated flags. Throws std::invalid_argument naming
/// a construct that has no translation.
std::string to_pcre2(const std::string& oniguruma);

}  // namespace rollcall::text::json_tokenizer
