// Converts a part of a step to bytes, so that ranks can exchange the rollouts that each has scored
// or read.
#pragma once

#include "run/step/step_batch.hpp"

#include <cstdint>
#include <string>

namespace rollcall::run {

/// Whether the texts of rollouts and the reasons of verdicts and turns are included. Training does
/// not need them.
enum class Texts : std::uint8_t { left, along };
/// Groups, scores, greedy rewards and what the scheduler decided, in this machine's byte order.
/// Equal policy versions in a row are written once, with their count.
std::string to_wire(const StepBatch& part, Texts texts = Texts::left);
/// Throws ProtocolError when the bytes are damaged or incomplete.
StepBatch from_wire(const std::string& bytes);

}  // namespace rollcall::run
