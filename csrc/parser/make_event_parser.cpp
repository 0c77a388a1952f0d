#include "parser/parser.h"
#include "parser/template_parser.h"

namespace unspool {

std::unique_ptr<EventParser> make_event_parser(std::shared_ptr<const Format> format,
                                               ParserOptions options) {
  if (format->response_template() != nullptr)
    return std::make_unique<TemplateParser>(std::move(format), std::move(options));
  return std::make_unique<Parser>(std::move(format), std::move(options));
}

}  // namespace unspool
