// Compiles a file in the notation to the description that the parser runs.
#pragma once

#include "format/format_spec.h"
#include "format/pattern_file.h"
#include "format/pattern_texts.h"

namespace unspool {

/// Throws FormatError where the patterns do not say enough: a hole whose end nothing marks.
FormatSpec compile_patterns(PatternFile file);

/// A file on its way to a description: each step takes what it understands and leaves the rest.
class PatternCompiler {
 public:
  explicit PatternCompiler(PatternFile file) : file_(std::move(file)) {}
  FormatSpec compile();

 private:
  void take_authors();
  void take_author(Pattern& pattern, bool is_content);
  void take_turn();
  void take_sections();
  void take_fences(std::vector<CallSpec>& calls);

  void read_reasoning();
  void read_headed_reasoning();
  void read_tagged_reasoning();
  void read_turn();
  void read_content();
  void read_header();
  void read_call_headers(MarkupSpec& header, Texts& closers) const;
  void read_first_header(MarkupSpec& header) const;
  void read_authors();
  std::string_view without_turn(std::string_view text) const;
  std::string header_pattern(const MarkupSpec& markup) const;
  Texts tags_of_calls(const MarkupSpec& markup) const;
  bool opens_message(std::string_view literal) const;
  bool has_messages() const;
  std::string header_part(std::string_view literal) const;

  void read_calls();
  CallSpec read_call(const Pattern& pattern) const;
  void read_object_call(const Pattern& pattern, std::string_view first, std::string_view last,
                        bool is_list, CallSpec& call) const;
  void read_python_call(std::string_view first, std::string_view last, bool is_list,
                        CallSpec& call) const;
  bool read_named_call(const Pattern& pattern, CallSpec& call) const;
  void read_objects(JsonCallSpec& keys) const;
  void close_call(CallSpec& call, std::string_view open, std::string_view close) const;
  Texts message_closers(std::string_view own) const;
  std::vector<Pattern> take_prefixes();
  std::vector<Pattern> take_json_forms();
  void add_json_form(const Pattern& pattern, std::vector<CallSpec>& calls) const;
  void read_keyless(const Pattern& pattern, CallSpec& call) const;
  void unwrap();
  void merge(std::vector<CallSpec>& calls) const;
  void split_prefix(CallSpec& call) const;
  void tell_apart(std::vector<CallSpec>& calls) const;

  void read_parameters(CallSpec& call) const;
  void read_parameter(const Pattern& pattern, XmlParametersSpec& spec) const;

  PatternFile file_;
  FormatSpec spec_;
  MarkupSpec authors_;  // what opens a message before its author's name, what ends the name
};

}  // namespace unspool
