import { expect, test } from "vitest";
import { z } from "zod";
import { agentSettings, agentSettingsSchema } from "../src/settings.ts";

interface Node {
  description?: string;
  properties?: Record<string, Node>;
}

/** The settings below a part of the JSON Schema, each with its description. */
function leaves({ properties, description = "" }: Node, path: string[] = []): [string, string][] {
  if (properties === undefined) return [[path.join("."), description]];
  return Object.entries(properties).flatMap(([key, inner]) => leaves(inner, [...path, key]));
}

test("has 50 settings, each with a description of one short sentence", () => {
  const { $schema: _, ...properties } = z.toJSONSchema(agentSettingsSchema, { io: "input" })
    .properties as Record<string, Node>;
  const settings = leaves({ properties });
  expect(settings).toHaveLength(50);
  for (const [, description] of settings) {
    expect(description).toMatch(/^[A-Z].*\.$/);
    expect(description.length).toBeLessThanOrEqual(110);
  }
});

const wrongValues = [
  [{ thinking: "much" }, 'The setting thinking is "much", but must be one of "off"'],
  [
    { bash: { timeoutSeconds: -1 } },
    "The setting bash.timeoutSeconds is -1, but must be a number of at least 0",
  ],
  [{ retry: { tries: 3 } }, "The setting retry.tries is unknown. Known keys: maxRetries, maxDelayMs"],
  [
    { skillTokens: 9 },
    "The setting skillTokens is unknown. Known keys: model, smallModel, favoriteModels, thinking",
  ],
  [
    { compaction: { estimator: "chars4" } },
    "The setting compaction.estimator is unknown. Known keys: enabled, onOverflow, confirm",
  ],
  [{ colour: "green" }, "The setting colour is unknown. Known keys: model, smallModel"],
  [{ model: "claude" }, 'The setting model is "claude", but must be'],
  [{ tools: "read" }, 'The setting tools is "read", but must be a list'],
  [[], "The settings are [], but must be a JSON object"],
] as const;
test("refuses a wrong value with its key and the allowed values", () => {
  for (const [input, message] of wrongValues) {
    const code = expect.stringMatching(/^(compaction_)?setting_invalid$/);
    expect.soft(() => agentSettings(input), JSON.stringify(input)).toThrow(expect.objectContaining({ code }));
    expect.soft(() => agentSettings(input), JSON.stringify(input)).toThrow(message);
  }
});

test("a fault in the compaction part has that part's code; a preset lies under what is set", () => {
  expect(() => agentSettings({ compaction: { preset: "oak" } })).toThrow(
    expect.objectContaining({ code: "compaction_setting_invalid" }),
  );
  const { compaction } = agentSettings({ compaction: { preset: "klaude", keepRecentTokens: 9 } });
  expect(compaction).toMatchObject({ bodyless429IsOverflow: true, keepRecentTokens: 9 });
  const overridden = agentSettings({ compaction: { preset: "klaude" } }, { estimator: "calibrated" });
  expect(overridden.compaction).toMatchObject({ estimator: "calibrated", manualKeep: "quarter" });
});
