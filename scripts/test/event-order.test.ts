import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { lifecycleEventRules } from "@bonsai-agent/agent";
import type { ExtensionAPI } from "@bonsai-agent/extension";
import {
  type OpenTestSessionOptions,
  openTestSession,
  type TestSession,
} from "@bonsai-agent/extension/testing";
import { history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { agentProject } from "../../packages/cli/test/agent-project.ts";
import { RpcSession } from "../../packages/cli/test/rpc-session.ts";
import { EVENT_ORDER } from "../reference/events.ts";

const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const drawing = readFileSync(`${root}/${EVENT_ORDER}`, "utf8");
const eventNames = Object.keys(lifecycleEventRules);

const [run = "", besideRuns = ""] = drawing.split("  Outside a run:");
const eventsIn = (text: string) => text.match(/[a-z_]+/g)!.filter((word) => eventNames.includes(word));
/** The first word of each line that is an event, from top to bottom. */
const spine = (text: string) =>
  [...text.matchAll(/^[^a-z\n]*([a-z_]+)/gm)]
    .map(([, word]) => word!)
    .filter((word) => eventNames.includes(word));
const exits = [...drawing.matchAll(/([a-z_]+) ─+ (.*?) ──► (.*)/g)].map(([, from, why, to]) => ({
  from: from!,
  why: why!,
  to: eventsIn(to!),
}));

test("the drawing contains every event", () => {
  expect(eventNames.filter((name) => !eventsIn(drawing).includes(name))).toEqual([]);
});

/** Records the events of a session from start to end. Repeated events count once. */
async function orderOf(
  { extensions = [], ...options }: OpenTestSessionOptions,
  act: (session: TestSession) => Promise<unknown>,
): Promise<string[]> {
  const seen: string[] = [];
  const recorder = (bonsai: ExtensionAPI) => {
    for (const name of eventNames as "message_update"[])
      bonsai.on(name, () => {
        if (seen.at(-1) !== name) seen.push(name);
      });
  };
  const session = await openTestSession({ ...options, extensions: [recorder, extensions].flat() });
  await act(session);
  await session.close();
  return seen;
}

const prompt = (session: TestSession) => session.prompt("hi");
const call = { calls: [{ name: "bash", arguments: { command: "echo hi" } }] };
/** A session above the threshold, with tool results that can be masked. It has no budget lines: they are stored like messages. */
const fullContext = (): OpenTestSessionOptions => ({
  session: history("U:6000 A U:5000 A U:5000 A | U A(t1) T1:900 A(t2) T2:2200 A").session,
  model: { contextWindow: 20_000, maxOutputTokens: 2_000 },
  settings: {
    compaction: {
      mask: { protectTokens: 2_000, minimumTokens: 500 },
      keepRecentTokens: 4_000,
      showBudget: false,
    },
  },
});

test("a run with a compaction and a tool follows the drawing, with a second turn", async () => {
  const order = await orderOf({ ...fullContext(), answers: [call, "done"] }, prompt);
  const drawn = spine(run);
  const begin = drawn.lastIndexOf("turn_start");
  const lastTurn = drawn.slice(begin, drawn.indexOf("tool_execution_start"));
  // The drawing repeats this one for later turns.
  drawn.splice(begin, 1);
  const end = drawn.indexOf("turn_end");
  expect(order).toEqual([...drawn.slice(0, end + 1), ...lastTurn, "turn_end", ...drawn.slice(end + 1)]);
});

const says = (name: string, result: object) => (bonsai: ExtensionAPI) =>
  void bonsai.on(name as "tool_call", () => result);
const overflow = { error: { status: 400, message: "prompt is too long: 21000 tokens > 20000 maximum" } };

/** Sessions that take each exit of a run. */
const ways: Record<string, OpenTestSessionOptions> = {
  "input handled": { extensions: says("input", { action: "handled" }) },
  "session_before_mask cancelled": {
    ...fullContext(),
    answers: "done",
    extensions: says("session_before_mask", { cancel: true }),
  },
  "session_before_compact cancelled": {
    ...fullContext(),
    answers: "done",
    extensions: says("session_before_compact", { cancel: true }),
  },
  "before_provider_request too long": {
    ...fullContext(),
    settings: { compaction: { enabled: false, keepRecentTokens: 4_000 } },
    answers: [overflow, "done"],
  },
  "message_stored failed, aborted": { answers: [{ error: { status: 401, message: "invalid key" } }] },
  "tool_call blocked": { answers: [call, "done"], extensions: says("tool_call", { block: true }) },
};

test.each(exits.filter(({ from }) => run.includes(from)))("$from, $why, leads to $to", async (exit) => {
  const { from, why, to } = exit;
  const order = await orderOf(ways[`${from} ${why}`]!, prompt);
  const length = Math.max(1, to.length);
  const told = order.filter((name) => name !== "message_update");
  const after = told.flatMap((name, at) => (name === from ? [told.slice(at + 1, at + 1 + length)] : []));
  // Without a target, the next event is the end of the session.
  expect(after).toContainEqual(to.length === 0 ? ["session_shutdown"] : to);
});

/** The parts of the drawing outside a run. */
const parts = besideRuns
  .split("  At any time:")[0]!
  .split(/\n\s*\n/)
  .map(spine)
  .filter((part) => part.length > 0);
/** The first events of a session. */
const opened = ["session_start", "resources_discover"];
const partOf = (name: string) => parts.find(([first]) => first === name)!;
const first = (session: TestSession) => session.session.projection().items[0]!.entryId;
const navigate = (session: TestSession) => session.agent.navigate(first(session));
const runCommand = (session: TestSession) => session.agent.runUserCommand("true").catch(() => {});
const withHistory = (): OpenTestSessionOptions => ({ session: history("U A U A").session });

test.each([
  ["session_before_tree", navigate, { cancel: true }],
  ["user_bash", runCommand, { block: true }],
] as const)("%s is followed by the drawn events, unless a handler refuses", async (name, act, no) => {
  const order = await orderOf(withHistory(), act);
  expect(order).toEqual([...opened, ...partOf(name), "session_shutdown"]);
  const refused = await orderOf({ ...withHistory(), extensions: says(name, no) }, act);
  expect(refused).toEqual([...opened, name, "session_shutdown"]);
});

/** Sends one command to `bonsai --mode rpc` and returns its events. */
async function orderOfCommand(command: { type: string }, extension: string): Promise<string[]> {
  const project = agentProject({ contextWindow: 100_000, turn: [] }, { "handlers.ts": extension });
  const header = { type: "session", version: 3, id: "s", timestamp: "2026-01-01T00:00:00.000Z" };
  const message = { role: "user", content: "hi", timestamp: 0 };
  const entry = { type: "message", id: "00000001", parentId: null, timestamp: header.timestamp, message };
  const session = join(project.cwd, "session.jsonl");
  writeFileSync(session, `${JSON.stringify({ ...header, cwd: project.cwd })}\n${JSON.stringify(entry)}\n`);
  const rpc = new RpcSession(project, ["--session", session, "-e", "handlers.ts"]);
  await rpc.ask(command);
  await rpc.end();
  return rpc.lines.map(({ type }) => String(type)).filter((type) => eventNames.includes(type));
}

test.each([
  ["session_before_switch", { type: "new_session" }],
  ["session_before_fork", { type: "fork", entryId: "00000001" }],
])("%s is followed by the drawn events, unless a handler refuses", async (name, command) => {
  const none = "export default () => {};";
  expect(await orderOfCommand(command, none)).toEqual([...opened, ...partOf(name), "session_shutdown"]);
  const no = `export default (bonsai) => { bonsai.on("${name}", () => ({ cancel: true })); };`;
  expect(await orderOfCommand(command, no)).toEqual([...opened, name, "session_shutdown"]);
});

test("every drawn exit has a test", () => {
  const beside = ["session_before_tree", "user_bash", "session_before_switch", "session_before_fork"];
  const ofRuns = exits.filter(({ from }) => !beside.includes(from)).map(({ from, why }) => `${from} ${why}`);
  expect(ofRuns.sort()).toEqual(Object.keys(ways).sort());
});
