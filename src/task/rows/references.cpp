// Makes questions and references from the fields of a row.
#include "task/rows/references.hpp"

#include "base/errors/visible.hpp"
#include "base/text/foreign_json.hpp"
#include "base/text/joined.hpp"
#include "task/rows/fields.hpp"
#include "task/rows/layouts.hpp"
#include "task/rows/messages.hpp"
#include "task/solutions.hpp"
#include "task/sources.hpp"
#include "text/answer/accepted_answers.hpp"
#include "text/answer/answer_text.hpp"
#include "text/answer/boxed_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rollcall::task {
namespace {

using Json = nlohmann::json;
constexpr const char *kMarker = "####", *kCorrect = "correct or remove the line";

Json value_of(const FileRow& row, std::string_view names) { return field_of(row.object, names); }

/// The value of a field, which may be stored as its JSON text.
Json opened(const FileRow& row, std::string_view names) {
  const Json value = value_of(row, names);
  if (!value.is_string()) return value;
  std::string fault;
  Json inner = parse_foreign_value<Json>(value.get_ref<const std::string&>(), fault);
  row.line.require_that(fault.empty(),
                        fmt::format("\"{}\": {}", present_name(row.object, names), fault),
                        "it is the JSON text of a value", kCorrect);
  return inner;
}

std::string text_of(const FileRow& row, std::string_view names, const char* setting) {
  return text_of_field(row.object, names, setting, row.line);
}

/// The text of a field; empty if the row has no such text.
std::string optional_text(const FileRow& row, std::string_view names) {
  const Json value = names.empty() ? Json() : value_of(row, names);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::string question_of(const FileRow& row) {
  std::string question = text_of(row, row.layout.prompt, "task.fields.prompt");
  row.line.require_that(!text::trim(question).empty(),
                        fmt::format("\"{}\" is empty", present_name(row.object, row.layout.prompt)),
                        "an empty question teaches nothing",
                        "remove the line, or set task.fields.prompt");
  return question;
}

text::Conversation one_question(std::string_view question) {
  return {{text::message("user", question)}};
}

std::string answer_name(const FileRow& row) {
  return std::string(present_name(row.object, row.layout.answer));
}

void refuse_next_solution(const std::string& solution, const FileRow& row) {
  row.line.require_that(
      solution.find(kNextSolution) == std::string::npos,
      fmt::format("a text of \"{}\" holds the character U+001E", answer_name(row)),
      "it would be read as two solutions", "remove it");
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

/// The marker that counts in `text`: if files with and without it are mixed, the one that the text
/// has.
std::string_view marker_in(const FileRow& row, std::string_view text) {
  if (row.marker != "auto") return row.marker;
  return text.find(kMarker) == std::string_view::npos ? std::string_view() : kMarker;
}

/// Reads a list of accepted answers, with or without the marker; all of them also serve as worked
/// solutions, from which expert rollouts may be drawn.
Reference accepted(const Json& list, const FileRow& row) {
  Reference reference;
  const std::string name = answer_name(row);
  std::vector<std::string> answers;
  for (const auto& one : list) {
    // 2^53
    const bool exact = one.is_number_integer() ||
                       (one.is_number() && std::abs(one.get<double>()) < 9007199254740992.0);
    row.line.require_that(
        one.is_string() || exact, fmt::format("\"{}\" lists {}", name, brief(one.dump())),
        "each entry of a list is an answer that is accepted", "write each as text in quotes");
    const std::string text = one.is_string() ? one.get<std::string>() : one.dump();
    const auto marker = marker_in(row, text);
    const auto marked = marker.empty() ? std::nullopt : text::find_marked_answer(text, marker);
    answers.push_back(text::normal_answer(marked ? marked->answer : std::string_view(text)));
    row.line.require_that(!answers.back().empty(),
                          fmt::format("\"{}\" lists an empty answer", name),
                          "no response could equal it", "correct the line");
    refuse_next_solution(text, row);
    if (answers.size() == 1)
      reference.level = reasoning_lines(marked ? marked->reasoning : std::string_view());
    reference.solution += (answers.size() == 1 ? "" : std::string(1, kNextSolution)) + text;
  }
  row.line.require_that(!answers.empty(), fmt::format("\"{}\" is an empty list", name),
                        "no response could be right", "name an answer");
  std::vector<std::string> distinct;
  for (auto& one : answers)
    if (std::find(distinct.begin(), distinct.end(), one) == distinct.end())
      distinct.push_back(std::move(one));
  reference.answer = text::accepting(distinct);
  return reference;
}

/// A row's answer as a string that is not empty.
std::string answer_text(const FileRow& row) {
  std::string answer = text_of(row, row.layout.answer, "task.fields.answer");
  row.line.require_that(
      !text::trim(answer).empty(), fmt::format("\"{}\" is empty", answer_name(row)),
      "no response could equal it",
      "write the answer, remove the line, or set task.fields.answer to the field that holds it");
  refuse_next_solution(answer, row);
  return answer;
}

/// A reference that is a single string, with the row's separate worked solution.
Reference plain(const std::string& answer, const FileRow& row) {
  std::string worked = optional_text(row, row.layout.solution);
  if (text::trim(worked).empty()) worked = answer;
  refuse_next_solution(worked, row);
  return {.answer = text::accepting(text::normal_answer(answer)), .solution = worked};
}

std::string fenced(const std::string& code) {
  return text::trim(code).empty() ? std::string()
                                  : fmt::format("```python\n{}\n```", text::trim(code));
}

/// The text of a program's input or output, which may be given as a list of lines.
std::string stream_text(const Json& value, const FileRow& row) {
  if (value.is_string()) return value.get<std::string>();
  return fmt::format("{}", joined(texts_of(value, answer_name(row), row.line), "\n"));
}

Reference of_cases(const Json& tests, const FileRow& row) {
  const auto need = [&](bool ok, const char* problem) {
    row.line.require_that(ok, fmt::format("\"{}\" {}", answer_name(row), problem),
                          "programs are judged by what they print", kCorrect);
  };
  need(tests.is_object() && tests.contains("inputs") && tests.contains("outputs"),
       "has no inputs and outputs");
  need(!tests.contains("fn_name") || tests["fn_name"].is_null(),
       "calls a function (fn_name), which rows of this layout cannot ask for");
  const Json &inputs = tests["inputs"], &outputs = tests["outputs"];
  need(
      inputs.is_array() && outputs.is_array() && inputs.size() == outputs.size() && !inputs.empty(),
      "has not as many inputs as outputs, or none");
  Json cases = Json::array();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    cases.push_back(
        {{"input", stream_text(inputs[i], row)}, {"output", stream_text(outputs[i], row)}});
  return {.answer = Json{{"type", "stdio"}, {"cases", cases}}.dump(), .verifier = "code"};
}

Reference of_riddle(const Json& numbers, const Json& target, const FileRow& row) {
  const bool whole = numbers.is_array() && !numbers.empty() && target.is_number_integer() &&
                     std::all_of(numbers.begin(), numbers.end(),
                                 [](const Json& n) { return n.is_number_integer(); });
  row.line.require_that(whole, "the numbers or the target are not whole numbers",
                        "an expression of the numbers has to reach the target", kCorrect);
  return {.answer = fmt::format("{}={}", joined(texts_of(numbers, "numbers", row.line), " "),
                                target.dump()),
          .level = std::int32_t(numbers.size()),
          .verifier = "countdown_expression"};
}

struct Choice {
  std::vector<std::string> options;
  std::size_t right = 0;
};

/// Options and the index of the right one. The answer is the label of an option, or its index.
Choice choice_of(const FileRow& row) {
  constexpr std::size_t kLetters = 26;
  Choice choice;
  Json options = value_of(row, "choices.text");
  if (options.is_null()) options = value_of(row, "choices|options");
  choice.options = texts_of(options, "choices", row.line);
  const Json labels = value_of(row, "choices.label"), answer = value_of(row, row.layout.answer);
  choice.right = choice.options.size();
  if (answer.is_number_unsigned()) choice.right = answer.get<std::size_t>();
  else if (answer.is_string() && labels.is_array())
    choice.right = std::size_t(std::find(labels.begin(), labels.end(), answer) - labels.begin());
  row.line.require_that(choice.options.size() <= kLetters, "there are more options than letters",
                        "an option is named by its letter", kCorrect);
  row.line.require_that(
      choice.right < choice.options.size(),
      fmt::format("\"{}\" names none of the {} options", answer_name(row), choice.options.size()),
      "no response could be right", kCorrect);
  return choice;
}

/// Statements that run before the asserts: MBPP has them as a string, its sanitized part as a list.
std::string before_asserts(const FileRow& row) {
  std::string before = optional_text(row, "test_setup_code");
  const Json imports = value_of(row, "test_imports");
  if (imports.is_array())
    for (const auto& one : texts_of(imports, "test_imports", row.line)) before += one + "\n";
  if (!before.empty() && !before.ends_with('\n')) before += '\n';
  return before;
}

/// The value without null members: files with one type per column have all members in all rows.
Json without_nulls(const Json& value) {
  if (!value.is_structured()) return value;
  Json kept = value.is_array() ? Json::array() : Json::object();
  for (const auto& [key, part] : value.items()) {
    if (value.is_array()) kept.push_back(without_nulls(part));
    else if (!part.is_null()) kept[key] = without_nulls(part);
  }
  return kept;
}

/// The messages of a prompt up to the point where the assistant is to speak.
text::Conversation conversation_of(const nlohmann::ordered_json& list, const FileRow& row,
                                   const std::string& name) {
  text::Conversation talk{messages_of(list, row.line)};
  for (auto& message : talk.messages) {
    text::Message said = text::Message::object();
    for (const auto& [key, value] : message.items())
      if (!value.is_null()) said[key] = value;
    message = std::move(said);
  }
  // Whole conversations end with the answer.
  while (name == "messages" && !talk.messages.empty() &&
         text::is_said_by(talk.messages.back(), "assistant"))
    talk.messages.pop_back();
  row.line.require_that(!talk.messages.empty(), fmt::format("\"{}\" has no message", name),
                        "an empty question teaches nothing", kCorrect);
  row.line.require_that(std::any_of(talk.messages.begin(), talk.messages.end(),
                                    [](const text::Message& message) {
                                      return !text::is_said_by(message, "system") &&
                                             !text::is_said_by(message, "developer");
                                    }),
                        fmt::format("\"{}\" is a system message alone", name),
                        "it says how to answer, and nothing is asked",
                        "add what the user asks, or remove the line");
  row.line.require_that(!text::is_said_by(talk.messages.back(), "assistant"),
                        fmt::format("\"{}\" ends with what the assistant says", name),
                        "the policy is asked after the last message",
                        "leave it out; text.assistant_prefix begins every answer alike");
  return talk;
}

}  // namespace

text::Conversation asks_prompt(const FileRow& row) {
  const std::string name(present_name(row.object, row.layout.prompt));
  Json prompt = value_of(row, name);
  if (prompt.is_string() && text::trim(prompt.get_ref<const std::string&>()).starts_with("[{")) {
    std::string fault;  // for the JSON text of messages, which some files with text columns have
    Json list = parse_foreign_value<Json>(prompt.get_ref<const std::string&>(), fault);
    if (fault.empty() && list.is_array() && !list.empty() && list.front().contains("role"))
      prompt = std::move(list);
  }
  if (!prompt.is_array()) return one_question(question_of(row));
  const auto place = fmt::format("{}:{}", row.line.file, row.line.number);
  const auto whole = text::parse_in_order(row.line.text, place);
  const auto own = whole.find(name);
  const bool ordered = own != whole.end() && own->is_array();
  return conversation_of(ordered ? *own : nlohmann::ordered_json(prompt), row, name);
}

text::Conversation asks_choice(const FileRow& row) {
  const Choice choice = choice_of(row);
  std::string question = question_of(row);
  for (std::size_t i = 0; i < choice.options.size(); ++i)
    question += fmt::format("\n{}) {}", char('A' + i), choice.options[i]);
  return one_question(question + "\nAnswer with the letter of the right option.");
}

text::Conversation asks_countdown(const FileRow& row) {
  const Json numbers = value_of(row, row.layout.prompt);
  const Json target = value_of(row, row.layout.answer);
  (void)of_riddle(numbers, target, row);
  return one_question(
      countdown_question(numbers.get<std::vector<std::int64_t>>(), target.get<std::int64_t>()));
}

text::Conversation asks_function(const FileRow& row) {
  const auto tests = texts_of(value_of(row, row.layout.answer), answer_name(row), row.line);
  return one_question(
      fmt::format("{}\nYour code has to pass these tests:\n{}\nAnswer with Python code in a fenced "
                  "block.",
                  text::trim(question_of(row)), joined(tests, "\n")));
}

text::Conversation asks_completion(const FileRow& row) {
  return one_question(
      fmt::format("Complete this Python function. Answer with the whole function in a fenced "
                  "block.\n```python\n{}\n```",
                  text::trim(question_of(row))));
}

text::Conversation asks_program(const FileRow& row) {
  return one_question(
      fmt::format("{}\nAnswer with a Python program in a fenced block, which reads standard input "
                  "and prints to standard output.",
                  text::trim(question_of(row))));
}

text::Conversation asks_calls(const FileRow& row) {
  return one_question(fmt::format(
      "{}\nAnswer with a JSON list of the calls to make, each {{\"name\": ..., \"arguments\": "
      "{{...}}}}, and nothing else.",
      text::trim(question_of(row))));
}

Reference refers_to_answer(const FileRow& row) {
  if (const Json list = value_of(row, row.layout.answer); list.is_array())
    return accepted(list, row);
  Reference reference;
  reference.solution = answer_text(row);
  const auto marker = marker_in(row, reference.solution);
  const auto marked = text::find_marked_answer(reference.solution, marker);
  row.line.require_that(
      marked && !marked->answer.empty(),
      fmt::format("nothing follows the marker \"{}\" in the answer", marker),
      "the verifier compares what follows it",
      "set task.answer_marker (empty: the whole answer counts) or correct the line");
  reference.answer = text::accepting(text::normal_answer(marked->answer));
  reference.level = reasoning_lines(marked->reasoning);
  return reference;
}

Reference refers_to_box(const FileRow& row) {
  if (!value_of(row, row.layout.answer).is_string()) return refers_to_ground_truth(row);
  const std::string solution = answer_text(row);
  const auto boxed = text::boxed_answer(solution);
  const auto marked = boxed ? std::nullopt : text::find_marked_answer(solution, kMarker);
  const std::string answer = boxed    ? *boxed
                             : marked ? std::string(marked->answer)
                                      : std::string(text::trim(solution));
  row.line.require_that(!text::trim(answer).empty(),
                        fmt::format("\"{}\" ends with an empty answer", answer_name(row)),
                        "no response could equal it", kCorrect);
  Reference reference = plain(answer, row);
  if (boxed || marked) reference.solution = solution;
  reference.verifier = "math";
  return reference;
}

Reference refers_to_ground_truth(const FileRow& row) {
  Json truth = value_of(row, row.layout.answer);
  const auto is_text = [](const Json& one) { return one.is_string(); };
  if (truth.is_string()) {
    const std::string_view said = text::trim(truth.get_ref<const std::string&>());
    std::string fault;
    Json inner = said.starts_with('[') || said.starts_with('{')
                     ? parse_foreign_value<Json>(said, fault)
                     : Json();
    // [1, 2] is an interval or a pair, ["1", "2"] are two answers
    const bool answers =
        inner.is_array() && !inner.empty() && std::all_of(inner.begin(), inner.end(), is_text);
    const bool known = inner.is_object() && (inner.contains("inputs") || inner.contains("target"));
    if (fault.empty() && (answers || known)) truth = std::move(inner);
  }
  if (truth.is_object())
    return truth.contains("target") ? of_riddle(truth.value("numbers", truth.value("nums", Json())),
                                                truth["target"], row)
                                    : of_cases(truth, row);
  Reference reference = truth.is_array() ? accepted(truth, row) : plain(answer_text(row), row);
  reference.verifier = "math";
  return reference;
}

Reference refers_to_choice(const FileRow& row) {
  const Choice choice = choice_of(row);
  const std::string letter(1, char('A' + choice.right));
  return {.answer = Json{{"answer", letter}, {"options", choice.options}}.dump(),
          .solution = letter,
          .level = std::int32_t(choice.options.size())};
}

Reference refers_to_countdown(const FileRow& row) {
  return of_riddle(value_of(row, row.layout.prompt), value_of(row, row.layout.answer), row);
}

Reference refers_to_asserts(const FileRow& row) {
  std::string code = before_asserts(row);
  const auto tests = texts_of(value_of(row, row.layout.answer), answer_name(row), row.line);
  row.line.require_that(!tests.empty(), fmt::format("\"{}\" is an empty list", answer_name(row)),
                        "no program could fail", kCorrect);
  for (const auto& test : tests) code += test + "\n";
  return {.answer = Json{{"type", "assert"}, {"code", code}}.dump(),
          .solution = fenced(optional_text(row, row.layout.solution))};
}

Reference refers_to_check(const FileRow& row) {
  const std::string code =
      fmt::format("{}\ncheck({})\n", text_of(row, row.layout.answer, "task.file"),
                  text_of(row, "entry_point", "task.file"));
  const std::string body = optional_text(row, row.layout.solution);
  return {.answer = Json{{"type", "assert"}, {"code", code}}.dump(),
          .solution = body.empty() ? body : fenced(question_of(row) + body)};
}

Reference refers_to_output(const FileRow& row) {
  return of_cases(opened(row, row.layout.answer), row);
}

Reference refers_to_calls(const FileRow& row) {
  const Json calls = opened(row, row.layout.answer);
  row.line.require_that(calls.is_array(), fmt::format("\"{}\" is not a list", answer_name(row)),
                        "each of its entries is a call", kCorrect);
  return {.answer = Json{{"schema", {{"type", "array"}}}, {"value", calls}}.dump(),
          .solution = calls.dump(),
          .level = std::int32_t(calls.size())};
}

Reference refers_to_instructions(const FileRow& row) {
  const Json names = value_of(row, row.layout.answer);
  row.line.require_that(names.is_array() && !names.empty(), "there are no instructions",
                        "no response could fail", kCorrect);
  return {.answer =
              Json{{"instruction_id_list", names}, {"kwargs", without_nulls(opened(row, "kwargs"))}}
                  .dump(),
          .level = std::int32_t(names.size())};
}

}  // namespace rollcall::task
