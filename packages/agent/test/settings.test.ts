import { expect, test } from "vitest";
import { agentSettings } from "../src/settings.ts";

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
