// The rows of a timeline: lanes of ranks with all their ops, or groups of ranks where there are too
// many. A bar is [start, length, activity, track, phase, bytes, peer, op, work], times in millionths.

const trackHeight = 11;

class TimelineRows {
  constructor(data, machines) {
    this.data = data;
    const groups = data.groups.map(group => ({name: this.groupName(group, machines), group}));
    const lanes = data.lanes.map(lane => ({name: `rank ${lane.rank} lane ${lane.lane}`, lane}));
    this.list = [...groups, ...lanes];
  }

  groupName(group, machines) {
    if (group.ranks === 1) return `rank ${group.first}`;
    const from = inRuns(machines.sources, group.first), to = inRuns(machines.destinations, group.first);
    const side = from === to ? "ranks" : from ? "training" : "generation";
    return `${side} ${group.first}-${group.first + group.ranks - 1}`;
  }

  height(row) { return row.group ? 18 : 6 + trackHeight * row.lane.tracks; }

  // Of a group: a letter per part of the time, A for no rank that is busy, Z for all.
  shares(text) { return Array.from(text, letter => (letter.charCodeAt(0) - 65) / 25); }

  // What occurs at all.
  activities() {
    return this.data.activities.filter(
        (name, i) => this.list.some(
            row =>
                row.lane ? row.lane.bars.some(bar => bar[2] === i) : /[^A]/.test(row.group.busy[i] || "")));
  }

  barWords([start, length, activity, , phase, size, peer, op, work]) {
    const time = t => seconds(t / 1e6 * this.data.end_s), name = this.data.activities[activity];
    const other = {send: ` to rank ${peer}`, receive: ` from rank ${peer}`}[name] || `, ${count(peer)} ranks`;
    return `${name === "work" ? this.data.works[work] : name}${other}, ${bytes(size)}, ` +
        `${time(start)} to ${time(start + length)} (${time(length)}), ` +
        `phase ${this.data.phases[phase]}, op ${count(op)}`;
  }

  rowWords(row) {
    if (row.lane) {
      const {bars, left_out: gone} = row.lane;
      return `${count(bars.length)} ops${gone ? `, the ${count(gone)} shortest left out` : ""}`;
    }
    const means = row.group.busy.map(text => d3.mean(this.shares(text)));
    const words =
        means.map((m, i) => m > 0.0005 ? `${this.data.activities[i]} ${(100 * m).toFixed(1)} %` : "");
    return (words.filter(Boolean).join(", ") || "nothing") + " of the time";
  }

  // The bar of a lane at a time and a height below the top of its row; -1: none.
  barAt(row, time, height) {
    const track = Math.floor((height - 2) / trackHeight), t = 1e6 * time;
    return row.lane ? row.lane.bars.findIndex(b => b[0] <= t && t <= b[0] + b[1] && b[3] === track) : -1;
  }

  // `x`: from shares of the whole time.
  draw(body, row, x, top, chosen) {
    if (row.group)
      this.drawGroup(body, row.group, x, top);
    else
      this.drawLane(body, row.lane, x, top, chosen);
  }

  drawGroup(body, group, x, top) {
    const parts = group.busy[0].length, bottom = top + 17;
    const area =
        d3.area().curve(d3.curveStepAfter).x((d, i) => x(i / parts)).y0(bottom).y1(d => bottom - 16 * d);
    // The last is in front: sends and receives run at the same time, work rarely beside them.
    for (const i of [3, 2, 1, 0]) {
      const shares = this.shares(group.busy[i]);
      if (!shares.some(s => s > 0)) continue;
      body.append("path")
          .attr("d", area(shares.concat(0)))
          .style("opacity", 0.85)
          .style("fill", activityFill[this.data.activities[i]]);
    }
  }

  drawLane(body, lane, x, top, chosen) {
    const paths = new Map(), [first, last] = x.domain();
    let frame;
    lane.bars.forEach((bar, i) => {
      // Cut near the edges: what is far outside has coordinates that no browser draws.
      const from = Math.max(first - 0.01, bar[0] / 1e6), to = Math.min(last + 0.01, (bar[0] + bar[1]) / 1e6);
      if (to < from) return;
      const width = Math.max(1, x(to) - x(from) - 0.5), y = top + 2 + trackHeight * bar[3];
      const path = `M${x(from).toFixed(1)},${y}h${width.toFixed(1)}v9h${(-width).toFixed(1)}z`;
      paths.set(bar[2], (paths.get(bar[2]) || "") + path);
      if (i === chosen) frame = path;
    });
    for (const [activity, path] of paths) {
      const name = this.data.activities[activity];
      body.append("path")
          .attr("d", path)
          .style("fill", activityFill[name])
          .style("stroke", `var(--${name})`)
          .style("stroke-width", 0.5);
    }
    if (frame)
      body.append("path")
          .attr("d", frame)
          .style("fill", "none")
          .style("stroke", "var(--ink)")
          .style("stroke-width", 3);
  }

  tables() {
    const longest = lane => lane.bars.slice().sort((a, b) => b[1] - a[1]).slice(0, 20);
    const columns = first => [{name: first}, {name: "what", class: "long"}];
    return [
      table("Activity by row", columns("row"), this.list.map(row => [row.name, this.rowWords(row)])),
      ...this.data.lanes.slice(0, 4).map(
          lane => table(
              `The longest ops of rank ${lane.rank}, lane ${lane.lane}`, columns("op"),
              longest(lane).map(bar => [count(bar[7]), this.barWords(bar)])))
    ];
  }
}
