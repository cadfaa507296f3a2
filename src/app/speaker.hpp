// A model that answers on the command line: weights, settings and prompt format of a run or a folder.
#pragma once

#include "core/run_config.hpp"
#include "model/decoder.hpp"
#include "text/prompt_format.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rollcall::app {

struct Speaker {
  RunConfig config;
  text::PromptFormat format;
  model::Policy policy;

  model::DecodeOptions decode_options() const;  ///< run.threads, or as many as this process may use
  /// Samples one answer and writes it to standard output as it is made, then a line break. `turn` addresses its random numbers; an answer ends where the
  /// model has no positions left, too. Returns the text.
  std::string say(const std::vector<std::int32_t>& prompt, std::uint64_t turn) const;
};

/// `reference`: RUN, RUN@STEP or a folder with config.json and model.safetensors. A run brings its own settings; `assignments` go over them, and
/// `defaults` are those of a folder that no run file goes with.
Speaker open_speaker(const std::string& reference, const std::vector<std::string>& defaults, const std::vector<std::string>& assignments);

}  // namespace rollcall::app
