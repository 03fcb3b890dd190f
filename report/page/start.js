function show(at) {
  memoryClass = undefined;
  strategySection(data, at);
  timeSection(data, at);
  byteSection(data, at);
  loadSection(data, at);
  timelineSection(data.plans[at], data.machines);
  memorySection(data, at);
  transferSection(data.plans[at], data.machines);
  sensitivitySection(data, at);
}
const plan = document.getElementById("plan");
data.prediction.strategies.forEach(
    (row, i) => plan.append(
        h("option", {value: i, selected: i === data.shown}, `${row.strategy}: ${seconds(row.predicted_s)}`)));
plan.addEventListener("change", () => show(+plan.value));
show(data.shown);
layoutSection(data);
checkSection(data);
provenanceSection(data);
scenarioSection(data);
