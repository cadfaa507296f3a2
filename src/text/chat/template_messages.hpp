// Messages as transformers hands them to a chat template.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace rollcall::text {

/// As apply_chat_template (transformers 5.24) has it: keys whose value is null are left out, and a
/// thought that has one of its names (reasoning_content, thinking, reasoning; the first that is
/// there) is also found under reasoning_content and thinking. What is no list of objects is
/// returned as it is.
nlohmann::ordered_json template_messages(const nlohmann::ordered_json& messages);

}  // namespace rollcall::text
