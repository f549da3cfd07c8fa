import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPool } from "@bonsai-agent/postgres";
import { startPostgres } from "@bonsai-agent/postgres-server";
import { createSession, openSession } from "@bonsai-agent/session";
import { type LoopbackReply, loopbackServer, sseChunks } from "@bonsai-agent/testkit";
import { expect, onTestFinished, test } from "vitest";
import { Bonsai } from "./bonsai-process.ts";
import { modelSummary } from "./call/model-summary.ts";

const SUMMARY_USAGE = { prompt_tokens: 7_321, completion_tokens: 211, total_tokens: 7_532 };

function answer(content: string, usage: object): LoopbackReply {
  const chunk = (delta: object, finish_reason: string | null) => ({
    data: { id: "1", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] },
  });
  const end = { data: { id: "1", object: "chat.completion.chunk", choices: [], usage } };
  const events = [chunk({ role: "assistant", content }, null), chunk({}, "stop"), end, { data: "[DONE]" }];
  return { headers: { "content-type": "text/event-stream" }, chunks: sseChunks(events) };
}

test("a second worker makes the summary of a killed one, and the owner commits and counts it once", async () => {
  const folder = mkdtempSync(join(tmpdir(), "summaries-"));
  chmodSync(folder, 0o755);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const server = await startPostgres({ folder: join(folder, "server"), settings: { fsync: "off" } });
  onTestFinished(() => server.stop());
  // Each host has the model under a path of its own. The first worker waits for its answer until it is killed.
  const model = await loopbackServer(({ path }) => {
    const host = path.split("/")[1];
    if (host === "first") return { end: "mute" };
    if (host === "second") return answer(modelSummary("- Made by the second worker."), SUMMARY_USAGE);
    return answer("The next step is done.", { prompt_tokens: 100, completion_tokens: 5, total_tokens: 105 });
  });
  onTestFinished(() => model.close());
  const requestsOf = (host: string) =>
    model.requests.filter(({ path }) => path.startsWith(`/${host}/v1/chat`));
  const bonsai = (host: string, ...argv: string[]) => {
    const home = join(folder, host);
    mkdirSync(home, { recursive: true });
    const models = [{ id: "coder", contextWindow: 32_768, maxOutputTokens: 2_000 }];
    const box = { provider: "box", baseUrl: `${model.url}/${host}/v1`, api: "openai-chat", models };
    writeFileSync(join(home, "models.json"), JSON.stringify({ providers: [box] }));
    const settings = { model: "box/coder", titles: false, sessions: { summaries: "workers" } };
    writeFileSync(join(home, "settings.json"), JSON.stringify(settings));
    const env = { BONSAI_HOME: home, HOME: folder, BONSAI_DATABASE: server.url };
    return new Bonsai({ cwd: folder, env }, argv);
  };

  const file = join(folder, "long.jsonl");
  const local = createSession({ cwd: folder, file });
  for (let number = 0; number < 14; number += 1) {
    const content = `Part ${number}. ${"some words ".repeat(1_200)}`;
    local.append({ type: "message", message: { role: "user", content, timestamp: number } });
  }
  local.close();
  expect(await bonsai("owner", "database", "init").ended).toMatchObject({ code: 0 });
  expect(await bonsai("owner", "session", "push", file).ended).toMatchObject({ code: 0 });

  const first = bonsai("first", "worker");
  await first.printed("SIGTERM drains it");
  const owner = bonsai("owner", "-p", "--session", local.id, "Continue");
  owner.child.stdin.end();
  await first.printed("summary started box/coder");
  await expect.poll(() => requestsOf("first").length, { timeout: 20_000 }).toBe(1);
  const second = bonsai("second", "worker");
  await second.printed("SIGTERM drains it");
  first.child.kill("SIGKILL");
  const { code, stdout, stderr } = await owner.ended;
  expect([code, stdout]).toEqual([0, "The next step is done.\n"]);
  expect(stderr).not.toContain("summary");
  second.child.kill("SIGTERM");
  expect((await second.ended).stdout).toContain("summary ended box/coder");

  expect(requestsOf("second")).toHaveLength(1);
  expect(requestsOf("owner")).toHaveLength(1);
  expect(JSON.stringify(requestsOf("owner")[0]!.body)).toContain("Made by the second worker.");
  const copy = join(folder, "copy.jsonl");
  expect(await bonsai("owner", "session", "pull", local.id, copy).ended).toMatchObject({ code: 0 });
  const compactions = openSession(copy)
    .entries()
    .filter(({ type }) => type === "compaction");
  expect(compactions).toHaveLength(1);
  expect(JSON.stringify(compactions).match(/"input":7321\b/g)).toHaveLength(1);
  const pool = openPool(server.url, { max: 1 });
  expect((await pool.query("select * from bonsai.drafts")).rows).toEqual([]);
  await pool.end();
});
