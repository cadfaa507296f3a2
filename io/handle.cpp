// Turns the HDF5 error stack into one line.
#include "io/handle.hpp"

#include "base/errors/error.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>

namespace rollcall::io {
namespace {

// This runs before main, and so before MPI_Init: neither exit() nor MPI_Finalize may clean up
// inside HDF5, which crashes after a failed read (1.10: H5F__close_cb of a half-opened file).
// Handles close everything that is open.
const bool started =
    (H5dont_atexit(), H5open()) >= 0 && H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;

/// The number after "errno = " in a message of HDF5's drivers; 0 if there is none.
int errno_in(std::string_view text) {
  constexpr std::string_view kMark = "errno = ";
  const auto mark = text.find(kMark);
  int number = 0;
  if (mark != std::string_view::npos)
    std::from_chars(text.data() + mark + kMark.size(), text.data() + text.size(), number);
  return number;
}

}  // namespace

std::unique_lock<std::mutex> enter_hdf5() {
  static std::mutex inside;
  std::unique_lock<std::mutex> lock(inside);
  if (!started)
    throw EnvironmentError(error_message("HDF5 does not start",
                                         "shards, scores and the archive are HDF5 files",
                                         "check the installation of HDF5"));
  errno = 0;  // hdf5_failure() reads it after a call that failed
  return lock;
}

void hdf5_failure(const char* action, std::string_view subject) {
  // HDF5 does not always say why a system call failed
  const int left = errno == EIO || errno == ESTALE ? errno : 0;
  std::string innermost;
  // An upward walk begins with the call that found the error. Its message is the most precise one
  // (errno text, checksum mismatch).
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned depth, const H5E_error2_t* error, void* text) -> herr_t {
        if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
        return 0;
      },
      &innermost);
  H5Eclear2(H5E_DEFAULT);
  const int stated = errno_in(innermost), error = stated != 0 ? stated : left;
  if (error != 0) innermost = std::strerror(error);
  const std::string words =
      fmt::format("cannot {}{}{}: {}", action, subject.empty() ? "" : " ", subject,
                  innermost.empty() ? "HDF5 gives no reason" : innermost);
  if (error != 0 && error != ENOENT) throw UnreadableFault(words);
  throw FileFault(words);
}

void check_scalar(hid_t attribute, std::string_view name) {
  const Handle space(H5Aget_space(attribute), "get space of", name);
  const auto values = H5Sget_simple_extent_npoints(space);
  if (values != 1)
    throw FileFault(
        fmt::format("{} has an attribute of {} values where one is expected", name, values));
}

}  // namespace rollcall::io
