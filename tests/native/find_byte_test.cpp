// The search by blocks finds what a loop over the bytes finds, whatever the processor has.
#include "text/find_byte.h"

#include <random>
#include <string>

#include "check.h"

using namespace unspool;

namespace {

bool is_json_special(unsigned char byte) { return byte == '"' || byte == '\\' || byte < 0x20; }

template <typename Is>
std::size_t loop(std::string_view text, std::size_t at, Is&& is) {
  while (at < text.size() && !is(static_cast<unsigned char>(text[at]))) ++at;
  return at;
}

template <typename Match, typename Is>
void compare(const std::string& text, Match&& match, Is&& is) {
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const std::size_t place = loop(text, at, is);
    CHECK_EQUAL(find_byte<ByteBlock>(text, at, match), place);
    CHECK_EQUAL(find_byte<PlainBlock>(text, at, match), place);
  }
}

void compare_all(const std::string& text) {
  compare(text, kJsonSpecial, is_json_special);
  compare(text, kAboveAscii, [](unsigned char byte) { return byte >= 0x80; });
  compare(text, OneOfFour{{'<', '[', 0xE2, 0x00}}, [](unsigned char byte) {
    return byte == '<' || byte == '[' || byte == 0xE2 || byte == 0x00;
  });
}

// Each byte alone, at each place of each length.
void test_every_byte() {
  for (std::size_t size = 1; size <= 40; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      std::string text(size, 'a');
      for (unsigned byte = 0; byte < 256; ++byte) {
        text[at] = static_cast<char>(byte);
        CHECK_EQUAL(find_json_special(text, 0), loop(text, 0, is_json_special));
        CHECK_EQUAL(find_byte(text, 0, kAboveAscii), byte >= 0x80 ? at : size);
      }
    }
  }
}

void test_random_texts() {
  std::mt19937 random(7);
  const std::string likely = "abcdefgh <[\"\\\n\x1F\x20\x7F\x80\xE2\xFF" + std::string(1, '\0');
  for (int round = 0; round < 3000; ++round) {
    std::string text(random() % 70, 'x');
    const unsigned often = 1 + random() % 30;
    for (char& byte : text) {
      if (random() % often == 0) byte = likely[random() % likely.size()];
    }
    compare_all(text);
  }
}

}  // namespace

int main() {
  test_every_byte();
  test_random_texts();
  return TEST_RESULT();
}
