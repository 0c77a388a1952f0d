// A Format that stands for a response template: its regions are the template's.
#include <algorithm>

#include "format/format.h"
#include "text/error.h"

namespace unspool {

std::shared_ptr<const Format> Format::from_template(std::shared_ptr<const ResponseTemplate> made,
                                                    std::string name,
                                                    const std::vector<MarkerToken>& tokens) {
  std::shared_ptr<Format> format(new Format());
  format->spec_.name = std::move(name);
  format->response_template_ = std::move(made);
  // Any of them may be in a pattern: hosts must not strip them.
  format->symbols_ = tokens;
  if (tokens.size() > 0xFFFFU - kFirstTokenSymbol)
    throw FormatError("the vocabulary has more added tokens than a format can hold");
  for (std::size_t i = 0; i < tokens.size(); ++i)
    format->symbol_of_.emplace_back(tokens[i].id, static_cast<Symbol>(kFirstTokenSymbol + i));
  std::sort(format->symbol_of_.begin(), format->symbol_of_.end());
  return format;
}

}  // namespace unspool
