// The tables of one instruction set, with every *.simd.hpp kernel compiled with the flags of the
// file that includes this one.
#pragma once

#include "kernels/attention.simd.hpp"
#include "kernels/attention_backward.simd.hpp"
#include "kernels/bf16_linear.simd.hpp"
#include "kernels/draw.simd.hpp"
#include "kernels/instruction_sets.hpp"
#include "kernels/linear.simd.hpp"
#include "kernels/parameters.simd.hpp"
#include "kernels/rms_norm.simd.hpp"
#include "kernels/rope.simd.hpp"
#include "kernels/swiglu.simd.hpp"
#include "kernels/token_columns.simd.hpp"
#include "kernels/transpose.simd.hpp"

#define ROLLCALL_TEXT_OF(name) #name
#define ROLLCALL_TEXT(name) ROLLCALL_TEXT_OF(name)

namespace rollcall::kernels::ROLLCALL_ISA {

constexpr KernelSet fp32{
    .name = ROLLCALL_TEXT(ROLLCALL_ISA),
    .numerics = kFp32FixedOrder,
    .packed_bytes = packed_bytes_fp32,
    .pack = pack_rows_fp32,
    .pack_halves = pack_halves_fp32,
    .pack_transposed = pack_transposed_fp32,
    .transpose = transpose,
    .linear = linear,
    .rms_norm = rms_norm,
    .rms_norm_backward = rms_norm_backward,
    .rope = rope,
    .page_bytes = page_bytes_fp32,
    .store_position = store_position_fp32,
    .copy_positions = copy_positions_fp32,
    .attention = attention,
    .attention_backward = attention_backward<Fp32Backward>,
    .swiglu = swiglu,
    .swiglu_backward = swiglu_backward,
    .token_columns = token_columns,
    .token_columns_backward = token_columns_backward,
    .wide_columns = wide_columns,
    .exponentials = exponentials,
    .sums_from = sums_from,
    .places_between = places_between,
    .accumulate_fixed_point = accumulate_fixed_point,
    .from_fixed_point = from_fixed_point,
    .sum_of_squares = sum_of_squares,
    .adamw = adamw,
};

constexpr KernelSet sliced8() {
  KernelSet set = fp32;
  set.numerics = kBf16Sliced8;
  set.packed_bytes = packed_bytes_bf16;
  set.pack = pack_rows_bf16;
  set.pack_halves = pack_halves_bf16;
  set.pack_transposed = pack_transposed_bf16;
  set.linear = sliced_linear;
  set.page_bytes = page_bytes_bf16;
  set.store_position = store_position_bf16;
  set.copy_positions = copy_positions_bf16;
  set.attention = attention_bf16;
  set.attention_backward = attention_backward<Bf16Backward>;
  return set;
}

// The tables are made at compile time. No code for this instruction set may run before select.cpp
// has checked that the processor has it.
constinit const KernelSet table = fp32;
constinit const KernelSet bf16_table = sliced8();

}  // namespace rollcall::kernels::ROLLCALL_ISA
