// Packs matrices for linear, and keys and values into pages.
#include "kernels/packing.hpp"

#include "kernels/bf16.hpp"

#include <cstring>
#include <vector>

namespace rollcall::kernels {
namespace {

std::int64_t padded(std::int64_t count, std::int64_t unit) {
  return (count + unit - 1) / unit * unit;
}

}  // namespace

namespace {

/// Writes a panel. Both layouts consist of 32-bit words, and word j of all 16 rows of a panel are
/// neighbours. In fp32 a word is one weight, in bf16 it is two inputs.
void interleave(const std::uint32_t* rows, std::int64_t words, std::uint32_t* panel) {
  for (std::int64_t j = 0; j < words; ++j)
    for (std::int64_t lane = 0; lane < kPanel; ++lane)
      panel[j * kPanel + lane] = rows[lane * words + j];
}

/// Packs W[o,k] panel by panel. row(number of a row of W, memory for it) writes one row of `words`
/// words.
template <class Row>
void pack_panels(std::int64_t o, std::int64_t words, void* packed, const Row& row) {
  std::vector<std::uint32_t> rows(static_cast<std::size_t>(kPanel * words));
  for (std::int64_t first = 0; first < o; first += kPanel) {
    for (std::int64_t lane = 0; lane < kPanel; ++lane) {
      std::uint32_t* into = rows.data() + lane * words;
      if (first + lane < o) row(first + lane, into);
      else std::memset(into, 0, static_cast<std::size_t>(words) * sizeof(std::uint32_t));
    }
    interleave(rows.data(), words, static_cast<std::uint32_t*>(packed) + first * words);
  }
}

}  // namespace

std::int64_t packed_bytes_fp32(std::int64_t o, std::int64_t k) {
  return padded(o, kPanel) * k * std::int64_t(sizeof(float));
}
std::int64_t packed_bytes_bf16(std::int64_t o, std::int64_t k) {
  return padded(o, kPanel) * padded(k, kBf16Block) * std::int64_t(sizeof(Bf16));
}

void pack_fp32(const float* w, std::int64_t o, std::int64_t k, void* packed) {
  pack_panels(o, k, packed, [&](std::int64_t row, std::uint32_t* into) {
    std::memcpy(into, w + row * k, static_cast<std::size_t>(k) * sizeof(float));
  });
}

void pack_halves_fp32(const std::uint16_t* w, std::int64_t o, std::int64_t k, void* packed) {
  pack_panels(o, k, packed, [&](std::int64_t row, std::uint32_t* into) {
    for (std::int64_t j = 0; j < k; ++j) into[j] = static_cast<std::uint32_t>(w[row * k + j]) << 16;
  });
}

void pack_bf16(const float* w, std::int64_t o, std::int64_t k, void* packed) {
  const std::int64_t inputs = padded(k, kBf16Block);
  pack_panels(o, inputs / 2, packed, [&](std::int64_t row, std::uint32_t* into) {
    auto* halves = reinterpret_cast<Bf16*>(into);
    for (std::int64_t j = 0; j < k; ++j) halves[j] = to_bf16(w[row * k + j]);
    for (std::int64_t j = k; j < inputs; ++j) halves[j] = 0;
  });
}

void pack_halves_bf16(const std::uint16_t* w, std::int64_t o, std::int64_t k, void* packed) {
  const std::int64_t inputs = padded(k, kBf16Block);
  pack_panels(o, inputs / 2, packed, [&](std::int64_t row, std::uint32_t* into) {
    std::memcpy(into, w + row * k, static_cast<std::size_t>(k) * sizeof(Bf16));
    std::memset(reinterpret_cast<Bf16*>(into) + k, 0,
                static_cast<std::size_t>(inputs - k) * sizeof(Bf16));
  });
}

namespace {

/// The numbers of elements of a head's keys, and of its values, in a page. The inputs of a packed
/// matrix are padded to multiples of `unit`.
std::int64_t key_elements(std::int64_t head_dim, std::int64_t unit) {
  return kPageKeys * padded(head_dim, unit);
}
std::int64_t value_elements(std::int64_t head_dim) { return padded(head_dim, kPanel) * kPageKeys; }

/// The place of element (output, input) in a packed matrix with `inputs` inputs. `together` inputs
/// of an output are neighbours.
std::int64_t place(std::int64_t output, std::int64_t input, std::int64_t inputs,
                   std::int64_t together) {
  return output / kPanel * kPanel * inputs +
         (input / together * kPanel + output % kPanel) * together + input % together;
}

/// The elements of a page: for each key head its keys [panel of 16 positions][head_dim padded to
/// kUnit][16], then its values [panel of 16 dims][64 positions][16].
template <class Element, std::int64_t kUnit, std::int64_t kTogether>
struct PageOf {
  HeadShape shape;
  std::int64_t inputs = padded(shape.head_dim, kUnit);

  std::int64_t head_elements() const {
    return key_elements(shape.head_dim, kUnit) + value_elements(shape.head_dim);
  }
  Element* keys(Element* page, std::int64_t head) const { return page + head * head_elements(); }
  Element* values(Element* page, std::int64_t head) const {
    return keys(page, head) + key_elements(shape.head_dim, kUnit);
  }

  /// Sets a panel of keys and a unit of values to 0 when their first position is stored. Products
  /// read whole panels and units, so unused positions must hold numbers.
  void begin(Element* page, std::int64_t head, std::int64_t slot) const {
    if (slot % kPanel == 0)
      std::memset(keys(page, head) + slot * inputs, 0,
                  std::size_t(kPanel * inputs) * sizeof(Element));
    if (kUnit == 1 || slot % kUnit != 0) return;
    for (std::int64_t d = 0; d < shape.head_dim; d += kPanel)
      std::memset(values(page, head) + (d * kPageKeys + slot * kPanel), 0,
                  std::size_t(kUnit * kPanel) * sizeof(Element));
  }
  template <class Convert>
  void store(const float* k, const float* v, std::int64_t slot, Element* page,
             Convert convert) const {
    const std::int64_t d = shape.head_dim;
    for (std::int64_t h = 0; h < shape.kv_heads; ++h) {
      begin(page, h, slot);
      Element *to_keys = keys(page, h), *to_values = values(page, h);
      for (std::int64_t c = 0; c < d; ++c)
        to_keys[place(slot, c, inputs, kTogether)] = convert(k[h * d + c]);
      for (std::int64_t c = 0; c < d; ++c)
        to_values[place(c, slot, kPageKeys, kTogether)] = convert(v[h * d + c]);
    }
  }
  void copy(const Element* from, std::int64_t count, Element* to) const {
    const auto copied = [](const Element* source, std::int64_t elements, Element* target) {
      std::memcpy(target, source, std::size_t(elements) * sizeof(Element));
    };
    for (std::int64_t h = 0; h < shape.kv_heads; ++h) {
      const Element* head = from + h * head_elements();
      copied(head, padded(count, kPanel) * inputs, keys(to, h));
      for (std::int64_t d = 0; d < shape.head_dim; d += kPanel)
        copied(head + key_elements(shape.head_dim, kUnit) + d * kPageKeys,
               padded(count, kUnit) * kPanel, values(to, h) + d * kPageKeys);
    }
  }
};

using Fp32Page = PageOf<float, 1, 1>;
using Bf16Page = PageOf<Bf16, kBf16Block, 2>;

}  // namespace

std::int64_t page_bytes_fp32(HeadShape s) {
  return s.kv_heads * (key_elements(s.head_dim, 1) + value_elements(s.head_dim)) *
         std::int64_t(sizeof(float));
}
std::int64_t page_bytes_bf16(HeadShape s) {
  return s.kv_heads * (key_elements(s.head_dim, kBf16Block) + value_elements(s.head_dim)) *
         std::int64_t(sizeof(Bf16));
}

void store_position_fp32(const float* k, const float* v, HeadShape shape, std::int64_t slot,
                         void* page) {
  Fp32Page{shape}.store(k, v, slot, static_cast<float*>(page), [](float x) { return x; });
}
void copy_positions_fp32(const void* from, HeadShape shape, std::int64_t count, void* to) {
  Fp32Page{shape}.copy(static_cast<const float*>(from), count, static_cast<float*>(to));
}
void load_position_fp32(const void* page, HeadShape shape, std::int64_t head, std::int64_t slot,
                        float* k, float* v) {
  const std::int64_t d = shape.head_dim;
  const float *keys =
                  static_cast<const float*>(page) + head * (key_elements(d, 1) + value_elements(d)),
              *values = keys + key_elements(d, 1);
  for (std::int64_t c = 0; c < d; ++c)
    k[c] = keys[place(slot, c, d, 1)], v[c] = values[place(c, slot, kPageKeys, 1)];
}
void store_position_bf16(const float* k, const float* v, HeadShape shape, std::int64_t slot,
                         void* page) {
  Bf16Page{shape}.store(k, v, slot, static_cast<Bf16*>(page), to_bf16);
}
void copy_positions_bf16(const void* from, HeadShape shape, std::int64_t count, void* to) {
  Bf16Page{shape}.copy(static_cast<const Bf16*>(from), count, static_cast<Bf16*>(to));
}

}  // namespace rollcall::kernels
