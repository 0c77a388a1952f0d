#include "body/json_arguments.h"
#include "body/json_call.h"
#include "body/literal_arguments.h"
#include "body/pythonic.h"
#include "body/repaired.h"
#include "body/xml_elements.h"
#include "body/xml_parameters.h"

namespace unspool {

std::unique_ptr<Body> make_body(const CallSpec& call, const CallMarkers& markers,
                                const BodyOptions& options) {
  std::unique_ptr<Body> body;
  switch (call.body) {
    case BodyKind::json_call:
      body = std::make_unique<JsonCall>(call.json_call, call.is_tentative());
      if (call.json_call.python)
        return std::make_unique<Repaired>(std::move(body), kPython);
      break;
    case BodyKind::json_arguments: body = std::make_unique<JsonArguments>(); break;
    case BodyKind::literal_arguments:
      return std::make_unique<LiteralArguments>(markers.quote, options.schema, options.repairs);
    case BodyKind::pythonic: return std::make_unique<Pythonic>(call.is_tentative());
    case BodyKind::xml_parameters:
      return std::make_unique<XmlParameters>(call.xml_parameters, markers, options);
    case BodyKind::xml_elements: return std::make_unique<XmlElements>(call, markers, options);
  }
  if (options.repairs) body = std::make_unique<Repaired>(std::move(body));
  return body;
}

}  // namespace unspool
