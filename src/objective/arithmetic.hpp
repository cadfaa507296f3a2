// The LibTorch that this build uses, and the processor on which it computes.
#pragma once

#include <string>

namespace rollcall::objective {

std::string torch_version();  ///< such as "2.11.0"
/// The processor and library that, besides the settings, decide the bits of a gradient:
/// "GenuineIntel family 6 model 143, LibTorch 2.11.0 (AVX512)".
std::string arithmetic();

}  // namespace rollcall::objective
