// The choice of rollouts that a subcommand of `archive` reads: a run or a file, and within it one
// step, one prompt or row, or one purpose.
#pragma once

#include "app/command_line.hpp"
#include "io/source.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace rollcall::app::archive {

struct Choice {
  std::string source, purpose;
  std::string scores{};  ///< name of a set of verdicts in RUN/rescored, in place of the stored ones
  std::optional<std::uint64_t> step, prompt;
  std::string row{};  ///< name of a row in task.file (io/row_name.hpp)
};
/// Adds options that set `choice`, which must live as long as the parser.
void add_source(Command verb, Choice& choice);
void add_purpose(Command verb, Choice& choice);
void add_step(Command verb, Choice& choice);
void add_scores(Command verb, Choice& choice);
void add_prompt(Command verb, Choice& choice);  ///< by number, or by row

/// Runs io::each_group on the chosen groups. Throws InputError if an option names something that
/// does not exist.
void each_chosen(const Choice& choice, const io::Visit& visit);

}  // namespace rollcall::app::archive
