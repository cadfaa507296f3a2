// References in JSON, fences, and what counts as the same output.
#include "reward/code_tests.hpp"

#include "base/error.hpp"
#include "base/foreign_json.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace rollcall::reward {
namespace {

using nlohmann::json;

std::string_view without_trailing_space(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n\f\v");
  return text.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

/// The length of the run of ` or ~ that a line begins with, after at most three spaces; 0 where it is no fence.
std::size_t fence_of(std::string_view line, char& mark) {
  const std::size_t from = line.find_first_not_of(' ');
  if (from == std::string_view::npos || from > 3 || (line[from] != '`' && line[from] != '~')) return 0;
  mark = line[from];
  const std::size_t end = line.find_first_not_of(mark, from);
  const std::size_t length = (end == std::string_view::npos ? line.size() : end) - from;
  return length >= 3 ? length : 0;
}

bool closes(std::string_view line, char mark, std::size_t length) {
  char other = 0;
  return fence_of(line, other) >= length && other == mark && without_trailing_space(line).find_last_not_of(mark) == line.find_first_of(mark) - 1;
}

std::vector<StdioCase> cases_of(const json& reference) {
  std::vector<StdioCase> cases;
  for (const json& one : reference.at("cases")) cases.push_back({one.at("input").get<std::string>(), one.at("output").get<std::string>()});
  return cases;
}

}  // namespace

CodeTests parse_code_tests(std::string_view reference) {
  const auto refuse = [&](const std::string& problem) {
    require<InputError>(false, fmt::format("a code task's answer is no set of tests: {}", problem), "the response could not be judged",
                        R"(write {"type": "stdio", "cases": [{"input": "", "output": ""}]}, or of type assert with code, or of type command)");
  };
  CodeTests tests;
  try {
    std::string fault;
    const json all = parse_foreign<json>(reference, fault);
    if (!fault.empty()) refuse(fault);
    const std::string type = all.value("type", all.contains("command") ? "command" : "stdio");
    if (type == "assert") {
      tests.asserts = all.at("code").get<std::string>();
    } else if (type == "stdio" || type == "command") {
      tests.cases = cases_of(all);
      if (type == "command") tests.command = all.at("command").get<std::vector<std::string>>();
      tests.file = all.value("file", "solution");
    } else {
      refuse(fmt::format("its type is \"{}\"", type));
    }
    if (type == "command" && tests.command.empty()) refuse("its command is empty");
    if (tests.file.find('/') != std::string::npos) refuse("its file has a slash");
  } catch (const json::exception& problem) {
    refuse(fault_of(problem));
  }
  if (tests.asserts.empty() && tests.cases.empty()) refuse("it is empty");
  return tests;
}

FoundCode find_code(std::string_view response, bool finished) {
  FoundCode found{std::string(response), finished};
  std::string_view rest = response;
  while (!rest.empty()) {
    char mark = 0;
    const std::size_t length = fence_of(take_line(rest), mark);
    if (length == 0) continue;
    const char* begin = rest.data();
    found = {std::string(rest), false};
    while (!rest.empty()) {
      const std::string_view line = take_line(rest);
      if (!closes(line, mark, length)) continue;
      found = {std::string(begin, std::size_t(line.data() - begin)), true};
      break;
    }
  }
  return found;
}

bool same_output(std::string_view got, std::string_view wanted) {
  got = without_trailing_space(got);
  wanted = without_trailing_space(wanted);
  while (!got.empty() && !wanted.empty()) {
    if (without_trailing_space(take_line(got)) != without_trailing_space(take_line(wanted))) return false;
  }
  return got.empty() && wanted.empty();
}

}  // namespace rollcall::reward
