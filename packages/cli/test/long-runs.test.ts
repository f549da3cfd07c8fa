import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Scenario } from "@bonsai-agent/models/scripted";
import { describe, expect, test } from "vitest";
import { type AgentProject, agentProject, jsonLines } from "./agent-project.ts";
import { openInteractive } from "./interactive/harness.ts";
import { RpcSession } from "./rpc-session.ts";

/** A model that looks around for ever, in a project where a run makes three requests on its own. */
function restless(): AgentProject {
  return limited({
    contextWindow: 100_000,
    turn: [{ calls: [{ name: "ls", arguments: {} }] }],
    atEnd: "repeat",
  });
}

/** A model that thinks and says nothing, now and at the second try. */
function silent(): AgentProject {
  return limited({ contextWindow: 100_000, turn: [{ thinking: "Hm." }], atEnd: "repeat" });
}

function limited(scenario: Scenario): AgentProject {
  const project = agentProject(scenario);
  const settings = { limits: { runRequests: 3 }, retry: { maxDelayMs: 0 }, titles: false };
  writeFileSync(join(project.home, "settings.json"), JSON.stringify(settings));
  return project;
}

describe("a run without end", () => {
  test("ends a script's prompt with exit code 1, and -c continues", async () => {
    const project = restless();
    const { code, stdout, stderr } = await project.run(["-p", "go"]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("The agent stopped after 3 requests without your input");
    expect(stderr).toContain("limits.runRequests");
    const again = await project.run(["-c", "-p", "go on"]);
    expect([again.code, again.stderr.match(/3 requests without your input/g)?.length]).toEqual([1, 1]);
  });

  test("ends --mode json with its code", async () => {
    const { code, stdout, stderr } = await restless().run(["--mode", "json", "go"]);
    expect(code).toBe(1);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: "run_request_limit" } });
    expect(jsonLines(stdout).at(-1)).toMatchObject({
      type: "agent_end",
      result: { status: "failed", error: { code: "run_request_limit" } },
    });
  });

  test("asks the client of --mode rpc, and ends where the client says no", async () => {
    const rpc = new RpcSession(restless());
    rpc.send({ type: "prompt", message: "go" });
    const isQuestion = ({ type, method }: Record<string, unknown>) =>
      type === "extension_ui_request" && method === "confirm";
    const first = await rpc.wait(isQuestion);
    expect(first).toMatchObject({
      title: "Continue?",
      message: expect.stringContaining("3 requests without your input"),
    });
    rpc.send({ type: "extension_ui_response", id: first.id, confirmed: true });
    const second = await rpc.wait((line) => isQuestion(line) && line.id !== first.id);
    rpc.send({ type: "extension_ui_response", id: second.id, confirmed: false });
    const end = await rpc.wait(({ type }) => type === "agent_end");
    expect(end).toMatchObject({ result: { status: "failed", error: { code: "run_request_limit" } } });
    expect(rpc.lines.filter(({ type }) => type === "turn_start").length).toBe(6);
    await rpc.end();
  });

  test("asks on the screen", async () => {
    const { terminal } = openInteractive({ project: restless() });
    await terminal.until("/100k");
    terminal.type("go\n");
    expect(await terminal.until("Continue?")).toContain("3 requests without your input");
    terminal.press("esc");
    expect(await terminal.until("limits.runRequests")).toContain("without your input");
  });
});

describe("an answer that says nothing", () => {
  test("ends a prompt of a script with exit code 1", async () => {
    const { code, stdout, stderr } = await silent().run(["-p", "go"]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("gave no answer");
  });

  test("is reported by --mode json and --mode rpc", async () => {
    const { code, stdout, stderr } = await silent().run(["--mode", "json", "go"]);
    expect(code).toBe(1);
    expect(jsonLines(stderr).at(-1)).toMatchObject({ error: { code: "answer_empty" } });
    expect(jsonLines(stdout).at(-1)).toMatchObject({ result: { error: { code: "answer_empty" } } });
    const rpc = new RpcSession(silent());
    rpc.send({ type: "prompt", message: "go" });
    expect(await rpc.wait(({ type }) => type === "agent_end")).toMatchObject({
      result: { status: "failed", error: { code: "answer_empty" } },
    });
    await rpc.end();
  });
});
