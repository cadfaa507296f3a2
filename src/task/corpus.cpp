// Sentences of a text, to be predicted from those before, or from those before and after (RLPT,
// arXiv:2509.19249).
#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/numbers/hash.hpp"
#include "base/text/json.hpp"
#include "task/generate.hpp"
#include "task/sources.hpp"
#include "text/answer/answer_text.hpp"
#include "text/tokenizer/text_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <sstream>
#include <unordered_set>

namespace rollcall::task {
namespace {

constexpr std::size_t kFollowing = 4;  // sentences that a continuation may extend over; the paper
                                       // says "several"

bool ends_sentence(std::string_view word) {
  while (!word.empty() && std::string_view("\"')]}").find(word.back()) != std::string_view::npos)
    word.remove_suffix(1);
  return !word.empty() && std::string_view(".!?").find(word.back()) != std::string_view::npos;
}

using Sentences = std::vector<std::string>;
std::string joined(std::span<const std::string> sentences) {
  return fmt::format("{}", fmt::join(sentences, " "));
}

/// Cuts a document into sentences. White space becomes a single space; an unfinished sentence at
/// the end counts as one.
Sentences sentences_of(const std::string& document) {
  Sentences all;
  bool open = false;
  std::istringstream words(document);
  for (std::string word; words >> word;) {
    if (open) all.back() += " " + word;
    else all.push_back(word);
    open = !ends_sentence(word);
  }
  return all;
}

std::vector<Sentences> documents_of(const std::string& file) {
  const std::string content = read_file(file);
  require<InputError>(text::valid_utf8(content) == content, fmt::format("{} is not UTF-8", file),
                      "its sentences become prompts and references",
                      "convert it, for example with iconv");
  std::vector<Sentences> all;
  std::istringstream lines(content);
  std::string document;
  const auto close = [&] {
    if (auto sentences = sentences_of(document); sentences.size() > 1)
      all.push_back(std::move(sentences));
    document.clear();
  };
  for (std::string line; std::getline(lines, line);) {
    if (text::trim(line).empty()) close();
    else document += line + "\n";
  }
  close();
  require<InputError>(!all.empty(), fmt::format("{} holds no document of two sentences", file),
                      "there is nothing to continue",
                      "name a file of texts, with an empty line between documents");
  return all;
}

/// The prompt that asks for the sentence at index `at` and shows the `shown` sentences before it.
Prompt prompt_of(const Sentences& document, std::size_t at, std::size_t shown,
                 const TaskSection& section, const RandomStream& stream) {
  Draws draws(stream);
  const bool masked = draws.chance(2) && at + 1 < document.size(),
             plain = draw_wording(section.wording, draws) == "plain";
  const auto all = std::span(document);
  const std::string before = joined(all.subspan(at - shown, shown));
  const auto following = all.subspan(at, masked ? 1 : std::min(kFollowing, document.size() - at));
  Prompt prompt;
  if (masked && plain) prompt.text = fmt::format("{} _ {}>", before, document[at + 1]);
  else if (masked)
    prompt.text = fmt::format("A sentence is missing at [...]. Write it.\n{} [...] {}\n", before,
                              document[at + 1]);
  else if (plain) prompt.text = before + ">";
  else prompt.text = fmt::format("Write how this text goes on, a sentence or more.\n{}\n", before);
  prompt.answer = nlohmann::json{
      {"next", Sentences(following.begin(), following.end())},
      {"masked",
       masked}}.dump();
  prompt.solution = document[at];
  prompt.level = std::int32_t(shown);
  prompt.domain = masked ? "middle" : "next";
  return prompt;
}

}  // namespace

PromptSet make_corpus(const TaskSection& section, std::uint64_t seed) {
  check_wordings("corpus", section.wording, {"plain", "question"});
  PromptSet set;
  // Checksums of each sentence with the sentences shown before it. A repetition is left out, so
  // that no two splits ask for the same sentence.
  std::unordered_set<std::uint64_t> seen;
  const auto documents = documents_of(section.file);
  for (std::size_t d = 0; d < documents.size(); ++d) {
    const Split split = split_of(joined(documents[d]));
    for (std::size_t at = std::size_t(section.min_level);
         at < documents[d].size() && wants(set, split, section); ++at) {
      const std::size_t shown = std::min(at, std::size_t(section.max_level));
      const std::string place = joined(std::span(documents[d]).subspan(at - shown, shown + 1));
      if (!seen.insert(checksum64(std::as_bytes(std::span(place)))).second) continue;
      const RandomStream stream(seed, RandomPurpose::task, std::uint64_t(split), d, at);
      keep(set, prompt_of(documents[d], at, shown, section, stream), split, section);
    }
  }
  require<InputError>(!set.train.empty(), fmt::format("{} leaves no training prompt", section.file),
                      "documents of validation and evaluation are kept apart",
                      "use a larger file, or lower task.min_level");
  tell_shortages("corpus", set, section);
  set.hash = hash_of(set);
  return set;
}

}  // namespace rollcall::task
