// HDF5 itself reports its version.
#include "io/library.hpp"

#include <fmt/format.h>
#include <hdf5.h>

namespace rollcall::io {

std::string hdf5_version() {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format("{}.{}.{}", major, minor, release);
}

bool hdf5_is_parallel() {
#ifdef H5_HAVE_PARALLEL
  return true;
#else
  return false;
#endif
}

bool hdf5_compiled_matches_loaded() {
  return hdf5_version() == fmt::format("{}.{}.{}", H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE);
}

}  // namespace rollcall::io
