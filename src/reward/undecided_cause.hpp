// Finds the cause of an undecided verdict on a program from its reason.
#pragma once

#include <string_view>

namespace rollcall::reward {

/// "starved" (the machine was short of processors), "out_of_memory" (the kernel's out-of-memory
/// killer), or "sandbox_error" for anything else. `reason` is Score::reason of an undecided verdict
/// by `code`. The cause is read from the words, so verdicts that a resumed run takes from the
/// archive are counted in the same way.
std::string_view undecided_cause(std::string_view reason);

}  // namespace rollcall::reward
