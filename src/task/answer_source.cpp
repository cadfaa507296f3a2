// Decides by a table how rows give their references, after one pass over the answers of the files.
#include "task/answer_source.hpp"

#include "base/errors/error.hpp"
#include "task/json_lines.hpp"
#include "text/answer/answer_text.hpp"

#include <fmt/format.h>

namespace rollcall::task {
namespace {

constexpr const char* kUsualMarker = "####";  // the marker of GSM8K's answers

/// What the answers of all rows have in common decides. A list of accepted answers needs no marker
/// and decides nothing.
struct Rule {
  const char* rows;
  const char* marker;     ///< task.answer_marker
  const char* verifier;   ///< reward.verifier; empty for the task's, marked_answer
  const char* reference;  ///< for the log
};
constexpr Rule kMarked{"every answer holds \"####\"", kUsualMarker, "",
                       "what follows it is the reference"};
constexpr Rule kPlain{"no answer holds \"####\"", "", "math", "the whole answer is the reference"};

/// FILE:LINE of the first answer with the marker and of the first without it; empty if there is
/// none.
struct Seen {
  std::string marked{}, plain{};
};

/// Fills `seen` from the answers of a file. Missing keys, or a missing file, are reported where the
/// rows are read.
void look(const std::string& file, const std::string& key, Seen& seen) {
  if (file.empty()) return;
  const auto each = [&](const nlohmann::json& object, const Line& line) {
    const auto answer = object.find(key);
    const auto* const text =
        answer == object.end() ? nullptr : answer->get_ptr<const std::string*>();
    const bool is_empty = text != nullptr && text::trim(*text).empty();
    // A list decides nothing; missing keys and empty answers are reported where the row is read.
    if (answer == object.end() || answer->is_array() || is_empty) return;
    const bool marked = text != nullptr && text->find(kUsualMarker) != std::string::npos;
    std::string& first = marked ? seen.marked : seen.plain;
    if (first.empty()) first = fmt::format("{}:{}", file, line.number);
  };
  try {
    each_whole_json_line(file, each);
  } catch (const InputError&) {
  }
}

}  // namespace

std::string settle_answers(TaskSection& task, RewardSection& reward) {
  if (task.name != "jsonl" || task.answer_marker != kAutoMarker) return {};
  Seen seen;
  look(task.file, task.answer_key, seen), look(task.heldout_file, task.answer_key, seen);
  require<InputError>(
      seen.marked.empty() || seen.plain.empty(),
      fmt::format("the answer in {} has no \"{}\" before its final answer, and the one in {} has",
                  seen.plain, kUsualMarker, seen.marked),
      "all rows are read in one way",
      "correct the rows, or set task.answer_marker (empty: the whole answer is the reference)");
  const Rule& rule = seen.marked.empty() ? kPlain : kMarked;
  task.answer_marker = rule.marker;
  if (seen.marked.empty() && seen.plain.empty()) return {};  // no row read, or only lists
  const bool chooses = *rule.verifier != '\0' && reward.verifier.empty() && reward.command.empty();
  if (chooses) reward.verifier = rule.verifier;
  return fmt::format(
      "{}: {}: {}{}", task.file, rule.rows, rule.reference,
      chooses ? fmt::format(", and the verifier {} judges by it", rule.verifier) : "");
}

bool follows_rows(const TaskSection& task) {
  return task.name == "jsonl" && task.validation_prompts < 0 && task.split == kExactSplit;
}

std::string settle_validation(TaskSection& task, std::int64_t every) {
  if (!follows_rows(task) || every > 0) return {};
  task.validation_prompts = 0;
  return fmt::format(
      "{}: no row is kept for validations, since eval.every is 0 (task.validation_prompts keeps some)",
      task.file);
}

std::size_t row_count(const std::string& file) {
  std::size_t rows = 0;
  each_json_line(file, [&](const nlohmann::json&, const Line&) { ++rows; });
  return rows;
}

}  // namespace rollcall::task
