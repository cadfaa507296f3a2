// The verdict of a judge model as a number, found in its text by a named rule.
#pragma once

#include "text/answer/extract.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::reward {

/// Values of judge.extract, in addition to the rows of text/answer/extract.cpp that find a number.
struct VerdictRule {
  const char* name;
  const char* meaning;
};
const std::vector<VerdictRule>& verdict_rules();

class VerdictReader {
 public:
  /// `given` is a row of verdict_rules(), words:GOOD|BAD, a row of text::extraction_rules() or
  /// regex:PATTERN. Verdicts from `lowest` to `highest` are mapped to 0 to 1. Throws ConfigError
  /// for an unknown rule, naming the nearest, and for a scale with a rule that gives 0 or 1.
  VerdictReader(const std::string& given, double lowest, double highest);

  /// Whether text after a verdict cannot change the result of read().
  bool takes_first() const { return takes_first_; }
  /// The verdict, from 0 to 1. Nothing if the text has no verdict outside of thoughts
  /// (<think>...</think>), or one that the token limit may have cut (`finished` is false then), or
  /// one outside the scale.
  std::optional<double> read(std::string_view said, bool finished) const;

 private:
  using Find = std::optional<double> (*)(std::string_view said, bool finished);
  Find find_ = nullptr;
  std::string good_, bad_;  ///< the words of words:GOOD|BAD and of yes_no, in lower case
  std::optional<text::Extractor> extractor_;  ///< for rules that are not rows of verdict_rules()
  double lowest_, highest_;
  bool takes_first_ = false;
};

}  // namespace rollcall::reward
