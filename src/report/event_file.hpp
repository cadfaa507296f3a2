// TensorBoard event files: scalars as protocol buffers in TFRecord frames. They are encoded here,
// so that TensorFlow is not needed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rollcall::report {

/// Checksum in a TFRecord frame: CRC-32C, rotated and offset, so that data which contains checksums
/// can be checked as well (tensorflow/core/lib/hash/crc32c.h).
std::uint32_t masked_crc32c(std::string_view bytes);
/// The frame is: u64 length, u32 checksum of the length, payload, u32 checksum of the payload, all
/// little endian (TensorFlow guide "TFRecord and tf.train.Example").
std::string tfrecord(std::string_view payload);

/// Encodes the three kinds of tensorflow.Event that are used here
/// (tensorflow/core/util/event.proto).
std::string version_event(double wall_time);  ///< the first event of every file
/// The second event of every file, a SessionLog START. At the second START in a folder and at every
/// later one, readers drop the events of earlier files at or after `step`.
std::string start_event(double wall_time, std::uint64_t step);
std::string scalar_event(double wall_time, std::uint64_t step,
                         const std::vector<std::pair<std::string, double>>& values);

/// Cuts each event file of the folder before its first scalars of `first_step` or later, and before
/// a record that is incomplete after a crash.
void cut_event_files(const std::filesystem::path& folder, std::uint64_t first_step);

/// A new file in `folder`. Readers take files in the order of their names, so its name sorts after
/// every event file that is there.
class EventFile {
 public:
  /// This file replaces the events of earlier files from `first_step` on, which are cut off. Throws
  /// StorageError.
  EventFile(const std::filesystem::path& folder, std::uint64_t first_step);
  ~EventFile();
  EventFile(EventFile&& other) noexcept
      : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
  EventFile& operator=(EventFile&&) = delete;
  void write(std::uint64_t step, const std::vector<std::pair<std::string, double>>& values);

 private:
  std::filesystem::path path_;
  int fd_ = -1;
};

/// Removes the event files in `folder` and below, and no other files.
void remove_event_files(const std::filesystem::path& folder);

}  // namespace rollcall::report
