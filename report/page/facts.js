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
  const rows = data.sensitivities[at], s = data.prediction.strategies[at].predicted_s;
  if (!rows.length)
    return fill("sensitivity", h("p", {}, "With wires alone there is no constant to change."));
  fill(
      "sensitivity",
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
                  rows.map(
                      r =>
                          [r.constant, r.change, seconds(r.delta_s),
                           (100 * r.delta_s / s).toFixed(2) + " %"])))));
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
