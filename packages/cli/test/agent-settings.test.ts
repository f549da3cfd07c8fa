import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { agentSettingsSchema, type LifecycleEvents, lifecycleEventRules } from "@bonsai-agent/agent";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import { listSessions, openSession } from "@bonsai-agent/session";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { debugLog } from "../src/call/debug-log.ts";
import { agentProject, jsonLines, says } from "./agent-project.ts";
import { testFolder } from "./call/sample-session.ts";
import { nowMs } from "./run-cli.ts";

describe("settings of the agent", () => {
  test("the project's come before the user's, the environment before both, flags before all", async () => {
    const { run, cwd, home, env } = agentProject(says("ok"));
    const own = join(cwd, ".bonsai");
    mkdirSync(own);
    const level = async (...flags: string[]) => {
      await run(["--no-session", ...flags, "hi"]);
      const { stdout } = await run(["--mode", "rpc", ...flags], { stdin: '{"type":"get_state"}' });
      const response = jsonLines(stdout).find(({ type }) => type === "response") as {
        data: { thinkingLevel: string };
      };
      return response.data.thinkingLevel;
    };
    expect(await level()).toBe("off");
    writeFileSync(join(home, "settings.json"), '{"thinking": "low"}');
    expect(await level()).toBe("low");
    writeFileSync(join(own, "settings.json"), '{"thinking": "medium"}');
    writeFileSync(join(home, "trust.json"), JSON.stringify({ folders: [cwd] }));
    expect(await level()).toBe("medium");
    expect(await level("--thinking", "high")).toBe("high");
    expect(env.BONSAI_HOME).toBe(home);
  });

  test("BONSAI_DISABLE_AUTOCOMPACT switches the threshold off", async () => {
    const play = { ...says("ok"), contextWindow: 60_000, maxOutputTokens: 2_000 };
    const run = async (env: Record<string, string>) => {
      const project = agentProject(play);
      await project.run(["word ".repeat(30_000)], { env });
      return (await project.run(["-c", "word ".repeat(20_000)], { env })).stderr;
    };
    expect(await run({})).toContain("Auto-compacting…");
    expect(await run({ BONSAI_DISABLE_AUTOCOMPACT: "1" })).not.toContain("Auto-compacting");
  });

  test("--tools and --no-tools choose the model's tools", async () => {
    const asks = { contextWindow: 100_000, turn: [{ calls: [{ name: "ls" }] }, { text: "done" }] };
    const result = async (...flags: string[]) => {
      const { run, cwd, home } = agentProject(asks);
      await run(["-p", "hi", ...flags]);
      const { items } = openSession(listSessions({ cwd, home }).sessions[0]!.file).projection();
      return JSON.stringify(items.find(({ message }) => message.role === "toolResult")?.message);
    };
    expect(await result("--tools", "read, ls")).not.toContain("Unknown tool");
    expect(await result("--tools", "read")).toContain("Unknown tool ls");
    expect(await result("--tools", "none")).toContain("Unknown tool ls");
    expect(await result("--no-tools")).toContain("Unknown tool ls");
  });

  test("the user's own settings stand in the home folder without trust", async () => {
    const { run, cwd } = agentProject(says("ok"));
    mkdirSync(join(cwd, ".bonsai"));
    writeFileSync(join(cwd, ".bonsai", "settings.json"), "{}");
    const { stderr } = await run(["-q", "hi"], { env: { BONSAI_HOME: join(cwd, ".bonsai") } });
    expect(stderr).toBe("");
  });

  test("the published JSON Schema is that of the settings", async () => {
    const { $schema, ...schema } = z.toJSONSchema(agentSettingsSchema, { io: "input" });
    const published = { $schema, title: "Settings of Bonsai", ...schema };
    await expect(`${JSON.stringify(published, null, 2)}\n`).toMatchFileSnapshot("../settings.schema.json");
  });
});

test("--debug writes sizes and outcomes to a private log, and no text", async () => {
  const play = { ...says("the answer"), contextWindow: 60_000, maxOutputTokens: 2_000 };
  const { run, home } = agentProject(play);
  writeFileSync(join(home, "settings.json"), '{"compaction": {"summarizer": {"fallback": "always"}}}');
  await run(["--debug", `secret ${"word ".repeat(16_000)}`]);
  for (let more = 0; more < 2; more += 1) await run(["--debug", "-c", "word ".repeat(16_000)]);
  const [file, ...others] = readdirSync(join(home, "logs"));
  expect(others).toEqual([]);
  expect(file).toBe("2026-11-21.log");
  const path = join(home, "logs", file!);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const log = readFileSync(path, "utf8");
  for (const line of [
    "session started reason=startup",
    "compaction started reason=threshold",
    "status=compacted",
  ])
    expect(log).toContain(line);
  expect(log).toMatch(/tokens_before=\d+ tokens_after=\d+/);
  expect(log).not.toContain("secret");
  expect(log).not.toContain("the answer");
});

test("the debug log has reclaimed tokens, retries and repairs", async () => {
  const home = testFolder();
  const log = debugLog(
    home,
    () => nowMs,
    (error) => {
      throw error;
    },
  );
  const lifecycle = new Lifecycle<LifecycleEvents>({ rules: lifecycleEventRules });
  log.listen(lifecycle);
  const entries = [{}, {}] as never;
  await lifecycle.notify("session_mask", {
    type: "session_mask",
    entries,
    freedTokens: 1234,
    reason: "threshold",
  });
  log.notice({ level: "warning", code: "model_retry", message: "Rate limit.\nRetry 1 of 5." });
  const lines = readFileSync(join(home, "logs", "2026-11-21.log"), "utf8")
    .trimEnd()
    .split("\n");
  expect(lines.map((line) => line.replace(/^\S+ \[\d+\] /, ""))).toEqual([
    "history masked reclaimed_tokens=1234 results=2 reason=threshold",
    "warning model_retry: Rate limit. Retry 1 of 5.",
  ]);
});

test("one notice names a log that cannot be written, and the run continues", async () => {
  const { run, home } = agentProject(says("ok"));
  writeFileSync(join(home, "logs"), "in the way");
  const { code, stdout, stderr } = await run(["--debug", "hi"]);
  expect([code, stdout]).toEqual([0, "ok\n"]);
  expect(stderr.match(/Cannot write the debug log/g)).toHaveLength(1);
});

test("one notice names an unknown tool", async () => {
  const { run } = agentProject(says("ok"));
  const { code, stderr } = await run(["--tools", "raed,ls", "hi"]);
  expect(code).toBe(0);
  expect(stderr.match(/raed/g)).toHaveLength(1);
  expect(stderr.replaceAll(/\s+/g, " ")).toContain(
    "Available tools: bash, context, edit, find, grep, ls, read, recall, task, write.",
  );
});
