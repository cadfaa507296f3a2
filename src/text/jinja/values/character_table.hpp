// The format of the generated character table (character_table.cpp).
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
  kCased = 512,       ///< has upper-case and lower-case forms; next to a sigma it decides the
                      ///< sigma's form
  kIgnorable = 1024,  ///< skipped in the search for the cased letter next to a sigma
};

/// Flags of the characters from first to last. Characters that are in no row have no flags.
struct PropertyRow {
  char32_t first, last;
  std::uint16_t flags;
};

/// Every `step`-th character from first to last becomes the one with `delta` added to its code.
struct MappingRow {
  char32_t first, last;
  std::uint8_t step;
  std::int32_t delta;
};

/// A character that becomes two or three others. The rest of `to` is 0.
struct SpecialRow {
  char32_t from;
  char32_t to[3];
};

struct Mapping {
  std::span<const MappingRow> rows;
  std::span<const SpecialRow> special;
};

/// All rows are sorted by character.
struct CharacterTable {
  std::span<const PropertyRow> properties;
  std::span<const char32_t> zeros;  ///< the digit zero of each script, which nine others follow
  Mapping upper, lower, title, fold;
};

CharacterTable character_table();

}  // namespace rollcall::text::jinja
