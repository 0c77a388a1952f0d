// Utf8Stream gives the same text on every split, one U+FFFD for each maximal invalid subpart.
#include "text/utf8.h"

#include "check.h"
#include "text/json_value.h"

using namespace unspool;

static std::string whole(std::string_view bytes) {
  Utf8Stream stream;
  std::string out;
  stream.put(bytes, out);
  stream.end(out);
  return out;
}

static std::string split(std::string_view bytes, std::size_t at) {
  Utf8Stream stream;
  std::string out;
  stream.put(bytes.substr(0, at), out);
  CHECK(is_valid_utf8(out));
  CHECK(stream.held().size() <= 3);
  stream.put(bytes.substr(at), out);
  stream.end(out);
  return out;
}

int main() {
  CHECK_EQUAL(whole("Zürich 北京 👩‍👧"), "Zürich 北京 👩‍👧");
  CHECK_EQUAL(whole("\xE2\x82"), "\xEF\xBF\xBD");
  CHECK_EQUAL(whole("\xF0\x9F\x98x"), "\xEF\xBF\xBDx");
  CHECK_EQUAL(whole("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK_EQUAL(whole("\xC0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK_EQUAL(whole("\xE2\x82\xF0\x9F\x98\x80"), "\xEF\xBF\xBD\xF0\x9F\x98\x80");
  for (std::string_view bytes :
       {std::string_view("a\xE2\x82\xACz\xFF\xF0\x9F\x98\x80\xF0\x9F\xED\xA0\x80q"),
        std::string_view("\xF4\x8F\xBF\xBF\xF4\x90\x80\x80\xE0\x9F\xBF")}) {
    for (std::size_t at = 0; at <= bytes.size(); ++at) CHECK_EQUAL(split(bytes, at), whole(bytes));
  }
  CHECK(parse_json("\"\xC3\xBC\"").has_value());
  CHECK(!parse_json("\"\xB0\"").has_value());  // a file of a host without Python may hold anything
  return TEST_RESULT();
}
