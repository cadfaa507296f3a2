// A scheduler that is driven by text: each step is a line with a JSON object, and its decision is a
// line with a JSON object.
#pragma once

#include "scheduling/scheduler.hpp"
#include "scheduling/trace/trace_prompts.hpp"
#include "scheduling/trace/trace_results.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::scheduling {

/// A line describes a step: `prompts` (candidate ids), `budget` (rollouts), `select` (number of
/// prompts). It may hold `min_rollouts`, `max_rollouts`, `step`, `progress`, and, with one value
/// for each of `prompts`, `levels`, `priors` and `domains`. It may also hold results. These are
/// lists of objects with `prompt`, `rewards` (the verifier's), `correct`, `lengths`, `loss`,
/// `mean_abs_advantage`, `drift`, `diversity`, `predicted` and optionally `shaped`, the rewards as
/// the recipe's reward pieces change them, from which the scheduler then learns:
///
///   returned   the results of the previous decision. The scheduler learns them before it decides
///              this line's step. This is how a trainer drives a scheduler.
///   report     the results of this step. The scheduler learns them after its decision, no
///              matter what it decided. This is how a log is replayed. A scheduler with several
///              rounds decides the next round as long as the report holds the rewards of
///              everything that the previous round drew.
///
/// A line that has only `returned` answers an open step. If that step's latest answer says `more`,
/// the scheduler decides the next round; otherwise the step ends. The next step's line also ends an
/// open step, with the results so far.
///
/// The scheduler works on a fixed table of prompts, that of TracePrompts; a line's candidates
/// restrict its choice.
class Trace {
 public:
  /// `hears_shaped`: the scheduler learns from shaped rewards if a line has them, otherwise from
  /// the verifier's.
  Trace(SchedulerChoice choice, Knobs knobs, std::uint64_t seed,
        std::optional<std::uint64_t> prompts, bool hears_shaped = true);
  ~Trace();
  /// The answer to a line. A decision has `selected`, `counts`, `bins`, `weights`, `probabilities`
  /// if the scheduler states them, `tiers` if some prompt is asked with help (0: without), and
  /// `more` if it decides another round after the results. If results end a step, there is `train`.
  /// Between steps there is `state_sha256`, for the state after the latest step that has ended.
  /// Throws InputError naming the line.
  std::string step(std::string_view line, std::size_t number);
  std::vector<std::string> warnings() const;  ///< about the scheduler's knobs

 private:
  struct Line;
  /// A step that was decided and has not ended yet.
  struct Open {
    StepRequest request;
    Decision round;                           // the latest round
    std::vector<GroupReport> reports{};       // of all rounds so far, ascending
    std::map<GroupId, std::size_t> places{};  // place of each group in the first list that named it
  };
  Line parse(std::string_view text, std::size_t number);
  StepRequest parse_request(const nlohmann::json& object, std::size_t number);
  std::vector<GroupReport> read_report(const nlohmann::json& entries, std::uint64_t step) const;
  void read_returned(const nlohmann::json& entries, Line& line) const;
  void hear(const Line& line);
  bool go_on(const std::vector<GroupReport>& returned, nlohmann::ordered_json& out);
  void end(nlohmann::ordered_json* out);
  void replay(const StepRequest& request, const std::vector<GroupReport>& report,
              nlohmann::ordered_json& out);
  void tell(const std::vector<GroupPlan>& groups, const std::vector<double>& probability,
            nlohmann::ordered_json& out) const;
  std::string play(const Line& line);

  SchedulerChoice choice_;
  Knobs knobs_;
  std::uint64_t seed_;
  TracePrompts prompts_;
  TraceColumns columns_;
  std::unique_ptr<Scheduler> policy_;  // null before the first line
  std::optional<Open> open_;
  std::uint64_t last_step_ = 0;
  std::size_t answers_ = 0;  // lines with results alone; only the other lines number the steps
};

}  // namespace rollcall::scheduling
