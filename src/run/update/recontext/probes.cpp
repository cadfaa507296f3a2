// Finds reasoning steps by their delimiter, and samples short continuations after each.
#include "run/update/recontext/probes.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/hash.hpp"
#include "method/columns.hpp"
#include "run/context/more_positions.hpp"
#include "run/context/prompt_book.hpp"
#include "run/context/question_forms.hpp"
#include "run/context/run_context.hpp"
#include "run/context/run_texts.hpp"
#include "run/generation/generation.hpp"
#include "run/messages/message_bytes.hpp"
#include "text/tokenizer/stop_texts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

namespace rollcall::run {
namespace {

std::vector<std::int32_t> answer_of(const Rollout& rollout) {
  std::vector<std::int32_t> tokens;
  for (auto turn = rollout.turns.begin() + 1; turn != rollout.turns.end(); ++turn)
    tokens.insert(tokens.end(), turn->tokens.begin(), turn->tokens.end());
  return tokens;
}

/// The tokens that the policy reads after the prompt.
std::vector<std::int32_t> shown(const StepBatch& batch, const StepEnd& end,
                                const std::vector<std::int32_t>& opener) {
  auto tokens = answer_of(batch.groups[end.group].rollouts[end.rollout]);
  tokens.resize(end.tokens);
  tokens.insert(tokens.end(), opener.begin(), opener.end());
  return tokens;
}

/// The address of the random numbers of a step's end. No draw depends on which other ends are
/// probed.
std::uint64_t address_of(const Group& group, const StepEnd& end) {
  constexpr std::uint64_t kProbe = 0x70726F6265;  // keeps these random numbers apart from others
  const std::array<std::uint64_t, 5> place{group.id.step, group.id.prompt.value, group.id.draw,
                                           group.rollouts[end.rollout].sample, end.tokens};
  return checksum64(std::as_bytes(std::span(place)), kProbe);
}

float confidence_of(const std::vector<model::DecodedSequence>& draws) {
  double sum = 0.0;
  for (const auto& draw : draws)
    sum +=
        std::exp(-std::accumulate(draw.columns.entropy.begin(), draw.columns.entropy.end(), 0.0) /
                 double(draw.columns.entropy.size()));
  return float(sum / double(draws.size()));
}

}  // namespace

void check_probes(const RunConfig& config, const RunTexts& texts, std::int64_t positions,
                  const method::Objective& objective) {
  const auto columns = objective.columns();
  if (std::find(columns.begin(), columns.end(), method::column::probe_confidence) == columns.end())
    return;
  const auto& tokenizer = *texts.tokenizer;
  require<ConfigError>(
      !config.probes.delimiter.empty(), "probes.delimiter is empty",
      fmt::format("objective.recipe {} tells reasoning steps by it", config.objective.recipe),
      "set it to the text that ends a step, such as a line feed");
  const auto opener = std::int64_t(tokenizer.encode(config.probes.opener).size());
  require<ConfigError>(opener > 0, "probes.opener is empty",
                       "without it a probe would go on with the reasoning",
                       "set it to what final answers of the task begin with");
  const std::int64_t reference = longest_reference(config, texts, "behind each reasoning step");
  std::int64_t prompt = 0;
  for (const Prompt& p : texts.prompts.train)
    for (std::size_t form = 0; form < texts.forms.size(); ++form)
      prompt = std::max(prompt, std::int64_t(prompt_tokens(texts, p, form).size()));
  // Words after the question, and help.
  if (config.openings.as == "prompt" || texts.longest_with_help > 0)
    prompt = std::max(prompt, longest_asked(config, texts, positions));
  const std::int64_t needed = prompt + config.sampling.max_new_tokens + opener +
                              std::max(config.probes.max_tokens, reference);
  require<ConfigError>(
      needed <= positions,
      fmt::format("a probe behind the longest answer may take {} positions, and the model has {}",
                  needed, positions),
      "the model cannot read past its last position",
      fmt::format(
          "{}, lower sampling.max_new_tokens or probes.max_tokens, or shorten probes.opener",
          more_positions(config, needed)));
}

std::vector<StepEnd> step_ends(const text::Tokenizer& tokenizer, const std::string& delimiter,
                               const StepBatch& batch) {
  const std::vector<std::string> delimiters{delimiter};
  std::vector<StepEnd> ends;
  for (std::size_t g = 0; g < batch.groups.size(); ++g) {
    for (std::size_t i = 0; i < batch.groups[g].rollouts.size(); ++i) {
      const auto answer = answer_of(batch.groups[g].rollouts[i]);
      text::StopTexts search(tokenizer, delimiters);
      for (std::size_t t = 1; t <= answer.size(); ++t)
        if (search.found(std::span(answer).first(t))) ends.push_back({g, i, t});
    }
  }
  return ends;
}

std::vector<Recontext> reference_questions(const RunTexts& texts, const std::string& opener,
                                           const StepBatch& batch, std::span<const StepEnd> ends) {
  const auto opening = texts.tokenizer->encode(opener);
  const PromptBook book(texts, {});
  std::vector<Recontext> asked;
  for (const StepEnd& end : ends) {
    const Group& group = batch.groups[end.group];
    const Rollout& rollout = group.rollouts[end.rollout];
    Recontext& question = asked.emplace_back();
    question.target = reference_tokens(texts, group.id.prompt);
    expect_prompt(book, group, rollout);
    question.group = end.group, question.rollout = end.rollout;
    question.context = rollout.turns.front().tokens;
    const auto behind = shown(batch, end, opening);
    question.context.insert(question.context.end(), behind.begin(), behind.end());
  }
  return asked;
}

std::vector<float> probe_confidence(const RunContext& context, const StepBatch& batch,
                                    std::span<const StepEnd> ends, std::uint64_t step,
                                    comm::Communicator& ranks) {
  const auto& settings = context.config.probes;
  const auto opener = context.texts.tokenizer->encode(settings.opener);
  const auto first = std::size_t(ranks.rank()), stride = std::size_t(ranks.size());
  std::vector<model::DecodeRequest> requests;
  for (std::size_t i = first; i < ends.size(); i += stride) {
    const Group& group = batch.groups[ends[i].group];
    requests.push_back({.prompt = group.rollouts[ends[i].rollout].turns.front().tokens,
                        .seed = std::uint64_t(context.config.run.seed),
                        .step = step,
                        .prompt_address = address_of(group, ends[i]),
                        .count = std::uint32_t(settings.draws)});
    const auto behind = shown(batch, ends[i], opener);
    requests.back().prompt.insert(requests.back().prompt.end(), behind.begin(), behind.end());
  }
  const std::vector<std::string> no_texts;
  const auto stops = [&, rules = stop_rules(*context.texts.format, no_texts)]() -> model::StopRule {
    return [&, ended = rules()](std::span<const std::int32_t> sampled) {
      context.threads.pool->progressed();
      return ended(sampled);
    };
  };
  const SamplingParams sampling{.temperature = settings.temperature,
                                .max_new_tokens = settings.max_tokens,
                                .stop = {},
                                .vocab_size = context.config.sampling.vocab_size};
  std::vector<float> own;
  for (const auto& draws : model::decode(context.store->policy(), requests, sampling, stops,
                                         step_decode_options(context)))
    own.push_back(confidence_of(draws));
  context.threads.cut->agree(ranks);
  std::vector<float> all(ends.size());
  std::size_t rank = 0;
  for (const auto& bytes : ranks.gather_all(to_bytes(own))) {
    const auto part = from_bytes<std::vector<float>>(bytes);
    for (std::size_t i = 0; i < part.size(); ++i) all.at(rank + i * stride) = part[i];
    ++rank;
  }
  return all;
}

void add_probe_columns(StepBatch& batch, std::span<const StepEnd> ends,
                       std::span<const float> accuracy, std::span<const float> confidence) {
  namespace column = method::column;
  const auto fresh = [&](const char* name) -> auto& {
    return batch.columns[name] = std::vector<std::vector<float>>(batch.groups.size());
  };
  auto &step = fresh(column::reasoning_step), &right = fresh(column::probe_accuracy),
       &sure = fresh(column::probe_confidence);
  std::size_t next = 0;
  for (std::size_t g = 0; g < batch.groups.size(); ++g) {
    for (std::size_t i = 0; i < batch.groups[g].rollouts.size(); ++i) {
      const std::size_t first = next;
      std::size_t at = 0;  // index of the token in the answer
      const auto& turns = batch.groups[g].rollouts[i].turns;
      for (auto turn = turns.begin() + 1; turn != turns.end(); ++turn) {
        for (std::size_t t = 0; t < turn->tokens.size(); ++t, ++at) {
          const auto inside = [&] {
            return next < ends.size() && ends[next].group == g && ends[next].rollout == i;
          };
          while (inside() && ends[next].tokens <= at) ++next;
          if (turn->role != Role::policy) continue;
          step[g].push_back(inside() ? float(next - first) : -1.0F);
          right[g].push_back(inside() ? accuracy[next] : 0.0F),
              sure[g].push_back(inside() ? confidence[next] : 0.0F);
        }
      }
      while (next < ends.size() && ends[next].group == g && ends[next].rollout == i) ++next;
    }
  }
}

}  // namespace rollcall::run
