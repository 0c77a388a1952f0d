#include "body/json_arguments.h"
#include "body/json_call.h"
#include "body/xml_parameters.h"

namespace unspool {

std::unique_ptr<Body> make_body(const CallSpec& call, const CallMarkers& markers,
                                const ToolSchema* schema) {
  switch (call.body) {
    case BodyKind::json_call:
      return std::make_unique<JsonCall>(call.json_call, call.is_tentative());
    case BodyKind::json_arguments: return std::make_unique<JsonArguments>();
    case BodyKind::xml_parameters:
      return std::make_unique<XmlParameters>(call.xml_parameters, markers, schema);
  }
  return nullptr;
}

}  // namespace unspool
