const data = JSON.parse(document.getElementById("data").textContent);
addPatterns();
for (const section of document.querySelectorAll("main section")) {
  const heading = section.querySelector("h2");
  heading.id = section.id + "-heading";
  section.setAttribute("aria-labelledby", heading.id);
  document.getElementById("contents")
      .append(h("li", {}, h("a", {href: "#" + section.id}, heading.textContent)));
}
