import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { listSessions } from "@bonsai-agent/session";
import { expect, test } from "vitest";
import { says } from "../agent-project.ts";
import { longSession } from "../sample-session.ts";
import { type OpenedInteractive, type OpenInteractiveOptions, openInteractive } from "./harness.ts";

async function opened(options: OpenInteractiveOptions = {}): Promise<OpenedInteractive> {
  const room = openInteractive({ scenario: says("Good."), rows: 40, ...options });
  await room.terminal.until("/100k");
  return room;
}

/** In a folder that has a session about animals already. @param more said in it too */
async function openedAgain(more?: string): Promise<OpenedInteractive> {
  const first = await opened();
  await say(first, "about animals");
  if (more !== undefined) {
    first.terminal.type(`${more}\n`);
    await first.terminal.until((screen) => screen.split("Good.").length > 2);
  }
  await first.end();
  return opened({ project: first.project });
}

async function say({ terminal }: OpenedInteractive, text: string): Promise<void> {
  terminal.type(`${text}\n`);
  await terminal.until("Good.");
}

/** Types a command and sends it, whatever the completion shows of it. */
function command({ terminal }: OpenedInteractive, text: string): void {
  terminal.paste(text);
  terminal.press("enter");
}

function sessionsOf({ project }: OpenedInteractive) {
  return listSessions({ home: project.home, cwd: project.cwd }).sessions;
}

test("/name names the session, by what stands behind it or by what is typed", async () => {
  const room = await opened();
  await say(room, "hello");
  command(room, "/name The first one");
  await room.terminal.until("called “The first one”");
  command(room, "/name");
  await room.terminal.until("Name of this session");
  room.terminal.type(", renamed\n");
  await room.terminal.until("called “The first one, renamed”");
  expect(sessionsOf(room)[0]?.name).toBe("The first one, renamed");
});

test("/thinking sets the level, and refuses what is none", async () => {
  const room = await opened();
  command(room, "/thinking enormous");
  await room.terminal.until("“enormous” is no level");
  command(room, "/thinking high");
  await room.terminal.until("Thinking is high");
  command(room, "/thinking");
  expect(await room.terminal.until("How much the model thinks")).toContain("high ●");
  room.terminal.type("off\n");
  await room.terminal.until("Thinking is off");
});

test("/session tells file, id, entries, tokens, cost and compactions", async () => {
  const room = await opened();
  await say(room, "hello");
  command(room, "/session");
  const screen = await room.terminal.until("compactions");
  const [session] = sessionsOf(room);
  for (const word of [session!.id, "entries", "tokens", "cost"]) expect(screen).toContain(word);
});

test("/session says where there is no model yet", async () => {
  const room = openInteractive({ withModel: false, rows: 40 });
  await room.terminal.until("/login stores a key");
  command(room, "/session");
  const screen = await room.terminal.until(/cost +\$0/);
  expect(screen).toMatch(/model +none yet/);
  expect(screen).toMatch(/context +~[\d,]+ tokens, window unknown/);
});

test("/settings writes a setting, told with its meaning, and takes it back", async () => {
  const room = await opened();
  const file = join(room.project.home, "settings.json");
  command(room, "/settings");
  await room.terminal.until("Settings,");
  room.terminal.type("keepRecent");
  expect(await room.terminal.until("Default: 20000")).toContain("stay as they are");
  room.terminal.press("enter");
  await room.terminal.until("Empty means the default");
  room.terminal.press("ctrl+u");
  room.terminal.type("many\n");
  await room.terminal.until("many is no number");
  room.terminal.press("ctrl+u");
  room.terminal.type("9,000\n");
  await room.terminal.until("compaction.keepRecentTokens is 9000. Holds at once.");
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ compaction: { keepRecentTokens: 9_000 } });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  room.terminal.press("ctrl+d");
  await room.terminal.until("20000 (default)");
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({});
  room.terminal.press("esc");
  await room.terminal.until("Settings changed: compaction.keepRecentTokens");
});

test("/login stores a key for its owner alone, and shows it nowhere", async () => {
  const room = await opened();
  command(room, "/login anthropic");
  await room.terminal.until("Key for anthropic");
  room.terminal.type("sk-secret-1234");
  await room.terminal.until("••••");
  room.terminal.press("enter");
  await room.terminal.until("The key for anthropic is stored");
  const file = join(room.project.home, "auth.json");
  expect(JSON.parse(readFileSync(file, "utf8")).anthropic.key).toBe("sk-secret-1234");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(room.terminal.written.join("")).not.toContain("secret");
});

test("/model lists what can be used with windows and prices, and sets what is picked", async () => {
  const room = await opened({ env: { ANTHROPIC_API_KEY: "sk-x" } });
  command(room, "/model opus");
  await room.terminal.until(/anthropic\/claude-opus\S*\s+\S+ · \$\d/);
  room.terminal.press("enter");
  await room.terminal.until(/anthropic\/claude-opus\S* answers from the next request on/);
});

test("/model makes a model the one to begin with", async () => {
  const room = await opened({ env: { ANTHROPIC_API_KEY: "sk-x" } });
  command(room, "/model opus");
  await room.terminal.until(/anthropic\/claude-opus\S*\s+\S+ · \$\d/);
  room.terminal.press("ctrl+s");
  await room.terminal.until(/Sessions begin with anthropic\/claude-opus\S* from the next start on\./);
  const settings = JSON.parse(readFileSync(join(room.project.home, "settings.json"), "utf8"));
  expect(settings.model).toMatch(/^anthropic\/claude-opus/);
});

test("/model lists and marks the model in use, also one that only the command line knows", async () => {
  const room = await opened({ rows: 20, env: { ANTHROPIC_API_KEY: "sk-x" } });
  command(room, "/model");
  const screen = await room.terminal.until(/› scripted\/\S+ ●/);
  expect(screen.match(/^ {3}anthropic\//gm)?.length).toBeGreaterThanOrEqual(3);
});

test("/model says of a model without a key how to come by one", async () => {
  const room = await opened({ env: { OPENAI_API_KEY: "" } });
  command(room, "/model gpt");
  await room.terminal.until("Model");
  room.terminal.press("tab");
  await room.terminal.until("openai/gpt");
  room.terminal.press("enter");
  await room.terminal.until("see /login");
});

test("/trust tells what a project brings, and trusts it once the user says yes", async () => {
  const room = await opened();
  command(room, "/trust");
  await room.terminal.until("Trust this project?");
  room.terminal.press("enter");
  await room.terminal.until((screen) => !screen.includes("Trust this project?"));
  expect(existsSync(join(room.project.home, "trust.json"))).toBe(false);
  command(room, "/trust");
  await room.terminal.until("Trust this project?");
  room.terminal.press("y", "enter");
  await room.terminal.until("is trusted.");
  command(room, "/trust off");
  await room.terminal.until("no longer trusted");
});

test("/resume opens another session, found by its whole text", async () => {
  const room = await openedAgain("the zebra too");
  await say(room, "about plants");
  command(room, "/resume");
  const screen = await room.terminal.until("Sessions, in");
  expect(screen).toContain("about plants ●");
  room.terminal.type("zebra");
  await room.terminal.until("Nothing matches; Ctrl-F");
  room.terminal.press("ctrl+f");
  await room.terminal.until("1 session with “zebra” in the text.");
  room.terminal.press("enter");
  await room.terminal.until((seen) => seen.includes("about animals") && !seen.includes("Sessions, in"));
});

test("/resume renames and deletes, but for the session in use", async () => {
  const room = await openedAgain();
  await say(room, "about plants");
  command(room, "/resume");
  await room.terminal.until("Sessions, in");
  room.terminal.press("ctrl+d");
  await room.terminal.until("This session is in use");
  room.terminal.type("animals");
  await room.terminal.until("1/1 of 2");
  room.terminal.press("ctrl+r");
  await room.terminal.until("Name of the session");
  room.terminal.type("Zoo animals\n");
  await room.terminal.until((screen) => /Zoo animals/.test(screen) && screen.includes("1/1 of 2"));
  room.terminal.press("ctrl+d");
  await room.terminal.until("Delete this session?");
  room.terminal.press("y");
  await room.terminal.until(/Moved to \S+trash\. Ctrl-Z/);
  expect(sessionsOf(room).map(({ firstWords }) => firstWords)).toEqual(["about plants"]);
  const [folder] = readdirSync(join(room.project.home, "trash"));
  expect(readdirSync(join(room.project.home, "trash", folder!))).toHaveLength(1);
});

test("a panel fits 40 columns, and its keys stand below it", async () => {
  const room = await opened({ columns: 40, rows: 24 });
  command(room, "/settings");
  const screen = await room.terminal.until("Esc leave");
  expect(screen).toContain("1/16");
  for (const line of screen.split("\n")) expect(line.length).toBeLessThanOrEqual(40);
});

test("/login does not show a key that stands behind the provider's name, and asks again for one that is none", async () => {
  const room = await opened({ env: { ANTHROPIC_API_KEY: "sk-other" } });
  command(room, "/login anthropic sk-given");
  await room.terminal.until("Keys are typed or pasted here only");
  expect(room.terminal.screen()).not.toContain("› anthropic sk-given");
  room.terminal.type('with "quotes"\n');
  await room.terminal.until("holds a blank");
  room.terminal.type("sk-right");
  room.terminal.press("home", "left", "ctrl+k");
  room.terminal.type("-1\n");
  await room.terminal.until(/while ANTHROPIC_API_KEY is set, that is\s+used\./);
  const file = join(room.project.home, "auth.json");
  expect(JSON.parse(readFileSync(file, "utf8")).anthropic.key).toBe("sk-right-1");
  command(room, "/login anthropic");
  await room.terminal.until("Key for anthropic");
});

test("the first run says in three lines what works, each on its line at 80 columns", async () => {
  const room = openInteractive({ withModel: false, columns: 80 });
  const screen = await room.terminal.until("/login stores a key");
  const lines = screen.split("\n");
  const first = lines.findIndex((line) => line.includes("No model can be used yet; /demo"));
  expect(lines[first + 1]).toMatch(/bonsai compact FILE.*Claude Code, Codex and pi sessions\.$/);
  expect(lines[first + 2]).toMatch(/\/login.*local server.*found\.$/);
});

test("a server that is written into models.json at work is there for /login, /model and the next message", async () => {
  const room = openInteractive({ withModel: false });
  await room.terminal.until("/login stores a key");
  const file = join(room.project.home, "models.json");
  writeFileSync(file, "{");
  command(room, "/model");
  await room.terminal.until("models_unreadable");
  await room.terminal.until("No model can be used yet: /login");
  room.terminal.press("escape");
  const scenario = join(dirname(room.project.cwd), "scenario.json");
  const box = { provider: "box", api: "scripted", baseUrl: scenario, models: [{ id: "coder" }] };
  const safe = { ...box, provider: "safe", apiKeyEnv: "SAFE_KEY" };
  writeFileSync(file, JSON.stringify({ providers: [box, safe] }));
  command(room, "/login safe");
  await room.terminal.until("Key for safe");
  room.terminal.press("escape");
  command(room, "/model");
  await room.terminal.until("box/coder");
  room.terminal.press("escape");
  await say(room, "hello");
  await room.terminal.until("Good.");
});

test("/resume keeps what a search of the texts found while one of them is renamed and deleted", async () => {
  const room = await openedAgain("the zebra too");
  command(room, "/resume");
  await room.terminal.until("Sessions, in");
  room.terminal.type("zebra");
  room.terminal.press("ctrl+f");
  await room.terminal.until("1 session with “zebra” in the text.");
  room.terminal.press("ctrl+r");
  await room.terminal.until("Name of the session");
  room.terminal.press("ctrl+u");
  room.terminal.type("Stripes\n");
  await room.terminal.until(/› Stripes/);
  room.terminal.press("ctrl+d");
  await room.terminal.until("Delete this session?");
  room.terminal.press("y");
  await room.terminal.until("Nothing found.");
  await room.terminal.until("Moved to");
  room.terminal.press("ctrl+u");
  room.terminal.press("ctrl+z");
  await room.terminal.until("The session is back.");
  await room.terminal.until("› Stripes");
  room.terminal.press("enter");
  await room.terminal.until("about animals");
});

test("what is worth knowing of a session that /resume opens stands below it", async () => {
  const room = await opened();
  await say(room, "about plants");
  command(room, `/resume ${longSession()}`);
  await room.terminal.until(/Command exited[\s\S]*This session was begun in/);
  command(room, "/new");
  await room.terminal.until((screen) => !screen.includes("This session was begun in"));
});

test("/resume says what became of a session of an older format that is named", async () => {
  const room = await opened();
  await say(room, "about plants");
  const folder = dirname(sessionsOf(room)[0]!.file);
  const at = "2026-01-01T00:00:00.000Z";
  const lines = [
    { type: "session", id: "11111111-0000-4000-8000-000000000001", timestamp: at, cwd: room.project.cwd },
    { type: "message", timestamp: at, message: { role: "user", content: "very old", timestamp: 1 } },
  ];
  writeFileSync(join(folder, "old.jsonl"), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  command(room, "/resume");
  await room.terminal.until("Sessions, in");
  room.terminal.type("very old");
  await room.terminal.until("1/1 of 2");
  room.terminal.press("ctrl+r");
  await room.terminal.until("Name of the session");
  room.terminal.type("Ancient\n");
  await room.terminal.until("older format");
});
