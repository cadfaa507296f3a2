// Files of what the processes of a command write to standard error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

namespace rollcall::run {

/// The first MiB of each process, in FOLDER/rank-0000-process-00.log. FOLDER is RUN/verifier or
/// RUN/environment. To be used by one thread at a time.
class ErrorFiles {
 public:
  ErrorFiles(std::filesystem::path folder, int rank) : folder_(std::move(folder)), rank_(rank) {}
  void write(std::size_t process, std::string_view bytes);

 private:
  std::filesystem::path folder_;
  int rank_;
  std::map<std::size_t, std::uintmax_t> bytes_;  ///< written so far, by process
};

}  // namespace rollcall::run
