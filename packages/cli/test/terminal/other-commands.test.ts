import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Scenario } from "@bonsai-agent/models/scripted";
import { expect, test } from "vitest";
import { agentCall } from "../../src/command-line/agent-call.ts";
import { agentProject, says } from "../agent-project.ts";
import { openInteractive } from "../interactive/harness.ts";

const letGo = "bonsai-test:let-go-before-show";

/** A question whose answer is seen to its last word, and whose run ends when the test says so. */
async function answered() {
  const project = agentProject({
    contextWindow: 100_000,
    turn: [{ text: "Answer One." }, { text: "Answer Two." }],
  });
  mkdirSync(join(project.home, "extensions"));
  writeFileSync(
    join(project.home, "extensions", "linger.ts"),
    `export default function (bonsai) {
      bonsai.on("agent_end", (_event, ctx) => {
        ctx.ui.setStatus("linger", "lingering");
        return new Promise((resolve) => process.once("${letGo}", resolve));
      });
    }`,
  );
  const { terminal, ended } = openInteractive({ project });
  await terminal.until("/100k");
  terminal.type("A question\n");
  await terminal.until("lingering");
  return { project, terminal, ended, letRunsEnd: () => process.emit(letGo as "exit", 0) };
}

test("a pending notice is not printed after the user quits", async () => {
  const { project, terminal, ended, letRunsEnd } = await answered();
  terminal.press("esc");
  terminal.type("One more\n");
  await terminal.until("Next: One more");
  terminal.press("ctrl+c", "ctrl+c");
  letRunsEnd();
  expect(await ended).toBe(0);
  const { stdout } = await project.run(["show", "last", "--json"]);
  expect(stdout).not.toContain("One more");
});

const usdPerMillionTokens = { input: 20, output: 20, cacheRead: 20, cacheWrite: 20 };
/** Of one answer: two dollars. */
const usage = { input: 80_000, output: 20_000 };
const costly: Scenario = {
  ...{ contextWindow: 250_000, usdPerMillionTokens, atEnd: "repeat" },
  turn: [{ text: "Done.", usage }],
};

test("a continued session keeps its cost", async () => {
  const project = agentProject(costly);
  await project.run(["-p", "Begin"]);
  const { terminal } = openInteractive({ project, argv: ["-c"] });
  await terminal.until("$2.00");
  terminal.type("Go on\n");
  await terminal.until("$4.00");
});

test("words behind the flag of an extension are the prompt, and the flag is not", async () => {
  const project = agentProject(says("Good."));
  mkdirSync(join(project.home, "extensions"));
  writeFileSync(
    join(project.home, "extensions", "loud.ts"),
    'export default function (bonsai) { bonsai.registerFlag("loud", { type: "boolean" }); }',
  );
  const { terminal } = openInteractive({ project, argv: ["--loud", "Say", "it"], readCall: agentCall });
  const screen = await terminal.until("Good.");
  expect(screen).toContain("Say it");
  expect(screen).not.toContain("--loud");
});
