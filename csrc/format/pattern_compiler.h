// Compiles a file in the notation to the description that the parser runs.
#pragma once

#include "format/format_spec.h"
#include "format/pattern_file.h"

namespace unspool {

/// Throws FormatError where the patterns do not say enough: a hole whose end nothing marks.
FormatSpec compile_patterns(PatternFile file);

}  // namespace unspool
