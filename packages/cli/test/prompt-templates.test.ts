// biome-ignore-all lint/suspicious/noTemplateCurlyInString: templates have such places for arguments
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sessionFolder } from "@bonsai-agent/session";
import { expect, test } from "vitest";
import { agentProject, jsonLines, says } from "./agent-project.ts";
import { writeFiles } from "./call/project-files.ts";
import { RpcSession } from "./rpc-session.ts";
import { runCli } from "./run-cli.ts";

const files = {
  ".claude/commands/review.md":
    '---\ndescription: Look at it\nargument-hint: "[focus]"\n---\nReview ${1:-all}.',
  ".claude/skills/pdf/SKILL.md": "---\nname: pdf\ndescription: Reads PDF\n---\nUse pdftotext.",
};

async function project({ isTrusted = true } = {}) {
  const own = agentProject(says("ok"));
  writeFiles(own.cwd, files);
  if (isTrusted) await runCli(["trust"], own);
  return own;
}

type Project = Awaited<ReturnType<typeof project>>;

/** The user's messages of all sessions, oldest session first. */
function userMessages({ cwd, home }: Project): Record<string, unknown>[] {
  const folder = sessionFolder({ cwd, home });
  return readdirSync(folder)
    .toSorted()
    .flatMap((name) => jsonLines(readFileSync(join(folder, name), "utf8")))
    .map(({ message }) => (message ?? {}) as Record<string, unknown>)
    .filter(({ role }) => role === "user");
}

test("a prompt that calls a template sends its text; a skill goes the same way", async () => {
  const own = await project();
  const { code, stderr } = await own.run(["-p", "/review 'the core'"]);
  expect([code, stderr]).toEqual([0, expect.not.stringContaining("went to the model")]);
  expect(userMessages(own)).toMatchObject([{ content: "Review the core.", typed: "/review 'the core'" }]);
  const { stdout } = await own.run(["--mode", "json", "-p", "/skill:pdf a.pdf"]);
  expect(stdout).toContain("Use pdftotext.");
  const { stdout: list } = await runCli(["sessions"], own);
  expect(list).toContain("/review 'the core");
  expect(list).toContain("/skill:pdf a.pdf");
});

test("words of the command line that the shell parted are arguments, and what is piped in stands behind", async () => {
  const own = await project();
  await own.run(["-p", "/review", "core"], { stdin: "two\nlines" });
  expect(userMessages(own)).toMatchObject([
    { content: "Review core.\n\n<stdin>\ntwo\nlines\n</stdin>", typed: "/review core" },
  ]);
});

test("one notice names all parts of a project that wait for trust", async () => {
  const own = await project({ isTrusted: false });
  writeFiles(own.cwd, { ".bonsai/settings.json": "{}", ".mcp.json": "{}" });
  const { stderr } = await own.run(["-p", "/review"]);
  const words = stderr.replaceAll(/\s+/g, " ");
  expect(words.split("is not trusted")).toHaveLength(2);
  expect(words).toContain("Ignored .bonsai/settings.json, .mcp.json, .claude/skills and .claude/commands:");
  expect(words).toContain("Unknown command /review. The text went to the model.");
  expect(userMessages(own)).toMatchObject([{ content: "/review" }]);
});

test("a typo is named with the probable word", async () => {
  const own = await project();
  const { stderr } = await own.run(["-p", "/reviw core"]);
  expect(stderr.replaceAll(/\s+/g, " ")).toContain("Did you mean /review?");
});

test("flags bring templates and skills without trust, or take the others away", async () => {
  const own = await project({ isTrusted: false });
  writeFiles(own.cwd, { "mine/hi.md": "Say hi to $1" });
  await own.run(["--prompt-template", "mine", "-p", "/hi Ann"]);
  expect(userMessages(own)).toMatchObject([{ content: "Say hi to Ann" }]);
  const gone = await own.run(["--skill", "nowhere", "-p", "hi"]);
  expect(gone.code).toBe(1);
  expect(gone.stderr).toContain("--skill nowhere");
});

test("RPC lists skills, and a prompt calls them", async () => {
  const own = await project();
  const rpc = new RpcSession(own);
  expect((await rpc.ask({ type: "get_commands" })).data).toMatchObject({
    commands: [
      {
        name: "review",
        description: "Look at it",
        argumentHint: "[focus]",
        source: "prompt",
        sourceInfo: { path: join(own.cwd, ".claude/commands/review.md"), scope: "project" },
      },
      {
        name: "skill:pdf",
        description: "Reads PDF",
        source: "skill",
        sourceInfo: { path: join(own.cwd, ".claude/skills/pdf/SKILL.md"), scope: "project" },
      },
    ],
  });
  await rpc.ask({ type: "prompt", message: "/review core" });
  await rpc.wait(({ type }) => type === "agent_end");
  writeFiles(own.cwd, { ".pi/prompts/later.md": "Later" });
  await rpc.ask({ type: "reload" });
  const { commands } = (await rpc.ask({ type: "get_commands" })).data as { commands: { name: string }[] };
  expect(commands.map(({ name }) => name)).toEqual(["later", "review", "skill:pdf"]);
  await rpc.end();
  expect(userMessages(own)).toMatchObject([{ content: "Review core.", typed: "/review core" }]);
});

test("the system prompt names the skills, and --no-skills leaves them out", async () => {
  const own = await project();
  const { stdout } = await own.run(["--mode", "json", "-p", "hi"]);
  expect(stdout).toContain("Reads PDF");
  const { stdout: without } = await own.run(["--mode", "json", "--no-skills", "-p", "hi"]);
  expect(without).not.toContain("Reads PDF");
});
