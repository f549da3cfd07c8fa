import { expect, test } from "vitest";
import { command, opened, say } from "./command-setup.ts";
import { blue, drawn, env, green, openedWith, red, settingsOf, themeJson } from "./themes-setup.ts";

test("NO_COLOR is stronger than a theme", async () => {
  const ui = await openedWith(
    { settings: { theme: "mine" }, themes: { "mine.json": themeJson("mine", "#f00") } },
    { env: {} },
  );
  await say(ui, "Hello");
  expect(ui.terminal.written.join("")).not.toMatch(/\[[34]8;/);
});

/** `/theme` is an alias for the row of /settings. */
async function openThemeList(ui: Parameters<typeof command>[0]): Promise<void> {
  command(ui, "/theme");
  await ui.terminal.until(/› theme /);
  ui.terminal.press("enter");
}

test("going through the list shows the whole screen in each theme; Esc brings back what was", async () => {
  const ui = await openedWith({
    themes: { "a.json": themeJson("ared", "#f00"), "b.json": themeJson("bgreen", "#0f0") },
  });
  const { terminal } = ui;
  await say(ui, "Hello");
  await openThemeList(ui);
  const list = await terminal.until("› auto ●");
  expect(list).toContain("built in");
  expect(list).toContain("dark · ");
  const before = terminal.written.length;
  terminal.press("up");
  await drawn(ui, `${green}Hello`, before);
  const next = terminal.written.length;
  terminal.press("up");
  await terminal.until("› ared");
  await drawn(ui, `${red}Hello`, next);
  const last = terminal.written.length;
  terminal.press("esc");
  await drawn(ui, "\u001b[38;5;253mHello", last);
  terminal.press("esc");
  expect(await terminal.until((screen) => !screen.includes("Esc leave"))).toContain("Good.");
  expect(settingsOf(ui)).toEqual({});
});

test("Enter keeps a theme in the user's settings", async () => {
  const ui = await openedWith({
    settings: { titles: false },
    themes: { "a.json": themeJson("ared", "#f00") },
  });
  await openThemeList(ui);
  await ui.terminal.until("› auto ●");
  ui.terminal.press("up", "enter");
  await ui.terminal.until("theme is ared. Takes effect immediately.");
  expect(settingsOf(ui)).toEqual({ titles: false, theme: "ared" });
  await ui.end();
  const again = await opened({ project: ui.project, env });
  await drawn(again, `${red}─`, 0);
});

test("a theme is chosen in /settings", async () => {
  const ui = await openedWith({ themes: { "a.json": themeJson("evergreen", "#0f0") } });
  const { terminal } = ui;
  command(ui, "/settings");
  await terminal.until("Esc leave");
  terminal.type("theme");
  await terminal.until("Allowed: auto, dark, light, evergreen, or a pair light/dark.");
  terminal.press("enter");
  await terminal.until("› auto ●");
  const before = terminal.written.length;
  terminal.press("up");
  await drawn(ui, `${green}─`, before);
  terminal.press("enter");
  await terminal.until("theme is evergreen. Takes effect immediately.");
  expect(settingsOf(ui)).toEqual({ theme: "evergreen" });
});

test("on a narrow and low screen the list fits", async () => {
  const themes = Object.fromEntries(
    Array.from({ length: 20 }, (_, at) => [`${at}.json`, themeJson(`a long name of a theme ${at}`, "#0f0")]),
  );
  const ui = await openedWith({ themes }, { columns: 40, rows: 16, env: {} });
  await openThemeList(ui);
  const screen = await ui.terminal.until("› auto");
  for (const line of screen.split("\n")) expect(line.length).toBeLessThanOrEqual(40);
});

test("a pair of themes is for light and dark terminals", async () => {
  const ui = await openedWith(
    {
      settings: { theme: "day/night" },
      themes: { "d.json": themeJson("day", "#f00"), "n.json": themeJson("night", "#00f") },
    },
    { background: "#000000" },
  );
  await drawn(ui, `${blue}─`, 0);
  const before = ui.terminal.written.length;
  ui.terminal.send("\x1b]11;rgb:ffff/ffff/ffff\x07");
  await drawn(ui, `${red}─`, before);
});

test("--use-theme counts over the settings, for this start", async () => {
  const ui = await openedWith(
    { settings: { theme: "dark" }, themes: { "a.json": themeJson("ared", "#f00") } },
    { argv: ["--use-theme", "ared"] },
  );
  await drawn(ui, `${red}─`, 0);
  await openThemeList(ui);
  await ui.terminal.until("› ared ●");
  ui.terminal.press("up", "enter");
  await ui.terminal.until(/Saved your theme, but .* sets it to ared here\./);
  expect(settingsOf(ui)).toEqual({ theme: "light" });
});
