/** The button that goes through the themes: as the system has it, light, dark. */

const NAMES = { "": "as the system", light: "light", dark: "dark" };
const SIGNS = { "": "◐", light: "☀", dark: "☾" };
const STORED = "slice-os-theme";

/** @param {HTMLButtonElement} button */
export function themeButton(button) {
  const root = document.documentElement;
  const themes = Object.keys(NAMES);

  function show() {
    const theme = root.dataset.theme ?? "";
    button.textContent = SIGNS[theme];
    button.title = `Theme: ${NAMES[theme]}`;
    button.setAttribute("aria-label", button.title);
  }

  button.addEventListener("click", () => {
    const next = themes[(themes.indexOf(root.dataset.theme ?? "") + 1) % themes.length];
    if (next) root.dataset.theme = next;
    else delete root.dataset.theme;
    localStorage.setItem(STORED, next);
    show();
  });
  show();
}
