// What was checked, what would change the answer, where numbers are from, and the scenario.

function checkSection(data) {
  fill(
      "checks",
      table(
          "What was checked", [{name: "what"}, {name: "verdict"}, {name: "why", class: "long"}],
          data.checks.map(
              c => [c.subject, h("span", {class: c.fine ? "good" : "bad"}, c.fine ? "✓ fine" : "✗ not"), [
                c.note,
                c.findings.length ? h("ul", {class: "findings"}, c.findings.map(f => h("li", {}, f))) : ""
              ]])));
}

function sensitivitySection(data, at) {
  fill("sensitivity", firstOrder(data, at), data.what_ifs.map(plannedAnew));
}

function firstOrder(data, at) {
  const rows = data.sensitivities[at], s = data.prediction.strategies[at].predicted_s;
  if (!rows.length) return h("p", {}, "With wires alone there is no constant to change.");
  return [
    h("p", {},
      "What 10 % of each constant is worth to the prediction, as long as the same ops stay the last ",
      "to end: to first order, not planned anew."),
    bars(
        "Change of the prediction", "If a rate or share is 10 % higher, or a cost 10 % lower.",
        rows.map(r => ({
                   name: `${r.change} ${r.constant}`,
                   value: -r.delta_s,
                   text: seconds(r.delta_s),
                   colour: "var(--good)"
                 })),
        behind(
            "As a table",
            () => table(
                "Sensitivity",
                [
                  {name: "constant"}, {name: "change", number: true},
                  {name: "prediction changes by", number: true}, {name: "of it", number: true}
                ],
                rows.map(r => [r.constant, r.change, seconds(r.delta_s), signedPercent(r.delta_s / s, 2)]))))
  ];
}

// Larger machines and one engine more, for the strategy that is the answer.
function plannedAnew({strategy, as_it_is, what_ifs}) {
  const known = what_ifs.filter(w => w.left_out === undefined);
  const left = what_ifs.filter(w => w.left_out !== undefined);
  const signed = s => Math.abs(s) < 5e-12 ? "0 s" : (s < 0 ? "-" : "+") + seconds(Math.abs(s));
  const share = w => as_it_is.prediction_s > 0 ? signedPercent(w.more_s / as_it_is.prediction_s) : "";
  const cells = (name, w, more, of) =>
      [name, seconds(w.bound_s), seconds(w.prediction_s), more, of, w.busiest_link, percent(w.busiest_used),
       `${w.waits_for} ${seconds(w.waits_s)}`, (w.fields || []).join(", ")];
  return [
    h("h3", {}, `${strategy}, planned anew on other machines`),
    bars(
        "Prediction", "Each planned and predicted anew; what is no less is no gain.",
        [{
          name: "as it is",
          value: as_it_is.prediction_s,
          text: seconds(as_it_is.prediction_s),
          colour: "var(--prediction)"
        }].concat(known.map(w => ({
                              name: w.change,
                              value: w.prediction_s,
                              text: `${seconds(w.prediction_s)}, ${share(w)}`,
                              colour: w.more_s < 0 ? "var(--good)" : "var(--prediction)"
                            }))),
        behind(
            "As a table, with what it waits for then",
            () => table(
                "What if",
                [
                  {name: "what if"}, {name: "bound", number: true}, {name: "prediction", number: true},
                  {name: "change", number: true}, {name: "of it", number: true}, {name: "busiest link then"},
                  {name: "used", number: true}, {name: "most time on"}, {name: "how", class: "long"}
                ],
                [cells("as it is", as_it_is, "", "")].concat(
                    known.map(w => cells(w.change, w, signed(w.more_s), share(w))))))),
    left.length ? h("p", {}, "Left out: ", left.map(w => `${w.change}: ${w.left_out}`).join("; "), ".") : ""
  ];
}

function provenanceSection(data) {
  fill(
      "provenance",
      h("p", {},
        "The bound rests on the cluster and the layouts alone; the prediction on the network model, too."),
      table(
          "Every number this page rests on",
          [
            {name: "number"}, {name: "of"}, {name: "value", number: true},
            {name: "what it is", class: "long"}, {name: "where it is from", class: "long"}
          ],
          data.provenance.map(p => [p.name, p.subject, p.value, p.meaning, p.source])));
}

function scenarioSection(data) {
  const name = "scenario.yaml";
  const save = () => {
    const link =
        h("a",
          {href: URL.createObjectURL(new Blob([data.scenario_text], {type: "text/yaml"})), download: name});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  fill(
      "scenario",
      h("p", {},
        data.of_plan ?
            `This page is of a saved plan, which is not in it; its hash is ${
                data.prediction.strategies[0].certificate.plan}. With that plan and refit ${
                data.version} these commands give the same numbers; below is the scenario it was made for.` :
            `Save it as ${name}; with refit ${data.version} these commands give the same numbers.`),
      h("pre", {tabindex: "0", "aria-label": "Commands"}, data.commands.join("\n")),
      h("div", {class: "controls"}, h("button", {type: "button", onclick: save}, `Save ${name}`)),
      h("pre", {tabindex: "0", "aria-label": "The scenario"}, data.scenario_text));
}
