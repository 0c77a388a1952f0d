#include "bindings/docs.h"

#include <algorithm>
#include <iterator>

#include "bindings/signatures.h"

namespace unspool::bindings {

namespace {

struct Doc {
  std::string_view name;
  const char* text;       // "" for none, as all of these
  const char* signature;  // with types
};

// Sorted by name.
constexpr Doc kDocs[] = {
#include "docs.inc"
};

const Doc* find(std::string_view name) {
  const auto* doc =
      std::lower_bound(std::begin(kDocs), std::end(kDocs), name,
                       [](const Doc& each, auto sought) { return each.name < sought; });
  return doc != std::end(kDocs) && doc->name == name ? doc : nullptr;
}

}  // namespace

const char* doc_of(std::string_view name) {
  const Doc* doc = find(name);
  return doc == nullptr || *doc->text == '\0' ? nullptr : doc->text;
}

std::string doc_of_function(std::string_view name) {
  const char* text = doc_of(name);
  std::string bare = text == nullptr ? "" : text;
  if (const auto mark = bare.find("($"); mark < bare.find('\n')) bare.erase(mark + 1, 1);
  return bare;
}

const char* typed_signature_of(std::string_view name) {
  const Doc* doc = find(name);
  return doc == nullptr ? "" : doc->signature;
}

}  // namespace unspool::bindings
