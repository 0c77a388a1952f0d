#include "parser/parser.h"
#include "parser/reasoning_splitter.h"
#include "parser/template_parser.h"

namespace unspool {

std::unique_ptr<EventParser> make_event_parser(std::shared_ptr<const Format> format,
                                               ParserOptions options) {
  const bool splits = options.only_reasoning;
  const bool audits = options.audit;
  options.audit |= splits;
  std::unique_ptr<EventParser> parser;
  if (format->response_template() != nullptr) {
    parser = std::make_unique<TemplateParser>(std::move(format), std::move(options));
  } else {
    parser = std::make_unique<Parser>(std::move(format), std::move(options));
  }
  if (splits) return std::make_unique<ReasoningSplitter>(std::move(parser), audits);
  return parser;
}

}  // namespace unspool
