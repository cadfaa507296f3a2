// A policy driven by text: one JSON object a step in, its decision as one JSON object out.
#pragma once

#include "scheduling/policy.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::scheduling {

/// A line holds `prompts` (candidate ids), `budget` (rollouts), `select` (how many prompts), and may hold `min_rollouts`, `max_rollouts`, `step`, `progress`,
/// `levels` and `priors` (one each of `prompts`) and `report` (list of `prompt`, `rewards`, optional `correct`, `lengths`, `loss`, `mean_abs_advantage`).
///
/// The policy works on a fixed table of prompts. Where `prompts` is given to the constructor it is 0 .. prompts - 1; otherwise the first line's candidates,
/// in ascending order of their ids (integers, then text), so that the order in which a line names them changes nothing.
/// A line's candidates restrict its choice.
/// Levels and priors are those of the first line; later lines may repeat them.
///
/// The report is what the step returned. It is learned after the decision, whatever was decided; policies of several rounds are asked for the next round as long
/// as it holds the rewards of all that the round before drew.
class Trace {
 public:
  Trace(PolicyChoice choice, Knobs knobs, std::uint64_t seed, std::optional<std::uint64_t> prompts);
  ~Trace();
  /// `selected`, `counts`, `bins`, `weights`, `probabilities` where the policy states them, `state_sha256` after the report. Throws InputError naming the line.
  std::string step(std::string_view line, std::size_t number);
  std::vector<std::string> warnings() const;  ///< of the policy's knobs

 private:
  struct Line;
  Line parse(std::string_view text, std::size_t number);
  void make_table(const nlohmann::json& object);
  void compare_with_table(const nlohmann::json& object) const;
  std::string play(const Line& line);
  std::uint64_t index_of(const nlohmann::json& id) const;
  nlohmann::json id_of(PromptId prompt) const;
  std::vector<GroupReport> read_report(const nlohmann::json& list, std::uint64_t step) const;

  PolicyChoice choice_;
  Knobs knobs_;
  std::uint64_t seed_;
  std::optional<std::uint64_t> dense_;  // the table is 0 .. dense_ - 1
  std::vector<nlohmann::json> ids_;     // otherwise: ascending
  PromptTable table_;
  std::unique_ptr<Policy> policy_;  // once the first line has come
  std::uint64_t last_step_ = 0;
};

}  // namespace rollcall::scheduling
