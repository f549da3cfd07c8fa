import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { testFolder, writeLines } from "./call/sample-session.ts";
import { runCli } from "./run-cli.ts";

/** Made from parts: a scanner finds no key in this file. */
const TOKEN = `gh${"p"}_${"a1B2".repeat(9)}`;
const PASSWORD = `correct-${"horse"}-7`;
const BOX_KEY = `box-${"k3y".repeat(5)}`;
const SECRETS = [TOKEN, PASSWORD, BOX_KEY];

const header = {
  type: "session",
  version: 3,
  id: "5e551011-0000-4000-8000-000000000000",
  timestamp: "2026-11-20T09:00:00.000Z",
  cwd: "/home/dev/shop",
};
const timestamp = "2026-11-20T09:00:30.000Z";
const content = `Needle: use ${TOKEN} and ${BOX_KEY}.\nDB_PASSWORD=${PASSWORD}`;
const entry = (id: string, parentId: string | null, fields: object) => ({
  id,
  parentId,
  timestamp,
  ...fields,
});
const message = (id: string, parentId: string | null, fields: object) =>
  entry(id, parentId, { type: "message", message: { timestamp: 1, ...fields } });
const call = {
  type: "toolCall",
  id: "c1",
  name: "bash",
  arguments: { command: `export API_TOKEN="${TOKEN}"` },
};

const lines = [
  header,
  message("aaaa0001", null, { role: "user", content }),
  message("aaaa0002", "aaaa0001", { role: "assistant", content: [call], stopReason: "toolUse" }),
  message("aaaa0003", "aaaa0002", {
    ...{ role: "toolResult", toolCallId: "c1", toolName: "bash", isError: false },
    content: [{ type: "text", text: `needle ${content}` }],
  }),
  entry("aaaa0004", "aaaa0003", {
    ...{ type: "compaction", firstKeptEntryId: "aaaa0003", tokensBefore: 9_000 },
    summary: `needle: ${content}`,
  }),
  message("aaaa0005", "aaaa0004", { role: "user", content: `Go on with ${TOKEN}\u202e\u{e0041}` }),
  message("aaaa0006", "aaaa0001", {
    role: "user",
    content: `needle, another way with ${TOKEN} or ${PASSWORD}`,
  }),
  entry("aaaa0007", "aaaa0005", { type: "session_info", name: `Deploy ${TOKEN}` }),
];

function place() {
  const home = testFolder();
  const folder = join(home, "sessions", "-home-dev-shop");
  mkdirSync(folder, { recursive: true });
  const file = writeLines(lines, join(folder, "2026-11-20_5e551011-0000-4000-8000-000000000000.jsonl"));
  const env = { BONSAI_HOME: home, BOX_KEY };
  writeLines([{ providers: [{ provider: "box", apiKeyEnv: "BOX_KEY" }] }], join(home, "models.json"));
  return { file, env };
}

const found = (text: string) => SECRETS.filter((secret) => text.includes(secret));

const screens: [string, (file: string) => string[]][] = [
  ["show", (file) => ["session", "show", file]],
  ["tree", (file) => ["session", "tree", file, "--all"]],
  ["diff", (file) => ["session", "diff", file, "aaaa0006", "aaaa0005"]],
  ["list", () => ["session", "list"]],
  ["search", () => ["search", "needle"]],
  ["search --in", (file) => ["search", "needle", "--in", file]],
  ["search --regex", (file) => ["search", "needle", "--in", file, "--regex"]],
];

test("screens and their JSON print no secret", () =>
  everyRow(screens)(async ([, argv]) => {
    const { file, env } = place();
    for (const more of [[], ["--json"]]) {
      const { stdout, code } = await runCli([...argv(file), ...more], { env, columns: 200 });
      expect([code, more, found(stdout)]).toEqual([0, more, []]);
      expect(stdout).toContain("[redacted: ");
    }
  }));

test("--no-redact prints everything", () =>
  everyRow(screens)(async ([, argv]) => {
    const { file, env } = place();
    const { stdout, code } = await runCli([...argv(file), "--json", "--no-redact"], { env });
    expect(code).toBe(0);
    expect(found(stdout)).toContain(TOKEN);
    expect(stdout).not.toContain("[redacted: ");
  }));

test("context is the exact view of the model", async () => {
  const { file, env } = place();
  const { stdout } = await runCli(["session", "context", file, "--json"], { env });
  expect(found(stdout)).toEqual(SECRETS);
});

test("exports show hidden characters", async () => {
  const { file, env } = place();
  const { stdout } = await runCli(["session", "export", file], { env });
  expect(stdout).toContain("\\u{202e}\\u{e0041}");
  expect(stdout).not.toMatch(/[\u202e\u{e0041}]/u);
  const page = `${file}.html`;
  await runCli(["session", "export", file, page], { env });
  expect(readFileSync(page, "utf8")).not.toMatch(/[\u202e\u{e0041}]/u);
});
