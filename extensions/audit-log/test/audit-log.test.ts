import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lifecycleEventNames } from "@bonsai-agent/extension";
import {
  type OpenTestSessionOptions,
  openTestSession,
  type TestSession,
} from "@bonsai-agent/extension/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import auditLog from "../index.ts";

let folder: string;
let open: TestSession | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "bonsai-audit-"));
  vi.stubEnv("BONSAI_HOME", folder);
  vi.stubEnv("BONSAI_AUDIT_LOG", undefined);
});

afterEach(async () => {
  await open?.close();
  open = undefined;
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

async function session(options: OpenTestSessionOptions = {}): Promise<TestSession> {
  open = await openTestSession({ extensions: auditLog, ui: {}, answers: () => "Done.", ...options });
  return open;
}

interface Line {
  time: string;
  session: string | null;
  event: string;
  payload: Record<string, unknown>;
}

function lines(file: string): Line[] {
  const text = readFileSync(file, "utf8");
  return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Line]));
}

function usualFile(): string {
  return join(folder, "audit", `${new Date().toISOString().slice(0, 10)}.jsonl`);
}

/** Fires an event as its package would, with a payload that has nothing but its name. */
async function fire({ lifecycle }: TestSession, name: string, payload: object = {}): Promise<void> {
  const events = lifecycle as unknown as { decide(name: string, payload: object): Promise<unknown> };
  await events.decide(name, { type: name, ...payload });
}

describe("the file", () => {
  test("has every event of a run as one line, with time, session and payload, and is the user's alone", async () => {
    const { session: stored } = await session({
      answers: [{ calls: [{ name: "ls", arguments: { path: "." } }] }, "All there."],
    });
    await open!.prompt("Look.");
    const found = lines(usualFile());
    expect(found[0]).toMatchObject({ event: "session_start", payload: { reason: "startup" } });
    for (const event of [
      "input",
      "agent_start",
      "context",
      "tool_call",
      "tool_result",
      "message_stored",
      "agent_end",
    ])
      expect(found.map((line) => line.event)).toContain(event);
    for (const { time, session: id } of found) {
      expect(Number.isNaN(Date.parse(time))).toBe(false);
      expect(id).toBe(stored.id);
    }
    expect(found.find(({ event }) => event === "tool_call")!.payload).toMatchObject({
      toolName: "ls",
      input: { path: "." },
    });
    expect(statSync(usualFile()).mode & 0o777).toBe(0o600);
  });

  test("misses none of the events that there are, also when their payloads are odd", async () => {
    await session();
    for (const name of lifecycleEventNames) await fire(open!, name, oddPayload(name)).catch(() => {});
    const seen = new Set(lines(usualFile()).map(({ event }) => event));
    expect(lifecycleEventNames.filter((name) => !seen.has(name))).toEqual([]);
  });

  test("stands where the flag says, else the environment", async () => {
    vi.stubEnv("BONSAI_AUDIT_LOG", join(folder, "from-environment"));
    await session();
    await open!.close();
    await session({ flags: { "audit-log": "from-flag.jsonl" }, cwd: folder });
    expect(lines(join(folder, "from-environment"))[0]!.event).toBe("session_start");
    expect(lines(join(folder, "from-flag.jsonl"))[0]!.event).toBe("session_start");
    expect(existsSync(join(folder, "audit"))).toBe(false);
  });

  test("keeps the mode and the lines that it had", async () => {
    const file = join(folder, "own");
    writeFileSync(file, '{"event":"before"}\n');
    chmodSync(file, 0o640);
    await session({ flags: { "audit-log": file } });
    expect(lines(file).map(({ event }) => event)).toEqual(["before", "session_start", "resources_discover"]);
    expect(statSync(file).mode & 0o777).toBe(0o640);
  });
});

function oddPayload(name: string): object {
  if (name === "message_update") return { assistantMessageEvent: { type: "text", delta: "abc" } };
  if (name === "context" || name === "agent_end") return { messages: [] };
  if (name === "session_before_compact" || name === "session_before_tree") return { preparation: {} };
  return {};
}

describe("a line", () => {
  test("holds no secrets, wherever they stand", async () => {
    const key = `sk-ant-${"a1".repeat(20)}`;
    const written = `export API_TOKEN=abcdef123456; curl -H "Authorization: Bearer abcdef1234567890" https://me:hunter2@host`;
    await session({ answers: [{ calls: [{ name: "bash", arguments: { command: "true" } }] }, "Done."] });
    await open!.prompt(`My key is ${key}. ${written}`);
    await fire(open!, "tool_result", {
      toolName: "x",
      input: { apiKey: "plain", headers: { "set-cookie": "id=1" } },
    });
    const text = readFileSync(usualFile(), "utf8");
    for (const secret of [key, "abcdef123456", "hunter2", '"plain"', "id=1"])
      expect(text).not.toContain(secret);
    expect(text).toContain("[redacted: API key]");
  });

  test("is shortened: pieces of messages and whole contexts by size, long texts to head and tail", async () => {
    await session({ answers: () => "word ".repeat(10) });
    await open!.prompt(`begin ${"x".repeat(50_000)} end`);
    const found = lines(usualFile());
    expect(found.find(({ event }) => event === "context")!.payload).toEqual({ messageCount: 1 });
    const updates = found.filter(({ event }) => event === "message_update").map(({ payload }) => payload);
    expect(JSON.stringify(updates)).not.toContain("word");
    expect(JSON.stringify(updates)).toContain('"characters":');
    expect(found.find(({ event }) => event === "input")!.payload.text).toMatch(
      /^begin x+\[30010 characters omitted\]x+ end$/,
    );
  });

  test("has no signals, no pictures, no functions, and survives circles", async () => {
    await session();
    const circle: Record<string, unknown> = { size: 10n, call: () => {} };
    circle.self = circle;
    await fire(open!, "tool_result", {
      details: circle,
      signal: AbortSignal.abort(),
      content: [{ type: "image", mimeType: "image/png", data: "AAAA" }],
      error: new Error("oh"),
    });
    expect(lines(usualFile()).at(-1)!.payload).toEqual({
      details: { size: "10", self: "[circular]" },
      content: [{ type: "image", mimeType: "image/png", data: "[4 characters of base64]" }],
      error: { name: "Error", message: "oh" },
    });
  });
});

describe("what cannot be written", () => {
  test("is notified once, breaks nothing, and leaves a gap that says how much is missing", async () => {
    const place = join(folder, "log");
    mkdirSync(place);
    await session({
      flags: { "audit-log": place },
      answers: [{ calls: [{ name: "ls", arguments: {} }] }, "Done.", "Again."],
    });
    expect(await open!.prompt("Look.")).toMatchObject({ status: "done" });
    const notified = open!.ui.filter(({ method }) => method === "notify");
    expect(notified).toEqual([
      {
        method: "notify",
        args: [expect.stringMatching(/^Cannot write to the audit log .*EISDIR/), "warning"],
      },
    ]);
    expect(
      open!.session
        .projection()
        .items.some(({ message }) => message.role === "toolResult" && message.isError),
    ).toBe(false);
    rmSync(place, { recursive: true });
    await open!.prompt("Again.");
    expect(lines(place)[0]).toMatchObject({ event: "gap", payload: { missed: expect.any(Number) } });
    expect(lines(place)[1]).toMatchObject({ event: "input" });
  });

  test("is also a pipe that nobody reads: nothing waits for it", async () => {
    const { execFileSync } = await import("node:child_process");
    execFileSync("mkfifo", [join(folder, "pipe")]);
    await session({ flags: { "audit-log": join(folder, "pipe") } });
    expect(await open!.prompt("Go on.")).toMatchObject({ status: "done" });
    expect(open!.ui[0]!.args[0]).toContain("ENXIO");
  });
});
