// rollcall logprob: reads token ids and writes their log-probs, one line each. As a filter it
// answers a line before it reads the next.
#include "app/commands.hpp"
#include "app/models/interactive_model.hpp"
#include "base/errors/long_phase.hpp"
#include "base/files/file.hpp"
#include "base/files/lines.hpp"
#include "base/text/json.hpp"
#include "model/engine/policy.hpp"
#include "model/tensors/model_folder.hpp"
#include "run/context/numerics.hpp"
#include "run/folder/run_folder.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

namespace rollcall::app {
namespace {

using Json = nlohmann::json;

/// Reads "[1,2,3]" as tokens of the model. `line` is counted from 1.
std::vector<std::int32_t> read_tokens(const std::string& text, std::int64_t line,
                                      const model::ModelConfig& config) {
  const auto check = [&](bool ok, const std::string& problem, const char* why,
                         const char* suggestion) {
    require(ok, fmt::format("standard input, line {}: {}", line, problem), why, suggestion);
  };
  const char *one_array = "a line is one JSON array of token ids",
             *example = "write lines like [1, 520, 31]";
  // Elements that are not numbers are dropped while they are parsed, so that nested ones cannot
  // grow.
  bool flat = true;
  const auto watch = [&](int depth, Json::parse_event_t event, Json&) {
    using Event = Json::parse_event_t;
    flat = flat && (depth == 0 ? event == Event::array_start || event == Event::array_end ||
                                     event == Event::value
                               : event == Event::value);
    return flat;
  };
  const Json ids = Json::parse(text, watch, false);
  check(flat && ids.is_array(), "it is not a JSON array of numbers", one_array, example);
  check(!ids.empty(), "the array is empty", "there is no token to score", example);
  check(
      std::int64_t(ids.size()) <= config.max_position_embeddings,
      fmt::format("{} ids for a model of {} positions", ids.size(), config.max_position_embeddings),
      "the model cannot read past its last position", "shorten the sequence");
  std::vector<std::int32_t> tokens;
  for (const Json& id : ids) {
    const bool known = id.is_number_integer() && id.get<double>() >= 0 &&
                       id.get<double>() < double(config.vocab_size);
    check(known,
          fmt::format("element {} is {}", tokens.size() + 1,
                      id.dump(-1, ' ', true, Json::error_handler_t::replace)),
          fmt::format("ids are whole numbers from 0 to {}", config.vocab_size - 1).c_str(),
          "use the ids of the model's own tokenizer");
    tokens.push_back(id.get<std::int32_t>());
  }
  return tokens;
}

/// Log-probs of all tokens but the first, with nine significant digits, which represent a float
/// exactly.
std::string answer(const model::PolicyModel& policy, std::vector<std::int32_t> tokens) {
  model::MicroBatch micro_batch;
  micro_batch.offsets = {0, std::int64_t(tokens.size())};
  for (std::int64_t t = 1; t < std::int64_t(tokens.size()); ++t) micro_batch.targets.push_back(t);
  micro_batch.tokens = std::move(tokens);
  std::string line = "[";
  for (const float logprob : model::forward(policy, micro_batch, 1.0).logprob) {
    require<NumericsError>(std::isfinite(logprob), "a log-prob is not finite",
                           "JSON has no such number", "check the model's weights");
    line += fmt::format("{}{:.9g}", line.size() > 1 ? ", " : "", logprob);
  }
  return line + "]";
}

struct LogprobFlags {
  std::string weights, numerics;
};

ExitCode score_lines(const LogprobFlags& flags) {
  const auto& kernels =
      run::find_kernels(flags.numerics.empty() ? run::numerics_of(flags.weights) : flags.numerics);
  std::optional<LongPhase> phase(std::in_place, "reading the model of " + flags.weights);
  const model::PolicyModel policy =
      model::read_policy(run::checkpoint_folder(flags.weights), &kernels);
  phase.reset();
  std::int64_t line = 0;
  for (std::string text; std::cout && next_line(std::cin, text);)
    std::cout << answer(policy, read_tokens(text, ++line, policy.config())) << std::endl;
  require_end_of_input();
  return ExitCode::done;
}

}  // namespace

void add_logprob(Command program) {
  auto flags = std::make_shared<LogprobFlags>();
  auto command = program.command(
      "logprob",
      "log-probs of given token ids: one JSON array of ids per input line, one array of the "
      "log-probs of ids[1:] per output line");
  command
      .option("weights", flags->weights, "RUN, RUN@STEP, or the folder of a model or of an adapter")
      .required();
  add_numerics(command, flags->numerics);
  command.runs([flags] { return score_lines(*flags); });
}

}  // namespace rollcall::app
