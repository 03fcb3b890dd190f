"use strict";
// Numbers as `refit simulate` prints them, and elements of the page.

function scaled(value, units, decimals) {
  let i = 0;
  while (i + 1 < units.length && Math.abs(value) >= 1000 - 0.5 * Math.pow(10, -decimals)) {
    value /= 1000;
    ++i;
  }
  return value.toFixed(decimals) + " " + units[i];
}

function bytes(value) {
  if (Number.isInteger(value) && Math.abs(value) < 1000) return value + " B";
  return scaled(value, ["B", "kB", "MB", "GB", "TB", "PB", "EB"], 2);
}

function seconds(value) {
  if (value === 0) return "0 s";
  if (Math.abs(value) >= 1) return value.toFixed(2) + " s";
  return scaled(value * 1e9, ["ns", "us", "ms", "s"], 2);
}

const count = value => String(value).replace(/\B(?=(\d{3})+$)/g, ",");
const percent = share => (100 * share).toFixed(0) + " %";
// "-4.31 %"; what rounds to nothing has no sign.
function signedPercent(share, digits = 1) {
  const text = (100 * Math.abs(share)).toFixed(digits);
  return (Number(text) === 0 ? "" : share < 0 ? "-" : "+") + text + " %";
}
const times = (part, whole) => whole > 0 ? (part / whole).toFixed(2) + " x" : "-";

// [[0, 3], [8, 8]] as "0-3, 8".
function runs(list, most = 12) {
  const words = list.slice(0, most).map(([a, b]) => a === b ? `${a}` : `${a}-${b}`);
  return words.join(", ") + (list.length > most ? `, … (${count(list.length)} runs)` : "");
}

// Ascending numbers as runs.
function runsOf(numbers) {
  const list = [];
  for (const n of numbers) {
    if (list.length && list[list.length - 1][1] === n - 1)
      list[list.length - 1][1] = n;
    else
      list.push([n, n]);
  }
  return list;
}

// An element; children are elements or texts, which are never read as HTML.
function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on"))
      element.addEventListener(name.slice(2), value);
    else if (value === true)
      element.setAttribute(name, "");
    else if (value !== false && value !== undefined)
      element.setAttribute(name, value);
  }
  element.append(...children.flat(2).filter(child => child !== undefined && child !== null));
  return element;
}

// columns: [{name, number, class}], rows: lists of texts or elements; the first cell names its row.
function table(caption, columns, rows, marked = -1) {
  const kind = i => [columns[i].number ? "number" : "", columns[i].class || ""].join(" ").trim() || undefined;
  return h(
      "div", {class: "scroll", tabindex: "0", role: "region", "aria-label": caption},
      h("table", {}, h("caption", {}, caption),
        h("thead", {}, h("tr", {}, columns.map((c, i) => h("th", {scope: "col", class: kind(i)}, c.name)))),
        h("tbody", {},
          rows.map(
              (row, r) =>
                  h("tr", {class: r === marked ? "shown" : undefined},
                    row.map(
                        (cell, i) => i === 0 ? h("th", {scope: "row", class: kind(i)}, cell) :
                                               h("td", {class: kind(i)}, cell)))))));
}

// What stands behind a chart, for those who can't see it or want the numbers; made when it is opened.
function behind(summary, content) {
  const details = h("details", {}, h("summary", {}, summary));
  details.addEventListener(
      "toggle", () => details.append(...[content()].flat().filter(Boolean)), {once: true});
  return details;
}

function chooser(label, options, chosen, change) {
  const select = h(
      "select", {onchange: () => change(select.value)},
      options.map(([value, text]) => h("option", {value, selected: String(value) === String(chosen)}, text)));
  return h("label", {}, label + " ", select);
}

function fill(id, ...content) {
  document.querySelector(`#${id} .body`).replaceChildren(...content.flat(2).filter(Boolean));
}
