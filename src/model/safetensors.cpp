// Reader and writer of the safetensors format (8-byte header length, JSON header, data); the reader trusts no byte.
#include "model/safetensors.hpp"

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/nearest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

namespace rollcall::model {
namespace {

using Json = nlohmann::ordered_json;
static_assert(std::endian::native == std::endian::little, "the format is little-endian and so is every machine this runs on");

constexpr std::uint64_t kHeaderLimit = 100'000'000;  // as in the reference implementation

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
  return *std::find_if(kDtypes.begin(), kDtypes.end(), [&](const DtypeName& d) { return d.dtype == dtype; });
}

/// Checks of one file, each fault an InputError that names it.
class Checker {
 public:
  explicit Checker(const std::string& origin) : origin_(&origin) {}
  void operator()(bool ok, const std::string& fault) const {
    if (ok) return;
    throw InputError(error_message(fmt::format("{} is not a valid safetensors file: {}", *origin_, fault), "its tensors cannot be trusted",
                                   "copy or download the file again"));
  }

 private:
  const std::string* origin_;
};

/// The header as JSON; a key that stands twice at one level is a fault that a plain parse would hide.
Json parse_header(std::string_view text, const Checker& check) {
  std::vector<std::set<std::string>> keys;  // [depth] of the objects that are open
  std::string twice;
  const auto watch = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second) twice = value.get<std::string>();
    return true;
  };
  Json header = Json::parse(text, watch, false);
  check(!header.is_discarded() && header.is_object(), "the header is not a JSON object");
  check(twice.empty(), fmt::format("\"{}\" stands twice", twice));
  return header;
}

std::uint64_t unsigned_of(const Json& value, const std::string& name, const Checker& check) {
  check(value.is_number_unsigned(),
        fmt::format("tensor {} has {} where a whole number is needed", name, value.dump(-1, ' ', true, Json::error_handler_t::replace)));
  return value.get<std::uint64_t>();
}

const Json& member(const Json& table, const char* key, const std::string& name, const Checker& check) {
  check(table.is_object() && table.contains(key), fmt::format("tensor {} has no \"{}\"", name, key));
  return table.at(key);
}

/// Product of the extents times the element size; a fault on overflow.
std::uint64_t byte_count(const std::vector<std::int64_t>& shape, std::uint64_t element, const std::string& name, const Checker& check) {
  std::uint64_t count = element;
  for (const std::int64_t extent : shape) {
    check(extent == 0 || count <= std::numeric_limits<std::uint64_t>::max() / std::uint64_t(extent), fmt::format("the size of tensor {} overflows", name));
    count *= std::uint64_t(extent);
  }
  return count;
}

TensorView read_tensor(const std::string& name, const Json& entry, std::span<const std::byte> data, const Checker& check) {
  TensorView tensor;
  tensor.name = name;
  const Json& dtype = member(entry, "dtype", name, check);
  check(dtype.is_string(), fmt::format("tensor {} has a dtype that is not a string", name));
  const auto known = std::find_if(kDtypes.begin(), kDtypes.end(), [&](const DtypeName& d) { return dtype.get_ref<const std::string&>() == d.name; });
  check(known != kDtypes.end(), fmt::format("tensor {} has the unsupported dtype {}", name, dtype.get<std::string>()));
  tensor.dtype = known->dtype;
  const Json& shape = member(entry, "shape", name, check);
  check(shape.is_array(), fmt::format("tensor {} has a shape that is not a list", name));
  for (const Json& extent : shape) {
    const std::uint64_t value = unsigned_of(extent, name, check);
    check(value <= std::uint64_t(std::numeric_limits<std::int64_t>::max()), fmt::format("the size of tensor {} overflows", name));
    tensor.shape.push_back(std::int64_t(value));
  }
  const Json& offsets = member(entry, "data_offsets", name, check);
  check(offsets.is_array() && offsets.size() == 2, fmt::format("tensor {} has data_offsets that are not a pair", name));
  const std::uint64_t begin = unsigned_of(offsets.at(0), name, check), end = unsigned_of(offsets.at(1), name, check);
  check(begin <= end && end <= data.size(), fmt::format("tensor {} lies at [{}, {}) of {} data bytes", name, begin, end, data.size()));
  const std::uint64_t bytes = byte_count(tensor.shape, known->bytes, name, check);
  check(bytes == end - begin, fmt::format("tensor {} needs {} bytes and has {}", name, bytes, end - begin));
  tensor.bytes = data.subspan(begin, end - begin);
  return tensor;
}

/// The format allows neither overlaps nor holes.
void check_tiling(const std::map<std::string, TensorView>& tensors, std::span<const std::byte> data, const Checker& check) {
  std::vector<const TensorView*> order;
  for (const auto& [name, tensor] : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(),
            [](const TensorView* a, const TensorView* b) { return std::pair(a->bytes.data(), a->bytes.size()) < std::pair(b->bytes.data(), b->bytes.size()); });
  const std::byte* next = data.data();
  for (const TensorView* tensor : order) {
    check(tensor->bytes.data() >= next, fmt::format("tensor {} overlaps another", tensor->name));
    check(tensor->bytes.data() == next, fmt::format("there is a hole before tensor {}", tensor->name));
    next += tensor->bytes.size();
  }
  check(next == data.data() + data.size(), fmt::format("{} bytes after the last tensor belong to none", data.data() + data.size() - next));
}

float half_to_float(std::uint16_t half) {
  const int exponent = half >> 10 & 31, mantissa = half & 1023;
  const float sign = (half & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 31) return mantissa != 0 ? std::numeric_limits<float>::quiet_NaN() : sign * std::numeric_limits<float>::infinity();
  return exponent == 0 ? sign * std::ldexp(float(mantissa), -24) : sign * std::ldexp(float(mantissa + 1024), exponent - 25);
}

template <class T, class Widen>
std::vector<float> widened(std::span<const std::byte> bytes, Widen widen) {
  std::vector<float> values(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    T stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(T), sizeof(T));  // the data start need not be aligned
    values[i] = widen(stored);
  }
  return values;
}

}  // namespace

SafetensorsFile SafetensorsFile::read(const std::filesystem::path& path) { return parse(read_file(path), path.string()); }

SafetensorsFile SafetensorsFile::parse(std::string bytes, const std::string& origin) {
  const Checker check(origin);
  SafetensorsFile file;
  file.origin_ = origin;
  file.bytes_ = std::make_shared<const std::string>(std::move(bytes));
  const std::string& all = *file.bytes_;
  check(all.size() >= 8, fmt::format("it has {} bytes, fewer than the header length takes", all.size()));
  std::uint64_t length = 0;
  std::memcpy(&length, all.data(), 8);
  check(length <= kHeaderLimit, fmt::format("its header of {} bytes is above the limit of {}", length, kHeaderLimit));
  check(length <= all.size() - 8, fmt::format("its header of {} bytes reaches beyond the end", length));
  check(length > 0 && all[8] == '{', "the header does not start with {");
  const Json header = parse_header(std::string_view(all).substr(8, length), check);
  const std::span<const std::byte> data = std::as_bytes(std::span(all)).subspan(8 + length);
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") {
      file.tensors_.emplace(name, read_tensor(name, entry, data, check));
      continue;
    }
    check(entry.is_object(), "__metadata__ is not a table");
    for (const auto& [key, value] : entry.items()) {
      check(value.is_string(), fmt::format("metadata {} is not a string", key));
      file.metadata_[key] = value.get<std::string>();
    }
  }
  check_tiling(file.tensors_, data, check);
  return file;
}

const TensorView& SafetensorsFile::tensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, view] : tensors_) names.push_back(known);
  throw InputError(error_message(fmt::format("{} has no tensor {}", origin_, name), "the model cannot be built without it",
                                 names.empty() ? "the file holds no tensor at all" : fmt::format("the nearest name in it is {}", nearest_name(name, names))));
}

std::vector<float> SafetensorsFile::floats(const std::string& name) const {
  const TensorView& view = tensor(name);
  switch (view.dtype) {
    case Dtype::f32: return widened<float>(view.bytes, [](float value) { return value; });
    case Dtype::bf16: return widened<std::uint16_t>(view.bytes, [](std::uint16_t value) { return std::bit_cast<float>(std::uint32_t(value) << 16); });
    case Dtype::f16: return widened<std::uint16_t>(view.bytes, half_to_float);
    default: break;
  }
  throw InputError(error_message(fmt::format("tensor {} of {} is {}", name, origin_, name_of(view.dtype).name), "weights are read from F32, BF16 or F16",
                                 "convert the file to one of these"));
}

std::string safetensors_head(std::span<const TensorView> tensors, const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t offset = 0;
  for (const TensorView& tensor : tensors) {
    expect(!header.contains(tensor.name), "tensor names are distinct");
    header[tensor.name] = {{"dtype", name_of(tensor.dtype).name}, {"shape", tensor.shape}, {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string text = header.dump();
  text.append((64 - (8 + text.size()) % 64) % 64, ' ');  // spaces are the format's padding
  const std::uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + text;
}

std::string to_safetensors(std::span<const TensorView> tensors, const std::map<std::string, std::string>& metadata) {
  std::string bytes = safetensors_head(tensors, metadata);
  for (const TensorView& tensor : tensors) bytes.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return bytes;
}

}  // namespace rollcall::model
