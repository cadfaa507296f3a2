// Which rollouts a verb reads: RUN|FILE, and of it one step, one prompt, one purpose.
#pragma once

#include "app/commands.hpp"
#include "io/source.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace rollcall::app::archive {

struct Choice {
  std::string source, purpose;
  std::string scores{};  ///< verdicts of RUN/rescored in place of the stored ones
  std::optional<std::uint64_t> step, prompt;
};
/// Options that write into `choice`, which lives as long as the parser.
void add_source(CLI::App& verb, Choice& choice);
void add_purpose(CLI::App& verb, Choice& choice);
void add_step(CLI::App& verb, Choice& choice);
void add_scores(CLI::App& verb, Choice& choice);
CLI::Option* add_prompt(CLI::App& verb, Choice& choice);

/// io::each_group of what was chosen. Throws InputError when something was asked for and there is none of it.
void each_chosen(const Choice& choice, const io::Visit& visit);

}  // namespace rollcall::app::archive
