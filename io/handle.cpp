// The HDF5 error stack as one line.
#include "io/handle.hpp"

#include <fmt/format.h>

#include <string>

namespace rollcall::io {

std::unique_lock<std::mutex> enter_hdf5() {
  static std::mutex inside;
  std::unique_lock<std::mutex> lock(inside);
  static const bool quiet = H5open() >= 0 && H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
  if (!quiet) throw FileFault("HDF5 does not start");
  return lock;
}

void hdf5_failure(const char* action, std::string_view subject) {
  std::string innermost;
  // Upward visits the call that found the error first: its words say the most (errno text, checksum mismatch).
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned depth, const H5E_error2_t* error, void* text) -> herr_t {
        if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
        return 0;
      },
      &innermost);
  H5Eclear2(H5E_DEFAULT);
  throw FileFault(fmt::format("cannot {}{}{}: {}", action, subject.empty() ? "" : " ", subject, innermost.empty() ? "HDF5 gives no reason" : innermost));
}

void check_scalar(hid_t attribute, std::string_view name) {
  const Handle space(H5Aget_space(attribute), "get space of", name);
  const auto values = H5Sget_simple_extent_npoints(space);
  if (values != 1) throw FileFault(fmt::format("{} has an attribute of {} values where one is expected", name, values));
}

}  // namespace rollcall::io
