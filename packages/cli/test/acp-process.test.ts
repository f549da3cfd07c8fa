import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { agentProject } from "./agent-project.ts";
import { Bonsai, latest, roles } from "./bonsai-process.ts";

test("a process of --mode acp ends with its client, ends the running command and keeps the session", async () => {
  const command = "echo $$ > pid; echo started; sleep 100";
  const project = agentProject({
    contextWindow: 100_000,
    turn: [{ calls: [{ name: "bash", arguments: { command } }] }],
  });
  const bonsai = new Bonsai(project, ["--mode", "acp", ...project.model]);
  const send = (id: number, method: string, params: object) =>
    bonsai.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
  send(1, "initialize", { protocolVersion: 1 });
  await bonsai.printed('"protocolVersion"');
  send(2, "session/new", { cwd: project.cwd, mcpServers: [] });
  const { sessionId } = await bonsai.printedMatch(/"sessionId":"(?<sessionId>[^"]+)"/);
  send(3, "session/prompt", { sessionId, prompt: [{ type: "text", text: "wait" }] });
  await bonsai.printed("started\\n");
  bonsai.child.stdin.end();
  bonsai.child.stdout.destroy();
  expect(await bonsai.ended).toMatchObject({ code: 0, stderr: "" });
  const pid = Number(readFileSync(join(project.cwd, "pid"), "utf8"));
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  expect(roles(latest(project)).slice(0, 2)).toEqual(["user", "assistant"]);
});
