// Reader and writer of the safetensors format: 8 bytes with the length of the header, a JSON
// header, and the data. The reader trusts no byte.
#include "model/tensors/safetensors.hpp"

#include "base/errors/error.hpp"
#include "base/errors/nearest.hpp"
#include "base/files/lfs_pointer.hpp"
#include "base/text/foreign_json.hpp"
#include "model/support/mapped_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace rollcall::model {
namespace {

using Json = nlohmann::json;  // sorted, so that lookups in a hostile header stay cheap
static_assert(std::endian::native == std::endian::little,
              "the format is little-endian and so is every machine this runs on");

constexpr std::size_t kHeaderLimit = 100'000'000;  // bytes, as in the reference implementation
/// Elements of a mapped file that are in memory at a time, 16 MiB in fp32.
constexpr std::size_t kMappedElements = 4 << 20;

struct DtypeName {
  const char* name;
  Dtype dtype;
  std::uint64_t bytes;
};
constexpr std::array<DtypeName, 7> kDtypes = {{{"F32", Dtype::f32, 4},
                                               {"F64", Dtype::f64, 8},
                                               {"I64", Dtype::i64, 8},
                                               {"I32", Dtype::i32, 4},
                                               {"U8", Dtype::u8, 1},
                                               {"BF16", Dtype::bf16, 2},
                                               {"F16", Dtype::f16, 2}}};

const DtypeName& name_of(Dtype dtype) {
  return *std::find_if(kDtypes.begin(), kDtypes.end(),
                       [&](const DtypeName& d) { return d.dtype == dtype; });
}

/// Checks of one file. Each fault is an InputError that names the file.
class Checker {
 public:
  explicit Checker(const std::string& origin) : origin_(&origin) {}
  void operator()(bool ok, const std::string& fault) const {
    if (ok) return;
    throw InputError(
        error_message(fmt::format("{} is not a valid safetensors file: {}", *origin_, fault),
                      "its tensors cannot be trusted", "copy or download the file again"));
  }

 private:
  const std::string* origin_;
};

std::uint64_t unsigned_of(const Json& value, const std::string& name, const Checker& check) {
  check(value.is_number_unsigned(),
        fmt::format("tensor {} has {} where a whole number is needed", name,
                    value.dump(-1, ' ', true, Json::error_handler_t::replace)));
  return value.get<std::uint64_t>();
}

const Json& member(const Json& table, const char* key, const std::string& name,
                   const Checker& check) {
  check(table.is_object() && table.contains(key),
        fmt::format("tensor {} has no \"{}\"", name, key));
  return table.at(key);
}

/// The product of the extents and the element size. An overflow is a fault.
std::uint64_t byte_count(const std::vector<std::int64_t>& shape, std::uint64_t element,
                         const std::string& name, const Checker& check) {
  std::uint64_t count = element;
  for (const std::int64_t extent : shape) {
    check(extent == 0 || count <= std::numeric_limits<std::uint64_t>::max() / std::uint64_t(extent),
          fmt::format("the size of tensor {} overflows", name));
    count *= std::uint64_t(extent);
  }
  return count;
}

TensorView read_tensor(const std::string& name, const Json& entry, std::span<const std::byte> data,
                       const Checker& check) {
  TensorView tensor;
  tensor.name = name;
  const Json& dtype = member(entry, "dtype", name, check);
  check(dtype.is_string(), fmt::format("tensor {} has a dtype that is not a string", name));
  const auto known = std::find_if(kDtypes.begin(), kDtypes.end(), [&](const DtypeName& d) {
    return dtype.get_ref<const std::string&>() == d.name;
  });
  check(known != kDtypes.end(),
        fmt::format("tensor {} has the unsupported dtype {}", name, dtype.get<std::string>()));
  tensor.dtype = known->dtype;
  const Json& shape = member(entry, "shape", name, check);
  check(shape.is_array(), fmt::format("tensor {} has a shape that is not a list", name));
  for (const Json& extent : shape) {
    const std::uint64_t value = unsigned_of(extent, name, check);
    check(value <= std::uint64_t(std::numeric_limits<std::int64_t>::max()),
          fmt::format("the size of tensor {} overflows", name));
    tensor.shape.push_back(std::int64_t(value));
  }
  const Json& offsets = member(entry, "data_offsets", name, check);
  check(offsets.is_array() && offsets.size() == 2,
        fmt::format("tensor {} has data_offsets that are not a pair", name));
  const std::uint64_t begin = unsigned_of(offsets.at(0), name, check),
                      end = unsigned_of(offsets.at(1), name, check);
  check(begin <= end && end <= data.size(),
        fmt::format("tensor {} lies at [{}, {}) of {} data bytes", name, begin, end, data.size()));
  const std::uint64_t bytes = byte_count(tensor.shape, known->bytes, name, check);
  check(bytes == end - begin,
        fmt::format("tensor {} needs {} bytes and has {}", name, bytes, end - begin));
  tensor.bytes = data.subspan(begin, end - begin);
  return tensor;
}

/// Checks that tensors neither overlap nor leave holes, as the format requires.
void check_tiling(const std::map<std::string, TensorView>& tensors, std::span<const std::byte> data,
                  const Checker& check) {
  std::vector<const TensorView*> order;
  for (const auto& [name, tensor] : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const TensorView* a, const TensorView* b) {
    return std::pair(a->bytes.data(), a->bytes.size()) <
           std::pair(b->bytes.data(), b->bytes.size());
  });
  const std::byte* next = data.data();
  for (const TensorView* tensor : order) {
    check(tensor->bytes.data() >= next, fmt::format("tensor {} overlaps another", tensor->name));
    check(tensor->bytes.data() == next,
          fmt::format("there is a hole before tensor {}", tensor->name));
    next += tensor->bytes.size();
  }
  check(next == data.data() + data.size(),
        fmt::format("{} bytes after the last tensor belong to none",
                    data.data() + data.size() - next));
}

/// Converts IEEE 754 binary16. Exponent and mantissa are moved into place and then scaled by 2^112,
/// because the biases of the exponents differ by 112.
float half_to_float(std::uint16_t half) {
  const float scaled = std::bit_cast<float>(std::uint32_t(half & 0x7FFF) << 13) * 0x1p112F;
  const std::uint32_t special = (half & 0x7C00) == 0x7C00 ? 0x7F800000U : 0U;  // infinity and NaN
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | special |
                              std::uint32_t(half & 0x8000) << 16);
}

template <class T, class Widen>
void widen_all(const std::byte* from, std::span<float> into, Widen widen) {
  for (std::size_t i = 0; i < into.size(); ++i) {
    T stored;
    std::memcpy(&stored, from + i * sizeof(T), sizeof(T));  // the data start need not be aligned
    into[i] = widen(stored);
  }
}

/// Fills tensors and metadata from the header.
void read_header(const Json& header, std::span<const std::byte> data, const Checker& check,
                 std::map<std::string, TensorView>& tensors,
                 std::map<std::string, std::string>& metadata) {
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") {
      tensors.emplace(name, read_tensor(name, entry, data, check));
      continue;
    }
    check(entry.is_object(), "__metadata__ is not a table");
    for (const auto& [key, value] : entry.items()) {
      check(value.is_string(), fmt::format("metadata {} is not a string", key));
      metadata[key] = value.get<std::string>();
    }
  }
}

}  // namespace

SafetensorsFile SafetensorsFile::map(const std::filesystem::path& path) {
  refuse_lfs_pointer(path);
  const auto mapped = std::make_shared<const MappedFile>(path);
  const std::span<const std::byte> all = mapped->bytes();
  std::uint64_t length = 0;
  if (all.size() >= 8) {
    mapped->load(all.first(8));
    std::memcpy(&length, all.data(), 8);
    mapped->load(all.first(8 + std::size_t(std::min({length, kHeaderLimit, all.size() - 8}))));
  }
  SafetensorsFile file = view(all, path.string());
  file.file_ = mapped;
  return file;
}

SafetensorsFile SafetensorsFile::parse(std::string bytes, const std::string& origin) {
  const auto kept = std::make_shared<const std::string>(std::move(bytes));
  SafetensorsFile file = view(std::as_bytes(std::span(*kept)), origin);
  file.bytes_ = kept;
  return file;
}

SafetensorsFile SafetensorsFile::view(std::span<const std::byte> all, const std::string& origin) {
  const Checker check(origin);
  SafetensorsFile file;
  file.origin_ = origin;
  check(all.size() >= 8,
        fmt::format("it has {} bytes, fewer than the header length takes", all.size()));
  std::uint64_t length = 0;
  std::memcpy(&length, all.data(), 8);
  check(length <= kHeaderLimit,
        fmt::format("its header of {} bytes is above the limit of {}", length, kHeaderLimit));
  check(length <= all.size() - 8,
        fmt::format("its header of {} bytes reaches beyond the end", length));
  check(length > 0 && char(all[8]) == '{', "the header does not start with {");
  std::string fault;
  const Json header = parse_foreign<Json>(
      {reinterpret_cast<const char*>(all.data()) + 8, std::size_t(length)}, fault);
  check(fault.empty(), "in the header: " + fault);
  const std::span<const std::byte> data = all.subspan(8 + length);
  read_header(header, data, check, file.tensors_, file.metadata_);
  check_tiling(file.tensors_, data, check);
  return file;
}

const TensorView& SafetensorsFile::tensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, view] : tensors_) names.push_back(known);
  throw InputError(error_message(
      fmt::format("{} has no tensor {}", origin_, name), "the model cannot be built without it",
      names.empty() ? "the file holds no tensor at all"
                    : fmt::format("the nearest name in it is {}", nearest_name(name, names))));
}

std::vector<float> SafetensorsFile::floats(const std::string& name) const {
  const TensorView& view = tensor(name);
  std::vector<float> values(view.bytes.size() / name_of(view.dtype).bytes);
  widen(name, 0, values);
  return values;
}

std::vector<std::int64_t> SafetensorsFile::integers(const std::string& name) const {
  const TensorView& view = tensor(name);
  require<InputError>(view.dtype == Dtype::i64,
                      fmt::format("tensor {} of {} is {}", name, origin_, name_of(view.dtype).name),
                      "it should be I64", "use the file that was written");
  std::vector<std::int64_t> values(view.bytes.size() / sizeof(std::int64_t));
  use<std::int64_t>(view, 0, values, [](const std::byte* from, std::span<std::int64_t> part) {
    std::memcpy(part.data(), from, part.size_bytes());
  });
  return values;
}

/// Copies elements of a tensor. Only part of a mapped file is in memory at a time.
template <class Element>
void SafetensorsFile::use(
    const TensorView& view, std::size_t first, std::span<Element> into,
    const std::function<void(const std::byte* from, std::span<Element> part)>& copy) const {
  const std::size_t width = name_of(view.dtype).bytes;
  expect(first <= view.bytes.size() / width && into.size() <= view.bytes.size() / width - first,
         "the elements are the tensor's");
  for (std::size_t at = 0; at < into.size(); at += kMappedElements) {
    const auto part = into.subspan(at, std::min(kMappedElements, into.size() - at));
    const auto bytes = view.bytes.subspan((first + at) * width, part.size() * width);
    if (file_ != nullptr) file_->load(bytes);
    copy(bytes.data(), part);
    if (file_ != nullptr) file_->release(bytes);
  }
}

void SafetensorsFile::widen(const std::string& name, std::size_t first,
                            std::span<float> into) const {
  const TensorView& view = tensor(name);
  const bool is_float =
      view.dtype == Dtype::f32 || view.dtype == Dtype::bf16 || view.dtype == Dtype::f16;
  require<InputError>(is_float,
                      fmt::format("tensor {} of {} is {}", name, origin_, name_of(view.dtype).name),
                      "weights are read from F32, BF16 or F16", "convert the file to one of these");
  use<float>(view, first, into, [&](const std::byte* from, std::span<float> part) {
    switch (view.dtype) {
      case Dtype::bf16:
        return widen_all<std::uint16_t>(from, part, [](std::uint16_t value) {
          return std::bit_cast<float>(std::uint32_t(value) << 16);
        });
      case Dtype::f16: return widen_all<std::uint16_t>(from, part, half_to_float);
      default: std::memcpy(part.data(), from, part.size_bytes());
    }
  });
}

void SafetensorsFile::halves(const std::string& name, std::size_t first,
                             std::span<std::uint16_t> into) const {
  const TensorView& view = tensor(name);
  expect(view.dtype == Dtype::bf16, "halves are read from a bf16 tensor");
  use<std::uint16_t>(view, first, into, [](const std::byte* from, std::span<std::uint16_t> part) {
    std::memcpy(part.data(), from, part.size_bytes());
  });
}

std::string safetensors_head(std::span<const TensorView> tensors,
                             const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t offset = 0;
  for (const TensorView& tensor : tensors) {
    expect(!header.contains(tensor.name), "tensor names are distinct");
    header[tensor.name] = {{"dtype", name_of(tensor.dtype).name},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string text = header.dump();
  text.append((64 - (8 + text.size()) % 64) % 64, ' ');  // the format pads with spaces
  const std::uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + text;
}

std::string to_safetensors(std::span<const TensorView> tensors,
                           const std::map<std::string, std::string>& metadata) {
  std::string bytes = safetensors_head(tensors, metadata);
  std::size_t size = bytes.size();
  for (const TensorView& tensor : tensors) size += tensor.bytes.size();
  bytes.reserve(size);
  for (const TensorView& tensor : tensors)
    bytes.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return bytes;
}

}  // namespace rollcall::model
