// The LibTorch that this build uses, for rollcall --version --verbose and rollcall doctor.
#pragma once

#include <string>

namespace rollcall::model {

std::string torch_version();  ///< "2.11.0"

}  // namespace rollcall::model
