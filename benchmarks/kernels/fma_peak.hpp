// The FMA peak of one core of this processor, measured: what the linear kernel is compared with.
#pragma once

namespace rollcall::kernels {

/// GFLOP/s of one core on independent FMAs that stay in registers, by the widest instructions this
/// processor has; 2 FLOP an FMA.
double fma_peak_gflops();

}  // namespace rollcall::kernels
