import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Scenario, ScenarioAnswer } from "@bonsai-agent/models/scripted";
import { expect, test } from "vitest";
import { agentProject, says } from "../call/agent-project.ts";
import { modelSummary } from "../call/model-summary.ts";
import { longSession, sampleLines, writeLines } from "../call/sample-session.ts";
import { openInteractive } from "./harness.ts";
import { longStory } from "./long-story.ts";

const letGo = "bonsai-test:let-go";

/** A project whose runs end when the test says so, long after their last words. */
function lingering(scenario: Scenario, event: "agent_end" | "turn_end" = "agent_end") {
  const project = agentProject(scenario);
  mkdirSync(join(project.home, "extensions"));
  writeFileSync(
    join(project.home, "extensions", "linger.ts"),
    `export default function (bonsai) {
      bonsai.on("${event}", (_event, ctx) => {
        ctx.ui.setStatus("linger", "lingering");
        return new Promise((resolve) => process.once("${letGo}", () => {
          ctx.ui.setStatus("linger", undefined);
          resolve(undefined);
        }));
      });
    }`,
  );
  return { project, letRunsEnd: () => process.emit(letGo as "exit", 0) };
}

/** A question whose answer is seen to its last word, and whose run has not ended. */
async function answered(scenario: Scenario) {
  const { project, letRunsEnd } = lingering(scenario);
  const opened = openInteractive({ project });
  const { terminal } = opened;
  await terminal.until("/100k");
  terminal.type("A question\n");
  await terminal.until("lingering");
  return { ...opened, letRunsEnd };
}

const three = {
  contextWindow: 100_000,
  turn: [{ text: "Answer One." }, { text: "Answer Two." }, { text: "Answer Three." }],
} as const;

test("a command typed when all of the answer is seen, but its run has not ended, is carried out", async () => {
  const { terminal, letRunsEnd } = await answered(says("Good."));
  terminal.type("/new\n");
  letRunsEnd();
  const screen = await terminal.until((seen) => !seen.includes("A question"));
  expect(screen).not.toContain("has to wait");
});

test("Esc twice opens the tree then too", async () => {
  const { terminal, letRunsEnd } = await answered(says("Good."));
  terminal.press("esc", "esc");
  letRunsEnd();
  await terminal.until("Session tree");
});

test("a command that waits for the end is carried out before what is typed behind it is sent", async () => {
  const { terminal, letRunsEnd } = await answered(three);
  terminal.type("/new\nAnother question\n");
  letRunsEnd();
  const screen = await terminal.until("Answer Two.");
  expect(screen).toContain("Another question");
  expect(screen).not.toContain("A question");
  letRunsEnd();
});

test("a command whose wait is too long for the user comes back with Esc", async () => {
  const { terminal, letRunsEnd } = await answered(says("Good."));
  terminal.type("/new\n");
  await terminal.until("Next: /new");
  terminal.press("esc");
  await terminal.until(/─\n+\s*\/new\s*\n─/);
  letRunsEnd();
  const screen = await terminal.until((seen) => !seen.includes("lingering"));
  expect(screen).toContain("A question");
});

test("a message sent during a stop is sent after it", async () => {
  const { project, letRunsEnd } = lingering({
    ...three,
    turn: [longStory, { text: "Answer Two." }],
  });
  const { terminal } = openInteractive({ project });
  await terminal.until("/100k");
  terminal.type("Tell me a story\n");
  await terminal.until("Begun word");
  terminal.press("esc");
  await terminal.until("lingering");
  terminal.type("A short one\n");
  await terminal.until("Next: A short one");
  letRunsEnd();
  await terminal.until("Answer Two.");
  letRunsEnd();
});

test("a stop that takes its time says so", async () => {
  const { project, letRunsEnd } = lingering({ ...three, turn: [longStory] }, "turn_end");
  const { terminal } = openInteractive({ project });
  await terminal.until("/100k");
  terminal.type("Tell me a story\n");
  await terminal.until("Begun word");
  terminal.press("esc");
  await terminal.until("lingering");
  await terminal.until(/Stopping… {2}\d+ s/);
  letRunsEnd();
  await terminal.until((seen) => !seen.includes("Stopping"));
});

test("a message that waits for the stop can be taken back", async () => {
  const { terminal, letRunsEnd } = await answered(three);
  terminal.press("esc");
  terminal.type("One more\nAnd another\n");
  await terminal.until("Next: And another");
  terminal.press("alt+up");
  await terminal.until(/─\n+\s*One more\s+And another\s*\n─/);
  letRunsEnd();
  const screen = await terminal.until((seen) => !seen.includes("lingering"));
  expect(screen).not.toContain("Answer Two.");
});

const summary = modelSummary();
const never = 3_600_000;

test("a message sent during /compact is shown, and answered after a cancel", async () => {
  const { terminal } = openInteractive({
    scenario: {
      contextWindow: 1_000_000,
      turn: [{ text: "Answer One." }],
      summary: [{ text: summary, delayMs: never }],
    },
    argv: ["--session", longSession()],
  });
  await terminal.until("/1M");
  terminal.type("/compact\n");
  await terminal.until("Compacting... (Esc to cancel)");
  terminal.type("First\nSecond\n");
  await terminal.until(/Next: First\s+Next: Second/);
  terminal.press("alt+up");
  await terminal.until(/─\n+\s*First\s+Second\s*\n─/);
  terminal.press("enter");
  await terminal.until(/Next: First Second/);
  terminal.press("esc");
  await terminal.until("Answer One.");
});

test("a message sent during a branch summary is shown, and sent at the new place", async () => {
  const { terminal } = await leaving({ text: summary, delayMs: 300, chunkChars: 10_000 });
  terminal.type("A question for the new place\n");
  await terminal.until("Next: A question for the new place");
  const screen = await terminal.until("Answer One.");
  expect(screen).toMatch(/makes it worse[\s\S]*\[branch summary\][\s\S]*A question for the new place/);
});

test("a cancelled branch summary returns the message for the new place", async () => {
  const { terminal } = await leaving({ text: summary, delayMs: never });
  terminal.type("A question for the new place\n");
  await terminal.until("Next: A question for the new place");
  terminal.press("esc");
  const screen = await terminal.until("Your position is unchanged");
  expect(screen).toMatch(/─\n+\s*A question for the new place\s*\n─/);
  expect(screen).not.toContain("Answer One.");
});

/** In the sample session, on the way to another branch, with a summary of the one that is left. */
async function leaving(said: ScenarioAnswer) {
  const opened = openInteractive({
    scenario: { contextWindow: 100_000, turn: [{ text: "Answer One." }], summary: [said] },
    argv: ["--session", writeLines(sampleLines())],
    rows: 32,
  });
  const { terminal } = opened;
  await terminal.until("Done: the total");
  terminal.type("/tree\n");
  await terminal.until("Session tree");
  terminal.type("makes it worse");
  await terminal.until(/ · 1\/1$/m);
  terminal.press("enter");
  await terminal.until("Choose an action");
  terminal.press("down", "enter");
  await terminal.until("Summarising the branch");
  return opened;
}
