// Names of settings in other trainers, for users who bring a run from one of them.
#pragma once

#include <string>
#include <string_view>

namespace rollcall {

/// The name in Rollcall of a key of verl, TRL, OpenRLHF or NeMo-RL, as a clause such as "here
/// it is train.lr"; empty for an unknown key. Case, the choice of - or _, and sections before the last
/// parts of the key do not matter.
std::string hint_for_key(std::string_view key);

}  // namespace rollcall
