import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { themeTokenNames } from "@bonsai-agent/extension/themes";
import { expect, test } from "vitest";
import { type AgentProject, agentProject, says } from "../call/agent-project.ts";
import { command, opened, say } from "./command-setup.ts";
import { withExtension } from "./extension-setup.ts";
import type { OpenedInteractive, OpenInteractiveOptions } from "./harness.ts";

/** A theme of one colour for every text and another behind it, both told from all others. */
function themeJson(name: string, colour: string, more: object = {}): string {
  const colors = Object.fromEntries(
    themeTokenNames.map((token) => [token, token.endsWith("Bg") ? "ground" : "colour"]),
  );
  return JSON.stringify({ name, vars: { colour, ground: "#010203" }, colors, ...more });
}

interface Setup {
  settings?: object;
  /** By file name, in the user's folder of themes. */
  themes?: Record<string, string>;
}

function projectWith({ settings = {}, themes = {} }: Setup): AgentProject {
  const project = agentProject(says("Good."));
  mkdirSync(join(project.home, "themes"));
  writeFileSync(join(project.home, "settings.json"), JSON.stringify(settings));
  for (const [name, text] of Object.entries(themes)) writeFileSync(join(project.home, "themes", name), text);
  return project;
}

const env = { NO_COLOR: "" };
const colour = (r: number, g: number, b: number) => `\u001b[38;2;${r};${g};${b}m`;
const red = colour(255, 0, 0);
const green = colour(0, 255, 0);
const blue = colour(0, 0, 255);
const darkBorder = "\u001b[38;5;240m─";
const lightBorder = "\u001b[38;5;248m─";

const openedWith = (setup: Setup, options: OpenInteractiveOptions = {}) =>
  opened({ project: projectWith(setup), env, ...options });
const themeFile = ({ project }: OpenedInteractive, name: string) => join(project.home, "themes", name);
/** Waits until something with this begins to be written, from now on. */
async function drawn({ terminal }: OpenedInteractive, opening: string, from = terminal.written.length) {
  await terminal.until(() => terminal.written.slice(from).join("").includes(opening));
}
const settingsOf = ({ project }: OpenedInteractive) =>
  JSON.parse(readFileSync(join(project.home, "settings.json"), "utf8"));

test("a theme in the user's folder is in use from the first frame on", async () => {
  const ui = await openedWith({
    settings: { theme: "mine" },
    themes: { "mine.json": themeJson("mine", "#f00") },
  });
  await say(ui, "Hello");
  const all = ui.terminal.written.join("");
  expect(all).toContain(`${red}─`);
  expect(all).toContain("\u001b[48;2;1;2;3m");
  expect(all).not.toContain(darkBorder);
});

test("themes of pi lie where pi has them; without truecolor, the nearest of 256 is taken", async () => {
  const project = projectWith({ settings: { theme: "mine" } });
  const folder = join(dirname(project.home), ".pi/agent/themes");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "other-name.json"), themeJson("mine", "#ff0000"));
  const ui = await opened({ project, env: { ...env, TERM_PROGRAM: "", TERM: "xterm-256color" } });
  await drawn(ui, "\u001b[38;5;196m─", 0);
});

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

test("/theme NAME sets a theme, and names the themes if there is none of this name", async () => {
  const ui = await openedWith({ themes: { "a.json": themeJson("evergreen", "#0f0") } });
  const { terminal } = ui;
  command(ui, "/theme evergren");
  await terminal.until(
    /There is no theme “evergren”\. Themes: auto, dark, light, evergreen\. Did you\s+mean\s+evergreen\?/,
  );
  const before = terminal.written.length;
  command(ui, "/theme evergreen");
  await terminal.until("Theme: evergreen.");
  await drawn(ui, `${green}─`, before);
});

test("a theme is chosen in /settings, too", async () => {
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

test("of a pair, the first is for a light terminal, and the second for a dark one", async () => {
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
  command(ui, "/theme light");
  await ui.terminal.until("Saved light as your theme. The project or a flag sets ared here.");
  expect(settingsOf(ui)).toEqual({ theme: "light" });
});

test("a theme that does not exist is named, and the colours are as for auto", async () => {
  const ui = await openedWith(
    { settings: { theme: "mien" }, themes: { "a.json": themeJson("mine", "#f00") } },
    { background: "#ffffff" },
  );
  await ui.terminal.until("There is no theme mien. Using auto instead.");
  await ui.terminal.until(/Did\s+you mean mine\?/);
  await drawn(ui, lightBorder, 0);
});

test("a broken file is named once, and the others work", async () => {
  const ui = await openedWith({
    settings: { theme: "mine" },
    themes: { "a.json": themeJson("other", "#zzz"), "b.json": themeJson("mine", "#f00") },
  });
  const screen = await ui.terminal.until('vars.colour is "#zzz", but must be #rgb');
  expect(screen.match(/#zzz/g)).toHaveLength(1);
  await drawn(ui, `${red}─`, 0);
});

test("themes of a project are there once it is trusted, and stand over the user's", async () => {
  const project = projectWith({
    settings: { theme: "mine" },
    themes: { "a.json": themeJson("mine", "#f00") },
  });
  mkdirSync(join(project.cwd, ".bonsai/themes"), { recursive: true });
  writeFileSync(join(project.cwd, ".bonsai/themes/b.json"), themeJson("mine", "#0f0"));
  writeFileSync(join(project.home, "trust.json"), JSON.stringify({ folders: [], refused: [project.cwd] }));
  const ui = await opened({ project, env });
  await say(ui, "Hello");
  expect(ui.terminal.written.join("")).not.toContain(green);
  await ui.end();
  writeFileSync(join(project.home, "trust.json"), JSON.stringify({ folders: [project.cwd] }));
  const trusted = await opened({ project, env });
  await drawn(trusted, `${green}─`, 0);
  await trusted.terminal.until("overrides");
});

test("/reload reads a changed theme; one whose file is broken stays", async () => {
  const ui = await openedWith({
    settings: { theme: "mine" },
    themes: { "m.json": themeJson("mine", "#f00") },
  });
  await drawn(ui, `${red}─`, 0);
  const { terminal } = ui;
  const file = themeFile(ui, "m.json");
  const before = terminal.written.length;
  writeFileSync(file, themeJson("mine", "#0f0"));
  command(ui, "/reload");
  await drawn(ui, `${green}─`, before);
  const last = terminal.written.length;
  writeFileSync(file, "{");
  command(ui, "/reload");
  await terminal.until(/is\s+not valid JSON/);
  expect(terminal.screen()).not.toContain("There is no theme");
  expect(terminal.written.slice(last).join("")).not.toContain(darkBorder);
});

test("of a folder full of broken files a few are named, and of many themes, too", async () => {
  const broken = Array.from({ length: 30 }, (_, at) => [`broken-${at}.json`, "{"]);
  const fine = Array.from({ length: 30 }, (_, at) => [`fine-${at}.json`, themeJson(`fine ${at}`, "#f00")]);
  const ui = await openedWith(
    { settings: { theme: "none" }, themes: Object.fromEntries([...broken, ...fine]) },
    { columns: 140, rows: 60 },
  );
  const screen = await ui.terminal.until(/There is no theme none\. .*fine 13 and 24\s+more\./);
  expect(screen).toMatch(/22 more theme files/);
  expect(screen.match(/is\s+not valid JSON/g)).toHaveLength(8);
});

test("themes that an extension brings are there, and what is wrong with others is named once", async () => {
  const project = projectWith({ settings: { theme: "brought" }, themes: { "b.json": "{" } });
  mkdirSync(join(project.cwd, "looks"));
  writeFileSync(join(project.cwd, "looks", "a.json"), themeJson("brought", "#f00"));
  writeFileSync(
    join(project.cwd, "bring.mjs"),
    `export default (bonsai) => bonsai.on("resources_discover", () => ({ themePaths: ["looks"] }));`,
  );
  const ui = await opened({ project, env, argv: ["-e", "./bring.mjs"] });
  await drawn(ui, `${red}─`, 0);
  expect(ui.terminal.screen().match(/is\s+not valid JSON/g)).toHaveLength(1);
  expect(ui.terminal.screen()).not.toContain("There is no theme");
});

test("/reload finds a theme with a new name", async () => {
  const ui = await openedWith({
    settings: { theme: "mine" },
    themes: { "m.json": themeJson("mine", "#f00") },
  });
  await drawn(ui, `${red}─`, 0);
  writeFileSync(themeFile(ui, "m.json"), themeJson("yours", "#0f0"));
  command(ui, "/reload");
  await ui.terminal.until("There is no theme mine");
  command(ui, "/theme yours");
  await ui.terminal.until("Theme: yours.");
});

const setting = `bonsai.registerCommand("wear", { handler(args, { ui }) { ui.notify(args + ": " + JSON.stringify(ui.setTheme(args))); } });`;

test("an extension sets a theme in a file, which the user's choice ends, and unloading too", async () => {
  const project = projectWith({
    themes: { "a.json": themeJson("ared", "#f00"), "b.json": themeJson("bgreen", "#0f0") },
  });
  writeFileSync(join(project.cwd, "drawn.mjs"), `export default function (bonsai) {${setting}}`);
  const ui = await opened({ project, env, argv: ["-e", "./drawn.mjs"] });
  const { terminal } = ui;
  const changes = async (text: string, opening: string) => {
    const before = terminal.written.length;
    command(ui, text);
    await drawn(ui, opening, before);
  };
  await changes("/wear ared", `${red}─`);
  await terminal.until('ared: {"success":true}');
  expect(settingsOf(ui)).toEqual({});
  await changes("/theme bgreen", `${green}─`);
  await changes("/wear ared", `${red}─`);
  await changes("/reload", `${green}─`);
});

test("an extension reads themes, draws with them, and sets one as an object", async () => {
  const ui = await withExtension(
    `bonsai.registerCommand("look", { handler(args, { ui }) {
      const light = ui.getTheme("light");
      ui.notify(JSON.stringify([ui.getAllThemes(), ui.getTheme("none"), ui.theme.name, light.name, light.appearance, light.getFgAnsi("accent"), ui.theme.getColorMode()]));
      ui.notify("set: " + JSON.stringify([ui.setTheme(light), ui.theme.name, ui.setTheme({}), ui.setTheme({ ...light, getFgAnsi() { throw new Error("no colours") } })]));
    } });`,
    { env: { ...env, COLORFGBG: "15;0" }, columns: 200 },
  );
  const before = ui.terminal.written.length;
  ui.command("/look");
  await ui.terminal.until(
    '[[{"name":"dark"},{"name":"light"}],null,"dark","light","light","\\u001b[38;5;25m","truecolor"]',
  );
  await ui.terminal.until(
    'set: [{"success":true},"light",{"success":false,"error":"The given value is not a theme',
  );
  await ui.terminal.until("The theme failed: no colours");
  await drawn(ui, lightBorder, before);
});

test("an extension of pi sets the theme", async () => {
  const files = {
    "pi.ts": `
      import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
      export default function (pi: ExtensionAPI) {
        pi.on("session_start", (_event, ctx) => { ctx.ui.setTheme("light"); });
      }`,
  };
  const ui = await opened({ files, argv: ["-e", "./pi.ts"], env: { ...env, COLORFGBG: "15;0" } });
  await drawn(ui, lightBorder, 0);
});
