// Fills the texts of [second_pass], and cuts an answer at the beginning of its wrong line.
#include "run/context/derived/second_pass_texts.hpp"

#include "base/errors/error.hpp"
#include "core/second_pass_bounds.hpp"
#include "run/context/derived/exhibits.hpp"
#include "text/answer/accepted_answers.hpp"
#include "text/answer/fill.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <span>
#include <string_view>
#include <utility>

namespace rollcall::run {
namespace {

using Said = std::vector<std::pair<std::string_view, std::string>>;

std::string filled_with(const std::string& asked, const RunTexts& texts, Said said) {
  std::vector<text::Place> places;
  for (auto& [name, words] : said) {
    words = text::without_special(*texts.tokenizer, std::move(words));
    places.push_back({name, words});
  }
  return text::filled(asked, places);
}

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  const auto first = line.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(kBlank) - first + 1);
}

/// A line without white space around it, and the place in the text where the line begins.
struct Line {
  std::string_view words;
  std::size_t begin = 0;
};

/// The lines of a text that are not empty.
std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (const auto words = trimmed(text.substr(begin, end - begin)); !words.empty())
      lines.push_back({words, begin});
    begin = end + 1;
  }
  return lines;
}

/// The number of tokens that cover the text's first `bytes` bytes; nothing if a token spans the
/// border.
std::optional<std::size_t> tokens_before(const text::PromptFormat& format, const Exhibit& answer,
                                         std::size_t bytes) {
  const auto text_of = [&](std::size_t count) {
    return format.answer_text(std::span(answer.tokens).first(count));
  };
  const auto counts = std::views::iota(std::size_t{0}, answer.tokens.size());
  const auto found = std::ranges::partition_point(
      counts, [&](std::size_t count) { return text_of(count).size() < bytes; });
  if (found == counts.end()) return std::nullopt;
  const bool fits = text_of(*found) == std::string_view(answer.text).substr(0, bytes);
  return fits ? std::optional(*found) : std::nullopt;
}

}  // namespace

std::string refinement_text(const SecondPassSection& settings, const RunTexts& texts,
                            const Prompt& question, const std::string& response,
                            const std::string& feedback) {
  return filled_with(settings.refinement, texts,
                     {{"{prompt}", question.text},
                      {"{response}", response},
                      {"{feedback}", feedback},
                      {"{reference}", text::first_accepted(question.answer)}});
}

std::string error_text(const SecondPassSection& settings, const RunTexts& texts,
                       const Prompt& question, const std::string& response) {
  return filled_with(settings.error, texts,
                     {{"{prompt}", question.text},
                      {"{response}", response},
                      {"{reference}", text::first_accepted(question.answer)}});
}

std::string feedback_on(const SecondPassSection& settings, const Prompt& question,
                        const Exhibit& answer) {
  if (settings.feedback == "reference")
    return fmt::format("The right answer is {}.", text::first_accepted(question.answer));
  if (settings.feedback == "reason" && !answer.reason.empty()) return answer.reason;
  return answer.correct ? "The answer is right." : "The answer is wrong.";
}

std::optional<std::vector<std::int32_t>> mended_beginning(const text::PromptFormat& format,
                                                          const Exhibit& answer,
                                                          const std::string& error) {
  const auto said = lines_of(answer.text), named = lines_of(error);
  for (std::size_t i = 0; i + 1 < named.size(); ++i) {
    const auto is_quoted = [&](const Line& line) { return line.words == named[i].words; };
    if (std::count_if(said.begin(), said.end(), is_quoted) != 1) continue;
    const std::string_view mended = named[i + 1].words;
    const auto wrong = std::find_if(said.begin(), said.end(), is_quoted);
    const auto count = tokens_before(format, answer, wrong->begin);
    if (mended == wrong->words || !count) return std::nullopt;
    std::vector<std::int32_t> beginning(answer.tokens.begin(),
                                        answer.tokens.begin() + std::ptrdiff_t(*count));
    const auto more = format.tokenizer()->encode(
        text::without_special(*format.tokenizer(), std::string(mended)) + "\n");
    beginning.insert(beginning.end(), more.begin(), more.end());
    return beginning;
  }
  return std::nullopt;
}

void check_second_pass_room(const RunConfig& config, const RunTexts& texts,
                            std::int64_t positions) {
  const SecondPassSection& s = config.second_pass;
  const auto& prompts = texts.prompts.train;
  if (prompts.empty()) return;  // an evaluation of a file draws none
  const Prompt& shortest = *std::min_element(
      prompts.begin(), prompts.end(),
      [](const Prompt& a, const Prompt& b) { return a.text.size() < b.text.size(); });
  const std::int64_t answer = config.sampling.max_new_tokens;
  const auto need_room = [&](const char* key, const std::string& asked) {
    const auto tokens = std::int64_t(texts.format->prompt_tokens(asked).size());
    require<ConfigError>(
        tokens <= positions - answer,
        fmt::format("{} has {} tokens with the shortest question, and the model has room for {} "
                    "beside sampling.max_new_tokens {}",
                    key, tokens, positions - answer, answer),
        "nothing could be asked again",
        fmt::format("shorten {}, lower sampling.max_new_tokens, or use a model with more positions",
                    key));
  };
  if (names_errors(s)) need_room("second_pass.error", error_text(s, texts, shortest, {}));
  if (s.kind == "refinement" || s.buffer > 0.0)
    need_room("second_pass.refinement", refinement_text(s, texts, shortest, {}, {}));
}

std::int64_t longest_second_pass(const RunConfig& config, const RunTexts& texts,
                                 std::int64_t positions) {
  if (!shows_exhibits(config)) return 0;
  const SecondPassSection& s = config.second_pass;
  std::size_t question = 0, reference = 0, words = 0;
  for (const auto& prompt : texts.prompt_tokens[std::size_t(Split::train)])
    question = std::max(question, prompt.size());
  for (const std::string* asked : {&s.refinement, &s.error}) {
    words = std::max(words, texts.format->prompt_tokens(*asked).size());
    if (asked->find("{reference}") == std::string::npos && s.feedback != "reference") continue;
    // Text never has more tokens than bytes.
    for (const Prompt& prompt : texts.prompts.train)
      reference = std::max(reference, prompt.answer.size());
  }
  const std::int64_t answer = config.sampling.max_new_tokens;
  const auto shown = std::int64_t(question + words + 2 * reference) + 2 * answer;
  return std::min(positions - answer, shown);
}

}  // namespace rollcall::run
