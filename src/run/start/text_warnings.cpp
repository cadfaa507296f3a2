// Looks at the tokens of references and questions.
#include "run/start/text_warnings.hpp"

#include "base/errors/visible.hpp"
#include "run/context/job_texts.hpp"
#include "task/answer_source.hpp"
#include "text/answer/accepted_answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace rollcall::run {
namespace {

constexpr Split kSplits[] = {Split::train, Split::validation, Split::heldout};

/// Verifiers with references that are answers, which a right response repeats exactly or nearly so.
/// References of other verifiers are tests, rules or other things that no response repeats.
constexpr std::array<std::string_view, 6> kRepeated{
    "exact_match", "integer_answer", "marked_answer", "word_order", "math", "quantity"};

std::vector<const Prompt*> all_prompts(const RunTexts& texts) {
  std::vector<const Prompt*> all;
  for (const Split split : kSplits)
    for (const Prompt& prompt : texts.prompts.of(split)) all.push_back(&prompt);
  return all;
}

/// The tokens of the shortest answer that a reference accepts.
std::int64_t least_tokens(const text::Tokenizer& tokenizer, const std::string& reference) {
  std::vector<std::string> answers = text::accepted_answers(reference);
  if (answers.empty()) answers.emplace_back(text::only_answer(reference));
  std::int64_t least = INT64_MAX;
  for (const std::string& answer : answers)
    least = std::min(least, std::int64_t(tokenizer.encode(answer).size()));
  return least;
}

std::string long_references(const RunConfig& config, const RunTexts& texts, WorkerPool& pool) {
  const std::int64_t most = config.sampling.max_new_tokens;
  const std::vector<const Prompt*> all = all_prompts(texts);
  std::vector<std::int64_t> tokens(all.size());
  pool.run(std::int64_t(all.size()), [&](std::int64_t i, int) {
    const std::string& reference = all[std::size_t(i)]->answer;
    // A token has at least one byte, so short texts need not be cut into tokens.
    if (std::int64_t(reference.size()) > most)
      tokens[std::size_t(i)] = least_tokens(*texts.tokenizer, reference);
  });
  const auto longer =
      std::count_if(tokens.begin(), tokens.end(), [&](std::int64_t n) { return n > most; });
  if (longer == 0) return {};
  const auto longest = std::size_t(std::max_element(tokens.begin(), tokens.end()) - tokens.begin());
  return fmt::format(
      "{} of {} {} longer than sampling.max_new_tokens, which is {}: that of {} has {} tokens, and an answer of its length is cut off and wrong; raise sampling.max_new_tokens",
      longer, all.size(), longer == 1 ? "references is" : "references are", most,
      prompt_name(config.task, *all[longest]), tokens[longest]);
}

/// The special token that a text spells first; empty if it spells none.
std::string spelt_special(const text::Tokenizer& tokenizer, const std::string& text) {
  using Special = text::Tokenizer::Special;
  if (text.find_first_of("<[") == std::string::npos) return {};  // how special tokens begin
  for (const std::int32_t token : tokenizer.encode(text)) {
    const std::array<std::int32_t, 1> alone{token};
    std::string spelt = tokenizer.decode(alone, Special::keep);
    if (spelt.find_first_of("<[") != std::string::npos &&
        tokenizer.decode(alone, Special::skip).empty())
      return spelt;
  }
  return {};
}

std::string spelt_specials(const RunConfig& config, const RunTexts& texts, WorkerPool& pool) {
  if (!task::reads_rows(config.task)) return {};
  const std::vector<const Prompt*> all = all_prompts(texts);
  std::vector<std::string> found(all.size());
  pool.run(std::int64_t(all.size()), [&](std::int64_t i, int) {
    found[std::size_t(i)] = spelt_special(*texts.tokenizer, all[std::size_t(i)]->text);
  });
  const auto is_found = [](const std::string& special) { return !special.empty(); };
  const auto first = std::find_if(found.begin(), found.end(), is_found);
  if (first == found.end()) return {};
  const auto count = std::count_if(found.begin(), found.end(), is_found);
  return fmt::format(
      "{} {} a special token in plain text, {} for example {}: the policy reads it as that token and not as text, so a question may end early or speak as somebody else; take it out of the row if that is not meant",
      count, count == 1 ? "question spells" : "questions spell",
      prompt_name(config.task, *all[std::size_t(first - found.begin())]), visible(*first));
}

}  // namespace

std::vector<std::string> texts_told(const RunConfig& config, const RunTexts& texts,
                                    const reward::Grader& grader, WorkerPool& pool) {
  const bool repeated =
      std::find(kRepeated.begin(), kRepeated.end(), grader.name()) != kRepeated.end();
  std::vector<std::string> told;
  if (repeated && !task::has_environment(config))
    told.push_back(long_references(config, texts, pool));
  told.push_back(spelt_specials(config, texts, pool));
  std::erase(told, std::string());
  return told;
}

}  // namespace rollcall::run
