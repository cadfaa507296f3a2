// A part of a step as flat columns of bytes: what update ranks tell each other of the rollouts that each has read.
#pragma once

#include "stages/step_batch.hpp"

#include <string>

namespace rollcall::stages {

/// Groups, scores and greedy rewards; texts stay in the archive, and versions are told by stretches of equal ones. In this machine's byte order.
std::string to_wire(const StepBatch& part);
/// Throws ProtocolError when the bytes are not a whole part.
StepBatch from_wire(const std::string& bytes);

}  // namespace rollcall::stages
