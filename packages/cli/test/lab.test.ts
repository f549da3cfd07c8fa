import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { generateWorkday } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { sampleLines, testFolder, writeLines } from "./call/sample-session.ts";
import { jsonOf, runCli } from "./run-cli.ts";

interface Report {
  sessions: number;
  recorded: { requests: number; compactions: number };
  policies: Array<{
    policy: string;
    requests: number;
    usd: number;
    compactions: Record<string, number>;
    highestTokens: number;
    neededAfter: number | null;
    waitedSeconds: number;
    noProvider: string[];
    context: number[];
  }>;
}

const small = ["--policy", "bonsai+mask.enabled=false", "--policy", "bonsai+12k+mask.enabled=false"];

function workday(): string {
  const file = join(testFolder(), "day.jsonl");
  generateWorkday({ file, seed: 3, entries: 160 });
  return file;
}

test("bonsai lab replays a session under each policy", async () => {
  const file = workday();
  const { sessions, recorded, policies } = await jsonOf<Report>([
    "lab",
    file,
    ...small,
    "--window",
    "100000",
  ]);
  expect(sessions).toBe(1);
  const [usual, economic] = policies;
  expect([usual?.requests, economic?.requests]).toEqual([recorded.requests, recorded.requests]);
  expect(usual?.context).toHaveLength(recorded.requests);
  expect(economic!.compactions.threshold).toBeGreaterThan(usual?.compactions.threshold ?? 0);
  expect(economic!.highestTokens).toBeLessThan(usual!.highestTokens);
  expect(economic!.neededAfter).toBeGreaterThan(0);
});

test("a narrow table drops columns and keeps the names", async () => {
  const { stdout } = await runCli(["lab", workday(), ...small], { columns: 140 });
  expect(stdout).toMatch(
    /^bonsai.* would have cost \$.*\n\n1 session, \d+ requests, .* as recorded\. Replayed:/,
  );
  for (const columns of [80, 105]) {
    const narrow = await runCli(["lab", workday(), ...small], { columns });
    expect(narrow.stdout).toContain("bonsai+12k+mask.enabled=false  $");
    expect(narrow.stdout).not.toContain("…");
  }
});

test("a folder's sessions are replayed together", async () => {
  const folder = join(testFolder(), "several");
  mkdirSync(folder);
  const file = workday();
  for (const name of ["a.jsonl", "b.jsonl"]) copyFileSync(file, join(folder, name));
  writeFileSync(join(folder, "notes.jsonl"), '{"no":"session"}\n');
  const one = await jsonOf<Report>(["lab", file, "--policy", "pi"]);
  const two = await jsonOf<Report>(["lab", folder, "--policy", "pi"]);
  expect(two.sessions).toBe(2);
  expect(two.policies[0]?.usd).toBeCloseTo(2 * one.policies[0]!.usd, 6);
  const named = await jsonOf<Report>(["lab", file, folder, file, "--policy", "pi"]);
  expect(named.sessions).toBe(4);
});

test("a model without known prices is named", async () => {
  const text = readFileSync(workday(), "utf8");
  const file = join(testFolder(), "unknown.jsonl");
  writeFileSync(file, text.replaceAll(/"model":"[^"]*"/g, '"model":"foo-99"'));
  const { assumed } = await jsonOf<{ assumed: string[] }>(["lab", file, ...small]);
  expect(assumed).toEqual([expect.stringContaining("foo-99")]);
  expect((await runCli(["lab", file, ...small])).stdout).toContain("window of anthropic/foo-99");
});

test("each policy is replayed as if on each named model, with its prices and cache rules", async () => {
  const models = ["anthropic/claude-sonnet-5", "openai/gpt-5.6-sol", "deepseek/deepseek-v4-pro"];
  const policy = "bonsai+summarizer.kind=provider";
  const args = ["lab", workday(), "--policy", policy, ...models.flatMap((name) => ["--model", name])];
  const { policies } = await jsonOf<Report>([...args, "--window", "20000"]);
  expect(policies.map((each) => each.policy)).toEqual(models.map((name) => `${policy} on ${name}`));
  expect(new Set(policies.map(({ usd }) => usd)).size).toBe(3);
  expect(policies.map(({ noProvider }) => noProvider.length)).toEqual([0, 0, 1]);
  const { stdout } = await runCli([...args, "--window", "20000"]);
  expect(stdout.replaceAll("\n", " ")).toContain(
    `was not used under ${policy} on deepseek/deepseek-v4-pro: The protocol openai-chat has no`,
  );
  const unknown = await runCli(["lab", workday(), "--model", "anthropic-x/m", "--json"]);
  expect([unknown.code, JSON.parse(unknown.stderr).error.code]).toEqual([1, "provider_unknown"]);
});

test("a file's settings are a policy, and the page overwrites no file", async () => {
  const folder = testFolder();
  const own = join(folder, "own.json");
  writeFileSync(own, JSON.stringify({ compaction: { economy: 12_000, mask: { enabled: false } } }));
  const page = join(folder, "run.html");
  const file = workday();
  const { policies } = await jsonOf<Report>(["lab", file, "--policy", own, ...small, "-o", page]);
  expect(policies.map(({ policy }) => policy)).toEqual(["own.json", small[1], small[3]]);
  expect(policies[0]).toEqual({ ...policies[2], policy: "own.json" });
  const html = readFileSync(page, "utf8");
  expect(html.match(/<svg /g)).toHaveLength(2);
  expect(html).toContain(
    `<th scope="row">own.json, ${small[3]}</th><td>$${policies[0]!.usd.toFixed(2)}</td>`,
  );
  expect(html).not.toMatch(/<script|https?:/);
  const again = await runCli(["lab", file, "-o", page, "--json"]);
  expect([again.code, JSON.parse(again.stderr).error.code]).toEqual([1, "output_exists"]);
  writeFileSync(own, '{"economy": "much"}');
  const wrong = await runCli(["lab", file, "--policy", own, "--json"]);
  expect([wrong.code, JSON.parse(wrong.stderr).error.message]).toEqual([1, expect.stringContaining(own)]);
  expect((await runCli(["lab", file, "--policy", join(folder, "none.json")])).stderr).toContain(
    "does not exist",
  );
});

test("another agent's transcript is replayed like a session", async () => {
  const folder = join(testFolder(), "others");
  mkdirSync(folder);
  const common = { sessionId: "s1", cwd: "/p", version: "2.0.0", isSidechain: false };
  const usage = { input_tokens: 1_000, cache_read_input_tokens: 0, output_tokens: 20 };
  const lines = Array.from({ length: 12 }, (_, turn) => {
    const [asked, answered] = [`u${turn}`, `a${turn}`];
    const timestamp = new Date(Date.UTC(2026, 0, 5, 9, turn)).toISOString();
    const answer = {
      ...{ id: `m${turn}`, type: "message", role: "assistant", model: "claude-sonnet-5", usage },
      content: [{ type: "text", text: `Part ${turn} is done.` }],
      stop_reason: "end_turn",
    };
    return [
      {
        ...{
          ...common,
          type: "user",
          uuid: asked,
          parentUuid: turn === 0 ? null : `a${turn - 1}`,
          timestamp,
        },
        message: { role: "user", content: `Look at part ${turn}.` },
      },
      { ...common, type: "assistant", uuid: answered, parentUuid: asked, timestamp, message: answer },
    ];
  }).flat();
  const file = join(folder, "transcript.jsonl");
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  for (const name of [file, folder]) {
    const { sessions, recorded, policies } = await jsonOf<Report>(["lab", name, "--policy", "pi"]);
    expect([sessions, recorded.requests, policies[0]?.requests]).toEqual([1, 12, 12]);
    expect((await runCli(["lab", name, "--policy", "pi"])).stdout).toContain("cost unknown");
  }
});

test("a session without an answer and an unknown policy are errors", async () => {
  const empty = writeLines(sampleLines().slice(0, 1));
  const none = await runCli(["lab", empty, "--json"]);
  expect([none.code, JSON.parse(none.stderr).error.code]).toEqual([1, "nothing_to_replay"]);
  expect((await runCli(["lab", empty, "--all"])).code).toBe(2);
  expect((await runCli(["lab", "tune", empty, "--policy", "pi"])).code).toBe(2);
  const unknown = await runCli(["lab", workday(), "--policy", "claude", "--json"]);
  expect([unknown.code, JSON.parse(unknown.stderr).error.code]).toEqual([1, "policy_unknown"]);
});
