// What `fadeprobe check` found: each error with the source around it, both sides of a race side by side.

/// What the second place of a finding is, in the words of the text.
const ofProblem = {inactive_lane: "used at", copy_overlap: "called at", unregistered: "called at", freed_early: "called at", used_early: "called at"};
const secondPlace = {init: "used at", sync: "ended at", wait: "loaded at", hazard: "after", hang: "written at", nan: "stored at", precision: "stored at"};

function errorsPanel() {
  // What of the run a card need not compute alike.
  const exactness = data.notes.map((note) => el("p", {class: "soft"}, `Exactness: ${note}.`));
  if (data.errors.length === 0)
    return el("div", {}, el("p", {class: "empty"}, `No errors were found${data.checked_dispatches ? ` in ${count(data.checked_dispatches)} dispatches` : ""}.`), exactness);
  const kinds = [...new Set(data.errors.map((error) => error.check))], chosen = new Set(kinds);
  const list = el("div", {class: "errors"}), index = el("ol", {class: "errors-index", "aria-label": "errors"});
  const search = el("input", {type: "search", placeholder: "filter", "aria-label": "filter errors", oninput: () => show()});
  const tally = el("span", {class: "count", role: "status"});
  const words = new Map(data.errors.map((error) => [error, errorText(error).toLowerCase()]));
  const show = () => {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = data.errors.filter((error) => chosen.has(error.check) && wanted.every((word) => words.get(error).includes(word)));
    const cards = shown.map(errorCard);
    list.replaceChildren(...cards);
    // Where everything is on the screen, a list of it is in the way.
    index.replaceChildren(...(shown.length < 4 ? [] : shown.map((error, i) =>
      el("li", {}, el("button", {type: "button", title: error.message, onclick: () => goToError(cards[i])}, el("b", {class: "kind"}, error.check), ` ${errorName(error)}`)))));
    tally.textContent = `${count(shown.length)} of ${count(data.errors.length)}`;
  };
  const boxes = kinds.map((kind) => el("label", {class: "choice"},
    el("input", {type: "checkbox", checked: true, onchange: (event) => { chosen[event.target.checked ? "add" : "delete"](kind); show(); }}),
    ` ${kind} ${count(data.errors.filter((error) => error.check === kind).length)}`));
  show();
  return el("div", {}, el("div", {class: "tools"}, search, boxes, el("span", {class: "grow"}), tally), index, list, exactness);
}

/// A few words: where it is, in which kernel.
function errorName(error) {
  const first = error.places.find((where) => where.line);
  return [first ? place(first) : error.message, error.kernel ? plainName(error.kernel) : ""].filter(Boolean).join(" in ");
}
function goToError(card) {
  card.scrollIntoView({block: "start"});
  card.focus({preventScroll: true});
}
/// To the error after (1) or before (-1) the one that has the focus.
function stepError(by) {
  const cards = [...document.querySelectorAll(".errors > .error.card")], at = cards.indexOf(document.activeElement);
  const to = at < 0 ? (by > 0 ? 0 : cards.length - 1) : at + by;
  if (cards[to]) goToError(cards[to]);
}

function errorText(error) {
  return [error.check, error.id, error.message, error.advice, error.kernel, ...error.places.map((p) => `${p.file >= 0 ? data.files[p.file].path : ""}:${p.line} ${p.function} ${sourceLine(p.file, p.line)}`)].join(" ");
}

/// "docs/check.md#race": a link where the documentation is installed beside the program that made this page.
function docLink(page) {
  return data.docs && page.startsWith("docs/") ? el("a", {class: "soft", href: `${data.docs}/${page.slice(5)}`}, `(${page})`) : el("span", {class: "soft"}, `(${page})`);
}

function errorCard(error) {
  return el("article", {class: "error card", tabindex: "-1"},
    el("header", {}, el("b", {class: "kind"}, error.check), el("span", {class: "message"}, error.message),
      error.count > 1 && error.check !== "leak" ? el("span", {class: "amount"}, `${count(error.count)} times`) : null,
      error.known ? el("span", {class: "soft"}, "in the baseline") : null),
    error.advice ? el("p", {class: "advice"}, `${error.advice} `, error.page ? docLink(error.page) : null) : null,
    error.summary && error.details ? waitsList(error) : null,
    error.kernel ? el("p", {class: "kernel"}, error.kernel) : null,
    el("div", {class: "places"}, error.places.map((where, i) => errorPlace(where, i === 0 ? "" : ofProblem[error.problem] || secondPlace[error.check] || "other at"))),
    error.details && error.details.length ? errorDetails(error.details) : null);
}

/// A hang: who waits for whom, a line for each place.
function waitsList(error) {
  return el("div", {}, el("p", {}, error.summary), error.chain ? waitsPicture(error.chain) : null,
    el("ul", {}, [error, ...error.details].map((wait) => el("li", {}, [wait.places[0] && wait.places[0].line ? `${place(wait.places[0])}: ` : "", wait.message]))));
}

/// Boxes for places where waves are, and arrows to who could let them go on; one bent back is a cycle.
function waitsPicture(chain) {
  const names = [...chain.links.map((link) => [link.at, `${count(link.waves)} wave${link.waves === 1 ? "" : "s"}`]), ...(chain.end && chain.back_to < 0 ? [[chain.end, ""]] : [])];
  const wide = 190, gap = 150, high = 44, top = 26, left = (i) => 8 + i * (wide + gap);
  const width = left(names.length - 1) + wide + 16, height = top + high + (chain.back_to >= 0 ? 46 : 12);
  const drawn = (name, attributes, ...inside) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...inside);
    return node;
  };
  const word = (x, y, text) => drawn("text", {x, y, "text-anchor": "middle", "font-size": 12, fill: "currentColor"}, text);
  const arrow = (path) => drawn("path", {d: path, fill: "none", stroke: "currentColor", "marker-end": "url(#waits-for)"});
  const svg = drawn("svg", {viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": "wait graph"},
    drawn("defs", {}, drawn("marker", {id: "waits-for", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto"}, drawn("path", {d: "M0,0 L8,4 L0,8 z", fill: "currentColor"}))));
  names.forEach(([at, waves], i) => {
    svg.append(drawn("rect", {x: left(i), y: top, width: wide, height: high, rx: 6, fill: "none", stroke: "currentColor"}), word(left(i) + wide / 2, top + (waves ? 18 : 26), at));
    if (waves) svg.append(word(left(i) + wide / 2, top + 35, waves));
    if (i + 1 < names.length) svg.append(arrow(`M${left(i) + wide},${top + high / 2} H${left(i + 1)}`), word(left(i) + wide + gap / 2, top + high / 2 - 7, chain.links[i].waits_for));
  });
  if (chain.back_to >= 0) {
    const from = left(chain.links.length - 1) + wide / 2, to = left(chain.back_to) + wide / 2 - (chain.back_to === chain.links.length - 1 ? 40 : 0), low = top + high + 26;
    svg.append(arrow(`M${from},${top + high} V${low} H${to} V${top + high}`), word((from + to) / 2, low + 14, chain.links.at(-1).waits_for));
  }
  return el("div", {style: "overflow-x: auto"}, svg);
}

/// Other places of the same cause, unfolded when wanted.
function errorDetails(details) {
  const box = el("details", {}, el("summary", {}, `${count(details.length)} more of the same cause`));
  box.addEventListener("toggle", () => {
    if (box.open && box.childElementCount === 1) box.append(...details.map(errorCard));
  });
  return box;
}

/// A line with its neighbors.
function errorPlace(where, label) {
  const around = 2, lines = where.file >= 0 ? data.files[where.file].lines : null, rows = [];
  if (lines && where.line)
    for (let n = Math.max(1, where.line - around); n <= Math.min(lines.length, where.line + around); ++n)
      rows.push(el("tr", {class: n === where.line ? "here" : null}, el("td", {class: "no"}, n), el("td", {}, el("pre", {}, lines[n - 1]))));
  // The frames between the instruction and the line that is shown, and who called that.
  const calls = where.stack.filter((frame) => frame.line && !(frame.file === where.file && frame.line === where.line));
  return el("section", {},
    el("p", {class: "where", title: where.file >= 0 ? data.files[where.file].path : null}, label ? el("span", {class: "soft"}, `${label}: `) : null,
      where.line ? place(where) : where.function || "no line information", where.kernel ? el("span", {class: "soft"}, ` in ${where.kernel}`) : null),
    rows.length ? el("table", {class: "lines"}, el("tbody", {}, rows)) : null,
    where.instruction ? el("p", {class: "isa"}, where.instruction) : null,
    where.merged ? el("p", {class: "soft"}, where.merged) : null,
    where.item ? el("p", {class: "soft"}, where.item) : null,
    calls.map((frame) => el("p", {class: "soft"}, `through ${frame.function || "?"} at ${fileName(frame.file)}:${frame.line}`)));
}
