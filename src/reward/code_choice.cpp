// Chooses the block of a response that is its answer, by its language and by whether it has what
// the tests need.
#include "reward/code_blocks.hpp"
#include "text/answer/answer_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

namespace rollcall::reward {
namespace {

using Words = std::set<std::string, std::less<>>;

/// Names of a language by its file extension, which is also a name.
constexpr std::array<std::pair<std::string_view, std::string_view>, 19> kLanguages = {{
    {"py", " py python python3 py3 "},
    {"c", " c "},
    {"h", " h c "},
    {"cpp", " cpp c++ cc cxx "},
    {"cc", " cc cpp c++ cxx "},
    {"cxx", " cxx cpp c++ cc "},
    {"sh", " sh bash shell zsh dash "},
    {"bash", " bash sh shell "},
    {"js", " js javascript node "},
    {"ts", " ts typescript "},
    {"rs", " rs rust "},
    {"go", " go golang "},
    {"rb", " rb ruby "},
    {"pl", " pl perl "},
    {"hs", " hs haskell "},
    {"ml", " ml ocaml "},
    {"kt", " kt kotlin "},
    {"cs", " cs csharp c# "},
    {"awk", " awk gawk mawk "},
}};

constexpr std::string_view kNoPrograms =
    " text txt plaintext plain output input console log stdout stdin pycon ";

bool is_among(std::string_view word, std::string_view words) {
  return words.find(fmt::format(" {} ", word)) != std::string_view::npos;
}

/// Whether a block in `language` may be the answer; true for any language if the ending is unknown.
bool is_wanted(std::string_view language, std::string_view ending) {
  if (is_among(language, kNoPrograms)) return false;
  if (language.empty() || ending.empty() || language == ending) return true;
  if (language.starts_with("language-")) language.remove_prefix(9);
  if (ending == "py" && language.starts_with("python") &&
      language.find_first_not_of("0123456789.", 6) == std::string_view::npos)
    return true;
  const auto row = std::find_if(kLanguages.begin(), kLanguages.end(),
                                [&](const auto& one) { return one.first == ending; });
  return row != kLanguages.end() && is_among(language, row->second);
}

bool is_of_a_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80) != 0;
}

std::string_view word_at(std::string_view text) {
  return text.substr(
      0, std::size_t(std::find_if_not(text.begin(), text.end(), is_of_a_word) - text.begin()));
}

std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

/// Names of functions, classes and variables that Python code defines at its top level.
Words defined_in(std::string_view code) {
  Words names;
  while (!code.empty()) {
    std::string_view line = next_line(code);
    for (const std::string_view keyword : {"async ", "def ", "class "}) {
      if (!line.starts_with(keyword)) continue;
      line = text::trim(line.substr(keyword.size()));
      if (keyword != "async ") names.emplace(word_at(line)), line = {};
    }
    const std::string_view word = word_at(line), rest = text::trim(line.substr(word.size()));
    if (!word.empty() && ((rest.starts_with('=') && !rest.starts_with("==")) ||
                          (rest.starts_with(':') && rest.find('=') != std::string_view::npos)))
      names.emplace(word);
  }
  return names;
}

/// Names that the tests call or pass to a call, except those that they define.
Words called_in(std::string_view tests) {
  Words names;
  for (std::size_t at = 0; at < tests.size();) {
    const std::string_view word = word_at(tests.substr(at));
    const std::size_t after = at + word.size();
    const char behind = after < tests.size() ? tests[after] : ' ',
               before = at == 0 ? ' ' : tests[std::min(at, tests.find_last_not_of(' ', at - 1))];
    const bool is_handed = (before == '(' || before == ',') && (behind == ')' || behind == ',');
    if (!word.empty() && (behind == '(' || is_handed)) names.emplace(word);
    at = after + (word.empty() ? 1 : 0);
  }
  for (const auto& own : defined_in(tests)) names.erase(own);
  return names;
}

bool has_one_of(std::string_view code, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return code.find(word) != std::string_view::npos;
  });
}

/// Whether code is a session and not a program: every line is a shell or Python prompt with its
/// input, or its only line runs the file.
bool is_session(const std::string& code, const std::string& file) {
  std::string_view rest = code;
  std::size_t lines = 0, prompts = 0;
  for (; !rest.empty();) {
    const std::string_view line = text::trim(next_line(rest));
    if (line.empty()) continue;
    ++lines;
    prompts += line.starts_with("$ ") || line.starts_with(">>> ") || line.starts_with("% ") ? 1 : 0;
  }
  return (prompts > 0 && code.find_first_not_of(" \n") == code.find_first_of("$>%")) ||
         (lines == 1 && !file.empty() && code.find(file) != std::string::npos);
}

/// Measures how well a block fits, by the number of things that the tests need and the block has.
class Needs {
 public:
  explicit Needs(const CodeTests& tests) : tests_(&tests) {
    if (!tests.asserts.empty()) called_ = called_in(tests.asserts);
    for (const auto& one : tests.cases) {
      reads_ = reads_ || !text::trim(one.input).empty();
      writes_ = writes_ || !text::trim(one.output).empty();
    }
  }
  int met_by(const CodeBlock& block) const {
    if (text::trim(block.code).empty() ||
        is_session(block.code, tests_->command.empty() ? "" : tests_->file))
      return -1;
    if (!tests_->asserts.empty()) {
      const Words defined = defined_in(block.code);
      return int(std::count_if(defined.begin(), defined.end(),
                               [&](const auto& name) { return called_.contains(name); }));
    }
    if (is_sample(block.code)) return -1;
    if (!tests_->command.empty()) return block.language.empty() ? 0 : 1;
    return (writes_ && has_one_of(block.code, {"print", "write", "stdout"}) ? 2 : 0) +
           (reads_ && has_one_of(block.code, {"input", "stdin", "open(0", "read("}) ? 1 : 0);
  }

 private:
  bool is_sample(std::string_view code) const {
    return std::any_of(tests_->cases.begin(), tests_->cases.end(), [&](const StdioCase& one) {
      return !text::trim(code).empty() && (text::trim(code) == text::trim(one.output) ||
                                           text::trim(code) == text::trim(one.input));
    });
  }
  const CodeTests* tests_;
  Words called_;
  bool reads_ = false, writes_ = false;
};

/// The code without the spaces that all its lines begin with. A fence at the very beginning lost
/// its indentation when the answer was extracted.
std::string without_common_indent(const std::string& code) {
  std::size_t common = std::string::npos;
  for (std::string_view rest = code; !rest.empty();) {
    const std::string_view line = next_line(rest);
    if (!text::trim(line).empty()) common = std::min(common, line.find_first_not_of(' '));
  }
  if (common == 0 || common == std::string::npos) return code;
  std::string moved;
  for (std::string_view rest = code; !rest.empty();) {
    const std::string_view line = next_line(rest);
    moved.append(line.substr(std::min(common, line.size()))).append(1, '\n');
  }
  return moved;
}

std::string_view ending_of(const CodeTests& tests) {
  if (tests.command.empty()) return "py";
  const std::size_t dot = tests.file.rfind('.');
  if (dot != std::string::npos) return std::string_view(tests.file).substr(dot + 1);
  const auto row = std::find_if(kLanguages.begin(), kLanguages.end(), [&](const auto& one) {
    return is_among(tests.command.front(), one.second);
  });
  return row == kLanguages.end() ? std::string_view() : row->first;
}

}  // namespace

FoundCode find_code(std::string_view response, bool finished, const CodeTests& tests) {
  const std::vector<CodeBlock> blocks = code_blocks(response);
  if (blocks.empty()) return {std::string(text::trim(response)), finished};
  const Needs needs(tests);
  const CodeBlock* found = nullptr;
  int most = -2;
  for (const CodeBlock& block : blocks) {
    if (!is_wanted(block.language, ending_of(tests))) continue;
    const int met = needs.met_by(block);
    if (met >= most) most = met, found = &block;
  }
  if (found == nullptr) found = &blocks.back();
  return {ending_of(tests) == "py" ? without_common_indent(found->code) : found->code,
          found->closed || finished};
}

}  // namespace rollcall::reward
