// Bytes by role and phase, and how evenly they load links and ranks.

function byteSection(data, at) {
  const plan = data.plans[at], whole = d3.sum(data.roles, r => r.unique_bytes);
  const sum = name => d3.sum(data.roles, r => r[name]);
  fill(
      "bytes",
      table(
          "By role of the weights",
          [
            {name: "role"}, {name: "tensors", number: true}, {name: "unique", number: true},
            {name: "share", number: true}, {name: "held by training", number: true},
            {name: "copies", number: true}, {name: "held by generation (payload)", number: true},
            {name: "copies", number: true}
          ],
          data.roles
              .map(
                  r =>
                      [r.role.replace(/_/g, " "), count(r.tensors), bytes(r.unique_bytes),
                       (100 * r.unique_bytes / whole).toFixed(1) + " %", bytes(r.source_bytes),
                       times(r.source_bytes, r.unique_bytes), bytes(r.destination_bytes),
                       times(r.destination_bytes, r.unique_bytes)])
              .concat([[
                "all", count(sum("tensors")), bytes(whole), "100.0 %", bytes(sum("source_bytes")),
                times(sum("source_bytes"), whole), bytes(sum("destination_bytes")),
                times(sum("destination_bytes"), whole)
              ]])),
      codedTable(data, whole, at), h("h3", {}, `What ${plan.strategy} moves, by phase`),
      table(
          "By phase of the plan",
          [
            {name: "phase"}, {name: "logical", number: true}, {name: "network", number: true},
            {name: "NVLink", number: true}, {name: "inside nodes", number: true},
            {name: "device copies", number: true}
          ],
          plan.traffic_by_phase.map(
              p =>
                  [p.name, bytes(p.logical_bytes), bytes(p.network_bytes), bytes(p.nvlink_bytes),
                   bytes(p.node_bytes), bytes(p.local_bytes)])));
}

// What plans that send changes send in place of as many copies of the weights.
function codedTable(data, whole, at) {
  const rows = data.prediction.strategies.filter(r => r.coded);
  if (!rows.length) return "";
  return [
    h("h3", {}, "What sending changes saves"),
    table(
        "Over the network; a plan of changes is only as good as the base that its receivers hold",
        [
          {name: "strategy"}, {name: "what is sent", class: "long"}, {name: "copies", number: true},
          {name: "as changes", number: true}, {name: "as weights", number: true}, {name: "less", number: true}
        ],
        rows.map(
            r =>
                [r.strategy, r.coded, r.network_copies.toFixed(2) + " x", bytes(r.network_bytes),
                 bytes(r.network_copies * whole), times(r.network_copies * whole, r.network_bytes)]),
        rows.indexOf(data.prediction.strategies[at]))
  ];
}

function loadSection(data, at) {
  const plan = data.plans[at], ports = plan.links.ranks;
  const edges = d3.range(21).map(i => i / 20);
  const names = {
    nvlink: "NVLink ports",
    pcie: "PCIe links",
    nic: "NIC ports",
    fabric: "fabric trunks",
    wan: "WAN links"
  };
  const into = ports.nic_in.map((b, r) => b + ports.nvlink_in[r]),
        out = ports.nic_out.map((b, r) => b + ports.nvlink_out[r]);
  const hot = d3.range(into.length).sort((a, b) => into[b] + out[b] - into[a] - out[a] || a - b).slice(0, 16);
  const perRank = (title, values) => {
    const [e, counts] = binned(values, 24);
    const mean = d3.mean(values), most = d3.max(values);
    return histogram(
        title,
        most > 0 ? `Mean ${bytes(mean)}, most ${bytes(most)} (rank ${values.indexOf(most)}), ${
                       (most / mean).toFixed(2)} x the mean.` :
                   "Nothing.",
        e, counts, shortBytes, "var(--k5)", "ranks");
  };
  const first = plan.links.hottest[0];
  fill(
      "load",
      first ? h("p", {}, h("b", {}, "Hot spot: "),
                `${first.name} carries ${bytes(first.bytes)}, ${
                    percent(first.utilisation)} of its line rate over the whole prediction.`) :
              "",
      h("div", {class: "pair"},
        plan.links.kinds.map(
            k => histogram(
                `Use of ${names[k.kind] || k.kind}`,
                `${count(d3.sum(k.links))} links carry bytes, ${
                    count(k.unused)} none; share of line rate over the whole prediction.`,
                edges, k.links, percent, "var(--prediction)", "links")),
        perRank("Bytes into each rank", into), perRank("Bytes out of each rank", out)),
      h("div", {class: "pair"},
        table(
            "The links used most",
            [{name: "link"}, {name: "kind"}, {name: "bytes", number: true}, {name: "used", number: true}],
            plan.links.hottest.map(
                l => [l.name, l.kind, bytes(l.bytes), (100 * l.utilisation).toFixed(1) + " %"])),
        table(
            "The ranks with most bytes through their ports",
            [
              {name: "rank"}, {name: "NIC in", number: true}, {name: "NIC out", number: true},
              {name: "NVLink in", number: true}, {name: "NVLink out", number: true}
            ],
            hot.map(
                r =>
                    [`rank ${r}`, bytes(ports.nic_in[r]), bytes(ports.nic_out[r]), bytes(ports.nvlink_in[r]),
                     bytes(ports.nvlink_out[r])]))),
      h("p", {class: "note"}, "Bytes of a NIC that several ranks share are divided evenly among them."));
}
