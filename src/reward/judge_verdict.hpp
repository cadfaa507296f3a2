// What a model that judges has written, as a number: the verdict found by a named rule.
#pragma once

#include "text/answer/extract.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::reward {

/// The rows of judge.extract beside those of text/answer/extract.cpp that find a number.
struct VerdictRule {
  const char* name;
  const char* meaning;
};
const std::vector<VerdictRule>& verdict_rules();

class VerdictReader {
 public:
  /// `given`: a row of verdict_rules(), words:GOOD|BAD, a row of text::extraction_rules() or
  /// regex:PATTERN. Verdicts from `lowest` to `highest` become 0 to 1. Throws ConfigError: an
  /// unknown rule, naming the nearest; a scale for a rule that gives 0 or 1.
  VerdictReader(const std::string& given, double lowest, double highest);

  bool takes_first() const {
    return takes_first_;
  }  ///< whatever is written behind a verdict
     ///< changes nothing
  /// 0 to 1; none where the text holds no verdict outside of thoughts (<think>...</think>), one
  /// that the token limit may have cut (`finished` is false then), or one outside the scale.
  std::optional<double> read(std::string_view said, bool finished) const;

 private:
  using Find = std::optional<double> (*)(std::string_view said, bool finished);
  Find find_ = nullptr;
  std::string good_, bad_;  ///< words:GOOD|BAD in lower case, also those of yes_no
  std::optional<text::Extractor> extractor_;  ///< where there is no such row
  double lowest_, highest_;
  bool takes_first_ = false;
};

}  // namespace rollcall::reward
