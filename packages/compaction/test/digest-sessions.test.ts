import { readFileSync } from "node:fs";
import { type Message, messageText } from "@bonsai-agent/messages";
import { createSession } from "@bonsai-agent/session";
import { plantedSession, recordedSession } from "@bonsai-agent/testkit";
import { describe, expect, it } from "vitest";
import { compactionSettings, runCompaction } from "../src/index.ts";

/** A session in three stretches, and what of the first must still be known after the third. */
interface Story {
  stretches: Message[][];
  constraints: string[];
  files: string[];
}

function generated(): Story {
  const { messages, stretches, plants } = plantedSession({ seed: 77, language: "en", stretches: 3 });
  const ends = [0, ...stretches];
  const early = plants.filter((plant) => plant.at < ends[1]! - 20);
  return {
    stretches: stretches.map((end, at) => messages.slice(ends[at], end)),
    constraints: early.filter((plant) => plant.kind === "constraint").map((plant) => plant.keep),
    files: early.filter((plant) => plant.kind === "path").map((plant) => plant.keep),
  };
}

function recorded(path: string): Story {
  const entries = readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as { type: string; message: Message });
  const messages = entries.filter((entry) => entry.type === "message").map((entry) => entry.message);
  return {
    stretches: [messages.slice(0, 450), messages.slice(450, 700), messages.slice(700)],
    constraints: [
      "truncated text must stop when it encounters a new line",
      "use fucking rgb values in the themes, no rgb indices!",
      "dimGray should be that, no need for linkGray",
      "don't modify the theme",
    ],
    files: ["packages/tui/test/test-themes.ts", "packages/tui/src/components/truncated-text.ts"],
  };
}

const path = recordedSession();
const stories: Array<[string, () => Story]> = [["generated", generated]];
if (path !== undefined) stories.push(["recorded", () => recorded(path)]);

describe.each(stories)("three compactions in a row on a %s session", (_name, tell) => {
  it("keep the constraints and the files of the first", async () => {
    const { stretches, constraints, files } = tell();
    const session = createSession({ cwd: "/home/dev/project" });
    for (const stretch of stretches) {
      session.append(stretch.map((message) => ({ type: "message" as const, message: message as never })));
      const result = await runCompaction({
        session,
        settings: compactionSettings({ keepRecentTokens: 4_000 }),
      });
      expect(result.status).toBe("compacted");
    }
    const seen = messageText(session.projection().items[0]!.message).toLowerCase();
    expect(constraints.length * files.length).toBeGreaterThan(0);
    for (const kept of [...constraints, ...files]) expect(seen).toContain(kept.toLowerCase());
  });
});
