// Reads the patterns of a format file into its shape. All that looks at a pattern's text is here.
#pragma once

#include "format/pattern_file.h"
#include "format/shape.h"

namespace unspool {

/// Throws PatternError if the patterns are incomplete, such as a hole whose end has no marker.
Shape read_shape(const PatternFile& file);

}  // namespace unspool
