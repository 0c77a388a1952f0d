// The patterns of JSON Schemas: regular expressions of ECMA 262, anywhere in a string.
#pragma once

#include <memory>
#include <string_view>

#include "text/regex.h"

namespace unspool {

/// Null if the pattern is broken, too large, or has look-around, back-references, `\b` or `\p`:
/// these are not checked.
std::shared_ptr<const Regex> compile_schema_pattern(std::string_view pattern);

}  // namespace unspool
