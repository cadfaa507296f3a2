// Reads in blocks and checks the limit after each.
#include "base/files/lines.hpp"

#include "base/errors/error.hpp"

#include <fmt/format.h>

#include <array>

namespace rollcall {
namespace {

constexpr std::size_t kBlock = 1 << 16;

void require_short(std::size_t bytes, std::size_t most, std::string_view what,
                   std::string_view unit) {
  require(bytes <= most, fmt::format("{} holds {} of more than {} bytes", what, unit, most),
          "its memory could grow without an end",
          "check that it is the file or the program that was meant");
}

}  // namespace

bool next_line(std::istream& in, std::string& line, std::string_view what) {
  std::array<char, kBlock> block;  // not cleared, which would take longer than reading most lines
  line.clear();
  for (;;) {
    in.getline(block.data(), block.size());
    const auto got = std::size_t(in.gcount());
    const bool ended = in.eof(), full = in.fail() && got == block.size() - 1;
    // otherwise `got` also counts the line break
    line.append(block.data(), ended || full || got == 0 ? got : got - 1);
    require_short(line.size(), kLongestLine, what, "a line");
    if (!full || ended || in.bad()) break;
    in.clear();
  }
  return !in.fail() || !line.empty();
}

std::string read_all(std::istream& in, std::string_view what) {
  std::array<char, kBlock> block;  // not cleared, because that takes time
  std::string text;
  while (in.read(block.data(), block.size()), in.gcount() > 0) {
    text.append(block.data(), std::size_t(in.gcount()));
    require_short(text.size(), kLongestInput, what, "a text");
  }
  return text;
}

}  // namespace rollcall
