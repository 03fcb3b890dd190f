// Any measure over any field, a line for each value of another: the fastest point of those that
// the other choices leave.

const fullName = (field, word) => `${field.name} ${field.words[word]}`;
const lineColour = i => `var(--k${i % 7})`;
const lineShape = i => d3.symbol().type(d3.symbols[(i + Math.floor(i / 7)) % 7]);

// [{x: word, row}] of one line, in the order of the axis.
function fastestAlong(field, rows, data) {
  const best = new Map();
  const better = (a, b) =>
      data.fits[a] !== data.fits[b] ? data.fits[a] : data.prediction_s[a] < data.prediction_s[b];
  for (const row of rows) {
    const word = field.of[row], known = best.get(word);
    if (known === undefined || better(row, known)) best.set(word, row);
  }
  return field.order.filter(word => best.has(word)).map(word => ({x: word, row: best.get(word)}));
}

function pointWords(row, data) {
  const where = data.axes.map(f => fullName(f, f.of[row])).join(", ");
  const low = data.low_s[row], high = data.high_s[row];
  const band = low === null || high === null ? "" : `, 80 % band ${seconds(low)} to ${seconds(high)}`;
  const over = data.fits[row] ? "" : ` Does not fit: ${data.over.words[data.over.of[row]]}.`;
  return `Point ${data.point[row]}: ${where}: predicted ${seconds(data.prediction_s[row])}${band}; bound ${
      seconds(data.bound_s[row])}; ${bytes(data.network_bytes[row])} over the network; ${
      bytes(data.memory_peak_bytes[row])} on the fullest GPU.${over}`;
}

function lineKey(field, words) {
  return h("ul", {class: "key"}, words.map((word, i) => {
    const svg = d3.create("svg").attr("viewBox", "-6 -6 12 12").attr("aria-hidden", "true");
    svg.append("path").attr("d", lineShape(i).size(50)()).style("fill", lineColour(i));
    return h("li", {}, svg.node(), fullName(field, word));
  }));
}

function linesTable(title, x, by, lines, measure, data) {
  return behind(
      "As a table",
      () => table(
          title,
          [
            {name: x.name, number: x.numeric}, ...(by ? [{name: by.name}] : []),
            {name: measure.name, number: true}, {name: "prediction", number: true},
            {name: "point", number: true}, {name: "fits", class: "long"}
          ],
          lines.flatMap(
              line => line.points.map(
                  ({x: word, row}) =>
                      [x.words[word], ...(by ? [by.words[line.word]] : []),
                       measure.exact(data[measure.key][row]), seconds(data.prediction_s[row]),
                       data.point[row],
                       data.fits[row] ? "yes" : "no: " + data.over.words[data.over.of[row]]]))));
}

function linesFigure(choice, data) {
  const {x, by, measure} = choice;
  const rows = data.rows.filter(
      row => [...choice.picks].every(([f, word]) => f === x || f === by || f.of[row] === word));
  const words = by ? by.order.filter(word => rows.some(row => by.of[row] === word)) : [0];
  const lines = words.map(
      word => ({word, points: fastestAlong(x, by ? rows.filter(row => by.of[row] === word) : rows, data)}));
  const value = row => data[measure.key][row];
  const banded = measure.key === "prediction_s";
  const all = lines.flatMap((line, i) => line.points.map(p => ({...p, line: i})));
  const readout =
      h("p", {class: "readout", "aria-live": "polite"},
        "Focus the plot and use the arrow keys, or point at a mark.");
  const title = `${measure.name} by ${x.name}`;
  if (!all.length) return h("p", {}, "No point has these values together.");
  let cursor = 0, place;
  const show = () => {
    readout.textContent = pointWords(all[cursor].row, data);
    if (place) place();
  };
  const hollow =
      all.some(p => !data.fits[p.row]) ? " Hollow: needs more memory or more of a limit than there is." : "";
  const bands = banded && all.some(p => data.low_s[p.row] !== null) ? " Upright lines: 80 % bands." : "";
  const description = `The fastest of the points that are left for each mark.${bands}${hollow}`;
  const figure = chart(title, description, (svg, width) => {
    const left = 74, right = width - 8, top = 22, bottom = 322;
    const across = fieldAxis(x, left, right);
    const ends =
        banded ? all.flatMap(p => [data.low_s[p.row], data.high_s[p.row]]).filter(v => v !== null) : [];
    const up = measureScale(all.map(p => value(p.row)).concat(ends), [bottom, top]);
    measureAxis(svg, measure, up, left, right);
    across.draw(svg, bottom);
    const px = p => across.at(p.x) + 4 * (p.line - (lines.length - 1) / 2) * Math.min(1, 7 / lines.length);
    const py = p => up.scale(value(p.row));
    lines.forEach((line, i) => {
      const points = all.filter(p => p.line === i);
      if (x.numeric)
        svg.append("path")
            .attr("d", d3.line().x(px).y(py)(points.filter(p => data.fits[p.row])))
            .style("fill", "none")
            .style("stroke", lineColour(i))
            .style("stroke-width", 2);
      for (const p of points) {
        const low = data.low_s[p.row], high = data.high_s[p.row];
        if (banded && low !== null && high !== null)
          svg.append("path")
              .attr("d", `M${px(p)},${up.scale(low)}V${up.scale(high)}`)
              .style("stroke", lineColour(i))
              .style("opacity", 0.6);
        svg.append("path")
            .attr("class", "mark")
            .attr("d", lineShape(i).size(64)())
            .attr("transform", `translate(${px(p)},${py(p)})`)
            .style("fill", data.fits[p.row] ? lineColour(i) : "var(--paper)")
            .style("stroke", lineColour(i))
            .style("stroke-width", 1.5);
      }
    });
    const ring = svg.append("circle")
                     .attr("r", 10)
                     .style("fill", "none")
                     .style("stroke", "var(--ink)")
                     .style("stroke-width", 2)
                     .style("display", "none");
    place = () => ring.attr("cx", px(all[cursor])).attr("cy", py(all[cursor])).style("display", null);
    svg.on("mousemove", function() {
      const [mx, my] = d3.mouse(this);
      const away = all.map(p => Math.hypot(px(p) - mx, py(p) - my));
      const near = d3.scan(away);
      if (away[near] < 30 && near !== cursor) {
        cursor = near;
        show();
      }
    });
    return bottom + across.height;
  }, by ? lineKey(by, words) : "", readout, linesTable(title, x, by, lines, measure, data));
  const svg = figure.querySelector("svg");
  svg.setAttribute("tabindex", "0");
  svg.setAttribute("role", "application");
  svg.addEventListener("focus", show);
  svg.addEventListener("keydown", event => {
    const {x: word, line} = all[cursor];
    const turn = {ArrowDown: 1, ArrowUp: -1}[event.key];
    const step = {ArrowRight: 1, ArrowLeft: -1, Home: -all.length, End: all.length}[event.key];
    if (!turn && !step) return;
    event.preventDefault();
    if (step) {
      cursor = Math.max(0, Math.min(all.length - 1, cursor + step));
    } else {
      const same = all.findIndex(p => p.line === line + turn && p.x === word);
      if (same >= 0) cursor = same;
    }
    show();
  });
  return figure;
}

function plotSection(data) {
  const fields = data.axes;
  if (!fields.length || !data.rows.length)
    return fill(
        "plot", h("p", {}, data.rows.length ? "No field has two values." : "No point has a prediction."));
  const numeric = fields.filter(f => f.numeric);
  const x = (numeric.length ? numeric : fields).reduce((a, b) => b.words.length > a.words.length ? b : a);
  const few = fields.filter(f => f !== x && f.words.length <= 14);
  const choice = {x, by: few[few.length - 1], measure: measures[0], picks: new Map()};
  const place = h("div", {});
  const picks =
      fields.map((field, i) => ({
                   field,
                   label: chooser(
                       field.name, [[-1, "the fastest"], ...field.order.map(w => [w, field.words[w]])], -1,
                       word => {
                         choice.picks.delete(field);
                         if (+word >= 0) choice.picks.set(field, +word);
                         draw();
                       })
                 }));
  const draw = () => {
    for (const {field, label} of picks) label.hidden = field === choice.x || field === choice.by;
    place.replaceChildren(linesFigure(choice, data));
  };
  const names = fields.map((f, i) => [i, f.name]);
  fill(
      "plot",
      h("div", {class: "controls"},
        chooser(
            "Show", measures.map((m, i) => [i, m.name]), 0,
            i => {
              choice.measure = measures[+i];
              draw();
            }),
        chooser(
            "across", names, fields.indexOf(x),
            i => {
              choice.x = fields[+i];
              draw();
            }),
        chooser(
            "a line for each", [[-1, "nothing"], ...names], choice.by ? fields.indexOf(choice.by) : -1,
            i => {
              choice.by = fields[+i];
              draw();
            })),
      h("fieldset", {class: "controls"}, h("legend", {}, "Of the others take"), picks.map(p => p.label)),
      place);
  draw();
}
