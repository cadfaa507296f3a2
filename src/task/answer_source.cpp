// Reads the answers in the files once, then decides which verifier and marker they need.
#include "task/answer_source.hpp"

#include "base/errors/error.hpp"
#include "task/json_lines.hpp"
#include "task/rows/fields.hpp"
#include "task/rows/file_list.hpp"
#include "task/rows/layouts.hpp"
#include "text/answer/answer_text.hpp"

#include <fmt/format.h>

#include <map>
#include <string_view>

namespace rollcall::task {
namespace {

constexpr const char* kUsualMarker = "####";  // the marker of GSM8K's answers
constexpr const char* kMath = "math";

/// The first rows of the files, with and without the marker if the marker decides, and the first
/// row for each verifier that fits.
struct Seen {
  std::string marked{}, plain{};
  std::map<std::string, std::string> judged{};  ///< file and line by verifier
};

std::string place_of(const Line& line) { return fmt::format("{}:{}", line.file, line.number); }

/// Looks at the answers of a file. Missing fields, or a missing file, are reported where the rows
/// are read. Throws InputError if some rows hold the marker and others do not.
void look(const RowFile& file, const TaskSection& task, Seen& seen) {
  if (file.path.empty()) return;
  Seen here;
  const auto each = [&](const Layout& layout, const nlohmann::json& object, const Line& line) {
    if (!matches(file, object)) return;
    if (const std::string_view verifier = layout.verifier; verifier != kByMarker) {
      here.judged.try_emplace(
          verifier == kByRow ? layout.refers({object, line, layout, task.answer_marker}).verifier
                             : std::string(verifier),
          place_of(line));
      return;
    }
    const nlohmann::json answer = field_of(object, layout.answer);
    const auto* const text = answer.get_ptr<const std::string*>();
    const bool is_empty = text != nullptr && text::trim(*text).empty();
    // A list of accepted answers needs no marker and decides nothing. Missing fields are reported
    // where the row is read.
    if (answer.is_null() || answer.is_array() || is_empty) return;
    const bool marked = text != nullptr && text->find(kUsualMarker) != std::string::npos;
    std::string& first = marked ? here.marked : here.plain;
    if (first.empty()) first = place_of(line);
  };
  try {
    const Layout layout = layout_of_file(file.path, task.fields);
    each_whole_json_line(file.path, [&](const nlohmann::json& object, const Line& line) {
      each(layout, object, line);
    });
  } catch (const InputError&) {
    return;
  }
  require<InputError>(
      here.marked.empty() || here.plain.empty(),
      fmt::format("the answer in {} has no \"{}\" before its final answer, and the one in {} has",
                  here.plain, kUsualMarker, here.marked),
      "all rows of a file are read in one way",
      "correct the rows, or set task.answer_marker (empty: the whole answer is the reference)");
  if (seen.marked.empty()) seen.marked = here.marked;
  if (seen.plain.empty()) seen.plain = here.plain;
  seen.judged.merge(here.judged);
}

/// The verifier that all rows have in common; empty for the task's own. Throws InputError, quoting
/// two rows, if there is none.
std::string common_verifier(const Seen& seen) {
  auto judged = seen.judged;
  if (!seen.plain.empty()) judged.try_emplace(kMath, seen.plain);
  if (!seen.marked.empty()) judged.try_emplace(judged.empty() ? "" : kMath, seen.marked);
  require<InputError>(
      judged.size() <= 1,
      judged.size() <= 1
          ? std::string()
          : fmt::format("the row {} is judged by the verifier {}, and the row {} by {}",
                        judged.begin()->second, judged.begin()->first, judged.rbegin()->second,
                        judged.rbegin()->first),
      "a run has one verifier",
      "choose rows by where in task.file, or set reward.verifier or reward.command");
  return judged.empty() ? std::string() : judged.begin()->first;
}

std::string reference_told(const Seen& seen, const std::string& marker) {
  if (seen.plain.empty() && seen.marked.empty()) return "its layout says what the reference is";
  if (marker == kAutoMarker)
    return fmt::format("what follows \"{}\" is the reference, or the whole answer without it",
                       kUsualMarker);
  return seen.marked.empty()
             ? fmt::format("no answer holds \"{}\": the whole answer is the reference",
                           kUsualMarker)
             : fmt::format("every answer holds \"{}\": what follows it is the reference",
                           kUsualMarker);
}

/// Looks at all files that the section names.
Seen look(const TaskSection& task) {
  Seen seen;
  for (const RowFile& file : row_files(task)) look(file, task, seen);
  look(RowFile{task.heldout_file}, task, seen);
  return seen;
}

}  // namespace

bool reads_rows(const TaskSection& task) { return task.name == "file"; }

std::string settle_answers(TaskSection& task, RewardSection& reward) {
  if (!reads_rows(task)) return {};
  const bool chooses = reward.verifier.empty() && reward.command.empty();
  const bool marks = task.answer_marker == kAutoMarker;
  if (!marks && !chooses) return {};
  Seen seen = look(task);
  if (!marks) seen.plain.clear(), seen.marked.clear();  // the task's verifier looks for the marker
  if (seen.marked.empty() && seen.plain.empty() && seen.judged.empty()) {
    if (marks) task.answer_marker.clear();
    return {};  // no row could be read, or the marker is chosen
  }
  const std::string verifier = chooses ? common_verifier(seen) : std::string();
  if (marks) {
    const bool mixed = !seen.marked.empty() && (!seen.plain.empty() || !seen.judged.empty());
    task.answer_marker = mixed ? kAutoMarker : seen.marked.empty() ? "" : kUsualMarker;
  }
  const std::string unmarked =
      !seen.plain.empty() || seen.judged.empty() ? seen.plain : seen.judged.begin()->second;
  require<InputError>(
      task.answer_marker != kAutoMarker ||
          (reward.verifier != "marked_answer" && task.extract != "marker"),
      fmt::format("the answer in {} has \"{}\" before its final answer, and the one in {} has not",
                  seen.marked, kUsualMarker, unmarked),
      "the verifier looks for one marker in all answers",
      "leave reward.verifier and task.extract out, or set task.answer_marker");
  if (chooses) reward.verifier = verifier;
  return fmt::format(
      "{}: {}{}", shown_files(task), reference_told(seen, task.answer_marker),
      verifier.empty() ? "" : fmt::format(", and the verifier {} judges by it", verifier));
}

std::string fitting_verifier(const TaskSection& task, const RewardSection& reward) {
  if (!reward.verifier.empty() || !reads_rows(task) || !reward.command.empty())
    return reward.verifier;
  try {
    for (const RowFile& file : row_files(task)) {
      std::string verifier = verifier_of_first_row(file.path, task.fields);
      if (!verifier.empty()) return verifier;
    }
  } catch (const ConfigError&) {  // reported where the list is read
  }
  return {};
}

bool follows_rows(const TaskSection& task) {
  return reads_rows(task) && task.validation_prompts < 0 && task.split == kExactSplit;
}

std::string settle_validation(TaskSection& task, std::int64_t every) {
  if (!follows_rows(task) || every > 0) return {};
  task.validation_prompts = 0;
  return fmt::format(
      "{}: no row is kept for validations, since eval.every is 0 (task.validation_prompts keeps some)",
      shown_files(task));
}

std::size_t row_count(const TaskSection& task) {
  std::size_t rows = 0;
  const auto count = [&](const RowFile& file) {
    each_whole_json_line(file.path, [&](const nlohmann::json& object, const Line&) {
      rows += matches(file, object) ? 1 : 0;
    });
  };
  if (!task.heldout_file.empty()) count({task.heldout_file});
  else
    for (const RowFile& file : row_files(task)) count(file);
  return rows;
}

}  // namespace rollcall::task
