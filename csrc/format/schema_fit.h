// Whether a call's arguments fit the schema of its tool.
#pragma once

#include <string_view>

#include "format/schema.h"

namespace unspool {

/// Whether complete arguments (JSON) fit: they are an object without a key that the schema does not
/// have, and every keyword holds. Not checked: `format`, `unevaluatedProperties`,
/// `unevaluatedItems`, references to other documents, and patterns that `compile_schema_pattern`
/// does not take. The work is bounded; arguments that need more do not fit.
bool fits_schema(std::string_view arguments, const ToolSchema& schema);

}  // namespace unspool
