import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { agentProject, says } from "../call/agent-project.ts";
import { withExtension } from "./extension-setup.ts";
import { openInteractive } from "./harness.ts";

test("Ctrl-C clears the editor; twice, it ends and says how to go on", async () => {
  const { terminal, ended, printed } = openInteractive({ scenario: says("Good.") });
  await terminal.until("/100k");
  terminal.type("Hello\n");
  await terminal.until("Good.");
  terminal.type("half a thought");
  await terminal.until("half a thought");
  terminal.press("ctrl+c");
  await terminal.until((screen) => !screen.includes("half a thought"));
  terminal.press("ctrl+c", "ctrl+c");
  expect(await ended).toBe(0);
  expect(printed()).toMatch(/Continue with bonsai -r [\w-]+/);
  expect(terminal.isStarted).toBe(false);
});

test("the first Ctrl-C or Esc explains the second one as long as it counts; a key between them keeps the typed text", async () => {
  const { terminal } = openInteractive({ scenario: says("Good.") });
  const before = await terminal.until("/100k");
  terminal.press("ctrl+c");
  const hinted = await terminal.until("Ctrl-C again to quit");
  expect(hinted.split("\n")).toHaveLength(before.split("\n").length);
  expect(await terminal.until((screen) => !screen.includes("again"))).toBe(before);
  terminal.press("esc");
  await terminal.until("Esc again for the session tree");
  await terminal.until((screen) => !screen.includes("again"));
  terminal.press("ctrl+c");
  terminal.type("a thought");
  terminal.press("ctrl+c");
  await terminal.until("Ctrl-C again");
  expect(terminal.isStarted).toBe(true);
  terminal.press("up");
  await terminal.until("a thought");
});

test("a new session begins with a hint, -c continues without one, and /new begins another", async () => {
  const first = openInteractive({ scenario: says("Good.") });
  await first.terminal.until(/bonsai \d\S+\. Type a task\. \/help shows commands and keys\./);
  first.terminal.type("A question\n");
  await first.terminal.until("Good.");
  first.terminal.type("/new\n");
  await first.terminal.until(/^(?![\s\S]*Good\.)[\s\S]*Type a task/);
  await first.end();
  const { terminal } = openInteractive({ project: first.project, argv: ["-c"] });
  expect(await terminal.until("A question")).not.toContain("Type a task");
  terminal.type("/new\n");
  await terminal.until((screen) => !screen.includes("A question"));
});

test("an extension's command that bonsai has itself is notified, and bonsai's stands", async () => {
  const project = agentProject(says("Good."));
  mkdirSync(join(project.home, "extensions"));
  writeFileSync(
    join(project.home, "extensions", "own.ts"),
    `export default function (bonsai) {
      bonsai.registerCommand("session", { handler: async (args, ctx) => ctx.ui.notify("Not this one") });
    }`,
  );
  const { terminal } = openInteractive({ project });
  await terminal.until("/session, which is a built-in command");
});

test("Ctrl-D ends in an empty editor, and a session without an entry is not named", async () => {
  const { terminal, ended, printed } = openInteractive();
  await terminal.until("/100k");
  terminal.press("ctrl+d");
  expect(await ended).toBe(0);
  expect(printed()).toBe("");
});

test("a session that is not there is an error on the terminal as it was", async () => {
  const { terminal, ended } = openInteractive({ argv: ["--session", "nowhere.jsonl"] });
  await expect(ended).rejects.toMatchObject({ code: "session_not_found" });
  expect(terminal.isStarted).toBe(false);
});

test("/export writes Markdown or a .bonsai file, and no file twice", async () => {
  const { terminal, project } = openInteractive({ scenario: says("Good.") });
  await terminal.until("/100k");
  terminal.type("A question\n");
  await terminal.until("Good.");
  terminal.type("/export talk.md\n");
  await terminal.until("Wrote talk.md");
  expect(readFileSync(join(project.cwd, "talk.md"), "utf8")).toContain("A question");
  terminal.type("/export talk.md\n");
  await terminal.until("already exists");
  terminal.press("ctrl+u");
  terminal.type("/export talk.bonsai\n");
  await terminal.until("Wrote talk.bonsai, ");
  expect(readFileSync(join(project.cwd, "talk.bonsai"), "latin1").slice(0, 2)).toBe("PK");
  const home = dirname(project.cwd);
  vi.stubEnv("HOME", home);
  onTestFinished(() => void vi.unstubAllEnvs());
  terminal.press("ctrl+u");
  terminal.type("/export ~/talk.md\n");
  await terminal.until("Wrote ~/talk.md");
  expect(existsSync(join(home, "talk.md"))).toBe(true);
});

test("/reload reports loaded and failed extensions", async () => {
  const project = agentProject(says("Good."));
  const folder = join(project.home, "extensions");
  const { terminal } = openInteractive({ project });
  await terminal.until("/100k");
  mkdirSync(folder);
  writeFileSync(join(folder, "good.ts"), "export default function () {}");
  writeFileSync(join(folder, "bad.ts"), "export default 1;");
  terminal.type("/reload\n");
  await terminal.until(/Reloaded 1 extension in \d+ ms/);
  await terminal.until("bad.ts");
});

test("an extension's command runs in the mode tui, and its key too", async () => {
  const project = agentProject(says("Good."));
  mkdirSync(join(project.home, "extensions"));
  writeFileSync(
    join(project.home, "extensions", "greet.ts"),
    `export default function (bonsai) {
      bonsai.registerCommand("greet", { handler: async (args, ctx) => ctx.ui.notify(\`Hello \${args} in \${ctx.mode}\`) });
      bonsai.registerShortcut("ctrl+t", { handler: async (ctx) => ctx.ui.notify("The key was heard") });
    }`,
  );
  const { terminal } = openInteractive({ project });
  await terminal.until("/100k");
  terminal.type("/greet you\n");
  await terminal.until("Hello you in tui");
  terminal.press("ctrl+t");
  await terminal.until("The key was heard");
});

test("Bonsai opens without a model, and the footer and a returned prompt name the remedy", async () => {
  const { terminal, project } = openInteractive({ withModel: false, columns: 100 });
  await terminal.until("bonsai demo");
  expect(await terminal.until("no model: store a key with /login")).not.toContain("none");
  terminal.type("Fix the test\n");
  const screen = await terminal.until((each) => each.split("No model available yet").length === 3);
  expect(screen).toContain("Fix the test");
  const kept = readdirSync(project.home, { recursive: true, encoding: "utf8" });
  expect(kept.filter((name) => /^sessions.*\.jsonl$/.test(name))).toEqual([]);
});

test("BONSAI_FIRST_RUN plays the demo at the start, and the user can type meanwhile", async () => {
  const { terminal } = openInteractive({
    withModel: false,
    columns: 100,
    rows: 40,
    env: { BONSAI_FIRST_RUN: "demo" },
  });
  await terminal.until("The tests fail");
  terminal.type("What is this?\n");
  await terminal.until((screen) => /What is this\?/.test(screen));
  terminal.press("esc");
  await terminal.until("Stopped.");
});

test("an extension that never comes is shown by a line, takes what is typed, and does not keep the user", async () => {
  const project = agentProject(says("Good."));
  mkdirSync(join(project.home, "extensions"));
  writeFileSync(
    join(project.home, "extensions", "never.ts"),
    "await new Promise(() => {}); export default function () {}",
  );
  const { terminal, ended } = openInteractive({ project });
  terminal.type("Early bird\n");
  await terminal.until("Loading extensions…");
  expect(terminal.screen()).toContain("Next: Early bird");
  terminal.press("ctrl+c", "ctrl+c");
  expect(await ended).toBe(0);
});

test("an extension that never starts does not keep the user", async () => {
  const project = agentProject(says("Good."));
  mkdirSync(join(project.home, "extensions"));
  writeFileSync(
    join(project.home, "extensions", "slow.ts"),
    `export default function (bonsai) {
      bonsai.on("session_start", (_event, ctx) => {
        ctx.ui.notify("I take my time");
        return new Promise(() => {});
      });
    }`,
  );
  const { terminal, ended } = openInteractive({ project });
  await terminal.until("I take my time");
  terminal.press("ctrl+c", "ctrl+c");
  expect(await ended).toBe(0);
});

test("an extension that ends the program in the middle of the work lets the answer be said", async () => {
  const { terminal, ended, project } = await withExtension(
    `bonsai.registerTool({ name: "leave", description: "Ends the program", parameters: { type: "object" },
      execute(_id, _args, _signal, _update, ctx) { ctx.shutdown(); return { content: [{ type: "text", text: "Asked." }] }; },
    });`,
    { scenario: { contextWindow: 100_000, turn: [{ calls: [{ name: "leave" }] }, { text: "Goodbye." }] } },
  );
  terminal.type("leave\n");
  expect(await ended).toBe(0);
  const sessions = join(project.home, "sessions");
  const [file] = readdirSync(sessions, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".jsonl"),
  );
  expect(readFileSync(join(sessions, file!), "utf8")).toContain("Goodbye.");
});
