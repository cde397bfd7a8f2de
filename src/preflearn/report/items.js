(() => {
const table = document.getElementById("items"), more = document.getElementById("more-items");
if (!table) return;
const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
if (more) {
  body.append(...more.tBodies[0].rows);
  more.closest("details").remove();
  table.parentElement.classList.add("long");
}
const rows = [...body.rows];
const number = text => {
  const found = text.replace("\u2212", "-").replace(/,/g, "").match(/^([<>]?)\s*(-?[\d.]+(?:e\d+)?)/);
  return found ? +found[2] + ({"<": -0.5, ">": 0.5}[found[1]] || 0) : NaN;
};
heads.forEach((head, column) => {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = head.textContent;
  head.replaceChildren(button);
  button.onclick = () => {
    const up = head.getAttribute("aria-sort") !== "ascending", sign = up ? 1 : -1;
    heads.forEach(one => one.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const keys = new Map(rows.map(row => {
      const text = row.cells[column].textContent;
      return [row, [column === nameColumn ? NaN : number(text), text]];
    }));
    rows.sort((one, other) => {
      const [a, s] = keys.get(one), [b, t] = keys.get(other);
      const words = isNaN(a) && isNaN(b) ? s.localeCompare(t, undefined, {numeric: true}) : isNaN(a) - isNaN(b);
      return sign * (a - b || words);
    });
    body.append(...rows);
  };
});
const nameColumn = [...rows[0].cells].findIndex(cell => cell.tagName === "TH");
const search = document.createElement("input");
search.type = "search";
search.placeholder = "Search items";
search.setAttribute("aria-label", "Search items");
search.oninput = () => {
  const wanted = search.value.trim().toLowerCase();
  for (const row of rows) row.hidden = !row.cells[nameColumn].textContent.toLowerCase().includes(wanted);
};
(document.querySelector(".tools") || body).prepend(search);
})();
