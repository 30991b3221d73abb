// Comfort alone: the pages work without it. The number follows the slider, and a moved slider asks.
"use strict";
for (const form of document.querySelectorAll("form[data-slider]")) {
  const range = form.querySelector("input[type=range]");
  const shown = form.querySelector("output");
  range.addEventListener("input", () => { shown.value = range.value; });
  range.addEventListener("change", () => form.submit());
}
