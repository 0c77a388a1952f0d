// A format in the words of old files, for their migration: [[call]], open = …, and what they held.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "format/program.h"

namespace unspool {

/// Keys' paths with a value each. A key that holds a list stands once for each of its items.
std::vector<std::pair<std::string, std::string>> old_facts(const Program& program);

}  // namespace unspool
