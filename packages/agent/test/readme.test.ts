import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { lifecycleEventRules } from "../src/lifecycle.ts";
import { agentSettings, agentSettingsSchema, settingsObject } from "../src/settings.ts";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const section = (heading: string) => (readme.split(`## ${heading}\n`)[1] ?? "").split(/^## /m)[0]!;
const rows = (heading: string) =>
  section(heading)
    .split("\n")
    .flatMap((line) => {
      const cells = line.split("|").map((cell) => cell.trim().replaceAll("`", ""));
      return line.startsWith("| `") ? [cells.slice(1, -1)] : [];
    });

test("the settings table has a row for each key, with its default", () => {
  const { compaction: _elsewhere, ...defaults } = agentSettings();
  const keys = (value: unknown, path: string[]): string[][] =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.entries(value).flatMap(([key, inner]) => keys(inner, [...path, key]))
      : [[path.join("."), JSON.stringify(value)]];
  const table = rows("Settings").map(([key, value]) => [key, value]);
  const withDefault = keys(defaults, []);
  const without = Object.keys(settingsObject.shape).filter(
    (key) => !(key in defaults) && key !== "compaction",
  );
  expect(new Map(table as [string, string][])).toEqual(
    new Map([
      ...(withDefault as [string, string][]),
      ...without.map((key) => [key, "none"] as [string, string]),
      ["compaction", "see [@bonsai-agent/compaction](../compaction/README.md#settings)"],
    ]),
  );
});

// `vitest run packages/agent/test/readme.test.ts -u` writes it anew.
test("the published JSON Schema is that of the settings", async () => {
  const { $schema, ...schema } = z.toJSONSchema(agentSettingsSchema, { io: "input" });
  const published = { $schema, title: "Settings of the Bonsai agent", ...schema };
  await expect(`${JSON.stringify(published, null, 2)}\n`).toMatchFileSnapshot("../settings.schema.json");
});

test("the events table has a row for each event, with its kind, and the drawing has those of a run", () => {
  const table = Object.fromEntries(rows("Events").map(([name, kind]) => [name, kind]));
  const rules = Object.entries(lifecycleEventRules).map(([name, rule]) => [name, rule.kind]);
  expect(table).toEqual(Object.fromEntries(rules));
  const drawing = section("Events").split("```")[1]!;
  const ofRun = Object.keys(lifecycleEventRules).filter((name) =>
    /^(agent|turn|message|tool|input|context)/.test(name),
  );
  for (const name of ofRun) expect(drawing).toContain(name);
});

test.each([
  [{ thinking: "much" }, 'The setting thinking is "much"; allowed is one of "off"'],
  [{ bash: { timeoutSeconds: -1 } }, "The setting bash.timeoutSeconds is -1; allowed is at least 0"],
  [
    { retry: { tries: 3 } },
    "The setting retry.tries is 3; allowed is one of the keys maxRetries, baseDelayMs",
  ],
  [{ colour: "green" }, 'The setting colour is "green"; allowed is one of the keys model, smallModel'],
  [{ model: "claude" }, 'The setting model is "claude"; allowed is'],
  [{ tools: "read" }, 'The setting tools is "read"; allowed is a value of type array'],
  [[], "The settings are []; allowed is an object"],
])("%j is refused with key, finding and what is allowed", (input, message) => {
  expect(() => agentSettings(input)).toThrow(expect.objectContaining({ code: "setting_invalid" }));
  expect(() => agentSettings(input)).toThrow(message);
});

test("a fault in the compaction part has that part's code; a preset lies under what is set", () => {
  expect(() => agentSettings({ compaction: { preset: "oak" } })).toThrow(
    expect.objectContaining({ code: "compaction_setting_invalid" }),
  );
  const { compaction } = agentSettings({ compaction: { preset: "klaude", keepRecentTokens: 9 } });
  expect(compaction).toMatchObject({ bodyless429IsOverflow: true, keepRecentTokens: 9 });
});
