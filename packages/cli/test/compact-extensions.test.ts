import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type CompactionEntry, openSession } from "@bonsai-agent/session";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import type { CompactionReport } from "../src/views/compact-view.ts";
import { agentProject, jsonLines } from "./agent-project.ts";
import { longSession, sampleLines, writeLines } from "./call/sample-session.ts";
import { teller, throwing, withExtensions } from "./session-command-project.ts";

const summary = `
  export default (bonsai: any) => bonsai.on("session_before_compact", ({ preparation }: any) => ({
    compaction: {
      summary: "Ours, of " + preparation.messagesToSummarize.length + " messages.",
      firstKeptEntryId: preparation.firstKeptEntryId,
      tokensBefore: preparation.tokensBefore,
      details: { own: true },
    },
  }));`;

const sections = [
  "## Goal\nMake the parser right.",
  "## Constraints & Preferences\n- none",
  "## Progress\n### Done\n- [x] read it\n### In Progress\n- none\n### Blocked\n- none",
  "## Key Decisions\n- none",
  "## Next Steps\n1. test it",
  "## Critical Context\n- none",
].join("\n\n");

describe("bonsai compact -e", () => {
  test("runs the hooks of a session at work, each once, around them the session's own", async () => {
    const { json, told } = withExtensions({ "tell.ts": teller() });
    const file = longSession();
    expect(await json<CompactionReport>("compact", file, "-e", "./tell.ts")).toMatchObject({
      code: 0,
      status: "compacted",
      stderr: "",
    });
    expect(told()).toEqual([
      "session_start",
      "auto_compaction_start",
      "session_before_mask",
      "session_before_compact",
      "session_compact",
      "auto_compaction_end",
      "session_shutdown",
    ]);
  });

  test("an extension's summary is stored and shown with its name", async () => {
    const { json, run } = withExtensions({ "mine.ts": summary });
    const file = longSession();
    const report = await json<CompactionReport>("compact", file, "-e", "mine.ts");
    expect(report).toMatchObject({ code: 0, status: "compacted", decidedBy: "mine.ts", requests: 0 });
    const entry = openSession(file).entry(report.entryId!) as CompactionEntry;
    expect(entry).toMatchObject({ fromHook: true, details: { own: true } });
    expect(entry.summary).toMatch(/^Ours, of \d+ messages\.$/);
    const { stdout } = await run(["compact", longSession(), "-e", "mine.ts"], { columns: 80 });
    expect(stdout).toContain("Summary by mine.ts\n  │ Ours, of");
  });

  test("an extension's refusal changes nothing, is reported with its name and reason, and ends with 130", async () => {
    const no = `export default (bonsai) => bonsai.on("session_before_compact", () => ({ cancel: true, reason: "Not today." }));`;
    const { json, run, cwd, told } = withExtensions({ "no.js": no, "tell.ts": teller() });
    const file = longSession();
    const before = readFileSync(file);
    const { code, ...report } = await json<CompactionReport>("compact", file, "-e", "no.js", "-e", "tell.ts");
    expect(report).toMatchObject({
      status: "cancelled",
      decidedBy: "no.js",
      detail: "Compaction cancelled. Not today.",
      stderr: "",
    });
    expect(code).toBe(130);
    expect(told()).toContain("session_compact_failed");
    const copy = join(cwd, "copy.jsonl");
    const { stdout } = await run(["compact", file, "-o", copy, "-e", "no.js"]);
    expect(stdout).toBe("Compaction cancelled. Not today.\nDecided by no.js\n");
    expect([readFileSync(file).equals(before), existsSync(copy)]).toEqual([true, false]);
  });

  test("an extension that throws is reported, and the default summary is made", async () => {
    const { json } = withExtensions({ "broken.ts": throwing("session_before_compact") });
    const report = await json<CompactionReport>("compact", longSession(), "-e", "broken.ts");
    expect(report).toMatchObject({ code: 0, status: "compacted", rung: "digest" });
    expect(report.decidedBy).toBeUndefined();
    const [{ notice }] = jsonLines(report.stderr) as [{ notice: { code: string; message: string } }];
    expect(notice.code).toBe("handler_error");
    for (const word of ["broken.ts", "session_before_compact", "it broke"])
      expect(notice.message).toContain(word);
  });

  test("a summary that cannot be taken fails, and the session stays as it is", async () => {
    const empty = `export default (bonsai) => bonsai.on("session_before_compact", ({ preparation }) => ({
      compaction: { summary: " ", firstKeptEntryId: preparation.firstKeptEntryId, tokensBefore: 1 } }));`;
    const { json, run, told } = withExtensions({ "empty.js": empty, "tell.ts": teller() });
    const file = longSession();
    const before = readFileSync(file);
    const report = await json<CompactionReport>("compact", file, "-e", "empty.js", "-e", "tell.ts");
    expect([report.code, report.status, report.decidedBy]).toEqual([1, "failed", "empty.js"]);
    expect(jsonLines(report.stderr).at(-1)).toMatchObject({ error: { code: "extension_summary_empty" } });
    expect(told().slice(-3)).toEqual(["session_compact_failed", "auto_compaction_end", "session_shutdown"]);
    expect(readFileSync(file).equals(before)).toBe(true);
    const { stderr } = await run(["compact", file, "-e", "empty.js"]);
    expect(stderr).toMatch(/^The summary came from empty\.js\.\n✗ An extension's/);
  });

  test("the later extension's summary is used", async () => {
    const other = summary.replace("Ours", "Theirs");
    const { json } = withExtensions({ "a.ts": summary, "b.ts": other });
    const report = await json<CompactionReport>(
      "compact",
      longSession(),
      "-e",
      "a.ts",
      "--extension",
      "b.ts",
    );
    expect(report.decidedBy).toBe("b.ts");
    expect(report.summary).toContain("Theirs");
    expect(report.stderr).toContain('"conflict"');
  });

  test("a dry run asks no extension, and says so", async () => {
    const { json, told } = withExtensions({ "tell.ts": teller() });
    const report = await json<CompactionReport>("compact", longSession(), "--dry-run", "-e", "tell.ts");
    expect([report.code, report.status]).toEqual([0, "planned"]);
    expect(jsonLines(report.stderr)).toMatchObject([{ notice: { code: "extension_not_asked" } }]);
    expect(told()).toEqual([]);
  });

  test("ctx.model is the model of --model, and it can be asked", async () => {
    const model = {
      contextWindow: 200_000,
      turn: [],
      extension: [{ text: "said" }],
      atEnd: "repeat" as const,
    };
    const { model: flag } = agentProject(model);
    const asking = `export default (bonsai: any) => bonsai.on("session_before_compact", async ({ preparation }: any, ctx: any) => {
      const answer = await ctx.modelRegistry.complete(ctx.model, { messages: [{ role: "user", content: "?", timestamp: 1 }] });
      const { firstKeptEntryId, tokensBefore } = preparation;
      return { compaction: { summary: ctx.model.provider + " " + answer.content[0].text, firstKeptEntryId, tokensBefore } };
    });`;
    const say = `event.type + " " + ctx.model?.provider + " " + ctx.mode + " " + ctx.hasUI`;
    const { json, told } = withExtensions({ "ask.ts": asking, "tell.ts": teller(say) });
    const report = await json<CompactionReport>(
      ...["compact", longSession(), ...flag, "-e", "ask.ts", "-e", "tell.ts"],
    );
    expect(report).toMatchObject({ code: 0, summary: "scripted said" });
    expect(told()[0]).toBe("session_start scripted print false");
    await json("compact", longSession(), "-e", "tell.ts");
    expect(told().at(-1)).toBe("session_shutdown undefined print false");
  });

  test("--model can name a model of an extension", async () => {
    const usage = `{ input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } }`;
    const brings = `export default (bonsai: any) => bonsai.registerProvider("own", {
      models: [{ id: "small", contextWindow: 200_000 }],
      stream: async () => ({ role: "assistant", content: [{ type: "text", text: ${JSON.stringify(sections)} }],
        stopReason: "stop", usage: ${usage}, provider: "own", model: "small", api: "own", timestamp: 1 }),
    });`;
    const { json } = withExtensions({ "brings.ts": brings });
    const report = await json<CompactionReport>(
      ...["compact", longSession(), "--model", "own/small", "-e", "brings.ts"],
    );
    expect(report).toMatchObject({ code: 0, status: "compacted", rung: "summarise", stderr: "" });
    expect(report.summary).toContain("Make the parser right.");
  });

  test("Ctrl-C ends an extension that hangs: 130, nothing written, and it gets session_shutdown", async () => {
    const hanging = teller(
      "event.type",
      `bonsai.on("session_before_compact", () => new Promise(() => { process.emit("compaction-hangs"); }));`,
    );
    const { run, told } = withExtensions({ "hang.ts": hanging });
    const file = longSession();
    const before = readFileSync(file);
    const stop = new AbortController();
    process.once("compaction-hangs" as "SIGUSR2", () => stop.abort(new Error("Interrupted by Ctrl-C")));
    const { code } = await run(["compact", file, "-e", "hang.ts"], { signal: stop.signal });
    expect([code, told().at(-1)]).toEqual([130, "session_shutdown"]);
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test("an extension that cannot be loaded is an error before anything is written", () =>
    everyRow([
      ["gone.ts", "", "extension_not_found"],
      ["broken.ts", "export default (", "extension_broken"],
      ["empty.ts", "export const x = 1;", "extension_without_factory"],
    ])(async ([name, text, errorCode]) => {
      const { run, cwd } = withExtensions(text === "" ? {} : { [name]: text });
      const file = longSession();
      const before = readFileSync(file);
      const argv = ["compact", file, "-o", join(cwd, "copy.jsonl"), "-e", name, "--json"];
      const { code, stdout, stderr } = await run(argv);
      expect([code, stdout]).toEqual([1, ""]);
      expect(jsonLines(stderr).at(-1)).toMatchObject({ error: { code: errorCode } });
      expect(readFileSync(file).equals(before)).toBe(true);
      expect(existsSync(join(cwd, "copy.jsonl"))).toBe(false);
    }));

  test("extensions that are not named are left alone", async () => {
    const { json, told } = withExtensions({
      "home/extensions/tell.ts": teller(),
      ".bonsai/extensions/tell.ts": teller(),
    });
    expect((await json<CompactionReport>("compact", longSession())).stderr).toBe("");
    expect((await json("goto", writeLines(sampleLines()), "aaaa0004")).stderr).toBe("");
    expect(told()).toEqual([]);
  });
});
