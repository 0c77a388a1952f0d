// The reader of values alone, in every dialect: every split of a set of values, a snapshot at every
// byte, values that are cut off, values that cannot be read.
#include "body/value_reader.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "check.h"
#include "format/format.h"

using namespace unspool;

using Make = std::function<ValueReader()>;

static Make of(const Dialect& dialect) {
  return [&dialect] { return ValueReader(dialect); };
}

struct Read {
  std::string json;
  std::size_t consumed = 0;
  ScanStatus status = ScanStatus::more;
};

static void put(ValueReader& reader, std::string_view text, Read& read) {
  if (read.status != ScanStatus::more || text.empty()) return;
  const ScanResult result = reader.put(text, read.json);
  read.consumed += result.consumed;
  read.status = result.status;
}

// `a` is an integer, so text between quotes is one too if it can be.
static const ToolSchema& schema() {
  static const ToolSchema tool = [] {
    ToolSchema made;
    made.parameters["a"].types = TypeSet(TypeSet::integer);
    return made;
  }();
  return tool;
}

static std::string saved(ValueReader& reader) {
  std::string out;
  Archive archive(out);
  archive.known = {&schema()};
  reader.visit(archive);
  return out;
}

// A reader of the same kind with this state.
static ValueReader restored(const Make& make, std::string_view state) {
  ValueReader reader = make();
  Archive archive(state);
  archive.known = {&schema()};
  reader.visit(archive);
  archive.end();
  return reader;
}

static void check_read(const Read& read, const Read& expected, std::string_view text) {
  CHECK_EQUAL(read.json, expected.json);
  CHECK_EQUAL(read.consumed, expected.consumed);
  if (read.status == expected.status) return;
  CHECK_EQUAL(text, "has another status when it is split");
}

// All in two pieces, byte by byte, and byte by byte through a snapshot: each as in one piece.
static Read read_every_way(const Make& make, std::string_view text,
                           std::uint16_t* repairs = nullptr) {
  ValueReader whole = make();
  Read expected;
  put(whole, text, expected);
  if (repairs != nullptr) *repairs = whole.repairs();
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    ValueReader reader = make();
    Read read;
    put(reader, text.substr(0, cut), read);
    put(reader, text.substr(cut), read);
    check_read(read, expected, text);
    CHECK_EQUAL(reader.repairs(), whole.repairs());
  }
  ValueReader reader = make(), copy = make();
  Read read, of_copy;
  for (std::size_t i = 0; i < text.size() && read.status == ScanStatus::more; ++i) {
    put(reader, text.substr(i, 1), read);
    // Nothing that was written is taken back.
    CHECK(expected.json.starts_with(read.json));
    put(copy, text.substr(i, 1), of_copy);
    copy = restored(make, saved(copy));
    CHECK_EQUAL(saved(copy), saved(reader));
  }
  check_read(read, expected, text);
  check_read(of_copy, expected, text);
  return expected;
}

struct Value {
  Make make;
  std::string_view text;
  std::string_view json;
  std::uint16_t repairs = 0;
};

static const MarkerSet& quotes() {
  static const MarkerSet set = [] {
    MarkerSet markers;
    MarkerPattern quote;
    quote.append_text("<q>");
    markers.add(quote, {.role = static_cast<std::uint8_t>(Role::quote)});
    markers.compile();
    return markers;
  }();
  return set;
}

static std::vector<Value> values() {
  static const StringDelimiters delimiters = {{"<s>", "</s>"}, {"<<", ">>"}};
  const Make json = of(kJson), nearly = of(kNearlyJson), python = of(kPython), dicts = of(kDicts),
             bare = of(kBareText), nearly_bare = of(kNearlyBare), plain = of(kPlainKeys);
  const Make marked = [] { return ValueReader(kBareText, quotes(), nullptr); };
  const Make typed = [] { return ValueReader(kBareText, quotes(), &schema()); };
  const Make delimited = [] { return ValueReader(kJson, delimiters); };
  return {
      {json, R"({"a": [1, -2.5e+3, true], "b": {}})", R"({"a": [1, -2.5e+3, true], "b": {}})"},
      {json, R"( ["\u00e9\"\\", 0, null, [[]]])", R"( ["\u00e9\"\\", 0, null, [[]]])"},
      {json, "\"a\tb\"", R"("a\tb")"},
      {of(kStrictJson), R"({"a": "x", "b": false})", R"({"a": "x", "b": false})"},
      {nearly, R"({'a': True, b: None, "c": [1, 2,],})", R"({"a": true, "b": null, "c": [1, 2]})",
       kSingleQuotes | kTrailingComma | kPythonLiteral | kUnquotedKey},
      {nearly, "[.5, +1, 01, 1_000]", "[0.5, 1, 1, 1000]", kPythonLiteral},
      {nearly, R"(["it's", 'say "x"', 'it\'s'])", R"(["it's", "say \"x\"", "it's"])",
       kSingleQuotes},
      {python, R"({'a': (1, 2), 'b': {1, 2}, 3: {'c': 4}})",
       R"({"a": [1, 2], "b": [1, 2], "3": {"c": 4}})", kSingleQuotes | kUnquotedKey},
      {python, R"({{'a'}, ('b',)})", R"([["a"], ["b"]])", kSingleQuotes | kTrailingComma},
      {python, R"(["""x"y""", r'\n', b'x', 'a' 'b', '\x41\u00e9\101'])",
       R"(["x\"y", "\\n", "x", "ab", "A\u00e9A"])", kSingleQuotes},
      {python, "[0x10, 1_000, 1e5, None, {}, ()]", "[16, 1000, 1e5, null, {}, []]", kPythonLiteral},
      {dicts, R"({'a': True, 'b': ['x', None]})", R"({"a": true, "b": ["x", null]})",
       kSingleQuotes | kPythonLiteral},
      {bare, "{a:hello world,b:3,c:true,d:[x,y z]}",
       R"({"a":"hello world","b":3,"c":true,"d":["x","y z"]})", kUnquotedKey},
      {nearly_bare, "{a=hello, b:3}", R"({"a":"hello", "b":3})", kUnquotedKey | kMarkup},
      {plain, R"({a-b.c: "x", "d": 1})", R"({"a-b.c": "x", "d": 1})", kUnquotedKey},
      {marked, R"({a:<q>say "x", }<</q><q>,b:[<q><q>]})", R"({"a":"say \"x\", }<</q>","b":[""]})",
       kUnquotedKey},
      {typed, "{a:<q>12<q>,b:<q>12<q>}", R"({"a":12,"b":"12"})", kUnquotedKey},
      {typed, "{a:<q>1x<q>}", R"({"a":"1x"})", kUnquotedKey},
      {delimited, R"({"a": <s>x "y" </ </s>, "b": <<1>>})", R"({"a": "x \"y\" </ ", "b": "1"})"},
  };
}

static void every_dialect() {
  for (const Value& value : values()) {
    std::uint16_t repairs = 0;
    const Read read = read_every_way(value.make, value.text, &repairs);
    CHECK_EQUAL(read.json, value.json);
    CHECK_EQUAL(read.consumed, value.text.size());
    CHECK(read.status == ScanStatus::done);
    CHECK_EQUAL(repairs, value.repairs);
  }
}

// JSON is written at once, byte for byte.
static void json_is_copied_at_once() {
  const std::vector<std::string> scalars = {"1", "-0.5e-3", "true", "null", "\"a\\n\"", "\"\""};
  std::vector<std::string> all = {"[]", "{}"};
  for (const std::string& a : scalars) {
    all.push_back("[ " + a + "]");
    all.push_back("{\"k\":" + a + " }");
    for (const std::string& b : scalars) {
      all.push_back("[" + a + ",[" + b + "]]");
      all.push_back("{\"k\": {\"\": " + a + "},\n\"l\": " + b + "}");
    }
  }
  for (const std::string& text : all) {
    for (const Dialect* dialect : {&kJson, &kStrictJson}) {
      const Read read = read_every_way(of(*dialect), text);
      CHECK_EQUAL(read.json, text);
      ValueReader reader(*dialect);
      Read so_far;
      for (std::size_t i = 0; i < text.size(); ++i) {
        put(reader, std::string_view(text).substr(i, 1), so_far);
        CHECK_EQUAL(so_far.json, text.substr(0, i + 1));
        CHECK_EQUAL(reader.unwritten(), "");
      }
      CHECK(so_far.status == ScanStatus::done);
    }
  }
}

static bool is_json(std::string_view text) {
  ValueReader reader(kStrictJson);
  std::string out;
  return reader.put_whole(text, out).status != ScanStatus::failed && reader.is_complete();
}

// A value that is cut off anywhere can be completed, and what the end writes is not taken back.
static void cut_off_anywhere() {
  for (const Value& value : values()) {
    for (std::size_t cut = 1; cut < value.text.size(); ++cut) {
      ValueReader reader = value.make();
      Read read;
      put(reader, value.text.substr(0, cut), read);
      CHECK(read.status == ScanStatus::more);
      ValueReader ended = reader;
      std::string cut_json = read.json;
      ended.end(cut_json);
      CHECK(cut_json.starts_with(read.json));
      if (!reader.delimiter().empty()) continue;  // templates, which have them, complete no value
      std::string closed = read.json;
      const bool can_close = reader.close(closed);
      // Only a comma that was written at once wants another element.
      if (can_close ? is_json(closed) : read.json.find_last_of(',') != std::string::npos) continue;
      CHECK_EQUAL(value.text.substr(0, cut), closed);
    }
  }
}

static void a_top_level_number_ends_at_what_follows() {
  for (const std::string_view text : {"12,", "-1.5e3]", "0}", "12 x"}) {
    const Read read = read_every_way(of(kJson), text);
    CHECK_EQUAL(read.json, text.substr(0, text.find_first_of(",]} ")));
    CHECK(read.status == ScanStatus::done);
    CHECK_EQUAL(read.consumed, read.json.size());
  }
  ValueReader reader;
  std::string out;
  CHECK(reader.put_whole("12 ", out).status == ScanStatus::done);
  CHECK(reader.put_whole(" \n", out).status == ScanStatus::done);
  CHECK(reader.put_whole("x", out).status == ScanStatus::failed);
}

// Each fails at the byte that cannot be there, however it is split.
static void bad_values() {
  struct Bad {
    const Dialect& dialect;
    std::string_view before, from;
  };
  const Bad all[] = {
      {kJson, "[1 ", "2]"},         {kJson, "[1,", "]"},
      {kJson, "{", "a: 1}"},        {kJson, "{\"a\" ", "1}"},
      {kJson, "[0", "1]"},          {kJson, "[1.", "]"},
      {kJson, "[tr", "x]"},         {kJson, "[\"\\", "x\"]"},
      {kJson, "[\"\\u12", "g0\"]"}, {kJson, "[", "'a']"},
      {kJson, "[1", "}"},           {kStrictJson, "\"a", "\tb\""},
      {kNearlyJson, "[", ",1]"},    {kNearlyJson, "{'a': [1", "}"},
      {kPython, "(1", "]"},         {kPython, "{1: 2, ", "[3]: 4}"},
  };
  for (const Bad& bad : all) {
    const std::string text = std::string(bad.before) + std::string(bad.from);
    const Read read = read_every_way(of(bad.dialect), text);
    CHECK(read.status == ScanStatus::failed);
    CHECK_EQUAL(read.consumed, bad.before.size());
  }
}

static void nested(const Dialect& dialect, std::size_t depth, std::size_t most, bool is_set) {
  ValueReader reader(dialect);
  if (is_set) reader.set_max_depth(static_cast<std::uint32_t>(most));
  std::string out;
  const ScanResult result = reader.put(std::string(depth, '[') + std::string(depth, ']'), out);
  CHECK(result.status == (depth <= most ? ScanStatus::done : ScanStatus::failed));
  CHECK_EQUAL(result.consumed, depth <= most ? 2 * depth : most);
}

static void depth_is_bounded() {
  for (const Dialect* dialect : {&kJson, &kNearlyJson, &kPython}) {
    nested(*dialect, ValueReader::kMaxDepth, ValueReader::kMaxDepth, false);
    nested(*dialect, ValueReader::kMaxDepth + 1, ValueReader::kMaxDepth, false);
    nested(*dialect, 3, 3, true);
    nested(*dialect, 4, 3, true);
  }
}

// What a listener hears, each with the depth.
class Heard : public ValueListener {
 public:
  std::string all;
  Answer on_value(std::size_t depth, char first, std::size_t) override {
    return hear(depth, std::string("value ") + first);
  }
  Answer on_value_end(std::size_t depth, std::size_t) override { return hear(depth, "end"); }
  Answer on_key(std::size_t depth, std::size_t) override { return hear(depth, "key"); }
  Answer on_key_end(std::size_t depth, std::size_t) override { return hear(depth, "key end"); }
  Answer on_colon(std::size_t depth) override { return hear(depth, "colon"); }
  Answer on_comma(std::size_t depth, std::size_t) override { return hear(depth, "comma"); }

 private:
  Answer hear(std::size_t depth, const std::string& what) {
    all += std::to_string(depth) + ' ' + what + "; ";
    return Answer::proceed;
  }
};

static void a_listener_hears_the_same_of_each_dialect() {
  const auto heard = [](const Dialect& dialect, std::string_view text, std::size_t size) {
    ValueReader reader(dialect);
    Heard listener;
    reader.set_listener(&listener);
    Read read;
    for (std::size_t i = 0; i < text.size(); i += size) put(reader, text.substr(i, size), read);
    CHECK(read.status == ScanStatus::done);
    return listener.all;
  };
  const std::string inside = "2 value 1; 2 end; 2 comma; 2 value \"; 2 end; ";
  const std::string expected =
      "0 value {; 1 key; 1 key end; 1 colon; 1 value [; " + inside + "1 end; 0 end; ";
  for (const std::size_t size : {1, 3, 100}) {
    CHECK_EQUAL(heard(kJson, R"({"a": [1, "x"]})", size), expected);
    CHECK_EQUAL(heard(kNearlyJson, R"({'a': [1, 'x']})", size), expected);
    CHECK_EQUAL(heard(kBareText, R"({a:[1,x]})", size), expected);
    // After a brace that may begin a set, a key is not certain until its colon.
    CHECK_EQUAL(heard(kPython, R"({'a': (1, 'x')})", size),
                "0 value {; 1 key; 1 end; 1 value (; " + inside + "1 end; 0 end; ");
  }
}

int main() {
  every_dialect();
  json_is_copied_at_once();
  cut_off_anywhere();
  a_top_level_number_ends_at_what_follows();
  bad_values();
  depth_is_bounded();
  a_listener_hears_the_same_of_each_dialect();
  return TEST_RESULT();
}
