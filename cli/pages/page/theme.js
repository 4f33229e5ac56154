// Light or dark: as the system has it, until the button was pressed.

function isDark() {
  return (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
}
function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  document.getElementById("theme").textContent = isDark() ? "Light" : "Dark";
  document.dispatchEvent(new Event("themechange"));
}
