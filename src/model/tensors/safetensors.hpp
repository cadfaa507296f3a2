// The safetensors format: named tensors in one file. The files come from elsewhere, so the parser
// checks every length before it uses it.
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

/// A tensor with its bytes, which it borrows.
struct TensorView {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

class MappedFile;

/// A parsed file. Its tensors are views into the file's bytes, which copies of the object share.
class SafetensorsFile {
 public:
  // The next three functions throw InputError naming the file and the fault.
  static SafetensorsFile map(const std::filesystem::path& path);
  /// Keeps the bytes.
  static SafetensorsFile parse(std::string bytes, const std::string& origin);
  /// Borrows the bytes, which must outlive the object.
  static SafetensorsFile view(std::span<const std::byte> bytes, const std::string& origin);
  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::string& origin() const { return origin_; }
  /// Throws InputError naming the most similar tensor if there is no such tensor.
  const TensorView& tensor(const std::string& name) const;
  std::vector<float> floats(const std::string& name) const;           ///< from f32, bf16 or f16
  std::vector<std::int64_t> integers(const std::string& name) const;  ///< from i64
  /// Converts elements [first, first + into.size()) of a tensor to fp32.
  void widen(const std::string& name, std::size_t first, std::span<float> into) const;
  /// Copies elements [first, first + into.size()) of a bf16 tensor, unconverted.
  void halves(const std::string& name, std::size_t first, std::span<std::uint16_t> into) const;

 private:
  template <class Element>
  void use(const TensorView& view, std::size_t first, std::span<Element> into,
           const std::function<void(const std::byte* from, std::span<Element> part)>& copy) const;

  std::shared_ptr<const std::string> bytes_;  ///< set by parse()
  std::shared_ptr<const MappedFile> file_;    ///< set by map()
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
  std::string origin_;
};

/// The part of a file before its data: length and header, padded to a multiple of 64 bytes. It
/// depends on the sizes of the tensors' bytes, not on the bytes.
std::string safetensors_head(std::span<const TensorView> tensors,
                             const std::map<std::string, std::string>& metadata);

/// A whole file with the tensors in the given order. The data begin at a multiple of 64 bytes.
std::string to_safetensors(std::span<const TensorView> tensors,
                           const std::map<std::string, std::string>& metadata);

}  // namespace rollcall::model
