// Formats too large to compile are refused with what is too large.
#include <string>

#include "check.h"
#include "format/format.h"
#include "text/error.h"

namespace {

using namespace unspool;

CallRegion call(std::vector<std::string> openers) {
  CallRegion call;
  call.open.texts = std::move(openers);
  call.close.texts = {"</end>"};
  call.name.close.texts = {"|"};
  call.body = ArgumentsSlot{};
  return call;
}

std::vector<std::string> openers(int count, const std::string& rest) {
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i) texts.push_back(std::to_string(i) + rest);
  return texts;
}

std::string refusal(std::vector<CallRegion> calls) {
  Program program;
  program.name = "large";
  program.calls = std::move(calls);
  try {
    Format::compile(std::move(program));
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
  check_refusal(refusal(std::vector<CallRegion>(201, call({"<a>"}))),
                "more than 200 kinds of call");
  check_refusal(refusal({call(openers(1001, "<"))}), "more than 1,000 openers");
  const std::vector<CallRegion> wide(200, call(openers(999, std::string(50, '<'))));
  check_refusal(refusal(wide), "more than 64 MiB");
  return TEST_RESULT();
}
