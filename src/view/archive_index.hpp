// What a run holds, in numbers: its steps, the groups of each, and the visits of every prompt. Kept
// up to date while the run writes.
#pragma once

#include "io/source.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::view {

/// A training step, or an evaluation after so many steps.
struct StepKey {
  Purpose purpose = Purpose::train;
  std::uint64_t step = 0;
  auto operator<=>(const StepKey&) const = default;
};

/// Where a prompt is named: its number, and its text, since a run may go on with other prompts
/// under the same numbers.
struct PromptKey {
  Purpose purpose = Purpose::train;
  std::uint64_t prompt = 0, text_hash = 0;
  auto operator<=>(const PromptKey&) const = default;
};
PromptKey prompt_key(const io::ArchivedGroup& group);

struct GroupLine {
  PromptKey prompt;
  std::uint32_t rollouts = 0, correct = 0;
  std::uint64_t tokens = 0;  ///< of all turns behind the prompt, which stands once
};

struct StepLine {
  std::vector<GroupLine> groups{};  ///< in the archive's order
  std::uint64_t rollouts = 0, correct = 0, cut = 0, tokens = 0;
  double reward = 0.0, entropy = 0.0, logprob = 0.0;  ///< sums over rollouts, and over the policy's
                                                      ///< tokens
};
double pass_rate(const StepLine& step);  ///< mean over prompts of the share of their rollouts that
                                         ///< are correct

struct Visit {
  std::uint64_t step = 0;
  std::uint32_t rollouts = 0, correct = 0;
};

struct PromptLine {
  std::string text, reference;  ///< their beginnings
  std::string row;              ///< name of its row of task.file; empty: it is of none
  std::int32_t level = 0;
  std::vector<Visit> visits{};  ///< ascending steps; draws of one step are one visit
};

class ArchiveIndex {
 public:
  explicit ArchiveIndex(std::filesystem::path run) : run_(std::move(run)) {}

  /// Reads what is new since the last call, and forgets steps that are gone. Returns whether
  /// anything changed. Throws as io::each_group does.
  bool refresh();
  const std::map<StepKey, StepLine>& steps() const { return steps_; }
  const std::map<PromptKey, PromptLine>& prompts() const { return prompts_; }
  /// The steps that lie in one file with this one: reading it reads all of them.
  std::pair<std::uint64_t, std::uint64_t> file_of(const StepKey& key) const;
  /// Of the step before this one in which the prompt was visited.
  std::optional<Visit> visit_before(const PromptKey& prompt, std::uint64_t step) const;

 private:
  struct Part {
    Purpose purpose = Purpose::train;
    std::uint64_t first = 0, last = 0;
    std::string identity{};  ///< differs when the files are others
    auto operator<=>(const Part&) const = default;
  };
  std::vector<Part> parts_of(const io::Source& source) const;
  void read(const Part& part);
  void forget(const Part& part);
  void add(const io::ArchivedGroup& group);
  void count_visits();

  std::filesystem::path run_;
  std::vector<Part> parts_;
  std::map<StepKey, StepLine> steps_;
  std::map<PromptKey, PromptLine> prompts_;
};

}  // namespace rollcall::view
