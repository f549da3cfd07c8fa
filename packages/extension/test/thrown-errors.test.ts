import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { openTestSession } from "../src/testing/index.ts";
import { scratchModules } from "./scratch.ts";
import { saying } from "./test-tool.ts";

test("a handler that throws is named with place and cause, without the loader's numbers", async () => {
  using modules = scratchModules();
  const path = modules.write("faulty.ts", [
    "export default (bonsai) => {",
    '  bonsai.on("input", () => {',
    '    throw new Error("no ears", { cause: new Error("the cable is loose") });',
    "  });",
    '  bonsai.on("agent_start", () => import("./missing.ts"));',
    "};",
  ]);
  await using session = await openTestSession({ extensions: path, answers: ["Hi."] });
  expect(await session.prompt("Hello")).toMatchObject({ status: "done" });
  const [first, second] = session.notices.map(({ message }) => message);
  expect(first).toContain(`faulty.ts failed in input: no ears (${path}:3:11)\nCause: the cable is loose`);
  expect(second).toContain("failed in agent_start");
  expect(JSON.stringify(session.notices)).not.toContain("bonsai=");
});

test("the stack of a command's error has no loader's numbers", async () => {
  using modules = scratchModules();
  const path = modules.write("faulty.ts", [
    "export default (bonsai) => {",
    '  bonsai.registerCommand("fall", { async handler() {',
    '    throw new Error("over a root", { cause: new Error("dark") });',
    "  } });",
    "};",
  ]);
  await using session = await openTestSession({ extensions: path });
  const failure = await session.command("/fall").catch((error) => error);
  expect(failure.message).toContain(`failed: over a root (${path}:3:11)\nCause: dark`);
  expect(failure.cause.stack).toContain("faulty.ts:3:11");
  expect(`${failure.cause.stack}${failure.cause.cause.stack}`).not.toContain("bonsai=");
});

/** Values that cannot be made a text. */
const unreadable: readonly (readonly [string, () => unknown])[] = [
  ["an object without prototype", () => Object.create(null)],
  ["a revoked proxy", revoked],
  ["an error whose message throws", () => Object.defineProperty(new Error(), "message", { get: fail })],
  [
    "an error that is its own cause",
    () => Object.assign(new Error("round"), { cause: undefined, isRound: true }),
  ],
  ["nothing", () => undefined],
  ["a symbol", () => Symbol("s")],
];

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function fail(): never {
  throw new Error("not even this");
}

test("an extension that throws unreadable values everywhere disturbs nothing", () =>
  everyRow(unreadable)(async ([_name, make]) => {
    const thrown = () => {
      const value = make();
      if (value instanceof Error && "isRound" in value) value.cause = value;
      throw value;
    };
    await using session = await openTestSession({
      extensions(bonsai) {
        for (const event of ["session_start", "input", "context", "turn_end", "agent_end"] as const)
          bonsai.on(event, thrown);
        bonsai.on("message_end", () => Object.fromEntries(new Map().set("then", thrown)) as never);
        bonsai.registerTool({ ...saying("fall"), execute: thrown });
        bonsai.registerTool({ ...saying("trip"), prepareArguments: thrown });
        bonsai.registerCommand("fall", { handler: thrown, getArgumentCompletions: thrown });
        bonsai.registerShortcut("f1", { handler: thrown });
        bonsai.events.on("fall", thrown);
        bonsai.registerCommand("emit", { handler: () => bonsai.events.emit("fall") });
        bonsai.registerCommand("compact", { handler: (_, ctx) => ctx.compact({ onError: thrown }) });
      },
      answers: [{ calls: [{ name: "fall" }, { name: "trip" }] }, "Done."],
    });
    expect(await session.prompt("Go.")).toMatchObject({ status: "done" });
    await expect(session.command("/fall")).rejects.toMatchObject({ code: "extension_command_failed" });
    expect(await session.extensions.completeCommand("fall", "")).toEqual([]);
    expect(await session.extensions.runShortcut("f1")).toBe(true);
    await session.command("/emit");
    await session.command("/compact");
    await expect.poll(() => session.notices.at(-1)?.code).toBe("extension_callback_failed");
    const codes = new Set(session.notices.map(({ code }) => code));
    expect([...codes].sort()).toEqual([
      "extension_callback_failed",
      "extension_completion_failed",
      "extension_listener_failed",
      "extension_shortcut_failed",
      "handler_error",
    ]);
  }));

test("a factory that throws an unreadable value fails", () =>
  everyRow(unreadable)(async ([_name, make]) => {
    await using session = await openTestSession({
      extensions: () => {
        throw make();
      },
    });
    expect(session.extensions.failed).toMatchObject([{ error: { code: "extension_failed" } }]);
  }));
