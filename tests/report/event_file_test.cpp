// TensorBoard records: known check sums, bytes worked by hand, and names that sort in the order of
// writing.
#include "report/event_file.hpp"
#include "base/files/file.hpp"
#include "report/run_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

namespace rollcall::report {
namespace {

namespace fs = std::filesystem;

std::uint32_t unmasked(std::uint32_t masked) {
  const std::uint32_t rotated = masked - 0xa282ead8U;
  return rotated >> 17 | rotated << 15;
}

TEST(EventFile, Crc32cOfRfc3720) {
  // RFC 3720, appendix B.4.
  EXPECT_EQ(unmasked(masked_crc32c(std::string(32, '\0'))), 0x8A9136AAU);
  EXPECT_EQ(unmasked(masked_crc32c(std::string(32, '\xff'))), 0x62A8AB43U);
  EXPECT_EQ(unmasked(masked_crc32c("123456789")), 0xE3069283U);
}

TEST(EventFile, FramesHaveLengthAndTwoChecks) {
  const std::string frame = tfrecord("abc");
  ASSERT_EQ(frame.size(), 8U + 4 + 3 + 4);
  EXPECT_EQ(frame.substr(0, 8), std::string("\x03\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(frame.substr(12, 3), "abc");
}

TEST(EventFile, EventsAreTheBytesOfTheSchema) {
  // field 1, eight bytes: 1.0
  const std::string time = std::string("\x09", 1) + std::string("\0\0\0\0\0\0\xf0\x3f", 8);
  EXPECT_EQ(version_event(1.0), time +
                                    "\x1a\x0d"
                                    "brain.Event:2");
  // step 300 as a varint; SessionLog{status: START}
  EXPECT_EQ(start_event(1.0, 300), time + "\x10\xac\x02" + std::string("\x3a\x02\x08\x01", 4));
  const std::string value = std::string(
                                "\x0a\x01"
                                "x"
                                "\x15",
                                4) +
                            std::string("\0\0\0\x3f", 4);  // tag "x", simple_value 0.5
  EXPECT_EQ(scalar_event(1.0, 5, {{"x", 0.5}}),
            time + "\x10\x05" + "\x2a\x0a" + "\x0a\x08" + value);
}

TEST(EventFile, EveryFileBeginsWithVersionAndStart) {
  // TensorBoard takes the first START of a folder as its beginning and only later ones as restarts,
  // so the very first file needs one too.
  const RunFolder run;
  EventFile(run.path(), 300).write(300, {{"x", 0.5}});
  const std::string bytes = read_file(std::filesystem::directory_iterator(run.path())->path());
  const std::size_t version = tfrecord(version_event(0)).size(),
                    start = tfrecord(start_event(0, 300)).size();
  ASSERT_EQ(bytes.size(), version + start + tfrecord(scalar_event(0, 300, {{"x", 0.5}})).size());
  EXPECT_NE(bytes.substr(0, version).find("brain.Event:2"), std::string::npos);
  EXPECT_NE(bytes.substr(version, start).find(std::string("\x10\xac\x02\x3a\x02\x08\x01", 7)),
            std::string::npos);
}

/// What a resumed run writes again leaves the earlier files, and so does a record that the crash
/// tore; what is before stays byte for byte.
TEST(EventFile, EarlierFilesEndBeforeTheFirstStepOfTheNext) {
  const RunFolder run;
  EventFile(run.path(), 0).write(299, {{"x", 0.5}, {"tag of the name \x2a", 1.0}});
  const fs::path path = fs::directory_iterator(run.path())->path();
  const std::string before = read_file(path);
  std::ofstream(path, std::ios::app)
      << tfrecord(scalar_event(2.0, 300, {{"x", 0.5}}))
      << tfrecord(scalar_event(3.0, 301, {{"x", 0.5}})).substr(0, 20);
  cut_event_files(run.path(), 302);
  EXPECT_EQ(read_file(path), before + tfrecord(scalar_event(2.0, 300, {{"x", 0.5}})))
      << "only the torn record goes";
  cut_event_files(run.path(), 300);
  EXPECT_EQ(read_file(path), before);
  EventFile(run.path(), 300).write(300, {{"x", 0.25}});
  EXPECT_EQ(read_file(path), before);
}

TEST(EventFile, LaterFilesSortBehindEarlierOnes) {
  const RunFolder run;
  std::string last;
  for (int i = 0; i < 4; ++i) {
    EventFile file(run.path(), 0);
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(run.path()))
      names.insert(entry.path().filename().string());
    ASSERT_EQ(names.size(), std::size_t(i + 1));
    EXPECT_GT(*names.rbegin(), last);
    last = *names.rbegin();
  }
  write_file_atomic(run.path() / "notes.txt", "mine");
  remove_event_files(run.path());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(run.path()), {}), 1);
}

}  // namespace
}  // namespace rollcall::report
