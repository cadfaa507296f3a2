// Reads a line of `rollcall score` and judges it with a verifier.
#include "app/tools/score_line.hpp"

#include "base/errors/error.hpp"
#include "base/text/exact_number.hpp"
#include "base/text/foreign_json.hpp"
#include "base/text/json.hpp"
#include "text/answer/accepted_answers.hpp"
#include "text/tokenizer/text_files.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

namespace rollcall::app {
namespace {

using Json = nlohmann::ordered_json;

/// A JSON text as its characters, another JSON value as JSON, which verifiers with structured
/// references read.
std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// A reference that accepts each text and number of the list. A list with other entries is not a
/// choice and goes to the verifier as JSON.
std::string accepting_each(const Json& list) {
  std::vector<std::string> answers;
  for (const Json& one : list) {
    if (!one.is_string() && !one.is_number()) return text::accepting(list.dump());
    answers.push_back(text_of(one));
  }
  return text::accepting(answers);
}

/// The row, in the form that a run passes to its command. Its fields are under "extra" or next to
/// the answer.
std::string extra_of(const Json& value) {
  if (value.contains("extra")) return value["extra"].dump();
  Json fields = Json::object();
  for (const auto& [key, field] : value.items())
    if (key != "response" && key != "prompt" && key != "answer" && key != "tests")
      fields[key] = field;
  return fields.empty() ? std::string() : fields.dump();
}

}  // namespace

Answered answered(const ScoreLine& line, const std::string& file) {
  const auto need = [&](bool ok, const std::string& problem) {
    require(ok, fmt::format("{}:{}: {}", file, line.number, problem), "the line cannot be scored",
            R"(write {"response": "...", "answer": "..."} a line, in UTF-8)");
  };
  std::string fault;
  const std::string json = text::valid_utf8(line.text);
  const Json value = parse_foreign<Json>(json, fault);
  need(fault.empty(), fault);
  need(value.contains("response") && value["response"].is_string(), "no text under \"response\"");
  const char* reference = value.contains("tests") ? "tests" : "answer";
  need(value.contains(reference) && !value[reference].is_null(),
       "neither \"answer\" nor \"tests\"");
  need(!value.contains("prompt") || value["prompt"].is_string(),
       "what is under \"prompt\" is no text");
  need(!value.contains("extra") || value["extra"].is_object(),
       "what is under \"extra\" is no object");
  Answered result;
  result.extra = extra_of(value);
  const Json& given = value[reference];
  const bool is_list = given.is_array() && !value.contains("tests");
  need(!is_list || !given.empty(), "an empty list under \"answer\"");
  if (is_list) result.prompt.answer = accepting_each(given);
  else
    result.prompt.answer =
        text::accepting(given.is_number() ? exact_number(json, reference) : text_of(given));
  result.prompt.text = value.value("prompt", std::string());
  result.response = value["response"].get<std::string>();
  return result;
}

std::string score_line(const reward::Grader& judge, const ScoreLine& line,
                       const std::string& file) {
  const auto [prompt, response, extra] = answered(line, file);
  Score score;
  std::string problem;
  try {
    score = judge.score(prompt, response, true);
    if (score.undecided) problem = judge.reference_problem(prompt);
  } catch (const InputError& unusable) {
    throw InputError(fmt::format("{}:{}: {}", file, line.number, unusable.what()));
  }
  if (!problem.empty()) score.reason = fmt::format("{}:{}: {}", file, line.number, problem);
  if (score.reason.empty() && !score.correct)
    score.reason =
        score.answer.empty() ? "no answer was found" : "another answer than the reference";
  const Json verdict = {{"verdict", score.undecided ? "undecided"
                                    : score.correct ? "correct"
                                                    : "wrong"},
                        {"score", score.reward},
                        {"reason", score.reason},
                        {"extracted", score.answer.empty() ? Json() : Json(score.answer)}};
  return verdict.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool write_verdicts(const std::string& lines) {
  const bool is_written = std::fwrite(lines.data(), 1, lines.size(), stdout) == lines.size() &&
                          std::fflush(stdout) == 0;
  if (!is_written && errno == EPIPE) return false;
  require<StorageError>(is_written,
                        fmt::format("the verdicts cannot be written: {}", std::strerror(errno)),
                        "their reader would miss them", "free space, or write elsewhere");
  return true;
}

}  // namespace rollcall::app
