// Two paths. `valid_run` takes whole well-formed characters, sixteen bytes of ASCII at a time:
// nearly all text. `put_slow` takes a byte at a time where a character is unfinished or wrong, and
// keeps at most three bytes between calls:
//
//   E2 | 82 AC      held E2, then "€" is emitted
//   E2 | 41         E2 is replaced, since 41 cannot continue it; "A" is emitted
//   FF              replaced at once: no character begins with it
#include "text/utf8.h"

#include "text/archive.h"
#include "text/find_byte.h"

namespace unspool {

namespace {

struct Lead {
  std::uint8_t needed;  // 0: not a lead byte
  std::uint8_t lower;
  std::uint8_t upper;
};

Lead classify_lead(unsigned char byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return {1, 0x80, 0xBF};
  if (byte == 0xE0) return {2, 0xA0, 0xBF};
  if (byte == 0xED) return {2, 0x80, 0x9F};  // no surrogates
  if (byte >= 0xE1 && byte <= 0xEF) return {2, 0x80, 0xBF};
  if (byte == 0xF0) return {3, 0x90, 0xBF};
  if (byte >= 0xF1 && byte <= 0xF3) return {3, 0x80, 0xBF};
  if (byte == 0xF4) return {3, 0x80, 0x8F};
  return {0, 0, 0};
}

// Length of the complete well-formed character at the start of `text`, or 0.
std::size_t whole_character(std::string_view text) {
  const Lead lead = classify_lead(static_cast<unsigned char>(text[0]));
  // The slow path decides between an unfinished character and an invalid one.
  if (lead.needed == 0 || text.size() <= lead.needed) return 0;
  const auto second = static_cast<unsigned char>(text[1]);
  // Only the second byte has a narrower range: it excludes overlong forms and surrogates.
  if (second < lead.lower || second > lead.upper) return 0;
  for (std::size_t i = 2; i <= lead.needed; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return 0;
  }
  return lead.needed + 1U;
}

// Length of the well-formed run at the start of `text`.
std::size_t valid_run(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    i = find_byte(text, i, kAboveAscii);
    if (i == text.size()) break;
    const std::size_t length = whole_character(text.substr(i));
    if (length == 0) break;
    i += length;
  }
  return i;
}

}  // namespace

bool is_valid_utf8(std::string_view text) { return valid_run(text) == text.size(); }

void append_utf8(std::uint32_t code_point, std::string& out) {
  const auto tail = [&](int shift) {
    out += static_cast<char>(0x80 | ((code_point >> shift) & 0x3F));
  };
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    out += static_cast<char>(0xC0 | (code_point >> 6));
    tail(0);
  } else if (code_point < 0x10000) {
    out += static_cast<char>(0xE0 | (code_point >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | (code_point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

void Utf8Stream::put(std::string_view bytes, std::string& out) {
  std::size_t i = 0;
  while (i < bytes.size()) {
    if (held_count_ == 0) {
      const std::size_t run = valid_run(bytes.substr(i));
      out.append(bytes, i, run);
      i += run;
      if (i == bytes.size()) return;
    }
    put_slow(static_cast<unsigned char>(bytes[i++]), out);
  }
}

void Utf8Stream::put_slow(unsigned char byte, std::string& out) {
  if (held_count_ > 0) {
    if (byte >= lower_ && byte <= upper_) {
      lower_ = 0x80;
      upper_ = 0xBF;
      if (--needed_ == 0) {
        out.append(held_.data(), held_count_);
        out += static_cast<char>(byte);
        held_count_ = 0;
      } else {
        held_[held_count_++] = static_cast<char>(byte);
      }
      return;
    }
    // The byte does not continue the character, but may begin another one.
    give_up(out);
  }
  if (byte < 0x80) {
    out += static_cast<char>(byte);
    return;
  }
  const Lead lead = classify_lead(byte);
  if (lead.needed == 0) {
    out += kReplacementCharacter;
    return;
  }
  needed_ = lead.needed;
  lower_ = lead.lower;
  upper_ = lead.upper;
  held_[held_count_++] = static_cast<char>(byte);
}

// The held bytes are not a character.
void Utf8Stream::give_up(std::string& out) {
  // The two libraries that detokenizers are compared with count differently.
  const int count = replacement_ == Replacement::per_byte ? held_count_ : (held_count_ > 0 ? 1 : 0);
  for (int i = 0; i < count; ++i) out += kReplacementCharacter;
  held_count_ = 0;
}

void Utf8Stream::end(std::string& out) { give_up(out); }

void Utf8Stream::visit(Archive& archive) {
  archive.given(replacement_);
  archive(held_, held_count_, needed_, lower_, upper_);
  archive.expect(held_count_ <= held_.size() && needed_ <= held_.size());
}

}  // namespace unspool
