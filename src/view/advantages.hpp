// The advantage of every token, computed again with the run's own objective where the archive holds
// all that it reads.
#pragma once

#include "core/run_config.hpp"
#include "io/archive.hpp"
#include "method/method.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::view {

class Advantages {
 public:
  /// Nothing is offered where there is no run file.
  explicit Advantages(const std::optional<RunConfig>& config);
  /// One sentence; empty where advantages are offered.
  const std::string& why_not() const { return why_not_; }
  bool needs_greedy() const { return needs_greedy_; }
  /// [groups] policy tokens of the group's rollouts one after the other; empty where the step
  /// cannot be computed. `greedy`: rewards of the step's greedy answers.
  std::vector<std::vector<double>> of(const std::vector<io::ArchivedGroup>& groups,
                                      const std::vector<std::string>& component_names,
                                      const std::map<PromptId, double>& greedy) const;

 private:
  void find_obstacle();

  std::optional<RunConfig> config_;
  std::unique_ptr<const method::Objective> objective_;
  bool needs_greedy_ = false;
  std::string why_not_;
};

}  // namespace rollcall::view
