// The table of verifiers, and the scalar reward.
#include "base/errors/error.hpp"
#include "base/errors/nearest.hpp"
#include "reward/graders.hpp"
#include "reward/math/decide.hpp"
#include "reward/verifier.hpp"
#include "text/answer/accepted_answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <tuple>

namespace rollcall::reward {
namespace {

const std::vector<Verifier>& table() {
  static const std::vector<Verifier> rows = {
      {"exact_match",
       "the reference itself (sorting)",
       {"correct", "format"},
       "whole",
       nullptr,
       judge_exact_match},
      {"integer_answer",
       "a canonical integer, or quotient r remainder (arithmetic)",
       {"correct", "format"},
       "whole",
       nullptr,
       judge_integer_answer},
      {"countdown_expression",
       "an expression that reaches the target (countdown)",
       {"correct", "format"},
       "whole",
       "expressions",
       judge_countdown_expression},
      {"marked_answer",
       "a number or text after a marker (file)",
       {"correct", "format"},
       "marker",
       nullptr,
       judge_marked_answer},
      {"code",
       "code that passes tests in the sandbox (code)",
       {"correct", "format", "passed"},
       "whole",
       "programs",
       judge_code},
      {"tag_structure",
       "sections in tags, each once and in order (tags)",
       {"correct", "format", "structure", "content"},
       "whole",
       "texts in tags",
       judge_tag_structure},
      {"json",
       "JSON that fits a schema and holds a value (json)",
       {"correct", "format", "validity", "structure", "correctness", "length"},
       "whole",
       "JSON",
       judge_json},
      {"tool_calls",
       "calls of functions, compared as trees",
       {"correct", "format", "name", "parameters", "values", "match"},
       "whole",
       "JSON",
       judge_call_answer},
      {"instructions",
       "instructions followed, as IFEval checks them (instructions)",
       {"correct", "format", "followed"},
       "whole",
       "texts",
       judge_instructions},
      {"multiple_choice",
       "one of several options (multiple_choice)",
       {"correct", "format"},
       "whole",
       "letters",
       judge_multiple_choice},
      {"word_order",
       "words in order (word_sorting)",
       {"correct", "format", "placed"},
       "whole",
       "words",
       judge_word_order},
      {"graph",
       "paths, orders, sets and numbers of a graph (graph)",
       {"correct", "format", "partial"},
       "whole",
       "nodes as often as numbers",
       judge_graph},
      {"knights_knaves",
       "who is a knight and who a knave (knights_knaves)",
       {"correct", "format", "partial"},
       "whole",
       "letters",
       judge_knights_knaves},
      {"quantity",
       "a number with its unit, compared exactly (units)",
       {"correct", "format", "closeness"},
       "whole",
       nullptr,
       judge_quantity},
      {"continuation",
       "a beginning of what follows in a text (corpus)",
       {"correct", "format", "closeness", "masked"},
       "whole",
       "sentences",
       judge_continuation},
      {"episode",
       "wrong, unless the environment says that the task is solved (key_door and other worlds)",
       {"correct", "format"},
       "whole",
       "actions",
       judge_episode},
      {"error_index",
       "the first wrong step of a solution, or -1; trains a critic",
       {"correct", "format", "verdict", "distance"},
       "boxed",
       nullptr,
       judge_error_index},
      {"math",
       "a mathematical answer in LaTeX or plain text, equal in value",
       {"correct", "format"},
       "math_answer",
       nullptr,
       judge_math_answer},
  };
  return rows;
}

}  // namespace

std::vector<std::string> verifier_names() {
  std::vector<std::string> names;
  for (const Verifier& row : table()) names.emplace_back(row.name);
  return names;
}

const Verifier& find_verifier(const std::string& name) {
  const auto row = std::find_if(table().begin(), table().end(),
                                [&](const Verifier& v) { return v.name == name; });
  require<ConfigError>(row != table().end(), fmt::format("verifier \"{}\" is unknown", name),
                       "responses could not be judged", suggest_name(name, verifier_names()));
  return *row;
}

const Verifier& chosen_verifier(const RewardSection& section, const std::string& of_task) {
  return find_verifier(section.verifier.empty() ? of_task : section.verifier);
}

Grader::Grader(const Verifier& verifier, const TaskSection& section, const RewardSection& reward)
    : verifier_(&verifier),
      extractor_(section.extract.empty() ? verifier.extract : section.extract,
                 section.answer_marker),
      format_weight_(section.format_weight),
      is_command_(!reward.command.empty()),
      components_(verifier.components) {
  for (const auto& name : section.forms) {
    const text::AnswerForm& form = text::find_answer_form(name);
    if (form.instruction != nullptr) parsers_.emplace_back(&form, text::Extractor(form.extract));
    if (&name == &section.forms.front()) evaluates_plainly_ = form.instruction == nullptr;
  }
  if (is_command_) {  // its answers may be anything
    components_ = {"correct"};
    components_.insert(components_.end(), reward.components.begin(), reward.components.end());
    return;
  }
  const auto refuse = [&](bool fits, const std::string& answers, const char* remedy) {
    require<ConfigError>(fits || !extractor_.numbers_only(),
                         fmt::format("task.extract is {}, and {}", extractor_.rule(), answers),
                         "no answer could ever be right", remedy);
  };
  const auto& operators = section.operators;
  refuse(verifier.answers == nullptr,
         fmt::format("answers of this task are {}",
                     verifier.answers == nullptr ? "" : verifier.answers),
         "choose final_line, answer_tag, boxed or whole");
  refuse(section.name != "arithmetic" ||
             std::find(operators.begin(), operators.end(), "/") == operators.end(),
         "a division's answer is a quotient and a remainder (28r9)",
         "leave / out of task.operators, or choose final_line, answer_tag, boxed or whole");
}

namespace {

/// Combines the verdicts for each of several accepted answers. An answer that equals one of them is
/// right. Otherwise, if one comparison could not be decided, the answer is undecided.
Score best_of(Prompt alone, const std::vector<std::string>& accepted,
              const std::function<Score(const Prompt&)>& score) {
  const auto rank = [](const Score& verdict) {
    return std::tuple(verdict.correct, verdict.undecided, verdict.reward);
  };
  std::optional<Score> best;
  for (const auto& answer : accepted) {
    alone.answer = answer;
    Score verdict = score(alone);
    if (!best || rank(verdict) > rank(*best)) best = std::move(verdict);
    if (best->correct) break;
  }
  return *best;
}

}  // namespace

std::string Grader::extraction() const {
  return evaluates_plainly_ ? extractor_.shown() : parsers_.front().second.shown();
}

const Grader::FormParser* Grader::parser_of(const std::string& asked) const {
  const auto found = std::find_if(parsers_.begin(), parsers_.end(), [&](const FormParser& parser) {
    return text::is_asked_in(*parser.first, asked);
  });
  return found == parsers_.end() ? nullptr : &*found;
}

Score Grader::score(const Prompt& prompt, std::string_view response, bool finished) const {
  if (const auto accepted = text::accepted_answers(prompt.answer); !accepted.empty())
    return best_of(prompt, accepted,
                   [&](const Prompt& alone) { return score_one(alone, response, finished); });
  const auto answer = text::only_answer(prompt.answer);
  if (answer.size() == prompt.answer.size()) return score_one(prompt, response, finished);
  Prompt alone = prompt;
  alone.answer = answer;
  return score_one(alone, response, finished);
}

Score Grader::score_one(const Prompt& prompt, std::string_view response, bool finished) const {
  const FormParser* parser = parser_of(prompt.text);
  const text::Extractor& extractor = parser != nullptr ? parser->second : extractor_;
  Score score;
  try {
    score = verifier_->judge(prompt, {response, finished, extractor.find(response, finished),
                                      extractor.rule() == "whole"});
  } catch (const InputError&) {  // the reference cannot be used, so no answer to it can be judged
    throw;
  } catch (const std::logic_error&) {  // a bug in the program is not hidden either
    throw;
  } catch (const std::exception& fault) {  // one verdict is lost, not the run
    return undecided(fmt::format("the verifier {} failed: {}", verifier_->name, fault.what()));
  }
  if (parser != nullptr && !score.undecided)
    score.components[1] = text::share_of_marks(*parser->first, response);
  // in [0, 1 + format_weight]
  score.reward = score.components[0] + format_weight_ * score.components[1];
  return score;
}

Score Grader::score(const Reply& reply, std::string_view response, bool finished) const {
  if (reply.undecided) return undecided(reply.reason);
  Score score{.components = {reply.correct ? 1.0 : 0.0},
              .reward = reply.score,
              .correct = reply.correct,
              .reason = reply.reason};
  score.components.insert(score.components.end(), reply.components.begin(), reply.components.end());
  score.answer = reply.extracted;
  if (const auto found = extractor_.find(response, finished);
      score.answer.empty() && found && found->complete)
    score.answer = found->text;
  return score;
}

std::string Grader::reference_problem(const Prompt& prompt) const {
  if (is_command_) return {};
  auto answers = text::accepted_answers(prompt.answer);
  if (answers.empty()) answers.emplace_back(text::only_answer(prompt.answer));
  Prompt alone = prompt;
  for (auto& answer : answers) {
    alone.answer = std::move(answer);
    std::string problem;
    if (verifier_->judge == judge_math_answer) problem = math::reference_problem(alone.answer);
    else
      verifier_->judge(alone, {{},
                               false,
                               std::nullopt,
                               // reads the reference first and uses nothing from this response
                               false});
    if (!problem.empty()) return problem;
  }
  return {};
}

Score Grader::undecided(std::string reason) const {
  return {.components = std::vector<double>(components_.size(), 0.0),
          .undecided = true,
          .reason = std::move(reason)};
}

}  // namespace rollcall::reward
