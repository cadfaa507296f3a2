// Version of the headers; the shared library refuses to load when it is another.
#include "model/library.hpp"

#include <torch/version.h>

namespace rollcall::model {

std::string torch_version() { return TORCH_VERSION; }

}  // namespace rollcall::model
