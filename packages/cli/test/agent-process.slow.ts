import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { agentProject, jsonLines, says } from "./agent-project.ts";
import { Bonsai, endless, latest, roles, runShell } from "./bonsai-process.ts";

/** A zombie (`Z`) counts as dead. */
function isAlive(pid: number): boolean {
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return /^[^Z\s]/.test(stdout.trim());
}

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

  test("SIGHUP stops a prompt with exit code 130, and -c continues it", async () => {
    const project = agentProject(endless);
    const bonsai = new Bonsai(project, ["-p", "hi", ...project.model]);
    bonsai.child.stdin.end();
    await bonsai.printed("· ls");
    bonsai.child.kill("SIGHUP");
    expect(await bonsai.ended).toMatchObject({ code: 130, stdout: "" });
    expect(roles(latest(project)).slice(0, 3)).toEqual(["user", "assistant", "toolResult"]);
    const { cwd, env } = project;
    expect((await agentProject(says("on")).run(["-c", "go on"], { cwd, env })).code).toBe(0);
  });

  test("a second signal kills the process and a command that ignores signals", async () => {
    const stubborn = "trap '' TERM INT HUP; echo pid $$; sleep 3600 & wait; wait";
    const calls = [{ name: "bash", arguments: { command: stubborn } }];
    const project = agentProject({ contextWindow: 100_000, turn: [{ calls }] });
    const bonsai = new Bonsai(project, ["--mode", "rpc", ...project.model]);
    bonsai.child.stdin.write('{"type":"prompt","message":"hi"}\n');
    await bonsai.printed('"text":"pid');
    bonsai.child.kill("SIGINT");
    bonsai.child.kill("SIGTERM");
    const { signal, stdout } = await bonsai.ended;
    expect(["SIGINT", "SIGTERM"]).toContain(signal);
    const pid = Number(/"text":"pid (\d+)/.exec(stdout)![1]);
    await expect.poll(() => isAlive(pid)).toBe(false);
  });
});

describe("pipes", () => {
  test("--mode json ends without an error when its reader leaves", () => {
    const project = agentProject({
      contextWindow: 100_000,
      turn: [{ text: "x".repeat(2_000), chunkChars: 4, delayMs: 1 }],
    });
    const { stdout, stderr } = runShell(
      project,
      `"$0" "$@" --mode json hi ${project.model.join(" ")} < /dev/null | head -n 12`,
    );
    expect(jsonLines(stdout)).toHaveLength(12);
    expect(stderr).toBe("");
    expect(roles(latest(project))[0]).toBe("user");
  });
});
