// A text field with a grouped list below it: type to search, use the arrow keys to choose.

export class Combobox {
  /** `items`: {value, group, label, search}; `onChoose(value)` is called for a new choice. */
  constructor(input, list, onChoose) {
    this.input = input;
    this.list = list;
    this.onChoose = onChoose;
    this.items = [];
    this.value = "";
    this.active = -1;
    this.shown = [];
    input.addEventListener("focus", () => { input.select(); this.open(""); });
    input.addEventListener("click", () => { if (list.hidden) this.open(""); });
    input.addEventListener("input", () => this.open(input.value));
    input.addEventListener("keydown", (event) => this.onKey(event));
    input.addEventListener("blur", () => this.close());
    list.addEventListener("mousedown", (event) => event.preventDefault()); // the field keeps the focus
    list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) this.choose(option.dataset.value);
    });
  }

  set(value) {
    this.value = value;
    this.input.value = value;
  }

  open(query) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    this.shown = this.items.filter((item) => words.every((word) => item.search.includes(word)));
    this.list.replaceChildren();
    let group = null;
    let box = null;
    for (const [index, item] of this.shown.entries()) {
      if (item.group !== group) {
        group = item.group;
        box = document.createElement("div");
        box.setAttribute("role", "group");
        box.setAttribute("aria-label", group);
        const title = document.createElement("div");
        title.className = "group";
        title.setAttribute("role", "presentation");
        title.textContent = group;
        box.append(title);
        this.list.append(box);
      }
      const option = document.createElement("div");
      option.id = `format-option-${index}`;
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", String(item.value === this.value));
      option.dataset.value = item.value;
      const name = document.createElement("b");
      name.textContent = item.value;
      const label = document.createElement("span");
      label.textContent = item.label;
      option.append(name, label);
      box.append(option);
    }
    if (this.shown.length === 0) {
      const empty = document.createElement("div");
      empty.className = "group";
      empty.textContent = "No format matches.";
      this.list.append(empty);
    }
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    const chosen = this.shown.findIndex((item) => item.value === this.value);
    this.activate(words.length > 0 ? 0 : chosen);
  }

  close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
    this.input.value = this.value;
  }

  activate(index) {
    const options = this.list.querySelectorAll("[role=option]");
    if (options.length === 0) index = -1;
    this.active = index < 0 ? -1 : (index + options.length) % options.length;
    for (const [i, option] of options.entries()) option.classList.toggle("active", i === this.active);
    if (this.active < 0) return this.input.removeAttribute("aria-activedescendant");
    this.input.setAttribute("aria-activedescendant", options[this.active].id);
    options[this.active].scrollIntoView({ block: "nearest" });
  }

  choose(value) {
    const isNew = value !== this.value;
    this.set(value);
    this.close();
    if (isNew) this.onChoose(value);
  }

  onKey(event) {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (this.list.hidden) return this.open("");
      const from = this.active < 0 && event.key === "ArrowUp" ? 0 : this.active;
      this.activate(from + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (!this.list.hidden && this.active >= 0) this.choose(this.shown[this.active].value);
    } else if (event.key === "Escape" && !this.list.hidden) {
      event.preventDefault();
      this.close();
    }
  }
}
