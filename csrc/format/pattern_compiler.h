// Compiles a format file to the program that the parser runs.
#pragma once

#include "format/pattern_file.h"
#include "format/program.h"

namespace unspool {

/// Throws FormatError if the patterns are incomplete, such as a hole whose end has no marker.
Program compile_patterns(PatternFile file);

}  // namespace unspool
