// The answer within a response, found by a named rule.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::text {

class AnswerPattern;

/// A row of the table in extract.cpp.
struct ExtractionRule {
  const char* name;
  const char* meaning;
  bool numbers_only;  ///< finds nothing but numbers
};

const std::vector<ExtractionRule>& extraction_rules();

struct Extracted {
  std::string text;  ///< trimmed; numbers without thousands separators and with an ASCII minus,
                     ///< digits as they were written
  bool complete = false;  ///< false: the token limit may have cut it, so it is no answer yet
};

class Extractor {
 public:
  /// `rule`: a row of the table, or "regex:PATTERN". `marker` is what the rule "marker" looks for.
  /// Throws ConfigError: an unknown rule, naming the nearest, or what is wrong with the pattern and
  /// where.
  explicit Extractor(const std::string& rule, std::string marker = {});
  const std::string& rule() const { return rule_; }
  bool numbers_only() const;
  std::string shown() const;  ///< the rule with its marker, for results

  /// `finished`: the response ended by itself. All rules but whole and regex leave closed thoughts
  /// out (thoughts.hpp). Any bytes are safe; never throws.
  std::optional<Extracted> find(std::string_view response, bool finished) const;

 private:
  using Find = std::optional<Extracted> (*)(std::string_view response, bool finished);
  std::string rule_, marker_;
  Find find_ = nullptr;                           ///< none for marker and regex
  std::shared_ptr<const AnswerPattern> pattern_;  ///< regex
};

}  // namespace rollcall::text
