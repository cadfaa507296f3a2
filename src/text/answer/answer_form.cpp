// The table of forms. They follow the templates of Prompt Augmentation (arXiv:2602.03190, released
// as verl/utils/dataset/templates.py), which ask for steps, for a box, for tags with and without a
// given opening, for rigour, for an announcement, or for a check. The words are this project's, and
// are put at the end of the question.
#include "text/answer/answer_form.hpp"

#include "base/errors/error.hpp"
#include "base/errors/nearest.hpp"
#include "text/answer/answer_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::text {
namespace {

constexpr const char *kBox = "{reasoning}\n\\boxed{{answer}}",
                     *kThought = "{reasoning}</think><answer>{answer}</answer>",
                     *kChecked = "{reasoning}</solution><check>{answer}</check>\\boxed{{answer}}";

void put(std::string& text, std::string_view place, std::string_view value) {
  for (std::size_t at = text.find(place); at != std::string::npos;
       at = text.find(place, at + value.size()))
    text.replace(at, place.size(), value);
}

}  // namespace

const std::vector<AnswerForm>& answer_forms() {
  static const std::string thought = std::string("<think>") + kThought,
                           checked = std::string("<solution>") + kChecked;
  static const std::vector<AnswerForm> rows = {
      {"plain", nullptr, "", nullptr},
      {"boxed", "Put the final answer in \\boxed{}.", "", "boxed", {}, kBox},
      {"steps",
       "Reason step by step, then put the final answer in \\boxed{}.",
       "",
       "boxed",
       {},
       kBox},
      {"steps_opened",
       "Go step by step, then put the final answer in \\boxed{}.",
       "Step by step:\n",
       "boxed",
       {},
       kBox},
      {"rigorous",
       "Derive the answer rigorously and state it in \\boxed{}.",
       "",
       "boxed",
       {},
       kBox},
      {"announced",
       "End with: The final answer is: \\boxed{}",
       "",
       "boxed",
       {"The final answer is:"},
       "{reasoning}\nThe final answer is: \\boxed{{answer}}"},
      {"hashes",
       "End with a line of #### and the final answer.",
       "",
       "regex:####[ \\t]*(\\S[^\\n]*)",
       {"####"},
       "{reasoning}\n#### {answer}"},
      {"final_line",
       "End with a line that holds the final answer alone.",
       "",
       "final_line",
       {},
       "{reasoning}\n{answer}"},
      {"answer_tag",
       "Give the final answer within <answer> and </answer>.",
       "",
       "answer_tag",
       {"<answer>", "</answer>"},
       "{reasoning}<answer>{answer}</answer>"},
      {"think",
       "Think within <think> and </think>, then answer within <answer> and </answer>.",
       "",
       "answer_tag",
       {"<think>", "</think>", "<answer>", "</answer>"},
       thought.c_str()},
      {"think_opened",
       "Think up to </think>, then answer within <answer> and </answer>.",
       "<think>",
       "answer_tag",
       {"</think>", "<answer>", "</answer>"},
       kThought},
      {"checked",
       "Solve it within <solution> and </solution>, check that within <check> and </check>, then put the final answer in \\boxed{}.",
       "",
       "boxed",
       {"<solution>", "</solution>", "<check>", "</check>"},
       checked.c_str()},
      {"checked_opened",
       "Solve it up to </solution>, check that within <check> and </check>, then put the final answer in \\boxed{}.",
       "<solution>",
       "boxed",
       {"</solution>", "<check>", "</check>"},
       kChecked},
  };
  return rows;
}

const AnswerForm& find_answer_form(const std::string& name) {
  const auto& rows = answer_forms();
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const AnswerForm& form) { return form.name == name; });
  std::vector<std::string> names;
  for (const AnswerForm& form : rows) names.emplace_back(form.name);
  require<ConfigError>(row != rows.end(), fmt::format("task.forms \"{}\" is unknown", name),
                       "questions could not be put in it", suggest_name(name, names));
  return *row;
}

std::string asked_in(const AnswerForm& form, std::string_view question) {
  if (form.instruction == nullptr) return std::string(question);
  if (question.ends_with('\n')) question.remove_suffix(1);
  return fmt::format("{}\n{}\n", question, form.instruction);
}

bool is_asked_in(const AnswerForm& form, std::string_view asked) {
  return form.instruction != nullptr && asked.ends_with(fmt::format("\n{}\n", form.instruction));
}

std::string worked_in(const AnswerForm& form, std::string_view solution, std::string_view marker) {
  if (form.worked == nullptr) return std::string(solution);
  const auto marked = marker.empty() ? std::nullopt : find_marked_answer(solution, marker);
  std::string text = form.worked;
  // The answer is put in first, because the reasoning may contain "{answer}".
  put(text, "{answer}", marked ? marked->answer : solution);
  put(text, "{reasoning}", marked ? trim(marked->reasoning) : solution);
  return text;
}

double share_of_marks(const AnswerForm& form, std::string_view response) {
  if (form.marks.empty()) return 1.0;
  const auto stands_once = [&](std::string_view mark) {
    const std::size_t at = response.find(mark);
    return at != std::string_view::npos && response.find(mark, at + 1) == std::string_view::npos;
  };
  return double(std::count_if(form.marks.begin(), form.marks.end(), stands_once)) /
         double(form.marks.size());
}

std::string without_thought(std::string answer) {
  constexpr std::string_view kOpen = "<think>", kClose = "</think>";
  const std::size_t open = answer.find(kOpen),
                    begin = open == std::string::npos ? open : open + kOpen.size();
  const std::size_t end = begin == std::string::npos ? begin : answer.find(kClose, begin);
  if (end != std::string::npos) answer.erase(begin, end - begin);
  return answer;
}

}  // namespace rollcall::text
