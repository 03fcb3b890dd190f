// The strategies side by side, and where the time of one of them goes.

const strategyColumns = [
  {name: "strategy"}, {name: "payload", number: true}, {name: "logical", number: true},
  {name: "network", number: true}, {name: "copies", number: true}, {name: "NVLink", number: true},
  {name: "bound", number: true, class: "bound"}, {name: "prediction", number: true, class: "prediction"},
  {name: "band (80 %)", number: true}, {name: "/ bound", number: true}, {name: "busiest link"},
  {name: "used", number: true}
];

function strategySection(data, at) {
  const report = data.prediction, rows = report.strategies;
  const band = r => r.low_s !== undefined ? `${seconds(r.low_s)} to ${seconds(r.high_s)}` : "-";
  const facts =
      [["Model", report.model], ["Cluster", report.cluster], ["Network model", report.network_model]];
  if (rows.length) facts.splice(2, 0, ["Unique", `${bytes(rows[0].unique_bytes)} (one copy of the weights)`]);
  for (const text of report.assumptions) facts.push(["Assumes", text]);
  for (const c of report.conversions || [])
    facts.push(["Converts", `${c.side}: ${c.words}, ${count(c.tensors)} tensors`]);
  if (report.fault) facts.push(["With a fault", report.fault]);
  if (report.chosen) facts.push(["auto takes", `${report.chosen.strategy}: ${report.chosen.reason}`]);
  fill(
      "strategies", h("dl", {}, facts.map(([name, text]) => [h("dt", {}, name), h("dd", {}, text)])),
      table(
          "A row per strategy, as refit simulate prints it. bound: proven; prediction: simulated.",
          strategyColumns,
          rows.map(
              r =>
                  [r.strategy, bytes(r.payload_bytes), bytes(r.logical_bytes), bytes(r.network_bytes),
                   r.network_copies.toFixed(2) + " x", bytes(r.nvlink_bytes), seconds(r.bound_s),
                   seconds(r.predicted_s), band(r), times(r.predicted_s, r.bound_s), r.busiest.name,
                   percent(r.busiest.utilisation)]),
          at),
      chart(
          "Prediction beside bound",
          "A bar is the prediction, a whisker its 80 % band, the dashed line the bound.",
          (svg, width) => {
            const left = width < 500 ? 110 : 150, step = 28, bottom = rows.length * step + 6;
            const x = d3.scaleLinear().domain([0, d3.max(rows, r => r.high_s || r.predicted_s) || 1]).range([
              left, width - 90
            ]);
            axis(svg, timeAxis(x, width), 0, bottom);
            rows.forEach((r, i) => {
              const y = i * step + 4;
              svg.append("text")
                  .attr("x", left - 6)
                  .attr("y", y + 15)
                  .attr("text-anchor", "end")
                  .style("font-weight", i === at ? 700 : null)
                  .text(r.strategy);
              svg.append("rect")
                  .attr("x", left)
                  .attr("y", y)
                  .attr("height", step - 8)
                  .attr("width", Math.max(1, x(r.predicted_s) - left))
                  .style("fill", "var(--prediction)")
                  .style("opacity", 0.8);
              if (r.low_s !== undefined) {
                const m = y + (step - 8) / 2;
                svg.append("path")
                    .attr(
                        "d",
                        `M${x(r.low_s)},${m}H${x(r.high_s)}M${x(r.low_s)},${m - 5}V${m + 5}M${x(r.high_s)},${
                            m - 5}V${m + 5}`)
                    .style("stroke", "var(--band)")
                    .style("stroke-width", 1.5);
              }
              svg.append("path")
                  .attr("d", `M${x(r.bound_s)},${y - 3}V${y + step - 5}`)
                  .style("stroke", "var(--bound)")
                  .style("stroke-width", 3)
                  .style("stroke-dasharray", "4 2");
              svg.append("text")
                  .attr("x", x(r.high_s || r.predicted_s) + 6)
                  .attr("y", y + 15)
                  .text(seconds(r.predicted_s));
            });
            return bottom + 26;
          }),
      h("p", {},
        `The bound of ${seconds(rows[at].bound_s)}${
            rows[at].bound_by ? ` is set by ${rows[at].bound_by}` : ""}` +
            (rows[at].no_relay_bound_s > 1.001 * rows[at].bound_s ?
                 `; without relays, if only owners send, it is ${seconds(rows[at].no_relay_bound_s)}.` :
                 ".")),
      table(
          "How near each plan comes to its bound if only the wire counts",
          [
            {name: "strategy"}, {name: "wire-only", number: true}, {name: "/ bound", number: true},
            {name: "chunk", number: true}, {name: "relays deep", number: true}, {name: "ops", number: true},
            {name: "plan hash"}
          ],
          rows.map(
              r =>
                  [r.strategy, seconds(r.certificate.wire_s),
                   r.certificate.ratio === null ? "latency dominates" : r.certificate.ratio.toFixed(3) + " x",
                   bytes(r.certificate.chunk_bytes), count(r.certificate.relay_depth), count(r.ops),
                   h("code", {}, r.certificate.plan)]),
          at));
}

function timeSection(data, at) {
  const row = data.prediction.strategies[at];
  const constants = Object.entries(row.seconds_by_constant || {}).sort((a, b) => b[1] - a[1]);
  const total = d3.sum(constants, c => c[1]);
  const meaning = new Map(data.provenance.map(p => [p.name, p.meaning]));
  fill(
      "time",
      h("p", {},
        `${row.strategy}: bound ${seconds(row.bound_s)}, wire-only ${
            seconds(row.certificate.wire_s)}, prediction ${seconds(row.predicted_s)}.`,
        row.first_refit && row.first_refit.more_s > 0 ?
            ` The first refit takes ${seconds(row.first_refit.more_s)} more, once.` :
            ""),
      bars(
          "From bound to prediction",
          "The bound knows the links only, wire-only the plan's order, the prediction all costs.",
          [
            {name: "bound (proven)", value: row.bound_s, text: seconds(row.bound_s), colour: "var(--bound)"},
            {
              name: "wire-only (simulated)",
              value: row.certificate.wire_s,
              text: seconds(row.certificate.wire_s),
              colour: "var(--k5)"
            },
            {
              name: "prediction (simulated)",
              value: row.predicted_s,
              text: seconds(row.predicted_s),
              colour: "var(--prediction)"
            }
          ],
          behind(
              "As a table",
              () => table(
                  "From bound to prediction", [{name: "what"}, {name: "seconds", number: true}],
                  [
                    ["bound, proven", seconds(row.bound_s)],
                    ["wire-only, simulated", seconds(row.certificate.wire_s)],
                    ["prediction, simulated", seconds(row.predicted_s)]
                  ]))),
      constants.length ?
          bars(
              "Seconds by constant of the network model",
              "Along the chain of ops that ends last: each second is on one account.",
              constants.map(([name, s]) => ({name, value: s, text: seconds(s), colour: "var(--prediction)"})),
              behind(
                  "As a table",
                  () => table(
                      "Seconds by constant",
                      [
                        {name: "constant"}, {name: "seconds", number: true}, {name: "share", number: true},
                        {name: "what it is", class: "long"}
                      ],
                      constants.map(
                          ([name, s]) => [name, seconds(s), percent(s / total), meaning.get(name) || ""])))) :
          h("p", {}, "With wires alone there are no constants to divide the time among."),
      chart(
          "Phases",
          "Phases of the plan may overlap; the thin line is the time in which ranks pack, stack or load.",
          (svg, width) => {
            const left = Math.min(150, width * 0.3), bottom = row.phases.length * 26 + 4;
            const x = d3.scaleLinear().domain([0, row.predicted_s || 1]).range([left, width - 20]);
            axis(svg, timeAxis(x, width), 0, bottom);
            row.phases.forEach((p, i) => {
              svg.append("text")
                  .attr("x", left - 6)
                  .attr("y", i * 26 + 17)
                  .attr("text-anchor", "end")
                  .text(p.name);
              svg.append("rect")
                  .attr("x", x(p.start_s))
                  .attr("y", i * 26 + 4)
                  .attr("height", 15)
                  .attr("width", Math.max(1, x(p.end_s) - x(p.start_s)))
                  .style("fill", "var(--prediction)")
                  .style("opacity", 0.7);
              svg.append("rect")
                  .attr("x", x(p.start_s))
                  .attr("y", i * 26 + 20)
                  .attr("height", 3)
                  .attr("width", Math.max(0, x(p.start_s + p.work_s) - x(p.start_s)))
                  .style("fill", "var(--work)");
            });
            return bottom + 26;
          },
          behind(
              "As a table",
              () => table(
                  "Phases",
                  [
                    {name: "phase"}, {name: "from", number: true}, {name: "to", number: true},
                    {name: "work", number: true}
                  ],
                  row.phases.map(p => [p.name, seconds(p.start_s), seconds(p.end_s), seconds(p.work_s)])))));
}
