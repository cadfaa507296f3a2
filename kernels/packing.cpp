// Packs W[o,k] for linear.
#include "kernels/packing.hpp"

#include "kernels/bf16.hpp"

namespace rollcall::kernels {
namespace {

std::int64_t padded(std::int64_t count, std::int64_t unit) { return (count + unit - 1) / unit * unit; }

}  // namespace

std::int64_t packed_bytes_fp32(std::int64_t o, std::int64_t k) { return padded(o, kPanel) * k * std::int64_t(sizeof(float)); }

void pack_fp32(const float* w, std::int64_t o, std::int64_t k, void* packed) {
  for (std::int64_t first = 0; first < o; first += kPanel) {
    float* panel = static_cast<float*>(packed) + first * k;
    for (std::int64_t j = 0; j < k; ++j)
      for (std::int64_t lane = 0; lane < kPanel; ++lane) panel[j * kPanel + lane] = first + lane < o ? w[(first + lane) * k + j] : 0.0F;
  }
}

std::int64_t packed_bytes_bf16(std::int64_t o, std::int64_t k) { return padded(o, kPanel) * padded(k, kBf16Block) * std::int64_t(sizeof(Bf16)); }

void pack_bf16(const float* w, std::int64_t o, std::int64_t k, void* packed) {
  const std::int64_t inputs = padded(k, kBf16Block);
  for (std::int64_t first = 0; first < o; first += kPanel) {
    Bf16* panel = static_cast<Bf16*>(packed) + first * inputs;
    for (std::int64_t lane = 0; lane < kPanel; ++lane)
      for (std::int64_t j = 0; j < inputs; ++j)
        panel[(j / 2 * kPanel + lane) * 2 + j % 2] = first + lane < o && j < k ? to_bf16(w[(first + lane) * k + j]) : Bf16(0);
  }
}

namespace {

/// Elements of a page's keys of one head, and of its values. `unit`: inputs that a packed matrix fills up to.
std::int64_t key_elements(std::int64_t head_dim, std::int64_t unit) { return kPageKeys * padded(head_dim, unit); }
std::int64_t value_elements(std::int64_t head_dim) { return padded(head_dim, kPanel) * kPageKeys; }

/// Where element (output, input) of a packed matrix of `inputs` inputs lies; `together` inputs of an output stand side by side.
std::int64_t place(std::int64_t output, std::int64_t input, std::int64_t inputs, std::int64_t together) {
  return output / kPanel * kPanel * inputs + (input / together * kPanel + output % kPanel) * together + input % together;
}

template <class Element, class Convert>
void store_position(const float* k, const float* v, HeadShape shape, std::int64_t slot, Element* page, std::int64_t unit, std::int64_t together,
                    Convert convert) {
  const std::int64_t d = shape.head_dim, inputs = padded(d, unit);
  for (std::int64_t h = 0; h < shape.kv_heads; ++h) {
    Element *keys = page + h * (key_elements(d, unit) + value_elements(d)), *values = keys + key_elements(d, unit);
    for (std::int64_t c = 0; c < d; ++c) {
      keys[place(slot, c, inputs, together)] = convert(k[h * d + c]);
      values[place(c, slot, kPageKeys, together)] = convert(v[h * d + c]);
    }
  }
}

}  // namespace

std::int64_t page_bytes_fp32(HeadShape s) { return s.kv_heads * (key_elements(s.head_dim, 1) + value_elements(s.head_dim)) * std::int64_t(sizeof(float)); }
std::int64_t page_bytes_bf16(HeadShape s) {
  return s.kv_heads * (key_elements(s.head_dim, kBf16Block) + value_elements(s.head_dim)) * std::int64_t(sizeof(Bf16));
}

void store_position_fp32(const float* k, const float* v, HeadShape shape, std::int64_t slot, void* page) {
  store_position(k, v, shape, slot, static_cast<float*>(page), 1, 1, [](float x) { return x; });
}
void load_position_fp32(const void* page, HeadShape shape, std::int64_t head, std::int64_t slot, float* k, float* v) {
  const std::int64_t d = shape.head_dim;
  const float *keys = static_cast<const float*>(page) + head * (key_elements(d, 1) + value_elements(d)), *values = keys + key_elements(d, 1);
  for (std::int64_t c = 0; c < d; ++c) k[c] = keys[place(slot, c, d, 1)], v[c] = values[place(c, slot, kPageKeys, 1)];
}
void store_position_bf16(const float* k, const float* v, HeadShape shape, std::int64_t slot, void* page) {
  store_position(k, v, shape, slot, static_cast<Bf16*>(page), kBf16Block, 2, to_bf16);
}

}  // namespace rollcall::kernels
