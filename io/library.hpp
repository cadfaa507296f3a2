// The HDF5 that this build uses, for rollcall --version --verbose and rollcall doctor.
#pragma once

#include <string>

namespace rollcall::io {

std::string hdf5_version();  ///< "1.10.8"
bool hdf5_is_parallel();
bool hdf5_compiled_matches_loaded();  ///< headers and shared library agree

}  // namespace rollcall::io
