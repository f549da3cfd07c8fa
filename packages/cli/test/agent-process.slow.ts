import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { type AgentProject, agentProject, jsonLines } from "./agent-project.ts";
import { Bonsai, endless, latest, roles } from "./bonsai-process.ts";
import { commandWords } from "./command-words.ts";

describe("a signal", () => {
  test("ends the process although its reader stopped reading", async () => {
    const project = agentProject(endless);
    const bonsai = new Bonsai(project, ["--mode", "rpc", ...project.model]);
    await bonsai.printed('"session_start"');
    bonsai.child.stdout.pause();
    bonsai.child.stdin.write('{"type":"get_state"}\n'.repeat(5_000));
    bonsai.child.stdin.write('{"type":"prompt","message":"hi"}\n');
    // The pipe is full: the child sleeps until a signal wakes it.
    await expect.poll(() => bonsai.child.stdout.readableLength, { timeout: 10_000 }).toBeGreaterThan(50_000);
    bonsai.child.kill("SIGTERM");
    await new Promise((resolve) => bonsai.child.once("exit", resolve));
    expect([bonsai.child.exitCode, bonsai.child.signalCode]).toEqual([130, null]);
  });

  test("SIGTERM ends --mode rpc in good order while its input is open", async () => {
    const project = agentProject(endless);
    const bonsai = new Bonsai(project, ["--mode", "rpc", ...project.model]);
    bonsai.child.stdin.write('{"type":"prompt","message":"hi"}\n');
    await bonsai.printed('"tool_execution_end"');
    bonsai.child.kill("SIGTERM");
    const { code, stdout } = await bonsai.ended;
    expect(code).toBe(130);
    expect(jsonLines(stdout).find(({ type }) => type === "agent_end")).toMatchObject({
      result: { status: "aborted" },
    });
  });
});

describe("pipes", () => {
  const shell = (project: AgentProject, command: string) =>
    spawnSync("sh", ["-c", command, process.execPath, ...commandWords], {
      cwd: project.cwd,
      env: { ...process.env, NO_COLOR: "1", ...project.env },
      encoding: "utf8",
    });

  test("--mode json ends without an error when its reader leaves", () => {
    const project = agentProject({
      contextWindow: 100_000,
      turn: [{ text: "x".repeat(2_000), chunkChars: 4, delayMs: 1 }],
    });
    const { stdout, stderr } = shell(
      project,
      `"$0" "$@" --mode json hi ${project.model.join(" ")} < /dev/null | head -n 12`,
    );
    expect(jsonLines(stdout)).toHaveLength(12);
    expect(stderr).toBe("");
    expect(roles(latest(project))[0]).toBe("user");
  });
});
