// The safetensors format: named tensors in one file. A parser of foreign bytes: every length is
// checked before it is used. Free of LibTorch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rollcall::model {

enum class Dtype { f32, f64, i64, i32, u8, bf16, f16 };

/// A tensor to write: bytes are borrowed until the call returns.
struct TensorView {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

class MappedFile;

/// Tensors view into the file's bytes, which copies of the object share.
class SafetensorsFile {
 public:
  static SafetensorsFile map(
      const std::filesystem::path& path);  ///< throws InputError naming the file and the fault
  /// keeps the bytes
  static SafetensorsFile parse(std::string bytes, const std::string& origin);
  /// borrows them
  static SafetensorsFile view(std::span<const std::byte> bytes, const std::string& origin);
  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::string& origin() const { return origin_; }
  /// throws InputError naming the nearest
  const TensorView& tensor(const std::string& name) const;
  std::vector<float> floats(const std::string& name) const;           ///< f32, bf16 and f16 widened
  std::vector<std::int64_t> integers(const std::string& name) const;  ///< i64; throws InputError
  /// Elements [first, first + into.size()) of a tensor, widened into their place.
  void widen(const std::string& name, std::size_t first, std::span<float> into) const;
  /// of a bf16 tensor, as they stand
  void halves(const std::string& name, std::size_t first, std::span<std::uint16_t> into) const;

 private:
  template <class Element>
  void use(const TensorView& view, std::size_t first, std::span<Element> into,
           const std::function<void(const std::byte* from, std::span<Element> part)>& copy) const;

  std::shared_ptr<const std::string> bytes_;  ///< of parse
  std::shared_ptr<const MappedFile> file_;    ///< of map
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
  std::string origin_;
};

/// What stands before the data: length and header, padded to a multiple of 64 bytes. Of the
/// tensors' bytes only the sizes are used.
std::string safetensors_head(std::span<const TensorView> tensors,
                             const std::map<std::string, std::string>& metadata);

/// The whole file as bytes; tensors in the given order, 64-byte aligned data start.
std::string to_safetensors(std::span<const TensorView> tensors,
                           const std::map<std::string, std::string>& metadata);

}  // namespace rollcall::model
