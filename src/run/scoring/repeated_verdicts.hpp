// Verdicts of steps that a crash left unfinished, where the verifier was undecided or a clock ended
// it: a run that draws such a step again takes these verdicts and does not grade the answers again.
#pragma once

#include "core/rollout.hpp"
#include "reward/verifier.hpp"
#include "run/messages/purposes.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

namespace rollcall::run {

class RepeatedVerdicts {
 public:
  /// Reads set_aside in the run folder where verdicts come from a command or from programs: other
  /// verifiers have no clock. `environment`: number of components that an environment reports.
  RepeatedVerdicts(const std::filesystem::path& run_dir, const reward::Grader& grader,
                   std::size_t environment = 0);
  /// The stored score of this sample if prompt, reference and response are the same; otherwise
  /// null.
  const Score* find(Purpose purpose, const GroupId& group, const Rollout& rollout,
                    const Prompt& prompt) const;

 private:
  std::map<std::string, std::pair<std::uint64_t, Score>>
      stored_;  ///< by the sample's id: hash of prompt, reference and response, and the score
};

}  // namespace rollcall::run
