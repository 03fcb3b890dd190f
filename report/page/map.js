// Which rank holds what: a cell per rank, coloured by shard, walked through with the arrow keys.

// Neighbouring shards get neighbouring colours; few shards get the clearest ones.
function shardColour(i, n) {
  if (n <= 7) return `var(--k${i})`;
  return d3.interpolateTurbo(0.08 + 0.84 * i / (n - 1));
}

// What can be read on it.
function shardInk(i, n) {
  return n <= 7 ? "var(--paper)" : d3.lab(shardColour(i, n)).l > 55 ? "#000" : "#fff";
}

function shardMap(side, title, kind, by, data) {
  const map = data.layouts.maps[kind[side][by]];
  const members = side === "source" ? data.machines.sources : data.machines.destinations;
  const ranks = members.flatMap(([a, b]) => d3.range(a, b + 1));
  const n = map.labels.length;
  const holders = map.labels.map(() => []);
  const empty = [];
  for (const rank of ranks) {
    const label = map.label_of_rank[rank];
    (label < 0 ? empty : holders[label]).push(rank);
  }
  const words = rank => {
    const label = map.label_of_rank[rank];
    if (label < 0) return `rank ${rank} holds nothing of it`;
    return `rank ${rank}: ${map.labels[label]}; ${count(holders[label].length)} rank${
        holders[label].length === 1 ? "" : "s"} hold this`;
  };
  const readout =
      h("p", {class: "readout", "aria-live": "polite"},
        "Focus the map and use the arrow keys, or point at a cell.");
  let cursor = 0, place, columns;
  const show = () => {
    readout.textContent = words(ranks[cursor]);
    if (place) place();
  };
  const description = `${count(ranks.length)} ranks in order, ${
      n === 1 ? "all with the same" : `${count(n)} different shards`}.`;
  const figure = chart(title, description, (svg, width) => {
    const perNode = data.machines.gpus_per_node;
    // A multiple of a node per line, in cells that are large enough to tell apart.
    const wanted = Math.max(4, Math.min(26, Math.sqrt(width * 150 / ranks.length)));
    columns = Math.max(1, Math.floor(width / wanted));
    if (columns > perNode) columns = perNode * Math.pow(2, Math.round(Math.log2(columns / perNode)));
    columns = Math.min(columns, ranks.length);
    const cell = Math.min(26, width / columns);
    const gap = cell > 9 ? 1.5 : 0.5;
    const x = i => i % columns * cell, y = i => Math.floor(i / columns) * cell;
    const paths = new Map();
    ranks.forEach((rank, i) => {
      const label = map.label_of_rank[rank];
      const wide = (i + 1) % perNode === 0 ? gap + 1 : gap;  // nodes stand apart
      paths.set(
          label,
          (paths.get(label) || "") +
              `M${x(i).toFixed(1)},${y(i).toFixed(1)}h${(cell - wide).toFixed(1)}v${
                  (cell - gap).toFixed(1)}h${(wide - cell).toFixed(1)}z`);
    });
    for (const [label, path] of paths)
      svg.append("path")
          .attr("d", path)
          .style("fill", label < 0 ? "none" : shardColour(label, n))
          .style("stroke", label < 0 ? "var(--line)" : null);
    if (cell >= 16 && n > 1)
      ranks.forEach((rank, i) => {
        if (map.label_of_rank[rank] >= 0)
          svg.append("text")
              .attr("x", x(i) + cell / 2)
              .attr("y", y(i) + cell / 2 + 4)
              .attr("text-anchor", "middle")
              .style("fill", shardInk(map.label_of_rank[rank], n))
              .text(map.label_of_rank[rank]);
      });
    const mark = svg.append("rect")
                     .attr("width", cell)
                     .attr("height", cell)
                     .style("fill", "none")
                     .style("stroke", "var(--ink)")
                     .style("stroke-width", 3)
                     .style("display", "none");
    place = () => mark.attr("x", x(cursor) - 1).attr("y", y(cursor) - 1).style("display", null);
    svg.on("mousemove", function() {
      const [px, py] = d3.mouse(this);
      const i = Math.floor(py / cell) * columns + Math.floor(px / cell);
      if (i >= 0 && i < ranks.length && i !== cursor) {
        cursor = i;
        show();
      }
    });
    return Math.ceil(ranks.length / columns) * cell + 4;
  }, readout, shardTable(map, holders, empty, n));
  const svg = figure.querySelector("svg");
  svg.setAttribute("tabindex", "0");
  svg.setAttribute("role", "application");
  svg.addEventListener("focus", show);
  svg.addEventListener("keydown", event => {
    const step = {
      ArrowRight: 1,
      ArrowLeft: -1,
      ArrowDown: columns,
      ArrowUp: -columns,
      Home: -ranks.length,
      End: ranks.length
    }[event.key];
    if (!step) return;
    event.preventDefault();
    cursor = Math.max(0, Math.min(ranks.length - 1, cursor + step));
    show();
  });
  return figure;
}

function shardTable(map, holders, empty, n) {
  return behind(n === 1 ? "As a table" : `All ${count(n)} shards as a table`, () => {
    const most = 200;
    const rows = map.labels.slice(0, most).map((label, i) => {
      const swatch = d3.create("svg")
                         .attr("viewBox", "0 0 10 10")
                         .attr("width", 12)
                         .attr("height", 12)
                         .attr("aria-hidden", "true");
      swatch.append("rect").attr("width", 10).attr("height", 10).style("fill", shardColour(i, n));
      return [
        h("span", {}, swatch.node(), ` ${i}`), label, count(holders[i].length), runs(runsOf(holders[i]))
      ];
    });
    if (empty.length)
      rows.push(["none", "nothing of these tensors", count(empty.length), runs(runsOf(empty))]);
    return [
      table(
          "Shards and the ranks that hold them",
          [
            {name: "shard"}, {name: "what", class: "long"}, {name: "ranks", number: true},
            {name: "which", class: "long"}
          ],
          rows),
      n > most ? h("p", {class: "note"}, `${count(n - most)} more are left out here.`) : ""
    ];
  });
}

const layoutChoice = {
  kind: 0,
  by: "layers"
};

function layoutSection(data) {
  const kinds = data.layouts.kinds;
  const kind = kinds[layoutChoice.kind];
  const ways = [
    ["layers", "layers (pipeline stages)"], ["experts", "experts (expert groups)"],
    ["part", "parts of a tensor (tensor parallel)"]
  ];
  const possible = ways.filter(([by]) => kind.source[by] >= 0 || kind.destination[by] >= 0);
  if (!possible.some(([by]) => by === layoutChoice.by)) layoutChoice.by = possible[0][0];
  const draw = (keep) => {
    layoutSection(data);
    document.querySelector(`#layouts ${keep}`).focus();
  };
  const side = (name, title) => kind[name][layoutChoice.by] >= 0 ?
      shardMap(name, title, kind, layoutChoice.by, data) :
      h("p", {}, h("b", {}, title),
        ": not cut this way; every rank that holds a tensor of this kind holds all of it in this respect.");
  fill(
      "layouts",
      h("p", {}, "Which rank holds which part of the weights, before and after. Cells with one colour and ",
        "number hold the same."),
      h("div", {class: "controls"},
        chooser(
            "Tensors",
            kinds.map((k, i) => [i, `${k.role.replace(/_/g, " ")}: ${k.name} (${bytes(k.bytes)})`]),
            layoutChoice.kind,
            value => {
              layoutChoice.kind = +value;
              draw("select");
            })),
      h("fieldset", {}, h("legend", {}, "Coloured by"),
        possible.map(
            ([by, text]) =>
                h("label", {}, h("input", {
                    type: "radio",
                    name: "by",
                    value: by,
                    checked: by === layoutChoice.by,
                    onchange: () => {
                      layoutChoice.by = by;
                      draw("input:checked");
                    }
                  }),
                  " " + text))),
      h("p", {class: "hint"},
        `Shape of a tensor: ${
            kind.shape.map(count).join(
                " x ")}. Tensors of a stage that are alike in shape and layout are shown by the first of them.`,
        data.layouts.left_out ? ` ${data.layouts.left_out} kinds of small tensors are left out.` : ""),
      h("div", {class: "pair"}, side("source", "Training, before"),
        side("destination", "Generation, after")));
}
