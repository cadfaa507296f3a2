// rollcall tokenize: turns texts into ids and back, as a filter of JSON lines.
#include "app/commands.hpp"
#include "base/files/file.hpp"
#include "base/files/lines.hpp"
#include "base/text/json.hpp"
#include "text/tokenizer/text_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

namespace rollcall::app {
namespace {

using Json = nlohmann::json;
constexpr std::size_t kBlock = 1 << 16;

struct TokenizeFlags {
  std::string source;
  bool special = false, decode = false;
};

/// Reads lines and writes answers. Answers are written when a block is full and before the program
/// waits for input. Many lines are processed fast in this way, and a user at the other end of a
/// pipe still gets each answer at once.
class Lines {
 public:
  /// The next line without its end. Returns false if there is none.
  bool next(std::string_view& line) {
    std::size_t end = input_.find('\n', at_);
    while (end == std::string::npos && fill()) end = input_.find('\n', searched_);
    if (end == std::string::npos && at_ == input_.size()) return false;
    end = std::min(end, input_.size());
    line = std::string_view(input_).substr(at_, end - at_);
    at_ = std::min(end + 1, input_.size());
    return true;
  }

  std::string& answers() { return answers_; }
  void end_answer() {
    answers_ += '\n';
    if (answers_.size() >= kBlock) flush();
  }

  void flush() {
    const bool is_written =
        std::fwrite(answers_.data(), 1, answers_.size(), stdout) == answers_.size() &&
        std::fflush(stdout) == 0;
    require<StorageError>(is_written, "the answers cannot be written",
                          "their reader would miss them", "keep the reading end open");
    answers_.clear();
  }

 private:
  /// Reads what is available. Returns false at the end of the input.
  bool fill() {
    flush();
    input_.erase(0, at_), at_ = 0;
    searched_ = input_.size();
    input_.resize(searched_ + kBlock);
    ssize_t got = 0;
    do got = ::read(STDIN_FILENO, input_.data() + searched_, kBlock);
    while (got < 0 && errno == EINTR);
    if (got < 0) reading_failure("read", "standard input", errno);
    input_.resize(searched_ + std::size_t(got));
    require(input_.size() <= kLongestLine,
            fmt::format("standard input holds a line of more than {} bytes", kLongestLine),
            "it is read as a whole", "write one JSON value a line");
    return got > 0;
  }

  std::string input_, answers_;
  std::size_t at_ = 0, searched_ = 0;
};

/// Invalid UTF-8 is read as U+FFFD, as in Python with errors="replace".
Json parse_line(std::string_view line, std::size_t number) {
  Json value = Json::parse(text::valid_utf8(line), nullptr, false);
  require(!value.is_discarded(), fmt::format("line {} of the input is not JSON", number),
          "it cannot be converted", "write one JSON value a line, in UTF-8");
  return value;
}

void encode_line(const text::Tokenizer& tokenizer, const Json& value, const TokenizeFlags& flags,
                 std::size_t number, std::string& to) {
  require(value.is_string(), fmt::format("line {} of the input is not a JSON string", number),
          "each line holds one text", "write \"...\", or use --decode for lists of ids");
  const auto& text = value.get_ref<const std::string&>();
  const auto tokens = flags.special ? tokenizer.encode_sequence(text) : tokenizer.encode(text);
  to += '[';
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0) to += ", ";
    const fmt::format_int id(tokens[i]);
    to.append(id.data(), id.size());
  }
  to += ']';
}

void decode_line(const text::Tokenizer& tokenizer, const Json& value, const TokenizeFlags& flags,
                 std::size_t number, std::string& to) {
  const auto is_id = [](const Json& id) {
    return id.is_number_unsigned() && id.get<std::uint64_t>() <= 0x7FFFFFFF;
  };
  require(value.is_array() && std::all_of(value.begin(), value.end(), is_id),
          fmt::format("line {} of the input is not a JSON array of ids", number),
          "each line holds the tokens of one text",
          "write [1, 2, 3]; an id is a whole number of at least 0");
  const auto special =
      flags.special ? text::Tokenizer::Special::keep : text::Tokenizer::Special::skip;
  // ASCII only, so that no character of the text ends the line
  to += Json(tokenizer.decode(value.get<std::vector<std::int32_t>>(), special)).dump(-1, ' ', true);
}

ExitCode run(const TokenizeFlags& flags) {
  const std::filesystem::path source = flags.source;
  const auto tokenizer = std::filesystem::is_directory(source) ? text::read_folder_tokenizer(source)
                                                               : text::read_tokenizer_json(source);
  Lines lines;
  std::string_view line;
  try {
    for (std::size_t number = 1; lines.next(line); ++number) {
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      (flags.decode ? decode_line : encode_line)(*tokenizer, parse_line(line, number), flags,
                                                 number, lines.answers());
      lines.end_answer();
    }
  } catch (const InputError&) {
    lines.flush();  // writes the answers to the lines before
    throw;
  }
  lines.flush();
  return ExitCode::done;
}

constexpr const char* kFooter =
    R"(A line of the input holds one JSON string, and its line of the output one JSON array of ids: those of Hugging Face's tokenizers with
add_special_tokens=False, or True with --special. Of a folder the other files that name special tokens are read too, as transformers'
AutoTokenizer does. With --decode a line holds an array of ids, and its line of the output the text, without special tokens unless --special.)";

}  // namespace

void add_tokenize(Command program) {
  auto flags = std::make_shared<TokenizeFlags>();
  auto command = program.command(
      "tokenize", "turn texts into ids with a tokenizer.json, and back, one JSON value a line");
  command.option("tokenizer", flags->source, "a folder with a tokenizer.json, or the file")
      .required();
  command.flag("--special", flags->special,
               "add the special tokens around a text; with --decode, keep special tokens");
  command.flag("--decode", flags->decode, "ids to texts");
  command.footer(kFooter);
  command.runs([flags] { return run(*flags); });
}

}  // namespace rollcall::app
