// A model that answers on the command line, with the weights, settings and prompt format of a run
// or a folder.
#pragma once

#include "app/command_line.hpp"
#include "core/run_config.hpp"
#include "model/decode/decode.hpp"
#include "text/chat/prompt_format.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rollcall::app {

struct InteractiveModel {
  RunConfig config;
  text::PromptFormat format;
  model::PolicyModel policy;

  /// Samples one answer and writes it to standard output as it is generated, then a line break.
  /// `turn` is part of the address of the answer's random numbers. An answer also ends when the
  /// model has no positions left. `exact` is passed to as_said(). Returns the text as the model
  /// wrote it.
  std::string say(const std::vector<std::int32_t>& prompt, std::uint64_t turn, bool exact) const;
};

/// Uses run.threads, or all cores that this process may use.
model::DecodeOptions decode_options(const RunConfig& config);

/// `reference` is RUN, RUN@STEP, or the folder of a model or of an adapter. A run has its
/// own settings; `assignments` override them, and `defaults` are the settings of a folder without a
/// run file. run.numerics comes from run::numerics_of() unless `assignments` set it.
InteractiveModel open_speaker(const std::string& reference,
                              const std::vector<std::string>& defaults,
                              const std::vector<std::string>& assignments);

/// An answer as it is printed: byte by byte if `exact`, otherwise with control characters as
/// escapes, because a model may have learned to write any of them.
std::string as_said(std::string text, bool exact);
void add_exact(Command command, bool& exact);

/// Adds --numerics, which overrides the numerics of the model's settings. `numerics` stays empty if
/// the option is not given.
void add_numerics(Command command, std::string& numerics);

}  // namespace rollcall::app
