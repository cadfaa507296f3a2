// The table of one instruction set: every *.simd.hpp kernel, compiled with the flags of the file that includes this.
#pragma once

#include "kernels/attention.simd.hpp"
#include "kernels/attention_backward.simd.hpp"
#include "kernels/draw.simd.hpp"
#include "kernels/instruction_sets.hpp"
#include "kernels/linear.simd.hpp"
#include "kernels/rms_norm.simd.hpp"
#include "kernels/rope.simd.hpp"
#include "kernels/swiglu.simd.hpp"
#include "kernels/token_columns.simd.hpp"

#define ROLLCALL_TEXT_OF(name) #name
#define ROLLCALL_TEXT(name) ROLLCALL_TEXT_OF(name)

namespace rollcall::kernels::ROLLCALL_ISA {

const KernelSet table{
    .name = ROLLCALL_TEXT(ROLLCALL_ISA),
    .numerics = "fp32_fixed_order",
    .linear = linear,
    .rms_norm = rms_norm,
    .rms_norm_backward = rms_norm_backward,
    .rope = rope,
    .attention = attention,
    .attention_backward = attention_backward,
    .swiglu = swiglu,
    .swiglu_backward = swiglu_backward,
    .token_columns = token_columns,
    .token_columns_backward = token_columns_backward,
    .wide_columns = wide_columns,
    .exponentials = exponentials,
    .sums_from = sums_from,
    .block_sums_from = block_sums_from,
    .places_between = places_between,
};

}  // namespace rollcall::kernels::ROLLCALL_ISA
