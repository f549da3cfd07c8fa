import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgres } from "@bonsai-agent/postgres-server";
import { importFromPi } from "@bonsai-agent/testkit";
import { expect, onTestFinished, test } from "vitest";
import { agentProject } from "../agent-project.ts";
import { Bonsai, latest } from "../bonsai-process.ts";
import { openPty } from "./pty.ts";

interface Pi {
  SessionManager: {
    open(file: string): { buildSessionContext(): { messages: { role: string; content: unknown }[] } };
  };
}

const steps = [
  { when: { lastUserMatches: "^Begin" }, text: "The plan has two steps." },
  {
    when: { lastUserMatches: "first step", lastTextMatches: "first step" },
    calls: [{ name: "bash", arguments: { command: "echo ran >> ran.txt; sleep 60" } }],
  },
  { when: { anyTextMatches: "It may have run" }, text: "The first step is done." },
];

test("a session begins in a terminal, two workers continue it though one is killed, and pi opens it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "journey-"));
  chmodSync(folder, 0o755);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const server = await startPostgres({ folder: join(folder, "server") });
  onTestFinished(() => server.stop());
  const project = agentProject({ contextWindow: 100_000, turn: steps });
  const bonsai = (...words: string[]) => new Bonsai(project, words, { BONSAI_DATABASE: server.url });
  const json = async (...words: string[]) => {
    const { code, stdout, stderr } = await bonsai(...words, "--json").ended;
    expect([code, stderr]).toEqual([0, ""]);
    return JSON.parse(stdout);
  };

  const terminal = openPty({ project });
  await terminal.until("scripted");
  terminal.type("Begin with a plan\n");
  await terminal.until("two steps");
  terminal.press("ctrl+d");
  await terminal.until("ended with 0");
  const local = latest(project);
  const begun = readFileSync(local.file!, "utf8");

  await json("database", "init");
  expect(await json("session", "push", local.id)).toMatchObject({ id: local.id });
  const { id } = await json("enqueue", local.id, "Do the first step");
  const ran = () => readFileSync(join(project.cwd, "ran.txt"), { encoding: "utf8", flag: "a+" });
  const first = bonsai("worker", ...project.model);
  await expect.poll(ran, { timeout: 60_000 }).toBe("ran\n");
  first.child.kill("SIGKILL");
  await first.ended;
  const second = bonsai("worker", ...project.model);
  const job = async () => (await json("jobs")).find((each: { id: string }) => each.id === id);
  await expect.poll(async () => (await job()).outcome?.status, { timeout: 120_000 }).toBe("done");
  second.child.kill("SIGTERM");
  expect((await second.ended).code).toBe(0);
  expect(ran()).toBe("ran\n");

  const file = join(folder, "pulled.jsonl");
  await json("session", "pull", local.id, file);
  expect(readFileSync(file, "utf8").startsWith(begun)).toBe(true);
  const { SessionManager } = await importFromPi<Pi>(folder, "core/session-manager.js");
  const { messages } = SessionManager.open(file).buildSessionContext();
  const seen = messages.map(({ role, content }) => `${role}: ${JSON.stringify(content)}`);
  expect(seen).toEqual([
    expect.stringMatching(/^user: .*Begin with a plan/),
    expect.stringMatching(/^assistant: .*two steps/),
    expect.stringMatching(/^user: .*Do the first step/),
    expect.stringMatching(/^assistant: .*sleep 60/),
    expect.stringMatching(/^toolResult: .*It may have run/),
    expect.stringMatching(/^custom: /),
    expect.stringMatching(/^assistant: .*The first step is done/),
  ]);
});
