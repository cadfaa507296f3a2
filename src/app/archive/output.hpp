// Text to a file, or to standard output with control characters as escapes. If the reader has gone
// away (head, a closed pager), write() returns false and the command ends without an error.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace rollcall::app::archive {

class Output {
 public:
  Output() : Output({}, {}) {}  ///< standard output
  /// An empty path is standard output. A file appears under its name, complete, with finish(). It
  /// replaces only an earlier file with this beginning. Throws ConfigError, StorageError.
  Output(std::filesystem::path path, std::string_view beginning);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  /// Returns false if the reader has gone away.
  bool write(std::string_view text);
  void finish();

 private:
  bool flush();
  std::filesystem::path path_, partial_;
  int fd_;
  bool open_ = true;  ///< false once the reader has gone away
  std::string buffer_;
};

}  // namespace rollcall::app::archive
