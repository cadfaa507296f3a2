// Text to a file or, with control characters as escapes, to standard output. A reader that went
// away (head, a closed pager) is no error: write() says so and the command ends.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace rollcall::app::archive {

class Output {
 public:
  Output() : Output({}, {}) {}  ///< standard output
  /// An empty path is standard output. A file appears under its name with finish(), whole, in place
  /// of an earlier one with this beginning alone. Throws ConfigError, StorageError.
  Output(std::filesystem::path path, std::string_view beginning);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  /// False when nobody reads any more.
  bool write(std::string_view text);
  void finish();

 private:
  bool flush();
  std::filesystem::path path_, partial_;
  int fd_;
  bool open_ = true;  ///< somebody reads
  std::string buffer_;
};

}  // namespace rollcall::app::archive
