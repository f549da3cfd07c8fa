import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type AgentProject, agentProject, says } from "../call/agent-project.ts";
import { openInteractive } from "./harness.ts";

test("commands and files are completed while the session is still being opened", async () => {
  const project = agentProject(says("Good."), { "notes.md": "" });
  extension(project, "export default () => new Promise(() => {});");
  const { terminal } = openInteractive({ project });
  terminal.type("/rel");
  await terminal.until(/reload +Reload/);
  terminal.press("tab");
  await terminal.until((screen) => screen.includes("/reload") && !/reload +Reload/.test(screen));
  terminal.press("ctrl+c");
  terminal.type("see @not");
  await terminal.until(/→ notes\.md/);
});

test("prompts of earlier sessions are there while the session is still being opened", async () => {
  const project = agentProject(says("Good."));
  writeFileSync(join(project.home, "history.jsonl"), '{"text":"from before"}\n');
  extension(project, "export default () => new Promise(() => {});");
  const { terminal } = openInteractive({ project });
  terminal.type("/rel");
  await terminal.until(/reload +Reload/);
  terminal.press("ctrl+c", "up", "up");
  await terminal.until("from before");
});

test("commands of extensions, and arguments, join once they are loaded", async () => {
  const project = agentProject(says("Good."));
  extension(
    project,
    `export default async (bonsai) => {
      await new Promise((resolve) => setImmediate(resolve));
      bonsai.registerCommand("relax", {
        description: "Breathes",
        getArgumentCompletions: () => [{ value: "deeply", label: "deeply" }],
        handler() {},
      });
    };`,
  );
  const { terminal } = openInteractive({ project });
  terminal.type("/trust of");
  await terminal.until(/→ off/);
  terminal.press("esc", "ctrl+c");
  terminal.type("/rela");
  await terminal.until(/relax +Breathes/);
  terminal.press("tab");
  terminal.type("d");
  await terminal.until(/→ deeply/);
});

test("a model is completed by any letters of its name, small or large", async () => {
  const { terminal } = openInteractive({ scenario: says("Good."), env: { ANTHROPIC_API_KEY: "k" } });
  await terminal.until("/100k");
  terminal.type("/model SONNET");
  await terminal.until(/→ \S*sonnet/);
});

test("Enter sends a complete word, and completes a partial one", async () => {
  const { terminal } = openInteractive({
    scenario: says("Seen."),
    files: { "notes.md": "", "notes.md.bak": "" },
  });
  await terminal.until("/100k");
  terminal.type("/trust of");
  await terminal.until(/→ off/);
  terminal.press("enter");
  await terminal.until(/^\/trust off/m);
  terminal.press("backspace");
  terminal.type("f");
  await terminal.until(/→ off/);
  terminal.press("enter");
  await terminal.until("was not trusted");
  terminal.type("see @notes.md");
  await terminal.until(/→ notes\.md$/m);
  terminal.press("enter");
  await terminal.until("Seen.");
});

test("a command without arguments of its own takes paths by Tab", async () => {
  const { terminal } = openInteractive({ files: { "only-this.md": "" } });
  await terminal.until("/100k");
  terminal.type("/export onl");
  terminal.press("tab");
  await terminal.until("/export only-this.md");
});

test("behind @, files outside of the project are completed too, folder by folder", async () => {
  const { terminal, project } = openInteractive({ files: { "inside.md": "" } });
  mkdirSync(join(project.cwd, "..", "beside it"));
  writeFileSync(join(project.cwd, "..", "beside it", "other.md"), "");
  await terminal.until("/100k");
  terminal.type("see @../besi");
  await terminal.until(/→ beside it\/$/m);
  terminal.press("tab");
  await terminal.until('@"../beside it/"');
  terminal.type("oth");
  await terminal.until(/→ other\.md$/m);
  terminal.press("tab");
  await terminal.until('see @"../beside it/other.md"');
  terminal.press("ctrl+u");
  terminal.type(`see @${project.cwd}/insi`);
  await terminal.until(/→ inside\.md$/m);
});

test("a slash in front of what is typed already is completed by no command", async () => {
  const { terminal } = openInteractive();
  await terminal.until("/100k");
  terminal.type("home is where?");
  terminal.press("home");
  terminal.type("/");
  await terminal.until("/home is where?");
  terminal.press("tab");
  await terminal.settle();
  expect(terminal.screen()).not.toContain("→");
  terminal.press("end");
  terminal.press("ctrl+u");
  terminal.type("keep it");
  terminal.press("home");
  terminal.type("/na");
  await terminal.until("/nakeep it");
  terminal.press("left", "left", "left");
  terminal.press("ctrl+k");
  terminal.type("/na");
  await terminal.until(/→ name/);
});

test("an address is no mention", async () => {
  const { terminal } = openInteractive({ files: { "notes.md": "" } });
  await terminal.until("/100k");
  terminal.type("me@notes");
  terminal.press("ctrl+j");
  terminal.type("@notes");
  await terminal.until(/→ notes\.md$/m);
  terminal.press("tab");
  await terminal.until(/^me@notes\s*\n@notes\.md/m);
});

function extension({ home }: AgentProject, code: string): void {
  mkdirSync(join(home, "extensions"), { recursive: true });
  writeFileSync(join(home, "extensions", "slow.ts"), code);
}

test("completes a mention with brackets and quotes", async () => {
  const { terminal, project } = openInteractive({ files: { 'it\'s "mine".md': "", 'say"hi".md': "" } });
  mkdirSync(join(project.cwd, "app", "[id]"), { recursive: true });
  writeFileSync(join(project.cwd, "app", "[id]", "page.tsx"), "");
  await terminal.until("/100k");
  for (const [typed, offered, completed] of [
    ["see @app/[id]/p", /→ app\/\[id\]\/page\.tsx/, "see @app/[id]/page.tsx"],
    ["see @it's", /→ it's/, 'see @"it\'s "mine".md"'],
    ['see @say"h', /→ say/, 'see @say"hi".md'],
  ] as const) {
    terminal.type(typed);
    await terminal.until(offered);
    terminal.press("tab");
    await terminal.until(completed);
    terminal.press("ctrl+u");
  }
});
