// Instructions whose following can be checked by counting: the kinds of IFEval (Zhou et al. 2023,
// arXiv:2311.07911), under its names.
#pragma once

#include "base/json.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace rollcall::reward {

/// Whether a response follows an instruction. `arguments`: IFEval's kwargs of that kind. Throws
/// ReferenceFault for an unknown kind, naming the nearest, and for arguments that are missing or of
/// another kind. `response` may be any bytes.
bool follows(const std::string& kind, const nlohmann::json& arguments, std::string_view response);

/// IFEval's but language:response_language, which needs a trained judge of languages; and
/// startend:start_checker, which it lacks.
std::vector<std::string> instruction_kinds();

}  // namespace rollcall::reward
