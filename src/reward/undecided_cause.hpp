// Why a program's verdict was left undecided, as its reason says.
#pragma once

#include <string_view>

namespace rollcall::reward {

/// "starved" (the machine was short of processors), "out_of_memory" (the kernel's killer), or
/// "sandbox_error" for all else. `reason`: Score::reason of an undecided verdict of `code`. Read
/// from the words, so that a verdict that a resume takes from the archive is counted as it was.
std::string_view undecided_cause(std::string_view reason);

}  // namespace rollcall::reward
