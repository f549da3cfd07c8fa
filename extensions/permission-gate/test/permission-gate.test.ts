import { existsSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ExtensionUI } from "@bonsai-agent/extension";
import type { OpenTestSessionOptions, TestSession } from "@bonsai-agent/extension/testing";
import { afterEach, describe, expect, test, vi } from "vitest";
import { asked, openGated } from "./gated-session.ts";

const ONCE = "Run once";

const ALWAYS = "Always allow this exact command in this session";

const NO = "Do not run";

const NOT_LISTED = "it is not on the list of read-only programs";

afterEach(() => {
  vi.unstubAllEnvs();
});

/** A session whose model makes these calls of bash, all in one answer, and whose user says these things. */
async function run(
  commands: string[],
  select: NonNullable<OpenTestSessionOptions["ui"]>["select"] | null,
  options: OpenTestSessionOptions = {},
): Promise<TestSession> {
  const open = await openGated({
    ...(select === null ? {} : { ui: { select } }),
    answers: [
      { calls: commands.map((command) => ({ name: "bash", arguments: { command } })) },
      "Done.",
      "Done again.",
    ],
    ...options,
  });
  await open.prompt("Go on.");
  return open;
}

function results({ session }: TestSession): string[] {
  return session.projection().items.flatMap(({ message }) => {
    if (message.role !== "toolResult") return [];
    const [block] = message.content;
    return [`${message.isError ? "error: " : ""}${block?.type === "text" ? block.text : ""}`];
  });
}

const COMMAND = "mkdir -p d && rm -rf d && touch ran";

describe("the question", () => {
  test("shows the command and the reason; one approval lets one call run", async () => {
    const session = await run([COMMAND, COMMAND], [ONCE, NO]);
    expect(session.ui.map(({ method, args }) => [method, args[1]])).toEqual([
      ["select", [ONCE, ALWAYS, NO]],
      ["select", [ONCE, ALWAYS, NO]],
    ]);
    expect(session.ui[0]!.args[0]).toBe(
      `Run this command?\n\n${COMMAND}\n\n${["mkdir -p d", "rm -rf d", "touch ran"].map((part) => `${part}: ${NOT_LISTED}`).join("; ")}`,
    );
    expect(existsSync(join(session.cwd, "ran"))).toBe(true);
    expect(results(session)[0]).not.toMatch(/^error/);
    expect(results(session)[1]).toMatch(
      /^error: .*The user refused this command \(mkdir -p d: it is not on the list/s,
    );
  });

  test("is not repeated for an always allowed line, also in parallel calls, until the next session", async () => {
    const session = await run([COMMAND, COMMAND, `echo again; ${COMMAND}`], [ALWAYS, NO, NO]);
    expect(session.ui.map(({ args }) => (args[0] as string).split("\n")[2])).toEqual([
      COMMAND,
      `echo again; ${COMMAND}`,
    ]);
    await session.lifecycle.notify("session_start", { type: "session_start", reason: "new" });
    expect(await asked(COMMAND, {}, session)).toContain("user refused");
  });

  test("closed without an answer counts as no", async () => {
    const session = await run([COMMAND], () => undefined);
    expect(results(session)[0]).toContain("user refused");
    expect(existsSync(join(session.cwd, "ran"))).toBe(false);
  });

  test("shows nothing that moves a terminal's cursor, and not all of a long command", async () => {
    const session = await run([`rm -rf d # \x1b[2K\u202e${"x".repeat(5_000)}`], [NO]);
    expect(session.ui[0]!.args[0]).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
    expect((session.ui[0]!.args[0] as string).length).toBeLessThan(3_000);
  });
});

describe("it fails closed", () => {
  test("without a user, with a reason for the model", async () => {
    const session = await run([COMMAND], null);
    expect(results(session)[0]).toMatch(
      /^error: .*No user is present to allow this command.*Do not work around this/s,
    );
    expect(existsSync(join(session.cwd, "ran"))).toBe(false);
  });

  test("if the question throws", async () => {
    const broken: ExtensionUI["select"] = () => Promise.reject(new Error("no terminal"));
    const session = await run([COMMAND], broken);
    expect(results(session)[0]).toMatch(/^error/);
    expect(existsSync(join(session.cwd, "ran"))).toBe(false);
    expect(session.notices.map(({ message }) => message).join()).toContain("no terminal");
  });

  test("with an invalid pattern: nothing runs until it is corrected", async () => {
    const session = await run(["echo ran"], [ONCE], { flags: { "gate-also": "(" } });
    expect(results(session)[0]).toMatch(/^error/);
    expect(session.notices.map(({ message }) => message).join()).toContain(
      "gate-also is not a valid regular expression: (",
    );
  });

  test("for a line that is nested too deep to be read", async () => {
    expect(await asked(`echo ${"$(".repeat(100)}${")".repeat(100)}`)).toBeDefined();
  });
});

describe("settings", () => {
  test("asks about commands that gate-also matches, from flag or variable", async () => {
    expect(await asked("make deploy", { flags: { "gate-also": "^make (deploy|release)" } })).toContain(
      "it matches gate-also",
    );
    vi.stubEnv("BONSAI_GATE_ALSO", "^make deploy");
    expect(await asked("cd x; make deploy")).toContain("it matches gate-also");
  });

  test("runs a command that gate-allow matches as a whole, also without a user", async () => {
    vi.stubEnv("BONSAI_GATE_ALLOW", "rm -rf (dist|build)|npx .*");
    expect(await asked("rm -rf dist && ls")).toBeUndefined();
    expect(await asked("npx vitest run 2>&1 | tail")).toBeUndefined();
    expect(await asked("rm -rf dist src")).toContain(NOT_LISTED);
    expect(await asked("npx vitest; sudo ls")).toContain("sudo ls");
    expect(await asked("npx vitest > src/a.ts")).toContain("it writes src/a.ts");
    expect(await asked("npx $(rm x)")).toContain("cannot read it surely");
  });
});

test("asks again before a changed script, also when it was always allowed", async () => {
  const open = await openGated({ ui: { select: [ALWAYS, NO] } });
  const script = join(open.cwd, "x.sh");
  const edit = () =>
    open.lifecycle.decide("tool_call", {
      type: "tool_call",
      toolCallId: "1",
      toolName: "write",
      input: { path: "x.sh", content: "" },
    });
  writeFileSync(script, "");
  await edit();
  expect(await asked("bash x.sh", {}, open)).toBeUndefined();
  expect(await asked("bash x.sh", {}, open)).toBeUndefined();
  utimesSync(script, 0, 0);
  await edit();
  expect(await asked("bash x.sh", {}, open)).toContain("x.sh changed in this session");
});

describe("covered calls", () => {
  test("include any tool with a command, as a text or a list of words", async () => {
    expect(await asked(["bash", "-lc", "rm -rf 'a b'"])).toContain(NOT_LISTED);
    expect(await asked(["cat", "a;b"])).toBeUndefined();
    expect(await asked(undefined)).toBeUndefined();
    expect(await asked(7)).toBeUndefined();
  });

  test("include calls of sub-agents", async () => {
    const open = await openGated({
      ui: { select: NO },
      answers: ({ messages: [first, ...rest] }) => {
        const isSubAgent = JSON.stringify(first).includes("clean it all");
        if (rest.length > 0) return "Ended.";
        const prompt = { description: "clean", prompt: "clean it all" };
        return {
          calls: [
            isSubAgent
              ? { name: "bash", arguments: { command: COMMAND } }
              : { name: "task", arguments: prompt },
          ],
        };
      },
    });
    await open.prompt("Let it be cleaned.");
    expect(open.requests).toHaveLength(4);
    expect(open.ui.map(({ method }) => method)).toEqual(["select"]);
    expect(existsSync(join(open.cwd, "ran"))).toBe(false);
  });

  test("exclude the user's own commands", async () => {
    const open = await openGated({ ui: {} });
    const { result } = await open.lifecycle.decide("user_bash", {
      type: "user_bash",
      command: COMMAND,
      excludeFromContext: false,
      cwd: open.cwd,
    });
    expect([result, open.ui]).toEqual([undefined, []]);
  });
});
