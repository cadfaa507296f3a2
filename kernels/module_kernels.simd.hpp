// The tables of modules of one instruction set, with every *.simd.hpp kernel of modules/ compiled
// with the flags of the file that includes this one. That file defines ROLLCALL_SET, the namespace
// of the set's KernelSet, and ROLLCALL_ISA, a namespace of its own: so the code of the first table
// does not depend on this one.
#pragma once

// The headers below also define kernels of the first table.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include "kernels/instruction_sets.hpp"
#include "kernels/modules/attention_form.simd.hpp"
#include "kernels/modules/gated.simd.hpp"
#include "kernels/modules/panels.simd.hpp"
#include "kernels/modules/route.simd.hpp"
#include "kernels/modules/rows.simd.hpp"
#include "kernels/modules/softcap.simd.hpp"
#pragma GCC diagnostic pop

#define ROLLCALL_TEXT_OF(name) #name
#define ROLLCALL_TEXT(name) ROLLCALL_TEXT_OF(name)

namespace rollcall::kernels::ROLLCALL_ISA {

/// The products of the backward pass are those of the first table.
template <const KernelSet& set>
struct TableBackward {
  static void product(ExecutionContext& context, const float* x, std::int64_t n, std::int64_t k,
                      const Product* products, int count, int slices, std::int64_t begin,
                      std::int64_t end) {
    set.linear(context, x, n, k, products, count, slices, begin, end);
  }
  static void pack(const float* w, std::int64_t k, std::int64_t o, std::int64_t begin,
                   std::int64_t end, void* packed) {
    set.pack_transposed(w, k, o, begin, end, packed);
  }
  static std::int64_t bytes(std::int64_t o, std::int64_t k) { return set.packed_bytes(o, k); }
};

constexpr ModuleKernels sliced8_modules{
    .name = ROLLCALL_TEXT(ROLLCALL_SET),
    .numerics = kBf16Sliced8,
    .attention = attention_in_form<Bf16Products>,
    .attention_backward = attention_backward_in_form<TableBackward<ROLLCALL_SET::bf16_table>>,
    .rms_norm_plus_one = rms_norm_plus_one,
    .rms_norm_plus_one_backward = rms_norm_plus_one_backward,
    .rope_partial = rope_partial,
    .gated = gated,
    .gated_backward = gated_backward,
    .softcap = softcap,
    .softcap_backward = softcap_backward,
    .route = route,
    .route_backward = route_backward,
    .route_inputs_backward = route_inputs_backward,
    .route_weights_backward = route_weights_backward,
    .turn_panels = turn_panels_bf16,
    .merge_rows = merge<float>,
    .merge_halves = merge<Bf16>,
};

// Made at compile time, because no code for this instruction set may run before select.cpp has
// checked that the processor has it.
constinit const ModuleKernels bf16_table = sliced8_modules;

#ifdef ROLLCALL_FP32_MODULES
constexpr ModuleKernels fp32_modules() {
  ModuleKernels set = sliced8_modules;
  set.numerics = kFp32FixedOrder;
  set.attention = attention_in_form<Fp32Products>;
  set.attention_backward = attention_backward_in_form<TableBackward<ROLLCALL_SET::table>>;
  set.turn_panels = turn_panels_fp32;
  return set;
}
constinit const ModuleKernels table = fp32_modules();
#endif

}  // namespace rollcall::kernels::ROLLCALL_ISA
