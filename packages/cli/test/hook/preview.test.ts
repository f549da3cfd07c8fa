import { fileURLToPath } from "node:url";
import { claudeCodeTranscript, codexTranscript } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { jsonOf, runCli } from "../run-cli.ts";
import { HookFolder, runs, says, summary, work } from "./recorded-work.ts";

const token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

function recorded(text: string): HookFolder {
  const folder = new HookFolder();
  folder.writeTranscript(text);
  return folder;
}

const twice = [
  ...work,
  summary,
  ...runs("terraform apply", "Apply complete"),
  says("assistant", "Applied."),
  summary,
];

test("preview prints the text for each compaction", async () => {
  const { transcript } = recorded(claudeCodeTranscript(twice));
  const rows = await jsonOf<{ text: string; counts: object }[]>(["hook", "preview", transcript]);
  expect(rows.map(({ text }) => text.includes("npm publish"))).toEqual([true, true]);
  expect(rows.map(({ text }) => text.includes("terraform apply"))).toEqual([false, true]);
  const { stdout } = await runCli(["hook", "preview", transcript]);
  expect(stdout).toMatch(/^Compaction of 2026-02-10 09:00: ~\d+ tokens with 1 irreversible command/m);
});

test("preview redacts secrets, and --no-redact keeps them", async () => {
  const { transcript } = recorded(
    claudeCodeTranscript([
      ...work,
      says("user", `Release with the token ${token}, please.`),
      says("assistant", "Yes."),
      summary,
    ]),
  );
  expect((await runCli(["hook", "preview", transcript])).stdout).not.toContain(token);
  expect((await runCli(["hook", "preview", transcript, "--no-redact"])).stdout).toContain(token);
});

const fixtures = fileURLToPath(new URL("../../../transcripts/test/fixtures/", import.meta.url));

test("preview refuses files other than transcripts, and transcripts of agents without the hook", async () => {
  for (const path of ["package.json", `${fixtures}gemini.jsonl`]) {
    const { code, stdout, stderr } = await runCli(["hook", "preview", path]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr.replaceAll(/\s+/g, " ")).toContain("is not a transcript of Claude Code or Codex");
  }
});

test("--losses lists the facts that each compaction lost", async () => {
  for (const write of [claudeCodeTranscript, codexTranscript]) {
    const { transcript } = recorded(write(twice));
    const losses = await jsonOf<{ lost: { irreversible: { command: string }[]; failing: object[] } }[]>([
      ...["session", "show", transcript, "--losses"],
    ]);
    expect(losses.map(({ lost }) => lost.irreversible.map(({ command }) => command))).toEqual([
      ["npm publish"],
      ["npm publish", "terraform apply"],
    ]);
    expect(losses.map(({ lost }) => lost.failing)).toEqual([[], []]);
  }
  const { transcript } = recorded(claudeCodeTranscript(twice));
  const { stdout } = await runCli(["session", "show", transcript, "--losses"]);
  expect(stdout).toMatch(/^Compaction of 2026-02-10 09:00: lost 1 irreversible command, 1 user message/m);
  expect(stdout).toContain("cannot be undone: npm publish");
});

test("the search that the added text names finds entries of the transcript", async () => {
  const { transcript } = recorded(claudeCodeTranscript(twice));
  const hits = await jsonOf<{ snippet: string }[]>(["search", "publish", "--in", transcript]);
  expect(hits.map(({ snippet }) => snippet).join()).toContain("npm publish");
});
