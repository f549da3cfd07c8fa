import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { sampleLines, writeLines } from "./call/sample-session.ts";
import { withExtensions } from "./session-command-project.ts";

describe("flags of extensions in session commands", () => {
  const flagged = `export default (bonsai) => {
    bonsai.registerFlag("terse", { type: "boolean" });
    bonsai.registerFlag("tag", { type: "string", default: "none" });
    const tell = (_, ctx) => ctx.ui.notify("flags " + bonsai.getFlag("terse") + " " + bonsai.getFlag("tag"));
    bonsai.on("session_start", tell);
    bonsai.registerProvider("own", { baseUrl: "http://127.0.0.1:1", api: "openai-chat", apiKey: bonsai.getFlag("tag"), models: [{ id: "m" }] });
  };`;

  test("are read at any position", async () => {
    const { run, cwd } = withExtensions({ "own.ts": flagged });
    const file = writeLines(sampleLines(), join(cwd, "session.jsonl"));
    const { code, stderr } = await run(["compact", "--tag", "x", file, "-e", "own.ts", "--terse"]);
    expect([code, stderr]).toEqual([0, expect.stringContaining("flags true x")]);
    const [, , entry] = sampleLines() as { id: string }[];
    const gone = await run(["goto", "-e", "own.ts", file, "--tag=y", entry!.id, "--summarize"]);
    expect([gone.code, gone.stderr]).toEqual([0, expect.stringContaining("flags undefined y")]);
    const models = await run(["models", "-e", "own.ts", "--terse", "--json"]);
    expect([models.code, models.stdout]).toEqual([0, expect.stringContaining('"own"')]);
  });

  test("an unknown flag or a wrong value is wrong usage", () =>
    everyRow([
      [["compact", "FILE", "-e", "own.ts", "--tres"], "Unknown option '--tres'"],
      [["compact", "FILE", "-e", "own.ts", "--tag"], "needs a value"],
      [["compact", "FILE", "--terse"], "Unknown option '--terse'"],
      [["show", "FILE", "--terse"], "Unknown option '--terse'"],
      [["compact", "FILE", "more", "-e", "own.ts", "--terse"], "Too many arguments"],
    ])(async ([words, message]) => {
      const { run, cwd } = withExtensions({ "own.ts": flagged });
      const file = writeLines(sampleLines(), join(cwd, "session.jsonl"));
      const { code, stdout, stderr } = await run(words.map((word) => (word === "FILE" ? file : word)));
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr.toLowerCase()).toContain(message.toLowerCase());
    }));
});
