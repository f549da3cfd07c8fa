import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type OpenTestSessionOptions,
  openTestSession,
  type TestSession,
} from "@bonsai-agent/extension/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import notify from "../index.ts";

let folder: string;
let open: TestSession | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "bonsai-notify-"));
  for (const name of [
    "BONSAI_NOTIFY",
    "BONSAI_NOTIFY_AFTER",
    "BONSAI_NOTIFY_COMMAND",
    "TMUX",
    "TERM_PROGRAM",
  ])
    vi.stubEnv(name, undefined);
  vi.stubEnv("TERM", "xterm-256color");
  vi.stubEnv("BONSAI_NOTIFY_TERMINAL", join(folder, "terminal"));
});

afterEach(async () => {
  await open?.close();
  open = undefined;
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** The terminal's output after one prompt. */
async function shown(
  flags: Record<string, string> = {},
  options: OpenTestSessionOptions = {},
): Promise<string> {
  open = await openTestSession({
    extensions: notify,
    mode: "tui",
    ui: {},
    answers: () => "Done.",
    flags: { "notify-after": "0", ...flags },
    ...options,
  });
  await open.prompt("Go on.");
  return onTerminal();
}

function onTerminal(): string {
  const file = join(folder, "terminal");
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

function warnings(): unknown[] {
  return open!.ui.flatMap(({ method, args }) => (method === "notify" ? [args[0]] : []));
}

const failing: OpenTestSessionOptions = {
  answers: () => {
    throw new Error("the\nserver \x1b]0;is gone; for good");
  },
};

describe("when", () => {
  test("a run took as long as asked for; not after a short one, by default ten seconds", async () => {
    expect(await shown()).toBe("\x07");
    await open!.close();
    expect(await shown({ "notify-after": "" })).toBe("\x07");
  });

  test("the seconds come from the environment too; what is no number is the default", async () => {
    vi.stubEnv("BONSAI_NOTIFY_AFTER", "0");
    expect(await shown({ "notify-after": "" })).toBe("\x07");
    await open!.close();
    rmSync(join(folder, "terminal"));
    expect(await shown({ "notify-after": "soon" })).toBe("");
  });

  test("a run failed, however short", async () => {
    const [begin, ...rest] = (await shown({ "notify-after": "", notify: "osc9" }, failing)).split(
      "Bonsai: The run failed: ",
    );
    expect([begin, rest.join().replace(/[^\p{Cc}]+/u, "…")]).toEqual(["\x1b]9;", "…\x07"]);
  });

  test("a compaction failed, and not where it was cancelled", async () => {
    await shown({ "notify-after": "60", notify: "osc9" });
    const outcome = {
      status: "failed",
      reason: "manual",
      detail: "",
      tokensBefore: 1,
      estimatedTokensBefore: 0,
      tokensAfter: 1,
    } as const;
    const event = {
      type: "session_compact_failed",
      reason: "manual",
      outcome,
      willRetry: false,
      fromExtension: false,
    } as const;
    await open!.lifecycle.notify("session_compact_failed", { ...event, aborted: true });
    expect(onTerminal()).toBe("");
    await open!.lifecycle.notify("session_compact_failed", {
      ...event,
      aborted: false,
      errorMessage: "no key",
    });
    expect(onTerminal()).toBe("\x1b]9;Bonsai: Compaction failed: no key\x07");
  });

  test("not when the user stopped it", async () => {
    open = await openTestSession({
      extensions: [notify, (bonsai) => void bonsai.on("turn_start", (_event, ctx) => ctx.abort())],
      mode: "tui",
      ui: {},
      answers: () => "Done.",
      flags: { "notify-after": "0" },
    });
    expect((await open.prompt("Go on.")).status).toBe("aborted");
    expect(onTerminal()).toBe("");
  });

  test("not for a sub-agent", async () => {
    const answers: OpenTestSessionOptions["answers"] = ({ messages: [first, ...rest] }) =>
      rest.length > 0 || JSON.stringify(first).includes("look at it")
        ? "Ended."
        : { calls: [{ name: "task", arguments: { description: "look", prompt: "look at it" } }] };
    expect(await shown({}, { answers })).toBe("\x07");
    expect(open!.requests).toHaveLength(3);
  });
});

describe("how", () => {
  test.each([
    [{ TERM_PROGRAM: "iTerm.app" }, "\x1b]9;Bonsai: Finished after 0 s\x07"],
    [{ TERM_PROGRAM: "ghostty", TMUX: "/x" }, "\x07"],
    [{ TERM: "foot" }, "\x1b]777;notify;Bonsai;Finished after 0 s\x07"],
    [{ BONSAI_NOTIFY: "osc777" }, "\x1b]777;notify;Bonsai;Finished after 0 s\x07"],
    [{ BONSAI_NOTIFY: "off" }, ""],
  ])("%j", async (env, expected) => {
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    expect(await shown()).toBe(expected);
  });

  test("a style that there is not is notified once", async () => {
    expect(await shown({ notify: "loud" })).toBe("");
    await open!.prompt("Again.");
    expect(warnings()).toEqual([
      "Could not send a notification: the notify setting is loud, but must be one of auto, bell, osc9, osc777, off",
    ]);
  });

  test("nothing on the terminal of a program that drives Bonsai, nor where there is none", async () => {
    expect(await shown({}, { mode: "rpc" })).toBe("");
    await open!.close();
    vi.stubEnv("BONSAI_NOTIFY_TERMINAL", join(folder, "none", "tty"));
    await shown();
    expect(warnings()).toEqual([]);
  });
});

describe("a command of the user's", () => {
  test("gets title and text as arguments, whatever is in them, in each mode", async () => {
    const script = join(folder, "script");
    writeFileSync(script, `#!/bin/sh\nprintf '%s|' "$@" > ${folder}/seen\n`);
    chmodSync(script, 0o700);
    expect(await shown({ "notify-command": `${script} -u low` }, { ...failing, mode: "rpc" })).toBe("");
    expect(readFileSync(join(folder, "seen"), "utf8")).toMatch(
      /^-u\|low\|Bonsai\|The run failed: [^\n]*is gone; for good[^|]*\|$/,
    );
  });

  test("that fails is notified once", async () => {
    vi.stubEnv("BONSAI_NOTIFY_COMMAND", "echo no display >&2; exit 3; #");
    await shown();
    await open!.prompt("Again.");
    expect(warnings()).toEqual([
      expect.stringMatching(/^Could not send a notification: .* failed with exit code 3 no display$/),
    ]);
  });
});
