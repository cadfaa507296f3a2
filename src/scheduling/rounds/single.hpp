// The rounds `single`: a step is one round.
#pragma once

#include "scheduling/piece.hpp"

namespace rollcall::scheduling {

class SingleRound final : public Rounds {};

}  // namespace rollcall::scheduling
