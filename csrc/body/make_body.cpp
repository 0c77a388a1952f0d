#include "body/arguments.h"
#include "body/json_call.h"
#include "body/pythonic.h"
#include "body/xml_elements.h"
#include "body/xml_parameters.h"

namespace unspool {

std::unique_ptr<Body> make_body(const CallRegion& call, const CallMarkers& markers,
                                const BodyOptions& options) {
  switch (call.kind()) {
    case BodyKind::json_call:
      return std::make_unique<JsonCall>(*call.body_as<ObjectSlot>(), call.is_tentative(), options);
    case BodyKind::json_arguments: return std::make_unique<Arguments>(options);
    case BodyKind::literal_arguments: return std::make_unique<Arguments>(markers, options);
    case BodyKind::pythonic: return std::make_unique<Pythonic>(call.is_tentative(), options);
    case BodyKind::xml_parameters:
      return std::make_unique<XmlParameters>(*call.body_as<ParametersSlot>(), markers, options);
    case BodyKind::xml_elements: return std::make_unique<XmlElements>(call, markers, options);
  }
  return nullptr;
}

}  // namespace unspool
