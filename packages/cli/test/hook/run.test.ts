import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { claudeCodeTranscript, codexTranscript, fewRuns } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { hookLogFile } from "../../src/call/launcher.ts";
import { type HookRun, loggedRuns, logRun } from "../../src/hook/hook-files.ts";
import { answerHook } from "../../src/hook/run.ts";
import { HookFolder, runs, says, summary, work } from "./recorded-work.ts";

/** One session of an agent that calls the hook. */
class Session extends HookFolder {
  readonly agent: string;

  constructor(agent = "claude-code") {
    super();
    this.agent = agent;
    this.writeTranscript(
      agent === "codex" ? codexTranscript([...work, summary]) : claudeCodeTranscript(work),
    );
  }

  call(hook_event_name: string, fields: object = {}): string {
    const input = {
      hook_event_name,
      session_id: "s",
      transcript_path: this.transcript,
      cwd: "/p",
      ...fields,
    };
    return this.answer(JSON.stringify(input));
  }

  answer(input: string): string {
    return answerHook({ agent: this.agent, input, home: this.home, nowMs: Date.now });
  }

  start(): string {
    return this.call("SessionStart", { source: "compact" });
  }

  post(): string {
    return this.call("PostCompact", { trigger: "auto", compact_summary: summary.summary });
  }

  prompt(): string {
    return this.call("UserPromptSubmit", { prompt: "go on" });
  }

  runs(): HookRun[] {
    return loggedRuns(this.home);
  }
}

/** The text in an answer, whose other fields are exact: Codex refuses unknown ones. */
function contextIn(answer: string, hookEventName = "SessionStart"): string {
  const { hookSpecificOutput } = JSON.parse(answer);
  const { additionalContext } = hookSpecificOutput;
  expect(JSON.parse(answer)).toEqual({ hookSpecificOutput: { hookEventName, additionalContext } });
  return additionalContext;
}

const ALL = ["git push origin release-7", "npm publish", "pnpm test billing", "never round", "loadTaxRate"];

test("the instructions before a compaction name the request, the failure and the actions", () => {
  const text = new Session().call("PreCompact", { trigger: "auto", custom_instructions: null });
  for (const fact of ["never round", "pnpm test billing", "npm publish"]) expect(text).toContain(fact);
});

test("with a known summary, the start adds only the facts that it leaves out, and the next prompt nothing", () => {
  const session = new Session();
  session.call("PreCompact", { trigger: "auto" });
  expect(session.post()).toBe("");
  const text = contextIn(session.start());
  for (const fact of ["npm publish", "never round", "loadTaxRate"]) expect(text).toContain(fact);
  for (const fact of ["git push", "pnpm test"]) expect(text).not.toContain(fact);
  expect(text).toContain(`bonsai search WORDS --in ${session.transcript}`);
  expect(session.prompt()).toBe("");
});

test("without a known summary, the start adds all facts, and a prompt adds the rest once", () => {
  const session = new Session();
  session.call("PreCompact", { trigger: "auto" });
  const text = contextIn(session.start());
  for (const fact of ALL) expect(text).toContain(fact);
  expect(session.prompt()).toBe("");
  expect(session.post()).toBe("");
  session.writeTranscript(claudeCodeTranscript([...work, summary]));
  expect(session.prompt()).toBe("");
  expect(session.prompt()).toBe("");
});

test("if the start had no room for all facts, the prompt after the summary adds missing ones once", () => {
  const session = new Session();
  const long = Array.from({ length: 400 }, (_, at) =>
    runs(`cat src/part-${at}.ts`, `export const valueOfPart${at} = loadPart${at}();`),
  ).flat();
  session.writeTranscript(claudeCodeTranscript([...work, ...long, says("assistant", "Done.")]));
  session.call("PreCompact", { trigger: "auto" });
  const first = contextIn(session.start());
  session.post();
  const names = (text: string) => new Set(text.match(/\bvalueOfPart\d+\b/g));
  const rest = contextIn(session.prompt(), "UserPromptSubmit");
  expect(names(rest).size).toBeGreaterThan(0);
  expect([...names(rest)].filter((name) => names(first).has(name))).toEqual([]);
  expect(rest).not.toContain("npm publish");
  expect(session.prompt()).toBe("");
});

test("takes the summary from the summariser's own transcript", () => {
  const session = new Session();
  session.call("PreCompact", { trigger: "auto" });
  session.writeCompactor(`<analysis>npm publish</analysis><summary>${summary.summary}</summary>`);
  const text = contextIn(session.start());
  expect(text).toContain("npm publish");
  expect(text).not.toContain("git push");
  session.post();
  expect(session.prompt()).toBe("");
});

test("if the start did not run, the first prompt adds the text once", () => {
  const session = new Session();
  session.call("PreCompact", { trigger: "manual" });
  expect(session.prompt()).toBe("");
  session.post();
  session.writeTranscript(claudeCodeTranscript([...work, summary]));
  expect(contextIn(session.prompt(), "UserPromptSubmit")).toContain("npm publish");
  expect(session.prompt()).toBe("");
});

test("a second compaction still knows the facts of the first span", () => {
  const session = new Session();
  session.call("PreCompact", { trigger: "auto" });
  session.start();
  session.post();
  const more = [...runs("terraform apply", "Apply complete"), says("assistant", "Applied.")];
  session.writeTranscript(claudeCodeTranscript([...work, summary, ...more]));
  session.call("PreCompact", { trigger: "auto" });
  const text = contextIn(session.start());
  for (const fact of ["npm publish", "terraform apply"]) expect(text).toContain(`\`${fact}\`\n`);
});

test("the start of Codex compares with the recorded compaction, once for each", () => {
  const session = new Session("codex");
  const text = contextIn(session.start());
  expect(text).toContain("npm publish");
  expect(text).not.toContain("never round");
  expect(session.start()).toBe("");
});

test("the texts fit the limits of both agents", () => {
  const long = Array.from({ length: 300 }, (_, at) => [
    says("user", `第${at}个文件 src/part-${at}.ts 必须保留，第${at}个测试不要修改。`),
    ...runs(`cat src/part-${at}.ts`, `import "./folder-${at}/part-${at}.test.ts";`),
  ]).flat();
  for (const agent of ["claude-code", "codex"]) {
    const session = new Session(agent);
    const items = [...work, ...long, says("assistant", "Done.")];
    session.writeTranscript(
      agent === "codex" ? codexTranscript([...items, summary], false) : claudeCodeTranscript(items),
    );
    const text = contextIn(session.start());
    expect(Buffer.byteLength(text)).toBeGreaterThan(5_000);
    expect(agent === "codex" ? Buffer.byteLength(text) : text.length).toBeLessThanOrEqual(9_900);
  }
});

test("other starts, other events and sub-agents get no answer", () => {
  const session = new Session();
  expect(session.call("SessionStart", { source: "startup" })).toBe("");
  expect(session.call("Stop")).toBe("");
  expect(session.call("SessionStart", { source: "compact", agent_id: "a1" })).toBe("");
  expect(session.runs()).toEqual([]);
});

test("an error gives no answer and a line in the log", () => {
  const session = new Session();
  expect(session.answer("{torn")).toBe("");
  expect(session.answer("[]")).toBe("");
  expect(session.call("SessionStart", { source: "compact", transcript_path: null })).toBe("");
  expect(session.call("SessionStart", { source: "compact", transcript_path: "/missing.jsonl" })).toBe("");
  expect(session.call("SessionStart", { source: "compact", transcript_path: session.folder })).toBe("");
  expect(session.call("PostCompact", {})).toBe("");
  expect(
    answerHook({
      agent: "other",
      input: JSON.stringify({ hook_event_name: "Stop" }),
      home: session.home,
      nowMs: Date.now,
    }),
  ).toBe("");
  expect(session.runs().map(({ error }) => typeof error)).toEqual(Array.from({ length: 7 }, () => "string"));
});

test("a home that cannot be written gives no answer, and a damaged state counts as empty", () => {
  const session = new Session();
  writeFileSync(session.home, "a file");
  expect(session.start()).toBe("");
  const other = new Session();
  other.post();
  const [name = ""] = readdirSync(join(other.home, "hook"));
  const file = join(other.home, "hook", name);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const state = readFileSync(file, "utf8");
  for (const damaged of ["{torn", "", state.replace("EUR", "USD"), state.slice(0, -9)]) {
    writeFileSync(file, damaged);
    expect(contextIn(other.start())).toContain("git push");
  }
});

test("PreCompact gives its instructions if another call removes a state file", () => {
  const session = new Session();
  session.post();
  symlinkSync(join(session.home, "missing"), join(session.home, "hook", "removed.json"));
  expect(session.call("PreCompact", { trigger: "auto" })).toContain("npm publish");
  expect(session.runs().at(-1)?.error).toBeUndefined();
});

test("the log skips damaged lines and lines that are not objects", () => {
  const session = new Session();
  session.start();
  appendFileSync(hookLogFile(session.home), '{"at":"20\nnull\n17\n');
  session.prompt();
  expect(session.runs().map(({ event }) => event)).toEqual(["SessionStart"]);
});

test("a damaged last line and CRLF do not change the added text", () => {
  const text = contextIn(new Session().start()).replace(/bonsai search.*/, "");
  const session = new Session();
  const lines = readFileSync(session.transcript, "utf8").replaceAll("\n", "\r\n");
  writeFileSync(session.transcript, `${lines}{"type":"assistant","mess`);
  expect(contextIn(session.start()).replace(/bonsai search.*/, "")).toBe(text);
});

test.skipIf(process.platform === "win32")(
  "a pipe as the transcript gives no answer and an error in the log",
  () => {
    const session = new Session();
    const pipe = join(session.folder, "pipe.jsonl");
    execFileSync("mkfifo", [pipe]);
    expect(session.call("SessionStart", { source: "compact", transcript_path: pipe })).toBe("");
    expect(session.runs()[0]?.error).toContain("pipe.jsonl");
  },
);

test("a session id cannot name a file outside of the state's folder", () => {
  const session = new Session();
  for (const session_id of ["../../escaped", "/tmp/a/b", "", "..", "x".repeat(5_000), "a\0b"])
    session.call("PostCompact", { session_id, compact_summary: "Done." });
  expect(session.runs().filter(({ error }) => error !== undefined)).toEqual([]);
  expect(readdirSync(join(session.home, "hook"))).toHaveLength(6);
});

test("the state has no secrets, and the added text keeps them", () => {
  const session = new Session();
  const token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
  session.writeTranscript(
    claudeCodeTranscript([
      ...work,
      says("user", `Use the token ${token} for the release.`),
      says("assistant", "Yes."),
    ]),
  );
  expect(contextIn(session.start())).toContain(token);
  const [name = ""] = readdirSync(join(session.home, "hook"));
  expect(readFileSync(join(session.home, "hook", name), "utf8")).not.toContain(token);
});

test("the log has the added tokens and stays small", () => {
  const session = new Session();
  session.start();
  expect(session.runs()[0]).toMatchObject({
    agent: "claude-code",
    event: "SessionStart",
    sessionId: "s",
    added: { tokens: expect.any(Number), counts: { irreversible: 2, failing: 1, said: 1 } },
  });
  for (let at = 0; at < 40; at++) logRun(session.home, { at: String(at), error: "x".repeat(10_000) });
  expect(statSync(hookLogFile(session.home)).size).toBeLessThan(300_000);
  expect(session.runs().at(-1)?.at).toBe("39");
});

/** Commands with outputs of up to 110 kB: several parts of a transcript, within the limit of one call. */
const longWork = fc.array(
  fc.record({ kb: fc.integer({ min: 1, max: 110 }), isFailed: fc.boolean(), call: fc.boolean() }),
  { minLength: 4, maxLength: 6 },
);
const filler = (at: number, kb: number) =>
  Array.from({ length: kb }, (_, line) => `${"word ".repeat(200)}loadPart${at}_${line}`).join("\n");

test("a call after earlier calls adds the same text as a call without a state", () =>
  fc.assert(
    fc.property(longWork, (steps) => {
      const session = new Session();
      const items = [...work];
      for (const [at, { kb, isFailed, call }] of steps.entries()) {
        items.push(
          says("user", `Keep the limit of part ${at} at ${at}00 items.`),
          ...runs(`pnpm test part-${at}`, `${isFailed ? "Exit code 1\n" : ""}${filler(at, kb)}`, isFailed),
          ...runs(`git push origin part-${at}`, `pushed part-${at}`),
        );
        session.writeTranscript(claudeCodeTranscript(items));
        if (call) session.call(at % 2 === 0 ? "PreCompact" : "UserPromptSubmit", { trigger: "auto" });
      }
      const other = new Session();
      other.writeTranscript(claudeCodeTranscript(items));
      expect(session.start().replaceAll(session.folder, "")).toBe(other.start().replaceAll(other.folder, ""));
    }),
    fewRuns(),
  ));

test("the log names the bytes that were too many to read", () => {
  const session = new Session();
  session.writeTranscript(claudeCodeTranscript([...work, ...runs("cat a.log", filler(0, 1_500)), ...work]));
  session.call("PreCompact", { trigger: "auto" });
  expect(session.runs()[0]?.skippedBytes).toBeGreaterThan(500_000);
});

test("a prompt before the transcript exists logs nothing", () => {
  const session = new Session();
  rmSync(session.transcript);
  expect(session.prompt()).toBe("");
  expect(session.runs()).toEqual([]);
});

test("prompts read a long transcript ahead, so that a compaction knows its oldest facts", () => {
  const session = new Session();
  const long = Array.from({ length: 12 }, (_, at) => runs(`cat ${at}.log`, filler(at, 200))).flat();
  session.writeTranscript(claudeCodeTranscript([...work, ...long, says("assistant", "Done.")]));
  for (let prompts = 0; prompts < 6; prompts++) expect(session.prompt()).toBe("");
  expect(session.call("PreCompact", { trigger: "auto" })).toContain("npm publish");
  expect(session.runs()[0]?.skippedBytes).toBeUndefined();
});
