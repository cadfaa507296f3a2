// Grades no response: asks the verifier whether it could compare one with each reference.
#include "run/start/reference_checks.hpp"

#include "base/errors/error.hpp"
#include "base/errors/faults.hpp"
#include "base/errors/log.hpp"
#include "task/answer_source.hpp"
#include "task/sources.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::run {
namespace {

/// References with a problem: the first ones, which are printed, and the number of all.
class Problems {
 public:
  explicit Problems(std::size_t most) : most_(most) {}
  void add(const Prompt& prompt, std::string problem) {
    if (count_++ >= most_) return;
    texts_.push_back(prompt.text);
    problems_.push_back(std::move(problem));
  }
  std::size_t count() const { return count_; }
  /// "FILE:LINE: problem" for each reference that is printed.
  std::vector<std::string> with_places(const TaskSection& section) const {
    std::vector<std::string> placed = task::places_of(section, texts_);
    for (std::size_t i = 0; i < placed.size(); ++i) placed[i] += ": " + problems_[i];
    return placed;
  }

 private:
  std::size_t most_, count_ = 0;
  std::vector<std::string> texts_, problems_;
};

}  // namespace

void each_reference_problem(const task::PromptSet& prompts, const reward::Grader& grader,
                            const EachReferenceProblem& each) {
  for (const Split split : {Split::train, Split::validation, Split::heldout})
    for (const Prompt& prompt : prompts.of(split)) {
      std::string problem;
      bool usable = true;
      try {
        problem = grader.reference_problem(prompt);
      } catch (const InputError& error) {
        problem = error.what(), usable = false;
      }
      if (!problem.empty()) each(prompt, std::move(problem), usable);
    }
}

void check_references(const TaskSection& section, const task::PromptSet& prompts,
                      const reward::Grader& grader) {
  constexpr std::size_t kWarned = 10, kRefused = 100;
  constexpr std::size_t kFew = 3;  // up to this number of rows are printed individually, regardless
                                   // of their share
  if (!task::reads_rows(section)) return;
  Problems unusable(kRefused), unreadable(kWarned);
  each_reference_problem(prompts, grader,
                         [&](const Prompt& prompt, std::string problem, bool usable) {
                           (usable ? unreadable : unusable).add(prompt, std::move(problem));
                         });
  const std::size_t all = prompts.train.size() + prompts.validation.size() + prompts.heldout.size();
  for (const std::string& told : unreadable.with_places(section))
    log_warning("{}; only the same text is right", told);
  if (unreadable.count() > kWarned)
    log_warning("{} references cannot be read in all", unreadable.count());
  std::vector<std::string> told = unusable.with_places(section);
  if (unusable.count() > kFew && 2 * unusable.count() > all)
    told = {fmt::format(
        "the verifier {} can use {} of {} references; of the others, {}, or name another in reward.verifier, or leave that out",
        grader.name(), all - unusable.count(), all, told.front())};
  std::vector<Fault> faults;
  for (std::string& message : told)
    faults.push_back({.message = std::move(message), .is_placed = true});
  require_no_faults<InputError>(std::move(faults));
}

}  // namespace rollcall::run
