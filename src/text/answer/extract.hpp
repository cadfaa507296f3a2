// Finds the answer in a response by a named rule.
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
  bool numbers_only;  ///< whether the rule finds only numbers
};

const std::vector<ExtractionRule>& extraction_rules();

struct Extracted {
  /// Trimmed. Numbers have no thousands separators and an ASCII minus; their digits are unchanged.
  std::string text;
  bool complete = false;  ///< false if the token limit may have cut the answer; such an answer does
                          ///< not count
};

class Extractor {
 public:
  /// `rule` is a row of the table, or "regex:PATTERN". `marker` is what the rule "marker" looks
  /// for. Throws ConfigError for an unknown rule, naming the nearest known one, and for an invalid
  /// pattern.
  explicit Extractor(const std::string& rule, std::string marker = {});
  const std::string& rule() const { return rule_; }
  bool numbers_only() const;
  std::string shown() const;  ///< the rule with its marker, as results show it

  /// `finished`: the response was not cut by the token limit. All rules except whole and regex
  /// ignore closed thoughts (thoughts.hpp). Accepts any bytes, and does not throw.
  std::optional<Extracted> find(std::string_view response, bool finished) const;

 private:
  using Find = std::optional<Extracted> (*)(std::string_view response, bool finished);
  std::string rule_, marker_;
  Find find_ = nullptr;                           // null for the rules marker and regex
  std::shared_ptr<const AnswerPattern> pattern_;  // of the rule regex
};

}  // namespace rollcall::text
