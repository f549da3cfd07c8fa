import { effect, signal } from "@preact/signals";

export const themes = ["auto", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

export const theme = signal<Theme>(keptTheme());

effect(() => {
  if (theme.value === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
  try {
    localStorage.setItem("bonsai.theme", theme.value);
  } catch {
    // A page that was opened as a file may keep nothing.
  }
});

function keptTheme(): Theme {
  try {
    const kept = localStorage.getItem("bonsai.theme");
    return themes.find((name) => name === kept) ?? "auto";
  } catch {
    return "auto";
  }
}
