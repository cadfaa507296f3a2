// A policy driven by text: one JSON object a step in, its decision as one JSON object out.
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

/// A line is a step: `prompts` (candidate ids), `budget` (rollouts), `select` (how many prompts);
/// it may hold `min_rollouts`, `max_rollouts`, `step`, `progress`, `levels`, `priors` and `domains`
/// (one each of `prompts`) and results, as lists of `prompt`, `rewards` (the verifier's), optional
/// `shaped` (what the recipe makes of them before it normalises: what the policy hears), `correct`,
/// `lengths`, `loss`, `mean_abs_advantage`, `drift`, `diversity`, `predicted`:
///
///   returned   what the decision before came to. It is learned before this line's step is decided:
///   how a trainer drives a policy.
///   report     what this step came to. It is learned after the decision, whatever was decided: how
///   a log is replayed. Policies of several rounds are asked for
///              the next one as long as it holds the rewards of all that the round before drew.
///
/// A line of `returned` alone answers an open step. Where that step's latest answer says `more`,
/// the policy decides the next round by it; otherwise the step ends. The next step's line ends an
/// open step too, with whatever has come back until then.
///
/// The policy works on a fixed table of prompts, that of TracePrompts; a line's candidates restrict
/// its choice.
class Trace {
 public:
  /// `hears_shaped`: of rewards that were shaped; otherwise the policy hears the verifier's.
  Trace(SchedulerChoice choice, Knobs knobs, std::uint64_t seed,
        std::optional<std::uint64_t> prompts, bool hears_shaped = true);
  ~Trace();
  /// Decided: `selected`, `counts`, `bins`, `weights`, `probabilities` where the policy states
  /// them, `more` where it wants to see results before it closes the step. Where results end a
  /// step: `train`. Between steps: `state_sha256`, of the state after the latest step that has
  /// ended. Throws InputError naming the line.
  std::string step(std::string_view line, std::size_t number);
  std::vector<std::string> warnings() const;  ///< of the policy's knobs

 private:
  struct Line;
  /// A step that was decided and has not ended.
  struct Open {
    StepRequest request;
    Decision round;                           // the latest
    std::vector<GroupReport> reports{};       // of all rounds so far, ascending
    std::map<GroupId, std::size_t> places{};  // of each in the first list that named it
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
  std::unique_ptr<Scheduler> policy_;  // once the first line has come
  std::optional<Open> open_;
  std::uint64_t last_step_ = 0;
  std::size_t answers_ = 0;  // lines of results alone: steps are numbered by the others
};

}  // namespace rollcall::scheduling
