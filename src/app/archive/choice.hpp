// Which rollouts a verb reads: RUN|FILE, and of it one step, one prompt or row, one purpose.
#pragma once

#include "app/command_line.hpp"
#include "io/source.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace rollcall::app::archive {

struct Choice {
  std::string source, purpose;
  std::string scores{};  ///< verdicts of RUN/rescored in place of the stored ones
  std::optional<std::uint64_t> step, prompt;
  std::string row{};  ///< name of a row of task.file (io/row_name.hpp)
};
/// Options that write into `choice`, which lives as long as the parser.
void add_source(Command verb, Choice& choice);
void add_purpose(Command verb, Choice& choice);
void add_step(Command verb, Choice& choice);
void add_scores(Command verb, Choice& choice);
void add_prompt(Command verb, Choice& choice);  ///< by its number, or by its row

/// io::each_group of what was chosen. Throws InputError when something was asked for and there is
/// none of it.
void each_chosen(const Choice& choice, const io::Visit& visit);

}  // namespace rollcall::app::archive
