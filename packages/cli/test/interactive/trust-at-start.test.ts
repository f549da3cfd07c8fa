import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { isTrusted } from "../../src/call/trust.ts";
import { agentProject } from "../call/agent-project.ts";
import { openInteractive } from "./harness.ts";

const scenario = { turn: [{ text: "Hello back." }] };

/** A project with an extension of its own. */
function project() {
  const own = agentProject(scenario);
  const folder = join(own.cwd, ".bonsai/extensions");
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, "greet.ts"),
    'export default (bonsai) => bonsai.on("session_start", (_event, ctx) => ctx.ui.notify("Greetings from the project"));',
  );
  return own;
}

test("a project's extensions are asked about before they are run", async () => {
  const own = project();
  const { terminal } = openInteractive({ project: own });
  await terminal.until("Trust this project?");
  expect(terminal.screen()).toContain("greet.ts");
  expect(terminal.scrollback()).not.toContain("Greetings");
  terminal.type("y\n");
  await terminal.until("Greetings from the project");
  expect(isTrusted(own.cwd, own.home)).toBe(true);
});

test("--approve uses them for this run without a question", async () => {
  const own = project();
  const { terminal } = openInteractive({ project: own, argv: ["--approve"] });
  await terminal.until("Greetings from the project");
  expect(terminal.scrollback()).not.toContain("Trust this project?");
  expect(isTrusted(own.cwd, own.home)).toBe(false);
});

test("a no starts without the extensions and is remembered until /trust; an unanswered question returns at the next start", async () => {
  const own = project();
  const left = openInteractive({ project: own });
  await left.terminal.until("Trust this project?");
  left.terminal.press("esc");
  await left.terminal.until("is not trusted");
  await left.end();
  const refusing = openInteractive({ project: own });
  await refusing.terminal.until("Trust this project?");
  refusing.terminal.type("n\n");
  await refusing.terminal.until("is not trusted");
  expect(refusing.terminal.scrollback()).not.toContain("Greetings");
  expect(isTrusted(own.cwd, own.home)).toBe(false);
  await refusing.end();
  const { terminal } = openInteractive({ project: own });
  await terminal.until("is not trusted");
  expect(terminal.screen()).not.toContain("Trust this project?");
  terminal.type("/trust\n");
  await terminal.until("Trust this project?");
  terminal.type("y");
  await terminal.until(/ Yes /);
  terminal.press("enter");
  await terminal.until("is trusted.");
  expect(isTrusted(own.cwd, own.home)).toBe(true);
});

test("typing when the question appears does not answer it, and the text stays in the editor", () =>
  everyRow(["early words", "yes, early words", "You are early"])(async (words) => {
    const own = project();
    const { terminal } = openInteractive({ project: own });
    await terminal.until("Trust this project?");
    terminal.type(`${words}\n`);
    await terminal.settle();
    expect(terminal.screen()).toContain("Trust this project?");
    expect(isTrusted(own.cwd, own.home)).toBe(false);
    terminal.press("esc");
    await terminal.until("is not trusted");
    expect(isTrusted(own.cwd, own.home)).toBe(false);
    await terminal.until(words);
  }));

test("a project without settings and extensions is not asked about", async () => {
  const own = agentProject(scenario);
  writeFileSync(join(own.cwd, "AGENTS.md"), "Be kind.");
  const { terminal } = openInteractive({ project: own });
  await terminal.until("scripted");
  expect(terminal.scrollback()).not.toContain("Trust");
});
