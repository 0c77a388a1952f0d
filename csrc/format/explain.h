// Explains in sentences how the parser reads a format.
#pragma once

#include <string>
#include <vector>

#include "format/program.h"

namespace unspool {

/// A blank or a bracket can change the meaning of a pattern; the sentences show what was
/// understood.
std::vector<std::string> explain(const Program& program);

}  // namespace unspool
