// Formats too large to compile are refused with what is too large.
#include <string>

#include "check.h"
#include "format/format.h"
#include "text/error.h"

namespace {

using namespace unspool;

CallSpec call(std::vector<std::string> openers) {
  CallSpec spec;
  spec.open.texts = std::move(openers);
  spec.close.texts = {"</end>"};
  spec.name_close.texts = {"|"};
  spec.body = BodyKind::json_arguments;
  return spec;
}

std::vector<std::string> openers(int count, const std::string& rest) {
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i) texts.push_back(std::to_string(i) + rest);
  return texts;
}

std::string refusal(std::vector<CallSpec> calls) {
  FormatSpec spec;
  spec.name = "large";
  spec.calls = std::move(calls);
  try {
    Format::compile(std::move(spec));
  } catch (const FormatError& error) {
    return error.what();
  }
  return "compiled";
}

void check_refusal(const std::string& refused, std::string_view what) {
  CHECK(refused.find(what) != std::string::npos);
}

}  // namespace

int main() {
  CHECK_EQUAL(refusal({call({"<a>"})}), std::string("compiled"));
  check_refusal(refusal(std::vector<CallSpec>(201, call({"<a>"}))), "more than 200 kinds of call");
  check_refusal(refusal({call(openers(1001, "<"))}), "more than 1,000 openers");
  const std::vector<CallSpec> wide(200, call(openers(999, std::string(50, '<'))));
  check_refusal(refusal(wide), "more than 64 MiB");
  return TEST_RESULT();
}
