// Each field by itself, all points at once, and the points as a table.

function spreadFigure(field, data) {
  const rows = data.rows.filter(row => data.fits[row]);
  const groups =
      field.order
          .map(word => ({
                 word,
                 values: rows.filter(row => field.of[row] === word).map(row => data.prediction_s[row])
               }))
          .filter(g => g.values.length);
  const title = `Prediction by ${field.name}`;
  const measure = measures[0];
  return chart(
      title, "",
      (svg, width) => {
        const left = 74, right = width - 8, top = 22, bottom = 190;
        const across = fieldAxis(field, left, right);
        const up = measureScale(groups.flatMap(g => d3.extent(g.values)), [bottom, top]);
        measureAxis(svg, measure, up, left, right);
        across.draw(svg, bottom);
        for (const g of groups) {
          const x = across.at(g.word), y = value => up.scale(value);
          const [least, most] = d3.extent(g.values), middle = d3.median(g.values);
          svg.append("path")
              .attr("d", `M${x},${y(least)}V${y(most)}M${x - 3},${y(most)}h6`)
              .style("stroke", "var(--soft)");
          svg.append("path")
              .attr("d", `M${x - 9},${y(middle)}h18`)
              .style("stroke", "var(--ink)")
              .style("stroke-width", 2);
          svg.append("circle")
              .attr("cx", x)
              .attr("cy", y(least))
              .attr("r", 4.5)
              .style("fill", "var(--prediction)");
        }
        return bottom + across.height;
      },
      behind(
          "As a table",
          () => table(
              title,
              [
                {name: field.name, number: field.numeric}, {name: "points that fit", number: true},
                {name: "fastest", number: true}, {name: "median", number: true},
                {name: "slowest", number: true}
              ],
              groups.map(
                  g =>
                      [field.words[g.word], count(g.values.length),
                       ...[d3.min, d3.median, d3.max].map(f => seconds(f(g.values)))]))));
}

function fieldSection(data) {
  if (!data.axes.length || !data.rows.some(row => data.fits[row]))
    return fill(
        "fields", h("p", {}, "There is nothing to compare: no field has two values with points that fit."));
  fill(
      "fields",
      h("p", {},
        "Of all points that fit, whatever the other fields are: the fastest (dot), the median (bar) and the slowest (end of the line)."),
      h("div", {class: "pair"}, data.axes.map(field => spreadFigure(field, data))));
}

function cloudFigure(measure, data) {
  const title = `Prediction against ${measure.name}`;
  const ofBound = measure.key === "bound_s";
  const x = row => data[measure.key][row], y = row => data.prediction_s[row];
  return chart(
      title,
      `${count(data.rows.length)} points; a cross does not fit.${
          ofBound ? " On the line a plan would be as fast as its bound." : ""}`,
      (svg, width) => {
        const left = 74, right = width - 20, top = 22, bottom = 322;
        const across = measureScale(data.rows.map(x), [left + 8, right]);
        const up = measureScale(data.rows.map(y), [bottom - 6, top]);
        measureAxis(svg, measures[0], up, left, right);
        axis(
            svg, measureTicks(d3.axisBottom(across.scale), measure, across.log, Math.max(2, width / 130)), 0,
            bottom);
        svg.append("text")
            .attr("x", (left + right) / 2)
            .attr("y", bottom + 36)
            .attr("text-anchor", "middle")
            .text(measure.name + (across.log ? ", log scale" : ""));
        if (ofBound) {
          const shared = [
            Math.max(across.scale.domain()[0], up.scale.domain()[0]),
            Math.min(across.scale.domain()[1], up.scale.domain()[1])
          ];
          if (shared[0] < shared[1])
            svg.append("path")
                .attr("d", d3.line()(d3.range(33).map(i => {
                  const v = shared[0] > 0 ? shared[0] * Math.pow(shared[1] / shared[0], i / 32) :
                                            shared[1] * i / 32;
                  return [across.scale(v), up.scale(v)];
                })))
                .style("fill", "none")
                .style("stroke", "var(--bound)")
                .style("stroke-dasharray", "5 4");
        }
        // One path for all of a kind: tens of thousands are drawn at once.
        const paths = {true: "", false: ""};
        for (const row of data.rows) {
          const px = across.scale(x(row)).toFixed(1), py = up.scale(y(row)).toFixed(1);
          paths[data.fits[row]] += data.fits[row] ? `M${px},${py}h0` : `M${px - 3},${py - 3}l6,6m0,-6l-6,6`;
        }
        svg.append("path").attr("d", paths.false).style("stroke", "var(--k1)").style("opacity", 0.5);
        svg.append("path")
            .attr("d", paths.true)
            .style("stroke", "var(--prediction)")
            .style("stroke-width", 5)
            .style("stroke-linecap", "round")
            .style("opacity", 0.55);
        return bottom + 44;
      });
}

function cloud(data) {
  const against = measures.slice(1), place = h("div", {});
  const draw = i => place.replaceChildren(cloudFigure(against[i], data));
  draw(0);
  return [
    h("div", {class: "controls"},
      chooser("Prediction against", against.map((m, i) => [i, m.name]), 0, i => draw(+i))),
    place
  ];
}

// The points, drawn and as a table: sorted by whatever heading is pressed; some rows at a time.
function pointSection(data) {
  if (!data.rows.length) return fill("points", h("p", {}, "No point has a prediction."));
  const number = (name, key, text) =>
      ({name, value: row => data[key][row], text: row => text(data[key][row]), number: true});
  const word = (name, key) => ({name, value: row => data[key].words[data[key].of[row]]});
  const columns = [
    {name: "point", value: row => data.point[row], number: true},
    ...data.fields.map(f => ({
                         name: f.heading,
                         number: f.numeric,
                         value: row => f.numeric ? f.numbers[f.of[row]] : f.words[f.of[row]],
                         text: row => f.words[f.of[row]]
                       })),
    number("bound", "bound_s", seconds), number("prediction", "prediction_s", seconds), {
      name: "80 % band",
      number: true,
      value: row => data.high_s[row],
      text: row => data.low_s[row] === null || data.high_s[row] === null ?
          "" :
          `${seconds(data.low_s[row])} to ${seconds(data.high_s[row])}`
    },
    number("network", "network_bytes", bytes), number("copies", "copies", v => v.toFixed(2) + " x"),
    word("busiest link", "busiest_link"), number("used", "busiest_used", percent),
    word("most time on", "waits_for"), number("memory", "memory_peak_bytes", bytes), {
      name: "fits",
      class: "long",
      value: row => data.fits[row] ? "yes" : "no: " + data.over.words[data.over.of[row]]
    }
  ];
  const state = {by: columns.findIndex(c => c.name === "prediction"), descending: false, shown: 50};
  const place = h("div", {});
  const draw = focus => {
    const by = columns[state.by], sign = state.descending ? -1 : 1;
    const rows = data.rows.slice().sort(
        (a, b) => (state.by > 0 ? data.fits[b] - data.fits[a] : 0) ||
            sign * d3.ascending(by.value(a), by.value(b)) || a - b);
    const press = i => {
      state.descending = state.by === i && !state.descending;
      state.by = i;
      draw(`thead th:nth-child(${i + 1}) button`);
    };
    const heads = columns.map((c, i) => ({
                                ...c,
                                name:
                                    h("button", {type: "button", class: "sort", onclick: () => press(i)},
                                      c.name, i === state.by ? (state.descending ? " ▼" : " ▲") : "")
                              }));
    const shown = table(
        "Those that fit first; a heading sorts", heads,
        rows.slice(0, state.shown).map(row => columns.map(c => String((c.text || c.value)(row)))));
    shown.querySelectorAll("thead th")[state.by].setAttribute(
        "aria-sort", state.descending ? "descending" : "ascending");
    const left = rows.length - state.shown;
    const more = left > 0 ? h("button", {
      type: "button",
      class: "more",
      onclick: () => {
        state.shown += 500;
        draw(".more, .scroll");
      }
    },
                              `Show ${count(Math.min(left, 500))} more of ${count(left)}`) :
                            "";
    place.replaceChildren(shown, more);
    if (focus) place.querySelector(focus).focus();
  };
  fill(
      "points", cloud(data), place,
      h("p", {class: "hint"}, "refit sweep SWEEP --show POINT prints a point's scenario."));
  draw();
}

function reasonSection(data) {
  fill(
      "reasons",
      data.reasons.length ?
          table(
              "Why, most frequent first",
              [{name: "points", number: true}, {name: "outcome"}, {name: "reason", class: "long"}],
              data.reasons.map(r => [count(r.points), r.outcome, r.reason])) :
          h("p", {}, "There are none: every point has a prediction."));
}
