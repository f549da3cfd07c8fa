import { readFileSync } from "node:fs";
import { listSessions, openSession } from "@bonsai-agent/session";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { type AgentProject, agentProject, jsonLines, says } from "./agent-project.ts";
import { type RunCliOptions, runCli } from "./run-cli.ts";

const greeter = `
  export default function (bonsai) {
    bonsai.registerFlag("plan", { type: "boolean", description: "only plan" });
    bonsai.registerFlag("level", { type: "string", default: "none" });
    bonsai.on("session_start", (event, ctx) => {
      ctx.ui.notify(["start", event.reason, ctx.mode, ctx.hasUI, bonsai.getFlag("plan") === true, bonsai.getFlag("level")].join(" "));
    });
    bonsai.registerCommand("greet", {
      description: "greets",
      async handler(args, ctx) {
        if (args === "fail") throw new Error("no greeting today");
        if (args === "say") bonsai.sendUserMessage("said by an extension");
        if (args === "new") ctx.ui.notify("went " + !(await ctx.newSession()).cancelled);
        if (args === "reload") await ctx.reload();
        if (args === "end") ctx.shutdown();
        ctx.ui.notify("greeted " + args);
      },
    });
  }
`;

function projectWith(source: string, name = "own.ts"): AgentProject {
  return agentProject(says("the answer"), { [name]: source });
}

/** What a call said, on one line. */
async function said(project: AgentProject, argv: readonly string[], options?: RunCliOptions) {
  const { code, stdout, stderr } = await project.run(argv, options);
  return { code, stdout, stderr: stderr.replaceAll(/\s+/g, " ") };
}

describe("-e in print mode", () => {
  test("loads an extension before the session starts, and the answer stays alone on standard output", async () => {
    const project = projectWith(`console.log("printed"); ${greeter}`);
    const { code, stdout, stderr } = await said(project, ["-p", "-e", "./own.ts", "hi"]);
    expect([code, stdout]).toEqual([0, "the answer\n"]);
    expect(stderr).toContain("start startup print false");
  });

  test("may be repeated", async () => {
    const notes = (name: string) =>
      `export default (bonsai) => { bonsai.on("session_start", (_, ctx) => ctx.ui.notify("${name} is here")); }`;
    const project = agentProject(says("ok"), { "one.ts": notes("one"), "two.ts": notes("two") });
    const { stderr } = await said(project, ["-p", "-e", "one.ts", "--extension", "two.ts", "hi"]);
    expect(stderr).toMatch(/one is here.*two is here/);
  });

  test("the model calls the extension's tool", async () => {
    const tool = `export default (bonsai) => bonsai.registerTool({
      name: "dice", description: "throws a die", parameters: { type: "object", properties: { sides: { type: "number" } } },
      execute: async (id, { sides }) => ({ content: [{ type: "text", text: "thrown of " + sides }] }),
    })`;
    const calls = {
      contextWindow: 100_000,
      turn: [{ calls: [{ name: "dice", arguments: { sides: 6 } }] }, { text: "done" }],
    };
    const project = agentProject(calls as never, { "own.ts": tool });
    expect(await said(project, ["-p", "-e", "own.ts", "hi"])).toMatchObject({ code: 0, stdout: "done\n" });
    const { file } = listSessions(project).sessions[0]!;
    expect(JSON.stringify(openSession(file).projection().items)).toContain("thrown of 6");
  });

  test("an extension that cannot be loaded fails the call before anything is sent", () =>
    everyRow([
      ["nowhere.ts", undefined, "extension_not_found"],
      ["own.ts", "export default () => { throw new Error('not today'); }", "not today"],
      ["own.ts", "export const nothing = 1;", "own.ts"],
      ["own.ts", "export default function ( {", "own.ts"],
    ])(async ([name, source, words]) => {
      const project = agentProject(says("sent"), source === undefined ? {} : { [name]: source });
      const { code, stdout, stderr } = await said(project, ["-p", "-e", name, "hi"]);
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toContain(words);
      expect(stderr.startsWith("✗ ")).toBe(true);
      expect(listSessions(project).sessions).toEqual([]);
      const json = await project.run(["--mode", "json", "-e", name, "hi"]);
      expect([json.code, json.stdout]).toEqual([1, ""]);
      expect(JSON.parse(json.stderr.trim().split("\n").at(-1)!).error).toMatchObject({
        code: expect.any(String),
      });
    }));
});

describe("flags of extensions", () => {
  test("the extension reads the values of its flags", () =>
    everyRow([
      [[], "false none"],
      [["--plan"], "true none"],
      [["--plan", "--level", "3"], "true 3"],
      [["--level=-1"], "false -1"],
    ])(async ([flags, words]) => {
      const project = projectWith(greeter);
      const { code, stdout, stderr } = await said(project, ["-p", ...flags, "hi", "-e", "own.ts"]);
      expect([code, stdout]).toEqual([0, "the answer\n"]);
      expect(stderr).toContain(`start startup print false ${words}`);
    }));

  test("the value of one is no word of the prompt; words behind -- are no flags", async () => {
    const project = projectWith(greeter);
    const words = ["-e", "own.ts", "--level", "high", "do", "--", "--plan"];
    await runCli(["-p", ...project.model, ...words], project);
    const { file } = listSessions(project).sessions[0]!;
    expect(openSession(file).projection().items[0]!.message).toMatchObject({ content: "do --plan" });
  });

  test("an unknown flag or a wrong value is wrong usage", () =>
    everyRow([
      [["-e", "own.ts", "--plna"], "Did you mean --plan?"],
      [["-e", "own.ts", "--levle", "3"], "Did you mean --level?"],
      [["--plan"], "Unknown option '--plan'"],
      [["-e", "own.ts", "--qiet"], "Did you mean --quiet?"],
      [["-e", "own.ts", "--plan=yes"], "The flag --plan takes no value."],
      [["-e", "own.ts", "--level", "--quiet"], "To use it as the value, write --level=--quiet."],
    ])(async ([flags, words]) => {
      const project = projectWith(greeter);
      const { code, stdout, stderr } = await said(project, ["-p", ...flags, "hi"]);
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toContain(words);
      expect(listSessions(project).sessions).toEqual([]);
    }));

  test("a flag without its value is wrong usage", async () => {
    const project = projectWith(greeter);
    const { code, stderr } = await runCli(["-p", ...project.model, "-e", "own.ts", "hi", "--level"], project);
    expect([code, stderr]).toEqual([2, expect.stringContaining("needs a value")]);
  });

  test("Bonsai's own flag wins over an extension's flag of the same name", async () => {
    const project = projectWith(`export default (bonsai) => {
      bonsai.registerFlag("name", { type: "boolean" });
      bonsai.on("session_start", (_, ctx) => ctx.ui.notify("name=" + bonsai.getFlag("name")));
    }`);
    const { stderr } = await said(project, ["-p", "-e", "own.ts", "--name", "mine", "hi"]);
    expect(stderr).toContain("name=undefined");
    expect(stderr).toContain("An extension defines the flag --name");
    expect(listSessions(project).sessions[0]!.name).toBe("mine");
  });
});

describe("a prompt that is a command of an extension", () => {
  test("runs it, and asks no model", async () => {
    const project = projectWith(greeter);
    const { code, stdout, stderr } = await said(project, ["-p", "-e", "own.ts", "/greet you"]);
    expect([code, stdout]).toEqual([0, ""]);
    expect(stderr).toContain("greeted you");
    expect(listSessions(project).sessions).toEqual([]);
  });

  test("waits for the work that it gives the agent", async () => {
    const project = projectWith(greeter);
    expect(await said(project, ["-p", "-e", "own.ts", "/greet say"])).toMatchObject({
      code: 0,
      stdout: "the answer\n",
    });
    const { file } = listSessions(project).sessions[0]!;
    expect(readFileSync(file, "utf8")).toContain("said by an extension");
  });

  test("a failed command fails the call", async () => {
    const project = projectWith(greeter);
    const { code, stderr } = await said(project, ["-p", "-e", "own.ts", "/greet fail"]);
    expect(code).toBe(1);
    expect(stderr).toContain("no greeting today");
    expect(stderr).toContain("extension_command_failed");
    const json = await project.run(["--mode", "json", "-e", "own.ts", "/greet fail"]);
    expect(json.code).toBe(1);
    expect(jsonLines(json.stdout).at(-1)).toMatchObject({
      type: "run_failed",
      error: { code: "extension_command_failed" },
    });
  });

  test("changes the session, reloads and shuts down", async () => {
    const project = projectWith(greeter);
    const to = async (args: string) => (await said(project, ["-p", "-e", "own.ts", `/greet ${args}`])).stderr;
    expect(await to("new")).toMatch(/start startup.*start new.*went true/);
    expect(await to("reload")).toMatch(/start startup.*start reload/);
    expect(await to("end")).toContain("greeted end");
  });

  test("a notice names only texts that look like an unknown command", () =>
    everyRow([
      ["/gret now", true, "Did you mean /greet?"],
      ["/compact", true, "Unknown command /compact. The text went to the model."],
      ["/tmp is full", false, ""],
      ["/etc/passwd has what?", false, ""],
      ["either/or", false, ""],
    ])(async ([text, isTold, words]) => {
      const { code, stdout, stderr } = await said(projectWith(greeter), ["-p", text, "-e", "own.ts"]);
      expect([code, stdout]).toEqual([0, "the answer\n"]);
      expect(stderr.includes("went to the model")).toBe(isTold);
      expect(stderr).toContain(words);
    }));

  test("in JSON mode, the last line is agent_end", async () => {
    const project = projectWith(greeter);
    const quiet = await project.run(["--mode", "json", "-e", "own.ts", "/greet you"]);
    expect(jsonLines(quiet.stdout).at(-1)).toEqual({
      type: "agent_end",
      messages: [],
      result: { status: "handled" },
    });
    const { stdout } = await project.run(["--mode", "json", "-e", "own.ts", "/greet say"]);
    expect(jsonLines(stdout).at(-1)).toMatchObject({ type: "agent_end", result: { status: "done" } });
  });
});

test("JSON mode prints an event that an extension handled", async () => {
  const takes = `export default (bonsai) => bonsai.on("input", () => ({ action: "handled" }))`;
  const { code, stdout } = await projectWith(takes).run(["--mode", "json", "-e", "own.ts", "hi"]);
  expect(code).toBe(0);
  expect(jsonLines(stdout).map(({ type }) => type)).toContain("input");
  expect(jsonLines(stdout).at(-1)).toMatchObject({ type: "agent_end", result: { status: "handled" } });
});

test("an extension that asks for the end at the start sends nothing", async () => {
  const ends = `export default (bonsai) => { bonsai.on("session_start", (_, ctx) => ctx.shutdown()); }`;
  const project = projectWith(ends);
  expect(await said(project, ["-p", "-e", "own.ts", "hi"])).toMatchObject({ code: 0, stdout: "" });
  expect(listSessions(project).sessions).toEqual([]);
});

test("a model of an extension's provider can be chosen", async () => {
  const brings = `export default (bonsai) => bonsai.registerProvider("own", {
    api: "openai-chat", baseUrl: "http://127.0.0.1:9/v1", apiKey: "k",
    models: [{ id: "small", name: "Small one", contextWindow: 50000, maxTokens: 1000 }],
    async *stream() { throw new Error("asked it"); },
  })`;
  const project = projectWith(brings);
  const { stdout } = await project.run(["--mode", "rpc", "-e", "own.ts"], {
    stdin: '{"type":"set_model","provider":"own","modelId":"small"}\n',
  });
  expect(jsonLines(stdout).find(({ type }) => type === "response")).toMatchObject({
    success: true,
    data: { provider: "own", id: "small", contextWindow: 50_000 },
  });
});
