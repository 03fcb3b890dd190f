// Charts of D3, drawn anew when their width changes. Colours are variables of the style sheet, so
// that dark and light need no second drawing; what a colour says, a text says too.

const figuresNear = new IntersectionObserver(entries => {
  for (const entry of entries)
    if (entry.isIntersecting) entry.target.come();
}, {rootMargin: "1500px"});
window.addEventListener(
    "beforeprint", () => document.querySelectorAll("figure").forEach(figure => figure.come()));

// A figure whose drawing is `draw(svg, width)`, which returns the height.
function chart(title, description, draw, ...more) {
  const svg = d3.create("svg").attr("role", "img").attr("aria-label", `${title}. ${description}`);
  const figure =
      h("figure", {}, h("figcaption", {}, h("b", {}, title), description ? ` ${description}` : ""),
        svg.node(), ...more);
  let last = 0, near = false;
  const again = () => {
    const width = Math.max(280, Math.floor(figure.clientWidth));
    if (!near || width === last || figure.clientWidth === 0) return;
    last = width;
    svg.selectAll("*").remove();
    const height = draw(svg, width);
    svg.attr("viewBox", `0 0 ${width} ${height}`).attr("width", width).attr("height", height);
  };
  // What is far below is drawn when it comes near, so that the page opens at once.
  figure.come = () => {
    near = true;
    again();
  };
  figuresNear.observe(figure);
  new ResizeObserver(again).observe(figure);
  return figure;
}

function axis(svg, make, x, y) {
  const g = svg.append("g").attr("class", "axis").attr("transform", `translate(${x},${y})`).call(make);
  g.attr("font-family", null).attr("font-size", null);
  return g;
}

const timeAxis = (scale, width) =>
    d3.axisBottom(scale).ticks(Math.max(2, width / 110)).tickFormat(shortSeconds);

// For axes, where "400.00 ms" would be too exact.
function shortSeconds(value) {
  const short = text => text.replace(/\.?0+ /, " ");
  return value === 0 ? "0" : short(seconds(value));
}
const shortBytes = value => value === 0 ? "0" : bytes(value).replace(/\.?0+ /, " ");

// Horizontal bars: [{name, value, text, colour}].
function bars(title, description, rows, ...more) {
  return chart(title, description, (svg, width) => {
    const step = 24, narrow = width < 500;
    const left = narrow ? 0 : 8 + Math.min(200, 7.2 * d3.max(rows, r => r.name.length));
    const line = narrow ? 40 : step, shift = narrow ? 15 : 0;
    const x = d3.scaleLinear().domain([0, d3.max(rows, r => r.value) || 1]).range([left, width - 95]);
    rows.forEach((row, i) => {
      const y = i * line;
      svg.append("text")
          .attr("x", narrow ? 0 : left - 6)
          .attr("y", y + 15 - (narrow ? 3 : 0))
          .attr("text-anchor", narrow ? "start" : "end")
          .text(row.name);
      svg.append("rect")
          .attr("x", left)
          .attr("y", y + 3 + shift)
          .attr("height", step - 7)
          .attr("width", Math.max(1, x(row.value) - left))
          .style("fill", row.colour);
      svg.append("text").attr("x", x(row.value) + 5).attr("y", y + 16 + shift).text(row.text);
    });
    return rows.length * line + 4;
  }, ...more);
}

// Columns over bins: `edges` are one more than `values`.
function histogram(title, description, edges, values, format, colour, what) {
  const rows = values.map((v, i) => [`${format(edges[i])} to ${format(edges[i + 1])}`, count(v)])
                   .filter((r, i) => values[i] > 0);
  return chart(title, description, (svg, width) => {
    const height = 170, left = 44, bottom = height - 24;
    const x = d3.scaleLinear().domain([edges[0], edges[edges.length - 1]]).range([left, width - 24]);
    const y = d3.scaleLinear().domain([0, d3.max(values) || 1]).nice().range([bottom, 8]);
    axis(svg, d3.axisLeft(y).ticks(4), left, 0);
    axis(svg, d3.axisBottom(x).ticks(Math.max(2, width / 130)).tickFormat(format), 0, bottom);
    values.forEach((v, i) => {
      if (v === 0) return;
      svg.append("rect")
          .attr("x", x(edges[i]) + 1)
          .attr("width", Math.max(1, x(edges[i + 1]) - x(edges[i]) - 2))
          .attr("y", Math.min(y(v), bottom - 2))
          .attr("height", Math.max(2, bottom - y(v)))
          .style("fill", colour)
          .append("title")
          .text(`${rows.length ? format(edges[i]) : ""} to ${format(edges[i + 1])}: ${count(v)} ${what}`);
    });
    return height;
  }, behind("As a table", () => table(title, [{name: "from, to"}, {name: what, number: true}], rows)));
}

// Equal bins from 0 to the largest value.
function binned(values, bins) {
  const most = d3.max(values) || 1;
  const edges = d3.range(bins + 1).map(i => most * i / bins);
  const counts = new Array(bins).fill(0);
  for (const v of values) ++counts[Math.min(bins - 1, Math.floor(bins * v / most))];
  return [edges, counts];
}

// A list of what colours and patterns mean.
function key(entries) {
  return h("ul", {class: "key"}, entries.map(([name, fillWith]) => {
    const svg = d3.create("svg").attr("viewBox", "0 0 10 10").attr("aria-hidden", "true");
    svg.append("rect").attr("width", 10).attr("height", 10).style("fill", fillWith);
    return h("li", {}, svg.node(), name);
  }));
}

// Hatched fills for what must be told apart without colour; drawn once, used by all charts.
function addPatterns() {
  const svg = d3.select(document.body)
                  .append("svg")
                  .attr("width", 0)
                  .attr("height", 0)
                  .attr("aria-hidden", "true")
                  .style("position", "absolute");
  const pattern = (id, colour, path) => {
    const p = svg.append("pattern")
                  .attr("id", id)
                  .attr("width", 6)
                  .attr("height", 6)
                  .attr("patternUnits", "userSpaceOnUse");
    p.append("rect").attr("width", 6).attr("height", 6).style("fill", colour).style("opacity", 0.45);
    p.append("path").attr("d", path).style("stroke", colour).style("stroke-width", 2).style("fill", "none");
  };
  pattern("receive", "var(--receive)", "M-1,1L1,-1M0,6L6,0M5,7L7,5");
  pattern("collective", "var(--collective)", "M0,3H6M3,0V6");
  pattern("barrier", "var(--barrier)", "M3,0V6");
}
const activityFill = {
  work: "var(--work)",
  send: "var(--send)",
  receive: "url(#receive)",
  collective: "url(#collective)",
  barrier: "url(#barrier)"
};
