// A file is continued at the place where an earlier start of the run has left it.
#include "run/folder/error_files.hpp"

#include "base/errors/log.hpp"
#include "base/process/uninterrupted.hpp"

#include <fmt/format.h>

namespace rollcall::run {
namespace {

constexpr std::uintmax_t kMostErrors = 1U << 20U;  // bytes that are kept of the standard error of
                                                   // each process

}  // namespace

void ErrorFiles::write(std::size_t process, std::string_view bytes) {
  const auto path = folder_ / fmt::format("rank-{:04}-process-{:02}.log", rank_, process);
  std::error_code absent;
  const auto [known, first] = bytes_.try_emplace(process, 0);
  if (first) {
    std::filesystem::create_directories(folder_, absent);
    if (const auto earlier = std::filesystem::file_size(path, absent); !absent)
      known->second = earlier;
  }
  if (known->second >= kMostErrors) return;
  bytes = bytes.substr(0, kMostErrors - known->second);
  known->second += bytes.size();
  Descriptor file(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0644);
  if (file >= 0 && uninterrupted([&] { return ::write(file, bytes.data(), bytes.size()); }) ==
                       ssize_t(bytes.size()))
    return;
  log_warning("cannot write {}: what the command wrote to standard error is lost", path.string());
  known->second = kMostErrors;
}

}  // namespace rollcall::run
