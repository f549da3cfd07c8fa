import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { openSession } from "@bonsai-agent/session";
import { describe, expect, onTestFinished, test } from "vitest";
import { type AgentProject, agentProject, jsonLines, says } from "./agent-project.ts";
import { longSession } from "./call/sample-session.ts";
import { commandWords } from "./command-words.ts";

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

function started({ cwd, env }: AgentProject, argv: readonly string[]) {
  const child: ChildProcessWithoutNullStreams = spawn(process.execPath, [...commandWords, ...argv], {
    cwd,
    env: { ...process.env, NO_COLOR: "1", ...env },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const said = { stdout: "", stderr: "" };
  const heard = new Set<() => void>();
  for (const name of ["stdout", "stderr"] as const)
    child[name].on("data", (data: Buffer) => {
      said[name] += data;
      for (const hear of heard) hear();
    });
  const ended = new Promise<Ended>((resolve) => {
    child.once("close", (code) => resolve({ code, ...said }));
  });
  const printed = (words: string) =>
    new Promise<void>((resolve) => {
      const hear = () => {
        if ((said.stdout + said.stderr).includes(words)) resolve();
      };
      heard.add(hear);
      hear();
    });
  return { child, ended, printed };
}

/** Extensions that disturb the process, each in its own way. */
const disturbing = {
  "stays.ts": "export default () => { setInterval(() => {}, 1000); }",
  "prints.ts": `export default (bonsai) => {
      console.log("logged"); console.table([1]); console.info("informed");
      bonsai.on("agent_end", () => console.log("logged again"));
    }`,
  "writes.ts": `export default (bonsai) => {
      process.stdout.write("at the start");
      bonsai.on("agent_start", () => void process.stdout.write("written"));
    }`,
  "stray.ts": `export default (bonsai) => {
      bonsai.on("agent_start", async () => {
        Promise.reject("sulking");
        process.nextTick(() => { throw new Error("ticked off"); });
        setTimeout(() => { throw Object.create(null); });
        (async () => { await null; throw new Error("left alone"); })();
        await new Promise((resolve) => setTimeout(resolve, 20));
      });
    }`,
  "goes.ts": `import { tmpdir } from "node:os";
    export default (bonsai) => {
      process.chdir(tmpdir());
      bonsai.on("agent_start", (_event, ctx) => console.error("in " + ctx.cwd + "."));
    }`,
};

/** One process loads all disturbing extensions. Each test checks one claim about it. */
function startDisturbed(): Promise<Ended> {
  const project = agentProject(says("the answer"), disturbing);
  const extensions = Object.keys(disturbing).flatMap((name) => ["-e", name]);
  const { child, ended } = started(project, [...extensions, ...project.model, "--mode", "json", "hi"]);
  child.stdin.end();
  return ended;
}

describe("a process with disturbing extensions", () => {
  let run: Promise<Ended> | undefined;
  const ended = () => {
    run ??= startDisturbed();
    return run;
  };

  test("ends though an extension left a timer running", async () => {
    const run = await ended();
    expect(run.code).toBe(0);
    expect(jsonLines(run.stdout).at(-1)).toMatchObject({ type: "agent_end" });
  });

  test("keeps the console output of extensions off standard output", async () => {
    const { stderr } = await ended();
    for (const words of ["logged\n", "informed", "logged again"]) expect(stderr).toContain(words);
  });

  test("keeps direct writes of extensions off standard output, also in JSON mode", async () => {
    const { stderr } = await ended();
    for (const words of ["at the start", "written"]) expect(stderr).toContain(words);
  });

  test("survives stray errors of an extension, and names it", async () => {
    const { stdout, stderr } = await ended();
    const all = stdout + stderr;
    for (const words of [
      "failed: sulking",
      "failed: ticked off",
      "stray.ts:4:40",
      "left alone",
      "cannot be read",
    ])
      expect(all).toContain(words);
    expect(all).not.toContain("bonsai=");
  });

  test("stays in its working folder when an extension changes it", async () => {
    const { stderr } = await ended();
    expect(stderr).toMatch(/in .*project\./);
  });
});

/** Extensions that print a word and never answer. */
const hangingCommand = `export default (bonsai) => bonsai.registerCommand("hang", {
  handler: () => { console.log("hanging"); return new Promise(() => {}); },
})`;
const hangingDecisions = `export default (bonsai) => {
  for (const name of ["session_before_compact", "session_before_tree"])
    bonsai.on(name, () => { console.log("hanging"); return new Promise(() => {}); });
}`;
const hangingStart = `export default () => { console.log("hanging"); return new Promise(() => {}); }`;

test("SIGINT cancels a start, a command, compact and goto while an extension does not answer", async () => {
  const file = longSession();
  const { id } = openSession(file)
    .entries()
    .find(({ type }) => type === "message")!;
  const situations: [source: string, ...argv: string[]][] = [
    [hangingStart, "-p", "hi"],
    [hangingCommand, "-p", "/hang"],
    [hangingDecisions, "compact", file],
    [hangingDecisions, "goto", file, id, "--summarize"],
  ];
  const cancelled = async ([source, ...argv]: (typeof situations)[number]) => {
    const project = agentProject(says("the answer"), { "own.ts": source });
    const model = argv[0] === "-p" ? project.model : [];
    const { child, ended, printed } = started(project, [...argv, "-e", "own.ts", ...model]);
    child.stdin.end();
    await printed("hanging");
    child.kill("SIGINT");
    const { code, stdout } = await ended;
    if (argv[0] === "-p") expect(stdout).toBe("");
    return code;
  };
  expect(await Promise.all(situations.map(cancelled))).toEqual([130, 130, 130, 130]);
});

test("--help is printed though an extension does not answer", async () => {
  const { run } = agentProject(says(""), {
    "own.ts": "await new Promise(() => {}); export default () => {};",
  });
  expect(await run(["-e", "own.ts", "--help"])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("bonsai"),
    stderr: "",
  });
});
