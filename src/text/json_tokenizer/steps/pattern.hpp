// A pattern that the steps Split and Replace look for. It is a string, a character class, or a
// regular expression, which PCRE2 or a hand-written scanner matches.
#pragma once

#include "text/json_tokenizer/fields.hpp"
#include "text/json_tokenizer/steps/scanners.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace rollcall::text::json_tokenizer {

/// Which expressions scanners match. With `none`, PCRE2 matches all of them, so that tests can
/// compare the scanners with it.
enum class Scanners { by_hand, none };

class Pattern {
 public:
  static Pattern literal(std::string text);
  static Pattern character(bool (*is_in)(char32_t));
  /// Throws InputError with the place of `field` for an expression that cannot be translated or
  /// compiled.
  static Pattern expression(const std::string& source, const Field& field,
                            Scanners scanners = Scanners::by_hand);
  /// Reads {"String": ...} or {"Regex": ...}.
  static Pattern read(const Field& field);

  /// Called for every stretch of a text, in order and without gaps, both for matches and for the
  /// text between them.
  using Stretch = std::function<void(std::string_view stretch, bool matches)>;

  /// Follows `find_matches` of the library: an empty match right after the last match is passed
  /// over. Throws InputError if an expression needs more backtracking than is allowed.
  void each(std::string_view text, const Stretch& stretch) const;

  bool begins(std::string_view text) const;  ///< whether the text begins with a match that is not
                                             ///< empty

  /// The text with `content` in place of each match. Throws InputError if the result would be
  /// longer than both 64 MiB and four times the text, because several such steps could each
  /// multiply the length.
  std::string replace(std::string_view text, std::string_view content) const;

 private:
  struct Compiled;  // an expression that PCRE2 compiled
  struct Found {
    std::size_t begin, end;
  };
  bool find(std::string_view text, std::size_t from, Found& found) const;
  void each_character(std::string_view text, const Stretch& stretch) const;

  std::string literal_;
  bool (*is_in_)(char32_t) = nullptr;
  Scanner scanner_ = nullptr;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace rollcall::text::json_tokenizer
