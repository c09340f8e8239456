// What makes the pages handier where scripts run: keys, and short addresses. Nothing depends on it.
"use strict";

const field = document.getElementById("text");
const form = document.getElementById("search");
const hits = Array.from(document.querySelectorAll(".hit"));

if (form) {
  // Fields that nobody filled in stay out of the address.
  form.addEventListener("submit", () => {
    for (const input of form.querySelectorAll("input, select")) {
      if (input.value.trim() === "") input.disabled = true;
    }
  });
  window.addEventListener("pageshow", () => {
    for (const input of form.querySelectorAll("input, select")) input.disabled = false;
  });
  if (field.value === "") field.focus();
}

function move(step) {
  if (hits.length === 0) return;
  const now = hits.indexOf(document.activeElement.closest(".hit"));
  const next = now < 0 ? (step > 0 ? 0 : hits.length - 1) : Math.min(Math.max(now + step, 0), hits.length - 1);
  hits[next].focus();
  hits[next].scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isWriting = event.target.matches("input, select, textarea");
  if (event.key === "Escape" && isWriting) event.target.blur();
  if (isWriting) return;
  if (event.key === "/" && field) {
    event.preventDefault();
    field.focus();
    field.select();
  } else if (event.key === "j") {
    move(1);
  } else if (event.key === "k") {
    move(-1);
  } else if (event.key === "o") {
    const hit = document.activeElement.closest(".hit");
    const link = hit && hit.querySelector(".place a");
    if (link) link.click();
  }
});
