// For texts that are there as a whole: files, schemas, a template's description. So it is a plain
// recursive reader, bounded in depth, that reads a byte at a time and stops at the first fault. The
// arguments of calls, which arrive in pieces, are read by ValueReader instead.
//
// Three things to know of a value:
//
// - A number keeps its text, so 1.0, 1e0 and long integers come out as they were written.
// - A lone surrogate is kept, as three bytes that are not UTF-8, and is written as its escape.
// - The members keep their order, and of two with one name the last one counts.
#include "text/json_value.h"

#include <algorithm>
#include <unordered_map>

#include "text/code_point.h"
#include "text/json_escape.h"
#include "text/utf8.h"
#include "text/white_space.h"

namespace unspool {

namespace {

class JsonReader {
 public:
  JsonReader(std::string_view text, DeepJson deep) : text_(text), deep_(deep) {}

  bool read_whole(JsonValue& value) {
    if (!read(value)) return false;
    skip();
    return at_ == text_.size();
  }

 private:
  // No byte of JSON's structure is 0, so it stands for the end.
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  bool take(char byte) {
    if (peek() != byte || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  std::size_t take_digits() {
    const std::size_t from = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ - from;
  }

  bool read(JsonValue& value) {
    skip();
    const char first = peek();
    // The reader recurses. A schema may have such a value where nobody looks at it, in `default`.
    if (depth_ == kMaxJsonDepth && (first == '{' || first == '['))
      return deep_ == DeepJson::null && skip_nested();
    switch (first) {
      case '{': return read_object(value);
      case '[': return read_array(value);
      case '"': value.kind = JsonValue::Kind::string; return read_string(value.text);
      case 't': value = JsonValue::of(true); return take_word("true");
      case 'f': value = JsonValue::of(false); return take_word("false");
      // The value is null from the start.
      case 'n': return take_word("null");
      default: return read_number(value);
    }
  }

  // Skips an object or a list; checks only that its brackets match.
  bool skip_nested() {
    std::string open;
    std::string text;
    do {
      switch (peek()) {
        case '{': open += '}'; break;
        case '[': open += ']'; break;
        case '"':
          if (!read_string(text)) return false;
          text.clear();
          continue;
        case '}':
        case ']':
          // Only the brackets are checked: the value is dropped, but its end must be found.
          if (open.back() != text_[at_]) return false;
          open.pop_back();
          break;
        default: break;
      }
      ++at_;
    } while (!open.empty() && at_ < text_.size());
    return open.empty();
  }

  bool read_number(JsonValue& value) {
    const std::size_t from = at_;
    take('-');
    // No leading zero, as in RFC 8259.
    if (!take('0') && take_digits() == 0) return false;
    if (take('.') && take_digits() == 0) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      if (take_digits() == 0) return false;
    }
    value = JsonValue::of_number(std::string(text_.substr(from, at_ - from)));
    return true;
  }

  bool read_array(JsonValue& value) {
    value.kind = JsonValue::Kind::array;
    ++depth_;
    ++at_;
    skip();
    if (!take(']')) {
      do {
        if (!read(value.items.emplace_back())) return false;
        skip();
      } while (take(','));
      if (!take(']')) return false;
    }
    --depth_;
    return true;
  }

  using Places = std::unordered_map<std::string, std::size_t>;

  // `JsonValue::set` without a search through all members of a large object.
  static void add(JsonValue& object, std::string key, JsonValue member, Places& places) {
    constexpr std::size_t kLarge = 32;
    const std::size_t count = object.members.size();
    // Most objects are small, and a table would cost more than the search.
    if (count < kLarge) return object.set(key, std::move(member));
    if (places.empty()) {
      for (std::size_t i = 0; i < count; ++i) places.emplace(object.members[i].first, i);
    }
    const auto [it, is_new] = places.try_emplace(key, count);
    if (is_new) {
      object.members.emplace_back(std::move(key), std::move(member));
    } else {
      object.members[it->second].second = std::move(member);
    }
  }

  bool read_object(JsonValue& value) {
    value.kind = JsonValue::Kind::object;
    ++depth_;
    ++at_;
    skip();
    Places places;
    if (!take('}')) {
      do {
        skip();
        std::string key;
        if (peek() != '"' || !read_string(key)) return false;
        skip();
        JsonValue member;
        if (!take(':') || !read(member)) return false;
        add(value, std::move(key), std::move(member), places);
        skip();
      } while (take(','));
      if (!take('}')) return false;
    }
    --depth_;
    return true;
  }

  bool read_string(std::string& out) {
    ++at_;
    while (at_ < text_.size()) {
      const char byte = text_[at_++];
      if (byte == '"') return true;
      if (byte != '\\') {
        out += byte;
      } else if (!read_escape(out)) {
        return false;
      }
    }
    return false;
  }

  bool read_escape(std::string& out) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const char letter = peek();
    ++at_;
    const std::size_t index = kLetters.find(letter);
    if (index != std::string_view::npos) {
      out += kMeanings[index];
      return true;
    }
    char32_t value = 0;
    if (letter != 'u' || !read_hex(value)) return false;
    const std::size_t here = at_;
    // A pair of surrogates is one character; a lone one is kept, as Python keeps it.
    if (value >= 0xD800 && value < 0xDC00 && take_word("\\u")) {
      char32_t low = 0;
      if (!read_hex(low)) return false;
      if (low >= 0xDC00 && low < 0xE000) {
        value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
      } else {
        // The second escape is a character of its own.
        at_ = here;
      }
    }
    append_utf8(value, out);
    return true;
  }

  bool read_hex(char32_t& value) {
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = peek();
      const bool is_number = c >= '0' && c <= '9';
      const char lower = static_cast<char>(c | 0x20);
      if (!is_number && (lower < 'a' || lower > 'f')) return false;
      value = value * 16 + static_cast<char32_t>(is_number ? c - '0' : lower - 'a' + 10);
    }
    return true;
  }

  std::string_view text_;
  DeepJson deep_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

// A lone surrogate (three bytes that are not UTF-8) is written as its escape.
void append_string(std::string_view text, std::string& out) {
  constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  std::size_t run = 0;
  for (std::size_t i = 0; i + 2 < text.size(); ++i) {
    // All surrogates begin with this byte.
    if (static_cast<unsigned char>(text[i]) != 0xED) continue;
    const CodePoint point = first_code_point(text.substr(i));
    if (point.value < 0xD800 || point.value >= 0xE000) continue;
    append_json_escaped(text.substr(run, i - run), out);
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out += kHex[(point.value >> shift) & 15];
    run = i + 3;
    i += 2;
  }
  append_json_escaped(text.substr(run), out);
  out += '"';
}

}  // namespace

JsonValue JsonValue::of(bool value) {
  JsonValue json;
  json.kind = Kind::boolean;
  json.is_true = value;
  return json;
}

JsonValue JsonValue::of_number(std::string text) {
  JsonValue json;
  json.kind = Kind::number;
  json.text = std::move(text);
  return json;
}

JsonValue JsonValue::of_string(std::string_view text) {
  JsonValue json;
  json.kind = Kind::string;
  json.text = text;
  return json;
}

JsonValue JsonValue::object() {
  JsonValue json;
  json.kind = Kind::object;
  return json;
}

const JsonValue* JsonValue::find(std::string_view key) const {
  const auto it = std::find_if(members.begin(), members.end(),
                               [&](const auto& member) { return member.first == key; });
  return it == members.end() ? nullptr : &it->second;
}

JsonValue* JsonValue::find(std::string_view key) {
  return const_cast<JsonValue*>(std::as_const(*this).find(key));
}

void JsonValue::set(std::string_view key, JsonValue value) {
  if (JsonValue* member = find(key)) {
    *member = std::move(value);
  } else {
    members.emplace_back(key, std::move(value));
  }
}

bool JsonValue::is_empty() const {
  switch (kind) {
    case Kind::null: return true;
    case Kind::string: return text.empty();
    case Kind::array: return items.empty();
    case Kind::object: return members.empty();
    default: return false;
  }
}

std::optional<JsonValue> parse_json(std::string_view text, DeepJson deep) {
  JsonValue value;
  if (!is_valid_utf8(text) || !JsonReader(text, deep).read_whole(value)) return std::nullopt;
  return value;
}

void append_json(const JsonValue& value, std::string& out) {
  bool is_first = true;
  const auto separate = [&] {
    if (!is_first) out += ", ";
    is_first = false;
  };
  switch (value.kind) {
    case JsonValue::Kind::null: out += "null"; break;
    case JsonValue::Kind::boolean: out += value.is_true ? "true" : "false"; break;
    case JsonValue::Kind::number: out += value.text; break;
    case JsonValue::Kind::string: append_string(value.text, out); break;
    case JsonValue::Kind::array:
      out += '[';
      for (const JsonValue& item : value.items) {
        separate();
        append_json(item, out);
      }
      out += ']';
      break;
    case JsonValue::Kind::object:
      out += '{';
      for (const auto& [key, member] : value.members) {
        separate();
        append_string(key, out);
        out += ": ";
        append_json(member, out);
      }
      out += '}';
      break;
  }
}

}  // namespace unspool
