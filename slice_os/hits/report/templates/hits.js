"use strict";
const slider = document.getElementById("least");
const shownLeast = document.getElementById("least-value");
const groups = document.querySelectorAll("section[data-remaining]");

function apply() {
  const step = Number(slider.value);
  const least = step / Number(slider.max);
  shownLeast.textContent = least.toFixed(2);
  let total = 0;
  for (const group of groups) {
    const remaining = Number(group.dataset.remaining.split(" ")[step]);
    total += remaining;
    for (const count of document.querySelectorAll(`[data-count="${group.id}"]`)) {
      count.textContent = remaining.toLocaleString("en");
    }
    for (const hit of group.querySelectorAll("article[data-strength]")) {
      hit.hidden = Number(hit.dataset.strength) < least - 1e-9;
    }
  }
  document.getElementById("total").textContent = total.toLocaleString("en");
}

slider.addEventListener("input", apply);
document.getElementById("control").hidden = false;
apply();
