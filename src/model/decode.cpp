// Generation: prompts are run once, samples advance together one token at a time, finished ones make room for waiting ones.
#include "base/error.hpp"
#include "base/random.hpp"
#include "model/key_value_cache.hpp"
#include "model/row_engine.hpp"
#include "model/sampling.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::model {
namespace {

constexpr std::int64_t kLiveRows = 512;  ///< more rows than this no longer gain speed and leave the second-level cache
constexpr std::int64_t kPrefillRows = 1024;

void check_request(const DecodeRequest& request, const ModelConfig& config, const SamplingParams& sampling) {
  require<InputError>(!request.prompt.empty(), "a prompt has no tokens", "the first token is drawn from what follows the prompt",
                      "give every prompt at least one character");
  for (const std::int32_t token : request.prompt) {
    require<InputError>(token >= 0 && token < config.vocab_size, fmt::format("a prompt holds token {} of a vocabulary of {}", token, config.vocab_size),
                        "the model has no embedding for it", "use the tokenizer the model was trained with");
  }
  const std::int64_t longest = std::int64_t(request.prompt.size()) + sampling.max_new_tokens - request.given;
  require<InputError>(longest <= config.max_position_embeddings,
                      fmt::format("a prompt of {} tokens and {} new ones exceed the model's {} positions", request.prompt.size(),
                                  sampling.max_new_tokens - request.given, config.max_position_embeddings),
                      "the model cannot read past its last position", "shorten the prompt or lower sampling.max_new_tokens");
}

struct Sample {
  std::size_t request;
  std::uint32_t index;  ///< within the request
  std::int64_t slot = -1;
  RandomStream stream;
  StopRule stop;                     ///< its own; empty: none
  std::vector<std::int32_t> answer;  ///< what the rule reads where the answer's beginning was given
};

class Decoder {
 public:
  Decoder(const Policy::Packed& policy, std::span<const DecodeRequest> requests, const SamplingParams& sampling, const StopRules& stops,
          std::int64_t cache_bytes);
  std::vector<std::vector<DecodedSequence>> run();

 private:
  std::vector<Sample> next_samples();
  void prefill(std::span<const Sample> samples);
  void prefill_pack(std::span<const std::size_t> pack);
  void admit();
  void advance();
  void choose(std::size_t first_live, std::span<const float* const> hidden);
  bool append(Sample& sample, std::int32_t token, float logprob, float entropy);
  DecodedSequence& result(const Sample& sample) { return results_[sample.request][sample.index]; }
  bool waiting() const { return next_request_ < requests_.size(); }

  const Policy::Packed& policy_;
  std::span<const DecodeRequest> requests_;
  const SamplingParams& sampling_;
  const StopRules& stops_;
  TokenSampler sampler_;
  std::vector<kernels::BlockMass> masses_;  ///< of one row
  std::vector<float> exponentials_;         ///< of one row, where the sampler needs them
  std::int64_t longest_prompt_ = 0, samples_ = 0;
  std::int64_t slot_count_;
  CacheSlots slots_;
  RowEngine engine_;
  std::vector<std::shared_ptr<PromptCache>> prompts_;  ///< [requests], filled while samples of the request wait
  std::size_t next_request_ = 0;
  std::uint32_t next_index_ = 0;
  std::vector<Sample> live_;
  std::vector<std::vector<DecodedSequence>> results_;
};

std::int64_t longest_prompt(std::span<const DecodeRequest> requests) {
  std::size_t longest = 0;
  for (const DecodeRequest& request : requests) longest = std::max(longest, request.prompt.size());
  return std::int64_t(longest);
}

/// Samples that may live at once: bounded by rows and by cache memory, at least one. Each may have a prompt of its own, whose cache waits beside it.
std::int64_t slot_count(std::span<const DecodeRequest> requests, const Policy::Packed& policy, std::int64_t capacity, std::int64_t prompt,
                        std::int64_t cache_bytes) {
  std::int64_t samples = 0;
  for (const DecodeRequest& request : requests) samples += request.count;
  const std::int64_t pages = kernels::pages_of(capacity) + kernels::pages_of(prompt);
  const std::int64_t slot_bytes = policy.config.num_hidden_layers * pages * page_shape(policy).bytes();
  return std::max<std::int64_t>(1, std::min({samples, kLiveRows, cache_bytes / slot_bytes}));
}

Decoder::Decoder(const Policy::Packed& policy, std::span<const DecodeRequest> requests, const SamplingParams& sampling, const StopRules& stops,
                 std::int64_t cache_bytes)
    : policy_(policy),
      requests_(requests),
      sampling_(sampling),
      stops_(stops),
      sampler_(sampling, policy.config.vocab_size, *policy.kernels),
      masses_(std::size_t(kernels::vocabulary_blocks(policy.config.vocab_size)) + 1),
      exponentials_(sampler_.needs_exponentials() ? std::size_t(policy.config.vocab_size) : 0),
      longest_prompt_(longest_prompt(requests)),
      slot_count_(slot_count(requests, policy, longest_prompt_ + sampling.max_new_tokens, longest_prompt_, cache_bytes)),
      slots_(page_shape(policy), policy.config.num_hidden_layers, longest_prompt_ + sampling.max_new_tokens, slot_count_),
      engine_(policy, std::max({slot_count_, longest_prompt_, kPrefillRows})),
      prompts_(requests.size()) {
  for (const DecodeRequest& request : requests) results_.emplace_back(request.count);
}

std::vector<std::vector<DecodedSequence>> Decoder::run() {
  while (waiting() || !live_.empty()) {
    if (waiting() && 2 * slots_.free() >= slot_count_) admit();  // in halves, so that prompts are run in few large batches
    advance();
  }
  return std::move(results_);
}

/// As many waiting samples as there are free slots, in request order.
std::vector<Sample> Decoder::next_samples() {
  std::vector<Sample> samples;
  while (waiting() && std::int64_t(samples.size()) < slots_.free()) {
    const DecodeRequest& request = requests_[next_request_];
    if (next_index_ == request.count) {
      ++next_request_;
      next_index_ = 0;
      continue;
    }
    const std::uint32_t sample = request.first_sample + next_index_;
    samples.push_back({.request = next_request_,
                       .index = next_index_++,
                       .stream = RandomStream(request.seed, RandomPurpose::sampling, request.step, request.prompt_address, sample),
                       .stop = stops_ ? stops_() : StopRule(),
                       .answer = {request.prompt.end() - request.given, request.prompt.end()}});
  }
  return samples;
}

/// Fills the prompt caches that `samples` need, in packs of at most kPrefillRows rows (or one longer prompt).
void Decoder::prefill(std::span<const Sample> samples) {
  std::vector<std::size_t> pack;
  std::int64_t rows = 0;
  for (const Sample& sample : samples) {
    if (sample.index != 0) continue;
    const std::int64_t length = std::int64_t(requests_[sample.request].prompt.size());
    if (!pack.empty() && rows + length > kPrefillRows) {
      prefill_pack(pack);
      pack.clear();
      rows = 0;
    }
    pack.push_back(sample.request);
    rows += length;
  }
  if (!pack.empty()) prefill_pack(pack);
}

void Decoder::prefill_pack(std::span<const std::size_t> pack) {
  std::vector<std::int32_t> tokens;
  std::vector<std::int64_t> offsets = {0};
  std::vector<PromptCache*> caches;
  for (const std::size_t request : pack) {
    const auto& prompt = requests_[request].prompt;
    tokens.insert(tokens.end(), prompt.begin(), prompt.end());
    offsets.push_back(std::int64_t(tokens.size()));
    prompts_[request] = std::make_shared<PromptCache>();
    caches.push_back(prompts_[request].get());
  }
  CapturedPrompts prompts(offsets, page_shape(policy_), policy_.config.num_hidden_layers, caches);
  const float* hidden = engine_.hidden(tokens, prompts.positions(), prompts);
  const std::int64_t width = policy_.config.hidden_size;
  for (std::size_t s = 0; s < pack.size(); ++s) {
    const float* last = hidden + (offsets[s + 1] - 1) * width;
    caches[s]->last_hidden.assign(last, last + width);
  }
}

/// Starts waiting samples: each gets a slot that begins with its prompt, and its first token.
void Decoder::admit() {
  std::vector<Sample> samples = next_samples();
  prefill(samples);
  std::vector<const float*> hidden;
  for (Sample& sample : samples) {
    sample.slot = slots_.acquire(prompts_[sample.request]);
    hidden.push_back(prompts_[sample.request]->last_hidden.data());
  }
  const std::size_t first = live_.size();
  live_.insert(live_.end(), samples.begin(), samples.end());
  choose(first, hidden);
  for (const Sample& sample : samples) {
    if (sample.index + 1 == requests_[sample.request].count) prompts_[sample.request].reset();
  }
}

/// Runs each live sample's last token and draws its next.
void Decoder::advance() {
  std::vector<std::int32_t> tokens, positions;
  std::vector<std::int64_t> slots;
  for (const Sample& sample : live_) {
    const auto& drawn = result(sample).tokens;
    tokens.push_back(drawn.back());
    positions.push_back(std::int32_t(requests_[sample.request].prompt.size() + drawn.size() - 1));
    slots.push_back(sample.slot);
  }
  slots_.select(slots, positions);
  const float* hidden = engine_.hidden(tokens, positions, slots_);
  std::vector<const float*> rows;
  for (std::size_t i = 0; i < live_.size(); ++i) rows.push_back(hidden + std::int64_t(i) * policy_.config.hidden_size);
  choose(0, rows);
}

/// Draws a token for live_[first_live..] from `hidden`; finished samples leave.
void Decoder::choose(std::size_t first_live, std::span<const float* const> hidden) {
  const std::int64_t vocab = policy_.config.vocab_size;
  const float scale = inverse_temperature(sampling_.temperature);
  constexpr std::int32_t kNone = -1;
  float unused = 0.0F, entropy = 0.0F, lse = 0.0F;
  std::vector<bool> finished(live_.size(), false);
  engine_.logits(hidden, [&](std::size_t first, std::size_t count, const float* logits, const float*) {
    for (std::size_t i = 0; i < count; ++i) {  // one after the other: what the columns leave of a row is in the cache when its token is drawn
      Sample& sample = live_[first_live + first + i];
      const float* row = logits + std::int64_t(i) * vocab;
      policy_.kernels->token_columns(engine_.context(), row, 1, vocab, scale, &kNone, &unused, &entropy, &lse, masses_.data(),
                                     exponentials_.empty() ? nullptr : exponentials_.data());
      const std::int32_t token = sampler_.draw({row, masses_.data(), exponentials_.data()}, sample.stream.uniform(result(sample).tokens.size()));
      const kernels::BlockMass& whole = masses_.back();
      finished[first_live + first + i] = append(sample, token, row[token] * scale - whole.largest - whole.sum, entropy);
      if (finished[first_live + first + i]) slots_.release(sample.slot);
    }
  });
  std::size_t position = 0;
  std::erase_if(live_, [&](const Sample&) { return finished[position++]; });
}

/// True when the sample is finished.
bool Decoder::append(Sample& sample, std::int32_t token, float logprob, float entropy) {
  DecodedSequence& sequence = result(sample);
  sequence.tokens.push_back(token);
  sequence.logprob.push_back(logprob);
  sequence.entropy.push_back(entropy);
  const std::int64_t given = requests_[sample.request].given;
  if (given > 0) sample.answer.push_back(token);
  sequence.stopped = policy_.config.ends(token) || (sample.stop && sample.stop(given > 0 ? sample.answer : sequence.tokens));
  return sequence.stopped || std::int64_t(sequence.tokens.size()) + given >= sampling_.max_new_tokens;
}

}  // namespace

std::vector<std::vector<DecodedSequence>> decode(const Policy& policy, std::span<const DecodeRequest> requests, const SamplingParams& sampling,
                                                 const StopRules& stops, std::int64_t cache_bytes) {
  require<ConfigError>(sampling.max_new_tokens > 0, fmt::format("sampling.max_new_tokens is {}", sampling.max_new_tokens), "nothing would be sampled",
                       "choose 1 or more");
  for (const DecodeRequest& request : requests) check_request(request, policy.config(), sampling);
  return Decoder(policy.packed(), requests, sampling, stops, cache_bytes).run();
}

}  // namespace rollcall::model
