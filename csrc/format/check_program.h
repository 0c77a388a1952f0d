// Validates that a compiled format is complete.
#pragma once

#include "format/program.h"

namespace unspool {

/// Throws PatternError, which names the key, if a part is missing or if there are too many parts.
void check_program(const Program& program);

}  // namespace unspool
