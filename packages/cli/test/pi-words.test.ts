import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { agentCall } from "../src/command-line/agent-call.ts";
import { runCli } from "./run-cli.ts";

const io = {
  stdin: undefined,
  stdout: { write: () => {} },
  stderr: { write: () => {} },
  env: {},
  cwd: "/",
  now: () => 0,
  interruptible: <T>(work: (signal: AbortSignal) => Promise<T>) => work(new AbortController().signal),
};

describe("flags of pi", () => {
  test("the flags that Bonsai knows work", () =>
    everyRow<[string[], Record<string, unknown>]>([
      [["-nt"], { tools: false }],
      [
        ["-ne", "-ns", "-np", "-nc"],
        { extensions: false, skills: false, promptTemplates: false, contextFiles: false },
      ],
      [["-t", "read,grep", "-xt", "bash"], { tools: "read,grep", excludeTools: "bash" }],
      [["-n", "my work", "-a"], { name: "my work", approve: true }],
      [["--provider", "x", "--model", "y"], { provider: "x", model: "y" }],
      [["--no-tools", "--no-skills", "--no-themes"], { tools: false, skills: false, themes: false }],
    ])(([argv, options]) => {
      expect(agentCall([...argv, "-p", "hi"], io).options).toMatchObject(options);
    }));

  test("words after -- are the prompt", () => {
    const { words, options } = agentCall(["-p", "--", "-nt", "-a"], io);
    expect([words, options.tools, options.approve]).toEqual([["-nt", "-a"], undefined, undefined]);
  });

  test("a flag that Bonsai does not know names Bonsai's form", () =>
    everyRow([
      [["--export", "a.jsonl", "b.html"], "bonsai session export"],
      [["--list-models"], "bonsai models"],
      [["--list-models", "sonnet"], "bonsai models"],
      [["--session-id", "x", "-p", "hi"], "-r ID"],
      [["--no-builtin-tools", "-p", "hi"], "--exclude-tools"],
      [["-nbt", "-p", "hi"], "--exclude-tools"],
      [["--no-mcp", "-p", "hi"], "--no-extensions"],
      [["--no-approve", "-p", "hi"], "bonsai trust --untrust"],
      [["-na", "-p", "hi"], "bonsai trust --untrust"],
      [["--verbose", "-p", "hi"], "--debug"],
      [["--tui-mode", "regular", "-p", "hi"], "Leave out the flag"],
    ])(async ([argv, form]) => {
      const { code, stderr } = await runCli(argv);
      const flag = argv[0]!;
      expect(code).toBe(2);
      expect(stderr).toContain(`The flag ${flag} is not one of Bonsai's.`);
      expect(stderr).toContain(form);
    }));
});

test("a command of pi names Bonsai's form and sends nothing to a model", () =>
  everyRow([
    [["auth", "login"], "bonsai login"],
    [["config"], "bonsai extension list"],
    [["config", "-l"], "bonsai extension list"],
    [["mcp", "list"], "bonsai extension add mcp"],
  ])(async ([argv, form]) => {
    const { code, stderr } = await runCli(argv);
    expect(code).toBe(2);
    expect(stderr).toContain(`Unknown command '${argv[0]}'.`);
    expect(stderr).toContain(form);
  }));
