// Reads symbol tables in the mapped files, as the ELF specification lays them out. Anything that
// does not fit is ignored, since a file may be replaced while it runs.
#include "base/process/symbol.hpp"

#include "base/process/uninterrupted.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <sstream>

namespace rollcall {

/// A file of the process's code, mapped in order to read its symbol tables.
class Symbols::Module {
 public:
  explicit Module(const std::string& path) {
    const Descriptor file(path, O_RDONLY);
    struct stat facts {};
    if (file < 0 || ::fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode) ||
        facts.st_size < off_t(sizeof(ElfW(Ehdr))))
      return;
    void* const at = ::mmap(nullptr, std::size_t(facts.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    if (at == MAP_FAILED) return;
    bytes_ = {static_cast<const std::byte*>(at), std::size_t(facts.st_size)};
    find_tables();
  }
  ~Module() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// The mangled name of the function at this offset in the file.
  std::optional<std::string> function_at(std::uint64_t offset) const {
    const auto address = address_of(offset);
    if (!address) return std::nullopt;
    for (const auto& symbol : symbols_) {
      const auto type = symbol.st_info & 0xf;
      if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF) continue;
      if (*address < symbol.st_value || *address - symbol.st_value >= symbol.st_size ||
          symbol.st_name >= names_.size())
        continue;
      const char* const name = names_.data() + symbol.st_name;
      return std::string(name, ::strnlen(name, names_.size() - symbol.st_name));
    }
    return std::nullopt;
  }

 private:
  template <class T>
  std::span<const T> table(std::uint64_t offset, std::uint64_t bytes) const {
    if (offset > bytes_.size() || bytes > bytes_.size() - offset || offset % alignof(T) != 0)
      return {};
    return {reinterpret_cast<const T*>(bytes_.data() + offset), std::size_t(bytes / sizeof(T))};
  }

  void find_tables() {
    const auto& head = *reinterpret_cast<const ElfW(Ehdr)*>(bytes_.data());
    const unsigned char own_class = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
    if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != own_class)
      return;
    segments_ = table<ElfW(Phdr)>(head.e_phoff, std::uint64_t(head.e_phnum) * sizeof(ElfW(Phdr)));
    const auto sections =
        table<ElfW(Shdr)>(head.e_shoff, std::uint64_t(head.e_shnum) * sizeof(ElfW(Shdr)));
    for (const unsigned type : {SHT_SYMTAB, SHT_DYNSYM}) {  // a stripped file has only the second
      const auto found = std::find_if(sections.begin(), sections.end(),
                                      [&](const auto& section) { return section.sh_type == type; });
      if (found == sections.end() || found->sh_link >= sections.size()) continue;
      const auto& strings = sections[found->sh_link];
      symbols_ = table<ElfW(Sym)>(found->sh_offset, found->sh_size);
      names_ = table<char>(strings.sh_offset, strings.sh_size);
      return;
    }
  }

  std::optional<std::uint64_t> address_of(std::uint64_t offset) const {
    for (const auto& segment : segments_) {
      if (segment.p_type == PT_LOAD && offset >= segment.p_offset &&
          offset - segment.p_offset < segment.p_filesz)
        return segment.p_vaddr + (offset - segment.p_offset);
    }
    return std::nullopt;
  }

  std::span<const std::byte> bytes_;
  std::span<const ElfW(Phdr)> segments_;
  std::span<const ElfW(Sym)> symbols_;
  std::span<const char> names_;
};

Symbols::Symbols() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    Mapping mapping{};
    std::string rights, device, inode;
    char dash = 0;
    if (!(words >> std::hex >> mapping.begin >> dash >> mapping.end >> rights >> mapping.offset >>
          device >> inode))
      continue;
    std::getline(words >> std::ws, mapping.path);
    if (rights.find('x') != std::string::npos) mappings_.push_back(std::move(mapping));
  }
}

Symbols::~Symbols() = default;

std::string Symbols::name(std::uintptr_t address) {
  const auto mapping = std::find_if(mappings_.begin(), mappings_.end(), [&](const Mapping& m) {
    return m.begin <= address && address < m.end;
  });
  if (mapping == mappings_.end() || mapping->path.empty()) return fmt::format("{:#x}", address);
  const std::uint64_t offset = mapping->offset + (address - mapping->begin);
  auto& module = modules_[mapping->path];
  if (!module) module = std::make_unique<Module>(mapping->path);
  const auto mangled = module->function_at(offset);
  if (!mangled)
    return fmt::format("{}+{:#x}", std::filesystem::path(mapping->path).filename().string(),
                       offset);
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(mangled->c_str(), nullptr, nullptr, &status), std::free);
  return plain ? short_name(plain.get()) : *mangled;
}

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Length of "operator<<" or "operator()", whose brackets do not enclose arguments.
std::size_t operator_name(std::string_view text) {
  constexpr std::string_view kOperator = "operator";
  if (!text.starts_with(kOperator) || text.size() == kOperator.size() ||
      is_word(text[kOperator.size()]))
    return 0;
  std::size_t end = kOperator.size();
  if (text.substr(end).starts_with("()")) return end + 2;
  while (end < text.size() &&
         std::string_view("<>=!+-*/%&|^~[],").find(text[end]) != std::string_view::npos)
    ++end;
  return end;
}

}  // namespace

std::string short_name(std::string_view text) {
  constexpr std::string_view kUnnamed = "(anonymous namespace)::", kLambda = "{lambda(";
  text = text.substr(0, text.find(" [clone"));
  std::string name;
  int depth = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    if (rest.starts_with(kUnnamed)) {
      i += kUnnamed.size();
    } else if (const std::size_t length = i > 0 && is_word(text[i - 1]) ? 0 : operator_name(rest);
               length > 0) {
      if (depth == 0) name += rest.substr(0, length);
      i += length;
    } else {
      const char c = text[i++];
      const bool closes = (c == '>' || c == ')') && depth > 0;
      if (closes) --depth;
      if (depth == 0) name += c;
      if (c == '<' || c == '(') ++depth;
    }
  }
  for (std::size_t at = name.find("{lambda()"); at != std::string::npos;
       at = name.find("{lambda()"))
    name.erase(at + kLambda.size() - 1, 2);
  if (name.ends_with(" const")) name.resize(name.size() - 6);
  return name;
}

}  // namespace rollcall
