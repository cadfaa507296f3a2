// Checks by counting whether instructions are followed: the kinds of IFEval (Zhou et al. 2023,
// arXiv:2311.07911), under its names.
#pragma once

#include "base/text/json.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace rollcall::reward {

/// Whether a response follows an instruction. `arguments` are IFEval's kwargs for that kind. Throws
/// ReferenceFault for an unknown kind, naming the nearest, and for arguments that are missing or
/// have the wrong type. `response` may be any bytes.
bool follows(const std::string& kind, const nlohmann::json& arguments, std::string_view response);

/// All kinds of IFEval except language:response_language, which needs a trained language
/// classifier, plus startend:start_checker, which IFEval does not have.
std::vector<std::string> instruction_kinds();

}  // namespace rollcall::reward
