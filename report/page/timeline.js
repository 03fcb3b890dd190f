// When who does what. The time can be zoomed and moved, with the mouse, with buttons and with keys.

// The part of the whole time that is looked at: [0, 1] is all of it.
class TimelineView {
  constructor(changed) {
    this.range = [0, 1];
    this.changed = changed;
  }

  look(from, to) {
    const width = Math.max(1e-5, Math.min(1, to - from));
    const start = Math.max(0, Math.min(1 - width, from));
    this.range = [start, start + width];
    this.changed();
  }
  all() { this.look(0, 1); }
  // `at`: what stays where it is, as a share of what is shown.
  zoom(factor, at = 0.5) {
    const [a, b] = this.range, still = a + (b - a) * at;
    this.look(still - (still - a) * factor, still + (b - still) * factor);
  }
  move(part) {
    const [a, b] = this.range, step = (b - a) * part;
    this.look(a + step, b + step);
  }
  toStart() { this.look(0, this.range[1] - this.range[0]); }
  toEnd() { this.look(1 - (this.range[1] - this.range[0]), 1); }
  // Moves if none of [from, to] is shown.
  bring(from, to) {
    const [a, b] = this.range;
    if (from <= b && to >= a) return;
    const middle = (from + to) / 2;
    this.look(middle - (b - a) / 2, middle + (b - a) / 2);
  }
}

// Draws the frame and returns its height, and a function that draws the rows anew.
function drawTimeline(svg, width, rows, view, state, say) {
  const narrow = width < 600, left = narrow ? 0 : 132, named = narrow ? 14 : 0, right = width - 12, top = 24;
  let bottom = top;
  const tops = rows.list.map(row => {
    const at = bottom;
    bottom += rows.height(row) + named + 3;
    return at;
  });
  const x = d3.scaleLinear().range([left, right]);
  const clip = svg.append("clipPath").attr("id", "timeline-clip").append("rect");
  clip.attr("x", left).attr("width", right - left).attr("height", bottom);
  const ticks = svg.append("g").attr("class", "axis").attr("transform", `translate(0,${top - 4})`);
  const mark = svg.append("rect").attr("x", 0).attr("width", width - 8).style("fill", "var(--card)");
  mark.style("stroke", "var(--soft)");
  rows.list.forEach(
      (row, r) => svg.append("text")
                      .attr("x", left ? left - 6 : 0)
                      .attr("y", tops[r] + 12)
                      .attr("text-anchor", left ? "end" : "start")
                      .text(row.name));
  const body = svg.append("g").attr("clip-path", "url(#timeline-clip)");
  const update = () => {
    x.domain(view.range);
    const clock = x.copy().domain(view.range.map(t => t * rows.data.end_s));
    const short = t => shortSeconds(+t.toPrecision(6));
    ticks.call(d3.axisTop(clock).ticks(Math.max(2, width / 130)).tickFormat(short));
    ticks.attr("font-family", null).attr("font-size", null);
    body.selectAll("*").remove();
    rows.list.forEach(
        (row, r) => rows.draw(body, row, x, tops[r] + named, r === state.row ? state.bar : undefined));
    mark.attr("y", tops[state.row] - 2).attr("height", rows.height(rows.list[state.row]) + named + 4);
    mark.style("display", state.focused ? null : "none");
  };
  let held;  // where the pointer is that moves the time
  svg.style("touch-action", "pan-y").on("pointerdown", function() {
    held = d3.event.clientX;
    this.setPointerCapture(d3.event.pointerId);
  });
  svg.on("pointerup pointercancel", () => {
    held = undefined;
  });
  svg.on("pointermove", function() {
    if (held !== undefined) {
      view.move((held - d3.event.clientX) / (right - left));
      held = d3.event.clientX;
      return;
    }
    const [px, py] = d3.mouse(this);
    const row = Math.min(rows.list.length - 1, Math.max(0, d3.bisectRight(tops, py) - 1));
    say(row, rows.barAt(rows.list[row], x.invert(px), py - tops[row] - named));
  });
  svg.on("wheel", function() {  // without a key the wheel moves the page
    if (!d3.event.ctrlKey) return;
    d3.event.preventDefault();
    view.zoom(d3.event.deltaY > 0 ? 1.25 : 0.8, Math.max(0, (d3.mouse(this)[0] - left) / (right - left)));
  });
  update();
  return {height: bottom + 4, update};
}

// What keys do, by their names.
function timelineKeys(rows, view, state, say) {
  const bars = () => rows.list[state.row].lane ? rows.list[state.row].lane.bars : [];
  const choose = (row, bar) => {
    state.row = Math.max(0, Math.min(rows.list.length - 1, row));
    state.bar = Math.max(-1, Math.min(bars().length - 1, bar));
    say(state.row, state.bar);
    const shown = bars()[state.bar];
    if (shown) view.bring(shown[0] / 1e6, (shown[0] + shown[1]) / 1e6);
    view.changed();
  };
  return {
    "+": () => view.zoom(0.5),
    "=": () => view.zoom(0.5),
    "-": () => view.zoom(2),
    "0": () => view.all(),
    ArrowLeft: () => view.move(-0.2),
    ArrowRight: () => view.move(0.2),
    Home: () => view.toStart(),
    End: () => view.toEnd(),
    ArrowUp: () => choose(state.row - 1, -1),
    ArrowDown: () => choose(state.row + 1, -1),
    n: () => choose(state.row, state.bar + 1),
    p: () => choose(state.row, Math.max(0, state.bar - 1)),
  };
}

function timelineSection(plan, machines) {
  const data = plan.timeline, rows = new TimelineRows(data, machines);
  if (!rows.list.length) return fill("timeline", h("p", {}, "The plan does nothing."));
  const state = {row: 0, bar: -1, focused: false};
  let drawing;
  const range = h("span", {});
  const view = new TimelineView(() => {
    range.textContent = "Shown: " + view.range.map(t => seconds(t * data.end_s)).join(" to ");
    if (drawing) drawing.update();
  });
  const readout =
      h("p", {class: "readout", "aria-live": "polite"},
        "Focus the timeline and use the keys, or point at a row.");
  const say = (r, bar) => {
    const row = rows.list[r];
    readout.textContent =
        row.name + ": " + (bar >= 0 ? rows.barWords(row.lane.bars[bar]) : rows.rowWords(row));
  };
  const figure = chart("Timeline", `${rows.list.length} rows over ${seconds(data.end_s)}.`, (svg, width) => {
    drawing = drawTimeline(svg, width, rows, view, state, say);
    return drawing.height;
  });
  const svg = figure.querySelector("svg");
  svg.setAttribute("tabindex", "0");
  svg.setAttribute("role", "application");
  const focused = on => {
    state.focused = on;
    if (on) say(state.row, state.bar);
    view.changed();
  };
  svg.addEventListener("focus", () => focused(true));
  svg.addEventListener("blur", () => focused(false));
  const keys = timelineKeys(rows, view, state, say);
  svg.addEventListener("keydown", event => {
    if (event.ctrlKey || event.altKey || event.metaKey || !(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });
  view.all();
  const button = (text, name, act) => h("button", {type: "button", "aria-label": name, onclick: act}, text);
  const about = data.groups.length ?
      "Rows of groups show which share of the ranks is busy; below them, all lanes of the ranks that tell " +
          "most: the last to end, one at the busiest link, the fullest, and the first of either side." :
      "A row for every lane of every rank. Ops that run at the same time lie one under the other.";
  fill(
      "timeline", h("p", {}, about), key(rows.activities().map(name => [name, activityFill[name]])),
      h("div", {class: "controls"}, button("+", "Zoom in", () => view.zoom(0.5)),
        button("−", "Zoom out", () => view.zoom(2)), button("←", "Earlier", () => view.move(-0.5)),
        button("→", "Later", () => view.move(0.5)), button("All", "Show the whole time", () => view.all()),
        range),
      h("p", {class: "hint"},
        "Keys: + and - zoom, left and right move, 0 shows all, up and down choose a row, ",
        "n and p go through its ops. Mouse: drag, or Ctrl and the wheel."),
      figure, readout, behind("As a table", () => rows.tables()));
}
