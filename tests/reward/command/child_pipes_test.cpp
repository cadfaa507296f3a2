// The pipes of a process that reads slowly: all bytes come, in order, and those that were written
// are not kept.
#include "reward/command/child_pipes.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <fstream>
#include <string>

namespace rollcall::reward {
namespace {

/// Bytes of this process that are in memory.
std::size_t resident() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0, pages = 0;
  file >> all >> pages;
  return pages * std::size_t(::sysconf(_SC_PAGESIZE));
}

/// Pipes to a process whose standard input is read here.
struct Reader {
  Pipe input{};
  ChildPipes pipes;

  Reader() : pipes(child()) {}
  Child child() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
    input = Pipe(ends[0]);
    return {-1, Pipe(ends[1]), Pipe(), Pipe()};
  }
  /// The next bytes, while the pipes are written to as far as there is room.
  std::string read(std::size_t count) {
    std::string bytes(count, '\0');
    for (std::size_t at = 0; at < count;) {
      const auto got = ::read(input.fd(), bytes.data() + at, count - at);
      if (got > 0) at += std::size_t(got);
      else if (pipes.has_to_write()) pipes.write();
      else return bytes.substr(0, at);
    }
    return bytes;
  }
};

TEST(ChildPipes, AProcessThatLagsBehindCostsWhatItHasToRead) {
  constexpr std::size_t kLine = std::size_t{1} << 20U, kLag = 200000, kLines = 200;
  Reader reader;
  std::string line(kLine, 'x');
  line.back() = '\n';
  reader.pipes.send(line);
  EXPECT_EQ(reader.read(kLine - kLag), line.substr(0, kLine - kLag));
  const std::size_t before = resident();
  for (std::size_t i = 0; i < kLines; ++i) {
    reader.pipes.send(line);
    ASSERT_TRUE(reader.pipes.has_to_write()) << "the pipe itself holds less";
    ASSERT_EQ(reader.read(kLine), line.substr(kLine - kLag) + line.substr(0, kLine - kLag));
  }
  EXPECT_LT(resident(), before + 64 * kLine);
  EXPECT_EQ(reader.read(2 * kLag), line.substr(kLine - kLag));
  EXPECT_FALSE(reader.pipes.has_to_write());
}

}  // namespace
}  // namespace rollcall::reward
