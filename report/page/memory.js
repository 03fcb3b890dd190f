// What ranks hold over time, by classes of ranks that hold equal weights.

let memoryClass = 0;

function memorySection(data, at) {
  const memory = data.prediction.strategies[at].memory, by = memory.by_class;
  if (!by || !by.classes.length) return fill("memory", h("p", {}, "Not known."));
  const name = c => `ranks ${runs(c.ranks, 4)} (${count(d3.sum(c.ranks, ([a, b]) => b - a + 1))})`;
  const fullest = by.classes.reduce((best, c, i) => c.peak_bytes > by.classes[best].peak_bytes ? i : best, 0);
  if (!(memoryClass in by.classes)) memoryClass = fullest;
  const c = by.classes[memoryClass];
  const terms = Object.keys(c.curve).filter(t => d3.max(c.curve[t]) > 0);
  if (!terms.length) return fill("memory", h("p", {}, "These ranks hold nothing."));
  const stack = d3.stack().keys(terms)(
      d3.range(c.curve[terms[0]].length).map(i => Object.fromEntries(terms.map(t => [t, c.curve[t][i]]))));
  const colours = terms.map((t, i) => `var(--k${i % 7})`);
  const top = d3.max(stack[stack.length - 1], d => d[1]);
  const end = by.step_s * c.curve[terms[0]].length;
  fill(
      "memory",
      h("p", {},
        `The fullest is rank ${memory.rank} with ${bytes(memory.peak_bytes)}` +
            (memory.gpu_bytes > 0 ? ` of ${bytes(memory.gpu_bytes)}` : "") +
            `, ${bytes(memory.dominant_bytes)} of it ${
                memory.dominant}. Optimizer, activations and KV cache are not in it.` +
            (memory.first_rank_over !== null ?
                 ` Rank ${memory.first_rank_over} is the first that has too little.` :
                 "")),
      h("div", {class: "controls"},
        chooser(
            "Ranks that hold equal weights",
            by.classes.map((k, i) => [i, `${name(k)}: ${bytes(k.peak_bytes)}`]), memoryClass,
            value => {
              memoryClass = +value;
              memorySection(data, at);
              document.querySelector("#memory select").focus();
            })),
      by.left_out ? h("p", {class: "note"}, `${count(by.left_out)} classes with lower peaks are left out.`) :
                    "",
      chart(
          `Memory of rank ${c.fullest}`,
          `Its peak is ${bytes(c.peak_bytes)} after ${
              seconds(c.peak_s)}; the dashed line is what its GPU has` +
              (c.gpu_bytes > 0 && c.gpu_bytes >= 2.5 * top ? ", far above the picture." : "."),
          (svg, width) => {
            const height = 260, left = 70, bottom = height - 24, right = width < 600 ? 20 : 170;
            const room = c.gpu_bytes > 0 && c.gpu_bytes < 2.5 * top;
            const x = d3.scaleLinear().domain([0, end]).range([left, width - right]),
                  y = d3.scaleLinear().domain([0, 1.05 * (room ? Math.max(top, c.gpu_bytes) : top)]).range([
                    bottom, 8
                  ]);
            axis(svg, d3.axisLeft(y).ticks(5).tickFormat(shortBytes), left, 0);
            axis(svg, timeAxis(x, width), 0, bottom);
            const area = d3.area()
                             .curve(d3.curveStepAfter)
                             .x((d, i) => x(i * by.step_s))
                             .y0(d => y(d[0]))
                             .y1(d => y(d[1]));
            let lowest = Infinity;
            stack.forEach((layer, i) => {
              const closed = layer.concat([layer[layer.length - 1]]);
              svg.append("path")
                  .attr("d", area(closed))
                  .style("fill", colours[i])
                  .style("opacity", 0.75)
                  .style("stroke", "var(--paper)")
                  .append("title")
                  .text(terms[i]);
              if (right < 100) return;
              const last = layer[layer.length - 1];
              lowest = Math.min(lowest - 14, y((last[0] + last[1]) / 2) + 4);
              svg.append("text").attr("x", width - right + 6).attr("y", lowest).text(terms[i]);
            });
            if (room)
              svg.append("path")
                  .attr("d", `M${left},${y(c.gpu_bytes)}H${width - right}`)
                  .style("stroke", "var(--bad)")
                  .style("stroke-width", 2)
                  .style("stroke-dasharray", "6 3");
            if (room)
              svg.append("text")
                  .attr("x", left + 8)
                  .attr("y", y(c.gpu_bytes) + (c.gpu_bytes > 0.9 * y.domain()[1] ? 15 : -6))
                  .text(`its GPU: ${bytes(c.gpu_bytes)}`)
                  .style("paint-order", "stroke")
                  .style("stroke", "var(--paper)")
                  .style("stroke-width", 4);
            return height;
          },
          key(terms.map((t, i) => [t, colours[i]])),
          behind(
              "As a table",
              () =>
                  [table(
                       "Peaks by class of ranks",
                       [
                         {name: "ranks", class: "long"}, {name: "fullest", number: true},
                         {name: "peak", number: true}, {name: "of its GPU", number: true},
                         {name: "when", number: true}, {name: "most of it"}
                       ],
                       by.classes.map(
                           k =>
                               [name(k), k.fullest, bytes(k.peak_bytes),
                                k.gpu_bytes > 0 ? percent(k.peak_bytes / k.gpu_bytes) : "-",
                                seconds(k.peak_s), k.dominant])),
                   table(
                       `Over time, rank ${c.fullest}`,
                       [{name: "from", number: true}].concat(terms.map(t => ({name: t, number: true}))),
                       stack[0].map(
                           (_, i) => [seconds(i * by.step_s), ...terms.map(t => bytes(c.curve[t][i]))]))])));
}
