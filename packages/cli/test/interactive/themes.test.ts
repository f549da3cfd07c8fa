import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { command, opened, say } from "./command-setup.ts";
import { withExtension } from "./extension-setup.ts";
import {
  drawn,
  env,
  green,
  lightBorder,
  openedWith,
  projectWith,
  red,
  settingsOf,
  themeFile,
  themeJson,
} from "./themes-setup.ts";

test("uses a theme from the user's folder", async () => {
  const ui = await openedWith({
    settings: { theme: "mine" },
    themes: { "mine.json": themeJson("mine", "#f00") },
  });
  await say(ui, "Hello");
  const all = ui.terminal.written.join("");
  expect(all).toContain(`${red}─`);
  expect(all).toContain("\u001b[48;2;1;2;3m");
});

test("themes of pi lie where pi has them; without truecolor, the nearest of 256 is taken", async () => {
  const project = projectWith({ settings: { theme: "mine" } });
  const folder = join(dirname(project.home), ".pi/agent/themes");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "other-name.json"), themeJson("mine", "#ff0000"));
  const ui = await opened({ project, env: { ...env, TERM_PROGRAM: "", TERM: "xterm-256color" } });
  await drawn(ui, "\u001b[38;5;196m─", 0);
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
  const screen = await ui.terminal.until(/colors\.accent\s+is "colour", but must be #rgb/);
  expect(screen.match(/Theme file/g)).toHaveLength(1);
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
});

test("/reload reads a changed theme, reports a broken file, and finds a new name", async () => {
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
  writeFileSync(file, "{");
  command(ui, "/reload");
  await terminal.until(/is\s+not valid JSON/);
  writeFileSync(file, themeJson("yours", "#0f0"));
  command(ui, "/reload");
  await terminal.until("dark, light, yours");
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
  command(ui, "/theme");
  await terminal.until(/› theme /);
  terminal.press("enter");
  await terminal.until("bgreen");
  terminal.press("up", "enter");
  await terminal.until("theme is bgreen.");
  terminal.press("escape");
  await drawn(ui, `${green}─`, 0);
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
