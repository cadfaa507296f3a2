// A model that answers on the command line: weights, settings and prompt format of a run or a
// folder.
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

  /// Samples one answer and writes it to standard output as it is made, then a line break. `turn`
  /// addresses its random numbers; an answer ends where the model has no positions left, too.
  /// `exact`: as_said. Returns the text as the model wrote it.
  std::string say(const std::vector<std::int32_t>& prompt, std::uint64_t turn, bool exact) const;
};

/// With run.threads, or as many as this process may use.
model::DecodeOptions decode_options(const RunConfig& config);

/// `reference`: RUN, RUN@STEP or a folder with config.json and model.safetensors. A run brings its
/// own settings; `assignments` go over them, and `defaults` are those of a folder that no run file
/// goes with. run.numerics is that of run::numerics_of() unless `assignments` set it.
InteractiveModel open_speaker(const std::string& reference,
                              const std::vector<std::string>& defaults,
                              const std::vector<std::string>& assignments);

/// What is printed of an answer: its control characters as escapes, for a model may have learnt
/// any, or with `exact` its bytes.
std::string as_said(std::string text, bool exact);
void add_exact(Command command, bool& exact);

/// --numerics: in place of the model's own. `numerics` stays empty where it is not given.
void add_numerics(Command command, std::string& numerics);

}  // namespace rollcall::app
