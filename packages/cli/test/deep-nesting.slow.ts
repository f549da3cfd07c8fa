import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { agentProject } from "./agent-project.ts";
import { RpcSession } from "./rpc-session.ts";
import { runCli } from "./run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "bonsai-deep-"));
const timestamp = "2026-01-05T09:00:00.000Z";
const HEADER = { type: "session", version: 3, id: "s", timestamp, cwd: "/w" };
const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 };
const user = (content: unknown) => ({ type: "message", message: { role: "user", content, timestamp: 1 } });
const call = { type: "toolCall", id: "t", name: "read", arguments: { path: "a" } };
const assistant = {
  type: "message",
  message: {
    role: "assistant",
    content: [call],
    provider: "p",
    model: "m",
    usage,
    stopReason: "stop",
    timestamp: 1,
  },
};
const result = {
  type: "message",
  message: {
    role: "toolResult",
    toolCallId: "t",
    toolName: "read",
    content: [{ type: "text", text: "x" }],
    timestamp: 1,
  },
};
const compaction = { type: "compaction", summary: "s", firstKeptEntryId: "a0", tokensBefore: 1, details: {} };

/** Where a value is nested: an entry, and the way to one of its fields. */
const places: [string, object, string[]][] = [
  ...["type", "id", "parentId", "timestamp", "message", "other"].map((field): [string, object, string[]] => [
    field,
    user("x"),
    [field],
  ]),
  ["content", user("x"), ["message", "content"]],
  ["role", user("x"), ["message", "role"]],
  ["a field of a message", user("x"), ["message", "other"]],
  ["a field of a block", user([{ type: "text", text: "x" }]), ["message", "content", "0", "other"]],
  ["arguments", assistant, ["message", "content", "0", "arguments", "path"]],
  ["usage", assistant, ["message", "usage", "input"]],
  ["details of a result", result, ["message", "details"]],
  ["details of a compaction", compaction, ["details"]],
  ["lists of a compaction", compaction, ["details", "readFiles"]],
  ["a summary", compaction, ["summary"]],
  ["data", { type: "custom", customType: "bonsai.undo" }, ["data"]],
  [
    "a custom message",
    { type: "custom_message", customType: "bonsai.pin", content: "x", display: true },
    ["details"],
  ],
  ["a label", { type: "label", targetId: "a0" }, ["label"]],
  ["a replacement", { type: "context_edit", targetId: "a0" }, ["replacement"]],
  ["a usage entry", { type: "usage", kind: "k", provider: "p", model: "m" }, ["usage"]],
  ["a type that nobody knows", { type: "hologram" }, ["depth"]],
];

function nestedFile(
  name: string,
  [entry, path]: [object, string[]],
  depth: number,
): { file: string; line: string } {
  const line = { ...entry, id: "d0", parentId: "a1", timestamp } as Record<string, unknown>;
  const copy = JSON.parse(JSON.stringify(line)) as Record<string, unknown>;
  let holder = copy;
  for (const key of path.slice(0, -1)) holder = holder[key] as Record<string, unknown>;
  holder[path.at(-1)!] = "DEEP";
  const text = JSON.stringify(copy).replace('"DEEP"', `${"[".repeat(depth)}${"]".repeat(depth)}`);
  const lines = [
    JSON.stringify(HEADER),
    JSON.stringify({ ...user("first"), id: "a0", parentId: null, timestamp }),
    JSON.stringify({ ...assistant, id: "a1", parentId: "a0", timestamp }),
    text,
    JSON.stringify({ ...user("last ".repeat(20)), id: "z0", parentId: "d0", timestamp }),
  ];
  const file = join(folder, `${name.replaceAll(" ", "-")}-${depth}.jsonl`);
  writeFileSync(file, `${lines.join("\n")}\n`);
  return { file, line: text };
}

const commands: [string, (file: string) => string[]][] = [
  ["show", (file) => ["show", file]],
  ["show --json", (file) => ["show", file, "--json"]],
  ["context", (file) => ["context", file]],
  ["context --json", (file) => ["context", file, "--json"]],
  ["tree", (file) => ["tree", file]],
  ["tree --json", (file) => ["tree", file, "--json"]],
  ["search", (file) => ["search", "--in", file, "last"]],
  ["doctor", (file) => ["doctor", file]],
  ["doctor --repair", (file) => ["doctor", file, "--repair", "--output", `${file}.repaired`]],
  ["export", (file) => ["export", file, "--output", `${file}.md`]],
  ["fork", (file) => ["fork", file, "a1", "--output", `${file}.fork`]],
  ["goto", (file) => ["goto", file, "a1"]],
  ["goto --summarize", (file) => ["goto", file, "z0", "--summarize"]],
  ["compact --dry-run", (file) => ["compact", file, "--dry-run"]],
  ["compact", (file) => ["compact", file, "--keep", "1"]],
  ["undo", (file) => ["undo", file]],
  ["import", (file) => ["import", file, "--output", `${file}.imported`]],
];

/** One command each that reads, draws and writes a session. */
const mainCommands = commands.filter(([name]) => ["show --json", "tree", "compact"].includes(name));

async function useDeep(place: string, depth: number, used: typeof commands): Promise<void> {
  const [name, entry, path] = places.find(([each]) => each === place)!;
  const { file, line } = nestedFile(name, [entry, path], depth);
  for (const [command, args] of used) {
    const { stdout, stderr } = await runCli(args(file));
    const told = `${command}: ${stdout.slice(-3_000)}${stderr.slice(-3_000)}`;
    expect.soft(told).not.toMatch(/call stack|unexpected_error|Invalid string/);
  }
  expect(readFileSync(file, "utf8").split("\n").includes(line)).toBe(true);
}

describe("every command ends well or with a clear error", () => {
  test("every command reads 20,000 nested arrays", () =>
    everyRow(["arguments", "details of a compaction", "other"])((name) => useDeep(name, 20_000, commands)));

  test("the main commands read 20,000 nested arrays in each place", () =>
    everyRow(places.map(([name]) => name))((name) => useDeep(name, 20_000, mainCommands)));

  test("two commands with 200,000 arrays in arguments", () => {
    const used = commands.filter(([name]) => ["doctor --repair", "compact"].includes(name));
    return useDeep("arguments", 200_000, used);
  }, 60_000);
});

describe("20,000 nested arrays in other files", () => {
  const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
  const deep = nested(20_000);
  const calling = { contextWindow: 100_000, turn: [{ text: "ok" }], atEnd: "repeat" } as const;

  test("a file of the home that is nested too deep is a clear error", () =>
    everyRow<[name: string, text: string, code: string]>([
      ["home/settings.json", deep, "settings_unreadable"],
      ["home/settings.json", `{"theme": ${deep}}`, "settings_unreadable"],
      ["home/settings.json", `{"nothing": ${deep}}`, "settings_unreadable"],
      ["home/models.json", `{"providers": ${deep}}`, "models_unreadable"],
      ["home/auth.json", `{"anthropic": {"key": ${deep}}}`, "model_failed"],
      ["home/trust.json", `{"folders": ${deep}}`, "settings_unreadable"],
    ])(async ([name, text, code]) => {
      const project = agentProject(calling);
      mkdirSync(join(project.cwd, ".bonsai"));
      writeFileSync(join(project.cwd, ".bonsai", "settings.json"), "{}");
      writeFileSync(join(project.cwd, "..", name), text);
      const { code: exit, stderr } = await project.run(["-p", "hi"]);
      expect(stderr.slice(0, 2_000)).toContain(`[${code}]`);
      expect(stderr.slice(0, 2_000).replaceAll(/\s+/g, " ")).toMatch(/nested deeper than 200 levels/);
      expect(exit).toBe(1);
    }));

  test("a deep package.json of a project or extension does not stop the call", async () => {
    const project = agentProject(calling, { "package.json": `{"name": "x", "other": ${deep}}` });
    const folder = join(project.home, "extensions", "deep");
    mkdirSync(folder, { recursive: true });
    for (const bonsai of [deep, `{"extensions": ${deep}}`, '{"extensions": ["./index.ts"]}']) {
      writeFileSync(join(folder, "package.json"), `{"bonsai": ${bonsai}, "other": ${deep}}`);
      writeFileSync(join(folder, "index.ts"), "export default () => {};");
      const { code, stdout, stderr } = await project.run(["-p", "hi"]);
      expect([code, stdout]).toEqual([0, "ok\n"]);
      expect(stderr.slice(0, 3_000)).not.toMatch(/call stack|unexpected/);
    }
  });

  test("lines of the RPC mode are answered", async () => {
    const rpc = new RpcSession(agentProject(calling));
    for (const line of [
      deep,
      `{"id": ${deep}, "type": "get_state"}`,
      `{"id": 1, "type": ${deep}}`,
      `{"id": 2, "type": "get_state", "other": ${deep}}`,
      `{"id": 3, "type": "prompt", "message": ${deep}}`,
      `{"type": "extension_ui_response", "id": "x", "value": ${deep}}`,
    ])
      rpc.sendText(`${line}\n`);
    expect(await rpc.ask({ type: "get_state" })).toMatchObject({ success: true });
    const errors = rpc.lines.flatMap(({ id, success, code }) => (success === false ? [[id, code]] : []));
    expect(errors).toEqual([
      [undefined, "rpc_line_unreadable"],
      [undefined, "rpc_command_invalid"],
      [1, "rpc_command_invalid"],
      [2, "rpc_command_invalid"],
      [3, "rpc_command_invalid"],
      ["x", "rpc_command_invalid"],
    ]);
    expect((await rpc.end()).code).toBe(0);
  });

  test("the model gets an error for too many arrays in a call's arguments, and the session continues", async () => {
    const argumentsText = `{"path": ${deep}}`;
    const turn = [{ calls: [{ name: "read", argumentsText }] }, { text: "I see." }];
    const project = agentProject({ contextWindow: 50_000_000, turn, atEnd: "repeat" });
    const first = await project.run(["-p", "hi"]);
    expect([first.code, first.stdout]).toEqual([0, "I see.\n"]);
    const [name] = readdirSync(project.home, { recursive: true, encoding: "utf8" }).filter((each) =>
      each.endsWith(".jsonl"),
    );
    const file = join(project.home, name!);
    expect(readFileSync(file, "utf8")).toContain("The arguments are nested deeper than 200 levels.");
    expect((await runCli(["doctor", file])).code).toBe(0);
    const second = await project.run(["-p", "--continue", "go on"]);
    expect([second.code, second.stdout]).toEqual([0, "I see.\n"]);
  });
});
