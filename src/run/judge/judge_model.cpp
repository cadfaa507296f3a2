// Questions become tokens, tokens become verdicts, and verdicts become numbers.
#include "run/judge/judge_model.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/hash.hpp"
#include "base/text/json.hpp"
#include "model/tensors/model_folder.hpp"
#include "run/context/models_of.hpp"
#include "run/context/numerics.hpp"
#include "run/context/run_texts.hpp"
#include "run/folder/run_folder.hpp"
#include "run/generation/generation.hpp"
#include "text/answer/accepted_answers.hpp"
#include "text/answer/answer_text.hpp"
#include "text/answer/fill.hpp"
#include "text/chat/conversation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rollcall::run {
namespace {

constexpr std::size_t kAtOnce = 32;            // answers between two signs of progress
constexpr std::uint64_t kSecondSeed = 0x9E37;  // seed of the hash in JudgeKey::second; `first` has
                                               // a different seed
constexpr const char* kQuestion =
    "Question:\n{prompt}\n\nAnswer:\n{response}\n\nReference answer:\n{answer}\n\nDoes the answer agree with the reference answer? Reply with yes or no.";

bool writes(const JudgeSection& section) { return section.kind == "judge"; }
bool is_conversation(const JudgeSection& section) {
  return !writes(section) && section.prompt.empty();
}
std::string question_of(const JudgeSection& section) {
  return writes(section) && section.prompt.empty() ? kQuestion : section.prompt;
}

std::string filled(const std::string& asked, const Question& question) {
  const text::Place places[] = {{"{prompt}", question.prompt},
                                {"{response}", question.response},
                                {"{other}", question.other},
                                {"{answer}", question.answer}};
  return text::filled(asked, places);
}

/// The texts that follow an answer in the judge's prompt, such as "Reference answer:". An answer
/// that contains one of them would seem to end there. Short marks are left out, since any answer
/// may hold a full stop or a line break.
std::vector<std::string> end_marks(const std::string& asked) {
  constexpr std::size_t kLeast = 4;  // bytes
  std::vector<std::string> marks;
  for (const std::string_view place : {"{response}", "{other}"}) {
    const std::size_t at = asked.find(place);
    if (at == std::string::npos) continue;
    const std::string_view behind = std::string_view(asked).substr(at + place.size());
    const std::string_view literal = text::trim(behind.substr(0, behind.find('{')));
    const std::string_view line = text::trim(literal.substr(0, literal.find('\n')));
    if (line.size() >= kLeast) marks.emplace_back(line);
  }
  return marks;
}

text::PromptFormat open_format(const JudgeSection& section) {
  TextSection settings;
  if (writes(section))
    settings.system = section.system, settings.assistant_prefix = section.assistant_prefix;
  if (!writes(section) && !section.prompt.empty()) settings.chat_template = "none";
  text::PromptFormat format(settings, text_folder(section.model));
  require<ConfigError>(
      !is_conversation(section) || format.is_chat(),
      fmt::format("judge.prompt is empty, and {} has no chat template", section.model),
      "how prompt and answer become one text for the reward model is not known",
      "set judge.prompt, for example \"{prompt} {response}\"");
  const std::int64_t tokens = format.tokenizer()->vocab_size(),
                     known = judge_config(section).vocab_size;
  require<ConfigError>(known == tokens || (known > tokens && format.section().tokenizer == "model"),
                       fmt::format("the model in {} has {} tokens, the tokenizer \"{}\" {}",
                                   section.model, known, format.tokenizer()->name(), tokens),
                       "ids of another tokenizer mean nothing to a model",
                       "put its own tokenizer.json into the folder");
  return format;
}

JudgeIdentity identity_of(const JudgeSection& section, const std::string& numerics,
                          const text::PromptFormat& format) {
  const auto folder = checkpoint_folder(section.model);
  nlohmann::ordered_json all{
      {"kind", section.kind},
      {"weights_sha256", model::folder_sha256(folder)},
      {"numerics", numerics},
      {"tokenizer", format.tokenizer()->fingerprint()},
      {"template_sha256", Sha256().add(format.fingerprint()).add(question_of(section)).hex()}};
  if (writes(section)) {
    const SamplingParams& s = section.sampling;
    all["extract"] = section.extract, all["scale"] = section.scale, all["votes"] = section.votes;
    all["sampling"] = {{"temperature", s.temperature},
                       {"top_k", s.top_k},
                       {"top_p", s.top_p},
                       {"max_new_tokens", s.max_new_tokens},
                       {"stop", s.stop}};
  }
  const std::string digest = Sha256().add(all.dump()).hex();
  all["model"] = section.model;
  return {all.dump(), digest};
}

/// The reason why a question with this number of tokens, and `room` tokens for the verdict, cannot
/// be asked; empty if it can.
std::string obstacle(std::size_t tokens, std::int64_t room, std::int64_t positions) {
  if (tokens == 0) return "the question is empty";
  if (std::int64_t(tokens) + room <= positions) return "";
  return fmt::format("the question has {} tokens, too many for the judge's {} positions", tokens,
                     positions);
}

}  // namespace

JudgeIdentity identify_judge(const JudgeSection& section, const std::string& numerics) {
  // throws if there is no such rule
  reward::VerdictReader(section.extract, section.scale.at(0), section.scale.at(1));
  return identity_of(section, numerics, open_format(section));
}

JudgeModel::JudgeModel(const JudgeSection& section, const std::string& numerics, std::uint64_t seed,
                       const model::Threads& threads)
    : section_(section), seed_(seed), format_(open_format(section)) {
  identity_ = identity_of(section, numerics, format_);
  const auto folder = checkpoint_folder(section.model);
  const auto& kernels = find_kernels(numerics);
  section_.sampling.vocab_size = format_.tokenizer()->vocab_size();
  section_.prompt = question_of(section);
  end_marks_ = end_marks(section_.prompt);
  opens_thought_ =
      writes(section) && text::trim(format_.prompt_text(section_.prompt)).ends_with("<think>");
  if (!writes(section)) {
    rewards_.emplace(model::read_reward_model(folder, &kernels, threads));
    return;
  }
  judge_.emplace(model::read_policy(folder, &kernels, threads));
  reader_.emplace(section.extract, section.scale.at(0), section.scale.at(1));
}

std::vector<std::int32_t> JudgeModel::tokens(const Question& question) const {
  const auto& tokenizer = *format_.tokenizer();
  const auto plain = [&](const std::string& said) {
    return text::without_special(tokenizer, said);
  };
  // A chat template reads only UTF-8, and an answer may be any bytes.
  const auto of_policy = [&](const std::string& said) {
    return text::valid_utf8(text::without_special(tokenizer, said, end_marks_));
  };
  const Question clean{plain(question.prompt), of_policy(question.response),
                       plain(text::shown_reference(question.answer)), of_policy(question.other)};
  if (!is_conversation(section_)) return format_.prompt_tokens(filled(section_.prompt, clean));
  return format_.conversation_tokens(
      {{text::message("user", clean.prompt), text::message("assistant", clean.response)}});
}

JudgeKey JudgeModel::key(std::span<const std::int32_t> tokens) const {
  const std::uint64_t own = checksum64(identity_.digest);
  return {checksum64(std::as_bytes(tokens), own),
          checksum64(std::as_bytes(tokens), own ^ kSecondSeed)};
}

std::vector<Judgement> JudgeModel::judge(std::span<const std::vector<std::int32_t>> questions,
                                         const Means& means) const {
  return writes(section_) ? written(questions, means) : scored(questions, means);
}

/// The text of these tokens, after the thought that the prompt began.
std::string JudgeModel::said_by(std::span<const std::int32_t> tokens) const {
  const std::string said = format_.answer_text(tokens);
  return opens_thought_ ? "<think>" + said : said;
}

/// Decoding stops at a verdict if the rule takes the first one.
model::StopRules JudgeModel::stop_rules() const {
  return [this, ends = run::stop_rules(format_, section_.sampling.stop)]() -> model::StopRule {
    return [this, end = ends()](std::span<const std::int32_t> said) {
      return end(said) || (reader_->takes_first() && reader_->read(said_by(said), false));
    };
  };
}

Judgement JudgeModel::verdict_of(const std::vector<model::DecodedSequence>& votes) const {
  double sum = 0.0;
  int read = 0;
  for (const auto& vote : votes) {
    const auto value = reader_->read(said_by(vote.tokens), vote.stopped);
    if (value) sum += *value, ++read;
  }
  const std::string words = text::valid_utf8(excerpt(format_.answer_text(votes.front().tokens)));
  if (read > 0) return {.value = sum / read, .reason = words};
  return {.undecided = true, .reason = fmt::format("the judge gave no verdict: \"{}\"", words)};
}

std::vector<Judgement> JudgeModel::written(std::span<const std::vector<std::int32_t>> questions,
                                           const Means& means) const {
  std::vector<Judgement> all(questions.size());
  std::vector<model::DecodeRequest> requests;
  std::vector<std::size_t> asked;
  const std::int64_t positions = judge_->config().max_position_embeddings;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const auto& tokens = questions[i];
    if (std::string why = obstacle(tokens.size(), section_.sampling.max_new_tokens, positions);
        !why.empty()) {
      all[i] = {.undecided = true, .reason = std::move(why)};
      continue;
    }
    const JudgeKey where = key(tokens);
    asked.push_back(i);
    requests.push_back({.prompt = tokens,
                        .seed = seed_,
                        .step = where.second,
                        .prompt_address = where.first,
                        .count = std::uint32_t(section_.votes)});
  }
  const auto stops = [&, rules = stop_rules()]() -> model::StopRule {
    return [&, ends = rules()](std::span<const std::int32_t> said) {
      means.progressed();
      return ends(said);
    };
  };
  const auto votes = model::decode(*judge_, requests, section_.sampling, stops, means.decode);
  for (std::size_t i = 0; i < asked.size(); ++i) all[asked[i]] = verdict_of(votes[i]);
  return all;
}

std::vector<Judgement> JudgeModel::scored(std::span<const std::vector<std::int32_t>> questions,
                                          const Means& means) const {
  std::vector<Judgement> all(questions.size());
  std::vector<std::vector<std::int32_t>> asked;
  std::vector<std::size_t> places;
  const std::int64_t positions = rewards_->policy.config().max_position_embeddings;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    if (std::string why = obstacle(questions[i].size(), 1, positions); !why.empty())
      all[i] = {.undecided = true, .reason = std::move(why)};
    else places.push_back(i), asked.push_back(questions[i]);
  }
  model::Team team(means.decode.threads);
  team.lead(means.decode.side_by_side, [&] {
    model::MicroBatchRunner runner(team);
    for (std::size_t first = 0; first < asked.size(); first += kAtOnce) {
      const auto part = std::span(asked).subspan(first, std::min(kAtOnce, asked.size() - first));
      const auto values = model::scores(*rewards_, runner, part, kMicroBatchTokens);
      for (std::size_t i = 0; i < part.size(); ++i) all[places[first + i]] = {.value = values[i]};
      means.progressed();
    }
  });
  for (Judgement& one : all)
    if (!std::isfinite(one.value))
      one = {.undecided = true, .reason = "the reward model's score is not finite"};
  return all;
}

}  // namespace rollcall::run
