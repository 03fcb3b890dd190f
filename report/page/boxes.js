// The boxes of the transfer graph: groups of NVLink domains ("g3"), which open into domains ("d12"),
// which open into ranks ("r97"). A small cluster has no groups.

const inRuns = (list, rank) => list.some(([a, b]) => a <= rank && rank <= b);

// Listed pairs by the two boxes that hold them.
function pairsBy(pairs, boxOf) {
  const lists = new Map();
  for (const pair of pairs) {
    const boxes = `${boxOf(pair[0])} ${boxOf(pair[1])}`;
    if (!lists.has(boxes)) lists.set(boxes, []);
    lists.get(boxes).push(pair);
  }
  return (from, to) => lists.get(`${from} ${to}`) || [];
}

class TransferBoxes {
  constructor(transfers, machines) {
    this.transfers = transfers;
    this.machines = machines;
    this.perGroup = transfers.domains_per_group;
    this.open = new Set();
    this.domains = machines.domains.filter(([first]) => first < machines.ranks);
    this.domainOf = [];
    this.domains.forEach(([first, size], d) => this.domainOf.push(...new Array(size).fill(d)));
    this.ranksIn = pairsBy(transfers.ranks.pairs, rank => this.domainOf[rank]);
    this.domainsIn = pairsBy(transfers.domains.pairs, domain => this.groupOf(domain));
  }

  hasGroups() { return this.perGroup > 1; }
  groupOf(domain) { return Math.floor(domain / this.perGroup); }

  // First and last domain of a group.
  domainsOf(group) {
    return [group * this.perGroup, Math.min(this.domains.length, (group + 1) * this.perGroup) - 1];
  }

  // First and last rank in a box.
  ranks(id) {
    const n = +id.slice(1);
    if (id[0] === "r") return [n, n];
    const [a, b] = id[0] === "d" ? [n, n] : this.domainsOf(n);
    return [this.domains[a][0], this.domains[b][0] + this.domains[b][1] - 1];
  }

  name(id) {
    const n = +id.slice(1), [a, b] = this.ranks(id);
    if (id[0] === "r" || a === b) return `rank ${a}`;
    if (id[0] === "d") return `domain ${n}`;
    const [first, last] = this.domainsOf(n);
    return first === last ? `domain ${first}` : `domains ${first}-${last}`;
  }

  side(id) {
    const of = rank => inRuns(this.machines.sources, rank) + 2 * inRuns(this.machines.destinations, rank);
    const [a, b] = this.ranks(id);
    return ["neither", "training", "generation", "both"][of(a) | of(b)];
  }

  // Bytes that stay inside NVLink domains of a box.
  inside(id) {
    const n = +id.slice(1);
    if (id[0] === "r") return 0;
    const [a, b] = id[0] === "d" ? [n, n] : this.domainsOf(n);
    return d3.sum(this.transfers.inside.slice(a, b + 1));
  }

  opens(id) { return id[0] === "g" || (id[0] === "d" && this.domains[+id.slice(1)][1] > 1); }

  toggle(id) {
    if (!this.open.delete(id)) return this.open.add(id);
    for (const inner of [...this.open])
      if (this.around(inner).includes(id)) this.open.delete(inner);
  }

  // A box and those it is in.
  around(id) {
    if (id[0] === "g") return [id];
    const domain = id[0] === "r" ? this.domainOf[+id.slice(1)] : +id.slice(1);
    const outer = this.hasGroups() ? [`d${domain}`, `g${this.groupOf(domain)}`] : [`d${domain}`];
    return id[0] === "r" ? [id, ...outer] : outer;
  }

  // The smallest box with a domain, or a rank, that shows.
  boxOfDomain(domain) {
    const group = `g${this.groupOf(domain)}`;
    return this.hasGroups() && !this.open.has(group) ? group : `d${domain}`;
  }
  boxOfRank(rank) {
    const box = this.boxOfDomain(this.domainOf[rank]);
    return this.open.has(box) ? `r${rank}` : box;
  }

  // All that show, from top to bottom.
  shown() {
    const list = [];
    this.domains.forEach(([first, size], d) => {
      const group = `g${this.groupOf(d)}`, box = this.boxOfDomain(d);
      if (this.hasGroups() && !list.includes(group)) list.push(group);
      if (box !== group) list.push(box);
      if (this.open.has(box) && box[0] === "d")
        for (let rank = first; rank < first + size && rank < this.machines.ranks; ++rank)
          list.push(`r${rank}`);
    });
    return list;
  }

  // Pairs of shown boxes with their bytes, the most first. Totals of closed boxes are exact. Of what
  // is open the largest pairs are known; the rest, and what collectives move, is `kept` at the open
  // boxes themselves.
  pairs() {
    const sums = new Map();
    let kept = 0;
    const add = (from, to, bytes) => {
      if (from !== to) sums.set(`${from} ${to}`, (sums.get(`${from} ${to}`) || 0) + bytes);
    };
    const addRest = (from, to, rest, whole) => {
      if (rest <= 1e-3 * whole) return;
      kept += rest;
      add(from, to, rest);
    };
    const addDomains = (from, to, bytes) => {
      const boxes = [this.boxOfDomain(from), this.boxOfDomain(to)];
      if (!boxes.some(box => box[0] === "d" && this.open.has(box))) return add(...boxes, bytes);
      const inner = this.ranksIn(from, to);
      for (const [rank, other, n] of inner) add(this.boxOfRank(rank), this.boxOfRank(other), n);
      addRest(...boxes, bytes - d3.sum(inner, pair => pair[2]), bytes);
    };
    const addGroups = (from, to, bytes) => {
      const boxes = [`g${from}`, `g${to}`];
      if (!boxes.some(box => this.open.has(box))) return add(...boxes, bytes);
      const inner = this.domainsIn(from, to);
      for (const pair of inner) addDomains(...pair);
      addRest(...boxes, bytes - d3.sum(inner, pair => pair[2]), bytes);
    };
    if (this.hasGroups())
      for (const pair of this.transfers.groups.pairs) addGroups(...pair);
    else
      for (const pair of this.transfers.domains.pairs) addDomains(...pair);
    for (const box of this.open) {  // from rank to rank of one domain
      if (box[0] !== "d") continue;
      const domain = +box.slice(1);
      for (const [rank, other, n] of this.ranksIn(domain, domain)) add(`r${rank}`, `r${other}`, n);
    }
    const list = [...sums].map(([pair, bytes]) => [...pair.split(" "), bytes]);
    return {kept, list: list.sort((a, b) => b[2] - a[2])};
  }
}
