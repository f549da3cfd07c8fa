import { listSessions, openSession } from "@bonsai-agent/session";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { agentProject, says } from "./agent-project.ts";
import { runCli } from "./run-cli.ts";

async function sent(words: readonly string[]): Promise<unknown> {
  const { run, cwd, home } = agentProject(says("ok"));
  const { code, stderr } = await run(words);
  if (code !== 0) return stderr;
  const { items } = openSession(listSessions({ cwd, home }).sessions[0]!.file).projection();
  const [{ message }] = items as [(typeof items)[number]];
  return message.role === "user" ? message.content : undefined;
}

describe("a word with a blank", () => {
  test("is sent as a prompt", () =>
    everyRow([
      "---\ntitle: a=b\n---\nSummarise this.",
      "- fix the test\n- run it",
      "--- a/file.ts",
      "-- then stop",
      "-p is broken",
      "-explain this",
      "--help is unclear, say more",
      "--json in words",
      "-\tindented",
    ])(async (prompt) => {
      expect(await sent(["-p", prompt])).toBe(prompt);
    }));

  test("keeps its place among other words and flags", async () => {
    expect(await sent(["-p", "first", "- a list", "--quiet", "last"])).toBe("first - a list last");
  });

  test("can be the first word of the line", async () => {
    expect(await sent(["- a list", "-p"])).toBe("- a list");
  });

  test("is the value of a flag before it", async () => {
    const { run } = agentProject(says("ok"));
    const { stderr } = await run(["-p", "x", "--thinking", "- no level"]);
    expect(stderr).toContain("- no level");
  });
});

test("a command takes a word with a blank as an argument", () =>
  everyRow([
    [["search", "- a b"], 'No matches for "- a b".'],
    [["search", "--limit", "3", "- a", "--", "- b"], 'No matches for "- a - b".'],
    [["compact", "- no session"], '"- no session"'],
  ])(async ([argv, words]) => {
    const { cwd, home } = agentProject(says("ok"));
    const { stdout, stderr } = await runCli(argv, { cwd, env: { BONSAI_HOME: home } });
    expect(stdout + stderr).toContain(words);
  }));

test("a word that looks like a flag fails with a remedy", () =>
  everyRow([
    [["-p", "---"], "`bonsai -p -- PROMPT`"],
    [["-p", "--frobnicate", "- a list"], "Unknown option '--frobnicate'"],
    [["-p", "--quiett"], "--quiet"],
    [["-p", "--name=a b", "--frob=a b"], "Unknown option '--frob=a b'"],
    [["search", "---"], "write `--` before it"],
    [["search", "- a b", "--frobnicate"], "Unknown option '--frobnicate'"],
  ])(async ([argv, words]) => {
    const { code, stderr } = await runCli(argv, { cwd: import.meta.dirname });
    expect(code).toBe(2);
    expect(stderr.replaceAll(/\s+/g, " ")).toContain(words);
  }));
