"use strict";
// Without this script the page is complete; it adds sorting, "open all", and opens the task a link points to.
document.querySelectorAll("table.sortable thead th").forEach((head, column) => {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...head.childNodes);
  head.append(button);
  button.addEventListener("click", () => {
    const falling = head.getAttribute("aria-sort") !== "descending";
    head.parentNode.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    const body = head.closest("table").tBodies[0];
    const key = (row) => row.cells[column].dataset.v ?? row.cells[column].textContent.trim();
    const compare = (a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === "" || y === "") return (x === "") - (y === "");
      const [m, n] = [Number(x), Number(y)];
      const order = Number.isNaN(m) || Number.isNaN(n) ? x.localeCompare(y, undefined, { numeric: true }) : m - n;
      return falling ? -order : order;
    };
    body.append(...[...body.rows].sort(compare));
  });
});
const openTarget = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.tagName === "DETAILS") {
    target.open = true;
    target.scrollIntoView();
  }
};
addEventListener("hashchange", openTarget);
openTarget();
const tasks = [...document.querySelectorAll("details.task")];
const toggle = document.getElementById("toggle-all");
toggle.hidden = tasks.length === 0;
toggle.addEventListener("click", () => {
  const open = tasks.some((task) => !task.open);
  tasks.forEach((task) => { task.open = open; });
  toggle.textContent = open ? "Close all tasks" : "Open all tasks";
});
addEventListener("beforeprint", () => tasks.forEach((task) => { task.open = true; }));
