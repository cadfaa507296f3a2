// Regular expressions in Oniguruma's Ruby dialect, as tokenizer.json has them, translated for
// PCRE2.
#pragma once

#include <string>

namespace rollcall::text::json_tokenizer {

/// The same language for PCRE2 with the options UTF, UCP and MULTILINE. What differs between the
/// two is spelt out: \s, \w, \v, \h and \b, classes of the Unicode version (16 there, 14 in PCRE2
/// 10.42), (?m), a{1,3}+ (no possessive there), a{2}?, a{,3}, isolated flags.
/// Throws std::invalid_argument with the construct that has no translation.
std::string to_pcre2(const std::string& oniguruma);

}  // namespace rollcall::text::json_tokenizer
