// One row of a file as a prompt.
#pragma once

#include "core/rollout.hpp"
#include "core/run_config.hpp"
#include "task/rows/layouts.hpp"

#include <string>

namespace rollcall::task {

/// The prompt of a row. Its text is the question and a line break; a system message, earlier turns
/// and tools are in Prompt::conversation as well. Throws InputError naming the line.
Prompt read_prompt(const nlohmann::json& object, const Line& line, const Layout& layout,
                   const TaskSection& section);

/// The text that read_prompt() gives the row's prompt. Throws what read_prompt() throws.
std::string prompt_text(const nlohmann::json& object, const Line& line, const Layout& layout,
                        const TaskSection& section);

/// A prompt's row as JSON, as it is in the file, including question and answer; plus the id that
/// its layout finds elsewhere in the row, or its line number if it has no id.
std::string extra_of(const nlohmann::json& object, const Line& line, const Layout& layout);

}  // namespace rollcall::task
