// How the parser reads a format, in sentences.
#pragma once

#include <string>
#include <vector>

#include "format/program.h"

namespace unspool {

/// A blank or a bracket in a pattern decides how it is read. The sentences say what was understood.
std::vector<std::string> explain(const Program& program);

}  // namespace unspool
