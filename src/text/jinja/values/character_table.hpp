// The shape of the generated table of characters.
#pragma once

#include <cstdint>
#include <span>

namespace rollcall::text::jinja {

/// Bits of PropertyRow::flags, in the order in which scripts/character_table writes them.
enum CharacterFlag : std::uint16_t {
  kAlpha = 1,
  kDecimal = 2,
  kDigit = 4,
  kNumeric = 8,
  kSpace = 16,
  kPrintable = 32,
  kUppercase = 64,
  kLowercase = 128,
  kTitlecase = 256,
  kCased = 512,       ///< ends the search of the final sigma's rule
  kIgnorable = 1024,  ///< is skipped by it
};

struct PropertyRow {  ///< characters first to last; those in no row have no flag
  char32_t first, last;
  std::uint16_t flags;
};

struct MappingRow {  ///< every `step`-th character from first to last moves by `delta`
  char32_t first, last;
  std::uint8_t step;
  std::int32_t delta;
};

struct SpecialRow {  ///< becomes two or three characters; 0 fills
  char32_t from;
  char32_t to[3];
};

struct Mapping {
  std::span<const MappingRow> rows;
  std::span<const SpecialRow> special;
};

/// All rows sorted by character.
struct CharacterTable {
  std::span<const PropertyRow> properties;
  std::span<const char32_t> zeros;  ///< the zero of each script's ten decimal digits
  Mapping upper, lower, title, fold;
};

CharacterTable character_table();

}  // namespace rollcall::text::jinja
