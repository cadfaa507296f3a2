// The protocol buffer wire format for the few messages that TensorBoard needs (protobuf.dev,
// "Encoding").
#include "report/event_file.hpp"

#include "base/files/file.hpp"
#include "report/append.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <boost/crc.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>
#include <optional>

namespace rollcall::report {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPrefix = "events.out.tfevents.";

template <class T>
std::string little_endian(T value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes += char(value >> (8 * i) & 0xff);
  return bytes;
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += char((value & 0x7f) | 0x80);
  return bytes + char(value);
}

// Fields by wire type: 0 is a varint, 1 is eight bytes, 2 is length-delimited, 5 is four bytes.
std::string integer(int field, std::uint64_t value) {
  return varint(std::uint64_t(field) << 3 | 0) + varint(value);
}
std::string real64(int field, double value) {
  return varint(std::uint64_t(field) << 3 | 1) + little_endian(std::bit_cast<std::uint64_t>(value));
}
std::string nested(int field, std::string_view bytes) {
  return varint(std::uint64_t(field) << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}
std::string real32(int field, float value) {
  return varint(std::uint64_t(field) << 3 | 5) + little_endian(std::bit_cast<std::uint32_t>(value));
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// The latest time in the names of the folder's event files, in Unix seconds; 0 if there is none.
std::uint64_t newest(const fs::path& folder) {
  std::uint64_t latest = 0;
  for (const auto& entry : list_folder(folder)) {
    const std::string name = entry.path().filename().string();
    std::uint64_t seconds = 0;
    if (name.starts_with(kPrefix))
      std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), seconds);
    latest = std::max(latest, seconds);
  }
  return latest;
}

fs::path next_name(const fs::path& folder) {
  char host[256] = "host";
  ::gethostname(host, sizeof host - 1);
  const std::uint64_t seconds = std::max(std::uint64_t(now()), newest(folder) + 1);
  return folder / fmt::format("{}{:010}.{}.{}", kPrefix, seconds, host, ::getpid());
}

std::uint64_t number_at(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i)
    value |= std::uint64_t(std::uint8_t(bytes[i])) << (8 * i);
  return value;
}

/// Removes a varint from the front and returns it; 0 if the bytes end within it.
std::uint64_t take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = std::uint8_t(bytes.front());
    bytes.remove_prefix(1);
    value |= std::uint64_t(byte & 0x7fU) << shift;
    if (byte < 0x80) return value;
  }
  return 0;
}

/// The step of an Event with scalars; no value for other events.
std::optional<std::uint64_t> scalar_step(std::string_view event) {
  std::uint64_t step = 0;
  bool scalars = false;
  while (!event.empty()) {
    const std::uint64_t key = take_varint(event), field = key >> 3, wire = key & 7;
    const std::uint64_t value = wire == 0 || wire == 2 ? take_varint(event) : 0;
    if (field == 2 && wire == 0) step = value;
    scalars = scalars || field == 5;
    const std::uint64_t length = wire == 1 ? 8 : wire == 2 ? value : wire == 5 ? 4 : 0;
    event.remove_prefix(std::min<std::size_t>(length, event.size()));
  }
  return scalars ? std::optional(step) : std::nullopt;
}

/// Length in bytes of the records before the first one that a reader must not see.
std::uint64_t length_before(std::string_view file, std::uint64_t first_step) {
  constexpr std::size_t kHead = 12, kFoot = 4;  // a record's length and its checksum; checksum of
                                                // the payload
  std::size_t at = 0;
  while (file.size() - at >= kHead + kFoot) {
    const std::uint64_t length = number_at(file.substr(at));
    if (length > file.size() - at - kHead - kFoot) break;
    if (const auto step = scalar_step(file.substr(at + kHead, length)); step && *step >= first_step)
      break;
    at += kHead + length + kFoot;
  }
  return at;
}

}  // namespace

std::uint32_t masked_crc32c(std::string_view bytes) {
  // the Castagnoli polynomial
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return std::rotr(std::uint32_t(crc.checksum()), 15) + 0xa282ead8U;
}

std::string tfrecord(std::string_view payload) {
  const std::string length = little_endian(std::uint64_t(payload.size()));
  return length + little_endian(masked_crc32c(length)) + std::string(payload) +
         little_endian(masked_crc32c(payload));
}

// Field numbers. Event: 1 wall_time, 2 step, 3 file_version, 5 summary, 7 session_log.
// Summary: 1 value. Value: 1 tag, 2 simple_value. SessionLog: 1 status (START = 1).
std::string version_event(double wall_time) {
  return real64(1, wall_time) + nested(3, "brain.Event:2");
}
std::string start_event(double wall_time, std::uint64_t step) {
  return real64(1, wall_time) + integer(2, step) + nested(7, integer(1, 1));
}

std::string scalar_event(double wall_time, std::uint64_t step,
                         const std::vector<std::pair<std::string, double>>& values) {
  std::string summary;
  for (const auto& [tag, value] : values)
    summary += nested(1, nested(1, tag) + real32(2, float(value)));
  return real64(1, wall_time) + integer(2, step) + nested(5, summary);
}

void cut_event_files(const fs::path& folder, std::uint64_t first_step) {
  for (const auto& entry : list_folder(folder)) {
    if (!entry.path().filename().string().starts_with(kPrefix)) continue;
    const std::string bytes = read_file(entry.path());
    const std::uint64_t length = length_before(bytes, first_step);
    if (length == bytes.size()) continue;
    const int fd = open_append(entry.path());
    truncate(fd, length, entry.path());
    ::close(fd);
  }
}

EventFile::EventFile(const fs::path& folder, std::uint64_t first_step) {
  make_folder(folder);
  cut_event_files(folder, first_step);
  path_ = next_name(folder);
  fd_ = open_append(path_);
  append(fd_, tfrecord(version_event(now())) + tfrecord(start_event(now(), first_step)), path_);
}

EventFile::~EventFile() {
  if (fd_ >= 0) ::close(fd_);
}

void EventFile::write(std::uint64_t step,
                      const std::vector<std::pair<std::string, double>>& values) {
  append(fd_, tfrecord(scalar_event(now(), step, values)), path_);
}

void remove_event_files(const fs::path& folder) {
  if (!fs::exists(folder)) return;
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().filename().string().starts_with(kPrefix))
      found.push_back(entry.path());
  }
  for (const auto& path : found) fs::remove(path);
}

}  // namespace rollcall::report
