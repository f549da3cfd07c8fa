import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sessionFolder } from "@bonsai-agent/session";
import { expect, test } from "vitest";
import { agentProject, jsonLines, says } from "./agent-project.ts";
import { writeFiles } from "./call/project-files.ts";
import { runCli } from "./run-cli.ts";

const skill = (name: string, body: string) => `---\nname: ${name}\ndescription: About ${name}\n---\n${body}`;

/** A model that reads these files, one a prompt, and says so. */
function reads(own: ReturnType<typeof agentProject>, paths: readonly string[]) {
  const turn = paths.flatMap((path) => [
    { calls: [{ name: "read", arguments: { path } }] },
    { text: `Read. ${"word ".repeat(2_000)}` },
  ]);
  const file = own.model[1].slice("scripted/".length);
  writeFileSync(file, JSON.stringify({ contextWindow: 100_000, turn }));
}

/** What the tools gave back in a run. */
const results = (stdout: string) =>
  jsonLines(stdout)
    .filter(({ type }) => type === "tool_execution_end")
    .map((event) => JSON.stringify(event));

test("a skill of the user's is read without asking, compacted away, listed, and read again", async () => {
  const own = agentProject(says("ok"));
  const user = own.env.HOME;
  writeFiles(user, {
    ".claude/skills/pdf/SKILL.md": skill(
      "pdf",
      `Read every page twice.\n${"Then the next one.\n".repeat(1_500)}`,
    ),
    ".claude/secret.md": "Not for the model.",
  });
  const file = join(user, ".claude/skills/pdf/SKILL.md");
  reads(own, [file]);
  const first = await own.run(["--mode", "json", "-p", "Read the report"]);
  expect(results(first.stdout)).toEqual([expect.stringContaining("Read every page twice.")]);
  reads(own, [join(user, ".claude/secret.md")]);
  const beyond = await own.run(["-c", "--mode", "json", "-p", "And the secret"]);
  expect(results(beyond.stdout)).toEqual([expect.stringContaining("outside the project")]);
  const folder = sessionFolder(own);
  const session = join(folder, readdirSync(folder)[0]!);
  const { stdout } = await runCli(["compact", session, "--digest", "--keep", "100", "--json"], own);
  const { status, summary } = JSON.parse(stdout) as { status: string; summary: string };
  expect(status).toBe("compacted");
  expect(summary).toContain(`<read-files>\n${file}\n`);
  expect(summary).not.toContain("every page");
  reads(own, [file]);
  const again = await own.run(["-c", "--mode", "json", "-p", "Go on"]);
  expect(results(again.stdout)).toEqual([expect.stringContaining("Read every page twice.")]);
});

test("a skill of a project that is not trusted cannot be called, and its folder above the project not be read", async () => {
  const own = agentProject(says("ok"));
  const cwd = join(own.cwd, "part");
  writeFiles(own.cwd, {
    ".git/HEAD": "",
    ".agents/skills/deploy/SKILL.md": skill("deploy", "Push to production."),
    "part/.bonsai/settings.json": "{}",
  });
  const inside = { ...own, cwd, run: undefined };
  const file = join(own.cwd, ".agents/skills/deploy/SKILL.md");
  const run = (words: readonly string[]) =>
    runCli([...own.model, "--mode", "json", "-p", ...words], { ...inside, env: own.env });
  reads(own, [file]);
  const untrusted = await run(["/skill:deploy now"]);
  expect(untrusted.stdout).not.toContain("Push to production.");
  expect(untrusted.stderr.replaceAll(/\s+/g, " ")).toContain("is not trusted");
  expect(results(untrusted.stdout)).toEqual([expect.stringContaining("outside the project")]);
  await runCli(["trust"], { ...inside, env: own.env });
  reads(own, [file]);
  const trusted = await run(["/skill:deploy now"]);
  expect(results(trusted.stdout)).toEqual([expect.stringContaining("Push to production.")]);
  expect(trusted.stdout.match(/Push to production\./g)!.length).toBeGreaterThan(1);
});
