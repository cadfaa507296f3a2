// The layouts of question files, recognised by the fields of their rows. Each layout is a table row
// that says where the prompt, the answer and everything else come from.
#pragma once

#include "base/text/json.hpp"
#include "core/run_config.hpp"
#include "task/json_lines.hpp"
#include "task/rows/references.hpp"

#include <string>
#include <vector>

namespace rollcall::task {

enum class FieldKind { any, text, list, number };

/// A field that all rows of a layout have, and its kind.
struct NeededField {
  const char* name;
  FieldKind kind = FieldKind::any;
};

/// A row of the table in layouts.cpp. Names are dotted and may have alternatives
/// (task/rows/fields.hpp); empty if rows with this layout have none.
struct Layout {
  std::string name{};
  const char* data_sets = "";  ///< data sets whose rows look like this
  std::vector<NeededField> needs{};
  std::string prompt{}, answer{};
  std::string solution{};  ///< worked solution, if it is not the answer itself
  std::string system{};    ///< system message, if the prompt has none
  std::string level{}, domain{}, prior{}, id{}, tools{};
  Asks asks = asks_prompt;           ///< makes the question
  Refers refers = refers_to_answer;  ///< makes the reference
  const char* verifier = kByMarker;  ///< what judges; kByMarker, kByRow: see references.hpp
};

const std::vector<Layout>& layouts();
/// The first layout of the table whose fields the row has; null if there is none.
const Layout* layout_of(const nlohmann::json& row);

/// The layout of a file: that of the first row that has one. If task.fields names the prompt or the
/// answer, it is the layout "fields" with the named fields; other named fields replace those of the
/// layout. Throws InputError, listing the fields, if no row has a layout.
Layout layout_of_file(const std::string& file, const TaskSection::Fields& fields);

/// The verifier that fits a file's rows according to its layout and first row, before all rows are
/// read; empty if that is the task's own or math, or if the file cannot be read.
std::string verifier_of_first_row(const std::string& file, const TaskSection::Fields& fields);

}  // namespace rollcall::task
