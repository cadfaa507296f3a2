// The layout of packed weight matrices and of pages. A matrix consists of panels of kPanel outputs,
// in which a step along k reads one contiguous vector of outputs.
#pragma once

#include "kernels/kernel_set.hpp"

#include <cstdint>

namespace rollcall::kernels {

/// Inputs in a block of bf16_sliced8.
inline constexpr std::int64_t kBf16Block = 32;

// fp32: packed[panel][k][lane] = W[panel * kPanel + lane][k], zero beyond o.
std::int64_t packed_bytes_fp32(std::int64_t o, std::int64_t k);
void pack_fp32(const float* w, std::int64_t o, std::int64_t k, void* packed);
// bf16: packed[panel][pair][lane][2], where a pair is two consecutive inputs. It is zero beyond o
// and k, and k is padded to whole blocks.
std::int64_t packed_bytes_bf16(std::int64_t o, std::int64_t k);
void pack_bf16(const float* w, std::int64_t o, std::int64_t k, void* packed);
// Packs W[o,k] as pack_fp32() and pack_bf16() do, from weights in bf16.
void pack_halves_fp32(const std::uint16_t* w, std::int64_t o, std::int64_t k, void* packed);
void pack_halves_bf16(const std::uint16_t* w, std::int64_t o, std::int64_t k, void* packed);

// A page of one layer: for each key head, its keys as W[64 positions, head_dim] and its values as
// W[head_dim, 64 positions], packed as weight matrices are.
std::int64_t page_bytes_fp32(HeadShape shape);
void store_position_fp32(const float* k, const float* v, HeadShape shape, std::int64_t slot,
                         void* page);
/// Reads the k and v [head_dim] of one head back from a page.
void load_position_fp32(const void* page, HeadShape shape, std::int64_t head, std::int64_t slot,
                        float* k, float* v);
std::int64_t page_bytes_bf16(HeadShape shape);
void store_position_bf16(const float* k, const float* v, HeadShape shape, std::int64_t slot,
                         void* page);
void copy_positions_fp32(const void* from, HeadShape shape, std::int64_t count, void* to);
void copy_positions_bf16(const void* from, HeadShape shape, std::int64_t count, void* to);

}  // namespace rollcall::kernels
