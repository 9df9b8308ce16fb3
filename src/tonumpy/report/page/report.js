"use strict";
// The findings stand in the page as JSON; only those in sight are made into elements, a stretch at a time.
const data = JSON.parse(document.getElementById("data").textContent);
const STRETCH = 100;
const KINDS = [["safe", "safe fix"], ["unsafe", "unsafe fix"], ["hand", "by hand"], ["none", "no fix"]];
const at = (id) => document.getElementById(id);

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const findings = data.findings.map((each) => {
  const file = data.files[each.file];
  const rule = data.rules[each.code];
  const slash = file.name.lastIndexOf("/");
  const folder = slash < 0 ? "." : file.name.slice(0, slash) || "/";
  const text = `${file.name}:${each.start[0]} ${each.code} ${rule.name} ${each.message}`.toLowerCase();
  return { ...each, name: file.name, lines: file.lines, folder, rule, text };
});

// What is asked for lives behind the `#` of the address, so that it can be sent to somebody.
const asked = new URLSearchParams(location.hash.slice(1));
const FIELDS = { rule: "code", folder: "folder", fix: "kind", confidence: "confidence" };

function shownBut(left_out) {
  const words = (asked.get("text") || "").toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = Object.entries(FIELDS).filter(([field]) => field !== left_out && asked.get(field));
  return findings.filter((each) =>
    wanted.every(([field, key]) => each[key] === asked.get(field)) && words.every((word) => each.text.includes(word)));
}

// Of a long path the end tells more than the beginning.
const shortened = (path) => (path.length > 30 ? `\u2026${path.slice(-29)}` : path);

function ask(field, value) {
  if (value) asked.set(field, value); else asked.delete(field);
  history.replaceState(null, "", asked.size ? `#${asked}` : location.pathname + location.search);
  draw();
}

function plot(id, field, key, labelOf) {
  const counts = new Map();
  for (const each of shownBut(field)) {
    const of = counts.get(each[key]) || { all: 0, safe: 0, unsafe: 0, hand: 0, none: 0 };
    of.all += 1;
    of[each.kind] += 1;
    counts.set(each[key], of);
  }
  const rows = [...counts].sort((one, other) => other[1].all - one[1].all || (one[0] < other[0] ? -1 : 1));
  const most = rows.length ? rows[0][1].all : 1;
  const focused = document.activeElement && document.activeElement.dataset[field];
  at(id).replaceChildren(...rows.slice(0, 12).map(([value, of]) => {
    const track = make("span", { class: "track" });
    for (const [kind, name] of KINDS) {
      if (!of[kind]) continue;
      const part = make("span", { class: kind, title: `${of[kind]} ${name}` });
      part.style.width = `${100 * of[kind] / most}%`;
      track.append(part);
    }
    const pressed = asked.get(field) === value;
    const bar = make("button", { class: "bar", "aria-pressed": pressed, title: labelOf(value) },
      make("span", { class: "name" }, field === "folder" ? shortened(value) : labelOf(value)), track, make("span", { class: "count" }, of.all.toLocaleString("en")));
    bar.dataset[field] = value;
    bar.addEventListener("click", () => ask(field, pressed ? "" : value));
    return bar;
  }));
  if (rows.length > 12) at(id).append(make("p", { class: "rest" }, `and ${rows.length - 12} more`));
  const again = focused && [...at(id).children].find((bar) => bar.dataset[field] === focused);
  if (again) again.focus();
}

let left = [];  // those that are found and not yet made into elements

function draw() {
  plot("by-rule", "rule", "code", (code) => `${code} ${data.rules[code].name}`);
  plot("by-confidence", "confidence", "confidence", (level) => level);
  plot("by-folder", "folder", "folder", (folder) => folder);
  for (const field of Object.keys(FIELDS)) at(`ask-${field}`).value = asked.get(field) || "";
  left = shownBut();
  at("count").value = `${left.length.toLocaleString("en")} of ${findings.length.toLocaleString("en")} findings`;
  at("list").replaceChildren();
  at("nothing").hidden = left.length > 0;
  more();
}

const endInSight = new IntersectionObserver((entries) => {
  if (entries.some((each) => each.isIntersecting) && left.length) more();
}, { rootMargin: "600px" });

function more() {
  at("list").append(...left.splice(0, STRETCH).map(row));
  endInSight.unobserve(at("end"));  // to be told once more, even if the end has not left the window meanwhile
  endInSight.observe(at("end"));
}

function row(finding) {
  const [line, column] = finding.start;
  const kind = KINDS.find(([name]) => name === finding.kind);
  const summary = make("summary", {},
    make("span", { class: "place" }, make("bdi", {}, `${finding.name}:${finding.cell ? `cell ${finding.cell}:` : ""}${line}:${column}`)), " ",
    make("span", { class: "code" }, finding.code), finding.message,
    make("span", { class: `tag ${kind[0]}` }, kind[1]));
  summary.append(make("span", { class: "tag confidence" }, `${finding.confidence} confidence`));
  const element = make("details", { class: "finding" }, summary);
  element.addEventListener("toggle", () => {
    if (element.open && element.children.length === 1) element.append(body(finding));
  });
  return element;
}

function body(finding) {
  const element = make("div", { class: "body" });
  if (finding.frame) element.append(frame(finding));
  if (finding.fix) element.append(make("p", {}, `${KINDS.find(([name]) => name === finding.kind)[1]}: ${finding.fix}`));
  if (finding.patch) element.append(patch(finding.patch));
  if (finding.evidence.length) {
    element.append(make("h3", {}, "Evidence"), make("ul", {}, ...finding.evidence.map((each) => make("li", {}, each))));
  }
  element.append(make("details", {}, make("summary", {}, `${finding.code}: ${finding.rule.summary}`),
    make("div", { class: "page" }, finding.rule.page)));
  return element;
}

const numbered = (number, kind, ...children) =>
  make("div", kind ? { class: kind } : {}, make("span", { class: "row" }, number), make("bdi", {}, ...children));

function frame(finding) {
  const [first, last] = finding.frame;
  const [[row, column], [endRow, endColumn]] = [finding.start, finding.end];
  const element = make("div", { class: "frame", tabindex: "0", role: "region", "aria-label": "Code" });
  for (let number = first; number <= last; number++) {
    const text = [...(finding.lines[number] ?? "")];  // by code points, as columns are counted
    const from = number === row ? column - 1 : 0;
    const to = number === endRow ? endColumn - 1 : text.length;
    if (number < row || number > endRow) element.append(numbered(number, "", text.join("")));
    else element.append(numbered(number, "", text.slice(0, from).join(""), make("mark", {}, text.slice(from, to).join("")), text.slice(to).join("")));
  }
  return element;
}

function patch([first, old, fresh]) {
  const element = make("div", { class: "frame patch", tabindex: "0", role: "region", "aria-label": "Patch" });
  old.forEach((text, index) => element.append(numbered(`${first + index} -`, "gone", text)));
  fresh.forEach((text, index) => element.append(numbered(`${first + index} +`, "come", text)));
  return element;
}

function fill(field, values, labelOf) {
  for (const value of values) at(`ask-${field}`).append(make("option", { value }, labelOf(value)));
  at(`ask-${field}`).addEventListener("change", (event) => ask(field, event.target.value));
}

fill("rule", Object.keys(data.rules).sort(), (code) => `${code} ${data.rules[code].name}`);
fill("folder", [...new Set(findings.map((each) => each.folder))].sort(), shortened);
fill("fix", KINDS.map(([kind]) => kind), (kind) => KINDS.find(([name]) => name === kind)[1]);
fill("confidence", ["high", "medium", "low"], (level) => level);

let waiting;
at("ask-text").value = asked.get("text") || "";
at("ask-text").addEventListener("input", (event) => {
  clearTimeout(waiting);
  waiting = setTimeout(() => ask("text", event.target.value.trim()), 80);
});
at("clear").addEventListener("click", () => {
  for (const field of [...asked.keys()]) asked.delete(field);
  at("ask-text").value = "";
  ask("text", "");
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  if (event.key === "/") {
    event.preventDefault();
    at("ask-text").focus();
  } else if (event.key === "j" || event.key === "k") {
    const here = document.activeElement.closest && document.activeElement.closest(".finding");
    const next = here ? (event.key === "j" ? here.nextElementSibling : here.previousElementSibling) : at("list").firstElementChild;
    if (next) next.firstElementChild.focus();
  }
});

const THEMES = ["auto", "light", "dark"];
function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  at("theme").textContent = `Theme: ${theme}`;
  try { localStorage.setItem("tonumpy-theme", theme); } catch { /* a browser may keep nothing for a file */ }
}
let theme = "auto";
try { theme = localStorage.getItem("tonumpy-theme") || "auto"; } catch { /* the same */ }
setTheme(THEMES.includes(theme) ? theme : "auto");
at("theme").addEventListener("click", () => {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  setTheme(theme);
});

draw();
