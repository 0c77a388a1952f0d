// Whether a compiled format says enough to be read.
#pragma once

#include "format/program.h"

namespace unspool {

/// Throws PatternError, which names the key: a part is missing, or there are too many.
void check_program(const Program& program);

}  // namespace unspool
