// A region is converted when it ends. For a call that would mean: no arguments before the last
// brace. So, where the template allows it, two readers emit a call while its region is open:
//
//   JSON   {"name": "f", "arguments": {"a": 1}}    the name comes first, then the arguments stream
//   tags   <f=f><p=a>1</p></f>                      the name is in the opener; a tag at a time
//
// They emit the same text as the conversion at the end: `read_call_shape` says where a transform
// takes name and arguments from. If the name comes after the arguments, or a value is no object,
// nothing is emitted early (`can_stream_`), and the region is converted at its end.
//
// A string that the tool's schema may turn into another type (`"5"` into 5) waits for its end.
#include "template/template_call.h"

#include <algorithm>
#include <utility>

#include "body/names.h"

namespace unspool {

namespace {

constexpr std::size_t kNowhere = std::string::npos;

/// The region is JSON; its name is in the opener or in the region, before the arguments.
class JsonTemplateCall final : public TemplateCall, private ValueListener {
 public:
  JsonTemplateCall(const TemplateField& field, std::string name, const ToolSchemas* tools)
      : shape_(&*field.call), tools_(tools), reader_(make_json_reader(field.content)) {
    reader_.set_listener(this);
    if (!shape_->name.keys.empty() && shape_->name.keys[0] == "content") {
      name_path_.assign(shape_->name.keys.begin() + 1, shape_->name.keys.end());
    } else {
      set_name(std::move(name));
    }
  }

  std::unique_ptr<TemplateCall> clone() const override {
    auto copy = std::make_unique<JsonTemplateCall>(*this);
    // The copied reader would report to the original.
    copy->reader_.set_listener(copy.get());
    return copy;
  }

  bool put(std::string_view text, CallSink& sink, std::string& unread) override {
    // The text is kept by the parser, for the conversion at the end.
    if (!can_stream_) return true;
    const ScanResult result = reader_.put_whole(text, out_);
    const bool has_failed = result.status == ScanStatus::failed;
    // Once per put and not at each value, so that a put makes one fragment.
    if (is_begun_) emit(sink);
    if (!is_announced_) {
      // A fault before the announcement: nothing has been promised, and the end decides.
      can_stream_ = can_stream_ && !has_failed;
      return true;
    }
    if (has_failed) {
      cut(sink);
      unread = text.substr(result.consumed);
    }
    return !has_failed;
  }

  void cut(CallSink& sink) override {
    if (place_ == Place::emitted || !is_announced_) return;
    // A value that was held for a conversion goes out as it is: its end will not come.
    held_ = key_ = kNowhere;
    // A word without quotes was held, since it might have become a literal.
    if (!reader_.word().empty()) out_.append("\"").append(reader_.word());
    out_ += reader_.delimiter();
    emit(sink);
  }

  void add_held(Held& out) const override {
    if (place_ == Place::emitted) return;
    const std::size_t held = std::min(held_, key_);
    if (held != kNowhere) out.add(HeldReason::value, std::string_view(out_).substr(held));
    out.add(HeldReason::value, reader_.word());
    out.add(HeldReason::value, reader_.delimiter());
  }

  bool end(CallSink&) override { return is_whole(); }
  bool is_whole() const override { return place_ == Place::emitted && reader_.is_complete(); }

  void visit(Archive& archive) override {
    TemplateCall::visit(archive);
    archive.given(shape_, tools_);
    archive.pointer(schema_);
    archive(reader_, name_path_, keys_, name_, out_, sent_, end_, key_, held_, name_begin_);
    archive.choice(place_, Place::emitted);
    archive(is_begun_, can_stream_);
  }

 private:
  enum class Place : std::uint8_t { before, inside, after, emitted };

  void set_name(std::string name) {
    name_ = std::move(name);
    if (name_.empty()) can_stream_ = false;
    if (tools_ != nullptr) schema_ = tools_->find(name_);
  }

  bool is_at(std::size_t depth, const std::vector<std::string>& path) const {
    return depth == path.size() && depth <= keys_.size() &&
           std::equal(path.begin(), path.end(), keys_.begin());
  }

  Answer on_key(std::size_t, std::size_t) override {
    key_ = out_.size();
    return Answer::proceed;
  }

  Answer on_key_end(std::size_t depth, std::size_t) override {
    const std::size_t begin = std::exchange(key_, kNowhere);
    if (depth > kMaxPath || begin == kNowhere) return Answer::proceed;
    // The reader writes the closing quote after this call.
    const std::string key = out_.substr(begin) + '"';
    keys_.resize(depth);
    const auto value = parse_json(key);
    // Decoded, because the template names keys by their text.
    keys_[depth - 1] = value ? value->text : key;
    return Answer::proceed;
  }

  Answer on_value(std::size_t depth, char first, std::size_t) override {
    if (depth <= kMaxPath) begin_value(depth, first);
    return Answer::proceed;
  }

  Answer on_value_end(std::size_t depth, std::size_t) override {
    end_value(depth);
    return Answer::proceed;
  }

  void begin_value(std::size_t depth, char first) {
    if (place_ == Place::before && is_at(depth, shape_->arguments)) {
      begin_arguments(first);
    } else if (name_.empty() && !name_path_.empty() && is_at(depth, name_path_)) {
      // Only a string is a name; anything else is for the conversion to reject.
      first == '"' ? void(name_begin_ = out_.size()) : void(can_stream_ = false);
    } else if (may_be_cast(depth, first)) {
      held_ = out_.size();
    }
    if (first == '[') {
      keys_.resize(depth + 1);
      // No key of a path equals it, so nothing within the list is taken for a name or arguments.
      keys_[depth].assign(1, kInList);
    }
  }

  void begin_arguments(char first) {
    // The arguments come before the name, or are no object.
    if (first != '{' || name_.empty()) can_stream_ = false;
    if (!can_stream_) return;
    is_begun_ = true;
    place_ = Place::inside;
    sent_ = out_.size();
  }

  const TypeSet* types_at(std::size_t depth) const {
    return schema_ != nullptr && depth <= keys_.size() ? schema_->types_of(keys_[depth - 1])
                                                       : nullptr;
  }

  /// Whether the value is an argument that the schema may convert to another type.
  bool may_be_cast(std::size_t depth, char first) const {
    return place_ == Place::inside && depth == shape_->arguments.size() + 1 &&
           (first == '"' || first == '[') && is_cast(types_at(depth));
  }

  void end_value(std::size_t depth) {
    if (name_begin_ != kNowhere && depth == name_path_.size()) {
      const auto name = parse_json(std::string_view(out_).substr(name_begin_));
      name_begin_ = kNowhere;
      // The schema is known from here on.
      set_name(name ? name->text : std::string());
    }
    if (place_ != Place::inside) return;
    if (held_ != kNowhere && depth == shape_->arguments.size() + 1) {
      if (auto value = parse_json(std::string_view(out_).substr(held_))) {
        if (const auto* types = types_at(depth)) cast(*value, *types);
        out_.resize(held_);
        append_json(*value, out_);
      }
      held_ = kNowhere;
    }
    if (depth == shape_->arguments.size()) {
      place_ = Place::after;
      end_ = out_.size();
    }
  }

  void emit(CallSink& sink) {
    if (!is_announced_) {
      is_announced_ = true;
      sink.begin_call(name_, {});
    }
    // What follows the arguments is read for its validity, and not emitted.
    if (place_ == Place::emitted) {
      key_ = kNowhere;
      return out_.clear();
    }
    // Neither a held value nor half a key may go out.
    const std::size_t end = std::min({place_ == Place::after ? end_ : out_.size(), held_, key_});
    if (end > sent_) sink.put_arguments(std::string_view(out_).substr(sent_, end - sent_));
    out_.erase(0, end);
    sent_ = 0;
    if (held_ != kNowhere) held_ -= end;
    if (key_ != kNowhere) key_ -= end;
    if (place_ == Place::after) place_ = Place::emitted;
  }

  static constexpr std::size_t kMaxPath = 16;
  static constexpr char kInList = 1;  // paths do not lead into lists

  const CallKeys* shape_;
  const ToolSchemas* tools_;
  const ToolSchema* schema_ = nullptr;
  ValueReader reader_;
  std::vector<std::string> name_path_;
  std::vector<std::string> keys_;  // from the root to the reader's position
  std::string name_;
  std::string out_;
  std::size_t sent_ = 0;
  std::size_t end_ = 0;
  std::size_t key_ = kNowhere;   // where an incomplete key begins
  std::size_t held_ = kNowhere;  // a value that may be converted to another type
  std::size_t name_begin_ = kNowhere;
  Place place_ = Place::before;
  bool is_begun_ = false;
  bool can_stream_ = true;
};

/// The region is tags; its name is in the opener. Emits one parameter at a time.
class TagTemplateCall final : public TemplateCall {
 public:
  TagTemplateCall(const TemplateField& field, std::string name, const ToolSchemas* tools)
      : tags_(field.content),
        schema_(tools == nullptr ? nullptr : tools->find(name)),
        name_(std::move(name)) {}

  std::unique_ptr<TemplateCall> clone() const override {
    return std::make_unique<TagTemplateCall>(*this);
  }

  bool put(std::string_view text, CallSink& sink, std::string& unread) override {
    if (!is_announced_) sink.begin_call(name_, {});
    is_announced_ = true;
    text_ += text;
    if (read({text_, begin_, false}, sink)) return true;
    // From the beginning of the tag that cannot be read.
    unread = held();
    return false;
  }

  void cut(CallSink&) override {}

  std::string_view held() const override {
    return std::string_view(text_).substr(std::min(tags_.earliest(), failed_at_) - begin_);
  }

  bool end(CallSink& sink) override {
    if (!read({text_, begin_, true}, sink)) return false;
    sink.put_arguments(is_empty_ ? "{}" : "}");
    return true;
  }

  bool is_whole() const override { return false; }

  void visit(Archive& archive) override {
    TemplateCall::visit(archive);
    archive(tags_, name_, text_, begin_, failed_at_, is_empty_);
    archive.pointer(schema_);
  }

 private:
  bool read(const TextWindow& window, CallSink& sink) {
    while (auto tag = tags_.next(window)) {
      if (!tag->is_readable) {
        failed_at_ = tag->begin;
        return false;
      }
      std::string member;
      begin_member(tag->key, std::exchange(is_empty_, false), member);
      const TypeSet* types = schema_ == nullptr ? nullptr : schema_->types_of(tag->key);
      if (is_cast(types)) cast(tag->value, *types);
      append_json(tag->value, member);
      sink.put_arguments(member);
    }
    const std::size_t done = tags_.earliest() - begin_;
    // Half at a time, so that a byte is moved once on average.
    if (done > text_.size() / 2) {
      text_.erase(0, done);
      begin_ += done;
    }
    return true;
  }

  TagReader tags_;
  const ToolSchema* schema_;
  std::string name_;
  std::string text_;
  std::uint64_t begin_ = 0;
  std::uint64_t failed_at_ = kNoPlace;
  bool is_empty_ = true;
};

}  // namespace

std::unique_ptr<TemplateCall> make_template_call(const TemplateField& field,
                                                 const Captures& captures,
                                                 const ToolSchemas* tools) {
  if (!field.call) return nullptr;
  const TemplatePath& path = field.call->name;
  std::string name = path.literal;
  const bool is_inside = !path.keys.empty() && path.keys[0] == "content";
  if (!path.keys.empty() && !is_inside) {
    const auto it = std::find_if(captures.begin(), captures.end(),
                                 [&](const auto& item) { return item.first == path.keys[0]; });
    // A group that did not match, or a path within a text: the conversion reports it.
    if (it == captures.end() || path.keys.size() > 1) return nullptr;
    name = it->second;
  }
  if (field.content.kind == ContentSpec::Kind::json)
    return std::make_unique<JsonTemplateCall>(field, std::move(name), tools);
  // Tags that are merged change an earlier value, and arguments within a tag are no members.
  if (is_inside || name.empty() || field.content.merges || !field.call->arguments.empty())
    return nullptr;
  return std::make_unique<TagTemplateCall>(field, std::move(name), tools);
}

}  // namespace unspool
