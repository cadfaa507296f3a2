// A part of a step as flat columns of bytes: what ranks tell each other of the rollouts that each
// has judged or read.
#pragma once

#include "run/step/step_batch.hpp"

#include <cstdint>
#include <string>

namespace rollcall::run {

/// Groups, scores, what the scheduler decided and greedy rewards; versions are told by stretches of
/// equal ones. In this machine's byte order.
enum class Texts : std::uint8_t { left, along };  ///< of rollouts, and reasons of verdicts: what is
                                                  ///< trained on needs neither
std::string to_wire(const StepBatch& part, Texts texts = Texts::left);
/// Throws ProtocolError when the bytes are not a whole part.
StepBatch from_wire(const std::string& bytes);

}  // namespace rollcall::run
