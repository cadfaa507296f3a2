// Verifiers: a group of responses in, named reward components out. They see whole groups (votes, diversity); most look at one response at a time.
#pragma once

#include "core/rollout.hpp"
#include "core/run_config.hpp"
#include "text/extract.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::reward {

struct Response;

/// A row of the table reward/verifiers.cpp. Pure functions; never throw on any response text, only on a reference that cannot be used.
struct Verifier {
  const char* name;
  const char* meaning;
  std::vector<std::string> components;                             ///< names, in the order of Score::components; the first is "correct"
  const char* extract;                                             ///< how it finds the answer where the run file names no other way: a row of text/extract.cpp
  const char* answers;                                             ///< what its answers are where they are never numbers; else none
  Score (*judge)(const Prompt& prompt, const Response& response);  ///< fills components, correct and answer of one response
};

const Verifier& find_verifier(const std::string& name);  ///< throws ConfigError naming the nearest
std::vector<std::string> verifier_names();

/// What judges the answers of a run: a verifier, and how it finds them. Immutable, shared by threads.
class Judge {
 public:
  /// Throws ConfigError for an extraction that is unknown or can never find an answer of the task.
  Judge(const Verifier& verifier, const TaskSection& section);
  const Verifier& verifier() const { return *verifier_; }
  std::string extraction() const { return extractor_.shown(); }

  /// `finished` is false when the token limit cut the response. reward = correct + format_weight * format.
  Score score(const Prompt& prompt, std::string_view response, bool finished) const;
  std::vector<Score> score_group(const Prompt& prompt, std::span<const std::string> responses, std::span<const bool> finished) const;

 private:
  const Verifier* verifier_;
  text::Extractor extractor_;
  double format_weight_;
};

}  // namespace rollcall::reward
