import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { contentText, type Message } from "@bonsai-agent/messages";
import type { ProviderCall } from "@bonsai-agent/models";
import type { ScenarioAnswer } from "@bonsai-agent/models/scripted";
import { createSession, openSession, type Session } from "@bonsai-agent/session";
import { expect, onTestFinished, test } from "vitest";
import { agentSettings } from "../src/settings.ts";
import { agent, cwd, eachInProject, opened } from "./opened-agent.ts";
import { filler, sentText, summary } from "./scripted-agent.ts";
import { isRunning } from "./tools/is-running.ts";

eachInProject();

const settings = agentSettings({ titles: false, compaction: { keepRecentTokens: 500 } });
const SERVER = "sleep 1000 > server.log 2>&1 & until ps -o comm= -p $! | grep -q sleep; do :; done; echo $!";
const bash = (command: string) => ({ calls: [{ name: "bash", arguments: { command } }] });

/** Answers the turns with these texts and calls. */
const turns = (...answers: object[]) => {
  const left = [...answers];
  return ({ purpose }: ProviderCall) =>
    (purpose === "turn" ? (left.shift() ?? { text: "Done." }) : summary) as ScenarioAnswer;
};

/** Starts the server and returns its process id. */
async function startServer(session: Session): Promise<number> {
  await opened(turns(bash(SERVER), { text: "It runs." }), { session, settings });
  await agent.prompt("Start the server.");
  const result = messagesOf(session).find(({ role }) => role === "toolResult")!;
  const pid = Number(textOf(result).split("\n")[0]);
  onTestFinished(() => {
    if (isRunning(pid)) process.kill(pid);
  });
  return pid;
}

const messagesOf = (session: Session): Message[] => session.projection().items.map(({ message }) => message);
const textOf = (message: Message) => ("content" in message ? contentText(message.content) : "");
const storedSession = () => createSession({ cwd, file: join(cwd, "session.jsonl") });
const summaryOf = (session: Session) => session.projection().compaction?.summary ?? "";

test("each compaction lists the background processes that still run", async () => {
  const session = storedSession();
  const pid = await startServer(session);
  const line = `${pid} (sleep): ${SERVER}`;
  for (const round of [1, 2]) {
    await agent.prompt(`Round ${round}: ${filler(1_500)}`);
    expect(await agent.compact()).toMatchObject({ status: "compacted" });
    expect(summaryOf(session)).toMatch(/<running-work>\n[^\n]*do not start them again[^\n]*\n/);
    expect(summaryOf(session)).toContain(line);
  }
  process.kill(pid);
  while (isRunning(pid)) execFileSync("sleep", ["0.01"]);
  await agent.prompt(filler(1_500));
  expect((await agent.compact()).status).toBe("compacted");
  expect(summaryOf(session)).not.toContain("running-work");
});

test("the first prompt of a reopened session says which background processes run and which have ended", async () => {
  const session = storedSession();
  const pid = await startServer(session);
  await agent.close();
  const again = openSession(session.file!);
  const asked = await opened(turns({ text: "Yes." }), { session: again, settings });
  await agent.prompt("Is it up?");
  expect(sentText(asked.at(-1)!)).toContain(
    `still running, do not start it again: ${pid} (sleep): ${SERVER}`,
  );
  process.kill(pid);
  while (isRunning(pid)) execFileSync("sleep", ["0.01"]);
  await agent.prompt("And now?");
  const notes = () => messagesOf(openSession(session.file!)).filter(({ role }) => role === "custom");
  expect(notes()).toHaveLength(1);
  for (const [count, note] of [
    [2, `ended: ${pid} (sleep)`],
    [2, ""],
  ] as const) {
    await agent.close();
    await opened(turns({ text: "No." }), { session: openSession(session.file!), settings });
    await agent.prompt("Is it up?");
    expect(notes()).toHaveLength(count);
    expect(textOf(notes().at(-1)!)).toContain(note);
  }
});

test("a new session and a session without background processes get no note", async () => {
  const session = storedSession();
  await opened(turns(bash("echo hi"), { text: "Hi." }), { session, settings });
  await agent.prompt("Say hi.");
  await agent.close();
  await opened(turns({ text: "Again." }), { session: openSession(session.file!), settings });
  await agent.prompt("Again.");
  expect(messagesOf(openSession(session.file!)).map(({ role }) => role)).not.toContain("custom");
});

test("after a crash, a call's result names the surviving processes and a sub-agent's files", async () => {
  // This agent gets no prompt and closes after the test.
  await opened(turns());
  const program = fileURLToPath(new URL("fixtures/killed-process.ts", import.meta.url));
  const command = "echo $$ > pid; exec sleep 1000 > log 2>&1";
  const node = ["--conditions=@bonsai-agent/source", "--no-warnings", program, cwd, command];
  const child = spawn(process.execPath, node, { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  child.kill("SIGKILL");
  await once(child, "exit");
  const pid = Number(readFileSync(join(cwd, "pid"), "utf8"));
  onTestFinished(() => void process.kill(pid));

  const session = openSession(join(cwd, "session.jsonl"));
  await opened(turns({ text: "I see." }), { session, settings });
  await agent.prompt(`Where are we? ${filler(5_000)}`);
  const results = messagesOf(session).filter(({ role }) => role === "toolResult");
  expect(results.map(textOf)).toEqual([
    expect.stringContaining(`It still runs: ${pid} (sleep). Do not start it again.`),
    expect.stringContaining("The sub-agent was interrupted. It changed these files: "),
  ]);
  expect(results[1]).toMatchObject({ details: { modifiedFiles: [expect.stringContaining("notes.md")] } });
  await agent.prompt(filler(1_500));
  expect(await agent.compact()).toMatchObject({ status: "compacted" });
  expect(summaryOf(session)).toContain(`${pid} (sleep): ${command}`);
  expect(summaryOf(session)).toMatch(/<modified-files>[^<]*notes\.md/);
});
