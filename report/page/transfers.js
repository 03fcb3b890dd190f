// Who sends to whom. Senders stand at the left, receivers at the right; what a generation rank hands
// on to others of its side starts at the left, too.

const mostLines = 400;

// Bytes by box: what leaves it, and what comes in.
class BoxBytes {
  constructor(boxes, list) {
    this.boxes = boxes;
    this.out = d3.nest().key(pair => pair[0]).rollup(pairs => d3.sum(pairs, pair => pair[2])).map(list);
    this.into = d3.nest().key(pair => pair[1]).rollup(pairs => d3.sum(pairs, pair => pair[2])).map(list);
  }

  // Of an open box, with all that is in it.
  total(sums, id) { return d3.sum(sums.entries(), e => this.boxes.around(e.key).includes(id) ? e.value : 0); }

  words(id) {
    const [a, b] = this.boxes.ranks(id), inside = this.boxes.inside(id);
    return `${this.boxes.name(id)} (${this.boxes.side(id)}${a === b ? "" : `, ranks ${a}-${b}`}): ` +
        `sends ${bytes(this.total(this.out, id))}, receives ${bytes(this.total(this.into, id))}` +
        (inside > 0 ? `, ${bytes(inside)} stay inside` : "");
  }
}

// Draws lines between boxes and calls back: choose(id) for a box that is pointed at or has the
// focus, toggle(id) for one that is opened or closed. Returns the height, and a function that
// brings out the lines of one box.
function drawTransfers(svg, width, boxes, list, sums, choose, toggle) {
  const step = 17, wide = Math.min(190, width * 0.36), top = 22;
  const shown = boxes.shown();
  const left = shown.filter(id => sums.out.has(id) || boxes.open.has(id));
  const right = shown.filter(id => sums.into.has(id) || boxes.open.has(id));
  const middle = (column, id) => top + step * column.indexOf(id) + step / 2;
  svg.append("text").attr("x", 0).attr("y", 12).attr("class", "soft").text("sends");
  svg.append("text")
      .attr("x", width)
      .attr("y", 12)
      .attr("text-anchor", "end")
      .attr("class", "soft")
      .text("receives");
  const thick = d3.scaleSqrt().domain([0, d3.max(list, pair => pair[2]) || 1]).range([0.3, 9]);
  const lines = svg.append("g").selectAll("path").data(list).enter().append("path");
  lines.style("fill", "none")
      .style("stroke", pair => `var(--${boxes.side(pair[0])})`)
      .style("stroke-width", pair => thick(pair[2]))
      .style("stroke-dasharray", pair => boxes.side(pair[0]) === "generation" ? "5 3" : null)
      .attr(
          "d",
          ([from, to]) => {
            const a = middle(left, from), b = middle(right, to), m = width / 2;
            return `M${wide},${a}C${m},${a} ${m},${b} ${width - wide},${b}`;
          })
      .append("title")
      .text(([from, to, n]) => `${boxes.name(from)} to ${boxes.name(to)}: ${bytes(n)}`);
  const bringOut = chosen => lines.style(
      "opacity",
      pair => !chosen                              ? 0.45 :
          pair[0] === chosen || pair[1] === chosen ? 0.9 :
                                                     0.06);

  const drawColumn = (column, where, x, bytesOf) => {
    const g = svg.append("g");
    column.forEach(id => {
      const opens = boxes.opens(id), isOpen = boxes.open.has(id), y = middle(column, id);
      const indent = 10 * (boxes.around(id).length - 1), size = wide - indent;
      const at = where === "left" ? indent : x;
      const item = g.append("g").attr("tabindex", "0").attr("role", "button").attr("data-box", where + id);
      item.attr("aria-label", sums.words(id) + (opens ? `; Enter ${isOpen ? "closes" : "opens"} it` : ""));
      if (opens) item.attr("aria-expanded", isOpen);
      item.append("rect")
          .attr("x", at)
          .attr("y", y - step / 2 + 1)
          .attr("width", size)
          .attr("height", step - 2);
      item.select("rect")
          .attr("rx", 3)
          .style("fill", "var(--card)")
          .style("stroke", `var(--${boxes.side(id)})`);
      const amount = size > 150 ? ` · ${bytes(bytesOf.get(id) || 0)}` : "";
      item.append("text")
          .attr("x", at + 5)
          .attr("y", y + 4)
          .style("font-size", "11px")
          .text((opens ? isOpen ? "▾ " : "▸ " : "") + boxes.name(id) + amount);
      item.on("focus", () => choose(id)).on("mouseenter", () => choose(id)).on("click", () => toggle(id));
      item.on("keydown", () => {
        const key = d3.event.key;
        if (key === "Enter" || key === " ")
          toggle(id);
        else if (key === "ArrowDown")
          item.node().nextElementSibling?.focus();
        else if (key === "ArrowUp")
          item.node().previousElementSibling?.focus();
        else
          return;
        d3.event.preventDefault();
      });
    });
  };
  drawColumn(left, "left", 0, sums.out);
  drawColumn(right, "right", width - wide, sums.into);
  bringOut();
  return {height: top + step * Math.max(left.length, right.length) + 6, bringOut};
}

function transferSection(plan, machines) {
  const boxes = new TransferBoxes(plan.transfers, machines);
  const readout =
      h("p", {class: "readout", "aria-live": "polite"}, "Choose a box to see what it sends and receives.");
  const draw = focus => {
    const {kept, list} = boxes.pairs();
    const sums = new BoxBytes(boxes, list);
    const toggle = id => {
      if (!boxes.opens(id)) return;
      boxes.toggle(id);
      draw(id);
    };
    const what = boxes.hasGroups() ? "groups of NVLink domains" : "NVLink domains";
    const pairs = `${count(list.length)} pair${list.length === 1 ? "" : "s"}`;
    const figure = chart(
        "Transfers between " + what,
        pairs + (list.length > mostLines ? `, the ${mostLines} largest drawn` : "") +
            "; lines are as wide as their bytes.",
        (svg, width) => {
          const choose = id => {
            readout.textContent = sums.words(id);
            drawing.bringOut(id);
          };
          const drawing = drawTransfers(svg, width, boxes, list.slice(0, mostLines), sums, choose, toggle);
          if (focus) svg.node().querySelector(`[data-box$="${focus}"]`)?.focus();
          focus = undefined;
          return drawing.height;
        });
    figure.querySelector("svg").setAttribute("role", "group");
    fill(
        "transfers",
        h("p", {},
          boxes.hasGroups() ?
              "Boxes are groups of NVLink domains, which open into these, and these into ranks." :
              "Boxes are NVLink domains, which open into ranks."),
        key([
          ["from training", "var(--training)"], ["from generation (handed on, dashed)", "var(--generation)"],
          ["from ranks of both sides", "var(--both)"]
        ]),
        h("p", {class: "hint"}, "Keys: Tab or up and down choose a box, Enter opens or closes it."), figure,
        readout,
        kept > 0 ? h("p", {class: "note"},
                     `${bytes(kept)} stay with the open boxes as a whole: pairs too small to be listed, `,
                     "and what collectives move, whose way is known between domains only.") :
                   "",
        behind(
            "As a table",
            () => table(
                "The largest pairs", [{name: "from"}, {name: "to"}, {name: "bytes", number: true}],
                list.slice(0, 100).map(([from, to, n]) => [boxes.name(from), boxes.name(to), bytes(n)]))));
  };
  draw();
}
