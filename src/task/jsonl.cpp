// Questions and answers from files, for example GSM8K.
#include "base/errors/error.hpp"
#include "base/errors/faults.hpp"
#include "base/errors/log.hpp"
#include "base/errors/visible.hpp"
#include "base/numbers/hash.hpp"
#include "task/answer_source.hpp"
#include "task/generate.hpp"
#include "task/json_lines.hpp"
#include "task/solutions.hpp"
#include "task/sources.hpp"
#include "text/answer/accepted_answers.hpp"
#include "text/answer/answer_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace rollcall::task {
namespace {

constexpr std::size_t kValidationPrompts = 128;  // the default at most; a smaller file gives a
                                                 // tenth of its rows

/// A tenth of the rows, rounded, but at least one of two or more.
std::size_t tenth_of(std::size_t rows) {
  return std::max<std::size_t>((rows + 5) / 10, rows < 2 ? 0 : 1);
}

double rate_at(const nlohmann::json& object, const std::string& key, const Line& line) {
  require_key(object, key, line,
              "policies start from each question's expected success, which task.prior_key names",
              "name a key that all rows have, or leave task.prior_key out");
  const auto at = object.find(key);
  const bool rate = at->is_number() && *at >= 0.0 && *at <= 1.0;
  line.require_that(rate, fmt::format("\"{}\" is not a success rate from 0 to 1", key),
                    "policies start from it", "correct the line or empty task.prior_key");
  return at->get<double>();
}

std::int32_t reasoning_lines(std::string_view reasoning) {
  std::int32_t lines = 0;
  while (!reasoning.empty()) {
    const std::size_t end = std::min(reasoning.find('\n'), reasoning.size());
    lines += text::trim(reasoning.substr(0, end)).empty() ? 0 : 1;
    reasoning.remove_prefix(std::min(end + 1, reasoning.size()));
  }
  return lines;
}

std::string prompt_text(const nlohmann::json& object, const TaskSection& section,
                        const Line& line) {
  const std::string question = text_at(object, section.question_key, "task.question_key", line);
  line.require_that(
      !text::trim(question).empty(), fmt::format("\"{}\" is empty", section.question_key),
      "an empty question teaches nothing", "remove the line, or set task.question_key");
  return question + "\n";
}

void refuse_next_solution(const std::string& solution, const TaskSection& section,
                          const Line& line) {
  line.require_that(solution.find(kNextSolution) == std::string::npos,
                    fmt::format("a text of \"{}\" holds the character U+001E", section.answer_key),
                    "it would be read as two solutions", "remove it");
}

/// Reads a list of accepted answers, with or without the marker, all of which are also worked
/// solutions from which experts may draw.
void read_accepted(const nlohmann::json& list, const TaskSection& section, const Line& line,
                   Prompt& prompt) {
  std::vector<std::string> answers;
  for (const auto& one : list) {
    // From 2^53 on a double no longer holds every integer.
    const bool exact = one.is_number_integer() ||
                       (one.is_number() && std::abs(one.get<double>()) < 9007199254740992.0);
    line.require_that(one.is_string() || exact,
                      fmt::format("\"{}\" lists {}", section.answer_key, brief(one.dump())),
                      "each entry of a list is an answer that is accepted",
                      "write each as text in quotes");
    const std::string text = one.is_string() ? one.get<std::string>() : one.dump();
    const auto marked = section.answer_marker.empty()
                            ? std::nullopt
                            : text::find_marked_answer(text, section.answer_marker);
    answers.push_back(text::normal_answer(marked ? marked->answer : std::string_view(text)));
    line.require_that(!answers.back().empty(),
                      fmt::format("\"{}\" lists an empty answer", section.answer_key),
                      "no response could equal it", "correct the line");
    refuse_next_solution(text, section, line);
    if (answers.size() == 1)
      prompt.level = reasoning_lines(marked ? marked->reasoning : std::string_view());
    prompt.solution += (answers.size() == 1 ? "" : std::string(1, kNextSolution)) + text;
  }
  line.require_that(!answers.empty(), fmt::format("\"{}\" is an empty list", section.answer_key),
                    "no response could be right", "name an answer");
  std::vector<std::string> distinct;
  for (auto& one : answers)
    if (std::find(distinct.begin(), distinct.end(), one) == distinct.end())
      distinct.push_back(std::move(one));
  prompt.answer = text::accepting(distinct);
}

void read_answer(const nlohmann::json& object, const TaskSection& section, const Line& line,
                 Prompt& prompt) {
  if (const auto list = object.find(section.answer_key); list != object.end() && list->is_array())
    return read_accepted(*list, section, line, prompt);
  prompt.solution = text_at(object, section.answer_key, "task.answer_key", line);
  line.require_that(
      !text::trim(prompt.solution).empty(), fmt::format("\"{}\" is empty", section.answer_key),
      "no response could equal it",
      "write the answer, remove the line, or set task.answer_key to the key that holds it");
  const auto marked = text::find_marked_answer(prompt.solution, section.answer_marker);
  refuse_next_solution(prompt.solution, section, line);
  line.require_that(
      marked && !marked->answer.empty(),
      fmt::format("nothing follows the marker \"{}\" in the answer", section.answer_marker),
      "the verifier compares what follows it",
      "set task.answer_marker (empty: the whole answer counts) or correct the line");
  prompt.answer = text::accepting(text::normal_answer(marked->answer));
  prompt.level = reasoning_lines(marked->reasoning);
}

/// A JSON object with the id of a prompt's row, or its line if it has no id, and the row's fields
/// other than question and answer.
std::string extra_of(const nlohmann::json& object, const TaskSection& section, const Line& line) {
  nlohmann::json extra = object;
  extra.erase(section.question_key), extra.erase(section.answer_key);
  if (!extra.contains("id")) extra["line"] = line.number;
  return extra.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Throws one InputError for all that is wrong with the row.
Prompt read_prompt(const nlohmann::json& object, const TaskSection& section, const Line& line) {
  Prompt prompt;
  std::vector<Fault> wrong;
  const auto note = [&](const auto& read) {
    try {
      read();
    } catch (const InputError& error) {
      wrong.push_back({.message = error.what()});
    }
  };
  note([&] { prompt.text = prompt_text(object, section, line); });
  note([&] { read_answer(object, section, line, prompt); });
  if (!section.domain_key.empty())
    note([&] {
      require_key(object, section.domain_key, line,
                  "policies choose among the domains of questions, which task.domain_key names",
                  "name a key that all rows have, or leave task.domain_key out");
      prompt.domain = text_at(object, section.domain_key, "task.domain_key", line);
    });
  if (!section.prior_key.empty())
    note([&] { prompt.prior = float(rate_at(object, section.prior_key, line)); });
  require_no_faults<InputError>(std::move(wrong));
  return prompt;
}

/// Rows of a file that are alike, each kind of likeness with the lines of the first two.
class AlikeRows {
 public:
  /// Whether the prompt, on this line, is asked for the first time. A question that is asked again
  /// is dropped, which loses nothing if its answer is the same.
  bool is_new(const Prompt& prompt, std::size_t line) {
    const auto [at, first] = asked_.try_emplace(prompt.text, First{line, prompt.answer});
    if (!first) {
      (at->second.answer == prompt.answer ? same_ : other_).add(at->second.line, line);
      return false;
    }
    const auto [near, alone] = bare_.try_emplace(checksum64(text::trim(prompt.text)),
                                                 std::pair(line, checksum64(prompt.answer)));
    if (!alone && near->second.second != checksum64(prompt.answer))
      blanks_.add(near->second.first, line);
    return true;
  }
  /// Notes the id of a row that is kept.
  void note_id(const nlohmann::json& object, std::size_t line) {
    const auto id = object.find("id");
    if (id == object.end()) return;
    const auto [at, first] = ids_.try_emplace(
        checksum64(id->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)), line);
    if (!first) shared_ids_.add(at->second, line);
  }
  void tell(const std::string& file) const {
    if (same_.rows > 0)
      log_info("{}: {} asked again with the same answer and left out ({})", file,
               same_.counted("question is", "questions are"), same_.example);
    if (other_.rows > 0)
      log_warning("{}: {} asked again with another answer ({}); the first answer counts", file,
                  other_.counted("question is", "questions are"), other_.example);
    if (blanks_.rows > 0)
      log_warning(
          "{}: {} from an earlier one in blanks at the ends alone, and has another answer ({}); both are asked",
          file, blanks_.counted("question differs", "questions differ"), blanks_.example);
    if (shared_ids_.rows > 0)
      log_warning(
          "{}: {} the id of an earlier one ({}); rollcall archive show --row ID shows the rollouts of both",
          file, shared_ids_.counted("row has", "rows have"), shared_ids_.example);
  }

 private:
  struct First {
    std::size_t line;
    std::string answer;
  };
  struct Likeness {
    std::size_t rows = 0;
    std::string example{};
    void add(std::size_t first, std::size_t line) {
      if (rows++ == 0) example = fmt::format("lines {} and {}", first, line);
      else if (rows == 2) example += " for example";
    }
    std::string counted(const char* one, const char* several) const {
      return fmt::format("{} {}", rows, rows == 1 ? one : several);
    }
  };
  std::unordered_map<std::string, First> asked_;
  std::unordered_map<std::uint64_t, std::pair<std::size_t, std::uint64_t>> bare_;
  std::unordered_map<std::uint64_t, std::size_t> ids_;  ///< lines by the checksum of the id
  Likeness same_, other_, blanks_, shared_ids_;
};

using Extras = std::unordered_map<std::string, std::string>;

std::vector<Prompt> read_prompts(const std::string& file, const TaskSection& section,
                                 Extras& extras) {
  std::vector<Prompt> prompts;
  AlikeRows alike;
  each_json_line(file, [&](const nlohmann::json& object, const Line& line) {
    Prompt prompt = read_prompt(object, section, line);
    if (!alike.is_new(prompt, line.number)) return;
    alike.note_id(object, line.number);
    extras[prompt.text] = extra_of(object, section, line);
    prompts.push_back(std::move(prompt));
  });
  require(!prompts.empty(), fmt::format("{} holds no question", file),
          "there is nothing to learn or evaluate", "name a file with one JSON object a line");
  alike.tell(file);
  return prompts;
}

/// Moves the prompts for which `belongs` is true to the end of `to`, in their order.
template <class Belongs>
void move_if(std::vector<Prompt>& from, std::vector<Prompt>& to, const Belongs& belongs) {
  const auto first =
      std::stable_partition(from.begin(), from.end(), [&](const Prompt& p) { return !belongs(p); });
  std::move(first, from.end(), std::back_inserter(to));
  from.erase(first, from.end());
}

/// Takes the `wanted` rows whose contents have the smallest hashes, so that adding or removing a
/// row moves at most one other row.
std::vector<Prompt> take_smallest(std::vector<Prompt>& rows, std::size_t wanted) {
  std::vector<std::uint64_t> hashes(rows.size());
  std::transform(rows.begin(), rows.end(), hashes.begin(),
                 [](const Prompt& p) { return content_hash(p.text); });
  std::vector<Prompt> taken;
  if (wanted == 0) return taken;
  std::vector<std::uint64_t> sorted = hashes;
  const auto last = sorted.begin() + std::ptrdiff_t(wanted - 1);
  std::nth_element(sorted.begin(), last, sorted.end());
  move_if(rows, taken, [&](const Prompt& p) { return content_hash(p.text) <= *last; });
  return taken;
}

/// `rows` is the number of rows left for training; `all` adds those that were held out of the same
/// file.
std::size_t wanted_validation(const TaskSection& section, const std::string& file, std::size_t rows,
                              std::size_t all) {
  const bool exact = section.split == kExactSplit;
  if (section.validation_prompts < 0)
    return std::min({kValidationPrompts, exact ? tenth_of(all) : rows / 10, rows - 1});
  require<ConfigError>(
      std::size_t(section.validation_prompts) < rows,
      fmt::format("task.validation_prompts is {}, and {} has {} rows to choose from",
                  section.validation_prompts, file, rows),
      "no row would be left to train on", "lower it; 0 validates nothing");
  return std::size_t(section.validation_prompts);
}

/// Fills the held-out split from task.heldout_file, or from the same rows. A file that is named
/// twice is held out as a whole, which only an evaluation can use.
void hold_out(PromptSet& set, const TaskSection& section) {
  if (section.heldout_file == section.file) {
    std::swap(set.train, set.heldout);
  } else if (!section.heldout_file.empty()) {
    std::unordered_set<std::string_view> heldout;
    for (const Prompt& prompt : set.heldout) heldout.insert(prompt.text);
    std::erase_if(set.train, [&](const Prompt& p) { return heldout.contains(p.text); });
  } else if (section.split == kExactSplit) {
    set.heldout = take_smallest(set.train, tenth_of(set.train.size()));
  } else {
    move_if(set.train, set.heldout,
            [](const Prompt& p) { return split_of(p.text) == Split::heldout; });
  }
}

/// Cuts a split to the size that the run file asks for and numbers its prompts. Returns the end of
/// a sentence about it.
std::string settle(std::vector<Prompt>& prompts, Split split, std::int64_t limit, const char* name,
                   const char* key) {
  const std::size_t all = prompts.size();
  if (limit > 0 && prompts.size() > std::size_t(limit)) prompts.resize(std::size_t(limit));
  for (std::size_t i = 0; i < prompts.size(); ++i) prompts[i].id = {i}, prompts[i].split = split;
  return fmt::format("{} {}", prompts.size(), name) +
         (prompts.size() < all ? fmt::format(" ({} of {})", key, all) : "");
}

}  // namespace

std::vector<std::string> places_of(const TaskSection& section,
                                   const std::vector<std::string>& prompts) {
  if (prompts.empty()) return {};
  std::unordered_map<std::string_view, std::string> places;
  for (const std::string& prompt : prompts) places.try_emplace(prompt);
  for (const std::string& file : {section.heldout_file, section.file}) {
    if (file.empty()) continue;
    each_json_line(file, [&](const nlohmann::json& object, const Line& line) {
      const auto place = places.find(prompt_text(object, section, line));
      if (place != places.end() && place->second.empty())
        place->second = fmt::format("{}:{}", file, line.number);
    });
  }
  std::vector<std::string> found;
  for (const std::string& prompt : prompts) found.push_back(places.at(prompt));
  return found;
}

namespace {

/// Reads both files and reports all mistakes of either.
PromptSet read_files(const TaskSection& section) {
  PromptSet set;
  Faults faults;
  faults.check({"task.file"}, [&] { set.train = read_prompts(section.file, section, set.extra); });
  if (!section.heldout_file.empty() && section.heldout_file != section.file)
    faults.check({"task.heldout_file"},
                 [&] { set.heldout = read_prompts(section.heldout_file, section, set.extra); });
  faults.require_none();
  return set;
}

}  // namespace

PromptSet make_jsonl(const TaskSection& section, std::uint64_t) {
  check_wordings("jsonl", section.wording, {"plain"});
  PromptSet set = read_files(section);
  const std::size_t rows = set.train.size();
  hold_out(set, section);
  const bool one_file = section.heldout_file.empty(),
             asks_all = section.heldout_file == section.file;
  const std::size_t left = set.train.size() + (one_file ? set.heldout.size() : 0);
  require(asks_all || !set.train.empty(), fmt::format("{} leaves no training prompt", section.file),
          "held-out questions are kept apart", "use a larger file");
  std::string text = fmt::format("{}: {} rows: ", section.file, rows);
  if (!asks_all) {
    set.validation =
        take_smallest(set.train, wanted_validation(section, section.file, set.train.size(), left));
    text += settle(set.train, Split::train, section.train_prompts, "train", "task.train_prompts");
    text += ", " + settle(set.validation, Split::validation, 0, "validation", "");
    if (left < rows)
      text +=
          fmt::format(", {} left out because {} asks them too", rows - left, section.heldout_file);
    text +=
        one_file ? ", " : fmt::format("; {}: {} rows: ", section.heldout_file, set.heldout.size());
  }
  text += settle(set.heldout, Split::heldout, section.heldout_prompts, "held-out",
                 "task.heldout_prompts");
  log_info("{}", text);
  Extras kept;  // keeps the fields of used prompts alone, since a row may be long
  for (const Split split : {Split::train, Split::validation, Split::heldout})
    for (const Prompt& prompt : set.of(split)) kept.insert(set.extra.extract(prompt.text));
  set.extra = std::move(kept);
  set.hash = hash_of(set);
  return set;
}

}  // namespace rollcall::task
