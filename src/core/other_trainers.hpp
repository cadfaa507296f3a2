// Keys of other trainers, for people who bring a run from one of them.
#pragma once

#include <string>
#include <string_view>

namespace rollcall {

/// What a key of verl, TRL or OpenRLHF is called here: "here it is train.lr". Empty for a key of
/// none of them. Case, - for _ and the sections before the last parts do not matter.
std::string hint_for_key(std::string_view key);

}  // namespace rollcall
