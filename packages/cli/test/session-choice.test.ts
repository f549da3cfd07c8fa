import { readdirSync, readFileSync, renameSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { listSessions, newSessionFile, openSession, type Session } from "@bonsai-agent/session";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { type AgentProject, agentProject, says } from "./agent-project.ts";
import { testFolder } from "./call/sample-session.ts";
import { runCli } from "./run-cli.ts";

function sessions({ cwd, home }: AgentProject): Session[] {
  return listSessions({ cwd, home }).sessions.map(({ file }) => openSession(file));
}

function texts(session: Session): unknown[] {
  return session.projection().items.map(({ message }) => (message.role === "user" ? message.content : "·"));
}

describe("the session of a prompt", () => {
  test("-c continues the folder's latest session, and each other call starts one", async () => {
    const project = agentProject(says("ok"));
    await project.run(["one"]);
    await project.run(["-c", "two"]);
    await project.run(["three"]);
    expect(sessions(project).map(texts).toSorted()).toEqual([
      ["one", "·", "two", "·"],
      ["three", "·"],
    ]);
  });

  test("-c continues a session that -r continued in a renamed folder", async () => {
    const project = agentProject(says("ok"));
    await project.run(["one"]);
    const [{ id }] = sessions(project) as [Session];
    const renamed = `${project.cwd}-renamed`;
    renameSync(project.cwd, renamed);
    expect((await project.run(["-r", id, "two"], { cwd: renamed })).code).toBe(0);
    expect((await project.run(["-c", "three"], { cwd: renamed })).code).toBe(0);
    expect(sessions({ ...project, cwd: renamed }).map(texts)).toEqual([
      ["one", "·", "two", "·", "three", "·"],
    ]);
    expect(listSessions({ home: project.home }).sessions).toHaveLength(1);
  });

  test("-c warns about a skipped session only while it is newer", async () => {
    const project = agentProject(says("ok"));
    const old = new Date(0);
    const place = { ...project, id: "x", now: new Date() };
    const damaged = newSessionFile(place);
    writeFileSync(damaged, "no session\n");
    expect((await project.run(["-c", "hi"])).stderr).toContain("it is not a session file");
    await project.run(["one"]);
    utimesSync(damaged, old, old);
    expect((await project.run(["-c", "two"])).stderr).not.toContain("Skipped");
    const future = new Date(Date.now() + 3_600_000);
    utimesSync(damaged, future, future);
    const { code, stderr } = await project.run(["-c", "three"]);
    expect(code).toBe(0);
    expect(stderr.replaceAll(/\s+/g, "")).toContain(`Skipped${damaged}:`);
    expect(sessions(project).map(texts)).toEqual([["one", "·", "two", "·", "three", "·"]]);
  });

  test("-c continues a session of an old version in a copy and names it once", async () => {
    const project = agentProject(says("ok"));
    const file = newSessionFile({ ...project, id: "x", now: new Date() });
    const said = { role: "user", content: "one", timestamp: 0 };
    const lines = [
      { type: "session", id: "x", timestamp: new Date().toISOString(), cwd: project.cwd },
      { type: "message", timestamp: new Date().toISOString(), message: said },
    ];
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const { code, stderr } = await project.run(["-c", "two"]);
    expect(code).toBe(0);
    expect(stderr.replaceAll(/\s+/g, "")).toMatch(`!${file}hasanolderformatandstaysunchanged`);
    expect((await project.run(["-c", "three"])).stderr).not.toContain("older format");
  });

  test("-c in a session of a later version refuses, and names its file", async () => {
    const project = agentProject(says("ok"));
    await project.run(["one"]);
    const { file } = sessions(project)[0] as Session;
    writeFileSync(file!, readFileSync(file!, "utf8").replace('"version":3', '"version":9'));
    const before = readFileSync(file!);
    const { code, stdout, stderr } = await project.run(["-c", "two"]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("[session_read_only]");
    expect(stderr.replaceAll(/\s+/g, "")).toContain(`${file}:It has format version 9`.replaceAll(" ", ""));
    expect(readFileSync(file!)).toEqual(before);
  });

  test("-r accepts the start of an id, and needs one without a terminal", async () => {
    const project = agentProject(says("ok"));
    await project.run(["one"]);
    const [{ id }] = sessions(project) as [Session];
    const { code, stderr } = await project.run(["-r"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("-r needs a session")]);
    expect((await project.run(["-r", id.slice(0, 8), "two"])).code).toBe(0);
    expect(sessions(project).map(texts)).toEqual([["one", "·", "two", "·"]]);
    expect((await project.run(["two", "-r"])).stderr).toContain("wrong_usage");
  });

  test("--session opens any file and warns about another folder", async () => {
    const project = agentProject(says("ok"));
    await project.run(["one"]);
    const [{ file }] = sessions(project) as [Session];
    const elsewhere = testFolder();
    const { code, stderr } = await project.run(["--session", file!, "two"], { cwd: elsewhere });
    expect(code).toBe(0);
    expect(stderr.replaceAll(/\s+/g, " ")).toContain(`Tools now work in ${elsewhere}`);
    expect(texts(openSession(file!))).toEqual(["one", "·", "two", "·"]);
    expect((await project.run(["--session", "nosuch", "x"])).stderr).toContain("session_not_found");
  });

  test("--fork continues in a copy up to --leaf", async () => {
    const project = agentProject(says("ok"));
    await project.run(["one"]);
    await project.run(["-c", "two"]);
    const [origin] = sessions(project) as [Session];
    const before = texts(origin);
    const first = origin.projection().items[1]!.entryId;
    await project.run(["--fork", origin.id, "--leaf", first, "other"]);
    const fork = sessions(project).find(({ id }) => id !== origin.id)!;
    expect(texts(fork)).toEqual(["one", "·", "other", "·"]);
    expect(fork.header.parentSession).toBe(origin.file);
    expect(texts(openSession(origin.file!))).toEqual(before);
    expect((await project.run(["--fork", origin.id, "--leaf", "nosuch", "x"])).stderr).toContain(
      "entry_not_found",
    );
  });

  test("--no-session writes nothing", async () => {
    const project = agentProject(says("ok"));
    const { code, stderr } = await project.run(["--no-session", "one"]);
    expect(code).toBe(0);
    expect(stderr).toContain("not saved");
    expect(readdirSync(project.home)).toEqual([]);
  });

  test("a session that cannot be made is not left half made: nothing is written without a model", async () => {
    const project = agentProject(says("ok"));
    const { stderr } = await project.run(["one", "--model", "nobody/x"], {});
    expect(stderr).not.toContain("unexpected_error");
    const { code } = await project.run(["-p", "one"], { env: { BONSAI_HOME: join(project.home, "fresh") } });
    expect(code).toBe(0);
  });

  test("model and thinking of the session come before those of the settings, and flags before both", async () => {
    const project = agentProject(says("ok"));
    await project.run(["--thinking", "high", "one"]);
    await project.run(["-c", "two"]);
    const [session] = sessions(project) as [Session];
    expect(session.settings().thinkingLevel).toBe("high");
    await project.run(["-c", "--thinking", "low", "three"]);
    expect(sessions(project)[0]!.settings().thinkingLevel).toBe("low");
  });
});

describe("a session whose model cannot be asked now", () => {
  const noServer = {
    providers: [{ provider: "box", baseUrl: "http://127.0.0.1:1/v1", models: [{ id: "coder" }] }],
  };
  /** Of an earlier day: worked on with a model. */
  function workedOnWith(provider: string, modelId: string, settings: (project: AgentProject) => object) {
    const project = agentProject(says("ok"));
    const at = new Date();
    const lines = [
      { type: "session", version: 3, id: "x", timestamp: at.toISOString(), cwd: project.cwd },
      {
        type: "model_change",
        id: "aaaaaaaa",
        parentId: null,
        timestamp: at.toISOString(),
        provider,
        modelId,
      },
    ];
    const file = newSessionFile({ ...project, id: "x", now: at });
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    writeFileSync(join(project.home, "models.json"), JSON.stringify(noServer));
    writeFileSync(join(project.home, "settings.json"), JSON.stringify(settings(project)));
    return project;
  }
  const goOn = async ({ cwd, env }: AgentProject) => {
    const run = await runCli(["-c", "-p", "two"], { cwd, env });
    return { ...run, stderr: run.stderr.replaceAll(/\s+/g, " ") };
  };
  const usual = ({ model }: AgentProject) => ({ model: model[1] });

  test("a stored model that cannot be used is replaced, and a notice says why", () =>
    everyRow([
      ["anthropic", "claude-sonnet-4-5", "ANTHROPIC_API_KEY is not set."],
      ["box", "coder", "no server answers at http://127.0.0.1:1/v1."],
      ["nobody", "none", 'Unknown provider "nobody"'],
    ])(async ([provider, id, why]) => {
      const project = workedOnWith(provider, id, usual);
      const { code, stdout, stderr } = await goOn(project);
      expect([code, stdout]).toEqual([0, "ok\n"]);
      expect(stderr).toContain(`This session used ${provider}/${id}, which is not available:`);
      expect(stderr).toContain(why);
      expect(stderr).toContain(`Using ${project.model[1]} instead.`);
      expect((await goOn(project)).stderr).not.toContain("is not available");
    }));

  test("the error follows the reason if no other model is available", async () => {
    const { code, stderr } = await goOn(workedOnWith("box", "coder", () => ({})));
    expect(code).toBe(1);
    expect(stderr).toMatch(/no server answers at http:\/\/127\.0\.0\.1:1\/v1\..*no_model/);
  });

  test("a model named by --model is not replaced", async () => {
    const { cwd, env } = workedOnWith("anthropic", "claude-sonnet-4-5", usual);
    const { code, stderr } = await runCli(["-c", "-p", "--model", "anthropic/claude-sonnet-4-5", "two"], {
      cwd,
      env,
    });
    expect(code).toBe(1);
    expect(stderr).not.toContain("session_model_gone");
  });
});
