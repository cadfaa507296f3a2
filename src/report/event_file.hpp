// TensorBoard event files: scalars as protocol buffers in TFRecord frames, written by hand so that
// no TensorFlow is needed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rollcall::report {

/// The check sum of a TFRecord frame: CRC-32C, rotated and offset so that a checksum of checksums
/// stays useful (tensorflow/core/lib/hash/crc32c.h).
std::uint32_t masked_crc32c(std::string_view bytes);
/// u64 length, u32 check of the length, payload, u32 check of the payload; little endian
/// (TensorFlow guide "TFRecord and tf.train.Example").
std::string tfrecord(std::string_view payload);

/// The three kinds of tensorflow.Event used here (tensorflow/core/util/event.proto), encoded.
std::string version_event(double wall_time);  ///< must come first in a file
/// Comes second in every file: a SessionLog START. From the second one of a folder on, readers drop
/// what earlier files hold at or after `step`.
std::string start_event(double wall_time, std::uint64_t step);
std::string scalar_event(double wall_time, std::uint64_t step,
                         const std::vector<std::pair<std::string, double>>& values);

/// Ends each event file of the folder before its first scalars of `first_step` or a later one, and
/// before a record that a crash tore.
void cut_event_files(const std::filesystem::path& folder, std::uint64_t first_step);

/// One new file in `folder`, named so that it sorts after every event file that is there: readers
/// take files in the order of their names.
class EventFile {
 public:
  /// `first_step`: this file replaces what earlier ones hold from there on, which is cut off them.
  /// Throws StorageError.
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

/// Removes the event files under `folder`, and nothing else.
void remove_event_files(const std::filesystem::path& folder);

}  // namespace rollcall::report
