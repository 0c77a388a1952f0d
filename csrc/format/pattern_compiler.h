// Compiles a file in the notation to the program that the parser runs.
#pragma once

#include "format/pattern_file.h"
#include "format/program.h"

namespace unspool {

/// Throws FormatError where the patterns do not say enough: a hole whose end nothing marks.
Program compile_patterns(PatternFile file);

}  // namespace unspool
