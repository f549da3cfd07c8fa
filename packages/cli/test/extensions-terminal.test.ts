import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { agentProject, says } from "./agent-project.ts";
import { runCli } from "./run-cli.ts";

/** An extension whose command `/ask` does this with `ctx.ui`, and tells what came of it. */
function asks(expression: string) {
  return agentProject(says("the answer"), {
    "own.ts": `export default (bonsai) => bonsai.registerCommand("ask", {
      handler: async (_, ctx) => ctx.ui.notify("got " + JSON.stringify(await (${expression}))),
    })`,
  });
}

async function typed(expression: string, text: string, signal?: AbortSignal) {
  const { run } = asks(expression);
  return run(["-p", "-e", "own.ts", "/ask"], { typed: text, ...(signal === undefined ? {} : { signal }) });
}

describe("questions on a terminal", () => {
  test("a typed answer becomes the extension's value", () =>
    everyRow([
      [`ctx.ui.select("Which?", ["red", "green"])`, "2\n", `got "green"`],
      [`ctx.ui.select("Which?", ["red", "green"])`, "red\n", `got "red"`],
      [`ctx.ui.select("Which?", ["red", "green"])`, "3\n1\n", `got "red"`],
      [`ctx.ui.select("Which?", ["red", "green"])`, "\n", "got undefined"],
      [`ctx.ui.select("Which?", [])`, "", "got undefined"],
      [`ctx.ui.confirm("Sure?", "All of it.")`, "y\n", "got true"],
      [`ctx.ui.confirm("Sure?", "All of it.")`, "Yes\r\n", "got true"],
      [`ctx.ui.confirm("Sure?", "All of it.")`, "\n", "got false"],
      [`ctx.ui.confirm("Sure?", "All of it.")`, "yesterday\n", "got false"],
      [`ctx.ui.input("Name?", "like Ada")`, "Grace Hopper\n", `got "Grace Hopper"`],
      [`ctx.ui.input("Name?")`, "\n", `got ""`],
      [`ctx.ui.editor("Text?")`, "one\n\ntwo\n.\n", `got "one\\n\\ntwo"`],
      [`ctx.ui.editor("Text?", "as it was")`, ".\n", `got "as it was"`],
      [`ctx.ui.editor("Text?", "as it was")`, "new\n.\n", `got "new"`],
      [
        `Promise.all([ctx.ui.confirm("One?", ""), ctx.ui.input("Two?")])`,
        "y\nsecond\n",
        `got [true,"second"]`,
      ],
      [`ctx.hasUI`, "", "got true"],
    ])(async ([expression, text, words]) => {
      const { code, stdout, stderr } = await typed(expression, text);
      expect([code, stdout]).toEqual([0, ""]);
      expect(stderr).toContain(words);
    }));

  test("are shown on standard error without escape sequences", async () => {
    const { stdout, stderr } = await typed(
      `ctx.ui.select("Which \\u001b[2J one?\\nThink.", ["a\\u001b[31m", "b"])`,
      "1\n",
    );
    expect(stdout).toBe("");
    expect(stderr).toContain("? Which ␛[2J one?\n  Think.\n  1) a␛[31m\n  2) b\n");
  });

  test("a timeout or an aborted signal ends a question without an answer", () =>
    everyRow([
      [`ctx.ui.confirm("Sure?", "", { timeout: 1 })`, "got false"],
      [`ctx.ui.input("Name?", undefined, { timeout: 1 })`, "got undefined"],
      [`ctx.ui.select("Which?", ["a"], { signal: AbortSignal.abort() })`, "got undefined"],
      [`ctx.ui.select("Which?", ["a"], { signal: AbortSignal.timeout(1) })`, "got undefined"],
    ])(async ([expression, words]) => {
      expect((await typed(expression, "")).stderr).toContain(words);
    }));

  test("a line that came after its question was given up answers the next", async () => {
    const expression = `ctx.ui.input("One?", "", { signal: AbortSignal.abort() }).then(() => ctx.ui.input("Two?"))`;
    expect((await typed(expression, "second\n")).stderr).toContain(`got "second"`);
  });

  test("an interruption answers the question and cancels the call", async () => {
    const stop = new AbortController();
    const { run } = asks(`ctx.ui.confirm("Sure?", "")`);
    const { code } = await run(["-p", "-e", "own.ts", "/ask"], {
      typed: "",
      signal: stop.signal,
      onOutput: (text) => {
        if (text.includes("y/N")) stop.abort();
      },
    });
    expect(code).toBe(130);
  });

  test("piped input asks no question", async () => {
    const { run } = asks(`ctx.ui.confirm("Sure?", "")`);
    const { stderr } = await run(["-p", "-e", "own.ts", "/ask"], { stdin: "y\n" });
    expect(stderr).toContain("got false");
    expect(stderr).not.toContain("y/N");
  });
});

describe("a tool that wants to leave the project", () => {
  const reads = (path: string) => ({
    contextWindow: 100_000,
    turn: [{ calls: [{ name: "read", arguments: { path } }] }, { text: "done" }],
  });

  test("a tool reads outside of the project only if the user agrees", () =>
    everyRow([
      ["y\n", "inside the vault", "not allowed"],
      ["n\n", "did not allow you to read it", "inside the vault"],
    ])(async ([text, words, others]) => {
      const project = agentProject(says(""));
      const beyond = join(project.home, "vault");
      mkdirSync(beyond);
      const path = join(beyond, "secret.txt");
      writeFileSync(path, "inside the vault");
      const play = join(project.home, "play.json");
      writeFileSync(play, JSON.stringify(reads(path)));
      const argv = ["--mode", "json", "hi", "--model", `scripted/${play}`];
      const { code, stdout, stderr } = await runCli(argv, { ...project, typed: text });
      expect(code).toBe(0);
      expect(stderr).toContain(`The tool read wants to read ${path}.`);
      expect(stdout).toContain(words);
      expect(stdout).not.toContain(others);
    }));
});
