// Whether a compiled format says enough to be read.
#pragma once

#include "format/program.h"

namespace unspool {

/// Throws FormatError: a part is missing, or there are too many.
void check_program(const Program& program);

}  // namespace unspool
