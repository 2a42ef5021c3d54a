// Runs before the first paint, so that the page never flashes in the other colours.
(() => {
  const stored = localStorage.getItem("slice-os-theme");
  if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
})();
