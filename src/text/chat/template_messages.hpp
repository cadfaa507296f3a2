// Messages in the form that transformers passes to a chat template.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace rollcall::text {

/// Follows apply_chat_template of transformers 5.24. Keys whose value is null are left out. A
/// thought has one of the keys reasoning_content, thinking and reasoning. The first one that is
/// present is also stored under reasoning_content and thinking. Anything other than a list of
/// objects is returned unchanged.
nlohmann::ordered_json template_messages(const nlohmann::ordered_json& messages);

}  // namespace rollcall::text
