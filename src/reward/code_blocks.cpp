// Containers line by line, as CommonMark nests them; then what a block must have.
#include "reward/code_blocks.hpp"

#include "text/answer_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>

namespace rollcall::reward {
namespace {

/// A block quote, or a list item whose content begins `offset` columns after the container around it.
struct Container {
  bool is_quote = false;
  std::size_t offset = 0;
};

/// A line without its line break, and how far it has been read. A tab counts up to the next column that four divides.
class Line {
 public:
  explicit Line(std::string_view text) : text_(text) {}
  std::size_t indent() const {
    std::size_t column = column_ + left_, at = at_;
    for (; at < text_.size() && (text_[at] == ' ' || text_[at] == '\t'); ++at) column += text_[at] == ' ' ? 1 : 4 - column % 4;
    return column - column_;
  }
  std::string_view words() const { return text_.substr(std::min(text_.find_first_not_of(" \t", at_), text_.size())); }  ///< behind the indentation
  bool is_blank() const { return text::trim(words()).empty(); }
  std::string rest() const { return std::string(left_, ' ').append(text_.substr(at_)); }
  void skip(std::size_t columns) {
    for (; columns > 0 && (left_ > 0 || at_ < text_.size()); --columns, ++column_) {
      if (left_ == 0) left_ = text_[at_] == '\t' ? 4 - column_ % 4 : 1, ++at_;
      --left_;
    }
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0, column_ = 0;
  std::size_t left_ = 0;  // columns of a tab that was read in part
};

bool enter_quote(Line& line) {
  const std::size_t indent = line.indent();
  if (indent > 3 || !line.words().starts_with('>')) return false;
  line.skip(indent + 1);
  line.skip(line.indent() > 0 ? 1 : 0);
  return true;
}

/// The width of a list item's marker (`-`, `+`, `*`, `12.`, `12)`); 0 where none begins here.
std::size_t marker_width(std::string_view text) {
  const std::size_t digits = std::size_t(std::find_if_not(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); }) - text.begin());
  const bool is_marker = text.size() > digits && (digits == 0 ? std::string_view("-+*") : std::string_view(digits < 10 ? ".)" : "")).find(text[digits]) != std::string_view::npos;
  return is_marker ? digits + 1 : 0;
}

bool enter_item(Line& line, std::size_t& offset) {
  const std::size_t indent = line.indent(), width = indent > 3 ? 0 : marker_width(line.words());
  if (width == 0) return false;
  Line content = line;
  content.skip(indent + width);
  const std::size_t spaces = content.indent();
  if (spaces == 0 && !content.is_blank()) return false;
  offset = indent + width + (content.is_blank() || spaces > 4 ? 1 : spaces);
  line.skip(offset);
  return true;
}

/// Those of the open containers that the line goes on with; it has been read up to their content. An item whose block is open takes lines with less indentation too.
std::size_t go_on(Line& line, const std::vector<Container>& open, bool in_block) {
  std::size_t at = 0;
  for (; at < open.size(); ++at) {
    if (open[at].is_quote && !enter_quote(line)) break;
    if (open[at].is_quote) continue;
    if (!in_block && !line.is_blank() && line.indent() < open[at].offset) break;
    line.skip(std::min(line.indent(), open[at].offset));
  }
  return at;
}

void enter_all(Line& line, std::vector<Container>& open) {
  for (std::size_t offset = 0;;) {
    if (enter_quote(line)) open.push_back({true, 0});
    else if (enter_item(line, offset)) open.push_back({false, offset});
    else return;
  }
}

struct Fence {
  char mark = '`';
  std::size_t length = 0, indent = 0;
  std::string_view info;
};

/// At least three ` or ~ after at most three spaces. A fence of backticks has none in what follows it: that would be code within a line.
std::optional<Fence> fence_of(const Line& line) {
  const std::size_t indent = line.indent();
  const std::string_view text = line.words();
  if (indent > 3 || text.empty() || (text[0] != '`' && text[0] != '~')) return std::nullopt;
  const std::size_t length = std::min(text.find_first_not_of(text[0]), text.size());
  const std::string_view info = text::trim(text.substr(length));
  if (length < 3 || (text[0] == '`' && info.find('`') != std::string_view::npos)) return std::nullopt;
  return Fence{text[0], length, indent, info};
}

std::string language_of(std::string_view info) {
  std::string word(info.substr(0, std::min(info.find_first_of(" \t,:;"), info.size())));
  std::erase_if(word, [](char c) { return c == '{' || c == '}'; });
  word.erase(0, word.find_first_not_of('.') == std::string::npos ? word.size() : word.find_first_not_of('.'));
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return word;
}

}  // namespace

std::vector<CodeBlock> code_blocks(std::string_view text) {
  std::vector<CodeBlock> blocks;
  std::vector<Container> open;
  std::optional<Fence> fence;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    Line line(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::size_t matched = go_on(line, open, fence.has_value());
    if (fence && matched == open.size()) {
      const auto closing = fence_of(line);
      if (closing && closing->mark == fence->mark && closing->length >= fence->length && closing->info.empty()) {
        blocks.back().closed = true;
        fence.reset();
        continue;
      }
      line.skip(std::min(line.indent(), fence->indent));
      blocks.back().code.append(line.rest()).append(end == std::string_view::npos ? "" : "\n");
      continue;
    }
    fence.reset();  // the end of a block quote ends its blocks
    open.resize(matched);
    enter_all(line, open);
    fence = fence_of(line);
    if (fence) blocks.push_back({language_of(fence->info), {}, false});
  }
  return blocks;
}

namespace {

using Words = std::set<std::string, std::less<>>;

/// Names of a language by the ending of its files, the ending included.
constexpr std::array<std::pair<std::string_view, std::string_view>, 19> kLanguages = {{
    {"py", " py python python3 py3 "}, {"c", " c "}, {"h", " h c "}, {"cpp", " cpp c++ cc cxx "}, {"cc", " cc cpp c++ cxx "}, {"cxx", " cxx cpp c++ cc "},
    {"sh", " sh bash shell zsh dash "}, {"bash", " bash sh shell "}, {"js", " js javascript node "}, {"ts", " ts typescript "}, {"rs", " rs rust "},
    {"go", " go golang "}, {"rb", " rb ruby "}, {"pl", " pl perl "}, {"hs", " hs haskell "}, {"ml", " ml ocaml "}, {"kt", " kt kotlin "}, {"cs", " cs csharp c# "},
    {"awk", " awk gawk mawk "},
}};

constexpr std::string_view kNoPrograms = " text txt plaintext plain output input console log stdout stdin pycon ";

bool is_among(std::string_view word, std::string_view words) { return words.find(fmt::format(" {} ", word)) != std::string_view::npos; }

/// Whether a block in `language` may be the answer; any program, where the ending says nothing.
bool is_wanted(std::string_view language, std::string_view ending) {
  if (is_among(language, kNoPrograms)) return false;
  if (language.empty() || ending.empty() || language == ending) return true;
  if (language.starts_with("language-")) language.remove_prefix(9);
  if (ending == "py" && language.starts_with("python") && language.find_first_not_of("0123456789.", 6) == std::string_view::npos) return true;
  const auto row = std::find_if(kLanguages.begin(), kLanguages.end(), [&](const auto& one) { return one.first == ending; });
  return row != kLanguages.end() && is_among(language, row->second);
}

bool is_of_a_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80) != 0; }

std::string_view word_at(std::string_view text) {
  return text.substr(0, std::size_t(std::find_if_not(text.begin(), text.end(), is_of_a_word) - text.begin()));
}

std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

/// Functions, classes and variables that Python code makes at its top.
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
    if (!word.empty() && ((rest.starts_with('=') && !rest.starts_with("==")) || (rest.starts_with(':') && rest.find('=') != std::string_view::npos))) names.emplace(word);
  }
  return names;
}

/// Names that the tests call or hand to a call, but for those that they define.
Words called_in(std::string_view tests) {
  Words names;
  for (std::size_t at = 0; at < tests.size();) {
    const std::string_view word = word_at(tests.substr(at));
    const std::size_t after = at + word.size();
    const char behind = after < tests.size() ? tests[after] : ' ', before = at == 0 ? ' ' : tests[std::min(at, tests.find_last_not_of(' ', at - 1))];
    const bool is_handed = (before == '(' || before == ',') && (behind == ')' || behind == ',');
    if (!word.empty() && (behind == '(' || is_handed)) names.emplace(word);
    at = after + (word.empty() ? 1 : 0);
  }
  for (const auto& own : defined_in(tests)) names.erase(own);
  return names;
}

bool has_one_of(std::string_view code, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return code.find(word) != std::string_view::npos; });
}

/// Every line is a prompt of a shell or of Python with what was typed, or the one line runs the file.
bool is_session(const std::string& code, const std::string& file) {
  std::string_view rest = code;
  std::size_t lines = 0, prompts = 0;
  for (; !rest.empty();) {
    const std::string_view line = text::trim(next_line(rest));
    if (line.empty()) continue;
    ++lines;
    prompts += line.starts_with("$ ") || line.starts_with(">>> ") || line.starts_with("% ") ? 1 : 0;
  }
  return (prompts > 0 && code.find_first_not_of(" \n") == code.find_first_of("$>%")) || (lines == 1 && !file.empty() && code.find(file) != std::string::npos);
}

/// How well a block serves: the number of things that the tests need and it has.
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
    if (text::trim(block.code).empty() || is_session(block.code, tests_->command.empty() ? "" : tests_->file)) return -1;
    if (!tests_->asserts.empty()) {
      const Words defined = defined_in(block.code);
      return int(std::count_if(defined.begin(), defined.end(), [&](const auto& name) { return called_.contains(name); }));
    }
    if (is_sample(block.code)) return -1;
    if (!tests_->command.empty()) return block.language.empty() ? 0 : 1;
    return (writes_ && has_one_of(block.code, {"print", "write", "stdout"}) ? 2 : 0) + (reads_ && has_one_of(block.code, {"input", "stdin", "open(0", "read("}) ? 1 : 0);
  }

 private:
  bool is_sample(std::string_view code) const {
    return std::any_of(tests_->cases.begin(), tests_->cases.end(), [&](const StdioCase& one) {
      return !text::trim(code).empty() && (text::trim(code) == text::trim(one.output) || text::trim(code) == text::trim(one.input));
    });
  }
  const CodeTests* tests_;
  Words called_;
  bool reads_ = false, writes_ = false;
};

/// Without the spaces that all lines begin with: of a fence at the very beginning, which the search for the answer has taken from its line alone.
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
  const auto row = std::find_if(kLanguages.begin(), kLanguages.end(), [&](const auto& one) { return is_among(tests.command.front(), one.second); });
  return row == kLanguages.end() ? std::string_view() : row->first;
}

}  // namespace

FoundCode find_code(std::string_view response, bool finished, const CodeTests& tests) {
  const std::vector<CodeBlock> blocks = code_blocks(response);
  if (blocks.empty()) return {std::string(response), finished};
  const Needs needs(tests);
  const CodeBlock* found = nullptr;
  int most = -2;
  for (const CodeBlock& block : blocks) {
    if (!is_wanted(block.language, ending_of(tests))) continue;
    const int met = needs.met_by(block);
    if (met >= most) most = met, found = &block;
  }
  if (found == nullptr) found = &blocks.back();
  return {ending_of(tests) == "py" ? without_common_indent(found->code) : found->code, found->closed};
}

}  // namespace rollcall::reward
