// What Split and Replace look for: a text, a regular expression (PCRE2, or a scanner written by
// hand), or a class of characters.
#pragma once

#include "text/json_tokenizer/fields.hpp"
#include "text/json_tokenizer/steps/scanners.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace rollcall::text::json_tokenizer {

enum class Scanners {
  by_hand,
  none
};  ///< none: PCRE2 for every expression, as the referee of the
    ///< scanners

class Pattern {
 public:
  static Pattern literal(std::string text);
  static Pattern character(bool (*is_in)(char32_t));
  /// Throws InputError naming `field`'s place: an expression that has no translation or does not
  /// compile.
  static Pattern expression(const std::string& source, const Field& field,
                            Scanners scanners = Scanners::by_hand);
  /// {"String": ...} or {"Regex": ...}
  static Pattern read(const Field& field);

  /// Called for every stretch of a text, in order and without gaps: what matches and what lies
  /// between.
  using Stretch = std::function<void(std::string_view stretch, bool matches)>;

  /// As `find_matches` of the library: an empty match right behind the last match is passed over.
  /// Throws InputError where an expression exceeds its limits of backtracking.
  void each(std::string_view text, const Stretch& stretch) const;

  bool begins(std::string_view text) const;  ///< a match that is not empty stands at the beginning

  /// The text with `content` in place of each match. Throws InputError where it would become longer
  /// than 64 MiB and four times the text: of steps that replace one after the other, each could
  /// multiply what the one before made.
  std::string replace(std::string_view text, std::string_view content) const;

 private:
  struct Compiled;  // an expression, compiled
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
