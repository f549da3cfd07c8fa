import { existsSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { AgentHost } from "../src/call/agent-host.ts";
import { openAppContext } from "../src/call/app-context.ts";
import { forkedSession, newSession } from "../src/call/session-choice.ts";
import { agentCall } from "../src/command-line/agent-call.ts";
import { agentProject, says } from "./agent-project.ts";

async function openHost(): Promise<AgentHost> {
  const { cwd, env, model } = agentProject(says("ok"));
  const nowhere = { write: () => true };
  const call = agentCall(["-p", "hi", ...model], {
    stdout: nowhere,
    stderr: nowhere,
    stdin: undefined,
    env,
    cwd,
    now: Date.now,
    interruptible: (work) => work(new AbortController().signal),
  });
  const app = await openAppContext(call, { onNotice: () => {} });
  const host = await AgentHost.open(app);
  onTestFinished(() => host.close());
  await host.start();
  return host;
}

test("an extension that keeps the user in the session keeps the agent and writes no file", async () => {
  const host = await openHost();
  const { agent } = host;
  const asked: unknown[] = [];
  host.app.lifecycle.on(
    "session_before_switch",
    (event) => {
      asked.push(event);
      return { cancel: true };
    },
    { source: "guard" },
  );
  expect(await host.replace("new", newSession(host.app, true))).toBe(false);
  expect(host.agent).toBe(agent);
  expect(asked).toEqual([{ type: "session_before_switch", reason: "new" }]);
  expect((await host.agent.prompt("still here")).status).toBe("done");
});

test("an extension can refuse a fork: no copy is left", async () => {
  const host = await openHost();
  await host.agent.prompt("hi");
  const { agent } = host;
  const { session } = agent;
  const asked: unknown[] = [];
  host.app.lifecycle.on(
    "session_before_fork",
    (event) => {
      asked.push(event);
      return { cancel: true };
    },
    { source: "guard" },
  );
  const at = session.leafId!;
  let isMade = false;
  const choice = forkedSession(session, at, host.app);
  const open = () => {
    isMade = true;
    return choice.open();
  };
  expect(await host.fork(at, { ...choice, open })).toBe(false);
  expect([host.agent === agent, isMade]).toEqual([true, false]);
  expect(asked).toEqual([{ type: "session_before_fork", entryId: at, position: "at" }]);
});

test("a session without messages leaves no file", async () => {
  const host = await openHost();
  const { file } = host.agent.session;
  await host.close();
  expect(existsSync(file!)).toBe(false);
});
