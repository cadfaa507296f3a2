// Damages the files of a model folder at random and reads them: each must be read or refused with
// an InputError, whatever its bytes.
// usage: fuzz_model_files RUNS [FIRST_SEED]     run N depends on N alone, so a failure is repeated
// by  fuzz_model_files 1 N
#include "base/errors/error.hpp"
#include "base/text/foreign_json.hpp"
#include "model/reference_models.hpp"
#include "model/tensors/adapter_tensors.hpp"
#include "model/tensors/model_folder.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

using namespace rollcall;
using namespace rollcall::model;
using Json = nlohmann::ordered_json;

/// Draws of one run, one after the other.
class Draws {
 public:
  explicit Draws(std::uint64_t run) : stream_(run, RandomPurpose::test, 7) {}
  std::size_t below(std::size_t n) { return std::size_t(stream_.below(next_++, n)); }

 private:
  RandomStream stream_;
  std::uint64_t next_ = 0;
};

/// What stands in place of a JSON value: extremes of each kind.
const std::array<const char*, 24> kValues = {
    "null",
    "true",
    "false",
    "0",
    "-1",
    "1",
    "2",
    "1e308",
    "1e-308",
    "-0.0",
    "9223372036854775807",
    "18446744073709551615",
    "1e999",
    "0.5",
    "\"\"",
    "\"silu\"",
    "\"yarn\"",
    "\"llama3\"",
    "[]",
    "{}",
    "[0,1]",
    "[[1]]",
    R"({"factor":2})",
    R"({"rope_type":"yarn","factor":1e-300,"beta_fast":1e300,"beta_slow":1e-300})"};

/// Replaces, removes or doubles values of a JSON text wherever they stand.
std::string with_other_values(Draws& draw, const std::string& text) {
  Json json = Json::parse(text);
  for (std::size_t changes = 1 + draw.below(3); changes > 0; --changes) {
    Json* at = &json;
    while (at->is_structured() && !at->empty() && (at == &json || draw.below(3) != 0)) {
      auto child = at->begin();
      std::advance(child, std::ptrdiff_t(draw.below(at->size())));
      at = &*child;
    }
    *at = Json::parse(kValues[draw.below(kValues.size())], nullptr, false);
    if (at->is_discarded()) *at = nullptr;
    if (!json.is_object()) json = {{"weight_map", json}};
  }
  return json.dump();
}

/// Changes, removes, repeats and inserts bytes.
std::string with_other_bytes(Draws& draw, std::string bytes) {
  static const std::string marks = "{}[]\",:\\0123456789-.eE";
  for (std::size_t changes = 1 + draw.below(4); changes > 0 && !bytes.empty(); --changes) {
    const std::size_t at = draw.below(bytes.size()),
                      length = 1 + draw.below(std::min<std::size_t>(bytes.size() - at, 16));
    switch (draw.below(6)) {
      case 0: bytes[at] = char(draw.below(256)); break;
      case 1: bytes[at] = marks[draw.below(marks.size())]; break;
      case 2: bytes.erase(at, length); break;
      case 3: bytes.insert(at, bytes.substr(draw.below(bytes.size()), length)); break;
      case 4: bytes.resize(at); break;
      default: bytes[at] = char(bytes[at] ^ char(1 << draw.below(8)));
    }
  }
  return bytes;
}

std::string damaged_text(Draws& draw, const std::string& text) {
  return draw.below(2) == 0 ? with_other_bytes(draw, text) : with_other_values(draw, text);
}

/// A safetensors file with a damaged header whose length is right again more often than not, or
/// with damage anywhere.
std::string damaged_tensors(Draws& draw, const std::string& file) {
  if (draw.below(3) == 0) return with_other_bytes(draw, file);
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  const std::string header = damaged_text(draw, file.substr(8, length)),
                    data = file.substr(8 + length);
  length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header +
         (draw.below(4) == 0 ? with_other_bytes(draw, data) : data);
}

struct Subject {
  const char* name;
  std::vector<std::string> seeds;
  std::function<void(const std::string&)> read;
  std::function<std::string(Draws&, const std::string&)> damage;
};

std::vector<Subject> subjects() {
  std::vector<std::string> configs, files;
  std::vector<TensorView> few;
  static const std::vector<float> values(12, 1.0F);
  for (const auto& [name, width] : {std::pair("a", 4), std::pair("b.weight", 2)}) {
    few.push_back({name,
                   width == 4 ? Dtype::f32 : Dtype::f16,
                   {2, 3},
                   std::as_bytes(std::span(values)).first(std::size_t(6 * width))});
  }
  for (const auto& [name, config] : model::testing::reference_models())
    configs.push_back(to_config_json(config));
  files.push_back(to_safetensors(few, {{"format", "pt"}}));
  const auto read_file = [](const std::string& bytes) {
    const SafetensorsFile file = SafetensorsFile::parse(bytes, "f");
    for (const auto& [name, tensor] : file.tensors()) {
      if (tensor.dtype == Dtype::f32 || tensor.dtype == Dtype::bf16 || tensor.dtype == Dtype::f16)
        file.floats(name);
    }
  };
  const auto read_config = [](const std::string& text) {
    const ModelConfig config = read_model_config({text, "c"});
    // what is accepted can be written and is read as the same
    const ModelConfig again = read_model_config({to_config_json(config), "again"});
    if (to_config_json(again) != to_config_json(config))
      throw std::runtime_error("the configuration changed on its way");
    if (config.num_hidden_layers < 100) weight_layout(config);
    const Rope rope{config.rope_theta, std::min<std::int64_t>(config.head_dim, 64), 4,
                    config.rope_scaling};
    rotary_table(rope);
  };
  const auto read_generation = [base = configs.front()](const std::string& text) {
    read_model_config({base, "c"}, {text, "g"});
  };
  const auto model_config = model::testing::small_config(model::testing::Family::llama);
  const auto read_model = [model_config](const std::string& bytes) {
    read_weights(model_config, WeightFiles(SafetensorsFile::parse(bytes, "m")));
  };
  const auto read_adapter = [model_config](const std::string& text) {
    ModelConfig config = model_config;
    config.adapter = read_adapter_config(text, "a").config;
    check_adapter(config, "a");
    adapter_layout(config);
  };
  const std::string whole = to_model_safetensors(weight_layout(model_config),
                                                 model::testing::random_weights(model_config, 1));
  const std::string index =
      R"({"metadata": {"total_size": 8}, "weight_map": {"a": "x-1.safetensors", "b": "x-2.safetensors"}})";
  return {{"config.json", configs, read_config, damaged_text},
          {"generation_config.json",
           {R"({"eos_token_id": [1, 2], "temperature": 0.6})"},
           read_generation,
           damaged_text},
          {"model.safetensors.index.json",
           {index},
           [](const std::string& text) { parse_shard_index(text, "i"); },
           damaged_text},
          {"tensors", files, read_file, damaged_tensors},
          {"model.safetensors", {whole}, read_model, damaged_tensors},
          {"adapter_config.json",
           {to_adapter_config_json({{8, 16.0, true, {"q_proj", "down_proj"}}, "base"})},
           read_adapter,
           damaged_text}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fputs("usage: fuzz_model_files RUNS [FIRST_SEED]\n", stderr);
    return 2;
  }
  const std::uint64_t runs = std::strtoull(argv[1], nullptr, 10),
                      first = argc == 3 ? std::strtoull(argv[2], nullptr, 10) : 0;
  const auto all = subjects();
  std::vector<std::uint64_t> read(all.size(), 0), refused(all.size(), 0);
  for (std::uint64_t run = first; run < first + runs; ++run) {
    Draws draw(run);
    const std::size_t which = std::array<std::size_t, 18>{
        0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 3, 3, 3, 4, 5, 5}[draw.below(18)];
    const Subject& subject = all[which];
    const std::string bytes = subject.damage(draw, subject.seeds[draw.below(subject.seeds.size())]);
    try {
      subject.read(bytes);
      ++read[which];
    } catch (const InputError&) {
      ++refused[which];
    } catch (const std::exception& e) {
      std::fprintf(stderr, "run %llu, %s: %s\n%s\n", static_cast<unsigned long long>(run),
                   subject.name, e.what(), bytes.c_str());
      return 1;
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::printf("%s: %llu read, %llu refused\n", all[i].name,
                static_cast<unsigned long long>(read[i]),
                static_cast<unsigned long long>(refused[i]));
    // damage that is never or always noticed tries nothing
    if (runs >= 10'000 && (read[i] == 0 || refused[i] == 0)) return 1;
  }
}
