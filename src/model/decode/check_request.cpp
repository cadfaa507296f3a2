// What a request has to satisfy before a session opens its sequences.
#include "model/decode/check_request.hpp"

#include "base/errors/error.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace rollcall::model {

void check_request(const DecodeRequest& request, const ModelConfig& config,
                   const SamplingParams& sampling) {
  require<InputError>(!request.prompt.empty(), "a prompt has no tokens",
                      "the first token is drawn from what follows the prompt",
                      "give every prompt at least one character");
  for (const std::int32_t token : request.prompt) {
    require<InputError>(
        token >= 0 && token < config.vocab_size,
        fmt::format("a prompt holds token {} of a vocabulary of {}", token, config.vocab_size),
        "the model has no embedding for it", "use the tokenizer the model was trained with");
  }
  expect(request.given >= 0 && request.given <= std::int64_t(request.prompt.size()) &&
             request.given < sampling.max_new_tokens,
         "a given beginning is part of the prompt and leaves something to sample");
  const std::int64_t longest =
      std::int64_t(request.prompt.size()) + sampling.max_new_tokens - request.given;
  require<InputError>(
      longest <= config.max_position_embeddings,
      fmt::format("a prompt of {} tokens and {} new ones exceed the model's {} positions",
                  request.prompt.size(), sampling.max_new_tokens - request.given,
                  config.max_position_embeddings),
      "the model cannot read past its last position",
      "shorten the prompt or lower sampling.max_new_tokens");
}

}  // namespace rollcall::model
