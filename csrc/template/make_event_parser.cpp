#include "template/make_event_parser.h"

#include <limits>
#include <utility>

#include "filter/call_end_filter.h"
#include "filter/call_filter.h"
#include "filter/other_calls.h"
#include "filter/reasoning_splitter.h"
#include "filter/text_trim.h"
#include "parser/parser.h"
#include "template/template_parser.h"

namespace unspool {

std::unique_ptr<EventParser> make_event_parser(std::shared_ptr<const Format> format,
                                               ParserOptions options) {
  const CallIdStyle style = format->program().call_ids;
  // ReasoningSplitter works on the audit.
  const bool audits = options.audit;
  options.audit |= options.only_reasoning;
  const ParserOptions wanted = options;
  const bool reads_others = format->others() != nullptr && wanted.tools && !wanted.only_reasoning;
  const bool filters = CallFilter::is_needed(wanted) || reads_others;
  if (filters) {
    options.call_text = true;
    // The filter counts: calls that it drops are not among the request's.
    options.limits.max_calls = std::numeric_limits<std::size_t>::max();
  }
  std::unique_ptr<EventParser> parser;
  if (format->response_template() != nullptr) {
    parser = std::make_unique<TemplateParser>(std::move(format), std::move(options));
  } else {
    options.marks_headed_text = reads_others;
    parser = std::make_unique<Parser>(format, options);
    if (reads_others)
      parser = std::make_unique<OtherCalls>(std::move(parser), std::move(format), options);
    if (wanted.repair) parser = std::make_unique<CallEndFilter>(std::move(parser));
  }
  // The order matters. Ends are joined before calls are dropped; the splitter needs the text of
  // dropped calls; white space is trimmed last, when it is certain what is content.
  if (filters) parser = std::make_unique<CallFilter>(std::move(parser), style, wanted);
  if (wanted.only_reasoning) {
    parser = std::make_unique<ReasoningSplitter>(std::move(parser), audits);
  }
  if (wanted.white_space == WhiteSpace::keep) return parser;
  return std::make_unique<TextTrim>(std::move(parser), !wanted.only_reasoning,
                                    wanted.limits.max_held_bytes);
}

bool starts_in_reasoning(std::shared_ptr<const Format> format,
                         const std::optional<std::string_view>& prompt) {
  const std::unique_ptr<EventParser> parser = make_event_parser(std::move(format), {});
  if (prompt) parser->put_prompt(*prompt);
  return parser->region() == Region::reasoning;
}

}  // namespace unspool
