// The table of layouts. A layout that needs more fields comes before one that needs fewer of them.
#include "task/rows/layouts.hpp"

#include "base/errors/error.hpp"
#include "base/errors/visible.hpp"
#include "base/text/joined.hpp"
#include "task/rows/fields.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::task {
namespace {

using Json = nlohmann::json;
using enum FieldKind;
constexpr const char* kLevels = "level|difficulty|extra_info.difficulty";

std::vector<Layout> table() {
  return {
      // programs
      {.name = "human_eval",
       .data_sets = "HumanEval",
       .needs = {{"prompt", text}, {"test", text}, {"entry_point", text}},
       .prompt = "prompt",
       .answer = "test",
       .solution = "canonical_solution",
       .id = "task_id",
       .asks = asks_completion,
       .refers = refers_to_check,
       .verifier = "code"},
      {.name = "mbpp",
       .data_sets = "MBPP, whole and sanitized",
       .needs = {{"text|prompt", text}, {"test_list", list}, {"code", text}},
       .prompt = "text|prompt",
       .answer = "test_list",
       .solution = "code",
       .id = "task_id",
       .asks = asks_function,
       .refers = refers_to_asserts,
       .verifier = "code"},
      {.name = "apps",
       .data_sets = "APPS, TACO",
       .needs = {{"question", text}, {"input_output"}},
       .prompt = "question",
       .answer = "input_output",
       .domain = "difficulty",
       .id = "problem_id|id",
       .asks = asks_program,
       .refers = refers_to_output,
       .verifier = "code"},
      // tools and instructions
      {.name = "tool_calls",
       .data_sets = "xLAM function calling",
       .needs = {{"query", text}, {"tools"}, {"answers"}},
       .prompt = "query",
       .answer = "answers",
       .id = "id",
       .tools = "tools",
       .asks = asks_calls,
       .refers = refers_to_calls,
       .verifier = "json"},
      {.name = "ifeval",
       .data_sets = "IFEval",
       .needs = {{"prompt"}, {"instruction_id_list", list}, {"kwargs"}},
       .prompt = "prompt",
       .answer = "instruction_id_list",
       .id = "key",
       .refers = refers_to_instructions,
       .verifier = "instructions"},
      // choices and riddles
      {.name = "arc",
       .data_sets = "ARC, CommonsenseQA",
       .needs = {{"question", text}, {"choices.text", list}, {"answerKey"}},
       .prompt = "question",
       .answer = "answerKey",
       .id = "id",
       .asks = asks_choice,
       .refers = refers_to_choice,
       .verifier = "multiple_choice"},
      {.name = "open_book_qa",
       .data_sets = "OpenBookQA",
       .needs = {{"question_stem", text}, {"choices.text", list}, {"answerKey"}},
       .prompt = "question_stem",
       .answer = "answerKey",
       .id = "id",
       .asks = asks_choice,
       .refers = refers_to_choice,
       .verifier = "multiple_choice"},
      {.name = "mmlu_pro",
       .data_sets = "MMLU-Pro",
       .needs = {{"question", text}, {"options", list}, {"answer_index", number}},
       .prompt = "question",
       .answer = "answer_index",
       .domain = "category",
       .id = "question_id",
       .asks = asks_choice,
       .refers = refers_to_choice,
       .verifier = "multiple_choice"},
      {.name = "mmlu",
       .data_sets = "MMLU",
       .needs = {{"question", text}, {"choices", list}, {"answer", number}},
       .prompt = "question",
       .answer = "answer",
       .domain = "subject",
       .asks = asks_choice,
       .refers = refers_to_choice,
       .verifier = "multiple_choice"},
      {.name = "countdown",
       .data_sets = "Countdown-Tasks-3to4",
       .needs = {{"nums|numbers", list}, {"target", number}},
       .prompt = "nums|numbers",
       .answer = "target",
       .asks = asks_countdown,
       .refers = refers_to_countdown,
       .verifier = "countdown_expression"},
      // rows of other trainers
      {.name = "verl",
       .data_sets = "verl's GSM8K and MATH, DAPO-Math-17k and -Processed, Skywork-OR1, Eurus-2",
       .needs = {{"prompt"}, {"reward_model.ground_truth"}},
       .prompt = "prompt",
       .answer = "reward_model.ground_truth",
       .level = "extra_info.difficulty",
       .domain = "data_source",
       .id = "extra_info.index",
       .tools = "tools",
       .refers = refers_to_ground_truth,
       .verifier = kByRow},
      {.name = "verification_info",
       .data_sets = "INTELLECT-2-RL, SYNTHETIC-1",
       .needs = {{"prompt"}, {"verification_info.ground_truth"}},
       .prompt = "prompt",
       .answer = "verification_info.ground_truth",
       .domain = "task_type",
       .id = "problem_id",
       .refers = refers_to_ground_truth,
       .verifier = kByRow},
      {.name = "prompt_messages",
       .data_sets = "TRL's conversational prompts, DeepMath-103K of trl-lib, verifiers",
       .needs = {{"prompt", list}, {"solution|answer|ground_truth|label"}},
       .prompt = "prompt",
       .answer = "solution|answer|ground_truth|label",
       .level = kLevels,
       .domain = "data_source|source|task",
       .id = "id",
       .tools = "tools",
       .refers = refers_to_box,
       .verifier = "math"},
      {.name = "prompt_text",
       .data_sets = "TRL's prompts of plain text",
       .needs = {{"prompt", text}, {"solution|answer|ground_truth|label"}},
       .prompt = "prompt",
       .answer = "solution|answer|ground_truth|label",
       .system = "system|system_prompt",
       .level = kLevels,
       .domain = "data_source|source|task",
       .id = "id",
       .tools = "tools",
       .refers = refers_to_box,
       .verifier = "math"},
      {.name = "input_label",
       .data_sets = "OpenRLHF",
       .needs = {{"input|context_messages"}, {"label"}},
       .prompt = "input|context_messages",
       .answer = "label",
       .domain = "datasource|source",
       .id = "id",
       .refers = refers_to_ground_truth,
       .verifier = kByRow},
      {.name = "prime_rl",
       .data_sets = "prime-rl, verifiers",
       .needs = {{"question"}, {"answer"}, {"info"}},
       .prompt = "question",
       .answer = "answer",
       .level = "info.difficulty",
       .domain = "task",
       .id = "example_id",
       .tools = "tools|info.tools"},
      // mathematics
      {.name = "expected_answer",
       .data_sets = "OpenMathInstruct-2, OpenMathReasoning",
       .needs = {{"problem", text}, {"expected_answer"}},
       .prompt = "problem",
       .answer = "expected_answer",
       .solution = "generated_solution",
       .domain = "problem_source",
       .refers = refers_to_ground_truth,
       .verifier = "math"},
      {.name = "big_math",
       .data_sets = "Big-Math-RL-Verified",
       .needs = {{"problem", text}, {"answer"}, {"llama8b_solve_rate"}},
       .prompt = "problem",
       .answer = "answer",
       .domain = "source",
       .prior = "llama8b_solve_rate",
       .refers = refers_to_ground_truth,
       .verifier = "math"},
      {.name = "problem_type",
       .data_sets = "OpenR1-Math-220k, NuminaMath-1.5",
       .needs = {{"problem", text}, {"answer"}, {"problem_type"}},
       .prompt = "problem",
       .answer = "answer",
       .solution = "solution",
       .domain = "problem_type",
       .id = "uuid",
       .refers = refers_to_ground_truth,
       .verifier = "math"},
      {.name = "problem_answer",
       .data_sets = "DeepScaleR, MATH-500, AIME, POLARIS",
       .needs = {{"problem", text}, {"answer"}},
       .prompt = "problem",
       .answer = "answer",
       .solution = "solution",
       .level = "level",
       .domain = "subject",
       .id = "unique_id|id",
       .refers = refers_to_ground_truth,
       .verifier = "math"},
      {.name = "problem_solution",
       .data_sets = "MATH, NuminaMath-CoT and -TIR",
       .needs = {{"problem", text}, {"solution", text}},
       .prompt = "problem",
       .answer = "solution",
       .level = "level",
       .domain = "type|source",
       .refers = refers_to_box,
       .verifier = "math"},
      {.name = "final_answer",
       .data_sets = "DeepMath-103K, OlympiadBench",
       .needs = {{"question", text}, {"final_answer"}},
       .prompt = "question",
       .answer = "final_answer",
       .level = "difficulty",
       .domain = "topic|subfield",
       .id = "id",
       .refers = refers_to_ground_truth,
       .verifier = "math"},
      // the rest
      {.name = "question_answer",
       .data_sets = "GSM8K, and files of your own",
       .needs = {{"question"}, {"answer"}},
       .prompt = "question",
       .answer = "answer"},
      {.name = "messages",
       .data_sets = "the RLVR sets of Tulu 3",
       .needs = {{"messages", list}, {"ground_truth|answer|solution|label"}},
       .prompt = "messages",
       .answer = "ground_truth|answer|solution|label",
       .domain = "dataset|source",
       .id = "id|custom_id",
       .tools = "tools",
       .refers = refers_to_box,
       .verifier = "math"},
  };
}

bool is_of(const Json& value, FieldKind kind) {
  switch (kind) {
    case any: return !value.is_null();
    case text: return value.is_string();
    case list: return value.is_array();
    case number: return value.is_number();
  }
  return false;
}

/// The fields of a row, including those of nested objects, for a message.
std::string fields_in(const Json& row) {
  constexpr std::size_t kShown = 16;
  std::vector<std::string> names;
  for (const auto& [key, value] : row.items()) {
    if (!value.is_object()) names.push_back(visible(brief(key, 40)));
    else
      for (const auto& [inner, part] : value.items())
        names.push_back(visible(brief(key + "." + inner, 80)));
  }
  const std::size_t more = names.size() - std::min(names.size(), kShown);
  names.resize(names.size() - more);
  return names.empty() ? "no field"
                       : fmt::format("{}{}", joined(names, ", "),
                                     more > 0 ? fmt::format(" and {} more", more) : "");
}

/// The suggestion for rows that match no known layout. The last turn of a conversation may be the
/// answer.
std::string suggestion_for(const Json& row) {
  for (const char* name : {"messages", "prompt"}) {
    const Json talk = field_of(row, name);
    if (!talk.is_array() || talk.empty()) continue;
    const Json role = field_of(talk.back(), "role");
    if (role.is_string() && role.get_ref<const std::string&>() == "assistant")
      return fmt::format(
          "the last turn of \"{}\" seems to be the answer: move its content to a field \"answer\" of the row",
          name);
  }
  return row.size() < 2 ? "write rows with two fields, the question and the answer"
                        : "set task.fields.prompt and task.fields.answer to two of them";
}

void take(std::string& own, const std::string& named) {
  if (!named.empty()) own = named;
}

}  // namespace

const std::vector<Layout>& layouts() {
  static const std::vector<Layout> rows = table();
  return rows;
}

const Layout* layout_of(const Json& row) {
  const auto fits = [&](const Layout& layout) {
    return std::all_of(layout.needs.begin(), layout.needs.end(), [&](const NeededField& field) {
      return is_of(field_of(row, field.name), field.kind);
    });
  };
  const auto found = std::find_if(layouts().begin(), layouts().end(), fits);
  return found == layouts().end() ? nullptr : &*found;
}

Layout layout_of_file(const std::string& file, const TaskSection::Fields& fields) {
  Layout layout;
  if (!fields.prompt.empty() || !fields.answer.empty()) {
    layout.name = "fields", layout.prompt = "question", layout.answer = "answer";
    take(layout.prompt, fields.prompt), take(layout.answer, fields.answer);
  } else {
    const Layout* found = nullptr;
    std::string first, suggestion;  // of the first row
    each_first_row(file, [&](const Json& row) {
      if (first.empty()) first = fields_in(row), suggestion = suggestion_for(row);
      found = layout_of(row);
      return found == nullptr;
    });
    require(found != nullptr || first.empty(),
            fmt::format("{} has rows of no known layout: the first has {}", file, first),
            "which field is the question and which the answer is not known", suggestion);
    if (found == nullptr)  // no row can be read, which is reported where all rows are read
      found = &*std::find_if(layouts().begin(), layouts().end(),
                             [](const Layout& l) { return l.name == "question_answer"; });
    layout = *found;
  }
  take(layout.level, fields.level), take(layout.domain, fields.domain);
  take(layout.prior, fields.prior), take(layout.id, fields.id), take(layout.tools, fields.tools);
  return layout;
}

std::string verifier_of_first_row(const std::string& file, const TaskSection::Fields& fields) {
  try {
    const Layout layout = layout_of_file(file, fields);
    std::string verifier = layout.verifier;
    if (verifier != kByRow) return verifier;
    verifier.clear();
    const std::string marker, place;
    each_first_row(file, [&](const Json& row) {
      try {
        verifier = layout.refers({row, Line{place, 0, {}}, layout, marker}).verifier;
      } catch (const InputError&) {
      }
      return verifier.empty();
    });
    return verifier;
  } catch (const Error&) {
    return {};  // reported where the rows are read
  }
}

}  // namespace rollcall::task
