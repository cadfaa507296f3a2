// What the engine is timed at: one function a kind of work. A case is a JSON object; the answer
// holds seconds and what was done in them.
#pragma once

#include "base/text/json.hpp"

#include <functional>

namespace rollcall::bench {

using Json = nlohmann::json;

/// `groups` prompts of `prompt` tokens with `members` samples of `new` tokens each, of the model
/// `config` (what config.json says) with random weights; `threads`; `numerics` (fp32_fixed_order).
/// `temperature`, `top_p`, `top_k` as in SamplingParams. Answer: seconds, tokens (sampled).
Json decode(const Json& given);
/// `new` steps of a session whose `members` samples of one prompt are all live; the prompt's own
/// time is left out. Answer: seconds, tokens, cache_bytes.
Json step(const Json& given);
/// The second turn of `members` conversations, whose first one has a prompt of `prompt` tokens and
/// `new` sampled ones: `said` tokens are told, then `new` sampled. Answer: seconds, tokens (told and
/// sampled), computed (tokens that the session ran for them).
Json turns(const Json& given);
/// Sequences of `lengths` tokens in a session with `slots` live rows. Answer: seconds, tokens,
/// advances (steps taken) and the least that any order could take.
Json makespan(const Json& given);
/// Log-prob, entropy and a draw at `temperature` and `top_p` from each of `rows` rows of `vocab`
/// logits, normal of spread `spread`. Answer: seconds, tokens.
Json draw(const Json& given);
/// One GRPO update of the same rollouts with random advantages: gradients of all micro-batches,
/// their exact sum, AdamW, the weights made ready to generate with.
/// Answer: seconds, tokens (columns).
Json update(const Json& given);
/// y [rows, outputs] = x [rows, inputs] W^T over as many different W as fill `bytes`, so that they
/// come from memory. `by`: "rollcall", "rollcall_bf16", "aten_fp32", "aten_bf16".
/// Answer: seconds, flop.
Json linear(const Json& given);
/// Sum of the 64-bit words of `bytes` of memory, each thread its share, `new` times over. Answer:
/// seconds, bytes, tokens (times).
Json stream(const Json& given);
/// FMAs that stay in registers. Answer: seconds, flop.
Json fma(const Json& given);

/// Runs work(thread) on `threads` threads, this one among them; rethrows.
void on_threads(int threads, const std::function<void(int thread)>& work);

}  // namespace rollcall::bench
