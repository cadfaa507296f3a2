// Content in parts: borrowed and owned bytes come out in order, large parts as they are, and the
// checksum is that of the whole.
#include "base/files/file.hpp"
#include "base/numbers/hash.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace rollcall {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::string letters(std::size_t count, char first) {
  std::string text(count, '\0');
  for (std::size_t i = 0; i < count; ++i) text[i] = char(first + char(i % 23));
  return text;
}

TEST(FileContent, IsWrittenWholeAndInOrder) {
  const testing::TemporaryFolder folder;
  for (const auto& sizes : std::vector<std::vector<std::size_t>>{
           {0}, {3}, {3, kMiB, kMiB - 1, 2, 0}, {kMiB + 1, 1, kMiB}, {kMiB - 1, 2, 5}}) {
    std::string whole = letters(sizes.front(), 'A');
    FileContent content(whole);
    for (std::size_t i = 1; i < sizes.size(); ++i) {
      const auto owner =
          std::make_shared<const std::string>(letters(sizes[i], char('a' + char(i))));
      content.add(std::as_bytes(std::span(*owner)), owner);
      whole += *owner;
    }
    EXPECT_EQ(content.size(), whole.size());
    EXPECT_EQ(write_content_synced(folder.path() / "file", content), checksum64(whole));
    EXPECT_EQ(read_file(folder.path() / "file"), whole);
  }
}

TEST(FileContent, KeepsWhatItBorrowsAlive) {
  const testing::TemporaryFolder folder;
  FileContent content(std::string("head "));
  {
    const auto owner = std::make_shared<const std::string>("body");
    content.add(std::as_bytes(std::span(*owner)), owner);
  }
  write_content_synced(folder.path() / "file", content);
  EXPECT_EQ(read_file(folder.path() / "file"), "head body");
}

}  // namespace
}  // namespace rollcall
