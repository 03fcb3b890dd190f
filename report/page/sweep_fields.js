// The fields that vary, as axes: numbers with one unit where they are some, else names in a row.

const prefixes = {
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12
};

// "400 Gbit/s" as {number, prefix, unit}; nothing if it is no number.
function quantity(text) {
  const match = /^(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?) *(?:([kMGT]?)(bit\/s|B\/s|B)|([A-Za-z%/]*))$/.exec(text);
  return match ? {number: +match[1], prefix: match[2] || "", unit: match[3] || match[4] || ""} : undefined;
}

function readField({name, words, of}) {
  const parsed = words.map(quantity);
  const first = parsed[0];
  const numeric = parsed.every(q => q && q.unit === first.unit);
  const numbers = numeric ? parsed.map(q => q.number * prefixes[q.prefix] / prefixes[first.prefix]) : [];
  const order = d3.range(words.length);
  if (numeric) order.sort((a, b) => numbers[a] - numbers[b]);
  return {name, words, of, numeric, numbers, order, unit: numeric ? first.prefix + first.unit : ""};
}

// Multiplied from one to the next, or far apart.
function asksForLog(numbers) {
  const sorted = numbers.filter(n => n !== undefined).sort(d3.ascending);
  if (!(sorted[0] > 0)) return false;
  if (sorted[sorted.length - 1] / sorted[0] >= 20) return true;
  const ratios = d3.range(1, sorted.length).map(i => sorted[i] / sorted[i - 1]);
  return ratios.length > 1 && d3.max(ratios) / d3.min(ratios) < 1.01 && ratios[0] > 1.2;
}

// Where each value of a field stands: {at(word), draw(svg, y), height}.
function fieldAxis(field, left, right) {
  const log = field.numeric && asksForLog(field.numbers);
  const scale = field.numeric ? (log ? d3.scaleLog() : d3.scaleLinear()).domain(d3.extent(field.numbers)) :
                                d3.scalePoint().domain(field.order).padding(0.5);
  scale.range(field.numeric ? [left + 14, right - 14] : [left, right]);
  const at = word => scale(field.numeric ? field.numbers[word] : word);
  const label = word => {
    const text = field.numeric ? String(+field.numbers[word].toPrecision(6)) : field.words[word];
    return text.length > 22 ? text.slice(0, 21) + "…" : text;
  };
  const longest = d3.max(field.order, word => label(word).length) * 7;
  const slanted = !field.numeric && longest + 6 > scale.step();
  const height = slanted ? 40 + 0.5 * longest : 42;
  const draw = (svg, y) => {
    let end = -Infinity;
    const shown = field.order.filter(word => {
      const half = slanted ? 7 : label(word).length * 3.5 + 3;
      if (at(word) - half < end) return false;
      end = at(word) + half;
      return true;
    });
    const key = word => field.numeric ? field.numbers[word] : word;
    const names = new Map(shown.map(word => [key(word), label(word)]));
    const g = axis(svg, d3.axisBottom(scale).tickValues(shown.map(key)).tickFormat(v => names.get(v)), 0, y);
    if (slanted)
      g.selectAll("text").attr("text-anchor", "end").attr("transform", "translate(-6,2) rotate(-30)");
    svg.append("text")
        .attr("x", (left + right) / 2)
        .attr("y", y + height - 6)
        .attr("text-anchor", "middle")
        .text(field.name + (field.unit ? ` (${field.unit})` : "") + (log ? ", log scale" : ""));
  };
  return {at, draw, height};
}

// What is predicted of a point.
const measures = [
  {key: "prediction_s", name: "prediction", exact: seconds, short: shortSeconds},
  {key: "bound_s", name: "bound", exact: seconds, short: shortSeconds},
  {key: "network_bytes", name: "bytes over the network", exact: bytes, short: shortBytes},
  {key: "memory_peak_bytes", name: "memory of the fullest GPU", exact: bytes, short: shortBytes},
  {key: "copies", name: "copies of the model sent", exact: v => v.toFixed(2) + " x", short: v => v + " x"}
];

// Of a measure: from zero, or with logarithms where values are far apart.
function measureScale(values, range) {
  const [least, most] = d3.extent(values);
  const log = least > 0 && most / least >= 10;
  const scale =
      log ? d3.scaleLog().domain([least / 1.2, most * 1.2]) : d3.scaleLinear().domain([0, most || 1]).nice(5);
  return {scale: scale.range(range), log};
}

// On a logarithmic axis only as many ticks are labelled as there is room for.
const measureTicks = (axis, measure, log, many) =>
    log ? axis.ticks(many, measure.short) : axis.ticks(many).tickFormat(measure.short);

// Left of the drawing, its name above it.
function measureAxis(svg, measure, {scale, log}, left, right) {
  const g = axis(svg, measureTicks(d3.axisLeft(scale), measure, log, 5), left, 0);
  g.selectAll(".tick")
      .filter(function() { return this.querySelector("text").textContent !== ""; })
      .append("line")
      .attr("x2", right - left);
  svg.append("text").attr("x", 0).attr("y", 12).text(measure.name + (log ? ", log scale" : ""));
}
